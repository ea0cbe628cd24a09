/* SPDX-License-Identifier: Apache-2.0
 *
 * What each kind of command does to the state: transitions[] has one row per kind of commands.def,
 * with its function (in the other transitions-*.c) and the ids it must hold. The table life[] has
 * the objects' life cycles. A use that it forbids is counted as an oddity, and the command is
 * applied as far as it makes sense: the program may be wrong, and the user wants to see how.
 */
#include <stddef.h>
#include "state/fold/transitions.h"
#include "sbt/fields.h"

/* --- life cycles --- */

/* What is wrong with an input in a state; NULL: nothing. */
static const char *const life[LIVES][INPUTS] = {
	[ABSENT] = {[USE] = "is used but was never created, or is gone",
		[DESTROY] = "is destroyed but was never created, or is gone"},
	[ALIVE] = {[CREATE] = "is created a second time"},
	[DEAD] = {[CREATE] = "is created again",
		[USE] = "is used after it was destroyed",
		[DESTROY] = "is destroyed a second time"},
};

void live(struct state *s, const struct sbt_cmd *c, const char *what, uint64_t id, enum life now,
	enum input in)
{
	const char *wrong = life[now][in];

	if (wrong)
		oddity(s, "#%llu %s: %s %llu %s", SEQ(c), sbt_kind(c->kind)->name, what,
			(unsigned long long)id, wrong);
}

/* --- looking things up --- */

struct context *own_context(struct state *s, uint64_t id)
{
	return id < SBT_NO_ID ? table_own(&s->contexts, ROW(context), (uint32_t)id) : NULL;
}

struct event *own_event(struct state *s, uint64_t id)
{
	return id < SBT_NO_ID ? table_own(&s->events, ROW(event), (uint32_t)id) : NULL;
}

struct device *own_device(struct state *s, uint32_t ordinal)
{
	struct device *d = table_own(&s->devices, ROW(device), ordinal);

	return d ? d : table_insert(&s->devices, ROW(device), ordinal);
}

/* The device of a context, or NULL. */
struct device *device_of(struct state *s, uint32_t ctx)
{
	const struct context *x =
		ctx < SBT_NO_ID ? table_find(&s->contexts, ROW(context), ctx) : NULL;

	return x ? own_device(s, x->device) : NULL;
}

struct stream *new_stream(struct state *s, const struct sbt_cmd *c, uint64_t id, uint32_t ctx)
{
	struct stream *st = table_insert(&s->streams, ROW(stream), (uint32_t)id);

	st->ctx = ctx;
	st->thread = c->thread;
	return st;
}

/* The stream that c works on. An unknown one is added to the state, so that its commands are shown.
 * NULL: c has no stream. */
struct stream *work_stream(struct state *s, const struct sbt_cmd *c, uint64_t id)
{
	struct stream *st;
	const struct context *x;

	if (id == SBT_NO_ID) {
		x = c->ctx < SBT_NO_ID ? table_find(&s->contexts, ROW(context), c->ctx) : NULL;
		id = x ? x->default_stream : SBT_NO_ID;
	}
	if (id == SBT_NO_ID) {
		oddity(s, "#%llu %s: on no stream, and its context is not known", SEQ(c),
			sbt_kind(c->kind)->name);
		return NULL;
	}
	st = find_stream(s, id);
	live(s, c, "stream", id, LIFE_OF(st, destroyed), USE);
	if (!st) {
		st = new_stream(s, c, id, c->ctx);
		st->flags = SBT_STREAM_UNKNOWN;
	}
	return st;
}

/* Puts c into its stream's queue; returns the stream, NULL when it was only captured into a graph
 * or has none. */
struct stream *submit(struct state *s, const struct sbt_cmd *c, uint64_t stream, uint64_t object)
{
	struct stream *st;

	if (c->flags & SBT_F_GRAPH)
		return NULL;
	st = work_stream(s, c, stream);
	if (st)
		queue_push(s, st, c, (uint32_t)object, SBT_NO_ID, 0);
	return st;
}

/* For kinds that do nothing to the state but wait their turn in the stream that they name. */
static void on_queued(struct state *s, const struct sbt_cmd *c)
{
	const uint16_t at = sbt_stream_offset(c->kind);

	BUG_ON(!at);
	submit(s, c, *(const uint64_t *)(const void *)((const char *)c + at), 0);
}

/* --- notes --- */

void on_thread(struct state *s, const struct sbt_cmd *c)
{
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);

	t->os_tid = (uint32_t)c->u.thread.os_tid;
	t->name = str_put(&s->bytes, c->u.thread.thread_name.p, c->u.thread.thread_name.len);
}

static void on_nothing(struct state *s, const struct sbt_cmd *c)
{
}

void on_attach(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_attach *u = &c->u.attach;

	switch (u->what) {
	case SBT_ATTACH_BEGINS:
		s->attach = (struct attach){.seq = c->seq};
		break;
	case SBT_ATTACH_FOUND:
		s->attach.missed += u->missed;
		s->attach.probed += u->probed;
		s->attach.took += u->took;
		break;
	default:
		s->attach.unknown++;
		s->attach.text = str_put(&s->bytes, u->text.p, u->text.len);
	}
}

/* --- the table --- */

#define U(member) offsetof(struct sbt_cmd, u.member)

