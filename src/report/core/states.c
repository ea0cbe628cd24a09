/* SPDX-License-Identifier: Apache-2.0
 *
 * What changes in the GPU's state, see states.h.
 */
#include "report/core/states.h"

#include <stdlib.h>
#include <string.h>

enum { ALLOCS_MAX = 1 << 24 };

void states_init(struct states *s)
{
	*s = (struct states){
		.last.size = sizeof(struct states_stream), .known_events.size = sizeof(uint8_t)};
}

/* --- streams --- */

static bool same(const struct state_stream *x, const struct state_stream *y)
{
	return x->status == y->status && x->head == y->head && x->pending == y->pending &&
	       x->finished == y->finished && x->destroyed == y->destroyed &&
	       x->capturing == y->capturing && x->wait_seq == y->wait_seq &&
	       x->wait_stream == y->wait_stream && x->wait_event == y->wait_event;
}

static uint32_t device_of(const struct state *st, uint32_t ctx)
{
	struct state_context x;

	for (unsigned i = 0; state_context(st, i, &x); i++) {
		if (x.id == ctx)
			return x.device;
	}
	return SBT_NO_ID;
}

/* Adds a record when the stream is not as it was. */
static void look_at(
	struct states *s, const struct state *st, uint64_t seq, const struct state_stream *now)
{
	struct states_stream *was = id_table_row(&s->last, now->id, true);
	struct pack *p = &s->streams;

	if (!was || (was->known && same(&was->is, now)))
		return;
	pack_u64(p, seq - s->stream_seq);
	pack_u64(p, now->id);
	pack_u64(p, now->status);
	pack_u64(p, (unsigned)now->destroyed | (unsigned)now->capturing << 1);
	pack_i64(p, (int64_t)(seq - now->head));
	pack_u64(p, now->pending);
	pack_i64(p, (int64_t)(now->finished - was->is.finished));
	pack_i64(p, (int64_t)(seq - now->wait_seq));
	pack_u64(p, now->wait_stream == SBT_NO_ID ? 0 : (uint64_t)now->wait_stream + 1);
	pack_u64(p, now->wait_event == SBT_NO_ID ? 0 : (uint64_t)now->wait_event + 1);
	s->stream_seq = seq;
	if (!was->known)
		was->device = device_of(st, now->ctx);
	was->known = true;
	was->gone = false;
	was->is = *now;
}

/* Adds a record for each stream that the state does not have any more: a destroyed one goes once
 * its work has ended. */
static void look_for_gone(struct states *s, const struct state *st, uint64_t seq)
{
	struct states_stream *was = s->last.at;
	struct state_stream now;

	for (size_t i = 0; i < s->last.n; i++) {
		if (!was[i].known || was[i].gone || state_stream_by_id(st, (uint32_t)i, &now))
			continue;
		now = (struct state_stream){.id = (uint32_t)i,
			.destroyed = true,
			.finished = was[i].is.finished,
			.wait_event = SBT_NO_ID,
			.wait_stream = SBT_NO_ID};
		look_at(s, st, seq, &now);
		was[i].gone = true;
	}
}

/* Whether the command can change no stream's state but its own: it is put into a queue, and the
 * host learns nothing. */
static bool own_stream_alone(const struct sbt_cmd *c)
{
	switch (c->kind) {
	case SBT_LAUNCH:
	case SBT_GRAPH_LAUNCH:
	case SBT_EVENT_RECORD:
	case SBT_STREAM_WAIT:
	case SBT_HOST_FUNC:
		return sbt_cmd_is_work(c);
	default:
		return false;
	}
}

static void take_streams(struct states *s, const struct state *st, const struct sbt_cmd *c)
{
	struct state_stream now;

	if (c->kind == SBT_KERNEL_DEF || c->kind == SBT_MARK)
		return;
	if (own_stream_alone(c)) {
		if (state_stream_by_id(st, sbt_cmd_stream(c), &now))
			look_at(s, st, c->seq, &now);
		return;
	}
	for (unsigned i = 0; state_stream(st, i, &now); i++)
		look_at(s, st, c->seq, &now);
	look_for_gone(s, st, c->seq);
}

/* --- events --- */

static void take_event(struct states *s, const struct state *st, uint64_t seq, uint64_t id)
{
	struct state_event e = {.destroyed = true, .stream = SBT_NO_ID};
	uint8_t *known = id_table_row(&s->known_events, id, true);
	struct pack *p = &s->events;

	if (!known || (!state_event_by_id(st, (uint32_t)id, &e) && !*known))
		return;
	*known = !e.destroyed;
	pack_u64(p, seq - s->event_seq);
	pack_u64(p, id);
	pack_u64(p, (unsigned)e.recorded | (unsigned)e.destroyed << 1);
	pack_u64(p, e.stream == SBT_NO_ID ? 0 : (uint64_t)e.stream + 1);
	pack_i64(p, (int64_t)(seq - e.record_seq));
	s->event_seq = seq;
}

/* After a context has gone: those that went with it. */
static void take_gone_events(struct states *s, const struct state *st, uint64_t seq)
{
	struct state_event e;

	for (size_t i = 0; i < s->known_events.n; i++) {
		const uint8_t *known = s->known_events.at;

		if (known[i] && !state_event_by_id(st, (uint32_t)i, &e))
			take_event(s, st, seq, i);
	}
}

