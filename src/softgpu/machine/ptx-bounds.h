/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds of the recording's allocations within memory that a replay has mapped; see ptx-bounds.c.
 */
#ifndef SOFTGPU_PTX_BOUNDS_H
#define SOFTGPU_PTX_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replayer/soft-watch.h"

/* For kernels that begin from now on. Sorted, none touches the next; n 0: no bounds. */
void ptx_bounds_set(const struct soft_span *s, size_t n);
/* Narrows the mapped range start..end, which holds a, to the bounds around a; false: a is within
 * none. */
bool ptx_bounds_cut(uint64_t a, uint64_t *start, uint64_t *end);

#endif
