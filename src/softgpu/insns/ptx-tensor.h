/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of a tensor core on f16, bf16, tf32 and 8-bit floating-point numbers, as a model
 * with parameters. NVIDIA documents none of it; what is known comes from measurements: Fasi,
 * Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores" (2021); Khattak, Mikaitis,
 * "Accurate models of NVIDIA tensor cores" (2025); Xie et al., "MMA-Sim" (2025).
 *
 * The products of a block and the accumulator are aligned to the largest exponent among them, cut
 * off (not rounded) below `bits` binary places, and added exactly; then the sum is cut off to f32,
 * or rounded to the nearest f16.
 */
#ifndef SOFTGPU_PTX_TENSOR_H
#define SOFTGPU_PTX_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

struct ptx_tensor_model {
	const char *name;
	uint8_t block;	   /* bytes of a row of A that are one block: 32 are 16 halves, 8 tf32 */
	uint8_t bits;	   /* binary places kept while adding; 20 to 32 */
	bool minus_zero;   /* a sum of nothing but -0 is -0 */
	bool fp8_as_f16;   /* 8-bit numbers: by halves, see fp8_dot() */
	bool fma_m8n8k4;   /* Volta's shape: by ordinary instructions, see fma_dot() */
	uint8_t wmma_tf32; /* elements that wmma adds at once, of tf32 */
};

/* What the vendor's assembler makes of a form that the hardware has not is read off its machine
 * code (CUDA 13.0, sm_90): fp8_as_f16, fma_m8n8k4, wmma_tf32. The model in use: an H200's, or the
 * one that TSDB_SOFT_TENSOR names ("volta", "turing", "ampere", "ada", "hopper"). */
const struct ptx_tensor_model *ptx_tensor_model(void);

#define PTX_TENSOR_MAX_K 48 /* 32, and zeros behind them */
enum ptx_tensor_class { TC_FINITE, TC_INF, TC_NAN };
/* One row of A or column of B, taken apart; all zeros at first: (-1)^sign * sig * 2^(exp - places).
 * Signs are in sig. */
struct ptx_tensor_row {
	int32_t sig[PTX_TENSOR_MAX_K];
	int32_t exp[PTX_TENSOR_MAX_K];
	uint8_t class[PTX_TENSOR_MAX_K];
	bool special; /* something is not finite */
};

/* Takes element k apart; type: T_f16, T_bf16, T_tf32, T_e4m3, T_e5m2. */
void ptx_tensor_set(const struct ptx_tensor_model *m, struct ptx_tensor_row *r, unsigned k,
	unsigned type, uint32_t bits);
/* d = a . b + c over k elements of a type, for mma or wmma; ctype and dtype are T_f16 or T_f32. */
uint32_t ptx_tensor_dot(const struct ptx_tensor_model *m, const struct ptx_tensor_row *a,
	const struct ptx_tensor_row *b, unsigned k, unsigned type, bool wmma, uint32_t c,
	unsigned ctype, unsigned dtype);
/* The value of an e4m3 or e5m2. */
double ptx_fp8_value(unsigned type, unsigned bits);

#endif
