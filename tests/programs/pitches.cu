/* SPDX-License-Identifier: Apache-2.0
 *
 * What a driver takes a pitch of 0 and a height of 0 in CUDA_MEMCPY3D for: a table of where rows really came from and went to, with the rule
 * of src/sbt/cmd/footprint.c (a pitch of 0 is x and the width, a height of 0 is y and the copy's) beside it. Ends with 1 when a copy that the driver did differs
 * from the rule. Run it on a machine with a GPU; on the software GPU it is a test.
 *
 *     pitches race    such a copy, and two fills on other streams: one of bytes that the copy reads, one of bytes between its slices
 */
#include "gpu.h"
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

#define BYTES 16384u
#define WIDTH 32u
#define HEIGHT 4u
#define DEPTH 3u

typedef CUresult copy_fn(const CUDA_MEMCPY3D *, CUstream);

/* A side as given, and where its first row, the next row and the next slice begin. */
struct side {
	size_t pitch, height, x, y, z;
};
struct lies {
	long first, row, slice;
};

static struct lies rule(const struct side *s)
{
	const long pitch = (long)(s->pitch ? s->pitch : s->x + WIDTH), slice = pitch * (long)(s->height ? s->height : s->y + HEIGHT);

	return (struct lies){(long)s->z * slice + (long)s->y * pitch + (long)s->x, pitch, slice};
}

static CUDA_MEMCPY3D describe(void *dst, const struct side *d, void *src, const struct side *s)
{
	CUDA_MEMCPY3D m;

	memset(&m, 0, sizeof m);
	m.srcMemoryType = m.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	m.srcDevice = (CUdeviceptr)src;
	m.srcPitch = s->pitch;
	m.srcHeight = s->height;
	m.srcXInBytes = s->x;
	m.srcY = s->y;
	m.srcZ = s->z;
	m.dstDevice = (CUdeviceptr)dst;
	m.dstPitch = d->pitch;
	m.dstHeight = d->height;
	m.dstXInBytes = d->x;
	m.dstY = d->y;
	m.dstZ = d->z;
	m.WidthInBytes = WIDTH;
	m.Height = HEIGHT;
	m.Depth = DEPTH;
	return m;
}

static unsigned words[BYTES / 4];

/* The source's word i is i + 1, and the destination's are 0: what arrived says from where, and where it lies says where to. */
static void look(unsigned *dst, struct lies *from, struct lies *to)
{
	long at[DEPTH * HEIGHT], came[DEPTH * HEIGHT];
	unsigned n = 0;

	CHECK(cudaMemcpy(words, dst, BYTES, cudaMemcpyDeviceToHost));
	*from = *to = (struct lies){-1, -1, -1};
	/* A row begins where the word before it is not the source's word before. */
	for (unsigned i = 0; i < BYTES / 4 && n < DEPTH * HEIGHT; i++)
		if (words[i] && (n == 0 || (long)i * 4 >= at[n - 1] + (long)WIDTH)) {
			at[n] = 4l * i;
			came[n++] = 4l * (words[i] - 1);
		}
	if (n < DEPTH * HEIGHT)
		return;
	*to = (struct lies){at[0], at[1] - at[0], at[HEIGHT] - at[0]};
	*from = (struct lies){came[0], came[1] - came[0], came[HEIGHT] - came[0]};
}

static bool same(struct lies a, struct lies b)
{
	return a.first == b.first && a.row == b.row && a.slice == b.slice;
}

static int one(copy_fn *copy, unsigned *dst, const struct side *d, unsigned *src, const struct side *s)
{
	const CUDA_MEMCPY3D m = describe(dst, d, src, s);
	struct lies from, to;

	CHECK(cudaMemset(dst, 0, BYTES));
	const CUresult r = copy(&m, NULL);
	CHECK(cudaDeviceSynchronize());
	printf("src %3zu %2zu (%zu,%zu,%zu)  dst %3zu %2zu (%zu,%zu,%zu)  ", s->pitch, s->height, s->x, s->y, s->z, d->pitch, d->height, d->x, d->y, d->z);
	if (r) {
		printf("refused: %d\n", (int)r);
		return 0;
	}
	look(dst, &from, &to);
	const bool good = same(from, rule(s)) && same(to, rule(d));
	printf("from %ld %ld %ld  to %ld %ld %ld  %s\n", from.first, from.row, from.slice, to.first, to.row, to.slice, good ? "as the rule" : "NOT AS THE RULE");
	return !good;
}

static int table(copy_fn *copy, unsigned *dst, unsigned *src)
{
	static const struct side sides[] = {{64, 10, 0, 0, 0}, {64, 0, 0, 0, 0}, {0, 10, 0, 0, 0}, {0, 0, 0, 0, 0},
		{64, 10, 4, 1, 2}, {64, 0, 4, 1, 2}, {0, 10, 0, 1, 2}, {0, 0, 0, 1, 2}, {0, 10, 4, 1, 2}};
	const unsigned n = sizeof sides / sizeof *sides;
	int bad = 0;

	printf("pitch height (x,y,z) of each side; where the first row lies, bytes to the next row, to the next slice\n");
	for (unsigned i = 0; i < n; i++)
		bad += one(copy, dst, &sides[0], src, &sides[i]);
	for (unsigned i = 1; i < n; i++)
		bad += one(copy, dst, &sides[i], src, &sides[0]);
	printf("%d of %u differ from the rule\n", bad, 2 * n - 1);
	return bad != 0;
}

/* The copy reads 0 to 127, 320 to 447 and 640 to 767 of src. */
static int race(copy_fn *copy, unsigned *dst, unsigned *src)
{
	static const struct side gaps = {0, 10, 0, 0, 0}, none = {0, 0, 0, 0, 0};
	const CUDA_MEMCPY3D m = describe(dst, &none, src, &gaps);
	cudaStream_t a, b, c;

	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
	if (copy(&m, (CUstream)a))
		return 77; /* the driver refuses it */
	CHECK(cudaMemsetAsync((char *)src + 640, 1, 32, b));
	CHECK(cudaMemsetAsync((char *)src + 200, 1, 32, c));
	CHECK(cudaDeviceSynchronize());
	return 0;
}

int main(int argc, char **argv)
{
	unsigned *src, *dst;
	copy_fn *copy = (copy_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpy3DAsync_v2");

	CHECK(cudaMalloc(&src, BYTES));
	CHECK(cudaMalloc(&dst, BYTES));
	for (unsigned i = 0; i < BYTES / 4; i++)
		words[i] = i + 1;
	CHECK(cudaMemcpy(src, words, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
	return argc > 1 ? race(copy, dst, src) : table(copy, dst, src);
}
