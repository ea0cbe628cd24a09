/* SPDX-License-Identifier: Apache-2.0
 *
 * Two traces side by side: what is planted in one is found, and nothing else; the longest common
 * subsequence against a table of all; random edits, whose number bounds what may be reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "cmds.h"
#include "base/buf.h"
#include "compare/compare.h"
#include "compare/core/myers.h"

/* --- the longest common subsequence --- */

static uint64_t next(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *x >> 33;
}

enum { MOST = 40 };
struct pairs {
	const uint64_t *a, *b;
	int of_a[MOST];
	unsigned n;
};

static void note(void *arg, size_t i, size_t k)
{
	struct pairs *p = arg;

	assert_true(i < MOST && p->of_a[i] < 0);
	assert_int_equal(p->a[i], p->b[k]);
	p->of_a[i] = (int)k;
	p->n++;
}

static unsigned longest(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
	unsigned t[MOST + 1][MOST + 1] = {{0}};

	for (size_t i = 1; i <= n; i++)
		for (size_t k = 1; k <= m; k++)
			t[i][k] = a[i - 1] == b[k - 1]	      ? t[i - 1][k - 1] + 1
				  : t[i - 1][k] > t[i][k - 1] ? t[i - 1][k]
							      : t[i][k - 1];
	return t[n][m];
}

static void subsequences(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		uint64_t a[MOST], b[MOST], x = seed;
		const size_t n = next(&x) % MOST, m = next(&x) % MOST;
		const unsigned letters = 1 + (unsigned)(next(&x) % 6);
		struct pairs p = {.a = a, .b = b};
		int last = -1;

		for (size_t i = 0; i < n; i++)
			a[i] = next(&x) % letters;
		for (size_t i = 0; i < m; i++)
			b[i] = next(&x) % letters;
		memset(p.of_a, -1, sizeof p.of_a);
		assert_true(myers(a, n, b, m, UINT64_MAX, note, &p));
		assert_int_equal(p.n, longest(a, n, b, m));
		for (size_t i = 0; i < n; i++) {
			assert_true(p.of_a[i] < 0 || p.of_a[i] > last);
			last = p.of_a[i] < 0 ? last : p.of_a[i];
		}
	}
}

/* --- traces --- */

struct maker {
	struct sbt_writer *w;
	char path[64];
	uint64_t seq;
};

static void begin(struct maker *m, uint64_t first_kernel)
{
	static const char *const names[] = {"zero", "one", "two", "three"};
	const struct sbt_meta meta = {
		.program = "p", .cwd = "/", .host = "h", .gpu = "g", .tsdb = "t"};

	strcpy(m->path, "/tmp/test-compare-XXXXXX");
	close(mkstemp(m->path));
	assert_null(sbt_writer_open(&m->w, m->path, &meta));
	m->seq = 1;
	for (unsigned i = 0; i < 4; i++) {
		struct sbt_cmd c =
			cmd_kernel_def(m->seq++, first_kernel + i, SBT_NO_ID, names[i], NULL, 0);

		assert_null(sbt_writer_cmd(m->w, &c));
	}
}

static void add(struct maker *m, struct sbt_cmd c)
{
	c.seq = m->seq++;
	assert_null(sbt_writer_cmd(m->w, &c));
}

static struct sbt_reader *end(struct maker *m)
{
	struct sbt_reader *r;

	assert_null(sbt_writer_close(m->w));
	assert_null(sbt_reader_open(&r, m->path));
	unlink(m->path);
	return r;
}

/* A program as letters: a to d launches of kernels 0 to 3 on stream 1, A to D the same with another
 * grid, e to h on stream 2, '!' a host wait, '^' a record on stream 1, 'v' a wait on stream 2 for
 * it. */
static struct sbt_reader *trace(const char *program, uint64_t kernels, uint64_t streams)
{
	struct maker m;

