/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace written and read again: every kind with random fields, seeking, stacks, code, keyframes,
 * GPU times, size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <xxhash.h>

#include "sbt-make.h"
#include "sbt/fields.h"

#define HEAP (4 * 4096)

static char path[64];

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

static struct sbt_writer *begin(void)
{
	struct sbt_meta meta = {.program = "./app 'a b'",
		.cwd = "/home",
		.host = "h 6.1",
		.gpu = "Soft",
		.tsdb = "0.1",
		.start_ns = 12345678901234567,
		.pid = 42,
		.driver_version = 13000,
		.soft = true,
		.stacks = true,
		.timestamps = false};
	struct sbt_writer *w;

	snprintf(path, sizeof path, "test-sbt-trace-%d.sbt", (int)getpid());
	ok(sbt_writer_open(&w, path, &meta));
	return w;
}

static void same_cmd(const struct sbt_cmd *a, const struct sbt_cmd *b)
{
	const struct sbt_kind_desc *d = sbt_kind(a->kind);

	for (const struct sbt_field *f = sbt_common_fields; f->name; f++)
		if (sbt_get(a, f) != sbt_get(b, f))
			fail_msg("#%llu %s: %llx is not %llx", (unsigned long long)a->seq, f->name,
				(unsigned long long)sbt_get(b, f),
				(unsigned long long)sbt_get(a, f));
	for (const struct sbt_field *f = d->fields; f->name; f++) {
		if (!sbt_type_is_blob(f->type)) {
			if (sbt_get(a, f) != sbt_get(b, f))
				fail_msg("#%llu %s.%s: %llx is not %llx",
					(unsigned long long)a->seq, d->name, f->name,
					(unsigned long long)sbt_get(b, f),
					(unsigned long long)sbt_get(a, f));
		} else {
			const struct sbt_blob *x = sbt_get_blob(a, f), *y = sbt_get_blob(b, f);

			assert_int_equal(x->len, y->len);
			assert_int_equal(x->len ? memcmp(x->p, y->p, x->len) : 0, 0);
		}
	}
}

/* The commands of seed from seq 1 on with gaps; the same call makes the same commands again. */
static uint64_t step(struct sbt_cmd *c, uint64_t seq, uint64_t *seed, char *heap)
{
	unsigned kind = 1 + (unsigned)(make_random(seed) % (SBT_KIND_END - 1));

	seq += 1 + (make_random(seed) % 8 ? 0 : make_random(seed) % 1000);
	make_cmd(c, seq, kind, seed, heap);
	return seq;
}

static void round_trip(uint64_t first_seed, unsigned n, unsigned flush_every)
{
	char *heap = malloc(HEAP);
	uint64_t seed = first_seed, seq = 0;
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	struct sbt_cursor *cur;
	const struct sbt_cmd *got;
	struct sbt_cmd c;

	for (unsigned i = 0; i < n; i++) {
		seq = step(&c, seq, &seed, heap);
		ok(sbt_writer_cmd(w, &c));
		if (flush_every && i % flush_every == flush_every - 1)
			ok(sbt_writer_flush(w));
	}
	assert_int_equal(sbt_writer_count(w), n);
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	assert_null(sbt_reader_damage(r));
	assert_int_equal(sbt_reader_count(r), n);
	assert_int_equal(sbt_reader_last_seq(r), seq);
	ok(sbt_cursor_open(&cur, r));
	seed = first_seed;
	seq = 0;
	for (unsigned i = 0; i < n; i++) {
		seq = step(&c, seq, &seed, heap);
		ok(sbt_cursor_next(cur, &got));
		assert_non_null(got);
		same_cmd(&c, got);
	}
	ok(sbt_cursor_next(cur, &got));
	assert_null(got);
	assert_null(sbt_reader_damage(r));
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	unlink(path);
	free(heap);
}

static void test_every_kind_comes_back(void **unused)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		round_trip(seed * 7919, 500, seed % 2 ? 37 : 0);
	round_trip(99, 40000, 0);
}

