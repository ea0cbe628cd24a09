/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI activity records: kernels, copies, fills and API calls, written into buffers that the
 * program provides. One buffer is filled at a time, by any thread that has a record. The program
 * gets it back when it is full, when the program asks for a flush, and every period if it set one.
 */
#include "softgpu/cupti/cupti-int.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct buffer {
	uint8_t *data;
	size_t size, used, records, max_records; /* max_records 0: as many as fit */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer current; /* data NULL: none */
static CUpti_BuffersCallbackRequestFunc request_fn;
static CUpti_BuffersCallbackCompleteFunc complete_fn;
static _Atomic bool kinds[CUPTI_ACTIVITY_KIND_COUNT];
static _Atomic uint8_t
	muted[2][1024]; /* calls that cuptiActivityEnable*Api switched off; [0] driver */
static _Atomic size_t dropped;
static _Atomic bool latency;

bool activity_wants_calls(void)
{
	return kinds[CUPTI_ACTIVITY_KIND_DRIVER] || kinds[CUPTI_ACTIVITY_KIND_RUNTIME];
}

bool activity_wants_ops(void)
{
	return kinds[CUPTI_ACTIVITY_KIND_KERNEL] || kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] ||
	       kinds[CUPTI_ACTIVITY_KIND_MEMCPY] || kinds[CUPTI_ACTIVITY_KIND_MEMSET];
}

/* --- buffers --- */

static void deliver(const struct buffer *b)
{
	if (b->data && complete_fn)
		complete_fn(NULL, 0, b->data, b->size, b->used);
}

static bool has_room(const struct buffer *b, size_t n)
{
	return b->data && b->size - b->used >= n &&
	       (!b->max_records || b->records < b->max_records);
}

/* A new buffer from the program. Caller holds the lock. */
static void ask(void)
{
	size_t size = 0, max = 0;
	uint8_t *data = NULL;

	current = (struct buffer){0};
	if (!request_fn)
		return;
	request_fn(&data, &size, &max);
	if (data && size)
		current = (struct buffer){.data = data, .size = size, .max_records = max};
}

/* Every record is a multiple of 8 bytes long, so they stay aligned as the buffer is. */
static void append(const void *record, size_t n)
{
	struct buffer full = {0};

	pthread_mutex_lock(&lock);
	if (!has_room(&current, n)) {
		full = current;
		ask();
	}
	if (has_room(&current, n)) {
		memcpy(current.data + current.used, record, n);
		current.used += n;
		current.records++;
	} else {
		atomic_fetch_add(&dropped, 1);
	}
	pthread_mutex_unlock(&lock);
	deliver(&full);
}

static void flush(bool empty_too)
{
	struct buffer b = {0};

	pthread_mutex_lock(&lock);
	if (current.records || (empty_too && current.data)) {
		b = current;
		current = (struct buffer){0};
	}
	pthread_mutex_unlock(&lock);
	deliver(&b);
}

/* --- names live for ever --- */

struct name {
	struct name *next;
	char text[];
};
#define NAME_BUCKETS 1024
static struct name *names[NAME_BUCKETS];
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *name_keep(const char *text)
{
	struct name *n;
	unsigned h = 5381;
	const char *p;

	if (!text)
		return NULL;
	for (p = text; *p; p++)
		h = h * 33 + (unsigned char)*p;
	h %= NAME_BUCKETS;
	pthread_mutex_lock(&names_lock);
	for (n = names[h]; n && strcmp(n->text, text); n = n->next)
		;
	if (!n && (n = malloc(sizeof(*n) + strlen(text) + 1))) {
		strcpy(n->text, text);
		n->next = names[h];
		names[h] = n;
	}
	pthread_mutex_unlock(&names_lock);
	return n ? n->text : NULL;
}

/* --- records --- */

static void kernel_record(const struct soft_op *op, int64_t shift)
{
	CUpti_ActivityKernel10 r = {
		.kind = kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]
				? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
				: CUPTI_ACTIVITY_KIND_KERNEL,
		.registersPerThread = (uint16_t)(op->regs > 255 ? 255 : op->regs),
		.start = op->start_ns + (uint64_t)shift,
		.end = op->end_ns + (uint64_t)shift,
		.completed = op->end_ns + (uint64_t)shift,
		.contextId = op->ctx_uid,
		.streamId = op->stream_id,
		.gridX = (int32_t)op->grid[0],
		.gridY = (int32_t)op->grid[1],
		.gridZ = (int32_t)op->grid[2],
		.blockX = (int32_t)op->block[0],
		.blockY = (int32_t)op->block[1],
		.blockZ = (int32_t)op->block[2],
		.staticSharedMemory = (int32_t)op->static_shared,
		.dynamicSharedMemory = (int32_t)op->dynamic_shared,
		.localMemoryPerThread = op->local_per_thread,
		.correlationId = op->correlation,
		.gridId = (int64_t)op->grid_id,
		.name = name_keep(op->name),
		.queued = latency ? op->queued_ns + (uint64_t)shift : CUPTI_TIMESTAMP_UNKNOWN,
		.submitted = latency ? op->queued_ns + (uint64_t)shift : CUPTI_TIMESTAMP_UNKNOWN,
		.sharedMemoryExecuted = op->static_shared + op->dynamic_shared,
		.graphNodeId = op->graph_node_id,
		.graphId = op->graph_id,
		.channelType = CUPTI_CHANNEL_TYPE_COMPUTE,
	};

	append(&r, sizeof(r));
}

