/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff: two traces side by side. Ends with 0 if they are the same or --assert holds, with 3 if
 * not.
 */
#include <stdlib.h>
#include <string.h>
#include "base/id-table.h"
#include "base/words.h"
#include "shell/figures/diff-text.h"
#include "shell/figures/sums-text.h"
#include "shell/line/interrupt.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "state/state.h"

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

/* --- traces --- */

static struct err *open_trace(struct session *s, struct diff_trace *t, struct id_table *places)
{
	struct state_kernel k;

	TRY(sbt_reader_open(&t->r, t->path));
	TRY(state_at(&t->st, t->r, UINT64_MAX));
	for (unsigned i = 0; state_kernel(t->st, i, &k); i++) {
		t->kernels.v = xrealloc(t->kernels.v, (t->kernels.n + 1) * sizeof *t->kernels.v);
		t->kernels.v[t->kernels.n++] = (struct summary_row){.name = xstrdup(k.name)};
	}
	places->size = sizeof(uint64_t);
	t->places = places;
	trace_tell_damage(s->out, t->path, t->r);
	return NULL;
}

static void close_trace(struct diff_trace *t)
{
	if (t->places)
		free(t->places->at);
	summary_rows_free(&t->kernels);
	state_free(t->st);
	if (t->r)
		sbt_reader_close(t->r);
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return h | 1;
}

/* The place that a stack is, by the function alone: lines shift when a program is changed. */
static uint64_t place(void *arg, bool b, uint32_t stack)
{
	struct tool_diff *x = arg;
	struct diff_trace *t = b ? &x->show.b : &x->show.a;
	uint64_t *known = id_table_row(t->places, stack, true);
	char *text, *at;

	if (known && *known)
		return *known;
	text = sums_site(x->s, t->r, stack, &t->kernels);
	at = strstr(text, " at ");
	if (at)
		*at = 0;
	const uint64_t h = hash_text(text);

	free(text);
	if (known)
		*known = h;
	return h;
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
	struct id_table a = {0}, b = {0};
	int status = 1;
	struct err *e;

	x.ask.range_a.last = x.ask.range_b.last = UINT64_MAX;
	x.ask.place = place;
	x.ask.cancelled = cancelled;
	x.ask.arg = &x;
	e = take_words(&x, argc, argv);
	if (!e)
		e = open_trace(s, &x.show.a, &a);
	if (!e)
		e = open_trace(s, &x.show.b, &b);
	if (!e)
		e = run(&x, &status);
	close_trace(&x.show.a);
	close_trace(&x.show.b);
	if (!e)
		return status;
	out_error(s->out, e);
	return 1;
}
