/* SPDX-License-Identifier: Apache-2.0
 *
 * The code in a GPU core dump: functions and lines by address. Only gpu-core.c uses it. Two devices
 * may have code at the same address.
 */
#ifndef SYMBOLS_GPU_CORE_CODE_H
#define SYMBOLS_GPU_CORE_CODE_H

#include "base/err.h"
#include "symbols/gpu-core.h"

struct gpu_core_codes;
struct gpu_core_codes *gpu_core_codes_new(void);    /* NULL: out of memory */
void gpu_core_codes_free(struct gpu_core_codes *c); /* NULL is fine */
/* A relocated cubin of a device. The bytes stay the caller's, and there as long as c. A cubin that
 * cannot be read has no functions. */
struct err *gpu_core_codes_add(
	struct gpu_core_codes *c, uint32_t device, const uint8_t *bytes, uint64_t n) TS_CHECK;
/* The mangled name of the function that begins at addr; NULL: none does. Lives as long as c. */
const char *gpu_core_function_at(const struct gpu_core_codes *c, uint32_t device, uint64_t addr);
/* What is at pc: the function and line that have the byte `back` bytes before it. */
void gpu_core_code_at(const struct gpu_core_codes *c, uint32_t device, uint64_t pc, unsigned back,
	struct gpu_core_code *ret);

#endif
