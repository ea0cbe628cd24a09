/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel's code does that analyses have to know: one question, answered from PTX and from
 * AMD's machine code. Pure; the code may be damaged.
 */
#ifndef GPUCODE_CODE_TRAITS_H
#define GPUCODE_CODE_TRAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "gpucode/code-kind.h"

struct code_traits {
	bool there; /* the code has the kernel, and its instructions can be read */
	/* It may see a word that others set while it runs, so that the word orders it with them:
	 * strong loads and atomics with a result, of memory that is not the workgroup's own. PTX:
	 * .volatile, .relaxed, .acquire, .mmio, atom (PTX ISA 9.0, "Memory Consistency Model").
	 * GFX9: glc (gfx942: sc0, sc1) without slc ("User Guide for AMDGPU Backend", Memory Model
	 * gfx90a; with slc it is a nontemporal load). */
	bool polls;
	const char *clock; /* what it reads the time with: "%clock", "s_memtime"; NULL: nothing */
};

/* kernel: mangled. If it calls functions, polls counts all code beside it, since which of them it
 * calls is not followed; clock does not, and is of the kernel's own instructions. Machine code of
 * NVIDIA, and of AMD's targets without a table: nothing is there. */
struct code_traits code_traits_of(
	const void *code, size_t n, enum code_kind kind, const char *kernel);

#endif
