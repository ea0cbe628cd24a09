/* SPDX-License-Identifier: Apache-2.0
 *
 * What each kind of command does to the state: transitions[] has one row per kind of commands.def, with its function and
 * the ids it must hold. Objects live and die by the table life[]: a use that it calls wrong is an oddity, counted, and the
 * command is applied as far as it makes sense, because the program may be wrong and the user wants to see how.
 */
#include <stddef.h>
#include <stdlib.h>
#include "state/state-private.h"

#define SEQ(c) ((unsigned long long)(c)->seq)

/* ---- life cycles -------------------------------------------------------------------------------------------------- */

enum life { ABSENT, ALIVE, DEAD, LIVES };
enum input { CREATE, USE, DESTROY, INPUTS };

/* What is wrong with an input in a state; NULL: nothing. */
static const char *const life[LIVES][INPUTS] = {
	[ABSENT] = {[USE] = "is used but was never created, or is gone", [DESTROY] = "is destroyed but was never created, or is gone"},
	[ALIVE] = {[CREATE] = "is created a second time"},
	[DEAD] = {[CREATE] = "is created again", [USE] = "is used after it was destroyed", [DESTROY] = "is destroyed a second time"},
};

static void live(struct state *s, const struct sbt_cmd *c, const char *what, uint64_t id, enum life now, enum input in)
{
	const char *wrong = life[now][in];

	if (wrong)
		oddity(s, "#%llu %s: %s %llu %s", SEQ(c), sbt_kind(c->kind)->name, what, (unsigned long long)id, wrong);
}

#define LIFE_OF(row, flag) (!(row) ? ABSENT : (row)->flag ? DEAD : ALIVE)

/* ---- looking things up -------------------------------------------------------------------------------------------- */

static struct context *own_context(struct state *s, uint64_t id)
{
	return id < SBT_NO_ID ? table_own(&s->contexts, ROW(context), (uint32_t)id) : NULL;
}

static struct event *own_event(struct state *s, uint64_t id)
{
	return id < SBT_NO_ID ? table_own(&s->events, ROW(event), (uint32_t)id) : NULL;
}

static struct device *own_device(struct state *s, uint32_t ordinal)
{
	struct device *d = table_own(&s->devices, ROW(device), ordinal);

	return d ? d : table_insert(&s->devices, ROW(device), ordinal);
}

/* The device of a context, or NULL. */
static struct device *device_of(struct state *s, uint32_t ctx)
{
	const struct context *x = ctx < SBT_NO_ID ? table_find(&s->contexts, ROW(context), ctx) : NULL;

	return x ? own_device(s, x->device) : NULL;
}

static struct stream *new_stream(struct state *s, const struct sbt_cmd *c, uint64_t id, uint32_t ctx)
{
	struct stream *st = table_insert(&s->streams, ROW(stream), (uint32_t)id);

	st->ctx = ctx;
	st->thread = c->thread;
	return st;
}

/* The stream that c works on. An unknown one is made up, so that its commands are seen. NULL: no stream at all. */
static struct stream *work_stream(struct state *s, const struct sbt_cmd *c, uint64_t id)
{
	struct stream *st;
	const struct context *x;

	if (id == SBT_NO_ID) {
		x = c->ctx < SBT_NO_ID ? table_find(&s->contexts, ROW(context), c->ctx) : NULL;
		id = x ? x->default_stream : SBT_NO_ID;
	}
	if (id == SBT_NO_ID) {
		oddity(s, "#%llu %s: on no stream, and its context is not known", SEQ(c), sbt_kind(c->kind)->name);
		return NULL;
	}
	st = find_stream(s, id);
	live(s, c, "stream", id, LIFE_OF(st, destroyed), USE);
	return st ? st : new_stream(s, c, id, c->ctx);
}

/* Puts c into its stream's queue; returns the stream, NULL when it was only captured into a graph or has none. */
static struct stream *submit(struct state *s, const struct sbt_cmd *c, uint64_t stream, uint64_t object)
{
	struct stream *st;

	if (c->flags & SBT_F_GRAPH)
		return NULL;
	st = work_stream(s, c, stream);
	if (st)
		queue_push(s, st, c, (uint32_t)object, SBT_NO_ID, 0);
	return st;
}

/* ---- who wrote an allocation last --------------------------------------------------------------------------------- */

static void wrote(struct state *s, uint64_t seq, uint64_t addr, bool certain)
{
	struct alloc *a = allocs_own(&s->allocs, addr);

	if (!a)
		return;
	a->writer = seq;
	a->certain = certain;
}

