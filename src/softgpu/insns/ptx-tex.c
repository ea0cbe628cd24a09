/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface instructions: "PTX ISA 9.0", 9.7.10 and 9.7.11. Their suffixes are not in the
 * table of modifiers, whose order is free, but read here. Textures come by their 64-bit handles
 * only: references to .texref variables are refused.
 */
#include "softgpu/ptx/ptx-dec.h"
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/tex/tex.h"

#include <stdatomic.h>
#include <stdio.h>

enum { G_NONE, G_1D, G_2D, G_3D, G_A1D, G_A2D, G_CUBE, G_ACUBE };
enum { LV_NONE, LV_BASE, LV_LEVEL, LV_GRAD };
enum { B_NONE, B_TRAP, B_CLAMP, B_ZERO };
enum { C_NONE, C_FIRST }; /* tld4: C_FIRST + component; suld, sust, sured: + 0 for .p, + 2 for .b */
enum { Q_NONE, Q_WIDTH, Q_HEIGHT, Q_DEPTH, Q_ARRAY, Q_NORMALIZED, Q_LEVELS };
enum { S_NONE, S_ADD, S_MIN, S_MAX, S_AND, S_OR };

static const struct shape {
	uint8_t dims, coords,
		spare; /* coordinates as written: `coords`, and perhaps `spare` unused ones */
	bool layered, cube;
} shapes[] = {
	[G_1D] = {1, 1, 0, false, false},
	[G_2D] = {2, 2, 0, false, false},
	[G_3D] = {3, 3, 1, false, false},
	[G_A1D] = {1, 2, 0, true, false},
	[G_A2D] = {2, 3, 1, true, false},
	[G_CUBE] = {2, 3, 1, false, true},
	[G_ACUBE] = {2, 4, 0, true, true},
};

/* --- decoding --- */
enum opcode { OP_TEX, OP_TLD4, OP_TXQ, OP_SULD, OP_SUST, OP_SURED, OP_SUQ, OPS };
static const char *const opcodes[OPS] = {"tex", "tld4", "txq", "suld", "sust", "sured", "suq"};

bool ptx_tex_opcode(const char *s, size_t n)
{
	for (unsigned k = 0; k < OPS; k++)
		if (strlen(opcodes[k]) == n && !memcmp(opcodes[k], s, n))
			return true;
	return false;
}

bool ptx_tex_suffix(struct ptx_dec *d, const struct ptx_token *t)
{
	static const struct {
		const char *name;
		uint8_t field, value; /* field: offset in struct ptx_tex_form */
	} suffixes[] = {
#define FIELD(f) offsetof(struct ptx_tex_form, f)
		{"1d", FIELD(geom), G_1D},
		{"2d", FIELD(geom), G_2D},
		{"3d", FIELD(geom), G_3D},
		{"a1d", FIELD(geom), G_A1D},
		{"a2d", FIELD(geom), G_A2D},
		{"cube", FIELD(geom), G_CUBE},
		{"acube", FIELD(geom), G_ACUBE},
		{"base", FIELD(level), LV_BASE},
		{"level", FIELD(level), LV_LEVEL},
		{"grad", FIELD(level), LV_GRAD},
		{"trap", FIELD(bound), B_TRAP},
		{"clamp", FIELD(bound), B_CLAMP},
		{"zero", FIELD(bound), B_ZERO},
		{"r", FIELD(component), C_FIRST},
		{"g", FIELD(component), C_FIRST + 1},
		{"b", FIELD(component), C_FIRST + 2},
		{"a", FIELD(component), C_FIRST + 3},
		{"p", FIELD(component), C_FIRST},
		{"width", FIELD(query), Q_WIDTH},
		{"height", FIELD(query), Q_HEIGHT},
		{"depth", FIELD(query), Q_DEPTH},
		{"array_size", FIELD(query), Q_ARRAY},
		{"normalized_coords", FIELD(query), Q_NORMALIZED},
		{"num_mipmap_levels", FIELD(query), Q_LEVELS},
		{"add", FIELD(op), S_ADD},
		{"min", FIELD(op), S_MIN},
		{"max", FIELD(op), S_MAX},
		{"and", FIELD(op), S_AND},
		{"or", FIELD(op), S_OR},
#undef FIELD
	};
	uint8_t *form = (uint8_t *)&d->tex;

	for (unsigned k = 0; k < sizeof(suffixes) / sizeof(suffixes[0]); k++) {
		if (!ptx_tok_is(t, TK_DOT, suffixes[k].name))
			continue;
		if (form[suffixes[k].field])
			return false; /* two of a kind */
		form[suffixes[k].field] = suffixes[k].value;
		return true;
	}
	return false;
}

