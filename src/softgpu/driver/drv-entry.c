/* SPDX-License-Identifier: Apache-2.0
 *
 * The door of libcuda.so.1: cuInit, what every call passes on its way in and out, cuGetProcAddress,
 * and the private tsdb_soft_* functions that our libcupti and libcudart use. After a fork the child
 * has no driver, like the vendor's: every call answers CUDA_ERROR_NOT_INITIALIZED.
 */
#include "softgpu/driver/drv.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int drv_watch;
_Atomic int drv_ready;
_Thread_local bool drv_in_host_fn;
pthread_mutex_t drv_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct soft_hooks *_Atomic hooks;
static _Atomic uint32_t last_correlation;
static _Atomic uint32_t last_uid;
static _Atomic bool forked;
static _Thread_local uint32_t current_correlation; /* 0: outside any call */
static _Thread_local bool inside_callback;

void drv_say(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "tsdb: software GPU: %s\n", line);
}

uint32_t drv_new_uid(void)
{
	return atomic_fetch_add(&last_uid, 1) + 1;
}

uint64_t now_realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- cuInit --- */

static void in_child(void)
{
	forked = true;
	drv_ready = 0;
	drv_watch = 0;
	hooks = NULL;
}

static void lock_for_fork(void)
{
	pthread_mutex_lock(&drv_lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&drv_lock);
}

static void in_child_unlock(void)
{
	pthread_mutex_unlock(&drv_lock);
	in_child();
}

/* The tool that CUDA_INJECTION64_PATH names is loaded once, inside cuInit, before any other call
 * can be seen. */
static void load_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*init)(void);
	void *lib;

	if (!path || !*path)
		return;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		drv_say("CUDA_INJECTION64_PATH: %s", dlerror());
		return;
	}
	init = (int (*)(void))dlsym(lib, "InitializeInjection");
	if (!init)
		drv_say("CUDA_INJECTION64_PATH: %s does not export InitializeInjection", path);
	else
		init();
}

static CUresult init_result = CUDA_ERROR_OUT_OF_MEMORY;
static _Thread_local bool initialising;

static void init_once(void)
{
	pthread_atfork(lock_for_fork, unlock_after_fork, in_child_unlock);
	if (!device_visible()) {
		init_result = CUDA_ERROR_NO_DEVICE;
		return;
	}
	if (!device_cc()) {
		init_result = CUDA_ERROR_INVALID_DEVICE;
		return;
	}
	if (!mem_total())
		return;
	init_result = CUDA_SUCCESS;
	drv_ready = 1;
	initialising = true; /* the tool may call cuInit too */
	load_injection();
	initialising = false;
	drv_raise(&(struct soft_resource){.kind = SOFT_INIT_FINISHED});
}

DRV_EARLY(1, cuInit, unsigned int, Flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!initialising)
		pthread_once(&once, init_once);
	return init_result;
}

