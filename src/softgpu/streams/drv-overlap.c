/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs launches that overlap, see overlap.h. Each launch behind the held one has a thread, but they
 * run one at a time, in order: the next one begins when this one has ended or has reached its wait.
 * So the result is the same every time.
 */
#include "softgpu/streams/overlap.h"
#include "softgpu/insns/ptx-async.h"
#include "softgpu/machine/ptx-depend.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BLOCKS_MAX 65536u /* of a launch; a larger one does not begin early */
/* instructions of a warp before the wait: one that does more waits for memory, perhaps of the held
 * launch */
#define STEPS_MAX 100000000ull
/* times that a warp is asked whether it can do without the wait, besides those that others need */
#define PATIENCE 4096u

enum state { NOT_BEGUN, RUNS, STANDS /* as far as it can go */, ENDED };

struct member {
	struct overlap *all;
	unsigned k;
	struct overlap_launch l;
	pthread_t thread;
	bool has_thread, released; /* released: the launch in front is complete */
	enum state state;	   /* under the lock, like triggered */
	uint64_t blocks, warps, ntriggered, yields, steps;
	uint8_t *triggered; /* by block */
	struct ptx_observer observer;
};

struct overlap {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct ctx *c;
	struct member *m;
	unsigned n;
};

static _Thread_local const struct ptx_observer *observer;
static _Atomic bool hold;

void overlap_hold(void)
{
	atomic_store(&hold, true);
}

bool overlap_take_hold(void)
{
	return atomic_load_explicit(&hold, memory_order_relaxed) && atomic_exchange(&hold, false);
}

const struct ptx_observer *overlap_observer(void)
{
	return observer;
}

/* --- inside a launch --- */

static void become(struct member *m, enum state s)
{
	pthread_mutex_lock(&m->all->lock);
	m->state = s;
	pthread_cond_broadcast(&m->all->moved);
	pthread_mutex_unlock(&m->all->lock);
}

/* A block lets those behind begin. */
static void trigger(struct member *m, uint64_t block)
{
	pthread_mutex_lock(&m->all->lock);
	if (block < m->blocks && !m->triggered[block]) {
		m->triggered[block] = 1;
		m->ntriggered++;
	}
	pthread_mutex_unlock(&m->all->lock);
}

static void wait_for_front(struct member *m)
{
	pthread_mutex_lock(&m->all->lock);
	m->state = STANDS;
	pthread_cond_broadcast(&m->all->moved);
	while (m->all->m[m->k - 1].state != ENDED)
		pthread_cond_wait(&m->all->moved, &m->all->lock);
	m->state = RUNS;
	pthread_mutex_unlock(&m->all->lock);
	m->released = true;
}

/* Lets all other warps go on first. After so many steps that were only waits, every warp left is at
 * its wait, or waits for a warp that is. */
static enum ptx_step at_wait(struct member *m, struct ptx_warp *w)
{
	if (m->released)
		return PTX_STEP_ON;
	if (m->steps >= STEPS_MAX) { /* the others may wait for what this warp does behind it */
		wait_for_front(m);
		return PTX_STEP_ON;
	}
	ptx_async_do(w);
	if (w->curmask != w->live)
		w->spun = UINT32_MAX; /* its other lanes go on first: see observer_yields() */
	if (++m->yields < PATIENCE + 4 * m->warps)
		return PTX_STEP_YIELD;
	wait_for_front(m);
	return PTX_STEP_ON;
}

static enum ptx_step on_step(void *arg, struct ptx_warp *w, uint32_t pc)
{
	struct member *m = arg;

	(void)pc;
	if (ptx_is_grid_wait(w->cur) && w->curmask)
		return at_wait(m, w);
	m->yields = 0;
	if (++m->steps == STEPS_MAX)
		become(m, STANDS);
	if (ptx_is_grid_trigger(w->cur) && w->curmask)
		trigger(m, w->blk->index);
	return PTX_STEP_ON;
}

static void on_block_end(void *arg, struct ptx_block *b)
{
	trigger(arg, b->index);
}

/* --- the row of them --- */

static void run(struct member *m)
{
	op_run(m->l.op, m->all->c, m->l.origin, m->l.queued_ns);
	become(m, ENDED);
}

static void *member_main(void *arg)
{
	struct member *m = arg;

	m->observer = (struct ptx_observer){.arg = m, .step = on_step, .block_end = on_block_end};
	observer = &m->observer;
	run(m);
	observer = NULL;
	return NULL;
}

/* Whether all blocks of it have let those behind begin. */
static bool has_triggered(struct member *m)
{
	bool ret;

	pthread_mutex_lock(&m->all->lock);
	ret = !m->k || m->state == ENDED || m->ntriggered == m->blocks;
	pthread_mutex_unlock(&m->all->lock);
	return ret;
}

/* Begins it, and comes back when it has gone as far as it can. False: it cannot begin. */
static bool begin(struct member *m)
{
	sigset_t all, old;

	m->triggered = m->blocks <= BLOCKS_MAX ? calloc(m->blocks, 1) : NULL;
	if (!m->triggered)
		return false;
	m->state = RUNS;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	m->has_thread = !pthread_create(&m->thread, NULL, member_main, m);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!m->has_thread) {
		m->state = NOT_BEGUN;
		return false;
	}
	pthread_mutex_lock(&m->all->lock);
	while (m->state == RUNS)
		pthread_cond_wait(&m->all->moved, &m->all->lock);
	pthread_mutex_unlock(&m->all->lock);
	return true;
}

static void members_init(struct overlap *o, const struct overlap_launch *l)
{
	for (unsigned k = 0; k < o->n; k++) {
		const unsigned *g = l[k].op->kernel.grid, *b = l[k].op->kernel.block;

		o->m[k] = (struct member){
			.all = o, .k = k, .l = l[k], .blocks = (uint64_t)g[0] * g[1] * g[2]};
		o->m[k].warps = o->m[k].blocks * (((uint64_t)b[0] * b[1] * b[2] + 31) / 32);
	}
}

void overlap_run(struct ctx *c, const struct overlap_launch *l, unsigned n)
{
	struct member m[OVERLAP_MAX];
	struct overlap o = {.lock = PTHREAD_MUTEX_INITIALIZER,
		.moved = PTHREAD_COND_INITIALIZER,
		.c = c,
		.m = m,
		.n = n < OVERLAP_MAX ? n : OVERLAP_MAX};

	members_init(&o, l);
	for (unsigned k = 1; k < o.n && has_triggered(&m[k - 1]); k++)
		if (!begin(&m[k]))
			break;
	run(&m[0]);
	for (unsigned k = 1; k < o.n; k++) {
		if (m[k].has_thread)
			pthread_join(m[k].thread, NULL);
		else
			run(&m[k]); /* all in front have ended */
		free(m[k].triggered);
	}
	pthread_mutex_destroy(&o.lock);
	pthread_cond_destroy(&o.moved);
}
