/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces that are cut, flipped, foreign, from the future, hostile, or that met a full disk. The
 * rule each time: no crash, no command that was never there, and either the same data or a sentence
 * that says what is missing.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbt-dump.h"
#include "sbt-make.h"
#include "sbt-repair.h"
#include "sbt/fields.h"

static char path[64];
static uint64_t code_hash;

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

static void put_file(const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(n ? fwrite(data, 1, n, f) : 0, n);
	fclose(f);
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

/* A page that compresses well, one of zeros, and a piece that lies beside its record. */
static void add_memory(struct sbt_writer *w)
{
	struct sbt_memory m = {.seq = 3,
		.role = SBT_MEMORY_START,
		.addr = 0x1000,
		.size = 2 * SBT_PAGE + 10,
		.module = SBT_NO_ID,
		.has_bytes = true};
	uint8_t *p = calloc(1, m.size);
	uint32_t id;

	memset(p, 3, SBT_PAGE / 2);
	memset(p + m.size - 10, 9, 10);
	ok(sbt_writer_memory(w, &m, &id));
	ok(sbt_writer_memory_bytes(w, id, p, m.size));
	m.seq = 4;
	m.size = 12;
	m.name = (struct sbt_blob){"counters", 8};
	ok(sbt_writer_memory(w, &m, &id));
	ok(sbt_writer_memory_bytes(w, id, "what it held", m.size));
	ok(sbt_writer_window(w, 3, 30));
	free(p);
}

/* One of everything, 4 chunks of commands. */
static struct buf make_trace(void)
{
	struct sbt_meta meta = {.program = "./app",
		.cwd = "/",
		.host = "h",
		.gpu = "g",
		.tsdb = "0",
		.start_ns = 5,
		.pid = 6};
	struct sbt_frame frames[3] = {{0, 0x1000}, {1, 0x2000}, {0, 0x3000}};
	char *heap = malloc(4 * 4096);
	uint64_t seed = 4242;
	struct sbt_writer *w;
	struct sbt_cmd c;
	uint32_t module;

	ok(sbt_writer_open(&w, path, &meta));
	ok(sbt_writer_module(w, "/bin/app", "abcd", &module));
	ok(sbt_writer_code(w, "some code that is no code", 25, CODE_PTX, &code_hash));
	for (uint64_t seq = 1; seq <= 40; seq++) {
		make_cmd(&c, seq, 1 + seq * 7 % (SBT_KIND_END - 1), &seed, heap);
		ok(sbt_writer_cmd(w, &c));
		ok(sbt_writer_time(w, seq, seq * 100, seq * 100 + 50));
		if (seq % 10)
			continue;
		frames[0].offset = seq;
		ok(sbt_writer_stack(w, (uint32_t)seq, frames, 3));
		if (seq == 20) {
			ok(sbt_writer_module(w, "/lib/x", "", &module));
			ok(sbt_writer_keyframe(w, seq, "the state of things", 20));
			ok(sbt_writer_unreplayable(w, "cuFoo", 2));
		}
		if (seq == 30)
			ok(sbt_writer_lost(w, 30, 3));
		ok(sbt_writer_flush(w));
	}
	add_memory(w);
	ok(sbt_writer_close(w));
	free(heap);
	return get_file();
}

static char *dump(struct sbt_reader *r, bool times)
{
	struct buf b = BUF_INIT;

	dump_cmds(&b, r, times);
	dump_rest(&b, r, code_hash);
	return buf_steal(&b);
}

static char *commands_only(struct sbt_reader *r)
{
	struct buf b = BUF_INIT;

	dump_cmds(&b, r, false);
	return buf_steal(&b);
}

static char *read_all(struct err **ret_e, char **ret_cmds, char **ret_damage)
{
	struct sbt_reader *r;
	char *text;

	*ret_cmds = *ret_damage = NULL;
	*ret_e = sbt_reader_open(&r, path);
	if (*ret_e)
		return NULL;
	text = dump(r, true);
	*ret_cmds = commands_only(r);
	if (sbt_reader_damage(r))
		*ret_damage = strdup(sbt_reader_damage(r));
	sbt_reader_close(r);
	return text;
}

static void test_a_whole_trace_is_whole(void **unused)
{
	struct buf data = make_trace();
	char *text, *cmds, *damage;
	struct err *e;

	text = read_all(&e, &cmds, &damage);
	assert_null(e);
	assert_null(damage);
	assert_non_null(strstr(text, "count 40 first 1 last 40 lost 3\n"));
	assert_non_null(strstr(text, "stack 30: 0+1e 1+2000 0+3000\n"));
	assert_non_null(strstr(text, "module 1 /lib/x \n"));
	assert_non_null(strstr(text, "unreplayable cuFoo 2\n"));
	assert_non_null(strstr(text,
		"keyframe 0 0 bytes\nkeyframe 0 0 bytes\nkeyframe 20 20 bytes\nkeyframe 20 20 bytes\n"));
	assert_non_null(strstr(text, "code ptx 25\n"));
	assert_non_null(strstr(text, "\"gpu_start_ns\":4000,\"gpu_end_ns\":4050"));
	free(text);
	free(cmds);
	buf_free(&data);
}

/* Cut to every length: what is there is the beginning of what was, and something is said. */
static void test_cut_anywhere(void **unused)
{
	struct buf data = make_trace();
	char *whole, *cmds, *damage;
	size_t longest = 0;
	struct err *e;

	free(read_all(&e, &whole, &damage));
	for (size_t n = 0; n < data.len; n++) {
		put_file(data.data, n);
		free(read_all(&e, &cmds, &damage));
		if (e) {
			assert_true(n < 64);
			assert_non_null(strstr(e->what, path));
			err_free(e);
			continue;
		}
		assert_true(n >= 64);
		assert_non_null(damage);
		assert_int_equal(strncmp(cmds, whole, strlen(cmds)), 0);
		assert_true(strlen(cmds) >= longest); /* more bytes, never fewer commands */
		longest = strlen(cmds);
		free(cmds);
		free(damage);
	}
	assert_int_equal(
		longest, strlen(whole)); /* with all chunks but the index, all commands are there */
	free(whole);
	buf_free(&data);
}

static void add_fill(struct sbt_writer *w, uint64_t seq)
{
	struct sbt_cmd c = {.seq = seq, .kind = SBT_FILL};

	c.u.fill.size = seq;
	ok(sbt_writer_cmd(w, &c));
	ok(sbt_writer_flush(w));
}

static const struct sbt_meta small_meta = {.program = "./app",
	.cwd = "/",
	.host = "h",
	.gpu = "g",
	.tsdb = "0",
	.start_ns = 5,
	.pid = 6};

/* A chunk may hold one command; numbers may have holes. */
static void test_one_command_in_a_chunk(void **unused)
{
	struct sbt_writer *w;
	struct buf data;

	(void)unused;
	ok(sbt_writer_open(&w, path, &small_meta));
	add_fill(w, 5);
	add_fill(w, 9);
	add_fill(w, 10);
	ok(sbt_writer_close(w));
	data = get_file();
	/* with its index, and without it */
	for (size_t n = data.len; n >= data.len - 1; n--) {
		struct sbt_reader *r;

		put_file(data.data, n);
		ok(sbt_reader_open(&r, path));
		assert_int_equal(sbt_reader_count(r), 3);
		assert_int_equal(sbt_reader_first_seq(r), 5);
		assert_int_equal(sbt_reader_last_seq(r), 10);
		assert_int_equal(sbt_reader_damage(r) != NULL, n < data.len);
		sbt_reader_close(r);
	}
	buf_free(&data);
}

/* n bytes that do not compress, now and then what a chunk begins with. */
static void add_noise(struct sbt_writer *w, size_t n, uint64_t seed)
{
	static const uint32_t magic = SBT_CHUNK_MAGIC;
	uint8_t *p = malloc(n);
	uint64_t hash;

	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		p[i] = (uint8_t)(seed >> 56);
	}
	for (size_t i = 1000; i + 4 < n; i += 5000)
		memcpy(p + i, &magic, 4);
	ok(sbt_writer_code(w, p, n, CODE_PTX, &hash));
	free(p);
}

