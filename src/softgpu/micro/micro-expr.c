/* SPDX-License-Identifier: Apache-2.0
 *
 * What names in expressions are for a warp of PTX: registers (%r4), special registers (%tid.x,
 * threadIdx.x), variables of the text (their addresses). A register of type .bN counts as signed.
 */
#include "softgpu/micro/micro.h"
#include "base/checked.h"

#include <stdio.h>
#include <string.h>

enum { NAME_REG, NAME_SREG, NAME_VAR, NAME_GENERIC /* the generic address of a variable */ };

/* --- finding --- */

struct place {
	const struct ptx_function *fn; /* NULL: no names but special registers */
	uint32_t pc;
};

static bool special(const char *name, size_t n, struct lane_op *ret)
{
	const int k = ptx_sreg_find(name, n);

	ret->name = NAME_SREG;
	ret->off = k;
	return k >= 0;
}

/* CUDA's names of special registers; 0: text does not begin with one. */
static size_t builtin(const char *text, struct lane_op *ret)
{
	static const char *const ptx[] = {[LANE_THREAD] = "%tid",
		[LANE_BLOCK] = "%ctaid",
		[LANE_BLOCK_SIZE] = "%ntid",
		[LANE_GRID_SIZE] = "%nctaid",
		[LANE_LANE] = "%laneid"};
	enum lane_builtin what;
	unsigned axis;
	char name[16];
	const size_t n = lane_builtin(text, &what, &axis);

	if (!n)
		return 0;
	snprintf(
		name, sizeof(name), what == LANE_LANE ? "%s" : "%s.%c", ptx[what], 'x' + (int)axis);
	return special(name, strlen(name), ret) ? n : 0;
}

static size_t find(const void *arg, const char *text, bool address, struct lane_op *ret)
{
	const struct place *at = arg;
	const size_t known = address ? 0 : builtin(text, ret), n = lane_word(text);
	const struct ptx_variable *v;
	const struct ptx_regname *r;

	if (known || !n)
		return known;
	r = at->fn && !address ? micro_reg(at->fn, at->pc, text, n) : NULL;
	v = r || !at->fn ? NULL : micro_var(at->fn, text, n);
	if (r) {
		ret->name = NAME_REG;
		ret->off = r->off;
		ret->space = r->type;
		return n;
	}
	if (v) {
		ret->name = address ? NAME_GENERIC : NAME_VAR;
		ret->object = v;
		ret->is_address = true;
		ret->space = v->space;
		return n;
	}
	return !address && special(text, n, ret) ? n : 0;
}

const char *micro_compile(struct lane_expr *x, const struct ptx_function *fn, uint32_t pc,
	const char *text, char *why, size_t n)
{
	const struct place at = {fn, pc};
	const struct lane_names names = {&at, find, "the PTX"};

	return lane_compile(x, &names, text, why, n);
}

/* --- values --- */

struct lane_value micro_reg_value(const uint8_t *frame, int32_t off, unsigned type, unsigned lane)
{
	struct lane_value v = {0};
	unsigned bits = ptx_type_bits[type];
	uint64_t u;
	uint32_t u32;

	if (type == T_pred) {
		v.i = *(const u32a *)(frame + off) >> lane & 1;
		return v;
	}
	u = bits == 64 ? ((const u64a *)(frame + off))[lane] : ((const u32a *)(frame + off))[lane];
	if (type == T_f32) {
		u32 = (uint32_t)u;
		v.is_float = true;
		v.f = (double)ptx_u2f(u32);
	} else if (type == T_f64) {
		v.is_float = true;
		v.f = ptx_u2d(u);
	} else if ((type >= T_u8 && type <= T_u64) || bits == 64 || !bits || bits > 64) {
		v.i = (int64_t)(bits < 64 ? u & ((1ull << bits) - 1) : u);
	} else {
		v.i = (int64_t)(u << (64 - bits)) >> (64 - bits);
	}
	return v;
}

