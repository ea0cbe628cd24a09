/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of freed device memory that keep their contents while work runs that may still touch them:
 * a program may free memory in one stream that a kernel in another one uses. The caller holds the
 * lock of mem.c.
 */
#ifndef SOFTGPU_MEM_HELD_H
#define SOFTGPU_MEM_HELD_H

#include "softgpu/memory/mem-extents.h"

/* False: there is no memory for it. */
bool held_add(struct extent x);
/* Takes one out; false when there is none. */
bool held_take(struct extent *ret);
bool held_any(void);
bool held_has(uint64_t addr);

#endif
