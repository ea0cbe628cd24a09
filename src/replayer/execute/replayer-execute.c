/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes commands, by a table from kind to function. Calls that failed when they were recorded
 * are not repeated, work that was captured into a graph runs when the graph does, objects are made
 * at first use. Allocations do nothing: their ranges are mapped all the time.
 */
#include "replayer/execute/replayer-execute.h"
#include "replayer/check/replayer-check.h"
#include "replayer/execute/replayer-copy.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-fault.h"
#include "replayer/execute/replayer-held.h"
#include "replayer/execute/replayer-late.h"
#include "replayer/execute/replayer-turn.h"
#include "replayer/execute/replayer-watchdog.h"
#include "base/first-where.h"
#include "sbt/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- launches --- */

struct err *execute_args(
	struct rp *rp, const struct sbt_cmd *c, const struct rkernel *k, struct buf *out)
{
	const struct sbt_blob args = c->u.launch.args;

	if (k->nparams && !args.len)
		return rp_fail(rp, REPLAYER_E_REFUSED, c->seq,
			"#%llu %s: its parameters were not recorded",
			(unsigned long long)rp->current, k->name);
	buf_clear(out);
	buf_add(out, args.len ? args.p : "", args.len);
	for (size_t i = 0; i < rp->nedits; i++) {
		const struct edit *d = &rp->edits[i];

		if (!d->is_param || d->seq != c->seq || d->param >= k->nparams)
			continue;
		const uint32_t offset = k->params[2 * d->param];
		if (offset <= out->len && d->n <= out->len - offset)
			memcpy(out->data + offset, d->bytes, d->n);
	}
	moved_to_here(rp, 0, out->data, out->len);
	return NULL;
}

static struct err *more_shared(
	struct rp *rp, struct rkernel *k, struct gpu_kernel *f, unsigned shared)
{
	if (shared <= k->max_shared[rp->devices.now])
		return NULL;
	k->max_shared[rp->devices.now] = shared;
	GPU(rp, kernel_max_shared, f, (int)shared);
	return NULL;
}

/* Whether the launch may begin before the one in front has finished. In the fixed order a GPU gains
 * nothing from that, except where the launch in front is held for it. The software GPU allows it
 * only where it is asked to. */
static bool is_early(const struct rp *rp, const struct sbt_cmd_launch *u)
{
	return u->launch_attrs >> SBT_ATTR_PROGRAMMATIC_STREAM & 1 &&
	       (rp->lib.soft || rp->holding || !turn_is_fixed(rp));
}

struct gpu_launch execute_launch_of(
	const struct sbt_cmd_launch *u, struct gpu_kernel *f, const struct buf *args)
{
	return (struct gpu_launch){.kernel = f,
		.grid = {(unsigned)u->grid_x, (unsigned)u->grid_y, (unsigned)u->grid_z},
		.block = {(unsigned)u->block_x, (unsigned)u->block_y, (unsigned)u->block_z},
		.last = {(unsigned)u->last_x, (unsigned)u->last_y, (unsigned)u->last_z},
		.shared = (unsigned)u->shared,
		.cluster = {(unsigned)u->cluster_x, (unsigned)u->cluster_y, (unsigned)u->cluster_z},
		.cooperative = u->cooperative,
		.args = args->data,
		.nargs = args->len};
}

struct err *execute_launch_parts(
	struct rp *rp, const struct sbt_cmd *c, struct gpu_kernel **ret, struct buf *args)
{
	struct rkernel *k = objects_kernel(rp, c->u.launch.kernel);

	if (!k)
		return rp_fail(rp, REPLAYER_E_REFUSED, c->seq,
			"#%llu: the trace does not name the kernel", (unsigned long long)c->seq);
	TRY(textures_at(rp, rp->current));
	TRY(code_function(rp, k, ret));
	TRY(more_shared(rp, k, *ret, (unsigned)c->u.launch.shared));
	return execute_args(rp, c, k, args);
}

