/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that are alike, and launches that only look it: alike NAME [COUNT]. On two streams that nothing orders, so that what each touches has to be
 * known to the byte. In the names with a "_race" the last launch does what the others do not.
 */
#include "../../examples/check.h"
#include <cstdlib>
#include <cstring>
#include <functional>

enum { N = 1024, TILE = 16, SIDE = 256 };

static __global__ void product(float *c, const float *a, const float *b, int n, float scale)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < n; k += TILE) {
		as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
		__syncthreads();
	}
	c[row * n + col] = scale * sum;
}

/* Where it writes is a parameter of another kind: its value is no base. */
static __global__ void put(int *to, int at, int value)
{
	to[at + (int)threadIdx.x] = value;
}

/* Where it writes lies in memory. */
static __global__ void put_indexed(int *to, const int *at, int value)
{
	to[*at + (int)threadIdx.x] = value;
}

/* Whether it writes lies in memory. */
static __global__ void put_if(int *to, const int *flag, int value)
{
	if (*flag)
		to[threadIdx.x] = value;
}

/* Which of the two it writes to is a parameter, and both are bases. */
static __global__ void put_either(int *one, int *other, int which, int value)
{
	(which ? one : other)[threadIdx.x] = value;
}

/* How far apart the pointers are decides where it writes: neither is a base alone. */
static __global__ void put_by_distance(int *to, const int *from, int value)
{
	to[(from - to) / N + threadIdx.x] = value;
}

/* Where it writes is what an atomic gives. */
static __global__ void put_counted(int *to, int *count, int value)
{
	to[atomicAdd(count, 1)] = value;
}

static cudaStream_t stream(void)
{
	cudaStream_t s;

	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	return s;
}

template <typename T> static T *zeros(size_t n)
{
	T *p;

	CHECK(cudaMalloc(&p, n * sizeof *p));
	CHECK(cudaMemset(p, 0, n * sizeof *p));
	CHECK(cudaDeviceSynchronize());
	return p;
}

static void products(int count, bool race)
{
	cudaStream_t s[2] = {stream(), stream()};
	float *m[6];

	for (float *&p : m)
		p = zeros<float>(SIDE * SIDE);
	for (int i = 0; i < count; i++) { /* a stream writes to its own, in turn to the one and the other, and reads what nobody writes */
		float *c = m[2 * (i % 2) + i / 2 % 2];

		product<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE), 0, s[i % 2]>>>(race && i == count - 1 ? m[0] : c, m[4], m[5], SIDE, i);
	}
}

static void on_two(int count, const std::function<void(cudaStream_t s, int *mine, int i)> &launch)
{
	cudaStream_t s[2] = {stream(), stream()};
	int *data = zeros<int>(2 * N);

	for (int i = 0; i < count; i++)
		launch(s[i % 2], data + i % 2 * N, i);
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const bool race = strstr(name, "_race") != NULL;
	const int count = argc > 2 ? atoi(argv[2]) : 10;
	int *words = zeros<int>(2); /* one for each stream */
	const auto is = [name](const char *s) { return !strncmp(name, s, strlen(s)) && (!name[strlen(s)] || name[strlen(s)] == '_'); };
	const auto last = [=](int i) { return race && i == count - 1; };
	/* What the last launch finds in the second stream's word. */
	const auto now = [&](cudaStream_t s, int i, int value) {
		if (last(i))
			CHECK(cudaMemcpyAsync(words + 1, &value, sizeof value, cudaMemcpyHostToDevice, s));
	};

	if (is("product"))
		products(count, race);
	else if (is("offset"))
		on_two(count, [&](cudaStream_t s, int *mine, int i) { put<<<1, 32, 0, s>>>(mine, last(i) ? -N : 0, i); });
	else if (is("index"))
		on_two(count, [&](cudaStream_t s, int *mine, int i) {
			now(s, i, -N);
			put_indexed<<<1, 32, 0, s>>>(mine, words + i % 2, i);
		});
	else if (is("branch"))
		on_two(count, [&](cudaStream_t s, int *mine, int i) {
			now(s, i, 1);
			if (i % 2)
				put_if<<<1, 32, 0, s>>>(mine - N, words + 1, i);
			else
				put<<<1, 32, 0, s>>>(mine, 0, i);
		});
	else if (is("either"))
		on_two(count, [&](cudaStream_t s, int *mine, int i) { put_either<<<1, 32, 0, s>>>(mine, mine - i % 2 * N, !last(i), i); });
	else if (is("distance"))
		on_two(count, [&](cudaStream_t s, int *mine, int i) { put_by_distance<<<1, 32, 0, s>>>(mine, last(i) ? mine - N * N : mine, i); });
	else if (is("counted"))
		on_two(count, [&](cudaStream_t s, int *mine, int i) { put_counted<<<1, 1, 0, s>>>(mine, words + i % 2, i); });
	CHECK(cudaDeviceSynchronize());
	printf("alike: ok\n");
	return 0;
}
