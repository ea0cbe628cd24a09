/* SPDX-License-Identifier: Apache-2.0
 *
 * The fold against a plain model: every command is kept, what is finished is found by looking at
 * all of them again, objects are arrays indexed by their ids. After each of many random commands
 * all that can be looked at is compared: of the state itself, of a clone that goes on, and of what
 * came back from a keyframe.
 */
#include "state-test.h"
#include "sbt/fields.h"

#define IDS 24
#define CMDS_MAX 260
#define ALLOCS_MAX 64

struct queued {
	struct sbt_cmd c;
	uint32_t stream, object, dep_stream;
	uint64_t dep; /* the record that it waits for; 0: none */
	bool done, begun;
};

/* What can be looked at; what follows from the commands is worked out when it is compared. */
static struct model {
	struct queued q[CMDS_MAX];
	unsigned n;
	struct {
		bool there, gone; /* gone: its id is not used again */
		struct state_stream is;
		uint64_t capture;
		unsigned mode;
	} streams[IDS];
	struct {
		bool there;
		struct state_event is;
		uint32_t ctx;
	} events[IDS];
	struct {
		bool there;
		struct state_context is;
	} contexts[IDS];
	struct {
		bool there;
		struct state_module is;
	} modules[IDS];
	struct {
		bool there;
		struct state_kernel is;
	} kernels[IDS];
	struct {
		bool there;
		struct state_graph is;
		struct {
			bool there;
			struct state_node is;
		} nodes[IDS];
	} graphs[IDS];
	struct {
		bool there;
		struct state_device is;
	} devices[IDS];
	struct {
		bool there;
		struct state_thread is;
		uint64_t upto;
		uint32_t of_ctx, of_stream;
	} threads[IDS];
	struct {
		bool there;
		uint32_t ctx;
		struct sbt_cmd_texture_create is;
	} textures[IDS];
	struct {
		bool there;
		uint64_t value, seq;
	} limits[IDS][STATE_LIMITS];
	struct state_alloc allocs[ALLOCS_MAX];
	unsigned nallocs;
	struct state_totals totals;
	bool timed;
} m;

static uint64_t x; /* of the generator, see random-cmds.h */
static uint64_t seq;
static uint64_t next_graph, next_stream; /* ids that nobody has used */
static uint64_t words[2];

static uint64_t below(uint64_t n)
{
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	return (x * UINT64_C(0x2545f4914f6cdd1d) >> 20) % n;
}

static void odd(bool is)
{
	m.totals.oddities += is;
}

/* ---- what is finished ---------------------------------------- */

static bool is_blocking(uint32_t id)
{
	return m.streams[id].there && !(m.streams[id].is.flags & 1) && !m.streams[id].is.is_default;
}

static void raise_to(uint64_t *goal, uint32_t id, uint64_t upto)
{
	if (id < IDS && m.streams[id].there && goal[id] < upto)
		goal[id] = upto;
}

/* The legacy default stream: what is before seq of the streams that it orders (CUDA programming
 * guide, "Default Stream"). */
static void raise_barrier(uint64_t *goal, uint32_t id, uint64_t before)
{
	const struct state_stream *st = &m.streams[id].is;

	if (st->is_default) {
		for (uint32_t i = 0; i < IDS; i++)
			if (is_blocking(i) && m.streams[i].is.ctx == st->ctx)
				raise_to(goal, i, before - 1);
	} else if (is_blocking(id) && st->ctx < IDS && m.contexts[st->ctx].there) {
		raise_to(goal, m.contexts[st->ctx].is.default_stream, before - 1);
	}
}

static void drop_stream(uint32_t id)
{
	m.streams[id].there = false;
	m.streams[id].gone = true;
}

static struct queued *head_of(uint32_t stream)
{
	for (unsigned i = 0; i < m.n; i++)
		if (m.q[i].stream == stream && !m.q[i].done)
			return &m.q[i];
	return NULL;
}

static bool record_is_done(const struct state_event *e)
{
	for (unsigned i = 0; i < m.n; i++)
		if (m.q[i].c.seq == e->record_seq)
			return m.q[i].done;
	return false;
}

static bool is_launched(uint32_t graph)
{
	for (unsigned i = 0; i < m.n; i++)
		if (m.q[i].c.kind == SBT_GRAPH_LAUNCH && m.q[i].object == graph && !m.q[i].done)
			return true;
	return false;
}

/* Objects that were destroyed while something was pending. */
static void drop_the_dead(void)
{
	for (uint32_t i = 0; i < IDS; i++) {
		if (m.streams[i].there && m.streams[i].is.destroyed && !head_of(i))
			drop_stream(i);
		if (m.events[i].there && m.events[i].is.destroyed &&
			(!m.events[i].is.record_seq || record_is_done(&m.events[i].is)))
			m.events[i].there = false;
		if (m.graphs[i].there && m.graphs[i].is.destroyed && !is_launched(i))
			memset(&m.graphs[i], 0, sizeof m.graphs[i]);
	}
}

/* Until nothing is added. */
static void finish(uint64_t *goal)
{
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < m.n; i++) {
			struct queued *q = &m.q[i];

			if (q->done || q->c.seq > goal[q->stream])
				continue;
			more = q->done = true;
			m.streams[q->stream].is.finished++;
			if (q->dep)
				raise_to(goal, q->dep_stream, q->dep);
			raise_barrier(goal, q->stream, q->c.seq);
		}
	}
}

static void finish_stream(uint32_t id, uint64_t upto)
{
	uint64_t goal[IDS] = {0};

	raise_to(goal, id, upto);
	finish(goal);
}

static void finish_all_of(uint32_t ctx, uint64_t upto)
{
	uint64_t goal[IDS] = {0};

	for (uint32_t i = 0; i < IDS; i++)
		if (m.streams[i].there && m.streams[i].is.ctx == ctx)
			raise_to(goal, i, upto);
	finish(goal);
}

/* ---- streams and what is put on them ---------------------------------------- */

static void make_stream(uint32_t id, uint32_t ctx, const struct sbt_cmd *c)
{
	m.streams[id].there = true;
	m.streams[id].is =
		(struct state_stream){.id = id, .ctx = ctx, .created_by_thread = c->thread};
}

/* SBT_NO_ID: none. */
static uint32_t stream_for(const struct sbt_cmd *c, uint64_t id)
{
	if (id == SBT_NO_ID && c->ctx < IDS && m.contexts[c->ctx].there)
		id = m.contexts[c->ctx].is.default_stream;
	if (id == SBT_NO_ID) {
		odd(true);
		return SBT_NO_ID;
	}
	odd(!m.streams[id].there || m.streams[id].is.destroyed);
	if (!m.streams[id].there) {
		make_stream((uint32_t)id, c->ctx, c);
		m.streams[id].is.flags = SBT_STREAM_UNKNOWN; /* nobody saw it made */
	}
	return (uint32_t)id;
}

static struct queued *put(const struct sbt_cmd *c, uint64_t stream, uint64_t object)
{
	uint32_t id;

	if (c->flags & SBT_F_GRAPH || (id = stream_for(c, stream)) == SBT_NO_ID)
		return NULL;
	m.q[m.n] = (struct queued){.c = *c, .stream = id, .object = (uint32_t)object};
	m.streams[id].is.submitted++;
	m.streams[id].is.last_submitted = c->seq;
	return &m.q[m.n++];
}

static struct state_device *device(uint64_t id)
{
	m.devices[id].there = true;
	m.devices[id].is.device = (uint32_t)id;
	return &m.devices[id].is;
}

static struct state_device *device_of(uint32_t stream)
{
	const uint32_t ctx = m.streams[stream].is.ctx;

	return ctx < IDS && m.contexts[ctx].there ? device(m.contexts[ctx].is.device) : NULL;
}

/* ---- memory ---------------------------------------- */

static struct state_alloc *alloc_at(uint64_t addr)
{
	for (unsigned i = 0; i < m.nallocs; i++)
		if (addr - m.allocs[i].addr < m.allocs[i].size)
			return &m.allocs[i];
	return NULL;
}