/* The header of a large chunk is damaged, and the index is not there: what comes behind it is
 * found, wherever it lies in the blocks that are searched; not what was cut off. */
static void test_behind_a_large_damaged_chunk(void **unused)
{
	(void)unused;
	for (size_t n = 65200; n < 65540; n += 3) {
		struct sbt_writer *w;
		struct sbt_reader *r;
		struct buf data;
		size_t at, behind;

		ok(sbt_writer_open(&w, path, &small_meta));
		add_fill(w, 1);
		data = get_file();
		at = data.len;
		buf_free(&data);
		add_noise(w, n, n);
		data = get_file();
		behind = data.len;
		buf_free(&data);
		add_fill(w, 2);
		add_noise(w, 70000, n);
		add_fill(w, 3);
		data = get_file();
		ok(sbt_writer_close(w));
		assert_true(at && behind > at + n);
		data.data[at + 5] ^= 1;
		put_file(data.data, data.len);
		ok(sbt_reader_open(&r, path));
		assert_int_equal(sbt_reader_count(r), 3);
		assert_non_null(strstr(sbt_reader_damage(r), "are damaged and were left out"));
		sbt_reader_close(r);
		/* nothing but noise behind it */
		put_file(data.data, behind);
		ok(sbt_reader_open(&r, path));
		assert_int_equal(sbt_reader_count(r), 1);
		sbt_reader_close(r);
		buf_free(&data);
	}
}

