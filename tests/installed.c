/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stranger's program with libtracesmith looks like; `make installcheck` builds it against
 * the installed copy, as C and as C++, and runs it. Without arguments it writes a trace of two
 * commands and reads it; with a file it counts that one's launches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracesmith/tracesmith.h>

static void check(int result)
{
	if (result == TS_OK)
		return;
	fprintf(stderr, "%s\n", ts_error());
	exit(1);
}

static void write_two(const char *path)
{
	ts_writer *w;

	check(ts_writer_open(&w, path, "none"));
	check(ts_writer_begin(w, "ctx_create", 1));
	check(ts_writer_set(w, "new_ctx", 1));
	check(ts_writer_end(w));
	check(ts_writer_begin(w, "launch", 2));
	check(ts_writer_set(w, "grid_x", 40));
	check(ts_writer_end(w));
	check(ts_writer_close(w));
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "installed.sbt";
	unsigned long launches = 0, blocks = 0;
	ts_trace *t;
	ts_cursor *c;
	int r;

	if (argc == 1)
		write_two(path);
	check(ts_open(&t, path));
	check(ts_cursor_open(&c, t, 0));
	while ((r = ts_next(c)) == TS_OK) {
		struct ts_value x;

		if (strcmp(ts_kind(c), "launch"))
			continue;
		check(ts_field(c, "grid_x", &x));
		blocks += x.number;
		launches++;
	}
	if (r != TS_END)
		check(r);
	printf("%lu launches, %lu blocks\n", launches, blocks);
	ts_cursor_close(c);
	ts_close(t);
	if (argc == 1)
		remove(path);
	return argc == 1 && (launches != 1 || blocks != 40);
}
