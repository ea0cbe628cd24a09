/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory contents through the writer and the reader: what goes in comes out, once each, and what
 * cannot come out is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <signal.h>
#include <errno.h>
#include <cmocka.h>

#include "sbt/memory.h"
#include "sbt-make.h"
#include "sbt-repair.h"

static char path[64];

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

static struct sbt_writer *begin(void)
{
	struct sbt_meta meta = {.program = "./app",
		.cwd = "/",
		.host = "h",
		.gpu = "g",
		.tsdb = "0",
		.start_ns = 5,
		.pid = 6};
	struct sbt_writer *w;

	ok(sbt_writer_open(&w, path, &meta));
	return w;
}

static uint64_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static struct sbt_memory piece(uint64_t seq, uint32_t role, uint64_t addr, uint64_t size)
{
	return (struct sbt_memory){.seq = seq,
		.role = role,
		.owner = SBT_MEMORY_ALLOCATION,
		.addr = addr,
		.size = size,
		.module = SBT_NO_ID,
		.has_bytes = true};
}

static void put(struct sbt_writer *w, const struct sbt_memory *m, const void *p)
{
	uint32_t id;

	ok(sbt_writer_memory(w, m, &id));
	if (m->size)
		ok(sbt_writer_memory_bytes(w, id, p, m->size));
}

static uint8_t *noise(uint64_t seed, size_t n)
{
	uint8_t *p = malloc(n + 8);

	assert_non_null(p);
	for (size_t i = 0; i < n; i += 8) {
		uint64_t v = make_random(&seed);

		memcpy(p + i, &v, 8);
	}
	return p;
}

/* --- collecting what the reader gives --- */

struct got {
	struct sbt_memory m[512];
	unsigned n;
};

static struct err *collect(void *arg, const struct sbt_memory *m)
{
	struct got *g = arg;

	assert_true(g->n < 512);
	g->m[g->n++] = *m;
	return NULL;
}

static struct sbt_reader *open_all(struct got *g)
{
	struct sbt_reader *r;

	ok(sbt_reader_open(&r, path));
	g->n = 0;
	ok(sbt_reader_memory(r, 0, UINT64_MAX, collect, g));
	return r;
}

/* Whole pages, and their hashes; of zeros nothing is written. */
static void assert_loaded(struct sbt_reader *r, const struct sbt_memory *m, const uint8_t *want,
	uint64_t offset, size_t n)
{
	const size_t pages = (n + SBT_PAGE - 1) / SBT_PAGE;
	struct sbt_hash *hashes = malloc((pages + 1) * sizeof *hashes);
	const struct sbt_hash untouched = {{0x5a5a, 0x5a5a}};
	struct sbt_load_times times = {0};
	uint8_t *p = malloc(n + 1);
	bool zeros, is_zero = true;

	memset(p, 0xe5, n + 1);
	hashes[pages] = untouched;
	ok(sbt_reader_memory_load(r, m, offset, p, n, hashes, &zeros, &times));
	for (size_t i = 0; i < n; i++)
		is_zero &= !want[offset + i];
	assert_true(!zeros || is_zero);
	for (size_t i = 0; i < n && zeros; i++)
		assert_int_equal(p[i], 0xe5);
	if (!zeros)
		assert_memory_equal(p, want + offset, n);
	assert_int_equal(p[n], 0xe5);
	for (size_t i = 0; i < pages; i++) {
		const size_t at = i * SBT_PAGE, left = n - at < SBT_PAGE ? n - at : SBT_PAGE;

		assert_true(sbt_hash_equal(hashes[i], sbt_page_hash(want + offset + at, left)));
	}
	assert_true(sbt_hash_equal(hashes[pages], untouched));
	free(hashes);
	free(p);
}

static void assert_parts(struct sbt_reader *r, const struct sbt_memory *m, const uint8_t *want)
{
	uint64_t seed = m->size;

	for (unsigned i = 0; i < 6 && m->size; i++) {
		const uint64_t from = make_random(&seed) % m->size,
			       n = 1 + make_random(&seed) % (m->size - from),
			       page = from - from % SBT_PAGE;
		uint8_t *p = malloc(n + 1);

		p[n] = 0xe5;
		ok(sbt_reader_memory_read(r, m, from, p, n));
		assert_memory_equal(p, want + from, n);
		assert_int_equal(p[n], 0xe5);
		free(p);
		if (i < 2)
			assert_loaded(r, m, want, page, m->size - page);
		else if (m->size - page >= SBT_PAGE)
			assert_loaded(r, m, want, page, SBT_PAGE);
	}
	if (m->size)
		assert_loaded(r, m, want, 0, m->size);
}

static void assert_bytes(struct sbt_reader *r, const struct sbt_memory *m, const uint8_t *want)
{
	uint8_t *p = malloc(m->size + 1);

	ok(sbt_reader_memory_read(r, m, 0, p, m->size));
	assert_memory_equal(p, want, m->size);
	assert_true(sbt_hash_equal(m->hash, sbt_range_hash(want, m->size)));
	free(p);
	if (m->size <= 400 * SBT_PAGE)
		assert_parts(r, m, want);
}

static void assert_unreadable(struct sbt_reader *r, const struct sbt_memory *m, uint64_t offset,
	size_t n, const char *why)
{
	uint8_t *p = malloc(n);
	struct err *e = sbt_reader_memory_read(r, m, offset, p, n);

	assert_non_null(e);
	assert_int_equal(e->code, ERR_BAD_TRACE);
	if (!strstr(e->what, why))
		fail_msg("\"%s\" does not say \"%s\"", e->what, why);
	assert_non_null(sbt_reader_damage(r));
	assert_non_null(strstr(sbt_reader_damage(r), e->what));
	err_free(e);
	free(p);
}

/* --- whole traces --- */

