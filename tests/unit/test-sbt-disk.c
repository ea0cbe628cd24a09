/* SPDX-License-Identifier: Apache-2.0
 *
 * Files through a system whose calls come back early, are interrupted and fail, which are ours
 * here; and traces that are read at random, whole and with one chunk spoiled, against what was
 * written.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>
#include <xxhash.h>

#include "sbt-make.h"
#include "sbt/format/format.h"
#include "sbt/memory.h"

static char path[64];

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

/* --- the system's calls --- */

static bool choppy;
static uint64_t chops = 7;
static unsigned writes_until; /* the one that fails; 0: none */
static int fails_with;
static size_t goes_on; /* bytes that it writes all the same */
static bool no_random, no_close;

static bool chop(unsigned of)
{
	return choppy && make_random(&chops) % of == 0;
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
	size_t all = 0, part;

	for (int i = 0; i < n; i++)
		all += v[i].iov_len;
	if (writes_until && !--writes_until) {
		part = goes_on < all ? goes_on : all;
		if (!part) {
			errno = fails_with;
			return -1;
		}
		writes_until = 1; /* and the rest fails */
		goes_on = 0;
	} else if (chop(3)) {
		errno = EINTR;
		return -1;
	} else if (!choppy) {
		return syscall(SYS_writev, fd, v, n);
	} else {
		part = 1 + make_random(&chops) % all;
	}
	if (v[0].iov_len >= part || n == 1)
		return write(fd, v[0].iov_base, part < v[0].iov_len ? part : v[0].iov_len);
	const ssize_t first = write(fd, v[0].iov_base, v[0].iov_len);

	return first + write(fd, v[1].iov_base, part - v[0].iov_len);
}

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
	if (chop(3)) {
		errno = EINTR;
		return -1;
	}
	return syscall(SYS_pread64, fd, p, choppy && n > 1 ? 1 + make_random(&chops) % n : n, at);
}

ssize_t getrandom(void *p, size_t n, unsigned flags)
{
	(void)flags;
	memset(p, 0, n);
	return no_random ? -1 : (ssize_t)n;
}

int close(int fd)
{
	const int r = (int)syscall(SYS_close, fd);

	if (!no_close)
		return r;
	errno = EIO;
	return -1;
}

/* --- what is written --- */

#define COMMANDS 400
#define PIECES 3

/* What reading it must give: commands by number, with times, in chunks of their own. */
static struct {
	struct sbt_cmd cmd[COMMANDS];
	unsigned n;
} all;

static struct sbt_writer *begin(void)
{
	static const struct sbt_meta meta = {
		.program = "./app", .cwd = "/", .host = "h", .gpu = "g", .tsdb = "0"};
	struct sbt_writer *w;

	snprintf(path, sizeof path, "test-sbt-disk-%d.sbt", (int)getpid());
	ok(sbt_writer_open(&w, path, &meta));
	return w;
}

/* Commands with gaps, flushed now and then; their times later, in any order, some twice: the later
 * one counts. */
