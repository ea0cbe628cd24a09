/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes into a graph launch on a device: memory as it is after a number of the launch's steps
 * (state/steps.h). Any call that moves, or that asks about more than memory, leaves the graph
 * launch; the device is then behind it.
 */
#ifndef REPLAY_DEVICE_NODE_H
#define REPLAY_DEVICE_NODE_H

#include "replay/device.h"

/* Goes to right behind step `step` of graph launch seq; 0 is before its first step. After the last
 * step the device is behind the launch and no longer inside it. *ret_steps is the number of steps.
 * After a failure caused by the launch the device is before the launch (device_culprit()); after
 * any other failure it is where it was. */
struct err *device_node(
	struct device *d, uint64_t seq, uint32_t step, uint32_t *ret_steps) TS_CHECK;
/* Whether the device is inside a graph launch; *ret_step is the number of steps done. */
bool device_in_graph(const struct device *d, uint64_t *ret_seq, uint32_t *ret_step);

#endif