static void test_small_pieces(void **unused)
{
	static struct got g;
	struct sbt_writer *w = begin();
	struct sbt_memory global = piece(7, SBT_MEMORY_START, 0x5000, 12),
			  hash_only = piece(9, SBT_MEMORY_END, 0x1000, 1ull << 40);
	struct sbt_memory empty = piece(8, SBT_MEMORY_INPUT, 0, 0),
			  one = piece(7, SBT_MEMORY_INPUT, 0x2000, 1);
	struct sbt_reader *r;
	uint64_t first, last;
	uint8_t byte;
	struct err *e;
	uint32_t id;

	global.owner = SBT_MEMORY_GLOBAL;
	global.module = 3;
	global.name = (struct sbt_blob){"counters", 8};
	hash_only.has_bytes = false;
	hash_only.doubt = true;
	hash_only.hash = (struct sbt_hash){{0x1122334455667788, 99}};
	ok(sbt_writer_memory(w, &hash_only, &id));
	assert_int_equal(id, SBT_NO_ID);
	ok(sbt_writer_memory(w, &empty, &id));
	assert_int_equal(id, SBT_NO_ID);
	put(w, &one, "!");
	put(w, &global, "twelve bytes");
	ok(sbt_writer_window(w, 7, 9));
	ok(sbt_writer_window(w, 2, 3));
	ok(sbt_writer_close(w));

	r = open_all(&g);
	assert_null(sbt_reader_damage(r));
	assert_int_equal(g.n, 4);
	assert_int_equal(g.m[0].addr, 0x5000); /* START before INPUT */
	assert_int_equal(g.m[0].module, 3);
	assert_int_equal(g.m[0].owner, SBT_MEMORY_GLOBAL);
	assert_int_equal(g.m[0].name.len, 8);
	assert_memory_equal(g.m[0].name.p, "counters", 9); /* with a NUL behind it */
	assert_bytes(r, &g.m[0], (const uint8_t *)"twelve bytes");
	assert_bytes(r, &g.m[1], (const uint8_t *)"!");
	assert_int_equal(g.m[1].module, SBT_NO_ID);
	assert_int_equal(g.m[1].name.len, 0);
	assert_int_equal(g.m[2].size, 0);
	assert_bytes(r, &g.m[2], (const uint8_t *)"");
	assert_int_equal(g.m[3].size, 1ull << 40);
	assert_false(g.m[3].has_bytes);
	assert_true(g.m[3].doubt && !g.m[0].doubt);
	assert_int_equal(g.m[3].hash.half[0], 0x1122334455667788);
	assert_int_equal(g.m[3].hash.half[1], 99);
	e = sbt_reader_memory_read(r, &g.m[3], 5, &byte, 1);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	assert_non_null(strstr(e->what, "0x1000"));
	err_free(e);
	assert_null(sbt_reader_damage(r));

	g.n = 0; /* bounds are inclusive */
	ok(sbt_reader_memory(r, 8, 8, collect, &g));
	assert_int_equal(g.n, 1);
	ok(sbt_reader_memory(r, 10, 50, collect, &g));
	assert_int_equal(g.n, 1);
	assert_true(
		sbt_reader_window(r, 0, &first, &last)); /* in order, whatever order they came in */
	assert_int_equal(first, 2);
	assert_int_equal(last, 3);
	assert_true(sbt_reader_window(r, 1, &first, &last));
	assert_int_equal(first, 7);
	assert_int_equal(last, 9);
	assert_false(sbt_reader_window(r, 2, &first, &last));
	sbt_reader_close(r);
}

static void test_a_page_is_stored_once(void **unused)
{
	size_t n = 20 * SBT_PAGE + 5000;
	uint8_t *p = noise(1, n);
	struct sbt_memory_figures f;
	static struct got g;
	struct sbt_writer *w = begin();
	struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x10000, n);
	uint64_t once, pages, bytes;
	struct sbt_reader *r;

	memset(p + 3 * SBT_PAGE, 0, 4 * SBT_PAGE);
	memcpy(p + 10 * SBT_PAGE, p, SBT_PAGE);
	put(w, &m, p);
	ok(sbt_writer_flush(w));
	sbt_writer_memory_figures(w, &f);
	assert_int_equal(f.pages, 21);
	assert_int_equal(f.pages_zero, 4);
	assert_int_equal(f.pages_again, 1);
	assert_int_equal(f.bytes, n);
	assert_true(f.bytes_stored >= 15 * SBT_PAGE + 5000); /* noise does not compress */
	assert_true(f.bytes_stored < 15 * SBT_PAGE + 5000 + 1500);
	once = file_size();
	for (uint64_t seq = 2; seq <= 10; seq++) {
		m.seq = seq;
		put(w, &m, p);
	}
	ok(sbt_writer_close(w));
	assert_true(file_size() < once + 1500);

	r = open_all(&g);
	assert_int_equal(g.n, 10);
	for (unsigned i = 0; i < g.n; i++)
		assert_bytes(r, &g.m[i], p);
	sbt_reader_memory_figures(r, &pages, &bytes);
	assert_int_equal(pages, 16);
	assert_true(bytes > f.bytes_stored && bytes < file_size());
	assert_null(sbt_reader_damage(r));
	sbt_reader_close(r);
	free(p);
}

/* Zeros cost nothing but their record, and the last page may be short. */
static void test_zeros(void **unused)
{
	size_t n = 300 * SBT_PAGE + 7;
	uint8_t *zeros = calloc(n, 1);
	static struct got g;
	struct sbt_writer *w = begin();
	struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x10000, n);
	struct sbt_reader *r;

	put(w, &m, zeros);
	ok(sbt_writer_close(w));
	assert_true(file_size() < 1000);
	r = open_all(&g);
	assert_int_equal(g.n, 1);
	assert_bytes(r, &g.m[0], zeros);
	sbt_reader_close(r);
	free(zeros);
}

/* A page that compresses is stored so: a megabyte of a slow ramp. */
static void test_compressed(void **unused)
{
	size_t n = 1 << 20;
	uint32_t *p = malloc(n);
	static struct got g;
	struct sbt_writer *w = begin();
	struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x10000, n);
	struct sbt_reader *r;

	for (uint32_t i = 0; i < n / 4; i++)
		p[i] = i / 32;
	put(w, &m, p);
	ok(sbt_writer_close(w));
	assert_true(file_size() < n / 8);
	r = open_all(&g);
	assert_bytes(r, &g.m[0], (uint8_t *)p);
	sbt_reader_close(r);
	free(p);
}

/* --- any pieces in any order --- */

#define PIECES 200

struct made {
	struct sbt_memory m;
	uint8_t *bytes;
	uint64_t given;
	uint32_t id;
};

