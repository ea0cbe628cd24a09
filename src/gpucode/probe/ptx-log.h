/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX that logs the values of expressions, a record for each lane (struct ptx_print_record).
 */
#ifndef GPUCODE_PTX_LOG_H
#define GPUCODE_PTX_LOG_H

#include "gpucode/probe/ptx-emit.h"

struct ptx_log {
	uint64_t cursor_at; /* offsets in the area: of the u64 that counts records; of the log */
	uint64_t at, room;  /* room: records */
	unsigned nvalues;   /* that a record has room for */
	unsigned probe;
};
/* Logs the expressions in lanes of predicate yes - 1; 0: in all. False: m->why says what cannot
 * be. */
bool ptx_log_put(
	struct ptx_emit *m, const char *expressions, const struct ptx_log *log, unsigned yes);
/* ERR_UNSUPPORTED: the text is of a version that lacks the instructions. */
struct err *ptx_log_check(const struct ptx_scan *s) TS_CHECK;

#endif
