/* SPDX-License-Identifier: Apache-2.0
 *
 * What lanes print, see micro-print.h.
 */
#include "softgpu/micro/micro-print.h"

#include <stdlib.h>
#include <string.h>

/* The length up to a comma that is in no bracket, or the end. */
static size_t one_length(const char *p)
{
	unsigned depth = 0;
	size_t n = 0;

	for (; p[n] && (depth || p[n] != ','); n++) {
		depth += p[n] == '(' || p[n] == '[';
		depth -= depth && (p[n] == ')' || p[n] == ']');
	}
	return n;
}

struct micro_prints *micro_prints_new(const struct ptx_function *fn, uint32_t pc, const char *text)
{
	struct micro_prints *p = calloc(1, sizeof(*p));
	char one[SOFT_TEXT], why[160];

	while (p && text[strspn(text, " \t")] && p->n < SOFT_PRINT_ARGS) {
		const size_t n = one_length(text);

		memcpy(one, text, n < sizeof(one) ? n : 0);
		one[n < sizeof(one) ? n : 0] = 0;
		p->broken[p->n] =
			micro_compile(&p->expr[p->n], fn, pc, one, why, sizeof(why)) != NULL;
		p->n++;
		text += n + (text[n] == ',');
	}
	return p;
}

static void take_value(const struct lane_expr *x, const struct ptx_warp *w, unsigned lane,
	struct soft_print *r, unsigned k)
{
	const struct lane_value v = micro_eval(x, w, w->nframes - 1, lane);
	struct soft_value type = {0};
	int space;

	micro_type(x, &type, &space);
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

bool micro_prints_take(const struct micro_prints *p, uint32_t id, const struct ptx_warp *w,
	uint32_t mask, struct soft_print **v, unsigned *n)
{
	const unsigned first = *n;
	struct soft_print *more = realloc(*v, (first + PTX_LANES) * sizeof(*more));
	unsigned at;

	if (!more)
		return false;
	*v = more;
	EACH_LANE(l)
	{
		struct soft_print r = {.id = id, .lanes = 1ull << l};

		for (unsigned k = 0; k < p->n; k++) {
			if (p->broken[k])
				r.bad |= 1u << k;
			else
				take_value(&p->expr[k], w, l, &r, k);
		}
		for (at = first; at < *n && !same(&more[at], &r);)
			at++;
		if (at < *n) {
			more[at].lanes |= r.lanes;
			continue;
		}
		memcpy(r.block, w->blk->ctaid, sizeof(r.block));
		ptx_thread_of(w, l, r.thread);
		r.more = at > first;
		more[(*n)++] = r;
	}
	return true;
}
