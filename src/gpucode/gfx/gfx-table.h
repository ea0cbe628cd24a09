/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the table by encoding and opcode.
 */
#ifndef GPUCODE_GFX_TABLE_H
#define GPUCODE_GFX_TABLE_H

#include "gpucode/gfx-decode.h"

#define GFX_OPS 1024

/* The row of an opcode for a target; NULL: none. */
const struct gfx_row *gfx_find(enum gfx_enc enc, unsigned op, unsigned target, uint16_t *id);

#endif
