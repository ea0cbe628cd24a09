// SPDX-License-Identifier: Apache-2.0
//
// Signals as the packet processor completes them: a value in memory that the host polls, and a
// mailbox and an event for who sleeps on it (amd_signal_t of amd_hsa_signal.h).
#include <time.h>

#include <hsa/amd_hsa_signal.h>

#include "softamd/thunk/kfd.h"

uint64_t kfd_clock(void)
{
	struct timespec t;

	/* The clock of hsaKmtGetClockCounters(), which the runtime takes device times to. */
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

bool kfd_signal_complete(uint32_t node, uint64_t handle, uint64_t start, uint64_t end)
{
	amd_signal_t *s = (amd_signal_t *)(uintptr_t)handle;
	uint64_t mailbox;
	uint32_t event;

	if (!handle)
		return true;
	if (handle % AMD_SIGNAL_ALIGN_BYTES || !kfd_reachable(node, handle, sizeof(*s), true))
		return false;
	s->start_ts = start;
	s->end_ts = end;
	/* Behind the last write the signal may be taken for something else at once. */
	mailbox = s->event_mailbox_ptr;
	event = s->event_id;
	__atomic_sub_fetch(&s->value, 1, __ATOMIC_SEQ_CST);
	if (mailbox)
		kfd_event_set(event);
	return true;
}
