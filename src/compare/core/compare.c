/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison from beginning to end.
 */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "compare/core/side.h"

const char *compare_what_name(enum compare_what what)
{
	static const char *const names[COMPARE_WHATS] = {"removed", "inserted", "replaced",
		"reshaped", "reordered", "moved", "wait_gone", "wait_added", "wait_other"};

	return (unsigned)what < COMPARE_WHATS ? names[what] : "?";
}

bool compare_same(const struct compare *c)
{
	return !c->n;
}

static void run(struct compare *ret, struct side *a, struct side *b, const struct compare_ask *ask)
{
	struct alignment al;

	align(&al, a, b);
	ret->a_commands = a->n;
	ret->b_commands = b->n;
	for (uint32_t i = 0; i < a->n; i++)
		ret->matched += a->e[i].other != SIDE_NONE;
	ret->coarse = al.coarse;
	ret->observed = a->observed;
	classify(ret, &al, ask);
	compare_times(ret, a, b);
	compare_sites(ret, a, b, ask);
	for (uint32_t i = 0; ask->pair && i < a->n; i++) {
		if (a->e[i].other != SIDE_NONE)
			ask->pair(ask->arg, a->e[i].seq, b->e[a->e[i].other].seq);
	}
	ret->streams = al.streams;
	ret->nstreams = al.nstreams;
	al.streams = NULL;
	alignment_free(&al);
}

struct err *compare_run(struct compare *ret, const struct compare_ask *ask)
{
	struct side a = {0}, b = {0};
	struct err *e;

	*ret = (struct compare){0};
	e = side_read(&a, ask->a, ask->range_a.first, ask->range_a.last, ask);
	if (!e)
		e = side_read(&b, ask->b, ask->range_b.first, ask->range_b.last, ask);
	if (!e)
		run(ret, &a, &b, ask);
	side_free(&a);
	side_free(&b);
	return e;
}

void compare_free(struct compare *c)
{
	for (size_t i = 0; i < c->ntimes; i++)
		free(c->times[i].name);
	free(c->times);
	for (size_t i = 0; i < c->nsites; i++)
		free(c->sites[i].name);
	free(c->sites);
	free(c->d);
	free(c->streams);
	*c = (struct compare){0};
}
