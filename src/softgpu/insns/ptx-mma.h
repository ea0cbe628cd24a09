/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices whose elements lie in the registers of a warp's lanes: what mma and wmma
 * share.
 */
#ifndef SOFTGPU_PTX_MMA_H
#define SOFTGPU_PTX_MMA_H

#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/machine/ptx-exec.h"

/* A matrix out of its fragments, row by row. Single bits are kept 32 to an element, along k. */
#define PTX_MATRIX_MAX 1024
struct ptx_matrix {
	unsigned rows, cols;
	uint64_t at[PTX_MATRIX_MAX];
};

enum { /* ptx_insn.arg of mma and wmma.mma */
	MMA_SATFINITE = 1 << 0,
	MMA_AND = 1 << 1, /* single bits: and, else xor */
};

/* Rows and columns of a matrix, bits of an element (32 for single bits) and elements in a register.
 */
struct ptx_extent {
	unsigned rows, cols, bits, per_reg;
};

/* Where element j of register r of a lane is in its matrix. */
typedef void ptx_place(const struct ptx_mma *m, const struct ptx_extent *e, char matrix,
	unsigned lane, unsigned r, unsigned j, unsigned *row, unsigned *col);

/* d = a * b + c for the shape and types of i->u.mma; sets d's size. */
void ptx_multiply(const struct ptx_insn *i, const struct ptx_matrix *a, const struct ptx_matrix *b,
	const struct ptx_matrix *c, struct ptx_matrix *d);
/* Between fragments and matrices; matrix: 'a', 'b', 'c' or 'd'. Lanes that hold no part of it are
 * left out by their mask. */
void ptx_gather(const struct ptx_warp *w, const struct ptx_mma *m, const struct ptx_frag *f,
	char matrix, uint32_t lanes, struct ptx_matrix *ret);
void ptx_scatter(struct ptx_warp *w, const struct ptx_mma *m, const struct ptx_frag *f, char matrix,
	uint32_t lanes, const struct ptx_matrix *from);
/* Fills a fragment's map; done once, by the decoder. */
void ptx_map_fragment(struct ptx_dec *d, struct ptx_frag *f, char matrix, ptx_place *place);

struct ptx_extent ptx_extent(const struct ptx_mma *m, char matrix);
unsigned ptx_matrix_type(const struct ptx_mma *m, char matrix);

/* Raises a fault unless all 32 lanes are here: .aligned instructions need them. */
void ptx_need_whole_warp(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask);
uint64_t ptx_frag_get(
	const struct ptx_warp *w, const struct ptx_frag *f, unsigned r, unsigned lane);
void ptx_frag_put(
	struct ptx_warp *w, const struct ptx_frag *f, unsigned r, unsigned lane, uint64_t v);

/* Reads the shape and the layouts out of the row's opcode. */
void ptx_read_shape(const char *op, struct ptx_mma *m);
/* Whether there is such a product, and its modifiers fit: why not, or NULL. Sets the instruction's
 * arg. */
const char *ptx_check_product(struct ptx_dec *d, const struct ptx_mma *m, bool wmma);

#endif
