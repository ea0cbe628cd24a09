/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds alike launches, see exact-alike.h. Two launches are alike when everything that may decide
 * what they touch is equal: the kernel, its grid, blocks and shared memory, and the parameters
 * without those that are only data or only bases.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/first-where.h"
#include "order/early.h"
#include "replayer/soft-watch.h"
#include "engine/analyse/exact-alike.h"
#include "sbt/fields.h"

#define ADDRESS_BITS 48 /* of memory; a larger address may be in a window of another kind */

struct kernel {
	uint64_t id;
	struct soft_addressing a;
};

struct finder {
	struct alike *ret;
	struct device *d;
	struct kernel *kernels;
	size_t nkernels, cap_kernels, cap_values;
	struct buf keys;
	struct key {
		uint64_t seq;
		size_t at, n; /* in keys */
	} * key;
	size_t nkey, cap_key;
	uint32_t *slots; /* of keys, by hash: index + 1 */
	size_t nslots;
};

static struct err *addressing(struct finder *f, uint64_t kernel, const struct soft_addressing **ret)
{
	for (size_t i = 0; i < f->nkernels; i++)
		if (f->kernels[i].id == kernel) {
			*ret = &f->kernels[i].a;
			return NULL;
		}
	MAKE_ROOM(f->kernels, f->nkernels, f->cap_kernels);
	f->kernels[f->nkernels].id = kernel;
	TRY(device_addressing(f->d, kernel, &f->kernels[f->nkernels].a));
	*ret = &f->kernels[f->nkernels++].a;
	return NULL;
}

/* ---- keys
 * ---------------------------------------------------------------------------------------------------------------
 */

static uint64_t hash_of(const uint8_t *p, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static const uint8_t *bytes_at(const struct finder *f, const struct key *k)
{
	return (const uint8_t *)f->keys.data + k->at;
}

static void more_slots(struct finder *f)
{
	f->nslots = f->nslots ? 2 * f->nslots : 256;
	free(f->slots);
	f->slots = xcalloc(f->nslots, sizeof *f->slots);
	for (size_t i = 0; i < f->nkey; i++) {
		size_t at = hash_of(bytes_at(f, &f->key[i]), f->key[i].n) & (f->nslots - 1);

		while (f->slots[at])
			at = (at + 1) & (f->nslots - 1);
		f->slots[at] = (uint32_t)i + 1;
	}
}

/* The first launch that had the same key; k->seq if there is none. k's bytes are at the end of
 * keys. */
static uint64_t first_with(struct finder *f, struct key k)
{
	size_t at;

	if (2 * (f->nkey + 1) > f->nslots)
		more_slots(f);
	for (at = hash_of(bytes_at(f, &k), k.n) & (f->nslots - 1); f->slots[at];
		at = (at + 1) & (f->nslots - 1)) {
		const struct key *x = &f->key[f->slots[at] - 1];

		if (x->n == k.n && !memcmp(bytes_at(f, x), bytes_at(f, &k), k.n)) {
			f->keys.len = k.at;
			return x->seq;
		}
	}
	MAKE_ROOM(f->key, f->nkey, f->cap_key);
	f->key[f->nkey++] = k;
	f->slots[at] = (uint32_t)f->nkey;
	return k.seq;
}

static bool may_move(const struct soft_source *s, uint64_t value)
{
	return s->is_base && s->size == 8 && !(value >> ADDRESS_BITS);
}

/* Adds the parameters to the key, with zeros for those that may differ, and the bases' values to
 * values. */
static bool add_parameters(
	struct finder *f, const struct soft_addressing *a, struct sbt_blob args, uint64_t *values)
{
	uint8_t *key;

	buf_add(&f->keys, args.len ? args.p : "", args.len);
	key = (uint8_t *)f->keys.data + f->keys.len - args.len;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct soft_source *s = &a->source[i];

		if (s->offset > args.len || s->size > args.len - s->offset)
			return false;
		if (s->shapes)
			continue;
		if (s->is_base && s->size == 8)
			memcpy(&values[i], args.p + s->offset, 8);
		if (!s->is_base || may_move(s, values[i]))
			memset(key + s->offset, 0, s->size);
		else
			values[i] = 0;
	}
	return true;
}

/* ---- launches
 * ------------------------------------------------------------------------------------------------------------
 */

static uint64_t *new_values(struct finder *f)
{
	struct alike *r = f->ret;

	while (r->nvalues + SOFT_SOURCES > f->cap_values) {
		f->cap_values = f->cap_values ? 2 * f->cap_values : 64 * SOFT_SOURCES;
		r->values = xrealloc(r->values, f->cap_values * sizeof *r->values);
	}
	memset(r->values + r->nvalues, 0, SOFT_SOURCES * sizeof *r->values);
	r->nvalues += SOFT_SOURCES;
	return r->values + r->nvalues - SOFT_SOURCES;
}

