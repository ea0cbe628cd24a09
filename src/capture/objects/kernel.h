/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels: what the handle of a launch refers to. The driver is asked once for each.
 */
#ifndef CAPTURE_KERNEL_H
#define CAPTURE_KERNEL_H

#include "capture/core/agent.h"
#include "capture/core/driver.h"

struct thread;
struct object;
struct call;

/* Never freed. */
struct kernel {
	uint64_t handle;
	uint32_t id;
	uint32_t ctx;	 /* id of the context that it belongs to; SBT_NO_ID: it is of no context */
	uint32_t module; /* id, or SBT_NO_ID */
	uint32_t nparams;
	uint32_t args_size;
	bool params_known;
	bool dense;	 /* its parameters are in order, each behind the one before */
	bool collective; /* waits for other processes' GPUs (effect.c) */
	const struct kernel_param *params;
	const char *name;	/* mangled */
	const char *short_name; /* sbt_kernel_short_name() of it */
	/* stop.c: bit i: breakpoint slot i's glob matches, as of match_generation; bit 0 of
	 * window_match the window's. */
	_Atomic uint64_t break_match;
	_Atomic uint32_t match_generation, window_match;
};

/* The kernel of a launch's handle; introduced (KERNEL_DEF) if needed. NULL: no memory. ctx may be
 * NULL. */
struct kernel *kernel_get(struct thread *t, struct object *ctx, uint64_t handle);
/* Gathers a launch's arguments, which params point to, into buf (size bytes, a multiple of 8).
 * Returns their bytes, or -1 if they are not known. */
int64_t kernel_gather(const struct kernel *k, void **params, uint8_t *buf, uint64_t size);
/* The module with that handle; introduced, with its code, if needed. NULL: no memory. */
struct object *kernel_module(
	struct thread *t, struct object *ctx, uint64_t handle, const void *code, size_t size);
/* Forgets the kernels of a module that was unloaded. */
void kernel_drop_module(uint32_t module);

#endif