/* Each line of some is one of all's. */
static bool lines_are_among(const char *some, const char *all)
{
	while (*some) {
		size_t n = strcspn(some, "\n") + 1;
		const char *p = all;

		while (*p && strncmp(p, some, n) != 0)
			p += strcspn(p, "\n") + 1;
		if (!*p)
			return false;
		some += n;
	}
	return true;
}

static void test_every_byte_flipped(void **unused)
{
	struct buf data = make_trace();
	char *whole, *whole_cmds, *text, *cmds, *damage;
	unsigned refused = 0, told = 0, same = 0;
	struct err *e;

	whole = read_all(&e, &whole_cmds, &damage);
	for (size_t i = 0; i < 2 * data.len; i++) {
		uint8_t bits = i & 1 ? 0xff : (uint8_t)(1 << (i / 2) % 8);

		data.data[i / 2] ^= bits;
		put_file(data.data, data.len);
		text = read_all(&e, &cmds, &damage);
		data.data[i / 2] ^= bits;
		if (e) {
			refused++;
			assert_true(i / 2 < 64);
			err_free(e);
			continue;
		}
		if (damage)
			told++;
		else if (strcmp(text, whole) == 0)
			same++;
		else
			fail_msg("byte %zu flipped: other data, and nothing is said:\n%s", i / 2,
				text);
		if (!lines_are_among(cmds, whole_cmds))
			fail_msg("byte %zu flipped: a command that was never there", i / 2);
		free(text);
		free(cmds);
		free(damage);
	}
	print_message("# of %zu flips: %u refused, %u told, %u harmless\n", 2 * data.len, refused,
		told, same);
	assert_int_equal(refused, 19); /* 8 bytes of magic, and the version where it grew */
	assert_true(told > data.len);
	assert_true(same < data.len / 4); /* only what nobody reads */
	free(whole);
	free(whole_cmds);
	buf_free(&data);
}

/* The same behind the checksums: hostile, not damaged. Nothing is promised but to survive. */
static void test_hostile_bytes(void **unused)
{
	struct buf data = make_trace();
	uint8_t *copy = malloc(data.len);
	uint64_t seed = 31337;
	struct err *e;

	for (unsigned i = 0; i < 6000; i++) {
		char *text, *cmds, *damage;

		memcpy(copy, data.data, data.len);
		for (unsigned k = 0; k <= i % 3; k++)
			copy[make_random(&seed) % data.len] = (uint8_t)make_random(&seed);
		repair(copy, data.len);
		put_file(copy, data.len);
		text = read_all(&e, &cmds, &damage);
		err_free(e);
		free(text);
		free(cmds);
		free(damage);
	}
	free(copy);
	buf_free(&data);
}

/* --- files built by hand --- */

static void file_begin(struct buf *b)
{
	struct sbt_file_header h = {.magic = SBT_MAGIC, .major = 1, .byte_order = SBT_BYTE_ORDER};

	buf_add(b, &h, sizeof h);
}

