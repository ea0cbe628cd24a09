/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about a stopped dispatch: waves, lanes, registers, values, memory, its machine
 * code. Each answer is a row of records (replayer/soft-debug.h). All lanes of a wave are at one
 * instruction; those that EXEC leaves out go on somewhere that the code decides later.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "softamd/micro/amd-micro.h"

struct answer {
	struct soft_session *s;
	struct amd_micro *m;
	const struct soft_ask *q;
	struct micro_at at;
	const struct amd_wave *w; /* the focused one; NULL */
	soft_add *add;
	void *arg;
};

static const char *ended(struct answer *a)
{
	return micro_say(a->s, a->s->phase == MICRO_OVER
				       ? "the launch has ended"
				       : "the block of the focused thread has ended");
}

/* --- waves, lanes --- */

static const char *ask_warps(struct answer *a)
{
	const struct amd_group *g = micro_block(a->s, a->s->focus_block);

	if (!g)
		return ended(a);
	for (uint32_t k = 0; k < g->nwaves; k++) {
		const struct amd_wave *w = &g->waves[k];
		const struct micro_at at = {(void *)(uintptr_t)g, k};
		struct soft_warp r = {.warp = k,
			.barrier = w->state == AMD_AT_BARRIER ? 0 : UINT32_MAX,
			.state = a->s->m->state(at),
			.step = *micro_steps(a->s, at)};

		amd_micro_item(w, 0, r.first);
		if (w->state != AMD_ENDED) {
			r.live = amd_micro_lanes(w);
			r.active = amd_exec(w) & r.live;
			r.line = amd_micro_line_of(a->m, w->pc);
			amd_micro_source(a->m, w->pc, &r.source_line, NULL, 0);
			amd_micro_text(a->m, w->pc, r.text, sizeof(r.text));
		}
		a->add(a->arg, &r, sizeof(r));
	}
	return NULL;
}

static const char *ask_lanes(struct answer *a)
{
	const struct amd_wave *w = a->w;
	uint64_t there;

	if (!w)
		return ended(a);
	there = amd_micro_lanes(w);
	for (unsigned l = 0; l < AMD_LANES; l++) {
		const bool on = amd_exec(w) >> l & 1;
		struct soft_lane r = {.lane = l, .state = SOFT_LANE_NONE};

		if (there >> l & 1) {
			amd_micro_item(w, l, r.thread);
			r.state = w->state == AMD_ENDED	       ? SOFT_LANE_ENDED
				  : w->state == AMD_AT_BARRIER ? SOFT_LANE_WAITS
				  : on			       ? SOFT_LANE_ACTIVE
							       : SOFT_LANE_DIVERGED;
			r.executing = on;
			if (w->state != AMD_ENDED && on) {
				r.line = amd_micro_line_of(a->m, w->pc);
				amd_micro_source(a->m, w->pc, &r.source_line, NULL, 0);
			}
		}
		a->add(a->arg, &r, sizeof(r));
	}
	return NULL;
}

/* --- registers and values --- */

static void add_value(struct answer *a, const char *name, const struct lane_expr *x)
{
	struct soft_value r = {0};
	int space;

	amd_micro_type(x, &r, &space);
	snprintf(r.name, sizeof(r.name), "%.63s", name);
	r.lanes = amd_micro_lanes(a->w);
	for (unsigned l = 0; l < AMD_LANES; l++) {
		struct lane_value v;

		if (!(r.lanes >> l & 1))
			continue;
		v = amd_micro_eval(x, a->w, l);
		if (v.bad)
			r.lanes &= ~(1ull << l);
		if (v.is_float && r.type != SOFT_FLOAT) {
			r.type = SOFT_FLOAT;
			r.bytes = 8;
		}
		r.value[l] = lane_bits(&v, &r);
	}
	a->add(a->arg, &r, sizeof(r));
}

static void add_register(struct answer *a, const char *name)
{
	struct lane_expr x;
	char why[160];

	if (a->q->text[0] && fnmatch(a->q->text, name, 0))
		return;
	if (!amd_micro_compile(&x, a->m->l, name, why, sizeof(why)))
		add_value(a, name, &x);
}

static void add_registers(struct answer *a, char letter, unsigned n)
{
	char name[16];

	for (unsigned k = 0; k < n; k++) {
		snprintf(name, sizeof(name), "%%%c%u", letter, k);
		add_register(a, name);
	}
}

