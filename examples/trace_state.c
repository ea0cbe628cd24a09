/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU's state at a command of a trace, with libtracesmith, as C or as C++: totals, what each
 * stream does, and the objects of one kind as JSON (docs/json.md).
 *
 *   cc trace_state.c $(pkg-config --cflags --libs tracesmith) && ./a.out app.sbt 41 events
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

static uint64_t number(const ts_state *s, const char *name)
{
	uint64_t n;

	check(ts_state_number(s, name, &n));
	return n;
}

static void print_totals(const ts_state *s)
{
	printf("%" PRIu64 " commands, %" PRIu64 " launches, %" PRIu64 " fills\n",
		number(s, "commands"), number(s, "launches"), number(s, "fills"));
	printf("%" PRIu64 " bytes in %" PRIu64 " allocations\n", number(s, "live_bytes"),
		number(s, "live_allocations"));
}

static void print_streams(const ts_state *s)
{
	struct ts_stream stream = {sizeof stream, 0, 0, NULL, 0};
	unsigned i = 0;
	int r;

	while ((r = ts_state_stream(s, i++, &stream)) == TS_OK)
		printf("stream %" PRIu32 ": %s, %" PRIu64 " pending\n", stream.id, stream.status,
			stream.pending);
	if (r != TS_END)
		check(r);
}

int main(int argc, char **argv)
{
	const char *json;
	ts_state *s;
	ts_trace *t;

	if (argc != 4) {
		fprintf(stderr, "usage: trace_state TRACE SEQ streams|events|allocations|...\n");
		return 2;
	}
	check(ts_open(&t, argv[1]));
	check(ts_state_at(&s, t, strtoull(argv[2], NULL, 0)));
	print_totals(s);
	print_streams(s);
	check(ts_state_json(s, argv[3], &json));
	printf("%s\n", json);
	ts_state_free(s);
	ts_close(t);
	return 0;
}
