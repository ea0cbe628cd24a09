/* SPDX-License-Identifier: Apache-2.0
 *
 * One launch under the software GPU's microscope (soft-debug.h). To go back within it, the replayer
 * goes to before the launch (where it keeps a checkpoint) and runs it again, which gives the same
 * launch: up to a count of instructions; or first a run to find the last breakpoint before the
 * present place, then a run to that breakpoint. The surprise: this may take longer than one
 * request, so it is split into stages, and SOFT_ON goes on with the next one.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-into.h"
#include "replayer/execute/replayer-window.h"

static struct err *need_soft(struct rp *rp)
{
	struct microscope *m = &rp->micro;

	if (!m->soft) {
		const struct soft_debug *(*get)(void) = (const struct soft_debug *(*)(void))(
			uintptr_t)dlsym(rp->lib.device, SOFT_DEBUG_SYMBOL);
		const struct soft_debug *soft = get ? get() : NULL;

		if (soft && soft->version == SOFT_DEBUG_VERSION && soft->size >= sizeof *soft)
			m->soft = soft;
	}
	if (m->soft)
		return NULL;
	return rp_fail(rp, REPLAYER_E_DEVICE, 0, "instruction-level access needs the software GPU");
}

static struct err *need_session(struct rp *rp)
{
	if (rp->micro.session)
		return NULL;
	return rp_fail(rp, REPLAYER_E_OTHER, 0, "no launch is under the microscope");
}

/* Makes an error from a sentence of the software GPU. */
static struct err *said(struct rp *rp, const char *why)
{
	return why ? rp_fail(rp, REPLAYER_E_REFUSED, rp->micro.seq, "%s", why) : NULL;
}

static void keep_turns(struct microscope *m)
{
	unsigned n;
	const struct soft_turn *t = m->soft->turns(m->session, &n);

	m->turns = xrealloc(m->turns, (n + 1) * sizeof *m->turns);
	if (n)
		memcpy(m->turns, t, n * sizeof *t);
	m->nturns = n;
}

static void give_up(struct rp *rp)
{
	struct microscope *m = &rp->micro;

	if (!m->session)
		return;
	m->soft->end(m->session);
	m->session = NULL;
	if (!m->ended)
		rp->stale = true; /* it may have written something */
}

void micro_leave(struct rp *rp)
{
	give_up(rp);
	rp->micro.nturns = 0;
	rp->micro.npoints = 0;
	rp->micro.stage = MICRO_FORWARDS;
}

/* Sets the breakpoints. m->points stay as the caller gave them; the resolved ones are appended to
 * out (may be NULL). */
static struct err *set_points(struct rp *rp, struct buf *out)
{
	struct microscope *m = &rp->micro;
	const size_t n = m->npoints * sizeof *m->points;
	struct soft_point *set = xmalloc(n + 1);

	memcpy(set, m->points, n);
	struct err *e = said(rp, m->soft->points(m->session, set, m->npoints));
	if (!e && out)
		buf_add(out, set, n);
	free(set);
	return e;
}

/* --- starting --- */

static struct err *launch(
	struct rp *rp, const struct sbt_cmd *c, struct gpu_kernel *f, const struct buf *args)
{
	const struct gpu_launch l = execute_launch_of(&c->u.launch, f, args);
	struct gpu_stream *stream;

	TRY(objects_stream(rp, c->u.launch.stream, &stream));
	GPU(rp, launch, &l, stream);
	return NULL;
}

/* The session waits for its launch, which comes as any other. */
static struct err *give_to_device(
	struct rp *rp, const struct sbt_cmd *c, struct gpu_kernel *f, const struct buf *args)
{
	struct microscope *m = &rp->micro;
	struct err *e = launch(rp, c, f, args);

	if (!e)
		e = said(rp, m->soft->begun(m->session, &m->stop));
	if (e)
		give_up(rp);
	return e;
}

static struct err *start(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *u = &c->u.launch;
	struct microscope *m = &rp->micro;
	struct buf args = BUF_INIT;
	struct gpu_kernel *f;
	struct err *e = execute_launch_parts(rp, c, &f, &args);

	if (!e) {
		const struct soft_start l = {.function = f,
			.kernel = objects_kernel(rp, u->kernel)->name,
			.params = args.data,
			.nparams = args.len,
			.grid = {(uint32_t)u->grid_x, (uint32_t)u->grid_y, (uint32_t)u->grid_z},
			.block = {(uint32_t)u->block_x, (uint32_t)u->block_y, (uint32_t)u->block_z},
			.cluster = {(uint32_t)u->cluster_x, (uint32_t)u->cluster_y,
				(uint32_t)u->cluster_z},
			.shared = u->shared,
			.cooperative = u->cooperative != 0,
			.first_block = m->first_block,
			.turns = m->turns,
			.nturns = m->nturns};

		e = said(rp, m->soft->start(&l, &m->session, &m->stop));
	}
	if (!e && m->soft->begun)
		e = give_to_device(rp, c, f, &args);
	buf_free(&args);
	return e;
}

/* What follows is executed on what the changed launch has made, unless there is no room to keep
 * that: then the position stays before the launch, and memory counts as stale. */
