/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what the host wrote into page-locked memory while a window was recorded. The recording has
 * the contents of such memory before commands that may read it, but not what wrote them: the host,
 * a host function, or a copy. The surprise: this is found by executing. Bytes that the work up to
 * there does not leave in memory were written by the host. Bytes under work that may have been in
 * flight then are not decided, unless they have neither their value from before it nor the one from
 * after it.
 */
#ifndef ENGINE_HOST_CHANGES_H
#define ENGINE_HOST_CHANGES_H

#include "order/order.h"
#include "replay/device.h"

struct host_changes {
	bool known;		/* false: there was too much to find out, and the list is empty */
	struct order_change *c; /* in order of seq; heap */
	size_t n;
};

/* Executes the window first..last of the trace on d, if it has such memory. source (may be NULL):
 * what kernels write. Afterwards the device is at the window's end. known is also true when there
 * is no such memory. ERR_INTERRUPTED once *cancel is true, ERR_INFERIOR, and errors of reading the
 * trace. */
struct err *host_changes_learn(struct host_changes *ret, struct sbt_reader *trace, struct device *d,
	const struct order_source *source, uint64_t first, uint64_t last,
	volatile bool *cancel) TS_CHECK;
void host_changes_free(struct host_changes *h);

#endif