static void count_alloc(const struct state_alloc *a, int one)
{
	struct state_device *d;

	if (a->ctx < IDS && m.contexts[a->ctx].there) {
		m.contexts[a->ctx].is.allocations += one;
		m.contexts[a->ctx].is.bytes += one * a->size;
	}
	if (a->mem == SBT_MEM_PINNED || a->mem == SBT_MEM_REGISTERED)
		return;
	d = device(a->device);
	d->alloc_count += one;
	d->alloc_bytes += one * a->size;
	d->alloc_peak = d->alloc_bytes > d->alloc_peak ? d->alloc_bytes : d->alloc_peak;
}

static void take_alloc(unsigned i)
{
	count_alloc(&m.allocs[i], -1);
	m.allocs[i] = m.allocs[--m.nallocs];
}

static void wrote(uint64_t addr, uint64_t size)
{
	for (unsigned i = 0; i < m.nallocs; i++)
		if (size && m.allocs[i].addr < addr + size &&
			addr < m.allocs[i].addr + m.allocs[i].size) {
			m.allocs[i].last_writer = seq;
			m.allocs[i].writer_certain = true;
		}
}

static void may_have_written(uint64_t addr)
{
	struct state_alloc *a = alloc_at(addr);

	if (!a)
		return;
	a->last_writer = seq;
	a->writer_certain = false;
}

static void an_alloc(const struct sbt_cmd *c)
{
	const struct sbt_cmd_alloc *u = &c->u.alloc;

	if (u->stream != SBT_NO_ID)
		put(c, u->stream, 0);
	if (c->flags & SBT_F_GRAPH)
		return;
	for (unsigned i = m.nallocs; i--;)
		if (m.allocs[i].addr < u->addr + u->size &&
			u->addr < m.allocs[i].addr + m.allocs[i].size) {
			odd(!m.allocs[i].before);
			take_alloc(i);
		}
	m.allocs[m.nallocs] = (struct state_alloc){.addr = u->addr,
		.size = u->size,
		.pitch = u->pitch,
		.mem = u->mem,
		.device = (uint32_t)u->device,
		.ctx = c->ctx,
		.stack = c->stack,
		.alloc_seq = c->seq,
		.before = c->flags & SBT_F_BEFORE};
	count_alloc(&m.allocs[m.nallocs++], 1);
	if (c->flags & SBT_F_BEFORE) {
		m.totals.found_allocations++;
		m.totals.found_bytes += u->size;
	}
}

static void a_free(const struct sbt_cmd *c)
{
	const struct sbt_cmd_free *u = &c->u.free;
	const struct state_alloc *a = alloc_at(u->addr);
	const bool begins = a && a->addr == u->addr;

	if (u->stream != SBT_NO_ID)
		put(c, u->stream, 0);
	if (c->flags & SBT_F_GRAPH)
		return;
	if (begins && (!(c->flags & SBT_F_SYNTHETIC) || a->before))
		take_alloc((unsigned)(a - m.allocs));
	else if (!(c->flags & SBT_F_SYNTHETIC))
		odd(u->addr);
}

/* ---- objects ---------------------------------------- */

static void a_context(const struct sbt_cmd *c)
{
	const struct sbt_cmd_ctx_create *u = &c->u.ctx_create;
	struct state_context *is = &m.contexts[u->new_ctx].is;
	const uint64_t st = u->default_stream;

	odd(m.contexts[u->new_ctx].there && !is->destroyed);
	odd(m.contexts[u->new_ctx].there && is->destroyed);
	m.contexts[u->new_ctx].there = true;
	*is = (struct state_context){.id = (uint32_t)u->new_ctx,
		.device = (uint32_t)u->device,
		.default_stream = (uint32_t)st,
		.handle = u->handle,
		.primary = u->primary,
		.before = c->flags & SBT_F_BEFORE,
		.allocations = is->allocations,
		.bytes = is->bytes};
	device(u->device);
	if (st != SBT_NO_ID) {
		if (!m.streams[st].there)
			make_stream((uint32_t)st, (uint32_t)u->new_ctx, c);
		m.streams[st].is.ctx = (uint32_t)u->new_ctx;
		m.streams[st].is.is_default = true;
		m.streams[st].is.flags &= ~(uint64_t)SBT_STREAM_UNKNOWN;
		m.streams[st].is.before = c->flags & SBT_F_BEFORE;
	}
	if (!u->primary && !(c->flags & SBT_F_SYNTHETIC))
		m.threads[c->thread].is.ctx = (uint32_t)u->new_ctx;
}

static void the_end_of_a_context(uint32_t id)
{
	odd(!m.contexts[id].there || m.contexts[id].is.destroyed);
	if (!m.contexts[id].there)
		return;
	m.contexts[id].is.destroyed = true;
	finish_all_of(id, UINT64_MAX);
	drop_the_dead();
	for (unsigned i = 0; i < IDS; i++) {
		if (m.streams[i].there && m.streams[i].is.ctx == id)
			drop_stream(i);
		if (m.events[i].there && m.events[i].ctx == id)
			m.events[i].there = false;
		if (m.textures[i].there && m.textures[i].ctx == id)
			m.textures[i].there = false;
		if (m.modules[i].there && m.modules[i].is.ctx == id)
			m.modules[i].is.unloaded = true;
	}
	memset(m.limits[id], 0, sizeof m.limits[id]);
	for (unsigned i = m.nallocs; i--;)
		if (m.allocs[i].ctx == id)
			take_alloc(i);
}

static void a_stream(const struct sbt_cmd *c)
{
	const struct sbt_cmd_stream_create *u = &c->u.stream_create;
	struct state_stream *is = &m.streams[u->new_stream].is;

	if (!m.streams[u->new_stream].there)
		make_stream((uint32_t)u->new_stream, c->ctx, c);
	else
		odd(!is->is_default);
	is->destroyed = false;
	is->handle = u->handle;
	is->flags = u->stream_flags;
	is->priority = (int64_t)u->priority;
	is->per_thread = u->per_thread;
	is->created_by_thread = c->thread;
	if (!is->is_default)
		is->before = c->flags & SBT_F_BEFORE;
}

static void an_event(const struct sbt_cmd *c)
{
	const struct sbt_cmd_event_create *u = &c->u.event_create;
	struct state_event *is = &m.events[u->new_event].is;

	odd(m.events[u->new_event].there);
	if (!m.events[u->new_event].there)
		*is = (struct state_event){.id = (uint32_t)u->new_event, .stream = SBT_NO_ID};
	m.events[u->new_event].there = true;
	m.events[u->new_event].ctx = c->ctx;
	is->destroyed = false;
	is->handle = u->handle;
	is->flags = u->event_flags;
	is->before = c->flags & SBT_F_BEFORE;
}

static bool event_lives(uint64_t id)
{
	return m.events[id].there && !m.events[id].is.destroyed;
}

static void a_record(const struct sbt_cmd *c)
{
	const uint64_t id = c->u.event_record.event;
	const struct queued *q;

	odd(!event_lives(id));
	q = put(c, c->u.event_record.stream, id);
	if (!q)
		return;
	if (!m.events[id].there) {
		m.events[id].is = (struct state_event){.id = (uint32_t)id};
		m.events[id].there = true;
		m.events[id].ctx = c->ctx;
	}
	m.events[id].is.stream = q->stream;
	m.events[id].is.record_seq = c->seq;
	m.events[id].is.records++;
}

static void a_wait(const struct sbt_cmd *c)
{
	const uint64_t id = c->u.stream_wait.event;
	struct state_event *e = m.events[id].there ? &m.events[id].is : NULL;
	struct queued *q;

	odd(!event_lives(id));
	if (c->flags & SBT_F_GRAPH)
		return;
	if (e)
		e->waits++;
	q = put(c, c->u.stream_wait.stream, id);
	if (q && e && e->record_seq && !record_is_done(e)) {
		q->dep = e->record_seq;
		q->dep_stream = e->stream;
	}
}

