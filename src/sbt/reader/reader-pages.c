/* SPDX-License-Identifier: Apache-2.0
 *
 * One page of memory out of the file: found by its number, decompressed alone, and checked by its
 * own hash. The surprise: the checksum of its chunk is not looked at, so that a damaged page costs
 * itself only, and reading one page does not read the megabytes around it.
 */
#include <stdlib.h>
#include <time.h>

#include "base/first-where.h"
#include "base/monotonic.h"
#include "sbt/format/pagecode.h"
#include "sbt/pagehash.h"
#include "sbt/reader/reader.h"

#define CACHE 64u /* pages kept */
#define ZSTD_FIRST_BYTE 0x28

/* The pages of one chunk. */
struct chunk_pages {
	struct sbt_page_entry *table; /* NULL: not loaded */
	uint32_t *offset;	      /* of each, from the end of the table */
	bool bad;
};

struct cached {
	uint64_t number;
	uint32_t size; /* 0: nothing */
	uint8_t *bytes;
};

struct sbt_page_store {
	struct chunk_pages *chunks; /* as in r->pages */
	struct cached cache[CACHE]; /* by number */
	uint8_t stored[SBT_PAGE];   /* scratch */
};

void sbt_reader_pages_free(struct sbt_reader *r)
{
	struct sbt_page_store *s = r->page_store;

	if (!s)
		return;
	for (size_t i = 0; i < r->pages.n; i++) {
		free(s->chunks[i].table);
		free(s->chunks[i].offset);
	}
	for (unsigned i = 0; i < CACHE; i++)
		free(s->cache[i].bytes);
	free(s->chunks);
	free(s);
}

static struct err *store_of(struct sbt_reader *r, struct sbt_page_store **ret)
{
	struct sbt_page_store *s = r->page_store;

	if (!s) {
		s = calloc(1, sizeof *s);
		if (!s)
			return err_nomem();
		s->chunks = calloc(r->pages.n + 1, sizeof *s->chunks);
		if (!s->chunks) {
			free(s);
			return err_nomem();
		}
		r->page_store = s;
	}
	*ret = s;
	return NULL;
}

/* --- the table of a chunk --- */

/* Sizes must make sense and fill the payload. */
static struct err *check_table(struct chunk_pages *c, uint32_t count, uint64_t room)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct sbt_page_entry *e = &c->table[i];

		if (e->size == 0 || e->size > SBT_PAGE || e->stored == 0 || e->stored > e->size ||
			e->stored > room - at)
			return err_new(ERR_BAD_TRACE, "its table does not make sense");
		c->offset[i] = (uint32_t)at;
		at += e->stored;
	}
	return at == room ? NULL : err_new(ERR_BAD_TRACE, "its table does not make sense");
}

static struct err *load_table(
	struct sbt_reader *r, struct chunk_pages *c, const struct sbt_entry *e)
{
	size_t n = (size_t)e->count * sizeof *c->table; /* at most e->stored, see sort_pages() */
	struct sbt_chunk_header h;

	TRY(sbt_reader_header(r, e, &h));
	if (h.flags & SBT_CHUNK_ZSTD || h.count != e->count)
		return err_new(ERR_BAD_TRACE, "its header does not make sense");
	c->table = malloc(n);
	c->offset = malloc((size_t)e->count * sizeof *c->offset);
	if (!c->table || !c->offset)
		return err_nomem();
	TRY(sbt_reader_pread(r, e->offset + sizeof h, c->table, n));
	return check_table(c, e->count, e->stored - n);
}

/* The place in r->pages of the chunk with this page; r->pages.n if there is none. */
static size_t find(const struct sbt_reader *r, uint64_t number)
{
	const size_t at = FIRST_WHERE(r->pages.n, i, r->entries[r->pages.at[i]].last >= number);

	return at < r->pages.n && r->entries[r->pages.at[at]].first <= number ? at : r->pages.n;
}

static struct err *chunk_of(struct sbt_reader *r, struct sbt_page_store *s, uint64_t number,
	struct chunk_pages **ret, const struct sbt_entry **ret_entry)
{
	size_t k = find(r, number);
	struct chunk_pages *c = &s->chunks[k];
	struct err *e;

	if (k == r->pages.n)
		return err_new(ERR_BAD_TRACE, "the trace does not hold page number %llu",
			(unsigned long long)number);
	if (!c->table && !c->bad) {
		e = load_table(r, c, &r->entries[r->pages.at[k]]);
		if (e) {
			c->bad = true;
			sbt_reader_note_chunk(r, r->pages.at[k], e);
		}
	}
	if (c->bad)
		return err_new(ERR_BAD_TRACE, "the chunk of pages that it lies in is damaged");
	*ret = c;
	*ret_entry = &r->entries[r->pages.at[k]];
	return NULL;
}

/* --- a page --- */

/* A page in the file. */
struct place {
	const struct sbt_page_entry
		*e;	   /* of it, and behind that of the pages up to the chunk's end */
	uint64_t at, left; /* offset in the file; pages of the chunk from here on */
};