static void chunk(struct buf *b, enum sbt_chunk_type type, uint64_t first, uint64_t last,
	uint32_t count, const struct buf *payload)
{
	struct sbt_chunk_header h = {.magic = SBT_CHUNK_MAGIC,
		.type = (uint16_t)type,
		.stored = payload->len,
		.raw = payload->len,
		.first = first,
		.last = last,
		.count = count};

	buf_add(b, &h, sizeof h);
	buf_add(b, payload->data, payload->len);
}

static struct sbt_reader *open_bytes(struct buf *b)
{
	struct sbt_reader *r;

	repair(b->data, b->len);
	put_file(b->data, b->len);
	ok(sbt_reader_open(&r, path));
	return r;
}

static void test_huge_counts(void **unused)
{
	static const enum sbt_chunk_type types[] = {SBT_CHUNK_META, SBT_CHUNK_MODULES,
		SBT_CHUNK_STACKS, SBT_CHUNK_COMMANDS, SBT_CHUNK_TIMES, SBT_CHUNK_UNREPLAYABLE,
		SBT_CHUNK_CODE, SBT_CHUNK_KEYFRAME, SBT_CHUNK_MEMORY, SBT_CHUNK_PAGES};
	static const uint64_t numbers[] = {
		0, 1, 2, 127, 4096, 1u << 20, UINT32_MAX, 1ull << 60, UINT64_MAX};

	for (unsigned t = 0; t < sizeof types / sizeof *types; t++) {
		for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
			struct buf payload = BUF_INIT, b = BUF_INIT;
			struct sbt_reader *r;

			file_begin(&b);
			for (unsigned k = 0; k < 12; k++)
				sbt_put(&payload, k % 3 == 2 ? 1 : numbers[i]);
			chunk(&b, types[t], 1, numbers[i], UINT32_MAX, &payload);
			chunk(&b, types[t], numbers[i], UINT64_MAX, 5, &payload);
			r = open_bytes(&b);
			free(dump(r, true));
			assert_non_null(sbt_reader_damage(r));
			sbt_reader_close(r);
			buf_free(&b);
			buf_free(&payload);
		}
	}
}

static void test_lengths_that_lie(void **unused)
{
	struct buf data = make_trace(), payload = BUF_INIT, b = BUF_INIT;
	struct sbt_chunk_header h;
	struct sbt_reader *r;
	uint64_t seq;

	/* a payload that goes on past the end of the file */
	memcpy(&h, data.data + 64, sizeof h);
	h.stored = UINT64_MAX - 100;
	h.header_sum = sbt_header_sum(&h);
	memcpy(data.data + 64, &h, sizeof h);
	put_file(data.data, data.len - 10);
	ok(sbt_reader_open(&r, path));
	assert_int_equal(sbt_reader_count(r), 0);
	assert_non_null(strstr(sbt_reader_damage(r), "unfinished"));
	sbt_reader_close(r);
	buf_free(&data);

	/* 1 GiB out of nothing, 2^60 bytes out of nothing */
	for (unsigned i = 0; i < 2; i++) {
		buf_clear(&b);
		file_begin(&b);
		buf_add(&payload, "abc", 3);
		chunk(&b, SBT_CHUNK_KEYFRAME, 1, 1, 1, &payload);
		memcpy(&h, b.data + 64, sizeof h);
		h.flags = SBT_CHUNK_ZSTD;
		h.raw = i ? 1ull << 60 : 1u << 30;
		memcpy(b.data + 64, &h, sizeof h);
		r = open_bytes(&b);
		ok(sbt_reader_keyframe(r, 1, &seq, &payload));
		assert_int_equal(seq, 0);
		assert_int_equal(payload.len, 0);
		assert_non_null(strstr(sbt_reader_damage(r), "keyframe at #1 is damaged"));
		sbt_reader_close(r);
	}
	buf_free(&payload);
	buf_free(&b);
}

