/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of core/driver.h for CUDA's driver: the library, contexts, streams, events.
 */
#include "capture/cuda/driver-cuda.h"

#include <dlfcn.h>
#include "capture/cuda/graph-nodes.h"
#include "capture/cuda/keeper/keep.h"
#include "capture/cuda/old-code.h"
#include "gpucode/cuda-faults.h"

#define S(handle) ((CUstream)(uintptr_t)(handle))

_Static_assert(STREAM_LEGACY == (uintptr_t)CU_STREAM_LEGACY &&
		       STREAM_PER_THREAD == (uintptr_t)CU_STREAM_PER_THREAD,
	"the numbers in cuda.h");

/* ---- the library ---- */

static bool is_loaded(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		lib = dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
	if (lib)
		dlclose(lib);
	return lib;
}

static bool is_open(void)
{
	return cuda.cuDeviceGetCount;
}

static bool is_started(void)
{
	CUcontext now;
	return cuda.cuCtxGetCurrent &&
	       OWN(cuda.cuCtxGetCurrent(&now)) != CUDA_ERROR_NOT_INITIALIZED;
}

static bool is_soft(void)
{
	return cuda.soft;
}

static bool can(unsigned what)
{
	const bool enter = cuda.cuCtxPushCurrent_v2 && cuda.cuCtxPopCurrent_v2;
	unsigned all = 0;
	if (enter && cuda.cuCtxSynchronize && cuda.cuStreamQuery)
		all |= DRIVER_CAN_READ;
	if (cuda.cuMemGetInfo_v2 && cuda.cuMemAlloc_v2 && cuda.cuMemFree_v2 &&
		cuda.cuMemcpyDtoDAsync_v2)
		all |= DRIVER_CAN_COPY;
	if (enter && cuda.cuDevicePrimaryCtxGetState && cuda.cuDevicePrimaryCtxRetain &&
		cuda.cuDevicePrimaryCtxRelease_v2)
		all |= DRIVER_CAN_FIND;
	return (what & all) == what;
}

static void *symbol(const char *name)
{
	return cuda.lib ? dlsym(cuda.lib, name) : NULL;
}

static uint32_t version(void)
{
	int v = 0;
	(void)CUDA_ASK(cuDriverGetVersion, &v);
	return (uint32_t)v;
}

/* ---- results ---- */

static const char *result_name(uint32_t code)
{
	const char *name = NULL;
	return driver_good(CUDA_ASK(cuGetErrorName, (CUresult)code, &name)) ? name : NULL;
}

static const uint32_t codes[] = {
	[DRIVER_OK] = CUDA_SUCCESS,
	[DRIVER_NOT_READY] = CUDA_ERROR_NOT_READY,
	[DRIVER_GONE] = CUDA_ERROR_CONTEXT_IS_DESTROYED,
	[DRIVER_NOT_VALID] = CUDA_ERROR_INVALID_VALUE,
	[DRIVER_LACKS] = CUDA_ERROR_NOT_SUPPORTED,
	[DRIVER_NO_CONTEXT] = CUDA_ERROR_INVALID_CONTEXT,
	[DRIVER_BAD_HANDLE] = CUDA_ERROR_INVALID_HANDLE,
	[DRIVER_FAILED] = CUDA_ERROR_UNKNOWN,
};

struct driver_result cuda_result(uint32_t code)
{
	for (unsigned i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i] == code)
			return (struct driver_result){i, code};
	return (struct driver_result){DRIVER_FAILED, code};
}

static struct driver_result answer(enum driver_status status)
{
	return (struct driver_result){status, codes[status]};
}

/* ---- devices and contexts ---- */

static struct driver_result device_count(int *ret)
{
	return CUDA_ASK(cuDeviceGetCount, ret);
}

static uint32_t device_attribute(CUdevice d, CUdevice_attribute a)
{
	int v = 0;
	return driver_good(CUDA_ASK(cuDeviceGetAttribute, &v, a, d)) ? (uint32_t)v : 0;
}

