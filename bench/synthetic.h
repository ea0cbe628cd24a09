/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic traces, the same every time: 8 streams, a few hundred kernels, a few thousand live
 * allocations, and per step what a training loop does: copies in, launches, events between streams,
 * allocations that come and go, a sync.
 */
#ifndef BENCH_SYNTHETIC_H
#define BENCH_SYNTHETIC_H

#include "sbt/sbt.h"

#define SYNTHETIC_STREAMS 8
#define SYNTHETIC_KERNELS 300
#define SYNTHETIC_ALLOCS 4000
#define SYNTHETIC_EVENTS 64

struct synthetic {
	uint32_t streams;
	uint32_t waits; /* every so many commands a stream waits for an event of another; 0: once a
			   step */
	uint64_t x;	/* of the generator */
	uint64_t seq;	/* of the last command */
	uint64_t step;
	uint64_t sync; /* the one to end; 0 none */
	uint32_t slot[SYNTHETIC_ALLOCS];
	struct {
		uint64_t p[3];
		uint32_t n, more;
	} args;
};

#define SYNTHETIC_INIT                                                                             \
	{                                                                                          \
		.streams = SYNTHETIC_STREAMS, .x = 88172645463325252                               \
	}

/* The next command; blobs in it live until the next call. */
struct sbt_cmd synthetic_next(struct synthetic *g);
/* Writes n commands with keyframes as the recorder does, and GPU times when asked. */
struct err *synthetic_write(const char *path, uint64_t n, bool times) TS_CHECK;
/* The same with other figures; of *shape, streams and waits count. */
struct err *synthetic_write_as(
	const char *path, uint64_t n, bool times, const struct synthetic *shape) TS_CHECK;

#endif
