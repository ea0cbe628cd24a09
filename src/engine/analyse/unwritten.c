/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of memory that was never written, see unwritten.h. The surprise: such a read is not an
 * error by itself, since a kernel may load a word and ignore it, or have written it just before.
 * Only a result that changes with the contents counts.
 */
#include <stdlib.h>
#include <string.h>
#include "sbt/memory.h"
#include "base/first-where.h"
#include "engine/replay-device.h"
#include "engine/analyse/unwritten.h"

#define SPANS_MAX 65536u /* of one command, of each kind; beyond, the set is not exact */
#define HOLES_MAX 65536u /* of one allocation; with more, all of it counts as written */
#define ROWS_MAX 20
#define PATTERN_MAX (1u << 20) /* at most so many bytes of one range get other contents */

struct hole {
	uint64_t addr, end;
};
struct fresh {
	uint64_t addr, end, seq;
	struct hole *hole; /* not written; sorted, apart */
	size_t n, cap;
};
struct finder {
	struct engine *en;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *cmd; /* the next one; NULL at the end */
	struct fresh *fresh;	   /* sorted by address */
	size_t n, cap;
	uint64_t first, last;
	const uint32_t *kernels;
	size_t nkernels;
	struct unwritten_rows *ret;
};

/* --- allocations --- */

/* The first allocation that ends behind addr. */
static size_t at_or_behind(const struct finder *f, uint64_t addr)
{
	return FIRST_WHERE(f->n, i, f->fresh[i].end > addr);
}

static void gone(struct finder *f, size_t i)
{
	free(f->fresh[i].hole);
	f->n--;
	memmove(f->fresh + i, f->fresh + i + 1, (f->n - i) * sizeof *f->fresh);
}

static void born(struct finder *f, uint64_t addr, uint64_t size, uint64_t seq)
{
	struct fresh new = {.addr = addr, .end = addr + size, .seq = seq, .n = 1, .cap = 1};
	size_t i;

	if (!size || addr + size < addr)
		return;
	for (i = at_or_behind(f, addr); i < f->n && f->fresh[i].addr < new.end;)
		gone(f, i);
	MAKE_ROOM(f->fresh, f->n, f->cap);
	memmove(f->fresh + i + 1, f->fresh + i, (f->n - i) * sizeof *f->fresh);
	new.hole = xmalloc(sizeof *new.hole);
	new.hole[0] = (struct hole){addr, addr + size};
	f->fresh[i] = new;
	f->n++;
}

static size_t first_hole(const struct fresh *a, uint64_t addr)
{
	return FIRST_WHERE(a->n, i, a->hole[i].end > addr);
}

static void split(struct fresh *a, size_t i, uint64_t from, uint64_t to)
{
	if (a->n == a->cap) {
		a->cap *= 2;
		a->hole = xrealloc(a->hole, a->cap * sizeof *a->hole);
	}
	memmove(a->hole + i + 1, a->hole + i, (a->n - i) * sizeof *a->hole);
	a->n++;
	a->hole[i].end = from;
	a->hole[i + 1].addr = to;
}

static void fill_holes(struct fresh *a, uint64_t addr, uint64_t end)
{
	size_t i = first_hole(a, addr), keep;

	if (i < a->n && a->hole[i].addr < addr && a->hole[i].end > end) {
		split(a, i, addr, end);
		if (a->n > HOLES_MAX)
			a->n = 0;
		return;
	}
	if (i < a->n && a->hole[i].addr < addr)
		a->hole[i++].end = addr;
	for (keep = i; i < a->n && a->hole[i].end <= end; i++)
		;
	if (i < a->n && a->hole[i].addr < end)
		a->hole[i].addr = end;
	memmove(a->hole + keep, a->hole + i, (a->n - i) * sizeof *a->hole);
	a->n -= i - keep;
}

