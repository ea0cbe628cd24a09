/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads CPython's location table (co_linetable, from 3.11 on; CPython, Objects/locations.md).
 * Entries lie one behind the other: a first byte 1cccclll, where lll + 1 is how many 2-byte
 * instructions the entry covers and cccc how the location is written; the bytes that follow have
 * bit 7 clear. The table was copied out of the inferior and may be anything.
 */
#include "sbt/python.h"

enum { CODE_LONG = 14, CODE_NONE = 15, CODE_NO_COLUMNS = 13, CODE_ONE_LINE_0 = 10 };

/* Six bits a byte, least significant first; bit 6: more follow. */
static uint32_t take_varint(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *p < end; shift += 6) {
		const uint8_t b = *(*p)++;

		if (shift < 36)
			v |= (uint64_t)(b & 0x3f) << shift;
		if (!(b & 0x40))
			break;
	}
	return (uint32_t)v;
}

/* The sign is the lowest bit. */
static int64_t take_svarint(const uint8_t **p, const uint8_t *end)
{
	const uint32_t v = take_varint(p, end);

	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

static int64_t line_change(unsigned code, const uint8_t **p, const uint8_t *end)
{
	if (code == CODE_LONG || code == CODE_NO_COLUMNS)
		return take_svarint(p, end);
	return code >= CODE_ONE_LINE_0 && code < CODE_NO_COLUMNS ? code - CODE_ONE_LINE_0 : 0;
}

unsigned python_line(const void *table, size_t n, unsigned first_line, uint64_t at)
{
	const uint8_t *p = table, *end = p + n;
	int64_t line = first_line;
	uint64_t done = 0; /* bytes of code that the entries so far cover */

	while (p < end) {
		const uint8_t head = *p++;
		const unsigned code = head >> 3 & 15;

		if (!(head & 0x80))
			return 0;
		line += line_change(code, &p, end);
		done += ((head & 7) + 1u) * PYTHON_UNIT;
		if (at < done)
			return code == CODE_NONE || line < 1 || line > INT32_MAX ? 0
										 : (unsigned)line;
		while (p < end && !(*p & 0x80))
			p++;
	}
	return 0;
}
