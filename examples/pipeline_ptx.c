/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline example through the driver API, with the PTX that nvcc made of pipeline.cu inside
 * the program: it needs no CUDA compiler to build, only cuda.h and a libcuda.so.1 to run.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNKS 8
#define N 4096

/* The PTX text, from examples/ptx/pipeline.ptx, with a final NUL. */
__asm__(".section .rodata\n"
	".global pipeline_ptx\n"
	"pipeline_ptx:\n"
	".incbin \"pipeline.ptx\"\n"
	".byte 0\n"
	".previous\n");
extern const char pipeline_ptx[];

static void check(CUresult r, const char *call, int line)
{
	const char *why = NULL;

	if (r == CUDA_SUCCESS)
		return;
	cuGetErrorString(r, &why);
	fprintf(stderr, "pipeline_ptx.c:%d: %s: %s\n", line, call, why ? why : "unknown error");
	exit(1);
}
#define CHECK(call) check(call, #call, __LINE__)

static float value(unsigned i)
{
	i = i * 2654435761u + 12345u;
	return (float)((i >> 16) % 1000) / 1000.0f - 0.5f;
}

static void launch(CUfunction f, unsigned block, CUstream s, void **args)
{
	CHECK(cuLaunchKernel(f, N / block, 1, 1, block, 1, 1, 0, s, args, NULL));
}

static int wrong(const float *host, const float *result)
{
	for (int i = 0; i < N; i++) {
		float want = 0;

		for (int c = 0; c < CHUNKS; c++)
			want += 2.0f * host[c * N + i];
		if (result[i] != want)
			return printf(
				"pipeline_ptx: WRONG at %d: %g, not %g\n", i, result[i], want);
	}
	return 0;
}

int main(void)
{
	const size_t bytes = N * sizeof(float);
	float *host, *result, by = 2.0f;
	CUdeviceptr buffer[2], sum;
	CUevent loaded[2], done[2];
	CUfunction scale, accumulate;
	CUstream load, work;
	CUmodule module;
	CUcontext ctx;
	CUdevice dev;
	int n = N;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoadData(&module, pipeline_ptx));
	CHECK(cuModuleGetFunction(&scale, module, "_Z5scalePffi"));
	CHECK(cuModuleGetFunction(&accumulate, module, "_Z10accumulatePfPKfi"));
	CHECK(cuMemHostAlloc((void **)&host, CHUNKS * bytes, 0));
	CHECK(cuMemHostAlloc((void **)&result, bytes, 0));
	for (int i = 0; i < CHUNKS * N; i++)
		host[i] = value(i);
	CHECK(cuStreamCreate(&load, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&sum, bytes));
	for (int b = 0; b < 2; b++) {
		CHECK(cuMemAlloc(&buffer[b], bytes));
		CHECK(cuEventCreate(&loaded[b], CU_EVENT_DISABLE_TIMING));
		CHECK(cuEventCreate(&done[b], CU_EVENT_DISABLE_TIMING));
	}
	CHECK(cuMemsetD8Async(sum, 0, bytes, work));
	for (int c = 0; c < CHUNKS; c++) {
		int b = c % 2;
		void *scale_args[] = {&buffer[b], &by, &n}, *sum_args[] = {&sum, &buffer[b], &n};

		if (c >= 2)
			CHECK(cuStreamWaitEvent(load, done[b], 0));
		CHECK(cuMemcpyHtoDAsync(buffer[b], host + c * N, bytes, load));
		launch(scale, 256, load, scale_args);
		CHECK(cuEventRecord(loaded[b], load));
		CHECK(cuStreamWaitEvent(work, loaded[b], 0));
		launch(accumulate, 128, work, sum_args);
		CHECK(cuEventRecord(done[b], work));
	}
	CHECK(cuMemcpyDtoHAsync(result, sum, bytes, work));
	CHECK(cuStreamSynchronize(work));
	if (wrong(host, result))
		return 1;
	for (int b = 0; b < 2; b++) {
		CHECK(cuEventDestroy(loaded[b]));
		CHECK(cuEventDestroy(done[b]));
		CHECK(cuMemFree(buffer[b]));
	}
	CHECK(cuMemFree(sum));
	CHECK(cuStreamDestroy(load));
	CHECK(cuStreamDestroy(work));
	CHECK(cuMemFreeHost(host));
	CHECK(cuMemFreeHost(result));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(dev));
	printf("pipeline_ptx: %d chunks ok\n", CHUNKS);
	return 0;
}
