// SPDX-License-Identifier: Apache-2.0
//
// The packet processor: executes the AQL packets of a queue in their order, each to its end before
// the next begins. That is what the barrier bit asks for, and allowed without it.
#include <stdio.h>
#include <string.h>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "base/checked.h"
#include "softamd/thunk/kfd-micro.h"
#include "softamd/thunk/kfd-watch.h"
#include "softamd/thunk/kfd.h"

enum { PACKET = 64, FORMAT_PM4 = 1, FORMAT_BARRIER_VALUE = 2 };
enum { PM4_NOP = 0x10, PM4_INDIRECT_BUFFER = 0x3f, PM4_ACQUIRE_MEM = 0x58 };
/* Of a queue's exceptions, as the driver numbers them; kfd-fault.c has the others. */
enum { BAD_GROUP_SEGMENT = 17, BAD_PACKET = 20, BAD_WORKGROUP = 21, BAD_VENDOR_PACKET = 23 };

static bool complete(struct kfd_queue *q, hsa_signal_t s, uint64_t start)
{
	if (kfd_signal_complete(q->node, s.handle, start, kfd_clock()))
		return true;
	kfd_queue_error(q, BAD_PACKET,
		"a packet's completion signal 0x%llx is no memory of the device",
		(unsigned long long)s.handle);
	return false;
}

/* --- kernels
 * --------------------------------------------------------------------------------------- */

static void interrupt(void *arg, uint32_t event)
{
	(void)arg;
	kfd_event_set(event);
}

static bool dispatch_is_valid(struct kfd_queue *q, const hsa_kernel_dispatch_packet_t *p)
{
	uint32_t dims = p->setup & 3;
	uint64_t items = (uint64_t)p->workgroup_size_x * p->workgroup_size_y * p->workgroup_size_z;

	if (!dims || !p->grid_size_x || !p->grid_size_y || !p->grid_size_z) {
		kfd_queue_error(q, 16, "a dispatch has %u dimensions and a grid of %u x %u x %u",
			dims, p->grid_size_x, p->grid_size_y, p->grid_size_z);
		return false;
	}
	if (!items || items > 1024) {
		kfd_queue_error(q, BAD_WORKGROUP,
			"a dispatch has workgroups of %llu work-items (1 to 1024)",
			(unsigned long long)items);
		return false;
	}
	if (p->group_segment_size > 64 << 10) {
		kfd_queue_error(q, BAD_GROUP_SEGMENT,
			"a dispatch needs %u bytes of LDS, and there are 65536",
			p->group_segment_size);
		return false;
	}
	return true;
}

/* Instructions whose bits need not be the hardware's. */
static void say_approximate(const struct kfd_queue *q, uint64_t which)
{
	char text[128] = "";

	if (which >> AMD_APPROX_MFMA & 1)
		kfd_say("queue %llu: v_mfma adds its products one after the other, which is not the hardware's order",
			(unsigned long long)q->id);
	for (int i = 0; i < AMD_APPROX_N; i++)
		if (i != AMD_APPROX_MFMA && which >> i & 1)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
				amd_approximate_name(i));
	if (*text)
		kfd_say("queue %llu: right to 1 ulp, and perhaps not the hardware's bits:%s",
			(unsigned long long)q->id, text);
}

static uint64_t order; /* of the workgroups of what begins from now on */

KFD_PUBLIC void tsdb_softamd_order(uint64_t n)
{
	__atomic_store_n(&order, n, __ATOMIC_RELAXED);
}

static uint64_t present_order(void)
{
	return __atomic_load_n(&order, __ATOMIC_RELAXED);
}

