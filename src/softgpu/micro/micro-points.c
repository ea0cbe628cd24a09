/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a launch under the microscope stops: breakpoints at lines of the PTX text or of the source,
 * with a condition that is asked of each active lane.
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

static bool has_depot(const struct ptx_function *fn)
{
	for (unsigned i = 0; i < fn->nvars; i++)
		if (fn->vars[i]->space == SP_LOCAL &&
			!strncmp(fn->vars[i]->name, "__local_depot", 13))
			return true;
	return false;
}

/* Where the body of a function begins whose compiler (nvcc -G) keeps its parameters in local
 * memory: before that its variables are not what the program says. It is the second line that the
 * function has, as for gdb; 0: the function has no such beginning. */
static uint32_t body_of(const struct ptx_function *fn)
{
	const struct ptx_loc *first = has_depot(fn) ? micro_loc(fn, 0) : NULL;

	for (unsigned j = 0; first && j < fn->nlocs; j++)
		if (fn->locs[j].pc && fn->locs[j].pc + 1 < fn->ninsns &&
			(fn->locs[j].line != first->line || fn->locs[j].file != first->file))
			return fn->locs[j].pc;
	return 0;
}

/* Whether a breakpoint at that source line stops at pc: where a run of its instructions begins, and
 * for the line that a function begins with where its body does. */
static bool stops_at(
	const struct ptx_function *fn, uint32_t pc, const struct soft_point *p, unsigned line)
{
	const uint32_t body = body_of(fn);

	if (pc < body)
		return false;
	return micro_begins_source(fn, pc, p, line) ||
	       (body && pc == body && micro_begins_source(fn, 0, p, line));
}

static void mark_source(struct soft_session *s, struct soft_point *p)
{
	const struct ptx_module *m = ptx_micro_of(s)->l.fn->m;
	unsigned line = micro_find_source(m, p), first = 0;
	const struct ptx_function *kernel = ptx_micro_of(s)->l.fn;
	bool own = false; /* first is in the kernel itself */

	for (unsigned k = 0; line && k < m->nfuncs; k++) {
		const struct ptx_function *fn = m->funcs[k];
		for (unsigned j = 0; j < fn->nlocs; j++) {
			uint32_t pc = fn->locs[j].pc;
			if (!stops_at(fn, pc, p, line))
				continue;
			ptx_micro_of(s)->stops[fn->insns[pc].line] = true;
			if (!first || (fn == kernel && !own) ||
				(fn->insns[pc].line < first && (fn == kernel) == own))
				first = fn->insns[pc].line;
			own |= fn == kernel;
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

/* What a breakpoint asks, compiled for the function that its registers are of. */
struct condition {
	const struct ptx_function *fn;
	struct lane_expr expr;
};

void micro_point_free(void *own)
{
	free(own);
}

static const char *set_condition(
	struct soft_session *s, struct micro_point *q, const struct soft_point *p)
{
	struct condition *c = calloc(1, sizeof(*c));
	char why[160];
	uint32_t pc = 0;

	if (!c)
		return micro_say(s, "the host has no memory");
	c->fn = function_at(ptx_micro_of(s)->l.fn->m, p->line, &pc);
	if (micro_compile(&c->expr, c->fn, pc, p->condition, why, sizeof(why))) {
		free(c);
		return micro_say(s, "the condition of breakpoint %u: %s", p->id, why);
	}
	q->own = c;
	return NULL;
}

const char *micro_set_point(struct soft_session *s, struct micro_point *q, struct soft_point *p)
{
	struct ptx_micro *m = ptx_micro_of(s);

	if (p->kind == SOFT_AT_LINE) {
		p->line = find_line(m->l.fn->m, p->line);
		if (p->line && p->line <= m->text.nlines)
			m->stops[p->line] = true;
	} else if (p->kind == SOFT_AT_SOURCE) {
		mark_source(s, p);
	} else if (p->kind == SOFT_AT_OFFSET) {
		return micro_say(s, "PTX has lines, no offsets: \"disassemble\" shows them");
	} else {
		return micro_say(s, "a breakpoint of an unknown kind");
	}
	q->p = *p;
	return p->line && p->condition[0] ? set_condition(s, q, p) : NULL;
}

/* --- hitting --- */
/* The lanes for which the condition holds. A line of source may be in several functions, which have
 * registers of their own. */
static uint32_t lanes_of(const struct micro_point *q, const struct ptx_warp *w,
	const struct ptx_function *fn, uint32_t pc, uint32_t mask)
{
	struct condition *c = q->own;
	uint32_t ret = 0;
	char why[160];

	if (!c)
		return mask;
	if (c->fn != fn) {
		struct lane_expr x;

		if (micro_compile(&x, fn, pc, q->p.condition, why, sizeof(why)))
			return 0; /* it has no such register */
		c->expr = x;
		c->fn = fn;
	}
	EACH_LANE(l)
	{
		struct lane_value v = micro_eval(&c->expr, w, w->nframes - 1, l);
		ret |= (uint32_t)(!v.bad && lane_is_true(&v)) << l;
	}
	return ret;
}

const struct micro_point *micro_hit(struct soft_session *s, struct micro_at at, uint64_t *ret_lanes)
{
	const struct ptx_warp *w = micro_warp_at(at);
	const struct ptx_ent *e = &w->ents[w->nents - 1];
	const struct ptx_function *fn = w->frames[w->nframes - 1].fn;
	unsigned line = fn->insns[e->pc].line;

	if (line > ptx_micro_of(s)->text.nlines || !ptx_micro_of(s)->stops[line])
		return NULL;
	for (unsigned k = 0; k < s->npoints; k++) {
		struct micro_point *q = &s->points[k];
		bool here;
		if (q->p.kind == SOFT_AT_LINE)
			here = q->p.line == line && !(e->pc && fn->insns[e->pc - 1].line == line);
		else
			here = q->p.kind == SOFT_AT_SOURCE &&
			       stops_at(fn, e->pc, &q->p, (unsigned)q->p.size);
		if (here && (*ret_lanes = lanes_of(q, w, fn, e->pc, e->mask)))
			return q;
	}
	return NULL;
}
