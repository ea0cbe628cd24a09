/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a launch under the microscope stops: breakpoints at lines of the PTX text or of the source,
 * with a condition that is asked of each active lane; and watched bytes. An instruction that is
 * about to write watched bytes is noted with what they are before; the next step looks whether they
 * are different.
 */
#include "softgpu/micro/micro.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- lines --- */
/* The first line from `line` on that has an instruction; the ret that closes a body does not count.
 */
static unsigned find_line(const struct ptx_module *m, unsigned line)
{
	unsigned best = 0;

	for (unsigned k = 0; k < m->nfuncs; k++) {
		const struct ptx_function *fn = m->funcs[k];
		for (uint32_t pc = 0; fn->has_body && pc + 1 < fn->ninsns; pc++)
			if (fn->insns[pc].line >= line && (!best || fn->insns[pc].line < best))
				best = fn->insns[pc].line;
	}
	return best;
}

static bool is_source(const struct ptx_function *fn, const struct ptx_loc *l,
	const struct soft_point *p, unsigned line)
{
	return l->line == line && l->pc + 1 < fn->ninsns &&
	       micro_file_is(micro_file(fn, l->file), p->file);
}

/* The first line of that file from `line` on that any instruction comes from. */
unsigned micro_find_source(const struct ptx_module *m, const struct soft_point *p)
{
	unsigned best = 0;

	for (unsigned k = 0; k < m->nfuncs; k++) {
		const struct ptx_function *fn = m->funcs[k];
		for (unsigned j = 0; j < fn->nlocs; j++) {
			const struct ptx_loc *l = &fn->locs[j];
			if (l->line >= p->line && (!best || l->line < best) &&
				is_source(fn, l, p, l->line))
				best = l->line;
		}
	}
	return best;
}

/* Whether a run of instructions from that source line begins at pc. */
bool micro_begins_source(
	const struct ptx_function *fn, uint32_t pc, const struct soft_point *p, unsigned line)
{
	const struct ptx_loc *l = micro_loc(fn, pc);
	const struct ptx_loc *before;

	if (!l || l->pc != pc || !is_source(fn, l, p, line))
		return false;
	before = pc ? micro_loc(fn, pc - 1) : NULL;
	return !before || before->line != l->line || before->file != l->file;
}

static void mark_source(struct soft_session *s, struct soft_point *p)
{
	const struct ptx_module *m = s->l.fn->m;
	unsigned line = micro_find_source(m, p), first = 0;
	bool own = false; /* first is in the kernel itself */

	for (unsigned k = 0; line && k < m->nfuncs; k++) {
		const struct ptx_function *fn = m->funcs[k];
		for (unsigned j = 0; j < fn->nlocs; j++) {
			uint32_t pc = fn->locs[j].pc;
			if (!micro_begins_source(fn, pc, p, line))
				continue;
			s->stops[fn->insns[pc].line] = true;
			if (!first || (fn == s->l.fn && !own) ||
				(fn->insns[pc].line < first && (fn == s->l.fn) == own))
				first = fn->insns[pc].line;
			own |= fn == s->l.fn;
		}
	}
	p->size = line; /* of the source, as it was found */
	p->line = first;
}

/* --- setting --- */
/* The function that an instruction of that line is in. */
static const struct ptx_function *function_at(
	const struct ptx_module *m, unsigned line, uint32_t *ret_pc)
{
	for (unsigned k = 0; k < m->nfuncs; k++)
		for (uint32_t pc = 0; pc < m->funcs[k]->ninsns; pc++)
			if (m->funcs[k]->insns[pc].line == line) {
				*ret_pc = pc;
				return m->funcs[k];
			}
	return NULL;
}

