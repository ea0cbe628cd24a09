/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends with a driver call that takes a number and changes nothing. Argument: module (a load that fails), release (of a context that
 * is still held), unknown (a call that no command kind describes, and that fails), destroy (of an event that is none), alone (a load that fails, in
 * a program that does nothing else).
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include "gpu.h"

template <typename F>
static F *driver(F *, const char *name)
{
	static void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	return lib ? (F *)dlsym(lib, name) : NULL;
}
#define DRIVER(name, symbol) (driver(name, symbol))

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "module";
	int *n, r = 0;
	CUDA_ARRAY_DESCRIPTOR no_array = {};
	CUarray array;
	CUcontext ctx;
	CUmodule m;

	if (strcmp(how, "alone")) {
		n = counter_new();
		count<<<1, 32>>>(n, 1);
		printf("failed_last: %d\n", counter_value(n));
	} else {
		CHECK(cudaFree(NULL));
	}
	if (!strcmp(how, "module") || !strcmp(how, "alone"))
		r = DRIVER(cuModuleLoadData, "cuModuleLoadData")(&m, "no code");
	else if (!strcmp(how, "release"))
		r = DRIVER(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")(&ctx, 0) ||
			DRIVER(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")(0);
	else if (!strcmp(how, "unknown"))
		r = DRIVER(cuArrayCreate, "cuArrayCreate_v2")(&array, &no_array);
	else if (!strcmp(how, "destroy"))
		r = DRIVER(cuEventDestroy, "cuEventDestroy_v2")((CUevent)0x1234560);
	printf("failed_last: %s\n", r ? "failed" : "done");
	return 0;
}