	begin(&m, kernels);
	for (; *program; program++) {
		const char c = *program;
		struct sbt_cmd l;

		if (c == ' ') {
			continue;
		} else if (c == '!') {
			add(&m, cmd_sync_ctx(0));
		} else if (c == '^') {
			add(&m, cmd_event_record(0, streams + 1, 0));
		} else if (c == 'v') {
			add(&m, cmd_stream_wait(0, streams + 2, 0));
		} else if (c >= 'e' && c <= 'h') {
			l = cmd_launch(0, streams + 2, kernels + (uint64_t)(c - 'e'));
			l.u.launch.grid_x = 1;
			add(&m, l);
		} else {
			l = cmd_launch(0, streams + 1, kernels + (uint64_t)((c | 32) - 'a'));
			l.u.launch.grid_x = c & 32 ? 1 : 2;
			add(&m, l);
		}
	}
	return end(&m);
}

static struct compare compare(const char *a, const char *b)
{
	/* other ids of kernels and streams on the other side */
	struct compare_ask ask = {.a = trace(a, 0, 0), .b = trace(b, 7, 20)};
	struct compare c;

	ask.range_a.last = ask.range_b.last = UINT64_MAX;
	assert_null(compare_run(&c, &ask));
	sbt_reader_close(ask.a);
	sbt_reader_close(ask.b);
	return c;
}

/* seqs are those of letters from 0; 5 is the first. */
static void is(const struct compare *c, size_t i, enum compare_what what, int a, unsigned na, int b,
	unsigned nb)
{
	assert_true(i < c->n);
	assert_int_equal(c->d[i].what, what);
	assert_int_equal(c->d[i].a.count, na);
	assert_int_equal(c->d[i].b.count, nb);
	if (na)
		assert_int_equal(c->d[i].a.first, a + 5);
	if (nb)
		assert_int_equal(c->d[i].b.first, b + 5);
}

static void one(const char *a, const char *b, enum compare_what what, int at_a, unsigned na,
	int at_b, unsigned nb)
{
	struct compare c = compare(a, b);

	assert_int_equal(c.n, 1);
	is(&c, 0, what, at_a, na, at_b, nb);
	assert_int_equal(c.by_what[what], na > nb ? na : nb);
	compare_free(&c);
}

static void the_same(void **state)
{
	static const char *const programs[] = {
		"", "a", "abcd!abcd!", "a^ve!", "aaaaaaaaaa", "!!!!"};

	(void)state;
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		struct compare c = compare(programs[i], programs[i]);

		assert_true(compare_same(&c));
		assert_int_equal(c.matched, strlen(programs[i]));
		assert_int_equal(c.matched, c.b_commands);
		compare_free(&c);
	}
}

static void planted(void **state)
{
	(void)state;
	one("abcd!", "abd!", COMPARE_REMOVED, 2, 1, 0, 0);
	one("abd!", "abcd!", COMPARE_INSERTED, 0, 0, 2, 1);
	one("abcd", "", COMPARE_REMOVED, 0, 4, 0, 0);
	one("", "abcd", COMPARE_INSERTED, 0, 0, 0, 4);
	one("abcd!", "abCd!", COMPARE_RESHAPED, 2, 1, 2, 1);
	one("abcd!", "abad!", COMPARE_REPLACED, 2, 1, 2, 1); /* there are no stacks */
	one("abcd!abcd!", "abdc!abcd!", COMPARE_REORDERED, 2, 1, 3, 1);
	one("a^ve!", "a^e!", COMPARE_WAIT_GONE, 2, 1, 0, 0);
	one("a^e!", "a^ve!", COMPARE_WAIT_ADDED, 0, 0, 2, 1);
	one("abcd!ab!", "abcdab!", COMPARE_WAIT_GONE, 4, 1, 0, 0);
	one("abcd!efgh!abcd!efgh!", "abcd!efgh!abed!efgh!", COMPARE_REPLACED, 12, 1, 12, 1);
}

