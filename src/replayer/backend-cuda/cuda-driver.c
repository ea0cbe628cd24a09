/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens libcuda.so.1 and finds its functions; LD_LIBRARY_PATH decides which driver that is. Also
 * devices, contexts and results.
 */
#include "replayer/backend-cuda/cuda-driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "gpucode/cuda-faults.h"

struct cuda_tables cuda_tables;

/* --- opening --- */

static void *look_up(void *lib, const char *name)
{
	return dlsym(lib, name);
}

/* Returns the last name of a missing function; NULL: none is missing. */
static const char *find_functions(void *lib)
{
	struct cuda_functions *ret = &cuda_tables.call;
	const char *missing = NULL;

#define OPTIONAL(name) ret->name = (__typeof__(ret->name))(uintptr_t)dlsym(lib, #name);
#define REQUIRED(name)                                                                             \
	OPTIONAL(name)                                                                             \
	if (!ret->name)                                                                            \
		missing = #name;
	CUDA_FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
	/* The plain name: cuda.h maps it to the newest version's. */
	if (!ret->cuEventElapsedTime)
		ret->cuEventElapsedTime = (__typeof__(ret->cuEventElapsedTime))(uintptr_t)dlsym(
			lib, "cuEventElapsedTime");
	return missing;
}

static unsigned what_it_can(bool can_hash)
{
	const struct cuda_functions *f = &cuda_tables.call;
	const bool places = f->cuMemAddressReserve && f->cuMemAddressFree && f->cuMemCreate &&
			    f->cuMemRelease && f->cuMemMap && f->cuMemSetAccess &&
			    f->cuMemGetAllocationGranularity;
	const bool peers = f->cuDeviceCanAccessPeer && f->cuCtxEnablePeerAccess;
	const bool textures = f->cuArray3DCreate_v2 && f->cuArrayDestroy && f->cuTexObjectCreate &&
			      f->cuTexObjectDestroy && f->cuSurfObjectCreate &&
			      f->cuSurfObjectDestroy;

	return (can_hash ? GPU_CAN_HASH : 0) | (places ? GPU_CAN_PLACE : 0) |
	       (peers ? GPU_CAN_PEERS : 0) | (f->cuLaunchKernelEx ? GPU_CAN_LAUNCH_MORE : 0) |
	       (f->cuFuncGetParamInfo ? GPU_CAN_PARAMS : 0) |
	       (f->cuStreamWriteValue32_v2 ? GPU_CAN_WRITE_32 : 0) |
	       (f->cuStreamWriteValue64_v2 ? GPU_CAN_WRITE_64 : 0) |
	       (f->cuEventElapsedTime ? GPU_CAN_TIME : 0) |
	       (f->cuGraphKernelNodeSetAttribute ? GPU_CAN_NODE_LAUNCH_MORE : 0) |
	       (f->cuGraphAddEventRecordNode ? GPU_CAN_NODE_RECORD : 0) |
	       (f->cuGraphAddEventWaitNode ? GPU_CAN_NODE_WAIT : 0) |
	       (textures ? GPU_CAN_TEXTURES : 0) | GPU_CAN_GRAPHS;
}

static struct err *open_driver(struct backend_library *ret)
{
	memset(ret, 0, sizeof *ret);
	/* Code that is loaded at its first launch would delay that launch and take memory that a
	 * checkpoint already uses. */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	ret->handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!ret->handle)
		return err_cure(err_new(ERR_NOT_FOUND, "no GPU driver to replay on: %s", dlerror()),
			"replay on the software GPU, or install the NVIDIA driver");
	const char *missing = find_functions(ret->handle);
	ret->device = ret->handle;
	ret->soft = dlsym(ret->handle, "tsdb_soft_set_hooks") != NULL;
	ret->ptx_only = ret->soft;
	if (missing)
		return err_cure(err_new(ERR_UNSUPPORTED, "the GPU driver has no %s", missing),
			"replaying needs a driver of CUDA 12.0 or later");
	ret->can = what_it_can(hash_kernel_driver_fill(&cuda_tables.hash, look_up, ret->handle));
	ret->inside = (void *)(uintptr_t)CU.cuInit;
	ret->tables = &cuda_tables;
	ret->tables_size = sizeof cuda_tables;
	return NULL;
}