/* An event that the launch records: by its attribute (ret), or, where one command runs after the
 * other, behind it. wanted: do that. */
static struct err *own_event(struct rp *rp, bool wanted, uint64_t plus_one,
	struct gpu_stream *stream, struct gpu_event **ret)
{
	struct gpu_event *event;

	if (!plus_one || !wanted)
		return NULL;
	TRY(objects_event_here(rp, plus_one - 1, &event));
	if (ret)
		*ret = event;
	else
		GPU(rp, event_record, event, stream);
	return NULL;
}

static struct err *submit_launch(struct rp *rp, const struct sbt_cmd *c, struct buf *args)
{
	const struct sbt_cmd_launch *u = &c->u.launch;
	struct gpu_kernel *f;
	struct gpu_stream *stream;

	TRY(objects_stream(rp, u->stream, &stream));
	TRY(execute_launch_parts(rp, c, &f, args));
	if (rp->counting.n && (u->launch_attrs >> SBT_ATTR_HELD & 1 || rp->holding))
		return rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
			"#%llu is held by the saved schedule: its code is changed for that already",
			(unsigned long long)rp->current);
	if (u->launch_attrs >> SBT_ATTR_HELD & 1)
		TRY(held_launch(rp, u, &f));
	else if (rp->holding && u->launch_attrs >> SBT_ATTR_PROGRAMMATIC_STREAM & 1)
		TRY(held_passed(rp, u, &f));
	struct gpu_launch l = execute_launch_of(u, f, args);
	l.early = is_early(rp, u) && rp->lib.can & GPU_CAN_LAUNCH_MORE;
	if ((u->cooperative || u->cluster_x) && !(rp->lib.can & GPU_CAN_LAUNCH_MORE))
		return rp_fail(rp, REPLAYER_E_DEVICE, rp->current,
			"#%llu: this driver has no cooperative or cluster launches",
			(unsigned long long)rp->current);
	if ((u->last_x || u->last_y || u->last_z) && !(rp->lib.can & GPU_CAN_LAST))
		return rp_fail(rp, REPLAYER_E_DEVICE, rp->current,
			"#%llu: this driver has no launches whose last block is smaller",
			(unsigned long long)rp->current);
	const bool own = !turn_is_fixed(rp) && rp->lib.can & GPU_CAN_LAUNCH_MORE;
	TRY(own_event(rp, own, u->trigger_event, stream, &l.triggered));
	TRY(own_event(rp, own, u->begun_event, stream, &l.begun));
	l.at_start = u->trigger_at_start;
	TRY(probe_before(rp, objects_kernel(rp, u->kernel)));
	TRY(textures_before_launch(rp, stream));
	GPU(rp, launch, &l, stream);
	TRY(textures_after_launch(rp, stream));
	TRY(probe_after(rp, objects_kernel(rp, u->kernel)));
	TRY(own_event(rp, !own, u->trigger_event, stream, NULL));
	return own_event(rp, !own, u->begun_event, stream, NULL);
}

bool execute_has_effect(const struct rp *rp, uint64_t seq)
{
	size_t n;
	const struct sbt_memory *m = contents_of(rp, seq, &n);

	for (size_t i = 0; i < n; i++)
		if (m[i].role == SBT_MEMORY_EFFECT)
			return true;
	return false;
}

static struct err *on_launch(struct rp *rp, const struct sbt_cmd *c)
{
	struct rkernel *k = objects_kernel(rp, c->u.launch.kernel);
	struct buf args = BUF_INIT;

	if (execute_has_effect(rp, c->seq)) /* the recorder says that it cannot be executed again */
		return NULL;
	struct err *e = submit_launch(rp, c, &args);
	buf_free(&args);
	if (e && k && rp->fail_code != REPLAYER_E_FAULT) {
		rp->fail_seq = rp->fail_first = c->seq;
		return err_wrap(e, "#%llu %s", (unsigned long long)c->seq, k->name);
	}
	return e;
}

