/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs launches that overlap: one is held while those behind it on its stream that may begin early
 * (programmatic stream serialization) run as far as they can. They do what they could do on a GPU
 * whose launch in front is slow: begin when every block in front has triggered or ended, and wait
 * at griddepcontrol.wait until the launch in front is complete. The held launch counts as having
 * triggered at its beginning, since the place of the trigger makes no memory visible.
 */
#ifndef SOFTGPU_OVERLAP_H
#define SOFTGPU_OVERLAP_H

#include "softgpu/driver/drv.h"
#include "softgpu/watch/ptx-observe.h"

#define OVERLAP_MAX 64u /* launches that overlap at a time */

struct overlap_launch {
	const struct op *op; /* OP_KERNEL */
	const struct op_origin *origin;
	uint64_t queued_ns;
};

/* Runs all of them; the first is the one that is held. */
void overlap_run(struct ctx *c, const struct overlap_launch *l, unsigned n);
/* The observer that stops this thread's launch at its wait, when it is one of those behind; all its
 * blocks then run at the same time. NULL: it is not one of them. */
const struct ptx_observer *overlap_observer(void);

/* The next launch of this process is held (soft_watch.hold). */
void overlap_hold(void);
/* Whether overlap_hold() was called for this launch; true once. */
bool overlap_take_hold(void);

#endif
