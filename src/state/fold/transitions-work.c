/* SPDX-License-Identifier: Apache-2.0
 *
 * Transitions of memory, of work on streams, and of a host that waits or asks. The surprise is when
 * a copy or a memset is finished as it returns: see copy_returns().
 */
#include "state/args.h"
#include "state/fold/transitions.h"

/* --- who wrote an allocation last --- */

static void wrote(struct state *s, uint64_t seq, uint64_t addr, bool certain)
{
	struct alloc *a = allocs_own(&s->allocs, addr);

	if (!a)
		return;
	a->writer = seq;
	a->certain = certain;
}

void state_without_writers(struct state *s)
{
	s->no_writers = true;
}

static bool writers_count(const struct state *s)
{
	return s->allocs.n && !s->no_writers;
}

/* Every allocation that a row has a byte of: a range may go on in the next one, where a program
 * maps memory piece by piece. */
static void wrote_rows(struct state *s, uint64_t seq, const struct sbt_rows *r)
{
	const uint64_t last = r->addr + (sbt_rows_size(r) - 1);
	const struct alloc *a = allocs_find(&s->allocs, r->addr);
	uint64_t addr, end;

	for (a = a ? a : allocs_next(&s->allocs, r->addr); a && a->addr <= last;
		a = allocs_next(&s->allocs, end)) {
		addr = a->addr;
		end = addr + a->size;
		if (sbt_rows_meet(r, addr, a->size))
			wrote(s, seq, addr, true);
	}
}

void wrote_touches(struct state *s, uint64_t seq, const struct sbt_footprint *f)
{
	for (unsigned i = 0; i < f->n && writers_count(s) && !(f->does & SBT_WAITS); i++)
		if (f->touch[i].how & (SBT_WRITES | SBT_UPDATES))
			wrote_rows(s, seq, &f->touch[i].rows);
}

/* args: the parameter buffer; params: packed (offset, size) pairs, empty when not known. */
void wrote_args(struct state *s, uint64_t seq, struct sbt_blob args, struct sbt_blob params)
{
	struct args_words w = args_words(args, params);
	struct state_texture t;
	uint64_t v;

	if (!writers_count(s))
		return;
	while (args_words_any(&w, &v)) { /* the kernel may write there */
		unsigned i = 0;

		wrote(s, seq, v, false);
		while (state_texture_named(s, v, &i, &t))
			if (t.is->surface)
				wrote(s, seq, t.is->addr, false);
	}
}

/* --- memory --- */

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

void free_alloc(struct state *s, const struct alloc *a)
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
		if (a->before) { /* its free was under way when tsdb was attached */
			free_alloc(s, a);
			continue;
		}
		oddity(s,
			"#%llu alloc: %#llx overlaps the allocation of #%llu at %#llx, whose free was not seen",
			SEQ(c), (unsigned long long)addr, (unsigned long long)a->seq,
			(unsigned long long)a->addr);
		free_alloc(s, a);
	}
}

void on_alloc(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_alloc *u = &c->u.alloc;
	struct alloc a = {.addr = u->addr,
		.size = u->size,
		.pitch = u->pitch,
		.seq = c->seq,
		.device = (uint32_t)u->device,
		.ctx = c->ctx,
		.stack = c->stack,
		.mem = (uint8_t)u->mem,
		.before = (c->flags & SBT_F_BEFORE) != 0};

	if (u->stream != SBT_NO_ID)
		submit(s, c, u->stream, 0);
	if (c->flags & SBT_F_GRAPH)
		return;
	if (!u->size || u->size > UINT64_MAX - u->addr) {
		oddity(s, "#%llu alloc: %llu bytes at %#llx cannot be", SEQ(c),
			(unsigned long long)u->size, (unsigned long long)u->addr);
		return;
	}
	free_overlapped(s, c, u->addr, u->size);
	allocs_insert(&s->allocs, &a);
	s->attach.allocations += a.before;
	s->attach.bytes += a.before ? a.size : 0;
	count_alloc(s, &a, 1);
}

/* A stream-ordered free leaves the table at once: the program may not use the address any more, and
 * the next allocation may get it. */
void on_free(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_free *u = &c->u.free;
	const struct alloc *a = allocs_find(&s->allocs, u->addr);

	if (u->stream != SBT_NO_ID)
		submit(s, c, u->stream, 0);
	if (c->flags & SBT_F_GRAPH)
		return;
	if (c->flags & SBT_F_SYNTHETIC) { /* it was found at an attach by mistake; a later
					   * allocation may be in its place */
		if (a && a->addr == u->addr && a->before)
			free_alloc(s, a);
		return;
	}
	if (a && a->addr == u->addr)
		free_alloc(s, a);
	else if (a)
		oddity(s,
			"#%llu free: %#llx lies inside the allocation of #%llu, which begins at %#llx",
			SEQ(c), (unsigned long long)u->addr, (unsigned long long)a->seq,
			(unsigned long long)a->addr);
	else if (u->addr)
		oddity(s, "#%llu free: %#llx is not allocated", SEQ(c),
			(unsigned long long)u->addr);
}

