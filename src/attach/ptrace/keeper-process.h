/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: the process that owns the copies of an inferior's device memory
 * (tsdb-keeper).
 */
#ifndef ATTACH_KEEPER_H
#define ATTACH_KEEPER_H

#include "attach/ptrace/inferior.h"

/* Ends it, with all that it keeps. NULL is fine. */
void keeper_end(struct keeper *k);
/* The inferior has executed another program, whose agent knows nothing of the old copies: another
 * keeper. */
void keeper_exec(struct inferior *inf);

#endif
