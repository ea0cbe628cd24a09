/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps work back until the value that it waits for is there, see late-work.h.
 */
#include "state/late-work.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "sbt/cmd-pack.h"

struct kept {
	uint64_t seq, stream, event; /* event: that it records, or waits for; SBT_NO_ID none */
	enum late_stream like;
	bool is_wait, records, awaits, ends; /* ends: it ends the life of an object */
	bool is_sync; /* the host begins to wait: for stream, event, or with neither for everything
		       */
	bool first;   /* a wait with nothing kept in front of it: all that holds it is its value */
	bool forced;  /* the host knew that it was over */
	uint8_t *packed; /* heap, aligned to 8 */
	size_t size;
};
/* A wait of the host that has begun. */
struct host_wait {
	uint64_t seq, scope, stream, event;
};
#define HOST_WAITS 64u /* at a time: one for each thread of the host */

struct late {
	struct kept *k; /* in order of seq */
	size_t n, cap;
	struct host_wait waits[HOST_WAITS];
	unsigned nwaits;
	bool loose; /* something went: what was behind it may go, too */
	uint64_t forced;
	uint8_t *given; /* of the command that was handed out last */
};

static bool ends_object(unsigned kind)
{
	return kind == SBT_STREAM_DESTROY || kind == SBT_EVENT_DESTROY || kind == SBT_GRAPH_DESTROY;
}

static uint64_t stream_of(const struct sbt_cmd *c)
{
	if (c->kind == SBT_ALLOC)
		return c->u.alloc.stream;
	return c->kind == SBT_FREE ? c->u.free.stream : sbt_cmd_stream(c);
}

static struct kept as_kept(const struct late_user *u, const struct sbt_cmd *c)
{
	struct kept k = {.seq = c->seq,
		.stream = stream_of(c),
		.event = SBT_NO_ID,
		.ends = ends_object(c->kind)};

	k.like = k.stream >= SBT_NO_ID ? LATE_OTHER : u->stream(u->arg, k.stream);
	k.is_wait = c->kind == SBT_BATCH && c->u.batch.is_wait;
	k.records = c->kind == SBT_EVENT_RECORD;
	k.awaits = c->kind == SBT_STREAM_WAIT;
	if (k.records)
		k.event = c->u.event_record.event;
	if (k.awaits)
		k.event = c->u.stream_wait.event;
	k.is_sync = c->kind == SBT_SYNC;
	if (k.is_sync)
		k.stream = c->u.sync.scope == SBT_SYNC_STREAM ? c->u.sync.stream : SBT_NO_ID;
	if (k.is_sync)
		k.event = c->u.sync.scope == SBT_SYNC_EVENT ? c->u.sync.event : SBT_NO_ID;
	return k;
}

/* Whether b, submitted later, has to come behind a. */
static bool is_behind(const struct kept *a, const struct kept *b)
{
	if (a->is_sync) /* it holds back its own thread only */
		return b->ends;
	if (b->ends || (b->is_sync && b->stream == SBT_NO_ID && b->event == SBT_NO_ID) ||
		(a->stream < SBT_NO_ID && a->stream == b->stream))
		return true;
	if (b->is_sync)
		return a->records && a->event == b->event;
	if (a->records && b->awaits && a->event == b->event)
		return true;
	return (a->like == LATE_DEFAULT && b->like == LATE_BLOCKING) ||
	       (a->like == LATE_BLOCKING && b->like == LATE_DEFAULT);
}

static bool is_free(const struct late *l, size_t n, const struct kept *k)
{
	for (size_t i = 0; i < n; i++)
		if (is_behind(&l->k[i], k))
			return false;
	return true;
}

static bool may_be_kept(const struct sbt_cmd *c)
{
	return !c->result && !(c->flags & SBT_F_GRAPH) &&
	       (stream_of(c) < SBT_NO_ID || ends_object(c->kind) || c->kind == SBT_SYNC);
}

struct err *late_takes(
	const struct late *l, const struct late_user *u, const struct sbt_cmd *c, bool *ret)
{
	bool ready = true;

	*ret = false;
	if (!may_be_kept(c))
		return NULL;
	const struct kept k = as_kept(u, c);

	if (l && l->n && !is_free(l, l->n, &k)) {
		*ret = true;
		return NULL;
	}
	if (k.is_wait)
		TRY(u->ready(u->arg, c, &ready));
	*ret = !ready;
	return NULL;
}

void late_put(struct late **to, const struct late_user *u, const struct sbt_cmd *c)
{
	struct kept k = as_kept(u, c);
	struct late *l = *to ? *to : (*to = xcalloc(1, sizeof *l));

	if (l->n >= LATE_MAX)
		late_give_up(l);
	k.first = k.is_wait && is_free(l, l->n, &k);
	k.size = sbt_pack_size(c);
	k.packed = xmalloc(k.size);
	sbt_pack(k.packed, c);
	MAKE_ROOM(l->k, l->n, l->cap);
	l->k[l->n++] = k;
}

/* Whether the i-th may go: a wait whose value is there, or a command with no wait in front of
 * it. */
