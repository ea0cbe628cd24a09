/* SPDX-License-Identifier: Apache-2.0
 *
 * Which write ended a wait for a value, see written-values.h.
 */
#include "order/fold/written-values.h"

void moment_drop(struct moment *m)
{
	clock_drop(m->clock);
	clock_drop(m->begun);
	*m = (struct moment){0};
}

struct moment moment_again(const struct moment *m)
{
	struct moment ret = *m;

	clock_ref(ret.clock);
	clock_ref(ret.begun);
	return ret;
}

void values_note(struct values *s, const struct sbt_cmd_batch *u, struct moment at)
{
	struct value *v = &s->v[s->n++ % VALUES_KEPT];

	moment_drop(&v->at);
	*v = (struct value){.addr = u->addr, .value = u->value, .at = at};
}

static uint32_t kept(const struct values *s)
{
	return s->n < VALUES_KEPT ? s->n : VALUES_KEPT;
}

static bool comes_before(const struct moment *a, const struct moment *b)
{
	return a->lane == b->lane ? a->index <= b->index : clock_at(b->clock, a->lane) >= a->index;
}

/* Whether another value surely lay over it when the wait began. */
static bool is_overwritten(const struct values *s, const struct sbt_cmd_batch *wait,
	const struct value *v, uint32_t lane, const struct clock *knows)
{
	for (uint32_t i = 0; i < kept(s); i++) {
		const struct value *w = &s->v[i];
		const bool known = w->at.lane == lane || clock_at(knows, w->at.lane) >= w->at.index;

		if (known && w->addr == wait->addr && !sbt_wait_is_over(wait, w->value) &&
			comes_before(&v->at, &w->at))
			return true;
	}
	return false;
}

const struct moment *values_first(const struct values *s, const struct sbt_cmd_batch *wait,
	uint32_t lane, const struct clock *knows)
{
	const struct value *may[VALUES_KEPT];
	uint32_t n = 0;

	for (uint32_t i = 0; i < kept(s); i++)
		if (s->v[i].addr == wait->addr && sbt_wait_is_over(wait, s->v[i].value) &&
			!is_overwritten(s, wait, &s->v[i], lane, knows))
			may[n++] = &s->v[i];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = 0;

		while (k < n && comes_before(&may[i]->at, &may[k]->at))
			k++;
		if (k == n)
			return &may[i]->at;
	}
	return NULL;
}

void values_free(struct values *s)
{
	for (uint32_t i = 0; i < VALUES_KEPT; i++)
		moment_drop(&s->v[i].at);
}
