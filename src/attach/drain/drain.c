/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges the rings by seq (capture/wire.h, "Order"). Work is done in batches: a snapshot of the
 * watermark and of every ring's head, one pass over the new record headers that indexes commands
 * and picks out definitions (drain-ring.c), then a heap over the rings. Each command is copied
 * once, into tsdb's memory. A ring with a record that makes no sense is abandoned: its loss is
 * counted and reported in one sentence, and it is emptied from then on so that its thread never
 * waits.
 */
#include "attach/drain/drain.h"
#include "sbt/cmd-pack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCHES_MAX 16u /* before the caller can attend to the inferior */
#define BULK_BATCH 4u	/* bulk slots between two looks at the rings */

struct drain *drain_new(void)
{
	struct drain *d = xcalloc(1, sizeof(*d));

	drain_stacks_init(&d->stacks);
	drain_join_init(&d->join);
	d->bulk = drain_bulk_new();
	return d;
}

void drain_free(struct drain *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->rings; i++) {
		free(d->views[i].index);
		drain_code_free(&d->views[i].code);
		buf_free(&d->views[i].spill);
	}
	for (unsigned i = 0; i < d->nwarnings; i++)
		free(d->warnings[i]);
	drain_stacks_free(&d->stacks);
	drain_join_free(&d->join);
	drain_bulk_free(d->bulk);
	free(d->sides);
	free(d->times);
	free(d);
}

void drain_unmap(struct inferior *inf)
{
	if (!inf->drain)
		return;
	for (unsigned i = 0; i < inf->drain->rings; i++) {
		struct drain_view *v = &inf->drain->views[i];

		if (v->data)
			munmap(v->data, 2 * (size_t)v->bytes);
		v->data = NULL;
	}
	drain_bulk_unmap(inf->drain->bulk);
}

/* ---- telling ---- */

void drain_warn(struct drain *d, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	if (d->nwarnings == DRAIN_WARNINGS_MAX)
		return;
	if (d->nwarnings == DRAIN_WARNINGS_MAX - 1)
		fmt = "more of the program's records are damaged; they are counted as lost, and no longer told one by one";
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	(void)buf_cstr(&b);
	d->warnings[d->nwarnings++] = buf_steal(&b);
}

const char *drain_warning(struct inferior *inf)
{
	struct drain *d = inf->drain;

	return d->warned < d->nwarnings ? d->warnings[d->warned++] : NULL;
}

/* ---- the heap ---- */

static void sift_down(struct drain *d, unsigned at)
{
	const struct drain_front moved = d->heap[at];

	for (;;) {
		unsigned child = 2 * at + 1;

		if (child >= d->nheap)
			break;
		if (child + 1 < d->nheap && d->heap[child + 1].seq < d->heap[child].seq)
			child++;
		if (moved.seq <= d->heap[child].seq)
			break;
		d->heap[at] = d->heap[child];
		at = child;
	}
	d->heap[at] = moved;
}

static void fill_heap(struct drain *d)
{
	d->nheap = 0;
	for (uint32_t i = 0; i < d->rings; i++) {
		const struct drain_view *v = &d->views[i];

		if (v->used && v->next < v->n)
			d->heap[d->nheap++] = (struct drain_front){v->index[v->next].seq, i};
	}
	for (unsigned i = d->nheap / 2; i-- > 0;)
		sift_down(d, i);
}

/* Updates the heap after the root's ring has moved on. */
static void heap_next(struct drain *d)
{
	const struct drain_view *v = &d->views[d->heap[0].ring];

	if (v->next < v->n)
		d->heap[0].seq = v->index[v->next].seq;
	else
		d->heap[0] = d->heap[--d->nheap];
	if (d->nheap)
		sift_down(d, 0);
}

