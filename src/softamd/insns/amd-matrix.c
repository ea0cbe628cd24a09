/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix instructions (MFMA): D = A B + C of small blocks, spread over a wave's registers. EXEC
 * does not count ("AMD Instinct MI200 ISA", 7).
 *
 * A dot product is computed as one fma after the other, k upwards from C. The hardware adds in an
 * order and with roundings between that no document says: a launch that executes a floating point
 * one is noted (AMD_APPROX_MFMA). Integers are exact.
 *
 * Where the elements lie (as AMD's matrix instruction calculator and its examples have it): A's row
 * i and B's column j are in lanes i and j of a block's lanes. With several blocks a block has its
 * own lanes and all of k in a lane; with one block the lanes go on with k. D has rows of 4 in a
 * lane's registers, the lanes of a row of D side by side.
 */
#include <math.h>

#include "softamd/insns/amd-insn.h"

struct shape {
	uint16_t id;
	uint8_t size, blocks; /* rows and columns of a block; how many */
	char type;	      /* 'f': f32, 'h': f16, 'b': bf16, 'i': i8, 'd': f64 */
	uint8_t in_lane;      /* elements of A in a lane */
};
static const struct shape shapes[] = {
	{GFX_v_mfma_f32_32x32x1f32, 32, 2, 'f', 1},
	{GFX_v_mfma_f32_16x16x1f32, 16, 4, 'f', 1},
	{GFX_v_mfma_f32_4x4x1f32, 4, 16, 'f', 1},
	{GFX_v_mfma_f32_32x32x2f32, 32, 1, 'f', 1},
	{GFX_v_mfma_f32_16x16x4f32, 16, 1, 'f', 1},
	{GFX_v_mfma_f32_32x32x4f16, 32, 2, 'h', 4},
	{GFX_v_mfma_f32_16x16x4f16, 16, 4, 'h', 4},
	{GFX_v_mfma_f32_4x4x4f16, 4, 16, 'h', 4},
	{GFX_v_mfma_f32_32x32x8f16, 32, 1, 'h', 4},
	{GFX_v_mfma_f32_16x16x16f16, 16, 1, 'h', 4},
	{GFX_v_mfma_i32_32x32x4i8, 32, 2, 'i', 4},
	{GFX_v_mfma_i32_16x16x4i8, 16, 4, 'i', 4},
	{GFX_v_mfma_i32_4x4x4i8, 4, 16, 'i', 4},
	{GFX_v_mfma_i32_32x32x8i8, 32, 1, 'i', 4},
	{GFX_v_mfma_i32_16x16x16i8, 16, 1, 'i', 4},
	{GFX_v_mfma_f32_32x32x4bf16_1k, 32, 2, 'b', 4},
	{GFX_v_mfma_f32_16x16x4bf16_1k, 16, 4, 'b', 4},
	{GFX_v_mfma_f32_4x4x4bf16_1k, 4, 16, 'b', 4},
	{GFX_v_mfma_f32_32x32x8bf16_1k, 32, 1, 'b', 4},
	{GFX_v_mfma_f32_16x16x16bf16_1k, 16, 1, 'b', 4},
	{GFX_v_mfma_f32_32x32x2bf16, 32, 2, 'b', 2},
	{GFX_v_mfma_f32_16x16x2bf16, 16, 4, 'b', 2},
	{GFX_v_mfma_f32_4x4x2bf16, 4, 16, 'b', 2},
	{GFX_v_mfma_f32_32x32x4bf16, 32, 1, 'b', 2},
	{GFX_v_mfma_f32_16x16x8bf16, 16, 1, 'b', 2},
	{GFX_v_mfma_f64_16x16x4f64, 16, 1, 'd', 1},
	{GFX_v_mfma_f32_32x32x1_2b_f32, 32, 2, 'f', 1},
	{GFX_v_mfma_f32_16x16x1_4b_f32, 16, 4, 'f', 1},
	{GFX_v_mfma_f32_4x4x1_16b_f32, 4, 16, 'f', 1},
	{GFX_v_mfma_f32_32x32x2_f32, 32, 1, 'f', 1},
	{GFX_v_mfma_f32_16x16x4_f32, 16, 1, 'f', 1},
	{GFX_v_mfma_f32_32x32x4_2b_f16, 32, 2, 'h', 4},
	{GFX_v_mfma_f32_16x16x4_4b_f16, 16, 4, 'h', 4},
	{GFX_v_mfma_f32_4x4x4_16b_f16, 4, 16, 'h', 4},
	{GFX_v_mfma_f32_32x32x8_f16, 32, 1, 'h', 4},
	{GFX_v_mfma_f32_16x16x16_f16, 16, 1, 'h', 4},
	{GFX_v_mfma_i32_32x32x4_2b_i8, 32, 2, 'i', 4},
	{GFX_v_mfma_i32_16x16x4_4b_i8, 16, 4, 'i', 4},
	{GFX_v_mfma_i32_4x4x4_16b_i8, 4, 16, 'i', 4},
	{GFX_v_mfma_f32_32x32x4_2b_bf16, 32, 2, 'b', 4},
	{GFX_v_mfma_f32_16x16x4_4b_bf16, 16, 4, 'b', 4},
	{GFX_v_mfma_f32_4x4x4_16b_bf16, 4, 16, 'b', 4},
	{GFX_v_mfma_f32_32x32x8_bf16, 32, 1, 'b', 4},
	{GFX_v_mfma_f32_16x16x16_bf16, 16, 1, 'b', 4},
	{GFX_v_mfma_f64_16x16x4_f64, 16, 1, 'd', 1},
};

static const struct shape *shape_of(const struct amd_op *o)
{
	for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++)
		if (shapes[k].id == o->i.id)
			return &shapes[k];
	return NULL; /* no other has this handler */
}

