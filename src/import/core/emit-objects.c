/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands name: threads, contexts, streams, kernels, events, graphs. Each is introduced by a
 * command of its own when it is first named. Streams and contexts keep their number of the profile
 * unless another has it.
 */
#include <stdlib.h>
#include <string.h>
#include "import/core/emit.h"

enum { KEEPS_NUMBER = 65536 };

struct sbt_cmd emit_new(const struct emit *e, enum sbt_kind kind, uint32_t thread, int64_t at)
{
	return (struct sbt_cmd){.kind = (uint16_t)kind,
		.thread = thread,
		.ctx = SBT_NO_ID,
		.host_ns = (uint64_t)(e->s->base + at)};
}

static struct err *keyframe(struct emit *e)
{
	struct buf frame = BUF_INIT;
	struct err *err;

	if (sbt_writer_since_keyframe(e->w) < state_keyframe_every(e->state))
		return NULL;
	state_encode(e->state, &frame);
	err = sbt_writer_keyframe(e->w, e->seq, frame.data, frame.len);
	buf_free(&frame);
	return err;
}

struct err *emit_cmd(struct emit *e, struct sbt_cmd *c)
{
	c->seq = ++e->seq;
	TRY(sbt_writer_cmd(e->w, c));
	TRY(state_apply(e->state, c));
	return keyframe(e);
}

/* A command that only introduces something, in front of for_cmd. */
static struct sbt_cmd introduce(const struct sbt_cmd *for_cmd, enum sbt_kind kind)
{
	return (struct sbt_cmd){.kind = (uint16_t)kind,
		.flags = SBT_F_SYNTHETIC,
		.thread = for_cmd->thread,
		.ctx = for_cmd->ctx,
		.host_ns = for_cmd->host_ns};
}

static struct sbt_blob text_of(const char *s)
{
	return (struct sbt_blob){s, strlen(s)};
}

static struct err *no_more(const char *what)
{
	return err_new(ERR_LIMIT, "the profile has more %s than a trace can have", what);
}

/* --- threads --- */

static struct err *introduce_thread(struct emit *e, int64_t tid, uint32_t thread, int64_t at)
{
	struct sbt_cmd c = emit_new(e, SBT_THREAD, thread, at);
	sqlite3_stmt *q = stage_prepare(e->s, "SELECT name FROM thread WHERE tid = ?");
	const char *name = NULL;
	struct err *err;

	if (q)
		sqlite3_bind_int64(q, 1, tid);
	if (stage_step(e->s, q))
		name = (const char *)sqlite3_column_text(q, 0);
	c.flags = SBT_F_SYNTHETIC;
	c.u.thread.os_tid = tid > 0 && tid <= UINT32_MAX ? (uint64_t)tid : 0;
	c.u.thread.thread_name = text_of(name ? name : "");
	err = emit_cmd(e, &c);
	sqlite3_finalize(q);
	return err;
}

struct err *emit_thread_id(struct emit *e, int64_t tid, int64_t at, uint32_t *ret)
{
	bool fresh;

	*ret = key_number(&e->threads, &tid, sizeof tid, &fresh) + 1;
	if (*ret >= ID_TABLE_MAX)
		return no_more("threads");
	return fresh ? introduce_thread(e, tid, *ret, at) : NULL;
}

struct emit_thread *emit_thread_now(struct emit *e, uint32_t thread)
{
	struct emit_thread **t = id_table_row(&e->thread_now, thread, true);

	BUG_ON(!t);
	if (!*t)
		*t = xcalloc(1, sizeof **t);
	return *t;
}

/* --- contexts and streams --- */

/* An id for an object whose number in the profile is `wants`. */
static uint32_t give_id(struct id_table *used, uint32_t *next, int64_t wants)
{
	bool *row = wants >= 0 && wants < KEEPS_NUMBER ? id_table_row(used, (uint64_t)wants, true)
						       : NULL;

	if (row && !*row) {
		*row = true;
		return (uint32_t)wants;
	}
	if (*next < KEEPS_NUMBER)
		*next = KEEPS_NUMBER;
	return (*next)++;
}

struct err *emit_context(
	struct emit *e, int64_t device, int64_t ctx, const struct sbt_cmd *for_cmd, uint32_t *ret)
{
	const int64_t key[] = {device, ctx};
	struct sbt_cmd c = introduce(for_cmd, SBT_CTX_CREATE);
	bool fresh;
	const uint32_t number = key_number(&e->contexts, key, sizeof key, &fresh);
	uint32_t *id = id_table_row(&e->context_ids, number, true);