/* --- events, waits --- */

static struct err *on_event_record(struct rp *rp, const struct sbt_cmd *c)
{
	struct gpu_stream *stream;
	struct gpu_event *event;

	TRY(objects_stream(rp, c->u.event_record.stream, &stream));
	TRY(objects_event_here(rp, c->u.event_record.event, &event));
	GPU(rp, event_record, event, stream);
	return NULL;
}

static struct err *on_stream_wait(struct rp *rp, const struct sbt_cmd *c)
{
	struct gpu_stream *stream;
	struct gpu_event *event;

	TRY(objects_stream(rp, c->u.stream_wait.stream, &stream));
	TRY(objects_event(rp, c->u.stream_wait.event, &event));
	GPU(rp, stream_wait, stream, event);
	return NULL;
}

static struct err *wait_for(struct rp *rp, uint64_t scope, uint64_t stream, uint64_t event)
{
	struct gpu_stream *s;
	struct gpu_event *e;

	if (scope == SBT_SYNC_EVENT &&
		event >= SBT_NO_ID) /* of an event that was never made: it failed */
		return NULL;
	if (scope == SBT_SYNC_STREAM) {
		TRY(objects_stream(rp, stream, &s));
		GPU(rp, stream_finish, s);
	} else if (scope == SBT_SYNC_EVENT) {
		TRY(objects_event(rp, event, &e));
		GPU(rp, event_finish, e);
	} else {
		return execute_finish(rp);
	}
	return staging_collect(rp, false);
}

static struct err *on_sync(struct rp *rp, const struct sbt_cmd *c)
{
	return wait_for(rp, c->u.sync.scope, c->u.sync.stream, c->u.sync.event);
}

/* Only a query that found the work finished comes here. */
static struct err *on_query(struct rp *rp, const struct sbt_cmd *c)
{
	return wait_for(rp, c->u.query.scope, c->u.query.stream, c->u.query.event);
}

/* --- the rest --- */

/* The software GPU fills fresh memory with a byte, at once; so do we for a trace recorded on it
 * (softgpu/memory/mem.c). NVIDIA does not clear memory; we keep the previous contents too. */
#define SOFT_FILL 0xA5
#define SOFT_FILL_LIMIT (64ull << 20)

