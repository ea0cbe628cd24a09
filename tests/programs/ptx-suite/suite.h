/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of this folder share. Each computes something ordinary on the GPU, compares
 * with the same sum done on the CPU, prints "NAME: ok" and exits 0, or says what differs and
 * exits 1. They run on any CUDA device; most are compiled as HIP, too
 * (tests/programs/hip/cuda/cuda_as_hip.h).
 *
 * SUITE_RESULTS=FILE: a line in FILE for each comparison, by which two devices are compared.
 */
#ifndef SUITE_H
#define SUITE_H

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t check_ = (call);                                                       \
		if (check_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cudaGetErrorString(check_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* A device copy of a host vector; freed with the process. */
template <typename T> static T *to_device(const std::vector<T> &v)
{
	T *d;

	CHECK(cudaMalloc(&d, v.size() * sizeof(T)));
	CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return d;
}

template <typename T> static T *device_zeros(size_t n)
{
	T *d;

	CHECK(cudaMalloc(&d, n * sizeof(T)));
	CHECK(cudaMemset(d, 0, n * sizeof(T)));
	return d;
}

template <typename T> static std::vector<T> to_host(const T *d, size_t n)
{
	std::vector<T> v(n);

	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
	return v;
}

/* The same numbers on every machine. */
static inline unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* "floats f 96 4 1f2e...": what was compared, floating point or not, how many, bytes of one, FNV-1a
 * of all bytes. */
template <typename T> static void keep_result(const char *name, const std::vector<T> &got)
{
	const char *path = getenv("SUITE_RESULTS");
	const unsigned char *p = (const unsigned char *)got.data();
	unsigned long long hash = 0xcbf29ce484222325ull;
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	for (size_t i = 0; i < got.size() * sizeof(T); i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	fprintf(f, "%s\t%c\t%zu\t%zu\t%016llx\n", name,
		std::is_floating_point<T>::value ? 'f' : 'i', got.size(), sizeof(T), hash);
	fclose(f);
}

/* tolerance: relative, absolute below 1. 0: bit for bit equal. */
template <typename T>
static void compare(const char *name, const std::vector<T> &got, const std::vector<T> &want,
	double tolerance = 0)
{
	keep_result(name, got);
	for (size_t i = 0; i < want.size(); i++) {
		double a = (double)got[i], b = (double)want[i];
		double scale = std::fabs(b) > 1 ? std::fabs(b) : 1;

		if (got[i] == want[i] || (tolerance > 0 && std::fabs(a - b) <= tolerance * scale))
			continue;
		fprintf(stderr, "%s: [%zu] is %.17g, should be %.17g\n", name, i, a, b);
		exit(1);
	}
}

static inline int passed(const char *name)
{
	CHECK(cudaDeviceSynchronize());
	printf("%s: ok\n", name);
	return 0;
}

#endif
