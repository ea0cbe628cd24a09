// SPDX-License-Identifier: Apache-2.0
//
// For bench-window.py: keeps MIB mebibytes of device memory live, in 16 allocations of numbers that do not compress, then launches warm() 50 times,
// work() COUNT times and after() 200 times, each followed by a wait, and prints what each launch took on the host. Prints one line of JSON.
//   window-load MIB COUNT [WINDOWS]
// WINDOWS times all of it but the filling: the window can be asked for again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#define PARTS 16
#define CHECK(call)                                                                              \
	do {                                                                                     \
		cudaError_t r_ = (call);                                                         \
		if (r_ != cudaSuccess) {                                                         \
			fprintf(stderr, "window-load: %s: %s\n", #call, cudaGetErrorString(r_)); \
			exit(1);                                                                 \
		}                                                                                \
	} while (0)

__device__ static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

__global__ void fill(uint64_t *p, size_t n, uint64_t seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		p[i] = mix(seed + i * 0x9e3779b97f4a7c15ull);
}

__global__ void warm(uint64_t *p)
{
	p[threadIdx.x] += 1;
}

__global__ void work(uint64_t *p, uint64_t k)
{
	p[k * 64 + threadIdx.x] = mix(p[k * 64 + threadIdx.x] + k);
}

__global__ void after(uint64_t *p)
{
	p[threadIdx.x] += 2;
}

static double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

// Milliseconds that a copy of everything takes on the device, best of 5.
static double copy_time(uint64_t *const *parts, size_t bytes)
{
	void *to;
	double best = 1e30;
	cudaEvent_t a, b;
	CHECK(cudaMalloc(&to, bytes));
	CHECK(cudaEventCreate(&a));
	CHECK(cudaEventCreate(&b));
	for (int run = 0; run < 5; run++) {
		float ms;
		CHECK(cudaEventRecord(a));
		for (int i = 0; i < PARTS; i++)
			CHECK(cudaMemcpyAsync(to, parts[i], bytes, cudaMemcpyDeviceToDevice));
		CHECK(cudaEventRecord(b));
		CHECK(cudaEventSynchronize(b));
		CHECK(cudaEventElapsedTime(&ms, a, b));
		best = ms < best ? ms : best;
	}
	CHECK(cudaFree(to));
	return best;
}

template <typename F> static void timed(const char *name, int n, F launch)
{
	std::vector<double> ms(n);
	for (int i = 0; i < n; i++) {
		const double begin = now();
		launch(i);
		ms[i] = now() - begin;
		CHECK(cudaDeviceSynchronize());
	}
	printf("\"%s\": [", name);
	for (int i = 0; i < n; i++)
		printf("%s%.4f", i ? ", " : "", ms[i]);
	printf("]");
}

int main(int argc, char **argv)
{
	const size_t bytes = (argc > 1 ? strtoull(argv[1], nullptr, 0) : 64) * (1 << 20) / PARTS;
	const int count = argc > 2 ? atoi(argv[2]) : 20, windows = argc > 3 ? atoi(argv[3]) : 1;
	uint64_t *parts[PARTS];
	for (int i = 0; i < PARTS; i++) {
		CHECK(cudaMalloc(&parts[i], bytes));
		fill<<<264, 256>>>(parts[i], bytes / 8, (uint64_t)i << 40);
	}
	CHECK(cudaDeviceSynchronize());
	printf("{\"bytes\": %zu, \"copy_ms\": %.4f, \"rounds\": [", bytes * PARTS, copy_time(parts, bytes));
	for (int w = 0; w < windows; w++) {
		printf("%s{", w ? ", " : "");
		timed("warm", 50, [&](int) { warm<<<1, 32>>>(parts[0]); });
		printf(", ");
		timed("work", count, [&](int i) { work<<<1, 64>>>(parts[i % PARTS], i); });
		printf(", ");
		timed("after", 200, [&](int) { after<<<1, 32>>>(parts[0]); });
		printf("}");
	}
	printf("]}\n");
	return 0;
}
