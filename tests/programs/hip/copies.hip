// SPDX-License-Identifier: Apache-2.0
//
// Copies of every kind of size between host and device, from 1 byte up to as many MiB as the argument
// says (16), and of rows; each comes back as it was, and nothing behind it has changed.
#include "hip_check.h"

static void fill(unsigned char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}

static void linear(size_t n)
{
	unsigned char *from = (unsigned char *)malloc(n), *back = (unsigned char *)malloc(n + 1), *d;

	fill(from, n, (unsigned)n);
	back[n] = 0x5a;
	HIP(hipMalloc(&d, n));
	HIP(hipMemcpy(d, from, n, hipMemcpyHostToDevice));
	HIP(hipMemcpy(back, d, n, hipMemcpyDeviceToHost));
	SAME(!memcmp(from, back, n) && back[n] == 0x5a, "bytes that came back");
	HIP(hipFree(d));
	free(from);
	free(back);
}

static void rows(size_t width, size_t height)
{
	size_t pitch, from_pitch = width + 12, n = from_pitch * height;
	unsigned char *from = (unsigned char *)malloc(n), *back = (unsigned char *)malloc(n), *d;

	fill(from, n, 7);
	memset(back, 0x5a, n);
	HIP(hipMallocPitch((void **)&d, &pitch, width, height));
	HIP(hipMemcpy2D(d, pitch, from, from_pitch, width, height, hipMemcpyHostToDevice));
	HIP(hipMemcpy2D(back, from_pitch, d, pitch, width, height, hipMemcpyDeviceToHost));
	for (size_t y = 0; y < height; y++) {
		SAME(!memcmp(from + y * from_pitch, back + y * from_pitch, width), "rows that came back");
		for (size_t x = width; x < from_pitch; x++)
			SAME(back[y * from_pitch + x] == 0x5a, "bytes between rows");
	}
	HIP(hipFree(d));
	free(from);
	free(back);
}

static void pinned(size_t n)
{
	unsigned char *from, *back, *d;
	hipStream_t s;

	HIP(hipHostMalloc((void **)&from, n, 0));
	HIP(hipHostMalloc((void **)&back, n, 0));
	HIP(hipStreamCreate(&s));
	fill(from, n, 3);
	HIP(hipMalloc(&d, n));
	HIP(hipMemcpyAsync(d, from, n, hipMemcpyHostToDevice, s));
	HIP(hipMemcpyAsync(back, d, n, hipMemcpyDeviceToHost, s));
	HIP(hipStreamSynchronize(s));
	SAME(!memcmp(from, back, n), "pinned bytes that came back");
	HIP(hipStreamDestroy(s));
	HIP(hipFree(d));
	HIP(hipHostFree(from));
	HIP(hipHostFree(back));
}

int main(int argc, char **argv)
{
	size_t most = (argc > 1 ? strtoull(argv[1], NULL, 0) : 16) << 20;

	for (size_t n = 1; n < most; n = n * 3 + 1)
		linear(n);
	linear(most);
	rows(64, 5);
	rows(1000, 33);
	rows(4, 4096);
	pinned(1 << 20);
	printf("copies are right\n");
}