static const char *ask_registers(struct answer *a)
{
	static const char *const wave[] = {"%pc", "%exec", "%vcc", "%scc", "%m0", "%mode"};

	if (!a->w || a->w->state == AMD_ENDED)
		return ended(a);
	for (size_t k = 0; k < sizeof(wave) / sizeof(wave[0]); k++)
		add_register(a, wave[k]);
	add_registers(a, 's', amd_micro_scalars(a->m->l));
	add_registers(a, 'v', a->m->l->vgprs);
	add_registers(a, 'a', a->m->l->accs);
	return NULL;
}

static const char *ask_value(struct answer *a)
{
	struct lane_expr x;
	char why[160];

	if (!a->w || a->w->state == AMD_ENDED)
		return ended(a);
	if (a->q->lane > AMD_LANES ||
		(a->q->lane && !(amd_micro_lanes(a->w) >> (a->q->lane - 1) & 1)))
		return micro_say(a->s, "the wave has no such lane");
	if (a->q->lane && a->q->frame)
		return micro_say(
			a->s, "registers of a caller are not known: the machine keeps none");
	if (amd_micro_compile(&x, a->m->l, a->q->text, why, sizeof(why)))
		return micro_say(a->s, "%s", why);
	add_value(a, a->q->text, &x);
	return NULL;
}

/* --- frames --- */

static void add_frame(struct answer *a, uint64_t pc)
{
	const struct amd_function *fn =
		a->m->image ? amd_image_function(a->m->image, pc - a->m->bias) : NULL;
	struct soft_frame f = {.line = amd_micro_line_of(a->m, pc)};

	snprintf(f.function, sizeof(f.function), "%s", fn ? fn->name : a->m->kernel);
	amd_micro_source(a->m, pc, &f.source_line, f.file, sizeof(f.file));
	a->add(a->arg, &f, sizeof(f));
}

static const char *ask_frames(struct answer *a)
{
	const unsigned lane = a->q->lane ? a->q->lane - 1 : a->s->focus_lane;
	const struct amd_calls *c;

	if (!a->w)
		return ended(a);
	if (lane >= AMD_LANES || a->w->state == AMD_ENDED)
		return micro_say(a->s, "the lane has ended");
	c = amd_micro_calls(a->s, a->at);
	add_frame(a, a->w->pc);
	for (uint32_t k = c->n; k-- > 0;)
		add_frame(a, c->ret[k] - 4);
	return NULL;
}

/* --- memory --- */

static const char *too_far(struct answer *a, const char *space, uint64_t size)
{
	return micro_say(a->s, "the %s memory here has %llu bytes: %llu from %llu on are not there",
		space, (unsigned long long)size, (unsigned long long)a->q->size,
		(unsigned long long)(uint32_t)a->q->addr);
}

static const char *ask_private(struct answer *a, uint64_t at)
{
	const unsigned lane = a->q->lane ? a->q->lane - 1 : a->s->focus_lane;
	uint8_t *room;

	if (!a->w || lane >= AMD_LANES)
		return ended(a);
	room = malloc(a->q->size + 1);
	if (!room)
		return micro_say(a->s, "the host has no memory");
	if (!amd_micro_private(a->w, lane, at, a->q->size, room)) {
		free(room);
		return too_far(a, "private", a->w->scratch ? a->m->l->private_bytes : 0);
	}
	a->add(a->arg, room, a->q->size);
	free(room);
	return NULL;
}

uint8_t *amd_micro_argument(const struct amd_micro *m, uint64_t at, uint64_t n)
{
	struct amd_extent e;

	if (!range_within(at, n, 0, m->kernarg_bytes) ||
		!m->memory->find(m->memory->arg, m->kernarg, &e) ||
		!range_within(m->kernarg + at, n, e.start, e.end - e.start))
		return NULL;
	return (uint8_t *)(uintptr_t)(m->kernarg + at);
}

