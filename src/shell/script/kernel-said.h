/* SPDX-License-Identifier: Apache-2.0
 *
 * What a dprintf inside a kernel shows: a line for the threads of a warp that say the same.
 */
#ifndef SHELL_KERNEL_SAID_H
#define SHELL_KERNEL_SAID_H

#include "engine/breakpoints.h"
#include "shell/line/session.h"

/* At a point of the launch under the microscope, for bp->said_lanes. */
void kernel_said(struct session *s, struct breakpoint *bp);
/* The engine's hooks: for which lanes the condition holds; what the live program's kernels print;
 * the launch of a replay has ended, or stops: tells how many threads showed nothing. */
void kernel_says(void *session, struct breakpoint *bp, uint64_t lanes);
void kernel_printed(void *session, struct breakpoint *bp, const struct soft_print *r);
void kernel_said_all(void *session);

#endif