static void a_module(const struct sbt_cmd *c)
{
	const struct sbt_cmd_module_load *u = &c->u.module_load;
	struct state_module *is = &m.modules[u->new_module].is;

	odd(m.modules[u->new_module].there);
	m.modules[u->new_module].there = true;
	*is = (struct state_module){.id = (uint32_t)u->new_module,
		.ctx = u->is_library ? SBT_NO_ID : c->ctx,
		.handle = u->handle,
		.code_hash = u->code_hash,
		.code_size = u->code_size,
		.seq = c->seq,
		.is_library = u->is_library,
		.before = c->flags & SBT_F_BEFORE,
		.file = u->file,
		.kernels = is->kernels};
}

static bool module_lives(uint64_t id)
{
	return m.modules[id].there && !m.modules[id].is.unloaded;
}

static void a_kernel(const struct sbt_cmd *c)
{
	const struct sbt_cmd_kernel_def *u = &c->u.kernel_def;
	struct state_kernel *is = &m.kernels[u->new_kernel].is;

	odd(m.kernels[u->new_kernel].there);
	m.kernels[u->new_kernel].there = true;
	*is = (struct state_kernel){.id = (uint32_t)u->new_kernel,
		.module = (uint32_t)u->module,
		.params = u->params,
		.code_hash = u->code_hash,
		.regs = u->regs,
		.static_shared = u->static_shared,
		.local_mem = u->local_mem,
		.max_threads = u->max_threads,
		.launches = is->launches,
		.last_launch = is->last_launch};
	if (u->module < IDS && m.modules[u->module].there)
		m.modules[u->module].is.kernels++;
}

/* ---- graphs ---------------------------------------- */

static bool graph_lives(uint64_t id)
{
	return m.graphs[id].there && !m.graphs[id].is.destroyed;
}

/* The ids of graphs are used once. */
static struct state_graph *make_graph(
	const struct sbt_cmd *c, uint64_t id, uint64_t source, uint64_t handle)
{
	m.graphs[id].there = true;
	next_graph = id < next_graph ? next_graph : id + 1;
	m.graphs[id].is = (struct state_graph){.id = (uint32_t)id,
		.source = (uint32_t)source,
		.handle = handle,
		.made = c->seq,
		.before = c->flags & SBT_F_BEFORE,
		.capture_stream = SBT_NO_ID};
	return &m.graphs[id].is;
}

static void copy_nodes(uint64_t to, uint64_t from)
{
	if (from < IDS && m.graphs[from].there)
		memcpy(m.graphs[to].nodes, m.graphs[from].nodes, sizeof m.graphs[to].nodes);
}

static void a_node(const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_node *u = &c->u.graph_node;

	odd(!graph_lives(u->graph));
	if (!m.graphs[u->graph].there)
		make_graph(c, u->graph, SBT_NO_ID, 0);
	m.graphs[u->graph].nodes[u->node].there = true;
	m.graphs[u->graph].nodes[u->node].is = (struct state_node){.node = (uint32_t)u->node,
		.kernel = (uint32_t)u->kernel,
		.type = u->type,
		.deps = u->deps,
		.payload = u->payload,
		.origin = u->origin,
		.stack = c->stack,
		.disabled = u->disabled};
}

static void an_executable(const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_instantiate *u = &c->u.graph_instantiate;

	make_graph(c, u->new_exec, u->graph, u->handle)->is_exec = true;
	odd(!(c->flags & SBT_F_BEFORE) && !graph_lives(u->graph));
	for (uint64_t i = u->nodes; u->nodes && i < IDS; i++)
		m.graphs[u->graph].nodes[i].there = false;
	copy_nodes(u->new_exec, u->graph);
}

static void a_capture(const struct sbt_cmd *c, bool begins)
{
	const struct sbt_cmd_capture_end *u = &c->u.capture_end;
	const uint32_t id =
		stream_for(c, begins ? c->u.capture_begin.stream : c->u.capture_end.stream);

	if (id == SBT_NO_ID)
		return;
	odd(m.streams[id].is.capturing == begins);
	m.streams[id].is.capturing = begins;
	if (!begins && u->new_graph != SBT_NO_ID) {
		struct state_graph *g = make_graph(c, u->new_graph, SBT_NO_ID, u->handle);

		g->capture_first = m.streams[id].capture;
		g->capture_mode = m.streams[id].mode;
		g->capture_stream = id;
	}
	m.streams[id].capture = begins ? c->seq : 0;
	m.streams[id].mode = begins ? c->u.capture_begin.mode : 0;
}

/* A graph of which no node is known, or with a node that is none of CUDA's known types. */
static bool may_write_anything(uint64_t id)
{
	bool any = false, unknown = false;

	for (unsigned i = 0; i < IDS; i++) {
		const struct state_node *n = &m.graphs[id].nodes[i].is;

		any |= m.graphs[id].nodes[i].there;
		unknown |= m.graphs[id].nodes[i].there && !n->disabled && n->type == SBT_NODE_OTHER;
	}
	return !any || unknown;
}

static void a_graph_launch(const struct sbt_cmd *c)
{
	const uint64_t id = c->u.graph_launch.exec;

	odd(!graph_lives(id));
	if (!put(c, c->u.graph_launch.stream, id) || !m.graphs[id].there)
		return;
	m.graphs[id].is.launches++;
	m.graphs[id].is.last_launch = c->seq;
	if (!may_write_anything(id))
		return;
	for (unsigned i = 0; i < m.nallocs; i++) {
		m.allocs[i].last_writer = c->seq;
		m.allocs[i].writer_certain = false;
	}
}

/* ---- work, and a host that waits ---------------------------------------- */

static void a_launch(const struct sbt_cmd *c)
{
	const uint64_t k = c->u.launch.kernel;
	const bool known = k < IDS && m.kernels[k].there;
	const struct queued *q;

	odd(!known);
	q = put(c, c->u.launch.stream, k);
	if (!q)
		return;
	m.totals.launches++;
	if (device_of(q->stream))
		device_of(q->stream)->launches++;
	if (known) {
		m.kernels[k].is.launches++;
		m.kernels[k].is.last_launch = c->seq;
	}
	for (unsigned i = 0; i < 2; i++) {
		may_have_written(words[i]);
		for (unsigned t = 0; t < IDS; t++)
			if (m.textures[t].there && m.textures[t].is.handle == words[i] &&
				m.textures[t].is.surface)
				may_have_written(m.textures[t].is.addr);
	}
}

static void a_copy(const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *u = &c->u.copy;
	const bool to_device = u->dir == SBT_COPY_H2D, to_host = u->dir == SBT_COPY_D2H;
	const struct queued *q = put(c, u->stream, 0);
	struct state_device *d;
	uint64_t goal[IDS] = {0};

	if (!q)
		return;
	m.totals.copies++;
	d = device_of(q->stream);
	if (d) {
		d->copies++;
		d->copy_bytes += u->size;
	}
	if (u->dir == SBT_COPY_H2H || (to_host && (!u->async || u->pageable)) ||
		(to_device && !u->async && !u->pageable)) {
		finish_stream(q->stream, c->seq);
	} else if (to_device && !u->async) { /* staged: only what is in front has finished */
		raise_to(goal, q->stream, c->seq - 1);
		raise_barrier(goal, q->stream, c->seq);
		finish(goal);
	}
}

static void a_fill(const struct sbt_cmd *c)
{
	const struct sbt_cmd_fill *u = &c->u.fill;
	const struct queued *q = put(c, u->stream, 0);
	const struct state_alloc *a = alloc_at(u->dst);
	struct state_device *d;

	if (!q)
		return;
	m.totals.fills++;
	d = device_of(q->stream);
	if (d) {
		d->fills++;
		d->fill_bytes += u->size;
	}
	if (!u->async && a &&
		(a->mem == SBT_MEM_PINNED || a->mem == SBT_MEM_REGISTERED ||
			a->mem == SBT_MEM_MANAGED))
		finish_stream(q->stream, c->seq);
}

