/* SPDX-License-Identifier: Apache-2.0
 *
 * Which functions of the driver and of the runtime wait for the device, and for what. For stacks:
 * by name.
 */
#ifndef GPUCODE_WAITING_CALLS_H
#define GPUCODE_WAITING_CALLS_H

#include <stdbool.h>

enum gpu_wait {
	GPU_WAITS_NOT, /* it does not wait, or is none of them */
	GPU_WAITS_STREAM,
	GPU_WAITS_EVENT,
	GPU_WAITS_ALL,	   /* for every stream of the context */
	GPU_WAITS_DEFAULT, /* for the legacy default stream, and so for every blocking one */
};

/* function: as a stack names it, with or without a version ("_v2") or variant ("_ptsz"). */
enum gpu_wait gpu_call_waits(const char *function);

/* Whether a library, by its path, is one of the driver's or of the vendor's tools: they have
 * threads of their own. The runtime is none: it has no threads. */
bool gpu_library_has_threads(const char *path);

#endif
