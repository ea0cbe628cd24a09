/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at a state: snapshots of its objects. What a stream's head waits for is worked out here,
 * from the queues; nothing of it is stored, so it cannot go stale.
 */
#include "state/fold/state-private.h"

const char *state_status_name(enum state_status st)
{
	static const char *const names[] = {"Idle", "Dispatch Pending", "Running", "Waiting"};

	return (unsigned)st < sizeof names / sizeof names[0] ? names[st] : "?";
}

/* --- why a stream waits --- */

static bool holds(const struct state *s, uint32_t id, uint64_t upto, struct hold *ret)
{
	const struct stream *st = find_stream(s, id);
	uint64_t head = st ? queue_head(st) : 0;

	if (!head || head > upto)
		return false;
	ret->held = true;
	ret->stream = id;
	ret->seq = queue_last_below(st, upto + 1);
	return true;
}

static bool barrier_holds(
	const struct state *s, const struct stream *st, uint64_t head, struct hold *ret)
{
	const struct context *ctx = table_find(&s->contexts, ROW(context), st->ctx);

	if (is_blocking(st))
		return ctx && holds(s, ctx->default_stream, head - 1, ret);
	for (size_t i = 0; st->is_default && i < s->streams.n; i++) {
		const struct stream *other = &ROWS(s, streams, stream)[i];

		if (other->ctx == st->ctx && is_blocking(other) &&
			holds(s, other->id, head - 1, ret))
			return true;
	}
	return false;
}

struct hold stream_hold(const struct state *s, const struct stream *st)
{
	struct hold ret = {.event = SBT_NO_ID, .stream = SBT_NO_ID};
	const struct entry *e = st->len && !st->old_count ? ring_at(st, 0) : NULL;
	uint64_t head = queue_head(st);

	if (!head || (e && e->begun))
		return ret;
	if (e && e->kind == SBT_STREAM_WAIT && e->dep_seq &&
		holds(s, e->dep_stream, e->dep_seq, &ret)) {
		ret.event = e->object;
		ret.seq = e->dep_seq;
		return ret;
	}
	if (!barrier_holds(s, st, head, &ret) && e && e->kind == SBT_BATCH && e->d[0])
		ret.held = true; /* waits for a value in memory, which the state does not have */
	return ret;
}

static enum state_status head_status(
	const struct state *s, const struct stream *st, const struct hold *h)
{
	const struct entry *e = st->len && !st->old_count ? ring_at(st, 0) : NULL;

	if (!stream_pending(st))
		return STATE_IDLE;
	if (h->held)
		return STATE_WAITING;
	if (s->timed && e && !e->begun &&
		(e->kind == SBT_LAUNCH || e->kind == SBT_COPY || e->kind == SBT_FILL))
		return STATE_PENDING;
	return STATE_RUNNING;
}

/* --- snapshots --- */

static void fill_stream(const struct state *s, const struct stream *st, struct state_stream *ret)
{
	struct hold h = stream_hold(s, st);

	*ret = (struct state_stream){.id = st->id,
		.ctx = st->ctx,
		.created_by_thread = st->thread,
		.handle = st->handle,
		.flags = st->flags,
		.priority = (int64_t)st->priority,
		.is_default = st->is_default,
		.per_thread = st->per_thread,
		.destroyed = st->destroyed,
		.capturing = st->capturing,
		.before = st->before,
		.status = head_status(s, st, &h),
		.head = queue_head(st),
		.pending = stream_pending(st),
		.submitted = st->submitted,
		.finished = st->finished,
		.last_submitted = st->last_submitted,
		.wait_event = h.event,
		.wait_stream = h.stream,
		.wait_seq = h.seq};
}

bool state_stream(const struct state *s, unsigned i, struct state_stream *ret)
{
	if (i >= s->streams.n)
		return false;
	fill_stream(s, &ROWS(s, streams, stream)[i], ret);
	return true;
}

bool state_stream_by_id(const struct state *s, uint32_t id, struct state_stream *ret)
{
	const struct stream *st = find_stream(s, id);

	if (st)
		fill_stream(s, st, ret);
	return st != NULL;
}

bool state_queue(const struct state *s, uint32_t stream, unsigned i, struct sbt_cmd *ret_brief,
	enum state_status *ret_status)
{
	const struct stream *st = find_stream(s, stream);
	const struct entry *e;
	struct hold h;

	if (!st || i >= st->len)
		return false;
	e = ring_at(st, i);
	queue_brief(ret_brief, e, stream);
	*ret_status = e->begun ? STATE_RUNNING : STATE_PENDING;
	if (i == 0 && !st->old_count) {
		h = stream_hold(s, st);
		*ret_status = head_status(s, st, &h);
	}
	return true;
}

static void fill_event(const struct state *s, const struct event *e, struct state_event *ret)
{
	*ret = (struct state_event){.id = e->id,
		.handle = e->handle,
		.flags = e->flags,
		.recorded = e->record_seq != 0,
		.destroyed = e->destroyed,
		.complete = event_complete(s, e),
		.stream = e->stream,
		.before = e->before,
		.record_seq = e->record_seq,
		.records = e->records,
		.waits = e->waits};
}

