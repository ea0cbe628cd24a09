/* SPDX-License-Identifier: Apache-2.0
 *
 * Watched memory. Only the device knows which command changed a byte, and it tells only forwards:
 * backwards is, block by block from the position, a seek to the block's beginning and a run over
 * it, and the last change in the first block that has one counts.
 */
#include <inttypes.h>
#include "replay/engine/replay-private.h"
#include "sbt/footprint.h"

/* seqs in the first block backwards; each is twice the one before it up to ... */
#define BLOCK_MIN 64
#define BLOCK_MAX 65536
#define AHEAD 256	/* commands whose state is worth a thread */
#define LOOK_EVERY 1024 /* commands between two looks at the interrupt flag */

static bool interrupted(volatile bool *interrupt)
{
	return interrupt && *interrupt;
}

/* --- writes known from the record --- */

bool replay_writes(const struct sbt_cmd *c, uint64_t addr, uint64_t size)
{
	struct sbt_footprint f;

	sbt_footprint(&f, c);
	for (unsigned i = 0; i < f.n && !(f.does & SBT_WAITS); i++)
		if (f.touch[i].how & (SBT_WRITES | SBT_UPDATES) &&
			sbt_rows_meet(&f.touch[i].rows, addr, size))
			return true;
	return false;
}

/* --- the device --- */

static struct err *can_watch(const struct replay *r)
{
	if (r->has_ex && r->ex.run)
		return NULL;
	return err_cure(
		err_new(ERR_STATE, "memory can only be watched while the trace is executed again"),
		"`replay start` on a trace with a capture window");
}

static struct err *device_to(struct replay *r, uint64_t seq)
{
	return r->ex.seek(r->ex.arg, seq < r->first ? r->first - 1 : seq);
}

/* A move of the device alone failed: moves the device back to the engine's position. */
static struct err *device_back(struct replay *r, struct err *e)
{
	struct err *back;

	if (e && r->ex.culprit && r->ex.culprit(r->ex.arg, &(uint64_t){0}))
		return e; /* the engine will follow */
	back = device_to(r, r->seq);
	if (!e)
		return back;
	err_free(back);
	return e;
}

/* The last command in lo..hi - 1 that changes the range, or that releases a kept-back command which
 * changes it (*ret_late). *ret is unchanged when there is none. */
static struct err *last_change(struct replay *r, uint64_t lo, uint64_t hi, uint64_t addr,
	uint64_t size, uint64_t *ret, uint64_t *ret_late)
{
	uint64_t at = lo - 1;
	bool hit = true;

	TRY(device_to(r, lo - 1));
	while (hit && at < hi - 1) {
		TRY(r->ex.run(r->ex.arg, hi - 1, addr, size, &at, &hit));
		if (hit) {
			*ret = at;
			*ret_late = r->ex.late ? r->ex.late(r->ex.arg) : 0;
		}
	}
	return NULL;
}

/* --- forwards --- */

/* Finds the first command after the position that matches, else the end; nothing moves. Learns
 * about kernels on the way. */
static struct err *next_match(struct replay *r, struct matcher *m, volatile bool *interrupt,
	uint64_t *ret_seq, uint32_t *ret_node, int *ret_id)
{
	struct state *ahead;
	const struct sbt_cmd *c;
	struct err *e;

	*ret_seq = r->last;
	if (!m->n)
		return NULL;
	ahead = state_clone(r->s);
	m->s = ahead;
	r->astray = true;
	r->cmd = NULL;
	e = sbt_cursor_seek(r->cursor, r->seq ? r->seq + 1 : r->first);
	for (unsigned n = 0; !e && !*ret_id; n++) {
		if (n % LOOK_EVERY == 0 && interrupted(interrupt)) {
			*ret_seq = r->seq;
			break;
		}
		e = sbt_cursor_next(r->cursor, &c);
		if (e || !c || c->seq > r->last)
			break;
		if (nodes_learn(c))
			e = state_apply(ahead, c);
		*ret_id = matcher_match(m, c);
		if (!e && !*ret_id)
			e = nodes_match(m, ahead, c, 1, UINT32_MAX, false, ret_node, ret_id);
		else
			*ret_node = 0;
		if (*ret_id)
			*ret_seq = c->seq;
	}
	m->s = r->s;
	state_free(ahead);
	return e;
}

struct watch {
	const struct replay_watchpoint *w;
	unsigned n;
	volatile bool *interrupt;
	enum replay_why why;
	int id;
	uint64_t late;	   /* of a watchpoint's hit */
	uint64_t node_seq; /* the match is on a node of that launch ... */
	uint32_t node;	   /* ... this one */
};

/* Goes to a command; the state and the device move at the same time. *ret_reached is where the
 * device got to; the state always goes to `to`. */
