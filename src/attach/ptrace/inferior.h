/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: struct inferior, shared by its files. Only stops.c changes a thread's
 * run state.
 */
#ifndef ATTACH_INFERIOR_H
#define ATTACH_INFERIOR_H

#include <signal.h>
#include <termios.h>
#include "base/patience.h"
#include "attach/arch/arch.h"
#include "attach/attach.h"

/* One thread as ptrace knows it. */
struct tracee {
	pid_t tid;
	bool running;	 /* resumed; false: in a ptrace stop, registers can be read */
	bool fresh;	 /* just cloned, its first stop has not been seen */
	bool asked;	 /* PTRACE_INTERRUPT was sent, the stop it makes has not been seen */
	bool job_stop;	 /* in the stop of SIGSTOP or its like */
	bool group_stop; /* the same, and to stay there: resumed with PTRACE_LISTEN */
	bool limbo;	 /* does not stop: in an uninterruptible sleep (vfork) or a zombie leader */
	bool syscalls;	 /* resumed up to its system calls: an injected call is under way */
	bool has_pending; /* pending is a wait status that came while the others were being stopped
			   */
	int pending;
	int inject; /* signal to deliver at the next resume */
	bool has_regs;
	struct arch_regs regs; /* read at first need after a stop */
};

struct signal_rule {
	bool stop, pass;
};

#define EVENT_QUEUE_MAX 32u

struct inferior {
	pid_t pid;
	bool alive, running;
	bool attached;	   /* tsdb attached to it: no EXITKILL, and it lives on when tsdb goes */
	bool through_stop; /* threads run although SIGSTOP stopped the process: the agent needs them
			    */
	/* SIGSTOP had stopped it before the attach, and it has not been continued since */
	bool found_stopped;
	volatile sig_atomic_t interrupt; /* set by inferior_interrupt() */

	struct tracee **tracees;
	unsigned ntracees, tracees_cap;
	struct tracee *last_found;

	pid_t event_tid;  /* thread of the last STOP event, 0 when running */
	bool at_agent;	  /* that thread is at tsdb_agent_stop */
	bool owes_served; /* a request timed out: its thread will report STOP_SERVED some time
			     later */
	struct inferior_event queue[EVENT_QUEUE_MAX]; /* forks and execs not yet reported */
	unsigned nqueue;
	/* all-stops so far: data read from the inferior before the last one is old */
	uint64_t stops;
	bool died; /* the leader's exit status was seen but not yet reported */
	int death_status;

	struct signal_rule rules[_NSIG];
	bool sigint_ruled; /* the user chose what to do with SIGINT */

	/* terminal.c */
	bool own_group; /* the inferior has a process group of its own and gets the terminal while
			   it runs */
	bool has_terminal;
	pid_t our_group;
	struct termios our_modes, its_modes;
	bool has_our_modes, has_its_modes;

	/* control.c */
	int control_fd;
	struct tsdb_control *control;
	uint32_t ring_bytes;
	char *agent; /* path, NULL without agent */

	/* newborn.c */
	struct newborn *newborns;
	unsigned nnewborns, newborns_cap;

	/* family.c */
	struct family *family; /* NULL: children are let go */
	pid_t parent;	       /* 0: launched */
	struct inferior *born; /* children not taken yet, oldest first, linked by sibling */
	struct inferior *sibling;

	struct keeper *keeper;	     /* keeper-process.c, NULL: none */
	struct drain *drain;	     /* drain.c */
	struct unwind *unwind;	     /* unwind.c, NULL until the first backtrace */
	struct symbols *symbols;     /* backtrace.c, NULL until first used */
	struct python_names *python; /* python-frames.c, NULL until first used */
	struct libraries
		*libraries; /* libraries.c, NULL until first used; renewed after each stop */
};

/* inferior.c */
struct tracee *tracee_find(struct inferior *inf, pid_t tid);
struct tracee *tracee_add(struct inferior *inf, pid_t tid);
void tracee_remove(struct inferior *inf, struct tracee *t);
void tracee_remove_others(struct inferior *inf, pid_t keep);
/* Registers of a stopped thread, cached until it runs again; NULL when they cannot be read (it was
 * killed). */
const struct arch_regs *tracee_regs(struct tracee *t);
#define MS_NS 1000000ull

/* launch.c */
#define SEIZE_OPTIONS                                                                              \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |      \
		PTRACE_O_TRACEEXEC)
struct inferior *inferior_new(const char *agent);
void inferior_default_rules(struct inferior *inf);

/* family.c */
/* Makes the family of a process that is about to be launched. */
struct err *family_begin(struct inferior *inf) TS_CHECK;
/* The value of TSDB_CONTROL for inf; a heap string. */
char *family_control(const struct inferior *inf);
/* Adds inf, which has a pid and a control block, to the directory, so that its agent can find it.
 * Returns false if there is no room. */