/* Every aligned 8-byte value in n bytes may be a pointer to something the kernel writes. */
static void wrote_through(struct state *s, uint64_t seq, const uint8_t *p, uint64_t n)
{
	uint64_t v;

	for (uint64_t i = 0; i + 8 <= n; i += 8) {
		memcpy(&v, p + i, 8);
		if (v > 0xffff)
			wrote(s, seq, v, false);
	}
}

/* args: the parameter buffer; params: packed (offset, size) pairs, empty when not known. */
static void wrote_args(struct state *s, uint64_t seq, struct sbt_blob args, struct sbt_blob params)
{
	const uint8_t *a = args.p, *p = params.p;

	if (!s->allocs.n)
		return;
	if (params.len < 8)
		wrote_through(s, seq, a, args.len);
	for (uint64_t i = 0; i + 8 <= params.len; i += 8) {
		uint32_t off, size;

		memcpy(&off, p + i, 4);
		memcpy(&size, p + i + 4, 4);
		if (size < 8 || off > args.len || size > args.len - off)
			continue;
		wrote_through(s, seq, a + off + (-off & 7), size - (-off & 7));
	}
}

/* ---- devices and contexts ----------------------------------------------------------------------------------------- */

static void on_device(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_device *u = &c->u.device;
	struct device *d = own_device(s, (uint32_t)u->device);

	d->name = str_put(&s->bytes, u->device_name.p, u->device_name.len);
	d->sm_major = u->sm_major;
	d->sm_minor = u->sm_minor;
	d->total_mem = u->total_mem;
	d->sm_count = u->sm_count;
	d->driver_version = u->driver_version;
	d->soft = u->soft != 0;
}

static void make_default_stream(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_ctx_create *u = &c->u.ctx_create;
	struct stream *st = find_stream(s, u->default_stream);

	if (u->default_stream == SBT_NO_ID)
		return;
	if (!st)
		st = new_stream(s, c, u->default_stream, (uint32_t)u->new_ctx);
	st->ctx = (uint32_t)u->new_ctx;
	st->is_default = true;
}

static void on_ctx_create(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_ctx_create *u = &c->u.ctx_create;
	struct context *x = own_context(s, u->new_ctx);

	live(s, c, "context", u->new_ctx, LIFE_OF(x, destroyed), CREATE);
	if (!x)
		x = table_insert(&s->contexts, ROW(context), (uint32_t)u->new_ctx);
	x->device = (uint32_t)u->device;
	x->primary = u->primary != 0;
	x->default_stream = (uint32_t)u->default_stream;
	x->handle = u->handle;
	x->destroyed = false;
	own_device(s, x->device);
	make_default_stream(s, c);
	/* cuCtxCreate makes the new context current; retaining a primary one does not */
	if (!x->primary && !(c->flags & SBT_F_SYNTHETIC))
		((struct thread *)table_own(&s->threads, ROW(thread), c->thread))->ctx = (uint32_t)u->new_ctx;
}

static void free_alloc(struct state *s, const struct alloc *a);

/* Whatever lives in a context ends with it. */
static void on_ctx_destroy(struct state *s, const struct sbt_cmd *c)
{
	uint32_t id = (uint32_t)c->u.ctx_destroy.dead_ctx;
	struct context *x = own_context(s, id);

	live(s, c, "context", id, LIFE_OF(x, destroyed), DESTROY);
	if (!x)
		return;
	x->destroyed = true;
	for (size_t i = 0; i < s->streams.n; i++)
		if (ROWS(s, streams, stream)[i].ctx == id)
			retire_raise(s, ROWS(s, streams, stream)[i].id, UINT64_MAX);
	retire_run(s);
	for (size_t i = s->streams.n; i--;)
		if (ROWS(s, streams, stream)[i].ctx == id)
			stream_drop(s, &ROWS(s, streams, stream)[i]);
	vec_own(&s->events, ROW(event));
	for (size_t i = s->events.n; i--;)
		if (ROWS(s, events, event)[i].ctx == id)
			vec_remove(&s->events, ROW(event), i);
	vec_own(&s->modules, ROW(module));
	for (size_t i = 0; i < s->modules.n; i++)
		if (ROWS(s, modules, module)[i].ctx == id)
			ROWS(s, modules, module)[i].unloaded = true;
	for (size_t i = 0; i < s->allocs.n;) {
		const struct alloc *a = allocs_get(&s->allocs, i);

		if (a->ctx == id)
			free_alloc(s, a);
		else
			i++;
	}
}

static void on_ctx_set(struct state *s, const struct sbt_cmd *c)
{
	uint64_t id = c->u.ctx_set.new_ctx;
	const struct context *x = own_context(s, id);
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);

	if (id != SBT_NO_ID)
		live(s, c, "context", id, LIFE_OF(x, destroyed), USE);
	t->ctx = (uint32_t)id;
}