/* Registers of source n: vectors, or accumulators. */
static const uint32_t (
	*source(const struct amd_wave *w, const struct amd_op *o, unsigned n))[AMD_LANES]
{
	bool acc = n == 2 ? o->i.acc : o->i.acc_src >> n & 1;

	return (acc ? w->acc : w->v) + (o->i.src[n] - GFX_VGPR);
}

/* Element k of row (or column) i of a block, in A (or B): register and lane. */
struct element {
	unsigned lane, at;
};

static struct element input(const struct shape *s, unsigned block, unsigned i, unsigned k)
{
	if (s->blocks > 1)
		return (struct element){block * s->size + i, k};
	return (struct element){k / s->in_lane * s->size + i, k % s->in_lane};
}

/* D's (and C's) element. at: in registers of its type. */
static struct element output(const struct shape *s, unsigned block, unsigned i, unsigned j)
{
	if (s->type == 'd')
		return (struct element){i % 4 * 16 + j, i / 4};
	if (s->size == 32)
		return (struct element){i / 4 % 2 * 32 + j, block * 16 + i / 8 * 4 + i % 4};
	if (s->size == 16)
		return (struct element){i / 4 * 16 + j, block * 4 + i % 4};
	return (struct element){block * 4 + j, i};
}

static float single_of(const struct shape *s, const uint32_t (*p)[AMD_LANES], struct element e)
{
	uint32_t half;

	if (s->type == 'f')
		return as_float(p[0][e.lane]);
	half = p[e.at / 2][e.lane] >> 16 * (e.at % 2) & 0xffff;
	return s->type == 'h' ? amd_half_to_float((uint16_t)half) : as_float(half << 16);
}

static uint32_t sum_of_singles(const struct shape *s, const uint32_t (*a)[AMD_LANES],
	const uint32_t (*b)[AMD_LANES], unsigned block, unsigned i, unsigned j, uint32_t c)
{
	unsigned n = s->blocks > 1 ? s->in_lane : 64u / s->size * s->in_lane;
	float sum = as_float(c);

	for (unsigned k = 0; k < n; k++)
		sum = fmaf(single_of(s, a, input(s, block, i, k)),
			single_of(s, b, input(s, block, j, k)), sum);
	return float_bits(sum);
}

static uint32_t sum_of_bytes(const struct shape *s, const uint32_t (*a)[AMD_LANES],
	const uint32_t (*b)[AMD_LANES], unsigned block, unsigned i, unsigned j, uint32_t c)
{
	unsigned n = s->blocks > 1 ? s->in_lane : 64u / s->size * s->in_lane;

	for (unsigned k = 0; k < n; k++) {
		struct element x = input(s, block, i, k), y = input(s, block, j, k);

		c += (uint32_t)((int8_t)(a[0][x.lane] >> 8 * x.at) *
				(int8_t)(b[0][y.lane] >> 8 * y.at));
	}
	return c;
}

static double double_at(const uint32_t (*p)[AMD_LANES], unsigned at, unsigned lane)
{
	return as_double(p[2 * at][lane] | (uint64_t)p[2 * at + 1][lane] << 32);
}

/* --- the instruction --- */

static void check(struct amd_wave *w, const struct amd_op *o)
{
	if (o->i.cbsz || o->i.abid || o->i.blgp)
		amd_refuse(w, o, "cbsz, abid and blgp are not executed");
	if (o->i.src[0] < GFX_VGPR || o->i.src[1] < GFX_VGPR)
		amd_refuse(w, o, "A and B are vector registers");
	if (w->mode & 3 || (w->mode >> 4 & 3) != 3)
		amd_refuse(w, o, "in a mode that rounds otherwise or flushes denormals");
}

