/* SPDX-License-Identifier: Apache-2.0
 *
 * From the arguments of a driver call that copies, fills, allocates or frees to its command. For
 * the agent, which has the driver's structures of arguments, and for observe, which has registers:
 * so it needs no header of CUDA's and makes no call. Pure; any thread.
 */
#ifndef GPUCODE_MEMORY_CALLS_H
#define GPUCODE_MEMORY_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "sbt/cmd.h"

enum memory_call {
#define COPY(name, ...) MEMORY_##name,
#define COPY_2D COPY
#define COPY_3D COPY
#define FILL COPY
#define FILL_2D COPY
#define ALLOC COPY
#define FREE COPY
#include "gpucode/memory-calls.def"
#undef COPY
#undef COPY_2D
#undef COPY_3D
#undef FILL
#undef FILL_2D
#undef ALLOC
#undef FREE
	MEMORY_CALLS
};

#define MEMORY_CALL_ARGS 6	/* no call has an argument that counts behind these */
#define MEMORY_CALL_2D_WORDS 16 /* of CUDA_MEMCPY2D, each of 8 bytes */
#define MEMORY_CALL_3D_WORDS 25 /* of CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER */

/* What a copy's side is. The numbers of CUmemorytype. */
enum memory_side {
	MEMORY_SIDE_HOST = 1,
	MEMORY_SIDE_DEVICE = 2,
	MEMORY_SIDE_ARRAY = 3,
	MEMORY_SIDE_ADDRESS = 4, /* the address decides */
};

/* What the command itself does not say. */
struct memory_asked {
	uint64_t stream; /* its handle; 0 for a call that passes none */
	bool on_stream;	 /* it is work on a stream, or memory that comes and goes with one */
	enum memory_side dst, src; /* a copy's */
};

/* How many arguments the call has that count: MEMORY_CALL_ARGS at most. */
unsigned memory_call_nargs(enum memory_call which);
/* args: that many; of one that is shorter than 8 bytes the rest does not matter. words: the
 * structure that argument 0 of a 2D or 3D copy points to, all of it; else, and where it could not
 * be read, NULL. Fills cmd->u, but for the ids of streams and devices, the address that an
 * allocation is given, and whether host memory is pageable. A copy between sides whose addresses
 * decide has the direction SBT_COPY_ANY; the address of an array is 0. */
void memory_call(enum memory_call which, const uint64_t *args, const uint64_t *words,
	struct sbt_cmd *cmd, struct memory_asked *ret);

#endif
