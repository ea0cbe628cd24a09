/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes of global memory work reads, writes and changes atomically: a bit for each byte, so a
 * set is exact whatever the order and shape of the accesses. Memory is bounded: past the limit
 * a set has whole regions instead of bytes, and says so. Calls may come from any thread.
 */
#ifndef SOFTGPU_PTX_ACCESS_H
#define SOFTGPU_PTX_ACCESS_H

#include "softcore/access-set.h"
#include "softgpu/machine/ptx-depend.h"
#include "softgpu/watch/ptx-observe.h"

#define PTX_ACCESS_KINDS 3u /* enum ptx_access_kind */
/* all; of the same kinds, those by threads of a launch that may begin early and had not waited */
#define PTX_ACCESS_SETS (2 * PTX_ACCESS_KINDS)
_Static_assert(PTX_ACCESS_SETS == ACCESS_SETS, "one set for each");

struct ptx_accesses;
/* limit: bytes for bits; 0: ACCESS_SET_LIMIT. NULL: no memory. */
struct ptx_accesses *ptx_accesses_new(size_t limit);
void ptx_accesses_free(struct ptx_accesses *a);
void ptx_accesses_clear(struct ptx_accesses *a);
void ptx_accesses_add(
	struct ptx_accesses *a, enum ptx_access_kind kind, uint64_t addr, uint64_t size);
/* access_set_spans() */
bool ptx_accesses_spans(struct ptx_accesses *a, unsigned set, size_t max, struct access_span **ret,
	size_t *ret_n, bool *inexact);
/* An observer that adds a launch's accesses to global memory to the set. */
struct ptx_observer ptx_accesses_observer(struct ptx_accesses *a);
/* How the launches used griddepcontrol. */
const struct ptx_depends *ptx_accesses_depends(const struct ptx_accesses *a);

#endif
