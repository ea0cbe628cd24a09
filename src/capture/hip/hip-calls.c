// SPDX-License-Identifier: Apache-2.0
//
// The table of HIP's entry points, made from hip-calls.def.
#include "capture/hip/hip-calls.h"

#define CALL(name, KIND, enter_fn, flags)                                                          \
	[HIP_API_ID_##name] = {#name, CALL_HANDLED, flags, SBT_##KIND, enter_fn, NULL},
#define WITH_EXIT(name, KIND, enter_fn, exit_fn, flags)                                            \
	[HIP_API_ID_##name] = {#name, CALL_HANDLED, flags, SBT_##KIND, enter_fn, exit_fn},
#define HANDLES(name)                                                                              \
	[HIP_API_ID_##name] = {#name, CALL_COUNTED, CALL_HANDLES, SBT_UNREPLAYABLE, NULL, NULL},
#define IGNORED(name) [HIP_API_ID_##name] = {#name, CALL_IGNORED, 0, 0, NULL, NULL},
const struct call_row hip_calls[HIP_CALLS] = {
#include "capture/hip/hip-calls.def"
};