static bool on_host(enum soft_mem_kind k)
{
	return k == SOFT_MEM_PAGEABLE || k == SOFT_MEM_PINNED;
}

static uint8_t copy_kind(const struct soft_op *op)
{
	if (on_host(op->src))
		return on_host(op->dst) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOH
					: CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	return on_host(op->dst) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
}

static uint8_t memory_kind(enum soft_mem_kind k)
{
	static const uint8_t map[] = {
		[SOFT_MEM_PAGEABLE] = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
		[SOFT_MEM_PINNED] = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
		[SOFT_MEM_DEVICE] = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
		[SOFT_MEM_MANAGED] = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
	};

	return map[k];
}

static void copy_record(const struct soft_op *op, int64_t shift)
{
	CUpti_ActivityMemcpy6 r = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
		.copyKind = copy_kind(op),
		.srcKind = memory_kind(op->src),
		.dstKind = memory_kind(op->dst),
		.flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
		.bytes = op->bytes,
		.start = op->start_ns + (uint64_t)shift,
		.end = op->end_ns + (uint64_t)shift,
		.contextId = op->ctx_uid,
		.streamId = op->stream_id,
		.correlationId = op->correlation,
		.graphNodeId = op->graph_node_id,
		.graphId = op->graph_id,
		.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY,
		.copyCount = 1,
	};

	append(&r, sizeof(r));
}

static void fill_record(const struct soft_op *op, int64_t shift)
{
	CUpti_ActivityMemset4 r = {
		.kind = CUPTI_ACTIVITY_KIND_MEMSET,
		.value = op->value,
		.bytes = op->bytes,
		.start = op->start_ns + (uint64_t)shift,
		.end = op->end_ns + (uint64_t)shift,
		.contextId = op->ctx_uid,
		.streamId = op->stream_id,
		.correlationId = op->correlation,
		.flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
		.memoryKind = memory_kind(op->dst),
		.graphNodeId = op->graph_node_id,
		.graphId = op->graph_id,
		.channelType = CUPTI_CHANNEL_TYPE_COMPUTE,
	};

	append(&r, sizeof(r));
}
_Static_assert(sizeof(CUpti_ActivityKernel10) % 8 == 0 && sizeof(CUpti_ActivityMemcpy6) % 8 == 0 &&
		       sizeof(CUpti_ActivityMemset4) % 8 == 0 && sizeof(CUpti_ActivityAPI) % 8 == 0,
	"records keep the buffer aligned");

void activity_op(const struct soft_op *op)
{
	int64_t shift = cupti_clock_offset();

	if (op->kind == SOFT_OP_KERNEL) {
		if (kinds[CUPTI_ACTIVITY_KIND_KERNEL] ||
			kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
			kernel_record(op, shift);
	} else if (op->kind == SOFT_OP_COPY) {
		if (kinds[CUPTI_ACTIVITY_KIND_MEMCPY])
			copy_record(op, shift);
	} else if (kinds[CUPTI_ACTIVITY_KIND_MEMSET]) {
		fill_record(op, shift);
	}
}

void activity_call(const struct soft_call *c)
{
	bool driver = c->domain == SOFT_DRIVER;
	CUpti_ActivityKind kind = driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
	int64_t shift;

	if (!kinds[kind] || (c->cbid < 1024 && muted[!driver][c->cbid]))
		return;
	shift = cupti_clock_offset();
	CUpti_ActivityAPI r = {
		.kind = kind,
		.cbid = c->cbid,
		.start = c->start_ns + (uint64_t)shift,
		.end = cupti_now(),
		.processId = (uint32_t)getpid(),
		.threadId = (uint32_t)syscall(SYS_gettid),
		.correlationId = c->correlation,
		.returnValue = c->result ? *(const uint32_t *)c->result : 0,
	};

	append(&r, sizeof(r));
}

/* --- calls --- */

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	if (!request || !complete)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	request_fn = request;
	complete_fn = complete;
	pthread_mutex_unlock(&lock);
	return cupti_result(CUPTI_SUCCESS);
}

