/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds how a kernel computes its addresses. Most kernels touch the same bytes in every launch with
 * the same parameters, grid and block: nothing that was loaded from memory reaches an address, a
 * branch or a predicate. For these kernels it finds the parameters that the bytes depend on.
 */
#ifndef SOFTGPU_PTX_ADDRESSING_H
#define SOFTGPU_PTX_ADDRESSING_H

#include "softgpu/ptx/ptx-int.h"

#define PTX_SOURCES_MAX 48u

/* A part of the parameters that is loaded as a whole. */
struct ptx_source {
	uint32_t offset, size; /* bytes */
	bool shapes;  /* which bytes are touched depends on its value in some other way than as a
			 base */
	bool is_base; /* addresses are its value plus something that does not depend on it */
};
struct ptx_addressing {
	const char *why; /* why memory contents or the time may decide which bytes are touched;
			  * NULL: they do not, and the other members are filled */
	unsigned n;
	struct ptx_source source[PTX_SOURCES_MAX]; /* other bytes of the parameters: they shape */
	uint8_t *base; /* by instruction: its address is made from the base with this index, plus 1;
			  0: from none. NULL with why */
};

/* Never fails: without memory, why says so. */
void ptx_addressing_find(struct ptx_addressing *ret, const struct ptx_function *entry);
void ptx_addressing_free(struct ptx_addressing *a);

#endif
