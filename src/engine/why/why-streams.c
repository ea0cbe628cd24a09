/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and the commands at their heads, see why-device.h. What they wait for is what the program
 * ordered; how far they are is what the device was asked.
 */
#include "engine/why/why-device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/buf.h"
#include "engine/recorder.h"
#include "engine/why/why-code.h"
#include "sbt/footprint.h"
#include "sbt/fields.h"

/* --- names --- */

const char *why_time(uint64_t ns, char to[32])
{
	const uint64_t ms = ns / 1000000;

	if (ms < 10000)
		snprintf(to, 32, "%" PRIu64 ".%" PRIu64 " s", ms / 1000, ms / 100 % 10);
	else
		snprintf(to, 32, "%" PRIu64 " s", ms / 1000);
	return to;
}

/* "wait_flag<<<1,32>>>"; other kinds by their names. */
static char *name_of(const struct why_device *d, const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *l = &c->u.launch;
	struct buf b = BUF_INIT;
	struct state_kernel k;

	if (c->kind == SBT_BATCH)
		return xstrdup(c->u.batch.is_wait ? "wait_value" : "write_value");
	if (c->kind != SBT_LAUNCH)
		return xstrdup(sbt_kind(c->kind)->name);
	why_put_launch(&b,
		state_kernel_by_id(d->state, (uint32_t)l->kernel, &k) ? k.short_name : "kernel",
		(uint64_t[]){l->grid_x, l->grid_y, l->grid_z},
		(uint64_t[]){l->block_x, l->block_y, l->block_z});
	(void)buf_cstr(&b);
	return buf_steal(&b);
}

static const char *stream_name(const struct why_device *d, uint32_t stream, char to[64])
{
	struct state_stream st;

	snprintf(to, 64, "stream %" PRIu32 "%s", stream,
		state_stream_by_id(d->state, stream, &st) && st.is_default && !st.per_thread
			? " (the legacy default stream)"
			: "");
	return to;
}

uint32_t why_stream_node(struct why_device *d, uint32_t stream)
{
	char name[64];

	return why_node(d->w, WHY_STREAM, d->pid, stream, stream_name(d, stream, name));
}

bool why_command(const struct why_device *d, uint64_t seq, struct sbt_cmd *ret)
{
	return why_code_command(d->en->live.recorder, seq, ret);
}

/* --- commands --- */

/* Finds a pending command: its stream, and the brief form that the state keeps. */
static bool find_pending(
	const struct why_device *d, uint64_t seq, struct state_stream *ret, struct sbt_cmd *ret_cmd)
{
	enum state_status status;

	for (unsigned i = 0; state_stream(d->state, i, ret); i++) {
		if (!ret->pending || ret->head > seq || ret->last_submitted < seq)
			continue;
		for (unsigned k = 0;
			state_queue(d->state, ret->id, k, ret_cmd, &status) && ret_cmd->seq <= seq;
			k++)
			if (ret_cmd->seq == seq)
				return true;
	}
	return false;
}

uint32_t why_command_node(struct why_device *d, uint64_t seq)
{
	struct state_stream st;
	struct sbt_cmd brief, c;
	uint32_t node = why_find(d->w, WHY_COMMAND, d->pid, seq);
	char *name;

	if (node != WHY_NONE || !find_pending(d, seq, &st, &brief))
		return node;
	name = name_of(d, why_command(d, seq, &c) ? &c : &brief);
	node = why_node(d->w, WHY_COMMAND, d->pid, seq, name);
	free(name);
	if (st.head != seq)
		why_edge(d->w, node, why_command_node(d, st.head), WHY_KNOWN_RECORDED, WHY_BEHIND);
	return node;
}

void why_would_write(struct why_device *d, uint32_t node)
{
	struct why_node *n = why_at(d->w, node);
	struct state_stream st;
	struct sbt_cmd brief;
	char stream[64];

	if (!n->does && find_pending(d, n->id, &st, &brief) && st.head != n->id)
		why_set(&n->does, "would write there; it is on %s, behind #%" PRIu64,
			stream_name(d, st.id, stream), st.head);
}