static void write_any(uint64_t seed)
{
	struct sbt_writer *w = begin();
	uint64_t seq = 0;

	memset(&all, 0, sizeof all);
	for (unsigned i = 0; i < COMMANDS; i++) {
		struct sbt_cmd *c = &all.cmd[all.n++];

		seq += 1 + (make_random(&seed) % 5 ? 0 : make_random(&seed) % 9);
		*c = (struct sbt_cmd){.seq = seq, .kind = SBT_FILL, .host_ns = 1000 * seq};
		c->u.fill.size = make_random(&seed) % 99;
		ok(sbt_writer_cmd(w, c));
		for (unsigned k = (unsigned)(make_random(&seed) % 3); k--;) {
			struct sbt_cmd *of = &all.cmd[make_random(&seed) % all.n];

			if (of->gpu_end_ns && make_random(&seed) % 4)
				continue;
			if (of->gpu_end_ns) /* two of one number are in no chunk */
				ok(sbt_writer_flush(w));
			of->gpu_start_ns = 1 + make_random(&seed) % 100000;
			of->gpu_end_ns = of->gpu_start_ns + make_random(&seed) % 1000;
			ok(sbt_writer_time(w, of->seq, of->gpu_start_ns, of->gpu_end_ns));
		}
		if (make_random(&seed) % 30 == 0)
			ok(sbt_writer_flush(w));
	}
	ok(sbt_writer_close(w));
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

/* --- reading --- */

/* The first that is there from seq on; gone[i]: it is in a chunk that was spoiled. */
static const struct sbt_cmd *next_of(uint64_t seq, const bool *gone)
{
	for (unsigned i = 0; i < all.n; i++)
		if (all.cmd[i].seq >= seq && !gone[i])
			return &all.cmd[i];
	return NULL;
}

static void same(const struct sbt_cmd *got, const struct sbt_cmd *want, bool times)
{
	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_int_equal(got->seq, want->seq);
	assert_int_equal(got->host_ns, want->host_ns);
	assert_int_equal(got->u.fill.size, want->u.fill.size);
	if (times) {
		assert_int_equal(got->gpu_start_ns, want->gpu_start_ns);
		assert_int_equal(got->gpu_end_ns, want->gpu_end_ns);
	}
}

static void walk(struct sbt_reader *r, uint64_t seed, const bool *gone, bool times)
{
	const uint64_t last = all.cmd[all.n - 1].seq;
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	uint64_t next = 1;

	ok(sbt_cursor_open(&cur, r));
	for (const struct sbt_cmd *want; (want = next_of(next, gone)); next = want->seq + 1) {
		ok(sbt_cursor_next(cur, &c));
		same(c, want, times);
	}
	for (unsigned i = 0; i < 200; i++) {
		if (make_random(&seed) % 3 == 0) {
			next = make_random(&seed) % 4 ? make_random(&seed) % (last + 9)
						      : next + make_random(&seed) % 3;
			ok(sbt_cursor_seek(cur, next));
		}
		for (unsigned k = (unsigned)(make_random(&seed) % 5); k--;) {
			const struct sbt_cmd *want = next_of(next, gone);

			ok(sbt_cursor_next(cur, &c));
			same(c, want, times);
			next = want ? want->seq + 1 : last + 10;
		}
	}
	sbt_cursor_close(cur);
}

/* Behind the end, and back into the last chunk: not what was loaded before. */
static void test_back_from_the_end(void **unused)
{
	static const bool none[COMMANDS];
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct sbt_reader *r;

	(void)unused;
	write_any(3);
	ok(sbt_reader_open(&r, path));
	ok(sbt_cursor_open(&cur, r));
	for (unsigned i = 0; i < 3; i++) {
		ok(sbt_cursor_seek(cur, 1 + i));
		ok(sbt_cursor_next(cur, &c));
		same(c, next_of(1 + i, none), true);
		ok(sbt_cursor_seek(cur, all.cmd[all.n - 1].seq + 1));
		if (i)
			ok(sbt_cursor_next(cur, &c));
		ok(sbt_cursor_seek(cur, all.cmd[all.n - 1].seq));
		ok(sbt_cursor_next(cur, &c));
		same(c, &all.cmd[all.n - 1], true);
	}
	assert_null(sbt_reader_damage(r));
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	unlink(path);
}

static void test_any_walk(void **unused)
{
	static const bool none[COMMANDS];
	struct sbt_reader *r;

	(void)unused;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		write_any(seed * 7919);
		choppy = seed % 3 == 0;
		ok(sbt_reader_open(&r, path));
		for (unsigned k = 0; k < 4; k++)
			walk(r, 100 * seed + k, none, true);
		choppy = false;
		assert_null(sbt_reader_damage(r));
		assert_int_equal(sbt_reader_count(r), all.n);
		sbt_reader_close(r);
	}
	unlink(path);
}

/* One chunk is spoiled: what was in it is missing, and nothing else. Its damage is told once. */
static void test_one_chunk_is_spoiled(void **unused)
{
	struct sbt_chunk_header h;
	struct buf file;

	(void)unused;
	write_any(4711);
	file = get_file();
	for (size_t at = SBT_HEADER_SIZE; at < file.len; at += sizeof h + h.stored) {
		bool gone[COMMANDS] = {false};
		struct sbt_reader *r;

		memcpy(&h, file.data + at, sizeof h);
		if ((h.type != SBT_CHUNK_COMMANDS && h.type != SBT_CHUNK_TIMES) || !h.stored)
			continue;
		for (unsigned i = 0; i < all.n; i++)
			gone[i] = h.type == SBT_CHUNK_COMMANDS && all.cmd[i].seq >= h.first &&
				  all.cmd[i].seq <= h.last;
		file.data[at + sizeof h + h.stored / 2] ^= 0x10;
		put_file(&file);
		file.data[at + sizeof h + h.stored / 2] ^= 0x10;
		ok(sbt_reader_open(&r, path));
		walk(r, at, gone, h.type == SBT_CHUNK_COMMANDS);
		walk(r, at + 1, gone, h.type == SBT_CHUNK_COMMANDS);
		assert_non_null(sbt_reader_damage(r));
		assert_null(strchr(sbt_reader_damage(r), '\n'));
		sbt_reader_close(r);
	}
	buf_free(&file);
	unlink(path);
}

