/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of the PTX machine: load a text, bind its variables, launch, and look at the
 * memory.
 */
#ifndef PTX_TEST_H
#define PTX_TEST_H

#include "softgpu/memory/mem.h"
#include "softgpu/ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "locks-held.h"

#define PTX_HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

/* As drv-module.c does it. */
static inline void *place_var(void *arg, unsigned i, const struct ptx_var *v)
{
	const struct mem_range *r = mem_alloc(MEM_MODULE, v->size ? v->size : 1, v->align, 0);

	assert_non_null(r);
	mem_zero(r);
	return (void *)(uintptr_t)r->start;
}

static inline struct ptx_module *load(const char *text)
{
	char log[256];
	struct ptx_module *m = ptx_load(text, strlen(text), log, sizeof(log));

	if (!m)
		fail_msg("%s", log);
	if (ptx_link(m, place_var, NULL, log, sizeof(log)) != PTX_LINKED)
		fail_msg("%s", log);
	return m;
}

static inline void *device(size_t n)
{
	const struct mem_range *r = mem_alloc(MEM_DEVICE, n, 256, 0);

	assert_non_null(r);
	memset((void *)(uintptr_t)r->start, 0, n);
	return (void *)(uintptr_t)r->start;
}

/* Only an access has a size; a call that leads nowhere has an address. */
static inline void check_fault(const struct ptx_launch *l, const struct ptx_fault *f)
{
	const bool access = f->code == PTX_ILLEGAL_ADDRESS || f->code == PTX_MISALIGNED_ADDRESS;

	assert_true(access || f->size == 0);
	assert_true(access || f->addr == 0 || strstr(f->text, "call"));
	for (unsigned k = 0; k < 3; k++)
		assert_true(f->thread[k] < l->block[k] && f->block[k] < l->grid[k]);
}

/* OBSERVED: launches have an observer that lets everything pass. RANDOM: in turns of random length.
 */
#ifdef OBSERVED
#include "softgpu/watch/ptx-observe.h"
static inline void not_minded(void *arg, const struct ptx_access *a)
{
}
static const struct ptx_observer watcher = {.access = not_minded};
#define WATCHER &watcher
#else
#define WATCHER NULL
#endif
#ifdef RANDOM
#define IS_RANDOM true
#else
#define IS_RANDOM false
#endif

static inline enum ptx_fault_code launch_of(struct ptx_module *m, const char *kernel, unsigned grid,
	unsigned block, const void *params, struct ptx_fault *f)
{
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, kernel),
		.grid = {grid, 1, 1},
		.block = {block, 1, 1},
		.params = params,
		.observer = WATCHER,
		.schedule = {.random = IS_RANDOM, .seed = 5}};
	enum ptx_fault_code code;

	assert_non_null(l.fn);
	code = ptx_run(&l, f);
	if (code)
		check_fault(&l, f);
	return code;
}

/* A launch that must succeed. */
static inline void run(
	struct ptx_module *m, const char *kernel, unsigned grid, unsigned block, const void *params)
{
	struct ptx_fault f;

	if (launch_of(m, kernel, grid, block, params, &f))
		fail_msg("%s", f.text);
}

/* Loads the text, runs its kernel k with one parameter (memory of n bytes, zeroed, returned) and
 * unloads it. */
static inline void *run_text(const char *text, unsigned grid, unsigned block, size_t n)
{
	struct ptx_module *m = load(text);
	void *out = device(n);

	run(m, "k", grid, block, &out);
	ptx_free(m);
	return out;
}

#endif
