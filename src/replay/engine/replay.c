/* SPDX-License-Identifier: Apache-2.0
 *
 * The replay engine: a position in a trace. Forwards is the fold; every other move is a jump: the
 * best state at hand (the current one, a checkpoint, a keyframe), then forwards from there. The
 * surprise: the explicit retirements made on the way are part of the position, so a jump makes
 * those that lie on its way again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "base/quiet-thread.h"
#include "replay/engine/replay-private.h"

#define JUMP_KEYFRAME 4096 /* commands to fold at which a keyframe is worth its reading */

static struct state_totals totals(const struct state *s)
{
	struct state_totals t;

	state_totals(s, &t);
	return t;
}

/* --- the cursor --- */

struct err *replay_align(struct replay *r)
{
	const struct sbt_cmd *c = NULL;

	if (!r->astray)
		return NULL;
	r->cmd = NULL;
	TRY(sbt_cursor_seek(r->cursor, r->seq ? r->seq : r->first));
	if (r->seq) {
		TRY(sbt_cursor_next(r->cursor, &c));
		if (!c ||
			c->seq !=
				r->seq) { /* the state comes from a keyframe, the command is lost */
			c = NULL;
			TRY(sbt_cursor_seek(r->cursor, r->seq + 1));
		}
	}
	r->cmd = c;
	r->astray = false;
	return NULL;
}

struct err *replay_peek(struct replay *r, const struct sbt_cmd **ret)
{
	*ret = NULL;
	TRY(replay_align(r));
	if (r->seq >= r->last)
		return NULL;
	r->astray = true; /* until the command is submitted */
	r->cmd = NULL;
	TRY(sbt_cursor_next(r->cursor, ret));
	if (*ret && (*ret)->seq > r->last)
		*ret = NULL;
	return NULL;
}

/* Adds the command that the executor failed at to the sentence. */
static struct err *name_culprit(struct replay *r, struct err *e, uint64_t first, uint64_t seq)
{
	struct buf b = BUF_INIT;
	struct sbt_names names = state_names(r->s);
	const struct sbt_cmd *c = NULL;
	struct err *failed;

	r->astray = true;
	r->cmd = NULL;
	failed = sbt_cursor_seek(r->cursor, seq);
	if (!failed)
		failed = sbt_cursor_next(r->cursor, &c);
	err_free(failed);
	if (c && c->seq == seq)
		sbt_print_cmd(&b, c, &names);
	else
		buf_printf(&b, "#%" PRIu64, seq);
	if (first < seq)
		e = err_wrap(e, "%s, or one from #%" PRIu64 " on", buf_cstr(&b), first);
	else
		e = err_wrap(e, "%s", buf_cstr(&b));
	buf_free(&b);
	return e;
}

/* The executor failed at a command: moves the position to right before it. The executor goes there,
 * too, at its next request. */
static struct err *stand_before(struct replay *r, struct err *e)
{
	uint64_t first = 0, seq = r->has_ex && r->ex.culprit ? r->ex.culprit(r->ex.arg, &first) : 0;
	struct err *failed;

	if (!seq || e->code == ERR_INTERRUPTED)
		return e;
	failed = replay_jump_state(
		r, first - 1 < r->first ? 0 : first - 1, UINT64_MAX, replay_marks_before(r, first));
	err_free(failed);		       /* the first one matters more */
	return name_culprit(r, e, first, seq); /* the state there knows the kernel */
}

struct err *replay_settle(struct replay *r)
{
	return r->has_ex && r->ex.finish ? r->ex.finish(r->ex.arg) : NULL;
}

struct err *replay_stopped(
	struct replay *r, struct err *e, enum replay_why why, struct replay_stop *ret)
{
	struct err *align;

	if (e)
		e = stand_before(r, e);
	align = replay_align(r);
	*ret = (struct replay_stop){.why = why, .seq = r->seq};
	if (!e)
		return align;
	err_free(align);
	return e;
}

/* --- one command --- */

/* Takes the keyframe at or before seq in place of *s, when it is of at or later. In a damaged trace
 * only, where *s may lack what lost commands did: so states after a hole are what state_at() says.
 * Not with marks on the way, which a keyframe knows nothing of. */
static struct err *take_keyframe(
	const struct replay *r, struct state **s, uint64_t at, uint64_t seq, unsigned nmarks)
{
	struct state *k;

	if (nmarks || !sbt_reader_damage(r->trace) || sbt_reader_keyframe_seq(r->trace, seq) < at)
		return NULL;
	TRY(state_keyframe(&k, r->trace, seq));
	if (totals(k).seq < at) {
		state_free(k);
		return NULL;
	}
	state_free(*s);
	*s = k;
	return NULL;
}