/* *ret_stream SBT_NO_ID: all of the context. 0: nothing is known to be finished then. */
static uint64_t waits_up_to(const struct sbt_cmd *c, uint64_t scope, uint64_t stream,
	uint64_t event, uint32_t *ret_stream)
{
	*ret_stream = SBT_NO_ID;
	if (scope == SBT_SYNC_CTX)
		return c->ctx == SBT_NO_ID ? 0 : c->seq - 1;
	if (stream == SBT_NO_ID && event == SBT_NO_ID)
		return 0;
	if (scope == SBT_SYNC_STREAM) {
		odd(!m.streams[stream].there || m.streams[stream].is.destroyed);
		*ret_stream = (uint32_t)stream;
		return m.streams[stream].there ? c->seq - 1 : 0;
	}
	odd(!event_lives(event));
	if (!m.events[event].there || !m.events[event].is.record_seq)
		return 0;
	*ret_stream = m.events[event].is.stream;
	return m.events[event].is.record_seq;
}

static void knows(uint64_t upto, uint32_t ctx, uint32_t stream)
{
	if (upto && stream == SBT_NO_ID)
		finish_all_of(ctx, upto);
	else if (upto)
		finish_stream(stream, upto);
}

static void a_sync(const struct sbt_cmd *c)
{
	const struct sbt_cmd_sync *u = &c->u.sync;

	m.totals.syncs++;
	m.threads[c->thread].is.waiting_in = c->seq;
	m.threads[c->thread].of_ctx = c->ctx;
	m.threads[c->thread].upto =
		waits_up_to(c, u->scope, u->stream, u->event, &m.threads[c->thread].of_stream);
}

static void the_end_of_a_sync(const struct sbt_cmd *c)
{
	struct state_thread *t = &m.threads[c->thread].is;

	if (!t->waiting_in || t->waiting_in != c->u.sync_end.begin) {
		odd(true);
		return;
	}
	t->waiting_in = 0;
	knows(m.threads[c->thread].upto, m.threads[c->thread].of_ctx,
		m.threads[c->thread].of_stream);
}

static void a_query(const struct sbt_cmd *c)
{
	const struct sbt_cmd_query *u = &c->u.query;
	uint32_t stream;
	uint64_t upto;

	if (c->result)
		return;
	upto = waits_up_to(c, u->scope, u->stream, u->event, &stream);
	knows(upto, c->ctx, stream);
}

static void an_attach(const struct sbt_cmd_attach *u)
{
	if (u->what == SBT_ATTACH_BEGINS) {
		m.totals.attach_seq = seq;
		m.totals.found_allocations = m.totals.found_bytes = m.totals.found_missed =
			m.totals.found_probed = m.totals.found_ns = m.totals.unknown = 0;
	} else if (u->what == SBT_ATTACH_FOUND) {
		m.totals.found_missed += u->missed;
		m.totals.found_probed += u->probed;
		m.totals.found_ns += u->took;
	} else {
		m.totals.unknown++;
	}
}

/* ---- the model's own fold ---------------------------------------- */

static void apply_object(const struct sbt_cmd *c)
{
	uint64_t id;

	switch (c->kind) {
	case SBT_DEVICE:
		*device(c->u.device.device) =
			(struct state_device){.device = (uint32_t)c->u.device.device,
				.name = c->u.device.device_name,
				.sm_major = c->u.device.sm_major,
				.sm_minor = c->u.device.sm_minor,
				.total_mem = c->u.device.total_mem,
				.sm_count = c->u.device.sm_count,
				.driver_version = c->u.device.driver_version,
				.soft = c->u.device.soft,
				.launches = device(c->u.device.device)->launches,
				.copies = device(c->u.device.device)->copies,
				.copy_bytes = device(c->u.device.device)->copy_bytes,
				.fills = device(c->u.device.device)->fills,
				.fill_bytes = device(c->u.device.device)->fill_bytes,
				.alloc_count = device(c->u.device.device)->alloc_count,
				.alloc_bytes = device(c->u.device.device)->alloc_bytes,
				.alloc_peak = device(c->u.device.device)->alloc_peak};
		break;
	case SBT_CTX_CREATE:
		a_context(c);
		break;
	case SBT_CTX_DESTROY:
		the_end_of_a_context((uint32_t)c->u.ctx_destroy.dead_ctx);
		break;
	case SBT_CTX_SET:
		id = c->u.ctx_set.new_ctx;
		odd(id != SBT_NO_ID && (!m.contexts[id].there || m.contexts[id].is.destroyed));
		m.threads[c->thread].is.ctx = (uint32_t)id;
		break;
	case SBT_CTX_LIMIT:
		if (c->u.ctx_limit.limit >= STATE_LIMITS || c->ctx >= IDS)
			break;
		m.limits[c->ctx][c->u.ctx_limit.limit].there = true;
		m.limits[c->ctx][c->u.ctx_limit.limit].value = c->u.ctx_limit.limit_value;
		m.limits[c->ctx][c->u.ctx_limit.limit].seq = c->seq;
		break;
	case SBT_STREAM_CREATE:
		a_stream(c);
		break;
	case SBT_STREAM_DESTROY:
		id = c->u.stream_destroy.dead_stream;
		odd(!m.streams[id].there || m.streams[id].is.destroyed);
		m.streams[id].is.destroyed = true;
		break;
	case SBT_EVENT_CREATE:
		an_event(c);
		break;
	case SBT_EVENT_DESTROY:
		id = c->u.event_destroy.dead_event;
		odd(!event_lives(id));
		m.events[id].is.destroyed = true;
		break;
	case SBT_MODULE_LOAD:
		a_module(c);
		break;
	case SBT_MODULE_UNLOAD:
		odd(!module_lives(c->u.module_unload.dead_module));
		m.modules[c->u.module_unload.dead_module].is.unloaded = true;
		break;
	case SBT_MODULE_CODE:
		id = c->u.module_code.module;
		odd(!module_lives(id));
		m.modules[id].is.code_hash = c->u.module_code.code_hash;
		m.modules[id].is.code_size = c->u.module_code.code_size;
		break;
	case SBT_GLOBAL_DEF:
		odd(!module_lives(c->u.global_def.module));
		break;
	case SBT_KERNEL_DEF:
		a_kernel(c);
		break;
	case SBT_FUNC_ATTR:
		odd(!m.kernels[c->u.func_attr.kernel].there);
		break;
	case SBT_TEXTURE_CREATE:
		id = c->u.texture_create.new_texture;
		odd(m.textures[id].there);
		m.textures[id].there = true;
		m.textures[id].ctx = c->ctx;
		m.textures[id].is = c->u.texture_create;
		break;
	case SBT_TEXTURE_DESTROY:
		odd(!m.textures[c->u.texture_destroy.dead_texture].there);
		m.textures[c->u.texture_destroy.dead_texture].there = false;
		break;
	case SBT_ALLOC:
		an_alloc(c);
		break;
	case SBT_FREE:
		a_free(c);
		break;
	default:
		fail_msg("%s", sbt_kind(c->kind)->name);
	}
}

static void apply_graph(const struct sbt_cmd *c)
{
	uint64_t id;

	switch (c->kind) {
	case SBT_CAPTURE_BEGIN:
	case SBT_CAPTURE_END:
		a_capture(c, c->kind == SBT_CAPTURE_BEGIN);
		break;
	case SBT_GRAPH_CREATE:
		id = c->u.graph_create.new_graph;
		make_graph(c, id, c->u.graph_create.clone_of, c->u.graph_create.handle);
		copy_nodes(id, c->u.graph_create.clone_of);
		break;
	case SBT_GRAPH_NODE:
		a_node(c);
		break;
	case SBT_GRAPH_INSTANTIATE:
		an_executable(c);
		break;
	case SBT_GRAPH_UPDATE:
		id = c->u.graph_update.exec;
		odd(!graph_lives(id));
		m.graphs[id].is.updates++;
		m.graphs[id].is.last_update = c->seq;
		break;
	case SBT_GRAPH_DESTROY:
		odd(!graph_lives(c->u.graph_destroy.dead_graph));
		m.graphs[c->u.graph_destroy.dead_graph].is.destroyed = true;
		break;
	default:
		apply_object(c);
	}
}

