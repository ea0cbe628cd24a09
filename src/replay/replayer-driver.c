/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens libcuda.so.1 and finds the replayer's functions. Which driver it is, LD_LIBRARY_PATH decides.
 */
#include "replay/replayer-driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "replay/replayer-int.h"

struct err *replayer_driver_open(struct replayer_driver *ret)
{
	const char *missing = NULL;

	memset(ret, 0, sizeof *ret);
	ret->lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!ret->lib)
		return err_cure(err_new(ERR_NOT_FOUND, "no GPU driver to replay on: %s", dlerror()),
			"replay on the software GPU, or install the NVIDIA driver");
#define OPTIONAL(name) ret->name = (__typeof__(ret->name))(uintptr_t)dlsym(ret->lib, #name);
#define REQUIRED(name)           \
	OPTIONAL(name)           \
	if (!ret->name)          \
		missing = #name;
	REPLAYER_DRIVER_FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
	/* The name that cuda.h does not turn into the newest one's. */
	if (!ret->cuEventElapsedTime)
		ret->cuEventElapsedTime = (__typeof__(ret->cuEventElapsedTime))(uintptr_t)dlsym(ret->lib, "cuEventElapsedTime");
	ret->soft = dlsym(ret->lib, "tsdb_soft_set_hooks") != NULL;
	if (missing)
		return err_cure(err_new(ERR_UNSUPPORTED, "the GPU driver has no %s", missing),
			"replaying needs a driver of CUDA 12.0 or later");
	return NULL;
}

uint64_t now_ns(void)
{
	static _Atomic uint64_t leap_ns = UINT64_MAX, later;
	struct timespec t;

	if (leap_ns == UINT64_MAX)
		leap_ns = getenv("TSDB_REPLAYER_CLOCK") ? strtoul(getenv("TSDB_REPLAYER_CLOCK"), NULL, 10) * 1000000000u : 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (leap_ns ? later += leap_ns : 0);
}

bool slice_goes_on(struct slice *s)
{
	const uint64_t now = now_ns();

	if (s->began_ns)
		return now - s->began_ns < s->long_ns;
	s->began_ns = now;
	return true;
}

struct err *rp_fail(struct rp *rp, enum replayer_error_code code, uint64_t seq, const char *fmt, ...)
{
	static const enum err_code kinds[] = {
		[REPLAYER_E_OTHER] = ERR_STATE, [REPLAYER_E_FAULT] = ERR_INFERIOR, [REPLAYER_E_PLACE] = ERR_LIMIT,
		[REPLAYER_E_MEMORY] = ERR_LIMIT, [REPLAYER_E_DEVICE] = ERR_UNSUPPORTED, [REPLAYER_E_TRACE] = ERR_BAD_TRACE,
		[REPLAYER_E_TIMEOUT] = ERR_INFERIOR, [REPLAYER_E_REFUSED] = ERR_UNSUPPORTED,
	};
	va_list ap;
	char *text = NULL;

	rp->fail_code = code;
	rp->fail_seq = rp->fail_first = seq;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	struct err *e = text ? err_new(kinds[code], "%s", text) : err_nomem();
	free(text);
	return e;
}

/* Results after which the context answers nothing else (CUDA driver API, CUresult: "the process must be terminated and relaunched"). */
bool driver_is_fault(CUresult r)
{
	switch ((int)r) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return true;
	default:
		return false;
	}
}

struct err *rp_cu(struct rp *rp, CUresult r, const char *call)
{
	const char *name = NULL;

	if (r == CUDA_SUCCESS)
		return NULL;
	if (rp->d.cuGetErrorName(r, &name) || !name)
		name = "an unknown error";
	if (!driver_is_fault(r))
		return rp_fail(rp, r == CUDA_ERROR_OUT_OF_MEMORY ? REPLAYER_E_MEMORY : REPLAYER_E_OTHER, rp->current,
			"%s at #%llu: %s (%d)", call, (unsigned long long)rp->current, name, (int)r);
	const unsigned long long first = rp->finished + 1, last = rp->current > rp->finished ? rp->current : first;
	struct err *e = first >= last ? rp_fail(rp, REPLAYER_E_FAULT, last, "the device failed at #%llu: %s", last, name)
				      : rp_fail(rp, REPLAYER_E_FAULT, last, "the device failed between #%llu and #%llu: %s",
						first, last, name);
	rp->fail_first = first;
	return e;
}
