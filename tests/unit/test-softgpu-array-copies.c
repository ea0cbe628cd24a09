/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's copies to, from and between arrays: rectangles, and runs of bytes that go on in the
 * next row, at random places, against a model of both arrays; and what each refuses.
 */
#include "softgpu-test.h"

#include <cuda_runtime_api.h>
#include <string.h>

#define RT(call) assert_int_equal(call, cudaSuccess)
#define RT_IS(call, code) assert_int_equal(call, cudaError##code)

static struct array {
	cudaArray_t h;
	size_t row, rows; /* bytes; rows */
	unsigned char bytes[256];
} arrays[2] = {{.row = 24, .rows = 9}, {.row = 14, .rows = 15}}; /* of bytes; of 16 bits */

static char *memory; /* of the device */
static cudaStream_t stream;

static unsigned seed = 7;
static size_t rnd(size_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 9) % n;
}

static size_t size_of(const struct array *a)
{
	return a->row * a->rows;
}

static int start(void **state)
{
	const struct cudaChannelFormatDesc c8 = {8, 0, 0, 0, cudaChannelFormatKindUnsigned},
					   c16 = {16, 0, 0, 0, cudaChannelFormatKindUnsigned};

	softgpu_start(state);
	RT(cudaSetDevice(0));
	RT(cudaMallocArray(&arrays[0].h, &c8, 24, 9, 0));
	RT(cudaMallocArray(&arrays[1].h, &c16, 7, 15, 0));
	RT(cudaMalloc((void **)&memory, 1024));
	RT(cudaStreamCreate(&stream));
	for (unsigned k = 0; k < 2; k++) {
		for (size_t n = 0; n < size_of(&arrays[k]); n++)
			arrays[k].bytes[n] = (unsigned char)rnd(256);
		RT(cudaMemcpy2DToArray(arrays[k].h, 0, 0, arrays[k].bytes, arrays[k].row,
			arrays[k].row, arrays[k].rows, cudaMemcpyHostToDevice));
	}
	return 0;
}

static int stop(void **state)
{
	RT(cudaStreamDestroy(stream));
	RT(cudaFree(memory));
	RT(cudaFreeArray(arrays[0].h));
	RT(cudaFreeArray(arrays[1].h));
	return softgpu_stop(state);
}

static void compare(void)
{
	for (unsigned k = 0; k < 2; k++) {
		const struct array *a = &arrays[k];
		unsigned char got[256];

		RT(cudaMemcpy2DFromArray(
			got, a->row, a->h, 0, 0, a->row, a->rows, cudaMemcpyDeviceToHost));
		assert_memory_equal(got, a->bytes, size_of(a));
	}
}

/* Host memory, or the device's, with the same bytes; and how to name the copy. */
static char *side(bool device, char *host, const unsigned char *bytes, size_t n)
{
	memcpy(host, bytes, n);
	if (device)
		RT(cudaMemcpy(memory, bytes, n, cudaMemcpyHostToDevice));
	return device ? memory : host;
}

static void test_rectangles(void **state)
{
	for (unsigned round = 0; round < 300; round++) {
		struct array *a = &arrays[rnd(2)];
		const size_t x = rnd(a->row), y = rnd(a->rows), w = rnd(a->row - x + 1),
			     h = rnd(a->rows - y + 1), pitch = w + rnd(4);
		const bool in = rnd(2), device = rnd(2), async = rnd(2);
		const enum cudaMemcpyKind kind = rnd(3) == 0 ? cudaMemcpyDefault
						 : device    ? cudaMemcpyDeviceToDevice
						 : in	     ? cudaMemcpyHostToDevice
							     : cudaMemcpyDeviceToHost;
		unsigned char bytes[1024], got[1024];
		char host[1024], *p;

		for (size_t k = 0; k < sizeof bytes; k++)
			bytes[k] = (unsigned char)rnd(256);
		p = side(device, host, bytes, sizeof bytes);
		if (in)
			RT(async ? cudaMemcpy2DToArrayAsync(
					   a->h, x, y, p, pitch, w, h, kind, stream)
				 : cudaMemcpy2DToArray(a->h, x, y, p, pitch, w, h, kind));
		else
			RT(async ? cudaMemcpy2DFromArrayAsync(
					   p, pitch, a->h, x, y, w, h, kind, stream)
				 : cudaMemcpy2DFromArray(p, pitch, a->h, x, y, w, h, kind));
		RT(cudaStreamSynchronize(stream));
		for (size_t k = 0; k < h; k++)
			if (in)
				memcpy(a->bytes + (y + k) * a->row + x, bytes + k * pitch, w);
			else
				memcpy(bytes + k * pitch, a->bytes + (y + k) * a->row + x, w);
		RT(cudaMemcpy(got, p, sizeof got, cudaMemcpyDefault));
		assert_memory_equal(got, bytes, sizeof got);
		compare();
	}
}

