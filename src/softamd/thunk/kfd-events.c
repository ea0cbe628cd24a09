// SPDX-License-Identifier: Apache-2.0
//
// Events: what a thread of the program sleeps on until the device, or another thread, has something
// for it. One lock and one condition for all: there are a few dozen, and a set wakes all sleepers,
// who look at theirs. An automatic event is taken by the first that looks.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "softamd/thunk/kfd.h"

static struct event {
	HsaEvent *of; /* NULL: free */
	bool manual, set, faulted;
	HsaMemoryAccessFault fault;
} events[KFD_EVENTS_MAX]; /* [0] stays free: event 0 is none */
/* A kernel or a packet that sets an event writes its number here, too: memory of the devices. */
static uint64_t *mailboxes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

__attribute__((constructor)) static void events_begin(void)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &a);
	pthread_condattr_destroy(&a);
}

static struct event *event_of(const HsaEvent *e)
{
	struct event *k = e && e->EventId < KFD_EVENTS_MAX ? &events[e->EventId] : NULL;

	return k && k->of == e ? k : NULL;
}

/* The lock is held. */
static bool mailboxes_make(void)
{
	const HsaMemFlags flags = {.ui32 = {.HostAccess = 1}};
	void *p;

	if (mailboxes)
		return true;
	if (hsaKmtAllocMemory(0, KFD_EVENTS_MAX * sizeof(*mailboxes), flags, &p) ||
		hsaKmtMapMemoryToGPU(p, KFD_EVENTS_MAX * sizeof(*mailboxes), NULL))
		return false;
	mailboxes = p;
	return true;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtCreateEvent(
	HsaEventDescriptor *d, bool manual, bool set, HsaEvent **ret)
{
	HsaEvent *e;
	uint32_t id = 1;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!d || !ret)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	e = calloc(1, sizeof(*e));
	if (!e)
		return HSAKMT_STATUS_NO_MEMORY;
	pthread_mutex_lock(&lock);
	while (id < KFD_EVENTS_MAX && events[id].of)
		id++;
	if (!mailboxes_make())
		id = KFD_EVENTS_MAX;
	if (id < KFD_EVENTS_MAX) {
		events[id] = (struct event){.of = e, .manual = manual, .set = set};
		mailboxes[id] = 0;
	}
	pthread_mutex_unlock(&lock);
	if (id == KFD_EVENTS_MAX) {
		free(e);
		return HSAKMT_STATUS_OUT_OF_RESOURCES;
	}
	e->EventId = id;
	e->EventData.EventType = d->EventType;
	e->EventData.HWData1 = id;
	e->EventData.HWData2 = (uintptr_t)&mailboxes[id];
	e->EventData.HWData3 = id;
	if (d->EventType != HSA_EVENTTYPE_MEMORY)
		e->EventData.EventData.SyncVar = d->SyncVar;
	*ret = e;
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *e)
{
	struct event *k;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_mutex_lock(&lock);
	k = event_of(e);
	if (k)
		*k = (struct event){.of = NULL};
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (!k)
		return HSAKMT_STATUS_INVALID_HANDLE;
	free(e);
	return HSAKMT_STATUS_SUCCESS;
}

void kfd_event_set(uint32_t id)
{
	if (!id || id >= KFD_EVENTS_MAX)
		return;
	pthread_mutex_lock(&lock);
	if (events[id].of) {
		events[id].set = true;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
}

bool kfd_event_fault(uint32_t node, uint64_t addr, bool write, bool present)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i < KFD_EVENTS_MAX; i++) {
		struct event *k = &events[i];

		if (!k->of || k->of->EventData.EventType != HSA_EVENTTYPE_MEMORY)
			continue;
		any = true;
		k->set = true;
		k->faulted = true;
		k->fault.NodeId = node;
		k->fault.VirtualAddress = addr & ~0xfffull; /* the hardware says the page */
		k->fault.Failure.NotPresent = !present;
		k->fault.Failure.ReadOnly = present && write;
		k->fault.Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS;
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return any;
}

/* The lock is held. Whether the event is set; takes it if it is automatic. */
static bool event_take(struct event *k)
{
	if (!k->set)
		return false;
	if (k->faulted)
		k->of->EventData.EventData.MemoryAccessFault = k->fault;
	k->set = k->manual;
	return true;
}

/* The lock is held. */
static bool events_ready(HsaEvent *of[], uint32_t n, bool all)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct event *k = event_of(of[i]);

		set += !k || k->set; /* one that was destroyed holds nobody up */
	}
	if (!set || (all && set < n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct event *k = event_of(of[i]);

		if (k && event_take(k) && !all && !k->manual)
			break;
	}
	return true;
}

static struct timespec deadline_in(uint32_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000l;
	if (t.tv_nsec >= 1000000000l) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000l;
	}
	return t;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(
	HsaEvent *of[], HSAuint32 n, bool all, HSAuint32 ms)
{
	struct timespec until = deadline_in(ms);
	bool ready;
	int r = 0;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!of || !n)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	while (!(ready = events_ready(of, n, all)) && r != ETIMEDOUT)
		r = ms == HSA_EVENTTIMEOUT_INFINITE
			    ? pthread_cond_wait(&changed, &lock)
			    : pthread_cond_timedwait(&changed, &lock, &until);
	pthread_mutex_unlock(&lock);
	return ready ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *e, HSAuint32 ms)
{
	if (!e)
		return HSAKMT_STATUS_INVALID_HANDLE;
	return hsaKmtWaitOnMultipleEvents(&e, 1, true, ms);
}

/* The age of an event lets a runtime see what it has missed. It counts from version 1.14 of the
 * driver's interface on, which hsaKmtGetVersion() does not say, so that no runtime relies on it. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(
	HsaEvent *of[], HSAuint32 n, bool all, HSAuint32 ms, uint64_t *age);
KFD_PUBLIC HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(
	HsaEvent *of[], HSAuint32 n, bool all, HSAuint32 ms, uint64_t *age)
{
	(void)age;
	return hsaKmtWaitOnMultipleEvents(of, n, all, ms);
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *e, HSAuint32 ms, uint64_t *age);
KFD_PUBLIC HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *e, HSAuint32 ms, uint64_t *age)
{
	(void)age;
	return hsaKmtWaitOnEvent(e, ms);
}

static HSAKMT_STATUS event_change(HsaEvent *e, bool set)
{
	struct event *k;

	pthread_mutex_lock(&lock);
	k = event_of(e);
	if (k)
		k->set = set;
	if (set)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return k ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *e)
{
	return kfd_open() ? event_change(e, true) : HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *e)
{
	return kfd_open() ? event_change(e, false) : HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *e)
{
	return hsaKmtWaitOnEvent(e, HSA_EVENTTIMEOUT_IMMEDIATE);
}
