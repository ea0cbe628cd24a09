/* SPDX-License-Identifier: Apache-2.0
 *
 * The payload of a commands chunk back to commands, see encode.h. Everything in it is hostile: each
 * number is checked, and memory is bounded by the payload's own size, because a slot's blobs are
 * patched in place. The surprise: kinds and fields that this version does not know are decoded too,
 * from the chunk's kind table, and then left out.
 */
#include <stdlib.h>
#include <string.h>

#include "sbt/cmd/encode.h"
#include "sbt/format/format.h"
#include "sbt/fields.h"

#define KINDS_MAX 4096

struct wire_field {
	uint8_t wire; /* enum sbt_wire */
	uint8_t blob; /* which one of the slot's */
	uint16_t
		to; /* the value's offset within struct sbt_cmd; 0: this version does not know it */
};
struct kind {
	unsigned kind, nfields, nblobs;
	const struct sbt_kind_desc *desc; /* NULL: not known here */
	struct wire_field field[SBT_FIELDS_MAX];
};

struct slot {
	const struct kind *kind;
	struct sbt_cmd cmd;
	/* Values of fields that this version does not know, by field; those of others are in cmd.
	 */
	uint64_t *scalar;
	struct buf *blob; /* kind->nblobs, for BLOB fields */
};

struct sbt_decoder {
	struct sbt_in col[SBT_COLUMNS];
	uint64_t left; /* commands */
	uint64_t seq, host_ns;
	uint32_t corr;
	uint64_t unknown;
	bool skims; /* BLOB fields are passed over */
	struct kind *kinds;
	unsigned nkinds;
	struct slot *slots;
	uint32_t nslots, cap_slots;
	struct sbt_blob *strings;
	uint64_t nstrings, cap_strings;
};

static struct err *damaged(const char *what)
{
	return err_new(ERR_BAD_TRACE, "a commands chunk does not decode (%s)", what);
}

static void slot_free(struct slot *s)
{
	for (unsigned i = 0; s->kind && i < s->kind->nblobs; i++)
		buf_free(&s->blob[i]);
	free(s->blob);
	free(s->scalar);
	memset(s, 0, sizeof *s);
}

void sbt_decoder_destroy(struct sbt_decoder *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->nslots; i++)
		slot_free(&d->slots[i]);
	free(d->slots);
	free(d->kinds);
	free(d->strings);
	free(d);
}

uint64_t sbt_decoder_unknown(const struct sbt_decoder *d)
{
	return d->unknown;
}

uint64_t sbt_decoder_left(const struct sbt_decoder *d)
{
	return d->left;
}

void sbt_decoder_skim(struct sbt_decoder *d)
{
	d->skims = true;
}

static enum sbt_wire wire_of(enum sbt_type t)
{
	return t == SBT_T_STR ? SBT_WIRE_STR : t == SBT_T_BLOB ? SBT_WIRE_BLOB : SBT_WIRE_SCALAR;
}

static bool take_kind(struct kind *k, struct sbt_in *in)
{
	const uint8_t *wire;

	k->kind = (unsigned)sbt_take_max(in, UINT16_MAX);
	k->nfields = (unsigned)sbt_take_max(in, SBT_FIELDS_MAX);
	wire = sbt_take_bytes(in, k->nfields);
	if (in->bad)
		return false;
	k->desc = sbt_kind(k->kind);
	for (unsigned i = 0; i < k->nfields; i++) {
		const bool known = k->desc && i < k->desc->nfields;

		if (wire[i] > SBT_WIRE_BLOB ||
			(known && wire[i] != wire_of(k->desc->fields[i].type)))
			return false;
		k->field[i] = (struct wire_field){
			wire[i], (uint8_t)k->nblobs, known ? k->desc->fields[i].offset : 0};
		k->nblobs += wire[i] != SBT_WIRE_SCALAR;
	}
	return true;
}

static struct err *take_prelude(struct sbt_decoder *d, struct sbt_in *in)
{
	uint64_t len[SBT_COLUMNS];
	uint64_t first;

	d->left = sbt_take(in);
	first = sbt_take(in);
	d->nkinds = (unsigned)sbt_take_max(in, KINDS_MAX);
	if (in->bad || (d->left && first == 0))
		return damaged("its beginning");
	d->seq = first - 1;
	d->kinds = xcalloc(d->nkinds, sizeof *d->kinds);
	for (unsigned i = 0; i < d->nkinds; i++)
		if (!take_kind(&d->kinds[i], in))
			return damaged("its table of kinds");
	for (unsigned i = 0; i < SBT_COLUMNS; i++)
		len[i] = sbt_take(in);
	for (unsigned i = 0; i < SBT_COLUMNS; i++) {
		const uint8_t *p = sbt_take_bytes(in, len[i]);

		if (!p)
			return damaged("the lengths of its columns");
		d->col[i] = (struct sbt_in){p, p + len[i], false};
	}
	if (d->left > len[SBT_COL_HEAD] || d->left > len[SBT_COL_CORR] ||
		d->left > len[SBT_COL_TIME])
		return damaged("more commands than bytes");
	return NULL;
}