static const char *ask_memory(struct answer *a)
{
	const struct amd_group *g = micro_block(a->s, a->s->focus_block);
	const uint64_t at = (uint32_t)a->q->addr; /* addresses may be flat ones */
	const uint8_t *argument;

	if (a->q->space == SOFT_GLOBAL || a->q->space >= SOFT_SPACES ||
		a->q->size > SOFT_MEMORY_MAX)
		return micro_say(a->s,
			"shared, local and param memory can be asked for here, %u bytes at most",
			(unsigned)SOFT_MEMORY_MAX);
	if (!g)
		return ended(a);
	if (a->q->space == SOFT_LOCAL)
		return ask_private(a, at);
	if (a->q->space == SOFT_SHARED) {
		if (!range_within(at, a->q->size, 0, a->m->l->lds_bytes))
			return too_far(a, "LDS", a->m->l->lds_bytes);
		a->add(a->arg, g->lds + at, a->q->size);
		return NULL;
	}
	argument = amd_micro_argument(a->m, at, a->q->size);
	if (!argument)
		return too_far(a, "argument", a->m->kernarg_bytes);
	a->add(a->arg, argument, a->q->size);
	return NULL;
}

/* --- the code --- */

static void add_lines(struct answer *a, uint64_t from, uint64_t first, uint64_t last)
{
	unsigned count = 0;

	for (uint64_t at = from; at <= last && count < SOFT_LINES_MAX;) {
		struct soft_line r = {.line = (uint32_t)at};
		const unsigned n = amd_micro_text(a->m, a->m->bias + at, r.text, sizeof(r.text));

		if (!n)
			return;
		if (at >= first) {
			amd_micro_source(
				a->m, a->m->bias + at, &r.source_line, r.file, sizeof(r.file));
			r.here = a->w && a->w->state != AMD_ENDED && a->w->pc == a->m->bias + at;
			a->add(a->arg, &r, sizeof(r));
			count++;
		}
		at += n;
	}
}

static const char *ask_lines(struct answer *a)
{
	const struct amd_image *m = a->m->image;
	const struct amd_function *f;
	uint64_t first = a->q->addr, last = a->q->size;

	if (!m)
		return micro_say(a->s, "the code object of this launch is not known");
	if (a->q->text[0]) {
		f = amd_image_named(m, a->q->text);
		if (!f)
			return micro_say(
				a->s, "the code object has no function %.200s", a->q->text);
		add_lines(a, f->addr, f->addr, f->addr + f->size - 4);
		return NULL;
	}
	for (size_t k = 0; k < m->nfunctions; k++) {
		f = &m->functions[k];
		if (f->addr + f->size > first && f->addr <= last)
			add_lines(a, f->addr, first > f->addr ? first : f->addr,
				last < f->addr + f->size - 4 ? last : f->addr + f->size - 4);
	}
	return NULL;
}

static const char *ask_functions(struct answer *a)
{
	const struct amd_image *m = a->m->image;

	for (size_t k = 0; m && k < m->nfunctions; k++) {
		const struct amd_function *f = &m->functions[k];
		struct soft_function r = {.is_kernel = f->is_kernel,
			.first_line = (uint32_t)f->addr,
			.last_line = (uint32_t)(f->addr + f->size - 4)};

		snprintf(r.name, sizeof(r.name), "%s", f->name);
		a->add(a->arg, &r, sizeof(r));
	}
	return NULL;
}

/* There is no text: what its debug information says of variables is not read. */
static const char *ask_text(struct answer *a)
{
	(void)a;
	return NULL;
}

const char *amd_micro_ask(
	struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg)
{
	static const char *(*const answers[])(struct answer * a) = {
		[SOFT_ASK_WARPS] = ask_warps,
		[SOFT_ASK_LANES] = ask_lanes,
		[SOFT_ASK_REGISTERS] = ask_registers,
		[SOFT_ASK_VALUE] = ask_value,
		[SOFT_ASK_MEMORY] = ask_memory,
		[SOFT_ASK_LINES] = ask_lines,
		[SOFT_ASK_FUNCTIONS] = ask_functions,
		[SOFT_ASK_FRAMES] = ask_frames,
		[SOFT_ASK_TEXT] = ask_text,
	};
	struct answer a = {.s = s, .m = amd_micro_of(s), .q = q, .add = add, .arg = arg};
	const char *why;

	if (micro_ask_common(s, q, add, arg, &why))
		return why;
	if (s->phase != MICRO_OVER) {
		a.at = micro_focused(s);
		a.w = amd_micro_wave(a.at);
	}
	return answers[q->what](&a);
}