/* ---- streams and events ------------------------------------------------------------------------------------------- */

static void on_stream_create(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_stream_create *u = &c->u.stream_create;
	struct stream *st = find_stream(s, u->new_stream);

	if (!st || !st->is_default) /* a default stream came with its context; this tells its handle */
		live(s, c, "stream", u->new_stream, LIFE_OF(st, destroyed), CREATE);
	if (!st)
		st = new_stream(s, c, u->new_stream, c->ctx);
	s->dying -= st->destroyed;
	st->destroyed = false;
	st->handle = u->handle;
	st->flags = u->stream_flags;
	st->priority = u->priority;
	st->per_thread = u->per_thread != 0;
	st->thread = c->thread;
}

static void on_stream_destroy(struct state *s, const struct sbt_cmd *c)
{
	struct stream *st = find_stream(s, c->u.stream_destroy.dead_stream);

	live(s, c, "stream", c->u.stream_destroy.dead_stream, LIFE_OF(st, destroyed), DESTROY);
	if (!st || st->destroyed)
		return;
	st->destroyed = true;
	if (stream_pending(st))
		s->dying++;
	else
		stream_drop(s, st);
}

static void on_event_create(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_event_create *u = &c->u.event_create;
	struct event *e = own_event(s, u->new_event);

	live(s, c, "event", u->new_event, LIFE_OF(e, destroyed), CREATE);
	if (!e) {
		e = table_insert(&s->events, ROW(event), (uint32_t)u->new_event);
		e->stream = SBT_NO_ID;
	}
	e->destroyed = false;
	e->ctx = c->ctx;
	e->handle = u->handle;
	e->flags = u->event_flags;
}

static void on_event_destroy(struct state *s, const struct sbt_cmd *c)
{
	struct event *e = own_event(s, c->u.event_destroy.dead_event);

	live(s, c, "event", c->u.event_destroy.dead_event, LIFE_OF(e, destroyed), DESTROY);
	if (!e)
		return;
	e->destroyed = true;
	if (!e->record_seq || event_complete(s, e))
		table_remove(&s->events, ROW(event), e->id);
}

static void on_event_record(struct state *s, const struct sbt_cmd *c)
{
	uint64_t id = c->u.event_record.event;
	struct event *e = own_event(s, id);
	struct stream *st;

	live(s, c, "event", id, LIFE_OF(e, destroyed), USE);
	st = submit(s, c, c->u.event_record.stream, id);
	if (!st)
		return;
	if (!e) {
		e = table_insert(&s->events, ROW(event), (uint32_t)id);
		e->ctx = c->ctx;
	}
	e->stream = st->id;
	e->record_seq = c->seq;
	e->records++;
}

/* The wait refers to the record that is the last one now; a record made later does not move it. An event that was never
 * recorded is no wait (CUDA driver API, cuStreamWaitEvent). */
static void on_stream_wait(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_stream_wait *u = &c->u.stream_wait;
	struct event *e = own_event(s, u->event);
	struct stream *st;

	live(s, c, "event", u->event, LIFE_OF(e, destroyed), USE);
	if (c->flags & SBT_F_GRAPH)
		return;
	st = work_stream(s, c, u->stream);
	if (e)
		e->waits++;
	if (!st)
		return;
	if (e && e->record_seq && !event_complete(s, e))
		queue_push(s, st, c, (uint32_t)u->event, e->stream, e->record_seq);
	else
		queue_push(s, st, c, (uint32_t)u->event, SBT_NO_ID, 0);
}

/* ---- modules and kernels ------------------------------------------------------------------------------------------ */

static void on_module_load(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_module_load *u = &c->u.module_load;
	struct module *m = table_own(&s->modules, ROW(module), (uint32_t)u->new_module);

	live(s, c, "module", u->new_module, LIFE_OF(m, unloaded), CREATE);
	if (!m)
		m = table_insert(&s->modules, ROW(module), (uint32_t)u->new_module);
	m->ctx = u->is_library ? SBT_NO_ID : c->ctx; /* a library belongs to no context */
	m->handle = u->handle;
	m->code_hash = u->code_hash;
	m->code_size = u->code_size;
	m->seq = c->seq;
	m->is_library = u->is_library != 0;
	m->unloaded = false;
	m->file = str_put(&s->bytes, u->file.p, u->file.len);
}

static void on_module_unload(struct state *s, const struct sbt_cmd *c)
{
	struct module *m = table_own(&s->modules, ROW(module), (uint32_t)c->u.module_unload.dead_module);

	live(s, c, "module", c->u.module_unload.dead_module, LIFE_OF(m, unloaded), DESTROY);
	if (m)
		m->unloaded = true;
}

