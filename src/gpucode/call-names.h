/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry points by which programs make the commands of a trace, as a profiler's readers know
 * them. A trace says what was asked of the device, not by which of several calls: the name is the
 * most usual one of the kind.
 */
#ifndef GPUCODE_CALL_NAMES_H
#define GPUCODE_CALL_NAMES_H

#include <stdbool.h>
#include "sbt/cmd.h"

struct call_name {
	const char *runtime;  /* CUDA's: "cudaLaunchKernel" */
	const char *callback; /* that, as CUPTI names its callbacks: "cudaLaunchKernel_v7000" */
	const char *driver;   /* "cuLaunchKernel" */
	const char *hip;      /* "hipLaunchKernel" */
};
/* NULL: no call of the API by itself is known to make such a command. */
const struct call_name *call_name_of(const struct sbt_cmd *c);
/* The name as profilers show it; runtime: the call came through CUDA's runtime. NULL as above. */
const char *call_name_shown(const struct sbt_cmd *c, bool hip, bool runtime);

#endif