static uint64_t random_size(uint64_t *seed)
{
	static const uint64_t borders[] = {
		0, 1, 4095, 4096, 4097, SBT_PAGE - 1, SBT_PAGE, SBT_PAGE + 1, 2 * SBT_PAGE};
	uint64_t r = make_random(seed);

	if (r % 3 == 0)
		return borders[(r >> 8) % (sizeof borders / sizeof *borders)];
	return r % 3 == 1 ? (r >> 8) % 4000 : (r >> 8) % (10 * SBT_PAGE);
}

/* From a few kinds of page, so that some are equal and some are zeros. */
static uint8_t *random_bytes(uint64_t *seed, uint64_t n)
{
	uint8_t *p = malloc(n + SBT_PAGE);

	for (uint64_t at = 0; at < n; at += SBT_PAGE) {
		uint64_t kind = make_random(seed) % 12;
		uint8_t *page = kind % 4 ? noise(kind + 1, SBT_PAGE) : calloc(SBT_PAGE, 1);

		if (kind % 4 == 2)
			memset(page + 100, (int)kind, SBT_PAGE - 200);
		memcpy(p + at, page, SBT_PAGE);
		free(page);
	}
	return p;
}

static int by_place(const void *x, const void *y)
{
	const struct made *a = x, *b = y;

	if (a->m.seq != b->m.seq)
		return a->m.seq < b->m.seq ? -1 : 1;
	if (a->m.role != b->m.role)
		return a->m.role < b->m.role ? -1 : 1;
	return a->m.addr < b->m.addr ? -1 : a->m.addr > b->m.addr;
}

static void give_some(struct sbt_writer *w, struct made *p, uint64_t *seed)
{
	uint64_t left = p->m.size - p->given,
		 n = make_random(seed) % 3 ? left : make_random(seed) % (left + 1);

	if (!left)
		return;
	if (make_random(seed) % 4 == 0 && n > 3)
		n = 3;
	ok(sbt_writer_memory_bytes(w, p->id, p->bytes + p->given, n));
	p->given += n;
}

static void make_pieces(struct made *all, uint64_t *seed)
{
	struct sbt_writer *w = begin();

	for (unsigned i = 0; i < PIECES; i++) {
		struct made *p = &all[i];

		p->given = 0;
		p->m = piece(1 + make_random(seed) % 40, 1 + (uint32_t)(make_random(seed) % 6),
			0x100000 * (i + 1), random_size(seed));
		p->bytes = random_bytes(seed, p->m.size);
		ok(sbt_writer_memory(w, &p->m, &p->id));
		if (make_random(seed) % 30 == 0)
			ok(sbt_writer_flush(w));
		give_some(w, &all[make_random(seed) % (i + 1)], seed);
	}
	for (unsigned i = 0; i < PIECES; i++)
		while (all[i].given < all[i].m.size)
			give_some(w, &all[i], seed);
	ok(sbt_writer_close(w));
	qsort(all, PIECES, sizeof *all, by_place);
}

static void check_pieces(const struct made *all, uint64_t *seed)
{
	static struct got g;
	struct sbt_reader *r = open_all(&g);
	uint8_t *p = malloc(11 * SBT_PAGE);

	assert_null(sbt_reader_damage(r));
	assert_int_equal(g.n, PIECES);
	for (unsigned i = 0; i < PIECES; i++) {
		assert_int_equal(g.m[i].addr, all[i].m.addr);
		assert_int_equal(g.m[i].seq, all[i].m.seq);
		assert_int_equal(g.m[i].role, all[i].m.role);
		assert_int_equal(g.m[i].size, all[i].m.size);
		assert_int_equal(g.m[i].missing, 0);
		assert_bytes(r, &g.m[i], all[i].bytes);
	}
	for (unsigned i = 0; i < 2000; i++) {
		unsigned k = (unsigned)(make_random(seed) % PIECES);
		uint64_t offset = make_random(seed) % (all[k].m.size + 1),
			 n = make_random(seed) % (all[k].m.size - offset + 1);

		ok(sbt_reader_memory_read(r, &g.m[k], offset, p, n));
		assert_memory_equal(p, all[k].bytes + offset, n);
	}
	free(p);
	sbt_reader_close(r);
}

static void test_any_pieces_in_any_order(void **unused)
{
	static struct made all[PIECES];

	for (uint64_t seed = 1; seed <= 6; seed++) {
		uint64_t s = seed * 77;

		make_pieces(all, &s);
		check_pieces(all, &s);
		for (unsigned i = 0; i < PIECES; i++)
			free(all[i].bytes);
	}
}

/* More than the ring of chunks holds, so that helpers run and are waited for; in the slots' size,
 * in two pieces at once. */
static void test_large(void **unused)
{
	size_t n = 80u << 20, step = 1u << 20;
	uint8_t *p = noise(5, n);
	static struct got g;
	struct sbt_writer *w = begin();
	struct sbt_memory a = piece(1, SBT_MEMORY_START, 0x10000000, n / 2),
			  b = piece(1, SBT_MEMORY_START, 0x20000000, n / 2);
	struct sbt_memory little = piece(2, SBT_MEMORY_START, 0x30000000, 2 * SBT_PAGE);
	struct sbt_reader *r;
	uint32_t ids[2];

	put(w, &little, p); /* one chunk before there are helpers */
	ok(sbt_writer_flush(w));
	for (size_t at = 0; at < n; at += 3 * SBT_PAGE)
		memset(p + at, (int)(at >> 17) | 1, SBT_PAGE); /* every third page compresses */
	ok(sbt_writer_memory(w, &a, &ids[0]));
	ok(sbt_writer_memory(w, &b, &ids[1]));
	for (size_t at = 0; at < n / 2; at += step)
		for (unsigned k = 0; k < 2; k++)
			ok(sbt_writer_memory_bytes(w, ids[k], p + k * (n / 2) + at, step));
	assert_true(sbt_writer_bytes(w) > n / 2);
	ok(sbt_writer_close(w));
	assert_true(file_size() < n * 3 / 4);
	r = open_all(&g);
	assert_int_equal(g.n, 3);
	assert_bytes(r, &g.m[0], p);
	assert_bytes(r, &g.m[1], p + n / 2);
	assert_null(sbt_reader_damage(r));
	sbt_reader_close(r);
	free(p);
}

/* --- cut --- */

