/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX: any text. What loads is linked and every kernel is run for a short while; a fault is a fine
 * ending.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/memory/mem.h"
#include "softgpu/ptx/ptx.h"
#include "fuzz.h"

struct placed {
	uint64_t addr[64];
	unsigned n;
};

/* What drv-module.c does, with less memory. */
static void *place(void *arg, unsigned i, const struct ptx_var *v)
{
	struct placed *p = arg;
	const struct mem_range *r;

	if (p->n == sizeof(p->addr) / sizeof(p->addr[0]) || v->size > 65536)
		return NULL;
	r = mem_alloc(MEM_MODULE, v->size ? v->size : 1, v->align, 0);
	if (!r)
		return NULL;
	p->addr[p->n++] = r->start;
	mem_zero(r);
	return (void *)(uintptr_t)r->start;
}

static void run(const struct ptx_function *fn)
{
	static uint64_t params[8192]; /* pointers, all of them, to memory that is there */
	struct ptx_launch l = {.fn = fn,
		.grid = {2, 1, 1},
		.block = {40, 1, 1},
		.dynamic_shared = 256,
		.params = params,
		.max_slices = 2};
	static struct ptx_heap *heap;
	struct ptx_function_info info;
	struct ptx_fault f;

	if (!heap)
		heap = ptx_heap_new(1 << 16, 0);
	if (!params[0]) {
		const struct mem_range *r = mem_alloc(MEM_DEVICE, 8192, 256, 0);
		if (!r)
			abort();
		for (unsigned k = 0; k < sizeof(params) / sizeof(params[0]); k++)
			params[k] = r->start;
	}
	l.heap = heap;
	ptx_function_info(fn, &info);
	if (info.cluster[0] == 2 && info.cluster[1] == 1 && info.cluster[2] == 1)
		l.cluster[0] = 2, l.cluster[1] = l.cluster[2] = 1;
	if (info.static_shared > 1 << 20)
		return;
	ptx_run(&l, &f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* malloc'ed to the byte, so that a read past the end shows */
	char *copy = malloc(n ? n : 1), log[128];
	struct ptx_module *m;
	struct placed vars = {.n = 0};

	if (!copy)
		return 0;
	if (!getenv("TSDB_SOFT_WORKERS")) { /* the first time; kernels may print, endlessly */
		setenv("TSDB_SOFT_WORKERS", "1", 1);
		if (!freopen("/dev/null", "w", stdout))
			abort();
	}
	memcpy(copy, data, n);
	m = ptx_load(copy, n, log, sizeof(log));
	free(copy);
	if (!m)
		return 0;
	if (ptx_link(m, place, &vars, log, sizeof(log)) == PTX_LINKED)
		for (unsigned k = 0; k < 4 && ptx_kernel(m, k); k++)
			run(ptx_kernel(m, k));
	while (vars.n-- > 0)
		mem_free(vars.addr[vars.n]);
	ptx_free(m);
	return 0;
}
