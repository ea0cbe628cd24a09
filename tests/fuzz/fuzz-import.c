/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of other programs, of any format. What is made of one is a trace that reads without
 * damage and whose commands the state machine accepts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/import.h"
#include "sbt/sbt.h"
#include "state/state.h"
#include "fuzz.h"

static void must(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "%s\n", e->what);
	abort();
}

static void check(const char *path)
{
	struct state *s = state_new();
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	struct sbt_reader *r;

	must(sbt_reader_open(&r, path));
	must(sbt_cursor_open(&cursor, r));
	for (;;) {
		must(sbt_cursor_next(cursor, &c));
		if (!c)
			break;
		must(state_apply(s, c));
	}
	if (sbt_reader_damage(r))
		abort();
	sbt_cursor_close(cursor);
	sbt_reader_close(r);
	state_free(s);
}

/* Imports the file as one format (NULL: as what it looks like). False: it looks like none. */
static bool import(const char *in, const char *format, bool graph_nodes)
{
	char out[64];
	struct import_result result;
	struct err *e;
	bool known;

	snprintf(out, sizeof out, "/dev/shm/fuzz-import.%d.sbt", (int)getpid());
	const struct import_ask ask = {
		.file = in, .output = out, .format = format, .graph_nodes = graph_nodes};
	e = import_run(&ask, &result);
	if (!e)
		check(out);
	known = !e || result.format;
	err_free(e);
	unlink(out);
	return known;
}

/* One format each: an import takes a millisecond or two, most of it to prepare statements. What
 * looks like none is taken for the one that its length says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const formats[] = {"kineto", "nsys", "xray"};
	const int fd = memfd_create("profile", 0);
	char in[64];
	size_t done = 0;

	if (fd < 0)
		abort();
	setenv("TMPDIR", "/dev/shm", 0);
	while (done < n) {
		const ssize_t put = write(fd, data + done, n - done);

		if (put <= 0)
			abort();
		done += (size_t)put;
	}
	snprintf(in, sizeof in, "/proc/self/fd/%d", fd);
	if (!import(in, NULL, n & 1))
		import(in, formats[n % 3], n & 1);
	close(fd);
	return 0;
}
