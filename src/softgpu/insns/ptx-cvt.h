/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounding without the processor's help. Modes are the F_ROUND bits of ptx_insn.flags; none of
 * them: to nearest, ties to even.
 */
#ifndef SOFTGPU_PTX_CVT_H
#define SOFTGPU_PTX_CVT_H

#include "softgpu/machine/ptx-exec.h"

/* type: T_f16, T_bf16, T_f32 or T_f64. */
uint64_t ptx_round(unsigned type, bool neg, uint64_t mant, int exp, unsigned mode);
uint64_t ptx_from_double(unsigned type, double v, unsigned mode);
double ptx_to_double(unsigned type, uint64_t bits);
double ptx_integral(double v, unsigned mode);

#endif
