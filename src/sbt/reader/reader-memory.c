/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of memory and windows out of a trace, see memory.h. Only chunks that hold a wanted seq are
 * read. A piece keeps the place of its record, not its pages; the last few chunks and lists of
 * pages stay in memory. The surprise: a record may announce a piece whose contents never came.
 */
#include <stdlib.h>

#include <xxhash.h>

#include "sbt/memory.h"
#include "sbt/reader/reader.h"

#define PAYLOADS 4u
#define LISTS 4u
#define PIECES_MAX (8u << 20) /* in one answer: 1.1 GB */
#define NAMES_BYTES_MAX (64u << 20)

/* A decompressed chunk of records. */
struct payload {
	uint32_t entry;
	uint64_t used; /* 0: nothing here; else when it was last used */
	struct buf b;
};

/* A piece's pages: run i covers pages start .. start of the next one. */
struct run {
	uint64_t start, first; /* of the first page: place in the piece, number */
	bool zero;
};

struct list {
	uint32_t chunk, at;
	uint64_t used;
	struct run *runs;
	size_t n;
};

struct name {
	uint64_t hash;
	size_t n;
	char *p; /* NULL: a free slot */
};

struct sbt_piece_store {
	uint64_t clock;
	struct payload payloads[PAYLOADS];
	struct list lists[LISTS];
	struct name *names; /* open addressing */
	size_t nnames, names_cap, names_bytes;
};

/* A record, as it lies in the chunk. */
struct record {
	struct sbt_memory m;
	unsigned flags;
	uint64_t number;
	const uint8_t *contents; /* inline bytes, or the list of pages */
	uint64_t contents_n;
};

void sbt_reader_memory_free(struct sbt_reader *r)
{
	struct sbt_piece_store *s = r->piece_store;

	if (!s)
		return;
	for (unsigned i = 0; i < PAYLOADS; i++)
		buf_free(&s->payloads[i].b);
	for (unsigned i = 0; i < LISTS; i++)
		free(s->lists[i].runs);
	for (size_t i = 0; i < s->names_cap; i++)
		free(s->names[i].p);
	free(s->names);
	free(s);
}

static struct sbt_piece_store *store_of(struct sbt_reader *r)
{
	if (!r->piece_store)
		r->piece_store = xcalloc(1, sizeof *r->piece_store);
	return r->piece_store;
}

/* --- names: kept until the reader is closed --- */

static struct name *name_slot(struct name *t, size_t cap, uint64_t hash, const void *p, size_t n)
{
	size_t i = (size_t)hash & (cap - 1);

	while (t[i].p && !(t[i].hash == hash && t[i].n == n && memcmp(t[i].p, p, n) == 0))
		i = (i + 1) & (cap - 1);
	return &t[i];
}

static void grow_names(struct sbt_piece_store *s)
{
	size_t cap = s->names_cap ? s->names_cap * 2 : 64;
	struct name *t = xcalloc(cap, sizeof *t);

	for (size_t i = 0; i < s->names_cap; i++) {
		const struct name *k = &s->names[i];

		if (k->p)
			*name_slot(t, cap, k->hash, k->p, k->n) = *k;
	}
	free(s->names);
	s->names = t;
	s->names_cap = cap;
}

static struct err *keep_name(struct sbt_piece_store *s, struct sbt_blob *name)
{
	size_t n = (size_t)name->len;
	uint64_t hash = XXH64(name->p, n, 0);
	struct name *k;

	if (2 * (s->nnames + 1) > s->names_cap)
		grow_names(s);
	k = name_slot(s->names, s->names_cap, hash, name->p, n);
	if (!k->p) {
		if (n > NAMES_BYTES_MAX - s->names_bytes)
			return err_new(ERR_LIMIT, "the names of globals in the trace are too many");
		*k = (struct name){hash, n, xmalloc(n + 1)};
		memcpy(k->p, name->p, n);
		k->p[n] = 0;
		s->nnames++;
		s->names_bytes += n;
	}
	name->p = k->p;
	return NULL;
}

/* --- records --- */