void drain_abandon(struct drain *d, struct tsdb_ring *s, struct drain_view *v, const char *why)
{
	v->bad = true;
	v->next = v->n = 0;
	d->spilled -= v->spill.len;
	buf_clear(&v->spill);
	d->lost++;
	drain_warn(d,
		"the records of GPU thread %u (tid %u) are damaged (%s); what it does from here on is not recorded: "
		"the program overwrote memory that it shares with tsdb",
		s->thread, s->os_tid, why);
	fill_heap(d);
}

/* ---- batches ---- */

static void release_rings(struct inferior *inf)
{
	for (uint32_t i = 0; i < inf->drain->rings; i++)
		drain_ring_release(inf, i);
}

/* The watermark: every command with a lower seq is in the rings when they are looked at after
 * this. */
static uint64_t load_watermark(struct tsdb_control *c)
{
	uint64_t w = atomic_load_explicit(&c->next_seq, memory_order_acquire);

	for (uint32_t i = 0, n = tsdb_rings(c); i < n; i++) {
		uint64_t seq = atomic_load_explicit(&c->ring[i].inflight, memory_order_acquire);

		if (seq < w)
			w = seq;
	}
	return w;
}

static void begin_batch(struct inferior *inf, bool final)
{
	struct drain *d = inf->drain;

	release_rings(inf);
	d->side_next = d->nsides = d->time_next = d->ntimes = 0;
	d->watermark = load_watermark(inf->control);
	if (final && !inf->alive)
		d->watermark = UINT64_MAX;
	d->rings = tsdb_rings(inf->control);
	for (uint32_t i = 0; i < d->rings; i++) {
		uint32_t state =
			atomic_load_explicit(&inf->control->ring[i].state, memory_order_acquire);

		if (state != TSDB_RING_FREE)
			drain_ring_look(inf, i, state);
	}
	fill_heap(d);
}

/* ---- handing out ---- */

static void give_side(struct inferior *inf, struct drain_item *ret)
{
	struct drain *d = inf->drain;
	struct drain_side *e = &d->sides[d->side_next++];
	struct drain_view *v = &d->views[e->ring];
	uint32_t size;
	const struct tsdb_msg_head *m;
	bool good;

	if (v->bad)
		return;
	m = drain_ring_fetch(inf, v, e->at, &size);
	if (m && m->type == TSDB_MSG_STACK)
		good = drain_stacks_define(&d->stacks, v->epoch, (const void *)m, ret);
	else
		good = m && m->type == TSDB_MSG_CODE &&
		       drain_code_piece(&v->code, (const void *)m, ret);
	if (!good)
		drain_abandon(d, &inf->control->ring[e->ring], v,
			"a host stack or a module's code makes no sense");
}

static bool unpack(struct inferior *inf, struct drain_view *v, const struct drain_entry *e,
	struct drain_item *ret)
{
	uint32_t size;
	const void *p = drain_ring_fetch(inf, v, e->at, &size);

	return p && sbt_unpack(&ret->cmd, p, size) == size && ret->cmd.seq == e->seq;
}

static void give_cmd(struct inferior *inf, struct drain_item *ret)
{
	struct drain *d = inf->drain;
	uint32_t ring = d->heap[0].ring;
	struct tsdb_ring *s = &inf->control->ring[ring];
	struct drain_view *v = &d->views[ring];
	struct drain_entry e = v->index[v->next++];

	if (e.seq <= d->last_seq) {
		d->lost++;
		drain_warn(d, "command #%llu of GPU thread %u came after #%llu; it is left out",
			(unsigned long long)e.seq, s->thread, (unsigned long long)d->last_seq);
	} else if (!unpack(inf, v, &e, ret)) {
		drain_abandon(d, s, v, "a command makes no sense");
		return;
	} else {
		d->last_seq = e.seq;
		ret->kind = DRAIN_CMD;
		ret->epoch = v->epoch;
		ret->cmd.stack = drain_stack_id(&d->stacks, v->epoch, ret->cmd.stack);
		ret->cmd.gpu_start_ns = ret->cmd.gpu_end_ns = 0;
		d->has_time = drain_join_cmd(&d->join, v->epoch, &ret->cmd, &d->time);
		d->time_seq = e.seq;
		if (v->in_order && v->next < v->n && !(v->index[v->next].at & DRAIN_SPILLED) &&
			v->index[v->next].at - v->tail > v->bytes / 8)
			drain_ring_publish_tail(s, v, v->index[v->next].at);
	}
	heap_next(d);
}

