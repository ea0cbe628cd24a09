/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx-insns.def made into two tables: for any x86-64, and for those with AVX2 and FMA.
 */
#include "softgpu/machine/ptx-exec.h"

#define V(h) h##_base
#define PTX_ISA 0
#define ROW(op, t, t2, must, may, pat, h, arg, sel) {#op, t, t2, must, may, pat, h, arg, sel},
#define CTRL(op, t, t2, must, may, pat, arg, sel) {#op, t, t2, must, may, pat, NULL, arg, sel},
const struct ptx_row ptx_rows_base[] = {
#include "softgpu/ptx/ptx-insns.def"
};
#undef V
#undef PTX_ISA
#define V(h) h##_avx2
#define PTX_ISA 1
#define ROW(op, t, t2, must, may, pat, h, arg, sel) {#op, t, t2, must, may, pat, h, arg, sel},
#define CTRL(op, t, t2, must, may, pat, arg, sel) {#op, t, t2, must, may, pat, NULL, arg, sel},
const struct ptx_row ptx_rows_avx2[] = {
#include "softgpu/ptx/ptx-insns.def"
};
const unsigned ptx_nrows = sizeof(ptx_rows_base) / sizeof(ptx_rows_base[0]);
