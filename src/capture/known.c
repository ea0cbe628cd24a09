/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that tsdb has; see known.h. Two tables, for the trace before and the present one, with open addressing; they grow by halves of what is
 * in them and are mapped anew. Without memory for that a page is not known, and is sent again.
 */
#include "capture/known.h"

#include "capture/agent.h"

#define LEAST 4096u /* slots */

struct page {
	struct sbt_hash hash;
	uint32_t n; /* bytes; 0: a free slot */
};

struct table {
	struct page *slot;
	uint64_t cap, n;
};

static struct {
	struct table before, now;
	uint32_t file, epoch;
	struct sbt_hash zero;
	bool begun;
} known;

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
	*t = (struct table){ .slot = NULL };
}

static bool grow(struct table *t)
{
	struct table more = { .cap = t->cap ? t->cap * 2 : LEAST, .n = t->n };
	if (!(more.slot = agent_map(more.cap * sizeof(*more.slot))))
		return false;
	for (uint64_t i = 0; i < t->cap; i++)
		if (t->slot[i].n)
			*slot_of(&more, t->slot[i].hash, t->slot[i].n) = t->slot[i];
	drop(t);
	*t = more;
	return true;
}

void known_begin(void)
{
	const uint32_t file = atomic_load(&agent.control->pages_file), epoch = atomic_load(&agent.control->pages_epoch);
	if (!known.begun)
		known.zero = sbt_page_hash("", 1);
	if (!known.begun || epoch != known.epoch || (file != known.file && file != known.file + 1)) {
		drop(&known.before);
		drop(&known.now);
	} else if (file != known.file) {
		drop(&known.before);
		known.before = known.now;
		known.now = (struct table){ .slot = NULL };
	}
	known.begun = true;
	known.file = file;
	known.epoch = epoch;
}

void known_forget(void)
{
	drop(&known.before);
	drop(&known.now);
}

bool known_has(struct sbt_hash page, uint32_t n)
{
	return sbt_hash_equal(page, known.zero) || has(&known.now, page, n) || has(&known.before, page, n);
}

void known_add(struct sbt_hash page, uint32_t n)
{
	if (2 * (known.now.n + 1) > known.now.cap && !grow(&known.now))
		return;
	struct page *p = slot_of(&known.now, page, n);
	if (p->n)
		return;
	*p = (struct page){ page, n };
	known.now.n++;
}
