/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as a stranger reads them: the heads of all chunks are held against the table of
 * docs/sbt.md, the index is changed field by field, and what was written in bulk (stacks, times,
 * pages) is asked for one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbt-dump.h"
#include "sbt-make.h"
#include "sbt-repair.h"

static char path[64];
static uint64_t code_hash;

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

static struct sbt_writer *begin(void)
{
	static const struct sbt_meta meta = {
		.program = "./app", .cwd = "/", .host = "h", .gpu = "g", .tsdb = "0"};
	struct sbt_writer *w;

	ok(sbt_writer_open(&w, path, &meta));
	return w;
}

static void add_fill(struct sbt_writer *w, uint64_t seq)
{
	struct sbt_cmd c = {.seq = seq, .kind = SBT_FILL};

	c.u.fill.size = seq;
	ok(sbt_writer_cmd(w, &c));
}

static struct buf get_file(void)
{
	struct buf b = BUF_INIT;
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	while ((n = fread(buf_room(&b, 4096), 1, 4096, f)) > 0)
		b.len += n;
	fclose(f);
	return b;
}

static void put_file(const struct buf *b)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	fclose(f);
}

/* --- the heads of chunks --- */

static void add_names(struct sbt_writer *w)
{
	const struct sbt_place place = {.file = "a.py", .function = "f", .first_line = 3};
	const struct sbt_symbol symbol = {.function = "main"};
	const struct sbt_frame f = {0, 0x1234}, g = {1, 0x1000};
	uint32_t index;

	ok(sbt_writer_module(w, "/bin/app", "abcd", &index));
	ok(sbt_writer_module(w, "/lib/x", "", &index));
	ok(sbt_writer_place(w, &place, &index));
	ok(sbt_writer_symbol(w, &f, &symbol, 1));
	ok(sbt_writer_symbol(w, &g, &symbol, 1));
	ok(sbt_writer_source(w, "/a.c", "int a;\n", 7));
	ok(sbt_writer_stack(w, 9, &f, 1));
	ok(sbt_writer_stack(w, 4, &g, 1));
	ok(sbt_writer_stack(w, 6, &g, 1));
}

static void add_piece(struct sbt_writer *w)
{
	static uint8_t bytes[3 * SBT_PAGE];
	struct sbt_memory m = {.seq = 8,
		.role = SBT_MEMORY_START,
		.addr = 0x10000,
		.size = sizeof bytes,
		.module = SBT_NO_ID,
		.has_bytes = true};
	uint64_t seed = 5;
	uint32_t id;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)make_random(&seed);
	ok(sbt_writer_memory(w, &m, &id));
	ok(sbt_writer_memory_bytes(w, id, bytes, m.size));
	ok(sbt_writer_window(w, 8, 11));
}

static struct buf make_all(void)
{
	struct sbt_writer *w = begin();

	add_names(w);
	ok(sbt_writer_code(w, "some ptx", 8, CODE_PTX, &code_hash));
	for (uint64_t seq = 5; seq <= 12; seq++)
		add_fill(w, seq);
	ok(sbt_writer_time(w, 11, 30, 40));
	ok(sbt_writer_time(w, 7, 10, 20));
	ok(sbt_writer_keyframe(w, 12, "state", 5));
	ok(sbt_writer_unreplayable(w, "cuFoo", 2));
	ok(sbt_writer_unreplayable(w, "cuBar", 2));
	ok(sbt_writer_lost(w, 7, 3));
	ok(sbt_writer_lost(w, 9, 4));
	add_piece(w);
	ok(sbt_writer_close(w));
	return get_file();
}

/* The table in docs/sbt.md, for make_all(). What is not listed there as a number is 0. */
static const struct head {
	unsigned type;
	uint64_t first, last;
	uint32_t count;
} heads[] = {{SBT_CHUNK_MODULES, 0, 1, 2}, {SBT_CHUNK_STACKS, 4, 9, 3},
	{SBT_CHUNK_COMMANDS, 5, 12, 8}, {SBT_CHUNK_TIMES, 7, 11, 2}, {SBT_CHUNK_MEMORY, 8, 8, 1},
	{SBT_CHUNK_KEYFRAME, 12, 12, 1}, {SBT_CHUNK_UNREPLAYABLE, 0, 0, 2},
	{SBT_CHUNK_LOST, 0, 0, 2}, {SBT_CHUNK_TRAILER, 0, 0, 0}, {SBT_CHUNK_PAGES, 0, 2, 3},
	{SBT_CHUNK_WINDOW, 8, 11, 1}, {SBT_CHUNK_PLACES, 0, 0, 1}, {SBT_CHUNK_SYMBOLS, 0, 0, 2},
	{SBT_CHUNK_SOURCE, 0, 0, 1}};

