/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows the breakpoint table.
 */
#ifndef SHELL_BREAKPOINTS_TEXT_H
#define SHELL_BREAKPOINTS_TEXT_H

#include "engine/breakpoints.h"

/* Appends where it is, as the answer to `break` says it: "blur.cu:25 in blur", "kernel blur if
 * grid_x > 1". */
void breakpoint_place(const struct breakpoint *bp, struct buf *out);

void breakpoints_print(struct breakpoints *b, struct buf *out);
void breakpoints_json(struct breakpoints *b, struct buf *out);
/* Appends commands that make the same breakpoints again. */
void breakpoints_script(struct breakpoints *b, struct buf *out);

#endif