/* Twenty sentences at most, the last of which says that there are more. */
static void test_how_much_damage_is_told(void **unused)
{
	static const char more[] = "there is more damage than is listed here";

	(void)unused;
	for (unsigned spoiled = 18; spoiled <= 23; spoiled++) {
		struct sbt_writer *w = begin();
		struct sbt_chunk_header h;
		const struct sbt_cmd *c;
		struct sbt_cursor *cur;
		struct sbt_reader *r;
		struct buf file;
		unsigned lines = 1, n = 0;

		for (uint64_t seq = 1; seq <= spoiled; seq++) {
			ok(sbt_writer_cmd(w, &(struct sbt_cmd){.seq = seq, .kind = SBT_FILL}));
			ok(sbt_writer_flush(w));
		}
		ok(sbt_writer_close(w));
		file = get_file();
		for (size_t at = SBT_HEADER_SIZE; at < file.len; at += sizeof h + h.stored) {
			memcpy(&h, file.data + at, sizeof h);
			if (h.type == SBT_CHUNK_COMMANDS)
				file.data[at + sizeof h] ^= 1;
		}
		put_file(&file);
		ok(sbt_reader_open(&r, path));
		ok(sbt_cursor_open(&cur, r));
		ok(sbt_cursor_next(cur, &c));
		assert_null(c);
		for (const char *p = sbt_reader_damage(r); (p = strchr(p, '\n')); p++)
			lines++;
		n = spoiled < 20 ? spoiled : 20;
		assert_int_equal(lines, n);
		assert_int_equal(strstr(sbt_reader_damage(r), more) != NULL, spoiled >= 20);
		sbt_cursor_close(cur);
		sbt_reader_close(r);
		buf_free(&file);
	}
	unlink(path);
}

/* What all chunks but pages unpack to, to the byte. */
static void test_the_budget_for_unpacking(void **unused)
{
	struct sbt_chunk_header h;
	struct sbt_reader *r;
	uint64_t sum = 0;
	struct buf file;
	char text[24];

	(void)unused;
	write_any(5);
	file = get_file();
	for (size_t at = SBT_HEADER_SIZE; at < file.len; at += sizeof h + h.stored) {
		memcpy(&h, file.data + at, sizeof h);
		sum += h.type < SBT_CHUNK_INDEX ? h.raw : 0;
	}
	snprintf(text, sizeof text, "%llu", (unsigned long long)sum);
	setenv("TSDB_UNPACK_MAX", text, 1);
	ok(sbt_reader_open(&r, path));
	sbt_reader_close(r);
	snprintf(text, sizeof text, "%llu", (unsigned long long)sum - 1);
	setenv("TSDB_UNPACK_MAX", text, 1);
	struct err *e = sbt_reader_open(&r, path);

	assert_non_null(e);
	assert_int_equal(e->code, ERR_LIMIT);
	err_free(e);
	unsetenv("TSDB_UNPACK_MAX");
	buf_free(&file);
	unlink(path);
}

