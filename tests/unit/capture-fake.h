/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of the agent: CUDA's driver with answers that are fixed, beside what
 * capture-control.h has. Calls are played to the agent as CUPTI would report them.
 */
#ifndef CAPTURE_FAKE_H
#define CAPTURE_FAKE_H

#include "capture-control.h"
#include <cupti.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/cuda/cuda-api.h"

#define FAKE_CTX ((CUcontext)0x1000)
/* Functions (CUfunction) and the kernel (CUkernel) that the fake driver knows. All have the
 * parameters (0, 8), (8, 4), (16, 8). */
#define FAKE_FUNC ((CUfunction)0x2000)	 /* _Z6matmulPfS_i */
#define FAKE_FUNC_2 ((CUfunction)0x2100) /* _Z4fillPfi */
#define FAKE_KERNEL ((CUfunction)0x2200) /* _Z6reducePf, of library 0x3100 */

/* How often the fake driver was asked something. */
extern unsigned fake_questions;
/* Bytes of device memory that are free; whether events and streams are done with their work; how
 * often contexts were waited for. */
extern size_t fake_free_memory;
extern bool fake_busy;
extern unsigned fake_syncs, fake_device_copies;

/* fake_control() with the fake driver. */
struct tsdb_control *fake_start(void);
/* Entry and exit of a driver call; the context is FAKE_CTX. */
void fake_call(CUpti_CallbackId cbid, const void *params, CUresult result);
#define FAKE(name, ...)                                                                            \
	fake_call(CUPTI_DRIVER_TRACE_CBID_##name, &(name##_params){__VA_ARGS__}, CUDA_SUCCESS)
uint64_t fake_enter(CUpti_CallbackId cbid, const void *params);
void fake_exit(uint64_t link, CUresult result);

#endif
