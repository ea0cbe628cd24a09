/* SPDX-License-Identifier: Apache-2.0
 *
 * Read, change, write: the operations of LDS and memory atomics. Memory is shared with other
 * workers and with the host, so every one is a compare-and-swap of the processor's.
 */
#ifndef SOFTAMD_AMD_ATOMIC_H
#define SOFTAMD_AMD_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

enum amd_atomic {
	AMD_ADD,
	AMD_SUB,
	AMD_RSUB,
	AMD_INC,
	AMD_DEC,
	AMD_SMIN,
	AMD_UMIN,
	AMD_SMAX,
	AMD_UMAX,
	AMD_AND,
	AMD_OR,
	AMD_XOR,
	AMD_SWAP,
	AMD_CMPSWAP, /* data: what to store; other: what has to be there */
	AMD_MSKOR,   /* data: bits to clear; other: to set */
	AMD_FADD,
	AMD_FMIN,
	AMD_FMAX,
	AMD_PK_ADD_F16
};

/* The new value; bits: 32 or 64. */
uint64_t amd_atomic_value(
	enum amd_atomic op, unsigned bits, uint64_t old, uint64_t data, uint64_t other);
/* Does it at p, which is aligned to its size; returns the old value. */
uint64_t amd_atomic(enum amd_atomic op, unsigned bits, void *p, uint64_t data, uint64_t other);

#endif