static void set_time(
	struct drain_item *ret, uint32_t corr, uint64_t seq, uint64_t start_ns, uint64_t end_ns)
{
	ret->kind = DRAIN_TIME;
	ret->corr = corr;
	ret->seq = seq;
	ret->start_ns = start_ns;
	ret->end_ns = end_ns;
}

static void give_time(struct drain *d, struct drain_item *ret)
{
	const struct drain_time *t = &d->times[d->time_next++];
	uint64_t seq = drain_join_time(&d->join, t->epoch, &t->msg);

	if (seq)
		set_time(ret, t->msg.corr, seq, t->msg.start_ns, t->msg.end_ns);
}

/* Returns one item of the present batch; false if the batch is used up. */
static bool give(struct inferior *inf, struct drain_item *ret)
{
	struct drain *d = inf->drain;

	if (d->has_time) {
		d->has_time = false;
		set_time(ret, d->time.corr, d->time_seq, d->time.start_ns, d->time.end_ns);
	} else if (d->side_next < d->nsides) {
		give_side(inf, ret);
	} else if (d->nheap && d->heap[0].seq < d->watermark) {
		give_cmd(inf, ret);
	} else if (d->time_next < d->ntimes) {
		give_time(d, ret);
	} else {
		return false;
	}
	return true;
}

static bool give_bulk(struct inferior *inf, bool final, struct drain_item *ret)
{
	if (!inf->drain->bulk_left || !drain_bulk_give(inf, final, ret))
		return false;
	if (ret->part == DRAIN_PIECE_BYTES)
		inf->drain->bulk_left--;
	return true;
}

struct err *drain_next(struct inferior *inf, bool final, struct drain_item *ret)
{
	struct drain *d = inf->drain;
	bool fresh = false;

	ret->kind = DRAIN_NONE;
	if (!inf->control)
		return NULL;
	while (ret->kind == DRAIN_NONE) {
		if (drain_window_give(inf, true, ret) ||
			(drain_bulk_is_old(d->bulk) && drain_bulk_give(inf, final, ret)) ||
			give(inf, ret) || give_bulk(inf, final, ret) ||
			drain_window_give(inf, false, ret))
			continue;
		if (fresh || (!final && d->batches >= BATCHES_MAX))
			break;
		begin_batch(inf, final);
		d->batches++;
		d->bulk_left = BULK_BATCH;
		fresh = true;
	}
	if (ret->kind == DRAIN_NONE) {
		d->batches = 0;
		release_rings(inf);
	}
	return NULL;
}

/* ---- held back ---- */

/* The first entry of v with seq > after; entries rise. */
static const struct drain_entry *entry_after(const struct drain_view *v, uint64_t after)
{
	unsigned low = v->next, high = v->n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (v->index[mid].seq > after)
			high = mid;
		else
			low = mid + 1;
	}
	return low < v->n ? &v->index[low] : NULL;
}

bool drain_peek(struct inferior *inf, uint64_t after, struct drain_item *ret)
{
	struct drain *d = inf->drain;
	const struct drain_entry *best = NULL;
	struct drain_view *in = NULL;

	for (unsigned i = 0; inf->control && i < d->rings; i++) {
		struct drain_view *v = &d->views[i];
		const struct drain_entry *e = v->used && !v->bad ? entry_after(v, after) : NULL;

		if (e && (!best || e->seq < best->seq)) {
			best = e;
			in = v;
		}
	}
	if (!best || !unpack(inf, in, best, ret))
		return false;
	ret->kind = DRAIN_CMD;
	ret->epoch = in->epoch;
	ret->cmd.stack = drain_stack_id(&d->stacks, in->epoch, ret->cmd.stack);
	ret->cmd.gpu_start_ns = ret->cmd.gpu_end_ns = 0;
	return true;
}

