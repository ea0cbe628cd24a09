/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff --step: which commands of each trace a step is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "shell/figures/diff-text.h"

static const char cure[] =
	"Use --step A:3 B:7, or --step 3 for both; --step-by range, range:NAME, graph or wait";

static bool is_side(const char *word, char side)
{
	return (word[0] == side || word[0] == side + ('a' - 'A')) && word[1] == ':';
}

bool diff_step_is_word(const char *word)
{
	return is_side(word, 'A') || is_side(word, 'B');
}

static struct err *wrong(const char *value)
{
	return err_cure(err_new(ERR_USAGE, "--step cannot read \"%s\"", value), "%s", cure);
}

/* "3", of n bytes. */
static bool take_number(const char *word, size_t n, uint64_t *ret, bool *ret_has)
{
	char digits[24];

	if (!n || n >= sizeof digits)
		return false;
	memcpy(digits, word, n);
	digits[n] = 0;
	*ret_has = true;
	return word_u64(digits, ret);
}

/* "A:3", of n bytes. */
static bool take_side(struct diff_step_words *w, const char *word, size_t n)
{
	if (n < 3 || !diff_step_is_word(word))
		return false;
	return is_side(word, 'A') ? take_number(word + 2, n - 2, &w->a, &w->has_a)
				  : take_number(word + 2, n - 2, &w->b, &w->has_b);
}

struct err *diff_step_take(struct diff_step_words *w, const char *value)
{
	const size_t n = strcspn(value, ",");
	bool ok;

	if (diff_step_is_word(value)) {
		ok = take_side(w, value, n);
		if (ok && value[n])
			ok = take_side(w, value + n + 1, strlen(value + n + 1));
	} else {
		ok = !value[n] && take_number(value, n, &w->a, &w->has_a);
		w->b = w->a;
		w->has_b = w->has_a;
	}
	return ok ? NULL : wrong(value);
}

/* Steps of both traces by one of the ways. */
struct both {
	struct compare_steps a, b;
};

static void both_free(struct both *s)
{
	compare_steps_free(&s->a);
	compare_steps_free(&s->b);
}

static struct err *find_one(struct compare_steps *ret, struct sbt_reader *r,
	enum compare_steps_by by, const char *name, const struct compare_ask *ask)
{
	const struct compare_step_ask x = {
		.r = r, .by = by, .name = name, .cancelled = ask->cancelled, .arg = ask->arg};

	return compare_steps_find(ret, &x);
}

static struct err *find_both(
	struct both *ret, enum compare_steps_by by, const char *name, const struct compare_ask *ask)
{
	struct err *e = find_one(&ret->a, ask->a, by, name, ask);

	if (!e)
		e = find_one(&ret->b, ask->b, by, name, ask);
	if (e)
		both_free(ret);
	return e;
}

static bool has_steps(const struct both *s, const char *name)
{
	const size_t least = name ? 1 : 2;

	return s->a.n >= least && s->b.n >= least;
}

static struct err *none(const struct buf *found, const char *by)
{
	return err_cure(
		err_new(ERR_NOT_FOUND, "no steps%s%s are in both traces: %.*s", by ? " by " : "",
			by ? by : "", (int)found->len, (const char *)found->data),
		"Push an NVTX range for each step, or name commands with --range-a and --range-b");
}

static void tell(struct buf *out, const struct both *s)
{
	static const char *const what[COMPARE_STEPS_BYS] = {"NVTX ranges with work that repeat",
		"launches of one graph", "host waits behind work"};

	buf_printf(out, "%s%s: %zu in A, %zu in B", out->len ? "; " : "", what[s->a.by], s->a.n,
		s->b.n);
}

/* The first way of `by` (NULL: of all) by which both have steps. */
static struct err *choose(
	const struct diff_step_words *w, const struct compare_ask *ask, struct both *ret)
{
	struct buf found = BUF_INIT;
	struct err *e = NULL;
	bool ok = false;

	for (unsigned i = 0; !e && !ok && i < COMPARE_STEPS_BYS; i++) {
		const enum compare_steps_by by = (enum compare_steps_by)i;

		if (w->by && strcmp(w->by, compare_steps_name(by)) != 0)
			continue;
		e = find_both(ret, by, w->name, ask);
		if (e)
			break;
		ok = has_steps(ret, w->name);
		if (!ok) {
			tell(&found, ret);
			both_free(ret);
		}
	}
	if (!e && !ok)
		e = none(&found, w->by);
	buf_free(&found);
	return e;
}

static struct err *take_step(
	const struct compare_steps *s, const char *which, uint64_t number, struct diff_step *ret)
{
	const struct compare_step *step = compare_step_numbered(s, number);

	if (!step)
		return err_cure(
			err_new(ERR_NOT_FOUND, "%s has %zu steps by %s and no step %" PRIu64, which,
				s->n, compare_steps_name(s->by), number),
			"Its steps are %" PRIu64 " to %" PRIu64, s->v[0].number,
			s->v[s->n - 1].number);
	*ret = (struct diff_step){
		.is = *step, .by = s->by, .of = s->n, .name = s->name ? xstrdup(s->name) : NULL};
	return NULL;
}

/* "range:step" is the way and the name of the ranges. */
static struct err *split_by(struct diff_step_words *w)
{
	static const char range[] = "range:";

	if (!w->by || !strcmp(w->by, "range") || !strcmp(w->by, "graph") || !strcmp(w->by, "wait"))
		return NULL;
	if (strncmp(w->by, range, sizeof range - 1) != 0 || !w->by[sizeof range - 1])
		return err_cure(err_new(ERR_USAGE, "--step-by knows no \"%s\"", w->by), "%s", cure);
	w->name = w->by + sizeof range - 1;
	w->by = "range";
	return NULL;
}

struct err *diff_step_find(struct diff_step_words *w, struct compare_ask *ask)
{
	struct both s = {0};
	struct err *e;

	if (!w->has_a || !w->has_b)
		return err_cure(
			err_new(ERR_USAGE, "--step needs a step of %s", w->has_a ? "B" : "A"), "%s",
			cure);
	TRY(split_by(w));
	TRY(choose(w, ask, &s));
	e = take_step(&s.a, "A", w->a, &w->in_a);
	if (!e)
		e = take_step(&s.b, "B", w->b, &w->in_b);
	if (!e) {
		ask->range_a.first = w->in_a.is.first;
		ask->range_a.last = w->in_a.is.last;
		ask->range_b.first = w->in_b.is.first;
		ask->range_b.last = w->in_b.is.last;
	}
	both_free(&s);
	return e;
}

void diff_step_free(struct diff_step_words *w)
{
	free(w->in_a.name);
	free(w->in_b.name);
}
