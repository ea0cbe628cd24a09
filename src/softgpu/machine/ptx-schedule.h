/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules: in which order a launch's blocks begin, its warps take turns and the lanes of one
 * instruction reach the same word. A random one is made of its seed, the kernel's name, the grid
 * and the block alone: the same launch with the same seed does the same on any machine, with any
 * number of workers, and at replay. A correct program cannot tell one schedule from another.
 */
#ifndef SOFTGPU_PTX_SCHEDULE_H
#define SOFTGPU_PTX_SCHEDULE_H

#include "softgpu/machine/ptx-exec.h"

struct ptx_run;

/* Where wk's random numbers begin for this launch. */
void ptx_schedule_begin(struct ptx_worker *wk);
/* A number from 0 to n - 1. */
uint32_t ptx_schedule_pick(struct ptx_worker *wk, uint32_t n);
/* Steps until the warp that runs now has to give way. */
uint64_t ptx_schedule_turn(struct ptx_worker *wk);
/* A turn has ended: whether the warp's other path, if lanes have parted, goes on next time. One may
 * wait for the other. */
bool ptx_schedule_parts(struct ptx_worker *wk);
/* The lanes of mask in the order in which they act; *ret_n of them. Rising when the schedule is
 * fixed. */
void ptx_schedule_lanes(
	struct ptx_worker *wk, uint32_t mask, uint8_t order[PTX_LANES], unsigned *ret_n);

#endif