static struct err *run_unwatched(
	struct replay *r, uint64_t to, uint64_t *ret_reached, bool *ret_hit)
{
	struct replay_ahead *ahead = to - r->seq > AHEAD ? replay_ahead_start(r, to) : NULL;
	struct err *e = r->ex.run(r->ex.arg, to, 0, 0, ret_reached, ret_hit);
	struct err *f = ahead ? replay_ahead_end(ahead, !e) : NULL;

	return e ? e : f;
}

static void stop_at_change(struct replay *r, struct watch *x, const struct replay_watchpoint *w)
{
	x->id = w->id;
	x->why = REPLAY_WATCHPOINT;
	x->late = r->ex.late ? r->ex.late(r->ex.arg) : 0;
	x->node_seq = 0;
}

/* The first command that a failed run may have been about; 0: it did not fail at a command. */
static uint64_t faulty(const struct replay *r, const struct err *e)
{
	uint64_t first = 0;

	if (!e || e->code == ERR_INTERRUPTED || !r->ex.culprit)
		return 0;
	return r->ex.culprit(r->ex.arg, &first) ? first : 0;
}

/* Runs over one range from the engine's position, to *to or the change before it: then *to is
 * there. */
static struct err *run_over(struct replay *r, struct watch *x, const struct replay_watchpoint *w,
	uint64_t *to, uint64_t *ret_reached)
{
	bool hit = false;

	TRY(r->ex.run(r->ex.arg, *to, w->addr, w->size, ret_reached, &hit));
	if (hit) {
		*to = *ret_reached;
		stop_at_change(r, x, w);
	}
	return NULL;
}

/* The nearest change up to *to of all ranges, which the device can only watch one by one. A command
 * that fails comes behind a change before it, so the ranges that are left are looked at up to
 * there. The end of an interrupted run counts once all ranges were looked at: a change of another
 * may lie before it. */
static struct err *run_watched(
	struct replay *r, struct watch *x, uint64_t *to, uint64_t *ret_reached)
{
	const struct replay_watchpoint *failed = NULL;
	const struct watch otherwise = *x;
	const uint64_t start = r->seq, end = *to;
	struct err *e = NULL;

	for (unsigned i = 0; i<x->n && * to> start; i++) {
		*ret_reached = start;
		e = i ? device_to(r, start) : NULL;
		if (!e)
			e = run_over(r, x, &x->w[i], to, ret_reached);
		if (!e)
			continue;
		const uint64_t first = faulty(r, e);
		if (i + 1 == x->n || !first) {
			if (e->code == ERR_INTERRUPTED && i + 1 < x->n)
				*ret_reached = start;
			return e;
		}
		err_free(e);
		failed = &x->w[i];
		*to = first - 1;
		*x = otherwise;
	}
	if (!failed || x->why == REPLAY_WATCHPOINT)
		return NULL;
	*to = end; /* nothing changes before the command that fails: it says why */
	TRY(device_to(r, start));
	return run_over(r, x, failed, to, ret_reached);
}

static struct err *forwards(struct replay *r, struct matcher *m, struct watch *x)
{
	uint64_t to, start = r->seq, reached = start;
	bool hit = false;
	struct err *e;

	TRY(next_match(r, m, x->interrupt, &to, &x->node, &x->id));
	if (x->id && x->node) /* it stops before the launch; the caller goes to the node */
		x->node_seq = to--;
	x->why = x->id			     ? REPLAY_BREAKPOINT
		 : interrupted(x->interrupt) ? REPLAY_INTERRUPTED
					     : REPLAY_END;
	if (to <= start)
		return NULL;
	e = x->n ? run_watched(r, x, &to, &reached) : run_unwatched(r, to, &reached, &hit);
	if (e && e->code == ERR_INTERRUPTED) {
		err_free(e);
		e = NULL;
		x->why = REPLAY_INTERRUPTED;
		x->id = 0;
		x->node_seq = 0;
		to = reached;
	}
	if (!e && to != r->seq)
		e = replay_jump_state(r, to, UINT64_MAX, r->nmarks);
	return e || to == start ? device_back(r, e) : NULL;
}

/* --- backwards --- */

