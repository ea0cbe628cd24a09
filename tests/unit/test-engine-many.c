/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of traces, ranks from environments, clocks brought together, and the file of a set.
 * Expected figures are worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/trace/clocks.h"
#include "engine/device-clocks.h"
#include "engine/names.h"
#include "engine/ranks.h"
#include "sbt/sbt.h"

/* --- names --- */

static void expands(const char *pattern, int64_t rank, const char *want)
{
	char host[] = "node 1.example.org",
	     *got = names_expand(pattern, &(struct names){.host = host,
						  .program = "/usr/bin/python3",
						  .pid = 4711,
						  .rank = rank,
						  .array = "12",
						  .shard = 5});

	assert_string_equal(got, want);
	free(got);
}

static void patterns(void **state)
{
	struct err *e;

	expands("run.%h.%p.sbt", 3, "run.node_1.example.org.4711.sbt");
	expands("run.%N.%j.%a.%k.sbt", 3, "run.node_1.none.12.5.sbt");
	expands("%n-%r.sbt", 3, "python3-3.sbt");
	expands("%n-%r.sbt", -1, "python3-p4711.sbt");
	expands("100%%.sbt", 3, "100%.sbt");
	expands("%%p%p%", 3, "%p4711%");
	assert_null(names_check("a.%h.%p.%n.%r.%N.%j.%a.%k.%%"));
	e = names_check("a.%x.sbt");
	assert_non_null(e);
	assert_string_equal(e->what, "\"%x\" in the file name a.%x.sbt means nothing");
	err_free(e);
	e = names_check("a%");
	assert_non_null(e);
	err_free(e);
	assert_true(names_has("a.%%.%p", 'p'));
	assert_false(names_has("a.%%p", 'p'));
	assert_false(names_has("a.%h", 'p'));
}

static void numbers(void **state)
{
	static const char *const rows[][2] = {{"a.sbt", "a.7.sbt"}, {"a", "a.7"},
		{"d.x/a", "d.x/a.7"}, {"d/a.b.sbt", "d/a.b.7.sbt"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *got = names_numbered(rows[i][0], 7);

		assert_string_equal(got, rows[i][1]);
		free(got);
	}
}

static void ranks_from(const char *env, size_t n, int64_t rank, int64_t ranks)
{
	int64_t r, rs;

	names_rank(env, n, &r, &rs);
	assert_int_equal(r, rank);
	assert_int_equal(rs, ranks);
}
#define RANKS(env, rank, ranks) ranks_from(env, sizeof env, rank, ranks)

static void launchers(void **state)
{
	RANKS("A=1\0RANK=3\0WORLD_SIZE=8", 3, 8);
	RANKS("OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_SIZE=4", 2, 4);
	RANKS("PMI_RANK=1", 1, -1);
	RANKS("SLURM_PROCID=5\0SLURM_NTASKS=16\0RANK=40\0WORLD_SIZE=128", 40,
		128); /* torchrun under srun */
	RANKS("SLURM_PROCID=5\0SLURM_NTASKS=16", 5, 16);
	RANKS("RANK=\0WORLD_SIZE=8", -1, -1);
	RANKS("RANK=x1\0SLURM_PROCID=6", 6, -1);
	RANKS("MYRANK=3\0RANKS=4\0RANK", -1, -1);
	RANKS("RANK=99999999999", -1, -1);
	ranks_from("RANK=12", 7, -1, -1); /* cut off: its end is not there */
	ranks_from("", 0, -1, -1);
}

/* --- clocks --- */

#define T0 1795269433000000000u
#define MS 1000000

/* Meetings every 100 ms; the other clock is `behind` ns behind and loses `ppm` millionths; its ends
 * are late by a pattern of -2, 0, 2 us. */
static void make_matches(struct clock_match *m, unsigned n, int64_t behind, double ppm)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t t = T0 + (uint64_t)i * 100 * MS,
			 late = (uint64_t)((int)(i % 3) - 1) * 2000;
		uint64_t other =
			t - (uint64_t)behind - (uint64_t)(int64_t)(ppm * 1e-6 * (double)(t - T0));

		m[i] = (struct clock_match){.ref_start = t - 50000,
			.ref_end = t,
			.start = other - 40000,
			.end = other + late};
	}
}

