/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory contents into a trace, see memory.h: pieces are cut into pages, a page of zeros or one
 * that was stored before becomes a reference, the rest goes to the packer. The surprise: a piece's
 * record is written when the piece is complete, after its pages. A flush before that writes a
 * record that the piece has begun, so that a reader of a trace that was cut off knows of it.
 */
#include <stdlib.h>
#include <string.h>

#include "sbt/memory.h"
#include "sbt/writer/packer.h"
#include "sbt/reader/reader.h"
#include "sbt/writer/writer.h"

#define CHUNK_BYTES (1u << 20) /* of records, before compression */

struct piece {
	struct sbt_memory m; /* name is a heap string of the piece */
	uint64_t number, got;
	struct sbt_hash hash;
	bool open, announced;
	uint8_t *part; /* the page that is not full yet; room for SBT_PAGE bytes, or for all when
			  they are fewer */
	size_t part_n, part_cap;
	struct buf list;	 /* pages, as in the record, but for the run that goes on */
	uint64_t run, run_first; /* pages in it; number of the first */
	uint64_t expected;	 /* base page number for the delta coding of a run */
	bool run_zero;
};

/* A page that is in the file, or in the packer. */
struct known {
	struct sbt_hash hash;
	uint64_t number;
	uint32_t size; /* 0: a free slot */
};

struct sbt_memory_out {
	struct piece *pieces;
	size_t n, cap;
	uint64_t next;	     /* number of the next piece */
	struct known *known; /* open addressing */
	size_t nknown, known_cap;
	struct sbt_packer *packer;
	struct sbt_hash zero; /* a page of zeros */
	struct buf records;   /* that wait */
	uint32_t nrecords;
	uint64_t first, last; /* seqs in them */
	struct sbt_memory_figures figures;
	struct sbt_reader *earlier; /* another trace, or NULL */
	struct known *its;	    /* the pages of `earlier`, a table like `known` */
	size_t nits, its_cap;
	uint8_t *copy; /* SBT_PAGE bytes */
};

/* --- pages that are known --- */

static struct known *slot(struct known *t, size_t cap, const struct sbt_hash *hash, uint32_t size)
{
	size_t i = (size_t)hash->half[0] & (cap - 1);

	while (t[i].size && !(t[i].size == size && sbt_hash_equal(t[i].hash, *hash)))
		i = (i + 1) & (cap - 1);
	return &t[i];
}

static void grow(struct known **table, size_t *table_cap)
{
	size_t cap = *table_cap ? *table_cap * 2 : 1024;
	struct known *t = xcalloc(cap, sizeof *t), *was = *table;

	for (size_t i = 0; i < *table_cap; i++)
		if (was[i].size)
			*slot(t, cap, &was[i].hash, was[i].size) = was[i];
	free(was);
	*table = t;
	*table_cap = cap;
}

/* The page's number, stored if need be. */
static struct err *number_of(struct sbt_memory_out *m, struct sbt_out *o, const uint8_t *p,
	uint32_t n, struct sbt_hash hash, uint64_t *ret)
{
	uint64_t before = o->size;
	struct known *k;
	struct err *e;

	if (2 * (m->nknown + 1) > m->known_cap)
		grow(&m->known, &m->known_cap);
	k = slot(m->known, m->known_cap, &hash, n);
	if (k->size) {
		m->figures.pages_again++;
		*ret = k->number;
		return NULL;
	}
	e = sbt_packer_add(m->packer, o, p, n, hash, ret);
	*k = (struct known){hash, *ret, n};
	m->nknown++;
	m->figures.bytes_stored += o->size - before;
	return e;
}

/* Early out at the first byte that is not 0, which is soon as a rule. */
static bool is_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* --- a piece's pages --- */

static void end_run(struct piece *p)
{
	if (!p->run)
		return;
	sbt_put(&p->list, p->run << 1 | !p->run_zero);
	if (!p->run_zero) {
		sbt_put_delta(&p->list, p->run_first, p->expected);
		p->expected = p->run_first + p->run;
	}
	p->run = 0;
}

static void refer(struct piece *p, bool zero, uint64_t number)
{
	if (p->run && p->run_zero == zero && (zero || p->run_first + p->run == number)) {
		p->run++;
		return;
	}
	end_run(p);
	p->run = 1;
	p->run_zero = zero;
	p->run_first = number;
}

/* Page i of the piece, whole. */
static struct err *add_page(struct sbt_memory_out *m, struct sbt_out *o, struct piece *p,
	uint64_t i, const uint8_t *page, uint32_t n)
{
	struct sbt_hash hash;
	uint64_t number = 0;
	struct err *e;

	m->figures.pages++;
	if (is_zero(page, n)) {
		m->figures.pages_zero++;
		sbt_range_hash_add(&p->hash, i, m->zero);
		refer(p, true, 0);
		return NULL;
	}
	hash = sbt_page_hash(page, n);
	sbt_range_hash_add(&p->hash, i, hash);
	e = number_of(m, o, page, n, hash, &number);
	refer(p, false, number);
	return e;
}

