/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands to the payload of a commands chunk, see encode.h. The surprise: nothing is looked up by
 * meaning here. A slot is found by a hash of (kind, thread, stream, kernel); a clash of hashes
 * costs bytes, never correctness.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "sbt/cmd/encode.h"
#include "sbt/format/format.h"
#include "sbt/fields.h"

#define MAP_SIZE (4 * SBT_SLOTS_MAX)
#define BLOBS_MAX 4 /* BLOB and STR fields of one kind */

struct slot {
	uint64_t key;
	struct sbt_cmd cmd;	    /* the last one; its blobs are not looked at */
	struct buf blob[BLOBS_MAX]; /* the last bytes of its BLOB and STR fields, in order */
};

struct string {
	uint64_t hash;
	uint32_t index; /* from 1; 0: free */
	size_t at, len; /* in e->text */
};

struct sbt_encoder {
	struct buf col[SBT_COLUMNS];
	uint32_t count;
	uint64_t first, seq, host_ns;
	uint32_t corr; /* the last that was not 0 */
	struct slot *slots;
	uint32_t nslots, cap_slots, victim;
	uint32_t map[MAP_SIZE]; /* hash to slot number + 1 */
	bool kind_used[SBT_KIND_END];
	struct string *strings; /* open addressing */
	uint32_t nstrings, cap_strings;
	struct buf text;
};

struct sbt_encoder *sbt_encoder_create(void)
{
	return xcalloc(1, sizeof(struct sbt_encoder));
}

static void slot_clear(struct slot *s)
{
	memset(&s->cmd, 0, sizeof s->cmd);
	for (unsigned i = 0; i < BLOBS_MAX; i++)
		buf_clear(&s->blob[i]);
}

void sbt_encoder_destroy(struct sbt_encoder *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < SBT_COLUMNS; i++)
		buf_free(&e->col[i]);
	for (uint32_t i = 0; i < e->cap_slots; i++)
		for (unsigned b = 0; b < BLOBS_MAX; b++)
			buf_free(&e->slots[i].blob[b]);
	free(e->slots);
	free(e->strings);
	buf_free(&e->text);
	free(e);
}

static uint64_t slot_key(const struct sbt_cmd *c)
{
	uint64_t k = c->kind | (uint64_t)c->thread << 16, stream = sbt_cmd_stream(c);

	if (c->kind == SBT_LAUNCH)
		k ^= c->u.launch.kernel << 40;
	k = (k ^ stream << 20) * 0x9e3779b97f4a7c15u;
	k ^= k >> 32;
	return k * 0xd6e8feb86659fd93u;
}

static struct slot *slot_at(struct sbt_encoder *e, uint32_t i)
{
	if (i >= e->cap_slots) {
		uint32_t cap = e->cap_slots ? e->cap_slots * 2 : 64;

		e->slots = xrealloc(e->slots, cap * sizeof *e->slots);
		memset(e->slots + e->cap_slots, 0, (cap - e->cap_slots) * sizeof *e->slots);
		e->cap_slots = cap;
	}
	return &e->slots[i];
}

/* The slot to write c against; *ret_new: the payload has to tell the decoder to begin it. */
static uint32_t slot_find(struct sbt_encoder *e, const struct sbt_cmd *c, bool *ret_new)
{
	uint64_t key = slot_key(c);
	uint32_t at = (uint32_t)(key >> 40) % MAP_SIZE, i;
	struct slot *s;

	*ret_new = false;
	/* Where none of eight is free, what is in the next is forgotten; its slot stays, unfound,
	 * until its turn as a victim. */
	for (unsigned probe = 0; probe < 8 && e->map[at]; probe++, at = (at + 1) % MAP_SIZE) {
		s = &e->slots[e->map[at] - 1];
		if (s->key == key && s->cmd.kind == c->kind)
			return e->map[at] - 1;
	}
	i = e->nslots < SBT_SLOTS_MAX ? e->nslots++ : e->victim++ % SBT_SLOTS_MAX;
	e->map[at] = i + 1;
	s = slot_at(e, i);
	slot_clear(s);
	s->key = key;
	s->cmd.kind = c->kind;
	*ret_new = true;
	return i;
}

static struct string *string_probe(struct sbt_encoder *e, const struct sbt_blob *b, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (e->cap_strings - 1);

	for (;; i = (i + 1) & (e->cap_strings - 1)) {
		struct string *s = &e->strings[i];

		if (!s->index)
			return s;
		if (s->hash == hash && s->len == b->len &&
			(!b->len || memcmp(e->text.data + s->at, b->p, b->len) == 0))
			return s;
	}
}

