// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong on the device: our sentence on stderr, with kernel, address, memory and lane, and
// then the runtime's own way, so that a program sees what it sees on hardware: a memory event for
// accesses ("Memory access fault by GPU node-1"), an exception of the queue for all else. Both end
// the program unless it asked for the event itself.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/soft-fault.h"
#include "softamd/thunk/kfd.h"

/* Exceptions of a queue, as the driver numbers them. */
enum {
	WAVE_ABORT = 1,
	WAVE_ILLEGAL_INSTRUCTION = 4,
	WAVE_APERTURE_VIOLATION = 6,
	DISPATCH_CODE_INVALID = 18,
	PREEMPTION_ERROR = 31,
};

void kfd_say(const char *format, ...)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "tsdb: soft-amd: ");
	va_list args;

	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* nobody to say it to */
}

bool kfd_logs(void)
{
	static int logs = -1;

	if (__atomic_load_n(&logs, __ATOMIC_RELAXED) < 0)
		__atomic_store_n(&logs, getenv("TSDB_SOFTAMD_LOG") != NULL, __ATOMIC_RELAXED);
	return __atomic_load_n(&logs, __ATOMIC_RELAXED) > 0;
}

/* --- the first fault, for a debugger (capture/soft-fault.h) --- */

static struct soft_fault kept;
static bool is_kept; /* it is filled, and changes no more */
static void (*on_fault)(const struct soft_fault *f);

KFD_PUBLIC bool tsdb_soft_fault(struct soft_fault *ret)
{
	if (!__atomic_load_n(&is_kept, __ATOMIC_ACQUIRE))
		return false;
	*ret = kept;
	return true;
}

KFD_PUBLIC void tsdb_soft_on_fault(void (*fn)(const struct soft_fault *f))
{
	__atomic_store_n(&on_fault, fn, __ATOMIC_RELEASE);
}

/* The work-item in its workgroup: wave and lane count it, x first. */
static void item_of(const struct amd_dispatch *d, const struct amd_fault *f, uint32_t thread[3])
{
	uint32_t n = f->wave * 64 + (f->lane > 0 ? (uint32_t)f->lane : 0);
	uint32_t x = d->workgroup[0] ? d->workgroup[0] : 1,
		 y = d->workgroup[1] ? d->workgroup[1] : 1;

	thread[0] = n % x;
	thread[1] = n / x % y;
	thread[2] = n / x / y;
}

/* Before the runtime hears of it, which ends the program. */
static void keep_fault(const struct amd_dispatch *d, const struct amd_fault *f, const char *kernel,
	const char *place)
{
	static uint32_t taken;
	void (*fn)(const struct soft_fault *) = __atomic_load_n(&on_fault, __ATOMIC_ACQUIRE);

	if (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQ_REL))
		return;
	memcpy(kept.block, f->workgroup, sizeof(kept.block));
	item_of(d, f, kept.thread);
	kept.addr = f->kind == AMD_FAULT_MEMORY ? f->address : 0;
	kept.size = f->kind == AMD_FAULT_MEMORY ? f->size : 0;
	snprintf(kept.kernel, sizeof(kept.kernel), "%s", kernel);
	if (f->pc)
		snprintf(kept.text, sizeof(kept.text), "%.90s: %.160s", place, f->text);
	else
		snprintf(kept.text, sizeof(kept.text), "%.250s", f->text);
	__atomic_store_n(&is_kept, true, __ATOMIC_RELEASE);
	if (fn)
		fn(&kept);
}

/* --- the runtime's way --- */

static void queue_stop(struct kfd_queue *q, uint32_t bit)
{
	__atomic_store_n(&q->faulted, true, __ATOMIC_RELEASE);
	if (!bit || !q->error)
		return;
	__atomic_or_fetch(q->error, (int64_t)1 << (bit - 1), __ATOMIC_SEQ_CST);
	kfd_event_set(q->error_event);
}

