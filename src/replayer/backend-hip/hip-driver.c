/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens libamdhip64 and finds its functions; LD_LIBRARY_PATH decides which libhsakmt.so.1 lies
 * below it. Also devices, contexts and results. The surprising thing: the runtime compiles kernels
 * of its own when a device gets its first queue, which takes a second and needs files, so start()
 * does all that, and is called before the sandbox shuts (starts_first).
 */
#include "replayer/backend-hip/hip-driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct hip_tables hip_tables;

/* --- opening --- */

/* Returns the last name of a missing function; NULL: none is missing. */
static const char *find_functions(void *lib)
{
	const char *missing = NULL;

#define REQUIRED(name)                                                                             \
	HIP.name = (__typeof__(HIP.name))(uintptr_t)dlsym(lib, #name);                             \
	if (!HIP.name)                                                                             \
		missing = #name;
	HIP_FUNCTIONS(REQUIRED)
#undef REQUIRED
	HIP.launch_items = (hip_launch_items_fn *)(uintptr_t)dlsym(lib, HIP_LAUNCH_ITEMS);
	return missing;
}

/* The code objects that are loaded, as the HSA runtime lists them for debuggers. */
static void *find_loaded(void)
{
	void *lib = dlopen("libhsa-runtime64.so.1", RTLD_LAZY);
	void *at = lib ? dlsym(lib, "_amdgpu_r_debug") : NULL;

	if (lib)
		dlclose(lib); /* libamdhip64 keeps it */
	return at;
}

/* The device is no library of libamdhip64's with ROCm 7, whose HSA runtime loads it later. */
static struct err *find_device(struct backend_library *ret)
{
	void *const device = ret->device = dlopen("libhsakmt.so.1", RTLD_LAZY);

#define FIND(name)                                                                                 \
	hip_tables.name =                                                                          \
		(__typeof__(hip_tables.name))(uintptr_t)(device ? dlsym(device,                    \
									  "tsdb_softamd_" #name)   \
								: NULL)
	FIND(place);
	FIND(range);
	FIND(order);
#undef FIND
	hip_tables.loaded = find_loaded();
	if (hip_tables.place && hip_tables.range && hip_tables.order && hip_tables.loaded)
		return NULL;
	return err_cure(err_new(ERR_UNSUPPORTED,
				"HIP traces are replayed on the software AMD GPU alone so far"),
		"`replay start --on soft` takes that; `--on none` replays the state without executing anything");
}

static struct err *open_driver(struct backend_library *ret)
{
	static const char *const names[] = {
		"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

	memset(ret, 0, sizeof *ret);
	/* Recorded addresses stay free, and an allocation is one of the device's, not a piece of a
	 * larger one. */
	setenv("TSDB_SOFTAMD_ASIDE", "1", 1);
	setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 1);
	setenv("HSA_ENABLE_DTIF", "1", 1); /* the device below ROCm 7: softamd/libdtif.so */
	unsetenv("HSA_TOOLS_LIB");
	for (unsigned i = 0; i < sizeof names / sizeof *names && !ret->handle; i++)
		ret->handle = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
	if (!ret->handle)
		return err_cure(
			err_new(ERR_NOT_FOUND, "no HIP runtime to replay on: %s", dlerror()),
			"install the HIP runtime (libamdhip64-5, -6 or -7); `--on none` replays the state without executing anything");
	const char *missing = find_functions(ret->handle);
	if (missing)
		return err_new(ERR_UNSUPPORTED, "the HIP runtime has no %s", missing);
	TRY(find_device(ret));
	ret->can = GPU_CAN_HASH | GPU_CAN_PLACE | GPU_CAN_PARAMS | GPU_CAN_WRITE_32 |
		   GPU_CAN_WRITE_64 | GPU_CAN_TIME | GPU_CAN_GRAPHS | GPU_CAN_NODE_RECORD |
		   GPU_CAN_NODE_WAIT | (HIP.launch_items ? GPU_CAN_LAST : 0);
	ret->soft = true;
	ret->inside = (void *)(uintptr_t)HIP.hipInit;
	ret->tables = &hip_tables;
	ret->tables_size = sizeof hip_tables;
	return NULL;
}

/* The first queue, and with it the runtime's own kernels; code objects and events, whose first use
 * reads files, too. */
static hipError_t warm_up(void)
{
	void *p = NULL;
	hipError_t r = HIP.hipMalloc(&p, HIP_TABLE_PAGE);

	if (!r)
		r = HIP.hipMemset(p, 0, HIP_TABLE_PAGE);
	if (!r)
		r = HIP.hipDeviceSynchronize();
	if (p)
		(void)HIP.hipFree(p);
	return r;
}

struct gpu_result hip_start(void)
{
	hipError_t r = HIP.hipInit(0);

	if (!r)
		r = HIP.hipSetDevice(0);
	return hip_result(r ? r : warm_up(), r ? "hipInit" : "starting the device");
}

/* --- results --- */

const char *hip_result_name(int code)
{
	return HIP.hipGetErrorName((hipError_t)code);
}

bool hip_result_is_fault(int code)
{
	return code == hipErrorIllegalAddress || code == hipErrorLaunchFailure ||
	       code == hipErrorLaunchTimeOut || code == hipErrorAssert ||
	       code == hipErrorECCNotCorrectable;
}

struct gpu_result hip_failed(hipError_t r, const char *call)
{
	static const struct {
		hipError_t code;
		enum gpu_status status;
	} known[] = {
		{hipErrorNotReady, GPU_NOT_READY},
		{hipErrorNotFound, GPU_NOT_FOUND},
		{hipErrorOutOfMemory, GPU_NO_MEMORY},
		{hipErrorInvalidValue, GPU_REFUSED},
		{hipErrorNotSupported, GPU_REFUSED},
	};
	enum gpu_status status = hip_result_is_fault((int)r) ? GPU_FAULT : GPU_FAILED;

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].code == r)
			status = known[i].status;
	return (struct gpu_result){status, (int)r, call};
}

