/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins GPU times with commands by correlation id. A graph launch has many times, so an entry stays
 * until it is overwritten.
 */
#include "attach/drain/drain.h"

#include <stdlib.h>

void drain_join_init(struct drain_join *j)
{
	*j = (struct drain_join){0};
}

void drain_join_free(struct drain_join *j)
{
	free(j->cmds);
	free(j->times);
}

bool drain_join_cmd(
	struct drain_join *j, uint32_t epoch, const struct sbt_cmd *c, struct join_time *ret)
{
	struct join_time *t;

	if (!c->corr)
		return false;
	if (!j->cmds)
		j->cmds = xcalloc(JOIN_CMDS, sizeof(*j->cmds));
	j->cmds[c->corr % JOIN_CMDS] = (struct join_cmd){c->corr, epoch, c->seq};
	if (!j->times)
		return false;
	t = &j->times[c->corr % JOIN_TIMES];
	if (t->corr != c->corr || t->epoch != epoch)
		return false;
	*ret = *t;
	t->corr = 0;
	return true;
}

uint64_t drain_join_seq(const struct drain_join *j, uint32_t epoch, uint32_t corr)
{
	const struct join_cmd *c = j->cmds && corr ? &j->cmds[corr % JOIN_CMDS] : NULL;

	return c && c->corr == corr && c->epoch == epoch ? c->seq : 0;
}

uint64_t drain_join_time(struct drain_join *j, uint32_t epoch, const struct tsdb_msg_time *m)
{
	if (!m->corr)
		return 0;
	if (j->cmds) {
		const struct join_cmd *c = &j->cmds[m->corr % JOIN_CMDS];

		if (c->corr == m->corr && c->epoch == epoch)
			return c->seq;
	}
	if (!j->times)
		j->times = xcalloc(JOIN_TIMES, sizeof(*j->times));
	j->times[m->corr % JOIN_TIMES] = (struct join_time){m->corr, epoch, m->start_ns, m->end_ns};
	return 0;
}
