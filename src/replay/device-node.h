/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes into a graph launch on a device: memory as it is after a number of the launch's steps
 * (state/steps.h). Any call that moves, or that asks about more than memory, leaves the graph
 * launch; the device is then behind it.
 */
#ifndef REPLAY_DEVICE_NODE_H
#define REPLAY_DEVICE_NODE_H

#include "replay/device.h"

/* To right behind step `step` of graph launch seq, 0: before its first. Behind the last one is behind the launch, and outside. *ret_steps: how
 * many there are. A failure that is about the launch leaves the device before it (device_culprit()), any other one where it was. */
struct err *device_node(struct device *d, uint64_t seq, uint32_t step, uint32_t *ret_steps) TS_CHECK;
/* Whether it is inside of one; *ret_step: so many are done. */
bool device_in_graph(const struct device *d, uint64_t *ret_seq, uint32_t *ret_step);

#endif
