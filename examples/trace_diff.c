/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares two traces with libtracesmith, as C or as C++: how many of their commands are the same,
 * and each difference with the command and the line that it is at. Exits with 3 when they differ.
 *
 *   cc trace_diff.c $(pkg-config --cflags --libs tracesmith) && ./a.out before.sbt after.sbt
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

static uint64_t number(const ts_answer *a, const char *name)
{
	uint64_t n;

	check(ts_answer_number(a, name, &n));
	return n;
}

/* What is null, because that trace has nothing there, is TS_NOT_FOUND. */
static const char *text(ts_answer *a, uint64_t i, const char *member)
{
	const char *s;
	char path[80];
	int r;

	snprintf(path, sizeof path, "difference_list[%" PRIu64 "].%s", i, member);
	r = ts_answer_string(a, path, &s);
	if (r == TS_NOT_FOUND)
		return "nothing";
	check(r);
	return s;
}

static void print_difference(ts_answer *a, uint64_t i)
{
	printf("%s\n", text(a, i, "difference"));
	printf("  a: %s\n", text(a, i, "in_a.command_text"));
	printf("  b: %s\n", text(a, i, "in_b.command_text"));
}

int main(int argc, char **argv)
{
	uint64_t same, n;
	ts_answer *a;

	if (argc != 3) {
		fprintf(stderr, "usage: trace_diff A B\n");
		return 2;
	}
	check(ts_diff(&a, argv[1], argv[2], NULL));
	same = number(a, "same");
	printf("%" PRIu64 " and %" PRIu64 " commands, %" PRIu64 " in both\n",
		number(a, "a_commands"), number(a, "b_commands"), number(a, "matched"));
	check(ts_answer_count(a, "difference_list", &n));
	for (uint64_t i = 0; i < n; i++)
		print_difference(a, i);
	ts_answer_free(a);
	return same ? 0 : 3;
}
