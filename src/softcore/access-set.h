/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes of memory a software GPU's work touches, in several sets at once (read, written ...):
 * a bit for each byte, so a set is exact whatever the order and shape of the accesses. Memory is
 * bounded: past the limit a set has whole regions instead of bytes, and says so. Calls may come
 * from any thread.
 */
#ifndef SOFTCORE_ACCESS_SET_H
#define SOFTCORE_ACCESS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCESS_SETS 6u
/* What the bits of all sets may take by default: those of 2 GiB. */
#define ACCESS_SET_LIMIT (256u << 20)

struct access_span {
	uint64_t addr, size;
};

struct access_set;
/* limit: bytes for bits; 0: ACCESS_SET_LIMIT. NULL: no memory. */
struct access_set *access_set_new(size_t limit);
void access_set_free(struct access_set *a);
void access_set_clear(struct access_set *a);
/* set: below ACCESS_SETS */
void access_set_add(struct access_set *a, unsigned set, uint64_t addr, uint64_t size);
/* For several in a row: between the two, access_set_add_locked() only. */
void access_set_lock(struct access_set *a);
void access_set_unlock(struct access_set *a);
void access_set_add_locked(struct access_set *a, unsigned set, uint64_t addr, uint64_t size);
/* A set as spans, sorted, none touching the next; malloc'ed. More than max: the smallest gaps are
 * closed until that many are left. *inexact: it holds bytes that were not accessed. False: no
 * memory. */
bool access_set_spans(struct access_set *a, unsigned set, size_t max, struct access_span **ret,
	size_t *ret_n, bool *inexact);

#endif