/* The instruction's own structure, made by whichever operand comes first. */
static struct ptx_tex *tex_of(struct ptx_dec *d)
{
	if (!d->i->u.tex)
		d->i->u.tex = ptx_alloc(d->p->m, sizeof(struct ptx_tex));
	return d->i->u.tex;
}

static const char *match_data(struct ptx_dec *d, const struct ptx_opnd *o, bool dest)
{
	unsigned want = d->mods & MB(v4)   ? 4
			: d->mods & MB(v2) ? 2
					   : 1,
		 n = o->kind == O_VEC ? o->nelem : 1;
	struct ptx_vec *v = &tex_of(d)->data;
	const char *why = NULL;

	if (n != want)
		return "a vector of another length";
	for (unsigned k = 0; k < n && !why; k++) {
		const struct ptx_opnd *e = o->kind == O_VEC ? &o->elem[k] : o;

		v->off[k] = NO_REG;
		v->width[k] = 4;
		if (e->kind == O_SINK && dest)
			continue;
		if (e->kind == O_REG) {
			why = ptx_match_reg(e, ptx_type_bits[d->i->type], true, &v->off[k]);
			v->width[k] = ptx_type_bits[e->type] == 64 ? 8 : 4;
		} else if (dest) {
			why = "a destination that is not a register";
		} else {
			why = ptx_match_source(d, e, d->i->type, &v->off[k]);
			v->width[k] = ptx_type_bits[d->i->type] == 64 ? 8 : 4;
		}
	}
	d->i->vec = (uint8_t)n;
	return why;
}

static const char *match_where(struct ptx_dec *d, const struct ptx_opnd *o)
{
	struct ptx_tex *t = tex_of(d);
	unsigned type = d->ntypes == 2 ? d->types[1] : d->row->op[0] == 't' ? T_f32 : T_s32;
	const struct shape *shape = &shapes[d->tex.geom];
	const char *why;

	if (o->kind != O_MEM)
		return "an operand that is not a texture";
	if (o->base != O_REG || ptx_type_bits[o->type] != 64 || o->disp)
		return "a texture that is not a 64-bit handle in a register";
	t->object = t->regs[t->nregs++] = o->off;
	if (!d->tex.geom)
		return o->at ? "coordinates" : NULL;
	if (!o->at || o->nelem < shape->coords || o->nelem > shape->coords + shape->spare)
		return "another number of coordinates, or a sampler";
	for (unsigned k = 0; k < shape->coords; k++) {
		why = ptx_match_source(
			d, &o->elem[k], shape->layered && !k ? T_u32 : type, &t->coord[k]);
		if (why)
			return why;
		t->regs[t->nregs++] = t->coord[k];
	}
	t->ncoord = shape->coords;
	return NULL;
}

/* A level or gradients. They are ignored: arrays have one level. */
static const char *match_level(struct ptx_dec *d, const struct ptx_opnd *o)
{
	unsigned n = o->kind == O_VEC ? o->nelem : 1;
	const char *why = NULL;
	int32_t unused;

	if (d->tex.level != LV_LEVEL && d->tex.level != LV_GRAD)
		return "texel offsets or a depth to compare with";
	for (unsigned k = 0; k < n && !why; k++)
		why = ptx_match_source(d, o->kind == O_VEC ? &o->elem[k] : o, T_f32, &unused);
	return why;
}

const char *ptx_tex_match(struct ptx_dec *d, const struct ptx_opnd *o, char letter, int32_t *ret)
{
	(void)ret;
	switch (letter) {
	case 'u':
	case 'U':
		return match_data(d, o, letter == 'u');
	case 't':
		return match_where(d, o);
	default:
		return match_level(d, o);
	}
}

