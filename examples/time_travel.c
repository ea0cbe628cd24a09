/* SPDX-License-Identifier: Apache-2.0
 *
 * The missing wait of race_demo, found through libtracesmith: the race and the call that would
 * order it; a replay that goes back to who wrote the bytes, and a what-if; an order of the streams
 * that the program allows and that gives a wrong sum, and from that sum back to the command that
 * wrote it; and the program itself, stopped at a breakpoint. It is C, and C++ as well.
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
	const float changed = 100;
	ts_session *s;
	ts_answer *a;
	uint64_t seq;

	need(ts_replay(&s, t, NULL));
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

/* Finds an order with another result, which is saved as a trace: its path, and where it differs. */
static void explore(ts_trace *t, char *path, size_t room, uint64_t *sum)
{
	const char *saved;
	ts_session *s;
	ts_answer *a;

	need(ts_replay(&s, t, NULL));
	need(ts_ask(&a, s, "replay explore --json"));
	need(ts_answer_number(a, "found[0].addr", sum));
	need(ts_answer_string(a, "found[0].trace", &saved));
	snprintf(path, room, "%s", saved);
	need(ts_goto(s, 71));
	printf("the sum: %g\n", value(s, *sum));
	ts_answer_free(a);
	ts_session_close(s);
}

static void streams(ts_trace *t, uint64_t seq)
{
	struct ts_stream stream = {sizeof stream, 0, 0, NULL, 0};
	ts_state *state;

	need(ts_state_at(&state, t, seq));
	for (unsigned i = 0; ts_state_stream(state, i, &stream) == TS_OK; i++)
		printf("stream %" PRIu32 ": %s\n", stream.id, stream.status);
	ts_state_free(state);
}

/* From the wrong sum backwards, by a watchpoint; then the whole schedule once more. */
static void wrong_sum(const char *path, uint64_t sum)
{
	uint64_t seq, all, same;
	const char *kernel;
	enum ts_stop why;
	char line[64];
	ts_session *s;
	ts_answer *a;
	ts_trace *t;

	need(ts_open(&t, path));
	need(ts_replay(&s, t, NULL));
	need(ts_continue(s, &why));
	printf("%s, the sum: %g\n", why == TS_STOP_END ? "end" : "not the end", value(s, sum));
	snprintf(line, sizeof line, "watch 0x%" PRIx64 " len 4", sum);
	need(ts_ask(&a, s, line));
	ts_answer_free(a);
	need(ts_reverse_continue(s, &why));
	need(ts_stopped(&a, s));
	need(ts_answer_number(a, "seq", &seq));
	need(ts_answer_string(a, "kernel_name", &kernel));
	printf("%s: %s\n", why == TS_STOP_WATCHPOINT ? "written by" : "missed", kernel);
	ts_answer_free(a);
	streams(t, seq);
	need(ts_verify(&a, s));
	need(ts_answer_number(a, "allocations", &all));
	need(ts_answer_number(a, "identical", &same));
	printf("replayed: %" PRIu64 " of %" PRIu64 " identical\n", same, all);
	ts_answer_free(a);
	ts_session_close(s);
	ts_close(t);
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
	uint64_t first, second, addr, sum;
	char path[4096];
	ts_trace *t;

	if (argc < 2)
		return 2;
	need(ts_open(&t, argv[1]));
	race(t, &first, &second, &addr);
	why(t, first, second);
	travel(t, second, addr);
	explore(t, path, sizeof path, &sum);
	ts_close(t);
	wrong_sum(path, sum);
	if (argc > 2)
		stop(argv[2]);
	return 0;
}