/* A CUdevice is the ordinal (cuDeviceGet, CUDA driver API). */
static void device_facts(int device, struct driver_device *ret)
{
	size_t memory = 0;
	*ret = (struct driver_device){.name = ""};
	(void)CUDA_ASK(cuDeviceGetName, ret->name, sizeof(ret->name), device);
	(void)CUDA_ASK(cuDeviceTotalMem_v2, &memory, device);
	ret->memory = memory;
	ret->major = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	ret->minor = device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	ret->units = device_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

static struct driver_result context_current(uint64_t *ret)
{
	CUcontext now = NULL;
	const struct driver_result r = CUDA_ASK(cuCtxGetCurrent, &now);
	*ret = H(now);
	return r;
}

static struct driver_result context_enter(uint64_t ctx)
{
	return CUDA_ASK(cuCtxPushCurrent_v2, (CUcontext)(uintptr_t)ctx);
}

static void context_leave(void)
{
	CUcontext was;
	(void)CUDA_ASK(cuCtxPopCurrent_v2, &was);
}

static struct driver_result context_finish(void)
{
	return CUDA_ASK(cuCtxSynchronize);
}

/* Retains the primary context once more, which says which one it is and changes nothing else. */
static uint64_t context_hold(int device)
{
	unsigned flags;
	int active = 0;
	CUcontext ctx = NULL;
	if (!can(DRIVER_CAN_FIND) ||
		OWN(cuda.cuDevicePrimaryCtxGetState(device, &flags, &active)) || !active ||
		OWN(cuda.cuDevicePrimaryCtxRetain(&ctx, device)))
		return 0;
	return H(ctx);
}

static void context_let_go(int device)
{
	(void)CUDA_ASK(cuDevicePrimaryCtxRelease_v2, device);
}

static void context_facts(uint64_t ctx, int *ret_device, bool *ret_primary)
{
	CUdevice device = 0;
	(void)CUDA_ASK(cuCtxGetDevice, &device);
	const uint64_t primary = context_hold(device);
	if (primary)
		context_let_go(device);
	*ret_device = device;
	*ret_primary = primary == ctx;
}

static unsigned exchange_mode(CUstreamCaptureMode mode)
{
	(void)CUDA_ASK(cuThreadExchangeStreamCaptureMode, &mode);
	return mode;
}

static unsigned relax(void)
{
	return exchange_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
}

static void restrict_again(unsigned was)
{
	(void)exchange_mode(was);
}

/* ---- streams and events ---- */

static struct driver_result stream_create(uint64_t *ret)
{
	CUstream s = NULL;
	const struct driver_result r = CUDA_ASK(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
	if (driver_good(r))
		*ret = H(s);
	return r;
}

static struct driver_result stream_destroy(uint64_t s)
{
	return CUDA_ASK(cuStreamDestroy_v2, S(s));
}

static void stream_facts(uint64_t s, unsigned *ret_flags, int *ret_priority)
{
	*ret_flags = 0;
	*ret_priority = 0;
	(void)CUDA_ASK(cuStreamGetFlags, S(s), ret_flags);
	(void)CUDA_ASK(cuStreamGetPriority, S(s), ret_priority);
}

static struct driver_result stream_query(uint64_t s)
{
	return CUDA_ASK(cuStreamQuery, S(s));
}

static struct driver_result stream_finish(uint64_t s)
{
	return CUDA_ASK(cuStreamSynchronize, S(s));
}

static struct driver_result stream_capturing(uint64_t s, bool *ret)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	*ret = false;
	if (!cuda.cuStreamIsCapturing)
		return answer(DRIVER_OK);
	const struct driver_result r = CUDA_ASK(cuStreamIsCapturing, S(s), &status);
	*ret = driver_good(r) && status != CU_STREAM_CAPTURE_STATUS_NONE;
	return r;
}

static bool stream_capture(uint64_t s, uint64_t *ret)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t number = 0;
	if (!driver_good(CUDA_ASK(stream_capture_info, S(s), &status, &number, NULL, NULL, NULL)))
		return false;
	*ret = number;
	return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* Returns the node that the stream's next node would depend on. */
static bool stream_captured(uint64_t s, uint64_t *ret_node)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	const CUgraphNode *deps = NULL;
	const CUgraphEdgeData *edges = NULL;
	cuuint64_t id;
	CUgraph graph;
	size_t n = 0;
	if (!driver_good(CUDA_ASK(
		    cuStreamGetCaptureInfo_v3, S(s), &status, &id, &graph, &deps, &edges, &n)) ||
		n != 1 || !deps)
		return false;
	*ret_node = H(deps[0]);
	return true;
}