/* The payload of entry i, loaded if need be. NULL when the chunk is damaged, which is noted. */
static const struct buf *payload_of(struct sbt_reader *r, uint32_t i)
{
	struct sbt_piece_store *s = store_of(r);
	struct payload *oldest = &s->payloads[0];
	struct err *e;

	for (struct payload *p = s->payloads; p < s->payloads + PAYLOADS; p++) {
		if (p->used && p->entry == i) {
			p->used = ++s->clock;
			return &p->b;
		}
		if (p->used < oldest->used)
			oldest = p;
	}
	oldest->used = 0;
	e = sbt_reader_load(r, &r->entries[i], &oldest->b);
	if (e) {
		sbt_reader_note_chunk(r, i, e);
		return NULL;
	}
	oldest->used = ++s->clock;
	oldest->entry = i;
	return &oldest->b;
}

static void take_contents(struct record *rec, struct sbt_in *in)
{
	struct sbt_memory *m = &rec->m;
	const uint8_t *hash;

	if (rec->flags & SBT_PIECE_BEGUN)
		return;
	hash = sbt_take_bytes(in, sizeof m->hash.half);
	if (hash)
		memcpy(m->hash.half, hash, sizeof m->hash.half);
	m->has_bytes = rec->flags & SBT_PIECE_BYTES;
	if (!m->has_bytes)
		return;
	rec->contents_n = sbt_take(in);
	rec->contents = sbt_take_bytes(in, rec->contents_n);
	if (rec->flags & SBT_PIECE_INLINE && rec->contents_n != m->size)
		in->bad = true;
}

/* The record at in; false when it does not decode. Fields behind those that we know are from a
 * newer tsdb. */
static bool take_record(struct record *rec, struct sbt_in *in)
{
	uint64_t n = sbt_take(in), module;
	const uint8_t *p = sbt_take_bytes(in, n);
	struct sbt_in one = {p, p ? p + n : p, !p};
	struct sbt_memory *m = &rec->m;

	*rec = (struct record){0};
	rec->flags = (unsigned)sbt_take_max(&one, UINT32_MAX);
	m->doubt = rec->flags & SBT_PIECE_DOUBT;
	rec->number = sbt_take(&one);
	m->seq = sbt_take(&one);
	m->role = (uint32_t)sbt_take_max(&one, UINT32_MAX);
	m->owner = (uint32_t)sbt_take_max(&one, UINT32_MAX);
	m->addr = sbt_take(&one);
	m->size = sbt_take(&one);
	module = sbt_take_max(&one, UINT32_MAX);
	m->module = module ? (uint32_t)(module - 1) : SBT_NO_ID;
	m->name.len = sbt_take_max(&one, SBT_NAME_MAX);
	m->name.p = sbt_take_bytes(&one, m->name.len);
	m->missing = rec->flags & SBT_PIECE_CUT ? sbt_take(&one) : 0;
	take_contents(rec, &one);
	m->ctx = !one.bad && one.p < one.end ? (uint32_t)sbt_take_max(&one, UINT32_MAX) : 0;
	if (one.bad || m->size > UINT64_MAX - m->addr) /* so that its end has a number */
		in->bad = true;
	return !in->bad;
}

/* --- pieces --- */

/* A record that was found. */
struct found {
	struct sbt_memory m;
	uint64_t number;
	bool begun;
};

struct finding {
	struct found *f;
	size_t n, cap;
};

static const char *role_name(uint32_t role)
{
	static const char *const names[] = {
		"of no role", "start", "input", "host memory", "output", "effect", "end", "freed"};

	return role < sizeof names / sizeof *names ? names[role] : "of an unknown role";
}

/* Returns text such as "the memory at 0x7f.. (4096 bytes, start, command #12)". */
static struct buf describe(const struct sbt_memory *m)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "the memory at 0x%llx (%llu bytes, %s, command #%llu)",
		(unsigned long long)m->addr, (unsigned long long)m->size, role_name(m->role),
		(unsigned long long)m->seq);
	buf_cstr(&b);
	return b;
}

/* A few kilobytes of a hostile file can say a million times that there is a piece. */
static struct err *grow_finding(struct finding *f)
{
	size_t cap = f->cap ? f->cap * 2 : 64;
	struct found *p;

	if (f->n < f->cap)
		return NULL;
	if (cap > PIECES_MAX)
		return err_cure(
			err_new(ERR_LIMIT,
				"there are more than %u pieces of memory in that range of commands",
				PIECES_MAX),
			"ask for fewer commands at a time");
	p = realloc(f->f, cap * sizeof *p);
	if (!p)
		return err_nomem();
	f->f = p;
	f->cap = cap;
	return NULL;
}

static struct err *find_in(
	struct sbt_reader *r, uint32_t entry, uint64_t first, uint64_t last, struct finding *f)
{
	const struct buf *b = payload_of(r, entry);
	struct record rec;
	struct sbt_in in;