static void take_events(struct states *s, const struct state *st, const struct sbt_cmd *c)
{
	switch (c->kind) {
	case SBT_EVENT_CREATE:
		take_event(s, st, c->seq, c->u.event_create.new_event);
		break;
	case SBT_EVENT_RECORD:
		take_event(s, st, c->seq, c->u.event_record.event);
		break;
	case SBT_EVENT_DESTROY:
		take_event(s, st, c->seq, c->u.event_destroy.dead_event);
		break;
	case SBT_CTX_DESTROY:
		take_gone_events(s, st, c->seq);
		break;
	case SBT_LAUNCH:
		if (c->u.launch.trigger_event)
			take_event(s, st, c->seq, c->u.launch.trigger_event - 1);
		if (c->u.launch.begun_event)
			take_event(s, st, c->seq, c->u.launch.begun_event - 1);
		break;
	default:
		break;
	}
}

/* --- allocations --- */

static uint32_t *slot(const struct states *s, uint64_t addr)
{
	return &s->slots[(addr * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (s->nslots - 1)];
}

static void rehash(struct states *s)
{
	s->nslots = s->nslots ? 2 * s->nslots : 256;
	free(s->slots);
	s->slots = xcalloc(s->nslots, sizeof *s->slots);
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t *at = slot(s, s->a[i].addr);

		if (s->a[i].to)
			continue;
		s->a[i].next = *at;
		*at = i + 1;
	}
}

/* The live one that begins at addr, as what refers to it; where there is none, refers to 0. */
static uint32_t *find(const struct states *s, uint64_t addr)
{
	uint32_t *at = slot(s, addr);

	while (*at && s->a[*at - 1].addr != addr)
		at = &s->a[*at - 1].next;
	return at;
}

static void born(struct states *s, const struct state_alloc *a)
{
	uint32_t *at;

	if (s->n >= ALLOCS_MAX)
		return;
	if (s->live >= s->nslots)
		rehash(s);
	if (*find(s, a->addr))
		return;
	MAKE_ROOM(s->a, s->n, s->cap);
	at = slot(s, a->addr);
	s->a[s->n++] = (struct states_alloc){.addr = a->addr,
		.size = a->size,
		.from = a->alloc_seq,
		.device = a->device,
		.stack = a->stack,
		.mem = (uint8_t)a->mem,
		.next = *at};
	*at = s->n;
	s->live++;
}

static void dead(struct states *s, uint64_t addr, uint64_t seq)
{
	uint32_t *at = s->nslots ? find(s, addr) : NULL;

	if (!at || !*at)
		return;
	struct states_alloc *a = &s->a[*at - 1];

	a->to = seq;
	*at = a->next;
	s->live--;
}

/* After what may have changed any allocation: all are compared. */
static void compare_allocs(struct states *s, const struct state *st, uint64_t seq)
{
	struct state_alloc now;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct states_alloc *a = &s->a[i];

		if (!a->to && (!state_alloc_at(st, a->addr, &now) || now.addr != a->addr ||
				      now.alloc_seq != a->from))
			dead(s, a->addr, seq);
	}
	for (unsigned i = 0; state_alloc(st, i, &now); i++)
		born(s, &now);
}

/* How many are alive by the state's own count. */
static uint64_t live_in(const struct state *st)
{
	struct state_context x;
	uint64_t n = 0;

	for (unsigned i = 0; state_context(st, i, &x); i++)
		n += x.allocations;
	return n;
}

static void take_allocs(struct states *s, const struct state *st, const struct sbt_cmd *c)
{
	struct state_alloc now;
	uint64_t count, expected = s->count;

	if (c->kind != SBT_ALLOC && c->kind != SBT_FREE && c->kind != SBT_CTX_DESTROY)
		return;
	count = live_in(st);
	if (c->kind == SBT_ALLOC && state_alloc_at(st, c->u.alloc.addr, &now) &&
		now.alloc_seq == c->seq) {
		born(s, &now);
		expected++;
	} else if (c->kind == SBT_FREE && !state_alloc_at(st, c->u.free.addr, &now)) {
		dead(s, c->u.free.addr, c->seq);
		expected = count; /* it was there, or not: both are right now */
	}
	if (count != expected)
		compare_allocs(s, st, c->seq);
	s->count = count;
}

/* --- a command --- */

void states_take(struct states *s, const struct state *st, const struct sbt_cmd *c)
{
	take_streams(s, st, c);
	take_events(s, st, c);
	take_allocs(s, st, c);
}

struct err *states_end(struct states *s, FILE *f, unsigned trace,
	uint32_t (*stack)(void *arg, uint32_t id), void *arg)
{
	uint64_t addr = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct states_alloc *a = &s->a[i];

		pack_i64(&s->allocs, (int64_t)(a->addr - addr));
		pack_u64(&s->allocs, a->size);
		pack_u64(&s->allocs, a->mem);
		pack_u64(&s->allocs, a->device);
		pack_u64(&s->allocs, stack(arg, a->stack));
		pack_u64(&s->allocs, a->from);
		pack_u64(&s->allocs, a->to ? a->to - a->from : 0);
		addr = a->addr;
	}
	TRY(pack_end(&s->streams, f, trace, "streams"));
	TRY(pack_end(&s->events, f, trace, "events"));
	return pack_end(&s->allocs, f, trace, "allocs");
}

void states_free(struct states *s)
{
	pack_free(&s->streams);
	pack_free(&s->events);
	pack_free(&s->allocs);
	free(s->last.at);
	free(s->known_events.at);
	free(s->a);
	free(s->slots);
}
