/* SPDX-License-Identifier: Apache-2.0
 *
 * The inferior: what the room attach offers. Launch, attach, stops, threads, stacks, and the stream
 * of commands out of the agent's rings. All calls come from the one thread that launched or
 * attached (ptrace demands it).
 */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

#include <sys/types.h>
#include "sbt/memory.h"
#include "sbt/sbt.h"
#include "capture/wire.h"
#include "gpucode/code-kind.h"
#include "symbols/host-stack.h"

/* --- launch and life --- */

struct inferior;

struct launch_options {
	char *const *argv; /* argv[0] is searched in PATH like execvp */
	char *const
		*env_changes; /* "NAME=value" sets, "NAME" unsets; NULL-terminated; may be NULL */
	const char *cwd;      /* NULL: tsdb's */
	const char *in, *out, *err; /* redirections; NULL: tsdb's */
	bool out_append, err_append;
	bool keep_aslr;	     /* default off: ADDR_NO_RANDOMIZE, as gdb does */
	const char *agent;   /* path of libtsdb-agent.so; NULL: no agent (no GPU capture) */
	const char *softgpu; /* folder of the software GPU's libraries to put first; NULL: the
				machine's driver */
	uint32_t ring_bytes; /* 0: default */
	bool children;	     /* follow child processes, see below */
};

/* Starts the program and stops it right after exec, with the control block ready for the caller to
 * configure; the caller then resumes it. Every refusal (not found, not executable, 32-bit, ptrace
 * not permitted) is one sentence with its cure. */
struct err *inferior_launch(struct inferior **ret, const struct launch_options *o) TS_CHECK;

struct attach_options {
	pid_t pid;
	const char *agent;   /* absolute path of libtsdb-agent.so */
	uint32_t ring_bytes; /* 0: default */
	unsigned safe_ms;    /* how long to look for a safe moment; 0: default */
	unsigned start_ms;   /* how long the agent may take to subscribe, and one that an earlier
				debugger left to be free; 0: default */
	bool look_only; /* the agent is only to look at the device: nothing is captured, and CUPTI
			   is not started */
	bool without_agent; /* an agent that is not free in time is no reason to refuse: threads and
			       stacks are there */
	volatile bool *interrupt; /* the attach is given up when it becomes true; may be NULL */
};
struct attach_result {
	char name[16];
	unsigned threads;
	unsigned looks;	     /* stops that it took to find a thread in a safe place */
	uint64_t pause_ns;   /* how long the program was held up, all in all */
	uint64_t longest_ns; /* at one go */
	uint64_t start_ns;   /* subscribing; the program ran meanwhile */
	bool blocked; /* the agent's start waits for the device's work to end: capture begins when
			 it does */
	char busy[2048]; /* and what the device was doing before; lines, in the program's words: not
			    to be trusted */
	bool held;    /* the agent of an earlier debugger is in a call of the driver that does not
			 return: there is none (TSDB_AGENT_NONE) */
	bool waiting; /* the program has not initialised the driver yet: capture begins when it does
		       */
	bool stopped; /* SIGSTOP or its like had stopped the process: it stays so until
			 inferior_wake() or somebody's SIGCONT */
};
/* Attaches to a running process, loads the agent into it, and stops it. Every refusal is one
 * sentence with its cure, and leaves the process as it was (except for the library, if the agent
 * was loaded and refused). If tsdb is killed at any moment the process runs on. */
struct err *inferior_attach(struct inferior **ret, const struct attach_options *o,
	struct attach_result *ret_result) TS_CHECK;
/* Finds processes called name, except tsdb itself: fills in up to max, returns how many there
 * are. */
unsigned inferior_find(const char *name, pid_t *ret, unsigned max);
/* Whether a GPU's driver is loaded into a process, attached to or not; true where that cannot be
 * read. */
bool inferior_may_use_gpu(pid_t pid);
/* Waits for such a process that is not among the old ones. Returns false if *interrupt became
 * true. */
bool inferior_await(
	const char *name, const pid_t *old, unsigned nold, volatile bool *interrupt, pid_t *ret);
/* Sends SIGCONT to a process that was found stopped and has not been continued since; it runs after
 * the next resume. Returns false if the process is not in that state. */
