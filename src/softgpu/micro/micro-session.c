/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a launch of PTX under the microscope, on a thread of its own, by the interpreter with an
 * observer that hands everything to softcore/micro-core.h.
 */
#include "softgpu/micro/micro.h"
#include "softgpu/machine/ptx-cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what the core asks --- */

static enum soft_warp_state state(struct micro_at at)
{
	const struct ptx_warp *w = micro_warp_at(at);

	return !w || w->state == WARP_DONE ? SOFT_WARP_ENDED
	       : w->state == WARP_RUN	   ? SOFT_WARP_RUNS
					   : SOFT_WARP_WAITS;
}

static uint64_t lanes(struct micro_at at)
{
	const struct ptx_warp *w = micro_warp_at(at);

	return w ? w->all : 0;
}

static uint64_t ready(struct micro_at at)
{
	const struct ptx_warp *w = micro_warp_at(at);

	return w->ents[w->nents - 1].mask;
}

/* Of the warp at work, the newest frame; of others, that of the place where they go on. */
static unsigned depth(const struct soft_session *s, struct micro_at at)
{
	const struct ptx_warp *w = micro_warp_at(at);

	return s->phase == MICRO_RUNS ? w->nframes - 1 : micro_place_of(w).frame;
}

static bool line(
	const struct soft_session *s, struct micro_at at, uint32_t *ret_file, uint32_t *ret_line)
{
	const struct micro_place p = micro_place_of(micro_warp_at(at));
	const struct ptx_loc *l = p.fn ? micro_loc(p.fn, p.pc) : NULL;

	(void)s;
	if (!l)
		return false;
	*ret_file = l->file;
	*ret_line = l->line;
	return true;
}

static void block_id(struct micro_at at, uint32_t ret[3])
{
	memcpy(ret, ((const struct ptx_block *)at.block)->ctaid, 3 * sizeof(*ret));
}

static void thread(struct micro_at at, unsigned lane, uint32_t ret[3])
{
	ptx_thread_of(micro_warp_at(at), lane, ret);
}

static void place(const struct soft_session *s, struct micro_at at, struct soft_stop *t)
{
	const struct ptx_warp *w = micro_warp_at(at);
	const struct micro_place p = micro_place_of(w);
	const struct ptx_loc *loc;

	t->live = w->live;
	if (!p.ent)
		return;
	t->line = p.line;
	t->depth = p.frame;
	t->active = p.active;
	t->executing = p.executing;
	snprintf(t->function, sizeof(t->function), "%s", p.fn->name);
	micro_text_line(&ptx_micro_of(s)->text, p.line, true, t->text, sizeof(t->text));
	loc = micro_loc(p.fn, p.pc);
	if (loc) {
		t->source_line = loc->line;
		snprintf(t->file, sizeof(t->file), "%s", micro_file(p.fn, loc->file));
	}
}

static void toucher(const struct soft_session *s, struct soft_change *c)
{
	const struct ptx_micro *m = ptx_micro_of(s);
	const struct ptx_loc *loc = micro_loc(m->writer_fn, m->writer_pc);

	c->line = m->writer_insn->line;
	micro_text_line(&m->text, c->line, true, c->text, sizeof(c->text));
	if (loc) {
		c->source_line = loc->line;
		snprintf(c->file, sizeof(c->file), "%s", micro_file(m->writer_fn, loc->file));
	}
}

static void no_points(struct soft_session *s)
{
	struct ptx_micro *m = ptx_micro_of(s);

	memset(m->stops, 0, (m->text.nlines + 1) * sizeof(*m->stops));
}

const struct micro_machine ptx_micro_machine = {.state = state,
	.lanes = lanes,
	.ready = ready,
	.depth = depth,
	.line = line,
	.block_id = block_id,
	.thread = thread,
	.hit = micro_hit,
	.place = place,
	.toucher = toucher,
	.point = micro_set_point,
	.no_points = no_points,
	.point_free = micro_point_free,
	.no_line = "the PTX does not say which line of the source this is",
	.width = PTX_LANES};

/* --- callbacks --- */

static struct micro_at at_warp(struct ptx_warp *w)
{
	return (struct micro_at){w->blk, w->id};
}

static enum ptx_step on_step(void *arg, struct ptx_warp *w, uint32_t pc)
{
	(void)pc;
	switch (micro_step(arg, at_warp(w))) {
	case MICRO_GIVE_UP:
		ptx_raise(w, w->cur, 0, PTX_CANCELLED, 0, 0, NULL);
	case MICRO_YIELD:
		return PTX_STEP_YIELD;
	default:
		return PTX_STEP_ON;
	}
}

