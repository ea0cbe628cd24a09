/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for the PTX interpreter until that lands in this tree: every module is refused with a sentence that says so. Last in
 * libsoftptx.a, so the linker takes the real functions as soon as they exist; goes then.
 */
#include "softgpu/ptx.h"

#include <stdio.h>

struct ptx_module *ptx_load(const char *text, size_t n, char *log, size_t log_size)
{
	snprintf(log, log_size, "this build has no PTX interpreter");
	return NULL;
}

void ptx_free(struct ptx_module *m)
{
}

bool ptx_var(const struct ptx_module *m, unsigned i, struct ptx_var *ret)
{
	return false;
}

void ptx_var_bind(struct ptx_module *m, unsigned i, uint64_t addr)
{
}

bool ptx_link(struct ptx_module *m, char *log, size_t log_size)
{
	return false;
}

const struct ptx_function *ptx_kernel(const struct ptx_module *m, unsigned i)
{
	return NULL;
}

void ptx_function_info(const struct ptx_function *f, struct ptx_function_info *ret)
{
}

enum ptx_fault_code ptx_run(const struct ptx_launch *l, struct ptx_fault *fault)
{
	return PTX_ILLEGAL_INSTRUCTION;
}
