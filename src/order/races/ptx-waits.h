/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a kernel's PTX for its use of griddepcontrol, for launches that were not executed: whether
 * it never waits, or every thread waits before it touches global memory. Anything between these,
 * and machine code, gives no answer, since it is not known which paths a thread takes.
 */
#ifndef ORDER_WAITS_H
#define ORDER_WAITS_H

#include "base/buf.h"
#include "order/early.h"
#include "order/races/trace-codes.h"
#include "state/state.h"

/* False: the text does not say. n bytes of text; pure. */
bool waits_text(const char *text, size_t n, const char *entry, struct order_early *ret);

/* What is known of kernels so far. Zeroes: nothing. */
struct waits {
	struct trace_codes codes;
	struct waits_known {
		bool asked;
		struct order_early is;
	} * known; /* by id of the kernel */
	size_t nknown;
};

/* False where no PTX in the trace has the kernel, where several have it, and where the text does
 * not say. AMD's GPUs have no launch that begins early: its machine code is not asked. */
struct err *waits_kernel(struct waits *w, struct sbt_reader *trace, const struct state *s,
	uint64_t id, struct order_early *ret, bool *ret_known) TS_CHECK;
void waits_free(struct waits *w);

#endif