/* C's element: of registers, or a constant that is all elements. */
static uint32_t addend(struct amd_wave *w, const struct amd_op *o, struct element e)
{
	if (o->i.src[2] < GFX_VGPR)
		return (uint32_t)amd_scalar(w, o, o->i.src[2], '1');
	return source(w, o, 2)[e.at][e.lane];
}

static void mfma_words(struct amd_wave *w, const struct amd_op *o)
{
	const struct shape *s = shape_of(o);
	const uint32_t(*a)[AMD_LANES] = source(w, o, 0), (*b)[AMD_LANES] = source(w, o, 1);
	uint32_t out[32][AMD_LANES];
	unsigned n = gfx_width(o->row->dst[1]);

	check(w, o);
	if (s->type != 'i')
		w->group->worker->approximate |= 1ull << AMD_APPROX_MFMA;
	for (unsigned block = 0; block < s->blocks; block++)
		for (unsigned i = 0; i < s->size; i++)
			for (unsigned j = 0; j < s->size; j++) {
				struct element e = output(s, block, i, j);
				uint32_t c = addend(w, o, e);

				out[e.at][e.lane] =
					s->type == 'i' ? sum_of_bytes(s, a, b, block, i, j, c)
						       : sum_of_singles(s, a, b, block, i, j, c);
			}
	memcpy((o->i.acc ? w->acc : w->v) + o->i.dst, out, n * sizeof(out[0]));
}

static void mfma_doubles(struct amd_wave *w, const struct amd_op *o)
{
	const struct shape *s = shape_of(o);
	const uint32_t(*a)[AMD_LANES] = source(w, o, 0), (*b)[AMD_LANES] = source(w, o, 1);
	uint32_t out[8][AMD_LANES];

	check(w, o);
	if (o->i.src[2] < GFX_VGPR && o->i.src[2] != GFX_CONST_0)
		amd_refuse(w, o, "C is a constant other than 0");
	w->group->worker->approximate |= 1ull << AMD_APPROX_MFMA;
	for (unsigned i = 0; i < 16; i++)
		for (unsigned j = 0; j < 16; j++) {
			struct element e = output(s, 0, i, j);
			double sum = o->i.src[2] < GFX_VGPR
					     ? 0
					     : double_at(source(w, o, 2), e.at, e.lane);

			for (unsigned k = 0; k < 4; k++)
				sum = fma(double_at(a, 0, k * 16 + i), double_at(b, 0, k * 16 + j),
					sum);
			out[2 * e.at][e.lane] = (uint32_t)double_bits(sum);
			out[2 * e.at + 1][e.lane] = (uint32_t)(double_bits(sum) >> 32);
		}
	memcpy((o->i.acc ? w->acc : w->v) + o->i.dst, out, sizeof(out));
}

#define M(name) WAVE(v_mfma_##name, mfma_words)
const struct amd_entry amd_matrix_entries[] = {M(f32_32x32x1f32), M(f32_16x16x1f32),
	M(f32_4x4x1f32), M(f32_32x32x2f32), M(f32_16x16x4f32), M(f32_32x32x4f16), M(f32_16x16x4f16),
	M(f32_4x4x4f16), M(f32_32x32x8f16), M(f32_16x16x16f16), M(i32_32x32x4i8), M(i32_16x16x4i8),
	M(i32_4x4x4i8), M(i32_32x32x8i8), M(i32_16x16x16i8), M(f32_32x32x4bf16_1k),
	M(f32_16x16x4bf16_1k), M(f32_4x4x4bf16_1k), M(f32_32x32x8bf16_1k), M(f32_16x16x16bf16_1k),
	M(f32_32x32x2bf16), M(f32_16x16x2bf16), M(f32_4x4x2bf16), M(f32_32x32x4bf16),
	M(f32_16x16x8bf16), M(f32_32x32x1_2b_f32), M(f32_16x16x1_4b_f32), M(f32_4x4x1_16b_f32),
	M(f32_32x32x2_f32), M(f32_16x16x4_f32), M(f32_32x32x4_2b_f16), M(f32_16x16x4_4b_f16),
	M(f32_4x4x4_16b_f16), M(f32_32x32x8_f16), M(f32_16x16x16_f16), M(i32_32x32x4_2b_i8),
	M(i32_16x16x4_4b_i8), M(i32_4x4x4_16b_i8), M(f32_32x32x4_2b_bf16), M(f32_16x16x4_4b_bf16),
	M(f32_4x4x4_16b_bf16), M(f32_32x32x8_bf16), M(f32_16x16x16_bf16),
	WAVE(v_mfma_f64_16x16x4f64, mfma_doubles), WAVE(v_mfma_f64_16x16x4_f64, mfma_doubles), END};