static void moved(void **state)
{
	struct compare c = compare("abcd!efgh!abcd!efgh!", "abcd!efgh!abgd!efgh!");

	(void)state;
	/* c on stream 2 is g */
	assert_int_equal(c.n, 1);
	is(&c, 0, COMPARE_MOVED, 12, 1, 12, 1);
	assert_int_equal(c.d[0].a.stream, 1);
	assert_int_equal(c.d[0].b.stream, 22);
	assert_int_equal(c.nstreams, 2);
	compare_free(&c);
}

/* Streams are told apart by what is done on them: here the first use of one is missing in B, so
 * that they were first used in another order; and both do the same things equally often. */
static void streams_in_another_order(void **state)
{
	struct compare c = compare("a efgh! dcba hgfe! abcd ffee! ddaa gehf! bbcd efge!",
		"efgh! dcba hgfe! abcd ffee! ddaa gehf! bbcd efge!");

	(void)state;
	assert_int_equal(c.n, 1);
	is(&c, 0, COMPARE_REMOVED, 0, 1, 0, 0);
	compare_free(&c);
}

/* The wait is for what stream 1 had at the record: the last one before it. */
static void waits_for_another(void **state)
{
	struct compare c = compare("a^bve^v!", "a^bv^ev!");

	(void)state;
	/* the record moved over a launch: one of them is elsewhere, and both waits are for the same
	 * records as before */
	assert_int_equal(c.n, 1);
	assert_int_equal(c.d[0].what, COMPARE_REORDERED);
	compare_free(&c);
	c = compare("a^b^ve!c", "a^bv^e!c");
	assert_true(c.n >= 1);
	compare_free(&c);
}

/* Two steps more are exactly two steps more, wherever they look like the ones before. */
static void blocks(void **state)
{
	(void)state;
	one("dabc!abc!abc!d", "dabc!abc!abc!abc!abc!d", COMPARE_INSERTED, 0, 0, 13, 8);
	one("dabc!abc!abc!abc!a", "dabc!abc!a", COMPARE_REMOVED, 9, 8, 0, 0);
	one("aabb!aabb!c", "aabb!aabb!aabb!c", COMPARE_INSERTED, 0, 0, 10, 5);
}

static void first_first(void **state)
{
	struct compare c = compare("abcd!abcd!abcd!", "abd!abcd!abCd!b");

	(void)state;
	assert_int_equal(c.n, 3);
	is(&c, 0, COMPARE_REMOVED, 2, 1, 0, 0);
	assert_int_equal(c.d[0].a.before, 6);
	assert_int_equal(c.d[0].b.before, 6);
	is(&c, 1, COMPARE_RESHAPED, 12, 1, 11, 1);
	is(&c, 2, COMPARE_INSERTED, 0, 0, 14, 1);
	assert_int_equal(c.d[2].a.before, 14 + 5);
	compare_free(&c);
}

static void nothing_in_common(void **state)
{
	struct compare c = compare("aaaa!aaaa", "ggggggg");

	(void)state;
	assert_int_equal(c.matched, 0);
	assert_int_equal(c.by_what[COMPARE_REMOVED] + c.by_what[COMPARE_WAIT_GONE] +
				 c.by_what[COMPARE_REPLACED],
		9);
	assert_false(compare_same(&c));
	compare_free(&c);
}

/* --- random programs with random edits --- */

static size_t edit(char *to, const char *from, uint64_t *x, unsigned edits, bool places[])
{
	size_t n = strlen(from);

	memcpy(to, from, n + 1);
	for (unsigned i = 0; i < edits; i++) {
		const size_t at = next(x) % n;

		places[at] = true;
		to[at] = (char)('a' + next(x) % 4);
	}
	return n;
}

