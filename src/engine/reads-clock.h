/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds kernels that read a clock: their results differ from run to run by nature.
 */
#ifndef ENGINE_READS_CLOCK_H
#define ENGINE_READS_CLOCK_H

#include "sbt/sbt.h"

/* What a kernel, given by its mangled name, reads the time with ("%globaltimer", "s_memtime");
 * NULL: with nothing, or the trace has no code of it that can be read (gpucode/code-traits.h).
 * Functions that it calls and that are not inlined are not searched. */
const char *reads_clock(struct sbt_reader *r, const char *kernel);

#endif
