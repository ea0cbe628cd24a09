/* SPDX-License-Identifier: Apache-2.0
 *
 * The code of a trace that can be read instruction by instruction, PTX and AMD's objects, loaded at
 * the first question about it.
 */
#ifndef ORDER_RACES_TRACE_CODES_H
#define ORDER_RACES_TRACE_CODES_H

#include "base/buf.h"
#include "gpucode/code-kind.h"
#include "sbt/sbt.h"

/* Zeroes: not read yet. */
struct trace_codes {
	struct trace_code {
		struct buf bytes; /* may be empty */
		enum code_kind kind;
	} * code; /* heap */
	size_t n;
	bool read;
};

/* Reads all of them; nothing when that was tried before. After an error the codes read so far are
 * there. */
struct err *trace_codes_read(struct trace_codes *t, struct sbt_reader *trace) TS_CHECK;
void trace_codes_free(struct trace_codes *t);

#endif