static void written(struct finder *f, uint64_t addr, uint64_t end)
{
	for (size_t i = at_or_behind(f, addr); i < f->n && f->fresh[i].addr < end; i++)
		fill_holes(&f->fresh[i], addr, end);
}

/* --- commands --- */

/* Learns from the recorded effect of a call that cannot be repeated. For an allocation that is its
 * stale contents, which were not written. */
static struct err *take_effect(void *arg, const struct sbt_memory *m)
{
	struct finder *f = arg;

	if (m->role == SBT_MEMORY_EFFECT && f->cmd->kind != SBT_ALLOC)
		written(f, m->addr, m->addr + m->size);
	return NULL;
}

static struct err *take_command(struct finder *f)
{
	const struct sbt_cmd *c = f->cmd;
	size_t i;

	if (c->kind == SBT_ALLOC && !c->result &&
		(c->u.alloc.mem == SBT_MEM_DEVICE || c->u.alloc.mem == SBT_MEM_ASYNC ||
			c->u.alloc.mem == SBT_MEM_ARRAY)) {
		born(f, c->u.alloc.addr, c->u.alloc.size, c->seq);
	} else if (c->kind == SBT_FREE && !c->result) {
		i = at_or_behind(f, c->u.free.addr);
		if (i < f->n && f->fresh[i].addr == c->u.free.addr)
			gone(f, i);
	}
	TRY(sbt_reader_memory(f->en->trace.reader, c->seq, c->seq, take_effect, f));
	return sbt_cursor_next(f->cursor, &f->cmd);
}

static bool is_asked(const struct finder *f, const struct sbt_cmd *c)
{
	if (c->kind != SBT_LAUNCH || c->seq < f->first)
		return false;
	for (size_t i = 0; i < f->nkernels; i++)
		if (f->kernels[i] == c->u.launch.kernel)
			return true;
	return !f->kernels;
}

static void note_read(struct unwritten *u, const struct fresh *a, uint64_t addr, uint64_t end)
{
	for (size_t i = first_hole(a, addr); i < a->n && a->hole[i].addr < end; i++) {
		const uint64_t from = addr > a->hole[i].addr ? addr : a->hole[i].addr,
			       to = end < a->hole[i].end ? end : a->hole[i].end;

		if (!u->bytes) {
			u->alloc = a->addr;
			u->alloc_seq = a->seq;
		}
		u->bytes += to - from;
		if (u->nread < UNWRITTEN_RANGES)
			u->read[u->nread++] = (struct unwritten_range){from, to - from};
	}
}

static void keep(struct finder *f, struct unwritten *u, const struct soft_access_set *set)
{
	for (size_t i = 0; i < f->ret->n; i++)
		if (f->ret->row[i].kernel == u->kernel) {
			f->ret->row[i].count++;
			return;
		}
	if (f->ret->n == ROWS_MAX)
		return;
	/* bytes between ranges are not the launch's result */
	for (unsigned k = SOFT_ACCESS_WRITTEN; k < SOFT_ACCESSES; k++)
		for (size_t i = 0;
			!(set->inexact >> k & 1) && i < set->n[k] && u->nwrote < UNWRITTEN_RANGES;
			i++)
			u->wrote[u->nwrote++] = (struct unwritten_range){
				set->span[k][i].addr, set->span[k][i].size};
	f->ret->row = xrealloc(f->ret->row, (f->ret->n + 1) * sizeof *f->ret->row);
	f->ret->row[f->ret->n++] = *u;
}

static void judge(struct finder *f, const struct soft_access_set *set)
{
	struct unwritten u = {
		.seq = f->cmd->seq, .kernel = (uint32_t)f->cmd->u.launch.kernel, .count = 1};

	for (unsigned k = 0; k < SOFT_ACCESSES; k++) {
		if (k == SOFT_ACCESS_WRITTEN || set->inexact >> k & 1)
			continue;
		for (size_t i = 0; i < set->n[k]; i++) {
			const struct soft_span s = set->span[k][i];

			for (size_t j = at_or_behind(f, s.addr);
				j < f->n && f->fresh[j].addr < s.addr + s.size; j++)
				note_read(&u, &f->fresh[j], s.addr, s.addr + s.size);
		}
	}
	if (u.bytes)
		keep(f, &u, set);
}

