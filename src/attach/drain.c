/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges the rings by seq (capture/wire.h, "Order"). Work is done in batches: a snapshot of the watermark and of every ring's head, one
 * pass over the new record headers that indexes commands and picks out definitions, then a heap over the rings. One copy per
 * command, into memory of ours, because the inferior can scribble on a ring while we read it: whatever is read twice is checked
 * twice. A ring with a record that makes no sense is abandoned: counted, told in one sentence, emptied from then on so that
 * its thread never waits. A call that takes long (a synchronisation) holds back everything after it; so that other threads can go on,
 * which may be what it waits for, held back records are moved out of rings that are half full.
 */
#include "attach/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCHES_MAX 16u		/* before the caller gets a chance to look after the inferior */
#define TIMES_MAX (1u << 22)	/* of one batch */
#define WARNINGS_MAX 16u

#define SPILLED (1ull << 63)
#define SPILL_MAX (2ull << 30) /* bytes, of all rings; past it the threads wait */

struct index_entry {
	uint64_t seq;
	uint64_t at; /* bytes ever written before it; with SPILLED: offset in view.spill */
};

/* Our end of a ring. */
struct view {
	uint8_t *data;	  /* 2 * ring_bytes, mapped at first use */
	uint64_t scanned; /* bytes indexed so far */
	uint64_t tail;	  /* as published */
	struct index_entry *index; /* commands scanned and not handed out: next..n */
	unsigned next, n, cap;
	bool in_order;	   /* the index has rising offsets, so a tail can be published in the middle of a batch */
	bool used;	   /* epoch and lost are valid */
	bool bad;
	uint32_t epoch;
	uint64_t lost; /* of the slot's present user, last seen */
	struct drain_code code;
	struct buf spill; /* records moved out of the ring, see spill_ring() */
};

struct side { /* a stack or a piece of code */
	uint32_t ring;
	uint64_t at;
};
struct batch_time {
	struct tsdb_msg_time msg;
	uint32_t epoch;
};

struct front {
	uint64_t seq; /* of the ring's next command */
	uint32_t ring;
};

struct drain {
	struct view views[TSDB_RING_COUNT];
	uint32_t epoch; /* execs so far */
	uint64_t watermark;
	struct front heap[TSDB_RING_COUNT]; /* rings with commands, by the seq of the next one */
	unsigned nheap;
	struct side *sides;
	unsigned side_next, nsides, sides_cap;
	struct batch_time *times;
	unsigned time_next, ntimes, times_cap;
	unsigned batches;
	uint64_t spilled;  /* bytes in all spills */
	uint64_t last_seq; /* handed out */
	uint64_t lost;	   /* of slots given back, of abandoned rings, of commands that came too late */
	struct drain_stacks stacks;
	struct drain_join join;
	bool has_time; /* came before its command, which was just handed out */
	uint64_t time_seq;
	struct join_time time;
	char *warnings[WARNINGS_MAX];
	unsigned nwarnings, warned;
	_Alignas(8) uint8_t record[TSDB_RECORD_MAX];
};

struct drain *drain_new(void)
{
	struct drain *d = xcalloc(1, sizeof(*d));

	drain_stacks_init(&d->stacks);
	drain_join_init(&d->join);
	return d;
}

void drain_free(struct drain *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < TSDB_RING_COUNT; i++) {
		free(d->views[i].index);
		drain_code_free(&d->views[i].code);
		buf_free(&d->views[i].spill);
	}
	for (unsigned i = 0; i < d->nwarnings; i++)
		free(d->warnings[i]);
	drain_stacks_free(&d->stacks);
	drain_join_free(&d->join);
	free(d->sides);
	free(d->times);
	free(d);
}

void drain_unmap(struct inferior *inf)
{
	if (!inf->drain)
		return;
	for (unsigned i = 0; i < TSDB_RING_COUNT; i++) {
		struct view *v = &inf->drain->views[i];

		if (v->data)
			munmap(v->data, 2 * (size_t)inf->ring_bytes);
		v->data = NULL;
	}
}

/* ---- telling ---- */

static void warn(struct drain *d, const char *fmt, ...) TS_PRINTF(2, 3);
static void warn(struct drain *d, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	if (d->nwarnings == WARNINGS_MAX)
		return;
	if (d->nwarnings == WARNINGS_MAX - 1)
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
	const struct front moved = d->heap[at];

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
	for (uint32_t i = 0; i < TSDB_RING_COUNT; i++) {
		const struct view *v = &d->views[i];

		if (v->used && v->next < v->n)
			d->heap[d->nheap++] = (struct front){v->index[v->next].seq, i};
	}
	for (unsigned i = d->nheap / 2; i-- > 0;)
		sift_down(d, i);
}

