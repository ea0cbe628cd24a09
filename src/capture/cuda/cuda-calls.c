/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of the driver's entry points, made from cuda-calls.def.
 */
#include "capture/cuda/cuda-calls.h"

#include <cupti.h>

/* Pasted here and not in a macro of its own: cuda.h makes some of the names macros. */
#define CALL(name, KIND, enter_fn, flags)                                                          \
	[CUPTI_DRIVER_TRACE_CBID_##name] = {#name, CALL_HANDLED, flags, SBT_##KIND, enter_fn, NULL},
#define WITH_EXIT(name, KIND, enter_fn, exit_fn, flags)                                            \
	[CUPTI_DRIVER_TRACE_CBID_##name] = {                                                       \
		#name, CALL_HANDLED, flags, SBT_##KIND, enter_fn, exit_fn},
#define HANDLES(name)                                                                              \
	[CUPTI_DRIVER_TRACE_CBID_##name] = {                                                       \
		#name, CALL_COUNTED, CALL_HANDLES, SBT_UNREPLAYABLE, NULL, NULL},
#define IGNORED(name) [CUPTI_DRIVER_TRACE_CBID_##name] = {#name, CALL_IGNORED, 0, 0, NULL, NULL},
const struct call_row cuda_calls[CUPTI_DRIVER_TRACE_CBID_SIZE] = {
#include "capture/cuda/cuda-calls.def"
};
const uint32_t cuda_calls_size = CUPTI_DRIVER_TRACE_CBID_SIZE;
