/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff: two traces side by side, or several of each. Ends with 0 if they are the same or
 * --assert holds, with 3 if not. --folded writes stacks, and ends with 0.
 */
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "engine/ranks.h"
#include "replay/values.h"
#include "shell/figures/diff-text.h"
#include "shell/line/interrupt.h"
#include "shell/live/trust.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb diff A B, or A1 A2 ... --vs B1 B2 ..., or --control A1 A2 ...; [--time] [--why] [--numeric [--on DEVICE] [--as TYPE] [--matters]] [--folded [--weight WEIGHT]] [--step A:N B:N [--step-by WAY]] [--range-a RANGE] [--range-b RANGE] [--rank N] [--assert EXPR] [--top N] [--json]"
enum { TOP = 20, DIFFERENT = 3, RUNS = 8, SEEDS = 8 };

struct tool_diff {
	struct diff_two two; /* the first member: arg of compare_run()'s callbacks is both */
	struct session *s;
	struct compare_ask ask;
	struct diff_show show;
	const char *assertion; /* NULL: none */
	const char **paths[2]; /* of A, of B; heap */
	unsigned n[2];
	bool vs; /* what follows is B's */
	uint64_t rank;
	bool has_rank;	   /* of two sets, that one */
	char **rank_paths; /* with --rank: what paths then point to; of A, then of B */
	bool numeric, matters, folded, ranged, why, control;
	const char *weight; /* NULL: not given */
	struct diff_step_words step;
	enum replayer_as as;
	struct replay_choice on;
	struct numeric_pair *pairs;
	size_t npairs, cap_pairs;
};

/* --- words --- */

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

static struct err *take_type(const char *word, enum replayer_as *ret)
{
	for (unsigned i = 0; i < REPLAYER_AS_END; i++) {
		if (!strcmp(word, value_types[i].name)) {
			*ret = (enum replayer_as)i;
			return NULL;
		}
	}
	return usage("--as knows no type \"%s\"", word);
}

static struct err *take_value(struct tool_diff *x, const char *name, const char *value)
{
	if (!strncmp(name, "--range-", 8))
		x->ranged = true;
	if (!strcmp(name, "--assert"))
		x->assertion = value;
	else if (!strcmp(name, "--weight"))
		x->weight = value;
	else if (!strcmp(name, "--step-by"))
		x->step.by = value;
	else if (!strcmp(name, "--step"))
		return diff_step_take(&x->step, value);
	else if (!strcmp(name, "--rank"))
		return (x->has_rank = word_u64(value, &x->rank))
			       ? NULL
			       : usage("\"%s\" is no rank", value);
	else if (!strcmp(name, "--top"))
		return word_u64(value, &x->show.top) ? NULL : usage("\"%s\" is no number", value);
	else if (!strcmp(name, "--range-a"))
		return word_range(value, &x->ask.range_a.first, &x->ask.range_a.last)
			       ? NULL
			       : usage("\"%s\" is no range of commands", value);
	else if (!strcmp(name, "--on"))
		return replay_on_parse(value, &x->on.on);
	else if (!strcmp(name, "--as"))
		return take_type(value, &x->as);
	else if (!word_range(value, &x->ask.range_b.first, &x->ask.range_b.last))
		return usage("\"%s\" is no range of commands", value);
	return NULL;
}

static struct err *take_path(struct tool_diff *x, bool b, const char *w)
{
	if (x->n[b] == RUNS_MOST)
		return usage("that many traces are too many: \"%s\"", w);
	x->paths[b] = xrealloc(x->paths[b], (x->n[b] + 1) * sizeof *x->paths[b]);
	x->paths[b][x->n[b]++] = w;
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
	else if (!strcmp(w, "--matters"))
		x->matters = x->numeric = true;
	else if (!strcmp(w, "--why"))
		x->why = true;
	else if (!strcmp(w, "--folded"))
		x->folded = true;
	else if (!strcmp(w, "--control"))
		x->control = true;
	else if (!strcmp(w, "--vs") && !x->vs)
		x->vs = true;
	else if (*w == '-')
		return usage("diff has no option %s", w);
	else
		return take_path(x, x->vs, w);
	return NULL;
}

