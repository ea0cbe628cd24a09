/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands whose BLOB fields nobody looks at: two cursors walk side by side, one of which says so.
 * It has the same numbers, texts and times, and the same bytes wherever it did not say so, or the
 * promise ended. And numbers that are passed over are as many as were to be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sbt-make.h"
#include "sbt/varint.h"

#define HEAP (4 * 4096)
enum { COMMANDS = 4000 };

static char path[64];
static uint64_t begins[COMMANDS + 1]; /* on the GPU; 0: not written */

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

/* Many small chunks; times come late and in another order. */
static void write_trace(uint64_t seed)
{
	const struct sbt_meta meta = {.program = "p", .gpu = "g", .timestamps = true};
	char *heap = malloc(HEAP);
	struct sbt_writer *w;
	struct sbt_cmd c;

	snprintf(path, sizeof path, "test-sbt-skim-%d.sbt", (int)getpid());
	ok(sbt_writer_open(&w, path, &meta));
	memset(begins, 0, sizeof begins);
	for (uint64_t seq = 1; seq <= COMMANDS; seq++) {
		unsigned kind = 1 + (unsigned)(make_random(&seed) % (SBT_KIND_END - 1));

		make_cmd(&c, seq, make_random(&seed) % 2 ? SBT_LAUNCH : kind, &seed, heap);
		c.gpu_start_ns = c.gpu_end_ns = 0;
		ok(sbt_writer_cmd(w, &c));
		if (make_random(&seed) % 32 == 0)
			ok(sbt_writer_flush(w));
		if (seq > 50 && make_random(&seed) % 2) {
			const uint64_t of = seq - make_random(&seed) % 50;

			begins[of] = begins[of] ? begins[of] : 1000 + seq;
			ok(sbt_writer_time(w, of, begins[of], begins[of] + of));
		}
	}
	ok(sbt_writer_close(w));
	free(heap);
}

/* Whether the bytes agree, too. */
static bool compare(const struct sbt_cmd *a, const struct sbt_cmd *b)
{
	const struct sbt_kind_desc *d = sbt_kind(a->kind);
	bool all = true;

	assert_int_equal(a->kind, b->kind);
	for (const struct sbt_field *f = sbt_common_fields; f->name; f++)
		assert_int_equal(sbt_get(a, f), sbt_get(b, f));
	for (unsigned i = 0; i < 2; i++) {
		const struct sbt_cmd *c = i ? b : a;

		assert_int_equal(c->gpu_start_ns, begins[c->seq]);
		assert_int_equal(c->gpu_end_ns, begins[c->seq] ? begins[c->seq] + c->seq : 0);
	}
	for (const struct sbt_field *f = d->fields; f->name; f++) {
		const struct sbt_blob *x = sbt_get_blob(a, f), *y = sbt_get_blob(b, f);

		if (!sbt_type_is_blob(f->type)) {
			assert_int_equal(sbt_get(a, f), sbt_get(b, f));
			continue;
		}
		if (f->type == SBT_T_BLOB && x->len && !y->len) {
			all = false;
			continue;
		}
		assert_int_equal(x->len, y->len);
		assert_int_equal(x->len ? memcmp(x->p, y->p, x->len) : 0, 0);
	}
	return all;
}

static struct sbt_reader *readers[2];
static struct sbt_cursor *all, *some;
static unsigned lacking;

/* Both one on; false at the end. */
static bool next(bool want_all)
{
	const struct sbt_cmd *a, *b;

	ok(sbt_cursor_next(all, &a));
	ok(sbt_cursor_next(some, &b));
	assert_int_equal(a == NULL, b == NULL);
	if (!a)
		return false;
	if (!compare(a, b)) {
		lacking++;
		if (want_all)
			fail_msg("#%llu lacks bytes", (unsigned long long)a->seq);
	}
	return true;
}

static void seek(uint64_t seq)
{
	ok(sbt_cursor_seek(all, seq));
	ok(sbt_cursor_seek(some, seq));
}

static void walk(uint64_t *seed)
{
	const uint64_t n = make_random(seed) % 150,
		       early = make_random(seed) % 8 ? n : make_random(seed) % (n + 1);
	bool more = true;

	ok(sbt_cursor_skim(some, n));
	for (uint64_t i = 1; more && i <= early; i++)
		more = next(i == n);
	ok(sbt_cursor_skim(some, 0));
	for (uint64_t i = make_random(seed) % 4; more && i; i--)
		more = next(true);
	if (!more || make_random(seed) % 8 == 0)
		seek(make_random(seed) % (COMMANDS + 2));
}

static void same_but_for_the_bytes(void **state)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		uint64_t s = seed * 31337;

		write_trace(s);
		lacking = 0;
		for (unsigned i = 0; i < 2; i++)
			ok(sbt_reader_open(&readers[i], path));
		ok(sbt_cursor_open(&all, readers[0]));
		ok(sbt_cursor_open(&some, readers[1]));
		for (unsigned i = 0; i < 200; i++)
			walk(&s);
		assert_true(lacking > 1000); /* else nothing was tried */
		assert_null(sbt_reader_damage(readers[1]));
		sbt_cursor_close(all);
		sbt_cursor_close(some);
		for (unsigned i = 0; i < 2; i++)
			sbt_reader_close(readers[i]);
		unlink(path);
	}
}

/* Against numbers that are read one by one, of all lengths, from every place of a buffer. */
static void numbers_are_passed_over(void **state)
{
	uint64_t seed = 7;
	struct buf b = BUF_INIT;

	for (unsigned i = 0; i < 300; i++)
		sbt_put(&b, make_random(&seed) >> make_random(&seed) % 64);
	for (unsigned from = 0; from < 300; from += 7) {
		struct sbt_in in = sbt_in_of(&b);

		for (unsigned i = 0; i < from; i++)
			sbt_take(&in);
		for (unsigned n = 0; n <= 300 - from; n++) {
			struct sbt_in slow = in, quick = in;

			for (unsigned i = 0; i < n; i++)
				sbt_take(&slow);
			sbt_skip(&quick, n);
			assert_false(quick.bad);
			assert_ptr_equal(quick.p, slow.p);
		}
		sbt_skip(&in, 300 - from + 1);
		assert_true(in.bad);
	}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_but_for_the_bytes),
		cmocka_unit_test(numbers_are_passed_over),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