CUresult drv_gate_slow(void)
{
	if (!drv_ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	/* "A host function must not make any CUDA API calls": CUDA driver API, cuLaunchHostFunc. */
	return drv_in_host_fn ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

DRV_EARLY(1, cuDriverGetVersion, int *, driverVersion)
{
	REQUIRE(driverVersion);
	*driverVersion = SOFT_CUDA_VERSION;
	return CUDA_SUCCESS;
}

/* --- callbacks --- */

void tsdb_soft_set_hooks(const struct soft_hooks *h)
{
	hooks = h;
	__atomic_store_n(&drv_watch, h != NULL, __ATOMIC_RELEASE);
}

const int *tsdb_soft_watched(void)
{
	return &drv_watch;
}

/* The launches whose first argument (or, for the Ex forms, second) is the kernel. */
static const char *launch_symbol(const struct soft_call *c)
{
	switch (c->cbid) {
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
		return tsdb_soft_symbol(((const cuLaunchKernel_params *)c->params)->f);
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
		return tsdb_soft_symbol(((const cuLaunchKernelEx_params *)c->params)->f);
	default:
		return NULL;
	}
}

static void call_hook(struct soft_call *c, bool exit)
{
	const struct soft_hooks *h = hooks;

	if (!h || !h->call)
		return;
	inside_callback = true;
	h->call(c, exit);
	inside_callback = false;
}

static void fill_context(struct soft_call *c)
{
	struct ctx *x = ctx_peek();

	c->ctx = (CUcontext)x;
	c->ctx_uid = x ? x->uid : 0;
}

void tsdb_soft_enter(struct soft_call *c)
{
	if (inside_callback) {
		c->quiet = true;
		return;
	}
	c->saved = current_correlation;
	if (!current_correlation)
		current_correlation = atomic_fetch_add(&last_correlation, 1) + 1;
	c->correlation = current_correlation;
	fill_context(c);
	if (c->domain == SOFT_DRIVER && c->params)
		c->symbol = launch_symbol(c);
	c->start_ns = now_realtime();
	call_hook(c, false);
}

void tsdb_soft_exit(struct soft_call *c)
{
	if (c->quiet)
		return;
	fill_context(c);
	call_hook(c, true);
	current_correlation = c->saved;
}

uint32_t drv_correlation(void)
{
	return current_correlation;
}

/* Also for what a call made from inside a call's callback brings about: a tool that has a module
 * loaded there wants to see its code. */
void drv_raise(const struct soft_resource *r)
{
	static _Thread_local bool inside_resource;
	const struct soft_hooks *h = hooks;
	bool was = inside_callback;

	if (!h || !h->resource || inside_resource)
		return;
	inside_callback = inside_resource = true;
	h->resource(r);
	inside_callback = was;
	inside_resource = false;
}

bool drv_wants_ops(void)
{
	const struct soft_hooks *h = hooks;

	return h && h->op;
}

void drv_report(const struct soft_op *op)
{
	const struct soft_hooks *h = hooks;

	if (h && h->op)
		h->op(op);
}

/* --- cuGetProcAddress --- */

extern const struct drv_entry __start_drv_entries[], __stop_drv_entries[];

/* Names whose meaning changed: from which CUDA version on which symbol is meant (cudaTypedefs.h).
 * Rows of a name go from old to new; a name without rows is its own symbol since version 0. */
static const struct version_row {
	const char *name, *symbol;
	int since;
} versions[] = {
	{"cuCtxCreate", "cuCtxCreate_v2", 3020},
	{"cuCtxCreate", "cuCtxCreate_v3", 11040},
	{"cuCtxCreate", "cuCtxCreate_v4", 12050},
	{"cuCtxDestroy", "cuCtxDestroy_v2", 4000},
	{"cuCtxGetDevice", "cuCtxGetDevice", 2000},
	{"cuCtxGetDevice", "cuCtxGetDevice_v2", 13000},
	{"cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000},
	{"cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000},
	{"cuCtxSynchronize", "cuCtxSynchronize", 2000},
	{"cuCtxSynchronize", "cuCtxSynchronize_v2", 13000},
	{"cuDeviceGetUuid", "cuDeviceGetUuid", 9020},
	{"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
	{"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000},
	{"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 11000},
	{"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", 11000},
	{"cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020},
	{"cuEventDestroy", "cuEventDestroy_v2", 4000},
	{"cuEventElapsedTime", "cuEventElapsedTime", 2000},
	{"cuEventElapsedTime", "cuEventElapsedTime_v2", 12080},
	{"cuGetProcAddress", "cuGetProcAddress", 11030},
	{"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
	{"cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000},
	{"cuGraphRemoveDependencies", "cuGraphRemoveDependencies_v2", 12030},
	{"cuGraphAddDependencies", "cuGraphAddDependencies_v2", 12030},
	{"cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", 12000},
	{"cuGraphAddNode", "cuGraphAddNode_v2", 12030},
	{"cuGraphGetEdges", "cuGraphGetEdges_v2", 12030},
	{"cuGraphInstantiate", "cuGraphInstantiate", 10000}, /* five arguments */
	{"cuGraphInstantiate", "cuGraphInstantiate_v2", 11000},
	{"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000}, /* three: cuda.h */
	{"cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams_v2", 12000},
	{"cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2", 12000},
	{"cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2", 12000},
	{"cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies_v2", 12030},
	{"cuGraphNodeGetDependentNodes", "cuGraphNodeGetDependentNodes_v2", 12030},
	{"cuMemAlloc", "cuMemAlloc_v2", 3020},
	{"cuMemAllocHost", "cuMemAllocHost_v2", 3020},
	{"cuMemAllocPitch", "cuMemAllocPitch_v2", 3020},
	{"cuMemAdvise", "cuMemAdvise_v2", 12020},
	{"cuMemFree", "cuMemFree_v2", 3020},
	{"cuMemGetAddressRange", "cuMemGetAddressRange_v2", 3020},
	{"cuMemGetInfo", "cuMemGetInfo_v2", 3020},
	{"cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2", 3020},
	{"cuMemHostRegister", "cuMemHostRegister_v2", 6050},
	{"cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 12020},
	{"cuMemcpy2D", "cuMemcpy2D_v2", 3020},
	{"cuMemcpy2DAsync", "cuMemcpy2DAsync_v2", 3020},
	{"cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned_v2", 3020},
	{"cuMemcpy3D", "cuMemcpy3D_v2", 3020},
	{"cuMemcpy3DAsync", "cuMemcpy3DAsync_v2", 3020},
	{"cuMemcpyDtoD", "cuMemcpyDtoD_v2", 3020},
	{"cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", 3020},
	{"cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020},
	{"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", 3020},
	{"cuMemcpyHtoD", "cuMemcpyHtoD_v2", 3020},
	{"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020},
	{"cuMemsetD16", "cuMemsetD16_v2", 3020},
	{"cuMemsetD2D16", "cuMemsetD2D16_v2", 3020},
	{"cuMemsetD2D32", "cuMemsetD2D32_v2", 3020},
	{"cuMemsetD2D8", "cuMemsetD2D8_v2", 3020},
	{"cuMemsetD32", "cuMemsetD32_v2", 3020},
	{"cuMemsetD8", "cuMemsetD8_v2", 3020},
	{"cuModuleGetGlobal", "cuModuleGetGlobal_v2", 3020},
	{"cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010},
	{"cuStreamDestroy", "cuStreamDestroy_v2", 4000},
	{"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030},
	{"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 12030},
	{"cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies_v2", 12030},
	{"cuStreamWaitValue32", "cuStreamWaitValue32_v2", 11070},
	{"cuStreamWaitValue64", "cuStreamWaitValue64_v2", 11070},
	{"cuStreamWriteValue32", "cuStreamWriteValue32_v2", 11070},
	{"cuStreamWriteValue64", "cuStreamWriteValue64_v2", 11070},
	{"cuStreamBatchMemOp", "cuStreamBatchMemOp_v2", 11070},
	{"cuThreadExchangeStreamCaptureMode", "cuThreadExchangeStreamCaptureMode", 10010},
};

static void *entry_named(const char *name, const char *suffix)
{
	const struct drv_entry *e;
	size_t n = strlen(name);

	for (e = __start_drv_entries; e < __stop_drv_entries; e++)
		if (!strncmp(e->name, name, n) && !strcmp(e->name + n, suffix))
			return e->fn;
	return NULL;
}

/* The symbol that `name` means for a program written against `version`; *too_old when only newer
 * ones exist. */
static const char *symbol_for(const char *name, int version, bool *too_old)
{
	const char *ret = NULL;
	bool known = false;
	size_t i;

	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (strcmp(versions[i].name, name))
			continue;
		known = true;
		if (versions[i].since <= version)
			ret = versions[i].symbol;
	}
	*too_old = known && !ret;
	return known ? ret : name;
}

static CUresult proc_address(const char *symbol, void **pfn, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	const cuuint64_t both =
		CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	const char *name;
	bool too_old;

	REQUIRE(symbol && pfn && !(flags & ~both) && flags != both);
	*pfn = NULL;
	name = symbol_for(symbol, version, &too_old);
	if (name && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) {
		*pfn = entry_named(name, "_ptsz");
		if (!*pfn)
			*pfn = entry_named(name, "_ptds");
	}
	if (name && !*pfn)
		*pfn = entry_named(name, "");
	if (name && !*pfn) /* calls that we refuse have no row in the table above */
		*pfn = entry_named(name, "_v2");
	if (status)
		*status = *pfn	    ? CU_GET_PROC_ADDRESS_SUCCESS
			  : too_old ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

DRV_EARLY(5, cuGetProcAddress_v2, const char *, symbol, void **, pfn, int, cudaVersion, cuuint64_t,
	flags, CUdriverProcAddressQueryResult *, symbolStatus)
{
	CUresult r = proc_address(symbol, pfn, cudaVersion, flags, symbolStatus);

	/* With somewhere to put the status, "not found" is an answer, not an error. */
	return r == CUDA_ERROR_NOT_FOUND && symbolStatus ? CUDA_SUCCESS : r;
}

DRV_EARLY(4, cuGetProcAddress, const char *, symbol, void **, pfn, int, cudaVersion, cuuint64_t,
	flags)
{
	return proc_address(symbol, pfn, cudaVersion, flags, NULL);
}

DRV_EARLY(2, cuGetExportTable, const void **, ppExportTable, const CUuuid *, pExportTableId)
{
	REQUIRE(ppExportTable && pExportTableId);
	*ppExportTable = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

DRV_DEFINE0(cuProfilerStart)
{
	struct ctx *c;

	return ctx_current(&c);
}

DRV_DEFINE0(cuProfilerStop)
{
	struct ctx *c;

	return ctx_current(&c);
}