static struct err *take_bytes(
	struct sbt_memory_out *m, struct sbt_out *o, struct piece *p, const uint8_t *from, size_t n)
{
	while (n) {
		uint64_t i = p->got / SBT_PAGE, left = p->m.size - i * SBT_PAGE;
		uint32_t page = left < SBT_PAGE ? (uint32_t)left : SBT_PAGE;
		size_t take = page - p->part_n < n ? page - p->part_n : n;

		p->got += take;
		if (take < page) {
			memcpy(p->part + p->part_n, from, take);
			p->part_n += take;
		}
		if (p->m.size > SBT_MEMORY_INLINE_MAX && (take == page || p->part_n == page)) {
			p->part_n = 0;
			TRY(add_page(m, o, p, i, take == page ? from : p->part, page));
		} else if (take == page) { /* inline, and all of it */
			memcpy(p->part, from, take);
			p->part_n = take;
		}
		from += take;
		n -= take;
	}
	return NULL;
}

/* --- pages that are known by their hashes --- */

static void note_earlier(void *arg, uint64_t number, const struct sbt_page_entry *e)
{
	struct sbt_memory_out *m = arg;
	const struct sbt_hash hash = {{e->hash[0], e->hash[1]}};

	if (2 * (m->nits + 1) > m->its_cap)
		grow(&m->its, &m->its_cap);
	*slot(m->its, m->its_cap, &hash, e->size) = (struct known){hash, number, e->size};
	m->nits++;
}

/* Page i of the piece, whole, n bytes. */
static struct err *add_known(struct sbt_memory_out *m, struct sbt_out *o, struct piece *p,
	uint64_t i, struct sbt_hash hash, uint32_t n)
{
	const struct known *k = m->known_cap ? slot(m->known, m->known_cap, &hash, n) : NULL;
	const bool zero = sbt_hash_equal(hash, m->zero);

	if (zero || (k && k->size)) {
		m->figures.pages++;
		m->figures.pages_zero += zero;
		m->figures.pages_again += !zero;
		sbt_range_hash_add(&p->hash, i, hash);
		refer(p, zero, zero ? 0 : k->number);
		return NULL;
	}
	k = m->its_cap ? slot(m->its, m->its_cap, &hash, n) : NULL;
	if (!k || !k->size)
		return err_new(ERR_NOT_FOUND, "a page of the memory at 0x%llx is in no trace",
			(unsigned long long)p->m.addr);
	if (!m->copy)
		m->copy = xmalloc(SBT_PAGE);
	TRY(sbt_reader_page(m->earlier, k->number, n, 0, m->copy, n));
	return add_page(m, o, p, i, m->copy, n);
}

static struct err *take_known(struct sbt_memory_out *m, struct sbt_out *o, struct piece *p,
	const struct sbt_hash *pages, uint64_t n)
{
	while (n) {
		const uint32_t bytes = n < SBT_PAGE ? (uint32_t)n : SBT_PAGE;

		TRY(add_known(m, o, p, p->got / SBT_PAGE, *pages++, bytes));
		m->figures.bytes += bytes;
		p->got += bytes;
		n -= bytes;
	}
	return NULL;
}

/* --- records --- */

static void put_blob(struct buf *b, const void *p, uint64_t n)
{
	sbt_put(b, n);
	buf_add(b, p, n);
}

/* What all records have; size is what is there, missing what is not. */
static void put_head(
	struct buf *b, const struct piece *p, unsigned flags, uint64_t size, uint64_t missing)
{
	const struct sbt_memory *m = &p->m;

	sbt_put(b, flags | (m->doubt ? SBT_PIECE_DOUBT : 0));
	sbt_put(b, p->number);
	sbt_put(b, m->seq);
	sbt_put(b, m->role);
	sbt_put(b, m->owner);
	sbt_put(b, m->addr);
	sbt_put(b, size);
	sbt_put(b, m->module == SBT_NO_ID ? 0 : (uint64_t)m->module + 1);
	put_blob(b, m->name.p, m->name.len);
	if (flags & SBT_PIECE_CUT)
		sbt_put(b, missing);
}

static void put_contents(struct buf *b, const struct piece *p, unsigned flags)
{
	if (flags & SBT_PIECE_BEGUN)
		return;
	buf_add(b, p->hash.half, sizeof p->hash.half);
	if (flags & SBT_PIECE_INLINE)
		put_blob(b, p->part, p->part_n);
	else if (flags & SBT_PIECE_BYTES)
		put_blob(b, p->list.data, p->list.len);
}