/* A kind and a field that a newer version may have: the rest of the chunk is read. */
static void test_unknown_kinds_and_fields(void **unused)
{
	struct buf p = BUF_INIT, b = BUF_INIT, col[SBT_COLUMNS] = {0}, none = BUF_INIT;
	const struct sbt_kind_desc *d = sbt_kind(SBT_SYNC_END);
	struct sbt_cursor *cur;
	const struct sbt_cmd *c;
	struct sbt_reader *r;

	assert_int_equal(d->nfields, 1);
	sbt_put(&p, 3);	 /* commands */
	sbt_put(&p, 10); /* the first one's seq */
	sbt_put(&p, 2);
	sbt_put(&p, 5000); /* an unknown kind: a number and a string */
	sbt_put(&p, 2);
	buf_byte(&p, SBT_WIRE_SCALAR);
	buf_byte(&p, SBT_WIRE_STR);
	sbt_put(&p, SBT_SYNC_END); /* with a second field, a blob */
	sbt_put(&p, 2);
	buf_byte(&p, SBT_WIRE_SCALAR);
	buf_byte(&p, SBT_WIRE_BLOB);
	for (unsigned i = 0; i < 3; i++) { /* sync_end, unknown, sync_end */
		bool unknown = i == 1;

		if (i < 2) {
			sbt_put(&col[SBT_COL_HEAD], 0);
			sbt_put(&col[SBT_COL_HEAD], i);
			sbt_put(&col[SBT_COL_HEAD], unknown ? 5000 : SBT_SYNC_END);
		}
		sbt_put(&col[SBT_COL_HEAD], ((uint64_t)unknown + 1) << 1 | 1);
		sbt_put(&col[SBT_COL_MASK], 3u << SBT_COMMON_BITS);
		sbt_put(&col[SBT_COL_VALUE], sbt_zigzag(7)); /* the number: 7 more than before */
		sbt_put(&col[SBT_COL_VALUE], 0);
		sbt_put(&col[SBT_COL_VALUE], 2);
		buf_add(&col[SBT_COL_BYTES], "xy", 2);
		sbt_put(&col[SBT_COL_CORR], 0);
		sbt_put(&col[SBT_COL_TIME], sbt_zigzag(1000));
	}
	for (unsigned i = 0; i < SBT_COLUMNS; i++)
		sbt_put(&p, col[i].len);
	for (unsigned i = 0; i < SBT_COLUMNS; i++) {
		buf_add(&p, col[i].data, col[i].len);
		buf_free(&col[i]);
	}
	file_begin(&b);
	buf_str(&none, "?");
	chunk(&b, 77, 0, 0, 0, &none); /* an unknown type of chunk */
	chunk(&b, SBT_CHUNK_COMMANDS, 10, 12, 3, &p);
	b.data[10] = 9; /* version 1.9 */
	r = open_bytes(&b);
	ok(sbt_cursor_open(&cur, r));
	ok(sbt_cursor_next(cur, &c));
	assert_non_null(c);
	assert_int_equal(c->seq, 10);
	assert_int_equal(c->kind, SBT_SYNC_END);
	assert_int_equal(c->u.sync_end.begin, 7);
	assert_int_equal(c->host_ns, 1000);
	ok(sbt_cursor_next(cur, &c));
	assert_non_null(c);
	assert_int_equal(c->seq, 12);
	assert_int_equal(c->u.sync_end.begin, 14);
	assert_int_equal(c->host_ns, 3000);
	ok(sbt_cursor_next(cur, &c));
	assert_null(c);
	assert_non_null(strstr(sbt_reader_damage(r), "only a newer tsdb knows"));
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	buf_free(&p);
	buf_free(&b);
	buf_free(&none);
}