/* Without --vs the second of two is B's, and of --control every other one. */
static struct err *share_out(struct tool_diff *x)
{
	const unsigned n = x->n[0];

	if (x->vs && x->control)
		return usage(
			"--control compares one side with itself, and --vs names another%s", "");
	if (!x->vs && !x->control && n > 2)
		return usage(
			"diff takes two traces, or several of each with --vs between them; \"%s\" is one more",
			x->paths[0][2]);
	if (x->control && n < 4)
		return usage("--control needs at least four traces of one side%s", "");
	for (unsigned i = 0; !x->vs && i < n; i++) {
		if (i % 2)
			TRY(take_path(x, true, x->paths[0][i]));
		else
			x->paths[0][i / 2] = x->paths[0][i];
	}
	x->n[0] -= x->vs ? 0 : x->n[1];
	if (!x->n[0] || !x->n[1])
		return usage("diff needs two traces%s", "");
	x->show.a.path = x->paths[0][0];
	x->show.b.path = x->paths[1][0];
	return NULL;
}

static bool are_several(const struct tool_diff *x)
{
	return x->n[0] > 1 || x->n[1] > 1;
}

/* What does not go together. */
static struct err *check_words(const struct tool_diff *x)
{
	const bool stepped = x->step.has_a || x->step.has_b;

	if (are_several(x) && (x->numeric || x->why || x->folded))
		return usage("%s compares one trace with one", x->numeric ? "--numeric"
							       : x->why	  ? "--why"
									  : "--folded");
	if (!x->numeric && (x->as != REPLAYER_AS_AUTO || x->on.on != REPLAY_ON_AUTO))
		return usage("--on and --as are for --numeric%s", "");
	if (x->folded && (x->assertion || x->numeric || x->why || x->show.time || x->show.json))
		return usage("--folded writes stacks and nothing else%s", "");
	if (x->weight && !x->folded)
		return usage("--weight is for --folded%s", "");
	if (x->step.by && !stepped)
		return usage("--step-by is for --step%s", "");
	if (stepped && x->ranged)
		return usage("--step and --range-a, --range-b name the same thing%s", "");
	return x->on.on == REPLAY_ON_NONE
		       ? usage("--numeric executes commands, which --on %s does not", "none")
		       : NULL;
}

static struct err *take_words(struct tool_diff *x, int argc, char **argv)
{
	static const char *const valued[] = {"--assert", "--top", "--range-a", "--range-b", "--on",
		"--as", "--step", "--step-by", "--weight", "--rank", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		TRY(name ? take_value(x, name, value) : take_word(x, argv[i]));
		if (name && !strcmp(name, "--step") && i + 1 < argc && diff_step_is_word(value) &&
			diff_step_is_word(argv[i + 1]))
			TRY(diff_step_take(&x->step, argv[++i]));
	}
	TRY(share_out(x));
	return check_words(x);
}

static struct err *open_trace(struct session *s, struct diff_trace *t)
{
	TRY(diff_trace_open(t));
	trace_tell_damage(s->out, t->path, t->r);
	return NULL;
}

/* --- running --- */

/* Whether a control calls anything slower or faster. */
static bool is_accused(const struct diff_runs *r)
{
	uint64_t n = 0;

	for (unsigned by = 0; by < RUNS_BYS; by++)
		n += r->is.by_verdict[by][RUNS_SLOWER] + r->is.by_verdict[by][RUNS_FASTER];
	return n != 0;
}

static struct err *judge(struct tool_diff *x, const struct compare *c, int *ret)
{
	const struct numeric *n = x->show.numeric;
	bool holds;

	const struct diff_facts facts = {c, n, x->show.runs};

	*ret = compare_same(c) && (!n || (numeric_same(n) && !n->interrupted)) &&
			       !(x->control && is_accused(x->show.runs))
		       ? 0
		       : DIFFERENT;
	if (!x->assertion)
		return NULL;
	TRY(diff_assert(&facts, x->assertion, &holds));
	*ret = holds ? 0 : DIFFERENT;
	if (!x->show.json)
		out_printf(
			x->s->out, "\n%s: %s\n", x->assertion, holds ? "holds" : "does not hold");
	return NULL;
}

