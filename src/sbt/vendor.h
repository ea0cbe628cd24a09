/* SPDX-License-Identifier: Apache-2.0
 *
 * Which vendor's program a trace is of. Today its driver's version tells: CUDA's is as
 * cuDriverGetVersion() says it, 13000, and HIP's as hipRuntimeGetVersion() does, 50221153 of 5.2.
 */
#ifndef SBT_VENDOR_H
#define SBT_VENDOR_H

#include <stdbool.h>
#include <stdint.h>

/* HIP's versions are ten millions for each major one; CUDA's are thousands. */
static inline bool sbt_version_is_hip(uint32_t driver_version)
{
	return driver_version >= 10000000;
}

#endif
