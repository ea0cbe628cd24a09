/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are not there yet, each refused by name. This file alone does not include the CUDA
 * headers: the functions take whatever the caller passes in registers or on the stack, look at none
 * of it, and return an int in place of a cudaError_t.
 */
#include <stdatomic.h>
#include <stdio.h>

int rt_last_error(int err);

#define NOT_SUPPORTED 801 /* cudaErrorNotSupported */

static int refuse(const char *name, atomic_flag *said)
{
	if (!atomic_flag_test_and_set(said))
		fprintf(stderr, "tsdb: software GPU: %s is not supported\n", name);
	return rt_last_error(NOT_SUPPORTED);
}

#define RT_REFUSE(name)                                                                            \
	__attribute__((visibility("default"))) int name(void);                                     \
	int name(void)                                                                             \
	{                                                                                          \
		static atomic_flag said = ATOMIC_FLAG_INIT;                                        \
		return refuse(#name, &said);                                                       \
	}
#include "softgpu/runtime/rt-refused.def"
