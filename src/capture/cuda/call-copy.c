/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: copies and fills. gpucode/memory-calls.def says what their arguments mean; here the
 * driver is asked for what they do not say. The parameter structures of the plain, _ptds, _ptsz
 * forms of a call are the same, so they share a handler.
 */
#include <cupti.h>
#include <stddef.h>
#include <string.h>
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/cuda-calls.h"
#include "capture/core/thread.h"
#include "capture/objects/arrays.h"

/* ---- arguments ---- */

/* Every argument of these calls lies in 8 bytes of its own. */
#define ARG(type, member, i)                                                                       \
	_Static_assert(offsetof(type##_params, member) == 8 * (i), "arguments of 8 bytes each")
ARG(cuMemcpyHtoDAsync_v2, hStream, 3);
ARG(cuMemcpyPeerAsync, hStream, 5);
ARG(cuMemcpy2DAsync_v2, hStream, 1);
ARG(cuMemcpy3DAsync_v2, hStream, 1);
ARG(cuMemcpy3DPeerAsync, hStream, 1);
ARG(cuMemsetD8_v2, N, 2);
ARG(cuMemsetD8Async, hStream, 3);
ARG(cuMemsetD32Async, hStream, 3);
ARG(cuMemsetD2D8Async, uc, 2);
ARG(cuMemsetD2D8Async, hStream, 5);
ARG(cuMemsetD2D32Async, hStream, 5);
ARG(cuMemAllocManaged, flags, 2);
ARG(cuMemHostAlloc, Flags, 2);
ARG(cuMemHostRegister_v2, Flags, 2);
ARG(cuMemAllocAsync, hStream, 2);
ARG(cuMemAllocFromPoolAsync, hStream, 3);
ARG(cuMemMap, flags, 4);
ARG(cuMemFreeAsync, hStream, 1);
#undef ARG

void memory_args(enum memory_call which, const void *params, uint64_t *ret)
{
	memcpy(ret, params, memory_call_nargs(which) * sizeof(*ret));
}

/* ---- copies ---- */

/* Whether memory is pageable: the driver does not know such memory and returns an error. */
bool call_is_pageable(uint64_t address)
{
	CUmemorytype type = 0;
	return OWN(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)) !=
		       CUDA_SUCCESS ||
	       !type;
}

static bool is_device(uint64_t address)
{
	CUmemorytype type = 0;
	return OWN(cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)) ==
		       CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

static bool is_on_device(enum memory_side side, uint64_t address)
{
	return side == MEMORY_SIDE_DEVICE || (side == MEMORY_SIDE_ADDRESS && is_device(address));
}

/* Finds the direction from the addresses, as the driver does, if the call does not say it. */
static enum sbt_copy direction(const struct sbt_cmd_copy *k, const struct memory_asked *a)
{
	const bool dst = is_on_device(a->dst, k->dst), src = is_on_device(a->src, k->src);
	return dst ? (src ? SBT_COPY_D2D : SBT_COPY_H2D) : (src ? SBT_COPY_D2H : SBT_COPY_H2H);
}

static void copied(struct call *c, const struct memory_asked *a)
{
	struct sbt_cmd_copy *k = &c->cmd.u.copy;
	if (a->dst == MEMORY_SIDE_ARRAY || a->src == MEMORY_SIDE_ARRAY) {
		call_unreplayable(c, "a copy to or from a CUDA array");
		return;
	}
	k->stream = call_stream(c, a->stream);
	if (k->dir == SBT_COPY_ANY)
		k->dir = direction(k, a);
	if (k->dir == SBT_COPY_H2D || k->dir == SBT_COPY_D2H)
		k->pageable = call_is_pageable(k->dir == SBT_COPY_H2D ? k->src : k->dst);
}

static void copy(struct call *c, enum memory_call which)
{
	uint64_t args[MEMORY_CALL_ARGS];
	struct memory_asked a;
	memory_args(which, c->params, args);
	memory_call(which, args, NULL, &c->cmd, &a);
	copied(c, &a);
}

/* Where words of the driver's structures are, from the beginning of a side. */
struct side_words {
	unsigned type, device, array, pitch, height; /* height 0: there is none */
};

/* Puts the address that an array has for us, and its rows, in the place of the array. One that is
 * not known stays. */
static void find_array(uint64_t *side, const struct side_words *at)
{
	const bool is_array = (uint32_t)side[at->type] == CU_MEMORYTYPE_ARRAY;
	const struct array *a = is_array ? arrays_by_handle(side[at->array]) : NULL;
	if (!a)
		return;
	side[at->type] = CU_MEMORYTYPE_DEVICE;
	side[at->device] = a->addr;
	side[at->pitch] = a->row;
	if (at->height)
		side[at->height] = a->rows;
}

static void find_arrays(uint64_t *words, unsigned n)
{
	static const struct side_words in_2d = {2, 4, 5, 6, 0}, in_3d = {4, 6, 7, 9, 10};
	const bool flat = n == MEMORY_CALL_2D_WORDS;
	find_array(words, flat ? &in_2d : &in_3d);
	find_array(words + (flat ? 7 : 11), flat ? &in_2d : &in_3d);
}

/* from: the driver's structure, which the call's first argument points to. */
static void copy_rows(struct call *c, enum memory_call which, const uint64_t *args,
	const void *from, unsigned words)
{
	uint64_t w[MEMORY_CALL_3D_WORDS];
	struct memory_asked a;
	if (!from) {
		c->skip = true;
		return;
	}
	memcpy(w, from, words * sizeof(*w));
	find_arrays(w, words);
	memory_call(which, args, w, &c->cmd, &a);
	copied(c, &a);
}

static void copy_pitched(struct call *c, enum memory_call which, unsigned words)
{
	uint64_t args[MEMORY_CALL_ARGS];
	memory_args(which, c->params, args);
	copy_rows(c, which, args, (const void *)(uintptr_t)args[0], words);
}

void call_copy_3d(struct call *c, const CUDA_MEMCPY3D *m)
{
	static const uint64_t args[MEMORY_CALL_ARGS];
	copy_rows(c, MEMORY_3d, args, m, MEMORY_CALL_3D_WORDS);
}

/* The structures are words of 8 bytes, as memory-calls.h takes them. */
#define WORD(type, member, i)                                                                      \
	_Static_assert(offsetof(type, member) == 8 * (i), "a structure of words")
WORD(CUDA_MEMCPY2D, srcMemoryType, 2);
WORD(CUDA_MEMCPY2D, srcDevice, 4);
WORD(CUDA_MEMCPY2D, srcArray, 5);
WORD(CUDA_MEMCPY2D, srcPitch, 6);
WORD(CUDA_MEMCPY2D, dstXInBytes, 7);
WORD(CUDA_MEMCPY2D, Height, MEMORY_CALL_2D_WORDS - 1);
WORD(CUDA_MEMCPY3D, srcMemoryType, 4);
WORD(CUDA_MEMCPY3D, srcDevice, 6);
WORD(CUDA_MEMCPY3D, srcArray, 7);
WORD(CUDA_MEMCPY3D, srcHeight, 10);
WORD(CUDA_MEMCPY3D, srcPitch, 9);
WORD(CUDA_MEMCPY3D, dstXInBytes, 11);
WORD(CUDA_MEMCPY3D, Depth, MEMORY_CALL_3D_WORDS - 1);
WORD(CUDA_MEMCPY3D_PEER, srcMemoryType, 4);
WORD(CUDA_MEMCPY3D_PEER, srcPitch, 9);
WORD(CUDA_MEMCPY3D_PEER, dstXInBytes, 11);
WORD(CUDA_MEMCPY3D_PEER, Depth, MEMORY_CALL_3D_WORDS - 1);

/* ---- fills ---- */

static void fill(struct call *c, enum memory_call which)
{
	uint64_t args[MEMORY_CALL_ARGS];
	struct memory_asked a;
	memory_args(which, c->params, args);
	memory_call(which, args, NULL, &c->cmd, &a);
	c->cmd.u.fill.stream = call_stream(c, a.stream);
}

/* ---- the handlers ---- */

#define HANDLER(name, body)                                                                        \
	void enter_##name(struct call *c)                                                          \
	{                                                                                          \
		body;                                                                              \
	}
#define COPY(name, ...) HANDLER(name, copy(c, MEMORY_##name))
#define COPY_2D(name, ...) HANDLER(name, copy_pitched(c, MEMORY_##name, MEMORY_CALL_2D_WORDS))
#define COPY_3D(name, ...) HANDLER(name, copy_pitched(c, MEMORY_##name, MEMORY_CALL_3D_WORDS))
#define FILL(name, ...) HANDLER(name, fill(c, MEMORY_##name))
#define FILL_2D(name, ...) HANDLER(name, fill(c, MEMORY_##name))
#define ALLOC(name, ...)
#define FREE(name, ...)
#include "gpucode/memory-calls.def"