/* --- what heads wait for --- */

static void waits_for_event(
	struct why_device *d, const struct state_stream *st, uint32_t stream, uint32_t head)
{
	struct state_event e;
	char name[32], on[64];
	uint32_t event, record;

	snprintf(name, sizeof name, "event %" PRIu32, st->wait_event);
	event = why_node(d->w, WHY_EVENT, d->pid, st->wait_event, name);
	why_edge(d->w, head, event, WHY_KNOWN_RECORDED, "waits for");
	if (!state_event_by_id(d->state, st->wait_event, &e))
		return;
	why_set(&why_at(d->w, stream)->does,
		"waits for event %" PRIu32 ", recorded at #%" PRIu64 " on %s", e.id, st->wait_seq,
		stream_name(d, st->wait_stream == SBT_NO_ID ? e.stream : st->wait_stream, on));
	record = why_command_node(d, st->wait_seq);
	if (record != WHY_NONE)
		why_edge(d->w, event, record, WHY_KNOWN_RECORDED, "is recorded by");
	else
		why_at(d->w, event)->end = WHY_END_COMES;
}

/* The barrier between the legacy default stream and the others. */
static void waits_for_stream(
	struct why_device *d, const struct state_stream *st, uint32_t stream, uint32_t head)
{
	const uint32_t other = why_command_node(d, st->wait_seq);
	char on[64];

	if (other == WHY_NONE) {
		why_at(d->w, head)->end = WHY_END_COMES;
		return;
	}
	why_edge(d->w, head, other, WHY_KNOWN_RECORDED, "waits for");
	why_set(&why_at(d->w, stream)->does,
		"waits for #%" PRIu64
		" on %s: the legacy default stream and the others wait for each other",
		st->wait_seq, stream_name(d, st->wait_stream, on));
}

static uint64_t value_now(const struct why_device *d, uint64_t addr, unsigned bytes, bool *known)
{
	uint64_t v = 0;
	struct err *e = inferior_read(d->p->inf, addr, &v, bytes < 8 ? bytes : 8);

	*known = !e;
	err_free(e);
	return v;
}

static void waits_for_value(struct why_device *d, uint32_t head, const struct sbt_cmd *c)
{
	static const char *const conditions[] = {">=", "==", "&", "nor"};
	const unsigned bytes = c->u.batch.elem == 8 ? 8 : 4;
	const uint64_t flags = c->u.batch.op_flags, addr = c->u.batch.addr;
	struct why_node *n;
	char text[64] = "";
	bool known;
	const uint64_t now = value_now(d, addr, bytes, &known);

	if (known && sbt_wait_is_over(&c->u.batch, now)) {
		/* where the device does not say at what it is, it is behind the wait, anywhere */
		if (d->look && d->look->answered && d->look->look[d->look->two].is_soft)
			why_at(d->w, head)->moved = WHY_MOVED;
		return;
	}
	if (known)
		snprintf(text, sizeof text, " (now %" PRIu64 ")", now);
	why_edge(d->w, head, why_value(d, addr, bytes, now), WHY_KNOWN_RECORDED, "waits for");
	n = why_at(d->w, head);
	why_set(&n->does, "waits until %u bytes at 0x%" PRIx64 "%s are %s %" PRIu64, bytes, addr,
		text, conditions[flags & 3], c->u.batch.value);
}

/* The correlation id of the command, and since when the device has been at it; 0: not known. */
static uint32_t corr_of(const struct why_device *d, const struct sbt_cmd *c, uint64_t *ret_since)
{
	const struct soft_look *l = &d->look->look[d->look->two].soft;

	*ret_since = 0;
	for (uint32_t i = 0; d->look->answered && i < l->nstreams; i++) {
		if (!l->stream[i].corr || inferior_seq_of(d->p->inf, l->stream[i].corr) != c->seq)
			continue;
		*ret_since = l->stream[i].since_ns;
		return l->stream[i].corr;
	}
	return 0;
}

