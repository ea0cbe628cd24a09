/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff --assert: conditions about a comparison, joined by && and ||, && first.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "shell/figures/diff-text.h"

struct reader {
	struct diff_facts f;
	const char *at;
};

enum { WORD_MOST = 32 };

static const char cure[] =
	"Use structure == same, numeric == same, or time, span, removed, inserted, replaced, reshaped, reordered, "
	"moved, wait_gone, wait_added, wait_other with a number, joined by && and ||; time and span are B's by A's; "
	"with --matters also matters; of several traces a side also slower, faster, noise, not_known: so many kernels";

static struct err *wrong(const struct reader *r)
{
	return err_cure(err_new(ERR_USAGE, "--assert cannot read \"%s\"", r->at), "%s", cure);
}

static void skip(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

static bool accept(struct reader *r, const char *word)
{
	skip(r);
	if (strncmp(r->at, word, strlen(word)) != 0)
		return false;
	r->at += strlen(word);
	return true;
}

static struct err *take_word(struct reader *r, char *dst)
{
	size_t n = 0;

	skip(r);
	while (islower((unsigned char)r->at[n]) || r->at[n] == '_')
		n++;
	if (!n || n >= WORD_MOST)
		return wrong(r);
	memcpy(dst, r->at, n);
	dst[n] = 0;
	r->at += n;
	return NULL;
}

static struct err *ratio(double a, double b, double *ret)
{
	if (a <= 0)
		return err_new(ERR_INCOMPLETE, "the first trace has no time to compare with");
	*ret = b / a;
	return NULL;
}

static struct err *ratio_of_runs(const struct diff_runs *r, const char *name, double *ret)
{
	const struct runs_row *row =
		runs_whole(&r->is, strcmp(name, "time") ? DIFF_RUNS_SPAN : DIFF_RUNS_TIME);

	return row ? ratio(row->a.median_ns, row->b.median_ns, ret) : ratio(0, 0, ret);
}

/* How many kernels are "slower". Not what cannot be known: too few runs would make it 0. */
static struct err *count_of_runs(
	const struct diff_runs *r, const char *name, enum runs_verdict v, double *ret)
{
	if (!r)
		return err_cure(err_new(ERR_INCOMPLETE, "%s needs several traces of each", name),
			"Use tsdb diff A1 A2 A3 A4 --vs B1 B2 B3 B4");
	if (!runs_decide(&r->is) && v != RUNS_NOT_KNOWN)
		return err_cure(
			err_new(ERR_INCOMPLETE, "%u and %u runs cannot tell whether a kernel is %s",
				r->is.na, r->is.nb, name),
			"Record at least %u of each", runs_fewest(1));
	*ret = (double)r->is.by_verdict[RUNS_KERNEL][v];
	return NULL;
}

/* How many findings are not within what one ULP of the inputs makes. */
static struct err *matters(const struct numeric *n, double *ret)
{
	if (!n || (!n->seeds && n->n))
		return err_cure(
			err_new(ERR_INCOMPLETE, "whether differences matter was not looked for"),
			"Add --matters");
	if (n->interrupted)
		return err_new(ERR_INTERRUPTED, "numbers were compared up to #%" PRIu64 " only",
			n->reached);
	*ret = (double)numeric_not_within(n);
	return NULL;
}

static bool names_verdict(const char *name, enum runs_verdict *ret)
{
	static const char *const names[RUNS_VERDICTS] = {"not_known", "noise", "slower", "faster"};

	for (unsigned i = 0; i < RUNS_VERDICTS; i++) {
		*ret = (enum runs_verdict)i;
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static struct err *value_of(const struct reader *r, const char *name, double *ret)
{
	const struct compare *c = r->f.c;
	enum runs_verdict verdict;

	if (names_verdict(name, &verdict))
		return count_of_runs(r->f.runs, name, verdict, ret);
	if (!strcmp(name, "matters"))
		return matters(r->f.n, ret);
	if (r->f.runs && (!strcmp(name, "time") || !strcmp(name, "span")))
		return ratio_of_runs(r->f.runs, name, ret);
	if (!strcmp(name, "time")) {
		if (!c->timed)
			return err_cure(
				err_new(ERR_INCOMPLETE, "time needs GPU times in both traces"),
				"Record with tsdb record --timestamps");
		return ratio((double)c->a_matched_ns + (double)c->a_only_ns,
			(double)c->b_matched_ns + (double)c->b_only_ns, ret);
	}
	if (!strcmp(name, "span"))
		return ratio((double)c->a_span_ns, (double)c->b_span_ns, ret);
	for (unsigned i = 0; i < COMPARE_WHATS; i++) {
		if (strcmp(name, compare_what_name((enum compare_what)i)) != 0)
			continue;
		*ret = (double)c->by_what[i];
		return NULL;
	}
	return err_cure(err_new(ERR_USAGE, "--assert knows no \"%s\"", name), "%s", cure);
}

enum op { OP_EQ, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT, OPS };
static const char *const ops[OPS] = {"==", "!=", "<=", ">=", "<", ">"};

static struct err *take_op(struct reader *r, enum op *ret)
{
	for (unsigned i = 0; i < OPS; i++) {
		if (accept(r, ops[i])) {
			*ret = (enum op)i;
			return NULL;
		}
	}
	return wrong(r);
}

static bool holds(double x, enum op op, double y)
{
	switch (op) {
	case OP_EQ:
		return x == y;
	case OP_NE:
		return x != y;
	case OP_LE:
		return x <= y;
	case OP_GE:
		return x >= y;
	case OP_LT:
		return x < y;
	default:
		return x > y;
	}
}

/* structure == same, numeric != different ... */
static struct err *sameness(struct reader *r, const char *name, bool same, bool *ret)
{
	char word[WORD_MOST];
	enum op op;

	TRY(take_op(r, &op));
	if (op > OP_NE)
		return wrong(r);
	TRY(take_word(r, word));
	if (strcmp(word, "same") != 0 && strcmp(word, "different") != 0)
		return err_cure(
			err_new(ERR_USAGE, "%s is same or different, not \"%s\"", name, word), "%s",
			cure);
	*ret = (same == !strcmp(word, "same")) == (op == OP_EQ);
	return NULL;
}

static struct err *numeric(struct reader *r, bool *ret)
{
	const struct numeric *n = r->f.n;

	if (!n)
		return err_cure(
			err_new(ERR_INCOMPLETE, "numbers were not compared"), "Add --numeric");
	if (n->interrupted)
		return err_new(ERR_INTERRUPTED, "numbers were compared up to #%" PRIu64 " only",
			n->reached);
	return sameness(r, "numeric", numeric_same(n), ret);
}

static struct err *term(struct reader *r, bool *ret)
{
	char name[WORD_MOST], *end;
	double x = 0, y;
	enum op op;

	TRY(take_word(r, name));
	if (!strcmp(name, "structure"))
		return sameness(r, name, compare_same(r->f.c), ret);
	if (!strcmp(name, "numeric"))
		return numeric(r, ret);
	TRY(value_of(r, name, &x));
	TRY(take_op(r, &op));
	skip(r);
	y = strtod(r->at, &end);
	if (end == r->at)
		return wrong(r);
	r->at = end;
	*ret = holds(x, op, y);
	return NULL;
}

static struct err *all_of(struct reader *r, bool *ret)
{
	bool one;

	TRY(term(r, ret));
	while (accept(r, "&&")) {
		TRY(term(r, &one));
		*ret = *ret && one;
	}
	return NULL;
}

struct err *diff_assert(const struct diff_facts *f, const char *text, bool *ret)
{
	struct reader r = {*f, text};
	bool one;

	TRY(all_of(&r, ret));
	while (accept(&r, "||")) {
		TRY(all_of(&r, &one));
		*ret = *ret || one;
	}
	skip(&r);
	return *r.at ? wrong(&r) : NULL;
}
