/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the driver's functions. The library is the one already loaded (RTLD_NOLOAD): the agent
 * never brings a driver in.
 */
#include "capture/cuda/cuda-api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cuda_api cuda;

static void find_folder(void)
{
	Dl_info info;
	const char *slash;
	if (!dladdr((void *)(uintptr_t)cuda.cuDeviceGetCount, &info) ||
		!(slash = strrchr(info.dli_fname, '/')))
		return;
	const size_t n = (size_t)(slash + 1 - info.dli_fname);
	if (n < sizeof(cuda.folder))
		memcpy(cuda.folder, info.dli_fname, n);
}

int cuda_open(void)
{
	bool missing = false;
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!lib)
		lib = dlopen("libcuda.so", RTLD_NOW | RTLD_NOLOAD);
	if (!lib)
		return -ENOENT;
#define REQUIRED(name)                                                                             \
	cuda.name = (__typeof__(cuda.name))(uintptr_t)dlsym(lib, #name);                           \
	missing |= !cuda.name;
#define OPTIONAL(name) cuda.name = (__typeof__(cuda.name))(uintptr_t)dlsym(lib, #name);
	DRIVER_FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
	cuda.graph_node_get_dependencies_v1 =
		(__typeof__(cuda.graph_node_get_dependencies_v1))(uintptr_t)dlsym(
			lib, "cuGraphNodeGetDependencies");
	cuda.ctx_create_v2 =
		(__typeof__(cuda.ctx_create_v2))(uintptr_t)dlsym(lib, "cuCtxCreate_v2");
	cuda.stream_capture_info = (__typeof__(cuda.stream_capture_info))(uintptr_t)dlsym(
		lib, "cuStreamGetCaptureInfo_v2");
	cuda.lib = lib;
	cuda.soft = dlsym(lib, "tsdb_soft_set_hooks") != NULL;
	if (cuda.cuDeviceGetCount)
		find_folder();
	return missing ? -ENOSYS : 0;
}
