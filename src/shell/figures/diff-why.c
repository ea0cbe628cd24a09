/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb diff --why: the comparison as one paragraph. Each sentence says what a member of the results
 * says; what was not compared is named as not known.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "shell/figures/critical-text.h"
#include "shell/figures/diff-text.h"
#include "shell/figures/sums-text.h"
#include "shell/line/interrupt.h"
#include "shell/print/shown-names.h"
#include "shell/print/stack-view.h"
#include "state/state.h"

enum { FRAMES = 4, SITES = 3, SHOWN_FROM_NS = 500 /* less is shown as 0.000 ms */ };

/* --- the first difference --- */

/* ", called in compute () at a.cu:12, in main () at a.cu:40" */
static struct err *say_stack(
	struct buf *out, struct session *s, const struct diff_trace *t, uint32_t id)
{
	struct stack st = {0};

	if (!id) {
		buf_str(out, ", whose call stack was not recorded");
		return NULL;
	}
	TRY(stack_recorded(s, t->r, id, &st));
	for (unsigned i = 0; i < st.n && i < FRAMES; i++) {
		buf_str(out, i ? ", in " : ", called in ");
		stack_print_place(out, &st, i);
	}
	if (st.n > FRAMES)
		buf_printf(out, ", under %u more", st.n - FRAMES);
	stack_free(&st);
	return NULL;
}

static struct err *say_side(struct buf *out, struct session *s, const struct diff_trace *t,
	const struct compare_side *is)
{
	const struct shown_names names = {s, t->st};
	uint32_t stack;

	if (!is->count) {
		if (is->before)
			buf_printf(out, "nothing behind #%" PRIu64, is->before);
		else
			buf_str(out, "nothing at the beginning");
		return NULL;
	}
	TRY(shown_cmd(&names, t->r, is->first, false, out, &stack));
	if (is->count > 1)
		buf_printf(out, " and %" PRIu64 " more up to #%" PRIu64, is->count - 1, is->last);
	return say_stack(out, s, t, stack);
}

static const char *sentence(enum compare_what what)
{
	static const char *const texts[COMPARE_WHATS] = {"A has a command that B does not have",
		"B has a command that A does not have", "another command is in the place of one",
		"a command has another shape", "a command comes elsewhere",
		"a command is on another stream", "A waits and B does not",
		"B waits and A does not", "a wait is for another point"};

	return (unsigned)what < COMPARE_WHATS ? texts[what] : "?";
}

static void say_rest(struct buf *out, const struct compare *c)
{
	const uint64_t rest = c->n - 1 + c->more;
	const char *sep = ": in all ";

	if (!rest) {
		buf_str(out, " Nothing else differs in what the program submits.");
		return;
	}
	buf_printf(out, " %" PRIu64 " more difference%s, whether because of it is not known", rest,
		rest == 1 ? " follows" : "s follow");
	for (unsigned i = 0; i < COMPARE_WHATS; i++) {
		if (!c->by_what[i])
			continue;
		buf_printf(out, "%s%" PRIu64 " %s", sep, c->by_what[i],
			compare_what_name((enum compare_what)i));
		sep = ", ";
	}
	buf_byte(out, '.');
}

static struct err *say_structure(
	struct buf *out, struct session *s, const struct compare *c, const struct diff_show *d)
{
	if (!c->n) {
		buf_printf(out, "Both submit the same %" PRIu64 " commands in the same order%s.",
			c->a_commands, c->observed ? "" : " with the same waits");
		return NULL;
	}
	buf_printf(out, "The first difference is that %s: A has ", sentence(c->d[0].what));
	TRY(say_side(out, s, &d->a, &c->d[0].a));
	buf_str(out, "; B has ");
	TRY(say_side(out, s, &d->b, &c->d[0].b));
	buf_byte(out, '.');
	say_rest(out, c);
	return NULL;
}

/* --- numbers --- */

static void say_unexplained(struct buf *out, const struct numeric *n)
{
	const struct numeric_finding *f = numeric_unexplained(n);

	buf_printf(out,
		" Of the %" PRIu64 " pairs whose numbers were compared %" PRIu64
		" computed the same. The cause is not known: what kernels read is not known on this device, and each pair that differs may have read what differed before it",
		n->pairs, n->same);
	if (f)
		buf_printf(
			out, "; the first is #%" PRIu64 " in A and #%" PRIu64 " in B", f->a, f->b);
	buf_byte(out, '.');
}