static void test_misuse_is_refused(void **unused)
{
	struct sbt_writer *w = begin();
	struct sbt_memory m = piece(1, SBT_MEMORY_INPUT, 0x1000, 4);
	struct err *errs[5];
	uint32_t id;

	ok(sbt_writer_memory(w, &m, &id));
	errs[0] = sbt_writer_memory_bytes(w, id, "12345", 5);
	errs[1] = sbt_writer_memory_bytes(w, id + 1, "1", 1);
	ok(sbt_writer_memory_bytes(w, id, "1234", 4));
	errs[2] = sbt_writer_memory_bytes(w, id, "5", 1);
	errs[3] = sbt_writer_memory_cut(w, id);
	errs[4] = sbt_writer_window(w, 5, 4);
	for (unsigned i = 0; i < 5; i++) {
		assert_non_null(errs[i]);
		assert_int_equal(errs[i]->code, ERR_STATE);
		err_free(errs[i]);
	}
	ok(sbt_writer_close(w));
}

static void test_pieces_that_were_cut(void **unused)
{
	size_t n = 5 * SBT_PAGE;
	uint8_t *p = noise(9, n);
	static struct got g;
	struct sbt_writer *w = begin();
	struct sbt_memory m[4] = {piece(1, SBT_MEMORY_START, 0x100000, n),
		piece(2, SBT_MEMORY_START, 0x200000, 100), piece(3, SBT_MEMORY_START, 0x300000, n),
		piece(4, SBT_MEMORY_START, 0x400000, n)};
	static const size_t came[4] = {2 * SBT_PAGE + 123, 40, 0, SBT_PAGE};
	struct sbt_reader *r;
	uint32_t id[4];

	for (unsigned i = 0; i < 4; i++) {
		ok(sbt_writer_memory(w, &m[i], &id[i]));
		ok(sbt_writer_memory_bytes(w, id[i], p, came[i]));
		if (i < 3) /* the last is open when the writer closes */
			ok(sbt_writer_memory_cut(w, id[i]));
	}
	ok(sbt_writer_close(w));
	r = open_all(&g);
	assert_int_equal(g.n, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(g.m[i].size, came[i]);
		assert_int_equal(g.m[i].missing, m[i].size - came[i]);
		assert_bytes(r, &g.m[i], p);
	}
	assert_non_null(strstr(sbt_reader_damage(r),
		"the memory at 0x200000 (40 bytes, start, command #2) was cut off: 60 bytes"));
	sbt_reader_close(r);
	free(p);
}

/* The recorder died: the file ends after a flush. What was complete is there; what had begun is
 * told, once. */
static void test_recording_that_died(void **unused)
{
	size_t n = 3 * SBT_PAGE;
	uint8_t *p = noise(3, n);
	static struct got g;
	struct sbt_writer *w = begin();
	struct sbt_memory a = piece(1, SBT_MEMORY_START, 0x100000, n),
			  b = piece(2, SBT_MEMORY_START, 0x200000, n);
	struct sbt_reader *r;
	uint64_t died;
	uint32_t id;
	char *at;

	put(w, &a, p);
	ok(sbt_writer_memory(w, &b, &id));
	ok(sbt_writer_memory_bytes(w, id, p, SBT_PAGE));
	ok(sbt_writer_window(w, 1, 2)); /* flushes */
	died = file_size();
	ok(sbt_writer_memory_bytes(w, id, p + SBT_PAGE, 2 * SBT_PAGE));
	ok(sbt_writer_close(w));
	r = open_all(&g);
	assert_int_equal(g.n, 2);
	assert_null(sbt_reader_damage(r));
	sbt_reader_close(r);

	assert_int_equal(truncate(path, (off_t)died), 0);
	r = open_all(&g);
	assert_int_equal(g.n, 1);
	assert_bytes(r, &g.m[0], p);
	ok(sbt_reader_memory(r, 0, UINT64_MAX, collect, &g));
	at = strstr(sbt_reader_damage(r),
		"the memory at 0x200000 (196608 bytes, start, command #2) is missing");
	assert_non_null(at);
	assert_null(strstr(at + 20, "0x200000"));
	sbt_reader_close(r);
	free(p);
}

/* --- damage --- */

struct bytes {
	uint8_t *p;
	size_t n;
};

static struct bytes get_file(void)
{
	struct bytes b = {.n = file_size()};
	FILE *f = fopen(path, "rb");

	b.p = malloc(b.n);
	assert_non_null(f);
	assert_int_equal(fread(b.p, 1, b.n, f), b.n);
	fclose(f);
	return b;
}

