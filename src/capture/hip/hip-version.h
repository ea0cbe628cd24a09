/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between HIP's versions in what the agent reads: the headers that it is built with
 * (5.2) say one version's numbers. Looked up once in hipRuntimeGetVersion(), so not before HIP is
 * initialised: HIP holds a lock until then.
 */
#ifndef CAPTURE_HIP_VERSION_H
#define CAPTURE_HIP_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/hip/hip-api.h"

struct hip_version {
	uint16_t from, to; /* major * 100 + minor, both included */
	/* Bytes of hip_api_data_t. The arguments of every entry point that has a handler lie in it
	 * where 5.2 has them (docs/softamd.md, "Versions of HIP"). 0: the tracer is not there. */
	uint16_t data;
	uint8_t first_node;    /* hipGraphNodeTypeKernel; up to EventRecord the order is the same */
	uint8_t from_symbol;   /* hipGraphNodeTypeMemcpyFromSymbol; ToSymbol is the next */
	uint8_t device_memory; /* hipMemoryTypeDevice */
	bool errors_stay;      /* a call that succeeds leaves the thread's last error as it was */
	bool knows_pageable;   /* hipPointerGetAttributes() answers for memory it does not know */
	uint16_t captured;     /* enum hip_captured: what is a node while its stream is captured */
};

/* Calls that HIP 5.2 executes even then. */
enum hip_captured { HIP_CAPTURES_LAUNCHES = 1, HIP_CAPTURES_POOLS = 2 };

/* NULL: a version that nothing is known of; the agent has said so, and there is no capture. */
const struct hip_version *hip_version(void);
static inline bool hip_memory_is_device(const hipPointerAttribute_t *a)
{
	const struct hip_version *v = hip_version();

	return v && (unsigned)a->memoryType == v->device_memory;
}
/* The same as hip_version() for a number as HIP has it: major * 10,000,000 + minor * 100,000 +
 * patch. */
const struct hip_version *hip_version_of(int number);

#endif
