/* SPDX-License-Identifier: Apache-2.0
 *
 * What the software GPU says of itself while the program is stopped: where each stream is, and what
 * the kernels in flight do. Fixed-width, as it travels through the memory that agent and tsdb share
 * (wire.h). A vendor's driver has no such function.
 *
 * A warp is proven to loop when it came back to the very same registers, local and shared memory
 * without having changed a byte of memory. It then goes on so until something else changes what it
 * reads, which is listed. A warp that reads a clock, counts, or writes is never proven to.
 */
#ifndef CAPTURE_SOFT_LOOK_H
#define CAPTURE_SOFT_LOOK_H

#include <stdint.h>

#define SOFT_LOOK_STREAMS 64
#define SOFT_LOOK_KERNELS 24
#define SOFT_LOOK_PLACES 8
#define SOFT_LOOK_READS 8

enum soft_look_kind {
	SOFT_LOOK_NOTHING,
	SOFT_LOOK_KERNEL,
	SOFT_LOOK_HOST, /* a host function or a callback */
	SOFT_LOOK_GRAPH,
	SOFT_LOOK_VALUE, /* waits for a value in memory */
	SOFT_LOOK_OTHER
};

struct soft_look_stream {
	uint64_t handle, ctx;	  /* as the program has them; a default stream: 0 */
	uint64_t done, submitted; /* commands, in its life */
	uint64_t since_ns;	  /* CLOCK_MONOTONIC, since when it is at this command */
	uint64_t behind; /* the handle of a stream that it waits for before it begins the command */
	uint64_t addr, value; /* VALUE */
	/* correlation id of the command that it is at, or, from 1 << 31 on, a number of its own,
	 * if nobody had subscribed then; 0: none */
	uint32_t corr;
	uint32_t kind;	       /* enum soft_look_kind, of that command */
	uint32_t waits;	       /* 1: it waits for `behind`; the command has not begun */
	uint32_t os_tid;       /* of the thread that executes it: it runs host functions */
	uint32_t bytes, flags; /* VALUE: the driver's flags */
};

/* Lanes at a line. */
struct soft_look_place {
	char file[80]; /* the end of its path; "": not known, and line is one of the PTX */
	uint32_t line;
	uint32_t lanes;
};

/* Bytes that looping lanes read. */
struct soft_look_read {
	uint64_t addr, value; /* value: of the first 8 bytes at most */
	uint32_t bytes;	      /* of an access */
	uint32_t lanes;
	uint32_t place; /* index of the line that reads */
	uint32_t pad;
};

struct soft_look_kernel {
	char name[128];		 /* mangled, cut */
	uint64_t since_ns, node; /* node: of a graph launch, as activity records have it; else 0 */
	uint64_t blocks, begun;	 /* of the grid */
	uint32_t corr;
	uint32_t resident; /* blocks that were looked at */
	uint32_t whole;	   /* 1: those are all that have begun and not ended */
	/* Warps: waiting at a barrier; moving: followed, and not proven to loop; unknown: they
	 * could not be followed. */
	uint32_t looping, waiting, moving, unknown;
	uint32_t nplaces, nreads;
	uint32_t more_reads;   /* 1: they read more addresses than fit */
	uint32_t shared_reads; /* 1: looping warps read shared memory, too */
	uint32_t pad;
	uint64_t steps; /* instructions that the moving warps were followed for, all together */
	struct soft_look_place place[SOFT_LOOK_PLACES];
	struct soft_look_read read[SOFT_LOOK_READS];
};

struct soft_look {
	uint32_t nstreams, nkernels;
	uint32_t known; /* 1: the driver's lists could be read */
	uint32_t cut;	/* 1: there are more streams or kernels */
	struct soft_look_stream stream[SOFT_LOOK_STREAMS];
	struct soft_look_kernel kernel[SOFT_LOOK_KERNELS];
};

/* tsdb_soft_look: takes `ms` milliseconds at most, and up to 100 more where the driver's lists are
 * locked. One caller at a time. Waits for no command. */
typedef void soft_look_fn(struct soft_look *ret, unsigned ms);

#endif