static void put_file(const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

/* Where the i-th chunk of a type begins. */
static size_t find_chunk(const struct bytes *b, unsigned type, unsigned i)
{
	struct sbt_chunk_header h;

	for (size_t at = SBT_HEADER_SIZE; at < b->n; at += sizeof h + h.stored) {
		memcpy(&h, b->p + at, sizeof h);
		if (h.type == type && !i--)
			return at;
	}
	fail_msg("no chunk of type %u", type);
	return 0;
}

/* Four pages of noise in one chunk, one more in another; in two pieces that share them. */
static uint8_t *make_trace(void)
{
	uint8_t *p = noise(11, 5 * SBT_PAGE);
	struct sbt_writer *w = begin();
	struct sbt_memory a = piece(1, SBT_MEMORY_START, 0x100000, 4 * SBT_PAGE),
			  b = piece(2, SBT_MEMORY_START, 0x200000, 5 * SBT_PAGE);

	memset(p + 2 * SBT_PAGE, 7, SBT_PAGE); /* one that is compressed */
	put(w, &a, p);
	ok(sbt_writer_flush(w));
	put(w, &b, p);
	ok(sbt_writer_close(w));
	return p;
}

static void test_damaged_page(void **unused)
{
	uint8_t *p = make_trace(), *q = malloc(5 * SBT_PAGE);
	struct bytes b = get_file();
	size_t at = find_chunk(&b, SBT_CHUNK_PAGES, 0) + SBT_HEADER_SIZE + 4 * 24;
	static struct got g;
	struct sbt_reader *r;

	b.p[at + SBT_PAGE + 1000] ^= 4; /* in page 1 */
	put_file(b.p, b.n);
	r = open_all(&g);
	assert_int_equal(g.n, 2);
	assert_null(sbt_reader_damage(r)); /* nobody has looked */
	for (unsigned i = 0; i < 2; i++) {
		assert_unreadable(r, &g.m[i], 0, 4 * SBT_PAGE, "page 1 of the memory at 0x");
		assert_unreadable(r, &g.m[i], SBT_PAGE + 70, 5, "its hash is wrong");
		ok(sbt_reader_memory_read(r, &g.m[i], 0, q, SBT_PAGE));
		ok(sbt_reader_memory_read(
			r, &g.m[i], 2 * SBT_PAGE - 0, q + 2 * SBT_PAGE, 2 * SBT_PAGE));
		assert_memory_equal(p, q, SBT_PAGE);
		assert_memory_equal(p + 2 * SBT_PAGE, q + 2 * SBT_PAGE, 2 * SBT_PAGE);
	}
	sbt_reader_close(r);
	b.p[at + SBT_PAGE + 1000] ^= 4;
	b.p[at + 2 * SBT_PAGE + 1] ^= 0xff; /* in page 2, which is coded in ten bytes */
	put_file(b.p, b.n);
	r = open_all(&g);
	assert_unreadable(r, &g.m[0], 0, 4 * SBT_PAGE,
		"page 2 of the memory at 0x100000 (262144 bytes, start, command #1): ");
	ok(sbt_reader_memory_read(r, &g.m[1], 3 * SBT_PAGE, q, 2 * SBT_PAGE));
	assert_memory_equal(p + 3 * SBT_PAGE, q, 2 * SBT_PAGE);
	sbt_reader_close(r);
	free(b.p);
	free(p);
	free(q);
}

/* --- codes of pages --- */

static void fill_coarse(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = i % 4 < 2 ? 0 : p[i];
}

static void fill_small(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = i % 8 == 0 ? p[i] : i % 8 == 7 ? 0x80 : 3;
}

static void fill_sparse(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = i / 4 % 4 ? 0 : (uint8_t)(p[i] | 1);
}

static void fill_one_value(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = "\0\0\x80?"[i % 4]; /* 1.0f */
}

static void fill_text(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t) "what a cat sat on "[i % 18];
}

static void fill_noise(uint8_t *p, size_t n)
{
	(void)p;
	(void)n;
}

/* stored: what a whole page takes, by the layout in docs/sbt.md; 0: it is a frame. */
static const struct {
	const char *what;
	void (*fill)(uint8_t *p, size_t n);
	size_t stored;
} kinds[] = {
	{"rounded floats", fill_coarse, 2 + 8 + SBT_PAGE / 2},
	{"small numbers", fill_small, 2 + 8 + SBT_PAGE / 8},
	{"scattered zeros", fill_sparse, 1 + SBT_PAGE / 32 + SBT_PAGE / 4},
	{"one value", fill_one_value, 10},
	{"text", fill_text, 0},
	{"noise", fill_noise, SBT_PAGE},
};

static struct sbt_page_entry entry_of(unsigned i)
{
	struct bytes b = get_file();
	struct sbt_page_entry e;

	memcpy(&e, b.p + find_chunk(&b, SBT_CHUNK_PAGES, 0) + SBT_HEADER_SIZE + i * sizeof e,
		sizeof e);
	free(b.p);
	return e;
}

/* Read for a caller that checks hashes: all of it, and what begins at each page. */
static void assert_loads(struct sbt_reader *r, const struct sbt_memory *m, const uint8_t *want)
{
	const size_t pages = (m->size + SBT_PAGE - 1) / SBT_PAGE;
	struct sbt_hash *hashes = calloc(pages, sizeof *hashes);
	struct sbt_load_times times = {0};
	uint8_t *p = malloc(m->size);
	bool zeros;

	for (size_t i = 0; i < pages; i++) {
		const size_t n = m->size - i * SBT_PAGE;

		memset(p, 0xee, m->size);
		ok(sbt_reader_memory_load(r, m, i * SBT_PAGE, p, n, hashes, &zeros, &times));
		if (!zeros)
			assert_memory_equal(p, want + i * SBT_PAGE, n);
		else
			assert_true(!want[i * SBT_PAGE] &&
				    !memcmp(want + i * SBT_PAGE, want + i * SBT_PAGE + 1, n - 1) &&
				    p[0] == 0xee);
		for (size_t k = 0; k < pages - i; k++)
			assert_true(sbt_hash_equal(hashes[k],
				sbt_page_hash(want + (i + k) * SBT_PAGE, n - k * SBT_PAGE)));
	}
	free(hashes);
	free(p);
}

static void test_codes_of_pages(void **unused)
{
	static const size_t sizes[] = {SBT_PAGE, SBT_PAGE + 4097, SBT_PAGE + 257, SBT_PAGE + 300,
		SBT_PAGE + 130, 4099, 3 * SBT_PAGE - 1};
	static struct got g;

	for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			uint8_t *p = noise(k * 31 + s + 1, sizes[s]);
			struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x100000, sizes[s]);
			struct sbt_writer *w = begin();

			kinds[k].fill(p, sizes[s]);
			put(w, &m, p);
			ok(sbt_writer_close(w));
			struct sbt_reader *r = open_all(&g);
			assert_bytes(r, &g.m[0], p);
			assert_loads(r, &g.m[0], p);
			assert_null(sbt_reader_damage(r));
			sbt_reader_close(r);
			if (sizes[s] >= SBT_PAGE && kinds[k].stored)
				assert_int_equal(entry_of(0).stored, kinds[k].stored);
			else if (sizes[s] >= SBT_PAGE)
				assert_true(entry_of(0).stored < SBT_PAGE / 3);
			free(p);
		}
}

/* Runs of zeros between pages, and at the end. */
static void test_loading_zeros(void **unused)
{
	const size_t n = 9 * SBT_PAGE + 5;
	uint8_t *p = noise(3, n);
	struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x100000, n);
	struct sbt_writer *w = begin();
	static struct got g;

	memset(p, 0, 2 * SBT_PAGE);
	memset(p + 4 * SBT_PAGE, 0, SBT_PAGE);
	fill_coarse(p + 5 * SBT_PAGE, SBT_PAGE);
	memset(p + 7 * SBT_PAGE, 0, n - 7 * SBT_PAGE);
	put(w, &m, p);
	ok(sbt_writer_close(w));
	struct sbt_reader *r = open_all(&g);
	assert_loads(r, &g.m[0], p);
	sbt_reader_close(r);
	free(p);
}