/* The last stop in [lo, hi), if there is one: *to and x->id. */
static struct err *look_at_block(struct replay *r, struct matcher *m, struct watch *x, uint64_t lo,
	uint64_t hi, uint64_t *to)
{
	r->astray = true;
	r->cmd = NULL;
	uint64_t node_seq = 0;
	uint32_t node = 0;
	int id = 0;

	TRY(matcher_scan(r, m, lo, hi, to, &x->id));
	TRY(nodes_scan(r, m, lo, hi, &node_seq, &node, &id));
	if (id && (!x->id || node_seq > *to)) {
		x->id = id;
		x->node_seq = *to = node_seq;
		x->node = node;
	}
	if (x->id)
		x->why = REPLAY_BREAKPOINT;
	for (unsigned i = 0; i < x->n; i++) {
		uint64_t at = 0, late = 0;

		if (x->id)
			lo = x->why == REPLAY_BREAKPOINT
				     ? *to
				     : *to + 1; /* a change at a breakpoint counts as a change */
		if (lo >= hi)
			return NULL;
		TRY(last_change(r, lo, hi, x->w[i].addr, x->w[i].size, &at, &late));
		if (!at)
			continue;
		x->late = late;
		*to = at;
		x->id = x->w[i].id;
		x->why = REPLAY_WATCHPOINT;
		x->node_seq = 0;
	}
	return NULL;
}

static struct err *backwards(struct replay *r, struct matcher *m, struct watch *x)
{
	uint64_t hi = r->seq, to = 0;
	struct err *e = NULL;

	m->s = r->s;
	for (uint64_t block = BLOCK_MIN; !e && !x->id && hi > r->first;
		block = block < BLOCK_MAX ? block * 2 : block) {
		uint64_t lo = hi - r->first > block ? hi - block : r->first;

		if (interrupted(x->interrupt))
			e = err_new(ERR_INTERRUPTED, "interrupted");
		else
			e = look_at_block(r, m, x, lo, hi, &to);
		hi = lo;
	}
	if (e && e->code == ERR_INTERRUPTED) { /* a later match may be missing: stay */
		err_free(e);
		x->why = REPLAY_INTERRUPTED;
		x->id = 0;
		return device_back(r, NULL);
	}
	if (e)
		return device_back(r, e);
	if (!x->id)
		x->why = REPLAY_BEGIN;
	return replay_jump(r, to, UINT64_MAX, replay_marks_before(r, to));
}

struct err *replay_watch(struct replay *r, bool back, const struct replay_watchpoint *ws,
	unsigned nws, const struct replay_breakpoint *bps, unsigned nbps, volatile bool *interrupt,
	struct replay_stop *ret)
{
	struct watch x = {.w = ws, .n = nws, .interrupt = interrupt};
	struct matcher m;
	struct err *e = can_watch(r);

	matcher_init(&m, r->trace, bps, nbps);
	m.s = r->s;
	if (!e)
		e = back ? backwards(r, &m, &x) : forwards(r, &m, &x);
	matcher_deinit(&m);
	e = replay_stopped(r, e, x.why, ret);
	if (!e) {
		ret->breakpoint = x.id;
		ret->late = x.why == REPLAY_WATCHPOINT ? x.late : 0;
		ret->node_seq = x.node_seq;
		ret->node = x.node_seq ? x.node : 0;
	}
	return e;
}

/* --- who wrote --- */

/* The last command in lo..hi whose record says that it writes there; 0: none. */
static struct err *last_record(struct replay *r, uint64_t lo, uint64_t hi, uint64_t addr,
	uint64_t size, volatile bool *interrupt, uint64_t *ret)
{
	const struct sbt_cmd *c;

	*ret = 0;
	r->astray = true;
	r->cmd = NULL;
	for (uint64_t block = 16 * BLOCK_MIN; !*ret && hi >= lo; block *= 2) {
		uint64_t from = hi - lo >= block ? hi - block + 1 : lo;

		if (interrupted(interrupt))
			return err_new(ERR_INTERRUPTED, "interrupted");
		TRY(sbt_cursor_seek(r->cursor, from));
		for (;;) {
			TRY(sbt_cursor_next(r->cursor, &c));
			if (!c || c->seq > hi)
				break;
			if (replay_writes(c, addr, size))
				*ret = c->seq;
		}
		hi = from - 1;
	}
	return NULL;
}

/* The last change in lo..hi; 0: none. */
static struct err *last_seen(struct replay *r, uint64_t lo, uint64_t hi, uint64_t addr,
	uint64_t size, volatile bool *interrupt, uint64_t *ret, uint64_t *ret_late)
{
	*ret = 0;
	for (uint64_t block = BLOCK_MIN; !*ret && hi >= lo;
		block = block < BLOCK_MAX ? block * 2 : block) {
		uint64_t from = hi - lo >= block ? hi - block + 1 : lo;

		if (interrupted(interrupt))
			return err_new(ERR_INTERRUPTED, "interrupted");
		TRY(last_change(r, from, hi + 1, addr, size, ret, ret_late));
		hi = from - 1;
	}
	return NULL;
}