static void say_numbers(struct buf *out, const struct numeric *n)
{
	const struct numeric_finding *f = n ? numeric_origin(n) : NULL;

	if (!n) {
		buf_str(out, " What the commands computed was not compared (--numeric does that).");
		return;
	}
	if (n->interrupted)
		buf_printf(out, " Numbers were compared up to #%" PRIu64 " only.", n->reached);
	if (!f && !numeric_same(n)) {
		say_unexplained(out, n);
		return;
	}
	if (!f) {
		buf_printf(out, " The %" PRIu64 " pairs whose numbers were compared %s.", n->pairs,
			n->by_kind[NUMERIC_UNSTEADY]
				? "differ in nothing but what is not deterministic"
				: "computed the same");
		return;
	}
	buf_printf(out,
		" Of the numbers the first cause is #%" PRIu64 " in A and #%" PRIu64
		" in B (%s); %" PRIu64 " later pairs only pass on what differed before.",
		f->a, f->b, numeric_kind_name(f->kind), n->by_kind[NUMERIC_HEIR]);
}

/* --- time --- */

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static uint64_t change_of(const struct compare_site *x)
{
	return x->a_ns > x->b_ns ? x->a_ns - x->b_ns : x->b_ns - x->a_ns;
}

static void say_site(struct buf *out, struct session *s, const struct diff_show *d,
	const struct compare_site *x, const char *sep)
{
	char *place = x->a_count ? sums_site(s, d->a.r, x->stack_a, &d->a.kernels)
				 : sums_site(s, d->b.r, x->stack_b, &d->b.kernels);

	buf_printf(out, "%s%.3f ms in %s from %s (%" PRIu64 " in A, %" PRIu64 " in B)", sep,
		ms(change_of(x)), kernel_shown_name(s, x->name), place, x->a_count, x->b_count);
	free(place);
}

/* The largest changes in one direction that are no noise and not below what is printed. */
static void say_sites(struct buf *out, struct session *s, const struct compare *c,
	const struct diff_show *d, bool lost)
{
	const char *sep = lost ? " B loses " : " B gains ";
	unsigned n = 0;

	for (size_t i = 0; i < c->nsites && n < SITES; i++) {
		const struct compare_site *x = &c->sites[i];

		if (x->noise || change_of(x) < SHOWN_FROM_NS || (x->b_ns > x->a_ns) != lost)
			continue;
		say_site(out, s, d, x, sep);
		sep = ", ";
		n++;
	}
	buf_str(out, n	    ? "."
		     : lost ? " It loses nowhere more than noise and 0.0005 ms."
			    : " It gains nowhere more than noise and 0.0005 ms.");
}

static void say_noise(struct buf *out, const struct compare *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->nsites; i++)
		n += c->sites[i].noise;
	if (n)
		buf_printf(out,
			" The change of %" PRIu64
			" call site%s is noise: within what single pairs differ by, or of one pair.",
			n, n == 1 ? "" : "s");
}

static struct err *say_path(struct buf *out, struct session *s, const struct diff_trace *t,
	const char *which, uint64_t first, uint64_t last)
{
	const struct order_options o = {.first = first,
		.last = last == UINT64_MAX ? 0 : last,
		.interrupt = &interrupt_flag};
	struct critical_path p;
	struct err *e = critical_path(&p, t->r, &o);

	if (e && e->code != ERR_INCOMPLETE && e->code != ERR_LIMIT)
		return e;
	if (e) {
		buf_printf(out, " %s's critical path is not known: %s.", which, e->what);
		err_free(e);
		return NULL;
	}
	buf_printf(out, " %s's critical path is %.3f ms long", which, ms(p.end_ns - p.begin_ns));
	critical_pole(out, s, t->r, t->st, &p);
	buf_byte(out, '.');
	critical_path_free(&p);
	return NULL;
}

static struct err *say_time(struct buf *out, struct session *s, const struct compare *c,
	const struct diff_show *d, const struct compare_ask *ask)
{
	const uint64_t a = c->a_matched_ns + c->a_only_ns, b = c->b_matched_ns + c->b_only_ns;

	if (!c->timed) {
		buf_str(out,
			" Nothing is known of time: not both have GPU times (tsdb record --timestamps).");
		return NULL;
	}
	buf_printf(out, " GPU time is %.3f ms in A and %.3f in B, %+.3f.", ms(a), ms(b),
		ms(b) - ms(a));
	say_sites(out, s, c, d, true);
	say_sites(out, s, c, d, false);
	say_noise(out, c);
	TRY(say_path(out, s, &d->a, "A", ask->range_a.first, ask->range_a.last));
	TRY(say_path(out, s, &d->b, "B", ask->range_b.first, ask->range_b.last));
	if (c->n)
		buf_str(out,
			" Whether the first difference is what changed the time is not known.");
	return NULL;
}

struct err *diff_why(struct session *s, const struct compare *c, const struct diff_show *d,
	const struct compare_ask *ask, char **ret)
{
	struct buf b = BUF_INIT;
	struct err *e = say_structure(&b, s, c, d);

	if (!e) {
		say_numbers(&b, d->numeric);
		e = say_time(&b, s, c, d, ask);
	}
	if (e) {
		buf_free(&b);
		return e;
	}
	(void)buf_cstr(&b);
	*ret = buf_steal(&b);
	return NULL;
}