/* --- work --- */

void on_launch(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *u = &c->u.launch;
	struct kernel *k = u->kernel < SBT_NO_ID
				   ? table_own(&s->kernels, ROW(kernel), (uint32_t)u->kernel)
				   : NULL;
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

static enum state_returns copy_returns(const struct state *s, const struct sbt_cmd_copy *u)
{
	uint64_t dir = u->dir;

	if (dir == SBT_COPY_ANY) {
		bool from_host = is_host_alloc(allocs_find(&s->allocs, u->src));
		bool to_host = is_host_alloc(allocs_find(&s->allocs, u->dst));

		dir = from_host ? (to_host ? SBT_COPY_H2H : SBT_COPY_H2D)
		      : to_host ? SBT_COPY_D2H
				: SBT_COPY_D2D;
	}
	if (dir == SBT_COPY_H2H)
		return STATE_RETURNS_DONE;
	if (dir == SBT_COPY_D2D || dir == SBT_COPY_PEER)
		return STATE_RETURNS_AT_ONCE;
	if (dir == SBT_COPY_D2H)
		return !u->async || u->pageable ? STATE_RETURNS_DONE : STATE_RETURNS_AT_ONCE;
	if (u->async)
		return STATE_RETURNS_AT_ONCE;
	return u->pageable ? STATE_RETURNS_PRIOR : STATE_RETURNS_DONE;
}

/* A memset returns at once, but for pinned host and managed memory. */
static enum state_returns fill_returns(const struct state *s, const struct sbt_cmd_fill *u)
{
	const struct alloc *a = allocs_find(&s->allocs, u->dst);

	return !u->async && a && (is_host_alloc(a) || a->mem == SBT_MEM_MANAGED)
		       ? STATE_RETURNS_DONE
		       : STATE_RETURNS_AT_ONCE;
}

enum state_returns state_returns(const struct state *s, const struct sbt_cmd *c)
{
	if (c->kind == SBT_COPY)
		return copy_returns(s, &c->u.copy);
	return c->kind == SBT_FILL ? fill_returns(s, &c->u.fill) : STATE_RETURNS_AT_ONCE;
}

static void retire_returned(struct state *s, const struct sbt_cmd *c, struct stream *st)
{
	const enum state_returns ret = state_returns(s, c);

	if (ret == STATE_RETURNS_DONE)
		queue_retire(s, st->id, c->seq);
	else if (ret == STATE_RETURNS_PRIOR)
		queue_retire_before(s, st, c->seq);
}

void on_copy(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *u = &c->u.copy;
	struct stream *st = submit(s, c, u->stream, 0);
	struct device *d;

	if (!st)
		return;
	s->copies++;
	d = device_of(s, st->ctx);
	if (d) {
		d->copies++;
		d->copy_bytes += u->size;
	}
	retire_returned(s, c, st);
}

void on_fill(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_fill *u = &c->u.fill;
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
	retire_returned(s, c, st);
}

/* --- the host waits or asks --- */

/* What scope, stream and event name at this moment. False: nothing to wait for. */
static bool host_wait(struct state *s, const struct sbt_cmd *c, uint64_t scope, uint64_t stream,
	uint64_t event, struct host_wait *ret)
{
	const struct event *e = own_event(s, event);
	const struct stream *st = find_stream(s, stream);

	*ret = (struct host_wait){
		.seq = c->seq, .upto = c->seq - 1, .ctx = c->ctx, .stream = SBT_NO_ID};
	if (scope == SBT_SYNC_CTX)
		return c->ctx != SBT_NO_ID;
	if (stream == SBT_NO_ID && event == SBT_NO_ID)
		return false; /* an imported profile may not say what the host waited for */
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

void on_sync(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_sync *u = &c->u.sync;
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);

	s->syncs++;
	if (!host_wait(s, c, u->scope, u->stream, u->event, &t->wait))
		t->wait.upto = 0;
}

void on_sync_end(struct state *s, const struct sbt_cmd *c)
{
	uint64_t begin = c->u.sync_end.begin;
	struct thread *t = table_own(&s->threads, ROW(thread), c->thread);
	struct host_wait w = t->wait;

	if (!begin || w.seq != begin) {
		oddity(s, "#%llu sync_end: thread %u is not inside the sync #%llu", SEQ(c),
			c->thread, (unsigned long long)begin);
		return;
	}
	t->wait.seq = 0;
	if (w.upto)
		host_knows(s, &w);
}

void on_query(struct state *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_query *u = &c->u.query;
	struct host_wait w;

	if (!c->result && host_wait(s, c, u->scope, u->stream, u->event, &w))
		host_knows(s, &w);
}