static struct err *on_alloc(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_alloc *u = &c->u.alloc;
	uint64_t here;

	if (rp->fresh.on)
		return fresh_alloc(rp, c);
	if (!rp->trace_soft ||
		(u->mem != SBT_MEM_DEVICE && u->mem != SBT_MEM_ASYNC && u->mem != SBT_MEM_ARRAY) ||
		u->size > SOFT_FILL_LIMIT ||
		place_find(rp, u->addr, u->size, &here) != PLACE_DEVICE)
		return NULL;
	TRY(execute_finish(rp));
	GPU(rp, fill, here, 1, SOFT_FILL, u->size, rp->own);
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

static struct err *on_free(struct rp *rp, const struct sbt_cmd *c)
{
	if (rp->fresh.on)
		fresh_free(rp, c);
	return NULL;
}

static struct err *on_func_attr(struct rp *rp, const struct sbt_cmd *c)
{
	const struct rattr a = {c->seq, (uint32_t)c->u.func_attr.kernel, (int)c->u.func_attr.attr,
		(int)(int64_t)c->u.func_attr.attr_value};

	return code_attr(rp, &a);
}

static struct err *on_stream_create(struct rp *rp, const struct sbt_cmd *c)
{
	struct gpu_stream *stream;

	return objects_stream(rp, c->u.stream_create.new_stream, &stream);
}

static struct err *on_stream_destroy(struct rp *rp, const struct sbt_cmd *c)
{
	return objects_drop_stream(rp, c->u.stream_destroy.dead_stream);
}

static struct err *on_event_destroy(struct rp *rp, const struct sbt_cmd *c)
{
	return objects_drop_event(rp, c->u.event_destroy.dead_event);
}

static struct err *on_graph_instantiate(struct rp *rp, const struct sbt_cmd *c)
{
	struct rgraph *g = objects_graph(rp, c->u.graph_instantiate.new_exec);

	/* an impossible graph is not reported before it is launched, and then its effect may be in
	 * the recording */
	const bool later = textures_are_copies(&rp->objects.textures); /* perhaps node by node */
	return g && g->used && !later && rp->lib.can & GPU_CAN_GRAPHS &&
			       graph_is_told(rp, g, c->seq)
		       ? graph_make(rp, g)
		       : NULL;
}

static struct err *on_graph_destroy(struct rp *rp, const struct sbt_cmd *c)
{
	struct rgraph *g = objects_graph(rp, c->u.graph_destroy.dead_graph);

	if (!g || !g->exec)
		return NULL;
	TRY(execute_finish(rp)); /* a launch of it may still run, with our host memory */
	graph_unmake(rp, g);
	return NULL;
}

/* A write goes into the stream. A wait becomes a wait for all earlier work: it is executed when the
 * value is there, or when the host knew that it was. */
static struct err *on_batch(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_batch *u = &c->u.batch;
	struct gpu_stream *stream;
	uint64_t here, value = u->value;

	TRY(objects_stream(rp, u->stream, &stream));
	if (u->is_wait)
		return objects_barrier(rp, stream);
	if (place_find(rp, u->addr, u->elem == 8 ? 8 : 4, &here) == PLACE_NOWHERE)
		return rp_fail(rp, REPLAYER_E_REFUSED, c->seq,
			"#%llu writes to 0x%llx, which is not memory of the window",
			(unsigned long long)c->seq, (unsigned long long)u->addr);
	(void)address_map_find(&rp->moved.to_here, u->value, &value);
	if (!(rp->lib.can & (u->elem == 8 ? GPU_CAN_WRITE_64 : GPU_CAN_WRITE_32)))
		return rp_fail(rp, REPLAYER_E_DEVICE, c->seq,
			"this driver has no stream memory operations");
	GPU(rp, stream_write, stream, here, u->elem == 8 ? value : u->value, u->elem == 8 ? 8 : 4);
	return NULL;
}

static struct err *(*const table[SBT_KIND_END])(struct rp *, const struct sbt_cmd *) = {
	[SBT_STREAM_CREATE] = on_stream_create,
	[SBT_STREAM_DESTROY] = on_stream_destroy,
	[SBT_EVENT_DESTROY] = on_event_destroy,
	[SBT_ALLOC] = on_alloc,
	[SBT_FREE] = on_free,
	[SBT_FUNC_ATTR] = on_func_attr,
	[SBT_CTX_LIMIT] = limits_execute,
	[SBT_LAUNCH] = on_launch,
	[SBT_COPY] = copy_execute,
	[SBT_FILL] = fill_execute,
	[SBT_EVENT_RECORD] = on_event_record,
	[SBT_STREAM_WAIT] = on_stream_wait,
	[SBT_SYNC] = on_sync,
	[SBT_QUERY] = on_query,
	[SBT_GRAPH_INSTANTIATE] = on_graph_instantiate,
	[SBT_GRAPH_LAUNCH] = graph_launch,
	[SBT_GRAPH_DESTROY] = on_graph_destroy,
	[SBT_BATCH] = on_batch,
	/* Objects and notes without a row need nothing: contexts are one here, modules and kernels
	 * are loaded at the start, ranges are mapped, a host function's and an unreplayable call's
	 * effect is applied with the recorded contents. */
};

/* TSDB_REPLAYER_LACKS (for tests): the name of a kind that is treated as if it had no row. */
static bool is_taken_away(unsigned kind)
{
	static unsigned lacks = UINT32_MAX;

	if (lacks == UINT32_MAX)
		lacks = getenv("TSDB_REPLAYER_LACKS")
				? sbt_kind_by_name(getenv("TSDB_REPLAYER_LACKS"))
				: 0;
	return lacks && lacks == kind;
}

bool execute_knows(const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	if (!d || d->cls != SBT_CLASS_WORK || c->kind == SBT_HOST_FUNC)
		return d;
	return table[c->kind] && !is_taken_away(c->kind);
}

static struct err *check_known(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	if (execute_knows(c) || execute_has_effect(rp, c->seq))
		return NULL;
	return rp_fail(rp, REPLAYER_E_REFUSED, c->seq,
		"#%llu %s: this replayer cannot execute commands of this kind",
		(unsigned long long)c->seq, d ? d->name : "of an unknown kind");
}

/* --- going on --- */

bool execute_is_skipped(const struct rp *rp, uint64_t seq)
{
	const size_t at = FIRST_WHERE(rp->nskip, i, rp->skip[i] >= seq);

	return at < rp->nskip && rp->skip[at] == seq;
}

static bool is_upload(const struct rp *rp, const struct sbt_cmd *c)
{
	return c->kind == SBT_COPY && contents_find(rp, c->seq, SBT_MEMORY_INPUT, c->u.copy.src);
}

struct err *execute_writes(struct rp *rp, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < rp->nedits; i++) {
		const struct edit *d = &rp->edits[i];

		if (d->is_param || d->seq < first || d->seq > last)
			continue;
		TRY(execute_finish(rp));
		TRY(contents_write(rp, d->addr, d->bytes, d->n));
	}
	return NULL;
}

