/* SPDX-License-Identifier: Apache-2.0
 *
 * libtracesmith when memory is out: no function ends the process, each says TS_LIMIT or does its
 * work. The allocator is this program's, which the library finds before libc's: it fails from a
 * given allocation on, or at that one alone.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tracesmith/tracesmith.h>

static char path[64];
static long left = -1; /* allocations that succeed; -1: all */
static int once;       /* the one that fails is the only one */
static unsigned failed;

#ifndef __SANITIZE_ADDRESS__
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static int fails(void)
{
	if (left < 0)
		return 0;
	if (left) {
		left--;
		return 0;
	}
	if (once)
		left = -1;
	failed++;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}
#endif

static void put_launches(ts_writer *w, unsigned n)
{
	assert_int_equal(ts_writer_begin(w, "ctx_create", 1), TS_OK);
	assert_int_equal(ts_writer_set(w, "new_ctx", 0), TS_OK);
	assert_int_equal(ts_writer_set(w, "default_stream", 0), TS_OK);
	assert_int_equal(ts_writer_end(w), TS_OK);
	assert_int_equal(ts_writer_begin(w, "kernel_def", 2), TS_OK);
	assert_int_equal(ts_writer_set(w, "new_kernel", 7), TS_OK);
	assert_int_equal(ts_writer_set_data(w, "kernel_name", "_Z3addv", 7), TS_OK);
	assert_int_equal(ts_writer_end(w), TS_OK);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(ts_writer_begin(w, "alloc", 3 + i), TS_OK);
		assert_int_equal(ts_writer_set(w, "addr", (i + 1) << 20), TS_OK);
		assert_int_equal(ts_writer_set(w, "size", 4096), TS_OK);
		assert_int_equal(ts_writer_end(w), TS_OK);
	}
}

/* Whether the call has to be believed: memory was not out in it. */
static int held(int r)
{
	if (r == TS_LIMIT)
		assert_string_equal(ts_error(), "out of memory");
	else
		assert_true(r == TS_OK || r == TS_END);
	return r != TS_LIMIT;
}

static void ask_state(ts_trace *t)
{
	struct ts_stream st = {.size = sizeof st};
	const char *json;
	ts_state *s;
	uint64_t n;

	if (!held(ts_state_at(&s, t, 20)))
		return;
	if (held(ts_state_number(s, "live_bytes", &n)))
		assert_int_equal(n, 18 * 4096);
	if (held(ts_state_stream(s, 0, &st)))
		assert_int_equal(st.id, 0);
	if (held(ts_state_json(s, "all", &json)))
		assert_true(*json == '{');
	ts_state_free(s);
}

static void ask_cursor(ts_trace *t)
{
	static const char *const fields[] = {"seq", "kind_name"};
	struct ts_filter filter = TS_FILTER_ALL;
	uint64_t seq[64], kind[64], *const into[] = {seq, kind};
	const struct ts_frame *frames;
	size_t n;
	ts_cursor *c;

	if (!held(ts_cursor_open(&c, t, 0)))
		return;
	for (unsigned i = 1; i <= 10 && held(ts_next(c)); i++)
		assert_int_equal(ts_seq(c), i);
	if (ts_seq(c) && held(ts_stack(c, &frames, &n)))
		assert_int_equal(n, 0);
	if (held(ts_cursor_seek(c, 5)) && held(ts_columns(c, fields, 2, into, 64, &n)))
		assert_true(n == 38 && seq[0] == 5 && seq[37] == 42);
	filter.kind = "alloc";
	filter.kernel = "add";
	if (held(ts_cursor_filter(c, &filter)) && held(ts_cursor_seek(c, 0)))
		assert_true(ts_next(c) != TS_OK);
	ts_cursor_close(c);
}

/* Everything that can be asked of a trace. */
static void ask(void)
{
	const char *name;
	ts_trace *t;

	if (!held(ts_open(&t, path)))
		return;
	ask_state(t);
	ask_cursor(t);
	name = ts_kernel(t, 7);
	if (name)
		assert_string_equal(name, "_Z3addv");
	ts_close(t);
}

/* Runs it with the k-th allocation failing, for every k that it comes to. */
static void with_every_failure(void (*what)(void))
{
	for (once = 0; once < 2; once++) {
		for (long k = 0; k < 100000; k++) {
			failed = 0;
			left = k;
			what();
			left = -1;
			if (!failed)
				break;
		}
		assert_int_equal(failed, 0); /* the last one had all it wanted */
	}
}

static void reading(void **state)
{
	ts_writer *w;

#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	(void)unlink(path);
	assert_int_equal(ts_writer_open(&w, path, "app"), TS_OK);
	put_launches(w, 40);
	assert_int_equal(ts_writer_close(w), TS_OK);
	with_every_failure(ask);
}

static void write_one(void)
{
	ts_writer *w;
	int r;

	(void)unlink(path); /* the file of an attempt that failed to open it may be locked */
	if (!held(ts_writer_open(&w, path, "app")))
		return;
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(ts_writer_begin(w, "sync", i), TS_OK);
		if (!held(ts_writer_end(w)))
			break;
	}
	r = ts_writer_close(w);
	assert_true(r == TS_OK || r == TS_LIMIT);
}

static void writing(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	with_every_failure(write_one);
}

/* A trace that memory ran out in says so until it is closed. */
static void broken_objects(void **state)
{
	unsigned broken = 0;
	ts_writer *w;

#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	(void)unlink(path);
	assert_int_equal(ts_writer_open(&w, path, "app"), TS_OK);
	put_launches(w, 40);
	assert_int_equal(ts_writer_close(w), TS_OK);
	once = 1;
	for (long k = 0; k < 200; k++) {
		ts_trace *t;
		ts_state *s;

		assert_int_equal(ts_open(&t, path), TS_OK);
		left = k;
		const int r = ts_state_at(&s, t, 20);
		left = -1;
		if (r == TS_OK) {
			ts_state_free(s);
		} else {
			assert_int_equal(r, TS_LIMIT);
			broken += ts_state_at(&s, t, 20) == TS_LIMIT && !ts_kernel(t, 7);
		}
		ts_close(t);
	}
	assert_true(broken > 0);
}

static int set_up(void **state)
{
	snprintf(path, sizeof path, "/tmp/test-library-memory-%d.sbt", (int)getpid());
	return 0;
}

static int tear_down(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading),
		cmocka_unit_test(writing),
		cmocka_unit_test(broken_objects),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