static void offset_and_drift(void **state)
{
	struct clock_match m[100];
	struct clock_fit f;

	make_matches(m, 100, 5 * MS, 20);
	clocks_fit(m, 100, &f);
	assert_int_equal(f.n, 100);
	assert_true(f.possible);
	assert_true(f.drift > 19.5e-6 && f.drift < 20.5e-6);
	/* The jitter has its middle at 0. */
	assert_true(llabs(f.offset - 5 * MS) <= 500);
	assert_true(f.error > 0 && f.error <= 2100);
	/* 10 s later 200 us have been lost; the line is within the jitter. */
	assert_true(llabs((int64_t)(clocks_apply(&f, m[99].end) - m[99].ref_end)) <= 4000);
	assert_true(llabs((int64_t)(clocks_apply(&f, m[50].end) - m[50].ref_end)) <= 4000);
}

static void years_apart(void **state)
{
	struct clock_match m[20];
	struct clock_fit f;
	const int64_t year = 31557600ll * 1000000000;

	make_matches(m, 20, 10 * year, 0);
	clocks_fit(m, 20, &f);
	assert_true(f.possible);
	assert_true(llabs(f.offset - 10 * year) <= 500);
	assert_true(llabs((int64_t)(clocks_apply(&f, m[10].end) - m[10].ref_end)) <= 4000);
}

static void stragglers(void **state)
{
	struct clock_match m[50];
	struct clock_fit f;

	make_matches(m, 50, -3 * MS, 0);
	for (unsigned i = 0; i < 50; i += 5)
		m[i].end += 2 * MS; /* a fifth ends late on that rank: it stood still */
	clocks_fit(m, 50, &f);
	assert_true(llabs(f.offset + 3 * MS) <= 4000);
	assert_true(llabs((int64_t)(clocks_apply(&f, m[1].end) - m[1].ref_end)) <= 4000);
	assert_true(f.possible);
}

static void not_the_same_meetings(void **state)
{
	struct clock_match m[50];
	struct clock_fit f;

	make_matches(m, 50, 0, 0);
	for (unsigned i = 30; i < 50; i++) { /* off by one: the other rank's is 100 ms later */
		m[i].start += 100 * MS;
		m[i].end += 100 * MS;
	}
	clocks_fit(m, 50, &f);
	assert_false(f.possible);
}

static void little_is_known(void **state)
{
	struct clock_match m[5];
	struct clock_fit f;

	clocks_fit(NULL, 0, &f);
	assert_int_equal(f.n, 0);
	assert_int_equal(clocks_apply(&f, T0), T0);
	make_matches(m, 1, 7, 0);
	clocks_fit(m, 1, &f);
	assert_int_equal(f.offset, 7 + 2000);
	assert_true(f.drift == 0 && f.error == 0);
	make_matches(m, 5, 1000, 1e5); /* 0.4 s: too little for a drift */
	clocks_fit(m, 5, &f);
	assert_true(f.drift == 0);
}

static void device_bounds(void **state)
{
	struct clock_bounds b;
	double least, most;

	clocks_bounds_init(&b, T0 + 500 * MS);
	assert_false(clocks_bounds_drift(&b, &least, &most));
	/* asked at 0, ran from 3 us to 9 us by its own clock, waited for until 10 us: -3 <= d <= 1
	 * us */
	clocks_asked(&b, T0, T0 + 3000);
	clocks_waited(&b, T0 + 10000, T0 + 9000);
	assert_int_equal(b.low, -3000);
	assert_int_equal(b.high, 1000);
	/* a second later: asked, and by its clock it had run 2 us before: it is at least 2 us
	 * behind by now */
	clocks_asked(&b, T0 + 1000 * MS, T0 + 1000 * MS - 2000);
	clocks_waited(&b, T0 + 1000 * MS + 9000, T0 + 1000 * MS + 5000);
	assert_int_equal(b.low, 2000);
	assert_int_equal(b.high, 1000); /* they contradict each other: it drifts */
	assert_true(clocks_bounds_drift(&b, &least, &most));
	/* half a second between the halves' middles: (2 - 1) us, and (4 - -3) us */
	assert_true(least > 1.99e-6 && least < 2.01e-6);
	assert_true(most > 13.9e-6 && most < 14.1e-6);
}

/* A clock is not proved to be another one by less than times are good for; what was seen once: a
 * wait that ended 20 ns before the work. */