static void test_meta(void **unused)
{
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	const struct sbt_meta *m;

	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	m = sbt_reader_meta(r);
	assert_string_equal(m->program, "./app 'a b'");
	assert_string_equal(m->cwd, "/home");
	assert_string_equal(m->host, "h 6.1");
	assert_string_equal(m->gpu, "Soft");
	assert_string_equal(m->tsdb, "0.1");
	assert_int_equal(m->start_ns, 12345678901234567);
	assert_int_equal(m->pid, 42);
	assert_int_equal(m->driver_version, 13000);
	assert_true(m->soft);
	assert_true(m->stacks);
	assert_false(m->timestamps);
	assert_false(m->observed);
	assert_int_equal(m->rank, 0);
	assert_int_equal(m->ranks, 0);
	assert_int_equal(sbt_reader_count(r), 0);
	assert_int_equal(sbt_reader_first_seq(r), 0);
	assert_int_equal(sbt_reader_last_seq(r), 0);
	assert_null(sbt_reader_damage(r));
	sbt_reader_close(r);
	unlink(path);
}

/* What the first trace says no to, and a rank: numbers from 0, stored plus 1. */
static void assert_other_meta(bool observed)
{
	const struct sbt_meta meta = {.program = "p",
		.cwd = "/",
		.host = "h",
		.gpu = "g",
		.tsdb = "0",
		.timestamps = true,
		.observed = observed,
		.rank = 3,
		.ranks = 9};
	struct sbt_writer *w;
	struct sbt_reader *r;
	const struct sbt_meta *m;

	snprintf(path, sizeof path, "test-sbt-trace-%d.sbt", (int)getpid());
	ok(sbt_writer_open(&w, path, &meta));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	m = sbt_reader_meta(r);
	assert_int_equal(m->observed, observed);
	assert_true(m->timestamps);
	assert_false(m->soft);
	assert_false(m->stacks);
	assert_int_equal(m->rank, 3);
	assert_int_equal(m->ranks, 9);
	sbt_reader_close(r);
	unlink(path);
}

static void test_other_meta(void **unused)
{
	(void)unused;
	assert_other_meta(true);
	assert_other_meta(false);
}

/* --- launches: size, times, seeking --- */

/* What a loop of tiny launches looks like: one kernel, one call site, a counter among the
 * arguments, a clock that jitters. */
static void tiny_launch(struct sbt_cmd *c, uint64_t seq, uint64_t *seed, uint64_t *args)
{
	static uint64_t host, gpu;

	if (seq == 1) {
		host = 1700000000000000000u;
		gpu = host + 5000;
	}
	host += 3000 + make_random(seed) % 1000;
	gpu += 3000 + make_random(seed) % 1000;
	args[0] = 0x7f0012340000;
	args[1] = seq;
	*c = (struct sbt_cmd){.seq = seq,
		.kind = SBT_LAUNCH,
		.thread = 1,
		.ctx = 1,
		.stack = 7,
		.corr = (uint32_t)(100 + 2 * seq),
		.host_ns = host,
		.gpu_start_ns = gpu,
		.gpu_end_ns = gpu + 1200 + make_random(seed) % 128};
	c->u.launch = (struct sbt_cmd_launch){.kernel = 1,
		.grid_x = 1,
		.grid_y = 1,
		.grid_z = 1,
		.block_x = 32,
		.block_y = 1,
		.block_z = 1,
		.args = {args, 16}};
}

static uint64_t write_launches(uint64_t n, bool times)
{
	struct sbt_frame frames[8] = {{0, 0x1234}, {0, 0x2345}, {1, 0x3456}, {1, 0x4567}};
	struct sbt_writer *w = begin();
	uint64_t seed = 5, args[2], bytes;
	struct sbt_reader *r;
	struct sbt_cmd c;
	uint32_t module;

	ok(sbt_writer_module(w, "/bin/app", "0123456789abcdef", &module));
	assert_int_equal(module, 0);
	ok(sbt_writer_module(w, "/lib/libc.so.6", "", &module));
	assert_int_equal(module, 1);
	ok(sbt_writer_stack(w, 7, frames, 4));
	for (uint64_t seq = 1; seq <= n; seq++) {
		tiny_launch(&c, seq, &seed, args);
		if (!times)
			c.gpu_start_ns = c.gpu_end_ns = 0;
		ok(sbt_writer_cmd(w, &c));
	}
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	bytes = sbt_reader_size(r);
	sbt_reader_close(r);
	return bytes;
}

