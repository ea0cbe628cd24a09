/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff: two traces side by side. Ends with 0 if they are the same or --assert holds, with 3 if
 * not.
 */
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "shell/figures/diff-text.h"
#include "shell/line/interrupt.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb diff A B [--time] [--assert EXPR] [--range-a RANGE] [--range-b RANGE] [--top N] [--json]"
enum { TOP = 20, DIFFERENT = 3 };

struct tool_diff {
	struct session *s;
	struct compare_ask ask;
	struct diff_show show;
	const char *assertion; /* NULL: none */
	bool numeric;
};

/* --- words --- */

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

static struct err *take_value(struct tool_diff *x, const char *name, const char *value)
{
	if (!strcmp(name, "--assert"))
		x->assertion = value;
	else if (!strcmp(name, "--top"))
		return word_u64(value, &x->show.top) ? NULL : usage("\"%s\" is no number", value);
	else if (!strcmp(name, "--range-a"))
		return word_range(value, &x->ask.range_a.first, &x->ask.range_a.last)
			       ? NULL
			       : usage("\"%s\" is no range of commands", value);
	else if (!word_range(value, &x->ask.range_b.first, &x->ask.range_b.last))
		return usage("\"%s\" is no range of commands", value);
	return NULL;
}

static struct err *take_word(struct tool_diff *x, const char *w)
{
	if (!strcmp(w, "--json"))
		x->show.json = true;
	else if (!strcmp(w, "--time"))
		x->show.time = true;
	else if (!strcmp(w, "--numeric"))
		x->numeric = true;
	else if (*w == '-')
		return usage("diff has no option %s", w);
	else if (!x->show.a.path)
		x->show.a.path = w;
	else if (!x->show.b.path)
		x->show.b.path = w;
	else
		return usage("diff takes two traces, not \"%s\" as well", w);
	return NULL;
}

static struct err *take_words(struct tool_diff *x, int argc, char **argv)
{
	static const char *const valued[] = {"--assert", "--top", "--range-a", "--range-b", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		TRY(name ? take_value(x, name, value) : take_word(x, argv[i]));
	}
	if (!x->show.b.path)
		return usage("diff needs two traces%s", "");
	if (x->numeric)
		return err_new(ERR_UNSUPPORTED,
			"--numeric, which compares what launches read and wrote, does not exist yet");
	return NULL;
}

static struct err *open_trace(struct session *s, struct diff_trace *t)
{
	TRY(diff_trace_open(t));
	trace_tell_damage(s->out, t->path, t->r);
	return NULL;
}

static uint64_t place(void *arg, bool b, uint32_t stack)
{
	struct tool_diff *x = arg;

	return diff_trace_place(x->s, b ? &x->show.b : &x->show.a, stack);
}

static const char *plain(void *arg, const char *mangled)
{
	struct tool_diff *x = arg;

	return symbols_demangle(session_symbols(x->s), mangled);
}

static bool cancelled(void *arg, uint64_t done, uint64_t of)
{
	struct tool_diff *x = arg;

	out_progress(x->s->out, "reading", done, of);
	return interrupt_flag;
}

/* --- running --- */

static struct err *judge(struct tool_diff *x, const struct compare *c, int *ret)
{
	bool holds;

	*ret = compare_same(c) ? 0 : DIFFERENT;
	if (!x->assertion)
		return NULL;
	TRY(diff_assert(c, x->assertion, &holds));
	*ret = holds ? 0 : DIFFERENT;
	if (!x->show.json)
		out_printf(
			x->s->out, "\n%s: %s\n", x->assertion, holds ? "holds" : "does not hold");
	return NULL;
}

static struct err *run(struct tool_diff *x, int *ret)
{
	struct compare c;
	struct err *e;

	x->ask.a = x->show.a.r;
	x->ask.b = x->show.b.r;
	e = compare_run(&c, &x->ask);
	out_progress_end(x->s->out);
	if (e)
		return e;
	if (x->show.time && !c.timed)
		e = err_cure(err_new(ERR_INCOMPLETE, "--time needs GPU times in both traces"),
			"Record with tsdb record --timestamps");
	if (!e)
		e = diff_print(x->s, &c, &x->show);
	if (!e)
		e = judge(x, &c, ret);
	compare_free(&c);
	return e;
}

int tool_diff(struct session *s, int argc, char **argv)
{
	struct tool_diff x = {.s = s, .show.top = TOP};
	int status = 1;
	struct err *e;

	x.ask.range_a.last = x.ask.range_b.last = UINT64_MAX;
	x.ask.place = place;
	x.ask.plain = plain;
	x.ask.cancelled = cancelled;
	x.ask.arg = &x;
	e = take_words(&x, argc, argv);
	if (!e)
		e = open_trace(s, &x.show.a);
	if (!e)
		e = open_trace(s, &x.show.b);
	if (!e)
		e = run(&x, &status);
	diff_trace_close(&x.show.a);
	diff_trace_close(&x.show.b);
	if (!e)
		return status;
	out_error(s->out, e);
	return 1;
}