/* --- devices and contexts: a device has one of its own --- */

struct gpu_result hip_driver_version(int *ret)
{
	return hip_result(HIP.hipRuntimeGetVersion(ret), "hipRuntimeGetVersion");
}

struct gpu_result hip_device_count(int *ret)
{
	return hip_result(HIP.hipGetDeviceCount(ret), "hipGetDeviceCount");
}

struct gpu_result hip_device_get(int *ret, int ordinal)
{
	*ret = ordinal;
	return (struct gpu_result){GPU_OK, 0, "a device"};
}

/* What code must be for there: "gfx90a:sramecc+:xnack-". */
struct gpu_result hip_device_name(char *ret, int size, int device)
{
	hipDeviceProp_t p;
	const hipError_t r = HIP.hipGetDeviceProperties(&p, device);
	const size_t n = r || size < 1 ? 0 : strnlen(p.gcnArchName, (size_t)size - 1);

	if (size > 0) {
		memcpy(ret, p.gcnArchName, n);
		ret[n] = '\0';
	}
	return hip_result(r, "hipGetDeviceProperties");
}

struct gpu_result hip_context_open(struct gpu_context **ret, int device)
{
	*ret = (struct gpu_context *)((uintptr_t)device + 1);
	return (struct gpu_result){GPU_OK, 0, "a device"};
}

struct gpu_result hip_context_enter(struct gpu_context *c)
{
	return hip_result(HIP.hipSetDevice((int)((uintptr_t)c - 1)), "hipSetDevice");
}

struct gpu_result hip_context_finish(void)
{
	return hip_result(HIP.hipDeviceSynchronize(), "hipDeviceSynchronize");
}

/* --- the table --- */

static const char *const texture_calls[] = {"hipCreateTextureObject", "hipTexObjectCreate",
	"hipCreateSurfaceObject", "hipBindTexture", "hipTexRefSet", NULL};

#define ROW(op) .op = hip_##op,
const struct backend backend_hip = {.open = open_driver,
	.starts_first = true,
	.texture_calls = texture_calls,
	.attr_max_shared = hipFuncAttributeMaxDynamicSharedMemorySize,
	.machine_code = CODE_AMD_OBJECT,
	HIP_OPERATIONS(ROW)};
