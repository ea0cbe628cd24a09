/* SPDX-License-Identifier: Apache-2.0
 *
 * mma.sync: d = a * b + c, the matrices spread over the registers of a warp as "PTX
 * ISA 9.0", 9.7.14.5 shows. All shapes but Volta's m8n8k4 have one layout: eight groups of four
 * lanes, a group for each row of A (column of B), a register's elements side by side in k. Integers
 * and f64 are exact; the other products are ptx-tensor.c's.
 */
#include "softgpu/insns/ptx-mma.h"

#include "softgpu/insns/ptx-tensor.h"
#include "softgpu/machine/ptx-path.h"

#include <fenv.h>
#include <stdio.h>

/* --- what there is --- */
#define S(m, n, k) ((m) << 16 | (n) << 8 | (k) / 4)
#define S_FP16                                                                                     \
	{                                                                                          \
		S(8, 8, 4), S(16, 8, 8), S(16, 8, 16)                                              \
	}
#define W_ALL                                                                                      \
	{                                                                                          \
		S(16, 16, 16), S(8, 32, 16), S(32, 8, 16)                                          \
	}
static const struct {
	uint32_t ab, cd; /* types */
	bool same_ab;
	unsigned mma[4], wmma[4]; /* shapes */
} products[] = {
	{TB(f16), TB(f16) | TB(f32), true, S_FP16, W_ALL},
	{TB(bf16), TB(f32), true, {S(16, 8, 8), S(16, 8, 16)}, W_ALL},
	{TB(tf32), TB(f32), true, {S(16, 8, 4), S(16, 8, 8)}, {S(16, 16, 8)}},
	{TB(e4m3) | TB(e5m2), TB(f16) | TB(f32), false, {S(16, 8, 16), S(16, 8, 32)}, {0}},
	{TB(f64), TB(f64), true, {S(8, 8, 4), S(16, 8, 4), S(16, 8, 8), S(16, 8, 16)},
		{S(8, 8, 4)}},
	{TB(u8) | TB(s8), TB(s32), false, {S(8, 8, 16), S(16, 8, 16), S(16, 8, 32)}, W_ALL},
	{TB(u4) | TB(s4), TB(s32), false, {S(8, 8, 32), S(16, 8, 32), S(16, 8, 64)}, {S(8, 8, 32)}},
	{TB(b1), TB(s32), true, {S(8, 8, 128), S(16, 8, 128), S(16, 8, 256)}, {S(8, 8, 128)}},
};

void ptx_read_shape(const char *op, struct ptx_mma *m)
{
	unsigned a = 0, b = 0, c = 0;
	const char *l;

	for (const char *s = op; (s = strchr(s, '.')); s++)
		if (sscanf(s, ".m%un%uk%u", &a, &b, &c) == 3)
			break;
	m->m = (uint8_t)a;
	m->n = (uint8_t)b;
	m->k = (uint16_t)c;
	m->acol = strstr(op, ".col.row") || strstr(op, ".col.col");
	m->bcol = strstr(op, ".row.col") || strstr(op, ".col.col");
	l = strncmp(op, "wmma.mma", 8) && !strncmp(op, "wmma", 4) ? strstr(op, "aligned.") : NULL;
	if (l)
		m->acol = m->bcol = !strncmp(l + 8, "col", 3);
}

static bool has_shape(const unsigned *shapes, const struct ptx_mma *m)
{
	for (unsigned k = 0; k < 4; k++)
		if (shapes[k] == (unsigned)S(m->m, m->n, m->k))
			return true;
	return false;
}

static const char *check_modifiers(struct ptx_dec *d, unsigned type)
{
	bool integer = (TB(u8) | TB(s8) | TB(u4) | TB(s4)) >> type & 1, bit = type == T_b1;
	ptx_mods logic = d->mods & (MB(xor) | MB(and) | MB(popc));

	if (d->mods & MB(satfinite) && !integer)
		return ".satfinite on these types";
	if (d->mods & (MB(rn) | MB(rz) | MB(rm) | MB(rp)) && type != T_f64)
		return "a rounding mode on these types";
	if (bit ? logic != (MB(xor) | MB(popc)) && logic != (MB(and) | MB(popc)) : logic != 0)
		return "this operation on these types";
	d->i->arg =
		(d->mods & MB(satfinite) ? MMA_SATFINITE : 0) | (d->mods & MB(and) ? MMA_AND : 0);
	return NULL;
}