/* Each byte of the heads changed, with all checksums made right: refused, or told by the hash;
 * never read outside (the sanitizers look). */
static void test_hostile_codes(void **unused)
{
	static struct got g;

	for (unsigned k = 0; k < 3; k++) {
		uint8_t *p = noise(k + 1, SBT_PAGE);
		struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x100000, SBT_PAGE);
		struct sbt_writer *w = begin();

		kinds[k].fill(p, SBT_PAGE);
		put(w, &m, p);
		ok(sbt_writer_close(w));
		struct bytes b = get_file();
		const size_t at = find_chunk(&b, SBT_CHUNK_PAGES, 0) + SBT_HEADER_SIZE + 24;
		for (unsigned i = 0; i < 40; i++) {
			const uint8_t was = b.p[at + i];

			b.p[at + i] = (uint8_t)(was ^ (i % 3 ? 0xff : 4));
			put_file(b.p, b.n);
			struct sbt_reader *r = open_all(&g);
			assert_unreadable(r, &g.m[0], 0, SBT_PAGE, "page 0 of the memory");
			sbt_reader_close(r);
			b.p[at + i] = was;
		}
		free(b.p);
		free(p);
	}
}

/* The table of a chunk, right checksums or wrong ones. */
static void test_damaged_table(void **unused)
{
	static const struct {
		unsigned at;
		uint32_t value;
		const char *why;
	} cases[] = {
		{16, 0, "damaged"}, {16, SBT_PAGE + 1, "damaged"}, {16, 5, "damaged"},
		{16, UINT32_MAX, "damaged"}, {20, 0, "damaged"}, {20, SBT_PAGE - 1, "damaged"},
		{20, UINT32_MAX, "damaged"}, {0, 0, "its hash is wrong"},
		{12, 0x55, "its hash is wrong"},
		{2 * 24 + 16, SBT_PAGE - 1, "instead of 65536"}, /* the third page is compressed */
	};
	uint8_t *p = make_trace();
	struct bytes b = get_file();
	size_t at = find_chunk(&b, SBT_CHUNK_PAGES, 0) + SBT_HEADER_SIZE;
	static struct got g;

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		for (unsigned hostile = 0; hostile < 2; hostile++) {
			uint8_t *copy = malloc(b.n);
			struct sbt_reader *r;

			memcpy(copy, b.p, b.n);
			memcpy(copy + at + cases[i].at, &cases[i].value, 4);
			if (hostile)
				repair(copy, b.n);
			put_file(copy, b.n);
			r = open_all(&g);
			assert_unreadable(
				r, &g.m[0], cases[i].at / 24 * SBT_PAGE, SBT_PAGE, cases[i].why);
			sbt_reader_close(r);
			free(copy);
		}
	free(b.p);
	free(p);
}

/* A chunk of pages that is not there, there twice, or numbered otherwise. */
static void test_missing_and_double_pages(void **unused)
{
	uint8_t *p = make_trace();
	struct bytes b = get_file();
	size_t at = find_chunk(&b, SBT_CHUNK_PAGES, 0), second = find_chunk(&b, SBT_CHUNK_PAGES, 1);
	struct sbt_chunk_header h;
	static struct got g;
	struct sbt_reader *r;
	uint8_t *twice;
	size_t n;

	memcpy(&h, b.p + at, sizeof h);
	n = sizeof h + h.stored;
	/* no trailer, no chunk */
	memmove(b.p + at, b.p + at + n, b.n - at - n);
	put_file(b.p, b.n - n - SBT_TRAILER_SIZE);
	r = open_all(&g);
	assert_int_equal(g.n, 2);
	assert_unreadable(r, &g.m[0], 0, 1,
		"page 0 of the memory at 0x100000 (262144 bytes, start, command #1): the trace does not hold page number 0");
	assert_unreadable(r, &g.m[1], 3 * SBT_PAGE, 2 * SBT_PAGE, "page 3 of");
	sbt_reader_close(r);
	free(b.p);
	free(p);

	p = make_trace();
	b = get_file();
	twice = malloc(2 * b.n);
	memcpy(twice, b.p, b.n);
	memcpy(twice + b.n, b.p + SBT_HEADER_SIZE,
		b.n - SBT_HEADER_SIZE - SBT_TRAILER_SIZE); /* all of it again, without a trailer */
	put_file(twice, 2 * b.n - SBT_HEADER_SIZE - SBT_TRAILER_SIZE);
	r = open_all(&g);
	assert_int_equal(g.n, 2); /* and no piece twice */
	assert_bytes(r, &g.m[0], p);
	assert_bytes(r, &g.m[1], p);
	assert_non_null(strstr(sbt_reader_damage(r), "memory pages 0 to 3 are there twice"));
	sbt_reader_close(r);
	free(twice);

	memcpy(&h, b.p + second, sizeof h);
	h.first = h.last = 3; /* as if it were another page 3 */
	memcpy(b.p + second, &h, sizeof h);
	repair(b.p, b.n);
	put_file(b.p, b.n - SBT_TRAILER_SIZE);
	r = open_all(&g);
	assert_bytes(r, &g.m[0], p);
	assert_unreadable(r, &g.m[1], 4 * SBT_PAGE, 9, "page 4 of");
	sbt_reader_close(r);
	free(b.p);
	free(p);
}

/* Cut to many lengths: complete pieces, whole or refused; never other bytes. */
static void test_cut_in_the_middle(void **unused)
{
	uint8_t *p = make_trace();
	struct bytes b = get_file();
	unsigned seen[3] = {0};
	static struct got g;

	for (size_t n = b.n; n > SBT_HEADER_SIZE; n -= n < 1500 ? 1 : 997) {
		struct sbt_reader *r;

		assert_int_equal(truncate(path, (off_t)n), 0);
		r = open_all(&g);
		if (n < b.n)
			assert_non_null(sbt_reader_damage(r));
		assert_true(g.n <= 2);
		seen[g.n]++;
		for (unsigned i = 0; i < g.n; i++)
			assert_bytes(r, &g.m[i], p); /* its pages came before it */
		sbt_reader_close(r);
	}
	assert_true(seen[0] && seen[1] && seen[2]);
	free(b.p);
	free(p);
}

/* --- records built by hand --- */