	if (!b)
		return NULL;
	in = sbt_in_of(b);
	while (in.p < in.end) {
		size_t at = (size_t)(in.p - b->data);

		if (!take_record(&rec, &in)) {
			sbt_reader_note_chunk(
				r, entry, err_new(ERR_BAD_TRACE, "a record does not decode"));
			return NULL;
		}
		if (rec.m.seq < first || rec.m.seq > last)
			continue;
		if (rec.m.role < SBT_MEMORY_START || rec.m.role > SBT_MEMORY_FREED ||
			rec.m.owner > SBT_MEMORY_ANY) {
			sbt_reader_note_once(
				r, "it holds memory of a role that only a newer tsdb knows");
			continue;
		}
		rec.m.chunk = entry;
		rec.m.at = (uint32_t)at; /* a payload has at most 1 GiB */
		if (rec.m.name.len)
			TRY(keep_name(store_of(r), &rec.m.name));
		else
			rec.m.name.p = NULL;
		TRY(grow_finding(f));
		f->f[f->n++] = (struct found){rec.m, rec.number, rec.flags & SBT_PIECE_BEGUN};
	}
	return NULL;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* (seq, role, addr), then one piece's records next to each other: what begins it behind what
 * completes it. */
static int by_order(const void *x, const void *y)
{
	const struct found *a = x, *b = y;
	const uint64_t keys[][2] = {{a->m.seq, b->m.seq}, {a->m.role, b->m.role},
		{a->m.addr, b->m.addr}, {a->number, b->number}, {a->begun, b->begun},
		{a->m.chunk, b->m.chunk}, {a->m.at, b->m.at}};

	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i][0] != keys[i][1])
			return compare(keys[i][0], keys[i][1]);
	return 0;
}

/* Reports an incomplete piece once, even when it is asked for again. */
static void note_incomplete(struct sbt_reader *r, const struct found *f)
{
	struct buf b = describe(&f->m);

	if (f->begun)
		sbt_reader_note_once(r, "%s is missing: the recording ended before it was complete",
			(const char *)b.data);
	else
		sbt_reader_note_once(r, "%s was cut off: %llu bytes behind it never came",
			(const char *)b.data, (unsigned long long)f->m.missing);
	buf_free(&b);
}

static struct err *tell(struct sbt_reader *r, const struct finding *f, sbt_memory_fn *fn, void *arg)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct found *now = &f->f[i], *before = i ? now - 1 : NULL;

		if (before && before->number == now->number && before->m.seq == now->m.seq &&
			before->m.role == now->m.role && before->m.addr == now->m.addr)
			continue; /* its beginning, or a copy */
		if (now->begun || now->m.missing)
			note_incomplete(r, now);
		if (!now->begun)
			TRY(fn(arg, &now->m));
	}
	return NULL;
}

struct err *sbt_reader_memory(
	struct sbt_reader *r, uint64_t first, uint64_t last, sbt_memory_fn *fn, void *arg)
{
	struct finding f = {0};
	struct err *e = NULL;

	for (size_t k = 0; k < r->memories.n && !e; k++) {
		const struct sbt_entry *entry = &r->entries[r->memories.at[k]];

		if (entry->first <= last && entry->last >= first)
			e = find_in(r, r->memories.at[k], first, last, &f);
	}
	if (f.n)
		qsort(f.f, f.n, sizeof *f.f, by_order);
	if (!e)
		e = tell(r, &f, fn, arg);
	free(f.f);
	return e;
}

/* --- bytes --- */

static uint64_t pages_of(uint64_t size)
{
	return size / SBT_PAGE + (size % SBT_PAGE != 0);
}

static struct err *take_runs(struct list *l, const struct record *rec)
{
	struct sbt_in in = {rec->contents, rec->contents + rec->contents_n, false};
	uint64_t page = 0, pages = pages_of(rec->m.size), expected = 0;
	size_t cap = 0;

