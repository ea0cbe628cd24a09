/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that never act for the program: of tsdb's agent, the software GPU, NVIDIA's driver and
 * CUPTI. Most have names of their own. CUPTI's have the program's, so they are known by their
 * stacks.
 */
#include "engine/why/why-device.h"

#include <string.h>
#include "gpucode/waiting-calls.h"

bool why_helper_name(const char *name)
{
	static const char *const begin[] = {"tsdb-", "cuda-", "cuda0"};

	for (unsigned i = 0; i < sizeof begin / sizeof *begin; i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	return false;
}

/* The C library, in which every thread begins and waits. */
static bool is_libc(const char *path)
{
	static const char *const begin[] = {
		"libc.so", "libc-2.", "libpthread.so", "libpthread-2.", "ld-linux"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (unsigned i = 0; i < sizeof begin / sizeof *begin; i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	return false;
}

bool why_helper_stack(const struct stack *st)
{
	bool any = false;

	for (unsigned i = 0; i < st->n; i++) {
		const char *module = st->frames[i].sym.module;

		if (st->frames[i].python || !module)
			return false;
		if (gpu_library_has_threads(module))
			any = true;
		else if (!is_libc(module))
			return false;
	}
	return any && is_libc(st->frames[st->n - 1].sym.module);
}