static bool dispatch(struct kfd_queue *q, const hsa_kernel_dispatch_packet_t *p)
{
	struct kfd_watched watched;
	struct amd_fault fault = {0};
	struct amd_report report = {0};
	struct amd_dispatch d = {
		.gfx = kfd_machine()->target->gfx,
		.kernel_object = p->kernel_object,
		.kernarg = (uintptr_t)p->kernarg_address,
		.packet = (uintptr_t)p,
		.queue = (uintptr_t)q->read - offsetof(amd_queue_t, read_dispatch_id),
		.dispatch_id = q->next,
		.grid = {p->grid_size_x, p->grid_size_y, p->grid_size_z},
		.workgroup = {p->workgroup_size_x, p->workgroup_size_y, p->workgroup_size_z},
		.private_bytes = p->private_segment_size,
		.group_bytes = p->group_segment_size,
		.private_aperture = KFD_PRIVATE_APERTURE,
		.shared_aperture = KFD_SHARED_APERTURE,
		.memory = kfd_memory_of(q->node),
		.interrupt = interrupt,
		.cancel = &q->stop,
		.workers = kfd_machine()->workers,
		.order = present_order(),
		.steps_max = kfd_machine()->steps,
		.check_waits = kfd_machine()->waits,
		.report = &report,
	};
	uint64_t start = kfd_clock();
	bool done;

	if (!dispatch_is_valid(q, p))
		return false;
	if (kfd_logs()) {
		char name[200];

		kfd_kernel_name(d.kernel_object, name, sizeof(name));
		kfd_say("queue %llu: %s, grid %ux%ux%u, workgroup %ux%ux%u",
			(unsigned long long)q->id, name, d.grid[0], d.grid[1], d.grid[2],
			d.workgroup[0], d.workgroup[1], d.workgroup[2]);
	}
	if (kfd_micro_take(q, &d))
		return complete(q, p->completion_signal, start);
	kfd_watch_begin(&watched, &d);
	done = amd_run(&d, &fault);
	kfd_watch_end(&watched);
	if (!done) {
		kfd_dispatch_fault(q, &d, &fault);
		return false;
	}
	if (kfd_logs()) {
		kfd_say("queue %llu: workgroups on %u workers%s", (unsigned long long)q->id,
			report.workers, report.in_order ? ", in their order" : "");
		say_approximate(q, report.approximate);
	}
	return complete(q, p->completion_signal, start);
}

/* --- barriers
 * -------------------------------------------------------------------------------------- */

/* The value of a signal that a packet waits for; false when it is no memory of the device. */
static bool value_of(struct kfd_queue *q, hsa_signal_t s, int64_t *ret)
{
	const amd_signal_t *at = (const amd_signal_t *)(uintptr_t)s.handle;

	if (s.handle % AMD_SIGNAL_ALIGN_BYTES ||
		!kfd_reachable(q->node, s.handle, sizeof(*at), false)) {
		kfd_queue_error(q, BAD_PACKET,
			"a barrier waits for signal 0x%llx, no memory of the device",
			(unsigned long long)s.handle);
		return false;
	}
	*ret = __atomic_load_n(&at->value, __ATOMIC_ACQUIRE);
	return true;
}

/* False: the queue is at its end. */
static bool barrier_wait(struct kfd_queue *q, const hsa_signal_t dep[5], bool any)
{
	uint32_t turn = 0;

	for (;;) {
		int waits = 0, met = 0;

		for (int i = 0; i < 5; i++) {
			int64_t v;

			if (!dep[i].handle)
				continue;
			if (!value_of(q, dep[i], &v))
				return false;
			waits++;
			met += v == 0;
		}
		if (any ? met || !waits : met == waits)
			return true;
		if (!kfd_queue_pause(q, &turn))
			return false;
	}
}

static bool barrier(struct kfd_queue *q, const hsa_barrier_and_packet_t *p, bool any)
{
	uint64_t start = kfd_clock();

	return barrier_wait(q, p->dep_signal, any) && complete(q, p->completion_signal, start);
}

static bool holds(int64_t is, uint32_t condition, int64_t value)
{
	switch (condition) {
	case HSA_SIGNAL_CONDITION_EQ:
		return is == value;
	case HSA_SIGNAL_CONDITION_NE:
		return is != value;
	case HSA_SIGNAL_CONDITION_LT:
		return is < value;
	}
	return is >= value;
}

