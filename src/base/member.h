/* SPDX-License-Identifier: Apache-2.0
 *
 * Unsigned members of structs, found by offset and size as tables of members have them.
 */
#ifndef BASE_MEMBER_H
#define BASE_MEMBER_H

#include <stdint.h>
#include "base/err.h"

/* size: 1, 2, 4 or 8 bytes. */
static inline uint64_t member_load(const void *row, unsigned offset, unsigned size)
{
	const void *p = (const char *)row + offset;

	switch (size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	case 8:
		return *(const uint64_t *)p;
	}
	BUG("a number of %u bytes", size);
}

#endif
