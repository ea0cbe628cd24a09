/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that overlap: one is held while those behind it on its stream, which may begin before it has finished (programmatic stream
 * serialization), go as far as they can. What a launch behind can do then it may do on a GPU, whose launch in front is late: begin when every block in
 * front of it has triggered or ended, and wait at griddepcontrol.wait until the launch in front is complete. The one that is held counts as
 * having triggered when it began, since where the trigger lies makes no memory visible.
 */
#ifndef SOFTGPU_OVERLAP_H
#define SOFTGPU_OVERLAP_H

#include "softgpu/driver/drv.h"
#include "softgpu/watch/ptx-observe.h"

#define OVERLAP_MAX 64u /* launches in one such row */

struct overlap_launch {
	const struct op *op; /* OP_KERNEL */
	const struct op_origin *origin;
	uint64_t queued_ns;
};

/* Runs all of them; the first is the one that is held. */
void overlap_run(struct ctx *c, const struct overlap_launch *l, unsigned n);
/* Of the launch that this thread is to run: who watches it for that; NULL: it is none of those behind. All its blocks run at the same time then. */
const struct ptx_observer *overlap_observer(void);

/* The next launch of this process is held (soft_watch.hold). */
void overlap_hold(void);
/* Whether this launch is to be: once. */
bool overlap_take_hold(void);

#endif
