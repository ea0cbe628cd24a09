/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a trace with libtracesmith, as C or as C++: a tool that knows GPU commands from elsewhere
 * gives them to tsdb this way. Two streams, two launches and a wait; `tsdb view`, `info streams`
 * and `order why` then answer about it.
 *
 *   cc trace_writer.c $(pkg-config --cflags --libs tracesmith) && ./a.out made.sbt
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracesmith/tracesmith.h>

static void check(int result)
{
	if (result == TS_OK)
		return;
	fprintf(stderr, "%s. %s\n", ts_error(), ts_error_cure());
	exit(1);
}

/* A field and its number; a command has at most so many. */
enum { FIELDS = 10 };
struct field {
	const char *name;
	uint64_t number;
};
struct command {
	const char *kind;
	struct field fields[FIELDS];
	const char *text_field, *text;
};

#define SHAPE                                                                                      \
	{"grid_x", 64}, {"grid_y", 1}, {"grid_z", 1}, {"block_x", 256}, {"block_y", 1},            \
	{                                                                                          \
		"block_z", 1                                                                       \
	}

/* Stream 2 waits for what stream 1 has done up to its event. */
static const struct command commands[] = {
	{"ctx_create", {{"new_ctx", 0}, {"primary", 1}}, NULL, NULL},
	{"stream_create", {{"new_stream", 1}, {"ctx", 0}}, NULL, NULL},
	{"stream_create", {{"new_stream", 2}, {"ctx", 0}}, NULL, NULL},
	{"event_create", {{"new_event", 0}, {"ctx", 0}}, NULL, NULL},
	{"kernel_def", {{"new_kernel", 0}, {"ctx", 0}}, "kernel_name", "produce"},
	{"kernel_def", {{"new_kernel", 1}, {"ctx", 0}}, "kernel_name", "consume"},
	{"launch", {{"ctx", 0}, {"stream", 1}, {"kernel", 0}, SHAPE}, NULL, NULL},
	{"event_record", {{"ctx", 0}, {"stream", 1}, {"event", 0}}, NULL, NULL},
	{"stream_wait", {{"ctx", 0}, {"stream", 2}, {"event", 0}}, NULL, NULL},
	{"launch", {{"ctx", 0}, {"stream", 2}, {"kernel", 1}, SHAPE}, NULL, NULL},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void put(ts_writer *w, uint64_t seq, const struct command *c)
{
	check(ts_writer_begin(w, c->kind, seq));
	check(ts_writer_set(w, "thread", 1));
	for (unsigned i = 0; i < FIELDS && c->fields[i].name; i++)
		check(ts_writer_set(w, c->fields[i].name, c->fields[i].number));
	if (c->text)
		check(ts_writer_set_data(w, c->text_field, c->text, strlen(c->text)));
	check(ts_writer_end(w));
}

int main(int argc, char **argv)
{
	ts_writer *w;

	if (argc != 2) {
		fprintf(stderr, "usage: trace_writer TRACE\n");
		return 2;
	}
	check(ts_writer_open(&w, argv[1], "trace_writer"));
	for (unsigned i = 0; i < COMMANDS; i++)
		put(w, i + 1, &commands[i]);
	check(ts_writer_close(w));
	printf("%d commands in %s\n", (int)COMMANDS, argv[1]);
	return 0;
}