/* Applies c, which follows the state *s of the command at. */
static struct err *apply(const struct replay *r, struct state **s, uint64_t at,
	const struct sbt_cmd *c, unsigned nmarks)
{
	if (c->seq != at + 1)
		TRY(take_keyframe(r, s, at + 1, c->seq - 1, nmarks));
	TRY(state_apply(*s, c));
	return take_keyframe(r, s, c->seq, c->seq, nmarks);
}

struct err *replay_submit(struct replay *r, const struct sbt_cmd *c, bool wait)
{
	if (r->has_ex)
		TRY(r->ex.execute(r->ex.arg, c, wait));
	TRY(apply(r, &r->s, r->seq, c, r->nmarks));
	r->seq = c->seq;
	r->index = sbt_reader_damage(r->trace) ? totals(r->s).commands : r->index + 1;
	r->cmd = c;
	r->astray = false;
	if (r->index >= r->next_point) {
		points_add(&r->points, r->s, r->nmarks);
		r->next_point = r->index + POINT_EVERY;
	}
	return NULL;
}

/* --- jumping --- */

struct jump {
	uint64_t seq, index; /* the goal */
	unsigned nmarks;
	struct state *s; /* where the jump is now ... */
	struct state_totals at;
	unsigned made; /* marks made in s */
};

/* Starts from the nearest state at hand, without reading the trace. */
static void start_near(const struct replay *r, struct jump *j)
{
	const struct point *p = points_find(&r->points, j->seq, j->nmarks);
	const struct point *q = points_find_index(&r->points, j->index, j->nmarks);

	if (p && q && q->seq < p->seq)
		p = q;
	else if (!q)
		p = NULL;
	if (r->nmarks == j->nmarks && r->seq <= j->seq && r->index <= j->index &&
		(!p || p->seq <= r->seq)) {
		j->s = state_clone(r->s);
		j->made = r->nmarks;
	} else if (p) {
		j->s = state_clone(p->s);
		j->made = p->nmarks;
	} else {
		j->s = state_clone(r->base);
		j->made = 0;
	}
	j->at = totals(j->s);
}

/* Starts from a keyframe, if there is one after j->s that the marks allow. */
static struct err *start_keyframe(struct replay *r, struct jump *j)
{
	uint64_t guess = j->seq;
	struct state *k;

	if (j->nmarks && r->marks[0].at < guess)
		guess = r->marks[0].at;
	if (j->index != UINT64_MAX && r->seq > j->seq && r->index > j->index &&
		guess > r->seq - (r->index - j->index))
		guess = r->seq - (r->index - j->index); /* seqs rise at least as fast as numbers */
	while (guess > j->at.seq + JUMP_KEYFRAME) {
		struct state_totals t;

		TRY(state_keyframe(&k, r->trace, guess));
		t = totals(k);
		if (t.seq > j->at.seq && t.commands <= j->index) {
			state_free(j->s);
			j->s = k;
			j->at = t;
			j->made = 0;
			points_add(&r->points, k, 0);
			return NULL;
		}
		state_free(k);
		if (t.seq <= j->at.seq)
			return NULL;
		guess = t.seq - 1;
	}
	return NULL;
}

static void make_marks(const struct replay *r, struct jump *j)
{
	while (j->made < j->nmarks && r->marks[j->made].at <= j->at.seq)
		state_retire(j->s, r->marks[j->made++].seq);
}

/* Whether a checkpoint is left so many commands before the goal: the closer, the denser. */
static bool leave_point(uint64_t left)
{
	return left == 64 || left == 256 || left == 1024 || left == 4096 || left == 16384;
}

static struct err *jump_one(const struct replay *r, struct jump *j, const struct sbt_cmd *c)
{
	TRY(apply(r, &j->s, j->at.seq, c, j->nmarks));
	j->at.seq = c->seq;
	j->at.commands = sbt_reader_damage(r->trace) ? totals(j->s).commands : j->at.commands + 1;
	make_marks(r, j);
	return NULL;
}

static struct err *jump_fold(struct replay *r, struct jump *j)
{
	const struct sbt_cmd *c = NULL;
	uint64_t goal = j->index;

