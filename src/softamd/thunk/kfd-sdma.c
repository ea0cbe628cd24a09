// SPDX-License-Identifier: Apache-2.0
//
// The copy engine: executes the packets of an SDMA queue, as the HSA runtime writes them for GFX9
// and GFX10. Packets follow each other in a ring of bytes; a word of 0 is a packet that does
// nothing. Word 0 holds the operation in bits 0 to 7 and its variant in 8 to 15; numbers of bytes
// are stored less 1.
#include <string.h>

#include "base/checked.h"
#include "softamd/thunk/kfd-watch.h"
#include "softamd/thunk/kfd.h"

enum sdma_op {
	SDMA_NOP = 0,
	SDMA_COPY = 1,
	SDMA_FENCE = 5,
	SDMA_TRAP = 6,
	SDMA_POLL = 8,
	SDMA_ATOMIC = 10,
	SDMA_FILL = 11,
	SDMA_TIMESTAMP = 13,
	SDMA_CACHES = 17,
};
enum { COPY_LINEAR = 0, COPY_RECT = 4, ATOMIC_ADD_64 = 47, LONGEST = 13 };

static uint64_t pair(const uint32_t *w)
{
	return w[0] | (uint64_t)w[1] << 32;
}

static uint32_t field(uint32_t word, int from, int bits)
{
	return word >> from & ((1u << bits) - 1);
}

/* Where the device may write or read: NULL stops the queue. */
static void *reach(struct kfd_queue *q, const char *what, uint64_t addr, uint64_t size, bool write)
{
	if (!kfd_reachable(q->node, addr, size, write)) {
		kfd_queue_access(q, what, addr, size, write);
		return NULL;
	}
	kfd_watch_access(addr, size, write);
	return (void *)(uintptr_t)addr;
}

static bool copy_linear(struct kfd_queue *q, const uint32_t *w)
{
	/* 22 bits of length in older engines, whose runtimes leave the others 0; gfx90a has 30. */
	uint64_t n = (uint64_t)field(w[1], 0, 30) + 1;
	const void *from = reach(q, "copy", pair(w + 3), n, false);
	void *to = from ? reach(q, "copy", pair(w + 5), n, true) : NULL;

	if (to)
		memmove(to, from, n);
	return to != NULL;
}

struct side {
	uint64_t base, pitch, slice; /* bytes */
};

static struct side side_of(const uint32_t *w, int element)
{
	uint64_t x = field(w[2], 0, 14), y = field(w[2], 16, 14), z = field(w[3], 0, 11);
	struct side s = {
		.pitch = (uint64_t)(w[3] >> 13) + 1, .slice = (uint64_t)field(w[4], 0, 28) + 1};

	s.pitch <<= element;
	s.slice <<= element;
	s.base = pair(w) + (x << element) + y * s.pitch + z * s.slice;
	return s;
}

static bool copy_rect(struct kfd_queue *q, const uint32_t *w)
{
	int element = (int)field(w[0], 29, 3);
	uint64_t width = ((uint64_t)field(w[11], 0, 14) + 1) << element;
	uint32_t rows = field(w[11], 16, 14) + 1, slices = field(w[12], 0, 11) + 1;
	struct side from = side_of(w + 1, element), to = side_of(w + 6, element);

	for (uint32_t z = 0; z < slices; z++)
		for (uint32_t y = 0; y < rows; y++) {
			uint64_t s = from.base + y * from.pitch + z * from.slice;
			uint64_t d = to.base + y * to.pitch + z * to.slice;

			if (!reach(q, "copy of rows", s, width, false) ||
				!reach(q, "copy of rows", d, width, true))
				return false;
			memmove((void *)(uintptr_t)d, (void *)(uintptr_t)s, width);
		}
	return true;
}

static bool fill(struct kfd_queue *q, const uint32_t *w)
{
	uint64_t n = ((uint64_t)field(w[4], 0, 22) & ~3ull) + 4;
	uint32_t *to;

	if (field(w[0], 30, 2) != 2) {
		kfd_queue_error(q, 20, "SDMA fill of units of %u bytes is not supported",
			1u << field(w[0], 30, 2));
		return false;
	}
	to = reach(q, "fill", pair(w + 1), n, true);
	for (uint64_t i = 0; to && i < n / 4; i++)
		to[i] = w[3];
	return to != NULL;
}

static bool poll_holds(uint32_t is, uint32_t function, uint32_t value)
{
	switch (function) {
	case 1:
		return is < value;
	case 2:
		return is <= value;
	case 3:
		return is == value;
	case 4:
		return is != value;
	case 5:
		return is >= value;
	case 6:
		return is > value;
	}
	return true; /* 0: always */
}

