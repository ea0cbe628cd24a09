/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions in which the lanes of a warp talk to one another. All lanes of the member mask that
 * still live must be there: those that are wait for the others, which may come another way
 * (ptx-path.h).
 */
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/machine/ptx-exec.h"
#include "softgpu/machine/ptx-path.h"

#include <stdio.h>

static void check_members(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, const u32a *mm)
{
	uint32_t want = 0;

	EACH_LANE(l)
	{
		if (!(mm[l] >> l & 1))
			ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
				"the lane is not in its own member mask");
		want |= mm[l];
	}
	if (want & ~mask & w->live)
		ptx_path_wait(w, i, mask, want);
}

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
const char *sel_shfl(struct ptx_dec *d)
{
	static const uint8_t mods[] = {M_up, M_down, M_bfly, M_idx};
	unsigned found = 0;

	for (unsigned k = 0; k < 4; k++)
		if (d->mods >> mods[k] & 1) {
			d->i->arg = k;
			found++;
		}
	return found == 1 ? NULL : "this mode";
}

/* What a lane gets from one that does not take part: "the destination is undefined" says PTX; an
 * H200 gave 0. */
static uint32_t absent(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, unsigned from)
{
	char what[96];

	if (!w->wk->told_undefined && i->o[0] != NO_REG) {
		snprintf(what, sizeof(what), "reads lane %u, which takes no part; it got 0", from);
		ptx_tell_undefined(w, i, lane, what);
	}
	return 0;
}

/* shfl.sync d|p, a, b, c, members: "PTX ISA 9.0", 9.7.9.6. */
void h_shfl(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u32a *a = REG(u32a, 1), *b = REG(u32a, 2), *c = REG(u32a, 3), *mm = REG(u32a, 4);
	u32a *d = i->o[0] == NO_REG ? NULL : REG(u32a, 0);
	uint32_t in[PTX_LANES], p = 0;

	check_members(w, i, mask, mm);
	memcpy(in, a, sizeof(in));
	EACH_LANE(l)
	{
		int lane = (int)l, bval = (int)(b[l] & 31), j;
		int cval = (int)(c[l] & 31), seg = (int)(c[l] >> 8 & 31);
		int max = (lane & seg) | (cval & ~seg), min = lane & seg;
		bool ok;
		switch (i->arg) {
		case SHFL_UP:
			j = lane - bval;
			ok = j >= max;
			break;
		case SHFL_DOWN:
			j = lane + bval;
			ok = j <= max;
			break;
		case SHFL_BFLY:
			j = lane ^ bval;
			ok = j <= max;
			break;
		default:
			j = min | (bval & ~seg);
			ok = j <= max;
		}
		if (!ok)
			j = lane;
		p |= (uint32_t)ok << l;
		if (d)
			d[l] = mask >> (j & 31) & 1 ? in[j & 31]
						    : absent(w, i, l, (unsigned)j & 31);
	}
	if (i->flags & F_PAIR && i->o[5] != NO_REG)
		ptx_set_pred(&PRED(5), mask, p);
}

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
const char *sel_vote(struct ptx_dec *d)
{
	d->i->arg = d->mods & MB(all)	? VOTE_ALL
		    : d->mods & MB(any) ? VOTE_ANY
		    : d->mods & MB(uni) ? VOTE_UNI
					: VOTE_BALLOT;
	return NULL;
}

void h_vote(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u32a *mm = REG(u32a, 2);
	uint32_t v = PRED(1), r = 0, b[PTX_LANES];

	if (i->flags & F_NEG_SRC)
		v = ~v;
	check_members(w, i, mask, mm);
	EACH_LANE(l)
	{
		uint32_t in = mm[l] & mask, yes = v & in;
		bool all = yes == in;
		b[l] = yes;
		r |= (uint32_t)(i->arg == VOTE_ALL   ? all
				: i->arg == VOTE_ANY ? yes != 0
						     : all || !yes)
		     << l;
	}
	if (i->arg == VOTE_BALLOT) {
		EACH_LANE(l) REG(u32a, 0)[l] = b[l];
	} else {
		ptx_set_pred(&PRED(0), mask, r);
	}
}

void h_activemask(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	u32a *d = REG(u32a, 0);

	LANES({ d[l] = mask; });
}