static void record(
	struct buf *out, unsigned flags, uint64_t number, uint64_t size, const struct buf *list)
{
	struct buf b = BUF_INIT;
	static const uint8_t hash[16];
	const uint64_t fields[] = {flags, number, 5 /* seq */, SBT_MEMORY_START, SBT_MEMORY_ANY,
		0x1000, size, 0, 0 /* name */};

	for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
		sbt_put(&b, fields[i]);
	if (!(flags & SBT_PIECE_BEGUN))
		buf_add(&b, hash, 16);
	if (flags & SBT_PIECE_BYTES) {
		sbt_put(&b, list->len);
		buf_add(&b, list->data, list->len);
	}
	buf_str(&b, "and what a newer tsdb adds");
	sbt_put(out, b.len);
	buf_add(out, b.data, b.len);
	buf_free(&b);
}

static struct sbt_reader *open_records(const struct buf *records, struct got *g)
{
	struct sbt_file_header f = {.magic = SBT_MAGIC, .major = 1, .byte_order = SBT_BYTE_ORDER};
	struct sbt_chunk_header h = {.magic = SBT_CHUNK_MAGIC,
		.type = SBT_CHUNK_MEMORY,
		.stored = records->len,
		.raw = records->len,
		.first = 5,
		.last = 5,
		.count = 1};
	struct buf b = BUF_INIT;
	struct sbt_reader *r;

	buf_add(&b, &f, sizeof f);
	buf_add(&b, &h, sizeof h);
	buf_add(&b, records->data, records->len);
	repair(b.data, b.len);
	put_file(b.data, b.len);
	buf_free(&b);
	r = open_all(g);
	return r;
}

static void test_hostile_lists(void **unused)
{
	static const struct {
		uint64_t size, v[6];
		unsigned n;
		bool good;
	} cases[] = {
		{3 * SBT_PAGE, {3 << 1}, 1, true},   /* three pages of zeros */
		{1ull << 60, {1ull << 45}, 1, true}, /* 2^44 of them */
		{1ull << 63, {1ull << 48}, 1, true}, /* more would have no end */
		{3 * SBT_PAGE, {2 << 1}, 1, false},  /* too few */
		{3 * SBT_PAGE, {4 << 1}, 1, false},  /* too many */
		{3 * SBT_PAGE, {UINT64_MAX - 1}, 1, false},
		{3 * SBT_PAGE, {0, 3 << 1}, 2, false},	   /* a run of none */
		{3 * SBT_PAGE, {3 << 1 | 1}, 1, false},	   /* no number */
		{3 * SBT_PAGE, {3 << 1 | 1, 1}, 2, false}, /* -1: past the last number */
		{3 * SBT_PAGE, {1 << 1, 3 << 1}, 2, false}, {3 * SBT_PAGE, {0}, 0, false},
		{3 * SBT_PAGE, {UINT64_MAX - 1, UINT64_MAX - 1, 5 << 1}, 3,
			false}, /* 2^64 + 3 pages */
	};
	uint8_t byte;

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf records = BUF_INIT, list = BUF_INIT;
		static struct got g;
		struct sbt_reader *r;
		struct err *e;

		for (unsigned k = 0; k < cases[i].n; k++)
			sbt_put(&list, cases[i].v[k]);
		record(&records, SBT_PIECE_BYTES, i, cases[i].size, &list);
		r = open_records(&records, &g);
		assert_int_equal(g.n, 1);
		byte = 1;
		e = sbt_reader_memory_read(r, &g.m[0], cases[i].size - 1, &byte, 1);
		if (cases[i].good) {
			ok(e);
			assert_int_equal(byte, 0);
		} else if (!e || e->code != ERR_BAD_TRACE || !strstr(e->what, "list of pages")) {
			fail_msg("case %u: %s", i, e ? e->what : "no error");
		}
		err_free(e);
		sbt_reader_close(r);
		buf_free(&records);
		buf_free(&list);
	}
}

static void test_hostile_records(void **unused)
{
	struct buf records = BUF_INIT, contents = BUF_INIT;
	static struct got g;
	struct sbt_reader *r;
	uint8_t bytes[4];

	buf_str(&contents, "abcd");
	record(&records, SBT_PIECE_BYTES | SBT_PIECE_INLINE, 1, 4, &contents);
	r = open_records(&records, &g);
	assert_int_equal(g.n, 1);
	ok(sbt_reader_memory_read(r, &g.m[0], 0, bytes, 4));
	assert_memory_equal(bytes, "abcd", 4);
	sbt_reader_close(r);

	record(&records, SBT_PIECE_BYTES | SBT_PIECE_INLINE, 2, 5,
		&contents); /* 5 bytes are said, 4 are there */
	r = open_records(&records, &g);
	assert_int_equal(g.n, 1);
	assert_non_null(
		strstr(sbt_reader_damage(r), "memory recorded for commands #5 to #5 is damaged"));
	sbt_reader_close(r);

	for (size_t n = 0; n < records.len; n++) { /* and any beginning of that */
		struct buf some = {records.data, n, n};

		r = open_records(&some, &g);
		assert_true(g.n <= 1);
		sbt_reader_close(r);
	}
	buf_free(&records);
	buf_free(&contents);
}

/* --- a full disk --- */

static void test_full_disk(void **unused)
{
	struct rlimit before, small;
	size_t n = 30u << 20;
	uint8_t *p = noise(5, n);
	struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x1000, n),
			  little = piece(1, SBT_MEMORY_INPUT, 0x1000, 4);
	struct sbt_writer *w = begin();
	static struct got g;
	struct sbt_reader *r;
	struct err *e;
	uint32_t id;

	put(w, &little, "1234");
	ok(sbt_writer_flush(w));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 6u << 20;
	setrlimit(RLIMIT_FSIZE, &small);
	ok(sbt_writer_memory(w, &m, &id));
	e = sbt_writer_memory_bytes(w, id, p, n);
	if (!e)
		e = sbt_writer_flush(w);
	assert_non_null(e);
	assert_int_equal(e->sys, EFBIG);
	err_free(e);
	little.seq = 2;
	put(w, &little, "5678"); /* goes nowhere, and says nothing any more */
	ok(sbt_writer_close(w));
	setrlimit(RLIMIT_FSIZE, &before);
	r = open_all(&g);
	assert_int_equal(g.n, 1);
	assert_bytes(r, &g.m[0], (const uint8_t *)"1234");
	sbt_reader_close(r);
	free(p);
}