struct err *execute_before(struct rp *rp, const struct sbt_cmd *c)
{
	rp->current = c->seq;
	watchdog_on(rp, c->seq);
	if (rp->nedits) /* at positions between commands: seqs have gaps */
		TRY(execute_writes(rp, rp->position + 1, c->seq - 1));
	return c->seq > rp->host_done ? contents_apply(rp, c->seq, SBT_MEMORY_HOST, NULL) : NULL;
}

struct err *execute_after(struct rp *rp, const struct sbt_cmd *c)
{
	TRY(contents_apply(rp, c->seq, SBT_MEMORY_EFFECT, NULL));
	return rp->nedits ? execute_writes(rp, c->seq, c->seq) : NULL;
}

static struct err *execute_node_here(struct rp *rp, const struct sbt_cmd *c)
{
	struct buf args = BUF_INIT;

	if (c->kind != SBT_LAUNCH)
		return table[c->kind](rp, c);
	struct err *e = submit_launch(rp, c, &args);
	buf_free(&args);
	return e;
}

static struct err *on_its_device(struct rp *rp, const struct sbt_cmd *c,
	struct err *(*run)(struct rp *, const struct sbt_cmd *))
{
	TRY(devices_enter(rp, devices_of(rp, c)));
	TRY(turn_of(rp, c));
	TRY(run(rp, c)); /* after a failure nothing goes on */
	return devices_enter(rp, 0);
}

struct err *execute_node(struct rp *rp, const struct sbt_cmd *c)
{
	return on_its_device(rp, c, execute_node_here);
}

/* TSDB_REPLAYER_FLIP (for tests), "SEQ:ADDR": after command SEQ inverts the lowest bit at ADDR, as
 * a broken device might. */
static struct err *flip(struct rp *rp, uint64_t seq)
{
	const char *text = getenv("TSDB_REPLAYER_FLIP");
	unsigned long long at, addr;
	uint8_t byte;

	if (!text || sscanf(text, "%llu:%llx", &at, &addr) != 2 || at != seq)
		return NULL;
	TRY(execute_finish(rp));
	TRY(contents_read(rp, addr, &byte, 1));
	byte ^= 1;
	return contents_write(rp, addr, &byte, 1);
}