static struct err *ended_changed(struct rp *rp)
{
	struct microscope *m = &rp->micro;
	bool kept;

	TRY(checkpoint_change(rp, &kept));
	m->stop.changed = kept ? SOFT_CHANGED_KEPT : SOFT_CHANGED;
	if (kept)
		return NULL;
	execute_at(rp, m->seq - 1);
	rp->stale = true;
	m->ended = false;
	return NULL;
}

/* The launch ran to its end: the position is behind it. */
static struct err *ended(struct rp *rp)
{
	struct microscope *m = &rp->micro;

	if (m->stop.why == SOFT_WHY_FAULT)
		/* memory stays as it is; the position stays before the launch, and memory counts as
		 * stale */
		return NULL;
	if (rp->nedits)
		TRY(execute_writes(rp, m->seq, m->seq));
	into_behind(rp, m->seq);
	m->ended = true;
	return m->changed ? ended_changed(rp) : NULL;
}

/* Goes to before the launch and starts it. */
static struct err *begin(struct rp *rp)
{
	static const struct into_kind launch = {SBT_LAUNCH, "kernel launch", ""};
	struct microscope *m = &rp->micro;
	const struct sbt_cmd *c;

	give_up(rp);
	m->ended = m->changed = false;
	TRY(into_seek(rp, m->seq, &launch, &c));
	TRY(into_begin(rp, c));
	TRY(execute_finish(rp));
	TRY(start(rp, c));
	m->stop.seq = m->seq;
	if (m->npoints)
		TRY(set_points(rp, NULL));
	return m->stop.state == SOFT_ENDED ? ended(rp) : NULL;
}

struct err *micro_enter(struct rp *rp, uint64_t seq)
{
	struct microscope *m = &rp->micro;

	TRY(need_soft(rp));
	TRY(devices_one_only(rp, "looking into a launch"));
	TRY(window_holds(rp, seq));
	micro_leave(rp);
	m->seq = seq;
	m->first_block = 0;
	return begin(rp);
}

/* --- on and back --- */

static struct err *go(struct rp *rp, const struct soft_go *g)
{
	struct microscope *m = &rp->micro;

	TRY(said(rp, m->soft->go(m->session, g, &m->stop)));
	m->stop.seq = m->seq;
	m->stop.changed = m->changed ? SOFT_CHANGED : 0;
	return m->stop.state == SOFT_ENDED ? ended(rp) : NULL;
}

static struct err *again(struct rp *rp)
{
	keep_turns(&rp->micro);
	return begin(rp);
}

/* Back at the place: focuses the thread that the user looked at, if it is in that warp. */
static struct err *look_again(struct rp *rp)
{
	struct microscope *m = &rp->micro;
	struct soft_stop stop;
	uint64_t first;

	m->stage = MICRO_FORWARDS;
	if (m->stop.state != SOFT_STOPPED || m->stop.why == SOFT_WHY_POINT ||
		m->stop.why == SOFT_WHY_WATCH)
		return NULL;
	TRY(said(rp, m->soft->focus(m->session, m->stop.block, m->thread, &first, &stop)));
	if (first == UINT64_MAX && stop.warp == m->stop.warp) {
		stop.why = m->stop.why;
		stop.seq = m->seq;
		stop.changed = m->changed ? SOFT_CHANGED : 0;
		m->stop = stop;
	} else if (first == UINT64_MAX) {
		TRY(said(rp,
			m->soft->focus(m->session, m->stop.block, m->stop.thread, &first, &stop)));
	}
	return NULL;
}

static uint64_t block_index(const struct rp *rp, const struct sbt_cmd *c, const uint32_t block[3])
{
	return block[0] +
	       (uint64_t)c->u.launch.grid_x * (block[1] + (uint64_t)c->u.launch.grid_y * block[2]);
}

static struct err *back_step(struct rp *rp, const struct soft_go *g)
{
	struct microscope *m = &rp->micro;
	struct soft_go to = {.how = SOFT_TO_STEP,
		.ms = g->ms,
		.n = m->stop.step > g->n ? m->stop.step - g->n : 0,
		.warp = m->stop.warp};
	const struct sbt_cmd *c;
	uint32_t block[3];

	if (m->stop.state == SOFT_ENDED) {
		to.how = SOFT_TO;
		to.n = m->stop.total > g->n ? m->stop.total - g->n : 0;
	} else {
		TRY(execute_fetch(rp, m->seq, &c));
		BUG_ON(!c);
		to.block = block_index(rp, c, m->stop.block);
		if (!m->stop.step) {
			m->stop.why = SOFT_WHY_BEGIN;
			return NULL;
		}
	}
	memcpy(m->thread, m->stop.thread, sizeof m->thread);
	memcpy(block, m->stop.block, sizeof block);
	TRY(again(rp));
	m->stage = MICRO_BACK_STEP;
	/* the place may be the beginning, which is not passed again */
	if (to.how == SOFT_TO ? !to.n
			      : !to.n && m->stop.warp == to.warp &&
					!memcmp(m->stop.block, block, sizeof block))
		return NULL;
	return go(rp, &to);
}

