/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector instructions that move values between lanes or to scalar registers; accumulation
 * registers; counting of lanes.
 */
#include "softamd/insns/amd-insn.h"

static uint32_t scalar(struct amd_wave *w, const struct amd_op *o, unsigned k)
{
	return (uint32_t)amd_scalar(w, o, o->i.src[k], '1');
}

/* The first active lane's value; lane 0's when none is active. */
static void readfirstlane(struct amd_wave *w, const struct amd_op *o)
{
	uint64_t exec = amd_exec(w);
	unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;

	w->s[o->i.dst] = w->v[o->i.src[0] - GFX_VGPR][lane];
}

static unsigned chosen(struct amd_wave *w, const struct amd_op *o)
{
	if (o->i.src[1] >= GFX_VGPR)
		amd_refuse(w, o, "the lane's number is in a vector register");
	return scalar(w, o, 1) & 63;
}

/* EXEC does not count. */
static void readlane(struct amd_wave *w, const struct amd_op *o)
{
	w->s[o->i.dst] = w->v[o->i.src[0] - GFX_VGPR][chosen(w, o)];
}

static void writelane(struct amd_wave *w, const struct amd_op *o)
{
	unsigned lane = chosen(w, o);

	if (o->i.src[0] >= GFX_VGPR)
		amd_refuse(w, o, "the value is in a vector register");
	w->v[o->i.dst][lane] = scalar(w, o, 0);
}

static void mbcnt_lo(struct amd_lanes *x)
{
	LANE_LOOP
	{
		uint32_t below = l < 32 ? (1u << l) - 1 : ~0u;

		x->d[l] = (uint32_t)__builtin_popcount(x->a[l] & below) + x->b[l];
	}
}

static void mbcnt_hi(struct amd_lanes *x)
{
	LANE_LOOP
	{
		uint32_t below = l > 32 ? (1u << (l - 32)) - 1 : 0;

		x->d[l] = (uint32_t)__builtin_popcount(x->a[l] & below) + x->b[l];
	}
}

static void swap(struct amd_wave *w, const struct amd_op *o)
{
	uint32_t *a = w->v[o->i.dst], *b = w->v[o->i.src[0] - GFX_VGPR];

	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint32_t v = a[l];

		a[l] = b[l];
		b[l] = v;
	}
}

static void acc_read(struct amd_wave *w, const struct amd_op *o)
{
	AMD_EACH_LANE(l, amd_exec(w))
	w->v[o->i.dst][l] = w->acc[o->i.src[0] - GFX_VGPR][l];
}

static void acc_write(struct amd_wave *w, const struct amd_op *o)
{
	AMD_EACH_LANE(l, amd_exec(w))
	w->acc[o->i.dst][l] =
		o->i.src[0] >= GFX_VGPR ? w->v[o->i.src[0] - GFX_VGPR][l] : scalar(w, o, 0);
}

static void acc_move(struct amd_wave *w, const struct amd_op *o)
{
	AMD_EACH_LANE(l, amd_exec(w))
	w->acc[o->i.dst][l] = w->acc[o->i.src[0] - GFX_VGPR][l];
}

static void nothing(struct amd_wave *w, const struct amd_op *o)
{
	(void)w;
	(void)o;
}

const struct amd_entry amd_lane_entries[] = {WAVE(v_readfirstlane_b32, readfirstlane),
	WAVE(v_readlane_b32, readlane), WAVE(v_writelane_b32, writelane),
	LANES(v_mbcnt_lo_u32_b32, mbcnt_lo, 'i', 'i'),
	LANES(v_mbcnt_hi_u32_b32, mbcnt_hi, 'i', 'i'), WAVE(v_swap_b32, swap),
	WAVE(v_accvgpr_read_b32, acc_read), WAVE(v_accvgpr_write_b32, acc_write),
	WAVE(v_accvgpr_mov_b32, acc_move), WAVE(v_nop, nothing), WAVE(v_clrexcp, nothing), END};