static void what_bounds_prove(void **state)
{
	static const struct {
		int64_t ran, waited; /* ns from the call to the work's begin, from its end to the
					end of the wait */
		enum clocks_distance want;
	} cases[] = {
		{3000, 1000, CLOCKS_SAME},
		{3000, -20, CLOCKS_SAME},
		{-20, 9000, CLOCKS_SAME},
		{3000, -9999, CLOCKS_SAME},
		{30000, -10001, CLOCKS_BEFORE},
		{-10001, 30000, CLOCKS_BEHIND},
		{-9000, -9000, CLOCKS_SAME},
		{-11000, -9001, CLOCKS_UNSTEADY},
		{-30000, -30000, CLOCKS_UNSTEADY},
	};
	struct clock_bounds b;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		clocks_bounds_init(&b, T0);
		clocks_asked(&b, T0, T0 + (uint64_t)cases[i].ran);
		clocks_waited(&b, T0 + 100000, T0 + 100000 - (uint64_t)cases[i].waited);
		assert_int_equal(clocks_distance(&b), cases[i].want);
	}
	clocks_bounds_init(&b, T0);
	clocks_asked(&b, T0, T0 + 3000);
	assert_int_equal(clocks_distance(&b), CLOCKS_SAME); /* nobody has waited */
	clocks_asked(&b, T0, T0 - 30000);
	assert_int_equal(clocks_distance(&b), CLOCKS_BEHIND);
}

/* --- the file of a set --- */

static char folder[] = "/tmp/tsdb-many-XXXXXX";

static char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_set(void **state)
{
	char *path = in_folder("all.sbt"), *a = in_folder("a.sbt");
	struct rank r[2] = {{.file = a,
				    .host = (char *)"n1",
				    .rank = 0,
				    .pid = 10,
				    .start_ns = T0,
				    .commands = 5},
		{.file = (char *)"/elsewhere/b \"x\".sbt",
			.host = (char *)"n2",
			.rank = 3,
			.pid = 11,
			.start_ns = T0 - 4 * MS,
			.commands = 6,
			.fitted = true,
			.fit = {.n = 99,
				.at = T0,
				.offset = 5 * MS,
				.drift = 1e-6,
				.error = 1500}}};
	struct ranks set = {.path = path, .r = r, .n = 2}, *got;

	write_file(a, "");
	assert_null(ranks_save(&set));
	assert_true(ranks_is(path));
	assert_null(ranks_load(&got, path));
	assert_int_equal(got->n, 2);
	assert_string_equal(got->r[0].file, a); /* it was relative in the file */
	assert_string_equal(got->r[1].file, "/elsewhere/b \"x\".sbt");
	assert_null(ranks_find(got, 1));
	assert_ptr_equal(ranks_find(got, 3), &got->r[1]);
	assert_int_equal(got->r[1].fit.offset, 5 * MS);
	assert_int_equal(got->r[1].pid, 11);
	/* 1 s on, 1 ppm of it is 1 us. */
	assert_int_equal(ranks_time(&got->r[1], T0 + 1000 * MS), T0 + 1005 * MS + 1000);
	assert_int_equal(ranks_local(&got->r[1], T0 + 1005 * MS + 1000), T0 + 1000 * MS);
	assert_int_equal(ranks_time(&got->r[0], T0), T0);
	assert_int_equal(ranks_start(got), T0); /* rank 3 began 1 ms later by that clock */
	ranks_free(got);
	free(path);
	free(a);
}

static void bad_sets(void **state)
{
	static const char *const texts[] = {"{\"tsdb_set\": 1}",
		"{\"tsdb_set\": 2, \"traces\": [{}]}", "{\"tsdb_set\": 1, \"traces\": []}",
		"{\"tsdb_set\": 1, \"traces\": [{}]}", "{\"tsdb_set\": 1, \"traces\": [1, 2",
		"{\"tsdb_set\": 1, \"traces\": {\"a\": 1}}",
		"{\"tsdb_set\": 1, \"traces\": [{\"rank\": -1, \"host\": \"h\", \"file\": \"f\", \"pid\": 1, \"start_ns\": 1, \"commands\": 1, "
		"\"fitted\": false, \"offset_ns\": 0, \"at_ns\": 0, \"drift\": 0, \"error_ns\": 0, \"matches\": 0}]}",
		"{\"tsdb_set\": 1, \"traces\": [{\"rank\": 1, \"host\": \"h\\u001b[0m\", \"file\": \"f\", \"pid\": 1, \"start_ns\": 1, \"commands\": 1, "
		"\"fitted\": false, \"offset_ns\": 0, \"at_ns\": 0, \"drift\": 0, \"error_ns\": 0, \"matches\": 0}]}",
		"{\"tsdb_set\": 1, \"traces\": [{\"rank\": 1, \"host\": \"h\", \"file\": \"f\", \"pid\": 1, \"start_ns\": 1, \"commands\": 1, "
		"\"fitted\": true, \"offset_ns\": 0, \"at_ns\": 0, \"drift\": 2, \"error_ns\": 0, \"matches\": 0}]}"};
	char *path = in_folder("bad.sbt");
	struct ranks *set;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct err *e;

		write_file(path, texts[i]);
		e = ranks_load(&set, path);
		assert_non_null(e);
		assert_int_equal(e->code, ERR_BAD_TRACE);
		err_free(e);
	}
	write_file(path, "something else");
	assert_false(ranks_is(path));
	set = xcalloc(1, sizeof *set);
	set->path = path;
	struct err *e = ranks_save(set);
	assert_non_null(e); /* not overwritten */
	assert_int_equal(e->code, ERR_USAGE);
	err_free(e);
	free(set);
	free(path);
}

