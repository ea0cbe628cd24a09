/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx-alu.c and ptx-ldst.c once more, for machines with AVX2 and FMA. The decoder picks one table
 * or the other when the first module is loaded.
 */
#ifdef __clang__
#pragma clang attribute push(                                                                      \
	__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif
#define PTX_ALU_AVX2
#include "softgpu/insns/ptx-alu.c"
#undef V
#include "softgpu/insns/ptx-ldst.c"
#ifdef __clang__
#pragma clang attribute pop
#endif
