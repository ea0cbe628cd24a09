/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the chunks. With a trailer it reads the index. Without one (a recording that was cut off)
 * it goes from chunk header to chunk header; after a damaged header it goes on at the next place
 * that looks like one.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "sbt/reader/reader.h"

static void list_add(struct sbt_list *l, size_t i)
{
	MAKE_ROOM(l->at, l->n, l->cap);
	l->at[l->n++] = (uint32_t)i;
}

static void entry_add(struct sbt_reader *r, const struct sbt_entry *e)
{
	MAKE_ROOM(r->entries, r->n, r->cap);
	r->entries[r->n++] = *e;
}

/* --- with a trailer --- */

static bool take_entry(
	struct sbt_entry *e, struct sbt_in *in, uint64_t *at, uint64_t last, uint64_t size)
{
	uint64_t gap;

	e->type = (uint16_t)sbt_take_max(in, UINT16_MAX);
	gap = sbt_take(in);
	e->stored = sbt_take(in);
	e->raw = sbt_take(in);
	e->first = sbt_take_delta(in, last);
	e->last = sbt_take_delta(in, e->first);
	e->count = (uint32_t)sbt_take_max(in, UINT32_MAX);
	e->lost = sbt_take(in);
	if (in->bad || gap > size - *at)
		return false;
	e->offset = *at + gap;
	if (size - e->offset < SBT_HEADER_SIZE || e->stored > size - e->offset - SBT_HEADER_SIZE)
		return false;
	*at = e->offset + SBT_HEADER_SIZE + e->stored;
	return true;
}

static struct err *read_index(struct sbt_reader *r, uint64_t offset)
{
	struct sbt_chunk_header h;
	struct sbt_entry index;
	struct buf payload = BUF_INIT;
	struct sbt_in in;
	uint64_t n, at = SBT_HEADER_SIZE;
	struct err *e;

	TRY(sbt_reader_pread(r, offset, &h, sizeof h));
	if (!sbt_header_valid(&h) || h.type != SBT_CHUNK_INDEX)
		return err_new(ERR_BAD_TRACE, "its header is damaged");
	index = (struct sbt_entry){.offset = offset,
		.type = h.type,
		.stored = h.stored,
		.raw = h.raw,
		.first = h.first,
		.last = h.last};
	e = sbt_reader_load(r, &index, &payload);
	if (!e) {
		in = sbt_in_of(&payload);
		for (n = sbt_take(&in); n && !e; n--) {
			struct sbt_entry entry = {0};

			if (take_entry(
				    &entry, &in, &at, r->n ? r->entries[r->n - 1].last : 0, offset))
				entry_add(r, &entry);
			else
				e = err_new(ERR_BAD_TRACE, "it does not decode");
		}
		r->lost = h.lost;
	}
	buf_free(&payload);
	return e;
}

/* Whether the file ends in a trailer; *ret is the place of the index. */
static bool find_trailer(struct sbt_reader *r, uint64_t *ret)
{
	struct {
		struct sbt_chunk_header h;
		uint64_t payload[2];
	} t;
	struct err *e;

	_Static_assert(sizeof t == SBT_TRAILER_SIZE, "trailer");
	if (r->size < SBT_HEADER_SIZE + SBT_TRAILER_SIZE)
		return false;
	e = sbt_reader_pread(r, r->size - sizeof t, &t, sizeof t);
	if (e) {
		err_free(e);
		return false;
	}
	*ret = t.payload[0];
	return sbt_header_valid(&t.h) && t.h.type == SBT_CHUNK_TRAILER &&
	       t.h.stored == sizeof t.payload &&
	       XXH64(t.payload, sizeof t.payload, 0) == t.h.hash && t.payload[1] == SBT_END_MAGIC &&
	       t.payload[0] >= SBT_HEADER_SIZE && t.payload[0] <= r->size - sizeof t;
}

/* --- without --- */

#define SEARCH 65536

/* The next offset from at on where a whole, valid chunk header lies; the file's size if there is
 * none. */