/* --- pages by their hashes --- */

static char path_before[80];

/* Page i of p. */
static struct sbt_hash hash_at(const uint8_t *p, unsigned i, size_t n)
{
	return sbt_page_hash(p + (size_t)i * SBT_PAGE, n);
}

static void assert_refused(struct err *e, enum err_code code)
{
	assert_non_null(e);
	assert_int_equal(e->code, code);
	err_free(e);
}

static void test_known_pages(void **state)
{
	enum { PAGES = 3, LAST = 1000, SIZE = PAGES * SBT_PAGE + LAST };
	uint8_t *p = noise(11, SIZE), *q = noise(12, SIZE);
	const struct sbt_memory a = piece(1, SBT_MEMORY_START, 0x1000, SIZE),
				b = piece(2, SBT_MEMORY_START, 0x1000, SIZE);
	struct sbt_hash pages[PAGES + 1];
	struct sbt_memory_figures before, after;
	struct sbt_reader *r;
	struct sbt_writer *w;
	struct got g;
	uint32_t id;

	/* The second piece: a page of the first, one of zeros, one that is new, the end of the
	 * first. */
	memcpy(q, p, SBT_PAGE);
	memset(q + SBT_PAGE, 0, SBT_PAGE);
	memcpy(q + PAGES * SBT_PAGE, p + PAGES * SBT_PAGE, LAST);
	for (unsigned i = 0; i <= PAGES; i++)
		pages[i] = hash_at(q, i, i == PAGES ? LAST : SBT_PAGE);
	w = begin();
	put(w, &a, p);
	sbt_writer_memory_figures(w, &before);
	ok(sbt_writer_memory(w, &b, &id));
	ok(sbt_writer_memory_known(w, id, pages, 2 * SBT_PAGE));
	assert_refused(sbt_writer_memory_known(w, id, &pages[2], SBT_PAGE), ERR_NOT_FOUND);
	assert_refused(sbt_writer_memory_known(w, id, &pages[2], 100), ERR_STATE);
	assert_refused(sbt_writer_memory_known(w, id, &pages[2], SIZE), ERR_STATE);
	ok(sbt_writer_memory_bytes(w, id, q + 2 * SBT_PAGE, 100));
	assert_refused(sbt_writer_memory_known(w, id, &pages[2], SBT_PAGE),
		ERR_STATE); /* in the middle of a page */
	ok(sbt_writer_memory_bytes(w, id, q + 2 * SBT_PAGE + 100, SBT_PAGE - 100));
	ok(sbt_writer_memory_known(w, id, &pages[3], LAST));
	assert_refused(
		sbt_writer_memory_known(w, id, &pages[3], LAST), ERR_STATE); /* it is whole */
	sbt_writer_memory_figures(w, &after);
	assert_int_equal(after.bytes - before.bytes, SIZE);
	assert_int_equal(after.pages_again - before.pages_again, 2);
	assert_int_equal(after.pages_zero - before.pages_zero, 1);
	ok(sbt_writer_close(w));
	r = open_all(&g);
	assert_int_equal(g.n, 2);
	assert_bytes(r, &g.m[0], p);
	assert_bytes(r, &g.m[1], q);
	sbt_reader_close(r);
	free(p);
	free(q);
}

/* Pages of an earlier trace are copied: the new one can be read without that one. */
static void test_pages_of_an_earlier_trace(void **state)
{
	enum { SIZE = 40 * SBT_PAGE + 8 };
	uint8_t *p = noise(13, SIZE);
	const struct sbt_memory m = piece(1, SBT_MEMORY_START, 0x1000, SIZE);
	struct sbt_hash pages[41];
	struct sbt_reader *earlier, *r;
	struct sbt_writer *w;
	struct got g;
	uint32_t id;

	for (unsigned i = 0; i < 41; i++)
		pages[i] = hash_at(p, i, i == 40 ? 8 : SBT_PAGE);
	w = begin();
	put(w, &m, p);
	ok(sbt_writer_close(w));
	assert_int_equal(rename(path, path_before), 0);
	ok(sbt_reader_open(&earlier, path_before));
	w = begin();
	ok(sbt_writer_memory_earlier(w, earlier));
	ok(sbt_writer_memory(w, &m, &id));
	ok(sbt_writer_memory_known(w, id, pages, SIZE));
	put(w, &m, p); /* stored once */
	pages[3].half[0]++;
	ok(sbt_writer_memory(w, &m, &id));
	assert_refused(sbt_writer_memory_known(w, id, pages, SIZE), ERR_NOT_FOUND);
	ok(sbt_writer_memory_cut(w, id)); /* three pages are there */
	ok(sbt_writer_close(w));
	unlink(path_before);
	assert_true(file_size() < SIZE + SIZE / 4);
	r = open_all(&g);
	assert_int_equal(g.n, 3);
	assert_bytes(r, &g.m[0], p);
	assert_bytes(r, &g.m[1], p);
	assert_int_equal(g.m[2].size, 3 * SBT_PAGE);
	assert_int_equal(g.m[2].missing, SIZE - 3 * SBT_PAGE);
	sbt_reader_close(r);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_pieces),
		cmocka_unit_test(test_a_page_is_stored_once),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_any_pieces_in_any_order),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_codes_of_pages),
		cmocka_unit_test(test_loading_zeros),
		cmocka_unit_test(test_hostile_codes),
		cmocka_unit_test(test_misuse_is_refused),
		cmocka_unit_test(test_pieces_that_were_cut),
		cmocka_unit_test(test_recording_that_died),
		cmocka_unit_test(test_damaged_page),
		cmocka_unit_test(test_damaged_table),
		cmocka_unit_test(test_missing_and_double_pages),
		cmocka_unit_test(test_cut_in_the_middle),
		cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_hostile_records),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_known_pages),
		cmocka_unit_test(test_pages_of_an_earlier_trace),
	};
	int failed;

	snprintf(path, sizeof path, "test-sbt-memory-%d.sbt", (int)getpid());
	snprintf(path_before, sizeof path_before, "%s.before", path);
	failed = cmocka_run_group_tests_name("sbt-memory", tests, NULL, NULL);
	unlink(path);
	return failed;
}
