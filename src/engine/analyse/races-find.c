/* SPDX-License-Identifier: Apache-2.0
 *
 * Races of the open trace, see races-find.h.
 */
#include "engine/races-find.h"

#include "engine/analyse/races-edges.h"

static struct err *find(struct order_races *ret, struct engine *en, const struct races_ask *ask,
	struct exact *exact)
{
	const struct order_options o = {.first = ask->first,
		.last = ask->last,
		.threads_apart = ask->threads_apart,
		.strict = ask->strict,
		.source = exact_source(exact),
		.interrupt = en->cancel};

	TRY(order_races(ret, en->trace.reader, &o));
	if (!ret->early_edges)
		return NULL;
	return races_edges(
		en, &(struct exact_ask){.want = ask->want, .budget_ns = ask->budget_ns}, ret);
}

struct err *races_find(
	struct order_races *ret, char **ret_note, struct engine *en, const struct races_ask *ask)
{
	const struct order_options o = {.first = ask->first,
		.last = ask->last,
		.threads_apart = ask->threads_apart,
		.strict = ask->strict,
		.interrupt = en->cancel};
	struct order_suspects suspects;
	struct exact *exact = NULL;
	struct err *e;

	*ret = (struct order_races){0};
	*ret_note = NULL;
	if (sbt_reader_meta(en->trace.reader)->observed)
		return err_cure(
			err_new(ERR_INCOMPLETE,
				"the trace was observed from outside: what its kernels touch is not known, so neither are races"),
			"`tsdb record` makes a trace that tells");
	TRY(order_suspects(&suspects, en->trace.reader, &o));
	e = exact_open_for(&exact, en,
		&(struct exact_ask){.want = ask->want,
			.first = ask->first,
			.last = ask->last,
			.only = &suspects,
			.budget_ns = ask->budget_ns,
			.rest = true});
	order_suspects_free(&suspects);
	if (!e)
		e = find(ret, en, ask, exact);
	if (!e)
		*ret_note = xstrdup(exact_note(exact));
	exact_free(exact);
	return e;
}