static uint64_t resync(struct sbt_reader *r, uint64_t at)
{
	const uint32_t magic = SBT_CHUNK_MAGIC;
	uint8_t *block = xmalloc(SEARCH);

	while (r->size - at >= SBT_HEADER_SIZE) {
		size_t n = r->size - at < SEARCH ? (size_t)(r->size - at) : SEARCH;
		struct err *e = sbt_reader_pread(r, at, block, n);
		const uint8_t *p = block, *end = block + n;

		if (e) {
			err_free(e);
			break;
		}
		while ((p = memmem(p, (size_t)(end - p), &magic, sizeof magic)) &&
			(size_t)(end - p) >= SBT_HEADER_SIZE) {
			struct sbt_chunk_header h;

			memcpy(&h, p, sizeof h);
			if (sbt_header_valid(&h)) {
				at += (uint64_t)(p - block);
				free(block);
				return at;
			}
			p++;
		}
		at += n - (SBT_HEADER_SIZE - 1); /* a header may lie across the blocks' border */
	}
	free(block);
	return r->size;
}

/* The chunk at offset at goes into entries. Returns where the next one is. */
static uint64_t scan_one(struct sbt_reader *r, uint64_t at)
{
	struct sbt_chunk_header h;
	struct sbt_entry entry;
	struct err *e = NULL;
	uint64_t next, left = r->size - at;

	if (left < sizeof h) {
		sbt_reader_note(
			r, "its last %llu bytes are an unfinished chunk", (unsigned long long)left);
		return r->size;
	}
	e = sbt_reader_pread(r, at, &h, sizeof h);
	if (e || !sbt_header_valid(&h)) {
		err_free(e);
		next = resync(r, at + 1);
		sbt_reader_note(r, "%llu bytes from offset %llu on are damaged and were left out",
			(unsigned long long)(next - at), (unsigned long long)at);
		return next;
	}
	if (h.stored > left - sizeof h) {
		sbt_reader_note(
			r, "its last %llu bytes are an unfinished chunk", (unsigned long long)left);
		return r->size;
	}
	entry = (struct sbt_entry){.offset = at,
		.type = h.type,
		.count = h.count,
		.stored = h.stored,
		.raw = h.raw,
		.first = h.first,
		.last = h.last,
		.lost = h.lost};
	entry_add(r, &entry);
	if (h.lost > r->lost)
		r->lost = h.lost;
	return at + sizeof h + h.stored;
}

/* --- both --- */

/* Commands must rise from chunk to chunk; one that does not is left out. */
static void add_commands(struct sbt_reader *r, size_t i)
{
	const struct sbt_entry *e = &r->entries[i];
	const struct sbt_entry *before =
		r->commands.n ? &r->entries[r->commands.at[r->commands.n - 1]] : NULL;

	if (e->first == 0 || e->last < e->first || e->count == 0 ||
		e->last - e->first < e->count - 1 || (before && e->first <= before->last)) {
		sbt_reader_note(r,
			"the chunk of commands #%llu to #%llu is out of order and was left out",
			(unsigned long long)e->first, (unsigned long long)e->last);
		return;
	}
	list_add(&r->commands, i);
	r->count += e->count;
}