	if (goal == UINT64_MAX)
		goal = j->at.commands + (j->seq - j->at.seq); /* a guess, for the checkpoints */
	r->astray = true;
	r->cmd = NULL;
	make_marks(r, j);
	if (j->at.seq < j->seq && j->at.commands < j->index)
		TRY(sbt_cursor_seek(r->cursor, j->at.seq + 1));
	while (j->at.seq < j->seq && j->at.commands < j->index) {
		TRY(sbt_cursor_next(r->cursor, &c));
		if (!c || c->seq > j->seq)
			return NULL;
		TRY(jump_one(r, j, c));
		if (goal > j->at.commands && leave_point(goal - j->at.commands))
			points_add(&r->points, j->s, j->made);
	}
	r->cmd = c; /* the cursor is right behind the goal */
	return NULL;
}

unsigned replay_marks_before(const struct replay *r, uint64_t seq)
{
	unsigned n = r->nmarks;

	while (n && r->marks[n - 1].at >= seq)
		n--;
	return n;
}

/* A window's beginning is the end of what comes before it, even if the last commands before it are
 * missing. */
static struct err *seek_device(struct replay *r, uint64_t seq)
{
	return r->ex.seek(r->ex.arg, r->window && seq < r->first ? r->first - 1 : seq);
}

/* Makes the state at the goal; the caller takes or frees it. */
static struct err *jump_find(struct replay *r, struct jump *j)
{
	struct err *e;

	points_drop(&r->points, UINT64_MAX, j->nmarks);
	start_near(r, j);
	e = start_keyframe(r, j);
	return e ? e : jump_fold(r, j);
}

static void jump_leave(struct replay *r, struct jump *j)
{
	state_free(j->s);
	r->astray = true;
}

static void jump_take(struct replay *r, struct jump *j)
{
	state_free(r->s);
	r->s = j->s;
	j->at = totals(j->s);
	r->index = j->at.commands;
	r->seq = r->index == r->base_index ? 0 : j->at.seq;
	r->nmarks = j->nmarks;
	r->next_point = r->index + POINT_EVERY;
	r->astray = !r->cmd || r->cmd->seq != r->seq;
}

static struct err *jump(
	struct replay *r, uint64_t seq, uint64_t index, unsigned nmarks, bool execute)
{
	struct jump j = {.seq = seq, .index = index, .nmarks = nmarks};
	struct err *e = jump_find(r, &j);

	if (!e && r->has_ex && execute)
		e = seek_device(r, totals(j.s).seq);
	if (e)
		jump_leave(r, &j);
	else
		jump_take(r, &j);
	return e;
}

struct err *replay_jump(struct replay *r, uint64_t seq, uint64_t index, unsigned nmarks)
{
	return jump(r, seq, index, nmarks, true);
}

struct err *replay_jump_state(struct replay *r, uint64_t seq, uint64_t index, unsigned nmarks)
{
	return jump(r, seq, index, nmarks, false);
}

/* --- the state while the device runs --- */

struct replay_ahead {
	struct replay *r;
	struct jump j;
	struct err *e;
	pthread_t thread;
	bool started;
};

static void *find_ahead(void *arg)
{
	struct replay_ahead *a = arg;

	a->e = jump_find(a->r, &a->j);
	return NULL;
}

struct replay_ahead *replay_ahead_start(struct replay *r, uint64_t seq)
{
	struct replay_ahead *a = xcalloc(1, sizeof *a);

	a->r = r;
	a->j = (struct jump){.seq = seq, .index = UINT64_MAX, .nmarks = r->nmarks};
	a->started = !quiet_thread(&a->thread, NULL, find_ahead, a);
	return a;
}

struct err *replay_ahead_end(struct replay_ahead *a, bool take)
{
	struct err *e;

	if (a->started)
		pthread_join(a->thread, NULL);
	else if (take)
		find_ahead(a);
	e = a->e;
	if (take && !e) {
		jump_take(a->r, &a->j);
	} else {
		jump_leave(a->r, &a->j);
		if (!take) {
			err_free(e);
			e = NULL;
		}
	}
	free(a);
	return e;
}

/* --- the moves --- */

struct err *replay_open(
	struct replay **ret, struct sbt_reader *trace, const struct replay_executor *ex)
{
	uint64_t first = sbt_reader_first_seq(trace), last = sbt_reader_last_seq(trace);
	bool window = ex && ex->first;
	struct replay *r;
	struct sbt_cursor *cursor;
	struct state *base;
	struct err *e;