/* A patch that reaches past its blob, one word further each time: only the first is inside. */
static void test_patch_past_the_end(void **unused)
{
	for (uint64_t skip = 0; skip < 4; skip++) {
		struct buf p = BUF_INIT, b = BUF_INIT, col[SBT_COLUMNS] = {0};
		const struct sbt_cmd *c;
		struct sbt_cursor *cur;
		struct sbt_reader *r;

		sbt_put(&p, 2);
		sbt_put(&p, 1);
		sbt_put(&p, 1);
		sbt_put(&p, SBT_SYNC_END);
		sbt_put(&p, 2);
		buf_byte(&p, SBT_WIRE_SCALAR);
		buf_byte(&p, SBT_WIRE_BLOB);
		sbt_put(&col[SBT_COL_HEAD], 0);
		sbt_put(&col[SBT_COL_HEAD], 0);
		sbt_put(&col[SBT_COL_HEAD], SBT_SYNC_END);
		for (unsigned i = 0; i < 2; i++) {
			sbt_put(&col[SBT_COL_HEAD], 3);
			sbt_put(&col[SBT_COL_MASK], 2u << SBT_COMMON_BITS);
			sbt_put(&col[SBT_COL_CORR], 0);
			sbt_put(&col[SBT_COL_TIME], 0);
		}
		sbt_put(&col[SBT_COL_VALUE], 0); /* 8 new bytes */
		sbt_put(&col[SBT_COL_VALUE], 8);
		buf_add(&col[SBT_COL_BYTES], "12345678", 8);
		sbt_put(&col[SBT_COL_VALUE], 1); /* a patch of one word */
		sbt_put(&col[SBT_COL_VALUE], 1);
		sbt_put(&col[SBT_COL_VALUE], skip);
		sbt_put(&col[SBT_COL_VALUE], 2);
		for (unsigned i = 0; i < SBT_COLUMNS; i++)
			sbt_put(&p, col[i].len);
		for (unsigned i = 0; i < SBT_COLUMNS; i++) {
			buf_add(&p, col[i].data, col[i].len);
			buf_free(&col[i]);
		}
		file_begin(&b);
		chunk(&b, SBT_CHUNK_COMMANDS, 1, 2, 2, &p);
		r = open_bytes(&b);
		ok(sbt_cursor_open(&cur, r));
		ok(sbt_cursor_next(cur, &c));
		assert_non_null(c);
		ok(sbt_cursor_next(cur, &c));
		assert_int_equal(c != NULL, skip == 0);
		assert_int_equal(
			strstr(sbt_reader_damage(r), "column of values") != NULL, skip != 0);
		sbt_cursor_close(cur);
		sbt_reader_close(r);
		buf_free(&p);
		buf_free(&b);
	}
}

static void test_commands_twice(void **unused)
{
	struct buf data = make_trace(), b = BUF_INIT;
	struct sbt_reader *r;
	char *cmds;

	/* the whole body again behind itself, without the trailer that closes it */
	buf_add(&b, data.data, data.len - SBT_TRAILER_SIZE);
	buf_add(&b, data.data + SBT_HEADER_SIZE, data.len - SBT_TRAILER_SIZE - SBT_HEADER_SIZE);
	put_file(b.data, b.len);
	ok(sbt_reader_open(&r, path));
	assert_int_equal(sbt_reader_count(r), 40);
	cmds = commands_only(r);
	assert_non_null(strstr(sbt_reader_damage(r), "out of order"));
	free(cmds);
	sbt_reader_close(r);
	buf_free(&b);
	buf_free(&data);
}

/* --- refused --- */

static void refused(enum err_code code, const char *text)
{
	struct sbt_reader *r;
	struct err *e = sbt_reader_open(&r, path);

	assert_non_null(e);
	if (!strstr(e->what, text) || !strstr(e->what, path))
		fail_msg("\"%s\" does not say \"%s\"", e->what, text);
	assert_int_equal(e->code, code);
	err_free(e);
}

static void test_refused_files(void **unused)
{
	static const char zeros[4096];
	struct buf data = make_trace();

	put_file("", 0);
	refused(ERR_BAD_TRACE, "is empty");
	put_file("hello, I am no trace\n", 21);
	refused(ERR_BAD_TRACE, "is not a tsdb trace");
	put_file("h", 1);
	refused(ERR_BAD_TRACE, "is not a tsdb trace");
	put_file(zeros, sizeof zeros);
	refused(ERR_BAD_TRACE, "is not a tsdb trace");
	put_file(data.data, 40);
	refused(ERR_BAD_TRACE, "is cut off inside its header");
	data.data[8] = 99;
	put_file(data.data, data.len);
	refused(ERR_UNSUPPORTED, "newer tsdb (trace format version 99.");
	data.data[8] = SBT_VERSION_MAJOR;
	for (unsigned i = 0; i < 4; i++)
		data.data[12 + i] = (uint8_t)(1 + i);
	put_file(data.data, data.len);
	refused(ERR_UNSUPPORTED, "big-endian");
	unlink(path);
	refused(ERR_SYSTEM, "No such file");
	mkdir(path, 0700);
	refused(ERR_USAGE, "is a directory");
	rmdir(path);
	mkfifo(path, 0600);
	refused(ERR_USAGE, "is not a regular file");
	unlink(path);
	buf_free(&data);
}

