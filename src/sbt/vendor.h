/* SPDX-License-Identifier: Apache-2.0
 *
 * Which vendor's program a trace is of. The trace's head says it; traces of before version 1.13
 * only have the driver's version, which tells, too: CUDA's is as cuDriverGetVersion() says it,
 * 13000, and HIP's as hipRuntimeGetVersion() does, 50221153 of 5.2.
 */
#ifndef SBT_VENDOR_H
#define SBT_VENDOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sbt/sbt.h"

#define SBT_NVIDIA "NVIDIA"
#define SBT_AMD "AMD"

/* HIP's versions are ten millions for each major one; CUDA's are thousands. */
static inline bool sbt_version_is_hip(uint32_t driver_version)
{
	return driver_version >= 10000000;
}

/* Whether the trace is of a HIP program. */
static inline bool sbt_meta_is_hip(const struct sbt_meta *m)
{
	return m->vendor && *m->vendor ? !strcmp(m->vendor, SBT_AMD)
				       : sbt_version_is_hip(m->driver_version);
}

#endif