/* Each word about the recording comes back as itself. */
static void test_meta_comes_back(void **unused)
{
	const struct sbt_meta all_of_it = {.program = "p",
		.cwd = "c",
		.host = "h",
		.gpu = "g",
		.vendor = "AMD",
		.target = "gfx90a",
		.tsdb = "t",
		.start_ns = 7,
		.pid = 8,
		.driver_version = 9,
		.rank = 3,
		.ranks = 5};
	struct sbt_writer *w;
	struct sbt_reader *r;
	const struct sbt_meta *m;

	(void)unused;
	for (unsigned bit = 0; bit < 16; bit = bit ? 2 * bit : 1) {
		struct sbt_meta want = all_of_it;

		want.soft = bit & 1;
		want.stacks = bit & 2;
		want.timestamps = bit & 4;
		want.observed = bit & 8;
		snprintf(path, sizeof path, "test-sbt-disk-%d.sbt", (int)getpid());
		ok(sbt_writer_open(&w, path, &want));
		ok(sbt_writer_close(w));
		ok(sbt_reader_open(&r, path));
		m = sbt_reader_meta(r);
		assert_string_equal(m->program, "p");
		assert_string_equal(m->cwd, "c");
		assert_string_equal(m->host, "h");
		assert_string_equal(m->gpu, "g");
		assert_string_equal(m->vendor, "AMD");
		assert_string_equal(m->target, "gfx90a");
		assert_string_equal(m->tsdb, "t");
		assert_int_equal(m->start_ns, 7);
		assert_int_equal(m->pid, 8);
		assert_int_equal(m->driver_version, 9);
		assert_int_equal(m->rank, 3);
		assert_int_equal(m->ranks, 5);
		assert_int_equal(m->soft, want.soft);
		assert_int_equal(m->stacks, want.stacks);
		assert_int_equal(m->timestamps, want.timestamps);
		assert_int_equal(m->observed, want.observed);
		sbt_reader_close(r);
	}
	unlink(path);
}

/* A chunk of times of which one column ends early has none. */
static void test_columns_of_times(void **unused)
{
	(void)unused;
	for (unsigned spoiled = 0; spoiled < 4; spoiled++) {
		struct buf col[3] = {BUF_INIT, BUF_INIT, BUF_INIT}, b = BUF_INIT, file;
		struct sbt_writer *w = begin();
		struct sbt_chunk_header h;
		const struct sbt_cmd *c;
		struct sbt_cursor *cur;
		struct sbt_reader *r;

		for (uint64_t seq = 1; seq <= 3; seq++)
			ok(sbt_writer_cmd(w, &(struct sbt_cmd){.seq = seq, .kind = SBT_FILL}));
		for (uint64_t seq = 1; seq <= 3; seq++)
			ok(sbt_writer_time(w, seq, 10 * seq, 10 * seq + 3));
		ok(sbt_writer_close(w));
		for (unsigned i = 0; i < 3; i++) { /* 10 to 13, 20 to 23, 30 to 33 */
			sbt_put(&col[0], i > 0);
			sbt_put_delta(&col[1], 10 * i + 10, i ? 10 * i + 3 : 0);
			sbt_put_delta(&col[2], 3, 0);
		}
		sbt_put(&b, 3);
		sbt_put(&b, 1);
		for (unsigned i = 0; i < 3; i++)
			sbt_put(&b, col[i].len - (i + 1 == spoiled));
		for (unsigned i = 0; i < 3; i++) {
			buf_add(&b, col[i].data, col[i].len - (i + 1 == spoiled));
			buf_free(&col[i]);
		}
		file = get_file();
		for (size_t at = SBT_HEADER_SIZE; at < file.len; at += sizeof h + h.stored) {
			memcpy(&h, file.data + at, sizeof h);
			if (h.type != SBT_CHUNK_TIMES)
				continue;
			assert_false(h.flags);
			assert_int_equal(h.stored, b.len + (spoiled != 0)); /* with the byte */
			memset(file.data + at + sizeof h, 0, h.stored);
			memcpy(file.data + at + sizeof h, b.data, b.len);
			h.hash = XXH64(file.data + at + sizeof h, h.stored, 0);
			h.header_sum = 0;
			h.header_sum = (uint32_t)XXH64(&h, sizeof h, 0);
			memcpy(file.data + at, &h, sizeof h);
		}
		put_file(&file);
		ok(sbt_reader_open(&r, path));
		ok(sbt_cursor_open(&cur, r));
		for (uint64_t seq = 1; seq <= 3; seq++) {
			ok(sbt_cursor_next(cur, &c));
			if (!spoiled)
				assert_int_equal(c->gpu_end_ns, 10 * seq + 3);
		}
		assert_int_equal(sbt_reader_damage(r) != NULL, spoiled != 0);
		sbt_cursor_close(cur);
		sbt_reader_close(r);
		buf_free(&file);
		buf_free(&b);
	}
	unlink(path);
}

/* --- names of frames --- */

#define SYMBOLS 400