static CUptiResult set_kind(CUpti_ActivityKind kind, bool on)
{
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_MEMCPY:
	case CUPTI_ACTIVITY_KIND_MEMSET:
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		break;
	default:
		return on ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
	}
	if (on && !cupti_driver())
		return CUPTI_ERROR_NOT_INITIALIZED;
	kinds[kind] = on;
	return hooks_update();
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return cupti_result(set_kind(kind, true));
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return cupti_result(set_kind(kind, false));
}

/* Nothing that exists already has records of its own here. */
SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	return cupti_result(set_kind(kind, true));
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(
	CUcontext context, CUpti_ActivityKind kind)
{
	return cupti_result(CUPTI_ERROR_NOT_SUPPORTED);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityDisableContext(
	CUcontext context, CUpti_ActivityKind kind)
{
	return cupti_result(CUPTI_ERROR_NOT_SUPPORTED);
}

static CUptiResult mute(unsigned which, CUpti_CallbackId cbid, uint8_t enable)
{
	CUpti_ActivityKind kind = which ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
	unsigned i;

	if (!cbid || cbid >= 1024)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (enable && !kinds[kind]) { /* only the calls that are named from now on */
		for (i = 0; i < 1024; i++)
			muted[which][i] = 1;
		muted[which][cbid] = 0;
		return set_kind(kind, true);
	}
	muted[which][cbid] = !enable;
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return cupti_result(mute(0, cbid, enable));
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(
	CUpti_CallbackId cbid, uint8_t enable)
{
	return cupti_result(mute(1, cbid, enable));
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	latency = enable != 0;
	return cupti_result(CUPTI_SUCCESS);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
	return cupti_result(CUPTI_SUCCESS);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(
	CUcontext context, uint32_t streamId, uint32_t flag)
{
	return cuptiActivityFlushAll(flag);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(
	CUcontext context, uint32_t streamId, size_t *n)
{
	if (!n)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*n = atomic_exchange(&dropped, 0);
	return cupti_result(CUPTI_SUCCESS);
}

static size_t record_size(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(CUpti_ActivityKernel10);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(CUpti_ActivityMemcpy6);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		return sizeof(CUpti_ActivityAPI);
	default:
		return 0;
	}
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(
	uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = buffer;
	size_t n;

	if (!buffer || !record)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (*record) {
		n = record_size((*record)->kind);
		if (!n)
			return cupti_result(CUPTI_ERROR_INVALID_KIND);
		next = (uint8_t *)*record + n;
	}
	if (next < buffer || (size_t)(next - buffer) + sizeof(CUpti_Activity) > valid)
		return cupti_result(CUPTI_ERROR_MAX_LIMIT_REACHED);
	n = record_size(((CUpti_Activity *)next)->kind);
	if (!n)
		return cupti_result(CUPTI_ERROR_INVALID_KIND);
	if ((size_t)(next - buffer) + n > valid)
		return cupti_result(CUPTI_ERROR_MAX_LIMIT_REACHED);
	*record = (CUpti_Activity *)next;
	return cupti_result(CUPTI_SUCCESS);
}

/* --- flushing now and then --- */

static pthread_mutex_t period_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t period_changed = PTHREAD_COND_INITIALIZER;
static uint32_t period_ms;
static bool period_thread;

static void *period_main(void *unused)
{
	struct timespec until;
	int r;

	pthread_mutex_lock(&period_lock);
	while (period_ms) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += period_ms / 1000;
		until.tv_nsec += (long)(period_ms % 1000) * 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		r = pthread_cond_timedwait(&period_changed, &period_lock, &until);
		if (r != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&period_lock);
		flush(false);
		pthread_mutex_lock(&period_lock);
	}
	period_thread = false;
	pthread_mutex_unlock(&period_lock);
	return NULL;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t time)
{
	CUptiResult r = CUPTI_SUCCESS;
	sigset_t all, old;
	pthread_t t;

	pthread_mutex_lock(&period_lock);
	period_ms = time;
	if (time && !period_thread) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		period_thread = pthread_create(&t, NULL, period_main, NULL) == 0;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (period_thread)
			pthread_detach(t);
		else
			r = CUPTI_ERROR_OUT_OF_MEMORY;
	}
	pthread_cond_signal(&period_changed);
	pthread_mutex_unlock(&period_lock);
	return cupti_result(r);
}

void activity_reset(void)
{
	unsigned i;

	for (i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
		kinds[i] = false;
	flush(true);
	pthread_mutex_lock(&lock);
	request_fn = NULL;
	complete_fn = NULL;
	pthread_mutex_unlock(&lock);
	memset((void *)muted, 0, sizeof(muted));
	latency = false;
	cuptiActivityFlushPeriod(0);
}

void activity_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&names_lock, NULL);
	pthread_mutex_init(&period_lock, NULL);
	pthread_cond_init(&period_changed, NULL);
	memset((void *)kinds, 0, sizeof(kinds));
	current = (struct buffer){0};
	request_fn = NULL;
	complete_fn = NULL;
	period_thread = false;
	period_ms = 0;
}