static void test_runs(void **state)
{
	for (unsigned round = 0; round < 300; round++) {
		struct array *a = &arrays[rnd(2)];
		const size_t x = rnd(a->row), y = rnd(a->rows), from = y * a->row + x,
			     n = rnd(size_of(a) - from + 1);
		const bool in = rnd(2), device = rnd(2), async = rnd(2);
		const enum cudaMemcpyKind kind = device ? cudaMemcpyDeviceToDevice
						 : in	? cudaMemcpyHostToDevice
							: cudaMemcpyDeviceToHost;
		unsigned char bytes[256], got[256];
		char host[256], *p;

		for (size_t k = 0; k < sizeof bytes; k++)
			bytes[k] = (unsigned char)rnd(256);
		p = side(device, host, bytes, sizeof bytes);
		if (in)
			RT(async ? cudaMemcpyToArrayAsync(a->h, x, y, p, n, kind, stream)
				 : cudaMemcpyToArray(a->h, x, y, p, n, kind));
		else
			RT(async ? cudaMemcpyFromArrayAsync(p, a->h, x, y, n, kind, stream)
				 : cudaMemcpyFromArray(p, a->h, x, y, n, kind));
		RT(cudaStreamSynchronize(stream));
		memcpy(in ? a->bytes + from : bytes, in ? bytes : a->bytes + from, n);
		RT(cudaMemcpy(got, p, sizeof got, cudaMemcpyDefault));
		assert_memory_equal(got, bytes, sizeof got);
		compare();
	}
}

static void test_between(void **state)
{
	for (unsigned round = 0; round < 200; round++) {
		struct array *d = &arrays[round & 1], *s = &arrays[!(round & 1)];
		const size_t dx = rnd(d->row), dy = rnd(d->rows), sx = rnd(s->row),
			     sy = rnd(s->rows), to = dy * d->row + dx, from = sy * s->row + sx;

		if (round & 2) {
			const size_t most = size_of(d) - to < size_of(s) - from ? size_of(d) - to
										: size_of(s) - from,
				     n = rnd(most + 1);

			RT(cudaMemcpyArrayToArray(
				d->h, dx, dy, s->h, sx, sy, n, cudaMemcpyDeviceToDevice));
			memcpy(d->bytes + to, s->bytes + from, n);
		} else {
			const size_t w = rnd((d->row - dx < s->row - sx ? d->row - dx
									: s->row - sx) +
					     1),
				     h = rnd((d->rows - dy < s->rows - sy ? d->rows - dy
									  : s->rows - sy) +
					     1);

			RT(cudaMemcpy2DArrayToArray(
				d->h, dx, dy, s->h, sx, sy, w, h, cudaMemcpyDeviceToDevice));
			for (size_t k = 0; k < h; k++)
				memcpy(d->bytes + to + k * d->row, s->bytes + from + k * s->row, w);
		}
		compare();
	}
}

static void test_refusals(void **state)
{
	struct array *a = &arrays[0];
	char host[64] = {0};

	RT_IS(cudaMemcpy2DToArray(a->h, 0, 0, host, 8, 8, 2, cudaMemcpyDeviceToHost),
		InvalidMemcpyDirection);
	RT_IS(cudaMemcpy2DFromArray(host, 8, a->h, 0, 0, 8, 2, cudaMemcpyHostToDevice),
		InvalidMemcpyDirection);
	RT_IS(cudaMemcpy2DArrayToArray(a->h, 0, 0, a->h, 0, 0, 4, 1, cudaMemcpyHostToDevice),
		InvalidMemcpyDirection);
	RT_IS(cudaMemcpy2DToArray(a->h, 0, 0, host, 7, 8, 2, cudaMemcpyHostToDevice),
		InvalidPitchValue);
	RT_IS(cudaMemcpy2DFromArray(host, 7, a->h, 0, 0, 8, 2, cudaMemcpyDeviceToHost),
		InvalidPitchValue);
	RT_IS(cudaMemcpyToArray(a->h, 24, 0, host, 1, cudaMemcpyHostToDevice), InvalidValue);
	RT(cudaMemcpyToArray(a->h, 24, 0, host, 0, cudaMemcpyHostToDevice));
	RT_IS(cudaMemcpyFromArray(host, a->h, 24, 0, 1, cudaMemcpyDeviceToHost), InvalidValue);
	RT_IS(cudaMemcpyArrayToArray(a->h, 24, 0, a->h, 0, 0, 1, cudaMemcpyDeviceToDevice),
		InvalidValue);
	RT_IS(cudaMemcpyArrayToArray(a->h, 0, 0, a->h, 24, 0, 1, cudaMemcpyDeviceToDevice),
		InvalidValue);
	RT_IS(cudaMemcpyToArray(a->h, 23, 8, host, 2, cudaMemcpyHostToDevice), InvalidValue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rectangles),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("softgpu-array-copies", tests, start, stop);
}
