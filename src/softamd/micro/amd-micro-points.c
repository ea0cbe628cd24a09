/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a dispatch under the microscope stops: breakpoints at instructions, by address or by their
 * offset from the kernel's first one, and at lines of the source, with a condition that is asked of
 * each active lane.
 */
#include <stdlib.h>
#include <string.h>

#include "softamd/micro/amd-micro.h"

struct places {
	uint64_t *pc; /* of the process */
	size_t n;
	bool asks;
	struct lane_expr condition;
};

void amd_micro_point_free(void *own)
{
	struct places *v = own;

	free(v->pc);
	free(v);
}

void amd_micro_no_points(struct soft_session *s)
{
	(void)s;
}

static bool add(struct places *v, uint64_t pc)
{
	uint64_t *more = realloc(v->pc, (v->n + 1) * sizeof(*more));

	if (!more)
		return false;
	v->pc = more;
	v->pc[v->n++] = pc;
	return true;
}

/* The first instruction at an ELF address or behind it, in the function that has it; 0: none. */
static uint64_t instruction_from(const struct amd_micro *m, uint64_t line)
{
	const struct amd_function *f = m->image ? amd_image_function(m->image, line) : NULL;
	uint64_t at = f ? f->addr : 0;
	char text[4];

	while (f && at < line) {
		const unsigned n = amd_micro_text(m, m->bias + at, text, sizeof(text));

		if (!n)
			return 0;
		at += n;
	}
	return f && at - f->addr < f->size ? at : 0;
}

/* A line can have code in several places: the first one of the kernel itself is reported. */
static bool add_source(const struct amd_micro *m, struct places *v, struct soft_point *p)
{
	const uint32_t line = m->image ? amd_image_find(m->image, p->file, p->line) : 0;
	const struct amd_function *kernel =
		m->image ? amd_image_function(m->image, m->entry - m->bias) : NULL;
	uint64_t first = 0;
	bool own = false;

	for (size_t k = 0; line && k < m->image->lines.n; k++) {
		const struct amd_line *l = &m->image->lines.v[k];
		bool here;

		if (l->line != line || !amd_image_begins(m->image, k) ||
			!amd_image_file_is(m->image, l, p->file))
			continue;
		if (!add(v, m->bias + l->addr))
			return false;
		here = kernel && l->addr - kernel->addr < kernel->size;
		if (!first || (here && !own))
			first = l->addr;
		own |= here;
	}
	p->size = line;
	p->line = first <= UINT32_MAX ? (uint32_t)first : 0;
	return true;
}

static const char *set(struct soft_session *s, struct places *v, struct soft_point *p)
{
	const struct amd_micro *m = amd_micro_of(s);
	char why[160];
	uint64_t line = p->line;
	bool good = true;

	switch (p->kind) {
	case SOFT_AT_OFFSET:
		line += m->entry - m->bias - 1;
		/* fall through */
	case SOFT_AT_LINE:
		line = instruction_from(m, line);
		p->line = line <= UINT32_MAX ? (uint32_t)line : 0;
		good = !p->line || add(v, m->bias + line);
		break;
	case SOFT_AT_SOURCE:
		good = add_source(m, v, p);
		break;
	default:
		return micro_say(s, "a breakpoint of an unknown kind");
	}
	if (!good)
		return micro_say(s, "the host has no memory");
	v->asks = p->condition[0];
	if (v->asks && amd_micro_compile(&v->condition, m->l, p->condition, why, sizeof(why)))
		return micro_say(s, "the condition of breakpoint %u: %s", p->id, why);
	return NULL;
}

const char *amd_micro_point(struct soft_session *s, struct micro_point *q, struct soft_point *p)
{
	struct places *v = calloc(1, sizeof(*v));
	const char *why;

	if (!v)
		return micro_say(s, "the host has no memory");
	why = set(s, v, p);
	if (why) {
		amd_micro_point_free(v);
		return why;
	}
	q->own = v;
	q->p = *p;
	return NULL;
}

static uint64_t lanes_of(const struct places *v, const struct amd_wave *w)
{
	const uint64_t exec = amd_exec(w);
	uint64_t ret = 0;

	if (!v->asks)
		return exec;
	AMD_EACH_LANE(lane, exec)
	{
		const struct lane_value x = amd_micro_eval(&v->condition, w, (unsigned)lane);

		ret |= (uint64_t)(!x.bad && lane_is_true(&x)) << lane;
	}
	return ret;
}

const struct micro_point *amd_micro_hit(
	struct soft_session *s, struct micro_at at, uint64_t *ret_lanes)
{
	const struct amd_wave *w = amd_micro_wave(at);

	for (unsigned k = 0; k < s->npoints; k++) {
		const struct places *v = s->points[k].own;
		bool here = false;

		for (size_t j = 0; v && j < v->n && !here; j++)
			here = v->pc[j] == w->pc;
		if (here && (*ret_lanes = lanes_of(v, w)))
			return &s->points[k];
	}
	return NULL;
}
