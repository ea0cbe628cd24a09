/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about a stopped launch: warps, lanes, blocks, registers, values, memory, lines
 * of its PTX. Each answer is a row of records (replayer/soft-debug.h), so code that passes them on
 * need not understand them.
 */
#include "softgpu/micro/micro.h"
#include "softgpu/machine/ptx-path.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answer {
	struct soft_session *s;
	const struct soft_ask *q;
	struct ptx_warp *w; /* the focused one; NULL */
	struct micro_place at;
	soft_add *add;
	void *arg;
};

static const char *ended(struct answer *a)
{
	return micro_say(a->s, a->s->phase == MICRO_OVER
				       ? "the launch has ended"
				       : "the block of the focused thread has ended");
}

static uint32_t source_line(const struct ptx_function *fn, uint32_t pc)
{
	const struct ptx_loc *l = micro_loc(fn, pc);

	return l ? l->line : 0;
}

/* --- warps, lanes --- */
static const char *ask_warps(struct answer *a)
{
	struct ptx_block *b = micro_block(a->s, a->s->focus_block);

	if (!b)
		return ended(a);
	for (unsigned k = 0; k < b->nwarps; k++) {
		const struct ptx_warp *w = &b->warps[k];
		struct micro_place p = micro_place_of(w);
		struct soft_warp r = {.warp = k,
			.barrier = UINT32_MAX,
			.live = w->live,
			.step = *micro_steps(a->s, (struct micro_at){b, k})};

		ptx_thread_of(w, 0, r.first);
		r.state = !p.ent		  ? SOFT_WARP_ENDED
			  : w->state == WARP_WAIT ? SOFT_WARP_WAITS
						  : SOFT_WARP_RUNS;
		if (p.ent) {
			r.active = p.active;
			r.line = p.line;
			r.source_line = source_line(p.fn, p.pc);
			if (p.ent->state == ENT_BARRIER)
				r.barrier = p.ent->bar;
			micro_text_line(
				&ptx_micro_of(a->s)->text, p.line, true, r.text, sizeof(r.text));
		}
		a->add(a->arg, &r, sizeof(r));
	}
	return NULL;
}

/* Where one lane goes on: the newest entry of a stack that has it. */
static bool place_on(
	const struct ptx_path *p, const struct micro_place *at, unsigned lane, struct soft_lane *r)
{
	for (unsigned k = p->nents; k-- > 0;) {
		const struct ptx_ent *e = &p->ents[k];
		unsigned f = p->nframes - 1;

		if (!(e->mask >> lane & 1))
			continue;
		while (f && p->frames[f].base > k)
			f--;
		r->state = e->state != ENT_RUN ? SOFT_LANE_WAITS
			   : e == at->ent      ? SOFT_LANE_ACTIVE
					       : SOFT_LANE_DIVERGED;
		r->line = p->frames[f].fn->insns[e->pc].line;
		r->source_line = source_line(p->frames[f].fn, e->pc);
		return true;
	}
	return false;
}

static void place_lane(
	const struct ptx_warp *w, const struct micro_place *at, unsigned lane, struct soft_lane *r)
{
	const struct ptx_path now = {
		.ents = w->ents, .nents = w->nents, .frames = w->frames, .nframes = w->nframes};
	bool found = place_on(&now, at, lane, r);

	for (unsigned k = 0; k < w->nparked && !found; k++)
		found = place_on(&w->parked[k], at, lane, r);
}

static const char *ask_lanes(struct answer *a)
{
	const struct ptx_warp *w = a->w;

	if (!w)
		return ended(a);
	for (unsigned l = 0; l < PTX_LANES; l++) {
		struct soft_lane r = {.lane = l, .state = SOFT_LANE_NONE};

		if (w->all >> l & 1) {
			ptx_thread_of(w, l, r.thread);
			r.state = SOFT_LANE_ENDED;
			if (w->live >> l & 1)
				place_lane(w, &a->at, l, &r);
			r.executing = a->at.executing >> l & 1;
		}
		a->add(a->arg, &r, sizeof(r));
	}
	return NULL;
}

/* --- registers and values --- */
static void add_value(struct answer *a, struct soft_value *r,
	struct lane_value (*value)(const void *what, const struct answer *a, unsigned lane),
	const void *what)
{
	r->lanes = a->w->all;
	for (unsigned l = 0; l < PTX_LANES; l++) {
		struct lane_value v;

		if (!(r->lanes >> l & 1))
			continue;
		v = value(what, a, l);
		if (v.bad)
			r->lanes &= ~(1ull << l);
		if (v.is_float && r->type != SOFT_FLOAT) {
			r->type = SOFT_FLOAT;
			r->bytes = 8;
		}
		r->value[l] = lane_bits(&v, r);
	}
	a->add(a->arg, r, sizeof(*r));
}

