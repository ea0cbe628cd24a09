/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds which memory a kernel can write to, from its PTX: for each store, the parameters and module
 * variables that its address is computed from. An address that may have been loaded from memory, a
 * call, and whatever is not known to be harmless make the answer "anywhere".
 */
#ifndef REPLAY_PTX_STORES_H
#define REPLAY_PTX_STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_BASES_MAX 256u

struct ptx_base {
	char *symbol;	       /* a variable of the module; NULL: a parameter */
	unsigned param;	       /* its number */
	uint32_t offset, size; /* bytes of it that an address may be in: a multiple of 8; size
				  UINT32_MAX: up to its end */
};
struct ptx_bases {
	uint64_t bits[PTX_BASES_MAX / 64];
};
struct ptx_stores {
	const char *anywhere; /* why it may write to anything; NULL: to what the stores say */
	struct ptx_base *bases;
	unsigned nbases;
	struct ptx_bases *stores; /* of each kind of store, the bases of its address: at least one
				     of them is the memory's */
	size_t nstores;
};

/* text: n bytes of PTX. */
void ptx_stores_find(struct ptx_stores *ret, const char *text, size_t n, const char *entry);
void ptx_stores_free(struct ptx_stores *s);

static inline bool ptx_bases_has(const struct ptx_bases *b, unsigned i)
{
	return b->bits[i / 64] >> i % 64 & 1;
}

/* --- ptx-types.c --- */

/* Which types of numbers a kernel loads and stores through each of its parameters, by its PTX: by
 * the load or store itself (ld.global.f32), else by the instructions that use or made the value.
 * What the code only moves has no type. */
enum {
	PTX_F16 = 1,
	PTX_BF16 = 2,
	PTX_F32 = 4,
	PTX_F64 = 8,
	PTX_FLOATS = 15,
	PTX_INTEGER = 16 /* an integer was computed */
};
#define PTX_TYPES_PARAMS 64u

struct ptx_types { /* by number of the parameter: sets of the above; 0: not known */
	unsigned stores[PTX_TYPES_PARAMS], loads[PTX_TYPES_PARAMS];
};

/* text: n bytes of PTX. False: it does not have the kernel. */
bool ptx_types_find(struct ptx_types *ret, const char *text, size_t n, const char *entry);

#endif