static struct err *ask_device(struct replay *r, uint64_t lo, uint64_t upto, uint64_t record,
	uint64_t addr, uint64_t size, volatile bool *interrupt, struct replay_writer *ret)
{
	uint64_t seen = 0, late = 0;
	struct err *e = NULL;

	if (record < upto)
		e = last_seen(
			r, record ? record + 1 : lo, upto, addr, size, interrupt, &seen, &late);
	if (!e && !seen && record)
		e = last_change(r, record, record + 1, addr, size, &seen, &late);
	e = device_back(r, e);
	if (!e)
		*ret = (struct replay_writer){.seq = late   ? late
						     : seen ? seen
							    : record,
			.at = seen ? seen : record,
			.certain = true,
			.changed = seen != 0};
	return e;
}

/* The last command behind `from`, up to `upto`, that may have written to the allocation at addr: a
 * launch with a pointer into it; 0: none. The state keeps an allocation's newest writer alone, and
 * one that wrote other bytes for certain may have come since. */
static struct err *last_suspect(struct replay *r, uint64_t from, uint64_t upto, uint64_t addr,
	volatile bool *interrupt, uint64_t *ret)
{
	const struct sbt_cmd *c;
	struct state_alloc a;
	struct state *s;
	struct err *e;

	*ret = 0;
	TRY(state_at(&s, r->trace, from));
	r->astray = true;
	r->cmd = NULL;
	e = sbt_cursor_seek(r->cursor, from + 1);
	for (unsigned n = 0; !e; n++) {
		if (n % LOOK_EVERY == 0 && interrupted(interrupt))
			e = err_new(ERR_INTERRUPTED, "interrupted");
		else
			e = sbt_cursor_next(r->cursor, &c);
		if (e || !c || c->seq > upto)
			break;
		e = state_apply(s, c);
		if (!e && state_alloc_at(s, addr, &a) && a.last_writer == c->seq &&
			!a.writer_certain)
			*ret = c->seq;
	}
	state_free(s);
	return e;
}

/* By the records, and by the pointers of launches. */
static struct err *ask_records(struct replay *r, const struct state_alloc *known, uint64_t lo,
	uint64_t upto, uint64_t record, uint64_t addr, volatile bool *interrupt,
	struct replay_writer *ret)
{
	uint64_t suspect = 0;

	if (known && known->last_writer > record && known->last_writer <= upto &&
		!known->writer_certain)
		suspect = known->last_writer;
	else if (known && known->last_writer > record)
		TRY(last_suspect(r, record ? record : lo - 1, upto, addr, interrupt, &suspect));
	*ret = suspect ? (struct replay_writer){.seq = suspect, .at = suspect}
		       : (struct replay_writer){.seq = record, .at = record, .certain = true};
	return NULL;
}

static struct err *who_wrote(struct replay *r, uint64_t upto, uint64_t addr, uint64_t size,
	volatile bool *interrupt, struct replay_writer *ret)
{
	struct state_alloc a;
	bool known = state_alloc_at(r->s, addr, &a);
	uint64_t lo = known && a.alloc_seq > r->first ? a.alloc_seq : r->first, record;

	if (upto < lo)
		return err_new(ERR_NOT_FOUND,
			"nothing has been executed yet that could have written to 0x%" PRIx64,
			addr);
	TRY(last_record(r, lo, upto, addr, size, interrupt, &record));
	/* A command that is kept back behind a wait for a value has written nothing yet. */
	while (record && r->has_ex && r->ex.kept) {
		uint64_t wait;

		TRY(r->ex.kept(r->ex.arg, record, &wait));
		if (!wait)
			break;
		const uint64_t hi = record - 1;
		record = 0;
		if (hi >= lo)
			TRY(last_record(r, lo, hi, addr, size, interrupt, &record));
	}
	if (r->has_ex && r->ex.run)
		TRY(ask_device(r, lo, upto, record, addr, size, interrupt, ret));
	else
		TRY(ask_records(r, known ? &a : NULL, lo, upto, record, addr, interrupt, ret));
	if (!ret->seq)
		return err_new(ERR_NOT_FOUND,
			"nothing wrote to 0x%" PRIx64 " from #%" PRIu64 " to #%" PRIu64, addr, lo,
			upto);
	return NULL;
}

struct err *replay_who_wrote(struct replay *r, uint64_t addr, uint64_t size,
	volatile bool *interrupt, struct replay_writer *ret)
{
	return replay_wrote_upto(r, r->seq, addr, size, interrupt, ret);
}

struct err *replay_wrote_upto(struct replay *r, uint64_t upto, uint64_t addr, uint64_t size,
	volatile bool *interrupt, struct replay_writer *ret)
{
	struct replay_stop stop;

	*ret = (struct replay_writer){0};
	return replay_stopped(r,
		who_wrote(r, upto < r->seq ? upto : r->seq, addr, size ? size : 1, interrupt, ret),
		REPLAY_STEPPED, &stop);
}