static struct err *back_run(struct rp *rp, const struct soft_go *g)
{
	struct microscope *m = &rp->micro;
	const struct soft_go scan = {.how = SOFT_SCAN, .ms = g->ms, .n = m->stop.total};

	memcpy(m->thread, m->stop.thread, sizeof m->thread);
	if (!scan.n) {
		m->stop.why = SOFT_WHY_BEGIN;
		return NULL;
	}
	TRY(again(rp));
	m->stage = MICRO_SCAN;
	return go(rp, &scan);
}

/* Goes on when a stage has reached its goal. */
static struct err *next_stage(struct rp *rp, uint32_t ms)
{
	struct microscope *m = &rp->micro;
	const struct soft_go to = {
		.how = SOFT_TO, .ms = ms, .n = m->stop.found, .end = m->stop.found_end};

	if (m->stop.state == SOFT_BUSY || m->stop.state == SOFT_FAULTED)
		return NULL;
	if (m->stage == MICRO_BACK_STEP || m->stage == MICRO_BACK_TO)
		return look_again(rp);
	if (m->stage != MICRO_SCAN)
		return NULL;
	TRY(again(rp));
	m->stage = MICRO_BACK_TO;
	if (to.n == UINT64_MAX || (!to.n && !to.end)) {
		m->stage = MICRO_FORWARDS;
		return NULL; /* it is at the beginning */
	}
	TRY(go(rp, &to));
	return next_stage(rp, ms);
}

struct err *micro_go(struct rp *rp, const struct soft_go *g)
{
	struct microscope *m = &rp->micro;
	struct err *e;

	TRY(need_session(rp));
	if (g->how == SOFT_BACK_STEP || g->how == SOFT_BACK_RUN) {
		e = g->how == SOFT_BACK_STEP ? back_step(rp, g) : back_run(rp, g);
	} else {
		if (m->stop.state == SOFT_ENDED)
			return rp_fail(rp, REPLAYER_E_REFUSED, m->seq, "the launch has ended");
		if (g->how != SOFT_ON)
			m->stage = MICRO_FORWARDS;
		e = go(rp, g);
	}
	return e ? e : next_stage(rp, g->ms);
}

/* --- looking --- */

struct err *micro_focus(struct rp *rp, const struct replayer_kernel_focus *f)
{
	struct microscope *m = &rp->micro;
	struct soft_stop stop;
	uint64_t first;

	TRY(need_session(rp));
	TRY(said(rp, m->soft->focus(m->session, f->block, f->thread, &first, &stop)));
	if (first != UINT64_MAX) {
		m->first_block = first;
		m->nturns = 0;
		TRY(begin(rp));
		TRY(said(rp, m->soft->focus(m->session, f->block, f->thread, &first, &stop)));
		stop.why = SOFT_WHY_BEGIN;
	}
	m->stop = stop;
	m->stop.seq = m->seq;
	m->stop.changed = m->changed ? SOFT_CHANGED : 0;
	return NULL;
}

struct err *micro_points(struct rp *rp, const void *p, size_t n, struct buf *out)
{
	struct microscope *m = &rp->micro;

	TRY(need_session(rp));
	if (n % sizeof *m->points || n / sizeof *m->points > SOFT_POINTS_MAX)
		return rp_fail(rp, REPLAYER_E_REFUSED, m->seq,
			"%zu bytes are no list of at most %d breakpoints", n, (int)SOFT_POINTS_MAX);
	m->npoints = (unsigned)(n / sizeof *m->points);
	if (n)
		memcpy(m->points, p, n);
	struct err *e = set_points(rp, out);
	if (e)
		m->npoints = 0;
	return e;
}

/* Appends a record; one that does not fit is left out. Answers are bounded, and messages are larger
 * than that. */
static void add(void *arg, const void *bytes, size_t n)
{
	struct buf *out = arg;

	if (out->len + n <= REPLAYER_MESSAGE_MAX - sizeof(struct replayer_head))
		buf_add(out, bytes, n);
}

struct err *micro_ask(struct rp *rp, const struct soft_ask *q, struct buf *out)
{
	struct microscope *m = &rp->micro;

	TRY(need_session(rp));
	return said(rp, m->soft->ask(m->session, q, add, out));
}

/* --- changing --- */

struct err *micro_put(struct rp *rp, const struct soft_put *p)
{
	struct microscope *m = &rp->micro;

	TRY(need_session(rp));
	if (m->stop.state == SOFT_ENDED)
		return rp_fail(rp, REPLAYER_E_REFUSED, m->seq, "the launch has ended");
	if (!m->soft->put)
		return rp_fail(rp, REPLAYER_E_REFUSED, m->seq,
			"this software GPU changes nothing in the middle of a launch");
	if (p->size > sizeof p->bytes)
		return rp_fail(rp, REPLAYER_E_REFUSED, m->seq, "%u bytes are too many", p->size);
	m->changed = true;
	m->stop.changed = SOFT_CHANGED;
	return p->space == SOFT_GLOBAL ? contents_write(rp, p->addr, p->bytes, p->size)
				       : said(rp, m->soft->put(m->session, p));
}