static void text_is(const char *got, const char *want)
{
	if (want && *want)
		assert_string_equal(got, want);
	else
		assert_null(got);
}

/* Of any of them, in several chunks; up to 32 calls in one place. */
static void test_names_of_frames(void **unused)
{
	static struct sbt_symbol v[SYMBOLS][33];
	static char names[SYMBOLS][8];
	static struct sbt_frame f[SYMBOLS];
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	uint64_t seed = 8;
	unsigned n;

	(void)unused;
	for (unsigned i = 0; i < SYMBOLS; i++) {
		f[i] = (struct sbt_frame){(uint32_t)(make_random(&seed) % 3),
			SYMBOLS * (make_random(&seed) % 1000) + i};
		snprintf(names[i], sizeof names[i], "f%u", i);
		for (unsigned k = 0; k <= i % 32; k++)
			v[i][k] = (struct sbt_symbol){.function = names[i],
				.file = k % 2 ? "a.c" : NULL,
				.folder = k % 3 ? "/b" : NULL,
				.line = 10 * k,
				.start = i + k};
		ok(sbt_writer_symbol(w, &f[i], v[i], 1 + i % 32));
		ok(sbt_writer_stack(w, i + 1, &f[i], 1));
		if (i % 90 == 89)
			ok(sbt_writer_flush(w));
	}
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	assert_true(sbt_reader_has_symbols(r));
	for (unsigned i = 0; i < SYMBOLS; i++) {
		const struct sbt_symbol *got = sbt_reader_symbol(r, &f[i], &n);
		const struct sbt_frame other[] = {{f[i].module, f[i].offset + SYMBOLS * 1000},
			{f[i].module + 3, f[i].offset}};

		assert_int_equal(n, 1 + i % 32);
		for (unsigned k = 0; k < n; k++) {
			text_is(got[k].function, v[i][k].function);
			text_is(got[k].file, v[i][k].file);
			text_is(got[k].folder, v[i][k].folder);
			assert_int_equal(got[k].line, v[i][k].line);
			assert_int_equal(got[k].start, v[i][k].start);
		}
		for (unsigned k = 0; k < 2; k++) {
			assert_null(sbt_reader_symbol(r, &other[k], &n));
			assert_int_equal(n, 0);
		}
	}
	assert_null(sbt_reader_damage(r));
	sbt_reader_close(r);
	w = begin(); /* more than a reader takes */
	for (unsigned k = 0; k < 33; k++)
		v[0][k].function = "f";
	ok(sbt_writer_symbol(w, &f[0], v[0], 33));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	assert_null(sbt_reader_symbol(r, &f[0], &n));
	assert_non_null(sbt_reader_damage(r));
	sbt_reader_close(r);
	unlink(path);
}

/* Names and texts of sources as long as they may be, and longer. */
static void test_limits_of_sources(void **unused)
{
	static const size_t sizes[][2] = {{SBT_NAME_MAX, 3}, {SBT_NAME_MAX + 1, 3}, {0, 3},
		{1, SBT_SOURCE_MAX}, {1, SBT_SOURCE_MAX + 1}};
	char *text = malloc(SBT_SOURCE_MAX + 2), *name = calloc(1, SBT_NAME_MAX + 2);

	(void)unused;
	memset(text, 'x', SBT_SOURCE_MAX + 2);
	for (unsigned i = 0; i < 5; i++) {
		struct sbt_writer *w = begin();
		struct buf got = BUF_INIT;
		struct sbt_reader *r;
		struct err *e;
		char *file;

		memset(name, 'n', SBT_NAME_MAX + 1);
		name[sizes[i][0]] = 0;
		e = sbt_writer_source(w, name, text, sizes[i][1]);
		assert_int_equal(e != NULL, i == 4);
		err_free(e);
		ok(sbt_writer_close(w));
		ok(sbt_reader_open(&r, path));
		assert_int_equal(sbt_reader_sources(r), i < 4);
		e = sbt_reader_source(r, 0, &file, &got);
		assert_int_equal(e == NULL, i == 0 || i == 3);
		if (!e)
			assert_int_equal(got.len, sizes[i][1]);
		assert_int_equal(sbt_reader_damage(r) != NULL, i == 1 || i == 2);
		free(file);
		err_free(e);
		buf_free(&got);
		sbt_reader_close(r);
	}
	free(text);
	free(name);
	unlink(path);
}