static void check_head(const struct sbt_chunk_header *h, unsigned chunks)
{
	if (h->type == SBT_CHUNK_CODE) {
		assert_int_equal(h->first, code_hash);
		assert_int_equal(h->last, 1);
		assert_int_equal(h->count, 1);
		return;
	}
	if (h->type == SBT_CHUNK_META || h->type == SBT_CHUNK_INDEX) {
		assert_int_equal(h->first | h->last, 0);
		if (h->type == SBT_CHUNK_INDEX)
			assert_int_equal(h->count, chunks);
		return;
	}
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		if (heads[i].type != h->type)
			continue;
		if (h->first != heads[i].first || h->last != heads[i].last ||
			h->count != heads[i].count)
			fail_msg("chunk of type %u: %llu to %llu, %u", h->type,
				(unsigned long long)h->first, (unsigned long long)h->last,
				h->count);
		return;
	}
	fail_msg("chunk of type %u", h->type);
}

static void test_heads_of_chunks(void **unused)
{
	struct buf b = make_all();
	struct sbt_chunk_header h;
	unsigned chunks = 0, seen = 0;
	uint64_t lost = 0;

	(void)unused;
	for (size_t at = sizeof(struct sbt_file_header); at < b.len; at += sizeof h + h.stored) {
		assert_true(b.len - at >= sizeof h);
		memcpy(&h, b.data + at, sizeof h);
		assert_int_equal(h.magic, SBT_CHUNK_MAGIC);
		assert_int_equal(h.header_sum, sbt_header_sum(&h));
		assert_int_equal(h.flags & ~SBT_CHUNK_ZSTD, 0);
		assert_true(h.flags || h.raw == h.stored);
		assert_true(h.lost >= lost && h.lost <= 4);
		lost = h.lost;
		check_head(&h, chunks++);
		seen |= 1u << h.type;
	}
	assert_int_equal(seen, 0x3fffe); /* one of each type, 1 to 17 */
	assert_int_equal(lost, 4);
	buf_free(&b);
	unlink(path);
}

/* --- the index and the trailer, changed --- */

static char *dump_file(const struct buf *b, bool *ret_damaged)
{
	struct buf text = BUF_INIT;
	struct sbt_reader *r;

	put_file(b);
	ok(sbt_reader_open(&r, path));
	*ret_damaged = sbt_reader_damage(r) != NULL;
	dump_cmds(&text, r, true);
	dump_rest(&text, r, code_hash);
	sbt_reader_close(r);
	return buf_steal(&text);
}

static void sum_up(struct buf *b, size_t at)
{
	struct sbt_chunk_header h;

	memcpy(&h, b->data + at, sizeof h);
	h.hash = XXH64(b->data + at + sizeof h, h.stored, 0);
	h.header_sum = sbt_header_sum(&h);
	memcpy(b->data + at, &h, sizeof h);
}

/* The file with this payload, with right checksums, for its index; with right trailer. */
static struct buf with_index(const struct buf *b, size_t at, const struct buf *payload)
{
	const size_t trailer = b->len - SBT_TRAILER_SIZE;
	struct sbt_chunk_header h;
	struct buf ret = BUF_INIT;

	memcpy(&h, b->data + at, sizeof h);
	h.flags = 0;
	h.raw = h.stored = payload->len;
	buf_add(&ret, b->data, at);
	buf_add(&ret, &h, sizeof h);
	buf_add(&ret, payload->data, payload->len);
	buf_add(&ret, b->data + trailer, SBT_TRAILER_SIZE);
	sum_up(&ret, at);
	return ret;
}

struct index_row {
	uint64_t field[8]; /* type, gap, stored, raw, first, last, count, lost */
};

/* The rows that the index must have, from the heads of the chunks; *ret_at: where the index is. */
static unsigned rows_of(const struct buf *b, struct index_row *rows, size_t *ret_at)
{
	struct sbt_chunk_header h;
	unsigned n = 0;

	for (size_t at = sizeof(struct sbt_file_header);; at += sizeof h + h.stored) {
		memcpy(&h, b->data + at, sizeof h);
		if (h.type == SBT_CHUNK_INDEX) {
			*ret_at = at;
			return n;
		}
		rows[n++] = (struct index_row){
			{h.type, 0, h.stored, h.raw, h.first, h.last, h.count, h.lost}};
	}
}