static struct lane_value of_register(const void *what, const struct answer *a, unsigned lane)
{
	const struct ptx_regname *r = what;

	return micro_reg_value(micro_frame(a->w, a->at.frame), r->off, r->type, lane);
}

static const char *ask_registers(struct answer *a)
{
	const struct ptx_function *fn = a->at.fn;

	if (!a->w || !fn)
		return ended(a);
	for (unsigned k = 0; k < fn->nnames; k++) {
		const struct ptx_regname *r = &fn->names[k];
		struct soft_value v = {0};

		micro_reg_name(r, v.name, sizeof(v.name));
		if (a->q->text[0] && fnmatch(a->q->text, v.name, 0))
			continue;
		micro_declare(r->type, &v);
		add_value(a, &v, of_register, r);
	}
	return NULL;
}

static struct lane_value of_expression(const void *what, const struct answer *a, unsigned lane)
{
	return micro_eval(what, a->w, a->at.frame, lane);
}

static const char *ask_value(struct answer *a)
{
	static const char *const spaces[] = {[SP_GLOBAL] = "global",
		[SP_SHARED] = "shared",
		[SP_LOCAL] = "local",
		[SP_CONST] = "global",
		[SP_PARAM] = "param"};
	struct soft_value v = {0};
	struct micro_view view;
	struct lane_expr x;
	char why[160];
	int space;

	if (a->w && a->q->lane) {
		if (a->q->lane > PTX_LANES ||
			!micro_view_of(a->w, a->q->lane - 1, a->q->frame, &view))
			return micro_say(a->s, "the lane has ended, or has no such frame");
		a->w = &view.w;
		a->at = view.at;
	}
	if (!a->w || !a->at.fn)
		return ended(a);
	if (micro_compile(&x, a->at.fn, a->at.pc, a->q->text, why, sizeof(why)))
		return micro_say(a->s, "%s", why);
	micro_type(&x, &v, &space);
	if (space > 0)
		snprintf(v.declared, sizeof(v.declared), "%s", spaces[space]);
	snprintf(v.name, sizeof(v.name), "%.63s", a->q->text);
	add_value(a, &v, of_expression, &x);
	return NULL;
}

/* --- frames --- */
static const char *ask_frames(struct answer *a)
{
	const unsigned lane = a->q->lane ? a->q->lane - 1 : a->s->focus_lane;
	struct micro_view view;
	unsigned k = 0;

	if (!a->w)
		return ended(a);
	if (lane >= PTX_LANES)
		return micro_say(a->s, "there is no lane %u", lane);
	for (; micro_view_of(a->w, lane, k, &view); k++) {
		const struct ptx_loc *l = micro_loc(view.at.fn, view.at.pc);
		struct soft_frame f = {.line = view.at.line, .source_line = l ? l->line : 0};

		snprintf(f.function, sizeof(f.function), "%s", view.at.fn->name);
		if (l)
			snprintf(f.file, sizeof(f.file), "%s", micro_file(view.at.fn, l->file));
		a->add(a->arg, &f, sizeof(f));
	}
	return k ? NULL : micro_say(a->s, "the lane has ended");
}

/* --- memory --- */
static const char *const space_names[SOFT_SPACES] = {"global", "shared", "local", "param"};

static const char *ask_memory(struct answer *a)
{
	const struct soft_session *s = a->s;
	const struct ptx_block *b = micro_block(s, s->focus_block);
	const unsigned lane = a->q->lane ? a->q->lane - 1 : s->focus_lane;
	uint64_t at = a->q->addr, n = a->q->size, size = 0;
	const uint8_t *base = NULL;

	if (a->q->space == SOFT_GLOBAL || a->q->space >= SOFT_SPACES || n > SOFT_MEMORY_MAX)
		return micro_say(a->s,
			"shared, local and param memory can be asked for here, %u bytes at most",
			(unsigned)SOFT_MEMORY_MAX);
	if (!b || (a->q->space == SOFT_LOCAL && (!a->w || lane >= PTX_LANES)))
		return ended(a);
	/* addresses may be generic ones */
	if ((PTX_WIN(at) == PTX_WIN_SHARED && a->q->space == SOFT_SHARED) ||
		(PTX_WIN(at) == PTX_WIN_LOCAL && a->q->space == SOFT_LOCAL) ||
		(PTX_WIN(at) == PTX_WIN_PARAM && a->q->space == SOFT_PARAM))
		at = (uint32_t)at;
	if (a->q->space == SOFT_SHARED) {
		base = b->shared;
		size = b->shared_size;
	} else if (a->q->space == SOFT_LOCAL) {
		base = a->w->local + lane * a->w->lstride;
		size = a->w->lstride;
	} else {
		base = ptx_micro_of(s)->l.params;
		size = ptx_micro_of(s)->l.fn->param_bytes;
	}
	if (at > size || n > size - at)
		return micro_say(a->s,
			"the %s memory here has %llu bytes: %llu from %llu on are not there",
			space_names[a->q->space], (unsigned long long)size, (unsigned long long)n,
			(unsigned long long)at);
	a->add(a->arg, base + at, n);
	return NULL;
}

