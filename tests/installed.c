/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stranger's program with libtracesmith looks like; `make installcheck` builds it against the installed copy and runs it.
 * Without arguments it writes a trace of two commands and reads it; with a file it counts that one's launches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tracesmith.h>

static void check(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "%s\n", e->what);
	exit(1);
}

static void write_two(const char *path)
{
	struct sbt_meta meta = {.program = "none"};
	struct sbt_cmd c = {.seq = 1, .kind = SBT_CTX_CREATE, .thread = 1, .ctx = SBT_NO_ID};
	struct sbt_writer *w;

	c.u.ctx_create.new_ctx = 1;
	check(sbt_writer_open(&w, path, &meta));
	check(sbt_writer_cmd(w, &c));
	c = (struct sbt_cmd){.seq = 2, .kind = SBT_LAUNCH, .thread = 1, .ctx = 1};
	check(sbt_writer_cmd(w, &c));
	check(sbt_writer_close(w));
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "installed.sbt";
	struct state_totals totals;
	struct sbt_reader *r;
	struct state *s;

	if (argc == 1)
		write_two(path);
	check(sbt_reader_open(&r, path));
	check(state_at(&s, r, sbt_reader_last_seq(r)));
	state_totals(s, &totals);
	printf("%llu commands, %llu launches\n", (unsigned long long)totals.commands, (unsigned long long)totals.launches);
	state_free(s);
	sbt_reader_close(r);
	if (argc == 1)
		remove(path);
	return argc == 1 && totals.launches != 1;
}
