/* SPDX-License-Identifier: Apache-2.0
 *
 * A fault of the device in the recording: which call reported it first, and which commands can have
 * caused it. Those are executed one at a time, and each is waited for, so the one that fails here
 * is known at once. Nothing behind the reporting call has run, since all calls fail from then on.
 */
#include "replayer/execute/replayer-fault.h"
#include "sbt/fields.h"

static bool is_suspect(const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	return d && d->cls == SBT_CLASS_WORK && !c->result && !(c->flags & SBT_F_GRAPH);
}

/* Whether the whole context was waited for without an error: then no earlier command caused the
 * fault. */
static bool clears(const struct rp *rp, const struct sbt_cmd *c)
{
	return c->kind == SBT_SYNC_END && !c->result && c->u.sync_end.begin == rp->fault.wait;
}

void fault_learn(struct rp *rp, const struct sbt_cmd *c)
{
	struct recorded_fault *f = &rp->fault;

	if (f->told)
		return;
	if (rp->gpu->result_is_fault((int)c->result)) {
		f->told = c->kind == SBT_SYNC_END ? c->u.sync_end.begin : c->seq;
		f->code = c->result;
	} else if (clears(rp, c)) {
		f->first = f->last = 0;
	} else if (c->kind == SBT_SYNC && c->u.sync.scope == SBT_SYNC_CTX) {
		f->wait = c->seq;
	} else if (is_suspect(c)) {
		f->first = f->first ? f->first : c->seq;
		f->last = c->seq;
	}
}

bool fault_suspects(const struct rp *rp, const struct sbt_cmd *c)
{
	return rp->fault.told && c->seq >= rp->fault.first && c->seq <= rp->fault.last &&
	       is_suspect(c);
}
