/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors with the fields of the protocol: their kind, and the commands they are about. Also the
 * replayer's clock.
 */
#include "replayer/execute/replayer-fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t now_ns(void)
{
	static _Atomic uint64_t leap_ns = UINT64_MAX, later;
	struct timespec t;

	if (leap_ns == UINT64_MAX)
		leap_ns = getenv("TSDB_REPLAYER_CLOCK")
				  ? strtoul(getenv("TSDB_REPLAYER_CLOCK"), NULL, 10) * 1000000000u
				  : 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec +
	       (leap_ns ? later += leap_ns : 0);
}

bool slice_goes_on(struct slice *s)
{
	const uint64_t now = now_ns();

	if (s->began_ns)
		return now - s->began_ns < s->long_ns;
	s->began_ns = now;
	return true;
}

struct err *rp_fail(
	struct rp *rp, enum replayer_error_code code, uint64_t seq, const char *fmt, ...)
{
	static const enum err_code kinds[] = {
		[REPLAYER_E_OTHER] = ERR_STATE,
		[REPLAYER_E_FAULT] = ERR_INFERIOR,
		[REPLAYER_E_PLACE] = ERR_LIMIT,
		[REPLAYER_E_MEMORY] = ERR_LIMIT,
		[REPLAYER_E_DEVICE] = ERR_UNSUPPORTED,
		[REPLAYER_E_TRACE] = ERR_BAD_TRACE,
		[REPLAYER_E_TIMEOUT] = ERR_INFERIOR,
		[REPLAYER_E_REFUSED] = ERR_UNSUPPORTED,
		[REPLAYER_E_AGAIN] = ERR_UNSUPPORTED,
	};
	va_list ap;
	char *text = NULL;

	rp->fail_code = code;
	rp->fail_seq = rp->fail_first = seq;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	struct err *e = text ? err_new(kinds[code], "%s", text) : err_nomem();
	free(text);
	return e;
}

struct err *rp_gpu_failed(struct rp *rp, struct gpu_result r)
{
	const char *name = rp->gpu->result_name(r.code);

	if (!name)
		name = "an unknown error";
	if (r.status != GPU_FAULT)
		return rp_fail(rp, r.status == GPU_NO_MEMORY ? REPLAYER_E_MEMORY : REPLAYER_E_OTHER,
			rp->current, "%s at #%llu: %s (%d)", r.call,
			(unsigned long long)rp->current, name, r.code);
	const unsigned long long first = rp->finished + 1,
				 last = rp->current > rp->finished ? rp->current : first;
	struct err *e = first >= last ? rp_fail(rp, REPLAYER_E_FAULT, last,
						"the device failed at #%llu: %s", last, name)
				      : rp_fail(rp, REPLAYER_E_FAULT, last,
						"the device failed between #%llu and #%llu: %s",
						first, last, name);
	rp->fail_first = first;
	if (rp->heap.before)
		e = err_wrap(e,
			"what %s may have taken from the device's own heap before the window was not recorded",
			rp->heap.before);
	return e;
}
