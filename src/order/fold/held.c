/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that run late, see held.h.
 */
#include "order/fold/held.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/first-where.h"

void held_put(struct held *h, struct held_cmd x)
{
	MAKE_ROOM(h->c, h->n, h->cap);
	h->c[h->n++] = x;
}

struct held_cmd *held_find(const struct held *h, uint64_t seq)
{
	const size_t i = FIRST_WHERE(h->n, k, h->c[k].seq >= seq);

	return i < h->n && h->c[i].seq == seq ? &h->c[i] : NULL;
}

uint64_t held_record(const struct held *h, uint64_t event, uint64_t since)
{
	for (size_t i = h->n; i-- && h->c[i].seq > since;)
		if (h->c[i].records == event)
			return h->c[i].seq;
	return 0;
}

void held_recorded(struct held *h, uint64_t seq, const struct moment *m)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->c[i].wants == seq) {
			h->c[i].wants = 0;
			h->c[i].event = moment_again(m);
		}
}

void held_done(struct held *h, struct held_cmd *x)
{
	const size_t i = (size_t)(x - h->c);

	moment_drop(&x->host);
	moment_drop(&x->event);
	memmove(x, x + 1, (h->n - i - 1) * sizeof *x);
	h->n--;
}

void held_free(struct held *h)
{
	while (h->n)
		held_done(h, &h->c[h->n - 1]);
	free(h->c);
	*h = (struct held){0};
}
