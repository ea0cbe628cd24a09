/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of this folder share. Each computes something ordinary on the GPU, compares
 * with the same sum done on the CPU, prints "NAME: ok" and exits 0, or says what differs and
 * exits 1. They run on any CUDA device.
 */
#ifndef SUITE_H
#define SUITE_H

#include <cmath>
#include <cstdio>
#include <cstdlib>
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

/* tolerance: relative, absolute below 1. 0: bit for bit equal. */
template <typename T>
static void compare(const char *name, const std::vector<T> &got, const std::vector<T> &want,
	double tolerance = 0)
{
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