static struct err *may_go(struct late *l, const struct late_user *u, size_t i, bool *ret)
{
	const struct kept *k = &l->k[i];
	struct sbt_cmd c;

	*ret = false;
	if (!is_free(l, i, k))
		return NULL;
	*ret = true;
	if (!k->is_wait || k->forced)
		return NULL;
	if (!sbt_unpack(&c, k->packed, k->size))
		return err_new(ERR_BAD_TRACE, "#%llu cannot be packed", (unsigned long long)k->seq);
	TRY(u->ready(u->arg, &c, ret));
	l->k[i].first = !*ret;
	return NULL;
}

static struct err *hand_out(struct late *l, size_t i, struct sbt_cmd *ret)
{
	struct kept k = l->k[i];

	l->n--;
	memmove(&l->k[i], &l->k[i + 1], (l->n - i) * sizeof *l->k);
	free(l->given);
	l->given = k.packed;
	if (k.forced && k.is_wait && !l->forced)
		l->forced = k.seq;
	if (sbt_unpack(ret, k.packed, k.size))
		return NULL;
	return err_new(ERR_BAD_TRACE, "#%llu cannot be packed", (unsigned long long)k.seq);
}

/* Whether any command may go now: none can while all waits that are first in line still wait. */
static struct err *anything_new(struct late *l, const struct late_user *u, bool *ret)
{
	bool any = false;

	*ret = false;
	for (size_t i = 0; i < l->n && !*ret; i++) {
		any |= l->k[i].first;
		if (l->k[i].first)
			TRY(may_go(l, u, i, ret));
	}
	*ret |= !any;
	return NULL;
}

struct err *late_next(struct late *l, const struct late_user *u, struct sbt_cmd *ret, bool *ret_any)
{
	*ret_any = false;
	if (!l || !l->n)
		return NULL;
	if (!l->loose)
		TRY(anything_new(l, u, &l->loose));
	for (size_t i = 0; i < l->n && l->loose; i++) {
		TRY(may_go(l, u, i, ret_any));
		if (*ret_any)
			return hand_out(l, i, ret);
	}
	l->loose = false;
	return NULL;
}

static bool covers(const struct late *l, const struct host_wait *w)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->k[i].seq < w->seq &&
			(w->scope == SBT_SYNC_CTX ||
				(w->scope == SBT_SYNC_STREAM && l->k[i].stream == w->stream) ||
				(w->scope == SBT_SYNC_EVENT && l->k[i].records &&
					l->k[i].event == w->event)))
			return true;
	return false;
}

/* Lets all go that was submitted before seq. */
static void force(struct late *l, uint64_t seq)
{
	for (size_t i = 0; i < l->n; i++)
		l->k[i].forced |= l->k[i].seq < seq;
	l->loose = true;
}

void late_host_knows(struct late *l, const struct sbt_cmd *c)
{
	if (l && !l->n)
		l->nwaits = 0;
	if (!l || !l->n || c->result)
		return;
	if (c->kind == SBT_SYNC && l->nwaits < HOST_WAITS &&
		!(l->nwaits && l->waits[l->nwaits - 1].seq == c->seq)) /* the caller may report
									* it twice */
		l->waits[l->nwaits++] = (struct host_wait){
			c->seq, c->u.sync.scope, c->u.sync.stream, c->u.sync.event};
	if (c->kind == SBT_QUERY) {
		const struct host_wait w = {
			c->seq, c->u.query.scope, c->u.query.stream, c->u.query.event};

		if (covers(l, &w))
			force(l, w.seq);
	}
	for (unsigned i = 0; c->kind == SBT_SYNC_END && i < l->nwaits; i++) {
		const struct host_wait w = l->waits[i];

		if (w.seq != c->u.sync_end.begin)
			continue;
		l->waits[i] = l->waits[--l->nwaits];
		if (covers(l, &w))
			force(l, w.seq);
		return;
	}
}

void late_give_up(struct late *l)
{
	if (l)
		force(l, UINT64_MAX);
}

size_t late_count(const struct late *l)
{
	return l ? l->n : 0;
}

uint64_t late_forced(const struct late *l)
{
	return l ? l->forced : 0;
}

bool late_at(const struct late *l, size_t i, uint64_t *ret_seq, bool *ret_wait)
{
	if (!l || i >= l->n)
		return false;
	*ret_seq = l->k[i].seq;
	*ret_wait = l->k[i].is_wait;
	return true;
}

uint64_t late_holds(const struct late *l, uint64_t seq)
{
	size_t i = 0;

	while (l && i < l->n && l->k[i].seq != seq)
		i++;
	if (!l || i == l->n)
		return 0;
	/* The command in front may itself be behind another one. */
	for (size_t k = 0; k < i;) {
		if (is_behind(&l->k[k], &l->k[i])) {
			i = k;
			k = 0;
		} else {
			k++;
		}
	}
	return l->k[i].seq;
}

void late_clear(struct late *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->k[i].packed);
	l->n = l->nwaits = 0;
	l->forced = 0;
	l->loose = false;
}

void late_free(struct late *l)
{
	if (!l)
		return;
	late_clear(l);
	free(l->given);
	free(l->k);
	free(l);
}
