/* SPDX-License-Identifier: Apache-2.0
 *
 * grown_array: an array in two pieces of memory, mapped one right behind the other, as programs do
 * whose arrays grow. A fill covers both (#8); twice a copy reads from the end of the first into the
 * second (#11, #12), and names an address of the first only.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *lib;

static void check(CUresult r, const char *what)
{
	if (r) {
		fprintf(stderr, "grown_array: %s: %d\n", what, (int)r);
		exit(1);
	}
}

#define CU(fn, name, ...) check(((__typeof__(&fn))dlsym(lib, name))(__VA_ARGS__), name)

static CUdeviceptr array_new(size_t *ret_piece)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUmemGenericAllocationHandle h;
	CUdeviceptr base;
	size_t n;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CU(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", &n, &prop,
		CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	CU(cuMemAddressReserve, "cuMemAddressReserve", &base, 2 * n, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		CU(cuMemCreate, "cuMemCreate", &h, n, &prop, 0);
		CU(cuMemMap, "cuMemMap", base + i * n, n, 0, h, 0);
	}
	CU(cuMemSetAccess, "cuMemSetAccess", base, 2 * n, &access, 1);
	*ret_piece = n;
	return base;
}

int main(void)
{
	CUdeviceptr array, to;
	CUcontext ctx;
	CUdevice dev;
	char out[64];
	size_t piece;

	lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		return 1;
	CU(cuInit, "cuInit", 0);
	CU(cuDeviceGet, "cuDeviceGet", &dev, 0);
	CU(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", &ctx, dev);
	CU(cuCtxSetCurrent, "cuCtxSetCurrent", ctx);
	array = array_new(&piece);
	CU(cuMemAlloc, "cuMemAlloc_v2", &to, sizeof out);
	CU(cuMemsetD8, "cuMemsetD8_v2", array, 7, 2 * piece);
	CU(cuCtxSynchronize, "cuCtxSynchronize");
	for (int i = 0; i < 2; i++)
		CU(cuMemcpyDtoD, "cuMemcpyDtoD_v2", to, array + piece - 32, sizeof out);
	CU(cuCtxSynchronize, "cuCtxSynchronize");
	CU(cuMemcpyDtoH, "cuMemcpyDtoH_v2", out, to, sizeof out);
	printf("%d %d\n", out[0], out[63]);
	return out[0] != 7 || out[63] != 7;
}
