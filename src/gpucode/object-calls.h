/* SPDX-License-Identifier: Apache-2.0
 *
 * From the arguments of a driver call that names streams, events, kernels or graphs to its command.
 * The agent has the driver's structures of arguments, observe has registers; both find the ids of
 * objects themselves. It needs no header of CUDA's and makes no call. Pure; any thread.
 */
#ifndef GPUCODE_OBJECT_CALLS_H
#define GPUCODE_OBJECT_CALLS_H

#include <stdint.h>
#include "sbt/cmd.h"

enum object_call {
#define CALL(name, ...) OBJECT_CALL_##name,
#include "gpucode/object-calls.def"
	OBJECT_CALLS
};

#define OBJECT_CALL_ARGS 6  /* no call has an argument that counts behind these */
#define OBJECT_CALL_ASKED 2 /* no call names more objects */

enum object_kind { OBJECT_STREAM = 1, OBJECT_EVENT, OBJECT_KERNEL, OBJECT_EXEC };

/* A field that holds an object's id, which the caller finds by the handle. */
struct object_asked {
	enum object_kind kind;
	uint64_t handle;
	uint64_t *id; /* in the command */
};

/* params: a structure that has the call's arguments as members in their order, laid out as a C
 * compiler does (CUPTI's NAME_params). Writes those that count, at most OBJECT_CALL_ARGS. */
void object_call_args(enum object_call which, const void *params, uint64_t *ret);
/* args: OBJECT_CALL_ARGS of them; in one of 32 bits the upper half does not matter. Fills cmd->u
 * but for the ids, and returns how many it asks for: so many of ret are set. */
unsigned object_call(enum object_call which, const uint64_t *args, struct sbt_cmd *cmd,
	struct object_asked ret[OBJECT_CALL_ASKED]);

#endif
