/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a kernel in flight waits for a value in memory, by its PTX: its only loops read memory
 * again and again until it changes. Pure: the caller reads the memory. Text, arguments and values
 * may be anything; what is not known to be harmless is answered "open", with the reason.
 *
 * What is relied on. A lane is in code without loops, which ends soon, or in one of the kernel's
 * loops. Every loop does nothing but read: it stores nothing, counts nothing, reads no clock, waits
 * for no other lane and calls nothing. So lanes that passed a loop earlier, when memory was
 * different, are in later code without loops, or in another of these loops. Hence a kernel that is
 * in flight at two looks some 200 ms apart, between which the values read stayed as they are, has
 * lanes in a loop that these values keep, or has blocks that no multiprocessor had room for.
 */
#ifndef GPUCODE_PTX_SPINS_H
#define GPUCODE_PTX_SPINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_SPIN_READS 16u

enum ptx_spins_answer {
	PTX_SPINS_OPEN,	 /* not known, see why */
	PTX_SPINS_ENDS,	 /* no loop keeps a lane, so the kernel ends by itself, and soon */
	PTX_SPINS_WAITS, /* the loops that the values keep are left only when one of them changes */
};

/* Bytes that a loop reads: one access. */
struct ptx_spin_read {
	uint64_t addr, value;
	unsigned bytes;	     /* 1, 2, 4 or 8 */
	bool known;	     /* the value */
	uint32_t file, line; /* of .loc before the access; 0: none */
};

/* A launch. args: the block of parameters; params: packed (offset, size) u32 pairs, one for each
 * parameter; empty: not known. */
struct ptx_spin_launch {
	const void *args, *params;
	size_t nargs, nparams; /* bytes */
	uint64_t grid[3], block[3];
};

struct ptx_spins {
	enum ptx_spins_answer answer;
	const char *why; /* OPEN: a sentence about "it", without its full stop; static */
	unsigned nloops;
	/* WAITS: what keeps lanes in loops; none of them: an endless loop that reads nothing. OPEN:
	 * what to read, then ask again; known is false for what was not given. */
	unsigned nreads;
	struct ptx_spin_read read[PTX_SPIN_READS];
};

/* text: n bytes of PTX; known: values of memory, from an earlier answer. */
void ptx_spins_ask(struct ptx_spins *ret, const char *text, size_t n, const char *kernel,
	const struct ptx_spin_launch *l, const struct ptx_spin_read *known, unsigned nknown);

/* The name of a file that .loc directives refer to, as the text has it; not terminated. Returns its
 * length; 0: there is none. */
size_t ptx_file_name(const char *text, size_t n, uint32_t file, const char **ret);

#endif
