/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace for bench-replay, written without recording a program: a large allocation with chosen
 * contents, a small one that a number of launches work on, and the hashes that must come out.
 */
#ifndef BENCH_REPLAY_TRACE_H
#define BENCH_REPLAY_TRACE_H

#include "base/err.h"
#include <stdint.h>

/* What the large allocation holds. */
enum contents {
	CONTENTS_WEIGHTS, /* float32, normally distributed: does not compress, is stored as it is */
	CONTENTS_COARSE,  /* the same rounded to bfloat16, as float32: compresses to about the half
			   */
	CONTENTS_SPARSE,  /* float32 after a ReLU and dropout: two thirds are zeros, at random */
	CONTENTS_TEXT,	  /* repeats itself after some hundred bytes: a zstd frame */
	CONTENTS_ZEROS,
	CONTENTS_END
};
extern const char *const contents_name[CONTENTS_END];

struct replay_trace {
	enum contents contents;
	uint64_t bytes;	       /* of the large allocation: a multiple of 64 KiB */
	unsigned launches;     /* the window's commands */
	unsigned iterations;   /* of each launch's loop */
	unsigned blocks;       /* of 128 threads */
	uint64_t large, small; /* addresses that the device's allocator gives, 2 MiB aligned */
	uint64_t first, last;  /* out: the window */
};

/* Writes it to path. */
struct err *replay_trace_write(struct replay_trace *t, const char *path) TS_CHECK;

#endif
