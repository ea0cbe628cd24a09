/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: clones of the state at points of the trace. There are at most POINTS_MAX; when full,
 * the one goes that is least missed: close to its neighbours and far from the newest position, so
 * they lie dense where the user is and thin elsewhere.
 */
#include <string.h>
#include "replay/engine/replay-private.h"

static void drop_at(struct points *t, unsigned i)
{
	state_free(t->p[i].s);
	t->n--;
	memmove(&t->p[i], &t->p[i + 1], (t->n - i) * sizeof t->p[0]);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Drops the checkpoint that helps least when the user is at index. */
static void thin(struct points *t, uint64_t index)
{
	double least = 0;
	unsigned worst = 0;

	for (unsigned i = 0; i < t->n; i++) {
		uint64_t before = i ? t->p[i - 1].index : 0;
		uint64_t after = i + 1 < t->n ? t->p[i + 1].index : t->p[i].index + POINT_EVERY;
		double missed = (double)(after - before + 1) /
				(double)(distance(t->p[i].index, index) + 64);

		if (i == 0 || missed < least) {
			least = missed;
			worst = i;
		}
	}
	drop_at(t, worst);
}

static size_t bytes_of(const struct points *t)
{
	size_t n = 0;

	for (unsigned i = 0; i < t->n; i++)
		n += state_bytes(t->p[i].s);
	return n;
}

void points_add(struct points *t, const struct state *s, unsigned nmarks)
{
	struct state_totals now;
	unsigned i;

	state_totals(s, &now);
	for (i = t->n; i && (t->p[i - 1].seq > now.seq ||
				    (t->p[i - 1].seq == now.seq && t->p[i - 1].nmarks > nmarks));
		i--)
		;
	if (i && t->p[i - 1].seq == now.seq && t->p[i - 1].nmarks == nmarks)
		return;
	if (t->n == POINTS_MAX) {
		thin(t, now.commands);
		points_add(t, s, nmarks);
		return;
	}
	memmove(&t->p[i + 1], &t->p[i], (t->n - i) * sizeof t->p[0]);
	t->p[i] = (struct point){
		.seq = now.seq, .index = now.commands, .nmarks = nmarks, .s = state_clone(s)};
	t->n++;
	while (t->n > 4 && bytes_of(t) > POINTS_BYTES)
		thin(t, now.commands);
}

const struct point *points_find(const struct points *t, uint64_t seq, unsigned nmarks)
{
	for (unsigned i = t->n; i--;)
		if (t->p[i].seq <= seq && t->p[i].nmarks <= nmarks)
			return &t->p[i];
	return NULL;
}

const struct point *points_find_index(const struct points *t, uint64_t index, unsigned nmarks)
{
	for (unsigned i = t->n; i--;)
		if (t->p[i].index <= index && t->p[i].nmarks <= nmarks)
			return &t->p[i];
	return NULL;
}

void points_drop(struct points *t, uint64_t seq, unsigned nmarks)
{
	for (unsigned i = t->n; i--;)
		if (t->p[i].seq > seq || t->p[i].nmarks > nmarks)
			drop_at(t, i);
}

void points_free(struct points *t)
{
	points_drop(t, 0, 0);
	while (t->n)
		drop_at(t, 0);
}