static void random_edits(void **state)
{
	enum { LENGTH = 3000, EDITS = 5 };

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		char a[LENGTH + 1], b[LENGTH + 1];
		bool places[LENGTH] = {false};
		uint64_t x = seed, told = 0;
		unsigned differ = 0;
		struct compare c;

		for (unsigned i = 0; i < LENGTH; i++)
			a[i] = i % 50 == 49 ? '!' : (char)('a' + next(&x) % 8);
		a[LENGTH] = 0;
		edit(b, a, &x, EDITS, places);
		for (unsigned i = 0; i < LENGTH; i++)
			differ += a[i] != b[i];
		c = compare(a, b);
		for (unsigned i = 0; i < COMPARE_WHATS; i++)
			told += c.by_what[i];
		/* an edit is one command removed and one inserted at most; what the host waits for
		 * is never edited away without a word */
		assert_true(told <= 2 * differ);
		assert_int_equal(told == 0, differ == 0);
		assert_true(c.matched + differ >= LENGTH);
		if (differ)
			for (unsigned i = 0; i < LENGTH; i++)
				if (a[i] != b[i]) { /* nothing differs in front of the first edit */
					assert_true(!c.d[0].a.count || c.d[0].a.first >= i + 5);
					assert_true(!c.d[0].b.count || c.d[0].b.first >= i + 5);
					break;
				}
		compare_free(&c);
	}
}

/* So many differences that the search gives up finding the fewest: what it says is true all the
 * same. */
static void very_different(void **state)
{
	enum { LENGTH = 30000 };
	char *a = xmalloc(LENGTH + 1), *b = xmalloc(LENGTH + 1);
	uint64_t x = 1, removed, inserted;
	struct compare c;

	(void)state;
	for (unsigned i = 0; i < LENGTH; i++) {
		a[i] = (char)('a' + next(&x) % 4);
		b[i] = (char)('a' + next(&x) % 4);
	}
	a[LENGTH] = b[LENGTH] = 0;
	c = compare(a, b);
	assert_true(c.matched > LENGTH / 4);
	removed = c.a_commands - c.matched;
	inserted = c.b_commands - c.matched;
	assert_int_equal(c.by_what[COMPARE_REMOVED] + c.by_what[COMPARE_REPLACED] +
				 c.by_what[COMPARE_REORDERED] + c.by_what[COMPARE_RESHAPED],
		removed);
	assert_int_equal(c.by_what[COMPARE_INSERTED] + c.by_what[COMPARE_REPLACED] +
				 c.by_what[COMPARE_REORDERED] + c.by_what[COMPARE_RESHAPED],
		inserted);
	compare_free(&c);
	free(a);
	free(b);
}

/* --- times --- */

static struct sbt_reader *timed(const uint64_t *takes, size_t n)
{
	struct maker m;

	begin(&m, 0);
	for (size_t i = 0; i < n; i++) {
		struct sbt_cmd c = cmd_launch(0, 1, i % 2);

		c.host_ns = 1000 + i;
		c.gpu_start_ns = 2000;
		c.gpu_end_ns = 2000 + takes[i];
		add(&m, c);
	}
	return end(&m);
}

/* Kernel 0: 100 each, then 200 each: a change. Kernel 1: changes of +10, -10, +30, -30: noise. */
static void times(void **state)
{
	static const uint64_t before[] = {100, 50, 100, 50, 100, 50, 100, 50},
			      after[] = {200, 60, 200, 40, 200, 80, 200, 20};
	struct compare_ask ask = {.a = timed(before, 8), .b = timed(after, 8)};
	struct compare c;

	(void)state;
	ask.range_a.last = ask.range_b.last = UINT64_MAX;
	assert_null(compare_run(&c, &ask));
	assert_true(compare_same(&c) && c.timed);
	assert_int_equal(c.ntimes, 2);
	assert_string_equal(c.times[0].name, "zero");
	assert_int_equal(c.times[0].a_ns, 400);
	assert_int_equal(c.times[0].b_ns, 800);
	assert_int_equal(c.times[0].count, 4);
	assert_false(c.times[0].noise);
	assert_int_equal(c.times[1].b_ns, 200);
	assert_true(c.times[1].noise);
	assert_int_equal(c.a_matched_ns, 600);
	assert_int_equal(c.b_matched_ns, 1000);
	assert_int_equal(c.a_only_ns, 0);
	assert_int_equal(c.b_span_ns, 1200); /* 1000 to 2200 */
	compare_free(&c);
	sbt_reader_close(ask.a);
	sbt_reader_close(ask.b);
}