static void strings_grow(struct sbt_encoder *e)
{
	struct string *old = e->strings;
	uint32_t n = e->cap_strings;

	e->cap_strings = n ? n * 2 : 64;
	e->strings = xcalloc(e->cap_strings, sizeof *e->strings);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (uint32_t)old[i].hash & (e->cap_strings - 1);

		if (!old[i].index)
			continue;
		while (e->strings[at].index)
			at = (at + 1) & (e->cap_strings - 1);
		e->strings[at] = old[i];
	}
	free(old);
}

/* 0 and the string itself for the first time, its number in this chunk (from 1) after that. */
static void put_string(struct sbt_encoder *e, const struct sbt_blob *b)
{
	uint64_t hash = XXH64(b->p, b->len, 0);
	struct string *s;

	if (2 * (e->nstrings + 1) > e->cap_strings)
		strings_grow(e);
	s = string_probe(e, b, hash);
	if (s->index) {
		sbt_put(&e->col[SBT_COL_VALUE], s->index);
		return;
	}
	*s = (struct string){hash, ++e->nstrings, e->text.len, b->len};
	buf_add(&e->text, b->p, b->len);
	sbt_put(&e->col[SBT_COL_VALUE], 0);
	sbt_put(&e->col[SBT_COL_VALUE], b->len);
	buf_add(&e->col[SBT_COL_BYTES], b->p, b->len);
}

/* Word i of p (len bytes), zero-extended past the end. */
static uint64_t word_at(const uint8_t *p, uint64_t len, uint64_t i)
{
	uint64_t w = 0, at = 8 * i;

	memcpy(&w, p + at, len - at < 8 ? len - at : 8);
	return w;
}

/* Both blobs have the same length: only the words that differ, as differences. False when most of
 * them do. */
static bool put_patch(struct buf *out, const uint8_t *old, const struct sbt_blob *b)
{
	uint64_t words = (b->len + 7) / 8, changed = 0, next = 0;

	for (uint64_t i = 0; i < words; i++)
		changed += word_at(old, b->len, i) != word_at(b->p, b->len, i);
	if (words > 4 && changed > words - words / 4)
		return false;
	sbt_put(out, 1);
	sbt_put(out, changed);
	for (uint64_t i = 0; i < words; i++) {
		uint64_t was = word_at(old, b->len, i), is = word_at(b->p, b->len, i);

		if (was == is)
			continue;
		sbt_put(out, i - next);
		sbt_put_delta(out, is, was);
		next = i + 1;
	}
	return true;
}

static void put_blob(struct sbt_encoder *e, struct buf *old, const struct sbt_blob *b)
{
	struct buf *out = &e->col[SBT_COL_VALUE];

	if (!b->len || old->len != b->len || !put_patch(out, old->data, b)) {
		sbt_put(out, 0);
		sbt_put(out, b->len);
		buf_add(&e->col[SBT_COL_BYTES], b->p, b->len);
	}
	buf_clear(old);
	buf_add(old, b->p, b->len);
}

static bool blob_same(const struct sbt_blob *a, const void *p, size_t n)
{
	return a->len == n && (!n || memcmp(a->p, p, n) == 0);
}

/* Writes the values that differ from the slot's and brings the slot up to date. Returns the change
 * mask. */
static uint64_t put_values(struct sbt_encoder *e, struct slot *s, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	struct buf *out = &e->col[SBT_COL_VALUE];
	uint64_t mask = 0, bit = (uint64_t)1 << SBT_COMMON_BITS;
	unsigned nblob = 0;

	if (c->seq != e->seq + 1) {
		mask |= 1 << SBT_BIT_SEQ;
		sbt_put(out, c->seq - e->seq - 1);
	}
#define COMMON(BIT, member)                                                                        \
	if (c->member != s->cmd.member) {                                                          \
		mask |= 1 << BIT;                                                                  \
		sbt_put_delta(out, c->member, s->cmd.member);                                      \
		s->cmd.member = c->member;                                                         \
	}
	COMMON(SBT_BIT_FLAGS, flags)
	COMMON(SBT_BIT_THREAD, thread)
	COMMON(SBT_BIT_CTX, ctx)
	COMMON(SBT_BIT_STACK, stack)
	COMMON(SBT_BIT_RESULT, result)
#undef COMMON
	for (const struct sbt_field *f = d->fields; f->name; f++, bit <<= 1) {
		if (!sbt_type_is_blob(f->type)) {
			uint64_t *was = (uint64_t *)(void *)((char *)&s->cmd + f->offset);
			uint64_t is =
				*(const uint64_t *)(const void *)((const char *)c + f->offset);

			if (is == *was)
				continue;
			mask |= bit;
			sbt_put_delta(out, is, *was);
			*was = is;
		} else {
			const struct sbt_blob *b = sbt_get_blob(c, f);
			struct buf *old = &s->blob[nblob];

			BUG_ON(nblob >= BLOBS_MAX);
			nblob++;
			if (blob_same(b, old->data, old->len))
				continue;
			mask |= bit;
			if (f->type == SBT_T_STR) {
				put_string(e, b);
				buf_clear(old);
				buf_add(old, b->p, b->len);
			} else {
				put_blob(e, old, b);
			}
		}
	}
	return mask;
}

