/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a replay. By default one command runs after the other in the order in which the
 * program submitted them, whatever their streams were: that is one of the orders that the program
 * allows (an edge of order/fold/fold.h leads from an earlier command to a later one, but for waits
 * for values, which replayer-late.c keeps back), and it makes memory at a position depend on the
 * position alone. The device does the waiting: where the stream changes, the new one waits for an
 * event on the one before, and launches stay asynchronous.
 *
 * The surprise: records of events and waits for them take no turn. They touch no memory, and the
 * work behind them takes its own.
 */
#include "replayer/execute/replayer-turn.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"

/* Whoever waits for turn.event[turn.dev] waits for everything that has been submitted. */
static struct err *record_last(struct rp *rp)
{
	struct turn *t = &rp->turn;
	const unsigned was = rp->devices.now;

	TRY(devices_enter(rp, t->dev));
	if (!t->event[t->dev])
		GPU(rp, event_create, &t->event[t->dev], false);
	GPU(rp, event_record, t->event[t->dev], t->last);
	return devices_enter(rp, was);
}

static struct err *take_on(struct rp *rp, struct gpu_stream *stream, unsigned dev)
{
	struct turn *t = &rp->turn;

	if (t->any && (t->last != stream || t->dev != dev)) {
		TRY(record_last(rp));
		GPU(rp, stream_wait, stream, t->event[t->dev]);
	}
	t->any = true;
	t->last = stream;
	t->dev = dev;
	return NULL;
}

struct err *turn_take(struct rp *rp, struct gpu_stream *stream)
{
	return take_on(rp, stream, rp->devices.now);
}

struct err *turn_of(struct rp *rp, const struct sbt_cmd *c)
{
	const uint64_t id = sbt_cmd_stream(c);
	struct gpu_stream *stream;

	if (!turn_is_fixed(rp) || id == SBT_NO_ID || !sbt_kind_takes_turn(c->kind))
		return NULL;
	TRY(objects_stream(rp, id, &stream));
	return turn_take(rp, stream);
}

struct err *turn_before_destroy(struct rp *rp, struct gpu_stream *stream)
{
	return rp->turn.last == stream ? take_on(rp, rp->own, 0) : NULL;
}

void turn_over(struct rp *rp)
{
	rp->turn.any = false;
}

struct err *turn_overlap(struct rp *rp, bool overlap)
{
	if (rp->turn.overlap == overlap)
		return NULL;
	TRY(execute_finish(rp));
	rp->turn.overlap = overlap;
	graph_unmake_all(rp); /* branches of graphs depend on it, too */
	checkpoint_forget(rp, rp->first);
	/* memory made in another order is no base for any position */
	rp->stale |= rp->position >= rp->first;
	return NULL;
}
