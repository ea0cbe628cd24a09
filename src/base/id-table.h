/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of one size by an id that a trace gives: zeros where nothing was put. Ids above
 * ID_TABLE_MAX are a damaged or hostile trace's, and have no row.
 */
#ifndef TS_ID_TABLE_H
#define TS_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_TABLE_MAX (UINT64_C(1) << 22)

struct id_table {
	void *at; /* heap; the owner frees it */
	size_t n, size;
};

/* The row of an id, valid until the next call with make; NULL: it has none, or, unless make, it has
 * none yet. */
void *id_table_row(struct id_table *t, uint64_t id, bool make);

#endif