static void test_bytes_per_launch(void **unused)
{
	double with = (double)write_launches(10000, true) / 10000,
	       without = (double)write_launches(10000, false) / 10000;

	print_message("# bytes per launch: %.2f with GPU times, %.2f without\n", with, without);
	assert_true(with <= 24);
	assert_true(without <= 12);
	unlink(path);
}

static void test_seek(void **unused)
{
	enum { N = 50000 };
	struct sbt_reader *r;
	struct sbt_cursor *cur;
	const struct sbt_cmd *got;
	uint64_t seed = 11;

	write_launches(N, true);
	ok(sbt_reader_open(&r, path));
	assert_int_equal(sbt_reader_count(r), N);
	ok(sbt_cursor_open(&cur, r));
	for (unsigned i = 0; i < 200; i++) {
		uint64_t seq = 1 + make_random(&seed) % N;

		ok(sbt_cursor_seek(cur, seq));
		for (unsigned k = 0; k < 3 && seq <= N; k++, seq++) {
			ok(sbt_cursor_next(cur, &got));
			assert_non_null(got);
			assert_int_equal(got->seq, seq);
			assert_int_equal(((const uint64_t *)got->u.launch.args.p)[1], seq);
			assert_int_equal(got->corr, 100 + 2 * seq);
			assert_true(got->gpu_end_ns > got->gpu_start_ns &&
				    got->gpu_start_ns > got->host_ns - 60000000);
		}
	}
	for (uint64_t seq = 100; seq > 90;
		seq--) { /* the one just seen again, then the one before: stepping back */
		for (unsigned k = 0; k < 3; k++) {
			ok(sbt_cursor_seek(cur, seq));
			if (k == 1)
				ok(sbt_cursor_seek(cur, seq));
			ok(sbt_cursor_next(cur, &got));
			assert_int_equal(got->seq, seq);
		}
	}
	ok(sbt_cursor_seek(cur, 0));
	ok(sbt_cursor_next(cur, &got));
	assert_int_equal(got->seq, 1);
	ok(sbt_cursor_seek(cur, N));
	ok(sbt_cursor_next(cur, &got));
	assert_int_equal(got->seq, N);
	ok(sbt_cursor_next(cur, &got));
	assert_null(got);
	ok(sbt_cursor_seek(cur, N + 1));
	ok(sbt_cursor_next(cur, &got));
	assert_null(got);
	ok(sbt_cursor_seek(cur, N));
	ok(sbt_cursor_next(cur, &got));
	assert_int_equal(got->seq, N);
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	unlink(path);
}

static void test_times_come_late_and_in_any_order(void **unused)
{
	enum { N = 3000 };
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	struct sbt_cursor *cur;
	const struct sbt_cmd *got;
	uint64_t seed = 3, args[2];
	struct sbt_cmd c;

	for (uint64_t seq = 1; seq <= N; seq++) {
		tiny_launch(&c, seq, &seed, args);
		c.gpu_start_ns = c.gpu_end_ns = 0;
		ok(sbt_writer_cmd(w, &c));
		if (seq % 500 == 0)
			ok(sbt_writer_flush(w));
	}
	for (uint64_t seq = N; seq >= 1; seq -= 3) { /* 3000, 2997, ..., 3 */
		ok(sbt_writer_time(w, seq, seq * 1000, seq * 1000 + 7));
		if (seq % 300 == 0)
			ok(sbt_writer_flush(w));
		if (seq == 3)
			break;
	}
	ok(sbt_writer_flush(w));
	ok(sbt_writer_time(w, 600, 1, 2)); /* told again */
	ok(sbt_writer_time(w, 2999, 0, 0));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	ok(sbt_cursor_open(&cur, r));
	for (uint64_t seq = 1; seq <= N; seq++) {
		ok(sbt_cursor_next(cur, &got));
		assert_int_equal(got->seq, seq);
		assert_int_equal(got->gpu_start_ns, seq == 600 ? 1 : seq % 3 ? 0 : seq * 1000);
		assert_int_equal(got->gpu_end_ns, seq == 600 ? 2 : seq % 3 ? 0 : seq * 1000 + 7);
	}
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	unlink(path);
}

