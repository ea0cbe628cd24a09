/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for keys of any bytes, from 0 in the order in which they first came: names of kernels,
 * frames, stacks, threads, streams of a profile.
 */
#ifndef IMPORT_KEY_TABLE_H
#define IMPORT_KEY_TABLE_H

#include "base/buf.h"

struct key_table {
	struct buf bytes;
	struct {
		size_t at, n;
	} * keys;
	uint32_t n, cap;
	uint32_t *slots; /* a key's number plus 1 */
	uint32_t nslots;
};

/* The number of the n bytes at p; *ret_new: they came for the first time. */
uint32_t key_number(struct key_table *t, const void *p, size_t n, bool *ret_new);
void key_table_free(struct key_table *t);

#endif
