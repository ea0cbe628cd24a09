/* SPDX-License-Identifier: Apache-2.0
 *
 * Where probes are in PTX, see micro-probe.h.
 */
#include "softgpu/micro/micro-probe.h"
#include "softgpu/micro/micro.h"

#include <stdio.h>
#include <string.h>

static bool compile(
	const void *arg, const void *fn, uint64_t pc, const char *text, struct lane_expr *ret)
{
	char why[160];

	(void)arg;
	return !micro_compile(ret, fn, (uint32_t)pc, text, why, sizeof(why));
}

static struct lane_value eval(const struct lane_expr *x, const void *warp, unsigned lane)
{
	const struct ptx_warp *w = warp;

	return micro_eval(x, w, w->nframes - 1, lane);
}

static void who(const void *warp, unsigned lane, uint32_t block[3], uint32_t thread[3])
{
	const struct ptx_warp *w = warp;

	memcpy(block, w->blk->ctaid, 3 * sizeof(*block));
	ptx_thread_of(w, lane, thread);
}

static const struct probe_machine machine = {compile, eval, micro_type, who};

/* --- places --- */

static const struct soft_probe_row *row_of(const struct soft_probe *p, uint64_t hash, unsigned line)
{
	for (unsigned k = 0; k < p->nrows && k < SOFT_PROBE_ROWS; k++)
		if (p->row[k].line == line && p->row[k].text == hash)
			return &p->row[k];
	return NULL;
}

static void add_places(struct probed *b, const struct soft_probe *p, unsigned probe,
	const struct ptx_function *kernel, uint64_t hash)
{
	struct soft_point q = {.kind = SOFT_AT_SOURCE, .line = p->line};
	const struct ptx_module *m = kernel->m;

	snprintf(q.file, sizeof(q.file), "%s",
		p->file[0]	? p->file
		: kernel->nlocs ? micro_file(kernel, kernel->locs[0].file)
				: "");
	q.line = micro_find_source(m, &q);
	for (unsigned k = 0; q.line && k < m->nfuncs; k++) {
		const struct ptx_function *fn = m->funcs[k];

		for (unsigned j = 0; j < fn->nlocs; j++) {
			const uint32_t pc = fn->locs[j].pc;

			if (micro_begins_source(fn, pc, &q, q.line))
				probed_place(b, probe, fn, pc, row_of(p, hash, fn->insns[pc].line));
		}
	}
}

struct probed *micro_probed_new(const struct ptx_launch *l, const struct soft_probe *p, unsigned n,
	const char *text, size_t text_size)
{
	struct probed *b = probed_new(&machine, NULL, l->fn->name, p, n);
	uint64_t hash = 0;
	bool any = false;

	for (unsigned k = 0; b && k < n; k++) {
		if (!probed_is_about(b, k))
			continue;
		if (p[k].nrows && !hash)
			hash = soft_probe_hash(text, text_size);
		add_places(b, &p[k], k, l->fn, hash);
		any |= probed_has(b, k);
	}
	if (any)
		return b;
	probed_free(b);
	return NULL;
}

/* --- the observer --- */

static enum ptx_step on_step(void *arg, struct ptx_warp *w, uint32_t pc)
{
	const struct probe_step s = {.warp = w,
		.fn = w->frames[w->nframes - 1].fn,
		.count = w->count + w->returns,
		.pc = pc,
		.mask = w->ents[w->nents - 1].mask};

	probed_step(arg, &s);
	return PTX_STEP_ON;
}

/* A block's warps have executed all that they began. */
static void on_block_end(void *arg, struct ptx_block *blk)
{
	for (unsigned k = 0; k < blk->nwarps; k++)
		probed_done(arg, &blk->warps[k]);
}

struct ptx_observer micro_probed_observer(struct probed *b)
{
	return (struct ptx_observer){.arg = b, .step = on_step, .block_end = on_block_end};
}

void micro_probes_begin(struct launch_probes *lp, struct ptx_launch *l, struct ptx_observer *room,
	const char *text, size_t n)
{
	*lp = (struct launch_probes){0};
	if (!text || !probes_take(lp))
		return;
	probes_begin(lp, micro_probed_new(l, lp->copy, lp->n, text, n));
	if (!lp->b)
		return;
	*room = micro_probed_observer(lp->b);
	room->next = l->observer;
	l->observer = room;
}