static struct err *take_set(void *arg, const struct access_set *a)
{
	struct finder *f = arg;
	const struct soft_access_set set = a->set;

	while (f->cmd && f->cmd->seq < a->seq)
		TRY(take_command(f));
	if (f->cmd && f->cmd->seq == a->seq && is_asked(f, f->cmd))
		judge(f, &set);
	for (unsigned k = SOFT_ACCESS_WRITTEN; k < SOFT_ACCESSES; k++)
		for (size_t i = 0; i < set.n[k]; i++)
			written(f, set.span[k][i].addr, set.span[k][i].addr + set.span[k][i].size);
	return NULL;
}

/* --- proof --- */

/* The launch's result when all unwritten bytes have the value `byte`. */
static struct err *result_with(
	struct device *d, const struct unwritten *u, int byte, struct sbt_hash *ret)
{
	uint8_t *bytes = xmalloc(PATTERN_MAX);
	struct err *e = device_seek(d, u->seq - 1);

	memset(bytes, byte, PATTERN_MAX);
	for (unsigned i = 0; !e && i < u->nread; i++)
		e = device_write(d, u->read[i].addr, bytes,
			u->read[i].size < PATTERN_MAX ? u->read[i].size : PATTERN_MAX);
	free(bytes);
	if (!e)
		e = device_seek(d, u->seq);
	*ret = (struct sbt_hash){{0, 0}};
	for (unsigned i = 0; !e && i < u->nwrote; i++) {
		struct sbt_hash h;

		e = device_hash(d, u->wrote[i].addr, u->wrote[i].size, &h);
		if (!e)
			sbt_range_hash_add(ret, i, h);
	}
	return e;
}

/* Zeros; a large positive number in every type; -1, or a NaN. */
static const uint8_t contents[] = {0, 0x7f, 0xff};

static struct err *prove(struct device *d, const struct unwritten *u, bool *ret_proven)
{
	struct sbt_hash first, other;
	struct err *e = NULL, *back;

	*ret_proven = false;
	for (size_t i = 0; !e && !*ret_proven && i < sizeof contents; i++) {
		e = result_with(d, u, contents[i], i ? &other : &first);
		back = device_forget(d);
		if (e)
			err_free(back);
		else
			e = back;
		*ret_proven = !e && i && memcmp(&first, &other, sizeof first);
	}
	return e;
}

struct err *unwritten_find(struct engine *en, uint64_t first, uint64_t last,
	const uint32_t *kernels, size_t n, struct unwritten_rows *ret)
{
	struct replay_device *rd = en->trace.device;
	struct finder f = {.en = en,
		.first = first,
		.last = last,
		.kernels = kernels,
		.nkernels = n,
		.ret = ret};
	size_t kept = 0;
	struct err *e;

	*ret = (struct unwritten_rows){0};
	TRY(sbt_cursor_open(&f.cursor, en->trace.reader));
	e = sbt_cursor_seek(f.cursor, rd->first);
	if (!e)
		e = sbt_cursor_next(f.cursor, &f.cmd);
	if (!e)
		e = device_access_sets(rd->d, rd->first, last, SPANS_MAX, take_set, &f);
	sbt_cursor_close(f.cursor);
	for (size_t i = 0; i < f.n; i++)
		free(f.fresh[i].hole);
	free(f.fresh);
	for (size_t i = 0; !e && i < ret->n; i++) {
		bool proven = false;

		e = prove(rd->d, &ret->row[i], &proven);
		if (proven)
			ret->row[kept++] = ret->row[i];
	}
	ret->n = kept;
	if (e) {
		free(ret->row);
		*ret = (struct unwritten_rows){0};
	}
	return e;
}
