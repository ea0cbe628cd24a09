/* SPDX-License-Identifier: Apache-2.0
 *
 * Debugs one launch of a device's trace, instruction by instruction. This works on the software GPU
 * only; soft-debug.h defines the terms. While a launch is under the microscope, device_read() and
 * device_hash() show memory as it is in the middle of the launch. Every other call of device.h
 * first leaves the launch; the device is then where it was before device_kernel().
 */
#ifndef REPLAY_DEVICE_KERNEL_H
#define REPLAY_DEVICE_KERNEL_H

#include "replay/device.h"
#include "replayer/soft-debug.h"

/* Stops before the first instruction of launch seq. ERR_UNSUPPORTED: there is no software GPU, or
 * this launch cannot be debugged; the sentence says why. *ret belongs to the device and is valid
 * until the next call; so is the *ret of the other functions. */
struct err *device_kernel(struct device *d, uint64_t seq, const struct soft_stop **ret) TS_CHECK;
/* Where the launch under the microscope is; NULL: there is none. It stays valid after the launch
 * has ended, so that the user can go back. */
const struct soft_stop *device_kernel_stop(const struct device *d);
/* Moves the launch forwards or backwards: SOFT_STEP, SOFT_NEXT, SOFT_LINE, SOFT_RUN, SOFT_FINISH,
 * SOFT_BACK_STEP, SOFT_BACK_RUN. It runs in short slices, so that Ctrl-C can stop it between two of
 * them (SOFT_WHY_TIME). When the launch has ended without a fault, the device's position is behind
 * it. */
struct err *device_kernel_go(
	struct device *d, enum soft_how how, uint64_t n, const struct soft_stop **ret) TS_CHECK;
/* Chooses the thread to look at. If its block is not running, the launch begins again with that
 * block: SOFT_WHY_BEGIN. */
struct err *device_kernel_focus(struct device *d, const uint32_t block[3], const uint32_t thread[3],
	const struct soft_stop **ret) TS_CHECK;
/* Replaces all breakpoints of the launch; fills in their lines and sizes. */
struct err *device_kernel_points(struct device *d, struct soft_point *p, unsigned n) TS_CHECK;
/* Sets n bytes of a register (p->space SOFT_SPACES: p->text, at most 8 bytes) or of memory from
 * p->addr on, of lane p->lane of the focused warp. That belongs to this run of the launch: the
 * trace does not have it, and the next move out of the launch, or back in it, undoes it. Once
 * something is set, the launch's end is no position of the device. */
struct err *device_kernel_put(
	struct device *d, const struct soft_put *p, const void *bytes, size_t n) TS_CHECK;
/* Answers q with *ret_n records of size bytes each in *ret (heap). With size 1 the answer is
 * bytes. */
struct err *device_kernel_ask(struct device *d, const struct soft_ask *q, size_t size, void **ret,
	size_t *ret_n) TS_CHECK;

#endif