bool inferior_wake(struct inferior *inf);
/* Whether tsdb attached to the process: it existed before, and will live on. */
bool inferior_attached(const struct inferior *inf);
/* Asks the agent to go; the program runs meanwhile. The caller waits and drains, and resumes from
 * stops, until inferior_agent_left(). */
struct err *inferior_leave(struct inferior *inf) TS_CHECK;
bool inferior_agent_left(const struct inferior *inf);
/* Lets go of the process; stopped threads run on. The caller frees inf. An agent that has not left
 * goes by itself. */
struct err *inferior_detach(struct inferior *inf) TS_CHECK;

/* A launched process is killed if it lives, and reaped; one that tsdb attached to is let go of. */
void inferior_free(struct inferior *inf);
struct err *inferior_kill(struct inferior *inf) TS_CHECK;

pid_t inferior_pid(const struct inferior *inf);
bool inferior_alive(const struct inferior *inf);
bool inferior_running(const struct inferior *inf); /* false at a stop */
/* The shared control block: breakpoints, window, configuration are written by the engine directly
 * (wire.h). */
struct tsdb_control *inferior_control(struct inferior *inf);

enum inferior_event_kind {
	INFERIOR_NONE,	      /* timeout: nothing happened */
	INFERIOR_EXITED,      /* status = exit code */
	INFERIOR_SIGNALLED,   /* signal = the one that killed it */
	INFERIOR_STOP_AGENT,  /* tid is at tsdb_agent_stop; control->stop says why */
	INFERIOR_STOP_SIGNAL, /* a signal is about to be delivered (passed on by the next resume);
				 SIGSEGV and the like */
	INFERIOR_STOP_INTERRUPT, /* inferior_interrupt() took effect */
	/* child = new process; the inferior is running. The child was let go of, with its agent
	 * inert, or is followed */
	INFERIOR_FORKED,
	INFERIOR_EXECED, /* the inferior is running a new program; agent state starts again */
};
struct inferior_event {
	enum inferior_event_kind kind;
	pid_t tid, child;
	int status, signal;
};

/* Resumes all threads; the signal of a STOP_SIGNAL is passed on (signal 0 with drop_signal). */
struct err *inferior_resume(struct inferior *inf, bool drop_signal) TS_CHECK;
/* Waits up to timeout_ms for the next event; draining the rings is the caller's job between calls.
 * At a STOP_ event every thread is stopped. Signals that the user has not asked to see go straight
 * to the inferior. */
struct err *inferior_wait(
	struct inferior *inf, int timeout_ms, struct inferior_event *ret) TS_CHECK;
/* Asks for a stop; async-signal-safe, may be called from a SIGINT handler. */
void inferior_interrupt(struct inferior *inf);

/* Following children (launch_options.children): a new process becomes an inferior with its own
 * control block, configured like its parent's but without breakpoints and windows, and its children
 * are followed in turn. It has not run yet: the caller takes it and resumes it. A caller that
 * follows children waits with inferior_wait_any() and takes children after every event. */
/* The oldest child of inf that has not been taken; the caller frees it. NULL: none. inferior_free()
 * of inf frees only children that were not taken. */
struct inferior *inferior_take_child(struct inferior *inf);
/* How many children, of the whole family, could not be followed (too many at once). */
unsigned inferior_children_missed(const struct inferior *inf);
/* The process that started this one; 0 for the launched one. */
pid_t inferior_parent(const struct inferior *inf);
/* Like inferior_wait(), for n inferiors: *ret_i says which one has an event. Stopped and dead ones
 * are skipped. INFERIOR_NONE: the time is over. */
struct err *inferior_wait_any(struct inferior *const *infs, unsigned n, int timeout_ms,
	unsigned *ret_i, struct inferior_event *ret) TS_CHECK;

/* With a terminal on stdin the inferior owns it while it runs and tsdb at every stop; resume and
 * wait see to that. Only called around something of its own that needs the terminal
 * while the inferior runs. No terminal: they do nothing. */