/* Whether c, which was just submitted, is held, or may overtake a held launch. */
static bool is_among_held(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *u = &c->u.launch;
	const bool held = u->launch_attrs >> SBT_ATTR_HELD & 1,
		   may_overtake = u->launch_attrs >> SBT_ATTR_PROGRAMMATIC_STREAM & 1;

	rp->holding = c->kind == SBT_LAUNCH && (held || (rp->holding && may_overtake));
	return rp->holding;
}

/* Submits c and does what comes after it. */
static struct err *submit(struct rp *rp, const struct sbt_cmd *c)
{
	const bool works = !c->result && !(c->flags & SBT_F_GRAPH);
	const bool skipped = rp->nskip && execute_is_skipped(rp, c->seq);
	struct gpu_stream *stream = NULL;

	if (works && !skipped)
		TRY(check_known(rp, c));
	if (works && !rp->nskip && !rp->turn.ordered)
		TRY(contents_compare_freed(rp, c->seq));
	if (works && execute_knows(c) && table[c->kind] &&
		(!skipped || (rp->skip_recorded && is_upload(rp, c)))) {
		TRY(watch_before(rp, c));
		TRY(heap_note(rp, c));
		TRY(on_its_device(rp, c, table[c->kind]));
		TRY(watch_after(rp, c));
		TRY(flip(rp, c->seq));
		rp->figures.executed++;
	}
	if (!skipped || rp->skip_recorded)
		TRY(contents_apply(rp, c->seq, SBT_MEMORY_EFFECT, NULL));
	if (rp->nedits)
		TRY(execute_writes(rp, c->seq, c->seq));
	if (works && !skipped && sbt_cmd_stream(c) != SBT_NO_ID && !is_among_held(rp, c)) {
		TRY(devices_enter(rp, devices_of(rp, c)));
		TRY(objects_stream(rp, sbt_cmd_stream(c), &stream));
		TRY(marks_note(rp, c->seq, stream));
		TRY(devices_enter(rp, 0));
	}
	return NULL;
}

struct err *execute(struct rp *rp, const struct sbt_cmd *c)
{
	bool late = false;
	struct err *e = execute_before(rp, c);

	if (!e && !rp->turn.ordered)
		e = late_comes(rp, c, &late);
	if (!e && late)
		late_keep(rp, c);
	else if (!e)
		e = submit(rp, c);
	if (e && !rp->fail_seq) /* of reading the trace: it is this command's */
		rp->fail_seq = rp->fail_first = c->seq;
	return e;
}

struct err *execute_late(struct rp *rp, const struct sbt_cmd *c)
{
	rp->current = c->seq;
	watchdog_on(rp, c->seq);
	struct err *e = submit(rp, c);

	if (e && !rp->fail_seq)
		rp->fail_seq = rp->fail_first = c->seq;
	return e;
}

void execute_finished(struct rp *rp, uint64_t seq)
{
	rp->finished = seq;
	atomic_store(&rp->watchdog.first, seq + 1);
}

void execute_at(struct rp *rp, uint64_t seq)
{
	rp->position = rp->current = seq;
	execute_finished(rp, seq);
	rp->cursor_seq = UINT64_MAX;
}

struct err *execute_finish(struct rp *rp)
{
	TRY(marks_wait(rp));
	TRY(devices_finish(rp));
	turn_over(rp);
	TRY(staging_collect(rp, true));
	/* The command being submitted may or may not have been waited for. */
	execute_finished(rp, rp->position);
	return NULL;
}

struct err *execute_fetch(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret)
{
	/* A few commands ahead it walks; else it jumps. */
	if (rp->cursor_seq >= seq || seq - rp->cursor_seq > 64)
		TRY(sbt_cursor_seek(rp->cursor, seq));
	do {
		TRY(sbt_cursor_next(rp->cursor, ret));
	} while (*ret && (*ret)->seq < seq);
	rp->cursor_seq = *ret ? (*ret)->seq : UINT64_MAX;
	if (*ret && (*ret)->seq != seq) {
		*ret = NULL;
		rp->cursor_seq = UINT64_MAX;
	}
	return NULL;
}

