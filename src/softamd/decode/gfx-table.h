/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the table by encoding and opcode.
 */
#ifndef SOFTAMD_GFX_TABLE_H
#define SOFTAMD_GFX_TABLE_H

#include "softamd/decode/gfx-decode.h"

#define GFX_OPS 1024

/* The row of an opcode for a target; NULL: none. */
const struct gfx_row *gfx_find(enum gfx_enc enc, unsigned op, unsigned target, uint16_t *id);

/* Registers of 32 bits that an operand letter means; 0 for immediates. */
static inline unsigned gfx_width(char letter)
{
	switch (letter) {
	case '1':
	case 'h':
	case 'j':
	case 's':
	case 'v':
	case 'q':
	case 'A':
		return 1;
	case '2':
	case 'V':
	case 'c':
		return 2;
	case '3':
		return 3;
	case '4':
		return 4;
	case '8':
		return 8;
	case 'g':
		return 16;
	case 'w':
		return 32;
	}
	return 0;
}

#endif
