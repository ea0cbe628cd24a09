// SPDX-License-Identifier: Apache-2.0
//
// Launches in HIP's own forms: grids counted in work-items, whose last workgroups are smaller (the
// kernel has no bounds, so that a whole workgroup would write too much), and events that a launch
// records. The argument is module_code.co.
#include "hip_check.h"
#include <hip/hip_ext.h>

__global__ void plus(unsigned *v, unsigned by)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

#pragma clang diagnostic ignored "-Wdeprecated-declarations" /* hipHccModuleLaunchKernel */

enum { W = 100, H = 37, ROOM = 128 * 48 };

static unsigned v[ROOM];

/* 100 x 37 work-items in workgroups of 64 x 8. */
static void items(hipFunction_t f, unsigned *d, hipStream_t s)
{
	unsigned pitch = 128;
	struct {
		unsigned *v;
		unsigned pitch;
	} block = {d, pitch};
	size_t size = sizeof(block);
	void *args[] = {&d, &pitch};
	void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 HIP_LAUNCH_PARAM_END};

	HIP(hipMemsetAsync(d, 0, sizeof(v), s));
	HIP(hipExtModuleLaunchKernel(f, W, H, 1, 64, 8, 1, 0, s, args, NULL, NULL, NULL, 0));
	HIP(hipHccModuleLaunchKernel(f, W, H, 1, 64, 8, 1, 0, s, NULL, extra, NULL, NULL));
	HIP(hipExtModuleLaunchKernel(f, 36, 1, 1, 64, 1, 1, 0, s, args, NULL, NULL, NULL, 0));
	HIP(hipMemcpyAsync(v, d, sizeof(v), hipMemcpyDeviceToHost, s));
	HIP(hipStreamSynchronize(s));
	for (unsigned y = 0; y < 48; y++)
		for (unsigned x = 0; x < pitch; x++)
			SAME(v[y * pitch + x] == (x < W && y < H ? 2u : 0u) + (x < 36 && !y), "an item");
}

/* b goes on when the launch in a has ended, by the event that the launch records. */
static void events(hipFunction_t f, unsigned *d, hipStream_t a, hipStream_t b)
{
	unsigned by = 3, pitch = 128;
	void *args[] = {&d, &by}, *more[] = {&d, &pitch};
	hipEvent_t start, stop;
	float ms = -1;

	HIP(hipEventCreate(&start));
	HIP(hipEventCreate(&stop));
	HIP(hipMemsetAsync(d, 0, sizeof(v), a));
	HIP(hipExtLaunchKernel((const void *)plus, dim3(16), dim3(64), args, 0, a, start, stop, 0));
	HIP(hipStreamWaitEvent(b, stop, 0));
	plus<<<16, 64, 0, b>>>(d, 4);
	HIP(hipExtModuleLaunchKernel(f, 100, 1, 1, 64, 1, 1, 0, b, more, NULL, start, stop, 0));
	HIP(hipEventSynchronize(stop));
	HIP(hipEventElapsedTime(&ms, start, stop));
	SAME(ms >= 0, "a time");
	HIP(hipMemcpy(v, d, sizeof(v), hipMemcpyDeviceToHost));
	for (unsigned i = 0; i < ROOM; i++)
		SAME(v[i] == (i < 1024 ? 7u : 0u) + (i < 100), "a word");
}

int main(int argc, char **argv)
{
	hipModule_t module;
	hipFunction_t f;
	hipStream_t a, b;
	unsigned *d;

	if (argc != 2)
		return 2;
	HIP(hipModuleLoad(&module, argv[1]));
	HIP(hipModuleGetFunction(&f, module, "mark_items"));
	HIP(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
	HIP(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
	HIP(hipMalloc(&d, sizeof(v)));
	items(f, d, a);
	events(f, d, a, b);
	printf("launches are right\n");
}