static struct buf payload_of(const struct index_row *rows, unsigned n)
{
	struct buf b = BUF_INIT;
	uint64_t last = 0;

	sbt_put(&b, n);
	for (unsigned i = 0; i < n; i++) {
		const uint64_t *f = rows[i].field;

		for (unsigned k = 0; k < 4; k++)
			sbt_put(&b, f[k]);
		sbt_put_delta(&b, f[4], last);
		sbt_put_delta(&b, f[5], f[4]);
		sbt_put(&b, f[6]);
		sbt_put(&b, f[7]);
		last = f[5];
	}
	return b;
}

static void test_index_is_as_documented(void **unused)
{
	struct buf b = make_all(), rebuilt, payload;
	struct index_row rows[64];
	char *whole, *text;
	bool damaged;
	size_t at;
	unsigned n = rows_of(&b, rows, &at);

	(void)unused;
	payload = payload_of(rows, n);
	rebuilt = with_index(&b, at, &payload);
	whole = dump_file(&b, &damaged);
	assert_false(damaged);
	text = dump_file(&rebuilt, &damaged);
	assert_false(damaged);
	assert_string_equal(text, whole);
	free(text);
	free(whole);
	buf_free(&payload);
	buf_free(&rebuilt);
	buf_free(&b);
	unlink(path);
}

/* Chunks that an index places outside of the file: the index is not used, the file is searched, and
 * nothing is missing. A place that is off by a little is found when the chunk is read. */
static void test_places_outside_of_the_file(void **unused)
{
	struct buf b = make_all();
	struct index_row rows[64];
	size_t at;
	unsigned n = rows_of(&b, rows, &at);
	bool damaged;
	char *whole = dump_file(&b, &damaged);

	(void)unused;
	for (unsigned i = 0; i < n; i++) {
		const uint64_t stored = rows[i].field[2], after = at - stored;
		/* behind the index; as far as numbers go; such that a sum of offset, head and
		 * payload is small again */
		const uint64_t bad[][2] = {{1, at}, {1, UINT64_MAX}, {1, UINT64_MAX - 63},
			{1, UINT64_MAX - after}, {2, at}, {2, UINT64_MAX}, {2, UINT64_MAX - 63},
			{2, UINT64_MAX - at}, {2, at - sizeof(struct sbt_file_header) - 63},
			{0, 1ull << 32}, {6, 1ull << 32}};

		for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
			const uint64_t was = rows[i].field[bad[k][0]];
			struct buf payload, changed;
			char *text;

			rows[i].field[bad[k][0]] = bad[k][1];
			payload = payload_of(rows, n);
			rows[i].field[bad[k][0]] = was;
			changed = with_index(&b, at, &payload);
			text = dump_file(&changed, &damaged);
			if (!damaged || strcmp(text, whole) != 0)
				fail_msg("chunk %u, field %llu is %llu: %s", i,
					(unsigned long long)bad[k][0],
					(unsigned long long)bad[k][1],
					damaged ? "something is missing" : "not seen");
			free(text);
			buf_free(&payload);
			buf_free(&changed);
		}
	}
	free(whole);
	buf_free(&b);
	unlink(path);
}

/* A trailer that is damaged, or says that the index is where none can be. */
static void test_trailers(void **unused)
{
	struct buf b = make_all();
	const size_t t = b.len - SBT_TRAILER_SIZE, p = t + sizeof(struct sbt_chunk_header);
	const uint64_t places[] = {0, 63, 64, t - 1, t, t + 1, b.len - 1, b.len, b.len + 1,
		b.len + SBT_TRAILER_SIZE, UINT64_MAX, UINT64_MAX - 63, INT64_MAX};
	bool damaged;
	char *whole = dump_file(&b, &damaged), *text;
	uint64_t was;

	(void)unused;
	memcpy(&was, b.data + p, 8);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		memcpy(b.data + p, &places[i], 8);
		sum_up(&b, t);
		text = dump_file(&b, &damaged);
		assert_true(damaged);
		assert_string_equal(text, whole);
		free(text);
	}
	memcpy(b.data + p, &was, 8);
	for (unsigned byte = 0; byte < SBT_TRAILER_SIZE; byte++) {
		struct buf copy = BUF_INIT;

		buf_add(&copy, b.data, b.len);
		sum_up(&copy, t);
		copy.data[t + byte] ^= 4;
		text = dump_file(&copy, &damaged);
		assert_true(damaged);
		assert_string_equal(text, whole);
		free(text);
		buf_free(&copy);
	}
	free(whole);
	buf_free(&b);
	unlink(path);
}

