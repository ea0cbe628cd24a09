/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs share that put instructions on any CUDA driver and keep their results as bits:
 * the driver, found at run time, and reproducible random numbers.
 */
#ifndef PTX_DRIVER_H
#define PTX_DRIVER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void *driver;
static inline void *call(const char *name)
{
	void *f = dlsym(driver, name);

	if (!f) {
		fprintf(stderr, "libcuda.so.1 has no %s\n", name);
		exit(1);
	}
	return f;
}
#define CU(name, ...)                                                                              \
	do {                                                                                       \
		int rc_ = ((int (*)(void *, ...))call(name))(__VA_ARGS__);                         \
		if (rc_) {                                                                         \
			fprintf(stderr, "%s: error %d\n", name, rc_);                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Makes a context; returns the compute capability, 90 for 9.0. */
static inline int open_driver(void)
{
	void *ctx = NULL;
	int dev = 0, major = 8, minor = 0;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	CU("cuInit", (void *)0);
	CU("cuDeviceGet", (void *)&dev, 0);
	CU("cuDevicePrimaryCtxRetain", (void *)&ctx, dev);
	CU("cuCtxSetCurrent", ctx);
	CU("cuDeviceGetAttribute", (void *)&major, 75, dev);
	CU("cuDeviceGetAttribute", (void *)&minor, 76, dev);
	return 10 * major + minor;
}

#endif
