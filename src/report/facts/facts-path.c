/* SPDX-License-Identifier: Apache-2.0
 *
 * The long pole: the critical path's parts as facts.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include "report/facts/fact-list.h"
#include "sbt/fields.h"

/* What a part is called; heap. */
static char *name_of(struct fact_maker *m, enum critical_what what, uint32_t id)
{
	switch (what) {
	case CRITICAL_KERNEL:
		return xstrdup(fact_kernel(m, id));
	case CRITICAL_GRAPH:
		return xasprintf("graph %u", id);
	case CRITICAL_COPY:
		return xasprintf("copy %s", sbt_enum_name(SBT_T_ENUM_COPY, id));
	case CRITICAL_FILL:
		return xstrdup("fill");
	case CRITICAL_HOST:
		return xstrdup("the host on its way to a call");
	default:
		return xstrdup("between submission and beginning");
	}
}

/* Its first letter a capital, unless it is the name of something. */
static void begin_sentence(char *name, enum critical_what what)
{
	if (what != CRITICAL_KERNEL)
		*name = (char)toupper((unsigned char)*name);
}

static void put_part(
	struct fact_maker *m, const struct critical_part *p, uint64_t length, bool asked)
{
	char *name = name_of(m, p->what, p->id), *next = NULL;

	begin_sentence(name, p->what);
	if (asked && p->next < CRITICAL_WHATS)
		next = name_of(m, p->next, p->next_id);
	if (asked)
		fact_add(m, FACT_PATH,
			"%s: %.3f ms of it (%.1f %%), %" PRIu64
			" time%s; without it the run would be %.3f ms shorter%s%s.",
			name, fact_ms(p->on_ns), fact_share(p->on_ns, length), p->on_count,
			FACT_S(p->on_count), fact_ms(p->gain_ns),
			next ? ", and the path would mostly be " : "", next ? next : "");
	else
		fact_add(m, FACT_PATH, "%s: %.3f ms of it (%.1f %%), %" PRIu64 " time%s.", name,
			fact_ms(p->on_ns), fact_share(p->on_ns, length), p->on_count,
			FACT_S(p->on_count));
	fact_seq(m, p->longest_seq);
	fact_value(m, "path_ns", p->on_ns);
	fact_value(m, "count", p->on_count);
	if (asked)
		fact_value(m, "gain_ns", p->gain_ns);
	fact_place(m, p->what == CRITICAL_HOST ? p->id : p->stack);
	free(name);
	free(next);
}

static void put_beside(struct fact_maker *m, const struct critical_part *p)
{
	char *name = name_of(m, p->what, p->id);

	fact_add(m, FACT_PATH,
		"Beside it, %s: #%" PRIu64 " could take %.3f ms longer before it is on it.", name,
		p->slack_seq, fact_ms(p->slack_ns));
	fact_seq(m, p->slack_seq);
	fact_value(m, "slack_ns", p->slack_ns);
	fact_place(m, p->stack);
	free(name);
}

void facts_path(struct fact_maker *m)
{
	const struct critical_path *p = m->from->critical;
	const uint64_t length = p ? p->end_ns - p->begin_ns : 0;
	unsigned beside = 0;

	if (!p && m->from->not_critical)
		fact_add(m, FACT_MISSING, "The long pole is not known: %s.", m->from->not_critical);
	if (!p)
		return;
	fact_add(m, FACT_PATH,
		"The critical path is %.3f ms long: kernels and graphs %.3f, copies and fills %.3f, the host %.3f, between submission and beginning %.3f.",
		fact_ms(length), fact_ms(p->by_what[CRITICAL_KERNEL] + p->by_what[CRITICAL_GRAPH]),
		fact_ms(p->by_what[CRITICAL_COPY] + p->by_what[CRITICAL_FILL]),
		fact_ms(p->by_what[CRITICAL_HOST]), fact_ms(p->by_what[CRITICAL_STARTING]));
	fact_value(m, "length_ns", length);
	for (size_t i = 0; i < p->non && i < FACTS_TOP; i++)
		put_part(m, &p->parts[i], length, i < CRITICAL_ASKED);
	for (size_t i = p->non; i < p->nparts && beside < 3; i++) {
		if (p->parts[i].beside && !p->parts[i].on_ns && ++beside)
			put_beside(m, &p->parts[i]);
	}
	if (p->untimed)
		fact_add(m, FACT_MISSING,
			"%" PRIu64 " of %" PRIu64
			" launches, copies and fills %s no GPU time and %s not in the critical path.",
			p->untimed, p->commands, p->untimed == 1 ? "has" : "have",
			p->untimed == 1 ? "is" : "are");
	if (p->contradictions)
		fact_add(m, FACT_MISSING,
			"%" PRIu64
			" time%s the order of the program; the critical path leaves %s out.",
			p->contradictions, p->contradictions == 1 ? " contradicts" : "s contradict",
			p->contradictions == 1 ? "that wait" : "those waits");
}