/* Times of commands at both ends of what a chunk of times covers, each alone in its own chunk. */
static void test_times_of_the_first_and_the_last_command(void **unused)
{
	(void)unused;
	for (uint64_t n = 1; n <= 4; n++) {
		struct sbt_writer *w = begin();
		const struct sbt_cmd *got;
		struct sbt_cursor *cur;
		struct sbt_reader *r;
		uint64_t seed = 3, args[2];
		struct sbt_cmd c;

		for (uint64_t seq = 1; seq <= 6; seq++) {
			tiny_launch(&c, seq, &seed, args);
			c.gpu_start_ns = c.gpu_end_ns = 0;
			ok(sbt_writer_cmd(w, &c));
			ok(sbt_writer_flush(w));
		}
		for (uint64_t seq = 2; seq < 2 + n; seq++)
			ok(sbt_writer_time(w, seq, seq * 10, seq * 10 + 7));
		ok(sbt_writer_close(w));
		ok(sbt_reader_open(&r, path));
		for (uint64_t seq = 1; seq <= 6; seq++) {
			const uint64_t has = seq >= 2 && seq < 2 + n;

			ok(sbt_cursor_open(&cur, r));
			ok(sbt_cursor_seek(cur, seq)); /* nothing before it is read */
			ok(sbt_cursor_next(cur, &got));
			assert_int_equal(got->seq, seq);
			assert_int_equal(got->gpu_start_ns, has * seq * 10);
			assert_int_equal(got->gpu_end_ns, has * (seq * 10 + 7));
			sbt_cursor_close(cur);
		}
		sbt_reader_close(r);
		unlink(path);
	}
}

/* Times in a command go the same way as those that come later, one of them without the other, too.
 */
static void test_times_in_a_command(void **unused)
{
	static const uint64_t times[][2] = {{50, 60}, {50, 0}, {0, 60}, {0, 0}, {50, 50}};
	enum { N = sizeof times / sizeof *times };
	struct sbt_writer *w = begin();
	const struct sbt_cmd *got;
	struct sbt_cursor *cur;
	struct sbt_reader *r;
	uint64_t seed = 3, args[2];
	struct sbt_cmd c;

	(void)unused;
	for (unsigned i = 0; i < 2 * N; i++) { /* the odd ones' come later */
		tiny_launch(&c, i + 1, &seed, args);
		c.gpu_start_ns = i % 2 ? 0 : times[i / 2][0];
		c.gpu_end_ns = i % 2 ? 0 : times[i / 2][1];
		ok(sbt_writer_cmd(w, &c));
	}
	for (unsigned i = 0; i < N; i++)
		ok(sbt_writer_time(w, 2 * i + 2, times[i][0], times[i][1]));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	ok(sbt_cursor_open(&cur, r));
	for (unsigned i = 0; i < 2 * N; i++) {
		ok(sbt_cursor_next(cur, &got));
		assert_int_equal(got->seq, i + 1);
		assert_int_equal(got->gpu_start_ns, times[i / 2][0]);
		assert_int_equal(got->gpu_end_ns, times[i / 2][1]);
	}
	sbt_cursor_close(cur);
	sbt_reader_close(r);
	unlink(path);
}

