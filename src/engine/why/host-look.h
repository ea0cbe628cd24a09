/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's half of a wait-for graph: what threads wait in, by the system call that they are in
 * and the memory and files that it names. Private to the files host-*.c. Processes at the other end
 * of a pipe, a lock or a wait are found here, and looked at from outside only: by /proc, and by
 * reading their memory. Whatever cannot be read leaves a node without an end, which is never stuck.
 */
#ifndef ENGINE_WHY_HOST_LOOK_H
#define ENGINE_WHY_HOST_LOOK_H

#include "engine/why.h"

#define HOST_PROCESSES_MAX 1024u
#define HOST_FOUND_MAX                                                                             \
	32u /* processes that nobody gave; what lies behind them is not looked at                  \
	     */
#define HOST_THREADS_MAX 4096u /* of one process */

struct host_thread {
	pid_t tid;
	uint32_t node; /* WHY_NONE: a helper that nobody waits for, so far */
	char state;
	long nr;
	uint64_t arg[6];
	const char *call;
	const struct stack *stack; /* NULL: none */
	char name[16];
	uint64_t switches; /* how often it had run, where nobody has stopped it */
	bool done;	   /* its edges are made */
};

struct host_process {
	pid_t pid;
	const struct why_process *given; /* NULL: found here */
	bool outside, gpu; /* its threads were read here, from /proc; it may use the GPU */
	uint32_t node;	   /* WHY_NONE: nobody waits for it, so far */
	bool connected;	   /* with its threads */
	struct host_thread *threads;
	unsigned nthreads, cap;
	bool cut; /* it has more */
	/* handlers of the program's that may run by themselves: a timer's, or of signals that
	 * programs send one another; and the one for a child's end */
	bool signals_looked, signals_act, child_handled;
};

struct host_end;
struct host_look {
	struct why *w;
	bool scratch; /* w is another graph than the one that has the given threads' nodes */
	struct host_process *p[HOST_PROCESSES_MAX];
	unsigned n, found, sockets;
	struct host_end *ends; /* which process has which pipes and sockets open */
	unsigned nends, ends_cap;
	bool ends_looked, ends_known; /* known: every process's could be read */
	struct host_claim *claims;
	unsigned nclaims, claims_cap;
};

/* --- host-look.c --- */

/* Takes over one that was stopped and looked at. */
void host_process_given(struct host_look *l, const struct why_process *p);
/* The process; found and read if need be. NULL: it is gone, or there are too many. */
struct host_process *host_process(struct host_look *l, pid_t pid);
/* NULL: it has no such thread. */
struct host_thread *host_thread(struct host_process *p, pid_t tid);
/* The nodes; they are made if need be. A process goes on if one of its threads does. */
uint32_t host_process_node(struct host_look *l, pid_t pid);
uint32_t host_thread_node(struct host_look *l, struct host_process *p, struct host_thread *t);
/* Reads memory of the process; false: it cannot be read. */
bool host_read(const struct host_process *p, uint64_t addr, void *to, size_t n);
/* The innermost function of its stack whose name has one of the words in it; NULL: none. words:
 * ends with NULL. */
const char *host_stack_has(const struct host_thread *t, const char *const *words);
/* Reads a file of /proc/PID/ into text, cut at max - 1 bytes; returns its length, 0 when it cannot
 * be read. */
size_t host_proc_text(pid_t pid, const char *name, char *text, size_t max);

/* Whether a handler of a signal may run by itself, so that whatever waits may be woken. */
bool host_signals_act(struct host_process *p);
/* A handler for a child's end may wake a thread, or signal a condition: the node goes on if a child
 * does. Adds the children, if there is such a handler. */
void host_add_handled_children(struct host_look *l, struct host_process *p, uint32_t node);

/* --- the kinds of waits: each adds the edges of a thread that waits so --- */

/* host-futex.c: a mutex, a lock for reading and writing, a condition, a thread's end, Python's lock
 */
void host_waits_futex(struct host_look *l, struct host_process *p, struct host_thread *t);
/* host-python.c: the node of the lock, if the word at addr belongs to CPython's global interpreter
 * lock; else WHY_NONE */
uint32_t host_gil(struct host_look *l, struct host_process *p, uint64_t addr);
/* host-files.c: reading and writing one file; and one of several */
void host_waits_read(struct host_look *l, struct host_process *p, struct host_thread *t);
void host_waits_write(struct host_look *l, struct host_process *p, struct host_thread *t);
void host_waits_poll(struct host_look *l, struct host_process *p, struct host_thread *t);
void host_waits_select(struct host_look *l, struct host_process *p, struct host_thread *t);
void host_waits_epoll(struct host_look *l, struct host_process *p, struct host_thread *t);
/* Every pipe and socket, by the processes that have it open (host-ends.c). */
struct host_end {
	uint64_t inode;
	pid_t pid;
	bool reads, writes;
};
void host_ends_find(struct host_look *l);
/* The other end of a connected socket, by its inode; 0: not known. listens: it is one that clients
 * connect to. */
uint64_t host_socket_peer(pid_t pid, uint64_t inode, bool *ret_listens);
/* host-children.c: a child's end, a lock on a file */
void host_waits_child(struct host_look *l, struct host_process *p, struct host_thread *t);
void host_waits_flock(struct host_look *l, struct host_process *p, struct host_thread *t);
void host_waits_fcntl(struct host_look *l, struct host_process *p, struct host_thread *t);

/* --- host-claims.c --- */

/* That a thread waits, as it was seen: to be looked at again when all others have been. */
struct host_claim {
	const struct host_process *p;
	uint32_t node;
	int fd; /* -1: a futex */
	short events;
	uint64_t addr;
	uint32_t value;
};
void host_claim_file(
	struct host_look *l, const struct host_process *p, uint32_t node, int fd, short events);
/* False: it does not wait any more. */
bool host_claim_futex(struct host_look *l, const struct host_process *p, uint32_t node,
	uint64_t addr, uint32_t value);
/* Threads that do not wait any more, or have run since, go on. So what is left was true of all at
 * one moment: between the first look at the last and the second look at the first. */
void host_claims_check(struct host_look *l);
/* How often a thread has been given the processor; 0: not known. */
uint64_t host_switches(pid_t pid, pid_t tid);

/* The source (host-waits.c). */
why_host_source host_waits;

#endif