/* What each opcode must have (1), may have (2) or must not have (0) of a form's fields. */
static const struct ptx_tex_form rules[OPS] = {
	[OP_TEX] = {.geom = 1, .level = 2},
	[OP_TLD4] = {.geom = 1, .component = 1},
	[OP_TXQ] = {.query = 1},
	[OP_SULD] = {.geom = 1, .bound = 1, .component = 1},
	[OP_SUST] = {.geom = 1, .bound = 1, .component = 1},
	[OP_SURED] = {.geom = 1, .bound = 1, .component = 1, .op = 1},
	[OP_SUQ] = {.query = 1},
};

static bool allowed(const struct ptx_tex_form *have, enum opcode op)
{
	const uint8_t *h = (const uint8_t *)have, *r = (const uint8_t *)&rules[op];

	for (size_t k = 0; k < sizeof(*have); k++)
		if (r[k] != 2 && (h[k] != 0) != r[k])
			return false;
	return true;
}

const char *sel_tex(struct ptx_dec *d)
{
	const struct ptx_tex_form *f = &d->tex;
	struct ptx_tex *t = d->i->u.tex;
	unsigned op = 0;

	while (op < OPS && strcmp(opcodes[op], d->row->op))
		op++;
	if (op == OPS || !allowed(f, op))
		return "this form is not implemented";
	if (op == OP_TEX && d->nops != (f->level == LV_LEVEL ? 3 : f->level == LV_GRAD ? 4 : 2))
		return "texel offsets or a depth to compare with";
	if (op == OP_TLD4 && (f->geom == G_1D || f->geom == G_3D || f->geom == G_A1D))
		return "this geometry";
	if (op >= OP_SULD && op <= OP_SURED && (f->geom == G_CUBE || f->geom == G_ACUBE))
		return "this geometry";
	if ((op == OP_SULD || op == OP_SUST) && f->component != C_FIRST + 2)
		return "formatted access";
	if (op == OP_SURED && f->component != C_FIRST && f->component != C_FIRST + 2)
		return "this form is not implemented";
	if (op == OP_SUQ && (f->query == Q_NORMALIZED || f->query == Q_LEVELS))
		return "this question";
	if (op == OP_SURED &&
		(f->op == S_AND || f->op == S_OR) != (d->i->type == T_b32 || d->i->type == T_b64))
		return "this operation on this type";
	t->geom = f->geom;
	t->level = f->level;
	t->bound = f->bound;
	t->component = f->component ? (uint8_t)(f->component - C_FIRST) : 0;
	t->query = f->query;
	t->op = f->op;
	return NULL;
}

/* --- objects --- */
/* Whether all memory that an object describes is allocated. */
static bool in_memory(struct ptx_warp *w, const struct tex_image *m)
{
	uint64_t at = m->base, end = m->base + (m->height - 1) * m->pitch +
				     (uint64_t)m->width * tex_texel_bytes(m);

	while (at < end) {
		const struct ptx_cached *c = ptx_find_range(w->wk, at);

		if (!c)
			return false;
		at = c->end;
	}
	return true;
}

/* Reports such a fetch once on stderr. An H200 does not fault either, but says nothing. */
static void unknown(uint64_t handle)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		fprintf(stderr,
			"tsdb: software GPU: %#llx is not a texture object: fetches by it give 0\n",
			(unsigned long long)handle);
}

/* The object of a handle. NULL: there is none, and the fetch gives 0. */
static const struct tex_object *object(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, bool surface)
{
	const struct ptx_tex *t = i->u.tex;
	uint64_t handle = REG_AT(u64a, t->object)[lane];
	const struct tex_object *o = tex_find(handle);
	char what[96];

	if (!o && !surface && t->geom) {
		unknown(handle);
		return NULL;
	}
	if (!o || o->surface != surface) {
		snprintf(what, sizeof(what), "%#llx is not a %s object", (unsigned long long)handle,
			surface ? "surface" : "texture");
		ptx_raise(w, i, lane, PTX_ILLEGAL_INSTRUCTION, 0, 0, what);
	}
	if (!o->image.base)
		ptx_raise(w, i, lane, PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"the object's array has been destroyed");
	if (o->image.program && !in_memory(w, &o->image))
		ptx_raise(
			w, i, lane, PTX_ILLEGAL_ADDRESS, o->image.base, 1, "the texture's memory");
	if (t->geom) {
		const struct shape *s = &shapes[t->geom];

		if (s->layered != o->image.layered || (!surface && s->cube != o->image.cube) ||
			(s->dims == 3) != (o->image.dims == 3) ||
			(s->dims == 1 && o->image.dims == 2 && o->image.height > 1))
			ptx_raise(w, i, lane, PTX_ILLEGAL_INSTRUCTION, 0, 0,
				"the object's array has another shape");
	}
	return o;
}