static void put_kernel_names(struct state *s, struct kernel *k, const struct sbt_cmd_kernel_def *u)
{
	char brief[512];

	k->name = str_put(&s->bytes, u->kernel_name.p, u->kernel_name.len);
	sbt_kernel_short_name(brief, sizeof brief, str_get(&s->bytes, k->name));
	k->short_name = str_put(&s->bytes, brief, strlen(brief));
	k->params = str_put(&s->bytes, u->params.p, u->params.len);
}

static void on_kernel_def(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_kernel_def *u = &c->u.kernel_def;
	struct kernel *k = table_own(&s->kernels, ROW(kernel), (uint32_t)u->new_kernel);
	struct module *m = u->module < SBT_NO_ID ? table_own(&s->modules, ROW(module), (uint32_t)u->module) : NULL;

	live(s, c, "kernel", u->new_kernel, k ? ALIVE : ABSENT, CREATE);
	if (!k)
		k = table_insert(&s->kernels, ROW(kernel), (uint32_t)u->new_kernel);
	k->module = (uint32_t)u->module;
	k->code_hash = u->code_hash;
	k->regs = u->regs;
	k->static_shared = u->static_shared;
	k->local_mem = u->local_mem;
	k->max_threads = u->max_threads;
	put_kernel_names(s, k, u);
	if (m)
		m->kernels++;
}

static void on_func_attr(struct state *s, const struct sbt_cmd *c)
{
	const struct kernel *k = table_find(&s->kernels, ROW(kernel), (uint32_t)c->u.func_attr.kernel);

	live(s, c, "kernel", c->u.func_attr.kernel, k ? ALIVE : ABSENT, USE);
}

