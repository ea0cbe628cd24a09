/* SPDX-License-Identifier: Apache-2.0
 *
 * The source's variables in the expressions of probes.
 */
#ifndef ENGINE_PROBE_NAMES_H
#define ENGINE_PROBE_NAMES_H

#include "base/err.h"
#include "replayer/soft-probe.h"

struct kernel_debug;
struct lang;
struct sbt_reader;
/* Fills expr and condition of a row, for the instruction at a line of the PTX: those of a probe
 * with the source's variables replaced. ERR_UNSUPPORTED: one of them is not in a register or in
 * memory that has a name. */
struct err *probe_row_fill(struct kernel_debug *d, unsigned line, const char *expr,
	const char *condition, struct soft_probe_row *ret) TS_CHECK;
/* Fills p's rows, if its expressions have variables of the source: by the PTX of a trace, or else
 * of a program (may be NULL). l lives as long as the call. */
struct err *probe_names_fill(struct lang *l, struct sbt_reader *trace, const char *program,
	struct soft_probe *p) TS_CHECK;

#endif