bool state_event(const struct state *s, unsigned i, struct state_event *ret)
{
	if (i >= s->events.n)
		return false;
	fill_event(s, &ROWS(s, events, event)[i], ret);
	return true;
}

bool state_event_by_id(const struct state *s, uint32_t id, struct state_event *ret)
{
	const struct event *e = table_find(&s->events, ROW(event), id);

	if (e)
		fill_event(s, e, ret);
	return e != NULL;
}

bool state_context(const struct state *s, unsigned i, struct state_context *ret)
{
	const struct context *x;

	if (i >= s->contexts.n)
		return false;
	x = &ROWS(s, contexts, context)[i];
	*ret = (struct state_context){.id = x->id,
		.device = x->device,
		.default_stream = x->default_stream,
		.handle = x->handle,
		.primary = x->primary,
		.before = x->before,
		.destroyed = x->destroyed,
		.allocations = x->allocations,
		.bytes = x->bytes};
	for (size_t j = 0; j < s->streams.n; j++)
		ret->streams += ROWS(s, streams, stream)[j].ctx == x->id;
	return true;
}

bool state_module(const struct state *s, unsigned i, struct state_module *ret)
{
	const struct module *m;

	if (i >= s->modules.n)
		return false;
	m = &ROWS(s, modules, module)[i];
	*ret = (struct state_module){.id = m->id,
		.ctx = m->ctx,
		.handle = m->handle,
		.code_hash = m->code_hash,
		.code_size = m->code_size,
		.seq = m->seq,
		.is_library = m->is_library,
		.before = m->before,
		.unloaded = m->unloaded,
		.file = str_blob(&s->bytes, m->file),
		.kernels = m->kernels};
	return true;
}

static void fill_kernel(const struct state *s, const struct kernel *k, struct state_kernel *ret)
{
	*ret = (struct state_kernel){.id = k->id,
		.module = k->module,
		.name = str_get(&s->bytes, k->name),
		.short_name = str_get(&s->bytes, k->short_name),
		.params = str_blob(&s->bytes, k->params),
		.code_hash = k->code_hash,
		.regs = k->regs,
		.static_shared = k->static_shared,
		.local_mem = k->local_mem,
		.max_threads = k->max_threads,
		.launches = k->launches,
		.last_launch = k->last_launch};
}

bool state_kernel(const struct state *s, unsigned i, struct state_kernel *ret)
{
	if (i >= s->kernels.n)
		return false;
	fill_kernel(s, &ROWS(s, kernels, kernel)[i], ret);
	return true;
}

bool state_kernel_by_id(const struct state *s, uint32_t id, struct state_kernel *ret)
{
	const struct kernel *k = table_find(&s->kernels, ROW(kernel), id);

	if (k)
		fill_kernel(s, k, ret);
	return k != NULL;
}

static bool fill_alloc(const struct alloc *a, struct state_alloc *ret)
{
	if (!a)
		return false;
	*ret = (struct state_alloc){.addr = a->addr,
		.size = a->size,
		.pitch = a->pitch,
		.mem = a->mem,
		.device = a->device,
		.ctx = a->ctx,
		.stack = a->stack,
		.alloc_seq = a->seq,
		.last_writer = a->writer,
		.writer_certain = a->certain,
		.before = a->before};
	return true;
}

bool state_alloc(const struct state *s, unsigned i, struct state_alloc *ret)
{
	/* allocs_get() remembers where it was, which is no part of the state */
	return fill_alloc(allocs_get(&((struct state *)(uintptr_t)s)->allocs, i), ret);
}

bool state_alloc_at(const struct state *s, uint64_t addr, struct state_alloc *ret)
{
	return fill_alloc(allocs_find(&s->allocs, addr), ret);
}

bool state_alloc_from(const struct state *s, uint64_t addr, struct state_alloc *ret)
{
	const struct alloc *a = allocs_find(&s->allocs, addr);

	return fill_alloc(a ? a : allocs_next(&s->allocs, addr), ret);
}

static bool fill_graph(const struct graph *g, struct state_graph *ret)
{
	if (!g)
		return false;
	*ret = (struct state_graph){.id = g->id,
		.source = g->source,
		.handle = g->handle,
		.launches = g->launches,
		.last_launch = g->last_launch,
		.nodes = (unsigned)g->nodes.n,
		.is_exec = g->is_exec,
		.before = g->before,
		.destroyed = g->destroyed,
		.made = g->made,
		.capture_first = g->first,
		.capture_stream = g->stream,
		.capture_mode = g->mode,
		.updates = g->updates,
		.last_update = g->last_update};
	return true;
}

bool state_graph(const struct state *s, unsigned i, struct state_graph *ret)
{
	return fill_graph(i < s->graphs.n ? &ROWS(s, graphs, graph)[i] : NULL, ret);
}

bool state_graph_by_id(const struct state *s, uint32_t id, struct state_graph *ret)
{
	return fill_graph(table_find(&s->graphs, ROW(graph), id), ret);
}