/* --- steps --- */

static struct compare_steps steps(const char *program, enum compare_steps_by by)
{
	struct compare_step_ask ask = {.r = trace(program, 0, 0), .by = by};
	struct compare_steps s;

	assert_null(compare_steps_find(&s, &ask));
	sbt_reader_close(ask.r);
	return s;
}

/* Seqs are those of letters from 0; 5 is the first. */
static void steps_by_waits(void **state)
{
	static const uint64_t want[][3] = {{0, 7, 2}, {8, 10, 1}, {11, 13, 2}};
	struct compare_steps s = steps("ab!c!!de!f", COMPARE_STEPS_WAIT);

	(void)state;
	assert_int_equal(s.n, 3); /* what no wait ends is no step */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(s.v[i].first, want[i][0]);
		assert_int_equal(s.v[i].last, want[i][1]);
		assert_int_equal(s.v[i].work, want[i][2]);
		assert_ptr_equal(compare_step_numbered(&s, i + 1), &s.v[i]);
	}
	assert_null(compare_step_numbered(&s, 0));
	assert_null(compare_step_numbered(&s, 4));
	compare_steps_free(&s);
	s = steps("!!!", COMPARE_STEPS_WAIT);
	assert_int_equal(s.n, 0);
	compare_steps_free(&s);
	s = steps("ab!c!!de!f", COMPARE_STEPS_GRAPH);
	assert_int_equal(s.n, 0);
	compare_steps_free(&s);
}

/* Ranges as letters: '(' pushes "step" and a number, '[' pushes "part"; both end with ')'. */
static struct sbt_reader *ranges(const char *program, const int *numbers)
{
	struct maker m;
	char name[32];

	begin(&m, 0);
	for (; *program; program++) {
		struct sbt_cmd c = cmd_any(0, SBT_MARK);

		if (*program == 'a') {
			add(&m, cmd_launch(0, 1, 0));
			continue;
		}
		snprintf(name, sizeof name, "step %d", *program == '(' ? *numbers++ : 0);
		c.u.mark.mark_kind = *program == ')' ? 2 : 1;
		c.u.mark.text = cmd_blob(*program == '[' ? "part" : *program == '(' ? name : "");
		add(&m, c);
	}
	return end(&m);
}

