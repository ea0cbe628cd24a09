/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of calls that wait, see waiting-calls.h. Source: CUDA driver API and runtime API, "API
 * synchronization behavior"; that freeing waits is documented for cudaFree() and true of the others
 * here, which give back what the device may use.
 */
#include "gpucode/waiting-calls.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	enum gpu_wait waits;
} calls[] = {
	{"cuStreamSynchronize", GPU_WAITS_STREAM},
	{"cudaStreamSynchronize", GPU_WAITS_STREAM},
	{"cuEventSynchronize", GPU_WAITS_EVENT},
	{"cudaEventSynchronize", GPU_WAITS_EVENT},
	{"cuCtxSynchronize", GPU_WAITS_ALL},
	{"cudaDeviceSynchronize", GPU_WAITS_ALL},
	{"cudaThreadSynchronize", GPU_WAITS_ALL},
	{"cuMemFree", GPU_WAITS_ALL},
	{"cudaFree", GPU_WAITS_ALL},
	{"cuMemFreeHost", GPU_WAITS_ALL},
	{"cudaFreeHost", GPU_WAITS_ALL},
	{"cuMemHostUnregister", GPU_WAITS_ALL},
	{"cudaHostUnregister", GPU_WAITS_ALL},
	{"cuArrayDestroy", GPU_WAITS_ALL},
	{"cudaFreeArray", GPU_WAITS_ALL},
	{"cuModuleUnload", GPU_WAITS_ALL},
	{"cuLibraryUnload", GPU_WAITS_ALL},
	{"cuCtxDestroy", GPU_WAITS_ALL},
	{"cudaDeviceReset", GPU_WAITS_ALL},
	{"cuDevicePrimaryCtxReset", GPU_WAITS_ALL},
	{"cuDevicePrimaryCtxRelease", GPU_WAITS_ALL},
	{"cuMemcpy", GPU_WAITS_DEFAULT},
	{"cuMemcpyHtoD", GPU_WAITS_DEFAULT},
	{"cuMemcpyDtoH", GPU_WAITS_DEFAULT},
	{"cuMemcpy2D", GPU_WAITS_DEFAULT},
	{"cuMemcpy2DUnaligned", GPU_WAITS_DEFAULT},
	{"cuMemcpy3D", GPU_WAITS_DEFAULT},
	{"cudaMemcpy", GPU_WAITS_DEFAULT},
	{"cudaMemcpy2D", GPU_WAITS_DEFAULT},
	{"cudaMemcpy3D", GPU_WAITS_DEFAULT},
	{"cudaMemcpyToSymbol", GPU_WAITS_DEFAULT},
	{"cudaMemcpyFromSymbol", GPU_WAITS_DEFAULT},
};

/* Where "_v2", "_ptsz" and the like begin. */
static size_t plain_length(const char *f)
{
	static const char *const ends[] = {"_ptsz", "_ptds", "_v2", "_v3"};
	size_t n = strlen(f);

	for (unsigned i = 0; i < 4; i++) {
		const size_t end = strlen(ends[i]);

		if (n > end && !strncmp(f + n - end, ends[i], end))
			n -= end;
	}
	return n;
}

enum gpu_wait gpu_call_waits(const char *function)
{
	const size_t n = plain_length(function);

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strlen(calls[i].name) == n && !strncmp(calls[i].name, function, n))
			return calls[i].waits;
	return GPU_WAITS_NOT;
}

bool gpu_library_has_threads(const char *path)
{
	static const char *const begin[] = {
		"libcuda.so.", "libcupti.so.", "libnvidia-", "libnvperf"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	return false;
}
