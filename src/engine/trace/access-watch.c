/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes of watched bytes, see access-watch.h. A command that is kept back behind a wait
 * for a value touches memory at a later position than its own: such a stretch is looked at command
 * by command.
 */
#include "engine/trace/access-watch.h"

#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "engine/breakpoints.h"
#include "engine/replay-device.h"
#include "order/order.h"
#include "sbt/footprint.h"

enum { CHUNK_MAX = 4096, SPANS_MAX = 65536 };

struct found {
	uint64_t at, by;
	int ids[REPLAY_OTHERS + 1];
	unsigned nids;
	struct watch_touch touch;
};

struct look {
	struct engine *en;
	uint64_t first, last, high; /* high: the last command with a set so far */
	bool backwards;
	bool late; /* a command before `high` touched the bytes */
	struct found best;
	uint64_t *seen; /* commands with a set */
	size_t nseen, cap;
	uint64_t *unsure; /* positions of commands of which it is not known */
	size_t nunsure, cap_unsure;
};

/* The bytes that two ranges have in common. */
static bool common(
	const struct breakpoint *bp, uint64_t addr, uint64_t end, struct watch_touch *ret)
{
	const uint64_t a = addr > bp->addr ? addr : bp->addr,
		       b = end < bp->addr + bp->size ? end : bp->addr + bp->size;

	if (a >= b)
		return false;
	ret->addr = a;
	ret->size = b - a;
	return true;
}

/* Adds what a command does to the bytes: the surest and lowest place counts. */
static void touch_add(struct watch_touch *t, const struct watch_touch *one)
{
	const bool first = !t->reads && !t->writes;

	if (first || (one->sure && !t->sure) || (one->sure == t->sure && one->addr < t->addr)) {
		t->addr = one->addr;
		t->size = one->size;
	}
	t->sure = t->sure || one->sure;
	t->reads = t->reads || one->reads;
	t->writes = t->writes || one->writes;
}

static bool concerns(const struct breakpoint *bp, const struct watch_touch *t)
{
	return bp->watch == WATCH_READS ? t->reads : t->reads || t->writes;
}

static void by_set(
	const struct breakpoint *bp, const struct soft_access_set *set, struct watch_touch *ret)
{
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++) {
		const unsigned kind = k % SOFT_ACCESSES;
		struct watch_touch one = {.sure = !(set->inexact >> k & 1),
			.reads = kind != SOFT_ACCESS_WRITTEN,
			.writes = kind != SOFT_ACCESS_READ};

		if (bp->watch == WATCH_READS && !one.reads)
			continue;
		for (size_t i = 0; i < set->n[k]; i++)
			if (common(bp, set->span[k][i].addr,
				    sat_add(set->span[k][i].addr, set->span[k][i].size), &one)) {
				touch_add(ret, &one);
				break; /* they are sorted */
			}
	}
}

static void by_record(
	const struct breakpoint *bp, const struct order_accesses *l, struct watch_touch *ret)
{
	for (size_t i = 0; i < l->n; i++) {
		const enum order_how how = l->a[i].how;
		struct watch_touch one = {.sure = how != ORDER_MAYBE,
			.reads = how == ORDER_READ || how == ORDER_ATOMIC || how == ORDER_MAYBE,
			.writes = how == ORDER_WRITE || how == ORDER_ATOMIC || how == ORDER_MAYBE};

		if ((bp->watch == WATCH_READS && !one.reads) || (!one.reads && !one.writes) ||
			!common(bp, l->a[i].addr, l->a[i].end, &one))
			continue;
		touch_add(ret, &one);
	}
}

/* What a command does to the bytes of each watchpoint; set NULL: by its record. False: nothing. */
static bool what_it_touches(const struct look *k, const struct soft_access_set *set,
	const struct order_accesses *record, struct found *ret)
{
	const struct breakpoint *bp;

	ret->nids = 0;
	for (unsigned i = 0; (bp = breakpoints_nth(k->en->breaks, i)) != NULL; i++) {
		struct watch_touch t = {0};

		if (!breakpoint_watches_touches(bp))
			continue;
		if (set)
			by_set(bp, set, &t);
		else
			by_record(bp, record, &t);
		if (!concerns(bp, &t) || ret->nids > REPLAY_OTHERS)
			continue;
		if (!ret->nids)
			ret->touch = t;
		ret->ids[ret->nids++] = bp->id;
	}
	return ret->nids;
}

/* Takes a command that touches the bytes, if it comes before (backwards: behind) the best so far.
 */
static void take(struct look *k, const struct found *f)
{
	const struct found *b = &k->best;

	if (!b->nids || (k->backwards ? f->at > b->at : f->at < b->at) ||
		(f->at == b->at && f->by == f->at))
		k->best = *f;
}

static struct err *take_set(void *arg, const struct access_set *a)
{
	struct look *k = arg;
	struct found f = {.at = a->seq > k->high ? a->seq : k->high, .by = a->seq};