	l->n = 0;
	while (in.p < in.end) {
		uint64_t v = sbt_take(&in), n = v >> 1, first = 0;

		if (v & 1) {
			first = sbt_take_delta(&in, expected);
			expected = first + n;
		}
		if (in.bad || n == 0 || n > pages - page || (v & 1 && first > UINT64_MAX - n))
			return err_new(ERR_BAD_TRACE, "its list of pages does not decode");
		if (l->n == cap) {
			struct run *runs;

			cap = cap ? cap * 2 : 16;
			runs = realloc(l->runs, cap * sizeof *runs);
			if (!runs)
				return err_nomem();
			l->runs = runs;
		}
		l->runs[l->n++] = (struct run){page, first, !(v & 1)};
		page += n;
	}
	return page == pages ? NULL : err_new(ERR_BAD_TRACE, "its list of pages is not complete");
}

/* The record of m again. ERR_BAD_TRACE when its chunk cannot be read any more. */
static struct err *record_of(struct sbt_reader *r, const struct sbt_memory *m, struct record *ret)
{
	const struct buf *b;
	struct sbt_in in;

	BUG_ON(m->chunk >= r->n || r->entries[m->chunk].type != SBT_CHUNK_MEMORY);
	b = payload_of(r, m->chunk);
	if (!b || m->at >= b->len)
		return err_new(ERR_BAD_TRACE, "its record is damaged");
	in = sbt_in_of(b);
	in.p += m->at;
	if (!take_record(ret, &in) || ret->m.size != m->size || !ret->m.has_bytes)
		return err_new(ERR_BAD_TRACE, "its record is damaged");
	return NULL;
}

static struct err *list_of(struct sbt_reader *r, const struct sbt_memory *m,
	const struct record *rec, const struct list **ret)
{
	struct sbt_piece_store *s = store_of(r);
	struct list *oldest = &s->lists[0];

	for (struct list *l = s->lists; l < s->lists + LISTS; l++) {
		if (l->used && l->chunk == m->chunk && l->at == m->at) {
			l->used = ++s->clock;
			*ret = l;
			return NULL;
		}
		if (l->used < oldest->used)
			oldest = l;
	}
	oldest->used = 0;
	free(oldest->runs);
	oldest->runs = NULL;
	TRY(take_runs(oldest, rec));
	oldest->used = ++s->clock;
	oldest->chunk = m->chunk;
	oldest->at = m->at;
	*ret = oldest;
	return NULL;
}

static const struct run *run_with(const struct list *l, uint64_t page)
{
	size_t lo = 0, hi = l->n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->runs[mid].start <= page)
			lo = mid;
		else
			hi = mid;
	}
	return &l->runs[lo];
}

static struct err *read_pages(struct sbt_reader *r, const struct sbt_memory *m,
	const struct list *l, uint64_t offset, uint8_t *dst, size_t n, uint64_t *ret_page)
{
	while (n) {
		uint64_t page = offset / SBT_PAGE, left = m->size - page * SBT_PAGE;
		uint32_t size = left < SBT_PAGE ? (uint32_t)left : SBT_PAGE,
			 at = (uint32_t)(offset % SBT_PAGE);
		uint32_t take = size - at < n ? size - at : (uint32_t)n;
		const struct run *run = run_with(l, page);
		struct err *e = NULL;

		if (run->zero)
			memset(dst, 0, take);
		else
			e = sbt_reader_page(
				r, run->first + (page - run->start), size, at, dst, take);
		if (e) {
			*ret_page = page;
			return e;
		}
		offset += take;
		dst += take;
		n -= take;
	}
	return NULL;
}

/* *ret_page is set when it is a page that cannot be read. */
static struct err *read_bytes(struct sbt_reader *r, const struct sbt_memory *m, uint64_t offset,
	void *dst, size_t n, uint64_t *ret_page)
{
	const struct list *l = NULL;
	struct record rec;

	TRY(record_of(r, m, &rec));
	if (rec.flags & SBT_PIECE_INLINE) {
		memcpy(dst, rec.contents + offset, n);
		return NULL;
	}
	TRY(list_of(r, m, &rec, &l));
	return read_pages(r, m, l, offset, dst, n, ret_page);
}

/* Why m's bytes, or those of its page (UINT64_MAX: none in particular), cannot be read; takes e. */
static struct err *unreadable(
	struct sbt_reader *r, const struct sbt_memory *m, uint64_t page, struct err *e)
{
	struct buf b = describe(m);

	if (!m->has_bytes)
		e = err_new(
			ERR_NOT_FOUND, "of %s only the hash was recorded", (const char *)b.data);
	else if (page != UINT64_MAX)
		e = err_wrap(e, "page %llu of %s", (unsigned long long)page, (const char *)b.data);
	else
		e = err_wrap(e, "%s", (const char *)b.data);
	if (e->code == ERR_BAD_TRACE)
		sbt_reader_note_once(r, "%s", e->what);
	buf_free(&b);
	return e;
}

