/* SPDX-License-Identifier: Apache-2.0
 *
 * Records a program with libtracesmith, as C or as C++: it runs up to a breakpoint and on to its
 * end, and the trace of the run, with memory, is replayed and compared with what was recorded.
 *
 *   cc record_run.c $(pkg-config --cflags --libs tracesmith) && ./a.out app.sbt 'kernel matmul'
 * ./app
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

static const char *word(enum ts_stop why)
{
	switch (why) {
#define WORD(name, number, text)                                                                   \
	case TS_STOP_##name:                                                                       \
		return text;
		TS_STOP_REASONS(WORD)
#undef WORD
	case TS_STOP_OTHER:
		break;
	}
	return "another stop";
}

/* Once it has reached the breakpoint the program goes on to its end. */
static void record(const char *path, const char *place, const char *const *program)
{
	struct ts_session_options o = TS_SESSION_DEFAULTS;
	uint64_t breakpoint, code;
	enum ts_stop why;
	char line[32];
	ts_session *s;
	ts_answer *a;

	o.record = path;
	check(ts_launch(&s, program, &o));
	check(ts_break(s, place, &breakpoint));
	check(ts_run(s, &why));
	printf("first stop: %s\n", word(why));
	if (why == TS_STOP_BREAKPOINT) {
		snprintf(line, sizeof line, "delete %" PRIu64, breakpoint);
		check(ts_ask(&a, s, line));
		ts_answer_free(a);
		check(ts_continue(s, &why));
	}
	if (why == TS_STOP_EXITED) {
		check(ts_stopped(&a, s));
		check(ts_answer_number(a, "exit_code", &code));
		printf("%s: %" PRIu64 "\n", word(why), code);
		ts_answer_free(a);
	}
	ts_session_close(s); /* the trace is complete */
}

static void verify(const char *path)
{
	uint64_t commands, all, same;
	ts_session *s;
	ts_answer *a;
	ts_trace *t;

	check(ts_open(&t, path));
	check(ts_number(t, "commands", &commands));
	check(ts_replay(&s, t, NULL));
	check(ts_verify(&a, s));
	check(ts_answer_number(a, "allocations", &all));
	check(ts_answer_number(a, "identical", &same));
	printf("%" PRIu64 " commands, %" PRIu64 " of %" PRIu64 " allocations identical\n", commands,
		same, all);
	ts_answer_free(a);
	ts_session_close(s);
	ts_close(t);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: record_run TRACE BREAKPOINT PROGRAM [ARGUMENTS]\n");
		return 2;
	}
	record(argv[1], argv[2], (const char *const *)argv + 3);
	verify(argv[1]);
	return 0;
}