/* --- a full disk --- */

static void test_full_disk(void **unused)
{
	struct sbt_meta meta = {.program = "./app"};
	struct rlimit before, limit;
	char *heap = malloc(4 * 4096);
	uint64_t seed = 8, seq, told = 0;
	struct sbt_reader *r;
	struct sbt_writer *w;
	struct sbt_cmd c;
	struct err *e;
	char *cmds;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 20000;
	setrlimit(RLIMIT_FSIZE, &limit);
	ok(sbt_writer_open(&w, path, &meta));
	for (seq = 1; seq <= 2000; seq++) {
		make_cmd(&c, seq, SBT_COPY, &seed, heap);
		e = sbt_writer_cmd(w, &c);
		if (!e && seq % 20 == 0)
			e = sbt_writer_flush(w);
		if (!e)
			continue;
		assert_int_equal(told, 0);
		told = seq;
		assert_int_equal(e->code, ERR_SYSTEM);
		assert_int_equal(e->sys, EFBIG);
		assert_non_null(strstr(e->what, path));
		err_free(e);
	}
	ok(sbt_writer_close(w));
	setrlimit(RLIMIT_FSIZE, &before);
	assert_true(told > 20);
	ok(sbt_reader_open(&r, path));
	assert_int_equal(sbt_reader_count(r), told - 20);
	cmds = commands_only(r);
	if (sbt_reader_damage(r)) /* there was no room for the index; nothing else is wrong */
		assert_string_equal(sbt_reader_damage(r),
			"it has no index: the recording was cut off, or is still going on");
	else
		assert_int_equal(sbt_reader_lost(r), 2000 - told);
	free(cmds);
	sbt_reader_close(r);
	unlink(path);

	e = sbt_writer_open(&w, "/dev/full", &meta);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_USAGE); /* a device is no file */
	err_free(e);
	e = sbt_writer_open(&w, "no/such/folder/x.sbt", &meta);
	assert_non_null(e);
	assert_non_null(strstr(e->what, "no/such/folder/x.sbt"));
	err_free(e);
	free(heap);
}

/* Some 40 kB that unpack to 320 MiB: refused before anything is unpacked, unless the user says
 * otherwise. */
static void test_a_bomb(void **unused)
{
	enum { MIB = 1 << 20, EACH = 64 * MIB };
	const struct sbt_meta meta = {.program = "bomb"};
	uint8_t *zeros = calloc(1, EACH);
	struct sbt_reader *r = NULL;
	struct sbt_writer *w;
	uint64_t hash;
	struct err *e;

	(void)unused;
	ok(sbt_writer_open(&w, path, &meta));
	for (unsigned i = 0; i < 5; i++) {
		zeros[0] = (uint8_t)i; /* code is written once for each content */
		ok(sbt_writer_code(w, zeros, EACH, CODE_PTX, &hash));
	}
	ok(sbt_writer_close(w));
	e = sbt_reader_open(&r, path);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_LIMIT);
	assert_non_null(strstr(e->what, "budget"));
	assert_non_null(strstr(e->cure, "TSDB_UNPACK_MAX"));
	err_free(e);
	setenv("TSDB_UNPACK_MAX", "400000000", 1);
	ok(sbt_reader_open(&r, path));
	unsetenv("TSDB_UNPACK_MAX");
	sbt_reader_close(r);
	unlink(path);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_trace_is_whole),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_one_command_in_a_chunk),
		cmocka_unit_test(test_behind_a_large_damaged_chunk),
		cmocka_unit_test(test_every_byte_flipped),
		cmocka_unit_test(test_hostile_bytes),
		cmocka_unit_test(test_huge_counts),
		cmocka_unit_test(test_lengths_that_lie),
		cmocka_unit_test(test_unknown_kinds_and_fields),
		cmocka_unit_test(test_patch_past_the_end),
		cmocka_unit_test(test_commands_twice),
		cmocka_unit_test(test_refused_files),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_a_bomb),
	};
	int failed;

	snprintf(path, sizeof path, "test-sbt-damage-%d.sbt", (int)getpid());
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
