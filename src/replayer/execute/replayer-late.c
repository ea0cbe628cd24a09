/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for values that were submitted before the write that satisfies them: commands behind such a
 * wait are executed when the value is there (state/late-work.h), no matter if a stream, a kernel, a
 * copy, or the recorded host wrote it.
 *
 * The surprise: the device does not wait. The host looks at memory when all earlier work has
 * finished, so a position has the same bytes whichever way it was reached.
 */
#include "replayer/execute/replayer-late.h"
#include "replayer/execute/replayer-execute.h"

static struct err *is_ready(void *arg, const struct sbt_cmd *wait, bool *ret)
{
	const struct sbt_cmd_batch *u = &wait->u.batch;
	const size_t n = u->elem == 8 ? 8 : 4;
	struct rp *rp = arg;
	uint64_t here, v = 0;

	*ret = true;
	if (place_find(rp, u->addr, n, &here) == PLACE_NOWHERE)
		return NULL; /* not memory of this replay, so its value cannot be read */
	TRY(execute_finish(rp));
	TRY(contents_read(rp, u->addr, &v, n));
	*ret = sbt_wait_is_over(u, v);
	return NULL;
}

static enum late_stream kind_of(void *arg, uint64_t id)
{
	struct rp *rp = arg;
	const uint32_t i = id_map_get(&rp->objects.stream_ids, (uint32_t)id);
	const struct rstream *s = i == UINT32_MAX ? NULL : &rp->objects.streams[i];

	if (!s || s->per_thread)
		return s ? LATE_BLOCKING : LATE_OTHER;
	if (s->is_default)
		return LATE_DEFAULT;
	return s->apart ? LATE_OTHER : LATE_BLOCKING;
}

static struct late_user user(struct rp *rp)
{
	return (struct late_user){.arg = rp, .ready = is_ready, .stream = kind_of};
}

struct err *late_comes(struct rp *rp, const struct sbt_cmd *c, bool *ret)
{
	const struct late_user u = user(rp);

	late_host_knows(rp->late, c);
	return late_takes(rp->late, &u, c, ret);
}

void late_keep(struct rp *rp, const struct sbt_cmd *c)
{
	const struct late_user u = user(rp);

	late_put(&rp->late, &u, c);
}

struct err *late_take(struct rp *rp, struct sbt_cmd *ret, bool *ret_any)
{
	const struct late_user u = user(rp);

	TRY(late_next(rp->late, &u, ret, ret_any));
	if (!rp->forced)
		rp->forced = late_forced(rp->late);
	return NULL;
}

void late_back(struct rp *rp, uint64_t seq)
{
	late_clear(rp->late);
	rp->forced = rp->forced > seq ? 0 : rp->forced;
}

/* Finds which of the commands that run now changes the watched range. */
static struct err *look(struct rp *rp, uint64_t seq)
{
	struct sbt_hash is;

	if (!rp->late_watched.size)
		return NULL;
	TRY(execute_finish(rp));
	TRY(contents_hash(rp, rp->late_watched.addr, rp->late_watched.size, &is));
	if (seq && !sbt_hash_equal(is, rp->late_watched.is))
		rp->late_watched.seq = seq;
	rp->late_watched.is = is;
	return NULL;
}

struct err *late_go(struct rp *rp)
{
	const uint64_t current = rp->current;
	struct sbt_cmd c;
	bool any = rp->late != NULL;

	if (rp->position >= rp->last)
		late_give_up(rp->late);
	if (late_count(rp->late))
		TRY(look(rp, 0));
	while (any) {
		TRY(late_take(rp, &c, &any));
		if (any)
			TRY(rp->late_by ? rp->late_by(rp, &c) : execute_late(rp, &c));
		if (any)
			TRY(look(rp, c.seq));
	}
	rp->current = current;
	return NULL;
}
