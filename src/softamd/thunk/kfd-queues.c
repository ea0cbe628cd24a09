// SPDX-License-Identifier: Apache-2.0
//
// User queues. Each has a thread that executes its packets in their order, so two queues run side
// by side as on the hardware. Doorbells are plain memory that nobody reads: the program writes the
// packets' headers (AQL) or the write pointer (SDMA) before it rings, and those are what is looked
// at. An idle queue's thread sleeps; one more thread, the watcher, looks at all idle queues, less
// often the longer nothing happens.
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <hsa/hsa.h>

#include "softamd/thunk/kfd.h"

static struct slot {
	struct kfd_queue q;
	pthread_t thread;
	bool taken, idle;
	uint64_t sdma_read, sdma_write; /* the driver's part of an SDMA queue */
} * slots;
static uint64_t *doorbells;
static uint32_t slots_n; /* one more than the highest that was ever taken */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(uint32_t us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000l}, NULL);
}

static void thread_begin(const char *name)
{
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1000ul);
}

/* The program's signals are for its own threads. */
static int thread_make(pthread_t *t, void *(*f)(void *), void *arg)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(t, NULL, f, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

static bool flag(const bool *f)
{
	return __atomic_load_n(f, __ATOMIC_ACQUIRE);
}

static void flag_set(bool *f, bool v)
{
	__atomic_store_n(f, v, __ATOMIC_RELEASE);
}

static bool has_work(const struct kfd_queue *q)
{
	const uint64_t next = __atomic_load_n(&q->next, __ATOMIC_RELAXED);
	const uint16_t *header;

	if (flag(&q->stop))
		return true;
	if (flag(&q->paused) || flag(&q->faulted))
		return false;
	if (q->type == HSA_QUEUE_SDMA)
		return __atomic_load_n(q->write, __ATOMIC_ACQUIRE) != next;
	header = (const uint16_t *)(uintptr_t)(q->ring + next * 64 % q->ring_size);
	return (__atomic_load_n(header, __ATOMIC_ACQUIRE) & 0xff) != HSA_PACKET_TYPE_INVALID &&
	       __atomic_load_n(q->write, __ATOMIC_ACQUIRE) > next;
}

static void wake(struct kfd_queue *q)
{
	__atomic_add_fetch(&q->wake, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &q->wake, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *watcher(void *arg)
{
	uint64_t last = kfd_clock();

	thread_begin("soft-amd-watch");
	for (;;) {
		uint64_t quiet = kfd_clock() - last;

		nap(quiet < 2000000 ? 20 : quiet < 1000000000 ? 200 : 1000);
		/* A queue whose ring is about to go is not looked at: its end takes the lock, too.
		 */
		pthread_mutex_lock(&lock);
		for (uint32_t i = 0; i < slots_n; i++)
			if (flag(&slots[i].idle) && has_work(&slots[i].q)) {
				flag_set(&slots[i].idle, false);
				wake(&slots[i].q);
				last = kfd_clock();
			}
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

bool kfd_queue_pause(struct kfd_queue *q, uint32_t *turn)
{
	uint32_t t = (*turn)++;

	if (t < 50)
		sched_yield();
	else
		nap(t < 200 ? 20 : t < 2000 ? 100 : 500);
	return !flag(&q->stop);
}

static void queue_sleep(struct slot *s)
{
	uint32_t seen = __atomic_load_n(&s->q.wake, __ATOMIC_SEQ_CST);

	for (int i = 0; i < 20; i++) {
		if (has_work(&s->q))
			return;
		sched_yield();
	}
	flag_set(&s->idle, true);
	syscall(SYS_futex, &s->q.wake, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	flag_set(&s->idle, false);
}

static void *queue_thread(void *arg)
{
	struct slot *s = arg;
	struct kfd_queue *q = &s->q;
	char name[16];

	snprintf(name, sizeof(name), "soft-amd-%u.%u", q->node, (unsigned)(q->id % 1000));
	thread_begin(name);
	while (!flag(&q->stop)) {
		bool may = !flag(&q->paused) && !flag(&q->faulted);

		if (!may || !(q->type == HSA_QUEUE_SDMA ? kfd_sdma_step(q) : kfd_aql_step(q)))
			queue_sleep(s);
	}
	return NULL;
}

/* The lock is held. */
static bool begin(void)
{
	pthread_t t;
	size_t size = KFD_QUEUES_MAX * sizeof(*doorbells);

	if (slots)
		return true;
	doorbells = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (doorbells == MAP_FAILED)
		return false;
	slots = calloc(KFD_QUEUES_MAX, sizeof(*slots));
	if (!slots || thread_make(&t, watcher, NULL)) {
		free(slots);
		slots = NULL;
		munmap(doorbells, size);
		return false;
	}
	pthread_detach(t);
	return true;
}

static struct slot *slot_take(void)
{
	for (uint32_t i = 0; slots && i < KFD_QUEUES_MAX; i++)
		if (!slots[i].taken) {
			slots[i] = (struct slot){.taken = true};
			slots[i].q.id = i + 1; /* the runtime takes 0 for none */
			return &slots[i];
		}
	return NULL;
}

static void slot_fill(struct slot *s, HsaQueueResource *r, const HsaEvent *event)
{
	struct kfd_queue *q = &s->q;

	if (q->type == HSA_QUEUE_SDMA) {
		r->Queue_read_ptr_aql = &s->sdma_read;
		r->Queue_write_ptr_aql = &s->sdma_write;
	}
	q->read = r->Queue_read_ptr_aql;
	q->write = r->Queue_write_ptr_aql;
	q->next = *q->read;
	q->error = q->type == HSA_QUEUE_SDMA ? NULL : r->ErrorReason;
	q->error_event = event ? event->EventId : 0;
	r->QueueId = q->id;
	doorbells[q->id - 1] = 0;
	r->Queue_DoorBell_aql = &doorbells[q->id - 1];
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type,
	HSAuint32 percentage, HSA_QUEUE_PRIORITY priority, void *ring, HSAuint64 size,
	HsaEvent *event, HsaQueueResource *r)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	struct slot *s;

	(void)percentage, (void)priority; /* it runs when there is work for it */
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!kfd_is_device(node))
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (type != HSA_QUEUE_COMPUTE_AQL && type != HSA_QUEUE_SDMA) {
		kfd_say("hsaKmtCreateQueue: queues of type %d are not supported", (int)type);
		return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	if (!ring || !r || size < 64 || size & (size - 1) ||
		(type == HSA_QUEUE_COMPUTE_AQL &&
			(!r->Queue_read_ptr_aql || !r->Queue_write_ptr_aql)))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	s = begin() ? slot_take() : NULL;
	if (s) {
		s->q.node = node;
		s->q.type = type;
		s->q.ring = (uintptr_t)ring;
		s->q.ring_size = size;
		slot_fill(s, r, event);
		if (s->q.id > slots_n)
			slots_n = (uint32_t)s->q.id;
		s->taken = !thread_make(&s->thread, queue_thread, s);
	}
	if (!s || !s->taken)
		status = HSAKMT_STATUS_OUT_OF_RESOURCES;
	pthread_mutex_unlock(&lock);
	return status;
}

/* The lock is held. */
static struct slot *slot_of(HSA_QUEUEID id)
{
	return slots && id >= 1 && id <= KFD_QUEUES_MAX && slots[id - 1].taken ? &slots[id - 1]
									       : NULL;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID id)
{
	struct slot *s;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_mutex_lock(&lock);
	s = slot_of(id);
	if (s)
		flag_set(&s->q.stop, true);
	pthread_mutex_unlock(&lock);
	if (!s)
		return HSAKMT_STATUS_INVALID_HANDLE;
	wake(&s->q);
	pthread_join(s->thread, NULL);
	pthread_mutex_lock(&lock);
	flag_set(&s->idle, false);
	s->taken = false;
	pthread_mutex_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage,
	HSA_QUEUE_PRIORITY priority, void *ring, HSAuint64 size, HsaEvent *event)
{
	struct slot *s;

	(void)priority, (void)ring, (void)size, (void)event;
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_mutex_lock(&lock);
	s = slot_of(id);
	if (s)
		flag_set(&s->q.paused, percentage == 0);
	pthread_mutex_unlock(&lock);
	if (s)
		wake(&s->q);
	return s ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

/* Which compute units a queue may use changes nothing here: there are none. */
KFD_PUBLIC HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *mask)
{
	struct slot *s;

	(void)count, (void)mask;
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_mutex_lock(&lock);
	s = slot_of(id);
	pthread_mutex_unlock(&lock);
	return s ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}
