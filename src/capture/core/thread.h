/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent keeps for each thread that makes GPU calls: its ring slot, the call it is in, and caches.
 */
#ifndef CAPTURE_THREAD_H
#define CAPTURE_THREAD_H

#include "capture/core/agent.h"
#include "capture/core/calls.h"
#include "capture/core/clock.h"
#include "capture/objects/ids.h"
#include "capture/stacks/mapping.h"
#include "capture/pipeline/ring.h"

#define THREAD_PYTHON_SENT 65536u
#define THREAD_PTDS 8 /* contexts in which the thread used its per-thread default stream */

struct memo;

/* Where a thread is, for the gate (gate.h). */
enum thread_at {
	THREAD_OUT,
	THREAD_IN,	 /* in a call of the driver, or about to be */
	THREAD_SYNCING,	 /* in a call that only waits */
	THREAD_STOPPING, /* waits for its turn to stop: before the driver gets the command, or after */
};

struct thread {
	struct ring ring;
	_Atomic uint32_t at; /* enum thread_at */
	struct thread *next; /* of all threads */
	const struct tls *tls; /* the thread's own */
	bool left; /* it is of an earlier debugger's time: nothing else in here means anything */
	struct clock clock;
	uint32_t number; /* sbt_cmd.thread; 0: a thread of the source's that only delivers timestamps */
	uint32_t os_tid;
	bool announced; /* the THREAD record is out */

	bool busy;	       /* in call */
	bool in_flight;	       /* the call has its seq and is not published */
	uintptr_t busy_frame;  /* where the stack was then */
	uint64_t busy_link;
	struct call call;

	/* The last ones seen, valid while generation == ids.generation. */
	uint32_t generation;
	uint64_t ctx_handle;
	struct object *ctx;
	uint64_t stream_handle;
	struct object *stream;
	uint64_t kernel_handle;
	struct kernel *kernel;

	struct {
		uint32_t ctx, stream;
	} ptds[THREAD_PTDS];
	unsigned nptds;

	bool ctx_known;	      /* current_ctx below is right */
	uint32_t current_ctx; /* id last published as current */
	_Atomic uint64_t work_seq; /* its last command that may change memory */
	uint64_t last_query;  /* what the last not-ready query asked about; repeats are not recorded */

	/* Code that the driver loaded during the present call (resource callback). */
	uint64_t loaded_hash, loaded_size;

	uint32_t range_depth, window_depth; /* ranges pushed; the depth at which the capture window's range was */
	uintptr_t stack_low, stack_high;   /* bounds of the thread's stack; 0 when not known */
	struct memo *memo;		   /* stack.c */
	struct graph_table *graph_pending; /* of the graph that is being instantiated (graph-table.c) */
	uint8_t *page; /* SBT_PAGE bytes, for hashing; made when needed */
	uint64_t mappings_sent[MAPPING_SENT_MAX / 64];
	uint64_t python_sent[THREAD_PYTHON_SENT / 64]; /* a bit for each of Python's code objects whose message is out */
	_Alignas(16) uint8_t args[CALL_ARGS_MAX];
};

/* The calling thread's state, set up at first sight; NULL when there is no memory. tls.inside must be set. */
struct thread *thread_get(void);
/* For a thread that delivers timestamps only: it gets a ring but no number. */
struct thread *thread_get_quiet(void);
/* Publishes the thread's and the devices' records before its first command. */
void thread_announce(struct thread *t);
/* Whether another thread is in a call (stopping_too: those that wait for a stop do not count). */
bool thread_any_in(const struct thread *self, bool stopping_too);
/* With the gate shut: the last command that may change memory of any other thread; 0: none. */
uint64_t thread_others_work(const struct thread *self);
/* SBT_PAGE bytes of the thread's own, or NULL. */
uint8_t *thread_page(struct thread *t);
/* Threads that are in agent code, or about to be, and cannot be found there by their state, as they have none (yet). */
extern _Atomic uint32_t thread_strangers;

/* Every way into agent code begins and ends with these, but for threads that the agent has made, which count as strangers until they have a state. False: nothing is
 * live. Inside, agent_live() is to be asked again. A debugger's leaving waits for who is in. */
static inline bool thread_come_in(bool *ret_stranger)
{
	if (!agent_live())
		return false;
	*ret_stranger = !tls.thread || tls.thread->left;
	if (__builtin_expect(*ret_stranger, 0))
		atomic_fetch_add(&thread_strangers, 1);
	tls.inside++;
	atomic_signal_fence(memory_order_seq_cst); /* the fence between is paid by who leaves (membarrier) */
	return true;
}
static inline void thread_go_out(bool stranger)
{
	atomic_signal_fence(memory_order_seq_cst);
	tls.inside--;
	if (__builtin_expect(stranger, 0))
		atomic_fetch_sub(&thread_strangers, 1);
}

/* The debugger leaves, nothing is live: waits, milliseconds at most, until no thread but the caller is in agent code, and none can come in until
 * thread_let_in(). False: some are. */
bool thread_shut_out(unsigned ms);
/* In between: all threads' states are of an earlier time. */
void thread_leave_all(void);
void thread_let_in(void);
/* A thread of the agent's own, which nobody joins and no signal of the program's comes to; errno, negative, on failure. */
int thread_start(void *(*run)(void *arg));
int thread_start_with(void *(*run)(void *arg), void *arg);
/* Once, before the first thread_get(). */
void thread_init(void);

#endif