bool state_graph_node(const struct state *s, uint32_t graph, unsigned i, struct state_node *ret)
{
	const struct graph *g = table_find(&s->graphs, ROW(graph), graph);
	const struct node *n;

	if (!g || i >= g->nodes.n)
		return false;
	n = &((const struct node *)g->nodes.data)[i];
	*ret = (struct state_node){.node = n->node,
		.kernel = n->kernel,
		.type = n->type,
		.origin = n->origin,
		.stack = n->stack,
		.disabled = n->disabled,
		.deps = str_blob(&g->bytes, n->deps),
		.payload = str_blob(&g->bytes, n->payload)};
	return true;
}

bool state_footprint_node(
	const struct state *s, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	struct state_node n;

	if (graph >= SBT_NO_ID || !state_graph_node(s, (uint32_t)graph, i, &n))
		return false;
	*ret = (struct sbt_footprint_node){n.disabled ? SBT_NODE_EMPTY : n.type, n.payload};
	return true;
}

bool state_device(const struct state *s, unsigned i, struct state_device *ret)
{
	const struct device *d;

	if (i >= s->devices.n)
		return false;
	d = &ROWS(s, devices, device)[i];
	*ret = (struct state_device){.device = d->id,
		.name = str_blob(&s->bytes, d->name),
		.sm_major = d->sm_major,
		.sm_minor = d->sm_minor,
		.total_mem = d->total_mem,
		.sm_count = d->sm_count,
		.driver_version = d->driver_version,
		.soft = d->soft,
		.launches = d->launches,
		.copies = d->copies,
		.copy_bytes = d->copy_bytes,
		.fills = d->fills,
		.fill_bytes = d->fill_bytes,
		.alloc_count = d->alloc_count,
		.alloc_bytes = d->alloc_bytes,
		.alloc_peak = d->alloc_peak};
	return true;
}

bool state_thread(const struct state *s, unsigned i, struct state_thread *ret)
{
	const struct thread *t;

	if (i >= s->threads.n)
		return false;
	t = &ROWS(s, threads, thread)[i];
	*ret = (struct state_thread){.thread = t->id,
		.os_tid = t->os_tid,
		.ctx = t->ctx,
		.name = str_blob(&s->bytes, t->name),
		.commands = t->commands,
		.waiting_in = t->wait.seq};
	return true;
}

void state_totals(const struct state *s, struct state_totals *ret)
{
	*ret = (struct state_totals){.seq = s->seq,
		.commands = s->commands,
		.launches = s->launches,
		.copies = s->copies,
		.fills = s->fills,
		.syncs = s->syncs,
		.failed = s->failed,
		.oddities = s->oddities,
		.last_oddity = s->oddities ? s->oddity : NULL,
		.attach_seq = s->attach.seq,
		.found_allocations = s->attach.allocations,
		.found_bytes = s->attach.bytes,
		.found_missed = s->attach.missed,
		.unknown = s->attach.unknown,
		.found_probed = s->attach.probed,
		.found_ns = s->attach.took,
		.last_unknown = s->attach.text.len ? str_get(&s->bytes, s->attach.text) : NULL};
	for (size_t i = 0; i < s->streams.n; i++)
		ret->pending += stream_pending(&ROWS(s, streams, stream)[i]);
}

/* --- for the printers of room sbt --- */

static const char *name_of(void *arg, uint32_t id)
{
	const struct state *s = arg;
	const struct kernel *k = table_find(&s->kernels, ROW(kernel), id);

	return k && k->short_name.len ? str_get(&s->bytes, k->short_name) : NULL;
}

static bool params_of(void *arg, uint32_t id, struct sbt_blob *ret)
{
	const struct state *s = arg;
	const struct kernel *k = table_find(&s->kernels, ROW(kernel), id);

	if (k)
		*ret = str_blob(&s->bytes, k->params);
	return k != NULL;
}

struct sbt_names state_names(const struct state *s)
{
	return (struct sbt_names){
		.arg = (void *)(uintptr_t)s, .kernel = name_of, .params = params_of};
}

bool state_texture(const struct state *s, unsigned i, struct state_texture *ret)
{
	const struct texture *t;

	if (i >= s->textures.n)
		return false;
	t = &ROWS(s, textures, texture)[i];
	*ret = (struct state_texture){.id = t->id, .ctx = t->ctx, .is = &t->is};
	return true;
}

bool state_limit(const struct state *s, unsigned i, struct state_limit *ret)
{
	const struct limit *l;

	if (i >= s->limits.n)
		return false;
	l = &ROWS(s, limits, limit)[i];
	*ret = (struct state_limit){.ctx = l->id / STATE_LIMITS,
		.limit = l->id % STATE_LIMITS,
		.value = l->value,
		.seq = l->seq};
	return true;
}

bool state_texture_named(
	const struct state *s, uint64_t handle, unsigned *i, struct state_texture *ret)
{
	while (state_texture(s, (*i)++, ret))
		if (ret->is->handle == handle)
			return true;
	return false;
}