struct err *sbt_decoder_create(struct sbt_decoder **ret, const void *payload, size_t n)
{
	struct sbt_in in = {payload, (const uint8_t *)payload + n, false};
	struct sbt_decoder *d = xcalloc(1, sizeof *d);
	struct err *e = take_prelude(d, &in);

	if (e) {
		sbt_decoder_destroy(d);
		return e;
	}
	*ret = d;
	return NULL;
}

/* Begins slot i for a kind: all values 0. */
static struct err *define_slot(struct sbt_decoder *d, uint64_t i, uint64_t kind)
{
	const struct kind *k = NULL;
	struct slot *s;

	for (unsigned j = 0; j < d->nkinds && !k; j++)
		if (d->kinds[j].kind == kind)
			k = &d->kinds[j];
	if (!k || i >= SBT_SLOTS_MAX || i > d->nslots)
		return damaged("a slot");
	if (i == d->nslots) {
		MAKE_ROOM(d->slots, d->nslots, d->cap_slots);
		memset(&d->slots[d->nslots++], 0, sizeof *d->slots);
	}
	s = &d->slots[i];
	slot_free(s);
	s->kind = k;
	s->cmd.kind = (uint16_t)kind;
	if (!k->desc || k->nfields > k->desc->nfields)
		s->scalar = xcalloc(k->nfields, sizeof *s->scalar);
	if (k->nblobs)
		s->blob = xcalloc(k->nblobs, sizeof *s->blob);
	return NULL;
}

static bool take_string(struct sbt_decoder *d, struct sbt_blob *ret)
{
	uint64_t i = sbt_take(&d->col[SBT_COL_VALUE]), len;
	const uint8_t *p;

	if (i) {
		if (i > d->nstrings)
			return false;
		*ret = d->strings[i - 1];
		return true;
	}
	len = sbt_take(&d->col[SBT_COL_VALUE]);
	p = sbt_take_bytes(&d->col[SBT_COL_BYTES], len);
	if (!p)
		return false;
	MAKE_ROOM(d->strings, d->nstrings, d->cap_strings);
	*ret = (struct sbt_blob){p, len};
	d->strings[d->nstrings++] = *ret;
	return true;
}

static bool take_patch(struct sbt_in *in, struct buf *b)
{
	uint64_t words = (b->len + 7) / 8, n = sbt_take_max(in, words), at = 0;

	for (; n && !in->bad; n--, at++) {
		uint64_t skip = sbt_take(in), w = 0;
		size_t part;

		if (skip >= words - at) /* at <= words - 1 here or words == at, both are caught */
			return false;
		at += skip;
		part = b->len - 8 * at < 8 ? b->len - 8 * at : 8;
		memcpy(&w, b->data + 8 * at, part);
		w = sbt_take_delta(in, w);
		memcpy(b->data + 8 * at, &w, part);
	}
	return !in->bad;
}

static bool take_blob(struct sbt_decoder *d, struct buf *b)
{
	struct sbt_in *in = &d->col[SBT_COL_VALUE];
	uint64_t how = sbt_take_max(in, 1), len;
	const uint8_t *p;

	if (in->bad)
		return false;
	if (how == 1)
		return take_patch(in, b);
	len = sbt_take(in);
	p = sbt_take_bytes(&d->col[SBT_COL_BYTES], len);
	if (!p)
		return false;
	buf_clear(b);
	buf_add(b, p, len);
	return true;
}

/* A blob that nobody looks at. A patch is pairs of numbers. */
static bool skip_blob(struct sbt_decoder *d)
{
	struct sbt_in *in = &d->col[SBT_COL_VALUE];
	const uint64_t how = sbt_take_small(in), n = sbt_take_small(in);

	if (in->bad || how > 1)
		return false;
	if (!how)
		return sbt_take_bytes(&d->col[SBT_COL_BYTES], n) != NULL;
	if (n > sbt_left(in) / 2)
		return false;
	sbt_skip(in, 2 * n);
	return !in->bad;
}

