/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace says of order and time, with libtracesmith, as C or as C++: each race with the call
 * that would order it, whether one command has finished before another begins, and what the run's
 * time was spent on.
 *
 *   cc trace_order.c $(pkg-config --cflags --libs tracesmith) && ./a.out app.sbt 18 21
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracesmith/tracesmith.h>

static void check(int result)
{
	if (result == TS_OK)
		return;
	fprintf(stderr, "%s. %s\n", ts_error(), ts_error_cure());
	exit(1);
}

static uint64_t number(const ts_answer *a, const char *list, uint64_t i, const char *member)
{
	char path[64];
	uint64_t n;

	snprintf(path, sizeof path, "%s[%" PRIu64 "].%s", list, i, member);
	check(ts_answer_number(a, path, &n));
	return n;
}

static const char *text(ts_answer *a, const char *list, uint64_t i, const char *member)
{
	const char *s;
	char path[64];

	snprintf(path, sizeof path, "%s[%" PRIu64 "].%s", list, i, member);
	check(ts_answer_string(a, path, &s));
	return s;
}

static void print_races(ts_trace *t)
{
	ts_answer *a;
	uint64_t n;

	check(ts_races(&a, t, NULL));
	check(ts_answer_count(a, "", &n));
	printf("races: %" PRIu64 "\n", n);
	for (uint64_t i = 0; i < n; i++) {
		printf("%s: #%" PRIu64 " and #%" PRIu64 ", %" PRIu64 " bytes\n",
			text(a, "", i, "tier"), number(a, "", i, "a.seq"),
			number(a, "", i, "b.seq"), number(a, "", i, "size"));
		printf("  missing: %s\n", text(a, "", i, "cure"));
	}
	ts_answer_free(a);
}

/* What leads from the first command to the second, or why nothing does. */
static void print_why(ts_trace *t, uint64_t first, uint64_t second)
{
	const char *why;
	uint64_t ordered, n;
	ts_answer *a;

	check(ts_order_why(&a, t, first, second));
	check(ts_answer_number(a, "ordered", &ordered));
	if (ordered) {
		check(ts_answer_count(a, "path", &n));
		printf("ordered:");
		for (uint64_t i = 0; i < n; i++)
			printf(" %s to #%" PRIu64 "%s", text(a, "path", i, "edge"),
				number(a, "path", i, "seq"), i + 1 < n ? "," : "\n");
	} else {
		check(ts_answer_string(a, "text", &why));
		printf("not ordered: %s\n", why);
	}
	ts_answer_free(a);
}

/* Needs the GPU's times: `tsdb record --timestamps`. */
static void print_critical_path(ts_trace *t)
{
	uint64_t length, n;
	ts_answer *a;

	check(ts_critical_path(&a, t, NULL));
	check(ts_answer_number(a, "length_ns", &length));
	check(ts_answer_count(a, "part_list", &n));
	printf("critical path: %" PRIu64 " ns\n", length);
	for (uint64_t i = 0; i < n && i < 3; i++)
		printf("  %" PRIu64 " ns %s: %s\n", number(a, "part_list", i, "path_ns"),
			text(a, "part_list", i, "part"), text(a, "part_list", i, "name"));
	ts_answer_free(a);
}

int main(int argc, char **argv)
{
	uint64_t timed;
	ts_trace *t;

	if (argc != 4) {
		fprintf(stderr, "usage: trace_order TRACE SEQ SEQ\n");
		return 2;
	}
	check(ts_open(&t, argv[1]));
	print_races(t);
	print_why(t, strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
	check(ts_number(t, "timestamps", &timed));
	if (timed)
		print_critical_path(t);
	ts_close(t);
	return 0;
}