/* --- writing --- */

/* Whatever the calls do in between, the file is the same: its uuid is of zeros here. */
static void test_calls_that_come_back_early(void **unused)
{
	struct buf file, again;

	(void)unused;
	write_any(77);
	file = get_file();
	assert_int_equal(file.data[16 + 6], 0x40); /* RFC 9562, version 4, its variant */
	assert_int_equal(file.data[16 + 8], 0x80);
	assert_int_equal(file.data[16 + 5] | file.data[16 + 7] | file.data[16 + 9], 0);
	for (unsigned i = 0; i < 5; i++) {
		choppy = true;
		write_any(77);
		choppy = false;
		again = get_file();
		assert_int_equal(again.len, file.len);
		assert_memory_equal(again.data, file.data, file.len);
		buf_free(&again);
	}
	no_random = true; /* then the time has to do */
	write_any(77);
	no_random = false;
	again = get_file();
	assert_int_equal(again.data[16 + 6] & 0xf0, 0x40);
	assert_int_equal(again.data[16 + 8] & 0xc0, 0x80);
	assert_memory_not_equal(again.data + 16, file.data + 16, 16);
	buf_free(&again);
	buf_free(&file);
	unlink(path);
}

/* A write fails, after some bytes or none: the error is told once, with a cure if it is about room,
 * and the file is what was there before it, with an index. */
static void test_a_write_that_fails(void **unused)
{
	static const int errors[] = {ENOSPC, EFBIG, EDQUOT, EIO};

	(void)unused;
	for (unsigned at = 2; at < 9; at++)
		for (unsigned i = 0; i < 8; i++) {
			struct sbt_writer *w = begin();
			const int sys = errors[i % 4];
			unsigned told = 0, kept = 0;
			const struct sbt_cmd *c;
			struct sbt_cursor *cur;
			struct sbt_reader *r;

			goes_on = i < 4 ? 0 : 10 * at;
			fails_with = sys;
			writes_until = at;
			for (uint64_t seq = 1; seq <= 9; seq++) {
				struct err *e;

				ok(sbt_writer_cmd(
					w, &(struct sbt_cmd){.seq = seq, .kind = SBT_FILL}));
				e = sbt_writer_flush(w);
				kept += !told && !e;
				told += e != NULL;
				if (e) {
					assert_int_equal(e->sys, sys);
					assert_int_equal(e->cure && strstr(e->cure, "make room"),
						sys != EIO);
					writes_until = 0;
				}
				err_free(e);
			}
			assert_int_equal(told, 1);
			ok(sbt_writer_close(w));
			ok(sbt_reader_open(&r, path));
			assert_null(sbt_reader_damage(r));
			assert_int_equal(sbt_reader_count(r), kept);
			assert_int_equal(sbt_reader_lost(r), 9 - kept - 1);
			ok(sbt_cursor_open(&cur, r));
			for (uint64_t seq = 1; seq <= kept; seq++) {
				ok(sbt_cursor_next(cur, &c));
				assert_int_equal(c->seq, seq);
			}
			sbt_cursor_close(cur);
			sbt_reader_close(r);
		}
	unlink(path);
}

static void test_a_close_that_fails(void **unused)
{
	struct sbt_writer *w = begin();
	struct err *e;

	(void)unused;
	no_close = true;
	e = sbt_writer_close(w);
	no_close = false;
	assert_non_null(e);
	assert_int_equal(e->sys, EIO);
	err_free(e);
	writes_until = 1; /* the header */
	goes_on = 0;
	fails_with = ENOSPC;
	e = sbt_writer_open(&w, path, &(struct sbt_meta){.program = "p"});
	writes_until = 0;
	assert_non_null(e);
	err_free(e);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_walk),
		cmocka_unit_test(test_back_from_the_end),
		cmocka_unit_test(test_one_chunk_is_spoiled),
		cmocka_unit_test(test_how_much_damage_is_told),
		cmocka_unit_test(test_the_budget_for_unpacking),
		cmocka_unit_test(test_meta_comes_back),
		cmocka_unit_test(test_columns_of_times),
		cmocka_unit_test(test_names_of_frames),
		cmocka_unit_test(test_limits_of_sources),
		cmocka_unit_test(test_calls_that_come_back_early),
		cmocka_unit_test(test_a_write_that_fails),
		cmocka_unit_test(test_a_close_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