static void on_global_def(struct state *s, const struct sbt_cmd *c)
{
	const struct module *m = table_find(&s->modules, ROW(module), (uint32_t)c->u.global_def.module);

	live(s, c, "module", c->u.global_def.module, LIFE_OF(m, unloaded), USE);
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

/* Whether memory of this kind takes room on the device. */
static bool on_device_mem(uint64_t mem)
{
	return mem != SBT_MEM_PINNED && mem != SBT_MEM_REGISTERED;
}

static void count_alloc(struct state *s, const struct alloc *a, uint64_t one)
{
	struct device *d = on_device_mem(a->mem) ? own_device(s, a->device) : NULL;
	struct context *x = own_context(s, a->ctx);
	uint64_t bytes = one * a->size; /* one is 1, or -1 modulo 2^64 */

	if (x) {
		x->allocations += one;
		x->bytes += bytes;
	}
	if (!d)
		return;
	d->alloc_count += one;
	d->alloc_bytes += bytes;
	if (d->alloc_peak < d->alloc_bytes)
		d->alloc_peak = d->alloc_bytes;
}

static void free_alloc(struct state *s, const struct alloc *a)
{
	struct alloc copy = *a;

	count_alloc(s, &copy, -UINT64_C(1));
	allocs_remove(&s->allocs, copy.addr);
}

/* Frees what a new allocation overlaps: a free must have been missed. */
static void free_overlapped(struct state *s, const struct sbt_cmd *c, uint64_t addr, uint64_t size)
{
	const struct alloc *a;

	while ((a = allocs_find(&s->allocs, addr)) ||
		((a = allocs_next(&s->allocs, addr)) && a->addr - addr < size)) {
		oddity(s, "#%llu alloc: %#llx overlaps the allocation of #%llu at %#llx, whose free was not seen",
			SEQ(c), (unsigned long long)addr, (unsigned long long)a->seq, (unsigned long long)a->addr);
		free_alloc(s, a);
	}
}

static void on_alloc(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_alloc *u = &c->u.alloc;
	struct alloc a = {.addr = u->addr, .size = u->size, .pitch = u->pitch, .seq = c->seq, .device = (uint32_t)u->device,
		.ctx = c->ctx, .stack = c->stack, .mem = (uint8_t)u->mem};

	if (u->stream != SBT_NO_ID)
		submit(s, c, u->stream, 0);
	if (c->flags & SBT_F_GRAPH)
		return;
	if (!u->size || u->size > UINT64_MAX - u->addr) {
		oddity(s, "#%llu alloc: %llu bytes at %#llx cannot be", SEQ(c), (unsigned long long)u->size,
			(unsigned long long)u->addr);
		return;
	}
	free_overlapped(s, c, u->addr, u->size);
	allocs_insert(&s->allocs, &a);
	count_alloc(s, &a, 1);
}

/* A stream-ordered free leaves the table at once: the program may not use the address any more, and the next
 * allocation may get it. */
static void on_free(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_free *u = &c->u.free;
	const struct alloc *a = allocs_find(&s->allocs, u->addr);

	if (u->stream != SBT_NO_ID)
		submit(s, c, u->stream, 0);
	if (c->flags & SBT_F_GRAPH)
		return;
	if (a && a->addr == u->addr)
		free_alloc(s, a);
	else if (a)
		oddity(s, "#%llu free: %#llx lies inside the allocation of #%llu, which begins at %#llx", SEQ(c),
			(unsigned long long)u->addr, (unsigned long long)a->seq, (unsigned long long)a->addr);
	else if (u->addr)
		oddity(s, "#%llu free: %#llx is not allocated", SEQ(c), (unsigned long long)u->addr);
}

/* ---- work --------------------------------------------------------------------------------------------------------- */

static void on_launch(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *u = &c->u.launch;
	struct kernel *k = u->kernel < SBT_NO_ID ? table_own(&s->kernels, ROW(kernel), (uint32_t)u->kernel) : NULL;
	struct stream *st;
	struct device *d;

	if (!k)
		live(s, c, "kernel", u->kernel, ABSENT, USE);
	st = submit(s, c, u->stream, u->kernel);
	if (!st)
		return;
	s->launches++;
	d = device_of(s, st->ctx);
	if (d)
		d->launches++;
	if (k) {
		k->launches++;
		k->last_launch = c->seq;
	}
	wrote_args(s, c->seq, u->args, k ? str_blob(&s->bytes, k->params) : (struct sbt_blob){0});
}

static bool is_host_alloc(const struct alloc *a)
{
	return !a || !on_device_mem(a->mem);
}

/* Which work is finished when a copy returns to the host: CUDA driver API, "API synchronization behavior".
 * COPY_PRIOR: a copy from pageable memory to the device waits for its stream, then returns once the data is staged. */
enum copy_returns { COPY_AT_ONCE, COPY_PRIOR, COPY_DONE };

static enum copy_returns copy_returns(const struct state *s, const struct sbt_cmd_copy *u)
{
	uint64_t dir = u->dir;

	if (dir == SBT_COPY_ANY) {
		bool from_host = is_host_alloc(allocs_find(&s->allocs, u->src));
		bool to_host = is_host_alloc(allocs_find(&s->allocs, u->dst));

		dir = from_host ? (to_host ? SBT_COPY_H2H : SBT_COPY_H2D) : to_host ? SBT_COPY_D2H : SBT_COPY_D2D;
	}
	if (dir == SBT_COPY_H2H)
		return COPY_DONE;
	if (dir == SBT_COPY_D2D || dir == SBT_COPY_PEER)
		return COPY_AT_ONCE;
	if (dir == SBT_COPY_D2H)
		return !u->async || u->pageable ? COPY_DONE : COPY_AT_ONCE;
	if (u->async)
		return COPY_AT_ONCE;
	return u->pageable ? COPY_PRIOR : COPY_DONE;
}

static void on_copy(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *u = &c->u.copy;
	struct stream *st = submit(s, c, u->stream, 0);
	enum copy_returns ret;
	struct device *d;

	if (!st)
		return;
	s->copies++;
	d = device_of(s, st->ctx);
	if (d) {
		d->copies++;
		d->copy_bytes += u->size;
	}
	wrote(s, c->seq, u->dst, true);
	ret = copy_returns(s, u);
	if (ret == COPY_DONE)
		queue_retire(s, st->id, c->seq);
	else if (ret == COPY_PRIOR)
		queue_retire_before(s, st, c->seq);
}

/* A memset returns at once, but for pinned host and managed memory (same source as copies). */
static void on_fill(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_fill *u = &c->u.fill;
	const struct alloc *a = allocs_find(&s->allocs, u->dst);
	bool waits = !u->async && a && (a->mem == SBT_MEM_PINNED || a->mem == SBT_MEM_REGISTERED || a->mem == SBT_MEM_MANAGED);
	struct stream *st = submit(s, c, u->stream, 0);
	struct device *d;

	if (!st)
		return;
	s->fills++;
	d = device_of(s, st->ctx);
	if (d) {
		d->fills++;
		d->fill_bytes += u->size;
	}
	wrote(s, c->seq, u->dst, true);
	if (waits)
		queue_retire(s, st->id, c->seq);
}

static void on_host_func(struct state *s, const struct sbt_cmd *c)
{
	submit(s, c, c->u.host_func.stream, 0);
}

static void on_batch(struct state *s, const struct sbt_cmd *c)
{
	if (submit(s, c, c->u.batch.stream, 0) && !c->u.batch.is_wait)
		wrote(s, c->seq, c->u.batch.addr, true);
}

/* ---- the host waits or asks --------------------------------------------------------------------------------------- */

/* What scope, stream and event name at this moment. False: nothing to wait for. */
static bool host_wait(struct state *s, const struct sbt_cmd *c, uint64_t scope, uint64_t stream, uint64_t event,
	struct host_wait *ret)
{
	const struct event *e = own_event(s, event);
	const struct stream *st = find_stream(s, stream);

	*ret = (struct host_wait){.seq = c->seq, .upto = c->seq - 1, .ctx = c->ctx, .stream = SBT_NO_ID};
	if (scope == SBT_SYNC_CTX)
		return c->ctx != SBT_NO_ID;
	if (scope == SBT_SYNC_STREAM) {
		live(s, c, "stream", stream, LIFE_OF(st, destroyed), USE);
		ret->stream = (uint32_t)stream;
		return st != NULL;
	}
	live(s, c, "event", event, LIFE_OF(e, destroyed), USE);
	if (!e || !e->record_seq)
		return false;
	ret->stream = e->stream;
	ret->upto = e->record_seq;
	return true;
}

static void host_knows(struct state *s, const struct host_wait *w)
{
	for (size_t i = 0; w->stream == SBT_NO_ID && i < s->streams.n; i++)
		if (ROWS(s, streams, stream)[i].ctx == w->ctx)
			retire_raise(s, ROWS(s, streams, stream)[i].id, w->upto);
	if (w->stream != SBT_NO_ID)
		retire_raise(s, w->stream, w->upto);
	retire_run(s);
}

static void on_sync(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_sync *u = &c->u.sync;
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);

	s->syncs++;
	if (!host_wait(s, c, u->scope, u->stream, u->event, &t->wait))
		t->wait.upto = 0;
}