static bool take_common(struct sbt_decoder *d, struct sbt_cmd *c, uint64_t mask)
{
	struct sbt_in *in = &d->col[SBT_COL_VALUE];
	uint64_t v;

	if (mask & 1 << SBT_BIT_SEQ) {
		v = sbt_take(in);
		if (v > UINT64_MAX - 1 - d->seq)
			return false;
		d->seq += v;
	}
#define COMMON(BIT, member)                                                                        \
	if (mask & 1 << BIT) {                                                                     \
		v = sbt_take_delta(in, c->member);                                                 \
		c->member = (__typeof__(c->member))v;                                              \
		if (c->member != v)                                                                \
			return false;                                                              \
	}
	COMMON(SBT_BIT_FLAGS, flags)
	COMMON(SBT_BIT_THREAD, thread)
	COMMON(SBT_BIT_CTX, ctx)
	COMMON(SBT_BIT_STACK, stack)
	COMMON(SBT_BIT_RESULT, result)
#undef COMMON
	return !in->bad;
}

static bool take_text(struct sbt_decoder *d, struct slot *s, const struct wire_field *f)
{
	struct buf *b = &s->blob[f->blob];
	struct sbt_blob value;

	if (d->skims && f->wire == SBT_WIRE_BLOB)
		return skip_blob(d);
	if (f->wire == SBT_WIRE_STR) {
		if (!take_string(d, &value))
			return false;
	} else {
		if (!take_blob(d, b))
			return false;
		value = (struct sbt_blob){b->data, b->len};
	}
	if (!value.len)
		value.p = NULL;
	if (f->to)
		memcpy((char *)&s->cmd + f->to, &value, sizeof value);
	return true;
}

/* The fields whose bit is set; the mask's bits are from bit 0 here. */
static bool take_fields(struct sbt_decoder *d, struct slot *s, uint64_t mask)
{
	const struct kind *k = s->kind;

	if (k->nfields < 64 && mask >> k->nfields)
		return false;
	for (; mask; mask &= mask - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(mask);
		const struct wire_field *f = &k->field[i];
		uint64_t v;
		void *at;

		if (f->wire != SBT_WIRE_SCALAR) {
			if (!take_text(d, s, f))
				return false;
			continue;
		}
		at = f->to ? (void *)((char *)&s->cmd + f->to) : &s->scalar[i];
		memcpy(&v, at, sizeof v);
		v = sbt_take_delta(&d->col[SBT_COL_VALUE], v);
		memcpy(at, &v, sizeof v);
	}
	return !d->col[SBT_COL_VALUE].bad;
}

static struct err *take_cmd(struct sbt_decoder *d, struct slot **ret)
{
	struct sbt_in *head = &d->col[SBT_COL_HEAD];
	uint64_t v = sbt_take_small(head), mask = 0, corr;
	struct slot *s;

	if (v == 0 && !head->bad) {
		uint64_t i = sbt_take(head), kind = sbt_take(head);

		TRY(define_slot(d, i, kind));
		v = sbt_take(head);
	}
	if (head->bad || v < 2 || (v >> 1) - 1 >= d->nslots)
		return damaged("its column of slots");
	s = &d->slots[(v >> 1) - 1];
	if (v & 1)
		mask = sbt_take(&d->col[SBT_COL_MASK]);
	if (d->seq == UINT64_MAX || !take_common(d, &s->cmd, mask) ||
		!take_fields(d, s, mask >> SBT_COMMON_BITS))
		return damaged("its column of values");
	s->cmd.seq = ++d->seq;
	corr = sbt_take_small(&d->col[SBT_COL_CORR]);
	if (corr) {
		uint64_t c = d->corr + sbt_unzigzag(corr - 1);

		if (c != (uint32_t)c)
			return damaged("its column of correlation ids");
		d->corr = (uint32_t)c;
	}
	s->cmd.corr = corr ? d->corr : 0;
	d->host_ns = sbt_take_delta(&d->col[SBT_COL_TIME], d->host_ns);
	s->cmd.host_ns = d->host_ns;
	if (d->col[SBT_COL_MASK].bad || d->col[SBT_COL_CORR].bad || d->col[SBT_COL_TIME].bad)
		return damaged("a column that ends early");
	*ret = s;
	return NULL;
}

struct err *sbt_decoder_next(struct sbt_decoder *d, struct sbt_cmd **ret)
{
	struct slot *s = NULL;

	*ret = NULL;
	while (d->left) {
		struct err *e = take_cmd(d, &s);

		if (e) {
			d->left = 0;
			return e;
		}
		d->left--;
		if (s->kind->desc) {
			*ret = &s->cmd;
			return NULL;
		}
		d->unknown++;
	}
	return NULL;
}
