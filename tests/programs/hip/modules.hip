// SPDX-License-Identifier: Apache-2.0
//
// A module from a file (the argument), its kernel launched with pointers to its arguments and with a block
// of them.
#include "hip_check.h"

int main(int argc, char **argv)
{
	enum { N = 100 };
	struct {
		float *v;
		float by;
		short n;
	} block;
	float v[N], by = 2;
	short n = N;
	size_t size = sizeof(block);
	hipModule_t module;
	hipFunction_t f;
	float *d;

	if (argc != 2)
		return 2;
	HIP(hipModuleLoad(&module, argv[1]));
	HIP(hipModuleGetFunction(&f, module, "scale"));
	for (int i = 0; i < N; i++)
		v[i] = i;
	HIP(hipMalloc(&d, sizeof(v)));
	HIP(hipMemcpyHtoD((hipDeviceptr_t)d, v, sizeof(v)));
	void *args[] = {&d, &by, &n};
	HIP(hipModuleLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
	block = {d, 3, N};
	void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 HIP_LAUNCH_PARAM_END};
	HIP(hipModuleLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
	HIP(hipMemcpyDtoH(v, (hipDeviceptr_t)d, sizeof(v)));
	for (int i = 0; i < N; i++)
		SAME(v[i] == 6.0f * i, "a number");
	HIP(hipModuleUnload(module));
	printf("modules are right\n");
}
