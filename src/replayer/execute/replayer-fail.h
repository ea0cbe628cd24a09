/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors with the fields of the protocol, results of the backend as errors, and the replayer's
 * clock. Called by the thread that calls the GPU; an error belongs to the caller.
 */
#ifndef REPLAYER_FAIL_H
#define REPLAYER_FAIL_H

#include "replayer/execute/replayer-rp.h"

/* Makes an error of the protocol: code and seq go with it to tsdb. */
struct err *rp_fail(struct rp *rp, enum replayer_error_code code, uint64_t seq, const char *fmt,
	...) TS_PRINTF(4, 5) TS_CHECK;
/* Returns NULL for GPU_OK. A fault names the commands that can have caused it. */
struct err *rp_gpu_failed(struct rp *rp, struct gpu_result r) TS_CHECK;
static inline struct err *TS_CHECK rp_gpu(struct rp *rp, struct gpu_result r)
{
	return r.status == GPU_OK ? NULL : rp_gpu_failed(rp, r);
}
/* One operation of the backend; returns its error. */
#define GPU(rp, op, ...) TRY(rp_gpu((rp), (rp)->gpu->op(__VA_ARGS__)))
/* CLOCK_MONOTONIC: for figures, and for how often something is done, never for whether. With
 * TSDB_REPLAYER_CLOCK=SECONDS (for tests) each look is so many seconds later than the one before.
 */
uint64_t now_ns(void);

/* Of a long request a reply comes about every long_ns, so that tsdb shows how far it is and hears
 * Ctrl-C. `while (slice_goes_on(&s))` turns at least once, however late the processor comes round
 * to it: every reply says more than the one before. */
struct slice {
	uint64_t long_ns, began_ns; /* began_ns 0: not yet */
};
bool slice_goes_on(struct slice *s);

#endif