/* The root's ring has moved on. */
static void heap_next(struct drain *d)
{
	const struct view *v = &d->views[d->heap[0].ring];

	if (v->next < v->n)
		d->heap[0].seq = v->index[v->next].seq;
	else
		d->heap[0] = d->heap[--d->nheap];
	if (d->nheap)
		sift_down(d, 0);
}

static void abandon(struct drain *d, struct tsdb_ring *s, struct view *v, const char *why)
{
	v->bad = true;
	v->next = v->n = 0;
	d->spilled -= v->spill.len;
	buf_clear(&v->spill);
	d->lost++;
	warn(d, "the records of GPU thread %u (tid %u) are damaged (%s); what it does from here on is not recorded: "
		"the program overwrote memory that it shares with tsdb",
		s->thread, s->os_tid, why);
	fill_heap(d);
}

/* ---- one ring ---- */

/* Maps slot i's data twice in a row. */
static bool view_map(struct inferior *inf, unsigned i, struct view *v)
{
	size_t n = inf->ring_bytes;
	uint8_t *p = mmap(NULL, 2 * n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	for (unsigned k = 0; k < 2; k++)
		if (mmap(p + k * n, n, PROT_READ, MAP_SHARED | MAP_FIXED, inf->control_fd,
			    (off_t)tsdb_ring_offset(inf->ring_bytes, i)) == MAP_FAILED) {
			munmap(p, 2 * n);
			return false;
		}
	v->data = p;
	return true;
}

static const void *view_at(const struct inferior *inf, const struct view *v, uint64_t at)
{
	return v->data + (at & (inf->ring_bytes - 1));
}

static void publish_tail(struct tsdb_ring *s, struct view *v, uint64_t tail)
{
	if (tail == v->tail)
		return;
	v->tail = tail;
	atomic_store_explicit(&s->tail, tail, memory_order_release);
}

static void add_command(struct view *v, uint64_t seq, uint64_t at)
{
	unsigned i = v->n;

	if (v->n == v->cap) {
		v->cap = v->cap ? v->cap * 2 : 256;
		v->index = xrealloc(v->index, v->cap * sizeof(*v->index));
	}
	/* A thread publishes nearly always in order; a command within another's callback comes first. */
	for (; i > v->next && v->index[i - 1].seq > seq; i--) {
		v->index[i] = v->index[i - 1];
		v->in_order = false;
	}
	v->index[i] = (struct index_entry){seq, at};
	v->n++;
}

static void add_side(struct drain *d, uint32_t ring, uint64_t at)
{
	if (d->nsides == d->sides_cap) {
		d->sides_cap = d->sides_cap ? d->sides_cap * 2 : 64;
		d->sides = xrealloc(d->sides, d->sides_cap * sizeof(*d->sides));
	}
	d->sides[d->nsides++] = (struct side){ring, at};
}

static bool add_time(struct drain *d, uint32_t epoch, const struct tsdb_msg_time *m, uint32_t size)
{
	if (size < sizeof(*m))
		return false;
	if (d->ntimes == TIMES_MAX) {
		d->lost++;
		return true;
	}
	if (d->ntimes == d->times_cap) {
		d->times_cap = d->times_cap ? d->times_cap * 2 : 256;
		d->times = xrealloc(d->times, d->times_cap * sizeof(*d->times));
	}
	d->times[d->ntimes].epoch = epoch;
	memcpy(&d->times[d->ntimes++].msg, m, sizeof(*m));
	return true;
}

/* Copies a message of ours out of the ring, with the size that was checked. */
static const void *copy_message(struct drain *d, const void *from, uint32_t size)
{
	memcpy(d->record, from, size);
	memcpy(d->record, &size, sizeof(size));
	return d->record;
}

static bool scan_one(struct inferior *inf, uint32_t ring, struct view *v, const void *p, uint32_t size, uint16_t type)
{
	struct drain *d = inf->drain;
	uint64_t seq;

	switch (type) {
	case TSDB_MSG_MAPPING:
		return size >= sizeof(struct tsdb_msg_mapping) &&
			drain_stacks_mapping(&d->stacks, v->epoch, copy_message(d, p, size));
	case TSDB_MSG_STACK:
		if (size < sizeof(struct tsdb_msg_stack))
			return false;
		drain_stacks_saw(&d->stacks, v->epoch, ((const struct tsdb_msg_stack *)p)->id);
		/* fall through */
	case TSDB_MSG_CODE:
		add_side(d, ring, v->scanned);
		return true;
	case TSDB_MSG_TIME:
		return add_time(d, v->epoch, p, size);
	}
	if (type >= 0x8000u) /* padding */
		return true;
	if (size < 48)
		return false;
	memcpy(&seq, (const uint8_t *)p + 8, sizeof(seq));
	if (seq == 0 || seq == UINT64_MAX)
		return false;
	add_command(v, seq, v->scanned);
	return true;
}

static void scan(struct inferior *inf, uint32_t ring, struct view *v, uint64_t head)
{
	struct tsdb_ring *s = &inf->control->ring[ring];

	if (head - v->tail > inf->ring_bytes || head < v->scanned) {
		abandon(inf->drain, s, v, "its write position is impossible");
		return;
	}
	while (v->scanned < head) {
		const uint8_t *p = view_at(inf, v, v->scanned);
		struct tsdb_msg_head h;

		memcpy(&h, p, sizeof(h));
		if (h.size < sizeof(h) || h.size % 8 || h.size > TSDB_RECORD_MAX || h.size > head - v->scanned) {
			abandon(inf->drain, s, v, "a record has an impossible size");
			return;
		}
		if (!scan_one(inf, ring, v, p, h.size, h.type)) {
			abandon(inf->drain, s, v, "a record makes no sense");
			return;
		}
		v->scanned += h.size;
	}
}

/* ---- slots ---- */

static void count_lost(struct drain *d, struct tsdb_ring *s, struct view *v)
{
	d->lost += s->lost;
	v->lost = 0;
}

/* A slot whose thread has ended and whose records have been handed out. */
static void give_back(struct drain *d, struct tsdb_ring *s, struct view *v, uint64_t head)
{
	publish_tail(s, v, head);
	v->scanned = head;
	count_lost(d, s, v);
	v->used = v->bad = false;
	drain_code_free(&v->code);
	v->code = (struct drain_code){0};
	s->lost = 0;
	atomic_store_explicit(&s->state, TSDB_RING_FREE, memory_order_release);
}

static void begin_use(struct drain *d, struct tsdb_ring *s, struct view *v)
{
	v->used = true;
	v->epoch = d->epoch;
	v->in_order = true;
	v->next = v->n = 0;
	v->tail = v->scanned = atomic_load_explicit(&s->tail, memory_order_relaxed);
}

static void look_at_ring(struct inferior *inf, uint32_t i, uint32_t state)
{
	struct drain *d = inf->drain;
	struct tsdb_ring *s = &inf->control->ring[i];
	struct view *v = &d->views[i];
	uint64_t head = atomic_load_explicit(&s->head, memory_order_acquire);

	if (!v->used)
		begin_use(d, s, v);
	if (v->bad && state == TSDB_RING_CLOSED) {
		give_back(d, s, v, head);
		return;
	}
	if (!v->data && head != v->scanned && !v->bad && !view_map(inf, i, v))
		abandon(d, s, v, "there is no memory to map them");
	if (!v->bad) {
		if (v->next) {
			memmove(v->index, v->index + v->next, (v->n - v->next) * sizeof(*v->index));
			v->n -= v->next;
			v->next = 0;
		}
		if (!v->n)
			v->in_order = true;
		scan(inf, i, v, head);
	}
	if (v->bad)
		publish_tail(s, v, head);
	else if (state == TSDB_RING_CLOSED && v->next == v->n && v->tail == head)
		give_back(d, s, v, head);
}

/* ---- batches ---- */

/* A copy of the record at offset at, or NULL when its size is no longer what it was when it was scanned. */
static const void *fetch(struct inferior *inf, struct view *v, uint64_t at, uint32_t *ret_size)
{
	bool spilled = at & SPILLED;
	const void *p = spilled ? v->spill.data + (at & ~SPILLED) : view_at(inf, v, at);
	uint64_t end = spilled ? v->spill.len : v->scanned;
	uint32_t size;

	memcpy(&size, p, sizeof(size));
	if (size < sizeof(struct tsdb_msg_head) || size > TSDB_RECORD_MAX || size % 8 || size > end - (at & ~SPILLED))
		return NULL;
	*ret_size = size;
	return copy_message(inf->drain, p, size);
}

/* Moves what must wait out of the ring. */
static void spill_ring(struct inferior *inf, struct tsdb_ring *s, struct view *v)
{
	struct drain *d = inf->drain;

	for (unsigned k = v->next; k < v->n; k++) {
		uint32_t size;
		const void *p;

		if (v->index[k].at & SPILLED)
			continue;
		p = fetch(inf, v, v->index[k].at, &size);
		if (!p) {
			abandon(d, s, v, "a record changed its size");
			return;
		}
		v->index[k].at = SPILLED | v->spill.len;
		buf_add(&v->spill, p, size);
		d->spilled += size;
	}
}

static uint64_t lowest_needed(const struct view *v)
{
	uint64_t tail = v->scanned;

	for (unsigned k = v->next; k < v->n; k++) {
		if (v->index[k].at < tail)
			tail = v->index[k].at;
		if (v->in_order && !(v->index[k].at & SPILLED))
			break;
	}
	return tail;
}

/* What is handed out is no longer needed in the rings. Between batches only: sides refer to rings, too. */
static void publish_tails(struct inferior *inf)
{
	struct drain *d = inf->drain;

	for (uint32_t i = 0; i < TSDB_RING_COUNT; i++) {
		struct view *v = &d->views[i];

		if (!v->used || v->bad)
			continue;
		if (v->next == v->n && v->spill.len) {
			d->spilled -= v->spill.len;
			buf_clear(&v->spill);
		}
		if (v->next < v->n && v->scanned - v->tail > inf->ring_bytes / 2 && d->spilled < SPILL_MAX)
			spill_ring(inf, &inf->control->ring[i], v);
		if (!v->bad)
			publish_tail(&inf->control->ring[i], v, lowest_needed(v));
	}
}

/* Everything with seq below it is in the rings when they are looked at after this. */
static uint64_t load_watermark(struct tsdb_control *c)
{
	uint64_t w = atomic_load_explicit(&c->next_seq, memory_order_acquire);

	for (uint32_t i = 0; i < TSDB_RING_COUNT; i++) {
		uint64_t seq = atomic_load_explicit(&c->ring[i].inflight, memory_order_acquire);

		if (seq < w)
			w = seq;
	}
	return w;
}

static void begin_batch(struct inferior *inf, bool final)
{
	struct drain *d = inf->drain;

	publish_tails(inf);
	d->side_next = d->nsides = d->time_next = d->ntimes = 0;
	d->watermark = load_watermark(inf->control);
	if (final && !inf->alive)
		d->watermark = UINT64_MAX;
	for (uint32_t i = 0; i < TSDB_RING_COUNT; i++) {
		uint32_t state = atomic_load_explicit(&inf->control->ring[i].state, memory_order_acquire);

		if (state != TSDB_RING_FREE)
			look_at_ring(inf, i, state);
	}
	fill_heap(d);
}

/* ---- handing out ---- */

static void give_side(struct inferior *inf, struct drain_item *ret)
{
	struct drain *d = inf->drain;
	struct side *e = &d->sides[d->side_next++];
	struct view *v = &d->views[e->ring];
	uint32_t size;
	const struct tsdb_msg_head *m;
	bool good;

	if (v->bad)
		return;
	m = fetch(inf, v, e->at, &size);
	if (m && m->type == TSDB_MSG_STACK)
		good = drain_stacks_define(&d->stacks, v->epoch, (const void *)m, ret);
	else
		good = m && m->type == TSDB_MSG_CODE && drain_code_piece(&v->code, (const void *)m, ret);
	if (!good)
		abandon(d, &inf->control->ring[e->ring], v, "a host stack or a module's code makes no sense");
}

static bool unpack(struct inferior *inf, struct view *v, const struct index_entry *e, struct drain_item *ret)
{
	uint32_t size;
	const void *p = fetch(inf, v, e->at, &size);

	return p && sbt_unpack(&ret->cmd, p, size) == size && ret->cmd.seq == e->seq;
}

static void give_cmd(struct inferior *inf, struct drain_item *ret)
{
	struct drain *d = inf->drain;
	uint32_t ring = d->heap[0].ring;
	struct tsdb_ring *s = &inf->control->ring[ring];
	struct view *v = &d->views[ring];
	struct index_entry e = v->index[v->next++];

	if (e.seq <= d->last_seq) {
		d->lost++;
		warn(d, "command #%llu of GPU thread %u came after #%llu; it is left out", (unsigned long long)e.seq, s->thread,
			(unsigned long long)d->last_seq);
	} else if (!unpack(inf, v, &e, ret)) {
		abandon(d, s, v, "a command makes no sense");
		return;
	} else {
		d->last_seq = e.seq;
		ret->kind = DRAIN_CMD;
		ret->cmd.stack = drain_stack_id(&d->stacks, v->epoch, ret->cmd.stack);
		ret->cmd.gpu_start_ns = ret->cmd.gpu_end_ns = 0;
		d->has_time = drain_join_cmd(&d->join, v->epoch, &ret->cmd, &d->time);
		d->time_seq = e.seq;
		if (v->in_order && v->next < v->n && !(v->index[v->next].at & SPILLED) &&
			v->index[v->next].at - v->tail > inf->ring_bytes / 8)
			publish_tail(s, v, v->index[v->next].at);
	}
	heap_next(d);
}

static void set_time(struct drain_item *ret, uint32_t corr, uint64_t seq, uint64_t start_ns, uint64_t end_ns)
{
	ret->kind = DRAIN_TIME;
	ret->corr = corr;
	ret->seq = seq;
	ret->start_ns = start_ns;
	ret->end_ns = end_ns;
}

static void give_time(struct drain *d, struct drain_item *ret)
{
	const struct batch_time *t = &d->times[d->time_next++];
	uint64_t seq = drain_join_time(&d->join, t->epoch, &t->msg);

	if (seq)
		set_time(ret, t->msg.corr, seq, t->msg.start_ns, t->msg.end_ns);
}

/* One thing out of the present batch. False: the batch is used up. */
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

struct err *drain_next(struct inferior *inf, bool final, struct drain_item *ret)
{
	struct drain *d = inf->drain;
	bool fresh = false;

	ret->kind = DRAIN_NONE;
	if (!inf->control)
		return NULL;
	while (ret->kind == DRAIN_NONE) {
		if (give(inf, ret))
			continue;
		if (fresh || (!final && d->batches >= BATCHES_MAX))
			break;
		begin_batch(inf, final);
		d->batches++;
		fresh = true;
	}
	if (ret->kind == DRAIN_NONE) {
		d->batches = 0;
		publish_tails(inf);
	}
	return NULL;
}

/* ---- the rest ---- */

bool drain_module(struct inferior *inf, uint32_t index, struct sbt_host_module *ret)
{
	if (index >= inf->drain->stacks.nmodules)
		return false;
	*ret = inf->drain->stacks.modules[index];
	return true;
}

uint64_t drain_lost(const struct inferior *inf)
{
	const struct drain *d = inf->drain;
	uint64_t n = d->lost;

	if (!inf->control)
		return n;
	for (unsigned i = 0; i < TSDB_RING_COUNT; i++)
		if (atomic_load_explicit(&inf->control->ring[i].state, memory_order_relaxed) != TSDB_RING_FREE)
			n += inf->control->ring[i].lost;
	return n + atomic_load_explicit(&inf->control->lost, memory_order_relaxed);
}

uint64_t drain_threads_without_ring(const struct inferior *inf)
{
	return inf->control ? atomic_load_explicit(&inf->control->no_ring, memory_order_relaxed) : 0;
}

unsigned drain_pressure(const struct inferior *inf)
{
	uint64_t most = 0;

	if (!inf->control)
		return 0;
	for (unsigned i = 0; i < TSDB_RING_COUNT; i++) {
		const struct tsdb_ring *s = &inf->control->ring[i];
		uint64_t n;

		if (atomic_load_explicit(&s->state, memory_order_relaxed) == TSDB_RING_FREE)
			continue;
		n = atomic_load_explicit(&s->head, memory_order_relaxed) - atomic_load_explicit(&s->tail, memory_order_relaxed);
		if (n <= inf->ring_bytes && n > most)
			most = n;
	}
	return (unsigned)(most * 1000 / inf->ring_bytes);
}

static void close_slot(struct tsdb_ring *s)
{
	atomic_store_explicit(&s->inflight, TSDB_IDLE, memory_order_release);
	atomic_store_explicit(&s->state, TSDB_RING_CLOSED, memory_order_release);
}

void drain_exec(struct inferior *inf)
{
	struct drain *d = inf->drain;

	for (unsigned i = 0; i < TSDB_RING_COUNT; i++) {
		struct tsdb_ring *s = &inf->control->ring[i];
		uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);

		if (state == TSDB_RING_FREE)
			continue;
		look_at_ring(inf, i, TSDB_RING_USED); /* all of it is indexed with the old program's epoch */
		close_slot(s);
	}
	fill_heap(d);
	d->epoch++;
	drain_stacks_exec(&d->stacks);
}

void drain_thread_gone(struct inferior *inf, pid_t tid)
{
	for (unsigned i = 0; inf->control && i < TSDB_RING_COUNT; i++) {
		struct tsdb_ring *s = &inf->control->ring[i];

		if (atomic_load_explicit(&s->state, memory_order_acquire) == TSDB_RING_USED && s->os_tid == (uint32_t)tid)
			close_slot(s);
	}
}
