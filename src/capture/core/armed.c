/* SPDX-License-Identifier: Apache-2.0
 *
 * What is armed; see armed.h. Any thread may open or close a window. The state moves ARMED ->
 * OPEN -> DONE by compare-and-swap; the thread that sets DONE sends the notification
 * (control.window_stop).
 */
#include "capture/core/armed.h"

#include <string.h>
#include "capture/core/calls.h"
#include "capture/memory/discover.h"
#include "capture/objects/kernel.h"
#include "capture/core/driver.h"
#include "capture/memory/window.h"
#include "capture/core/stop.h"
#include "capture/core/thread.h"

static bool move(struct tsdb_window *w, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&w->state, &from, to);
}

static bool is_open(struct tsdb_window *w)
{
	return atomic_load_explicit(&w->state, memory_order_relaxed) == TSDB_WINDOW_OPEN;
}

bool armed_is_open(void)
{
	return is_open(&agent.control->window);
}

bool armed_takes_marks(void)
{
	struct tsdb_window *w = &agent.control->window;
	return (w->kind == TSDB_WINDOW_NVTX || w->kind == TSDB_WINDOW_PROGRAM) && is_open(w);
}

static void open_at(struct tsdb_window *w, uint64_t seq)
{
	if (move(w, TSDB_WINDOW_ARMED, TSDB_WINDOW_OPEN))
		atomic_store(&w->opened_seq, seq);
}

/* Closes the window. seq 0: at the newest number given so far. Threads that already have a number
 * are within the window; those that get one later see that it is over. */
static bool close_at(struct tsdb_window *w, uint64_t seq)
{
	if (!move(w, TSDB_WINDOW_OPEN, TSDB_WINDOW_DONE))
		return false;
	if (!seq)
		seq = atomic_load(&agent.control->next_seq) - 1;
	seq += !seq; /* 0: not yet known, see armed_last() */
	if (!discover_watched())
		atomic_store(&w->known_seq, seq);
	atomic_store(&w->closed_seq, seq);
	return true;
}

void armed_settle(void)
{
	struct tsdb_window *w = &agent.control->window;
	const uint64_t closed = atomic_load(&w->closed_seq);
	if (atomic_load(&w->known_seq))
		return;
	const uint64_t told = driver->old_code_settle();
	atomic_store(&w->known_seq, told > closed ? told : closed);
}

uint64_t armed_last(void)
{
	struct tsdb_window *w = &agent.control->window;
	uint64_t seq = 0;
	if (w->kind == TSDB_WINDOW_SEQ)
		return w->last;
	if (w->kind == TSDB_WINDOW_NONE || atomic_load(&w->state) != TSDB_WINDOW_DONE)
		return 0;
	while (!(seq = atomic_load(&w->closed_seq)) && agent_live())
		__builtin_ia32_pause();
	return seq;
}

static void kernel_window(struct tsdb_window *w, struct call *c)
{
	const bool match = c->cmd.kind == SBT_LAUNCH && c->kernel && stop_window_matches(c->kernel);
	if (match)
		open_at(w, c->cmd.seq);
	if (!is_open(w))
		return;
	c->cmd.flags |= SBT_F_WINDOW;
	if (match && atomic_fetch_add(&w->seen, 1) + 1 >= w->count)
		c->window_closed = close_at(w, 0);
}

static void seq_window(struct tsdb_window *w, struct call *c)
{
	if (c->cmd.seq >= w->first)
		open_at(w, c->cmd.seq);
	if (c->cmd.seq >= w->first && c->cmd.seq <= w->last)
		c->cmd.flags |= SBT_F_WINDOW;
	if (c->cmd.seq >= w->last) /* the last number itself may be another record's */
		c->window_closed = close_at(w, w->last);
}

void armed_enter(struct call *c)
{
	struct tsdb_window *w = &agent.control->window;
	switch (w->kind) {
	case TSDB_WINDOW_KERNEL:
		kernel_window(w, c);
		break;
	case TSDB_WINDOW_SEQ:
		seq_window(w, c);
		break;
	case TSDB_WINDOW_NVTX:
	case TSDB_WINDOW_PROGRAM:
		if (is_open(w))
			c->cmd.flags |= SBT_F_WINDOW;
		break;
	default:
		break;
	}
}

/* Whether the window that is armed opens with a range. */
static bool opens_with(const struct tsdb_window *w, const char *name, bool window)
{
	if (w->kind == TSDB_WINDOW_PROGRAM)
		return window && (!w->glob[0] || !strncmp(w->glob, name, sizeof(w->glob)));
	return w->kind == TSDB_WINDOW_NVTX && !strncmp(w->glob, name, sizeof(w->glob));
}

void armed_push(struct thread *t, const char *name, bool window)
{
	struct tsdb_window *w = &agent.control->window;
	t->range_depth++;
	if (!opens_with(w, name, window))
		return;
	if (move(w, TSDB_WINDOW_ARMED, TSDB_WINDOW_OPEN)) {
		atomic_store(&w->opened_seq, atomic_load(&agent.control->next_seq));
		t->window_depth = t->range_depth;
	}
}

void armed_pop(struct thread *t)
{
	struct tsdb_window *w = &agent.control->window;
	if (!t->range_depth)
		return; /* pushed before the agent came */
	if (t->range_depth-- != t->window_depth)
		return;
	t->window_depth = 0;
	if (close_at(w, 0)) {
		window_close(t);
		armed_settle();
		stop_window_done(t);
	}
}
