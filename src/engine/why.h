/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program is waiting for: a wait-for graph as a value. A node is something that waits or is
 * waited for; an edge says that one waits for another, and how that is known. Several sources add
 * to one graph: commands and streams (why/why-streams.c), kernels that run (why/why-kernels.c), the
 * host's threads, locks and pipes (why/host-*.c), the processes of a job. why_judge() then says
 * what is stuck. Nothing here prints; src/shell/print/why-text.c makes sentences of it.
 *
 * The rule that everything else follows: a busy program is never accused. A node is stuck only if
 * nothing that is known could ever let it go on. So a source that is not sure adds the node that
 * could still act (a thread that runs, a process that was not looked at) or leaves `end` at
 * WHY_END_UNKNOWN; both keep whatever waits for it from being called stuck.
 *
 * How that is computed. A node without edges goes on, unless its end is WHY_END_NEVER. A node with
 * edges goes on if the nodes go on that it waits for: all of them, or one of them if `any` is set
 * (a value that several commands would write, poll() of several files, a condition that any thread
 * may signal). One whose end is WHY_END_COMES always goes on. What cannot be shown to go on by
 * these rules alone is stuck: that finds cycles, what waits for a cycle, and what waits for
 * something that never comes. A node that was seen to move between two looks always goes on.
 *
 * Not thread-safe. A graph owns its strings; functions that take a string copy it. What comes from
 * the program (names, paths) is kept as it is; the printer makes it safe.
 */
#ifndef ENGINE_WHY_H
#define ENGINE_WHY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "engine/engine.h"
#include "symbols/host-stack.h"

/* --- nodes --- */

enum why_kind {
	WHY_THREAD,	/* a host thread; id: its tid */
	WHY_STREAM,	/* id: of the state, or a handle (attached late) */
	WHY_COMMAND,	/* id: seq. A kernel in flight is its launch */
	WHY_EVENT,	/* id: of the state */
	WHY_VALUE,	/* a value in memory that is waited for; id: address */
	WHY_LOCK,	/* a mutex, or what is like one; id: address */
	WHY_CONDITION,	/* a condition variable, a semaphore, a barrier; id: address */
	WHY_GIL,	/* Python's; id: 0 */
	WHY_FILE,	/* a pipe, socket or other file; id: inode */
	WHY_PROCESS,	/* id: pid */
	WHY_RANK,	/* id: rank */
	WHY_COLLECTIVE, /* id: its number in the communicator */
	WHY_KINDS
};
/* "thread", "stream", ... as in JSON. */
const char *why_kind_name(uint64_t kind);

/* What is known of the end of a node that waits for nothing else in the graph. */
enum why_end {
	WHY_END_UNKNOWN,
	WHY_END_COMES,	 /* it runs, or sleeps for a time: it may go on by itself */
	WHY_END_OUTSIDE, /* something that was not looked at decides: a terminal, a network peer */
	WHY_END_NEVER,	 /* nothing that is known can end it; `because` says why */
};

/* What two looks, `apart_ms` apart, have shown of a node. */
enum why_moved { WHY_MOVED_UNKNOWN, WHY_MOVED, WHY_STILL };

#define WHY_NONE UINT32_MAX /* no node, no edge */

struct why_node {
	enum why_kind kind;
	pid_t pid; /* of the process that it belongs to */
	uint64_t id;
	char *name;  /* "host thread 1", "stream 2", "#19 wait_flag<<<1,32>>>"; never NULL */
	char *does;  /* what follows the name: "waits in cuStreamSynchronize(stream 1)"; or NULL */
	char *where; /* "app.cu:15 <- main"; or NULL */
	char *because;	 /* why the end is as it is: a sentence without its full stop; or NULL */
	uint64_t for_ns; /* for how long it has been so; 0: not known */
	enum why_end end;
	enum why_moved moved;
	char *moved_by; /* how that is known, or why not: a phrase about "it"; or NULL */
	bool any;	/* it goes on with one of those it waits for; else it needs all */
	/* somebody wants this to go on: a host thread that waits; where none does, a stream */
	bool root;
	bool at_device; /* a host thread: it is in a call that waits for the GPU */
	/* by why_judge(): */
	bool stuck;
};

