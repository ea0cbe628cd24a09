/* SPDX-License-Identifier: Apache-2.0
 *
 * One ring of the drainer: maps it, scans new record headers into an index, copies records out,
 * gives the slot back. Values that are read twice are checked twice, because the inferior can
 * change a ring meanwhile. A command that is still in a call holds back all later ones; so that
 * other threads can go on (it may wait for them), records that are held back are moved out of rings
 * that are half full.
 */
#include "attach/drain/drain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TIMES_MAX (1u << 22)   /* of one batch */
#define SPILL_MAX (2ull << 30) /* bytes, of all rings; past it the threads wait */

/* ---- one ring ---- */

/* Maps slot i's data twice in a row. */
static bool view_map(struct inferior *inf, unsigned i, struct drain_view *v)
{
	size_t n = v->bytes;
	uint8_t *p =
		mmap(NULL, 2 * n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

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

static const void *view_at(const struct drain_view *v, uint64_t at)
{
	return v->data + (at & (v->bytes - 1));
}

void drain_ring_publish_tail(struct tsdb_ring *s, struct drain_view *v, uint64_t tail)
{
	if (tail == v->tail)
		return;
	v->tail = tail;
	atomic_store_explicit(&s->tail, tail, memory_order_release);
}

static void add_command(struct drain_view *v, uint64_t seq, uint64_t at)
{
	unsigned i = v->n;

	MAKE_ROOM(v->index, v->n, v->cap);
	/* A thread publishes nearly always in order; a command within another's callback comes
	 * first. */
	for (; i > v->next && v->index[i - 1].seq > seq; i--) {
		v->index[i] = v->index[i - 1];
		v->in_order = false;
	}
	v->index[i] = (struct drain_entry){seq, at};
	v->n++;
}

static void add_side(struct drain *d, uint32_t ring, uint64_t at)
{
	MAKE_ROOM(d->sides, d->nsides, d->sides_cap);
	d->sides[d->nsides++] = (struct drain_side){ring, at};
}

static bool add_time(struct drain *d, uint32_t epoch, const struct tsdb_msg_time *m, uint32_t size)
{
	if (size < sizeof(*m))
		return false;
	if (d->ntimes == TIMES_MAX) {
		d->lost++;
		return true;
	}
	MAKE_ROOM(d->times, d->ntimes, d->times_cap);
	d->times[d->ntimes].epoch = epoch;
	memcpy(&d->times[d->ntimes++].msg, m, sizeof(*m));
	return true;
}

/* Copies a message of the agent out of the ring, with the size that was checked. */
static const void *copy_message(struct drain *d, const void *from, uint32_t size)
{
	memcpy(d->record, from, size);
	memcpy(d->record, &size, sizeof(size));
	return d->record;
}

static bool scan_one(struct inferior *inf, uint32_t ring, struct drain_view *v, const void *p,
	uint32_t size, uint16_t type)
{
	struct drain *d = inf->drain;
	uint64_t seq;

	switch (type) {
	case TSDB_MSG_MAPPING:
		return size >= sizeof(struct tsdb_msg_mapping) &&
		       drain_stacks_mapping(&d->stacks, v->epoch, copy_message(d, p, size));
	case TSDB_MSG_PYTHON:
		return size >= sizeof(struct tsdb_msg_python) &&
		       drain_python_code(&d->stacks.python, v->epoch, copy_message(d, p, size));
	case TSDB_MSG_STACK:
		if (size < sizeof(struct tsdb_msg_stack))
			return false;
		drain_stacks_saw(&d->stacks, v->epoch, ((const struct tsdb_msg_stack *)p)->id);
		/* fall through */
	case TSDB_MSG_CODE:
		add_side(d, ring, v->scanned);
		return true;
	case TSDB_MSG_WINDOW:
		return size >= sizeof(struct tsdb_msg_window) &&
		       drain_window_add(inf, copy_message(d, p, size), v->epoch);
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

static void scan(struct inferior *inf, uint32_t ring, struct drain_view *v, uint64_t head)
{
	struct tsdb_ring *s = &inf->control->ring[ring];

	if (head - v->tail > v->bytes || head < v->scanned || (head | v->scanned) % 8) {
		drain_abandon(inf->drain, s, v, "its write position is impossible");
		return;
	}
	while (v->scanned < head) {
		const uint8_t *p = view_at(v, v->scanned);
		struct tsdb_msg_head h;

		memcpy(&h, p, sizeof(h));
		if (h.size < sizeof(h) || h.size % 8 || h.size > TSDB_RECORD_MAX ||
			h.size > head - v->scanned) {
			drain_abandon(inf->drain, s, v, "a record has an impossible size");
			return;
		}
		if (!scan_one(inf, ring, v, p, h.size, h.type)) {
			drain_abandon(inf->drain, s, v, "a record makes no sense");
			return;
		}
		v->scanned += h.size;
	}
}

/* ---- slots ---- */

/* Gives back a slot whose thread has ended and whose records have been handed out. */
static void give_back(struct drain *d, struct tsdb_ring *s, struct drain_view *v, uint64_t head)
{
	drain_ring_publish_tail(s, v, head);
	v->scanned = head;
	d->lost_full += s->lost;
	v->used = v->bad = false;
	drain_code_free(&v->code);
	v->code = (struct drain_code){0};
	s->lost = 0;
	atomic_store_explicit(&s->state, TSDB_RING_FREE, memory_order_release);
}

static void begin_use(struct drain *d, struct tsdb_ring *s, struct drain_view *v, uint32_t bytes)
{
	v->used = true;
	v->bytes = bytes;
	v->epoch = d->epoch;
	v->in_order = true;
	v->next = v->n = 0;
	v->tail = v->scanned = atomic_load_explicit(&s->tail, memory_order_relaxed);
}

void drain_ring_look(struct inferior *inf, uint32_t i, uint32_t state)
{
	struct drain *d = inf->drain;
	struct tsdb_ring *s = &inf->control->ring[i];
	struct drain_view *v = &d->views[i];
	uint64_t head = atomic_load_explicit(&s->head, memory_order_acquire);

	if (!v->used)
		begin_use(d, s, v, tsdb_ring_bytes(inf->ring_bytes, i));
	if (v->bad && state == TSDB_RING_CLOSED) {
		give_back(d, s, v, head);
		return;
	}
	if (!v->data && head != v->scanned && !v->bad && !view_map(inf, i, v))
		drain_abandon(d, s, v, "there is no memory to map them");
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
		drain_ring_publish_tail(s, v, head);
	else if (state == TSDB_RING_CLOSED && v->next == v->n && v->tail == head)
		give_back(d, s, v, head);
}

/* ---- copying out ---- */

const void *drain_ring_fetch(
	struct inferior *inf, struct drain_view *v, uint64_t at, uint32_t *ret_size)
{
	bool spilled = at & DRAIN_SPILLED;
	const void *p = spilled ? v->spill.data + (at & ~DRAIN_SPILLED) : view_at(v, at);
	uint64_t end = spilled ? v->spill.len : v->scanned;
	uint32_t size;

	memcpy(&size, p, sizeof(size));
	if (size < sizeof(struct tsdb_msg_head) || size > TSDB_RECORD_MAX || size % 8 ||
		size > end - (at & ~DRAIN_SPILLED))
		return NULL;
	*ret_size = size;
	return copy_message(inf->drain, p, size);
}

/* Moves records that must wait out of the ring. */
static void spill_ring(struct inferior *inf, struct tsdb_ring *s, struct drain_view *v)
{
	struct drain *d = inf->drain;

	for (unsigned k = v->next; k < v->n; k++) {
		uint32_t size;
		const void *p;

		if (v->index[k].at & DRAIN_SPILLED)
			continue;
		p = drain_ring_fetch(inf, v, v->index[k].at, &size);
		if (!p) {
			drain_abandon(d, s, v, "a record changed its size");
			return;
		}
		v->index[k].at = DRAIN_SPILLED | v->spill.len;
		buf_add(&v->spill, p, size);
		d->spilled += size;
	}
}

static uint64_t lowest_needed(const struct drain_view *v)
{
	uint64_t tail = v->scanned;

	for (unsigned k = v->next; k < v->n; k++) {
		if (v->index[k].at < tail)
			tail = v->index[k].at;
		if (v->in_order && !(v->index[k].at & DRAIN_SPILLED))
			break;
	}
	return tail;
}

void drain_ring_release(struct inferior *inf, uint32_t i)
{
	struct drain *d = inf->drain;
	struct drain_view *v = &d->views[i];

	if (!v->used || v->bad)
		return;
	if (v->next == v->n && v->spill.len) {
		d->spilled -= v->spill.len;
		buf_clear(&v->spill);
	}
	if (v->next < v->n && v->scanned - v->tail > v->bytes / 2 && d->spilled < SPILL_MAX)
		spill_ring(inf, &inf->control->ring[i], v);
	if (!v->bad)
		drain_ring_publish_tail(&inf->control->ring[i], v, lowest_needed(v));
}
