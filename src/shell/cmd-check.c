/* SPDX-License-Identifier: Apache-2.0
 *
 * replay check, and `tsdb check FILE`: which launches give other results from the same memory.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "sbt/memory.h"
#include "shell/check.h"
#include "shell/replay-device.h"
#include "shell/tools.h"
#include "shell/trace.h"

const char cmd_replay_check_help[] =
	"Executes each launch of the window N times (10) from the same memory and compares what it\n"
	"leaves there. Tells which ones differ: where, in how many values, by how much, and whether\n"
	"it looks like sums in another order or like a race; then which launches are deterministic\n"
	"and only pass such a difference on. RANGE is of commands; --as says how to read values.\n"
	"--perturb also varies what a correct kernel may not depend on: what memory holds that\n"
	"nobody wrote since the window allocated it, and on the software GPU the order of warps and\n"
	"blocks and what shared memory holds at first, on a machine's GPU other work beside it.\n"
	"The replay stays where it is. With --batch the exit status is 3 when a launch is not\n"
	"deterministic, or depends on such memory.\n"
	"Examples: replay check\n"
	"          replay check 20 100-200 kernel reduce* --as f32\n";

struct err *cmd_replay_check(struct session *s, const struct cmd_args *a)
{
	struct check_options o;
	struct check_result r;
	struct buf out = BUF_INIT;

	TRY(check_parse(&o, (int)a->argc, a->argv, NULL));
	s->focus = FOCUS_REPLAY;
	TRY(check_run(s, &o, &r));
	(a->json ? check_json : check_print)(s, &r, &out);
	out_str(s->out, buf_cstr(&out));
	buf_free(&out);
	if (check_found(&r) && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	check_free(&r);
	return NULL;
}

/* ---- tsdb check FILE -------------------------------------------------------------------------------------------------- */

struct tool_check {
	struct session *s;
	struct check_options o;
	struct replay_choice choice;
	const char *file;
	bool json, found;
	unsigned windows;
};

/* Takes out of argv what is ours; the rest is left for check_parse(). */
static struct err *take_options(struct tool_check *t, int argc, char **argv)
{
	char **rest = xcalloc((size_t)argc + 1, sizeof *rest);
	int n = 0;
	struct err *e = NULL;

	for (int i = 0; !e && i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			t->json = true;
		else if (!strcmp(argv[i], "--any-device"))
			t->choice.any_device = true;
		else if (!strcmp(argv[i], "--on") && i + 1 < argc)
			e = replay_on_parse(argv[++i], &t->choice.on);
		else
			rest[n++] = argv[i];
	}
	if (!e)
		e = check_parse(&t->o, n, rest, &t->file);
	free(rest);
	if (!e && (!t->file || t->choice.on == REPLAY_ON_NONE))
		e = err_cure(err_new(ERR_USAGE, t->file ? "--on none executes nothing" : "no trace was named"),
			"Use: tsdb check FILE [N] [A-B] [--kernel GLOB] [--as TYPE] [--perturb] [--on auto|soft|real] [--any-device] [--json]");
	return e;
}

static struct err *check_window(struct tool_check *t, unsigned i, struct buf *out)
{
	struct check_result r;

	t->choice.window = i;
	TRY(trace_replay(t->s, &t->choice));
	TRY(check_run(t->s, &t->o, &r));
	if (t->json && t->windows++)
		buf_byte(out, ',');
	(t->json ? check_json : check_print)(t->s, &r, out);
	t->found |= check_found(&r);
	check_free(&r);
	return NULL;
}

static bool is_in(const struct check_options *o, uint64_t first, uint64_t last)
{
	return (!o->first || o->first <= last) && (!o->last || o->last >= first);
}

static struct err *check_file(struct tool_check *t, struct buf *out)
{
	uint64_t first, last;

	TRY(trace_open(t->s, t->file));
	if (!sbt_reader_window(t->s->trace.reader, 0, &first, &last))
		return check_window(t, 0, out); /* says what is missing */
	for (unsigned i = 0; sbt_reader_window(t->s->trace.reader, i, &first, &last); i++)
		if (is_in(&t->o, first, last))
			TRY(check_window(t, i, out));
	return NULL;
}

int tool_check(struct session *s, int argc, char **argv)
{
	struct tool_check t = {.s = s, .choice = replay_choice_default(s)};
	struct buf out = BUF_INIT;
	struct err *e = take_options(&t, argc, argv);

	t.choice.strict = true;
	t.choice.quiet = t.json;
	if (!e)
		e = check_file(&t, &out);
	if (!e && t.json)
		out_printf(s->out, "[%s]\n", buf_cstr(&out));
	else
		out_str(s->out, buf_cstr(&out));
	buf_free(&out);
	if (e)
		out_error(s->out, e);
	return e ? 1 : t.found ? REPLAY_STATUS_DIFFERS : 0;
}
