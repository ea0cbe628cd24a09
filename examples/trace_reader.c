/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a trace with libtracesmith, as C or as C++: the launches of kernels that match a pattern
 * with their arguments and where they were called from, how often each kernel ran, and the streams
 * at the last command.
 *
 *   cc trace_reader.c $(pkg-config --cflags --libs tracesmith) && ./a.out app.sbt 'matmul*'
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracesmith/tracesmith.h>

enum { ROWS = 4096, KERNELS = 1000 };

static void check(int result)
{
	if (result == TS_OK || result == TS_END)
		return;
	fprintf(stderr, "%s\n%s\n", ts_error(), ts_error_cure());
	exit(1);
}

static void print_arg(const struct ts_arg *a, unsigned i)
{
	int64_t n = 0;

	printf(" %s ", a->type ? a->type : "?");
	if (a->name)
		printf("%s=", a->name);
	else
		printf("arg%u=", i);
	if (!a->data || a->bytes > 8 || a->is == TS_ARG_UNKNOWN) {
		printf("...");
	} else if (a->is == TS_ARG_FLOAT && a->bytes == 4) {
		float f;

		memcpy(&f, a->data, 4);
		printf("%g", f);
	} else {
		memcpy(&n, a->data, (size_t)a->bytes);
		printf(a->is == TS_ARG_POINTER ? "0x%" PRIx64 : "%" PRId64, n);
	}
}

static void print_launch(ts_cursor *c)
{
	const struct ts_frame *frames;
	struct ts_value name;
	struct ts_arg a;
	size_t n;

	check(ts_field(c, "kernel_name", &name));
	printf("#%" PRIu64 " %.*s", ts_seq(c), (int)name.size, (const char *)name.data);
	memset(&a, 0, sizeof a);
	a.size = sizeof a;
	for (unsigned i = 0; ts_argument(c, i, &a) == TS_OK; i++)
		print_arg(&a, i);
	check(ts_stack(c, &frames, &n));
	if (n && frames[n - 1].function)
		printf(" from %s:%u", frames[n - 1].function, frames[n - 1].line);
	printf("\n");
}

static void print_launches(ts_trace *t, const char *kernels)
{
	struct ts_filter f = TS_FILTER_ALL;
	ts_cursor *c;
	int r;

	f.kind = "launch";
	f.kernel = kernels;
	check(ts_cursor_open(&c, t, 0));
	check(ts_cursor_filter(c, &f));
	while ((r = ts_next(c)) == TS_OK)
		print_launch(c);
	check(r);
	ts_cursor_close(c);
}

/* By columns, ROWS commands at a time. */
static void count_kernels(ts_trace *t)
{
	static uint64_t kernel[ROWS], count[KERNELS];
	static const char *const fields[] = {"kernel_name"};
	uint64_t *const into[] = {kernel};
	struct ts_filter f = TS_FILTER_ALL;
	ts_cursor *c;
	size_t n;

	f.kind = "launch";
	check(ts_cursor_open(&c, t, 0));
	check(ts_cursor_filter(c, &f));
	do {
		check(ts_columns(c, fields, 1, into, ROWS, &n));
		for (size_t i = 0; i < n; i++) {
			if (kernel[i] < KERNELS)
				count[kernel[i]]++;
		}
	} while (n == ROWS);
	ts_cursor_close(c);
	for (unsigned i = 0; i < KERNELS; i++) {
		if (count[i])
			printf("%s: %" PRIu64 " launches\n", ts_column_text(t, i), count[i]);
	}
}

static void print_streams(ts_trace *t)
{
	struct ts_stream st;
	ts_state *s;
	uint64_t last;

	check(ts_number(t, "last_seq", &last));
	check(ts_state_at(&s, t, last));
	memset(&st, 0, sizeof st);
	st.size = sizeof st;
	for (unsigned i = 0; ts_state_stream(s, i, &st) == TS_OK; i++)
		printf("stream %u: %s\n", st.id, st.status);
	ts_state_free(s);
}

int main(int argc, char **argv)
{
	ts_trace *t;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: trace_reader TRACE [KERNELS]\n");
		return 2;
	}
	check(ts_open(&t, argv[1]));
	print_launches(t, argc == 3 ? argv[2] : NULL);
	count_kernels(t);
	print_streams(t);
	ts_close(t);
	return 0;
}