/* What the record says that it writes. */
static void note_writes(const struct sbt_cmd *c)
{
	if (c->flags & SBT_F_GRAPH)
		return;
	if (c->kind == SBT_COPY)
		wrote(c->u.copy.dst, c->u.copy.size);
	else if (c->kind == SBT_FILL)
		wrote(c->u.fill.dst, c->u.fill.size);
	else if (c->kind == SBT_BATCH && !c->u.batch.is_wait)
		wrote(c->u.batch.addr, c->u.batch.elem);
}

static void apply_work(const struct sbt_cmd *c)
{
	switch (c->kind) {
	case SBT_LAUNCH:
		a_launch(c);
		break;
	case SBT_COPY:
		a_copy(c);
		break;
	case SBT_FILL:
		a_fill(c);
		break;
	case SBT_BATCH:
		put(c, c->u.batch.stream, 0);
		break;
	case SBT_HOST_FUNC:
		put(c, c->u.host_func.stream, 0);
		break;
	case SBT_EVENT_RECORD:
		a_record(c);
		break;
	case SBT_STREAM_WAIT:
		a_wait(c);
		break;
	case SBT_GRAPH_LAUNCH:
		a_graph_launch(c);
		break;
	case SBT_SYNC:
		a_sync(c);
		break;
	case SBT_SYNC_END:
		the_end_of_a_sync(c);
		break;
	case SBT_QUERY:
		a_query(c);
		break;
	case SBT_THREAD:
		m.threads[c->thread].is.os_tid = (uint32_t)c->u.thread.os_tid;
		m.threads[c->thread].is.name = c->u.thread.thread_name;
		break;
	case SBT_ATTACH:
		an_attach(&c->u.attach);
		break;
	default:
		apply_graph(c);
	}
}

static void model_apply(const struct sbt_cmd *c)
{
	if (!m.threads[c->thread].there)
		m.threads[c->thread].is =
			(struct state_thread){.thread = c->thread, .ctx = SBT_NO_ID};
	m.threads[c->thread].there = true;
	m.threads[c->thread].is.commands++;
	if (c->ctx != SBT_NO_ID)
		m.threads[c->thread].is.ctx = c->ctx;
	m.totals.commands++;
	m.totals.seq = c->seq;
	if (c->result && !(c->kind == SBT_QUERY && c->result == STATE_NOT_READY)) {
		m.totals.failed++;
		if (c->kind == SBT_SYNC_END)
			m.threads[c->thread].is.waiting_in = 0;
		return;
	}
	apply_work(c);
	note_writes(c);
	drop_the_dead();
}

/* ---- what is shown ---------------------------------------- */

static uint64_t last_pending(uint32_t stream, uint64_t upto)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < m.n; i++)
		if (m.q[i].stream == stream && !m.q[i].done && m.q[i].c.seq <= upto)
			last = m.q[i].c.seq;
	return last;
}

static bool held_by(struct state_stream *st, uint32_t other, uint64_t upto)
{
	const uint64_t last = other < IDS && m.streams[other].there ? last_pending(other, upto) : 0;

	if (!last)
		return false;
	st->status = STATE_WAITING;
	st->wait_stream = other;
	st->wait_seq = last;
	return true;
}

static bool held_by_barrier(struct state_stream *st)
{
	const bool known = st->ctx < IDS && m.contexts[st->ctx].there;

	if (is_blocking(st->id))
		return known && held_by(st, m.contexts[st->ctx].is.default_stream, st->head - 1);
	for (uint32_t i = 0; st->is_default && i < IDS; i++)
		if (is_blocking(i) && m.streams[i].is.ctx == st->ctx &&
			held_by(st, i, st->head - 1))
			return true;
	return false;
}

static struct state_stream shown(uint32_t id)
{
	struct state_stream st = m.streams[id].is;
	const struct queued *head = head_of(id);

	st.pending = st.submitted - st.finished;
	st.head = head ? head->c.seq : 0;
	st.status = head ? STATE_RUNNING : STATE_IDLE;
	st.wait_event = st.wait_stream = SBT_NO_ID;
	if (!head || head->begun)
		return st;
	if (head->dep && held_by(&st, head->dep_stream, head->dep)) {
		st.wait_event = head->object;
		st.wait_seq = head->dep;
	} else if (!held_by_barrier(&st)) {
		if (head->c.kind == SBT_BATCH && head->c.u.batch.is_wait)
			st.status = STATE_WAITING;
		else if (m.timed && (head->c.kind == SBT_LAUNCH || head->c.kind == SBT_COPY ||
					    head->c.kind == SBT_FILL))
			st.status = STATE_PENDING;
	}
	return st;
}

#define SAME(field)                                                                                \
	do {                                                                                       \
		if (got.field != want.field)                                                       \
			fail_msg("#%llu: %s of %u is %llu, not %llu", (unsigned long long)seq,     \
				#field, i, (unsigned long long)got.field,                          \
				(unsigned long long)want.field);                                   \
	} while (0)
#define SAME_BLOB(field)                                                                           \
	do {                                                                                       \
		assert_int_equal(got.field.len, want.field.len);                                   \
		if (want.field.len)                                                                \
			assert_memory_equal(got.field.p, want.field.p, want.field.len);            \
	} while (0)

/* Kinds whose brief in a queue has these fields. */
static const struct {
	uint16_t kind;
	const char *fields;
} briefs[] = {{SBT_ALLOC, "addr size mem device"}, {SBT_FREE, "addr mem"},
	{SBT_LAUNCH,
		"kernel grid_x grid_y grid_z block_x block_y block_z cooperative cluster_x shared"},
	{SBT_COPY, "dst src size dir async pageable"}, {SBT_FILL, "dst size value elem async"},
	{SBT_EVENT_RECORD, "event"}, {SBT_STREAM_WAIT, "event"}, {SBT_HOST_FUNC, "fn user_data"},
	{SBT_GRAPH_LAUNCH, "exec"}, {SBT_BATCH, "is_wait elem addr value"}};

static void assert_brief(const struct sbt_cmd *got, const struct queued *q)
{
	unsigned k = 0;

	assert_int_equal(got->kind, q->c.kind);
	assert_int_equal(got->seq, q->c.seq);
	assert_int_equal(got->flags, q->c.flags);
	assert_int_equal(got->thread, q->c.thread);
	assert_int_equal(got->ctx, q->c.ctx);
	assert_int_equal(got->stack, q->c.stack);
	assert_int_equal(sbt_get(got, sbt_field(got->kind, "stream")), q->stream);
	while (briefs[k].kind != got->kind)
		k++;
	for (const struct sbt_field *f = sbt_kind(got->kind)->fields; f->name; f++) {
		const char *at = strstr(briefs[k].fields, f->name);
		const size_t n = strlen(f->name);

		if (at && (at == briefs[k].fields || at[-1] == ' ') && (!at[n] || at[n] == ' ') &&
			sbt_get(got, f) != sbt_get(&q->c, f))
			fail_msg("#%llu: %s of %s", (unsigned long long)seq, f->name,
				sbt_kind(got->kind)->name);
	}
}

static void assert_queue(const struct state *s, uint32_t id, const struct state_stream *st)
{
	enum state_status status;
	struct sbt_cmd brief;
	unsigned n = 0;

	for (unsigned k = 0; k < m.n; k++) {
		const struct queued *q = &m.q[k];

		if (q->stream != id || q->done)
			continue;
		assert_true(state_queue(s, id, n, &brief, &status));
		assert_brief(&brief, q);
		assert_int_equal(status, !n	    ? st->status
					 : q->begun ? STATE_RUNNING
						    : STATE_PENDING);
		n++;
	}
	assert_false(state_queue(s, id, n, &brief, &status));
}

static void assert_streams(const struct state *s)
{
	struct state_stream got;
	unsigned n = 0;

	for (unsigned i = 0; i < IDS; i++) {
		const struct state_stream want = shown(i);

		assert_int_equal(state_stream_by_id(s, i, &got), m.streams[i].there);
		if (!m.streams[i].there)
			continue;
		assert_true(state_stream(s, n++, &got));
		SAME(id);
		SAME(ctx);
		SAME(created_by_thread);
		SAME(handle);
		SAME(flags);
		SAME(priority);
		SAME(is_default);
		SAME(per_thread);
		SAME(destroyed);
		SAME(capturing);
		SAME(before);
		SAME(head);
		SAME(pending);
		SAME(submitted);
		SAME(finished);
		SAME(last_submitted);
		SAME(status);
		SAME(wait_event);
		SAME(wait_stream);
		SAME(wait_seq);
		assert_queue(s, i, &want);
	}
	assert_false(state_stream(s, n, &got));
}