static bool poll(struct kfd_queue *q, const uint32_t *w)
{
	uint32_t function = field(w[0], 28, 3), turn = 0, *at;

	if (!(w[0] >> 31))
		return true; /* a register: only to flush the window to the memory, which has none
			      */
	if (function == 7) {
		kfd_queue_error(q, 20, "SDMA poll with function 7 is not supported");
		return false;
	}
	at = reach(q, "poll", pair(w + 1), 4, false);
	while (at && !poll_holds(__atomic_load_n(at, __ATOMIC_ACQUIRE) & w[4], function, w[3]))
		if (!kfd_queue_pause(q, &turn))
			return false;
	return at != NULL;
}

static bool atomic(struct kfd_queue *q, const uint32_t *w)
{
	uint64_t *at;

	if (field(w[0], 25, 7) != ATOMIC_ADD_64) {
		kfd_queue_error(
			q, 20, "SDMA atomic operation %u is not supported", field(w[0], 25, 7));
		return false;
	}
	at = reach(q, "atomic addition", pair(w + 1), 8, true);
	if (at)
		__atomic_add_fetch(at, pair(w + 3), __ATOMIC_SEQ_CST);
	return at != NULL;
}

static bool fence(struct kfd_queue *q, const uint32_t *w)
{
	uint32_t *at = reach(q, "fence", pair(w + 1), 4, true);

	if (at)
		__atomic_store_n(at, w[3], __ATOMIC_RELEASE);
	return at != NULL;
}

static bool timestamp(struct kfd_queue *q, const uint32_t *w)
{
	uint64_t *at = reach(q, "time stamp", pair(w + 1), 8, true);

	if (at)
		__atomic_store_n(at, kfd_clock(), __ATOMIC_RELEASE);
	return at != NULL;
}

static uint32_t words_of(uint32_t op, uint32_t sub)
{
	switch (op) {
	case SDMA_NOP:
		return 1;
	case SDMA_COPY:
		return sub == COPY_LINEAR ? 7 : sub == COPY_RECT ? 13 : 0;
	case SDMA_FENCE:
		return 4;
	case SDMA_TRAP:
		return 2;
	case SDMA_POLL:
		return sub ? 0 : 6;
	case SDMA_ATOMIC:
		return 8;
	case SDMA_FILL:
		return sub ? 0 : 5;
	case SDMA_TIMESTAMP:
		return sub == 2 ? 3 : 0;
	case SDMA_CACHES:
		return 5;
	}
	return 0;
}

static bool execute(struct kfd_queue *q, const uint32_t *w)
{
	switch (w[0] & 0xff) {
	case SDMA_COPY:
		return (w[0] >> 8 & 0xff) == COPY_LINEAR ? copy_linear(q, w) : copy_rect(q, w);
	case SDMA_FENCE:
		return fence(q, w);
	case SDMA_TRAP:
		kfd_event_set(w[1] & 0xfffffff);
		return true;
	case SDMA_POLL:
		return poll(q, w);
	case SDMA_ATOMIC:
		return atomic(q, w);
	case SDMA_FILL:
		return fill(q, w);
	case SDMA_TIMESTAMP:
		return timestamp(q, w);
	}
	return true; /* NOP; caches: there are none */
}

/* A packet at q->next, taken out of the ring: 0 words if it is none that is known. */
static uint32_t packet_take(struct kfd_queue *q, uint64_t end, uint32_t w[LONGEST])
{
	uint64_t at = q->next & (q->ring_size - 1);
	uint32_t first = *(const volatile uint32_t *)(uintptr_t)(q->ring + at), n;

	n = words_of(first & 0xff, first >> 8 & 0xff);
	if (!n || n * 4 > end - q->next || at + n * 4 > q->ring_size) {
		kfd_queue_error(q, 20, "SDMA packet of operation %u, variant %u %s", first & 0xff,
			first >> 8 & 0xff, n ? "is cut off" : "is not supported");
		return 0;
	}
	memcpy(w, (const void *)(uintptr_t)(q->ring + at), n * 4);
	return n;
}

bool kfd_sdma_step(struct kfd_queue *q)
{
	uint64_t end = __atomic_load_n(q->write, __ATOMIC_ACQUIRE);
	uint32_t w[LONGEST] = {0}, n;

	if (end == q->next)
		return false;
	if (!kfd_reachable(q->node, q->ring, q->ring_size, false) || (q->next | end) % 4 ||
		end < q->next || end - q->next > q->ring_size) {
		kfd_queue_error(q, 20, "SDMA queue %llu: its write pointer or ring is not valid",
			(unsigned long long)q->id);
		return false;
	}
	n = packet_take(q, end, w);
	if (!n)
		return false;
	if (kfd_logs() && w[0] & 0xff)
		kfd_say("queue %llu: SDMA operation %u, variant %u", (unsigned long long)q->id,
			w[0] & 0xff, w[0] >> 8 & 0xff);
	if (!execute(q, w))
		return false;
	__atomic_store_n(&q->next, q->next + n * 4, __ATOMIC_RELAXED);
	__atomic_store_n(q->read, q->next, __ATOMIC_RELEASE);
	return true;
}
