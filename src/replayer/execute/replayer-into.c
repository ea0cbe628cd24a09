/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes into one launch, and out of it behind its end: shared by looking at a graph launch's nodes
 * (replayer-node.c) and at a kernel launch under the microscope (replayer-micro.c). While a launch
 * is looked into, the position stays before it, and memory counts as stale.
 */
#include "replayer/execute/replayer-into.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-late.h"

/* Checks that c (NULL: none) is command `seq`, of kind k, which ran here and is executed again in
 * this replay. */
static struct err *check_ran_here(
	struct rp *rp, const struct sbt_cmd *c, uint64_t seq, const struct into_kind *k)
{
	const unsigned long long n = seq;

	if (!c || c->kind != k->kind)
		return rp_fail(rp, REPLAYER_E_REFUSED, seq, "#%llu is no %s", n, k->noun);
	if (c->result)
		return rp_fail(rp, REPLAYER_E_REFUSED, seq,
			"#%llu failed when it was recorded: it launched nothing", n);
	if (c->flags & SBT_F_GRAPH)
		return rp_fail(rp, REPLAYER_E_REFUSED, seq,
			"#%llu was captured into a graph: it did not run here", n);
	if (execute_has_effect(rp, seq))
		return rp_fail(rp, REPLAYER_E_REFUSED, seq,
			"#%llu cannot be executed again%s: what it did is taken from the recording",
			n, k->so);
	if (rp->nskip && execute_is_skipped(rp, seq))
		return rp_fail(rp, REPLAYER_E_REFUSED, seq, "#%llu is left out of this replay", n);
	return NULL;
}

/* Refuses a command that is kept back: when it runs, memory differs from memory at the position. */
static struct err *check_not_late(struct rp *rp, const struct sbt_cmd *c)
{
	const uint64_t seq = c->seq;
	bool late;

	TRY(late_comes(rp, c, &late));
	if (!late)
		return NULL;
	late_keep(rp, c);
	const uint64_t wait = late_holds(rp->late, seq);
	late_back(rp, 0); /* it comes again on the way there */
	rp->stale = true;
	return rp_fail(rp, REPLAYER_E_REFUSED, seq, REPLAYER_KEPT_BACK "; it cannot be looked into",
		(unsigned long long)seq, (unsigned long long)wait);
}

struct err *into_seek(
	struct rp *rp, uint64_t seq, const struct into_kind *k, const struct sbt_cmd **ret)
{
	TRY(checkpoint_seek(rp, seq - 1));
	TRY(checkpoint_take(rp)); /* for the way back */
	TRY(execute_fetch(rp, seq, ret));
	TRY(check_ran_here(rp, *ret, seq, k));
	return check_not_late(rp, *ret);
}

struct err *into_begin(struct rp *rp, const struct sbt_cmd *c)
{
	rp->stale = true;
	TRY(heap_note(rp, c));
	return execute_before(rp, c);
}

void into_behind(struct rp *rp, uint64_t seq)
{
	execute_at(rp, seq);
	rp->stale = false;
	rp->figures.executed++;
}