static void put(
	struct ptx_warp *w, const struct ptx_vec *v, unsigned k, unsigned lane, uint64_t value)
{
	if (v->off[k] == NO_REG)
		return;
	if (v->width[k] == 8)
		REG_AT(u64a, v->off[k])[lane] = value;
	else
		REG_AT(u32a, v->off[k])[lane] = (uint32_t)value;
}

static uint64_t get(const struct ptx_warp *w, const struct ptx_vec *v, unsigned k, unsigned lane)
{
	return v->width[k] == 8 ? REG_AT(u64a, v->off[k])[lane] : REG_AT(u32a, v->off[k])[lane];
}

/* --- textures --- */
static struct tex_at where(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, bool integer)
{
	const struct ptx_tex *t = i->u.tex;
	const struct shape *s = &shapes[t->geom];
	struct tex_at at = {.integer = integer, .cube = s->cube};
	unsigned from = s->layered;

	if (s->layered)
		at.layer = REG_AT(u32a, t->coord[0])[lane];
	for (unsigned k = from; k < t->ncoord; k++) {
		uint32_t bits = REG_AT(u32a, t->coord[k])[lane];

		at.c[k - from] = ptx_u2f(bits);
		at.i[k - from] = (int32_t)bits;
	}
	return at;
}

struct watched {
	struct ptx_warp *w;
	const struct ptx_insn *i;
	unsigned lane;
};

static void saw_texel(void *arg, const void *texel, unsigned bytes)
{
	const struct watched *x = arg;

	ptx_observe_lane(x->w, x->i, x->lane, texel, bytes, PTX_READ);
}

/* Reports each texel that a lane reads to the launch's observer. */
#define WATCHED(w, i, l)                                                                           \
	struct watched watched_ = {w, i, l};                                                       \
	tex_watch = ptx_is_observed(w) ? saw_texel : NULL;                                         \
	tex_watch_arg = &watched_

void h_tex(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		WATCHED(w, i, l);
		const struct tex_object *o = object(w, i, l, false);
		struct tex_at at = where(w, i, l, i->type2 == T_s32);
		uint32_t v[4] = {0};

		if (o)
			tex_sample(o, &at, v);
		for (unsigned k = 0; k < 4; k++)
			put(w, &i->u.tex->data, k, l, v[k]);
	}
}

void h_tld4(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		WATCHED(w, i, l);
		const struct tex_object *o = object(w, i, l, false);
		struct tex_at at = where(w, i, l, false);
		uint32_t v[4] = {0};

		if (o)
			tex_gather(o, &at, i->u.tex->component, v);
		for (unsigned k = 0; k < 4; k++)
			put(w, &i->u.tex->data, k, l, v[k]);
	}
}

static uint32_t answer(const struct tex_object *o, unsigned query)
{
	const struct tex_image *m = &o->image;

	switch (query) {
	case Q_WIDTH:
		return m->width;
	case Q_HEIGHT:
		return m->dims > 1 ? m->height : 0;
	case Q_DEPTH:
		return m->dims > 2 ? m->depth : 0;
	case Q_ARRAY:
		return m->layered ? m->layers / (m->cube ? 6 : 1) : 0;
	case Q_NORMALIZED:
		return o->normalized;
	default:
		return 1;
	}
}

/* arg: 1 for suq */
void h_txq(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	put(w, &i->u.tex->data, 0, l, answer(object(w, i, l, i->arg == 1), i->u.tex->query));
}