struct gpu_result cuda_start(void)
{
	return cuda_result(CU.cuInit(0), "cuInit");
}

/* --- results --- */

const char *cuda_result_name(int code)
{
	const char *name = NULL;

	return CU.cuGetErrorName((CUresult)code, &name) ? NULL : name;
}

bool cuda_result_is_fault(int code)
{
	return cuda_code_is_fault((uint32_t)code);
}

struct gpu_result cuda_failed(CUresult r, const char *call)
{
	static const struct {
		CUresult code;
		enum gpu_status status;
	} known[] = {
		{CUDA_ERROR_NOT_READY, GPU_NOT_READY},
		{CUDA_ERROR_NOT_FOUND, GPU_NOT_FOUND},
		{CUDA_ERROR_OUT_OF_MEMORY, GPU_NO_MEMORY},
		{CUDA_ERROR_INVALID_VALUE, GPU_REFUSED},
		{CUDA_ERROR_NOT_SUPPORTED, GPU_REFUSED},
		{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, GPU_ALREADY},
	};
	enum gpu_status status = cuda_result_is_fault((int)r) ? GPU_FAULT : GPU_FAILED;

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].code == r)
			status = known[i].status;
	return (struct gpu_result){status, (int)r, call};
}

/* --- devices and contexts --- */

struct gpu_result cuda_driver_version(int *ret)
{
	return cuda_result(CU.cuDriverGetVersion(ret), "cuDriverGetVersion");
}

struct gpu_result cuda_device_count(int *ret)
{
	return cuda_result(CU.cuDeviceGetCount(ret), "cuDeviceGetCount");
}

struct gpu_result cuda_device_get(int *ret, int ordinal)
{
	return cuda_result(CU.cuDeviceGet(ret, ordinal), "cuDeviceGet");
}

struct gpu_result cuda_device_name(char *ret, int size, int device)
{
	return cuda_result(CU.cuDeviceGetName(ret, size, device), "cuDeviceGetName");
}

struct gpu_result cuda_device_sees(bool *ret, int device, int other)
{
	int can = 0;
	const CUresult r = CU.cuDeviceCanAccessPeer(&can, device, other);

	*ret = can;
	return cuda_result(r, "cuDeviceCanAccessPeer");
}

struct gpu_result cuda_context_open(struct gpu_context **ret, int device)
{
	CUcontext c = NULL;
	const CUresult r = CU.cuDevicePrimaryCtxRetain(&c, device);

	*ret = (struct gpu_context *)c;
	return cuda_result(r, "cuDevicePrimaryCtxRetain");
}

struct gpu_result cuda_context_enter(struct gpu_context *c)
{
	return cuda_result(CU.cuCtxSetCurrent((CUcontext)c), "cuCtxSetCurrent");
}

struct gpu_result cuda_context_open_to(struct gpu_context *c)
{
	return cuda_result(CU.cuCtxEnablePeerAccess((CUcontext)c, 0), "cuCtxEnablePeerAccess");
}

struct gpu_result cuda_context_finish(void)
{
	return cuda_result(CU.cuCtxSynchronize(), "cuCtxSynchronize");
}

struct gpu_result cuda_context_limit(int limit, uint64_t value)
{
	return cuda_result(CU.cuCtxSetLimit((CUlimit)limit, value), "cuCtxSetLimit");
}

struct gpu_result cuda_context_limit_is(int limit, uint64_t *ret)
{
	size_t value = 0;
	const struct gpu_result r =
		cuda_result(CU.cuCtxGetLimit(&value, (CUlimit)limit), "cuCtxGetLimit");

	*ret = value;
	return r;
}

/* --- the table --- */

static const char *const texture_calls[] = {"cuTexObjectCreate", "cuSurfObjectCreate",
	"cuTexRefSetArray", "cuTexRefSetAddress", "cuTexRefSetAddress2D",
	"cuTexRefSetMipmappedArray", "cuSurfRefSetArray", NULL};

/* CUDA driver API, cuCtxSetLimit. */
static const int limits_once[] = {CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE, -1};

#define ROW(op) .op = cuda_##op,
const struct backend backend_cuda = {.open = open_driver,
	.texture_calls = texture_calls,
	.machine_code = CODE_CUBIN,
	.limits_once = limits_once,
	.attr_max_shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
	CUDA_OPERATIONS(ROW)};