/* match.any d, a, members; match.all d|p, a, members. */
void h_match(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u32a *mm = REG(u32a, 2);
	uint32_t r[PTX_LANES], p = 0;
	uint64_t in[PTX_LANES];

	check_members(w, i, mask, mm);
	for (unsigned l = 0; l < PTX_LANES; l++)
		in[l] = i->size == 8 ? REG(u64a, 1)[l] : REG(u32a, 1)[l];
	EACH_LANE(l)
	{
		uint32_t members = mm[l] & mask;
		r[l] = 0;
		for (uint32_t k = members; k; k &= k - 1)
			if (in[__builtin_ctz(k)] == in[l])
				r[l] |= k & -k;
		if (i->arg) {
			r[l] = r[l] == members ? members : 0;
			p |= (uint32_t)(r[l] != 0) << l;
		}
	}
	EACH_LANE(l) REG(u32a, 0)[l] = r[l];
	if (i->arg && i->flags & F_PAIR && i->o[5] != NO_REG)
		ptx_set_pred(&PRED(5), mask, p);
}

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };
const char *sel_redux(struct ptx_dec *d)
{
	static const uint8_t mods[] = {M_add, M_min, M_max, M_and, M_or, M_xor};
	unsigned found = 0;

	for (unsigned k = 0; k < 6; k++)
		if (d->mods >> mods[k] & 1) {
			d->i->arg = k;
			found++;
		}
	if (found != 1 || (d->i->arg >= REDUX_AND) != (d->i->type == T_b32))
		return "this reduction";
	return NULL;
}

static uint32_t redux(unsigned op, bool sgn, uint32_t x, uint32_t y)
{
	bool less = sgn ? (int32_t)x < (int32_t)y : x < y;

	switch (op) {
	case REDUX_ADD:
		return x + y;
	case REDUX_MIN:
		return less ? x : y;
	case REDUX_MAX:
		return less ? y : x;
	case REDUX_AND:
		return x & y;
	case REDUX_OR:
		return x | y;
	default:
		return x ^ y;
	}
}

void h_redux(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u32a *a = REG(u32a, 1), *mm = REG(u32a, 2);
	uint32_t r[PTX_LANES];

	check_members(w, i, mask, mm);
	EACH_LANE(l)
	{
		uint32_t members = mm[l] & mask, v = a[l];
		for (uint32_t k = members & ~(1u << l); k; k &= k - 1)
			v = redux(i->arg, i->type == T_s32, v, a[__builtin_ctz(k)]);
		r[l] = v;
	}
	EACH_LANE(l) REG(u32a, 0)[l] = r[l];
}

/* redux.sync.min.f32 and max: NaNs count for nothing, or for all with .NaN; .abs of the inputs.
 * arg: 1 max */
void h_redux_f32(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u32a *a = REG(u32a, 1), *mm = REG(u32a, 2);
	bool abs = strstr(i->name, ".abs") != NULL;
	uint32_t r[PTX_LANES];

	check_members(w, i, mask, mm);
	EACH_LANE(l)
	{
		float v = NAN;
		bool any = false;
		for (uint32_t k = mm[l] & mask; k; k &= k - 1) {
			float x = ptx_u2f(a[__builtin_ctz(k)] & (abs ? 0x7fffffffu : 0xffffffffu));
			any |= x != x;
			if (v != v || (i->arg ? x > v || (x == v && !signbit(x))
					      : x < v || (x == v && signbit(x))))
				v = x;
		}
		r[l] = ptx_f2u(any && i->flags & F_NAN ? ptx_u2f(0x7fffffffu) : ptx_canon(v));
	}
	EACH_LANE(l) REG(u32a, 0)[l] = r[l];
}

/* elect.sync d|p, members: PTX leaves the choice open; the lowest lane, as the hardware does. */
void h_elect(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const u32a *mm = REG(u32a, 1);
	uint32_t p = 0;

	check_members(w, i, mask, mm);
	EACH_LANE(l)
	{
		uint32_t leader = (uint32_t)__builtin_ctz(mm[l] & mask);
		p |= (uint32_t)(leader == l) << l;
		if (i->o[0] != NO_REG)
			REG(u32a, 0)[l] = leader;
	}
	if (i->flags & F_PAIR && i->o[5] != NO_REG)
		ptx_set_pred(&PRED(5), mask, p);
}