/* --- surfaces --- */
/* x, y, z of an access of n bytes, x in bytes; false when .zero leaves it out. */
static bool inside(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, unsigned n,
	const uint64_t limit[3], int64_t at[3])
{
	for (unsigned k = 0; k < 3; k++) {
		if (at[k] >= 0 && (uint64_t)at[k] < limit[k])
			continue;
		if (i->u.tex->bound == B_TRAP)
			ptx_raise(w, i, lane, PTX_ILLEGAL_ADDRESS, 0, n, "outside the surface");
		if (i->u.tex->bound == B_ZERO || !limit[k])
			return false;
		at[k] = at[k] < 0 ? 0 : (int64_t)limit[k] - 1;
		if (!k)
			at[k] -= at[k] % n;
	}
	return true;
}

/* The bytes that a lane reads or writes, NULL for none. */
static uint8_t *bytes_at(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, unsigned n,
	enum ptx_access_kind kind)
{
	uint8_t *p;

	const struct tex_image *m = &object(w, i, lane, true)->image;
	const struct ptx_tex *t = i->u.tex;
	const struct shape *s = &shapes[t->geom];
	unsigned from = s->layered, texel = tex_texel_bytes(m);
	uint64_t row = (uint64_t)m->width * texel;
	uint64_t limit[3] = {
		row >= n ? row - n + 1 : 0, m->height, s->layered ? m->layers : m->depth};
	int64_t at[3] = {0, 0, 0};

	for (unsigned k = from; k < t->ncoord; k++)
		at[k - from] = (int32_t)REG_AT(u32a, t->coord[k])[lane];
	if (s->layered)
		at[2] = (int32_t)REG_AT(u32a, t->coord[0])[lane];
	if (t->component == 0) /* .p: x counts texels */
		at[0] *= texel;
	if (at[0] % (int64_t)n)
		ptx_raise(w, i, lane, PTX_MISALIGNED_ADDRESS, (uint64_t)at[0], n,
			"the x coordinate, in bytes");
	if (!inside(w, i, lane, n, limit, at))
		return NULL;
	p = (uint8_t *)(uintptr_t)(m->base + (uint64_t)at[2] * m->slice +
				   (uint64_t)at[1] * m->pitch + (uint64_t)at[0]);
	ptx_observe_lane(w, i, lane, p, n, kind);
	return p;
}

void h_suld(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		const uint8_t *p = bytes_at(w, i, l, i->size * i->vec, PTX_READ);

		for (unsigned k = 0; k < i->vec; k++) {
			uint64_t v = 0;

			if (p)
				memcpy(&v, p + k * i->size, i->size);
			put(w, &i->u.tex->data, k, l, v);
		}
	}
}

void h_sust(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	EACH_LANE(l)
	{
		uint8_t *p = bytes_at(w, i, l, i->size * i->vec, PTX_WRITE);

		for (unsigned k = 0; p && k < i->vec; k++) {
			uint64_t v = get(w, &i->u.tex->data, k, l);

			memcpy(p + k * i->size, &v, i->size);
		}
	}
}

static uint64_t combine(unsigned op, unsigned type, uint64_t a, uint64_t b)
{
	bool less = type == T_s32   ? (int32_t)a < (int32_t)b
		    : type == T_s64 ? (int64_t)a < (int64_t)b
				    : a < b;

	switch (op) {
	case S_ADD:
		return a + b;
	case S_MIN:
		return less ? a : b;
	case S_MAX:
		return less ? b : a;
	case S_AND:
		return a & b;
	default:
		return a | b;
	}
}

/* Blocks may run side by side. */
void h_sured(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	const struct ptx_tex *t = i->u.tex;

	EACH_LANE(l)
	{
		void *p = bytes_at(w, i, l, i->size, PTX_ATOMIC);
		uint64_t b = get(w, &t->data, 0, l);

		if (!p)
			continue;
		if (i->size == 8) {
			u64a *q = p;
			uint64_t old = __atomic_load_n(q, __ATOMIC_RELAXED);

			while (!__atomic_compare_exchange_n(q, &old,
				combine(t->op, i->type, old, b), true, __ATOMIC_RELAXED,
				__ATOMIC_RELAXED))
				;
		} else {
			u32a *q = p;
			uint32_t old = __atomic_load_n(q, __ATOMIC_RELAXED);

			while (!__atomic_compare_exchange_n(q, &old,
				(uint32_t)combine(t->op, i->type, old, (uint32_t)b), true,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				;
		}
	}
}