/* The last chunk says that it goes on some bytes behind the file's end. */
static void test_last_chunk_goes_on(void **unused)
{
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	struct buf b;
	size_t at;

	(void)unused;
	add_fill(w, 1);
	ok(sbt_writer_flush(w));
	b = get_file();
	at = b.len;
	buf_free(&b);
	add_fill(w, 2);
	ok(sbt_writer_flush(w));
	b = get_file();
	ok(sbt_writer_close(w));
	for (uint64_t more = 0; more < 200; more++) {
		struct sbt_chunk_header h;

		memcpy(&h, b.data + at, sizeof h);
		h.stored = b.len - at - sizeof h + more;
		h.header_sum = sbt_header_sum(&h);
		memcpy(b.data + at, &h, sizeof h);
		put_file(&b);
		ok(sbt_reader_open(&r, path));
		assert_int_equal(sbt_reader_count(r), more ? 1 : 2);
		assert_int_equal(
			strstr(sbt_reader_damage(r), "unfinished chunk") != NULL, more > 0);
		sbt_reader_close(r);
	}
	buf_free(&b);
	unlink(path);
}

/* --- much of one thing --- */

/* Stacks that share some of their outer frames, ids in no order, several chunks. */
static void test_many_stacks(void **unused)
{
	enum { N = 4000, DEEPEST = 40 };
	static struct sbt_frame all[N][DEEPEST];
	static unsigned depth[N];
	struct sbt_writer *w = begin();
	const struct sbt_frame *f;
	struct sbt_reader *r;
	uint64_t seed = 77;
	unsigned n;

	(void)unused;
	for (unsigned i = 0; i < N; i++) {
		unsigned same = i ? (unsigned)(make_random(&seed) % (depth[i - 1] + 1)) : 0;

		depth[i] = 1 + (unsigned)(make_random(&seed) % DEEPEST);
		for (unsigned k = 0; k < depth[i]; k++) { /* k: from outside */
			const struct sbt_frame other = {
				(uint32_t)(make_random(&seed) % 3), make_random(&seed) % 5};
			const unsigned from = i ? depth[i - 1] - 1 - k : 0;

			all[i][depth[i] - 1 - k] = k < same ? all[i - 1][from] : other;
		}
		ok(sbt_writer_stack(w, 1 + i * 7919u % N, all[i], depth[i]));
		if (i % 900 == 0)
			ok(sbt_writer_flush(w));
	}
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	for (unsigned i = N; i-- > 0;) {
		ok(sbt_reader_stack(r, 1 + i * 7919u % N, &f, &n));
		assert_int_equal(n, depth[i]);
		for (unsigned k = 0; k < n; k++)
			assert_true(
				f[k].module == all[i][k].module && f[k].offset == all[i][k].offset);
	}
	ok(sbt_reader_stack(r, N + 1, &f, &n));
	assert_int_equal(n, 0);
	assert_null(sbt_reader_damage(r));
	sbt_reader_close(r);
	unlink(path);
}

/* More times than go into one chunk, and than are kept before they are written. */
static void test_many_times(void **unused)
{
	enum { N = 150000 };
	struct sbt_writer *w = begin();
	const struct sbt_cmd *got;
	struct sbt_cursor *cur;
	struct sbt_reader *r;

	(void)unused;
	for (uint64_t seq = 1; seq <= N; seq++)
		add_fill(w, seq);
	for (uint64_t i = 1; i <= N; i++) {
		const uint64_t seq = 1 + i * 7919 % N;

		ok(sbt_writer_time(w, seq, seq * 100, seq * 100 + 3));
	}
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	ok(sbt_cursor_open(&cur, r));
	for (uint64_t seq = 1; seq <= N; seq++) {
		ok(sbt_cursor_next(cur, &got));
		assert_int_equal(got->seq, seq);
		assert_int_equal(got->gpu_start_ns, seq * 100);
		assert_int_equal(got->gpu_end_ns, seq * 100 + 3);
	}
	assert_null(sbt_reader_damage(r));
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	unlink(path);
}

static struct err *keep_piece(void *arg, const struct sbt_memory *m)
{
	*(struct sbt_memory *)arg = *m;
	return NULL;
}