	*ret = NULL;
	if (window && (ex->first < first || ex->first > last || ex->last < ex->first))
		return err_new(ERR_BAD_TRACE,
			"the window #%" PRIu64 " to #%" PRIu64
			" does not lie within the trace, #%" PRIu64 " to #%" PRIu64,
			ex->first, ex->last, first, last);
	if (window)
		TRY(state_at(&base, trace, ex->first - 1));
	else
		TRY(state_keyframe(&base, trace, first ? first - 1 : 0));
	e = sbt_cursor_open(&cursor, trace);
	if (e) {
		state_free(base);
		return e;
	}
	r = xcalloc(1, sizeof *r);
	r->trace = trace;
	r->cursor = cursor;
	r->base = base;
	r->s = state_clone(base);
	r->base_index = r->index = totals(base).commands;
	r->astray = true;
	r->next_point = r->index + POINT_EVERY;
	r->window = window;
	r->first = window ? ex->first : first ? first : 1;
	r->last = window ? ex->last : last;
	if (ex) {
		r->ex = *ex;
		r->has_ex = true;
	}
	*ret = r;
	return NULL;
}

void replay_close(struct replay *r)
{
	if (!r)
		return;
	if (r->has_ex)
		r->ex.close(r->ex.arg);
	points_free(&r->points);
	state_free(r->s);
	state_free(r->base);
	sbt_cursor_close(r->cursor);
	free(r->marks);
	free(r);
}

uint64_t replay_seq(const struct replay *r)
{
	return r->seq;
}

const struct state *replay_state(const struct replay *r)
{
	return r->s;
}

const struct sbt_cmd *replay_cmd(const struct replay *r)
{
	return r->cmd;
}

#define FAR 64 /* commands: so many are not stepped one by one on a device */

/* The seq of the n-th command behind the position; *why when there are fewer. */
static struct err *far_ahead(struct replay *r, uint64_t n, uint64_t *ret, enum replay_why *why)
{
	const struct sbt_cmd *c;

	*ret = r->seq;
	r->astray = true;
	r->cmd = NULL;
	TRY(sbt_cursor_seek(r->cursor, r->seq ? r->seq + 1 : r->first));
	for (; n; n--) {
		TRY(sbt_cursor_next(r->cursor, &c));
		if (!c || c->seq > r->last)
			break;
		*ret = c->seq;
	}
	if (n)
		*why = REPLAY_END;
	return NULL;
}

static struct err *step_far(struct replay *r, uint64_t n, enum replay_why *why)
{
	uint64_t seq;

	TRY(far_ahead(r, n, &seq, why));
	return seq > r->seq ? replay_run_to(r, seq, why) : replay_settle(r);
}

struct err *replay_step(struct replay *r, uint64_t n, struct replay_stop *ret)
{
	enum replay_why why = REPLAY_STEPPED;
	const struct sbt_cmd *c;
	struct err *e = NULL;

	if (n > FAR && r->has_ex && r->ex.run) {
		e = step_far(r, n, &why);
		return replay_stopped(r, e, why, ret);
	}
	for (; n && !e; n--) {
		e = replay_peek(r, &c);
		if (!e && !c) {
			why = REPLAY_END;
			e = replay_settle(r);
		}
		if (e || !c)
			break;
		e = replay_submit(r, c, n == 1 || c->seq == r->last);
	}
	return replay_stopped(r, e, why, ret);
}

struct err *replay_reverse_step(struct replay *r, uint64_t n, struct replay_stop *ret)
{
	uint64_t index = r->index, at = r->seq;
	unsigned m = r->nmarks;
	struct err *e = NULL;

	while (n && (m || index > r->base_index)) {
		uint64_t back, stop = m ? r->marks[m - 1].index : r->base_index;

		if (m && r->marks[m - 1].at == at) {
			m--;
			n--;
			continue;
		}
		back = index - stop < n ? index - stop : n;
		index -= back;
		n -= back;
		at = m && index == stop ? r->marks[m - 1].at : 0;
	}
	if (index < r->index)
		e = replay_jump(r, r->seq - 1, index, m);
	else if (m < r->nmarks)
		e = replay_jump(r, r->seq, UINT64_MAX, m);
	return replay_stopped(r, e, r->seq ? REPLAY_STEPPED : REPLAY_BEGIN, ret);
}

struct err *replay_not_held(const struct replay *r, uint64_t seq)
{
	uint64_t first = sbt_reader_first_seq(r->trace), last = sbt_reader_last_seq(r->trace);

	if (r->window && (seq < r->first || seq > r->last))
		return err_cure(err_new(ERR_NOT_FOUND,
					"#%" PRIu64 " is outside the window #%" PRIu64
					" to #%" PRIu64 ", which is what can be executed again",
					seq, r->first, r->last),
			"`goto %" PRIu64 "` without a device shows the state there", seq);

