/* SPDX-License-Identifier: Apache-2.0
 *
 * What comparing two traces costs, and where a trace's time went: two synthetic traces, of which
 * the second lacks EDITS commands and has EDITS launches with another grid, at places spread over
 * it. Prints what was found beside what was planted, and what it took beside what reading takes.
 * BENCH_COMMANDS  of each (default 10000000), BENCH_EDITS  (default 200)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "bench/synthetic.h"
#include "compare/compare.h"
#include "state/trace-stats.h"

static void check(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "bench-compare: %s\n", e->what);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long peak_mib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss / 1024;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* edits 0: the trace as it is. */
static void write_trace(const char *path, uint64_t n, uint64_t edits)
{
	const struct sbt_meta meta = {.program = "synthetic",
		.cwd = "/",
		.host = "bench",
		.gpu = "g",
		.tsdb = "bench",
		.timestamps = true};
	struct synthetic g = SYNTHETIC_INIT;
	const uint64_t every = edits ? n / (2 * edits + 1) : UINT64_MAX;
	uint64_t done = 0, next = every;
	struct sbt_writer *w;

	check(sbt_writer_open(&w, path, &meta));
	for (uint64_t i = 1; i <= n; i++) {
		struct sbt_cmd c = synthetic_next(&g);

		if (i >= next && c.kind == SBT_LAUNCH && done < 2 * edits) {
			next += every;
			if (done++ & 1)
				continue;
			c.u.launch.grid_x += 1;
		}
		if (sbt_cmd_is_work(&c)) {
			c.gpu_start_ns = c.host_ns + 5000;
			c.gpu_end_ns = c.gpu_start_ns + 900;
		}
		check(sbt_writer_cmd(w, &c));
	}
	check(sbt_writer_close(w));
}

/* What reading the commands alone takes of the processor, s. */
static double reading(const char *path)
{
	const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	struct sbt_reader *r;

	check(sbt_reader_open(&r, path));
	check(sbt_cursor_open(&cursor, r));
	do
		check(sbt_cursor_next(cursor, &c));
	while (c);
	sbt_cursor_close(cursor);
	sbt_reader_close(r);
	return seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

static void bench_compare(const char *a, const char *b, uint64_t n, uint64_t edits)
{
	struct compare_ask ask = {.range_a.last = UINT64_MAX, .range_b.last = UINT64_MAX};
	const double read = reading(a) + reading(b), start = seconds(CLOCK_MONOTONIC),
		     cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	double took;
	struct compare c;

	check(sbt_reader_open(&ask.a, a));
	check(sbt_reader_open(&ask.b, b));
	check(compare_run(&c, &ask));
	took = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("compare %" PRIu64 " with %" PRIu64
	       " commands: %.2f s, %.2f s of processor, %.1f times reading both, %ld MiB; "
	       "%" PRIu64 " removed and %" PRIu64 " reshaped of %" PRIu64 " and %" PRIu64
	       " planted, %zu differences in all%s\n",
		n, n - edits, seconds(CLOCK_MONOTONIC) - start, took, took / read, peak_mib(),
		c.by_what[COMPARE_REMOVED], c.by_what[COMPARE_RESHAPED], edits, edits, c.n,
		c.coarse ? ", coarse" : "");
	compare_free(&c);
	sbt_reader_close(ask.a);
	sbt_reader_close(ask.b);
}

static void bench_stats(const char *a, uint64_t n)
{
	const struct stats_ask ask = {.last = UINT64_MAX};
	const double start = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	struct sbt_reader *r;
	struct stats s;
	double took;

	check(sbt_reader_open(&r, a));
	check(stats_make(&s, r, &ask));
	took = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("stats of %" PRIu64
	       " commands: %.2f s, %.2f s of processor, %.0f ns each, %ld MiB\n",
		n, seconds(CLOCK_MONOTONIC) - start, took, took * 1e9 / (double)n, peak_mib());
	stats_free(&s);
	sbt_reader_close(r);
}

int main(void)
{
	const uint64_t n = number("BENCH_COMMANDS", 10000000), edits = number("BENCH_EDITS", 200);
	char a[] = "/tmp/bench-compare-XXXXXX", b[] = "/tmp/bench-compare-XXXXXX";

	close(mkstemp(a));
	close(mkstemp(b));
	write_trace(a, n, 0);
	write_trace(b, n, edits);
	bench_stats(a, n); /* first: its peak is its own */
	bench_compare(a, b, n, edits);
	unlink(a);
	unlink(b);
	return 0;
}
