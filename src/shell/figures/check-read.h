/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what `tsdb check --json` printed, for the report.
 */
#ifndef SHELL_CHECK_READ_H
#define SHELL_CHECK_READ_H

#include "report/facts.h"

/* Of a trace with commands first..last. ERR_BAD_TRACE: the file is none, or of another trace. *ret
 * is to be freed either way. */
struct err *check_read(
	const char *path, uint64_t first, uint64_t last, struct fact_check *ret) TS_CHECK;
void check_read_free(struct fact_check *c);

#endif