struct err *execute_fetch_next(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret)
{
	if (rp->cursor_seq != rp->position)
		TRY(sbt_cursor_seek(rp->cursor, rp->position + 1));
	TRY(sbt_cursor_next(rp->cursor, ret));
	rp->cursor_seq = *ret && (*ret)->seq <= seq ? (*ret)->seq : UINT64_MAX;
	if (*ret && (*ret)->seq > seq)
		*ret = NULL;
	return NULL;
}

struct err *execute_step(struct rp *rp, uint64_t seq, bool *ret_work)
{
	const struct sbt_cmd *c;

	*ret_work = false;
	TRY(execute_fetch_next(rp, seq, &c));
	if (!c) {
		TRY(execute_writes(rp, rp->position + 1, seq));
		rp->position = seq;
		return late_go(rp);
	}
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	*ret_work = d && (d->cls == SBT_CLASS_WORK || c->kind == SBT_ALLOC ||
				 c->kind == SBT_UNREPLAYABLE);
	const bool suspect = fault_suspects(rp, c);
	if (suspect)
		TRY(execute_finish(rp));
	TRY(execute(rp, c));
	if (suspect)
		TRY(execute_finish(rp));
	rp->position = c->seq;
	TRY(late_go(rp));
	if (rp->tell)
		rp->tell(rp);
	return rp->holding ? NULL : checkpoint_tick(rp);
}

struct err *execute_to(struct rp *rp, uint64_t seq)
{
	bool work;

	while (rp->position < seq)
		TRY(execute_step(rp, seq, &work));
	return NULL;
}

static struct err *run_watched(
	struct rp *rp, const struct replayer_run *run, struct replayer_ran *ret)
{
	struct sbt_hash before, after;
	bool work;

	TRY(execute_finish(rp));
	TRY(contents_hash(rp, run->watch_addr, run->watch_size, &before));
	rp->late_watched.addr = run->watch_addr;
	rp->late_watched.size = run->watch_size;
	while (rp->position < run->to) {
		rp->late_watched.seq = 0;
		TRY(execute_step(rp, run->to, &work));
		size_t n;
		(void)contents_of(rp, rp->position, &n);
		if (!work && !n)
			continue;
		TRY(execute_finish(rp));
		TRY(contents_hash(rp, run->watch_addr, run->watch_size, &after));
		if (sbt_hash_equal(before, after))
			continue;
		ret->hit = 1;
		ret->late = rp->late_watched.seq;
		return NULL;
	}
	return NULL;
}

static struct err *run_timed(struct rp *rp, uint64_t to)
{
	struct gpu_event *begin, *end;
	float ms = 0;

	GPU(rp, event_create, &begin, true);
	GPU(rp, event_create, &end, true);
	GPU(rp, event_record, begin, rp->own);
	TRY(execute_to(rp, to));
	TRY(objects_barrier(rp, rp->own)); /* non-blocking streams, too */
	GPU(rp, event_record, end, rp->own);
	TRY(execute_finish(rp));
	if (rp->lib.can & GPU_CAN_TIME)
		GPU(rp, event_elapsed, &ms, begin, end);
	rp->figures.gpu_ns += (uint64_t)((double)ms * 1e6);
	GPU(rp, event_destroy, begin);
	GPU(rp, event_destroy, end);
	return NULL;
}

struct err *execute_run(struct rp *rp, const struct replayer_run *run, struct replayer_ran *ret)
{
	struct replayer_run r = *run;
	const uint64_t begin = now_ns();

	if (r.to > rp->last)
		r.to = rp->last;
	struct err *e = r.watch_size ? run_watched(rp, &r, ret) : run_timed(rp, r.to);
	rp->late_watched.size = 0;
	TRY(e);
	rp->figures.run_ns += now_ns() - begin;
	ret->seq = rp->position;
	return NULL;
}
