/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's complex numbers by their HIP names.
 */
#include <hip/hip_complex.h>

#define cuFloatComplex hipFloatComplex
#define make_cuFloatComplex make_hipFloatComplex
#define cuCaddf hipCaddf
#define cuCsubf hipCsubf
#define cuCmulf hipCmulf
