/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of what nothing has written. Memory that the window allocates is filled with a pattern; a
 * launch is executed again with another pattern in those words of it that still hold the first one.
 * What it leaves may differ in those words alone, where it did not write: any other difference
 * comes from reading one of them; halving finds the first that matters. Shared memory likewise, on
 * the software GPU.
 *
 * The surprise: after an execution the other pattern is changed back only where the first execution
 * left the first one, so a launch that writes zeros to fresh memory is not taken for one that left
 * zeros there.
 */
#include <stdlib.h>
#include <string.h>
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"

#define PATTERN 0xa5a5a5a5a5a5a5a5ull /* what the software GPU fills with, too */
#define PATTERN_BYTE 0xa5
#define RANGES_MAX 1024u /* the newest */
static const uint64_t others[] = {
	0, UINT64_MAX, 0x7ff800007fc00000ull /* a NaN as float64, and as float32 in one half */};
static const uint32_t residues[] = {0xff, 0x7f};

/* --- which memory is fresh --- */

void fresh_begin(struct rp *rp)
{
	rp->fresh.on = true;
	rp->fresh.n = 0;
}

void fresh_end(struct rp *rp)
{
	if (!rp->fresh.on)
		return;
	free(rp->fresh.r);
	rp->fresh = (struct fresh){0};
	rp->stale = true; /* memory that the recording left as it was has our pattern now */
	checkpoint_forget(rp, rp->first + 1);
}

static void forget(struct fresh *f, size_t i)
{
	f->n--;
	memmove(&f->r[i], &f->r[i + 1], (f->n - i) * sizeof *f->r);
}

/* Memory in [addr, addr + size) is no longer fresh. */
static void forget_range(struct fresh *f, uint64_t addr, uint64_t size)
{
	for (size_t i = f->n; i--;)
		if (f->r[i].addr < addr + size && addr < f->r[i].addr + f->r[i].size)
			forget(f, i);
}