/* --- edges --- */

/* How an edge is known, the best first. Text: why_known_name(). */
enum why_known {
	WHY_KNOWN_RECORDED, /* the program's own calls, as the agent saw them */
	WHY_KNOWN_DEVICE,   /* the device was asked: a query of an event or a stream */
	WHY_KNOWN_SEEN,	    /* seen inside the device: lanes, lines, registers, memory */
	WHY_KNOWN_SYSTEM,   /* the operating system says so: /proc, a futex word, a file's other end
			     */
	WHY_KNOWN_STACK,    /* a thread's stack, and the arguments in its registers */
	WHY_KNOWN_CODE, /* the code and the arguments of a kernel: it may read, or write, there */
	WHY_KNOWN_POSSIBLE, /* nothing excludes it */
};
const char *why_known_name(uint64_t known);

struct why_edge {
	uint32_t from, to; /* `from` waits for `to` */
	enum why_known known;
	char *what; /* "waits for", "is behind", "reads", "would be written by"; never NULL */
};

/* --- the graph --- */

struct why;

struct why *why_new(void);
void why_free(struct why *w); /* NULL is fine */
/* Finds or makes the node; its number never changes. name: used if the node is new. */
uint32_t why_node(struct why *w, enum why_kind kind, pid_t pid, uint64_t id, const char *name);
/* The node's number; WHY_NONE if there is none. */
uint32_t why_find(const struct why *w, enum why_kind kind, pid_t pid, uint64_t id);
/* To be changed at will (strings through why_set()); NULL past the end. Valid until the next
 * why_node(). */