void kfd_queue_error(struct kfd_queue *q, uint32_t bit, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	kfd_say("%s", text);
	if (kfd_aside())
		abort();
	if (q->error) {
		queue_stop(q, bit);
		return;
	}
	/* A copy engine's queue has no exceptions: a hang without end would be the other way. */
	queue_stop(q, 0);
	kfd_say("the copy engine has stopped; the program is ended");
	abort();
}

/* In a replayer the runtime is not asked: shut in, it may never answer. */
static void access_fault(struct kfd_queue *q, uint64_t addr, bool write)
{
	bool present = kfd_reachable(q->node, addr, 1, false);

	if (kfd_aside())
		abort();

	queue_stop(q, 0);
	if (kfd_event_fault(q->node, addr, write, present))
		return;
	kfd_say("the program waits for no memory event of the device; it is ended");
	abort();
}

void kfd_queue_access(
	struct kfd_queue *q, const char *what, uint64_t addr, uint64_t size, bool write)
{
	const struct amd_memory *m = kfd_memory_of(q->node);
	uint64_t first = addr; /* that fails */
	struct amd_extent e;
	char where[300];

	if (m->find(m->arg, addr, &e) && (!write || e.write))
		first = e.end;
	kfd_describe(q->node, first, where, sizeof(where));
	kfd_say("device %u: a packet's %s %s %llu bytes at 0x%llx; 0x%llx is %s", q->node, what,
		write ? "writes" : "reads", (unsigned long long)size, (unsigned long long)addr,
		(unsigned long long)first, where);
	access_fault(q, first, write);
}

static uint32_t exception_of(enum amd_fault_kind kind)
{
	switch (kind) {
	case AMD_FAULT_REFUSED:
	case AMD_FAULT_FETCH:
		return WAVE_ILLEGAL_INSTRUCTION;
	case AMD_FAULT_ALIGNMENT:
	case AMD_FAULT_BOUNDS:
		return WAVE_APERTURE_VIOLATION;
	case AMD_FAULT_DISPATCH:
		return DISPATCH_CODE_INVALID;
	case AMD_FAULT_TRAP:
	case AMD_FAULT_TIMEOUT:
	case AMD_FAULT_WAIT:
		return WAVE_ABORT;
	default:
		return PREEMPTION_ERROR;
	}
}

static void place_of(const struct amd_fault *f, char *text, size_t size)
{
	int n = snprintf(text, size, "workgroup (%u,%u,%u), wave %u", f->workgroup[0],
		f->workgroup[1], f->workgroup[2], f->wave);

	if (f->lane >= 0)
		n += snprintf(text + n, size - (size_t)n, ", lane %d", f->lane);
	n += snprintf(text + n, size - (size_t)n, ", pc 0x%llx", (unsigned long long)f->pc);
	if (f->pc >= f->entry)
		snprintf(text + n, size - (size_t)n, " (its code + 0x%llx)",
			(unsigned long long)(f->pc - f->entry));
}

void kfd_dispatch_fault(
	struct kfd_queue *q, const struct amd_dispatch *d, const struct amd_fault *f)
{
	char kernel[200], place[160], where[300];

	if (f->kind == AMD_FAULT_CANCELLED) {
		queue_stop(q, 0); /* the queue is being destroyed */
		return;
	}
	kfd_kernel_name(d->kernel_object, kernel, sizeof(kernel));
	place_of(f, place, sizeof(place));
	keep_fault(d, f, kernel, place);
	if (f->kind == AMD_FAULT_MEMORY) {
		kfd_describe(q->node, f->address, where, sizeof(where));
		kfd_say("%s, %s: %s: it is %s", kernel, place, f->text, where);
		access_fault(q, f->address, f->write);
		return;
	}
	if (f->pc)
		kfd_queue_error(q, exception_of(f->kind), "%s, %s: %s", kernel, place, f->text);
	else
		kfd_queue_error(q, exception_of(f->kind), "%s: %s", kernel, f->text);
}