static const struct {
	void (*apply)(struct state *s, const struct sbt_cmd *c);
	uint16_t must; /* a field that holds an id which must be one, unless the call failed; other
			  ids may be SBT_NO_ID */
	uint16_t number; /* a field that is no id and held in 32 bits, too: a device's ordinal, a
			    node */
} transitions[SBT_KIND_END] = {
	[SBT_DEVICE] = {on_device, .must = U(device.device)},
	[SBT_CTX_CREATE] = {on_ctx_create, .number = U(ctx_create.device),
		.must = U(ctx_create.new_ctx)},
	[SBT_CTX_DESTROY] = {on_ctx_destroy, .must = U(ctx_destroy.dead_ctx)},
	[SBT_CTX_SET] = {on_ctx_set},
	[SBT_STREAM_CREATE] = {on_stream_create, .must = U(stream_create.new_stream)},
	[SBT_STREAM_DESTROY] = {on_stream_destroy, .must = U(stream_destroy.dead_stream)},
	[SBT_EVENT_CREATE] = {on_event_create, .must = U(event_create.new_event)},
	[SBT_EVENT_DESTROY] = {on_event_destroy, .must = U(event_destroy.dead_event)},
	[SBT_MODULE_LOAD] = {on_module_load, .must = U(module_load.new_module)},
	[SBT_MODULE_UNLOAD] = {on_module_unload, .must = U(module_unload.dead_module)},
	[SBT_KERNEL_DEF] = {on_kernel_def, .must = U(kernel_def.new_kernel)},
	[SBT_ALLOC] = {on_alloc, .number = U(alloc.device)},
	[SBT_FREE] = {on_free},
	[SBT_LAUNCH] = {on_launch},
	[SBT_COPY] = {on_copy},
	[SBT_FILL] = {on_fill},
	[SBT_EVENT_RECORD] = {on_event_record, .must = U(event_record.event)},
	[SBT_STREAM_WAIT] = {on_stream_wait, .must = U(stream_wait.event)},
	[SBT_SYNC] = {on_sync},
	[SBT_SYNC_END] = {on_sync_end},
	[SBT_QUERY] = {on_query},
	[SBT_HOST_FUNC] = {on_queued},
	[SBT_CAPTURE_BEGIN] = {on_capture_begin},
	[SBT_CAPTURE_END] = {on_capture_end},
	[SBT_GRAPH_CREATE] = {on_graph_create, .must = U(graph_create.new_graph)},
	[SBT_GRAPH_NODE] = {on_graph_node, .number = U(graph_node.node),
		.must = U(graph_node.graph)},
	[SBT_GRAPH_INSTANTIATE] = {on_graph_instantiate, .must = U(graph_instantiate.new_exec)},
	[SBT_GRAPH_DESTROY] = {on_graph_destroy, .must = U(graph_destroy.dead_graph)},
	[SBT_GRAPH_LAUNCH] = {on_graph_launch, .must = U(graph_launch.exec)},
	[SBT_FUNC_ATTR] = {on_func_attr},
	[SBT_TEXTURE_CREATE] = {on_texture_create, .must = U(texture_create.new_texture)},
	[SBT_TEXTURE_DESTROY] = {on_texture_destroy, .must = U(texture_destroy.dead_texture)},
	[SBT_GLOBAL_DEF] = {on_global_def},
	[SBT_MARK] = {on_nothing},
	[SBT_THREAD] = {on_thread},
	[SBT_UNREPLAYABLE] = {on_nothing},
	[SBT_MODULE_CODE] = {on_module_code, .must = U(module_code.module)},
	[SBT_GRAPH_ADD] = {on_nothing},
	[SBT_GRAPH_UPDATE] = {on_graph_update, .number = U(graph_update.node),
		.must = U(graph_update.exec)},
	[SBT_ATTACH] = {on_attach},
	[SBT_BATCH] = {on_queued},
	[SBT_CTX_LIMIT] = {on_ctx_limit},
};

bool transition_is_there(unsigned kind)
{
	return kind < SBT_KIND_END && transitions[kind].apply;
}

static uint64_t field(const struct sbt_cmd *c, uint16_t off)
{
	return *(const uint64_t *)((const char *)c + off);
}

/* No recorder writes such a value: it comes from a damaged or a made-up trace. */
static struct err *bad(const struct sbt_cmd *c, const char *what, uint16_t off)
{
	const struct sbt_field *f = sbt_kind(c->kind)->fields;

	while (f->name && f->offset != off)
		f++;
	return err_new(ERR_BAD_TRACE, "command #%llu (%s) has %s %llu as its %s, which cannot be",
		SEQ(c), sbt_kind(c->kind)->name, what, (unsigned long long)field(c, off),
		f->name ? f->name : "object");
}

struct err *state_check(const struct sbt_cmd *c)
{
	const struct sbt_field *over = sbt_out_of_range(c);
	uint16_t must, number;

	if (!sbt_kind(c->kind))
		return err_new(
			ERR_BAD_TRACE, "command #%llu has the unknown kind %u", SEQ(c), c->kind);
	BUG_ON(!transition_is_there(c->kind));
	must = transitions[c->kind].must;
	number = transitions[c->kind].number;
	if (over)
		return bad(c, over->type >= SBT_T_ENUM_COPY ? "the type" : "the id", over->offset);
	if (number && field(c, number) > SBT_NO_ID)
		return bad(c, "the number", number);
	if (must && field(c, must) >= (c->result ? SBT_NO_ID + 1ull : SBT_NO_ID))
		return bad(c, "the id", must);
	return NULL;
}

void transition(struct state *s, const struct sbt_cmd *c)
{
	transitions[c->kind].apply(s, c);
}