const char *ptx_check_product(struct ptx_dec *d, const struct ptx_mma *m, bool wmma)
{
	for (unsigned k = 0; k < sizeof(products) / sizeof(products[0]); k++) {
		if (!(products[k].ab >> m->type[1] & 1))
			continue;
		if (!(products[k].ab >> m->type[2] & 1) ||
			(products[k].same_ab && m->type[1] != m->type[2]) ||
			!(products[k].cd >> m->type[0] & 1) || !(products[k].cd >> m->type[3] & 1))
			return "these types";
		if (!has_shape(wmma ? products[k].wmma : products[k].mma, m))
			return "this shape with these types";
		return check_modifiers(d, m->type[1]);
	}
	return "these types";
}

/* --- fragments --- */
void ptx_need_whole_warp(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	/* .sync waits for lanes that go on by themselves for now */
	if (mask != PTX_FULL && w->nparked && w->live == PTX_FULL)
		ptx_path_wait(w, i, mask, PTX_FULL);
	if (mask != PTX_FULL)
		ptx_raise(w, i, (unsigned)__builtin_ctz(mask), PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"not all 32 lanes of the warp are here, as .aligned needs");
}

unsigned ptx_matrix_type(const struct ptx_mma *m, char matrix)
{
	return m->type[matrix == 'd' ? 0 : matrix - 'a' + 1];
}

struct ptx_extent ptx_extent(const struct ptx_mma *m, char matrix)
{
	unsigned type = ptx_matrix_type(m, matrix), bits = type == T_b1 ? 32 : ptx_type_bits[type],
		 k = type == T_b1 ? m->k / 32u : m->k;
	struct ptx_extent e = {matrix == 'b' ? k : m->m, matrix == 'a' ? k : m->n, bits,
		bits == 64 ? 1 : 32 / bits};

	return e;
}

uint64_t ptx_frag_get(const struct ptx_warp *w, const struct ptx_frag *f, unsigned r, unsigned lane)
{
	return f->width == 8 ? REG_AT(u64a, f->off[r])[lane] : REG_AT(u32a, f->off[r])[lane];
}

void ptx_frag_put(
	struct ptx_warp *w, const struct ptx_frag *f, unsigned r, unsigned lane, uint64_t v)
{
	if (f->width == 8)
		REG_AT(u64a, f->off[r])[lane] = v;
	else
		REG_AT(u32a, f->off[r])[lane] = (uint32_t)v;
}

void ptx_map_fragment(struct ptx_dec *d, struct ptx_frag *f, char matrix, ptx_place *place)
{
	const struct ptx_mma *m = d->i->u.mma;
	struct ptx_extent e = ptx_extent(m, matrix);
	uint16_t *at = ptx_alloc(d->p->m, PTX_LANES * f->n * sizeof(*at));
	unsigned row, col;

	for (unsigned l = 0; l < PTX_LANES; l++)
		for (unsigned r = 0; r < f->n; r++) {
			place(m, &e, matrix, l, r, 0, &row, &col);
			at[l * f->n + r] = (uint16_t)(row * e.cols + col);
		}
	if (e.per_reg > 1) {
		place(m, &e, matrix, 0, 0, 1, &row, &col);
		f->step = (uint16_t)(row * e.cols + col - at[0]);
	}
	f->at = at;
}

void ptx_gather(const struct ptx_warp *w, const struct ptx_mma *m, const struct ptx_frag *f,
	char matrix, uint32_t lanes, struct ptx_matrix *ret)
{
	struct ptx_extent e = ptx_extent(m, matrix);
	uint64_t part = e.bits == 64 ? ~0ull : (1ull << e.bits) - 1;

	ret->rows = e.rows;
	ret->cols = e.cols;
	for (; lanes; lanes &= lanes - 1) {
		unsigned l = (unsigned)__builtin_ctz(lanes);
		for (unsigned r = 0; r < f->n; r++) {
			uint64_t v = ptx_frag_get(w, f, r, l), *to = &ret->at[f->at[l * f->n + r]];
			for (unsigned j = 0; j < e.per_reg; j++)
				to[j * f->step] = v >> (j * e.bits) & part;
		}
	}
}

void ptx_scatter(struct ptx_warp *w, const struct ptx_mma *m, const struct ptx_frag *f, char matrix,
	uint32_t lanes, const struct ptx_matrix *from)
{
	struct ptx_extent e = ptx_extent(m, matrix);

	for (; lanes; lanes &= lanes - 1) {
		unsigned l = (unsigned)__builtin_ctz(lanes);
		for (unsigned r = 0; r < f->n; r++) {
			const uint64_t *at = &from->at[f->at[l * f->n + r]];
			uint64_t v = 0;
			for (unsigned j = 0; j < e.per_reg; j++)
				v |= at[j * f->step] << (j * e.bits);
			ptx_frag_put(w, f, r, l, v);
		}
	}
}

