/* SPDX-License-Identifier: Apache-2.0
 *
 * replay check, and `tsdb check FILE`: which launches give other results from the same memory.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "replay/values.h"
#include "sbt/memory.h"
#include "shell/print/check-print.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define RUNS 10
#define BUDGET_NS UINT64_C(30000000000)

/* ---- options
 * --------------------------------------------------------------------------------------------------------
 */

static struct err *usage(const char *word)
{
	return err_cure(err_new(ERR_USAGE, "\"%s\" does not say what to check", word),
		"Use: [N] [A-B] [kernel GLOB] [--as f32|f64|f16|bf16|i32|i64|i8] [--perturb] "
		"[--thorough] [--budget TIME]");
}

static struct err *parse_as(struct check_options *o, const char *word)
{
	for (unsigned i = 0; i < REPLAYER_AS_END; i++)
		if (!strcmp(value_types[i].name, word)) {
			o->as = (enum replayer_as)i;
			return NULL;
		}
	return usage(word);
}

/* A number alone is seconds. */
static struct err *parse_budget(struct check_options *o, const char *word)
{
	uint64_t n;

	if (word_u64(word, &n) && n < UINT64_MAX / 1000000000u)
		o->budget_ns = n * 1000000000u;
	else if (!word_duration(word, &o->budget_ns))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no time", word),
			"Use --budget 30s; 0: no limit");
	return NULL;
}

/* The words from argv[0]; one that is none of them goes to *ret_other (may be NULL: an error). */
static struct err *parse_check(
	struct check_options *o, int argc, char *const *argv, const char **ret_other)
{
	uint64_t n;

	*o = (struct check_options){.runs = RUNS, .budget_ns = BUDGET_NS};
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(w, "--perturb")) {
			o->perturb = true;
		} else if (!strcmp(w, "--thorough")) {
			o->thorough = true;
		} else if ((!strcmp(w, "kernel") || !strcmp(w, "--kernel")) && value) {
			o->kernel = value;
			i++;
		} else if (!strcmp(w, "--budget") && value) {
			TRY(parse_budget(o, value));
			i++;
		} else if (!strcmp(w, "--as") && value) {
			TRY(parse_as(o, value));
			i++;
		} else if (*w != '#' && word_u64(w, &n)) {
			if (n < 2 || n > 1000)
				return err_new(ERR_USAGE,
					"%s executions of each launch cannot be compared: 2 to "
					"1000 can",
					w);
			o->runs = (uint32_t)n;
		} else if (word_range(w, &o->first, &o->last)) {
			continue;
		} else if (ret_other && !*ret_other) {
			*ret_other = w;
		} else {
			return usage(w);
		}
	}
	return NULL;
}

/* ---- replay check
 * ------------------------------------------------------------------------------------------------------
 */

const char cmd_replay_check_help[] =
	"Executes each launch of the window N times (10) from the same memory and compares what "
	"it\n"
	"leaves there. Tells which ones differ: where, in how many values, by how much, and "
	"whether\n"
	"it looks like sums in another order or like a race; then which launches are "
	"deterministic\n"
	"and only pass such a difference on. RANGE is of commands; --as says how to read values.\n"
	"--perturb also varies what a correct kernel may not depend on: what memory holds that\n"
	"nobody wrote since the window allocated it, and on the software GPU the order of warps "
	"and\n"
	"blocks and what shared memory holds at first, on a machine's GPU other work beside it.\n"
	"What a kernel cannot write to by its PTX is compared once for many launches; --thorough\n"
	"compares all memory after each execution.\n"
	"It ends, with what it has, after --budget (30s of the replayer's time; 0: no limit) or\n"
	"Ctrl-C, and says which launches were not checked.\n"
	"The replay stays where it is. With --batch the exit status is 3 when a launch is not\n"
	"deterministic, or depends on such memory, and 1 when nothing was found and not all was\n"
	"checked.\n"
	"Examples: replay check\n"
	"          replay check 20 100-200 kernel reduce* --as f32\n";

struct err *cmd_replay_check(struct session *s, const struct cmd_args *a)
{
	struct check_options o;
	struct check_result r;
	struct buf out = BUF_INIT;

	TRY(parse_check(&o, (int)a->argc, a->argv, NULL));
	s->focus = FOCUS_REPLAY;
	TRY(check_run(&s->engine, &o, &r));
	(a->json ? check_json : check_print)(s, &r, &out);
	buf_str(&out, a->json ? "\n" : "");
	out_str(s->out, buf_cstr(&out));
	buf_free(&out);
	if (s->batch && (check_found(&r) || check_cut_short(&r)))
		s->quit_status = check_found(&r) ? REPLAY_STATUS_DIFFERS : 1;
	check_free(&r);
	return NULL;
}

/* --- tsdb check FILE --- */

#define USAGE                                                                                      \
	"Use: tsdb check FILE [N] [A-B] [--kernel GLOB] [--as TYPE] [--perturb] [--thorough] "     \
	"[--budget TIME] [--window N] [--on auto|soft|real] [--any-device] [--json]"

struct tool_check {
	struct session *s;
	struct check_options o;
	struct tool_options tool;
	const char *file;
	bool found, cut;
	enum device_checked_end end; /* of the window before, when there was no more time */
};

static struct err *parse(struct tool_check *t, int argc, char **argv)
{
	TRY(tool_options_take(&t->tool, USAGE, &argc, argv));
	TRY(parse_check(&t->o, argc, argv, &t->file));
	return t->file ? NULL : err_cure(err_new(ERR_USAGE, "no trace was named"), "%s", USAGE);
}

/* Subtracts the time spent: the budget is for all windows. */
static void charge(struct tool_check *t, const struct check_result *r)
{
	t->end = r->end;
	if (t->o.budget_ns == CHECK_NO_BUDGET)
		return;
	if (r->spent_ns >= t->o.budget_ns)
		t->end = t->end ? t->end : DEVICE_CHECKED_BUDGET;
	else
		t->o.budget_ns -= r->spent_ns;
}

static struct err *check_one_window(struct tool_check *t, unsigned i, struct check_result *ret)
{
	uint64_t first, last;

	if (t->end && sbt_reader_window(t->s->engine.trace.reader, i, &first, &last))
		return check_missed(&t->s->engine, &t->o, first, last, t->end, ret);
	t->tool.choice.window = i;
	TRY(engine_replay(&t->s->engine, &t->tool.choice));
	TRY(check_run(&t->s->engine, &t->o, ret));
	charge(t, ret);
	return NULL;
}

static struct err *check_window(void *arg, unsigned i, struct buf *out)
{
	struct tool_check *t = arg;
	struct check_result r;

	TRY(check_one_window(t, i, &r));
	(t->tool.json ? check_json : check_print)(t->s, &r, out);
	t->found |= check_found(&r);
	t->cut |= check_cut_short(&r);
	check_free(&r);
	return NULL;
}

static bool is_in(const void *arg, unsigned i, uint64_t first, uint64_t last)
{
	const struct check_options *o = &((const struct tool_check *)arg)->o;

	(void)i;
	return (!o->first || o->first <= last) && (!o->last || o->last >= first);
}

int tool_check(struct session *s, int argc, char **argv)
{
	struct tool_check t = {.s = s, .tool = tool_options_default(s)};
	struct err *e = parse(&t, argc, argv);

	if (!e)
		e = tool_windows(
			&(struct tool_windows){s, &t.tool, t.file, is_in, check_window, &t});
	if (e)
		out_error(s->out, e);
	return e ? 1 : t.found ? REPLAY_STATUS_DIFFERS : t.cut ? 1 : 0;
}
