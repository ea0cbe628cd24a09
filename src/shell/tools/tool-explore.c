/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb explore FILE`: executes the orders of a trace's windows, or a shard of them. What ends a
 * job early, SIGTERM or SIGUSR1, ends it with what was done, in a file from which --resume goes on.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/names.h"
#include "shell/line/interrupt.h"
#include "shell/tools/explore-words.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb explore FILE " EXPLORE_USAGE                                                    \
	" [-o FILE [--resume] [--checkpoint TIME]] [--found-ok] [--window N] "                     \
	"[--on auto|soft|real] [--any-device] [--json], or tsdb merge FILE.json..."

struct tool_explore {
	struct session *s;
	struct explore_options o;
	struct tool_options tool;
	struct explore_tool_words words;
	struct explore_file file; /* without -o: its path is NULL */
	bool found;
};

static struct err *take_options(struct tool_explore *t, int argc, char **argv)
{
	TRY(tool_options_take(&t->tool, USAGE, &argc, argv));
	TRY(explore_words(&t->o, argc, argv, &t->words, NULL));
	return t->words.file ? NULL
			     : err_cure(err_new(ERR_USAGE, "no trace was named"), "%s", USAGE);
}

static struct err *checkpoint(void *arg, const struct explore_result *r)
{
	const struct tool_explore *t = arg;

	return explore_file_write(&t->file, r);
}

static struct err *run(struct tool_explore *t, unsigned window, struct explore_result *ret)
{
	if (t->o.jobs > 1) {
		TRY(replay_device_check(&t->s->engine, &t->tool.choice));
		out_flush(t->s->out);
		return explore_jobs(&t->s->engine, &t->o, &t->tool.choice, ret);
	}
	if (t->file.path) {
		t->o.from = t->words.resume ? explore_file_window(&t->file, window + 1) : NULL;
		t->o.checkpoint = checkpoint;
		t->o.checkpoint_arg = t;
		t->o.every = t->words.every;
	}
	TRY(engine_replay(&t->s->engine, &t->tool.choice));
	return explore_run(&t->s->engine, &t->o, ret);
}

static struct err *explore_window(struct tool_explore *t, unsigned i)
{
	struct explore_result r;
	struct err *e = NULL;

	t->tool.choice.window = i;
	TRY(run(t, i, &r));
	if (t->file.path)
		e = explore_file_write(&t->file, &r);
	explore_tell(t->s, &r, t->tool.json);
	t->found |= r.nfound != 0;
	if (!e)
		e = explore_check_ended(&r);
	if (e && t->file.path && e->code == ERR_INTERRUPTED)
		e = err_cure(e, "The same words and --resume go on from there");
	if (t->file.path)
		explore_file_add(&t->file, &r);
	explore_free(&r);
	return e;
}

/* The name of the file, with its places filled in. */
static struct err *open_file(struct tool_explore *t)
{
	if (!t->words.out)
		return NULL;
	TRY(names_check(t->words.out));
	struct names n = names_own();

	n.shard = t->o.shards ? t->o.shard : 1;
	n.program = t->words.file;
	t->file.path = names_expand(t->words.out, &n);
	free(n.host);
	return t->words.resume ? explore_file_read(&t->file, false) : NULL;
}

static struct err *explore_file(struct tool_explore *t)
{
	uint64_t first, last;
	unsigned i = t->tool.window ? (unsigned)t->tool.window - 1 : 0;

	TRY(open_file(t));
	TRY(trace_open(t->s, t->words.file));
	do
		TRY(explore_window(t, i++));
	while (!t->tool.window && sbt_reader_window(t->s->engine.trace.reader, i, &first, &last));
	return NULL;
}

int tool_explore(struct session *s, int argc, char **argv)
{
	struct tool_explore t = {.s = s, .tool = tool_options_default(s)};
	struct err *e;

	if (argc && !strcmp(argv[0], "merge"))
		return tool_explore_merge(s, argc - 1, argv + 1);
	e = take_options(&t, argc, argv);
	if (!e) {
		interrupt_ends();
		e = explore_file(&t);
	}
	explore_file_free(&t.file);
	if (e)
		out_error(s->out, e);
	return e ? 1 : t.found && !t.words.found_ok ? REPLAY_STATUS_DIFFERS : 0;
}