/* --- products --- */
static int64_t integer_of(unsigned type, uint64_t bits)
{
	switch (type) {
	case T_s8:
		return (int8_t)bits;
	case T_s4:
		return (int64_t)((bits & 15) ^ 8) - 8;
	default:
		return (int64_t)bits;
	}
}

static void multiply_integers(const struct ptx_insn *i, const struct ptx_matrix *a,
	const struct ptx_matrix *b, const struct ptx_matrix *c, struct ptx_matrix *d)
{
	const struct ptx_mma *m = i->u.mma;
	int32_t x[64], y[32][64];

	for (unsigned col = 0; col < d->cols; col++)
		for (unsigned k = 0; k < a->cols; k++)
			y[col][k] = (int32_t)integer_of(m->type[2], b->at[k * b->cols + col]);
	for (unsigned row = 0; row < d->rows; row++) {
		for (unsigned k = 0; k < a->cols; k++)
			x[k] = (int32_t)integer_of(m->type[1], a->at[row * a->cols + k]);
		for (unsigned col = 0; col < d->cols; col++) {
			int32_t dot = 0; /* of at most 64 products of 16 bits */
			int64_t sum;
			for (unsigned k = 0; k < a->cols; k++)
				dot += x[k] * y[col][k];
			sum = (int64_t)(int32_t)c->at[row * d->cols + col] + dot;
			if (i->arg & MMA_SATFINITE)
				sum = sum > INT32_MAX	? INT32_MAX
				      : sum < INT32_MIN ? INT32_MIN
							: sum;
			d->at[row * d->cols + col] = (uint32_t)sum;
		}
	}
}

static void multiply_bits(const struct ptx_insn *i, const struct ptx_matrix *a,
	const struct ptx_matrix *b, const struct ptx_matrix *c, struct ptx_matrix *d)
{
	for (unsigned row = 0; row < d->rows; row++)
		for (unsigned col = 0; col < d->cols; col++) {
			uint64_t sum = c->at[row * d->cols + col];
			for (unsigned k = 0; k < a->cols; k++) {
				uint64_t x = a->at[row * a->cols + k], y = b->at[k * b->cols + col];
				sum += (unsigned)__builtin_popcountll(
					i->arg & MMA_AND ? x & y : x ^ y);
			}
			d->at[row * d->cols + col] = (uint32_t)sum;
		}
}

/* keeps the arithmetic where the rounding mode is set */
#define PIN(v) __asm__ volatile("" : "+x"(v))
static void multiply_f64(const struct ptx_insn *i, const struct ptx_matrix *a,
	const struct ptx_matrix *b, const struct ptx_matrix *c, struct ptx_matrix *d)
{
	int old = fegetround();

	fesetround(i->flags & F_RZ   ? FE_TOWARDZERO
		   : i->flags & F_RM ? FE_DOWNWARD
		   : i->flags & F_RP ? FE_UPWARD
				     : FE_TONEAREST);
	for (unsigned row = 0; row < d->rows; row++)
		for (unsigned col = 0; col < d->cols; col++) {
			double sum = ptx_u2d(c->at[row * d->cols + col]);
			for (unsigned k = 0; k < a->cols; k++) {
				double x = ptx_u2d(a->at[row * a->cols + k]),
				       y = ptx_u2d(b->at[k * b->cols + col]), r = sum;
				PIN(r);
				r = fma(x, y, r);
				PIN(r);
				sum = ptx_nan3(r, x, sum, y);
			}
			d->at[row * d->cols + col] = ptx_d2u(sum);
		}
	fesetround(old);
}

static void multiply_tensor(const struct ptx_mma *m, const struct ptx_matrix *a,
	const struct ptx_matrix *b, const struct ptx_matrix *c, struct ptx_matrix *d)
{
	const struct ptx_tensor_model *model = ptx_tensor_model();
	struct ptx_tensor_row ra, rb[32];

	for (unsigned col = 0; col < d->cols; col++) {
		memset(&rb[col], 0, sizeof(rb[col]));
		for (unsigned k = 0; k < b->rows; k++)
			ptx_tensor_set(
				model, &rb[col], k, m->type[2], (uint32_t)b->at[k * b->cols + col]);
	}
	for (unsigned row = 0; row < d->rows; row++) {
		memset(&ra, 0, sizeof(ra));
		for (unsigned k = 0; k < a->cols; k++)
			ptx_tensor_set(
				model, &ra, k, m->type[1], (uint32_t)a->at[row * a->cols + k]);
		for (unsigned col = 0; col < d->cols; col++) {
			unsigned at = row * d->cols + col;
			d->at[at] = ptx_tensor_dot(model, &ra, &rb[col], a->cols, m->type[1],
				m->matrix, (uint32_t)c->at[at], m->type[3], m->type[0]);
		}
	}
}