static void assert_events(const struct state *s)
{
	struct state_event got;
	unsigned n = 0;

	for (unsigned i = 0; i < IDS; i++) {
		struct state_event want = m.events[i].is;

		assert_int_equal(state_event_by_id(s, i, &got), m.events[i].there);
		if (!m.events[i].there)
			continue;
		assert_true(state_event(s, n++, &got));
		want.recorded = want.record_seq != 0;
		want.complete = want.recorded && record_is_done(&want);
		SAME(id);
		SAME(handle);
		SAME(flags);
		SAME(recorded);
		SAME(destroyed);
		SAME(before);
		SAME(complete);
		SAME(stream);
		SAME(record_seq);
		SAME(records);
		SAME(waits);
	}
	assert_false(state_event(s, n, &got));
}

static void assert_contexts(const struct state *s)
{
	struct state_context got;
	unsigned n = 0;

	for (unsigned i = 0; i < IDS; i++) {
		struct state_context want = m.contexts[i].is;

		if (!m.contexts[i].there)
			continue;
		assert_true(state_context(s, n++, &got));
		for (unsigned k = 0; k < IDS; k++)
			want.streams += m.streams[k].there && m.streams[k].is.ctx == i;
		SAME(id);
		SAME(device);
		SAME(default_stream);
		SAME(handle);
		SAME(primary);
		SAME(destroyed);
		SAME(before);
		SAME(streams);
		SAME(allocations);
		SAME(bytes);
	}
	assert_false(state_context(s, n, &got));
}

static void assert_modules(const struct state *s)
{
	struct state_module got;
	unsigned n = 0;

	for (unsigned i = 0; i < IDS; i++) {
		const struct state_module want = m.modules[i].is;

		if (!m.modules[i].there)
			continue;
		assert_true(state_module(s, n++, &got));
		SAME(id);
		SAME(ctx);
		SAME(handle);
		SAME(code_hash);
		SAME(code_size);
		SAME(seq);
		SAME(is_library);
		SAME(unloaded);
		SAME(before);
		SAME(kernels);
		SAME_BLOB(file);
	}
	assert_false(state_module(s, n, &got));
}

static void assert_kernels(const struct state *s)
{
	struct state_kernel got;
	unsigned n = 0;

	for (unsigned i = 0; i < IDS; i++) {
		const struct state_kernel want = m.kernels[i].is;

		assert_int_equal(state_kernel_by_id(s, i, &got), m.kernels[i].there);
		if (!m.kernels[i].there)
			continue;
		assert_true(state_kernel(s, n++, &got));
		SAME(id);
		SAME(module);
		SAME(code_hash);
		SAME(regs);
		SAME(static_shared);
		SAME(local_mem);
		SAME(max_threads);
		SAME(launches);
		SAME(last_launch);
		SAME_BLOB(params);
		assert_string_equal(got.name, i % 2 ? "_Z5alphav" : "plain");
		assert_string_equal(got.short_name, i % 2 ? "alpha" : "plain");
	}
	assert_false(state_kernel(s, n, &got));
}

static void assert_nodes(const struct state *s, unsigned graph)
{
	struct state_node got;
	unsigned n = 0;

	for (unsigned i = 0; i < IDS; i++) {
		const struct state_node want = m.graphs[graph].nodes[i].is;

		if (!m.graphs[graph].nodes[i].there)
			continue;
		assert_true(state_graph_node(s, graph, n++, &got));
		SAME(node);
		SAME(kernel);
		SAME(type);
		SAME(origin);
		SAME(stack);
		SAME(disabled);
		SAME_BLOB(deps);
		SAME_BLOB(payload);
	}
	assert_false(state_graph_node(s, graph, n, &got));
}

static void assert_graphs(const struct state *s)
{
	struct state_graph got;
	unsigned n = 0;

	for (unsigned i = 0; i < IDS; i++) {
		struct state_graph want = m.graphs[i].is;

		assert_int_equal(state_graph_by_id(s, i, &got), m.graphs[i].there);
		if (!m.graphs[i].there)
			continue;
		assert_true(state_graph(s, n++, &got));
		for (unsigned k = 0; k < IDS; k++)
			want.nodes += m.graphs[i].nodes[k].there;
		SAME(id);
		SAME(source);
		SAME(handle);
		SAME(launches);
		SAME(last_launch);
		SAME(nodes);
		SAME(is_exec);
		SAME(destroyed);
		SAME(before);
		SAME(made);
		SAME(capture_first);
		SAME(capture_stream);
		SAME(capture_mode);
		SAME(updates);
		SAME(last_update);
		assert_nodes(s, i);
	}
	assert_false(state_graph(s, n, &got));
}

static void assert_allocs(const struct state *s)
{
	struct state_alloc got;
	uint64_t from = 0;
	unsigned i;

	for (i = 0; i < m.nallocs; i++) {
		unsigned least = UINT32_MAX;

		for (unsigned k = 0; k < m.nallocs; k++)
			if (m.allocs[k].addr >= from &&
				(least == UINT32_MAX || m.allocs[k].addr < m.allocs[least].addr))
				least = k;
		const struct state_alloc want = m.allocs[least];

		from = want.addr + 1;
		assert_true(state_alloc(s, i, &got));
		SAME(addr);
		SAME(size);
		SAME(pitch);
		SAME(mem);
		SAME(device);
		SAME(ctx);
		SAME(stack);
		SAME(alloc_seq);
		SAME(last_writer);
		SAME(writer_certain);
		SAME(before);
		assert_true(state_alloc_at(s, want.addr + want.size - 1, &got));
		SAME(addr);
		assert_int_equal(state_alloc_at(s, want.addr + want.size, &got),
			alloc_at(want.addr + want.size) != NULL);
	}
	assert_false(state_alloc(s, i, &got));
}

static void assert_devices_and_threads(const struct state *s)
{
	struct state_device d;
	struct state_thread t;
	unsigned nd = 0, nt = 0;

	for (unsigned i = 0; i < IDS; i++) {
		if (m.devices[i].there) {
			const struct state_device want = m.devices[i].is;

			assert_true(state_device(s, nd++, &d));
			struct state_device got = d;
			SAME(device);
			SAME(sm_major);
			SAME(sm_minor);
			SAME(total_mem);
			SAME(sm_count);
			SAME(driver_version);
			SAME(soft);
			SAME(launches);
			SAME(copies);
			SAME(copy_bytes);
			SAME(fills);
			SAME(fill_bytes);
			SAME(alloc_count);
			SAME(alloc_bytes);
			SAME(alloc_peak);
			SAME_BLOB(name);
		}
		if (m.threads[i].there) {
			const struct state_thread want = m.threads[i].is;

			assert_true(state_thread(s, nt++, &t));
			struct state_thread got = t;
			SAME(thread);
			SAME(os_tid);
			SAME(ctx);
			SAME(commands);
			SAME(waiting_in);
			SAME_BLOB(name);
		}
	}
	assert_false(state_device(s, nd, &d));
	assert_false(state_thread(s, nt, &t));
}

static void assert_textures_and_limits(const struct state *s)
{
	struct state_texture t;
	struct state_limit l;
	unsigned n = 0, at = 0;

	for (unsigned i = 0; i < IDS; i++) {
		if (m.textures[i].there) {
			assert_true(state_texture(s, n++, &t));
			assert_int_equal(t.id, i);
			assert_int_equal(t.ctx, m.textures[i].ctx);
			assert_memory_equal(t.is, &m.textures[i].is, sizeof *t.is);
		}
		for (unsigned k = 0; k < STATE_LIMITS; k++) {
			if (!m.limits[i][k].there)
				continue;
			assert_true(state_limit(s, at++, &l));
			assert_int_equal(l.ctx, i);
			assert_int_equal(l.limit, k);
			assert_int_equal(l.value, m.limits[i][k].value);
			assert_int_equal(l.seq, m.limits[i][k].seq);
		}
	}
	assert_false(state_texture(s, n, &t));
	assert_false(state_limit(s, at, &l));
}

