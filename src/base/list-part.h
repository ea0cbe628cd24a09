/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of expressions in one text, as a dprintf has them. The software GPUs and the code that is
 * written for a machine's GPU take them apart by this, so that both see the same expressions.
 */
#ifndef TSDB_LIST_PART_H
#define TSDB_LIST_PART_H

#include <stddef.h>

/* The length of the list's first part, in bytes: up to a comma that is in no bracket, or to the
 * end of the text. The comma is not counted. */
static inline size_t list_part_length(const char *p)
{
	unsigned depth = 0;
	size_t n = 0;

	for (; p[n] && (depth || p[n] != ','); n++) {
		depth += p[n] == '(' || p[n] == '[';
		depth -= depth && (p[n] == ')' || p[n] == ']');
	}
	return n;
}

#endif