static void on_sync_end(struct state *s, const struct sbt_cmd *c)
{
	uint64_t begin = c->u.sync_end.begin;
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);
	struct host_wait w = t->wait;

	if (!begin || w.seq != begin) {
		oddity(s, "#%llu sync_end: thread %u is not inside the sync #%llu", SEQ(c), c->thread,
			(unsigned long long)begin);
		return;
	}
	t->wait.seq = 0;
	if (w.upto)
		host_knows(s, &w);
}

static void on_query(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_query *u = &c->u.query;
	struct host_wait w;

	if (!c->result && host_wait(s, c, u->scope, u->stream, u->event, &w))
		host_knows(s, &w);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

static struct graph *own_graph(struct state *s, uint64_t id)
{
	return id < SBT_NO_ID ? table_own(&s->graphs, ROW(graph), (uint32_t)id) : NULL;
}

static struct graph *new_graph(struct state *s, const struct sbt_cmd *c, uint64_t id, uint64_t source, uint64_t handle)
{
	struct graph *g = own_graph(s, id);

	live(s, c, "graph", id, LIFE_OF(g, destroyed), CREATE);
	if (!g)
		g = table_insert(&s->graphs, ROW(graph), (uint32_t)id);
	g->destroyed = false;
	g->source = (uint32_t)source;
	g->handle = handle;
	return g;
}

static void set_capturing(struct state *s, const struct sbt_cmd *c, uint64_t stream, bool on)
{
	struct stream *st = work_stream(s, c, stream);

	if (!st)
		return;
	if (st->capturing == on)
		oddity(s, "#%llu %s: stream %u is %s", SEQ(c), sbt_kind(c->kind)->name, st->id,
			on ? "capturing already" : "not capturing");
	st->capturing = on;
}

static void on_capture_begin(struct state *s, const struct sbt_cmd *c)
{
	set_capturing(s, c, c->u.capture_begin.stream, true);
}

static void on_capture_end(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_capture_end *u = &c->u.capture_end;

	set_capturing(s, c, u->stream, false);
	if (u->new_graph != SBT_NO_ID)
		new_graph(s, c, u->new_graph, SBT_NO_ID, u->handle);
}

static void copy_nodes(struct graph *dst, const struct graph *src)
{
	if (!src || src == dst)
		return;
	vec_free(&dst->nodes);
	vec_free(&dst->bytes);
	dst->nodes = src->nodes;
	dst->bytes = src->bytes;
	vec_share(&dst->nodes);
	vec_share(&dst->bytes);
}

static void on_graph_create(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_create *u = &c->u.graph_create;
	struct graph *g = new_graph(s, c, u->new_graph, u->clone_of, u->handle);

	if (u->clone_of != SBT_NO_ID)
		copy_nodes(g, own_graph(s, u->clone_of));
}

/* Bytes of a node that is written again mostly are what they were. */
static void put_node_bytes(struct graph *g, struct str *t, struct sbt_blob b)
{
	if (t->len == b.len && (!b.len || !memcmp(str_get(&g->bytes, *t), b.p, b.len)))
		return;
	vec_own(&g->bytes, 1);
	*t = str_put(&g->bytes, b.p, b.len);
}

static void on_graph_node(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_node *u = &c->u.graph_node;
	struct graph *g = own_graph(s, u->graph);
	struct node *n;

	live(s, c, "graph", u->graph, LIFE_OF(g, destroyed), USE);
	if (!g)
		g = new_graph(s, c, u->graph, SBT_NO_ID, 0);
	n = table_own(&g->nodes, ROW(node), (uint32_t)u->node); /* written again: it was changed */
	if (!n)
		n = table_insert(&g->nodes, ROW(node), (uint32_t)u->node);
	n->kernel = (uint32_t)u->kernel;
	n->type = (uint8_t)u->type;
	put_node_bytes(g, &n->deps, u->deps);
	put_node_bytes(g, &n->payload, u->payload);
}

/* An executable graph is what its source was at that moment. */
static void on_graph_instantiate(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_graph_instantiate *u = &c->u.graph_instantiate;
	struct graph *g = new_graph(s, c, u->new_exec, u->graph, u->handle), *source = own_graph(s, u->graph);

	g->is_exec = true;
	live(s, c, "graph", u->graph, LIFE_OF(source, destroyed), USE);
	copy_nodes(own_graph(s, u->new_exec), source);
}

static void on_graph_destroy(struct state *s, const struct sbt_cmd *c)
{
	struct graph *g = own_graph(s, c->u.graph_destroy.dead_graph);

	live(s, c, "graph", c->u.graph_destroy.dead_graph, LIFE_OF(g, destroyed), DESTROY);
	if (!g)
		return;
	g->destroyed = true;
	if (!g->queued)
		graph_drop(s, g);
}

/* What the nodes of a launched graph may write. */
static void wrote_by_graph(struct state *s, uint64_t seq, const struct graph *g)
{
	for (size_t i = 0; i < g->nodes.n && s->allocs.n; i++) {
		struct sbt_blob p = str_blob(&g->bytes, ((struct node *)g->nodes.data)[i].payload);
		const struct kernel *k;
		struct sbt_cmd c;

		if (!p.len || !sbt_unpack(&c, p.p, p.len))
			continue;
		k = c.kind == SBT_LAUNCH ? table_find(&s->kernels, ROW(kernel), (uint32_t)c.u.launch.kernel) : NULL;
		if (c.kind == SBT_LAUNCH)
			wrote_args(s, seq, c.u.launch.args, k ? str_blob(&s->bytes, k->params) : (struct sbt_blob){0});
		else if (c.kind == SBT_COPY)
			wrote(s, seq, c.u.copy.dst, true);
		else if (c.kind == SBT_FILL)
			wrote(s, seq, c.u.fill.dst, true);
	}
}

static void on_graph_launch(struct state *s, const struct sbt_cmd *c)
{
	uint64_t id = c->u.graph_launch.exec;
	struct graph *g = own_graph(s, id);

	live(s, c, "graph", id, LIFE_OF(g, destroyed), USE);
	if (!submit(s, c, c->u.graph_launch.stream, id))
		return;
	g = own_graph(s, id);
	if (!g)
		return;
	g->launches++;
	g->last_launch = c->seq;
	g->queued++;
	wrote_by_graph(s, c->seq, g);
}

/* ---- notes -------------------------------------------------------------------------------------------------------- */

static void on_thread(struct state *s, const struct sbt_cmd *c)
{
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);

	t->os_tid = (uint32_t)c->u.thread.os_tid;
	t->name = str_put(&s->bytes, c->u.thread.thread_name.p, c->u.thread.thread_name.len);
}