	if (!k->nseen || k->seen[k->nseen - 1] != a->seq) {
		MAKE_ROOM(k->seen, k->nseen, k->cap);
		k->seen[k->nseen++] = a->seq;
	}
	if (what_it_touches(k, &a->set, NULL, &f)) {
		k->late = k->late || f.by != f.at || a->seq < k->first;
		take(k, &f);
	}
	k->high = f.at;
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool has_set(const struct look *k, uint64_t seq)
{
	return k->nseen && bsearch(&seq, k->seen, k->nseen, sizeof seq, by_number);
}

/* Whether a launch without a set touched no memory of the trace: the device executes them all. */
static bool knows_launches(const struct engine *en)
{
	const struct replay_device *rd = en->trace.device;
	struct device_info info;

	if (!rd || !rd->watches)
		return false;
	info = device_info(rd->d);
	return !info.recorded && !info.left_out;
}

static bool is_launch(const struct sbt_cmd *c)
{
	return (c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH) && sbt_cmd_is_work(c);
}

static void look_at_record(struct look *k, const struct state *before, const struct sbt_cmd *c)
{
	struct order_accesses l = {0};
	struct found f = {.at = c->seq, .by = c->seq};
	bool hit;

	order_accesses_of(&l, before, c);
	hit = what_it_touches(k, NULL, &l, &f);
	if (hit)
		take(k, &f);
	if ((!hit || !f.touch.sure) && (l.unknown || is_launch(c))) {
		if (!hit) {
			MAKE_ROOM(k->unsure, k->nunsure, k->cap_unsure);
			k->unsure[k->nunsure++] = c->seq;
		}
	}
	free(l.a);
}

/* The commands of the stretch that have no set: by their records. */
static struct err *look_at_records(struct look *k)
{
	const bool launches = !knows_launches(k->en);
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct state *st;
	struct err *e;

	if (k->nseen)
		qsort(k->seen, k->nseen, sizeof *k->seen, by_number);
	TRY(state_at(&st, k->en->trace.reader, k->first - 1));
	e = sbt_cursor_open(&cur, k->en->trace.reader);
	if (e) {
		state_free(st);
		return e;
	}
	e = sbt_cursor_seek(cur, k->first);
	while (!e && !(e = sbt_cursor_next(cur, &c)) && c && c->seq <= k->last) {
		if (!has_set(k, c->seq) && (launches || !is_launch(c)))
			look_at_record(k, st, c);
		e = state_apply(st, c);
	}
	sbt_cursor_close(cur);
	state_free(st);
	return e;
}

static struct err *look_at_sets(struct look *k, uint64_t first, uint64_t last)
{
	k->high = first - 1;
	return device_access_sets_all(k->en->trace.device->d, first, last, SPANS_MAX, take_set, k);
}

/* A kept-back command touched the bytes: which command had let it go is seen one by one. */
static struct err *look_one_by_one(struct look *k)
{
	struct found best = {0};

	for (uint64_t seq = k->first; seq <= k->last && (k->backwards || !best.nids); seq++) {
		k->best.nids = 0;
		TRY(look_at_sets(k, seq, seq));
		if (!k->best.nids)
			continue;
		best = k->best;
		best.at = seq; /* it may be reported for what the step let go */
	}
	k->best = best;
	return NULL;
}

static struct err *look_at_device(struct look *k)
{
	TRY(look_at_sets(k, k->first, k->last));
	return k->late ? look_one_by_one(k) : NULL;
}

static void report(struct look *k, struct access_stop *ret)
{
	*ret = (struct access_stop){.at = k->backwards ? k->first : k->last};
	if (k->best.nids) {
		ret->at = k->best.at;
		ret->nids = k->best.nids;
		memcpy(ret->ids, k->best.ids, sizeof ret->ids);
		ret->touch = k->best.touch;
		ret->touch.by = k->best.by;
	}
	for (size_t i = 0; i < k->nunsure; i++)
		ret->passed += k->backwards ? k->unsure[i] > ret->at || !ret->nids
					    : k->unsure[i] < ret->at || !ret->nids;
}

static struct err *look(struct look *k, struct access_stop *ret)
{
	const struct replay_device *rd = k->en->trace.device;
	struct err *e = NULL;

	if (rd && rd->watches) {
		e = look_at_device(k);
		e = replay_device_back(k->en, e);
	}
	if (!e)
		e = look_at_records(k);
	if (!e)
		report(k, ret);
	free(k->seen);
	free(k->unsure);
	return e;
}

/* The first and last command that a replay can be at. */
static void whole(const struct engine *en, uint64_t *ret_first, uint64_t *ret_last)
{
	const struct replay_device *rd = en->trace.device;

	*ret_first = rd ? rd->first : sbt_reader_first_seq(en->trace.reader);
	*ret_last = rd ? rd->last : sbt_reader_last_seq(en->trace.reader);
}

struct err *access_watch_look(
	struct engine *en, bool backwards, uint64_t *chunk, struct access_stop *ret)
{
	const uint64_t at = replay_seq(en->trace.replay);
	struct look k = {.en = en, .backwards = backwards};
	uint64_t first, last;

	*ret = (struct access_stop){0};
	whole(en, &first, &last);
	if (backwards ? at <= first : at >= last)
		return NULL;
	if (backwards) {
		k.last = at - 1;
		k.first = at - first > *chunk ? at - *chunk : first;
	} else {
		k.first = at < first ? first : at + 1;
		k.last = last - k.first > *chunk ? k.first + *chunk : last;
	}
	*chunk = *chunk < CHUNK_MAX ? *chunk * 2 : CHUNK_MAX;
	return look(&k, ret);
}

struct err *access_watch_at(struct engine *en, uint64_t seq, struct access_stop *ret)
{
	struct look k = {.en = en, .first = seq, .last = seq};

	return look(&k, ret);
}