static struct lane_value special_value(const struct ptx_warp *w, unsigned sreg, unsigned lane)
{
	struct ptx_special s = {.sreg = (uint8_t)sreg};

	return (struct lane_value){
		.i = (int64_t)(sreg > SR_VOLATILE ? ptx_clock(w, sreg)
						  : ptx_special_value(w, &s, lane))};
}

static uint64_t window_of(unsigned space)
{
	return space == SP_SHARED  ? PTX_WIN_SHARED
	       : space == SP_LOCAL ? PTX_WIN_LOCAL
	       : space == SP_PARAM ? PTX_WIN_PARAM
				   : 0;
}

struct seen {
	const struct ptx_warp *w;
	unsigned frame;
};

/* Addresses are generic ones. Other blocks' shared memory is not there. */
static const uint8_t *memory_at(const void *arg, unsigned lane, uint64_t a, unsigned n)
{
	const struct ptx_warp *w = ((const struct seen *)arg)->w;
	const struct ptx_cached *c;
	const uint64_t at = (uint32_t)a;

	switch (PTX_WIN(a)) {
	case PTX_WIN_SHARED:
		return range_within(at, n, 0, w->blk->shared_size) ? w->blk->shared + at : NULL;
	case PTX_WIN_LOCAL:
		return range_within(at, n, 0, w->lstride) ? w->local + lane * w->lstride + at
							  : NULL;
	case PTX_WIN_PARAM:
		return range_within(at, n, 0, w->frames[0].fn->param_bytes)
			       ? (const uint8_t *)w->wk->l->params + at
			       : NULL;
	default:
		c = ptx_find_range(w->wk, a);
		return c && c->end - a >= n ? (const uint8_t *)(uintptr_t)a : NULL;
	}
}

static struct lane_value value_of(const void *arg, const struct lane_op *o, unsigned lane)
{
	const struct seen *s = arg;
	uint64_t addr;

	if (o->name == NAME_REG)
		return micro_reg_value(micro_frame(s->w, s->frame), o->off, o->space, lane);
	if (o->name == NAME_SREG)
		return special_value(s->w, (unsigned)o->off, lane);
	addr = micro_var_addr(o->object, s->w, s->frame);
	if (o->name == NAME_GENERIC)
		addr += window_of(o->space);
	return (struct lane_value){.i = (int64_t)addr};
}

static void declare(const struct lane_op *o, struct soft_value *ret)
{
	if (o->name == NAME_REG) {
		micro_declare(o->space, ret);
	} else if (o->name == NAME_SREG) {
		ret->type = SOFT_UINT;
		ret->bytes = ptx_sregs[o->off].bits / 8;
	}
}

static struct lane_reader reader(const struct seen *s)
{
	return (struct lane_reader){s, value_of, memory_at, declare};
}

struct lane_value micro_eval(
	const struct lane_expr *x, const struct ptx_warp *w, unsigned frame, unsigned lane)
{
	const struct seen s = {w, frame};
	const struct lane_reader r = reader(&s);

	return lane_eval(x, &r, lane);
}

void micro_type(const struct lane_expr *x, struct soft_value *ret, int *ret_space)
{
	const struct seen nobody = {NULL, 0};
	const struct lane_reader r = reader(&nobody);

	lane_type(x, &r, ret, ret_space);
}

void micro_declare(unsigned type, struct soft_value *ret)
{
	unsigned bits = ptx_type_bits[type];

	snprintf(ret->declared, sizeof(ret->declared), "%.7s",
		ptx_type_name[type] ? ptx_type_name[type] : "");
	ret->bytes = bits < 8 ? 0 : bits / 8;
	ret->type = type == T_pred		     ? SOFT_BOOL
		    : type == T_f32 || type == T_f64 ? SOFT_FLOAT
		    : (type >= T_u8 && type <= T_u64) || type == T_f16 || type == T_bf16 ||
				    type == T_f16x2 || type == T_bf16x2
			    ? SOFT_UINT
			    : SOFT_INT;
}
