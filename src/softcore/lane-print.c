/* SPDX-License-Identifier: Apache-2.0
 *
 * What lanes print, see lane-print.h.
 */
#include "softcore/lane-print.h"

#include <stdlib.h>
#include <string.h>
#include "base/list-part.h"

struct lane_prints *lane_prints_new(const struct probe_machine *m, const void *arg, const void *fn,
	uint64_t pc, const char *text)
{
	struct lane_prints *p = calloc(1, sizeof(*p));
	char one[SOFT_TEXT];

	while (p && text[strspn(text, " \t")] && p->n < SOFT_PRINT_ARGS) {
		const size_t n = list_part_length(text);

		memcpy(one, text, n < sizeof(one) ? n : 0);
		one[n < sizeof(one) ? n : 0] = 0;
		p->broken[p->n] = !m->compile(arg, fn, pc, one, &p->expr[p->n]);
		p->n++;
		text += n + (text[n] == ',');
	}
	return p;
}

static void take_value(const struct probe_machine *m, const struct lane_expr *x, const void *warp,
	unsigned lane, struct soft_print *r, unsigned k)
{
	const struct lane_value v = m->eval(x, warp, lane);
	struct soft_value type = {0};
	int space;

	m->type(x, &type, &space);
	if (v.is_float && type.type != SOFT_FLOAT) {
		type.type = SOFT_FLOAT;
		type.bytes = 8;
	}
	if (v.bad)
		r->bad |= 1u << k;
	else
		r->value[k] = (struct soft_print_value){
			type.type, type.bytes ? type.bytes : 1, lane_bits(&v, &type)};
}

static bool same(const struct soft_print *a, const struct soft_print *b)
{
	return a->bad == b->bad && !memcmp(a->value, b->value, sizeof(a->value));
}

bool lane_prints_take(const struct lane_prints *p, const struct probe_machine *m, uint32_t id,
	const void *warp, uint64_t mask, struct soft_print **v, unsigned *n)
{
	const unsigned first = *n;
	struct soft_print *more = realloc(*v, (first + SOFT_LANES) * sizeof(*more));
	unsigned at;

	if (!more)
		return false;
	*v = more;
	for (; mask; mask &= mask - 1) {
		const unsigned l = (unsigned)__builtin_ctzll(mask);
		struct soft_print r = {.id = id, .lanes = 1ull << l};

		for (unsigned k = 0; k < p->n; k++) {
			if (p->broken[k])
				r.bad |= 1u << k;
			else
				take_value(m, &p->expr[k], warp, l, &r, k);
		}
		for (at = first; at < *n && !same(&more[at], &r);)
			at++;
		if (at < *n) {
			more[at].lanes |= r.lanes;
			continue;
		}
		m->who(warp, l, r.block, r.thread);
		r.more = at > first;
		more[(*n)++] = r;
	}
	return true;
}
