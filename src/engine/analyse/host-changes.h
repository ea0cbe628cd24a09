/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host wrote into page-locked memory while a window was recorded. The recording has what such memory held before commands that may read it,
 * but not who had written that: the host, a host function, or a copy to it. The surprise: it is found out by executing. What the work up to there
 * does not leave in memory the host wrote; but bytes under work that may have been on its way then are nobody's, unless they are neither as before it nor
 * as after it.
 */
#ifndef ENGINE_HOST_CHANGES_H
#define ENGINE_HOST_CHANGES_H

#include "order/order.h"
#include "replay/device.h"

struct host_changes {
	bool known; /* false: there was too much to find out; none are listed */
	struct order_change *c; /* in order of seq; heap */
	size_t n;
};

/* Executes the window first..last of the trace on d, when there is such memory. source (may be NULL): what kernels write. The device's position is the window's end then. known is true
 * as well when there is none. ERR_INTERRUPTED once *cancel is true, ERR_INFERIOR, and errors of reading the trace. */
struct err *host_changes_learn(struct host_changes *ret, struct sbt_reader *trace, struct device *d, const struct order_source *source,
	uint64_t first, uint64_t last, volatile bool *cancel) TS_CHECK;
void host_changes_free(struct host_changes *h);

#endif
