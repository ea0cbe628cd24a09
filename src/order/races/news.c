/* SPDX-License-Identifier: Apache-2.0
 *
 * See news.h. Pieces of host memory are pages, at the same addresses each time; the first look at
 * one is compared with the window's beginning.
 */
#include "order/races/news.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"

#define WORD 4u
#define PIECE_MAX (1u << 20) /* bytes; of a larger one any may have changed */
#define RANGES_MAX 4096u     /* of a piece */

struct teller {
	const struct news *n;
	struct sbt_reader *trace;
	news_fn *changed;
	void *arg;
	uint64_t since;	 /* of the piece in hand: when the contents before it were there */
	uint32_t *slots; /* of the newest piece of host memory at an address, by hash: index + 1 */
	size_t nslots;
	uint8_t *was, *is;
};

struct err *news_note(void *arg, const struct sbt_memory *m)
{
	struct news *n = arg;

	if ((m->role != SBT_MEMORY_HOST && m->role != SBT_MEMORY_START) || !m->size)
		return NULL;
	MAKE_ROOM(n->m, n->n, n->cap);
	n->m[n->n++] = *m;
	return NULL;
}

static bool has_contents(const struct sbt_memory *m)
{
	return m->has_bytes && !m->missing;
}

static bool holds(const struct sbt_memory *m, const struct sbt_memory *part)
{
	return m->addr <= part->addr && part->addr - m->addr <= m->size &&
	       part->size <= m->size - (part->addr - m->addr);
}

static uint32_t *slot_of(const struct teller *t, uint64_t addr)
{
	size_t at = (addr * 0x9e3779b97f4a7c15u >> 20) & (t->nslots - 1);

	while (t->slots[at] && t->n->m[t->slots[at] - 1].addr != addr)
		at = (at + 1) & (t->nslots - 1);
	return &t->slots[at];
}

/* The piece's contents before: from the look before, or from the window's beginning. NULL: neither
 * is known. */
static const struct sbt_memory *before(const struct teller *t, size_t i, uint32_t slot)
{
	const struct sbt_memory *m = t->n->m, *of = slot ? &m[slot - 1] : NULL;

	for (size_t k = i; k-- && !of;)
		if (m[k].role == SBT_MEMORY_START && holds(&m[k], &m[i]))
			of = &m[k];
	return of && has_contents(of) && holds(of, &m[i]) ? of : NULL;
}

static size_t word_at(
	const struct teller *t, const struct sbt_memory *m, size_t at, bool *ret_changed)
{
	const size_t n = m->size - at < WORD ? (size_t)(m->size - at) : WORD;

	*ret_changed = memcmp(t->was + at, t->is + at, n) != 0;
	return n;
}

static void give(
	const struct teller *t, const struct sbt_memory *m, uint64_t from, uint64_t end, bool sure)
{
	t->changed(t->arg, &(struct news_change){m, m->addr + from, m->addr + end, t->since, sure});
}

/* Counts the ranges of words that differ; with `tell` it calls changed() for each. */
static size_t ranges(const struct teller *t, const struct sbt_memory *m, bool tell)
{
	size_t n = 0, from = 0;
	bool in = false, changed;

	for (size_t at = 0, step; at < m->size; at += step) {
		step = word_at(t, m, at, &changed);
		if (changed && !in) {
			from = at;
			n++;
		} else if (in && !changed && tell) {
			give(t, m, from, at, true);
		}
		in = changed;
	}
	if (in && tell)
		give(t, m, from, m->size, true);
	return n;
}

static struct err *tell(struct teller *t, const struct sbt_memory *m, const struct sbt_memory *of)
{
	t->since = of && of->role == SBT_MEMORY_HOST ? of->seq : 0;
	if (of && has_contents(m) && m->size <= PIECE_MAX) {
		TRY(sbt_reader_memory_read(t->trace, of, m->addr - of->addr, t->was, m->size));
		TRY(sbt_reader_memory_read(t->trace, m, 0, t->is, m->size));
		if (ranges(t, m, false) <= RANGES_MAX) {
			ranges(t, m, true);
			return NULL;
		}
	}
	give(t, m, 0, m->size, false);
	return NULL;
}

static struct err *tell_all(struct teller *t)
{
	for (size_t i = 0; i < t->n->n; i++) {
		const struct sbt_memory *m = &t->n->m[i];

		if (m->role != SBT_MEMORY_HOST)
			continue;
		uint32_t *slot = slot_of(t, m->addr);
		TRY(tell(t, m, before(t, i, *slot)));
		*slot = (uint32_t)i + 1;
	}
	return NULL;
}

struct err *news_tell(const struct news *n, struct sbt_reader *trace, news_fn *changed, void *arg)
{
	struct teller t = {.n = n, .trace = trace, .changed = changed, .arg = arg, .nslots = 256};
	struct err *e;

	while (t.nslots < 2 * (n->n + 1))
		t.nslots *= 2;
	t.slots = xcalloc(t.nslots, sizeof *t.slots);
	t.was = xmalloc(PIECE_MAX);
	t.is = xmalloc(PIECE_MAX);
	e = tell_all(&t);
	free(t.slots);
	free(t.was);
	free(t.is);
	return e;
}

void news_free(struct news *n)
{
	free(n->m);
	*n = (struct news){0};
}
