/* SPDX-License-Identifier: Apache-2.0
 *
 * wmma: load, multiply and store matrices without knowing which lane holds which element. The ISA
 * leaves that open; here m16n16k16 and m16n16k8 lie as two mma's of eight columns side by side,
 * which is what programs that look inside expect, and all others element by element over the lanes.
 * Halves of A and B are held twice or more where the fragment has room for it, as the ISA has them.
 */
#include "softgpu/insns/ptx-mma.h"
#include "softgpu/watch/ptx-observe.h"

static void place_tiles(const struct ptx_mma *m, const struct ptx_extent *e, char matrix,
	unsigned lane, unsigned r, unsigned j, unsigned *row, unsigned *col)
{
	unsigned group = lane / 4, in_group = lane % 4, per_reg = e->per_reg, half, i;
	unsigned kregs = m->k / (4 * per_reg); /* registers along k */

	switch (matrix) {
	case 'a':
		r %= 2 * kregs;
		*row = group + 8 * (r & 1);
		*col = r / 2 * 4 * per_reg + in_group * per_reg + j;
		break;
	case 'b':
		r %= 2 * kregs;
		*row = r % kregs * 4 * per_reg + in_group * per_reg + j;
		*col = group + 8 * (r / kregs);
		break;
	default:
		half = 4 / per_reg;
		i = r % half * per_reg + j;
		*row = group + 8 * (i / 2);
		*col = 8 * (r / half) + 2 * in_group + (i & 1);
	}
}

static void place_in_turn(const struct ptx_mma *m, const struct ptx_extent *e, char matrix,
	unsigned lane, unsigned r, unsigned j, unsigned *row, unsigned *col)
{
	unsigned at = ((r * e->per_reg + j) * PTX_LANES + lane) % (e->rows * e->cols);

	*row = at / e->cols;
	*col = at % e->cols;
}

static ptx_place *place_of(const struct ptx_mma *m)
{
	return m->m == 16 ? place_tiles : place_in_turn;
}

void h_wmma_mma(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_mma *m = i->u.mma;
	struct ptx_matrix a, b, c, d;

	ptx_need_whole_warp(w, i, mask);
	ptx_gather(w, m, &m->f[1], 'a', PTX_FULL, &a);
	ptx_gather(w, m, &m->f[2], 'b', PTX_FULL, &b);
	ptx_gather(w, m, &m->f[3], 'c', PTX_FULL, &c);
	ptx_multiply(i, &a, &b, &c, &d);
	ptx_scatter(w, m, &m->f[0], 'd', PTX_FULL, &d);
}

/* --- memory --- */
/* Elements from one row (column) to the next, as lane l gives it. */
static uint64_t stride_of(const struct ptx_warp *w, const struct ptx_insn *i,
	const struct ptx_extent *e, unsigned op, unsigned l)
{
	if (i->o[op] != NO_REG)
		return REG(u32a, op)[l];
	return (i->u.mma->acol ? e->rows : e->cols) * (i->u.mma->type[0] == T_b1 ? 32 : 1);
}

/* The byte that holds an element of lane l, and how far up in it the element begins. */
static uint8_t *element_at(struct ptx_warp *w, const struct ptx_insn *i, unsigned op,
	const struct ptx_extent *e, unsigned l, unsigned row, unsigned col, bool store,
	unsigned *shift)
{
	bool bit = i->u.mma->type[0] == T_b1;
	uint64_t stride = stride_of(w, i, e, 2, l), across = i->u.mma->acol ? col : row,
		 along = i->u.mma->acol ? row : col;
	uint64_t bits = (across * stride + along * (bit ? 32 : 1)) * (bit ? 1 : e->bits);
	uint64_t base = (i->flags & F_A64 ? REG(u64a, op)[l] : REG(u32a, op)[l]) + (uint64_t)i->imm,
		 a;
	unsigned n = e->bits < 8 ? 1 : e->bits / 8;

	if (!(i->flags & F_A64))
		base = (uint32_t)base;
	a = base + bits / 8;
	*shift = (unsigned)(bits % 8);
	if (i->space == SP_SHARED)
		a = a >> 32 ? UINT64_MAX : PTX_WIN_SHARED + a;
	else if (i->space == SP_GLOBAL && PTX_WIN(a) >= PTX_WIN_SHARED)
		ptx_raise(w, i, l, PTX_ILLEGAL_ADDRESS, a, n, NULL);
	if (a & (n - 1))
		ptx_raise(w, i, l, PTX_MISALIGNED_ADDRESS, a, n, NULL);
	return ptx_generic(w, i, l, a, n, store);
}

/* wmma.load d, [a] {, stride}. Nothing is written before every lane's accesses were checked. */
void h_wmma_load(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_mma *m = i->u.mma;
	const struct ptx_frag *f = &m->f[0];
	struct ptx_extent e = ptx_extent(m, (char)m->matrix);
	ptx_place *place = place_of(m);
	uint64_t v[PTX_LANES][8];
	unsigned row, col, shift, bytes = e.bits < 8 ? 1 : e.bits / 8;
	uint8_t *p;

	ptx_need_whole_warp(w, i, mask);
	for (unsigned l = 0; l < PTX_LANES; l++)
		for (unsigned r = 0; r < f->n; r++) {
			v[l][r] = 0;
			for (unsigned j = 0; j < e.per_reg; j++) {
				uint64_t x = 0;
				place(m, &e, (char)m->matrix, l, r, j, &row, &col);
				p = element_at(w, i, 1, &e, l, row, col, false, &shift);
				ptx_observe_lane(w, i, l, p, bytes, PTX_READ);
				memcpy(&x, p, bytes);
				if (e.bits < 64)
					x = x >> shift & ((1ull << e.bits) - 1);
				v[l][r] |= x << (j * e.bits);
			}
		}
	for (unsigned l = 0; l < PTX_LANES; l++)
		for (unsigned r = 0; r < f->n; r++)
			ptx_frag_put(w, f, r, l, v[l][r]);
}