static void assert_totals(const struct state *s)
{
	const struct state_totals got = totals_of(s);
	struct state_totals want = m.totals;
	const unsigned i = 0;

	for (unsigned k = 0; k < m.n; k++)
		want.pending += !m.q[k].done;
	SAME(seq);
	SAME(commands);
	SAME(launches);
	SAME(copies);
	SAME(fills);
	SAME(syncs);
	SAME(failed);
	SAME(oddities);
	SAME(attach_seq);
	SAME(found_allocations);
	SAME(found_bytes);
	SAME(found_missed);
	SAME(found_probed);
	SAME(found_ns);
	SAME(unknown);
	assert_int_equal(got.last_oddity != NULL, want.oddities != 0);
	assert_int_equal(got.last_unknown != NULL, want.unknown != 0);
	if (got.last_unknown)
		assert_string_equal(got.last_unknown, "it is not known");
}

/* Of dropped streams everything is done. */
static void assert_all(const struct state *s)
{
	assert_streams(s);
	assert_events(s);
	assert_contexts(s);
	assert_modules(s);
	assert_kernels(s);
	assert_graphs(s);
	assert_allocs(s);
	assert_devices_and_threads(s);
	assert_textures_and_limits(s);
	assert_totals(s);
}

/* ---- random commands ---------------------------------------- */

static uint64_t not_gone(void)
{
	uint64_t id = IDS - 1;

	while (id && m.streams[id].gone)
		id--;
	return id;
}

/* One that was not dropped; now and then one that nobody has made, or none. */
static uint64_t a_stream_id(uint32_t ctx)
{
	const uint64_t id = below(next_stream < IDS ? next_stream + 1 : IDS);

	if (ctx < 3 && m.contexts[ctx].there && !below(6)) {
		const uint32_t d = m.contexts[ctx].is.default_stream;

		return d < IDS && m.streams[d].gone ? not_gone() : SBT_NO_ID;
	}
	if (!below(60) && (ctx >= 3 || !m.contexts[ctx].there))
		return SBT_NO_ID;
	if (m.streams[id].gone)
		return not_gone();
	if (id == next_stream)
		next_stream += next_stream < IDS - 2;
	return id;
}

static uint64_t an_address(void)
{
	return UINT64_C(0x100000) + below(12) * 0x1000 + below(3) * 0x800;
}

/* Bytes that mostly end where an allocation may begin, or one byte off. */
static uint64_t some_bytes(uint64_t *ret_size)
{
	const uint64_t addr = an_address() + (below(2) ? below(0x900) : below(3));
	const uint64_t end = (addr | 0x7ff) + below(3) + 0x800 * below(3);

	*ret_size = below(3) ? end - addr : 1 + below(0x1800);
	return addr;
}

static const char noise[64] = "some bytes that are not looked at, but that have to come back";

static struct sbt_blob a_blob(void)
{
	return (struct sbt_blob){noise + below(8), below(40)};
}

/* Every field a small number, ids among them; blobs from the noise. */
static struct sbt_cmd any_fields(enum sbt_kind kind)
{
	struct sbt_cmd c = cmd_any(seq, kind);

	for (const struct sbt_field *f = sbt_kind(kind)->fields; f->name; f++)
		if (f->type == SBT_T_BOOL)
			sbt_set(&c, f, below(2));
		else if (f->type == SBT_T_HEX || f->type == SBT_T_SIZE)
			sbt_set(&c, f, below(2) ? below(300) : below(300) << 33);
		else if (!sbt_type_is_blob(f->type))
			sbt_set(&c, f, below(4));
	return c;
}

static struct sbt_cmd some_object(uint32_t ctx)
{
	static const uint32_t params[] = {0, 8, 8, 8};
	struct sbt_cmd c;

	switch (below(16)) {
	case 0:
		c = any_fields(SBT_DEVICE);
		c.u.device.device_name = a_blob();
		return c;
	case 1:
		c = any_fields(SBT_CTX_CREATE);
		c.u.ctx_create.new_ctx = below(3);
		c.u.ctx_create.default_stream =
			below(3) ? m.contexts[c.u.ctx_create.new_ctx].there
					   ? m.contexts[c.u.ctx_create.new_ctx].is.default_stream
					   : 3 * c.u.ctx_create.new_ctx
				 : SBT_NO_ID;
		if (c.u.ctx_create.default_stream < IDS &&
			m.streams[c.u.ctx_create.default_stream].gone)
			c.u.ctx_create.default_stream = SBT_NO_ID;
		return c;
	case 2:
		return below(4) ? any_fields(SBT_MODULE_UNLOAD) : cmd_ctx_destroy(seq, below(3));
	case 3:
		c = any_fields(SBT_CTX_SET);
		if (!below(4))
			c.u.ctx_set.new_ctx = SBT_NO_ID;
		return c;
	case 4:
		c = any_fields(SBT_CTX_LIMIT);
		c.u.ctx_limit.limit = below(STATE_LIMITS + 2);
		return c;
	case 5:
	case 6:
		c = any_fields(SBT_STREAM_CREATE);
		c.u.stream_create.new_stream = a_stream_id(3);
		if (c.u.stream_create.new_stream == SBT_NO_ID)
			c.u.stream_create.new_stream = not_gone();
		c.u.stream_create.stream_flags &= ~(uint64_t)below(2);
		return c;
	case 7:
		c = cmd_stream_destroy(seq, a_stream_id(3));
		if (c.u.stream_destroy.dead_stream >= IDS - 1 ||
			c.u.stream_destroy.dead_stream % 3 == 0)
			return cmd_host_func(seq, not_gone());
		return c;
	case 8:
		return any_fields(below(2) ? SBT_EVENT_CREATE : SBT_EVENT_DESTROY);
	case 9:
		c = any_fields(SBT_MODULE_LOAD);
		c.u.module_load.file = a_blob();
		return c;
	case 10:
	case 11:
		c = any_fields(SBT_KERNEL_DEF);
		if (!below(5))
			c.u.kernel_def.module = SBT_NO_ID;
		c.u.kernel_def.kernel_name =
			cmd_blob(c.u.kernel_def.new_kernel % 2 ? "_Z5alphav" : "plain");
		if (below(2))
			c.u.kernel_def.params = (struct sbt_blob){params, sizeof params};
		return c;
	case 12:
		return any_fields(below(2) ? SBT_MODULE_CODE : SBT_GLOBAL_DEF);
	case 13:
		return any_fields(SBT_FUNC_ATTR);
	case 14:
		c = any_fields(SBT_TEXTURE_CREATE);
		c.u.texture_create.handle = 1 + below(3);
		c.u.texture_create.addr = an_address();
		return c;
	default:
		return any_fields(SBT_TEXTURE_DESTROY);
	}
}

/* Now and then one that is gone, or was never made. */
static uint64_t a_graph(void)
{
	return next_graph && below(12) ? below(next_graph) : IDS - 1;
}

/* Ids are used once; SBT_NO_ID: all are. */
static uint64_t new_graph(void)
{
	return next_graph < IDS - 1 ? next_graph : SBT_NO_ID;
}

static struct sbt_cmd some_graph(uint32_t ctx)
{
	static const enum sbt_node types[] = {
		SBT_NODE_EMPTY, SBT_NODE_EVENT_RECORD, SBT_NODE_WAIT_EVENT, SBT_NODE_OTHER};
	const uint64_t id = new_graph();
	struct sbt_cmd c;

