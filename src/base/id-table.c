/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows by id, see id-table.h.
 */
#include "base/id-table.h"

#include <string.h>
#include "base/buf.h"

void *id_table_row(struct id_table *t, uint64_t id, bool make)
{
	if (id >= ID_TABLE_MAX || (id >= t->n && !make))
		return NULL;
	if (id >= t->n) {
		const size_t want = (size_t)id * 2 + 16;

		t->at = xrealloc(t->at, want * t->size);
		memset((char *)t->at + t->n * t->size, 0, (want - t->n) * t->size);
		t->n = want;
	}
	return (char *)t->at + (size_t)id * t->size;
}