static int by_first(const void *a, const void *b, void *arg)
{
	const struct sbt_reader *r = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (r->entries[i].first != r->entries[k].first)
		return r->entries[i].first < r->entries[k].first ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Pages are numbered; a number belongs to one chunk only. */
static void sort_pages(struct sbt_reader *r)
{
	size_t n = 0;

	if (r->pages.n)
		qsort_r(r->pages.at, r->pages.n, sizeof *r->pages.at, by_first, r);
	for (size_t k = 0; k < r->pages.n; k++) {
		const struct sbt_entry *e = &r->entries[r->pages.at[k]];
		const struct sbt_entry *before = n ? &r->entries[r->pages.at[n - 1]] : NULL;

		if (e->count == 0 || e->last < e->first || e->last - e->first != e->count - 1 ||
			e->stored / sizeof(struct sbt_page_entry) < e->count)
			sbt_reader_note(r,
				"a chunk of memory pages is damaged (its numbers contradict each other)");
		else if (before && e->first <= before->last)
			sbt_reader_note(r,
				"memory pages %llu to %llu are there twice; those later in the file were left out",
				(unsigned long long)e->first, (unsigned long long)e->last);
		else
			r->pages.at[n++] = r->pages.at[k];
	}
	r->pages.n = n;
}

static void sort_windows(struct sbt_reader *r)
{
	size_t n = 0;

	for (size_t k = 0; k < r->windows.n; k++) {
		const struct sbt_entry *e = &r->entries[r->windows.at[k]];

		if (e->first && e->first <= e->last)
			r->windows.at[n++] = r->windows.at[k];
		else
			sbt_reader_note(r,
				"a capture window from #%llu to #%llu is out of order and was left out",
				(unsigned long long)e->first, (unsigned long long)e->last);
	}
	r->windows.n = n;
	if (n)
		qsort_r(r->windows.at, n, sizeof *r->windows.at, by_first, r);
}

/* Times come in any order and overlap. */
static void sort_times(struct sbt_reader *r)
{
	uint64_t last = 0;

	if (r->times.n)
		qsort_r(r->times.at, r->times.n, sizeof *r->times.at, by_first, r);
	r->times_last = xcalloc(r->times.n, sizeof *r->times_last);
	for (size_t k = 0; k < r->times.n; k++) {
		uint64_t l = r->entries[r->times.at[k]].last;

		r->times_last[k] = last = l > last ? l : last;
	}
}

static void sort_out(struct sbt_reader *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct sbt_entry *e = &r->entries[i];

		switch (e->type) {
		case SBT_CHUNK_COMMANDS:
			add_commands(r, i);
			break;
		case SBT_CHUNK_TIMES:
			list_add(&r->times, i);
			break;
		case SBT_CHUNK_STACKS:
			list_add(&r->stacks, i);
			break;
		case SBT_CHUNK_MODULES:
			list_add(&r->modules, i);
			break;
		case SBT_CHUNK_PLACES:
			list_add(&r->places, i);
			break;
		case SBT_CHUNK_SYMBOLS:
			list_add(&r->symbols, i);
			break;
		case SBT_CHUNK_SOURCE:
			list_add(&r->sources, i);
			break;
		case SBT_CHUNK_CODE:
			list_add(&r->codes, i);
			break;
		case SBT_CHUNK_KEYFRAME:
			list_add(&r->keyframes, i);
			break;
		case SBT_CHUNK_MEMORY:
			list_add(&r->memories, i);
			break;
		case SBT_CHUNK_PAGES:
			list_add(&r->pages, i);
			break;
		case SBT_CHUNK_WINDOW:
			list_add(&r->windows, i);
			break;
		default: /* read by other means, or from a newer tsdb */
			break;
		}
	}
	sort_times(r);
	sort_pages(r);
	sort_windows(r);
	r->reported = xcalloc(r->n, 1);
	r->stacks_loaded = xcalloc(r->stacks.n, 1);
}

struct err *sbt_reader_find_chunks(struct sbt_reader *r)
{
	uint64_t index, at = SBT_HEADER_SIZE;
	bool whole = false;

	if (find_trailer(r, &index)) {
		struct err *e = read_index(r, index);

		whole = !e;
		if (e) {
			sbt_reader_note(r, "its index is damaged (%s)", e->what);
			r->n = 0;
		}
		err_free(e);
	} else {
		sbt_reader_note(
			r, "it has no index: the recording was cut off, or is still going on");
	}
	if (!whole)
		while (at < r->size)
			at = scan_one(r, at);
	if (r->n > UINT32_MAX)
		return err_new(ERR_LIMIT, "%s has too many chunks", r->path);
	sort_out(r);
	return NULL;
}
