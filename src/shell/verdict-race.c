/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a race makes a replay differ from its recording: one that reaches the difference, and, as the proof, the recorded outcome in the order in
 * which the two are turned round.
 */
#include "shell/verdict-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include "sbt/memory.h"
#include "shell/interrupt.h"

static bool race_reaches(const struct search *x, const struct order_race *r)
{
	const uint64_t last = r->a.seq > r->b.seq ? r->a.seq : r->b.seq;
	const struct order_doubt d[] = {{last, r->addr, r->addr + r->size}, {.seq = r->a.seq}, {.seq = r->b.seq}};

	return r->unread == ORDER_NO_COPY && verdict_reaches(x, d, sizeof d / sizeof *d);
}

static void say_race(const struct search *x, const struct order_race *r, bool turned)
{
	struct buf *b = &x->ret->text;

	verdict_answer(x, VERDICT_RACE, r->a.seq, r->b.seq);
	if (r->a.node != SBT_NO_ID)
		buf_printf(b, "Why: a race (%s) in the graph that #%" PRIu64 " launches: its nodes %u and %u both touch %" PRIu64 " bytes at 0x%" PRIx64 ".\n",
			order_tier_name(r->tier), r->a.seq, r->a.node, r->b.node, r->size, r->addr);
	else
		buf_printf(b, "Why: a race (%s), see #%" PRIu64 " and #%" PRIu64 ": both touch %" PRIu64 " bytes at 0x%" PRIx64 ", and nothing orders them.\n",
			order_tier_name(r->tier), r->a.seq, r->b.seq, r->size, r->addr);
	verdict_print_cmd(x, "    ", r->a.seq);
	if (r->b.seq != r->a.seq)
		verdict_print_cmd(x, "    ", r->b.seq);
	if (turned)
		buf_printf(b, "    With #%" PRIu64 " before #%" PRIu64 " the window gives exactly what was recorded.\n", r->b.seq, r->a.seq);
	else
		buf_printf(b, "    The replay executes them %s; the recording need not have.\n",
			device_info(x->rd->d).overlap ? "as they come (`set replay order concurrent`)" : "in the order of submission every time");
	buf_str(b, "    Cure: ");
	order_race_cure(b, r);
	buf_byte(b, '\n');
}

/* ---- a race turned round: the recorded outcome is the proof ---- */

struct recorded {
	const struct device_ordered *is;
	size_t compared, same;
};

static struct err *compare_end(void *arg, const struct sbt_memory *m)
{
	struct recorded *rec = arg;

	for (size_t i = 0; m->role == SBT_MEMORY_END && i < rec->is->sums.n; i++) {
		const struct replayer_place *p = &rec->is->places[i];

		if (p->addr != m->addr || p->size != m->size)
			continue;
		rec->compared++;
		rec->same += sbt_hash_equal(p->hash, m->hash);
	}
	return NULL;
}

static struct err *execute_turned(struct search *x, const struct order_race *r, struct device_ordered *ret)
{
	const struct order_options o = {.first = x->rd->first, .last = x->rd->last, .interrupt = &interrupt_flag};
	struct device_order how = {0};
	uint64_t *entries = NULL;
	struct order *order;

	TRY(order_open(&order, x->s->trace.reader, &o));
	struct err *e = order_flip(order, r->a.seq, r->b.seq, &entries, &how.n);
	how.entries = entries;
	if (!e)
		e = device_order(x->rd->d, &how, ret);
	free(entries);
	order_close(order);
	return e;
}

/* Whether the window gives what was recorded when b comes first. Only Ctrl-C is an error: what cannot be tried proves nothing. */
static struct err *try_turned(struct search *x, const struct order_race *r, bool *ret)
{
	struct device_ordered d = {0};
	struct recorded rec = {.is = &d};

	if (r->a.node != SBT_NO_ID || r->a.stream == SBT_NO_ID || r->b.stream == SBT_NO_ID || r->a.seq == r->b.seq)
		return NULL;
	struct err *e = replay_device_back(x->s, execute_turned(x, r, &d));
	if (!e)
		e = sbt_reader_memory(x->s->trace.reader, x->rd->first, x->rd->last, compare_end, &rec);
	*ret = !e && rec.compared == rec.same && rec.compared + d.sums.outputs && d.sums.outputs == d.sums.outputs_same;
	device_ordered_free(&d);
	if (!e || e->code == ERR_INTERRUPTED)
		return e;
	err_free(e);
	return NULL;
}

struct err *verdict_ask_races(struct search *x)
{
	const struct order_options o = {.first = x->rd->first, .last = x->rd->last, .source = exact_source(x->exact), .interrupt = &interrupt_flag};
	const struct order_race *found = NULL;
	struct order_races races = {0};
	struct err *e = order_races(&races, x->s->trace.reader, &o);

	for (size_t i = 0; !e && !found && i < races.n; i++)
		if (race_reaches(x, &races.r[i]))
			found = &races.r[i];
	if (found) {
		bool turned = false;

		e = try_turned(x, found, &turned);
		if (!e)
			say_race(x, found, turned);
	}
	order_races_free(&races);
	return verdict_not_asked(x, "whether commands race", e);
}
