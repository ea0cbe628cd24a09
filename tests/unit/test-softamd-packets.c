// SPDX-License-Identifier: Apache-2.0
//
// The software AMD GPU as AMD's HSA runtime sees it: topology, memory at addresses that repeat,
// events, AQL and SDMA packets. Packets are written as the runtime writes them, and as a broken one
// would.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "softamd/thunk/kfd.h"

enum { RING = 4096, MS = 5000 };

static void *memory(uint32_t node, uint64_t size)
{
	const HsaMemFlags flags = {.ui32 = {.HostAccess = 1}};
	void *p = NULL;

	assert_int_equal(hsaKmtAllocMemory(node, size, flags, &p), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(hsaKmtMapMemoryToGPU(p, size, NULL), HSAKMT_STATUS_SUCCESS);
	return p;
}

static HsaEvent *event(HSA_EVENTTYPE type, bool manual)
{
	HsaEventDescriptor d = {.EventType = type};
	HsaEvent *e = NULL;

	assert_int_equal(hsaKmtCreateEvent(&d, manual, false, &e), HSAKMT_STATUS_SUCCESS);
	return e;
}

/* Until the value is there, or five seconds are over. */
static void wait_for(volatile int64_t *at, int64_t value)
{
	for (int i = 0; i < MS && __atomic_load_n(at, __ATOMIC_ACQUIRE) != value; i++)
		usleep(1000);
	assert_int_equal(*at, value);
}

static int open_device(void **state)
{
	(void)state;
	assert_int_equal(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS);
	return 0;
}

static void nodes_say_what_the_runtime_needs(void **state)
{
	HsaSystemProperties s;
	HsaNodeProperties n;
	HsaMemoryProperties m[3];

	(void)state;
	assert_int_equal(hsaKmtAcquireSystemProperties(&s), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(s.NumNodes, 2);
	assert_int_equal(hsaKmtGetNodeProperties(0, &n), HSAKMT_STATUS_SUCCESS);
	assert_true(n.NumCPUCores > 0 && !n.NumFComputeCores && n.NumCaches > 0);
	assert_int_equal(hsaKmtGetNodeProperties(1, &n), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(n.EngineId.ui32.Major, 9);
	assert_int_equal(n.EngineId.ui32.Minor, 0);
	assert_int_equal(n.EngineId.ui32.Stepping, 10);
	assert_int_equal(n.WaveFrontSize, 64);
	assert_int_equal(n.NumFComputeCores / n.NumSIMDPerCU, 104);
	assert_int_equal(hsaKmtGetNodeMemoryProperties(1, 3, m), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(m[1].VirtualBaseAddress, KFD_SHARED_APERTURE);
	assert_int_equal(hsaKmtGetNodeProperties(2, &n), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(hsaKmtGetNodeMemoryProperties(1, 2, m), HSAKMT_STATUS_INVALID_PARAMETER);
}

static void memory_lies_where_it_lay(void **state)
{
	char *a = memory(1, 100), *b = memory(1, 3 << 20), *c;
	struct amd_extent e;

	(void)state;
	assert_int_equal((uintptr_t)b % (2 << 20), 0);
	assert_true(b > a);
	assert_int_equal(hsaKmtFreeMemory(a, 100), HSAKMT_STATUS_SUCCESS);
	c = memory(1, 4096);
	assert_ptr_equal(a, c); /* the first gap */
	assert_int_equal(c[0], 0);
	/* Between two there is a page that is nobody's. */
	assert_true(kfd_reachable(1, (uintptr_t)c + 4095, 1, true));
	assert_false(kfd_reachable(1, (uintptr_t)c + 4095, 2, true));
	assert_false(kfd_reachable(1, (uintptr_t)c + 4096, 1, false));
	assert_false(kfd_reachable(1, UINT64_MAX, 2, false));
	assert_true(kfd_memory_of(1)->find(kfd_memory_of(1)->arg, (uintptr_t)b + 5, &e));
	assert_int_equal(e.start, (uintptr_t)b);
	assert_int_equal(e.end, (uintptr_t)b + (3 << 20));
	assert_int_equal(hsaKmtFreeMemory(b + 4096, 1), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(hsaKmtFreeMemory(b, 3 << 20), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(hsaKmtFreeMemory(b, 3 << 20), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(hsaKmtFreeMemory(c, 4096), HSAKMT_STATUS_SUCCESS);
}

/* For replays: one allocation of that size goes to the address, and no other. */
static void memory_goes_where_it_is_asked_to(void **state)
{
	const HsaMemFlags flags = {.ui32 = {.HostAccess = 1}};
	const uint64_t at = 0x410800003000;
	uint64_t start = 0, n = 0;
	void *p = NULL;
	char *a, *b, *c;

	(void)state;
	assert_int_equal(tsdb_softamd_place(at, 8192), 0);
	a = memory(1, 4096); /* of another size */
	assert_true((uintptr_t)a != at);
	b = memory(1, 8192);
	assert_int_equal((uintptr_t)b, at);
	c = memory(1, 8192); /* once */
	assert_true((uintptr_t)c != at);
	b[8191] = 7;
	assert_int_equal(tsdb_softamd_range(at + 8191, &start, &n), 0);
	assert_true(start == at && n == 8192);
	assert_int_equal(tsdb_softamd_range(at + 8192, &start, &n), -1);
	/* Right behind it there is room; where it lies there is none. */
	assert_int_equal(tsdb_softamd_place(at + 8192, 4096), 0);
	assert_int_equal((uintptr_t)memory(1, 4096), at + 8192);
	assert_int_equal(tsdb_softamd_place(at + 4096, 8192), 0);
	assert_int_equal(hsaKmtAllocMemory(1, 8192, flags, &p), HSAKMT_STATUS_NO_MEMORY);
	assert_int_equal(b[8191], 7);
	/* What can be no address. */
	assert_int_equal(tsdb_softamd_place(at + 1, 4096), -1);
	assert_int_equal(tsdb_softamd_place(0, 4096), -1);
	assert_int_equal(tsdb_softamd_place(at, 4097), -1);
	assert_int_equal(tsdb_softamd_place(UINT64_MAX - 4095, 8192), -1);
	assert_int_equal(tsdb_softamd_place((uintptr_t)&p & ~4095ull, 4096), 0); /* the stack */
	assert_int_equal(hsaKmtAllocMemory(1, 4096, flags, &p), HSAKMT_STATUS_NO_MEMORY);
	assert_int_equal(tsdb_softamd_place(at + 65536, 4096), 0);
	assert_int_equal(tsdb_softamd_place(0, 0), 0); /* after all wherever there is room */
	c = memory(1, 4096);
	assert_true((uintptr_t)c != at + 65536);
}

static void what_replays_do_not_place_lies_aside(void **state)
{
	char *a, *b;

	(void)state;
	assert_int_equal(setenv("TSDB_SOFTAMD_ASIDE", "1", 1), 0);
	a = memory(1, 4096);
	b = memory(0, 4096);
	assert_int_equal(unsetenv("TSDB_SOFTAMD_ASIDE"), 0);
	assert_int_equal((uintptr_t)a >> 36, 0x418);
	assert_int_equal((uintptr_t)b >> 36, 0x408);
	assert_int_equal(hsaKmtFreeMemory(a, 4096), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(hsaKmtFreeMemory(b, 4096), HSAKMT_STATUS_SUCCESS);
}

static void more_memory_than_there_is_is_refused(void **state)
{
	const HsaMemFlags flags = {.ui32 = {.HostAccess = 1}};
	void *p = NULL;

	(void)state;
	assert_int_equal(
		hsaKmtAllocMemory(1, (16ull << 30) + 4096, flags, &p), HSAKMT_STATUS_NO_MEMORY);
	assert_int_equal(
		hsaKmtAllocMemory(0, UINT64_MAX, flags, &p), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(hsaKmtAllocMemory(0, UINT64_MAX / 2, flags, &p), HSAKMT_STATUS_NO_MEMORY);
	assert_int_equal(hsaKmtAllocMemory(1, 0, flags, &p), HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(hsaKmtAllocMemory(9, 4096, flags, &p), HSAKMT_STATUS_INVALID_PARAMETER);
}

/* Two that share a page are two: what is said of one by its address does not count for the other.
 */
static void registered_memory_may_overlap(void **state)
{
	static char host[4 * 4096] __attribute__((aligned(4096)));
	const HsaMemFlags none = {.Value = 0};
	HsaPointerInfo info;

	(void)state;
	assert_false(kfd_reachable(1, (uintptr_t)host, 1, false));
	assert_int_equal(hsaKmtRegisterMemoryWithFlags(host, 5000, none), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(
		hsaKmtRegisterMemoryWithFlags(host + 5000, 5000, none), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(hsaKmtMapMemoryToGPU(host + 5000, 5000, NULL), HSAKMT_STATUS_SUCCESS);
	assert_false(kfd_reachable(1, (uintptr_t)host, 1, false));
	assert_true(kfd_reachable(1, (uintptr_t)host + 5000, 5000, true));
	assert_int_equal(hsaKmtMapMemoryToGPU(host, 5000, NULL), HSAKMT_STATUS_SUCCESS);
	assert_true(kfd_reachable(1, (uintptr_t)host, 10000, true)); /* one piece to a kernel */
	assert_int_equal(hsaKmtQueryPointerInfo(host + 1, &info), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(info.Type, HSA_POINTER_REGISTERED_USER);
	assert_int_equal(hsaKmtDeregisterMemory(host), HSAKMT_STATUS_SUCCESS);
	assert_false(kfd_reachable(1, (uintptr_t)host, 1, false));
	assert_true(kfd_reachable(1, (uintptr_t)host + 5000, 5000, true));
	assert_int_equal(hsaKmtDeregisterMemory(host + 5000), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(hsaKmtDeregisterMemory(host + 5000), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
}

/* HIP pins whole pages: two buffers on one page come with one address and two lengths, in either
 * order, and each is given back by that address alone. */
static void registered_pages_may_have_one_name(void **state)
{
	static char host[2 * 4096] __attribute__((aligned(4096)));
	const HsaMemFlags none = {.Value = 0};

	(void)state;
	for (unsigned long_first = 0; long_first < 2; long_first++) {
		const HSAuint64 first = long_first ? 8192 : 4096, second = 12288 - first;

		assert_int_equal(
			hsaKmtRegisterMemoryWithFlags(host, first, none), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(hsaKmtMapMemoryToGPU(host, first, NULL), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(
			hsaKmtRegisterMemoryWithFlags(host, second, none), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(hsaKmtMapMemoryToGPU(host, second, NULL), HSAKMT_STATUS_SUCCESS);
		assert_true(kfd_reachable(1, (uintptr_t)host, 8192, true));
		assert_int_equal(hsaKmtUnmapMemoryToGPU(host), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(hsaKmtDeregisterMemory(host), HSAKMT_STATUS_SUCCESS);
		assert_true(
			kfd_reachable(1, (uintptr_t)host, 4096, true)); /* one is still in use */
		assert_int_equal(hsaKmtUnmapMemoryToGPU(host), HSAKMT_STATUS_SUCCESS);
		assert_int_equal(hsaKmtDeregisterMemory(host), HSAKMT_STATUS_SUCCESS);
		assert_false(kfd_reachable(1, (uintptr_t)host, 1, false));
		assert_int_equal(hsaKmtDeregisterMemory(host), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
	}
}

static void an_automatic_event_is_taken_once(void **state)
{
	HsaEvent *e[2] = {event(HSA_EVENTTYPE_SIGNAL, false), event(HSA_EVENTTYPE_SIGNAL, true)};

	(void)state;
	assert_int_equal(hsaKmtWaitOnEvent(e[0], 1), HSAKMT_STATUS_WAIT_TIMEOUT);
	hsaKmtSetEvent(e[0]);
	assert_int_equal(hsaKmtWaitOnMultipleEvents(e, 2, true, 1), HSAKMT_STATUS_WAIT_TIMEOUT);
	assert_int_equal(hsaKmtWaitOnMultipleEvents(e, 2, false, MS), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(hsaKmtWaitOnEvent(e[0], 1), HSAKMT_STATUS_WAIT_TIMEOUT);
	kfd_event_set(e[1]->EventId);
	assert_int_equal(hsaKmtWaitOnEvent(e[1], MS), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(hsaKmtWaitOnEvent(e[1], MS), HSAKMT_STATUS_SUCCESS); /* manual: stays */
	kfd_event_set(0);
	kfd_event_set(UINT32_MAX);
	hsaKmtDestroyEvent(e[0]);
	hsaKmtDestroyEvent(e[1]);
}

/* --- SDMA
 * ------------------------------------------------------------------------------------------- */

struct sdma {
	HsaQueueResource r;
	uint32_t *ring;
	uint64_t at; /* bytes */
};

static struct sdma sdma_make(void)
{
	struct sdma s = {.ring = memory(0, RING)};

	assert_int_equal(hsaKmtCreateQueue(1, HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_NORMAL,
				 s.ring, RING, NULL, &s.r),
		HSAKMT_STATUS_SUCCESS);
	assert_true(s.r.QueueId != 0);
	return s;
}

static void put(struct sdma *s, int n, const uint32_t *words)
{
	for (int i = 0; i < n; i++, s->at += 4)
		s->ring[s->at % RING / 4] = words[i];
}

static void ring_bell(struct sdma *s)
{
	__atomic_store_n(s->r.Queue_write_ptr_aql, s->at, __ATOMIC_RELEASE);
	*s->r.Queue_DoorBell_aql = s->at;
}

#define LO(p) ((uint32_t)(uintptr_t)(p))
#define HI(p) ((uint32_t)((uint64_t)(uintptr_t)(p) >> 32))

static void put_decrement(struct sdma *s, void *at)
{
	put(s, 8, (uint32_t[]){10 | 47u << 25, LO(at), HI(at), 0xffffffff, 0xffffffff, 0, 0, 0});
}

static void sdma_copies_fills_and_signals(void **state)
{
	struct sdma s = sdma_make();
	char *d = memory(1, 8192);
	volatile int64_t *signal = memory(0, 4096);
	HsaEvent *e = event(HSA_EVENTTYPE_SIGNAL, false);
	uint64_t *stamp = (uint64_t *)(d + 4096);

	(void)state;
	*signal = 1;
	for (int i = 0; i < 100; i++)
		d[i] = (char)i;
	/* 37 bytes to a place that overlaps; 12 bytes of one word; the time; an event. */
	put(&s, 7, (uint32_t[]){1, 36, 0, LO(d), HI(d), LO(d + 10), HI(d + 10)});
	put(&s, 5, (uint32_t[]){11 | 2u << 30, LO(d + 200), HI(d + 200), 0xddccbbaa, 8});
	put(&s, 3, (uint32_t[]){13 | 2 << 8, LO(stamp), HI(stamp)});
	put(&s, 1, (uint32_t[]){0});
	put_decrement(&s, (void *)signal);
	put(&s, 4, (uint32_t[]){5, LO(e->EventData.HWData2), HI(e->EventData.HWData2), e->EventId});
	put(&s, 2, (uint32_t[]){6, e->EventId});
	ring_bell(&s);
	assert_int_equal(hsaKmtWaitOnEvent(e, MS), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(*signal, 0);
	assert_int_equal(*(uint64_t *)(uintptr_t)e->EventData.HWData2, e->EventId);
	for (int i = 0; i < 37; i++)
		assert_int_equal(d[10 + i], i);
	assert_int_equal(d[47], 47);
	assert_memory_equal(d + 200, "\xaa\xbb\xcc\xdd\xaa\xbb\xcc\xdd\xaa\xbb\xcc\xdd\0", 13);
	assert_true(*stamp > 0 && *stamp <= kfd_clock());
	assert_int_equal(hsaKmtDestroyQueue(s.r.QueueId), HSAKMT_STATUS_SUCCESS);
	hsaKmtDestroyEvent(e);
}

/* 3 x 2 x 2 elements of 4 bytes between rows of 5 and 6 elements, slices of 20 and 24. */
static void sdma_copies_rows(void **state)
{
	struct sdma s = sdma_make();
	uint32_t *from = memory(1, 4096), *to = memory(1, 4096);
	volatile int64_t *signal = memory(0, 4096);

	(void)state;
	*signal = 1;
	for (uint32_t i = 0; i < 100; i++)
		from[i] = i;
	put(&s, 13,
		(uint32_t[]){1 | 4 << 8 | 2u << 29, LO(from), HI(from), 1 | 1 << 16,
			0 | (5 - 1) << 13, 20 - 1, LO(to), HI(to), 2, (6 - 1) << 13, 24 - 1,
			(3 - 1) | (2 - 1) << 16, 2 - 1});
	put_decrement(&s, (void *)signal);
	ring_bell(&s);
	wait_for(signal, 0);
	for (uint32_t z = 0; z < 2; z++)
		for (uint32_t y = 0; y < 2; y++) {
			assert_int_equal(to[z * 24 + y * 6 + 1], 0);
			for (uint32_t x = 0; x < 3; x++)
				assert_int_equal(
					to[z * 24 + y * 6 + 2 + x], z * 20 + (y + 1) * 5 + 1 + x);
			assert_int_equal(to[z * 24 + y * 6 + 5], 0);
		}
	hsaKmtDestroyQueue(s.r.QueueId);
}

static void sdma_waits_for_a_value(void **state)
{
	struct sdma s = sdma_make();
	volatile int64_t *signal = memory(0, 4096);
	volatile uint32_t *word = (uint32_t *)(signal + 8);

	(void)state;
	*signal = 1;
	*word = 0x17;
	put(&s, 6,
		(uint32_t[]){
			8 | 3u << 28 | 1u << 31, LO(word), HI(word), 0x20, 0xf0, 4 | 0xfff << 16});
	put_decrement(&s, (void *)signal);
	ring_bell(&s);
	usleep(20000);
	assert_int_equal(*signal, 1);
	*word = 0x2f;
	wait_for(signal, 0);
	hsaKmtDestroyQueue(s.r.QueueId);
}

/* Many times round the ring, with what does not fit at its end left out as words of 0. */
static void sdma_goes_round_its_ring(void **state)
{
	struct sdma s = sdma_make();
	volatile int64_t *signal = memory(0, 4096);
	enum { N = 1000 };

	(void)state;
	*signal = N;
	for (int i = 0; i < N; i++) {
		while (s.at + 32 - *(volatile uint64_t *)s.r.Queue_read_ptr_aql >= RING)
			usleep(100);
		put_decrement(&s, (void *)signal);
		ring_bell(&s);
	}
	wait_for(signal, 0);
	assert_int_equal(*s.r.Queue_read_ptr_aql, s.at);
	hsaKmtDestroyQueue(s.r.QueueId);
}

/* A copy to memory of nobody is what a page fault is: an event with node and page. */
static void sdma_outside_memory_is_a_fault(void **state)
{
	struct sdma s = sdma_make();
	HsaEvent *fault = event(HSA_EVENTTYPE_MEMORY, true);
	char *d = memory(1, 4096);
	const HsaMemoryAccessFault *f = &fault->EventData.EventData.MemoryAccessFault;

	(void)state;
	put(&s, 7, (uint32_t[]){1, 15, 0, LO(d), HI(d), LO(d + 4090), HI(d)});
	ring_bell(&s);
	assert_int_equal(hsaKmtWaitOnEvent(fault, MS), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(f->NodeId, 1);
	assert_int_equal(f->VirtualAddress, (uintptr_t)d + 4096);
	assert_int_equal(f->Flags, HSA_EVENTID_MEMORY_FATAL_PROCESS);
	for (int i = 4090; i < 4096; i++)
		assert_int_equal(d[i], 0); /* nothing was copied */
	hsaKmtDestroyQueue(s.r.QueueId);
	hsaKmtDestroyEvent(fault);
}

/* --- AQL
 * -------------------------------------------------------------------------------------------- */

struct aql {
	amd_queue_t *q;
	HsaQueueResource r;
	char *ring;
	amd_signal_t *signals; /* [0] is the error's */
	HsaEvent *event;
};

static struct aql aql_make(void)
{
	struct aql a = {.q = memory(0, 4096), .ring = memory(0, RING), .signals = memory(0, 4096)};

	a.event = event(HSA_EVENTTYPE_SIGNAL, false);
	for (int i = 0; i < RING; i += 64)
		*(uint16_t *)(a.ring + i) = HSA_PACKET_TYPE_INVALID;
	for (int i = 1; i < 8; i++)
		a.signals[i].value = 1;
	a.r.Queue_read_ptr_aql = (uint64_t *)(uintptr_t)&a.q->read_dispatch_id;
	a.r.Queue_write_ptr_aql = (uint64_t *)(uintptr_t)&a.q->write_dispatch_id;
	a.r.ErrorReason = (HSAint64 *)(uintptr_t)&a.signals[0].value;
	assert_int_equal(hsaKmtCreateQueue(1, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL,
				 a.ring, RING, a.event, &a.r),
		HSAKMT_STATUS_SUCCESS);
	return a;
}

static void submit(struct aql *a, const void *packet)
{
	uint64_t k = a->q->write_dispatch_id;
	char *slot = a->ring + k * 64 % RING;
	uint32_t first;

	memcpy(&first, packet, 4);
	memcpy(slot + 4, (const char *)packet + 4, 60);
	__atomic_store_n(&a->q->write_dispatch_id, k + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
	*a->r.Queue_DoorBell_aql = k;
}

static hsa_barrier_and_packet_t barrier_of(struct aql *a, int type, int done)
{
	hsa_barrier_and_packet_t p = {.header = (uint16_t)type};

	p.completion_signal.handle = done ? (uintptr_t)&a->signals[done] : 0;
	return p;
}

static void aql_end(struct aql *a)
{
	assert_int_equal(hsaKmtDestroyQueue(a->r.QueueId), HSAKMT_STATUS_SUCCESS);
	hsaKmtDestroyEvent(a->event);
}

static void barriers_wait_for_all_or_any(void **state)
{
	struct aql a = aql_make();
	hsa_barrier_and_packet_t all = barrier_of(&a, HSA_PACKET_TYPE_BARRIER_AND, 1);
	hsa_barrier_and_packet_t any = barrier_of(&a, HSA_PACKET_TYPE_BARRIER_OR, 2);

	(void)state;
	all.dep_signal[0].handle = any.dep_signal[1].handle = (uintptr_t)&a.signals[3];
	all.dep_signal[4].handle = any.dep_signal[2].handle = (uintptr_t)&a.signals[4];
	a.signals[1].event_mailbox_ptr = a.event->EventData.HWData2;
	a.signals[1].event_id = a.event->EventId;
	submit(&a, &all);
	usleep(10000);
	a.signals[3].value = 0;
	usleep(10000);
	assert_int_equal(a.signals[1].value, 1);
	a.signals[4].value = 0;
	assert_int_equal(hsaKmtWaitOnEvent(a.event, MS), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(a.signals[1].value, 0);
	assert_true(a.signals[1].end_ts >= a.signals[1].start_ts && a.signals[1].start_ts > 0);
	a.signals[3].value = a.signals[4].value = 1;
	submit(&a, &any);
	usleep(10000);
	assert_int_equal(a.signals[2].value, 1);
	a.signals[4].value = 0;
	wait_for(&a.signals[2].value, 0);
	for (int i = 0; i < MS && a.q->read_dispatch_id != 2; i++)
		usleep(1000);
	assert_int_equal(a.q->read_dispatch_id, 2);
	assert_int_equal(*(uint16_t *)a.ring, HSA_PACKET_TYPE_INVALID);
	aql_end(&a);
}

static void the_vendors_packets_are_executed(void **state)
{
	struct aql a = aql_make();
	uint32_t *commands = memory(0, 4096), pm4[16] = {0};
	hsa_amd_barrier_value_packet_t v = {
		.header = {.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC, .AmdFormat = 2}};
	uint64_t done = (uintptr_t)&a.signals[1];

	(void)state;
	commands[0] = 3u << 30 | 5 << 16 | 0x58 << 8; /* ACQUIRE_MEM of 7 words */
	pm4[0] = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << 16;
	pm4[1] = 3u << 30 | 2 << 16 | 0x3f << 8;
	pm4[2] = LO(commands);
	pm4[3] = HI(commands);
	pm4[4] = 7 | 1 << 23;
	memcpy(pm4 + 14, &done, 8);
	submit(&a, pm4);
	wait_for(&a.signals[1].value, 0);
	v.signal.handle = (uintptr_t)&a.signals[3];
	v.cond = HSA_SIGNAL_CONDITION_GTE;
	v.value = 0x20;
	v.mask = 0xf0;
	v.completion_signal.handle = (uintptr_t)&a.signals[2];
	a.signals[3].value = 0x30f; /* 0 of the mask's bits */
	a.signals[3].value = 0x10f;
	submit(&a, &v);
	usleep(10000);
	assert_int_equal(a.signals[2].value, 1);
	a.signals[3].value = 0x25;
	wait_for(&a.signals[2].value, 0);
	aql_end(&a);
}

/* What is wrong stops the queue, and its exception says what; nothing behind it is executed. */
static void refused(const void *packet, int bit)
{
	struct aql a = aql_make();
	hsa_barrier_and_packet_t next = barrier_of(&a, HSA_PACKET_TYPE_BARRIER_AND, 1);

	submit(&a, packet);
	submit(&a, &next);
	assert_int_equal(hsaKmtWaitOnEvent(a.event, MS), HSAKMT_STATUS_SUCCESS);
	assert_int_equal(a.signals[0].value, 1ll << (bit - 1));
	usleep(5000);
	assert_int_equal(a.signals[1].value, 1);
	assert_int_equal(a.q->read_dispatch_id, 0);
	aql_end(&a);
}

static void broken_packets_stop_the_queue(void **state)
{
	uint32_t words[16] = {HSA_PACKET_TYPE_AGENT_DISPATCH};
	hsa_kernel_dispatch_packet_t d = {.header = HSA_PACKET_TYPE_KERNEL_DISPATCH, .setup = 1};
	hsa_barrier_and_packet_t b = {.header = HSA_PACKET_TYPE_BARRIER_AND};

	(void)state;
	refused(words, 20);
	words[0] = 200;
	refused(words, 20);
	words[0] = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 7 << 16;
	refused(words, 23);
	words[0] = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << 16;
	refused(words, 23); /* no jump to a buffer */
	b.completion_signal.handle = 0x1000;
	refused(&b, 20);
	b.completion_signal.handle = 0;
	b.dep_signal[2].handle = 0x123; /* not aligned */
	refused(&b, 20);
	refused(&d, 16); /* a grid of nothing */
	d.grid_size_x = d.grid_size_y = d.grid_size_z = 64;
	refused(&d, 21);
	d.workgroup_size_x = d.workgroup_size_y = 64;
	d.workgroup_size_z = 1;
	refused(&d, 21); /* 4096 work-items */
	d.workgroup_size_y = 1;
	d.group_segment_size = (64 << 10) + 1;
	refused(&d, 17);
}

static void queues_that_are_not_there_are_refused(void **state)
{
	HsaQueueResource r = {.QueueId = 0};
	void *ring = memory(0, 4096);

	(void)state;
	assert_int_equal(hsaKmtCreateQueue(1, HSA_QUEUE_COMPUTE, 100, 0, ring, 4096, NULL, &r),
		HSAKMT_STATUS_NOT_SUPPORTED);
	assert_int_equal(hsaKmtCreateQueue(1, HSA_QUEUE_SDMA_XGMI, 100, 0, ring, 4096, NULL, &r),
		HSAKMT_STATUS_NOT_SUPPORTED);
	assert_int_equal(hsaKmtCreateQueue(0, HSA_QUEUE_SDMA, 100, 0, ring, 4096, NULL, &r),
		HSAKMT_STATUS_INVALID_NODE_UNIT);
	assert_int_equal(hsaKmtCreateQueue(1, HSA_QUEUE_SDMA, 100, 0, ring, 4095, NULL, &r),
		HSAKMT_STATUS_INVALID_PARAMETER);
	assert_int_equal(hsaKmtDestroyQueue(0), HSAKMT_STATUS_INVALID_HANDLE);
	assert_int_equal(hsaKmtDestroyQueue(INVALID_QUEUEID), HSAKMT_STATUS_INVALID_HANDLE);
	assert_int_equal(hsaKmtAllocQueueGWS(1, 1, NULL), HSAKMT_STATUS_NOT_SUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_say_what_the_runtime_needs),
		cmocka_unit_test(memory_lies_where_it_lay),
		cmocka_unit_test(memory_goes_where_it_is_asked_to),
		cmocka_unit_test(what_replays_do_not_place_lies_aside),
		cmocka_unit_test(more_memory_than_there_is_is_refused),
		cmocka_unit_test(registered_memory_may_overlap),
		cmocka_unit_test(registered_pages_may_have_one_name),
		cmocka_unit_test(an_automatic_event_is_taken_once),
		cmocka_unit_test(sdma_copies_fills_and_signals),
		cmocka_unit_test(sdma_copies_rows),
		cmocka_unit_test(sdma_waits_for_a_value),
		cmocka_unit_test(sdma_goes_round_its_ring),
		cmocka_unit_test(sdma_outside_memory_is_a_fault),
		cmocka_unit_test(barriers_wait_for_all_or_any),
		cmocka_unit_test(the_vendors_packets_are_executed),
		cmocka_unit_test(broken_packets_stop_the_queue),
		cmocka_unit_test(queues_that_are_not_there_are_refused),
	};

	return cmocka_run_group_tests(tests, open_device, NULL);
}
