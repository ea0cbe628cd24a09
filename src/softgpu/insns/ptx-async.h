/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that an instruction starts and that ends later: asynchronous copies, stores and reductions,
 * and the mbarriers that they complete on. A GPU may do such work at any time before the program
 * waits for it. Here it is done at the wait, never earlier, so a program that forgets to wait reads
 * old bytes every time. Source bytes are read then, too.
 */
#ifndef SOFTGPU_PTX_ASYNC_H
#define SOFTGPU_PTX_ASYNC_H

#include "softgpu/machine/ptx-exec.h"

/* One piece of work: n bytes from src (or value) to dst, then `zero` zero bytes; or element by
 * element by rmw. The pointers were checked. */
struct ptx_work {
	struct ptx_warp *w;
	const struct ptx_insn *i;
	uint64_t *mbar; /* the mbarrier that this completes on, or NULL */
	uint8_t *dst;
	const uint8_t *src; /* NULL: value */
	uint8_t value[32];
	uint32_t n, zero, tx; /* tx: bytes that count as arrived at mbar */
	uint32_t group;	      /* the lane's group that it belongs to */
	ptx_rmw *rmw;
	uint8_t elem, lane;
	bool bulk;   /* of the thread's bulk groups */
	bool arrive; /* no copy: an arrival at mbar */
	bool done;   /* done, but not yet counted at mbar */
	bool waited; /* its lane was behind a griddepcontrol.wait when it began */
};

/* The pointer of one lane: n bytes at address a in this space (SP_GENERIC, SP_GLOBAL, SP_SHARED,
 * SP_SHCLUSTER). Raises faults, for a not a multiple of align (a power of two) as well. */
void *ptx_in_space(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, unsigned space,
	uint64_t a, uint32_t n, uint32_t align, bool store);
/* The same of memory operand k ('M') of the active lanes. */
void ptx_at_pointers(struct ptx_warp *w, const struct ptx_insn *i, unsigned k, unsigned space,
	uint32_t mask, uint32_t n, uint32_t align, bool store, uint64_t *p);
/* Why memory operand k cannot be in this space, or NULL. */
const char *ptx_at_space(const struct ptx_dec *d, unsigned k, unsigned space);

/* --- mbarriers (ptx-mbarrier.c) --- */
void ptx_mbar_arrive(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t *m, uint32_t count);
void ptx_mbar_complete_tx(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t *m, uint32_t bytes);
/* One more arrival is to come in this phase. */
void ptx_mbar_expect_one(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t *m);

/* --- work (ptx-async.c) --- */
/* Does the work that completes on this mbarrier. Called when an instruction reads the mbarrier. */
void ptx_async_fire(struct ptx_worker *wk, const uint64_t *mbar);
/* Drops the work that earlier blocks started. */
void ptx_async_reset(struct ptx_worker *wk);
/* Makes all copies that the warp has begun. Mbarriers count them when an instruction reads them, as
 * usual. */
void ptx_async_do(struct ptx_warp *w);
/* Called when a warp begins. */
void ptx_async_start(struct ptx_warp *w);
/* Called when a warp has ended: writes what it still has to write to global memory. */
void ptx_async_end(struct ptx_warp *w);
void ptx_async_free(struct ptx_warp *w);

#endif
