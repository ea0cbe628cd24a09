/* SPDX-License-Identifier: Apache-2.0
 *
 * Two fast codes for pages of memory, which decode about as fast as the bytes are read. One suits
 * numbers in which some bytes never change (small integers, floats of less precision), the other
 * zeros scattered among other words. docs/sbt.md has the layout. Private to the room.
 */
#ifndef SBT_PAGECODE_H
#define SBT_PAGECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte of a coded page; a zstd frame begins with 0x28. */
enum sbt_pagecode { SBT_PAGECODE_PLANES = 1, SBT_PAGECODE_WORDS = 2 };

/* Codes a page of n bytes (at most SBT_PAGE) to dst, which has room for n. Returns the bytes
 * written, at most four fifths of n, or 0 when neither code suits the page. */
size_t sbt_pagecode_pack(const uint8_t *page, size_t n, uint8_t *dst);
/* Decodes the `got` bytes at stored, which may be hostile, to exactly n bytes at dst. False when
 * they are no valid code of n bytes. */
bool sbt_pagecode_unpack(const uint8_t *stored, size_t got, uint8_t *dst, size_t n);

#endif