static void runs_on_host(struct why_device *d, uint32_t head, uint32_t tid)
{
	const uint32_t thread = why_find(d->w, WHY_THREAD, d->pid, tid);

	if (thread != WHY_NONE)
		why_edge(d->w, head, thread, WHY_KNOWN_SEEN, "runs on");
}

/* A host function, of a stream or of a graph: the thread that executes it. */
static void find_host_thread(struct why_device *d, uint32_t head, uint32_t corr)
{
	const struct soft_look *l = &d->look->look[d->look->two].soft;

	for (uint32_t i = 0; corr && i < l->nstreams; i++)
		if (l->stream[i].corr == corr && l->stream[i].kind == SOFT_LOOK_HOST)
			runs_on_host(d, head, l->stream[i].os_tid);
}

/* By what is queued and by the kernels' code. False: that says nothing. */
static bool at_kept(struct why_device *d, const struct state_stream *st, uint32_t stream)
{
	const struct why_queue *q = why_queue_of(d, st->id);
	uint32_t node;

	if (q && q->sure) {
		node = why_command_node(d, q->kept[0].seq);
		why_edge(d->w, stream, node, WHY_KNOWN_DEVICE, "is at");
		why_kept_kernel(d, node, q);
		return true;
	}
	if (q && q->why) {
		node = why_command_node(d, q->open_seq);
		if (node != WHY_NONE && !why_at(d->w, node)->does)
			why_set(&why_at(d->w, node)->does, "may be running; %s", q->why);
	}
	return false;
}

static void at_head(struct why_device *d, const struct state_stream *st, uint32_t stream)
{
	if (why_at_callback(d, st, stream) || at_kept(d, st, stream))
		return;
	const uint32_t head = why_command_node(d, st->head);
	struct state_stream own;
	struct sbt_cmd brief, c;
	uint64_t since = 0;
	uint32_t corr;
	char text[32];

	why_edge(d->w, stream, head, WHY_KNOWN_DEVICE, "is at");
	if (!find_pending(d, st->head, &own, &brief))
		return;
	if (!why_command(d, st->head, &c))
		c = brief;
	corr = d->look ? corr_of(d, &brief, &since) : 0;
	if (since && d->look->taken_ns > since && st->wait_event == SBT_NO_ID &&
		st->wait_stream == SBT_NO_ID) {
		why_at(d->w, head)->for_ns = d->look->taken_ns - since;
		why_set(&why_at(d->w, head)->does, "has been running for %s",
			why_time(d->look->taken_ns - since, text));
	}
	if (st->wait_event != SBT_NO_ID)
		waits_for_event(d, st, stream, head);
	else if (st->wait_stream != SBT_NO_ID)
		waits_for_stream(d, st, stream, head);
	else if (brief.kind == SBT_BATCH && brief.u.batch.is_wait)
		waits_for_value(d, head, &brief);
	else if (brief.kind == SBT_LAUNCH || brief.kind == SBT_GRAPH_LAUNCH)
		why_kernel(d, head, &c, corr);
	if (corr)
		find_host_thread(d, head, corr);
	else if (brief.kind == SBT_LAUNCH)
		why_memory_moves(d, st->id, head);
}

void why_streams(struct why_device *d)
{
	struct state_stream st;

	for (unsigned i = 0; state_stream(d->state, i, &st); i++)
		if (st.pending && !st.destroyed)
			(void)why_stream_node(d, st.id); /* before values ask for writers */
	why_queues(d);
	for (unsigned i = 0; state_stream(d->state, i, &st); i++)
		if (st.pending && !st.destroyed)
			at_head(d, &st, why_stream_node(d, st.id));
	free(d->queue);
	d->queue = NULL;
	d->nqueues = 0;
}
