/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps a window's commands packed in memory, for quick access in any order.
 */
#ifndef ORDER_KEPT_H
#define ORDER_KEPT_H

#include "base/buf.h"
#include "sbt/sbt.h"

#define KEPT_MAX 4000000u

struct kept_cmd {
	uint64_t seq;
	size_t at; /* in packed */
	bool is_work;
};
struct kept_window {	    /* all zeros: empty */
	struct kept_cmd *c; /* in order of seq; heap */
	size_t n, cap;
	struct buf packed;
};

/* Commands first..last; the cursor moves. ERR_LIMIT beyond KEPT_MAX of them; what was read so far
 * is kept. */
struct err *kept_read(
	struct kept_window *k, struct sbt_cursor *cursor, uint64_t first, uint64_t last) TS_CHECK;
void kept_free(struct kept_window *k);
/* The command's index; SIZE_MAX: it is not there. */
size_t kept_find(const struct kept_window *k, uint64_t seq);
/* The index of the first one with that seq or a larger one; k->n: none. */
size_t kept_from(const struct kept_window *k, uint64_t seq);
/* Blobs of *ret are k's. */
struct err *kept_get(const struct kept_window *k, size_t i, struct sbt_cmd *ret) TS_CHECK;

/* Of n rows of `size` bytes, sorted, that each begin with a seq (u64): the index of the first one
 * with that seq or a larger one; n: none. */
size_t kept_row_from(const void *rows, size_t n, size_t size, uint64_t seq);

#endif
