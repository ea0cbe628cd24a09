/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes a kernel's PTX so that the kernel holds itself: every thread lets the launches behind
 * begin (griddepcontrol.launch_dependents) and then waits PTX_HOLD_NS before it does anything else.
 * The place of that trigger makes no memory visible (PTX ISA 9.0, griddepcontrol), so the kernel's
 * meaning does not change. Works on text only; the driver compiles the result.
 */
#ifndef REPLAY_PTX_HOLD_H
#define REPLAY_PTX_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"

#define PTX_HOLD_NS 5000000u /* enough for a few launches to be submitted and to run */

/* Appends the text, n bytes, with that entry function held, and a NUL. False: it has no such
 * function with a body. */
bool ptx_hold(struct buf *out, const char *text, size_t n, const char *kernel);
/* Appends the text, n bytes, with a trigger right before that entry function returns, and a NUL.
 * Blocks let the launch behind begin when they end anyway; with the trigger a GPU need not wait for
 * the launches in front. False when there is nothing to add: the text has triggers, or no such
 * function that returns. */
bool ptx_trigger_last(struct buf *out, const char *text, size_t n, const char *kernel);

#endif