static void take_pair(void *arg, uint64_t a, uint64_t b)
{
	struct tool_diff *x = arg;

	MAKE_ROOM(x->pairs, x->npairs, x->cap_pairs);
	x->pairs[x->npairs++] = (struct numeric_pair){a, b};
}

static int by_seq(const void *pa, const void *pb)
{
	const struct numeric_pair *x = pa, *y = pb;

	return x->a < y->a ? -1 : x->a > y->a;
}

/* Adds what is replaced, reshaped, reordered or moved to what is matched. */
static void add_changed(struct tool_diff *x, const struct compare *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->d[i].a.count == 1 && c->d[i].b.count == 1 &&
			c->d[i].what != COMPARE_WAIT_OTHER)
			take_pair(x, c->d[i].a.first, c->d[i].b.first);
	if (x->npairs)
		qsort(x->pairs, x->npairs, sizeof *x->pairs, by_seq);
}

/* Warns of what is about to be executed. */
static struct err *tell_trust(struct session *s, const char *path)
{
	TRY(engine_open(&s->engine, path));
	trust_tell(s, !s->engine.set.number[SET_REPLAY_SANDBOX]);
	engine_close(&s->engine);
	return NULL;
}

static struct err *compare_numbers(
	struct tool_diff *x, const struct compare *c, struct numeric *ret)
{
	struct numeric_ask ask = {.en = &x->s->engine,
		.path_a = x->show.a.path,
		.path_b = x->show.b.path,
		.on = x->on,
		.as = x->as,
		.place = diff_two_place,
		.arg = &x->two,
		.runs = RUNS,
		.seeds = x->matters ? SEEDS : 0};
	struct err *e;

	if (!x->numeric)
		return NULL;
	add_changed(x, c);
	ask.pairs = x->pairs;
	ask.npairs = x->npairs;
	TRY(tell_trust(x->s, x->show.a.path));
	TRY(tell_trust(x->s, x->show.b.path));
	e = numeric_run(ret, &ask);
	if (!e)
		x->show.numeric = ret;
	return e;
}

static struct err *compare_times(
	struct tool_diff *x, const struct compare *c, struct diff_runs *ret)
{
	const struct diff_runs_ask ask = {.a = x->paths[0],
		.b = x->paths[1],
		.na = x->n[0],
		.nb = x->n[1],
		.show = &x->show,
		.ask = &x->ask,
		.step = x->step,
		.first = c};

	if (are_several(x)) {
		ret->control = x->control;
		TRY(diff_runs_make(x->s, &ask, ret));
		x->show.runs = ret;
	} else if (x->show.time && !c->timed) {
		return err_cure(err_new(ERR_INCOMPLETE, "--time needs GPU times in both traces"),
			"Record with tsdb record --timestamps");
	}
	return NULL;
}

static struct err *run_folded(struct tool_diff *x, int *ret)
{
	struct err *e = diff_folded(x->s, &x->show, &x->ask, x->weight);

	out_progress_end(x->s->out);
	*ret = 0;
	return e;
}

static struct err *run(struct tool_diff *x, int *ret)
{
	struct diff_runs runs = {.n = 0};
	struct numeric n = {0};
	struct compare c;
	char *why = NULL;
	struct err *e;

	x->ask.a = x->show.a.r; /* open by now */
	x->ask.b = x->show.b.r;
	x->ask.pair = x->numeric ? take_pair : NULL;
	if (x->step.has_a || x->step.has_b) {
		e = diff_step_find(&x->step, &x->ask);
		out_progress_end(x->s->out);
		if (e)
			return e;
		x->show.step_a = &x->step.in_a;
		x->show.step_b = &x->step.in_b;
	}
	if (x->folded)
		return run_folded(x, ret);
	e = compare_run(&c, &x->ask);
	out_progress_end(x->s->out);
	if (e)
		return e;
	e = compare_times(x, &c, &runs);
	if (!e)
		e = compare_numbers(x, &c, &n);
	if (!e && x->why) {
		e = diff_why(x->s, &c, &x->show, &x->ask, &why);
		x->show.why = why;
	}
	if (!e)
		e = diff_print(x->s, &c, &x->show);
	if (!e)
		e = judge(x, &c, ret);
	free(why);
	diff_runs_free(&runs);
	numeric_free(&n);
	compare_free(&c);
	return e;
}

