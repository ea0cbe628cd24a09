/* SPDX-License-Identifier: Apache-2.0
 *
 * Transitions of devices, contexts, streams, events, modules and kernels.
 */
#include "state/fold/transitions.h"
#include "sbt/kernel-name.h"

/* --- devices and contexts --- */

void on_device(struct state *s, const struct sbt_cmd *c)
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
	st->flags &= ~(uint64_t)SBT_STREAM_UNKNOWN;
	st->before = c->flags & SBT_F_BEFORE;
}

void on_ctx_create(struct state *s, const struct sbt_cmd *c)
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
	x->before = c->flags & SBT_F_BEFORE;
	own_device(s, x->device);
	make_default_stream(s, c);
	/* cuCtxCreate makes the new context current; retaining a primary one does not */
	if (!x->primary && !(c->flags & SBT_F_SYNTHETIC))
		((struct thread *)table_own(&s->threads, ROW(thread), c->thread))->ctx =
			(uint32_t)u->new_ctx;
}

/* Whatever lives in a context ends with it. */
void on_ctx_destroy(struct state *s, const struct sbt_cmd *c)
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
	for (size_t i = s->textures.n; i--;)
		if (ROWS(s, textures, texture)[i].ctx == id) {
			vec_own(&s->textures, ROW(texture));
			vec_remove(&s->textures, ROW(texture), i);
		}
	for (size_t i = s->limits.n; i--;)
		if (ROWS(s, limits, limit)[i].id / STATE_LIMITS == id) {
			vec_own(&s->limits, ROW(limit));
			vec_remove(&s->limits, ROW(limit), i);
		}
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

void on_ctx_set(struct state *s, const struct sbt_cmd *c)
{
	uint64_t id = c->u.ctx_set.new_ctx;
	const struct context *x = own_context(s, id);
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);

	if (id != SBT_NO_ID)
		live(s, c, "context", id, LIFE_OF(x, destroyed), USE);
	t->ctx = (uint32_t)id;
}

void on_ctx_limit(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_ctx_limit *u = &c->u.ctx_limit;
	struct limit *l;

	if (u->limit >= STATE_LIMITS || c->ctx >= UINT32_MAX / STATE_LIMITS)
		return;
	const uint32_t id = c->ctx * STATE_LIMITS + (uint32_t)u->limit;
	l = table_own(&s->limits, ROW(limit), id);
	if (!l)
		l = table_insert(&s->limits, ROW(limit), id);
	l->value = u->limit_value;
	l->seq = c->seq;
}

/* --- textures --- */

void on_texture_create(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_texture_create *u = &c->u.texture_create;
	const uint32_t id = (uint32_t)u->new_texture;
	struct texture *t = table_own(&s->textures, ROW(texture), id);

	live(s, c, "texture", id, t ? ALIVE : ABSENT, CREATE);
	if (!t)
		t = table_insert(&s->textures, ROW(texture), id);
	t->ctx = c->ctx;
	t->is = *u;
}

void on_texture_destroy(struct state *s, const struct sbt_cmd *c)
{
	const uint32_t id = (uint32_t)c->u.texture_destroy.dead_texture;
	const bool is_there = table_find(&s->textures, ROW(texture), id);

	live(s, c, "texture", id, is_there ? ALIVE : ABSENT, DESTROY);
	if (is_there)
		table_remove(&s->textures, ROW(texture), id);
}

/* --- streams and events --- */

void on_stream_create(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_stream_create *u = &c->u.stream_create;
	struct stream *st = find_stream(s, u->new_stream);

	if (!st ||
		!st->is_default) /* a default stream came with its context; this tells its handle */
		live(s, c, "stream", u->new_stream, LIFE_OF(st, destroyed), CREATE);
	if (!st)
		st = new_stream(s, c, u->new_stream, c->ctx);
	st->destroyed = false;
	st->handle = u->handle;
	st->flags = u->stream_flags;
	st->priority = u->priority;
	st->per_thread = u->per_thread != 0;
	st->thread = c->thread;
	if (!st->is_default)
		st->before = c->flags & SBT_F_BEFORE;
}

void on_stream_destroy(struct state *s, const struct sbt_cmd *c)
{
	struct stream *st = find_stream(s, c->u.stream_destroy.dead_stream);

	live(s, c, "stream", c->u.stream_destroy.dead_stream, LIFE_OF(st, destroyed), DESTROY);
	if (!st || st->destroyed)
		return;
	st->destroyed = true;
	if (!stream_pending(st))
		stream_drop(s, st);
}

void on_event_create(struct state *s, const struct sbt_cmd *c)
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
	e->before = c->flags & SBT_F_BEFORE;
}

void on_event_destroy(struct state *s, const struct sbt_cmd *c)
{
	struct event *e = own_event(s, c->u.event_destroy.dead_event);

	live(s, c, "event", c->u.event_destroy.dead_event, LIFE_OF(e, destroyed), DESTROY);
	if (!e)
		return;
	e->destroyed = true;
	if (!e->record_seq || event_complete(s, e))
		table_remove(&s->events, ROW(event), e->id);
}

void on_event_record(struct state *s, const struct sbt_cmd *c)
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

/* The wait refers to the record that is the last one now; a record made later does not move it. An
 * event that was never recorded is no wait (CUDA driver API, cuStreamWaitEvent). */
void on_stream_wait(struct state *s, const struct sbt_cmd *c)
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

/* --- modules and kernels --- */

void on_module_load(struct state *s, const struct sbt_cmd *c)
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
	m->before = c->flags & SBT_F_BEFORE;
	m->unloaded = false;
	m->file = str_put(&s->bytes, u->file.p, u->file.len);
}

void on_module_unload(struct state *s, const struct sbt_cmd *c)
{
	struct module *m =
		table_own(&s->modules, ROW(module), (uint32_t)c->u.module_unload.dead_module);

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

void on_kernel_def(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_kernel_def *u = &c->u.kernel_def;
	struct kernel *k = table_own(&s->kernels, ROW(kernel), (uint32_t)u->new_kernel);
	struct module *m = u->module < SBT_NO_ID
				   ? table_own(&s->modules, ROW(module), (uint32_t)u->module)
				   : NULL;

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

void on_module_code(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_module_code *u = &c->u.module_code;
	struct module *m = table_own(&s->modules, ROW(module), (uint32_t)u->module);

	live(s, c, "module", u->module, LIFE_OF(m, unloaded), USE);
	if (!m)
		return;
	m->code_hash = u->code_hash;
	m->code_size = u->code_size;
}

void on_func_attr(struct state *s, const struct sbt_cmd *c)
{
	const struct kernel *k =
		table_find(&s->kernels, ROW(kernel), (uint32_t)c->u.func_attr.kernel);

	live(s, c, "kernel", c->u.func_attr.kernel, k ? ALIVE : ABSENT, USE);
}

void on_global_def(struct state *s, const struct sbt_cmd *c)
{
	const struct module *m =
		table_find(&s->modules, ROW(module), (uint32_t)c->u.global_def.module);

	live(s, c, "module", c->u.global_def.module, LIFE_OF(m, unloaded), USE);
}