	if (!id)
		return no_more("contexts");
	if (fresh)
		*id = give_id(&e->contexts_used, &e->contexts_free, ctx < 0 ? 0 : ctx);
	*ret = *id;
	if (!fresh)
		return NULL;
	c.ctx = *ret;
	c.u.ctx_create.new_ctx = *ret;
	c.u.ctx_create.device = device < 0 ? 0 : (uint64_t)device;
	c.u.ctx_create.primary = true;
	c.u.ctx_create.default_stream = SBT_NO_ID;
	return emit_cmd(e, &c);
}

struct err *emit_stream(struct emit *e, int64_t device, int64_t ctx, int64_t stream,
	struct sbt_cmd *for_cmd, uint64_t *ret)
{
	const int64_t key[] = {device, ctx, stream};
	struct sbt_cmd c;
	uint32_t *id, number;
	bool fresh;

	TRY(emit_context(e, device, ctx, for_cmd, &for_cmd->ctx));
	number = key_number(&e->streams, key, sizeof key, &fresh);
	id = id_table_row(&e->stream_ids, number, true);
	if (!id)
		return no_more("streams");
	if (fresh)
		*id = give_id(&e->streams_used, &e->streams_free, stream);
	*ret = *id;
	if (!fresh)
		return NULL;
	c = introduce(for_cmd, SBT_STREAM_CREATE);
	c.u.stream_create.new_stream = *ret;
	c.u.stream_create.stream_flags = SBT_STREAM_UNKNOWN;
	return emit_cmd(e, &c);
}

/* --- kernels, events, graphs --- */

struct err *emit_kernel(struct emit *e, const char *name, int64_t regs, int64_t shared,
	const struct sbt_cmd *for_cmd, uint64_t *ret)
{
	struct sbt_cmd c = introduce(for_cmd, SBT_KERNEL_DEF);
	bool fresh;

	*ret = key_number(&e->kernels, name, strlen(name), &fresh);
	if (!fresh)
		return NULL;
	c.u.kernel_def.new_kernel = *ret;
	c.u.kernel_def.module = SBT_NO_ID;
	c.u.kernel_def.kernel_name = text_of(name);
	c.u.kernel_def.regs = (uint64_t)regs;
	c.u.kernel_def.static_shared = (uint64_t)shared;
	return emit_cmd(e, &c);
}

struct err *emit_event(struct emit *e, int64_t event, const struct sbt_cmd *for_cmd, uint64_t *ret)
{
	struct sbt_cmd c = introduce(for_cmd, SBT_EVENT_CREATE);
	bool fresh;

	*ret = key_number(&e->events, &event, sizeof event, &fresh);
	c.u.event_create.new_event = *ret;
	return fresh ? emit_cmd(e, &c) : NULL;
}

struct err *emit_graph(struct emit *e, int64_t graph, const struct sbt_cmd *for_cmd, uint64_t *ret)
{
	struct sbt_cmd c = introduce(for_cmd, SBT_GRAPH_INSTANTIATE);
	bool fresh;

	*ret = key_number(&e->graphs, &graph, sizeof graph, &fresh);
	c.u.graph_instantiate.new_exec = *ret;
	c.u.graph_instantiate.graph = SBT_NO_ID;
	return fresh ? emit_cmd(e, &c) : NULL;
}

/* --- devices --- */

struct err *emit_devices(struct emit *e)
{
	sqlite3_stmt *q = stage_prepare(e->s,
		"SELECT device, name, memory, processors, major, minor FROM device ORDER BY device");
	struct err *err = NULL;

	while (!err && stage_step(e->s, q)) {
		const char *name = (const char *)sqlite3_column_text(q, 1);
		struct sbt_cmd c = {.kind = SBT_DEVICE,
			.flags = SBT_F_SYNTHETIC,
			.thread = 1,
			.ctx = SBT_NO_ID};

		c.u.device.device = (uint64_t)sqlite3_column_int64(q, 0);
		c.u.device.device_name = text_of(name ? name : "");
		c.u.device.total_mem = (uint64_t)sqlite3_column_int64(q, 2);
		c.u.device.sm_count = (uint64_t)sqlite3_column_int64(q, 3);
		c.u.device.sm_major = (uint64_t)sqlite3_column_int64(q, 4);
		c.u.device.sm_minor = (uint64_t)sqlite3_column_int64(q, 5);
		err = emit_cmd(e, &c);
	}
	sqlite3_finalize(q);
	return err;
}
