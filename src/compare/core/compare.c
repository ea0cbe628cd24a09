/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison from beginning to end. The two traces are read at the same time, where they are two:
 * that is more than half of the work.
 */
#include "compare/compare.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/quiet-thread.h"
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

/* --- reading B beside A --- */

struct beside {
	struct side *to;
	struct compare_ask ask; /* of the thread: it tells nobody */
	atomic_bool stop;
	struct err *e;
	pthread_t thread;
};

static bool is_stopped(void *beside, uint64_t done, uint64_t of)
{
	struct beside *b = beside;

	(void)done, (void)of;
	return atomic_load(&b->stop);
}

static void *read_b(void *beside)
{
	struct beside *b = beside;

	b->e = side_read(b->to, b->ask.b, b->ask.range_b.first, b->ask.range_b.last, &b->ask);
	return NULL;
}

/* False: it cannot be read beside A. */
static bool begin_b(struct beside *b, struct side *to, const struct compare_ask *ask)
{
	/* plain() is the caller's, and asked of observed traces alone */
	if (ask->a == ask->b || sbt_reader_meta(ask->a)->observed ||
		sbt_reader_meta(ask->b)->observed)
		return false;
	*b = (struct beside){.to = to, .ask = *ask};
	b->ask.cancelled = is_stopped;
	b->ask.arg = b;
	return !quiet_thread(&b->thread, NULL, read_b, b);
}

/* Waits for B, and stops it when A failed or the user wants no more. */
static struct err *end_b(struct beside *b, const struct compare_ask *ask, bool wanted)
{
	enum { LOOK_MS = 50 };
	const uint64_t all = sbt_reader_count(ask->a);

	do {
		if (!wanted || (ask->cancelled && ask->cancelled(ask->arg, all, all)))
			atomic_store(&b->stop, true);
	} while (!quiet_thread_join(b->thread, LOOK_MS));
	return b->e;
}

static struct err *read_both(struct side *a, struct side *b, const struct compare_ask *ask)
{
	struct beside beside;
	const bool two = begin_b(&beside, b, ask);
	struct err *e = side_read(a, ask->a, ask->range_a.first, ask->range_a.last, ask);

	if (two)
		return err_first(e, end_b(&beside, ask, !e));
	return e ? e : side_read(b, ask->b, ask->range_b.first, ask->range_b.last, ask);
}

struct err *compare_run(struct compare *ret, const struct compare_ask *ask)
{
	struct side a = {0}, b = {0};
	struct err *e;

	*ret = (struct compare){0};
	e = read_both(&a, &b, ask);
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
