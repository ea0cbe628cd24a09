/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's entry points, by CUPTI's numbers, and the handlers that cuda-calls.def names.
 */
#ifndef CAPTURE_CUDA_CALLS_H
#define CAPTURE_CUDA_CALLS_H

#include <cuda.h>
#include "capture/core/calls.h"
#include "gpucode/memory-calls.h"
#include "gpucode/object-calls.h"

/* By CUPTI's numbers of the driver's entry points (cupti_driver_cbid.h). */
extern const struct call_row cuda_calls[];
extern const uint32_t cuda_calls_size;

/* The driver's structure of arguments (NAME_params) as memory_call() takes them; ret:
 * MEMORY_CALL_ARGS words. */
void memory_args(enum memory_call which, const void *params, uint64_t *ret);
/* Fills the command of a call that object-calls.def describes, and gives ids to the objects that it
 * names. */
void call_objects(struct call *c, enum object_call which);
/* Whether memory of the host is pageable. */
bool call_is_pageable(uint64_t address);
/* A 3D copy as cuMemcpy3D and a graph's copy node have it, on the default stream. */
void call_copy_3d(struct call *c, const CUDA_MEMCPY3D *m);

/* The driver has made a function of a library's kernel, and may have loaded its code for that.
 * NULL: it has not. */
void call_kernel_function(struct call *c, CUkernel kernel, CUfunction function);

#define CALL(name, ID, enter_fn, flags) void enter_fn(struct call *c);
#define WITH_EXIT(name, ID, enter_fn, exit_fn, flags)                                              \
	void enter_fn(struct call *c);                                                             \
	void exit_fn(struct call *c);
#define HANDLES(name)
#define IGNORED(name)
#include "capture/cuda/cuda-calls.def"
#undef CALL
#undef WITH_EXIT
#undef HANDLES
#undef IGNORED

#endif
