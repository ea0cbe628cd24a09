/* SPDX-License-Identifier: Apache-2.0
 *
 * What the GPU times in a trace prove about the devices' clocks: how each relates to the host's.
 */
#ifndef ENGINE_DEVICE_CLOCKS_H
#define ENGINE_DEVICE_CLOCKS_H

#include "engine/trace/clocks.h"
#include "engine/engine.h"

enum { DEVICE_CLOCKS_MAX = 64 };

struct device_clock {
	unsigned device;
	uint64_t times; /* commands with GPU times */
	struct clock_bounds bounds;
	enum clocks_distance distance;
	bool has_drift;
	double least_drift, most_drift; /* ns per ns */
};

/* Reads the whole trace r. *ret_n devices have times, in order of number. */
struct err *device_clocks(const struct engine *en, struct sbt_reader *r,
	struct device_clock ret[DEVICE_CLOCKS_MAX], unsigned *ret_n) TS_CHECK;

#endif