void ptx_multiply(const struct ptx_insn *i, const struct ptx_matrix *a, const struct ptx_matrix *b,
	const struct ptx_matrix *c, struct ptx_matrix *d)
{
	const struct ptx_mma *m = i->u.mma;

	d->rows = m->m;
	d->cols = m->n;
	if (m->type[1] == T_b1)
		multiply_bits(i, a, b, c, d);
	else if (m->type[0] == T_s32)
		multiply_integers(i, a, b, c, d);
	else if (m->type[0] == T_f64)
		multiply_f64(i, a, b, c, d);
	else
		multiply_tensor(m, a, b, c, d);
}

/* --- mma --- */
static void place_mma(const struct ptx_mma *m, const struct ptx_extent *e, char matrix,
	unsigned lane, unsigned r, unsigned j, unsigned *row, unsigned *col)
{
	unsigned group = lane / 4, in_group = lane % 4, per_reg = e->per_reg, i;

	switch (matrix) {
	case 'a':
		*row = group + (m->m == 16 ? 8 * (r & 1) : 0);
		*col = (m->m == 16 ? r / 2 : r) * 4 * per_reg + in_group * per_reg + j;
		break;
	case 'b':
		*row = r * 4 * per_reg + in_group * per_reg + j;
		*col = group;
		break;
	default:
		i = r * per_reg + j;
		*row = group + 8 * (i / 2);
		*col = 2 * in_group + (i & 1);
	}
}

/* m8n8k4 on halves: lanes 4q to 4q + 3 and 16 + 4q to 16 + 4q + 3 make product q. "PTX
 * ISA 9.0", 9.7.14.5.1. */
static void place_volta(const struct ptx_mma *m, const struct ptx_extent *e, char matrix,
	unsigned lane, unsigned r, unsigned j, unsigned *row, unsigned *col)
{
	unsigned high = lane < 16 ? 0 : 4, in_group = lane % 4, i = r * 2 + j, x;

	switch (matrix) {
	case 'a':
		*row = high + (m->acol ? i : in_group);
		*col = m->acol ? in_group : i;
		break;
	case 'b':
		*row = m->bcol ? i : in_group;
		*col = high + (m->bcol ? in_group : i);
		break;
	default:
		if (ptx_matrix_type(m, matrix) == T_f16) {
			*row = high + in_group;
			*col = i;
			break;
		}
		x = r;
		*row = high + (in_group & 1) + (x & 2);
		*col = (x & 4) + (in_group & 2) + (x & 1);
	}
}

static bool is_volta(const struct ptx_mma *m)
{
	return m->m == 8 && m->k == 4 && m->type[1] == T_f16;
}

void h_mma(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_mma *m = i->u.mma;
	struct ptx_matrix a, b, c, d;

	ptx_need_whole_warp(w, i, mask);
	for (unsigned q = 0; q < (is_volta(m) ? 4 : 1); q++) {
		uint32_t lanes = is_volta(m) ? 0x000f000fu << 4 * q : PTX_FULL;
		ptx_gather(w, m, &m->f[1], 'a', lanes, &a);
		ptx_gather(w, m, &m->f[2], 'b', lanes, &b);
		ptx_gather(w, m, &m->f[3], 'c', lanes, &c);
		ptx_multiply(i, &a, &b, &c, &d);
		ptx_scatter(w, m, &m->f[0], 'd', lanes, &d);
	}
}

static bool has_registers(const struct ptx_mma *m, const struct ptx_frag *f, char matrix)
{
	struct ptx_extent e = ptx_extent(m, matrix);
	unsigned lanes = is_volta(m) ? 8 : 32;

	return f->n * e.per_reg * lanes == e.rows * e.cols && f->width == (e.bits == 64 ? 8 : 4);
}

const char *sel_mma(struct ptx_dec *d)
{
	struct ptx_mma *m = d->i->u.mma;
	const char *why;

	if (d->ntypes != 4)
		return "not four types";
	memcpy(m->type, d->types, 4);
	ptx_read_shape(d->row->op, m);
	why = ptx_check_product(d, m, false);
	if (why)
		return why;
	if ((m->acol || !m->bcol) && !is_volta(m))
		return "these layouts";
	if (m->type[0] != m->type[3] && (!is_volta(m) || m->type[0] == T_f16))
		return "these types";
	for (unsigned k = 0; k < 4; k++)
		if (!has_registers(m, &m->f[k], "dabc"[k]))
			return "a fragment with another number of registers";
	for (unsigned k = 0; k < 4; k++)
		ptx_map_fragment(d, &m->f[k], "dabc"[k], is_volta(m) ? place_volta : place_mma);
	return NULL;
}