struct why_node *why_at(const struct why *w, uint32_t node);
/* Frees *text, one of a node's strings, and sets it; fmt as printf's. */
void why_set(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `from` waits for `to`. An edge that is there already keeps the better way of being known. */
void why_edge(struct why *w, uint32_t from, uint32_t to, enum why_known known, const char *what);
/* NULL past the end. Valid until the next why_edge(). */
const struct why_edge *why_edge_at(const struct why *w, uint32_t edge);
/* The edges of a node in the order in which they were added: `for (e = WHY_NONE; (e =
 * why_next(w, node, e)) != WHY_NONE;)`. */
uint32_t why_next(const struct why *w, uint32_t node, uint32_t edge);

/* A sentence that belongs to the answer but to no node: what could not be looked at, and what to do
 * about it. Without its full stop. */
void why_note(struct why *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *why_note_at(const struct why *w, unsigned i); /* NULL past the end */

/* --- progress --- */

/* How the process was seen to go on. */
struct why_progress {
	uint64_t still_ns; /* for how long no command has finished; 0: not known */
	unsigned apart_ms; /* between the two looks; 0: there was one at most */
	bool looked;	   /* the device answered */
	bool moved;	   /* a command finished between the looks, or was submitted */
	uint64_t between;  /* commands known to have finished between the looks */
	uint64_t finished; /* commands known to have finished; */
	uint64_t pending;  /* and those that have not */
};
void why_set_progress(struct why *w, const struct why_progress *p);
const struct why_progress *why_get_progress(const struct why *w);

/* --- the answer --- */

enum why_verdict {
	WHY_IDLE,  /* nobody waits */
	WHY_SLOW,  /* what is waited for moves */
	WHY_OPEN,  /* whether it is slow or stuck is not known; the graph says what is */
	WHY_STUCK, /* a root is stuck that is no stream: a thread that polls could stop polling */
};
const char *why_verdict_name(uint64_t verdict);

#define WHY_CYCLE_MAX 64

struct why_answer {
	enum why_verdict verdict;
	/* Stuck: the nodes of the cycle, in the order of waiting, the first one not repeated; 0:
	 * there is none. */
	uint32_t cycle[WHY_CYCLE_MAX];
	unsigned ncycle;
	/* The first root's chain, from the root up to its leaf, or to the node before the one with
	 * which a cycle closes. */
	uint32_t path[WHY_CYCLE_MAX];
	unsigned npath;
	/* Where the first root's chain ends: a node that never ends, or is not known to. WHY_NONE:
	 * stuck in a cycle, or nobody waits. */
	uint32_t leaf;
	const char *cure; /* what to change; NULL: not known. Belongs to the graph */
};
/* Called when all sources have added what they know: sets `stuck` of every node and fills *ret. */
void why_judge(struct why *w, struct why_answer *ret);
/* The cure is known to the source that adds the culprit; the first one set stays. */
void why_set_cure(struct why *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- what a source gets --- */

/* One host thread, as it is when the sources are asked. */
struct why_thread {
	pid_t tid;
	uint32_t thread; /* GPU thread number, 0: it made no GPU call */
	char name[16];
	uint32_t node; /* of kind WHY_THREAD; there is one for every thread but the helpers */
	bool helper;   /* of the agent, the driver or the software GPU: it never acts for itself */
	char state;    /* of /proc/PID/task/TID/stat before the stop: R, S, D, ...; 0: not known */
	long nr;       /* system call that it was in before the stop (/proc/.../syscall); -1: none,
			  or not known */
	uint64_t arg[6];  /* and its arguments */
	const char *call; /* the driver's or runtime's function that it waits in; NULL: none. Edges
			     for these are added by why/ask.c */
	/* innermost first; empty: it could not be unwound. Nothing is left out */
	const struct stack *stack;
};

/* One process. */
struct why_process {
	pid_t pid;
	int64_t rank; /* -1: none */
	/* stopped, for inferior_read() and the like; NULL: not attached to, and only /proc can be
	 * read */
	struct inferior *inf;
	struct why_thread *threads;
	unsigned nthreads;
	bool whole; /* launched or attached early: every command since the start is known */
};

/* A source on the host's side, a row of why_host_sources[] (why/why-host.c). Adds what it knows of
 * all processes at once, so that a pipe's two ends can meet. For a thread that waits it adds edges
 * from threads[].node and sets that node's does and where; for one that runs or sleeps for a time
 * it sets end WHY_END_COMES. It waits for nothing, and for no more than some 100 ms in all. Errors
 * become why_note(). */
typedef void why_host_source(struct why *w, const struct why_process *p, unsigned n);

/* The rows of the table in why/why-host.c, in their order. */
void why_host(struct why *w, const struct why_process *p, unsigned n);
/* The processes that these wait for, directly or not, that use the GPU and are not among them: to
 * be looked into, too, before why_host(). Fills in up to max, returns how many. Adds nothing. */
unsigned why_host_peers(const struct why_process *p, unsigned n, pid_t *ret, unsigned max);

/* Places inside a kernel that are named, those with the most lanes. */
#define WHY_PLACES 4

/* --- asking --- */

/* The graph of the engine's live program at its stop; the caller frees *ret and calls why_judge().
 * Looks at the device twice (live-look.h), then at threads, locks and files. ERR_STATE: no program
 * is stopped. */
struct err *why_ask(struct engine *en, struct why **ret) TS_CHECK;

/* --- looking inside, with NVIDIA's debugger --- */

/* Whether cuda-gdb is there: what TSDB_CUDA_GDB says, or in PATH, or in CUDA's own folder. */
bool why_can_look_inside(void);
/* Whether a thread of the graph waits for a device of which nothing is known. */
bool why_wants_inside(const struct why *w);
/* After why_ask() and before why_judge(), when tsdb has detached: attaches cuda-gdb to the
 * processes of such threads, twice (`set look-apart`), and adds their kernels in flight, with lines
 * and what they read. A process and its kernels are held up for about a second each time, and the
 * driver's libcudadebugger stays loaded in it. What goes wrong becomes a note. */
void why_look_inside(struct engine *en, struct why *w);

#endif