static struct err *add_launch(struct finder *f, const struct sbt_cmd *c, struct alike_launch *l)
{
	const struct sbt_cmd_launch *u = &c->u.launch;
	const uint64_t shape[] = {u->kernel, u->grid_x, u->grid_y, u->grid_z, u->block_x,
		u->block_y, u->block_z, u->shared, u->cooperative, u->cluster_x, u->cluster_y,
		u->cluster_z, u->launch_attrs, u->last_x, u->last_y, u->last_z, u->args.len};
	const struct key k = {.seq = c->seq, .at = f->keys.len};
	const struct soft_addressing *a;
	uint64_t *values;

	if (c->kind != SBT_LAUNCH || early_is(c))
		return NULL;
	TRY(addressing(f, u->kernel, &a));
	if (!a->known)
		return NULL;
	values = new_values(f);
	buf_add(&f->keys, shape, sizeof shape);
	if (!add_parameters(f, a, u->args, values)) {
		f->keys.len = k.at;
		return NULL;
	}
	l->values = (size_t)(values - f->ret->values);
	l->like = first_with(f, (struct key){k.seq, k.at, f->keys.len - k.at});
	return NULL;
}

static struct err *look(struct finder *f, struct sbt_cursor *cursor, const struct order_suspects *o,
	uint64_t first, uint64_t last, volatile bool *cancel)
{
	size_t i = FIRST_WHERE(o->n, k, o->seq[k] >= first);
	const struct sbt_cmd *c;

	f->ret->l = xcalloc(o->n - i + 1, sizeof *f->ret->l);
	TRY(sbt_cursor_seek(cursor, first));
	while (i < o->n && o->seq[i] <= last) {
		if (*cancel)
			return err_new(ERR_INTERRUPTED, "Interrupted");
		TRY(sbt_cursor_next(cursor, &c));
		if (!c)
			return NULL;
		if (c->seq != o->seq[i])
			continue;
		struct alike_launch *l = &f->ret->l[f->ret->n++];
		*l = (struct alike_launch){.seq = c->seq, .like = c->seq, .values = SIZE_MAX};
		TRY(add_launch(f, c, l));
		i++;
	}
	return NULL;
}

struct err *alike_find(struct alike *ret, struct sbt_reader *trace, struct device *d,
	const struct order_suspects *o, uint64_t first, uint64_t last, volatile bool *cancel)
{
	struct finder f = {.ret = ret, .d = d, .keys = BUF_INIT};
	struct sbt_cursor *cursor = NULL;
	struct err *e;

	*ret = (struct alike){0};
	e = sbt_cursor_open(&cursor, trace);
	if (!e)
		e = look(&f, cursor, o, first, last, cancel);
	if (cursor)
		sbt_cursor_close(cursor);
	free(f.kernels);
	free(f.key);
	free(f.slots);
	buf_free(&f.keys);
	if (e)
		alike_free(ret);
	return e;
}

void alike_free(struct alike *a)
{
	free(a->l);
	free(a->values);
	*a = (struct alike){0};
}

/* ---- the rest
 * ------------------------------------------------------------------------------------------------------------
 */

static bool touches_memory(const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	return d && d->cls == SBT_CLASS_WORK && !(c->flags & SBT_F_GRAPH) &&
	       d->does & (SBT_READS | SBT_WRITES | SBT_UPDATES | SBT_CALLS_HOST | SBT_RUNS_KERNEL |
				 SBT_RUNS_GRAPH);
}

static struct err *list_others(struct buf *ret, struct sbt_cursor *cursor, const uint64_t *wanted,
	size_t n, uint64_t first, uint64_t last)
{
	const struct sbt_cmd *c;
	size_t i = 0;

	TRY(sbt_cursor_seek(cursor, first));
	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > last)
			return NULL;
		while (i < n && wanted[i] < c->seq)
			i++;
		if (touches_memory(c) && (i == n || wanted[i] != c->seq))
			buf_add(ret, &c->seq, sizeof c->seq);
	}
}

struct err *alike_others(struct buf *ret, struct sbt_reader *trace, const uint64_t *wanted,
	size_t n, uint64_t first, uint64_t last)
{
	struct sbt_cursor *cursor = NULL;
	struct err *e = sbt_cursor_open(&cursor, trace);

	if (!e)
		e = list_others(ret, cursor, wanted, n, first, last);
	if (cursor)
		sbt_cursor_close(cursor);
	return e;
}
