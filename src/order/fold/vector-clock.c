/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks, see vector-clock.h.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "order/fold/vector-clock.h"

struct clock *clock_ref(struct clock *c)
{
	if (c)
		c->refs++;
	return c;
}

void clock_drop(struct clock *c)
{
	if (c && !--c->refs)
		free(c);
}

static struct clock *copy_of(const struct clock *c, uint32_t n)
{
	const uint32_t have = c ? c->n : 0;
	struct clock *r = xmalloc(sizeof *r + n * sizeof r->at[0]);

	r->refs = 1;
	r->n = n;
	if (have)
		memcpy(r->at, c->at, (have < n ? have : n) * sizeof r->at[0]);
	if (have < n)
		memset(r->at + have, 0, (n - have) * sizeof r->at[0]);
	return r;
}

struct clock *clock_with(struct clock *c, uint32_t lane, uint32_t v)
{
	struct clock *r;

	if (clock_at(c, lane) >= v)
		return clock_ref(c);
	r = copy_of(c, c && c->n > lane ? c->n : lane + 1);
	r->at[lane] = v;
	return r;
}

struct clock *clock_join(struct clock *a, struct clock *b, uint32_t except)
{
	const uint32_t an = a ? a->n : 0, bn = b ? b->n : 0, n = an < bn ? an : bn;
	bool a_more = false, b_more = false;
	struct clock *r;

	if (a == b)
		return clock_ref(a);
	for (uint32_t i = 0; i < n; i++) {
		a_more |= a->at[i] > b->at[i] && i != except;
		b_more |= b->at[i] > a->at[i] && i != except;
	}
	for (uint32_t i = n; i < an && !a_more; i++)
		a_more = a->at[i] && i != except;
	for (uint32_t i = n; i < bn && !b_more; i++)
		b_more = b->at[i] && i != except;
	if (!b_more)
		return clock_ref(a);
	if (!a_more)
		return clock_ref(b);
	r = copy_of(an >= bn ? a : b, an >= bn ? an : bn);
	for (uint32_t i = 0; i < n; i++)
		r->at[i] = a->at[i] > b->at[i] ? a->at[i] : b->at[i];
	return r;
}