/* wmma.store.d [a], d {, stride}: elements of at least 16 bits. All are checked, then reported to
 * the observer, then written. */
void h_wmma_store(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_mma *m = i->u.mma;
	const struct ptx_frag *f = &m->f[0];
	struct ptx_extent e = ptx_extent(m, 'd');
	ptx_place *place = place_of(m);
	unsigned row, col, shift;

	ptx_need_whole_warp(w, i, mask);
	for (unsigned pass = 0; pass < 3; pass++)
		for (unsigned l = 0; l < PTX_LANES; l++)
			for (unsigned r = 0; r < f->n; r++)
				for (unsigned j = 0; j < e.per_reg; j++) {
					uint64_t x = ptx_frag_get(w, f, r, l) >> (j * e.bits);
					place(m, &e, 'd', l, r, j, &row, &col);
					uint8_t *p =
						element_at(w, i, 0, &e, l, row, col, true, &shift);
					if (pass == 1)
						ptx_observe_lane(w, i, l, p, e.bits / 8, PTX_WRITE);
					if (pass == 2)
						memcpy(p, &x, e.bits / 8);
				}
}

/* --- decoding --- */
/* Registers of a fragment: halves of A and B fill 8 whatever the shape. */
static bool has_registers(const struct ptx_mma *m, const struct ptx_frag *f, char matrix)
{
	struct ptx_extent e = ptx_extent(m, matrix);
	bool half = ptx_matrix_type(m, matrix) == T_f16 && (matrix == 'a' || matrix == 'b');
	unsigned n = half ? 8 : e.rows * e.cols / e.per_reg / PTX_LANES;

	return f->n == n && f->width == (e.bits == 64 ? 8 : 4);
}

static bool known_layout(const struct ptx_mma *m, unsigned type)
{
	return ptx_type_bits[type] >= 8 || (!m->acol && m->bcol);
}

const char *sel_wmma_mma(struct ptx_dec *d)
{
	struct ptx_mma *m = d->i->u.mma;
	const char *why;

	ptx_read_shape(d->row->op, m);
	m->matrix = 'd';
	if (d->ntypes == 2) { /* of halves the types are not written */
		m->type[0] = d->types[0];
		m->type[1] = m->type[2] = T_f16;
		m->type[3] = d->types[1];
	} else if (d->ntypes == 4 && d->types[1] != T_f16) {
		memcpy(m->type, d->types, 4);
	} else {
		return "these types";
	}
	if (strstr(d->row->op, ".popc")) /* here written before the shape */
		d->mods |= MB(popc) | (strstr(d->row->op, ".xor") ? MB(xor) : MB(and));
	why = ptx_check_product(d, m, true);
	if (why)
		return why;
	if (m->type[1] != m->type[2])
		return "two types of integers";
	if (!known_layout(m, m->type[1]))
		return "these layouts";
	for (unsigned k = 0; k < 4; k++)
		if (!has_registers(m, &m->f[k], "dabc"[k]))
			return "a fragment with another number of registers";
	for (unsigned k = 0; k < 4; k++)
		ptx_map_fragment(d, &m->f[k], "dabc"[k], place_of(m));
	return NULL;
}

/* Which element types go with which shape is what the product of the shape takes. */
static const char *check_access(struct ptx_dec *d, struct ptx_mma *m)
{
	static const uint8_t types[] = {T_f16, T_bf16, T_tf32, T_f64, T_u8, T_u4, T_b1};
	unsigned type = d->types[0];
	bool ab = m->matrix == 'a' || m->matrix == 'b';
	struct ptx_dec probe = *d;
	struct ptx_insn scratch = {0};

	if (d->ntypes != 1)
		return "not one type";
	probe.i = &scratch;
	for (unsigned k = 0; k < sizeof(types); k++) {
		unsigned of = types[k], in = type == T_s8 ? T_u8 : type == T_s4 ? T_u4 : type;
		unsigned result = of == T_f64				   ? T_f64
				  : of == T_u8 || of == T_u4 || of == T_b1 ? T_s32
				  : ab					   ? T_f32
									   : type;
		struct ptx_mma p = *m;
		p.type[1] = p.type[2] = (uint8_t)of;
		p.type[0] = p.type[3] = (uint8_t)result;
		probe.mods = of == T_b1 ? MB(xor) | MB(popc) : 0;
		if ((ab ? in == of : type == result) && !ptx_check_product(&probe, &p, true)) {
			m->type[0] = m->type[1] = m->type[2] = m->type[3] = (uint8_t)type;
			return NULL;
		}
	}
	return "this shape with this type";
}

const char *sel_wmma_access(struct ptx_dec *d)
{
	struct ptx_mma *m = d->i->u.mma;
	bool store = !strncmp(d->row->op, "wmma.store", 10);
	const char *why;

	ptx_read_shape(d->row->op, m);
	m->matrix = (uint8_t)(store ? 'd' : d->row->op[10]);
	why = check_access(d, m);
	if (why)
		return why;
	if (ptx_type_bits[m->type[0]] < 8 && m->acol != (m->matrix == 'b'))
		return "this layout";
	if (!has_registers(m, &m->f[0], (char)m->matrix))
		return "a fragment with another number of registers";
	if (d->mods & MB(shared) && d->mods & MB(global))
		return "two state spaces";
	d->i->space = d->mods & MB(shared)   ? SP_SHARED
		      : d->mods & MB(global) ? SP_GLOBAL
					     : SP_GENERIC;
	return NULL;
}