/* --- sets of ranks --- */

/* With --rank the paths of sets become those of that rank's traces. */
static struct err *choose_rank(struct tool_diff *x)
{
	size_t k = 0;

	x->rank_paths = xcalloc(x->n[0] + x->n[1], sizeof *x->rank_paths);
	for (unsigned b = 0; b < 2; b++) {
		for (unsigned i = 0; i < x->n[b]; i++, k++) {
			if (!ranks_is(x->paths[b][i]))
				return usage("%s is a trace, not a set: it has no ranks",
					x->paths[b][i]);
			TRY(diff_rank_path(x->paths[b][i], x->rank, &x->rank_paths[k]));
			x->paths[b][i] = x->rank_paths[k];
		}
	}
	x->show.a.path = x->paths[0][0];
	x->show.b.path = x->paths[1][0];
	return NULL;
}

static void free_paths(struct tool_diff *x)
{
	for (size_t k = 0; x->rank_paths && k < (size_t)x->n[0] + x->n[1]; k++)
		free(x->rank_paths[k]);
	free(x->rank_paths);
	free(x->paths[0]);
	free(x->paths[1]);
}

/* The first path that is a set; NULL: none is. */
static const char *first_set(const struct tool_diff *x)
{
	for (unsigned b = 0; b < 2; b++)
		for (unsigned i = 0; i < x->n[b]; i++)
			if (ranks_is(x->paths[b][i]))
				return x->paths[b][i];
	return NULL;
}

static struct err *run_sets(struct tool_diff *x, const char *set, int *ret)
{
	const struct diff_ranks_ask ask = {.a = x->show.a.path,
		.b = x->show.b.path,
		.top = x->show.top,
		.assertion = x->assertion,
		.time = x->show.time,
		.json = x->show.json};
	bool same = false;

	if (are_several(x))
		return err_cure(usage("%s is a set: several runs a side are of one rank", set),
			"Choose it with --rank");
	if (!ranks_is(ask.a) || !ranks_is(ask.b))
		return usage("%s is a set, and the other one is a trace", set);
	if (x->numeric || x->why || x->folded || x->ranged || x->step.has_a || x->step.has_b)
		return err_cure(
			err_new(ERR_USAGE,
				"sets are compared in structure and time; the rest is of one rank"),
			"Choose it with --rank");
	TRY(diff_ranks(x->s, &ask, &same));
	*ret = same ? 0 : DIFFERENT;
	return NULL;
}

static struct err *run_traces(struct tool_diff *x, int *ret)
{
	TRY(open_trace(x->s, &x->show.a));
	TRY(open_trace(x->s, &x->show.b));
	return run(x, ret);
}

static struct err *run_either(struct tool_diff *x, int *ret)
{
	const char *set;

	if (x->has_rank)
		TRY(choose_rank(x));
	set = first_set(x);
	return set ? run_sets(x, set, ret) : run_traces(x, ret);
}

int tool_diff(struct session *s, int argc, char **argv)
{
	struct tool_diff x = {.s = s, .show.top = TOP};
	int status = 1;
	struct err *e;

	x.two = (struct diff_two){s, &x.show.a, &x.show.b};
	x.ask = diff_two_ask(&x.two);
	e = take_words(&x, argc, argv);
	if (!e)
		e = run_either(&x, &status);
	free(x.pairs);
	free_paths(&x);
	diff_step_free(&x.step);
	diff_trace_close(&x.show.a);
	diff_trace_close(&x.show.b);
	if (!e)
		return status;
	out_error(s->out, e);
	return 1;
}
