// SPDX-License-Identifier: Apache-2.0
//
// The operations of core/driver.h for HIP. Memory is recorded on the software AMD GPU alone:
// nothing of it was tried on AMD's hardware, so can() denies it there. Copies of memory on the
// device, memory of another process, and code that was loaded before the agent came are not there:
// those operations answer DRIVER_LACKS, or false. A call of the agent's own does not disturb the
// program's last error: HIP sets it in each call, so it is put back by nobody but the next call,
// which the agent makes behind the program's own only (source-hip.c).
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "capture/core/agent.h"
#include "capture/core/calls.h"
#include "capture/core/driver.h"
#include "capture/core/stop.h"
#include "capture/core/thread.h"
#include "capture/hip/driver-hip.h"
#include "capture/hip/hip-calls.h"
#include "capture/hip/hip-version.h"
#include "capture/objects/code.h"
#include "capture/stacks/mapping.h"
#include "gpucode/amd-object.h"

struct hip_api hip;

/* ---- the library ---- */

static void *library(void)
{
	static const char *const names[] = {
		"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
	void *lib = NULL;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	return lib;
}

static bool is_loaded(void)
{
	void *lib = library();

	if (lib)
		dlclose(lib);
	return lib;
}

static void look_below(void)
{
	const char *below = mapping_path_of("libhsakmt.so");

	hip.soft = below && strstr(below, "/softamd/");
}

int hip_open(void)
{
	bool missing = false;

	hip.lib = library();
	if (!hip.lib)
		return -ENOENT;
#define REQUIRED(name)                                                                             \
	hip.name = (__typeof__(hip.name))(uintptr_t)dlsym(hip.lib, #name);                         \
	missing |= !hip.name;
#define OPTIONAL(name) hip.name = (__typeof__(hip.name))(uintptr_t)dlsym(hip.lib, #name);
	HIP_FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
	look_below();
	return missing ? -ENOSYS : 0;
}

void hip_settle(void)
{
	static _Atomic bool settled;

	if (atomic_load_explicit(&settled, memory_order_relaxed))
		return;
	look_below();
	if (hip.soft)
		stop_watch_device();
	atomic_store(&settled, true);
}

static bool is_open(void)
{
	return hip.hipGetDeviceCount;
}

static bool is_soft(void)
{
	return hip.soft;
}

static bool fills_fresh(void)
{
	return false; /* memory that was freed comes again with what it held */
}

static bool can(unsigned what)
{
	const bool reads = hip.soft && hip.hipSetDevice && hip.hipDeviceSynchronize;

	return !(what & ~(reads ? DRIVER_CAN_READ : 0u));
}

static void *symbol(const char *name)
{
	return hip.soft ? hip_soft_symbol(name) : NULL;
}

void *hip_soft_symbol(const char *name)
{
	void *lib = dlopen("libhsakmt.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *at = lib ? dlsym(lib, name) : NULL;

	if (lib)
		dlclose(lib);
	return at;
}

static uint32_t version(void)
{
	int v = 0;

	return OWN(hip.hipRuntimeGetVersion(&v)) ? 0 : (uint32_t)v;
}

/* ---- results ---- */

static const char *result_name(uint32_t code)
{
	return hip.hipGetErrorName ? OWN(hip.hipGetErrorName((hipError_t)code)) : NULL;
}

/* The runtime ends the program at most faults; these are what it may answer before. */
static bool result_is_fault(uint32_t code)
{
	return code == hipErrorIllegalAddress || code == hipErrorLaunchFailure ||
	       code == hipErrorLaunchTimeOut || code == hipErrorAssert ||
	       code == hipErrorECCNotCorrectable;
}

static const uint32_t codes[] = {
	[DRIVER_OK] = hipSuccess,
	[DRIVER_NOT_READY] = hipErrorNotReady,
	[DRIVER_GONE] = hipErrorDeinitialized,
	[DRIVER_NOT_VALID] = hipErrorInvalidValue,
	[DRIVER_LACKS] = hipErrorNotSupported,
	[DRIVER_NO_CONTEXT] = hipErrorInvalidContext,
	[DRIVER_BAD_HANDLE] = hipErrorInvalidHandle,
	[DRIVER_FAILED] = hipErrorUnknown,
};

struct driver_result hip_result(uint32_t code)
{
	for (unsigned i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i] == code)
			return (struct driver_result){i, code};
	return (struct driver_result){DRIVER_FAILED, code};
}

struct driver_result hip_answer(enum driver_status status)
{
	return (struct driver_result){status, codes[status]};
}

/* ---- devices and contexts ---- */

static struct driver_result device_count(int *ret)
{
	return hip_result((uint32_t)OWN(hip.hipGetDeviceCount(ret)));
}

static uint32_t attribute(int device, hipDeviceAttribute_t a)
{
	int v = 0;

	return hip.hipDeviceGetAttribute && !OWN(hip.hipDeviceGetAttribute(&v, a, device))
		       ? (uint32_t)v
		       : 0;
}

static void target_of(int device, char *to, size_t n)
{
	hipDeviceProp_t p;

	*to = '\0';
	if (!hip.hipGetDeviceProperties || OWN(hip.hipGetDeviceProperties(&p, device)))
		return;
	memcpy(to, p.gcnArchName, strnlen(p.gcnArchName, n - 1) + 1);
	to[n - 1] = '\0';
}

static void device_facts(int device, struct driver_device *ret)
{
	size_t memory = 0;

	*ret = (struct driver_device){.name = ""};
	if (hip.hipDeviceGetName)
		(void)OWN(hip.hipDeviceGetName(ret->name, (int)sizeof(ret->name), device));
	if (hip.hipDeviceTotalMem)
		(void)OWN(hip.hipDeviceTotalMem(&memory, device));
	ret->memory = memory;
	target_of(device, ret->target, sizeof(ret->target));
	ret->major = attribute(device, hipDeviceAttributeComputeCapabilityMajor);
	ret->minor = attribute(device, hipDeviceAttributeComputeCapabilityMinor);
	ret->units = attribute(device, hipDeviceAttributeMultiprocessorCount);
}

static struct driver_result context_current(uint64_t *ret)
{
	int device = 0;
	const hipError_t e = OWN(hip.hipGetDevice(&device));

	*ret = e ? 0 : hip_context(device);
	return hip_result((uint32_t)e);
}

static void context_facts(uint64_t ctx, int *ret_device, bool *ret_primary)
{
	*ret_device = (int)ctx - 1;
	*ret_primary = true;
}

/* ---- streams ---- */

static void stream_facts(uint64_t s, unsigned *ret_flags, int *ret_priority)
{
	*ret_flags = 0;
	*ret_priority = 0;
	if (hip.hipStreamGetFlags)
		(void)OWN(hip.hipStreamGetFlags(S(s), ret_flags));
	if (hip.hipStreamGetPriority)
		(void)OWN(hip.hipStreamGetPriority(S(s), ret_priority));
}

static struct driver_result stream_create(uint64_t *ret)
{
	*ret = HIP_NO_STREAM;
	return hip_answer(DRIVER_OK);
}

static struct driver_result stream_destroy(uint64_t s)
{
	return hip_answer(s == HIP_NO_STREAM ? DRIVER_OK : DRIVER_LACKS);
}

static struct driver_result stream_finish(uint64_t s)
{
	if (s == HIP_NO_STREAM)
		return hip_answer(DRIVER_OK);
	return hip.hipStreamSynchronize ? hip_result((uint32_t)OWN(hip.hipStreamSynchronize(S(s))))
					: hip_answer(DRIVER_LACKS);
}

static struct driver_result stream_query(uint64_t s)
{
	if (s == HIP_NO_STREAM)
		return hip_answer(DRIVER_OK);
	return hip.hipStreamQuery ? hip_result((uint32_t)OWN(hip.hipStreamQuery(S(s))))
				  : hip_answer(DRIVER_LACKS);
}

static struct driver_result stream_capturing(uint64_t s, bool *ret)
{
	hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
	hipError_t e;

	*ret = false;
	if (!hip.hipStreamIsCapturing)
		return hip_answer(DRIVER_OK);
	e = OWN(hip.hipStreamIsCapturing(S(s), &status));
	*ret = !e && status != hipStreamCaptureStatusNone;
	return hip_result((uint32_t)e);
}

/* ---- kernels ---- */

/* A launch names a kernel by the address of its stub in the host's code, which HIP knows, or by a
 * hipFunction_t; then the call's handler has asked for the name, which is the hint. */
static const char *name_of(uint64_t handle, const char *hint)
{
	const char *name = NULL;

	if (!hint && hip.hipKernelNameRefByPtr)
		name = OWN(hip.hipKernelNameRefByPtr((const void *)(uintptr_t)handle, NULL));
	return name ? name : hint;
}

/* HIP from 5.6 on loads a file's code when a kernel of it is first launched, or asked about. */
static bool code_of(uint64_t handle, const char *name, bool is_stub, struct hip_code *ret)
{
	hipFuncAttributes a;

	return hip_code_of(name, ret) ||
	       (is_stub && hip.hipFuncGetAttributes &&
		       !OWN(hip.hipFuncGetAttributes(&a, (const void *)(uintptr_t)handle)) &&
		       hip_code_of(name, ret));
}

static void kernel_facts(uint64_t handle, const char *hint, struct driver_kernel *ret)
{
	struct hip_code code;
	const char *name = name_of(handle, hint);

	*ret = (struct driver_kernel){.name = name ? name : "?"};
	ret->function = handle;
	ret->module = hip_module_of(handle);
	if (!name || !code_of(handle, name, !hint, &code))
		return;
	if (ret->module)
		hip_module_loaded(ret->module, code.loaded);
	else
		ret->module = code.loaded;
	if (tls.thread)
		code_loaded(tls.thread, code.object, code.size);
}

static void kernel_numbers(const struct driver_kernel *k, struct driver_numbers *ret)
{
	struct hip_code code;
	struct amd_kernel a;

	if (!hip_code_of(k->name, &code) ||
		!amd_object_kernel(code.object, code.size, k->name, &a, NULL, 0))
		return;
	ret->regs = a.vgprs;
	ret->static_shared = a.group_bytes;
	ret->local_mem = a.private_bytes;
	ret->max_threads = a.max_items;
}

/* The arguments that the program gives: the runtime's own come behind them. */
static int kernel_params(
	uint64_t handle, const struct driver_kernel *k, struct kernel_param *to, unsigned max)
{
	enum { MOST = 64 };
	struct amd_arg args[MOST];
	struct hip_code code;
	struct amd_kernel a;

	(void)handle;
	if (!hip_code_of(k->name, &code) ||
		!amd_object_kernel(code.object, code.size, k->name, &a, args, MOST) ||
		a.args > MOST || a.args > max)
		return -1;
	for (unsigned i = 0; i < a.args; i++) {
		if (args[i].offset > CALL_ARGS_MAX || args[i].size > CALL_ARGS_MAX - args[i].offset)
			return -1;
		to[i] = (struct kernel_param){(uint32_t)args[i].offset, (uint32_t)args[i].size};
	}
	return (int)a.args;
}

/* ---- events ---- */

#define E(handle) ((hipEvent_t)(uintptr_t)(handle))

static struct driver_result event_create(uint64_t *ret)
{
	hipEvent_t e = NULL;
	const hipError_t r = hip.hipEventCreateWithFlags
				     ? OWN(hip.hipEventCreateWithFlags(&e, hipEventDisableTiming))
				     : hipErrorNotSupported;

	*ret = H(e);
	return hip_result((uint32_t)r);
}

static struct driver_result event_record(uint64_t e, uint64_t s)
{
	return hip.hipEventRecord ? hip_result((uint32_t)OWN(hip.hipEventRecord(E(e), S(s))))
				  : hip_answer(DRIVER_LACKS);
}

static struct driver_result event_query(uint64_t e)
{
	return hip.hipEventQuery ? hip_result((uint32_t)OWN(hip.hipEventQuery(E(e))))
				 : hip_answer(DRIVER_LACKS);
}

/* ---- what is not there ---- */

#define LACKS(name, ...)                                                                           \
	static struct driver_result name(__VA_ARGS__)                                              \
	{                                                                                          \
		return hip_answer(DRIVER_LACKS);                                                   \
	}
LACKS(make, uint64_t *ret)
LACKS(on_handle, uint64_t s)
LACKS(stream_call, uint64_t s, void (*fn)(void *arg), void *arg)
LACKS(copy_on_device, uint64_t dst, uint64_t src, size_t n, uint64_t s)
LACKS(host_pin, void *p, size_t n)
LACKS(host_unpin, void *p)
LACKS(mem_alloc, uint64_t *ret, size_t n)
LACKS(gather_begin, struct driver_hasher *h, const struct hash_kernel_range *r, uint32_t nranges,
	uint64_t first, uint32_t n, uint64_t packed, uint64_t s)

static void leave(void)
{
}

static uint64_t context_hold(int device)
{
	return 0;
}

static void context_let_go(int device)
{
}

static unsigned relax(void)
{
	hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;

	if (hip.hipThreadExchangeStreamCaptureMode)
		(void)OWN(hip.hipThreadExchangeStreamCaptureMode(&mode));
	return (unsigned)mode;
}

static void restrict_again(unsigned was)
{
	hipStreamCaptureMode mode = (hipStreamCaptureMode)was;

	if (hip.hipThreadExchangeStreamCaptureMode)
		(void)OWN(hip.hipThreadExchangeStreamCaptureMode(&mode));
}

static bool no_capture(uint64_t s, uint64_t *ret)
{
	return false;
}

/* HIP knows allocations one by one, also those that share a piece of the HSA runtime's. */
static bool mem_at(uint64_t addr, struct driver_memory *ret)
{
	hipDeviceptr_t base = NULL, at = (hipDeviceptr_t)(uintptr_t)addr;
	hipPointerAttribute_t a;
	size_t size = 0;

	if (!hip.hipMemGetAddressRange || !hip.hipPointerGetAttributes ||
		OWN(hip.hipMemGetAddressRange(&base, &size, at)) || !size ||
		OWN(hip.hipPointerGetAttributes(&a, base)) || !hip_memory_is_device(&a) ||
		a.isManaged)
		return false;
	*ret = (struct driver_memory){.addr = H(base),
		.size = size,
		.ctx = hip_context(a.device),
		.device = (uint32_t)a.device,
		.mem = SBT_MEM_DEVICE};
	return true;
}

static uint64_t keep_new(uint64_t n, uint64_t *ret_addr, uint64_t *ret_bytes)
{
	return 0;
}

static void keep_free(uint64_t id, uint64_t addr, uint64_t bytes)
{
}

static bool keep_read(uint64_t id, uint64_t offset, void *dst, size_t n)
{
	return false;
}

static bool keep_is_safe(uint64_t id)
{
	return false;
}

static void old_code_want(
	struct object *module, uint64_t handle, bool is_kernel, struct object *ctx)
{
}

static bool old_code_waiting(void)
{
	return false;
}

static uint64_t old_code_settle(void)
{
	return 0;
}

static void old_code_find(struct thread *t)
{
}

const struct driver driver_hip = {
	.api = "HIP",
	.cannot_record = "memory of HIP programs is recorded on the software AMD GPU alone so far",
	.is_loaded = is_loaded,
	.open = hip_open,
	.is_open = is_open,
	.is_started = is_open,
	.is_soft = is_soft,
	.fills_fresh = fills_fresh,
	.can = can,
	.symbol = symbol,
	.version = version,
	.result_name = result_name,
	.result_is_fault = result_is_fault,
	.result = hip_result,
	.answer = hip_answer,
	.device_count = device_count,
	.device_facts = device_facts,
	.context_current = context_current,
	.context_facts = context_facts,
	.context_enter = hip_context_enter,
	.context_leave = hip_context_leave,
	.context_finish = hip_context_finish,
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
	.stream_capture = no_capture,
	.stream_captured = hip_stream_captured,
	.graphs = &graph_reader_hip,
	.stream_call = stream_call,
	.event_create = event_create,
	.event_record = event_record,
	.event_query = event_query,
	.copy_to_host = hip_copy_to_host,
	.copy_on_device = copy_on_device,
	.host_pin = host_pin,
	.host_unpin = host_unpin,
	.mem_unused = make,
	.mem_alloc = mem_alloc,
	.mem_free = on_handle,
	.mem_range = hip_mem_range,
	.mem_access = hip_mem_access,
	.mem_at = mem_at,
	.keep_new = keep_new,
	.keep_free = keep_free,
	.keep_read = keep_read,
	.keep_is_safe = keep_is_safe,
	.kernel_facts = kernel_facts,
	.kernel_numbers = kernel_numbers,
	.kernel_params = kernel_params,
	.global_find = hip_global_find,
	.old_code_want = old_code_want,
	.old_code_waiting = old_code_waiting,
	.old_code_settle = old_code_settle,
	.old_code_find = old_code_find,
	.old_code_forget = leave,
	.hash_open = hip_hash_open,
	.hash_close = hip_hash_close,
	.hash_forget = hip_hash_close,
	.hash_pages_begin = hip_hash_pages_begin,
	.hash_begin = hip_hash_begin,
	.hash_end = hip_hash_end,
	.hash_wait = hip_hash_wait,
	.gather_begin = gather_begin,
};