static bool barrier_value(struct kfd_queue *q, const hsa_amd_barrier_value_packet_t *p)
{
	uint64_t start = kfd_clock();
	uint32_t turn = 0;

	if (p->cond > HSA_SIGNAL_CONDITION_GTE) {
		kfd_queue_error(q, BAD_VENDOR_PACKET, "a barrier has condition %u", p->cond);
		return false;
	}
	for (int64_t v = 0; p->signal.handle;) {
		if (!value_of(q, p->signal, &v))
			return false;
		if (holds(v & p->mask, p->cond, p->value))
			break;
		if (!kfd_queue_pause(q, &turn))
			return false;
	}
	return complete(q, p->completion_signal, start);
}

/* --- the vendor's packets
 * -------------------------------------------------------------------------- */

/* Words of a command buffer: only what empties caches, and there are none. */
static bool commands(struct kfd_queue *q, uint64_t at, uint32_t n)
{
	const uint32_t *w = (const uint32_t *)(uintptr_t)at;

	if (!kfd_reachable(q->node, at, (uint64_t)n * 4, false)) {
		kfd_queue_access(q, "command buffer", at, (uint64_t)n * 4, false);
		return false;
	}
	for (uint32_t i = 0; i < n;) {
		uint32_t op = w[i] >> 8 & 0xff, length = (w[i] >> 16 & 0x3fff) + 2;

		if (w[i] >> 30 != 3 || (op != PM4_NOP && op != PM4_ACQUIRE_MEM) || length > n - i) {
			kfd_queue_error(
				q, BAD_VENDOR_PACKET, "PM4 command 0x%08x is not supported", w[i]);
			return false;
		}
		i += length;
	}
	return true;
}

static bool pm4(struct kfd_queue *q, const uint32_t *w)
{
	uint64_t at = (w[2] & ~3u) | (uint64_t)(w[3] & 0xffff) << 32;
	hsa_signal_t done;

	if ((w[1] >> 8 & 0xff) != PM4_INDIRECT_BUFFER) {
		kfd_queue_error(q, BAD_VENDOR_PACKET,
			"PM4 command 0x%08x in a packet is not supported", w[1]);
		return false;
	}
	memcpy(&done, w + 14, sizeof(done));
	return commands(q, at, w[4] & 0xfffff) && complete(q, done, kfd_clock());
}

static bool vendor(struct kfd_queue *q, const void *packet)
{
	const hsa_amd_vendor_packet_header_t *h = packet;

	if (h->AmdFormat == FORMAT_PM4)
		return pm4(q, packet);
	if (h->AmdFormat == FORMAT_BARRIER_VALUE)
		return barrier_value(q, packet);
	kfd_queue_error(q, BAD_VENDOR_PACKET, "the vendor's packet of format %u is not supported",
		h->AmdFormat);
	return false;
}

/* --- the ring
 * -------------------------------------------------------------------------------------- */

static bool execute(struct kfd_queue *q, uint32_t type, const void *packet)
{
	if (kfd_logs() && type != HSA_PACKET_TYPE_KERNEL_DISPATCH)
		kfd_say("queue %llu: packet of type %u", (unsigned long long)q->id, type);
	switch (type) {
	case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
		return vendor(q, packet);
	case HSA_PACKET_TYPE_KERNEL_DISPATCH:
		return dispatch(q, packet);
	case HSA_PACKET_TYPE_BARRIER_AND:
	case HSA_PACKET_TYPE_BARRIER_OR:
		return barrier(q, packet, type == HSA_PACKET_TYPE_BARRIER_OR);
	}
	kfd_queue_error(q, BAD_PACKET, "a packet of type %u is not supported", type);
	return false;
}

bool kfd_aql_step(struct kfd_queue *q)
{
	uint16_t *header = (uint16_t *)(uintptr_t)(q->ring + q->next * PACKET % q->ring_size);
	uint32_t type;

	if (__atomic_load_n(q->write, __ATOMIC_ACQUIRE) <= q->next)
		return false;
	type = __atomic_load_n(header, __ATOMIC_ACQUIRE) & 0xff;
	if (type == HSA_PACKET_TYPE_INVALID || !execute(q, type, header))
		return false;
	__atomic_store_n(header, (uint16_t)HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
	__atomic_store_n(&q->next, q->next + 1, __ATOMIC_RELAXED);
	__atomic_store_n(q->read, q->next, __ATOMIC_RELEASE);
	return true;
}