/* --- the text --- */
/* First and last line with an instruction. */
static void extent(const struct ptx_function *fn, unsigned *first, unsigned *last)
{
	*first = *last = 0;
	for (uint32_t pc = 0; pc < fn->ninsns; pc++) {
		if (!*first || fn->insns[pc].line < *first)
			*first = fn->insns[pc].line;
		if (fn->insns[pc].line > *last)
			*last = fn->insns[pc].line;
	}
}

/* The function whose instructions are around a line. */
static const struct ptx_function *function_around(const struct ptx_module *m, unsigned line)
{
	for (unsigned k = 0; k < m->nfuncs; k++) {
		unsigned first, last;

		extent(m->funcs[k], &first, &last);
		if (m->funcs[k]->has_body && line >= first && line <= last)
			return m->funcs[k];
	}
	return NULL;
}

static void add_line(struct answer *a, const struct ptx_function *fn, unsigned line)
{
	struct soft_line r = {.line = line, .here = a->at.ent && a->at.line == line};

	micro_text_line(&ptx_micro_of(a->s)->text, line, false, r.text, sizeof(r.text));
	for (uint32_t pc = 0; fn && pc + 1 < fn->ninsns; pc++)
		if (fn->insns[pc].line == line) {
			const struct ptx_loc *l = micro_loc(fn, pc);
			if (l) {
				r.source_line = l->line;
				snprintf(r.file, sizeof(r.file), "%s", micro_file(fn, l->file));
			}
			break;
		}
	a->add(a->arg, &r, sizeof(r));
}

static const struct ptx_function *function_named(const struct ptx_module *m, const char *name)
{
	for (unsigned k = 0; k < m->nfuncs; k++)
		if (m->funcs[k]->has_body && !strcmp(m->funcs[k]->name, name))
			return m->funcs[k];
	return NULL;
}

static const char *ask_lines(struct answer *a)
{
	const struct ptx_module *m = ptx_micro_of(a->s)->l.fn->m;
	const struct ptx_function *fn = NULL;
	uint64_t first = a->q->addr, last = a->q->size;
	unsigned from, to;

	if (a->q->text[0]) {
		fn = function_named(m, a->q->text);
		if (!fn)
			return micro_say(a->s, "the PTX has no function %.200s", a->q->text);
		extent(fn, &from, &to);
		first = from;
		last = to;
	}
	if (!first)
		first = 1;
	if (last > ptx_micro_of(a->s)->text.nlines)
		last = ptx_micro_of(a->s)->text.nlines;
	if (last >= first + SOFT_LINES_MAX)
		last = first + SOFT_LINES_MAX - 1;
	for (uint64_t line = first; line <= last; line++)
		add_line(a, fn ? fn : function_around(m, (unsigned)line), (unsigned)line);
	return NULL;
}

static const char *ask_functions(struct answer *a)
{
	const struct ptx_module *m = ptx_micro_of(a->s)->l.fn->m;

	for (unsigned k = 0; k < m->nfuncs; k++) {
		struct soft_function r = {.is_kernel = m->funcs[k]->is_entry};

		if (!m->funcs[k]->has_body)
			continue;
		snprintf(r.name, sizeof(r.name), "%s", m->funcs[k]->name);
		extent(m->funcs[k], &r.first_line, &r.last_line);
		a->add(a->arg, &r, sizeof(r));
	}
	return NULL;
}

static const char *ask_text(struct answer *a)
{
	const struct micro_text *t = &ptx_micro_of(a->s)->text;
	const uint64_t size = t->start[t->nlines] - 1u;
	uint64_t n = a->q->size < SOFT_MEMORY_MAX ? a->q->size : SOFT_MEMORY_MAX;

	if (a->q->addr >= size)
		return NULL;
	n = n < size - a->q->addr ? n : size - a->q->addr;
	a->add(a->arg, t->text + a->q->addr, n);
	return NULL;
}

const char *micro_ask(struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg)
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
	struct answer a = {.s = s, .q = q, .add = add, .arg = arg};
	const char *why;

	if (micro_ask_common(s, q, add, arg, &why))
		return why;
	a.w = s->phase == MICRO_OVER ? NULL : micro_warp_at(micro_focused(s));
	if (a.w)
		a.at = micro_place_of(a.w);
	return answers[q->what](&a);
}