static void on_nothing(struct state *s, const struct sbt_cmd *c)
{
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

#define U(member) offsetof(struct sbt_cmd, u.member)

static const struct {
	void (*apply)(struct state *s, const struct sbt_cmd *c);
	uint16_t ids[4];     /* fields that hold an id or ordinal; SBT_NO_ID allowed ... */
	uint16_t must;	     /* ... but not in this one */
	uint16_t enumerated; /* a field stored as 8 bits */
} transitions[SBT_KIND_END] = {
	[SBT_DEVICE] = {on_device, .must = U(device.device)},
	[SBT_CTX_CREATE] = {on_ctx_create, {U(ctx_create.default_stream), U(ctx_create.device)}, .must = U(ctx_create.new_ctx)},
	[SBT_CTX_DESTROY] = {on_ctx_destroy, .must = U(ctx_destroy.dead_ctx)},
	[SBT_CTX_SET] = {on_ctx_set, {U(ctx_set.new_ctx)}},
	[SBT_STREAM_CREATE] = {on_stream_create, .must = U(stream_create.new_stream)},
	[SBT_STREAM_DESTROY] = {on_stream_destroy, .must = U(stream_destroy.dead_stream)},
	[SBT_EVENT_CREATE] = {on_event_create, .must = U(event_create.new_event)},
	[SBT_EVENT_DESTROY] = {on_event_destroy, .must = U(event_destroy.dead_event)},
	[SBT_MODULE_LOAD] = {on_module_load, .must = U(module_load.new_module)},
	[SBT_MODULE_UNLOAD] = {on_module_unload, .must = U(module_unload.dead_module)},
	[SBT_KERNEL_DEF] = {on_kernel_def, {U(kernel_def.module)}, .must = U(kernel_def.new_kernel)},
	[SBT_ALLOC] = {on_alloc, {U(alloc.stream), U(alloc.device)}, .enumerated = U(alloc.mem)},
	[SBT_FREE] = {on_free, {U(free.stream)}, .enumerated = U(free.mem)},
	[SBT_LAUNCH] = {on_launch, {U(launch.stream), U(launch.kernel)}},
	[SBT_COPY] = {on_copy, {U(copy.stream)}, .enumerated = U(copy.dir)},
	[SBT_FILL] = {on_fill, {U(fill.stream)}},
	[SBT_EVENT_RECORD] = {on_event_record, {U(event_record.stream)}, .must = U(event_record.event)},
	[SBT_STREAM_WAIT] = {on_stream_wait, {U(stream_wait.stream)}, .must = U(stream_wait.event)},
	[SBT_SYNC] = {on_sync, {U(sync.stream), U(sync.event)}, .enumerated = U(sync.scope)},
	[SBT_SYNC_END] = {on_sync_end},
	[SBT_QUERY] = {on_query, {U(query.stream), U(query.event)}, .enumerated = U(query.scope)},
	[SBT_HOST_FUNC] = {on_host_func, {U(host_func.stream)}},
	[SBT_CAPTURE_BEGIN] = {on_capture_begin, {U(capture_begin.stream)}},
	[SBT_CAPTURE_END] = {on_capture_end, {U(capture_end.stream), U(capture_end.new_graph)}},
	[SBT_GRAPH_CREATE] = {on_graph_create, {U(graph_create.clone_of)}, .must = U(graph_create.new_graph)},
	[SBT_GRAPH_NODE] = {on_graph_node, {U(graph_node.kernel), U(graph_node.node)}, .must = U(graph_node.graph),
		.enumerated = U(graph_node.type)},
	[SBT_GRAPH_INSTANTIATE] = {on_graph_instantiate, {U(graph_instantiate.graph)}, .must = U(graph_instantiate.new_exec)},
	[SBT_GRAPH_DESTROY] = {on_graph_destroy, .must = U(graph_destroy.dead_graph)},
	[SBT_GRAPH_LAUNCH] = {on_graph_launch, {U(graph_launch.stream)}, .must = U(graph_launch.exec)},
	[SBT_FUNC_ATTR] = {on_func_attr, {U(func_attr.kernel)}},
	[SBT_GLOBAL_DEF] = {on_global_def, {U(global_def.module)}},
	[SBT_MARK] = {on_nothing},
	[SBT_THREAD] = {on_thread},
	[SBT_UNREPLAYABLE] = {on_nothing},
	[SBT_BATCH] = {on_batch, {U(batch.stream)}},
};

static uint64_t field(const struct sbt_cmd *c, uint16_t off)
{
	return *(const uint64_t *)((const char *)c + off);
}

static struct err *bad(const struct sbt_cmd *c, const char *what, uint16_t off)
{
	return err_new(ERR_BAD_TRACE, "command #%llu (%s) has %s %llu, which cannot be", SEQ(c), sbt_kind(c->kind)->name, what,
		(unsigned long long)field(c, off));
}

struct err *transition_check(const struct sbt_cmd *c)
{
	uint16_t must = transitions[c->kind].must, enumerated = transitions[c->kind].enumerated;

	BUG_ON(!transitions[c->kind].apply);
	for (unsigned i = 0; i < 4 && transitions[c->kind].ids[i]; i++)
		if (field(c, transitions[c->kind].ids[i]) > SBT_NO_ID)
			return bad(c, "the id", transitions[c->kind].ids[i]);
	if (must && field(c, must) >= SBT_NO_ID)
		return bad(c, "the id", must);
	if (enumerated && field(c, enumerated) > UINT8_MAX)
		return bad(c, "the type", enumerated);
	return NULL;
}

void transition(struct state *s, const struct sbt_cmd *c)
{
	transitions[c->kind].apply(s, c);
}
