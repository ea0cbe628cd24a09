/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the agent: the process-wide state and a thread's state.
 *
 * The agent runs inside the user's process: no allocation once a thread is set up (memory comes
 * from mmap), no printing, no exit, no lock that a signal handler or a forked child could find
 * held, errno unchanged. Functions that can fail return 0 or -errno, and count losses in the
 * control block.
 *
 * The guard: tls.inside is set while a thread runs agent code. A callback that comes meanwhile is
 * caused either by a driver call of the agent (tls.own is set: ignored) or by a signal handler that
 * makes GPU calls (dropped, counted).
 */
#ifndef CAPTURE_AGENT_H
#define CAPTURE_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "capture/wire.h"

#define AGENT_PUBLIC __attribute__((visibility("default")))
/* Marks a variable that keeps its value when a debugger leaves; all others get the values they had
 * when the library was loaded (forget.c). */
#define AGENT_KEPT __attribute__((section("tsdb_kept")))

struct thread;
struct source;

struct agent {
	struct tsdb_control *control; /* NULL: inert */
	/* In a page that the kernel zeroes in a forked child (MADV_WIPEONFORK), so a child is
	 * inert, however it was forked. */
	_Atomic uint32_t *live;
	const struct source *source;
	_Atomic uint32_t started; /* agent_start() was called for this control block */
};
extern struct agent agent;
/* The process that the agent's memory belongs to; 0: there was no debugger so far. In a forked
 * child it is another process's. */
extern pid_t agent_owner;

struct tls {
	struct thread *thread;
	uint32_t inside; /* in agent code */
	uint32_t own;	 /* in a driver call made by the agent */
	uint32_t hidden; /* code loaded meanwhile is the agent's own */
	/* code loaded meanwhile may be the program's: only its hash is needed (old-code.c) */
	uint32_t peek;
};
/* initial-exec: reading it never calls the dynamic linker, which could allocate. */
extern __thread struct tls tls __attribute__((tls_model("initial-exec")));

static inline bool agent_live(void)
{
	return agent.live && atomic_load_explicit(agent.live, memory_order_relaxed);
}

/* Whether to go on searching: a debugger that wants to leave does not wait for that. */
static inline bool agent_wanted(void)
{
	return agent_live() && !atomic_load_explicit(&agent.control->leave, memory_order_relaxed);
}

/* Whether the process that made the control block has ended. */
bool agent_debugger_gone(const struct tsdb_control *c);
/* Maps the control block that TSDB_CONTROL names. Returns 0, or -errno: there is no debugger, or an
 * incompatible one; the agent stays inert. */
int agent_map_control(const char *path);
/* Does so for the environment's TSDB_CONTROL, once in a process. Returns 0, or -errno. */
int agent_open(void);
/* Maps the control block of a debugger that attaches. -EBUSY while one is in use. */
int agent_reopen(const char *path);
/* Subscribes, once for each control block; sets agent_state. The driver's library is loaded. */
void agent_start(void);
/* Called by the driver that has loaded the agent, while the program initialises it. Nonzero:
 * "loaded". */
int agent_loaded(void);
/* For tests and agent_map_control: takes over a mapping of tsdb_wire_bytes(). */
int agent_adopt(struct tsdb_control *control);
/* The rings are not read any more: from here on every hook returns at once. */
void agent_retire(void);
/* Reports why there is no capture (one sentence); the program goes on. */
void agent_refuse(const char *sentence);
void agent_count_lost(void);

/* Anonymous zeroed memory; NULL if there is none. Freed by agent_unmap(), or when the debugger
 * leaves (forget_all()). */
void *agent_map(size_t bytes);
/* Makes the kernel allocate the pages of such memory, or of a static table, now. Does not change
 * it. */
void agent_touch(void *p, size_t bytes);
void agent_unmap(void *p, size_t bytes);
/* The same for memory that is kept when the debugger leaves. */
void *agent_map_kept(size_t bytes);
void agent_unmap_kept(void *p, size_t bytes);
/* Unmaps the control block, which is not used any more. */
void agent_unmap_control(struct tsdb_control *c);
/* Makes whole pages zeros again, which take no memory. */
void agent_empty(void *p, size_t bytes);

/* Brackets a driver call made by the agent. */
#define OWN(expr)                                                                                  \
	({                                                                                         \
		tls.own++;                                                                         \
		__auto_type own_r = expr;                                                          \
		tls.own--;                                                                         \
		own_r;                                                                             \
	})

/* A lock for first sights. It is only taken with tls.inside set, so never by a signal handler that
 * interrupted its holder; a forked child is inert and never takes it. */
struct spin {
	_Atomic uint32_t held;
};
void spin_lock(struct spin *s);
void spin_unlock(struct spin *s);

#endif
