/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU start and end times, from CUPTI's activity records. CUPTI hands full buffers back on a thread
 * of its own, which gets a ring of its own. Its clock is CLOCK_REALTIME (measured).
 */
#include <string.h>
#include "capture/core/agent.h"
#include "capture/cuda/cupti-api.h"
#include "capture/pipeline/ring.h"
#include "capture/core/thread.h"

#define BUFFER_BYTES (1u << 20)
#define PERIOD_MS 100
#define BUFFERS_READY 4u

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

/* Buffers are reused: a stack of free ones, all zeros. CUPTI's own thread zeroes them and touches
 * their pages first; otherwise CUPTI would zero them on the program's threads
 * (CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER in cupti_activity.h). */
static AGENT_KEPT struct {
	struct spin lock;
	uint8_t *free[8];
	unsigned n;
} buffers; /* CUPTI may hold some of them at any time */

static uint8_t *new_buffer(void)
{
	uint8_t *b = agent_map_kept(BUFFER_BYTES);
	for (size_t i = 0; b && i < BUFFER_BYTES; i += 4096)
		*(volatile uint8_t *)(b + i) = 0;
	return b;
}

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	tls.inside++;
	*buffer = NULL;
	spin_lock(&buffers.lock);
	if (buffers.n)
		*buffer = buffers.free[--buffers.n];
	spin_unlock(&buffers.lock);
	if (!*buffer)
		*buffer = new_buffer();
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
	tls.inside--;
}

static void give_back(uint8_t *buffer)
{
	memset(buffer, 0, BUFFER_BYTES);
	spin_lock(&buffers.lock);
	if (buffers.n < sizeof(buffers.free) / sizeof(*buffers.free)) {
		buffers.free[buffers.n++] = buffer;
		buffer = NULL;
	}
	spin_unlock(&buffers.lock);
	if (buffer)
		agent_unmap_kept(buffer, BUFFER_BYTES);
}

static void send_time(struct thread *t, uint32_t corr, uint64_t start, uint64_t end)
{
	if (!corr || !start || end < start)
		return; /* CUPTI does not know (CUPTI_TIMESTAMP_UNKNOWN is 0) */
	struct tsdb_msg_time *m = ring_reserve(&t->ring, sizeof(*m), false);
	if (!m && t->ring.shared)
		t->ring.shared->lost++;
	if (!m)
		return;
	*m = (struct tsdb_msg_time){.head = {.size = sizeof(*m), .type = TSDB_MSG_TIME},
		.corr = corr,
		.start_ns = start,
		.end_ns = end};
	ring_commit(&t->ring, sizeof(*m));
}

/* The leading members are the same in every version of the structures since CUDA 11
 * (cupti_activity.h): new ones are appended. */
static void send_record(struct thread *t, const CUpti_Activity *r)
{
	switch (r->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		const CUpti_ActivityKernel10 *k = (const void *)r;
		send_time(t, k->correlationId, k->start, k->end);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		const CUpti_ActivityMemcpy6 *k = (const void *)r;
		send_time(t, k->correlationId, k->start, k->end);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY2: {
		const CUpti_ActivityMemcpyPtoP4 *k = (const void *)r;
		send_time(t, k->correlationId, k->start, k->end);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset4 *k = (const void *)r;
		send_time(t, k->correlationId, k->start, k->end);
		break;
	}
	default:
		break;
	}
}

static void CUPTIAPI buffer_completed(
	CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;
	bool stranger;
	const bool in = thread_come_in(&stranger);
	struct thread *t = in && agent_live() ? thread_get_quiet() : NULL;
	while (t && valid && !cupti.cuptiActivityGetNextRecord(buffer, valid, &r))
		send_record(t, r);
	if (buffer)
		give_back(buffer);
	if (in)
		thread_go_out(stranger);
}

static AGENT_KEPT _Atomic uint32_t registered;

void activity_switch(bool on)
{
	if (!cupti.cuptiActivityEnable || !cupti.cuptiActivityDisable ||
		!cupti.cuptiActivityRegisterCallbacks || !cupti.cuptiActivityGetNextRecord)
		return;
	if (on && !atomic_exchange(&registered, 1)) {
		if (cupti.cuptiActivitySetAttribute) {
			size_t bytes = sizeof(uint8_t);
			uint8_t zeroed = 1;
			(void)cupti.cuptiActivitySetAttribute(
				CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &zeroed);
		}
		for (unsigned i = 0; i < BUFFERS_READY; i++) {
			uint8_t *b = new_buffer();
			if (b)
				give_back(b);
		}
		if (cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed)) {
			atomic_store(&registered, 0);
			return;
		}
	}
	/* CUPTI flushes on a thread of its own, which would go on when tsdb has left. */
	if (cupti.cuptiActivityFlushPeriod && atomic_load(&registered))
		(void)cupti.cuptiActivityFlushPeriod(on ? PERIOD_MS : 0);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds) && atomic_load(&registered); i++)
		(void)(on ? cupti.cuptiActivityEnable(kinds[i])
			  : cupti.cuptiActivityDisable(kinds[i]));
}

void activity_flush(bool force)
{
	if (cupti.cuptiActivityFlushAll && atomic_load(&registered))
		(void)cupti.cuptiActivityFlushAll(force ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}