void inferior_give_terminal(struct inferior *inf);
void inferior_take_terminal(struct inferior *inf);
/* Which signals stop: gdb's `handle`. Default stop: SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT SIGTRAP
 * SIGSYS. A Ctrl-C typed at the terminal (not a SIGINT that some process sent) stops with
 * STOP_INTERRUPT and is not passed on, unless SIGINT was given a rule here. A Ctrl-Z typed stops
 * with STOP_SIGNAL and is not passed on either. */
void inferior_handle_signal(struct inferior *inf, int sig, bool stop, bool pass);

/* At a STOP_AGENT: the stopped thread's agent reads device memory (any size, in pieces),
 * or waits for a stream, while every other thread stays stopped. ERR_STATE when the stop is not one
 * of the agent's, or the driver does not answer within timeout_ms (another thread may hold its
 * lock). */
struct err *inferior_gpu_read(
	struct inferior *inf, uint64_t addr, void *dst, size_t n, int timeout_ms) TS_CHECK;
struct err *inferior_gpu_sync(struct inferior *inf, uint32_t stream, int timeout_ms) TS_CHECK;
/* About the last inferior_gpu_read(). 0: it read the memory itself. Else the device has faulted and
 * its memory is lost; the read returned a copy from before this command, where the capture's window
 * began. */
uint64_t inferior_gpu_read_before(const struct inferior *inf);
/* At any stop: has the agent's thread "tsdb-look" answer the questions of ret[0] (struct tsdb_look
 * in wire.h) twice, apart_ms apart; once with apart_ms 0. Meanwhile only that thread and the
 * software GPU's run. The answers go to ret[0] and ret[1], with every count and text made safe to
 * use. False: there is no such thread, or no answer within timeout_ms for each time; ret->at is the
 * question that the driver did not answer. */
bool inferior_look(
	struct inferior *inf, struct tsdb_look *ret, unsigned apart_ms, unsigned timeout_ms);
/* The command with that correlation id; 0: not known. */
uint64_t inferior_seq_of(const struct inferior *inf, uint32_t corr);
/* From here on copies of device memory are in another process, the program `keeper` (tsdb-keeper),
 * so that they survive a fault of the device; softgpu: as in launch_options. Does nothing if there
 * is a keeper already. */
struct err *inferior_keep(struct inferior *inf, const char *keeper, const char *softgpu) TS_CHECK;
void inferior_keep_end(struct inferior *inf);
/* Whether the keeper has ended by itself: true once for each keeper. The copies that it had are
 * lost if the device faults; there is none until inferior_keep_end() and inferior_keep(). */
bool inferior_keeper_ended(struct inferior *inf, int *ret_status);
/* At a STOP_AGENT: the stopped thread's agent ends the window of captured commands (wire.h,
 * REQ_END_WINDOW). All threads are resumed; the caller waits and drains, until INFERIOR_STOP_AGENT
 * with why SERVED; control->stop is then to be taken as it was before. */
struct err *inferior_end_window(struct inferior *inf) TS_CHECK;
/* The inferior's own memory. Writing needs a stop. */
struct err *inferior_read(struct inferior *inf, uint64_t addr, void *dst, size_t n) TS_CHECK;
struct err *inferior_write(struct inferior *inf, uint64_t addr, const void *src, size_t n) TS_CHECK;

/* --- threads, stacks --- */

struct inferior_thread {
	pid_t tid;
	uint32_t thread; /* GPU thread number (wire), 0 when it made no GPU call */
	char name[16];
	uint64_t pc; /* 0 while running */
	bool agents; /* it is the agent's, by its name */
};
bool inferior_thread(struct inferior *inf, unsigned i, struct inferior_thread *ret);
/* The system call that a stopped thread waits in: it goes on waiting when the thread does. False:
 * it is in none, or in one that has just ended. */
bool inferior_syscall(struct inferior *inf, pid_t tid, long *ret_nr, uint64_t ret_arg[6]);

/* Remote unwinding of a stopped thread (libunwind-ptrace), innermost first. *ret is a heap array
 * the caller frees. */
struct err *inferior_backtrace(struct inferior *inf, pid_t tid, unsigned max,
	struct backtrace_frame **ret, unsigned *ret_n) TS_CHECK;