static void put_record(struct sbt_memory_out *m, const struct piece *p, unsigned flags,
	uint64_t size, uint64_t missing)
{
	struct buf b = BUF_INIT;

	put_head(&b, p, flags, size, missing);
	put_contents(&b, p, flags);
	if (p->m.ctx)
		sbt_put(&b, p->m.ctx);
	put_blob(&m->records, b.data, b.len);
	buf_free(&b);
	m->first = !m->nrecords || p->m.seq < m->first ? p->m.seq : m->first;
	m->last = !m->nrecords || p->m.seq > m->last ? p->m.seq : m->last;
	m->nrecords++;
}

/* Pages first, then what refers to them. */
static struct err *flush_records(struct sbt_memory_out *m, struct sbt_out *o)
{
	uint64_t before = o->size;
	struct err *e = sbt_packer_finish(m->packer, o);

	if (!e && m->nrecords)
		e = sbt_out_chunk(o, SBT_CHUNK_MEMORY, m->first, m->last, m->nrecords,
			m->records.data, m->records.len);
	buf_clear(&m->records);
	m->nrecords = 0;
	m->figures.bytes_stored += o->size - before;
	return e;
}

struct err *sbt_memory_out_flush(struct sbt_memory_out *m, struct sbt_out *o)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->n; i++) {
		struct piece *p = &m->pieces[i];

		if (p->open && !p->announced)
			put_record(m, p, SBT_PIECE_BEGUN, p->m.size, 0);
		p->announced = true;
	}
	return flush_records(m, o);
}

/* Writes the piece's record, with the bytes that came. */
static struct err *complete(struct sbt_memory_out *m, struct sbt_out *o, struct piece *p)
{
	bool in_line = p->m.size <= SBT_MEMORY_INLINE_MAX;
	unsigned flags = SBT_PIECE_BYTES | (in_line ? SBT_PIECE_INLINE : 0) |
			 (p->got < p->m.size ? SBT_PIECE_CUT : 0);
	struct err *e = NULL;

	if (in_line)
		sbt_range_hash_add(&p->hash, 0, sbt_page_hash(p->part, p->part_n));
	else if (p->part_n) /* cut inside a page */
		e = add_page(m, o, p, p->got / SBT_PAGE, p->part, (uint32_t)p->part_n);
	if (!p->got)
		p->hash = (struct sbt_hash){{0, 0}};
	end_run(p);
	sbt_range_hash_end(&p->hash, p->got);
	if (!e)
		put_record(m, p, flags, p->got, p->m.size - p->got);
	p->open = false;
	free(p->part);
	p->part = NULL;
	buf_free(&p->list);
	free((void *)(uintptr_t)p->m.name.p);
	p->m.name = (struct sbt_blob){0};
	if (!e && m->records.len >= CHUNK_BYTES)
		e = flush_records(m, o);
	return e;
}

struct err *sbt_memory_out_cut(struct sbt_memory_out *m, struct sbt_out *o)
{
	for (size_t i = 0; m && i < m->n; i++)
		if (m->pieces[i].open)
			TRY(complete(m, o, &m->pieces[i]));
	return NULL;
}

/* --- the writer's calls --- */

static struct err *memory_of(struct sbt_writer *w, struct sbt_memory_out **ret)
{
	struct sbt_memory_out **m = sbt_writer_memory_out(w);

	if (!*m) {
		struct sbt_packer *packer = sbt_packer_create();

		if (!packer)
			return err_nomem();
		*m = xcalloc(1, sizeof **m);
		(*m)->packer = packer;
		(*m)->zero = sbt_page_hash(NULL, 0);
	}
	*ret = *m;
	return NULL;
}

static struct piece *free_piece(struct sbt_memory_out *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->pieces[i].open)
			return &m->pieces[i];
	MAKE_ROOM(m->pieces, m->n, m->cap);
	return &m->pieces[m->n++];
}

struct err *sbt_writer_memory(struct sbt_writer *w, const struct sbt_memory *from, uint32_t *ret_id)
{
	struct sbt_memory_out *m = NULL;
	struct piece *p;

	*ret_id = SBT_NO_ID;
	if (from->name.len > SBT_NAME_MAX)
		return err_new(ERR_LIMIT, "a global's name of %llu bytes is too long for a trace",
			(unsigned long long)from->name.len);
	TRY(memory_of(w, &m));
	p = free_piece(m);
	*p = (struct piece){.m = *from, .number = m->next++};
	if (!from->has_bytes) {
		p->hash = from->hash;
		put_record(m, p, 0, from->size, 0);
		return m->records.len >= CHUNK_BYTES ? flush_records(m, sbt_writer_out(w)) : NULL;
	}
	if (from->name.len) {
		char *name = xmalloc(from->name.len);

		memcpy(name, from->name.p, from->name.len);
		p->m.name.p = name;
	} else {
		p->m.name.p = NULL;
	}
	p->open = true;
	p->part_cap = from->size < SBT_PAGE ? (size_t)from->size : SBT_PAGE;
	p->part = xmalloc(p->part_cap ? p->part_cap : 1);
	if (!from->size)
		return complete(m, sbt_writer_out(w), p);
	*ret_id = (uint32_t)(p - m->pieces);
	return NULL;
}