static void test_stacks_and_modules(void **unused)
{
	struct sbt_frame outer[3] = {{1, 30}, {1, 20}, {0, 10}},
			 inner[4] = {{2, 99}, {1, 31}, {1, 20}, {0, 10}};
	struct sbt_frame deep[2000];
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	const struct sbt_frame *f;
	uint32_t index;
	unsigned n;

	for (unsigned i = 0; i < 2000; i++)
		deep[i] = (struct sbt_frame){i, UINT64_MAX - i};
	ok(sbt_writer_module(w, "/a", "01", &index));
	ok(sbt_writer_module(w, "/b", "", &index));
	ok(sbt_writer_stack(w, 5, outer, 3));
	ok(sbt_writer_stack(w, 0xffffffff, inner, 4));
	ok(sbt_writer_flush(w));
	ok(sbt_writer_module(w, "/c", "", &index));
	assert_int_equal(index, 2);
	ok(sbt_writer_stack(w, 2, deep, 2000));
	ok(sbt_writer_stack(w, 3, inner, 0));
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	ok(sbt_reader_stack(r, 5, &f, &n));
	assert_int_equal(n, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(f[i].module == outer[i].module && f[i].offset == outer[i].offset);
	ok(sbt_reader_stack(r, 0xffffffff, &f, &n));
	assert_int_equal(n, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_true(f[i].module == inner[i].module && f[i].offset == inner[i].offset);
	ok(sbt_reader_stack(r, 2, &f, &n));
	assert_int_equal(n, 1024); /* the innermost ones are kept */
	assert_true(f[0].offset == UINT64_MAX && f[1023].offset == UINT64_MAX - 1023);
	ok(sbt_reader_stack(r, 3, &f, &n));
	assert_int_equal(n, 0);
	ok(sbt_reader_stack(r, 0, &f, &n));
	assert_int_equal(n, 0);
	ok(sbt_reader_stack(r, 4, &f, &n));
	assert_int_equal(n, 0);
	assert_string_equal(sbt_reader_module(r, 0)->path, "/a");
	assert_string_equal(sbt_reader_module(r, 0)->build_id, "01");
	assert_string_equal(sbt_reader_module(r, 2)->path, "/c");
	assert_null(sbt_reader_module(r, 3));
	assert_null(sbt_reader_damage(r));
	sbt_reader_close(r);
	unlink(path);
}

/* Texts come back safe to print; one that is too large is not written, one without a name is damage
 * and harms no other. */
static void test_sources(void **unused)
{
	static char large[SBT_SOURCE_MAX + 1];
	struct sbt_writer *w = begin();
	struct sbt_reader *r;
	struct buf text = BUF_INIT;
	struct err *e;
	char *file;

	memset(large, 'x', sizeof large);
	ok(sbt_writer_source(w, "/a.c", "int a;\n\033[31m\tred\n", 19));
	ok(sbt_writer_source(w, "", "nobody's\n", 9));
	ok(sbt_writer_source(w, "/large.c", large, SBT_SOURCE_MAX));
	e = sbt_writer_source(w, "/larger.c", large, sizeof large);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_LIMIT);
	err_free(e);
	ok(sbt_writer_close(w));
	ok(sbt_reader_open(&r, path));
	assert_int_equal(sbt_reader_sources(r), 3);
	ok(sbt_reader_source(r, 0, &file, &text));
	assert_string_equal(file, "/a.c");
	assert_null(strchr(buf_cstr(&text), '\033'));
	assert_non_null(strstr(buf_cstr(&text), "\tred\n"));
	assert_memory_equal(buf_cstr(&text), "int a;\n", 7);
	free(file);
	e = sbt_reader_source(r, 1, &file, &text);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_BAD_TRACE);
	err_free(e);
	assert_non_null(strstr(sbt_reader_damage(r), "the text of a source file is damaged"));
	buf_clear(&text);
	ok(sbt_reader_source(r, 2, &file, &text));
	assert_int_equal(text.len, SBT_SOURCE_MAX);
	free(file);
	e = sbt_reader_source(r, 3, &file, &text);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	err_free(e);
	buf_free(&text);
	sbt_reader_close(r);
	unlink(path);
}

