/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: names, messages, and the last error of each thread.
 */
#include "softgpu/runtime/rt.h"

#include <stdio.h>
#include <string.h>

static const struct {
	cudaError_t value;
	const char *name, *text;
} errors[] = {
#define RT_ERROR(name, text) {name, #name, text},
#include "softgpu/runtime/rt-errors.def"
#undef RT_ERROR
};

static __thread cudaError_t last;

/* "Not ready" is an answer and no error (measured: the vendor's runtime does not remember it). */
cudaError_t rt_last_error(cudaError_t err)
{
	if (err && err != cudaErrorNotReady)
		last = err;
	return err;
}

/* These two report the last error and must not become it, so they are written without RT_API. A
 * fault does not stay here: it stays in the context, and the next call that uses that returns it
 * again (measured). */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

static cudaError_t report(struct rt_call call, bool clear)
{
	cudaError_t err = last;

	rt_enter(&call);
	if (clear)
		last = cudaSuccess;
	rt_trace_leave(&call, err);
	return err;
}

RT_EXPORT cudaError_t cudaGetLastError(void)
{
	return report(
		(struct rt_call)RT_CALL(cudaGetLastError_v3020, "cudaGetLastError", NULL), true);
}

RT_EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return report(
		(struct rt_call)RT_CALL(cudaPeekAtLastError_v3020, "cudaPeekAtLastError", NULL),
		false);
}

RT_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	for (unsigned i = 0; i < RT_COUNT(errors); i++) {
		if (errors[i].value == error)
			return errors[i].name;
	}
	return "unrecognized error code";
}

RT_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	for (unsigned i = 0; i < RT_COUNT(errors); i++) {
		if (errors[i].value == error)
			return errors[i].text;
	}
	return "unrecognized error code";
}

cudaError_t rt_refuse_once(atomic_flag *said, const char *name, const char *what)
{
	if (!atomic_flag_test_and_set(said))
		fprintf(stderr, "tsdb: software GPU: %s: %s not supported\n", name, what);
	return rt_last_error(cudaErrorNotSupported);
}