static struct piece *open_piece(struct sbt_memory_out *m, uint32_t id)
{
	return m && id < m->n && m->pieces[id].open ? &m->pieces[id] : NULL;
}

struct err *sbt_writer_memory_bytes(struct sbt_writer *w, uint32_t id, const void *bytes, size_t n)
{
	struct sbt_memory_out *m = *sbt_writer_memory_out(w);
	struct sbt_out *o = sbt_writer_out(w);
	struct piece *p = open_piece(m, id);

	if (!p)
		return err_new(ERR_STATE, "bytes for a piece of memory that is not open");
	if (n > p->m.size - p->got)
		return err_new(ERR_STATE,
			"%zu bytes for the memory at 0x%llx, of which only %llu are left", n,
			(unsigned long long)p->m.addr, (unsigned long long)(p->m.size - p->got));
	m->figures.bytes += n;
	if (o->failed)
		p->got += n;
	else
		TRY(take_bytes(m, o, p, bytes, n));
	return p->got == p->m.size ? complete(m, o, p) : NULL;
}

struct err *sbt_writer_memory_known(
	struct sbt_writer *w, uint32_t id, const struct sbt_hash *pages, uint64_t n)
{
	struct sbt_memory_out *m = *sbt_writer_memory_out(w);
	struct sbt_out *o = sbt_writer_out(w);
	struct piece *p = open_piece(m, id);

	if (!p)
		return err_new(ERR_STATE, "pages for a piece of memory that is not open");
	if (p->m.size <= SBT_MEMORY_INLINE_MAX || p->got % SBT_PAGE || n > p->m.size - p->got ||
		(n % SBT_PAGE && n != p->m.size - p->got))
		return err_new(ERR_STATE,
			"%llu bytes in pages for the memory at 0x%llx, at %llu of %llu",
			(unsigned long long)n, (unsigned long long)p->m.addr,
			(unsigned long long)p->got, (unsigned long long)p->m.size);
	if (o->failed)
		p->got += n;
	else
		TRY(take_known(m, o, p, pages, n));
	return p->got == p->m.size ? complete(m, o, p) : NULL;
}

struct err *sbt_writer_memory_earlier(struct sbt_writer *w, struct sbt_reader *earlier)
{
	struct sbt_memory_out *m = NULL;

	TRY(memory_of(w, &m));
	if (m->earlier)
		return err_new(ERR_STATE, "a trace has one earlier trace at most");
	m->earlier = earlier;
	return sbt_reader_pages_each(earlier, note_earlier, m);
}

struct err *sbt_writer_memory_cut(struct sbt_writer *w, uint32_t id)
{
	struct sbt_memory_out *m = *sbt_writer_memory_out(w);
	struct piece *p = open_piece(m, id);

	return p ? complete(m, sbt_writer_out(w), p)
		 : err_new(ERR_STATE, "a piece of memory is cut that is not open");
}

struct err *sbt_writer_window(struct sbt_writer *w, uint64_t first, uint64_t last)
{
	if (first == 0 || last < first)
		return err_new(ERR_STATE, "a window from #%llu to #%llu", (unsigned long long)first,
			(unsigned long long)last);
	TRY(sbt_writer_flush(w));
	return sbt_out_chunk(sbt_writer_out(w), SBT_CHUNK_WINDOW, first, last, 1, NULL, 0);
}

void sbt_writer_memory_figures(const struct sbt_writer *w, struct sbt_memory_figures *ret)
{
	struct sbt_memory_out *m = *sbt_writer_memory_out((struct sbt_writer *)(uintptr_t)w);

	*ret = m ? m->figures : (struct sbt_memory_figures){0};
}

uint64_t sbt_memory_out_waiting(const struct sbt_memory_out *m)
{
	return m ? m->records.len + sbt_packer_waiting(m->packer) : 0;
}

void sbt_memory_out_free(struct sbt_memory_out *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		struct piece *p = &m->pieces[i];

		if (!p->open)
			continue;
		free(p->part);
		buf_free(&p->list);
		free((void *)(uintptr_t)p->m.name.p);
	}
	sbt_packer_destroy(m->packer);
	if (m->earlier)
		sbt_reader_close(m->earlier);
	free(m->its);
	free(m->copy);
	free(m->pieces);
	free(m->known);
	buf_free(&m->records);
	free(m);
}