/* Parts of pages, in no order, of many more pages than are kept: each has its own bytes. */
static void test_parts_of_many_pages(void **unused)
{
	enum { PAGES = 600 };
	static uint64_t bytes[PAGES * SBT_PAGE / 8];
	struct sbt_memory m = {.seq = 1,
		.role = SBT_MEMORY_START,
		.addr = 0x10000,
		.size = sizeof bytes,
		.module = SBT_NO_ID,
		.has_bytes = true};
	struct sbt_writer *w = begin();
	uint64_t seed = 99, got[4];
	struct sbt_memory back;
	struct sbt_reader *r;
	uint32_t id;

	(void)unused;
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
		bytes[i] = make_random(&seed);
	ok(sbt_writer_memory(w, &m, &id));
	ok(sbt_writer_memory_bytes(w, id, bytes, m.size));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	ok(sbt_reader_memory(r, 0, UINT64_MAX, keep_piece, &back));
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t page = i % 2 ? i / 2 % PAGES : make_random(&seed) % PAGES,
			       word = make_random(&seed) % (SBT_PAGE / 8 - 4);

		ok(sbt_reader_memory_read(r, &back, page * SBT_PAGE + word * 8, got, sizeof got));
		assert_memory_equal(got, bytes + page * SBT_PAGE / 8 + word, sizeof got);
	}
	sbt_reader_close(r);
	unlink(path);
}

/* A piece of which only the place is known. */
static void test_piece_without_bytes(void **unused)
{
	struct sbt_memory m = {.seq = 1,
		.role = SBT_MEMORY_START,
		.addr = 0x10000,
		.size = 2 * SBT_PAGE,
		.module = SBT_NO_ID};
	struct sbt_load_times times = {0};
	static uint8_t bytes[2 * SBT_PAGE];
	struct sbt_writer *w = begin();
	struct sbt_hash hashes[2];
	struct sbt_memory back;
	struct sbt_reader *r;
	struct err *e;
	uint32_t id;
	bool zeros;

	(void)unused;
	ok(sbt_writer_memory(w, &m, &id));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	ok(sbt_reader_memory(r, 0, UINT64_MAX, keep_piece, &back));
	assert_false(back.has_bytes);
	assert_int_equal(back.size, sizeof bytes);
	e = sbt_reader_memory_load(r, &back, 0, bytes, sizeof bytes, hashes, &zeros, &times);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	err_free(e);
	e = sbt_reader_memory_read(r, &back, 0, bytes, 8);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	err_free(e);
	sbt_reader_close(r);
	unlink(path);
}

/* Which keyframe is the last one up to a command, without reading it; which codes there are. */
static void test_keyframes_and_codes(void **unused)
{
	struct sbt_writer *w = begin();
	uint64_t hash[2], got;
	enum code_kind kind;
	struct sbt_reader *r;

	(void)unused;
	for (uint64_t seq = 1; seq <= 40; seq++) {
		add_fill(w, seq);
		if (seq % 10 == 0)
			ok(sbt_writer_keyframe(w, seq, "state", 5));
	}
	ok(sbt_writer_code(w, "text", 4, CODE_PTX, &hash[0]));
	ok(sbt_writer_code(w, "cubin", 5, CODE_CUBIN, &hash[1]));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	for (uint64_t seq = 0; seq <= 60; seq++)
		assert_int_equal(sbt_reader_keyframe_seq(r, seq), seq < 40 ? seq / 10 * 10 : 40);
	assert_int_equal(sbt_reader_keyframe_seq(r, UINT64_MAX), 40);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(sbt_reader_code_at(r, i, &got, &kind));
		assert_int_equal(got, hash[i]);
		assert_int_equal(kind, i ? CODE_UNKNOWN : CODE_PTX);
	}
	assert_false(sbt_reader_code_at(r, 2, &got, &kind));
	sbt_reader_close(r);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads_of_chunks),
		cmocka_unit_test(test_index_is_as_documented),
		cmocka_unit_test(test_places_outside_of_the_file),
		cmocka_unit_test(test_trailers),
		cmocka_unit_test(test_last_chunk_goes_on),
		cmocka_unit_test(test_many_stacks),
		cmocka_unit_test(test_many_times),
		cmocka_unit_test(test_parts_of_many_pages),
		cmocka_unit_test(test_piece_without_bytes),
		cmocka_unit_test(test_keyframes_and_codes),
	};
	int rc;

	snprintf(path, sizeof path, "test-sbt-whole-%d.sbt", (int)getpid());
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return rc;
}