/* ---- the rest ---- */

bool drain_module(struct inferior *inf, uint32_t index, struct sbt_host_module *ret)
{
	if (index >= inf->drain->stacks.nmodules)
		return false;
	*ret = inf->drain->stacks.modules[index];
	return true;
}

bool drain_place(struct inferior *inf, uint64_t index, struct sbt_place *ret)
{
	if (index >= inf->drain->stacks.python.nplaces)
		return false;
	*ret = inf->drain->stacks.python.places[index];
	return true;
}

uint64_t drain_lost(const struct inferior *inf, struct drain_losses *ret)
{
	const struct drain *d = inf->drain;
	struct tsdb_control *c = inf->control;
	struct drain_losses l = {.full = d->lost_full, .damaged = d->lost};

	for (unsigned i = 0; c && i < tsdb_rings(c); i++)
		if (atomic_load_explicit(&c->ring[i].state, memory_order_relaxed) != TSDB_RING_FREE)
			l.full += c->ring[i].lost;
	if (c) {
		l.otherwise = atomic_load_explicit(&c->lost, memory_order_relaxed);
		l.no_ring = atomic_load_explicit(&c->lost_no_ring, memory_order_relaxed);
		l.threads = atomic_load_explicit(&c->no_ring, memory_order_relaxed);
	}
	if (ret)
		*ret = l;
	return l.full + l.damaged + l.otherwise + l.no_ring;
}

unsigned drain_pressure(const struct inferior *inf)
{
	uint64_t most = 0;
	unsigned bulk;

	if (!inf->control)
		return 0;
	for (unsigned i = 0; i < tsdb_rings(inf->control); i++) {
		const struct tsdb_ring *s = &inf->control->ring[i];
		const uint64_t bytes = tsdb_ring_bytes(inf->ring_bytes, i);
		uint64_t n;

		if (atomic_load_explicit(&s->state, memory_order_relaxed) == TSDB_RING_FREE)
			continue;
		n = atomic_load_explicit(&s->head, memory_order_relaxed) -
		    atomic_load_explicit(&s->tail, memory_order_relaxed);
		if (n <= bytes && n * 1000 / bytes > most)
			most = n * 1000 / bytes;
	}
	bulk = drain_bulk_pressure(inf);
	return bulk > most ? bulk : (unsigned)most;
}

static void close_slot(struct tsdb_ring *s)
{
	atomic_store_explicit(&s->inflight, TSDB_IDLE, memory_order_release);
	atomic_store_explicit(&s->state, TSDB_RING_CLOSED, memory_order_release);
}

void drain_exec(struct inferior *inf)
{
	struct drain *d = inf->drain;

	d->rings = tsdb_rings(inf->control);
	for (unsigned i = 0; i < d->rings; i++) {
		struct tsdb_ring *s = &inf->control->ring[i];
		uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);

		if (state == TSDB_RING_FREE)
			continue;
		drain_ring_look(inf, i,
			TSDB_RING_USED); /* all of it is indexed with the old program's epoch */
		close_slot(s);
	}
	fill_heap(d);
	drain_bulk_exec(inf);
	d->epoch++;
	drain_stacks_exec(&d->stacks);
}

void drain_thread_gone(struct inferior *inf, pid_t tid)
{
	for (unsigned i = 0; inf->control && i < tsdb_rings(inf->control); i++) {
		struct tsdb_ring *s = &inf->control->ring[i];

		if (atomic_load_explicit(&s->state, memory_order_acquire) == TSDB_RING_USED &&
			s->os_tid == (uint32_t)tid)
			close_slot(s);
	}
}