static struct driver_result stream_call(uint64_t s, void (*fn)(void *arg), void *arg)
{
	return CUDA_ASK(cuLaunchHostFunc, S(s), fn, arg);
}

/* Makes an event; one that cannot be recorded or queried is destroyed again. */
static struct driver_result event_create(uint64_t *ret)
{
	CUevent e = NULL;
	if (!cuda.cuEventRecord || !cuda.cuEventQuery)
		return answer(DRIVER_LACKS);
	const struct driver_result r = CUDA_ASK(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING);
	if (driver_good(r))
		*ret = H(e);
	return r;
}

static struct driver_result event_record(uint64_t e, uint64_t s)
{
	return CUDA_ASK(cuEventRecord, (CUevent)(uintptr_t)e, S(s));
}

static struct driver_result event_query(uint64_t e)
{
	return CUDA_ASK(cuEventQuery, (CUevent)(uintptr_t)e);
}

const struct driver driver_cuda = {
	.api = "CUDA",
	.cannot_record = "the driver in this process lacks functions that recording memory needs",
	.is_loaded = is_loaded,
	.open = cuda_open,
	.is_open = is_open,
	.is_started = is_started,
	.is_soft = is_soft,
	.fills_fresh = is_soft,
	.can = can,
	.symbol = symbol,
	.version = version,
	.result_name = result_name,
	.result_is_fault = cuda_code_is_fault,
	.result = cuda_result,
	.answer = answer,
	.device_count = device_count,
	.device_facts = device_facts,
	.context_current = context_current,
	.context_facts = context_facts,
	.context_enter = context_enter,
	.context_leave = context_leave,
	.context_finish = context_finish,
	.context_hold = context_hold,
	.context_let_go = context_let_go,
	.relax = relax,
	.restrict_again = restrict_again,
	.stream_create = stream_create,
	.stream_destroy = stream_destroy,
	.stream_facts = stream_facts,
	.stream_query = stream_query,
	.stream_finish = stream_finish,
	.stream_capturing = stream_capturing,
	.stream_capture = stream_capture,
	.stream_captured = stream_captured,
	.graphs = &graph_reader_cuda,
	.stream_call = stream_call,
	.event_create = event_create,
	.event_record = event_record,
	.event_query = event_query,
	.copy_to_host = cuda_copy_to_host,
	.copy_on_device = cuda_copy_on_device,
	.host_pin = cuda_host_pin,
	.host_unpin = cuda_host_unpin,
	.mem_unused = cuda_mem_unused,
	.mem_alloc = cuda_mem_alloc,
	.mem_free = cuda_mem_free,
	.mem_range = cuda_mem_range,
	.mem_access = cuda_mem_access,
	.mem_at = cuda_mem_at,
	.keep_new = keep_new,
	.keep_free = keep_free,
	.keep_read = keep_read,
	.keep_is_safe = keep_is_safe,
	.kernel_facts = cuda_kernel_facts,
	.kernel_numbers = cuda_kernel_numbers,
	.kernel_params = cuda_kernel_params,
	.global_find = cuda_global_find,
	.old_code_want = old_code_want,
	.old_code_waiting = old_code_waiting,
	.old_code_settle = old_code_settle,
	.old_code_find = old_code_find,
	.old_code_forget = old_code_forget,
	.hash_open = cuda_hash_open,
	.hash_close = cuda_hash_close,
	.hash_forget = cuda_hash_forget,
	.hash_pages_begin = cuda_hash_pages_begin,
	.hash_begin = cuda_hash_begin,
	.hash_end = cuda_hash_end,
	.hash_wait = cuda_hash_wait,
	.gather_begin = cuda_gather_begin,
};
