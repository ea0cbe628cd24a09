/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that tsdb has; see known.h. Two tables, for the trace before and the present one, with open
 * addressing. They grow by half and are then mapped again. Without memory for that a page counts as
 * unknown, and is sent again.
 */
#include "capture/objects/known.h"

#include "capture/core/agent.h"

#define LEAST 4096u /* slots */

struct page {
	struct sbt_hash hash;
	uint32_t n; /* bytes; 0: a free slot */
};

struct table {
	struct page *slot;
	uint64_t cap, n;
};

static struct known {
	struct table before, now;
	uint32_t file, epoch;
	struct sbt_hash zero;
	bool begun;
} sets[KNOWN_HOST + 1];

static struct page *slot_of(const struct table *t, struct sbt_hash hash, uint32_t n)
{
	uint64_t i = hash.half[0] & (t->cap - 1);
	while (t->slot[i].n && !(t->slot[i].n == n && sbt_hash_equal(t->slot[i].hash, hash)))
		i = (i + 1) & (t->cap - 1);
	return &t->slot[i];
}

static bool has(const struct table *t, struct sbt_hash hash, uint32_t n)
{
	return t->cap && slot_of(t, hash, n)->n;
}

static void drop(struct table *t)
{
	if (t->slot)
		agent_unmap(t->slot, t->cap * sizeof(*t->slot));
	*t = (struct table){.slot = NULL};
}

static bool grow(struct table *t)
{
	struct table more = {.cap = t->cap ? t->cap * 2 : LEAST, .n = t->n};
	if (!(more.slot = agent_map(more.cap * sizeof(*more.slot))))
		return false;
	for (uint64_t i = 0; i < t->cap; i++)
		if (t->slot[i].n)
			*slot_of(&more, t->slot[i].hash, t->slot[i].n) = t->slot[i];
	drop(t);
	*t = more;
	return true;
}

void known_begin(enum known_set set)
{
	struct known *k = &sets[set];
	const uint32_t file = atomic_load(&agent.control->pages_file),
		       epoch = atomic_load(&agent.control->pages_epoch);
	if (!k->begun)
		k->zero = sbt_page_hash("", 1);
	if (!k->begun || epoch != k->epoch || (file != k->file && file != k->file + 1)) {
		drop(&k->before);
		drop(&k->now);
	} else if (file != k->file) {
		drop(&k->before);
		k->before = k->now;
		k->now = (struct table){.slot = NULL};
	}
	k->begun = true;
	k->file = file;
	k->epoch = epoch;
}

void known_forget(enum known_set set)
{
	drop(&sets[set].before);
	drop(&sets[set].now);
}

bool known_has(enum known_set set, struct sbt_hash page, uint32_t n)
{
	const struct known *k = &sets[set];
	return sbt_hash_equal(page, k->zero) || has(&k->now, page, n) || has(&k->before, page, n);
}

void known_add(enum known_set set, struct sbt_hash page, uint32_t n)
{
	struct known *k = &sets[set];
	if (2 * (k->now.n + 1) > k->now.cap && !grow(&k->now))
		return;
	struct page *p = slot_of(&k->now, page, n);
	if (p->n)
		return;
	*p = (struct page){page, n};
	k->now.n++;
}
