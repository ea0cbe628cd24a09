/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash kernel's parameters, in types of no vendor: ranges of memory to hash, tables of pages
 * with their copies, and which pages of a table. hash-kernel.h has the calls for CUDA,
 * src/replayer/backend.h those for any GPU.
 */
#ifndef GPUCODE_HASH_ROWS_H
#define GPUCODE_HASH_ROWS_H

#include <stdint.h>
#include "sbt/pagehash.h"

struct hash_kernel_range {
	uint64_t addr, size; /* bytes; any alignment; 16 is fast. Memory that the device can read */
};

/* Device memory that a launch needs for its table and results. */
#define HASH_KERNEL_SCRATCH ((size_t)1 << 20)
/* Pages whose hashes fit in half of it. */
#define HASH_KERNEL_PAGES (HASH_KERNEL_SCRATCH / 2 / sizeof(struct sbt_hash))

/* Hashes that a launch is computing. */
struct hash_kernel_begun {
	struct sbt_hash *out;
	const struct sbt_hash *from;		/* in the table; NULL: they are in out */
	const struct hash_kernel_range *ranges; /* NULL: pages of one */
	uint32_t n;
};

/* A page of memory and its copy elsewhere; tables of these lie on the device. */
struct hash_kernel_page {
	uint64_t mem, copy;
	uint32_t size, pad; /* 1..SBT_PAGE */
};
/* Which pages of a table: runs of them that do not overlap. Goes with the launch, so that nothing
 * has to be sent ahead. */
#define HASH_KERNEL_ROWS 64u
struct hash_kernel_rows {
	uint32_t n, total; /* runs; pages */
	struct {
		uint32_t first, before; /* page of the table; pages in the runs before */
	} row[HASH_KERNEL_ROWS];
};
enum hash_kernel_todo {
	HASH_KERNEL_NOTE = 1,	 /* the hash goes to `first` */
	HASH_KERNEL_COMPARE = 2, /* it should be the one in `first` */
	HASH_KERNEL_EXPECT = 4,	 /* it should be the copy's */
	HASH_KERNEL_RESTORE = 8, /* a page that is not like its copy becomes like it */
	HASH_KERNEL_COMMIT = 16, /* the copy becomes like it, and so does its hash in `copied` */
};
struct hash_kernel_settle { /* device memory */
	uint64_t table;	    /* struct hash_kernel_page[] */
	uint64_t copied;    /* struct sbt_hash[]: of the copies */
	uint64_t first;	    /* the same: of an execution to compare with */
	uint64_t mark; /* uint32_t[2]: pages that were not as they should be are added to [0]; [1]
			  is one of them + 1. Not NULL for COMPARE, EXPECT */
	uint64_t took; /* uint64_t[3], {UINT64_MAX, 0, 0} at first: [2] sums the launches' times,
			  ns; 0: they are not wanted */
};

#endif