static void on_access(void *arg, const struct ptx_access *a)
{
	struct soft_session *s = arg;
	struct ptx_micro *m = ptx_micro_of(s);
	const uint32_t mask = a->mask;
	bool noted = false;

	if (!s->watches || (a->space != SP_GLOBAL && a->space != SP_SHARED))
		return;
	EACH_LANE(l)
	{
		noted |= micro_touch(s, at_warp(a->warp),
			a->space == SP_GLOBAL ? SOFT_GLOBAL : SOFT_SHARED, a->kind != PTX_WRITE,
			a->kind != PTX_READ, l, a->addr[l],
			(const uint8_t *)(uintptr_t)a->pointer[l], a->size);
	}
	if (!noted)
		return;
	m->writer_insn = a->insn;
	m->writer_fn = a->warp->frames[a->warp->nframes - 1].fn;
	m->writer_pc = (uint32_t)(a->insn - m->writer_fn->insns);
}

static void on_block_start(void *arg, struct ptx_block *b)
{
	micro_block_start(arg, b, b->index);
}

static void on_block_end(void *arg, struct ptx_block *b)
{
	micro_block_end(arg, b);
}

/* A fault's text without the prefix that names the software GPU. */
static const char *text_of(const struct ptx_fault *f)
{
	static const char own[] = "tsdb softgpu: ";

	return strncmp(f->text, own, sizeof(own) - 1) ? f->text : f->text + sizeof(own) - 1;
}

static void on_fault(void *arg, struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
	const struct ptx_fault *f)
{
	struct soft_session *s = arg;
	const struct micro_place p = micro_place_of(w);
	const bool began = p.ent && &p.fn->insns[p.pc] == i;

	if (!micro_is_aborted(s) && micro_fault(s, at_warp(w), lane, began, text_of(f)))
		w->wk->fault.code = PTX_CANCELLED;
}

static void *run(void *arg)
{
	struct soft_session *s = arg;
	struct ptx_micro *m = ptx_micro_of(s);

	m->code = ptx_run(&m->l, &m->fault);
	micro_over(s, m->code ? text_of(&m->fault) : NULL);
	return NULL;
}

/* --- life --- */

static void micro_done(struct ptx_micro *m, struct soft_session *s)
{
	if (s)
		micro_free(s);
	free((void *)(uintptr_t)m->l.params);
	free(m->text.start);
	free(m->stops);
	free(m);
}

static bool copy_launch(struct ptx_micro *m, const struct ptx_launch *l, const char *text, size_t n)
{
	void *params = calloc(1, l->fn->param_bytes + 1);

	m->l = *l;
	m->l.params = params;
	if (params && l->params)
		memcpy(params, l->params, l->fn->param_bytes);
	if (!params || !micro_text_init(&m->text, text, n))
		return false;
	m->stops = calloc(m->text.nlines + 2, sizeof(*m->stops));
	return m->stops != NULL;
}

static bool start_thread(struct soft_session *s)
{
	sigset_t all, old;
	int bad;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bad = pthread_create(&ptx_micro_of(s)->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !bad;
}

const char *micro_start(const struct ptx_launch *l, const char *text, size_t n,
	const struct soft_turn *turns, unsigned nturns, struct soft_session **ret,
	struct soft_stop *stop)
{
	struct ptx_micro *m = calloc(1, sizeof(*m));
	struct soft_session about = {.m = &ptx_micro_machine,
				    .machine = m,
				    .kernel = l->fn->name,
				    .all_resident = l->cooperative},
			    *s = NULL;
	const uint64_t slots = l->cooperative ? (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]
					      : ptx_cluster_size(l);

	*ret = NULL;
	memcpy(about.grid, l->grid, sizeof(about.grid));
	memcpy(about.block, l->block, sizeof(about.block));
	about.nslots = (unsigned)slots;
	if (m && copy_launch(m, l, text, n))
		s = micro_new(&about, turns, nturns);
	if (s) {
		m->observer = (struct ptx_observer){.arg = s,
			.step = on_step,
			.access = on_access,
			.block_start = on_block_start,
			.block_end = on_block_end,
			.fault = on_fault,
			.next = l->observer};
		m->l.observer = &m->observer;
	}
	if (!s || !start_thread(s)) {
		if (m)
			micro_done(m, s);
		return "the host has no memory or no threads for the launch";
	}
	micro_begun(s, 0, stop);
	*ret = s;
	return NULL;
}

void micro_end(struct soft_session *s)
{
	struct ptx_micro *m = ptx_micro_of(s);

	micro_abort(s);
	pthread_join(m->thread, NULL);
	micro_done(m, s);
}
