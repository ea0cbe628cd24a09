/* SPDX-License-Identifier: Apache-2.0
 *
 * Races, each with the one call that would order the pair; launches that are not deterministic;
 * differences from another trace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "report/facts/fact-list.h"
#include "sbt/fields.h"

static void put_party(struct fact_maker *m, struct buf *b, const struct order_party *p)
{
	const struct sbt_kind_desc *d = sbt_kind(p->kind);

	if (p->stream == SBT_NO_ID)
		buf_printf(b, "the host %s there before #%" PRIu64, order_how_name(p->how), p->seq);
	else
		buf_printf(b, "#%" PRIu64 " (%s, stream %u) %s", p->seq,
			p->kernel != SBT_NO_ID ? fact_kernel(m, p->kernel)
			: d		       ? d->name
					       : "command",
			p->stream, order_how_name(p->how));
}

static void put_race(struct fact_maker *m, const struct order_race *r)
{
	struct buf b = BUF_INIT, cure = BUF_INIT;

	put_party(m, &b, &r->a);
	buf_str(&b, ", ");
	put_party(m, &b, &r->b);
	order_race_cure(&cure, r);
	fact_add(m, FACT_RACE,
		"A %s race: %s; both touch %" PRIu64 " byte%s at 0x%" PRIx64 ", %" PRIu64
		" time%s, and nothing orders them. Cure: %s.",
		order_tier_name(r->tier), buf_cstr(&b), r->size, FACT_S(r->size), r->addr, r->count,
		FACT_S(r->count), buf_cstr(&cure));
	fact_seq(m, r->a.seq);
	fact_seq(m, r->b.seq);
	fact_value(m, "bytes", r->size);
	fact_value(m, "count", r->count);
	fact_place(m, r->b.stack);
	buf_free(&b);
	buf_free(&cure);
}

/* Possible ones are counted: there are many, and most are none. */
void facts_races(struct fact_maker *m)
{
	const struct order_races *r = m->from->races;
	uint64_t shown = 0, sure = 0, possible = 0;

	if (!r && m->from->not_races)
		fact_add(m, FACT_MISSING, "Races are not known: %s.", m->from->not_races);
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		if (r->r[i].tier == ORDER_POSSIBLE) {
			possible++;
			continue;
		}
		sure++;
		if (shown++ < FACTS_RACES)
			put_race(m, &r->r[i]);
	}
	if (!sure)
		fact_add(m, FACT_RACE, "No race was found among %" PRIu64 " command%s.",
			r->commands, FACT_S(r->commands));
	if (sure > FACTS_RACES || r->more)
		fact_add(m, FACT_RACE, "%" PRIu64 " more: tsdb races.",
			(sure > FACTS_RACES ? sure - FACTS_RACES : 0) + r->more);
	if (possible)
		fact_add(m, FACT_MISSING,
			"%" PRIu64
			" more pair%s of commands may race: what a kernel touches is known from its arguments only (tsdb races --possible).",
			possible, FACT_S(possible));
	if (r->unknown)
		fact_add(m, FACT_MISSING,
			"What %" PRIu64
			" command%s touch%s is not known, so neither are their races.",
			r->unknown, FACT_S(r->unknown), r->unknown == 1 ? "es" : "");
	if (m->from->races_note && *m->from->races_note)
		fact_add(m, FACT_MISSING, "Races: %s", m->from->races_note);
}

/* --- launches that are not deterministic --- */

static void put_unstable(struct fact_maker *m, const struct fact_unstable *u)
{
	fact_add(m, FACT_UNSTABLE,
		"#%" PRIu64 " gave another result in %" PRIu64 " of %" PRIu64
		" execution%s from the same memory%s%s.",
		u->seq, u->differing, u->executions, FACT_S(u->executions),
		u->looks_like ? ": it looks like " : "", u->looks_like ? u->looks_like : "");
	fact_seq(m, u->seq);
	fact_value(m, "differing", u->differing);
	fact_value(m, "executions", u->executions);
}

void facts_unstable(struct fact_maker *m)
{
	const struct fact_check *c = m->from->check;

	if (!c) {
		fact_add(m, FACT_MISSING,
			"Whether launches are deterministic was not tried: tsdb check --json executes them again, and report --check takes what it prints.");
		return;
	}
	for (size_t i = 0; i < c->n && i < FACTS_RACES; i++)
		put_unstable(m, &c->v[i]);
	if (c->n > FACTS_RACES)
		fact_add(m, FACT_UNSTABLE, "%zu more: tsdb check.", c->n - FACTS_RACES);
	else if (!c->n)
		fact_add(m, FACT_UNSTABLE, "None of %" PRIu64 " launch%s executed again differed.",
			c->checked, c->checked == 1 ? " that was" : "es that were");
	if (c->not_checked)
		fact_add(m, FACT_MISSING,
			"%" PRIu64
			" launch%s not executed again: whether %s deterministic is not known.",
			c->not_checked, c->not_checked == 1 ? " was" : "es were",
			c->not_checked == 1 ? "it is" : "they are");
}

/* --- differences --- */

static void put_side(struct buf *b, const char *trace, const struct compare_side *s)
{
	if (!s->count)
		return;
	if (s->count == 1)
		buf_printf(b, "%s%s #%" PRIu64, b->len ? ", " : "", trace, s->first);
	else
		buf_printf(b, "%s%s #%" PRIu64 " to #%" PRIu64 " (%" PRIu64 " commands)",
			b->len ? ", " : "", trace, s->first, s->last, s->count);
}

void facts_changes(struct fact_maker *m)
{
	const struct compare *c = m->from->changes;

	if (!c)
		return;
	fact_add(m, FACT_CHANGE,
		"%s is A, %s is B: A has %" PRIu64 " command%s that count%s, B %" PRIu64
		", and %" PRIu64 " %s the same.",
		m->from->path, m->from->other, c->a_commands, FACT_S(c->a_commands),
		c->a_commands == 1 ? "s" : "", c->b_commands, c->matched,
		c->matched == 1 ? "is" : "are");
	fact_value(m, "matched", c->matched);
	if (compare_same(c))
		fact_add(m, FACT_CHANGE, "There is no difference.");
	for (size_t i = 0; i < c->n && i < FACTS_CHANGES; i++) {
		const struct compare_difference *d = &c->d[i];
		struct buf b = BUF_INIT;

		put_side(&b, "A", &d->a);
		put_side(&b, "B", &d->b);
		fact_add(m, FACT_CHANGE, "%s: %s.", compare_what_name(d->what), buf_cstr(&b));
		fact_seq(m, d->a.first);
		fact_place(m, d->a.first ? d->a.stack : 0);
		buf_free(&b);
	}
	if (c->n > FACTS_CHANGES || c->more)
		fact_add(m, FACT_CHANGE, "%" PRIu64 " more: tsdb diff.",
			(c->n > FACTS_CHANGES ? c->n - FACTS_CHANGES : 0) + c->more);
}
