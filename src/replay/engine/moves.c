/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves that go a long way without looking at what lies on it.
 */
#include <inttypes.h>
#include "replay/engine/replay-private.h"

/* Brings the state to the point that the device reached; keeps the explicit retirements. */
static struct err *follow(struct replay *r, uint64_t reached)
{
	return reached > r->seq ? replay_jump_state(r, reached, UINT64_MAX, r->nmarks) : NULL;
}

struct err *replay_run_to(struct replay *r, uint64_t seq, enum replay_why *why)
{
	uint64_t reached = r->seq;
	bool hit;
	struct err *e = r->ex.run(r->ex.arg, seq, 0, 0, &reached, &hit);

	if (e && e->code != ERR_INTERRUPTED)
		return e;
	if (e) {
		err_free(e);
		*why = REPLAY_INTERRUPTED;
	}
	return follow(r, reached);
}

static struct err *until_step(struct replay *r, uint64_t seq)
{
	const struct sbt_cmd *c;

	while (r->seq < seq) {
		TRY(replay_peek(r, &c));
		if (!c || c->seq > seq)
			/* look_up() found it, so the trace has changed */
			return replay_not_held(r, seq);
		TRY(replay_submit(r, c, c->seq == seq));
	}
	return NULL;
}

struct err *replay_until(struct replay *r, uint64_t seq, struct replay_stop *ret)
{
	enum replay_why why = REPLAY_STEPPED;
	struct err *e;

	if (seq <= r->seq)
		e = err_cure(err_new(ERR_USAGE,
				     "#%" PRIu64 " does not lie ahead of the position, #%" PRIu64,
				     seq, r->seq),
			"`replay goto %" PRIu64 "` goes anywhere", seq);
	else
		e = replay_look_up(r, seq);
	if (!e)
		e = r->has_ex && r->ex.run ? replay_run_to(r, seq, &why) : until_step(r, seq);
	return replay_stopped(r, e, why, ret);
}

struct err *replay_finish_stream(struct replay *r, uint32_t stream, struct replay_stop *ret)
{
	struct state_stream st;
	struct err *e = NULL;
	uint64_t last = 0;

	if (!state_stream_by_id(r->s, stream, &st))
		e = err_new(ERR_NOT_FOUND, "there is no stream %u here", stream);
	else if (!st.head)
		e = err_new(ERR_NOT_FOUND, "stream %u has nothing to finish at #%" PRIu64, stream,
			r->seq);
	else
		e = replay_settle(r);
	if (!e) {
		last = st.last_submitted;
		replay_mark(r, last);
	}
	e = replay_stopped(r, e, REPLAY_STEPPED, ret);
	if (!e)
		ret->retired = last;
	return e;
}