bool family_enter(struct inferior *inf);
/* Follows a new child, which is in its first stop. Returns false if the caller has to let it go. */
bool family_adopt(struct inferior *parent, pid_t child);
void family_leave(struct inferior *inf);

/* newborn.c */
/* Expects the first stop of process `child`, made by thread `parent`; tsdb traces it from birth. */
void newborn_expect(struct inferior *inf, pid_t parent, pid_t child);
/* Returns a child that is in its first stop, where it stays; forgets those that ended before it.
 * Never waits. */
bool newborn_next(struct inferior *inf, pid_t *ret_parent, pid_t *ret_child);
void newborn_free(struct inferior *inf);

/* stops.c */
/* Called before the inferior is let go of, or after it has ended: waits for the first stops of its
 * children, which are then treated like others. */
void stops_settle_children(struct inferior *inf);
/* Stops every thread; the caller checks inf->died. */
void stops_all(struct inferior *inf);
/* Waits some more milliseconds for threads that did not stop before. Returns false if there are
 * none (zombie leaders never stop). */
bool stops_limbo(struct inferior *inf);
/* Handles what the threads report and lets them go on, until thread tid is at a system call
 * (tracee.syscalls), where it stays; then returns true. Returns false if the time is over, the
 * thread has ended, or the program has ended or executed another one. */
bool stops_pump(struct inferior *inf, pid_t tid, int timeout_ms);
/* With `through`, threads run although SIGSTOP has stopped the process; without it, threads stopped
 * by SIGSTOP stay so. */
void stops_overrule(struct inferior *inf, bool through);
/* Resumes every thread, with its pending signal; nothing is reported (no signal may have a rule to
 * stop). */
void stops_go(struct inferior *inf);
/* Resumes a thread that nothing else resumes. */
void stops_run(struct tracee *t);
/* Starts following a stopped, seized child as the inferior's first thread. */
void stops_begin(struct inferior *inf, pid_t pid);
/* Resumes only the event thread, for requests, and waits until it is at tsdb_agent_stop again. */
struct err *stops_serve(struct inferior *inf, int timeout_ms) TS_CHECK;
/* At a stop: lets the device's threads and the agent's "tsdb-look" run until over(arg), which is
 * asked every few milliseconds. Returns false if the time is over, or the program has ended. */
bool stops_run_device(struct inferior *inf, bool (*over)(void *arg), void *arg, int timeout_ms);
/* waits.c */
struct wait_hold {
	sigset_t old, sleep_mask;
};
/* SIGCHLD ends a sleep. Once in the life of the process. */
void wait_install_sigchld(void);
/* Between these two no signal handler runs but in wait_sleep(). */
void wait_hold(struct wait_hold *h);
void wait_release(const struct wait_hold *h);
/* Sleeps until a signal or for ms (-1: for ever). */
void wait_sleep(const struct wait_hold *h, int ms);
/* Waits until tid changes state or timeout_ms pass; returns true when *ret_status was filled. */
bool wait_one(pid_t tid, int timeout_ms, int *ret_status);
/* The next thread with a new wait status, or NULL. It looks before it reaps: tsdb has other
 * children, which must not be reaped here, and so must not children of the inferior that report
 * before their parent's fork event. An unknown thread is added, since its first stop can come
 * before the clone event. */
struct tracee *wait_next(struct inferior *inf, int *ret_status);
/* Whether tid is a thread of the inferior now. */
bool wait_is_thread(const struct inferior *inf, pid_t tid);

/* terminal.c */
void terminal_begin(struct inferior *inf);

/* control.c */
struct err *control_create(struct inferior *inf, uint32_t ring_bytes) TS_CHECK;
void control_exec(struct inferior *inf);
void control_free(struct inferior *inf);

/* drain.c */
struct drain *drain_new(void);
void drain_free(struct drain *d);
/* The inferior exec'ed: rings of the old program are closed, the new program's ids start again. */
void drain_exec(struct inferior *inf);
/* A thread has ended, perhaps without a message from the agent: closes its slot, so that merging
 * does not wait for its records. */
void drain_thread_gone(struct inferior *inf, pid_t tid);
/* Called before control_free(). */
void drain_unmap(struct inferior *inf);

/* unwind.c */
void unwind_free(struct inferior *inf);

/* python-frames.c */
void python_names_free(struct inferior *inf);

/* libraries.c */
struct mapping {
	uint64_t start, end, bias;
	/* with the kernel's " (deleted)", so that it is not mistaken for a new file of that name */
	const char *path;
	bool deleted;
};
void libraries_free(struct inferior *inf);
/* The inferior ran, so the list of libraries may be old. */
void libraries_stale(struct inferior *inf);
/* The file mapped at addr, or NULL. Valid until the inferior runs. */
const struct mapping *libraries_at(struct inferior *inf, uint64_t addr);

/* backtrace.c */
struct symbols *inferior_symbols(struct inferior *inf);

#endif
