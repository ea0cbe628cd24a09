/* SPDX-License-Identifier: Apache-2.0
 *
 * The state at a seq or at a time: the nearest keyframe, then a fold. A keyframe that is damaged is
 * passed over for the one before it. Times are not part of a state, so for a time those of the
 * pending commands are read from the trace again.
 */
#include <stdlib.h>
#include "state/fold/state-private.h"

struct err *state_keyframe(struct state **ret, struct sbt_reader *trace, uint64_t seq)
{
	struct buf b = BUF_INIT;
	struct err *e = NULL;

	for (*ret = NULL; !*ret; seq--) {
		uint64_t at = 0;

		buf_clear(&b);
		e = sbt_reader_keyframe(trace, seq, &at, &b);
		if (e || !b.len)
			break;
		err_free(state_decode(ret, b.data, b.len));
		if (*ret && ((*ret)->seq != at || at > seq)) {
			state_free(*ret);
			*ret = NULL;
		}
		if (!at || at > seq)
			break;
		seq = at;
	}
	buf_free(&b);
	if (!*ret && !e)
		*ret = state_new();
	return e;
}

static struct err *fold(struct state *s, struct sbt_cursor *cursor, uint64_t seq)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, s->seq + 1));
	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > seq)
			return NULL;
		TRY(state_apply(s, c));
	}
}

struct err *state_at(struct state **ret, struct sbt_reader *trace, uint64_t seq)
{
	struct sbt_cursor *cursor = NULL;
	struct state *s = NULL;
	struct err *e;

	*ret = NULL;
	TRY(state_keyframe(&s, trace, seq));
	if (s->seq < seq) {
		e = sbt_cursor_open(&cursor, trace);
		if (!e)
			e = fold(s, cursor, seq);
		sbt_cursor_close(cursor);
		if (e) {
			state_free(s);
			return e;
		}
	}
	*ret = s;
	return NULL;
}

/* --- by time --- */

/* The first command with a seq >= seq. */
static struct err *cmd_from(struct sbt_cursor *cursor, uint64_t seq, const struct sbt_cmd **ret)
{
	TRY(sbt_cursor_seek(cursor, seq));
	return sbt_cursor_next(cursor, ret);
}

/* The last seq entered at or before ns; 0: none. Threads race between taking the time and the seq,
 * so entry times rise along the trace but for microseconds: good enough for a search by halves. */
static struct err *seq_at_time(
	struct sbt_cursor *cursor, const struct sbt_reader *trace, uint64_t ns, uint64_t *ret)
{
	uint64_t lo = sbt_reader_first_seq(trace), hi = sbt_reader_last_seq(trace);
	const struct sbt_cmd *c;

	*ret = 0;
	while (lo && lo <= hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		TRY(cmd_from(cursor, mid, &c));
		if (c && c->host_ns <= ns) {
			*ret = c->seq;
			lo = c->seq + 1;
		} else {
			hi = mid - 1;
		}
	}
	return NULL;
}

static int by_seq(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Seqs of all commands in queues, rising; the caller frees. */
static uint64_t *pending_seqs(const struct state *s, size_t *ret_n)
{
	size_t n = 0;
	uint64_t *seqs;

	for (size_t i = 0; i < s->streams.n; i++)
		n += ROWS(s, streams, stream)[i].len;
	seqs = xmalloc((n + 1) * sizeof *seqs);
	*ret_n = n;
	n = 0;
	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream *st = &ROWS(s, streams, stream)[i];

		for (uint32_t j = 0; j < st->len; j++)
			seqs[n++] = ring_at(st, j)->seq;
	}
	qsort(seqs, n, sizeof *seqs, by_seq);
	return seqs;
}

/* Farther than this to the next one, and the cursor jumps. */
#define WALK_MAX 4096

static struct err *apply_times(
	struct state *s, struct sbt_cursor *cursor, const uint64_t *seqs, size_t n, uint64_t ns)
{
	const struct sbt_cmd *c = NULL;

	s->timed = true;
	for (size_t i = 0; i < n; i++) {
		if (!c || seqs[i] - c->seq > WALK_MAX)
			TRY(cmd_from(cursor, seqs[i], &c));
		while (c && c->seq < seqs[i])
			TRY(sbt_cursor_next(cursor, &c));
		if (!c)
			return NULL;
		if (c->seq != seqs[i]) {
			c = NULL; /* lost or damaged; look from the start for the next one */
			continue;
		}
		if (c->gpu_end_ns && c->gpu_end_ns <= ns)
			state_retire(s, c->seq);
		else if (c->gpu_start_ns && c->gpu_start_ns <= ns)
			state_begin(s, c->seq);
	}
	return NULL;
}

static struct err *at_time(
	struct state **ret, struct sbt_cursor *cursor, struct sbt_reader *trace, uint64_t ns)
{
	uint64_t seq, *seqs;
	struct err *e;
	size_t n;

	TRY(seq_at_time(cursor, trace, ns, &seq));
	TRY(state_at(ret, trace, seq));
	seqs = pending_seqs(*ret, &n);
	e = apply_times(*ret, cursor, seqs, n, ns);
	free(seqs);
	if (e) {
		state_free(*ret);
		*ret = NULL;
	}
	return e;
}

struct err *state_at_time(struct state **ret, struct sbt_reader *trace, uint64_t ns)
{
	struct sbt_cursor *cursor;
	struct err *e;

	*ret = NULL;
	if (!sbt_reader_meta(trace)->timestamps)
		return err_cure(err_new(ERR_INCOMPLETE, "the trace has no GPU times"),
			"record with `set capture timestamps on`");
	TRY(sbt_cursor_open(&cursor, trace));
	e = at_time(ret, cursor, trace, ns);
	sbt_cursor_close(cursor);
	return e;
}