struct err *fresh_alloc(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_alloc *u = &c->u.alloc;
	struct fresh *f = &rp->fresh;
	uint64_t here;

	if ((u->mem != SBT_MEM_DEVICE && u->mem != SBT_MEM_ASYNC) || !u->size ||
		place_find(rp, u->addr, u->size, &here) != PLACE_DEVICE)
		return NULL;
	forget_range(f, u->addr, u->size);
	if (f->n == RANGES_MAX)
		forget(f, 0);
	MAKE_ROOM(f->r, f->n, f->cap);
	f->r[f->n++] = (struct fresh_range){u->addr, here, u->size};
	TRY(execute_finish(rp));
	GPU(rp, fill, here, 1, PATTERN_BYTE, u->size, rp->own);
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

void fresh_free(struct rp *rp, const struct sbt_cmd *c)
{
	forget_range(&rp->fresh, c->u.free.addr, 1);
}

/* --- one more execution --- */

struct trial {
	struct rp *rp;
	struct checking *k;
	const struct sbt_cmd *c;
	struct gpu_stream *s;
	uint8_t *first; /* flags of what the first execution changed */
	uint8_t *all;	/* of what any did */
};

static uint64_t words_in(const struct fresh_range *r)
{
	return (r->size + 7) / 8;
}

static const struct area *area_of(const struct checking *k, uint64_t here)
{
	for (size_t i = 0; i < k->nareas; i++)
		if (here >= k->areas[i].here && here - k->areas[i].here < k->areas[i].size)
			return &k->areas[i];
	return NULL;
}

/* Makes memory what it was before the launch. */
static struct err *put_back(struct trial *t)
{
	const struct fresh *f = &t->rp->fresh;
	struct rp *rp = t->rp;

	check_make_list(t->k, t->all);
	TRY(check_move_list(rp, t->k, COPY_TO_MEMORY, t->s));
	check_make_list(t->k, t->first); /* what k->first holds */
	for (size_t i = 0; i < f->n; i++) {
		const struct area *a = area_of(t->k, f->r[i].here);

		if (a)
			GPU(rp, copy_on_device, f->r[i].here,
				t->k->before + a->at + (f->r[i].here - a->here), f->r[i].size,
				t->s);
	}
	return NULL;
}

/* Replaces `other` in [here, here + n) by the pattern where the bytes at `like` are the
 * pattern's. */
static struct err *change_back(
	struct trial *t, uint64_t here, uint64_t n, uint64_t like, uint64_t other)
{
	return rp_gpu(t->rp, t->rp->gpu->hash_replace(here, n, like, other, PATTERN, t->s));
}

/* Does so for a whole range: pages that the first execution changed are compared with k->first, the
 * others with the copy. */
static struct err *normalise(struct trial *t, const struct fresh_range *r, uint64_t other)
{
	const struct checking *k = t->k;
	const struct area *a = area_of(k, r->here);
	uint64_t here = r->here, from = k->first;
	const uint64_t end = r->here + r->size;

	if (!a)
		return NULL;
	for (size_t i = 0; i < k->nlist; i++) {
		const struct pages *l = &k->list[i];
		const uint64_t mem = l->area->here + l->first * SBT_PAGE,
			       bytes = check_list_bytes(l);
		const uint64_t lo = mem > here ? mem : here,
			       hi = mem + bytes < end ? mem + bytes : end;

		if (l->area == a && lo < hi) {
			TRY(change_back(
				t, here, lo - here, k->before + a->at + (here - a->here), other));
			TRY(change_back(t, lo, hi - lo, from + (lo - mem), other));
			here = hi;
		}
		from += (bytes + 255) & ~255ull;
	}
	return here < end ? change_back(t, here, end - here, k->before + a->at + (here - a->here),
				    other)
			  : NULL;
}

/* Whether memory now is what the first execution left. */
static struct err *compare(struct trial *t, bool *ret)
{
	struct checking *k = t->k;
	const uint8_t *now = k->host_flags + k->npages;

	TRY(check_hash_all(t->rp, k, 2, t->s));
	TRY(check_compare(t->rp, k, 1, 2, 1, t->s));
	TRY(check_fetch_flags(t->rp, k, 1, 1, t->s));
	*ret = memchr(now, 1, k->npages) != NULL;
	for (size_t p = 0; p < k->npages; p++)
		t->all[p] |= now[p];
	return NULL;
}

/* Executes it with `other` in the first n fresh words that nothing has written. */
static struct err *with_other(struct trial *t, uint64_t n, uint64_t other, bool *ret)
{
	const struct fresh *f = &t->rp->fresh;

	TRY(put_back(t));
	for (size_t i = 0; i < f->n && n; i++) {
		const uint64_t words = n < words_in(&f->r[i]) ? n : words_in(&f->r[i]);

		TRY(rp_gpu(
			t->rp, gpu_result_of("filling on the device",
				       t->rp->gpu->hash_replace(f->r[i].here,
					       8 * words < f->r[i].size ? 8 * words : f->r[i].size,
					       0, PATTERN, other, t->s))));
		n -= words;
	}
	TRY(execute(t->rp, t->c));
	for (size_t i = 0; i < f->n; i++)
		TRY(normalise(t, &f->r[i], other));
	return compare(t, ret);
}

/* --- what it read --- */

/* Notes that fresh word number n is the first whose value matters. */
static void note_word(struct trial *t, uint64_t n)
{
	const struct fresh *f = &t->rp->fresh;

	for (size_t i = 0; i < f->n; i++) {
		if (n >= words_in(&f->r[i])) {
			n -= words_in(&f->r[i]);
			continue;
		}
		struct replayer_difference *d =
			check_row(t->k, t->c->seq, f->r[i].addr + 8 * n, f->r[i].size);

		d->unwritten = REPLAYER_UNWRITTEN_MEMORY;
		d->at = f->r[i].addr;
		return;
	}
}

static struct err *look_in_memory(struct trial *t)
{
	const struct fresh *f = &t->rp->fresh;
	uint64_t total = 0, none = 0, some;
	bool differs = false;
	size_t i = 0;

	for (size_t k = 0; k < f->n; k++)
		total += words_in(&f->r[k]);
	if (!total)
		return NULL;
	for (; i < sizeof others / sizeof *others; i++) {
		TRY(with_other(t, total, others[i], &differs));
		if (differs)
			break;
	}
	for (some = total; differs && some - none > 1;) {
		const uint64_t half = none + (some - none) / 2;
		bool other;

		TRY(with_other(t, half, others[i], &other));
		if (other)
			some = half;
		else
			none = half;
	}
	if (differs)
		note_word(t, some - 1);
	return NULL;
}

static struct err *look_in_shared(struct trial *t)
{
	struct replayer_difference *d;
	bool differs = false;
	struct err *e = NULL;

	for (size_t i = 0; !e && !differs && i < sizeof residues / sizeof *residues; i++) {
		TRY(put_back(t));
		t->rp->watch.soft->residue(residues[i]);
		e = execute(t->rp, t->c);
		if (!e)
			e = compare(t, &differs);
		t->rp->watch.soft->residue(0);
	}
	if (!e && differs) {
		d = check_row(t->k, t->c->seq, 1, 0); /* no address of memory */
		d->unwritten = REPLAYER_UNWRITTEN_SHARED;
	}
	return e;
}

static struct err *look(struct trial *t)
{
	bool same;

	/* A launch that is not the same from the same memory proves nothing here. */
	TRY(put_back(t));
	TRY(execute(t->rp, t->c));
	TRY(compare(t, &same));
	if (same)
		return NULL;
	TRY(look_in_memory(t));
	return t->rp->watch.soft ? look_in_shared(t) : NULL;
}

struct err *fresh_check(
	struct rp *rp, struct checking *k, const struct sbt_cmd *c, struct gpu_stream *s)
{
	struct trial t = {.rp = rp,
		.k = k,
		.c = c,
		.s = s,
		.first = xmalloc(k->npages + 1),
		.all = xmalloc(k->npages + 1)};
	struct err *e;

	memcpy(t.first, k->host_flags, k->npages);
	memcpy(t.all, k->host_flags, k->npages);
	for (unsigned r = 1; r < k->how->runs; r++)
		for (size_t p = 0; p < k->npages; p++)
			t.all[p] |= k->host_flags[(size_t)r * k->npages + p];
	e = look(&t);
	if (!e)
		e = put_back(&t);
	if (!e)
		e = check_move_list(rp, k, FIRST_TO_MEMORY, s);
	free(t.first);
	free(t.all);
	return e;
}
