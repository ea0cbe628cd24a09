/* SPDX-License-Identifier: Apache-2.0
 *
 * The missing wait of race_demo, found through libtracesmith: the race and the call that would
 * order it, a replay that goes back to who wrote the bytes, a what-if, and the program itself,
 * stopped at a breakpoint. It is C, and C++ as well.
 *
 *     time_travel race_demo.sbt [./race_demo]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracesmith/tracesmith.h>

static void need(int result)
{
	if (result == TS_OK)
		return;
	fprintf(stderr, "%s. %s\n", ts_error(), ts_error_cure());
	exit(1);
}

/* The first race: both commands and its memory. */
static void race(ts_trace *t, uint64_t *first, uint64_t *second, uint64_t *addr)
{
	const char *cure;
	ts_answer *a;

	need(ts_races(&a, t, NULL));
	need(ts_answer_number(a, "[0].a.seq", first));
	need(ts_answer_number(a, "[0].b.seq", second));
	need(ts_answer_number(a, "[0].addr", addr));
	need(ts_answer_string(a, "[0].cure", &cure));
	printf("race: #%" PRIu64 " and #%" PRIu64 "\nmissing: %s\n", *first, *second, cure);
	ts_answer_free(a);
}

static void why(ts_trace *t, uint64_t first, uint64_t second)
{
	const char *text;
	ts_answer *a;

	need(ts_order_why(&a, t, first, second));
	need(ts_answer_string(a, "text", &text));
	printf("why: %s\n", text);
	ts_answer_free(a);
}

static float value(ts_session *s, uint64_t addr)
{
	float f;

	need(ts_memory_read(s, addr, &f, sizeof f));
	return f;
}

static void travel(ts_trace *t, uint64_t second, uint64_t addr)
{
	struct ts_session_options o = TS_SESSION_DEFAULTS;
	const float changed = 100;
	ts_session *s;
	ts_answer *a;
	uint64_t seq;

	o.on = "soft";
	need(ts_replay(&s, t, &o));
	need(ts_goto(s, second));
	printf("at #%" PRIu64 ": %g\n", second, value(s, addr));
	need(ts_who_wrote(&a, s, addr, 4));
	need(ts_answer_number(a, "seq", &seq));
	ts_answer_free(a);
	printf("written by #%" PRIu64 "\n", seq);
	need(ts_goto(s, seq));
	need(ts_step(s, -1));
	need(ts_position(s, &seq));
	printf("before it, at #%" PRIu64 ": %g\n", seq, value(s, addr));
	need(ts_memory_write(s, addr, &changed, sizeof changed));
	printf("what if: %g\n", value(s, addr));
	ts_session_close(s);
}

static void stop(const char *program)
{
	const char *argv[2] = {NULL, NULL}, *function;
	enum ts_stop stopped;
	ts_session *s;
	ts_answer *a;
	uint64_t id;

	argv[0] = program;
	need(ts_launch(&s, argv, NULL));
	need(ts_break(s, "kernel consume", &id));
	need(ts_run(s, &stopped));
	need(ts_ask(&a, s, "backtrace --json"));
	need(ts_answer_string(a, "[0].function", &function));
	printf("breakpoint %" PRIu64 ": %s from %s\n", id,
		stopped == TS_STOP_BREAKPOINT ? "reached" : "missed", function);
	ts_answer_free(a);
	ts_session_close(s);
}

int main(int argc, char **argv)
{
	uint64_t first, second, addr;
	ts_trace *t;

	if (argc < 2)
		return 2;
	need(ts_open(&t, argv[1]));
	race(t, &first, &second, &addr);
	why(t, first, second);
	travel(t, second, addr);
	ts_close(t);
	if (argc > 2)
		stop(argv[2]);
	return 0;
}