static void test_code_keyframes_losses(void **unused)
{
	char code[5000] = "ELF", ptx[] = ".version 9.0";
	struct sbt_writer *w = begin();
	struct buf b = BUF_INIT;
	uint64_t h1, h2, h3, seq, args[2], seed = 1, bytes, n;
	const char *call;
	struct sbt_reader *r;
	struct sbt_cmd c;
	struct err *e;
	enum code_kind kind;

	ok(sbt_writer_code(w, code, sizeof code, CODE_CUBIN, &h1));
	assert_int_equal(h1, XXH64(code, sizeof code, 0));
	bytes = sbt_writer_bytes(w);
	ok(sbt_writer_code(w, code, sizeof code, CODE_CUBIN, &h3));
	assert_int_equal(h1, h3);
	assert_int_equal(bytes, sbt_writer_bytes(w)); /* once */
	ok(sbt_writer_code(w, ptx, sizeof ptx, CODE_PTX, &h2));
	for (seq = 1; seq <= 100; seq++) {
		tiny_launch(&c, seq, &seed, args);
		ok(sbt_writer_cmd(w, &c));
		assert_int_equal(sbt_writer_since_keyframe(w), (seq - 1) % 30 + 1);
		if (seq % 30 == 0) {
			char state[20];

			snprintf(state, sizeof state, "state %llu", (unsigned long long)seq);
			ok(sbt_writer_keyframe(w, seq, state, sizeof state));
		}
	}
	e = sbt_writer_cmd(w, &c); /* the same seq again */
	assert_non_null(e);
	err_free(e);
	ok(sbt_writer_unreplayable(w, "cuFoo", 3));
	ok(sbt_writer_unreplayable(w, "cuBar", 1));
	ok(sbt_writer_lost(w, 50, 4));
	bytes = sbt_writer_bytes(w);
	ok(sbt_writer_lost(w, 51, 4)); /* nothing new */
	ok(sbt_writer_lost(w, 52, 3));
	assert_int_equal(bytes, sbt_writer_bytes(w));
	ok(sbt_writer_flush(w));
	ok(sbt_writer_unreplayable(w, "cuFoo", 8));
	ok(sbt_writer_lost(w, 90, 6));
	ok(sbt_writer_close(w));

	ok(sbt_reader_open(&r, path));
	assert_null(sbt_reader_damage(r));
	ok(sbt_reader_code(r, h1, &b, &kind));
	assert_int_equal(b.len, sizeof code);
	assert_memory_equal(b.data, code, sizeof code);
	assert_false(kind == CODE_PTX);
	buf_clear(&b);
	ok(sbt_reader_code(r, h2, &b, &kind));
	assert_string_equal(b.data, ptx);
	assert_true(kind == CODE_PTX);
	e = sbt_reader_code(r, 1, &b, &kind);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_NOT_FOUND);
	err_free(e);
	ok(sbt_reader_keyframe(r, 29, &seq, &b));
	assert_int_equal(seq, 0);
	assert_int_equal(b.len, 0);
	ok(sbt_reader_keyframe(r, 30, &seq, &b));
	assert_int_equal(seq, 30);
	assert_string_equal(b.data, "state 30");
	ok(sbt_reader_keyframe(r, 89, &seq, &b));
	assert_int_equal(seq, 60);
	ok(sbt_reader_keyframe(r, UINT64_MAX, &seq, &b));
	assert_string_equal(b.data, "state 90");
	assert_int_equal(sbt_reader_lost(r), 6);
	assert_true(sbt_reader_unreplayable(r, 0, &call, &n));
	assert_string_equal(call, "cuFoo");
	assert_int_equal(n, 8);
	assert_true(sbt_reader_unreplayable(r, 1, &call, &n));
	assert_string_equal(call, "cuBar");
	assert_false(sbt_reader_unreplayable(r, 2, &call, &n));
	sbt_reader_close(r);
	buf_free(&b);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_comes_back),
		cmocka_unit_test(test_meta),
		cmocka_unit_test(test_other_meta),
		cmocka_unit_test(test_bytes_per_launch),
		cmocka_unit_test(test_seek),
		cmocka_unit_test(test_times_come_late_and_in_any_order),
		cmocka_unit_test(test_times_of_the_first_and_the_last_command),
		cmocka_unit_test(test_times_in_a_command),
		cmocka_unit_test(test_stacks_and_modules),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_code_keyframes_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
