/* SPDX-License-Identifier: Apache-2.0
 *
 * nan, and `tsdb nan FILE`: where a NaN was born.
 */
#include <string.h>
#include "base/words.h"
#include "replay/values.h"
#include "shell/nan/nan-text.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

static struct err *usage(const char *word)
{
	return err_cure(err_new(ERR_USAGE, "\"%s\" does not say what to look for", word),
		"Use: [SEQ] [--inf] [--as f32|f64|f16|bf16] [--by-changes]");
}

static struct err *parse_as(struct nan_ask *a, const char *word)
{
	for (unsigned i = 0; word && i < REPLAYER_AS_END; i++)
		if (value_types[i].is_float && !strcmp(value_types[i].name, word)) {
			a->as = (enum replayer_as)i;
			return NULL;
		}
	return usage(word ? word : "--as");
}

/* A word that is none of them goes to *ret_other (NULL: an error). */
static struct err *parse_nan(struct nan_ask *a, int argc, char *const *argv, const char **ret_other)
{
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i];

		if (!strcmp(w, "--inf"))
			a->inf = true;
		else if (!strcmp(w, "--by-changes"))
			a->by_changes = true;
		else if (!strcmp(w, "--as"))
			TRY(parse_as(a, ++i < argc ? argv[i] : NULL));
		else if (*w != '-' && word_u64(*w == '#' ? w + 1 : w, &a->last) && a->last)
			continue;
		else if (*w != '-' && ret_other && !*ret_other)
			*ret_other = w;
		else
			return usage(w);
	}
	return NULL;
}

static struct err *find(
	struct session *s, struct nan_ask *a, bool json, struct buf *out, bool *ret_found)
{
	struct nan_params params = {.s = s};
	struct nan_result r;
	struct err *e;

	a->param_type = nan_param_type;
	a->arg = &params;
	s->focus = FOCUS_REPLAY;
	e = nan_find(&s->engine, a, &r);
	nan_params_free(&params);
	TRY(e);
	(json ? nan_json : nan_print)(s, &r, out);
	*ret_found |= r.ncauses != 0;
	nan_free(&r);
	return NULL;
}

const char cmd_nan_help[] =
	"Finds where the NaNs were born that the program got, or that are left at the end of the\n"
	"replay's window (SEQ: up to that command). Executes the window, looks at what each launch\n"
	"wrote, and follows each NaN backwards: a launch that wrote one is executed again with\n"
	"finite numbers in place of what is not finite among its inputs. Input that makes the NaN\n"
	"with everything else finite is the cause; then who wrote that, until the NaN is born:\n"
	"of finite numbers, by a copy from the program, in memory that nobody wrote ...\n"
	"On the software GPU it names thread, line and instruction, too.\n"
	"NaN that was overwritten before anyone saw it is counted, and accuses nobody.\n"
	"Types of numbers are those of the kernel's parameters or name, then of its code, then\n"
	"of who reads them, then what lies there looks like; --as says it. What is a NaN by its\n"
	"looks alone accuses nobody. --inf: infinities count, too. --by-changes: as on a device\n"
	"that does not tell what launches touch.\n"
	"The replay stays where it is. With --batch the exit status is 3 when a NaN was found.\n"
	"Examples: nan\n"
	"          nan 120 --inf --as bf16\n";

struct err *cmd_nan(struct session *s, const struct cmd_args *a)
{
	struct nan_ask ask = {0};
	struct buf out = BUF_INIT;
	bool found = false;
	struct err *e = parse_nan(&ask, (int)a->argc, a->argv, NULL);

	if (!e)
		e = find(s, &ask, a->json, &out, &found);
	if (!e) {
		buf_str(&out, a->json ? "\n" : "");
		out_str(s->out, buf_cstr(&out));
	}
	buf_free(&out);
	if (found && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	return e;
}

/* --- tsdb nan FILE --- */

#define USAGE                                                                                      \
	"Use: tsdb nan FILE [SEQ] [--inf] [--as f32|f64|f16|bf16] [--by-changes] [--window N] "    \
	"[--on auto|soft|real] [--any-device] [--json]"

struct tool_nan {
	struct session *s;
	struct nan_ask ask;
	struct tool_options tool;
	const char *file;
	bool found;
};

static struct err *parse(struct tool_nan *t, int argc, char **argv)
{
	TRY(tool_options_take(&t->tool, USAGE, &argc, argv));
	TRY(parse_nan(&t->ask, argc, argv, &t->file));
	return t->file ? NULL : err_cure(err_new(ERR_USAGE, "no trace was named"), "%s", USAGE);
}

static struct err *find_window(void *arg, unsigned i, struct buf *out)
{
	struct tool_nan *t = arg;

	t->tool.choice.window = i;
	TRY(engine_replay(&t->s->engine, &t->tool.choice));
	return find(t->s, &t->ask, t->tool.json, out, &t->found);
}

/* The first window says what is wrong with a command before it. */
static bool is_in(const void *arg, unsigned i, uint64_t first, uint64_t last)
{
	const struct tool_nan *t = arg;

	(void)last;
	return !i || !t->ask.last || t->ask.last >= first;
}

int tool_nan(struct session *s, int argc, char **argv)
{
	struct tool_nan t = {.s = s, .tool = tool_options_default(s)};
	struct err *e = parse(&t, argc, argv);

	if (!e)
		e = tool_windows(
			&(struct tool_windows){s, &t.tool, t.file, is_in, find_window, &t});
	if (e)
		out_error(s->out, e);
	return e ? 1 : t.found ? REPLAY_STATUS_DIFFERS : 0;
}