static struct err *place_of(struct sbt_reader *r, struct sbt_page_store *s, uint64_t number,
	uint32_t size, struct place *ret)
{
	const struct sbt_entry *entry = NULL;
	struct chunk_pages *c = NULL;
	uint32_t i;

	TRY(chunk_of(r, s, number, &c, &entry));
	i = (uint32_t)(number - entry->first);
	ret->e = &c->table[i];
	if (ret->e->size != size)
		return err_new(ERR_BAD_TRACE, "page number %llu has %u bytes instead of %u",
			(unsigned long long)number, ret->e->size, size);
	ret->at = entry->offset + SBT_HEADER_SIZE + (uint64_t)entry->count * sizeof *ret->e +
		  c->offset[i];
	ret->left = entry->count - i;
	return NULL;
}

/* Unpacks a page that is stored in fewer bytes than it has: a zstd frame, or one of pagecode.h's
 * codes. */
static struct err *unpack(
	struct sbt_reader *r, const uint8_t *stored, const struct sbt_page_entry *e, uint8_t *dst)
{
	if (stored[0] == ZSTD_FIRST_BYTE)
		return sbt_reader_inflate(r, stored, e->stored, dst, e->size);
	if (stored[0] > SBT_PAGECODE_WORDS)
		return err_new(
			ERR_BAD_TRACE, "it is coded in a way that only a newer tsdb may know");
	return sbt_pagecode_unpack(stored, e->stored, dst, e->size)
		       ? NULL
		       : err_new(ERR_BAD_TRACE, "it does not decode");
}

static struct err *read_page(struct sbt_reader *r, struct sbt_page_store *s, uint64_t number,
	uint32_t size, uint8_t *dst)
{
	const struct sbt_page_entry *e;
	struct place place;
	struct sbt_hash hash;

	TRY(place_of(r, s, number, size, &place));
	e = place.e;
	TRY(sbt_reader_pread(r, place.at, e->stored == size ? dst : s->stored, e->stored));
	if (e->stored != size)
		TRY(unpack(r, s->stored, e, dst));
	hash = sbt_page_hash(dst, size);
	if (hash.half[0] != e->hash[0] || hash.half[1] != e->hash[1])
		return err_new(ERR_BAD_TRACE, "its hash is wrong");
	return NULL;
}

struct err *sbt_reader_page(struct sbt_reader *r, uint64_t number, uint32_t size, uint32_t offset,
	void *dst, uint32_t n)
{
	struct sbt_page_store *s = NULL;
	struct cached *c;

	TRY(store_of(r, &s));
	c = &s->cache[number % CACHE];
	if (c->size != size || c->number != number) {
		if (n == size)
			return read_page(
				r, s, number, size, dst); /* all of it: no need to keep it */
		if (!c->bytes && !(c->bytes = malloc(SBT_PAGE)))
			return err_nomem();
		c->size = 0;
		TRY(read_page(r, s, number, size, c->bytes));
		c->number = number;
		c->size = size;
	}
	memcpy(dst, c->bytes + offset, n);
	return NULL;
}

/* Pages that lie in the file as they are, one behind the other, are read at once. */
static struct err *load_some(struct sbt_reader *r, struct sbt_page_store *s, uint64_t number,
	uint64_t count, uint32_t last, uint8_t *dst, struct sbt_hash *hashes,
	struct sbt_load_times *times, uint64_t *ret_n)
{
	const uint64_t begin = monotonic_ns();
	struct place place;
	uint64_t n = 1, bytes;

	TRY(place_of(r, s, number, count == 1 ? last : SBT_PAGE, &place));
	const struct sbt_page_entry *e = place.e;
	const bool plain = e->stored == e->size;

	bytes = e->stored;
	while (plain && n < count && n < place.left && e[n].stored == e[n].size &&
		e[n].size == (n + 1 == count ? last : SBT_PAGE))
		bytes += e[n++].stored;
	TRY(sbt_reader_pread(r, place.at, plain ? dst : s->stored, bytes));
	const uint64_t done = monotonic_ns();

	times->read_ns += done - begin;
	times->read_bytes += bytes;
	if (!plain) {
		TRY(unpack(r, s->stored, e, dst));
		times->unpack_ns += monotonic_ns() - done;
	}
	for (uint64_t i = 0; i < n; i++)
		hashes[i] = (struct sbt_hash){{e[i].hash[0], e[i].hash[1]}};
	*ret_n = n;
	return NULL;
}

struct err *sbt_reader_pages_load(struct sbt_reader *r, uint64_t number, uint64_t count,
	uint32_t last, uint8_t *dst, struct sbt_hash *hashes, struct sbt_load_times *times)
{
	struct sbt_page_store *s = NULL;

	TRY(store_of(r, &s));
	while (count) {
		uint64_t n = 0;

		TRY(load_some(r, s, number, count, last, dst, hashes, times, &n));
		number += n;
		count -= n;
		dst += n * SBT_PAGE;
		hashes += n;
	}
	return NULL;
}

struct err *sbt_reader_pages_each(struct sbt_reader *r,
	void (*fn)(void *arg, uint64_t number, const struct sbt_page_entry *e), void *arg)
{
	struct sbt_page_store *s = NULL;

	TRY(store_of(r, &s));
	for (size_t k = 0; k < r->pages.n; k++) {
		const struct sbt_entry *entry = &r->entries[r->pages.at[k]];
		struct chunk_pages *c = NULL;
		const struct sbt_entry *found = NULL;
		struct err *e = entry->count ? chunk_of(r, s, entry->first, &c, &found) : NULL;

		if (e || found != entry) {
			err_free(e); /* noted by chunk_of() */
			continue;
		}
		for (uint32_t i = 0; i < entry->count; i++)
			fn(arg, entry->first + i, &c->table[i]);
	}
	return NULL;
}
