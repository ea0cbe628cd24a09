/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that read a clock give other results each time, by nature.
 */
#ifndef ENGINE_READS_CLOCK_H
#define ENGINE_READS_CLOCK_H

#include "sbt/sbt.h"

/* The register ("%globaltimer") that the kernel, by its mangled name, reads; NULL: none, or the trace has no PTX of it. Functions that it calls and that
 * are not inlined are not looked at. */
const char *reads_clock(struct sbt_reader *r, const char *kernel);

#endif
