/* SPDX-License-Identifier: Apache-2.0
 *
 * cuRAND's generators in kernels (its device headers). The generators against the numbers of their papers; skipping ahead; the distributions by
 * their mean and variance, which a wrong bit anywhere would not survive.
 */
#include "suite.h"
#include <curand_kernel.h>

#define THREADS 256
#define EACH 16

/* Philox 4x32-10 with key and counter 0; and every generator, far ahead at once and step by step. */
__global__ void known(unsigned *philox, unsigned *skipped)
{
	curandStatePhilox4_32_10_t p, q;

	curand_init(0, 0, 0, &p);
	uint4 v = curand4(&p);
	philox[0] = v.x;
	philox[1] = v.y;
	philox[2] = v.z;
	philox[3] = v.w;

	/* The thousandth number, by skipping and one after the other. */
	curandStateXORWOW_t a, b;
	curand_init(77, 3, 0, &a);
	curand_init(77, 3, 1000, &b);
	for (int i = 0; i < 1000; i++)
		curand(&a);
	skipped[0] = curand(&a);
	skipped[1] = curand(&b);
	curandStateMRG32k3a_t c, d;
	curand_init(5, 2, 0, &c);
	curand_init(5, 2, 500, &d);
	for (int i = 0; i < 500; i++)
		curand(&c);
	skipped[2] = curand(&c);
	skipped[3] = curand(&d);
	curand_init(9, 1, 101, &p);
	curand_init(9, 1, 0, &q);
	for (int i = 0; i < 101; i++)
		curand(&q);
	skipped[4] = curand(&p);
	skipped[5] = curand(&q);
}

template <typename STATE> __global__ void draw(float *uniform, float *normal, double *exact)
{
	int i = blockIdx.x * THREADS + threadIdx.x;
	STATE s;

	curand_init(1234, i, 0, &s);
	for (int k = 0; k < EACH; k++) {
		uniform[i * EACH + k] = curand_uniform(&s);
		normal[i * EACH + k] = curand_normal(&s);
		exact[i * EACH + k] = curand_uniform_double(&s);
	}
}

template <typename T> static void moments(const char *name, const std::vector<T> &v, double mean, double variance)
{
	double m = 0, s = 0;

	for (T x : v)
		m += x / (double)v.size();
	for (T x : v)
		s += (x - m) * (x - m) / (double)v.size();
	/* Four standard errors of 4,096 numbers, and some. */
	compare(name, std::vector<double>{m, s}, std::vector<double>{mean, variance}, 0.07);
}

template <typename STATE> static void check(const char *name)
{
	const int n = THREADS * EACH;
	float *uniform = device_zeros<float>(n), *normal = device_zeros<float>(n);
	double *exact = device_zeros<double>(n);

	draw<STATE><<<1, THREADS>>>(uniform, normal, exact);
	for (float v : to_host(uniform, n))
		if (!(v > 0 && v <= 1)) {
			fprintf(stderr, "%s: uniform %g\n", name, v);
			exit(1);
		}
	moments(name, to_host(uniform, n), 0.5, 1 / 12.0);
	moments(name, to_host(normal, n), 0, 1);
	moments(name, to_host(exact, n), 0.5, 1 / 12.0);
}

int main()
{
	unsigned *philox = device_zeros<unsigned>(4), *skipped = device_zeros<unsigned>(6);

	known<<<1, 1>>>(philox, skipped);
	/* The known answer of Random123, "Parallel Random Numbers: As Easy as 1, 2, 3" (2011). */
	compare("philox", to_host(philox, 4), std::vector<unsigned>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
	std::vector<unsigned> s = to_host(skipped, 6);
	compare("skipping", std::vector<unsigned>{s[1], s[3], s[5]}, std::vector<unsigned>{s[0], s[2], s[4]});
	check<curandStatePhilox4_32_10_t>("philox");
	check<curandStateXORWOW_t>("xorwow");
	return passed("curand");
}
