/* SPDX-License-Identifier: Apache-2.0
 *
 * Codes for pages that come back about as fast as they are read: for numbers of which some bytes never change (small integers,
 * floats of less precision), and for zeros scattered among other words. docs/sbt.md has the layout. Private to the room.
 */
#ifndef SBT_PAGECODE_H
#define SBT_PAGECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte of a coded page; a zstd frame begins with 0x28. */
enum sbt_pagecode { SBT_PAGECODE_PLANES = 1, SBT_PAGECODE_WORDS = 2 };

/* Codes a page of n bytes (at most SBT_PAGE) at dst, which has room for n. Returns the bytes it took, at most four fifths of n, or 0: it is
 * not of these kinds. */
size_t sbt_pagecode_pack(const uint8_t *page, size_t n, uint8_t *dst);
/* The other way: exactly n bytes at dst, out of got hostile ones. False when they are not that. */
bool sbt_pagecode_unpack(const uint8_t *stored, size_t got, uint8_t *dst, size_t n);

#endif