static void steps_by_ranges(void **state)
{
	static const struct {
		const char *program, *name;
		int numbers[4];
		unsigned n;
		uint64_t first, called; /* of the second */
	} cases[] = {{"(a)(a)(a)", NULL, {7, 9, 20}, 3, 8, 9}, {"(a)(a)", NULL, {9, 7}, 2, 8, 2},
		{"(a)(a)", NULL, {7, 7}, 2, 8, 2}, {"([a][a])([a])", NULL, {1, 2}, 2, 13, 2},
		{"([a][a])([a])", "part", {1, 2}, 3, 9, 2},
		{"()(a)()(a)", NULL, {1, 2, 3, 4}, 2, 12, 4}, {"(a)", NULL, {1}, 0, 0, 0},
		{"(a(a", NULL, {1, 2}, 0, 0, 0}, {")))(a)(a)", NULL, {1, 2}, 2, 11, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[32];
		unsigned n = 0;
		struct compare_step_ask ask = {.by = COMPARE_STEPS_RANGE, .name = cases[i].name};
		struct compare_steps s;

		for (const char *p = cases[i].program; *p; p++) /* ']' is ')' */
			text[n++] = *p == ']' ? ')' : *p;
		text[n] = 0;
		ask.r = ranges(text, cases[i].numbers);
		assert_null(compare_steps_find(&s, &ask));
		sbt_reader_close(ask.r);
		assert_int_equal(s.n, cases[i].n);
		if (s.n > 1) {
			assert_int_equal(s.v[1].first, cases[i].first);
			assert_int_equal(s.v[1].number, cases[i].called);
		}
		compare_steps_free(&s);
	}
}

/* --- call sites --- */

/* Launches of kernel 0 that take so long. */
static struct sbt_reader *lasting(const uint64_t *ns, unsigned n)
{
	struct maker m;

	begin(&m, 0);
	for (unsigned i = 0; i < n; i++) {
		struct sbt_cmd c = cmd_launch(0, 1, 0);

		c.u.launch.grid_x = 1;
		c.gpu_start_ns = 2000000000 + 100000 * i;
		c.gpu_end_ns = c.gpu_start_ns + ns[i];
		add(&m, c);
	}
	return end(&m);
}

static void call_sites(void **state)
{
	static const struct {
		uint64_t a[4], b[4];
		unsigned na, nb;
		bool noise;
	} cases[] = {{{100, 101, 99, 100}, {200, 201, 199, 200}, 4, 4, false},
		{{100, 100, 100, 100}, {50, 350, 90, 100}, 4, 4, true},
		{{100}, {900}, 1, 1, true}, /* one pair */
		{{100, 100, 100, 100}, {100, 100, 100}, 4, 3, false}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct compare_ask ask = {.a = lasting(cases[i].a, cases[i].na),
			.b = lasting(cases[i].b, cases[i].nb)};
		struct compare c;
		uint64_t a = 0, b = 0;

		for (unsigned k = 0; k < 4; k++) {
			a += cases[i].a[k];
			b += cases[i].b[k];
		}
		ask.range_a.last = ask.range_b.last = UINT64_MAX;
		assert_null(compare_run(&c, &ask));
		sbt_reader_close(ask.a);
		sbt_reader_close(ask.b);
		assert_int_equal(c.nsites, 1);
		assert_int_equal(c.sites[0].a_count, cases[i].na);
		assert_int_equal(c.sites[0].b_count, cases[i].nb);
		assert_int_equal(c.sites[0].a_ns, a);
		assert_int_equal(c.sites[0].b_ns, b);
		assert_int_equal(c.sites[0].noise, cases[i].noise);
		compare_free(&c);
	}
}

/* n launches. */
static struct sbt_reader *long_trace(unsigned n)
{
	struct maker m;

	begin(&m, 0);
	for (unsigned i = 0; i < n; i++)
		add(&m, cmd_launch(0, 1, i % 4));
	return end(&m);
}

static bool enough(void *left, uint64_t done, uint64_t of)
{
	unsigned *n = left;

	(void)done, (void)of;
	if (*n)
		--*n;
	return !*n;
}

/* Both traces are read at the same time, and both reads end when the user wants no more: at the
 * first question, or whenever that is. */
static void cancelled(void **state)
{
	enum { N = 140000 };
	struct sbt_reader *a = long_trace(N), *b = long_trace(2 * N);

	(void)state;
	for (unsigned left = 1; left < 8; left++) {
		unsigned n = left;
		const struct compare_ask ask = {.a = a,
			.b = b,
			.range_a.last = UINT64_MAX,
			.range_b.last = UINT64_MAX,
			.cancelled = enough,
			.arg = &n};
		struct compare c;
		struct err *e = compare_run(&c, &ask);

		assert_true(e || left > 2); /* A asks twice */
		if (e)
			assert_int_equal(e->code, ERR_INTERRUPTED);
		else
			assert_int_equal(c.matched, N);
		err_free(e);
		compare_free(&c);
	}
	sbt_reader_close(a);
	sbt_reader_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_by_waits),
		cmocka_unit_test(steps_by_ranges),
		cmocka_unit_test(call_sites),
		cmocka_unit_test(subsequences),
		cmocka_unit_test(the_same),
		cmocka_unit_test(planted),
		cmocka_unit_test(moved),
		cmocka_unit_test(streams_in_another_order),
		cmocka_unit_test(waits_for_another),
		cmocka_unit_test(blocks),
		cmocka_unit_test(first_first),
		cmocka_unit_test(nothing_in_common),
		cmocka_unit_test(random_edits),
		cmocka_unit_test(very_different),
		cmocka_unit_test(times),
		cmocka_unit_test(cancelled),
	};

	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
