/* SPDX-License-Identifier: Apache-2.0
 *
 * One launch of a device's trace, instruction by instruction: on the software GPU only (soft-debug.h has the words). While a launch is under
 * the microscope, device_read() and device_hash() show memory in the middle of it; every other call of device.h leaves it first, and the
 * device is then where it was before device_kernel().
 */
#ifndef REPLAY_DEVICE_KERNEL_H
#define REPLAY_DEVICE_KERNEL_H

#include "replay/device.h"
#include "replayer/soft-debug.h"

/* Stands before the first instruction of launch seq. ERR_UNSUPPORTED: no software GPU, or a launch that cannot be had so: the sentence says
 * why. *ret of this and the others belongs to the device, until the next call. */
struct err *device_kernel(struct device *d, uint64_t seq, const struct soft_stop **ret) TS_CHECK;
/* The launch under the microscope and where it stands, NULL: none. It stays there after the launch has ended, for going back. */
const struct soft_stop *device_kernel_stop(const struct device *d);
/* On or back: SOFT_STEP, SOFT_NEXT, SOFT_LINE, SOFT_RUN, SOFT_FINISH, SOFT_BACK_STEP, SOFT_BACK_RUN. In slices, so that Ctrl-C works: the launch then stands
 * where it was, with SOFT_WHY_TIME. When it has ended without a fault, the device's position is behind it. */
struct err *device_kernel_go(struct device *d, enum soft_how how, uint64_t n, const struct soft_stop **ret) TS_CHECK;
/* A thread to look at. One of a block that does not run begins the launch again with it: SOFT_WHY_BEGIN. */
struct err *device_kernel_focus(struct device *d, const uint32_t block[3], const uint32_t thread[3], const struct soft_stop **ret) TS_CHECK;
/* All breakpoints of the launch; lines are filled in. */
struct err *device_kernel_points(struct device *d, struct soft_point *p, unsigned n) TS_CHECK;
/* *ret_n records of size bytes in *ret (heap); size 1: bytes. */
struct err *device_kernel_ask(struct device *d, const struct soft_ask *q, size_t size, void **ret, size_t *ret_n) TS_CHECK;

#endif