struct inferior_library {
	uint64_t start, end, bias; /* bias: address in the program = ELF address + this */
	bool has_symbols, has_lines;
	const char *path;
};
bool inferior_library(struct inferior *inf, unsigned i, struct inferior_library *ret);

/* --- the stream of commands --- */

/* What drain_next() returns, in order. Pointers in it are valid until the next call. */
enum drain_kind {
	DRAIN_NONE,
	DRAIN_CMD,
	DRAIN_STACK,
	DRAIN_TIME,
	DRAIN_CODE,
	DRAIN_MEMORY,
	DRAIN_WINDOW
};
/* A part of a piece of memory: its beginning (which is all of it if memory.has_bytes is false or
 * size is 0), its bytes in order, or a notice that the rest will never come. */
/* SAME: the bytes are hashes (struct sbt_hash) of the pages in the next nbytes of the piece; tsdb
 * has those pages already. */
enum drain_part { DRAIN_PIECE_BEGINS, DRAIN_PIECE_BYTES, DRAIN_PIECE_SAME, DRAIN_PIECE_CUT };
struct drain_item {
	enum drain_kind kind;
	struct sbt_cmd cmd; /* CMD */
	uint32_t epoch; /* CMD, MEMORY, WINDOW: how often the process had executed another program
			   by then */
	uint32_t stack; /* STACK: comes before the first command with this stack */
	const struct sbt_frame *frames;
	unsigned n;
	uint32_t corr; /* TIME */
	/* TIME: the command with that correlation id; 0 when it is not known (yet): ignore the
	 * time */
	uint64_t seq;
	uint64_t start_ns, end_ns;
	uint64_t hash; /* CODE: all of it, assembled */
	const void *code;
	size_t code_size;
	enum code_kind code_kind;
	uint64_t piece; /* MEMORY: which piece; several may be under way */
	enum drain_part part;
	struct sbt_memory memory; /* BEGINS */
	const void *bytes; /* BYTES: in shared memory, where the program may overwrite them */
	size_t nbytes;
	bool ended, complete, no_end; /* WINDOW, with seq: see struct tsdb_msg_window; an end comes
					 after all memory of its window */
};

/* A host module that frames refer to, defined before first use; the index is that of
 * sbt_frame.module. */
bool drain_module(struct inferior *inf, uint32_t index, struct sbt_host_module *ret);
/* A place in Python source: in frames whose module is SBT_MODULE_PYTHON, offset is its index.
 * Strings are valid as long as inf. */
bool drain_place(struct inferior *inf, uint64_t index, struct sbt_place *ret);
/* The next item, merged over all threads by seq. DRAIN_NONE when nothing can be merged yet, or,
 * without final, after some MB, so that the caller can attend to the inferior. With final set and
 * the inferior dead everything is returned, even if an earlier seq never came; while it lives a
 * command that is still in a call holds back the later ones, so that seqs always rise. Does not
 * block. What the inferior wrote never makes this fail: see drain_warning(). */
struct err *drain_next(struct inferior *inf, bool final, struct drain_item *ret) TS_CHECK;
/* The first command with seq > after that drain_next() holds back, although it is published,
 * because an earlier command is still in a call. The command is not taken. Looks only at what the
 * last drain_next() saw. Returns false if there is none. */
bool drain_peek(struct inferior *inf, uint64_t after, struct drain_item *ret);
/* Commands lost so far, by cause; each is counted once. */
struct drain_losses {
	uint64_t full;	  /* a ring was full, with `set capture on-full drop` */
	uint64_t no_ring; /* their threads found no ring slot, or no memory to map it; */
	uint64_t threads; /* how many threads */
	uint64_t damaged; /* the program overwrote what it shares with tsdb; see drain_warning() */
	uint64_t otherwise; /* a signal handler's within another call, or too large */
};
/* Their sum; ret may be NULL. */
uint64_t drain_lost(const struct inferior *inf, struct drain_losses *ret);
/* The next sentence for the user about what could not be drained (a damaged ring), or NULL. Each
 * comes once. Valid as long as the inferior. */
const char *drain_warning(struct inferior *inf);
/* How full the fullest ring is, or how many bulk slots wait, per mille: the caller drains sooner
 * when it is high. */
unsigned drain_pressure(const struct inferior *inf);

#endif
