// SPDX-License-Identifier: Apache-2.0
//
// A load and its use in assembly, with the wait between them ("right") and without ("wrong").
#include "hip_check.h"

template <bool RIGHT> __global__ void twice(int *v)
{
	int *p = v + threadIdx.x, x, y;

	if (RIGHT)
		asm volatile("global_load_dword %0, %2, off\n\ts_waitcnt vmcnt(0)\n\tv_add_u32 %1, %0, %0"
			     : "=&v"(x), "=&v"(y)
			     : "v"(p)
			     : "memory");
	else
		asm volatile("global_load_dword %0, %2, off\n\tv_add_u32 %1, %0, %0"
			     : "=&v"(x), "=&v"(y)
			     : "v"(p)
			     : "memory");
	*p = y;
}

int main(int argc, char **argv)
{
	int v[64], *d;

	for (int i = 0; i < 64; i++)
		v[i] = i * 3;
	HIP(hipMalloc(&d, sizeof(v)));
	HIP(hipMemcpy(d, v, sizeof(v), hipMemcpyHostToDevice));
	if (argc > 1 && !strcmp(argv[1], "right"))
		twice<true><<<1, 64>>>(d);
	else
		twice<false><<<1, 64>>>(d);
	HIP(hipMemcpy(v, d, sizeof(v), hipMemcpyDeviceToHost));
	for (int i = 0; i < 64; i++)
		SAME(v[i] == i * 6, "a product");
	printf("twice is right\n");
}