static struct err *check(const struct sbt_encoder *e, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	uint64_t bytes = 0;

	if (!d)
		return err_new(ERR_UNSUPPORTED,
			"command #%llu has kind %u, which the trace format lacks",
			(unsigned long long)c->seq, c->kind);
	BUG_ON(d->nfields > SBT_FIELDS_MAX);
	if (c->seq == 0 || (e->count && c->seq <= e->seq))
		return err_new(ERR_STATE,
			"command #%llu comes after #%llu: commands must be written in order",
			(unsigned long long)c->seq, (unsigned long long)e->seq);
	for (const struct sbt_field *f = d->fields; f->name; f++) {
		if (!sbt_type_is_blob(f->type))
			continue;
		if (sbt_get_blob(c, f)->len > SBT_CMD_MAX - bytes)
			return err_new(ERR_LIMIT,
				"command #%llu (%s) has more than %u MiB of arguments",
				(unsigned long long)c->seq, d->name, SBT_CMD_MAX >> 20);
		bytes += sbt_get_blob(c, f)->len;
	}
	return NULL;
}

struct err *sbt_encoder_add(struct sbt_encoder *e, const struct sbt_cmd *c)
{
	struct buf *head = &e->col[SBT_COL_HEAD];
	uint64_t mask;
	uint32_t i;
	bool fresh;

	TRY(check(e, c));
	if (!e->count) {
		e->first = c->seq;
		e->seq = c->seq - 1;
	}
	i = slot_find(e, c, &fresh);
	if (fresh) {
		sbt_put(head, 0);
		sbt_put(head, i);
		sbt_put(head, c->kind);
		e->kind_used[c->kind] = true;
	}
	mask = put_values(e, &e->slots[i], c);
	sbt_put(head, ((uint64_t)i + 1) << 1 | (mask != 0));
	if (mask)
		sbt_put(&e->col[SBT_COL_MASK], mask);
	sbt_put(&e->col[SBT_COL_CORR], c->corr ? sbt_zigzag((uint64_t)c->corr - e->corr) + 1 : 0);
	if (c->corr)
		e->corr = c->corr;
	sbt_put_delta(&e->col[SBT_COL_TIME], c->host_ns, e->host_ns);
	e->host_ns = c->host_ns;
	e->seq = c->seq;
	e->count++;
	return NULL;
}

uint32_t sbt_encoder_count(const struct sbt_encoder *e)
{
	return e->count;
}

uint64_t sbt_encoder_first(const struct sbt_encoder *e)
{
	return e->first;
}

uint64_t sbt_encoder_last(const struct sbt_encoder *e)
{
	return e->seq;
}

size_t sbt_encoder_size(const struct sbt_encoder *e)
{
	size_t n = 0;

	for (unsigned i = 0; i < SBT_COLUMNS; i++)
		n += e->col[i].len;
	return n;
}

static void put_kinds(struct sbt_encoder *e, struct buf *out)
{
	unsigned n = 0;

	for (unsigned k = 0; k < SBT_KIND_END; k++)
		n += e->kind_used[k];
	sbt_put(out, n);
	for (unsigned k = 0; k < SBT_KIND_END; k++) {
		const struct sbt_kind_desc *d;

		if (!e->kind_used[k])
			continue;
		d = sbt_kind(k);
		sbt_put(out, k);
		sbt_put(out, d->nfields);
		for (unsigned i = 0; i < d->nfields; i++) {
			enum sbt_type t = d->fields[i].type;

			buf_byte(out, t == SBT_T_STR	? SBT_WIRE_STR
				      : t == SBT_T_BLOB ? SBT_WIRE_BLOB
							: SBT_WIRE_SCALAR);
		}
	}
}

void sbt_encoder_finish(struct sbt_encoder *e, struct buf *out)
{
	sbt_put(out, e->count);
	sbt_put(out, e->first);
	put_kinds(e, out);
	for (unsigned i = 0; i < SBT_COLUMNS; i++)
		sbt_put(out, e->col[i].len);
	for (unsigned i = 0; i < SBT_COLUMNS; i++) {
		buf_add(out, e->col[i].data, e->col[i].len);
		buf_clear(&e->col[i]);
	}
	e->count = e->nslots = e->victim = e->nstrings = 0;
	e->first = e->seq = e->host_ns = 0;
	e->corr = 0;
	memset(e->map, 0, sizeof e->map);
	memset(e->kind_used, 0, sizeof e->kind_used);
	if (e->strings)
		memset(e->strings, 0, e->cap_strings * sizeof *e->strings);
	buf_clear(&e->text);
}
