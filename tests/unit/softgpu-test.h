/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests that call the software GPU's driver: what a call must answer, the primary context as
 * the current one, and calls under names that cuda.h gives a newer meaning.
 */
#ifndef SOFTGPU_TEST_H
#define SOFTGPU_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>

#include "locks-held.h"

/* Calls that cuda.h marks as deprecated must work, too. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define IS(call, code) assert_int_equal(call, CUDA_ERROR_##code)
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static CUcontext primary;

static int softgpu_start(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuCtxSetCurrent(primary));
	return 0;
}

static int softgpu_stop(void **state)
{
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

/* The entry point of just that name, which cuda.h may hide behind a newer one. */
static inline void *entry(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	assert_non_null(f);
	return f;
}

static inline int device_figure(CUdevice_attribute a)
{
	int v = -12345;

	OK(cuDeviceGetAttribute(&v, a, 0));
	return v;
}

#endif
