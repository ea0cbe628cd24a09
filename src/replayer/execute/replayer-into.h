/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes into one launch, to look at its parts, and out of it behind its end.
 */
#ifndef REPLAYER_INTO_H
#define REPLAYER_INTO_H

#include "replayer/execute/replayer-rp.h"

struct into_kind {
	enum sbt_kind kind;
	const char *noun; /* in words */
	const char *so;	  /* what follows from its not being executed again, ", so ..." or "" */
};
/* Goes to before launch seq and takes a checkpoint there for the way back; *ret is valid until the
 * next command is fetched. Refuses a command that cannot be looked into: one of another kind, one
 * that did not run here, or one that is not executed again in this replay. */
struct err *into_seek(struct rp *rp, uint64_t seq, const struct into_kind *k,
	const struct sbt_cmd **ret) TS_CHECK;
/* Does what comes before the launch's own work. */
struct err *into_begin(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Called when the launch has run to its end and nothing is in flight: the position is then behind
 * it. */
void into_behind(struct rp *rp, uint64_t seq);

#endif