	switch (below(9)) {
	case 0:
		c = any_fields(SBT_GRAPH_CREATE);
		c.u.graph_create.clone_of = below(2) ? a_graph() : SBT_NO_ID;
		c.u.graph_create.new_graph = id;
		return id == SBT_NO_ID ? cmd_sync_ctx(seq) : c;
	case 1:
	case 2:
	case 3:
		c = any_fields(SBT_GRAPH_NODE);
		c.u.graph_node.graph = a_graph();
		if (!m.graphs[c.u.graph_node.graph].there)
			c.u.graph_node.graph = id;
		if (id == SBT_NO_ID)
			return cmd_sync_ctx(seq);
		c.u.graph_node.type = types[below(4)];
		c.u.graph_node.deps = a_blob();
		c.u.graph_node.payload = a_blob();
		return c;
	case 4:
		c = any_fields(SBT_GRAPH_INSTANTIATE);
		c.u.graph_instantiate.new_exec = id;
		c.u.graph_instantiate.graph = a_graph();
		return id == SBT_NO_ID || c.u.graph_instantiate.graph == id ? cmd_sync_ctx(seq) : c;
	case 5:
		c = any_fields(SBT_GRAPH_UPDATE);
		c.u.graph_update.exec = a_graph();
		return c;
	case 6:
		return cmd_graph_destroy(seq, a_graph());
	case 7:
		c = cmd_capture_begin(seq, a_stream_id(ctx));
		c.u.capture_begin.mode = below(3);
		return c;
	default:
		c = cmd_capture_end(seq, a_stream_id(ctx), below(3) ? id : SBT_NO_ID);
		c.u.capture_end.handle = below(100);
		return c;
	}
}

static struct sbt_cmd some_host(uint32_t ctx)
{
	const uint64_t scope = below(3), stream = a_stream_id(3), event = below(4);
	struct sbt_cmd c;

	switch (below(8)) {
	case 0:
		c = any_fields(SBT_THREAD);
		c.u.thread.thread_name = a_blob();
		return c;
	case 1:
		c = any_fields(SBT_ATTACH);
		c.u.attach.what = below(3);
		c.u.attach.text = cmd_blob("it is not known");
		return m.totals.attach_seq ? c : cmd_sync_ctx(seq);
	case 2:
	case 3:
		c = scope == SBT_SYNC_EVENT ? cmd_query_event(seq, event, 0)
					    : cmd_query_stream(seq, stream, 0);
		c.result = below(3) ? 0 : STATE_NOT_READY;
		return c;
	case 4:
	case 5:
		c = cmd_sync_end(seq, below(4) ? m.threads[1].is.waiting_in : below(3));
		return c;
	default:
		return scope == SBT_SYNC_CTX	  ? cmd_sync_ctx(seq)
		       : scope == SBT_SYNC_STREAM ? cmd_sync_stream(seq, stream)
						  : cmd_sync_event(seq, event);
	}
}

static struct sbt_cmd some_memory(uint32_t ctx)
{
	struct sbt_cmd c = any_fields(below(2) ? SBT_ALLOC : SBT_FREE);

	if (c.kind == SBT_ALLOC) {
		c.u.alloc.addr = an_address();
		c.u.alloc.size = 1 + below(0x2800);
		c.u.alloc.stream = below(3) ? SBT_NO_ID : a_stream_id(ctx);
		return c;
	}
	c.u.free.addr = m.nallocs && below(4) ? m.allocs[below(m.nallocs)].addr + !below(6)
			: below(4)	      ? an_address()
					      : 0;
	c.u.free.stream = below(3) ? SBT_NO_ID : a_stream_id(ctx);
	return c;
}

static struct sbt_cmd some_work(uint32_t ctx)
{
	static const enum sbt_kind kinds[] = {SBT_LAUNCH, SBT_LAUNCH, SBT_COPY, SBT_COPY, SBT_FILL,
		SBT_FILL, SBT_EVENT_RECORD, SBT_EVENT_RECORD, SBT_STREAM_WAIT, SBT_STREAM_WAIT,
		SBT_HOST_FUNC, SBT_GRAPH_LAUNCH, SBT_BATCH};
	struct sbt_cmd c = any_fields(kinds[below(sizeof kinds / sizeof *kinds)]);

	switch (c.kind) {
	case SBT_LAUNCH:
		words[0] = below(3) ? an_address() : 1 + below(3);
		words[1] = below(3) ? an_address() : 0;
		c.u.launch.args = (struct sbt_blob){words, sizeof words};
		break;
	case SBT_COPY:
		c.u.copy.dst = some_bytes(&c.u.copy.size);
		c.u.copy.src = an_address();
		c.u.copy.width = c.u.copy.height = c.u.copy.depth = 0;
		c.u.copy.dir = below(5);
		break;
	case SBT_FILL:
		c.u.fill.dst = some_bytes(&c.u.fill.size);
		c.u.fill.elem = 1;
		c.u.fill.width = c.u.fill.height = 0;
		break;
	case SBT_GRAPH_LAUNCH:
		c.u.graph_launch.exec = a_graph();
		break;
	case SBT_BATCH:
		c.u.batch.elem = 4 + 4 * below(2);
		c.u.batch.addr = an_address() + below(3) - c.u.batch.elem * below(2);
		break;
	default:
		break;
	}
	sbt_set(&c, sbt_field(c.kind, "stream"), a_stream_id(ctx));
	if (!below(20))
		c.flags |= SBT_F_GRAPH;
	return c;
}

static struct sbt_cmd some_cmd(void)
{
	const uint32_t ctx = below(12) ? (uint32_t)below(3) : SBT_NO_ID;
	const uint64_t what = below(100);
	struct sbt_cmd c = what < 18 || m.n > CMDS_MAX - 2	     ? some_object(ctx)
			   : what < 28				     ? some_graph(ctx)
			   : what < 40				     ? some_host(ctx)
			   : what < 52 && m.nallocs < ALLOCS_MAX - 1 ? some_memory(ctx)
								     : some_work(ctx);

	c.ctx = ctx;
	c.thread = below(4) ? 1 : 2 + (uint32_t)below(2);
	c.stack = (uint32_t)below(50);
	if (m.totals.attach_seq && !below(12))
		c.flags |= SBT_F_BEFORE;
	if (!below(15) && (c.kind == SBT_FREE || c.kind == SBT_CTX_CREATE))
		c.flags |= SBT_F_SYNTHETIC;
	if (!below(30) && c.kind != SBT_QUERY)
		c.result = 1;
	if (c.kind == SBT_SYNC || c.kind == SBT_SYNC_END)
		c.thread = 1;
	return c;
}

/* ---- both go on ---------------------------------------- */

static void begin_or_retire(struct state *s)
{
	struct queued *q = m.n ? &m.q[below(m.n)] : NULL;

	if (!q || q->done || below(10))
		return;
	if (below(2)) {
		state_begin(s, q->c.seq);
		q->begun = m.timed = true;
		return;
	}
	state_retire(s, q->c.seq);
	finish_stream(q->stream, q->c.seq);
	drop_the_dead();
}

static struct state *through_bytes(struct state *s)
{
	struct buf b = BUF_INIT;
	struct state *again;

	state_encode(s, &b);
	ok(state_decode(&again, b.data, b.len));
	assert_int_equal(state_hash(again), state_hash(s));
	buf_free(&b);
	state_free(s);
	return again;
}

static struct state *a_clone(struct state *s, const struct sbt_cmd *c)
{
	struct state *other = state_clone(s);

	assert_all(other);
	ok(state_apply(s, c)); /* the original goes on, and is no more */
	assert_all(other);
	state_free(s);
	assert_all(other);
	return other;
}

static void a_program(uint64_t seed)
{
	struct state *s = state_new();

	memset(&m, 0, sizeof m);
	x = seed * 7919;
	next_graph = 0;
	next_stream = 3;
	for (seq = 1; seq < 220; seq++) {
		const struct sbt_cmd c =
			seq == 1 && seed % 2 ? cmd_any(seq, SBT_ATTACH) : some_cmd();

		if (!below(25))
			s = a_clone(s, &c);
		ok(state_apply(s, &c));
		model_apply(&c);
		begin_or_retire(s);
		if (!below(25))
			s = through_bytes(s);
		assert_all(s);
	}
	state_free(s);
}

static void all_that_is_shown_is_the_models(void **arg)
{
	for (uint64_t seed = 1; seed <= 150; seed++)
		a_program(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_shown_is_the_models),
	};

	return cmocka_run_group_tests_name("state-model", tests, NULL, NULL);
}
