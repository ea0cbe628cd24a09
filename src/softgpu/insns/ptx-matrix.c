/* SPDX-License-Identifier: Apache-2.0
 *
 * ldmatrix, stmatrix, movmatrix: 8 by 8 matrices of 16-bit elements between shared memory and the
 * registers of a warp. Lanes 8k to 8k + 7 give the addresses of matrix k's rows; lane l then has
 * elements 2 * (l % 4) and the next of row l / 4. "PTX ISA 9.0", 9.7.14.5.15 to 9.7.14.5.17.
 */
#include "softgpu/insns/ptx-mma.h"
#include "softgpu/watch/ptx-observe.h"

struct tile {
	uint16_t at[8][8];
};

/* The 16 bytes of a row whose address lane l gives. */
static uint8_t *row_at(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned op, unsigned l, bool store)
{
	uint64_t a = (i->flags & F_A64 ? REG(u64a, op)[l] : REG(u32a, op)[l]) + (uint64_t)i->imm;

	if (!(i->flags & F_A64))
		a = (uint32_t)a;
	if (i->space == SP_SHARED)
		a = a >> 32 ? UINT64_MAX : PTX_WIN_SHARED + a;
	if (PTX_WIN(a) != PTX_WIN_SHARED)
		ptx_raise(w, i, l, PTX_ILLEGAL_ADDRESS, a, 16, NULL);
	if (a & 15)
		ptx_raise(w, i, l, PTX_MISALIGNED_ADDRESS, a, 16, NULL);
	return ptx_generic(w, i, l, a, 16, store);
}

/* The rows that the first n lanes give; all are checked and reported to the observer before any is
 * touched. */
static void find_rows(struct ptx_warp *w, const struct ptx_insn *i, unsigned op, unsigned n,
	enum ptx_access_kind kind, uint8_t **ret)
{
	for (unsigned l = 0; l < n; l++)
		ret[l] = row_at(w, i, op, l, kind == PTX_WRITE);
	if (ptx_is_observed(w))
		for (unsigned l = 0; l < n; l++)
			ptx_observe_lane(w, i, l, ret[l], 16, kind);
}

/* Lane l's pair of elements of a tile, as they are in a register. */
static uint32_t pair_of(const struct tile *t, unsigned l, bool trans)
{
	unsigned row = l / 4, col = 2 * (l % 4);

	return trans ? t->at[col][row] | (uint32_t)t->at[col + 1][row] << 16
		     : t->at[row][col] | (uint32_t)t->at[row][col + 1] << 16;
}

static void put_pair(struct tile *t, unsigned l, bool trans, uint32_t v)
{
	unsigned row = l / 4, col = 2 * (l % 4);

	*(trans ? &t->at[col][row] : &t->at[row][col]) = (uint16_t)v;
	*(trans ? &t->at[col + 1][row] : &t->at[row][col + 1]) = (uint16_t)(v >> 16);
}

/* arg: 1 when transposed. */
void h_ldmatrix(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_frag *f = &i->u.mma->f[0];
	uint8_t *rows[PTX_LANES];
	struct tile t[4];

	ptx_need_whole_warp(w, i, mask);
	find_rows(w, i, 1, 8 * f->n, PTX_READ, rows);
	for (unsigned l = 0; l < 8u * f->n; l++)
		memcpy(t[l / 8].at[l % 8], rows[l], 16);
	for (unsigned k = 0; k < f->n; k++)
		for (unsigned l = 0; l < PTX_LANES; l++)
			ptx_frag_put(w, f, k, l, pair_of(&t[k], l, i->arg));
}

void h_stmatrix(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_frag *f = &i->u.mma->f[0];
	uint8_t *rows[PTX_LANES];
	struct tile t;

	ptx_need_whole_warp(w, i, mask);
	find_rows(w, i, 0, 8 * f->n, PTX_WRITE, rows);
	for (unsigned k = 0; k < f->n; k++) {
		for (unsigned l = 0; l < PTX_LANES; l++)
			put_pair(&t, l, i->arg, (uint32_t)ptx_frag_get(w, f, k, l));
		for (unsigned row = 0; row < 8; row++)
			memcpy(rows[8 * k + row], t.at[row], 16);
	}
}

void h_movmatrix(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	struct tile t;

	ptx_need_whole_warp(w, i, mask);
	for (unsigned l = 0; l < PTX_LANES; l++)
		put_pair(&t, l, false, REG(u32a, 1)[l]);
	for (unsigned l = 0; l < PTX_LANES; l++)
		REG(u32a, 0)[l] = pair_of(&t, l, true);
}

/* The number of matrices is in the opcode: .x1, .x2, .x4. */
const char *sel_matrix(struct ptx_dec *d)
{
	const char *x = strstr(d->row->op, ".x");

	if (!x || d->i->u.mma->f[0].n != x[2] - '0' || d->i->u.mma->f[0].width != 4)
		return "another number of registers";
	d->i->space = d->mods & MB(shared) ? SP_SHARED : SP_GENERIC;
	return NULL;
}
