/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent keeps for each thread that makes GPU calls: its ring slot, its present call, and
 * caches.
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
#define SOURCE_ROOM 8192u
#define THREAD_PTDS 8 /* contexts in which the thread used its per-thread default stream */

struct memo;

/* The place of a thread, for the gate (gate.h). */
enum thread_at {
	THREAD_OUT,
	THREAD_IN,	 /* in a call of the driver, or about to be */
	THREAD_SYNCING,	 /* in a call that only waits */
	THREAD_STOPPING, /* waits for its turn to stop: before the driver gets the command, or after
			  */
};

struct thread {
	struct ring ring;
	_Atomic uint32_t at;   /* enum thread_at */
	struct thread *next;   /* of all threads */
	const struct tls *tls; /* the thread's own */
	bool left; /* it belongs to an earlier debugger's time: its other fields mean nothing */
	struct clock clock;
	/* sbt_cmd.thread; 0: a thread of the source that only delivers timestamps */
	uint32_t number;
	uint32_t os_tid;
	bool announced; /* the THREAD record is out */

	bool busy;	      /* in call */
	bool in_flight;	      /* the call has its seq and is not published */
	uintptr_t busy_frame; /* where the stack was then */
	uint64_t busy_link;
	struct call call;

	/* The last ones seen; valid while generation == ids.generation. */
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

	bool ctx_known;		   /* current_ctx below is valid */
	uint32_t current_ctx;	   /* id last published as current */
	_Atomic uint64_t work_seq; /* its last command that may change memory */
	/* what the last not-ready query was about; repetitions are not recorded */
	uint64_t last_query;

	/* Code that the driver loaded during the present call (resource callback). */
	uint64_t loaded_hash, loaded_size;

	uint32_t range_depth,
		window_depth; /* ranges pushed; the depth at which the capture window's range was */
	uintptr_t stack_low, stack_high; /* bounds of the thread's stack; 0 when not known */
	struct memo *memo;		 /* stack.c */
	struct graph_table
		*graph_pending; /* of the graph that is being instantiated (graph-table.c) */
	uint8_t *page;		/* SBT_PAGE bytes for hashing; made at first use */
	/* For the source: the program's calls on their way, one within the other. */
	uint32_t source_depth;
	_Alignas(16) uint8_t source_room[SOURCE_ROOM];
	uint64_t mappings_sent[MAPPING_SENT_MAX / 64];
	/* one bit for each Python code object whose message was sent */
	uint64_t python_sent[THREAD_PYTHON_SENT / 64];
	_Alignas(16) uint8_t args[CALL_ARGS_MAX];
};

/* thread_get() for a thread that has no state yet, or an earlier debugger's. */
struct thread *thread_get_first(void);
/* The calling thread's state, made at first use; NULL if there is no memory. tls.inside must be
 * set. */
static inline struct thread *thread_get(void)
{
	struct thread *t = tls.thread;
	return __builtin_expect(t && !t->left && t->number, 1) ? t : thread_get_first();
}
/* The same for a thread that only delivers timestamps: it gets a ring but no number. */
struct thread *thread_get_quiet(void);
/* The context, stream and kernel of a handle if they are those that the thread used last; else
 * NULL. thread_ctx() comes first: it says whether what is remembered of the others is still valid.
 */
static inline struct object *thread_ctx(const struct thread *t, uint64_t handle)
{
	return handle &&
			       t->generation == atomic_load_explicit(
							&ids.generation, memory_order_acquire) &&
			       t->ctx_handle == handle
		       ? t->ctx
		       : NULL;
}
static inline struct object *thread_stream(const struct thread *t, uint64_t handle)
{
	return t->stream_handle == handle ? t->stream : NULL;
}
static inline struct kernel *thread_kernel(const struct thread *t, uint64_t handle)
{
	return t->kernel_handle == handle ? t->kernel : NULL;
}
/* Publishes the thread's and the devices' records before its first command. */
void thread_announce(struct thread *t);
/* Whether another thread is in a call; with stopping_too false, threads that wait for a stop do not
 * count. */
bool thread_any_in(const struct thread *self, bool stopping_too);
/* With the gate shut: the last command of any other thread that may change memory; 0: none. */
uint64_t thread_others_work(const struct thread *self);
/* The thread's own buffer of SBT_PAGE bytes, or NULL. */
uint8_t *thread_page(struct thread *t);
/* How many threads are in agent code, or about to be, without a state (yet) that shows it. */
extern _Atomic uint32_t thread_strangers;

/* Every entry into agent code begins and ends with these two, except in threads made by the agent,
 * which count as strangers until they have a state. Returns false if the agent is not live. Inside,
 * agent_live() is to be checked again. A leaving debugger waits for threads that are inside. */
static inline bool thread_come_in(bool *ret_stranger)
{
	if (!agent_live())
		return false;
	*ret_stranger = !tls.thread || tls.thread->left;
	if (__builtin_expect(*ret_stranger, 0))
		atomic_fetch_add(&thread_strangers, 1);
	tls.inside++;
	/* the thread that leaves makes the fence between the two (membarrier) */
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}
static inline void thread_go_out(bool stranger)
{
	atomic_signal_fence(memory_order_seq_cst);
	tls.inside--;
	if (__builtin_expect(stranger, 0))
		atomic_fetch_sub(&thread_strangers, 1);
}

/* The debugger leaves and the agent is not live: waits, some milliseconds, until no thread but the
 * caller is in agent code; then none can enter until thread_let_in(). Returns false if some are
 * still inside. */
bool thread_shut_out(unsigned ms);
/* Called between those two: marks all threads' states as belonging to an earlier debugger. */
void thread_leave_all(void);
void thread_let_in(void);
/* Starts a detached thread of the agent with all signals blocked; negative errno on failure. */
int thread_start(void *(*run)(void *arg));
int thread_start_with(void *(*run)(void *arg), void *arg);
/* Called once, before the first thread_get(). */
void thread_init(void);

#endif