/* --- devices' clocks from a trace --- */

/* A context on device 1, a fill there that ran from 3 us to 9 us after its call, and a wait for it
 * that ended 10 us after the call. */
static void write_device_trace(const char *path)
{
	const struct sbt_cmd cmds[] = {
		{.seq = 1,
			.kind = SBT_CTX_CREATE,
			.host_ns = T0 - MS,
			.u.ctx_create = {.new_ctx = 1, .device = 1, .default_stream = 1}},
		{.seq = 2,
			.kind = SBT_FILL,
			.ctx = 1,
			.host_ns = T0,
			.gpu_start_ns = T0 + 3000,
			.gpu_end_ns = T0 + 9000,
			.u.fill = {.stream = 1, .dst = 0x1000, .size = 4, .async = 1}},
		{.seq = 3,
			.kind = SBT_SYNC,
			.ctx = 1,
			.host_ns = T0 + 4000,
			.u.sync = {.scope = SBT_SYNC_CTX, .stream = SBT_NO_ID, .event = SBT_NO_ID}},
		{.seq = 4,
			.kind = SBT_SYNC_END,
			.ctx = 1,
			.host_ns = T0 + 10000,
			.u.sync_end = {.begin = 3}},
	};
	struct sbt_writer *w;

	assert_null(sbt_writer_open(&w, path, &(struct sbt_meta){.program = (char *)"p"}));
	for (size_t i = 0; i < sizeof cmds / sizeof *cmds; i++)
		assert_null(sbt_writer_cmd(w, &cmds[i]));
	assert_null(sbt_writer_close(w));
}

static void clocks_of_devices(void **state)
{
	char *path = in_folder("clocks.sbt");
	struct device_clock clock[DEVICE_CLOCKS_MAX];
	volatile bool cancel = false;
	struct engine en = {.cancel = &cancel};
	struct sbt_reader *r;
	struct err *e;
	unsigned n;

	write_device_trace(path);
	assert_null(sbt_reader_open(&r, path));
	assert_null(device_clocks(&en, r, clock, &n));
	assert_int_equal(n, 1);
	assert_int_equal(clock[0].device, 1);
	assert_int_equal(clock[0].times, 1);
	assert_int_equal(clock[0].bounds.low, -3000);
	assert_int_equal(clock[0].bounds.high, 1000);
	assert_int_equal(clock[0].distance, CLOCKS_SAME);
	assert_false(clock[0].has_drift); /* all of it lies in one half */
	cancel = true;
	e = device_clocks(&en, r, clock, &n);
	assert_non_null(e);
	assert_int_equal(e->code, ERR_INTERRUPTED);
	assert_int_equal(n, 0);
	err_free(e);
	sbt_reader_close(r);
	unlink(path);
	free(path);
}

static int make_folder(void **state)
{
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"all.sbt", "a.sbt", "bad.sbt"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *path = in_folder(names[i]);

		unlink(path);
		free(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(numbers),
		cmocka_unit_test(launchers),
		cmocka_unit_test(offset_and_drift),
		cmocka_unit_test(years_apart),
		cmocka_unit_test(stragglers),
		cmocka_unit_test(not_the_same_meetings),
		cmocka_unit_test(little_is_known),
		cmocka_unit_test(device_bounds),
		cmocka_unit_test(what_bounds_prove),
		cmocka_unit_test(a_set),
		cmocka_unit_test(bad_sets),
		cmocka_unit_test(clocks_of_devices),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