struct err *sbt_reader_memory_read(
	struct sbt_reader *r, const struct sbt_memory *m, uint64_t offset, void *dst, size_t n)
{
	uint64_t page = UINT64_MAX;
	struct err *e = NULL;

	BUG_ON(offset > m->size || n > m->size - offset);
	if (m->has_bytes && n)
		e = read_bytes(r, m, offset, dst, n, &page);
	return m->has_bytes && !e ? NULL : unreadable(r, m, page, e);
}

/* Pages first..last of a piece to dst. Zeros are written only where something else was (*any), or
 * comes. */
static struct err *load_pages(struct sbt_reader *r, const struct sbt_memory *m,
	const struct list *l, uint64_t first, uint64_t last, uint8_t *dst, struct sbt_hash *hashes,
	bool *any, struct sbt_load_times *times)
{
	const struct sbt_hash zero = sbt_page_hash(NULL, 0);
	const struct run *run = run_with(l, first), *end = l->runs + l->n;

	for (const struct run *x = run; x < end && x->start <= last; x++)
		*any |= !x->zero;
	for (uint64_t page = first; page <= last; run++) {
		const uint64_t next = run + 1 < end && run[1].start <= last ? run[1].start
									    : last + 1,
			       left = m->size - (next - 1) * SBT_PAGE;
		const uint32_t size = left < SBT_PAGE ? (uint32_t)left
						      : SBT_PAGE; /* of the run's last page here */

		if (!run->zero)
			TRY(sbt_reader_pages_load(r, run->first + (page - run->start), next - page,
				size, dst, hashes, times));
		else if (*any)
			memset(dst, 0, (size_t)(next - page - 1) * SBT_PAGE + size);
		for (uint64_t i = 0; run->zero && i < next - page; i++)
			hashes[i] = zero;
		dst += (next - page) * SBT_PAGE;
		hashes += next - page;
		page = next;
	}
	return NULL;
}

struct err *sbt_reader_memory_load(struct sbt_reader *r, const struct sbt_memory *m,
	uint64_t offset, void *dst, size_t n, struct sbt_hash *hashes, bool *ret_zeros,
	struct sbt_load_times *times)
{
	const struct list *l = NULL;
	struct record rec;
	struct err *e = NULL;
	bool any = false;

	BUG_ON(offset > m->size || n > m->size - offset || offset % SBT_PAGE ||
		(n % SBT_PAGE && offset + n != m->size));
	*ret_zeros = false;
	if (!n)
		return NULL;
	if (m->has_bytes)
		e = record_of(r, m, &rec);
	if (m->has_bytes && !e && rec.flags & SBT_PIECE_INLINE) {
		memcpy(dst, rec.contents + offset, n);
		for (size_t at = 0; at < n; at += SBT_PAGE) /* its chunk's checksum was right */
			*hashes++ = sbt_page_hash((const uint8_t *)dst + at, n - at);
		return NULL;
	}
	if (m->has_bytes && !e)
		e = list_of(r, m, &rec, &l);
	if (m->has_bytes && !e)
		e = load_pages(r, m, l, offset / SBT_PAGE, (offset + n - 1) / SBT_PAGE, dst, hashes,
			&any, times);
	if (!m->has_bytes || e)
		return unreadable(r, m, UINT64_MAX, e);
	*ret_zeros = !any;
	return NULL;
}

/* --- windows, figures --- */

bool sbt_reader_window(struct sbt_reader *r, unsigned i, uint64_t *ret_first, uint64_t *ret_last)
{
	if (i >= r->windows.n)
		return false;
	*ret_first = r->entries[r->windows.at[i]].first;
	*ret_last = r->entries[r->windows.at[i]].last;
	return true;
}

void sbt_reader_memory_figures(const struct sbt_reader *r, uint64_t *ret_pages, uint64_t *ret_bytes)
{
	*ret_pages = *ret_bytes = 0;
	for (size_t k = 0; k < r->pages.n; k++) {
		const struct sbt_entry *e = &r->entries[r->pages.at[k]];

		*ret_pages += e->count;
		*ret_bytes += SBT_HEADER_SIZE + e->stored;
	}
	for (size_t k = 0; k < r->memories.n; k++)
		*ret_bytes += SBT_HEADER_SIZE + r->entries[r->memories.at[k]].stored;
}
