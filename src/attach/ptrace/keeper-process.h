/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: the process that owns the copies of an inferior's device memory
 * (tsdb-keeper).
 */
#ifndef ATTACH_KEEPER_H
#define ATTACH_KEEPER_H

#include "attach/ptrace/inferior.h"

/* Ends the keeper and frees all copies. NULL is fine. */
void keeper_end(struct keeper *k);
/* Starts another keeper: the inferior has executed another program, whose agent does not know the
 * old copies. */
void keeper_exec(struct inferior *inf);

#endif