	if (!first)
		return err_new(ERR_NOT_FOUND,
			"the trace holds no commands, so there is no #%" PRIu64, seq);
	if (seq >= first && seq <= last)
		return err_new(ERR_NOT_FOUND,
			"#%" PRIu64 " is missing in the trace, which runs from #%" PRIu64
			" to #%" PRIu64,
			seq, first, last);
	return err_cure(err_new(ERR_NOT_FOUND, "the trace does not hold #%" PRIu64, seq),
		"it runs from #%" PRIu64 " to #%" PRIu64, first, last);
}

/* Not every number becomes a command: if the call of a window's last number changed nothing, that
 * number means "behind all of it". */
struct err *replay_look_up(struct replay *r, uint64_t seq)
{
	const struct sbt_cmd *c;

	if (!seq)
		return NULL;
	if (r->window && (seq < r->first || seq > r->last))
		return replay_not_held(r, seq);
	r->astray = true;
	r->cmd = NULL;
	TRY(sbt_cursor_seek(r->cursor, seq));
	TRY(sbt_cursor_next(r->cursor, &c));
	return (c && c->seq == seq) || (r->window && seq == r->last) ? NULL
								     : replay_not_held(r, seq);
}

struct err *replay_goto(struct replay *r, uint64_t seq, struct replay_stop *ret)
{
	struct err *e = replay_look_up(r, seq);

	if (!e)
		e = replay_jump(r, seq, UINT64_MAX, 0);
	return replay_stopped(r, e, r->seq ? REPLAY_STEPPED : REPLAY_BEGIN, ret);
}

/* --- one stream alone --- */

void replay_mark(struct replay *r, uint64_t seq)
{
	points_drop(&r->points, r->seq, r->nmarks);
	MAKE_ROOM(r->marks, r->nmarks, r->marks_cap);
	r->marks[r->nmarks++] = (struct mark){.at = r->seq, .index = r->index, .seq = seq};
	state_retire(r->s, seq);
}

static struct err *held_back(const struct state_stream *st)
{
	if (st->wait_event != SBT_NO_ID)
		return err_cure(
			err_new(ERR_STATE,
				"stream %u waits at #%" PRIu64
				" for event %u, recorded by #%" PRIu64 " on stream %u",
				st->id, st->head, st->wait_event, st->wait_seq, st->wait_stream),
			"`replay next stream %u` until that is finished", st->wait_stream);
	return err_cure(
		err_new(ERR_STATE, "stream %u waits at #%" PRIu64 " for #%" PRIu64 " on stream %u",
			st->id, st->head, st->wait_seq, st->wait_stream),
		"`replay next stream %u` until that is finished", st->wait_stream);
}

/* Retires the head, if there is one. */
static struct err *retire_head(struct replay *r, uint32_t stream, uint64_t *ret)
{
	struct state_stream st;

	if (!state_stream_by_id(r->s, stream, &st) || !st.head)
		return NULL;
	/* a value in memory holds it back: only the user knows when that value comes */
	if (st.status == STATE_WAITING && st.wait_stream != SBT_NO_ID)
		return held_back(&st);
	replay_mark(r, st.head);
	*ret = st.head;
	return NULL;
}

/* Submits one command. It counts as retired when it was work of the stream and is finished already
 * (a synchronous copy). */
static struct err *submit_for(struct replay *r, uint32_t stream, uint64_t *ret)
{
	const struct sbt_cmd *c;
	struct state_stream st;

	TRY(replay_peek(r, &c));
	if (!c)
		return err_new(ERR_NOT_FOUND,
			"stream %u has no more work up to the end of the %s, #%" PRIu64, stream,
			r->window ? "window" : "trace", r->last);
	TRY(replay_submit(r, c, false));
	if (state_stream_by_id(r->s, stream, &st) && st.last_submitted == r->seq && !st.head)
		*ret = r->seq;
	return NULL;
}

struct err *replay_next_stream(struct replay *r, uint32_t stream, struct replay_stop *ret)
{
	uint64_t seq = r->seq, retired = 0;
	struct err *e = NULL;

	while (!e && !retired) {
		e = retire_head(r, stream, &retired);
		if (!e && !retired)
			e = submit_for(r, stream, &retired);
	}
	if (!e && r->seq != seq)
		e = replay_settle(r);
	if (e && r->seq != seq && (e->code == ERR_NOT_FOUND || e->code == ERR_STATE))
		err_free(replay_jump(r, seq, UINT64_MAX, r->nmarks)); /* undo the attempt */
	e = replay_stopped(r, e, REPLAY_STEPPED, ret);
	ret->retired = retired;
	return e;
}