static const char *set_point(struct soft_session *s, struct micro_point *q, struct soft_point *p)
{
	const struct ptx_module *m = s->l.fn->m;
	const struct ptx_function *fn;
	char why[160];
	uint32_t pc = 0;

	p->file[sizeof(p->file) - 1] = p->condition[sizeof(p->condition) - 1] = 0;
	if (p->kind >= SOFT_WATCH && p->kind <= SOFT_WATCH_TOUCH) {
		if ((p->space != SOFT_GLOBAL && p->space != SOFT_SHARED) || !p->size ||
			p->addr + p->size < p->addr)
			return micro_say(s, "watched bytes are in global or shared memory");
		s->watches = true;
		q->p = *p;
		return NULL;
	}
	if (p->kind == SOFT_AT_LINE) {
		p->line = find_line(m, p->line);
		if (p->line && p->line <= s->text.nlines)
			s->stops[p->line] = true;
	} else if (p->kind == SOFT_AT_SOURCE) {
		q->p.size = p->line;
		mark_source(s, p);
	} else {
		return micro_say(s, "a breakpoint of an unknown kind");
	}
	q->p = *p;
	if (!p->line || !p->condition[0])
		return NULL;
	fn = function_at(m, p->line, &pc);
	if (micro_compile(&q->condition, fn, pc, p->condition, why, sizeof(why)))
		return micro_say(s, "the condition of breakpoint %u: %s", p->id, why);
	q->fn = fn;
	return NULL;
}

const char *micro_points(struct soft_session *s, struct soft_point *p, unsigned n)
{
	struct micro_point *v;
	const char *why = NULL;

	if (n > SOFT_POINTS_MAX)
		return micro_say(s, "there are at most %u breakpoints", (unsigned)SOFT_POINTS_MAX);
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return micro_say(s, "the host has no memory");
	memset(s->stops, 0, (s->text.nlines + 1) * sizeof(*s->stops));
	s->watches = false;
	s->npieces = 0;
	free(s->points);
	s->points = v;
	s->npoints = 0;
	for (unsigned k = 0; k < n && !why; k++) {
		why = set_point(s, &v[k], &p[k]);
		s->npoints += !why;
	}
	return why;
}

/* --- hitting --- */
/* The lanes for which the condition holds. A line of source may be in several functions, which have
 * registers of their own. */
static uint32_t lanes_of(struct micro_point *q, const struct ptx_warp *w,
	const struct ptx_function *fn, uint32_t pc, uint32_t mask)
{
	uint32_t ret = 0;
	char why[160];

	if (!q->fn)
		return mask;
	if (q->fn != fn) {
		struct micro_expr x;

		if (micro_compile(&x, fn, pc, q->p.condition, why, sizeof(why)))
			return 0; /* it has no such register */
		q->condition = x;
		q->fn = fn;
	}
	EACH_LANE(l)
	{
		struct micro_value v = micro_eval(&q->condition, w, w->nframes - 1, l);
		ret |= (uint32_t)(!v.bad && (v.is_float ? v.f != 0 : v.i != 0)) << l;
	}
	return ret;
}

const struct micro_point *micro_hit(
	struct soft_session *s, const struct ptx_warp *w, uint32_t *ret_lanes)
{
	const struct ptx_ent *e = &w->ents[w->nents - 1];
	const struct ptx_function *fn = w->frames[w->nframes - 1].fn;
	unsigned line = fn->insns[e->pc].line;

	if (line > s->text.nlines || !s->stops[line])
		return NULL;
	for (unsigned k = 0; k < s->npoints; k++) {
		struct micro_point *q = &s->points[k];
		bool here;
		if (q->p.kind == SOFT_AT_LINE)
			here = q->p.line == line && !(e->pc && fn->insns[e->pc - 1].line == line);
		else
			here = q->p.kind == SOFT_AT_SOURCE &&
			       micro_begins_source(fn, e->pc, &q->p, (unsigned)q->p.size);
		if (here && (*ret_lanes = lanes_of(q, w, fn, e->pc, e->mask)))
			return q;
	}
	return NULL;
}

/* --- watching --- */
/* The bits of enum soft_touch with which an access concerns the watchpoint; *ret_is false: it does
 * not concern it. */
static uint32_t concerns(const struct soft_point *p, const struct ptx_access *a, bool *ret_is)
{
	const bool reads = a->kind != PTX_WRITE, writes = a->kind != PTX_READ;

	*ret_is = p->kind == SOFT_WATCH		? writes
		  : p->kind == SOFT_WATCH_READS ? reads
						: p->kind == SOFT_WATCH_TOUCH;
	return p->kind == SOFT_WATCH ? 0 : (reads ? SOFT_READS : 0u) | (writes ? SOFT_WRITES : 0u);
}

void micro_note_access(struct soft_session *s, const struct ptx_access *a)
{
	unsigned space = a->space == SP_GLOBAL	 ? SOFT_GLOBAL
			 : a->space == SP_SHARED ? SOFT_SHARED
						 : SOFT_SPACES;
	uint32_t mask = a->mask;

	if (a->size > SOFT_BYTES || space == SOFT_SPACES)
		return;
	for (unsigned k = 0; k < s->npoints; k++) {
		const struct soft_point *p = &s->points[k].p;
		bool is;
		const uint32_t access = concerns(p, a, &is);
		if (!is || p->space != space)
			continue;
		EACH_LANE(l)
		{
			struct micro_piece *q = &s->pieces[s->npieces];
			if (a->addr[l] >= p->addr + p->size || a->addr[l] + a->size <= p->addr ||
				s->npieces == PTX_LANES)
				continue;
			*q = (struct micro_piece){.point = &s->points[k],
				.lane = l,
				.access = access,
				.size = a->size,
				.addr = a->addr[l],
				.at = (const uint8_t *)(uintptr_t)a->pointer[l]};
			memcpy(q->before, q->at, q->size);
			s->npieces++;
		}
	}
	if (!s->npieces)
		return;
	s->writer = a->warp;
	s->writer_insn = a->insn;
	s->writer_fn = a->warp->frames[a->warp->nframes - 1].fn;
	s->writer_pc = (uint32_t)(a->insn - s->writer_fn->insns);
}

static bool differs(const struct micro_piece *q)
{
	const struct soft_point *p = &q->point->p;

	if (q->access)
		return true;
	for (unsigned k = 0; k < q->size; k++)
		if (q->at[k] != q->before[k] && q->addr + k >= p->addr &&
			q->addr + k < p->addr + p->size)
			return true;
	return false;
}

const struct micro_point *micro_changed(struct soft_session *s, struct soft_change *ret)
{
	const struct micro_piece *first = NULL;
	const struct ptx_loc *loc;
	uint64_t from, to;

	memset(ret, 0, sizeof(*ret));
	for (unsigned k = 0; k < s->npieces; k++) {
		const struct micro_piece *q = &s->pieces[k];
		if (!differs(q))
			continue;
		if (!first)
			first = q;
		if (q->point != first->point || q->addr != first->addr)
			continue;
		ret->lanes++; /* the last one's value stays */
		ptx_thread_of(s->writer, q->lane, ret->thread);
	}
	s->npieces = 0;
	if (!first)
		return NULL;
	ret->space = first->point->p.space;
	ret->access = first->access;
	from = first->point->p.addr > first->addr ? first->point->p.addr : first->addr;
	to = first->point->p.addr + first->point->p.size;
	if (to > first->addr + first->size)
		to = first->addr + first->size;
	ret->addr = from;
	ret->size = (uint32_t)(to - from);
	memcpy(ret->before, first->before + (from - first->addr), ret->size);
	memcpy(ret->after, first->at + (from - first->addr), ret->size);
	memcpy(ret->block, s->writer->blk->ctaid, sizeof(ret->block));
	ret->line = s->writer_insn->line;
	micro_text_line(&s->text, ret->line, true, ret->text, sizeof(ret->text));
	loc = micro_loc(s->writer_fn, s->writer_pc);
	if (loc) {
		ret->source_line = loc->line;
		snprintf(ret->file, sizeof(ret->file), "%s", micro_file(s->writer_fn, loc->file));
	}
	return first->point;
}
