/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector instructions around their handlers: sources as 64 lanes with modifiers, SDWA and DPP;
 * results with clamp and omod into the lanes of EXEC. "AMD Instinct MI200 ISA": 6.2 operands, 6.3
 * SDWA, 6.4 DPP.
 */
#include "softamd/machine/amd-machine.h"

bool amd_is_plain(const struct amd_op *o)
{
	const struct gfx_insn *i = &o->i;

	if (o->row->enc == GFX_VOP3P)
		return true; /* the handlers do its modifiers */
	return !(o->row->e.opsel && i->opsel) && i->form != GFX_SDWA && i->form != GFX_DPP &&
	       !i->neg && !i->abs && !i->clamp && !i->omod;
}

/* --- sources --- */

static const uint16_t halves[] = {
	0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
static const uint32_t singles[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
	0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
static const uint64_t doubles[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
	0xbff0000000000000, 0x4000000000000000, 0xc000000000000000, 0x4010000000000000,
	0xc010000000000000, 0x3fc45f306dc882f8};

static bool is_double(char kind, char from)
{
	return kind == '2' && from == 'd';
}

uint64_t amd_scalar(const struct amd_wave *w, const struct amd_op *o, unsigned code, char kind)
{
	const struct amd_dispatch *d = w->group->worker->l->d;
	bool wide = kind == '2' || kind == 'c';

	if (code < GFX_CONST_0)
		return wide ? amd_pair(w, code) : w->s[code];
	if (code <= 192)
		return code - GFX_CONST_0;
	if (code <= 208)
		return wide ? (uint64_t) - (int64_t)(code - 192)
			    : (uint32_t) - (int32_t)(code - 192);
	if (code >= GFX_FLOATS && code <= 248) {
		unsigned k = code - GFX_FLOATS;

		return kind == 'h' || kind == 'j' ? halves[k] : wide ? doubles[k] : singles[k];
	}
	switch (code) {
	case GFX_LITERAL:
		return o->i.literal;
	/* the high half of the address, as a 32 bit source; all of it as one of 64 bits */
	case GFX_SHARED_BASE:
		return wide ? d->shared_aperture : d->shared_aperture >> 32;
	case GFX_SHARED_LIMIT:
		return wide ? d->shared_aperture | 0xffffffff : d->shared_aperture >> 32;
	case GFX_PRIVATE_BASE:
		return wide ? d->private_aperture : d->private_aperture >> 32;
	case GFX_PRIVATE_LIMIT:
		return wide ? d->private_aperture | 0xffffffff : d->private_aperture >> 32;
	case GFX_VCCZ:
		return amd_pair(w, GFX_VCC) == 0;
	case GFX_EXECZ:
		return amd_exec(w) == 0;
	case GFX_SCC:
		return w->scc;
	}
	return 0; /* no other is decoded */
}

static void fill(uint32_t *to, uint32_t v)
{
	for (unsigned l = 0; l < AMD_LANES; l++)
		to[l] = v;
}

/* Source k as 64 lanes; temp: room for one that is no vector register. */
static const uint32_t *source(
	struct amd_wave *w, const struct amd_op *o, unsigned code, char kind, uint32_t *temp)
{
	uint64_t v;

	if (code >= GFX_VGPR)
		return w->v[code - GFX_VGPR];
	v = amd_scalar(w, o, code, kind);
	/* a literal of a double is its high half ("MI200", 6.2.4); of other 64 bits the low one */
	if (code == GFX_LITERAL && is_double(kind, o->h->from))
		v <<= 32;
	fill(temp, (uint32_t)v);
	if (kind == '2' || kind == 'c')
		fill(temp + AMD_LANES, (uint32_t)(v >> 32));
	return temp;
}

/* neg and abs of source k, by the type of the sources. */
static const uint32_t *modified(
	const struct amd_op *o, unsigned k, char kind, const uint32_t *p, uint32_t *temp)
{
	bool neg = o->i.neg >> k & 1, abs = o->i.abs >> k & 1;
	bool wide = kind == '2';
	uint32_t sign = o->h->from == 'h' ? 0x8000 : 0x80000000;
	uint32_t keep = abs ? ~sign : ~0u, flip = neg ? sign : 0;

	if (!neg && !abs)
		return p;
	for (unsigned l = 0; l < AMD_LANES; l++)
		temp[l] = wide ? p[l] : (p[l] & keep) ^ flip;
	if (wide)
		for (unsigned l = 0; l < AMD_LANES; l++)
			temp[AMD_LANES + l] = (p[AMD_LANES + l] & keep) ^ flip;
	return temp;
}

/* A byte or word of each lane, with its sign if asked for. */
static const uint32_t *selected(
	const struct amd_op *o, unsigned k, const uint32_t *p, uint32_t *temp)
{
	unsigned sel = o->i.sel[k], shift = sel < 4 ? 8 * sel : sel < 6 ? 16 * (sel - 4) : 0;
	unsigned bits = sel < 4 ? 8 : sel < 6 ? 16 : 32;
	bool sext = o->i.sext >> k & 1;

	if (sel == 6)
		return p;
	for (unsigned l = 0; l < AMD_LANES; l++) {
		uint32_t up = p[l] >> shift << (32 - bits);

		temp[l] = sext ? (uint32_t)((int32_t)up >> (32 - bits)) : up >> (32 - bits);
	}
	return temp;
}

/* op_sel: the high half of a source. */
static const uint32_t *upper(const struct amd_op *o, unsigned k, const uint32_t *p, uint32_t *temp)
{
	if (o->row->enc != GFX_VOP3 || !(o->i.opsel >> k & 1))
		return p;
	for (unsigned l = 0; l < AMD_LANES; l++)
		temp[l] = p[l] >> 16;
	return temp;
}

/* The lane that lane l reads; -1: none (outside its row or the wave). */
static int dpp_lane(unsigned c, unsigned l)
{
	unsigned row = l & ~15u, r = l & 15, n = c & 15;

	if (c <= 0xff)
		return (int)((l & ~3u) | (c >> 2 * (l & 3) & 3));
	if (c < 0x110)
		return r + n < 16 ? (int)(l + n) : -1;
	if (c < 0x120)
		return r >= n ? (int)(l - n) : -1;
	if (c < 0x130)
		return (int)(row | ((r + 16 - n) & 15));
	switch (c) {
	case 0x130:
		return l < 63 ? (int)l + 1 : -1;
	case 0x134:
		return (int)((l + 1) & 63);
	case 0x138:
		return (int)l - 1;
	case 0x13c:
		return (int)((l + 63) & 63);
	case 0x140:
		return (int)(row | (15 - r));
	case 0x141:
		return (int)((l & ~7u) | (7 - (l & 7)));
	case 0x142: /* lane 15 of the row before */
		return l >= 16 ? (int)row - 1 : -1;
	case 0x143: /* lane 31 for rows 2 and 3 */
		return l >= 32 ? 31 : -1;
	}
	return (int)(row | n); /* row_newbcast */
}

/* Source 0 through DPP. Lanes that are not written go from *exec: those of masked rows and banks,
 * and those without a source, unless bound_ctrl gives them 0. A source lane that is not in EXEC
 * counts as missing ("MI200", 6.4). */
static const uint32_t *crossed(
	const struct amd_op *o, char kind, const uint32_t *p, uint32_t *temp, uint64_t *exec)
{
	uint64_t active = *exec;

	for (unsigned l = 0; l < AMD_LANES; l++) {
		int from = dpp_lane(o->i.dpp_ctrl, l);
		bool there = from >= 0 && active >> from & 1;

		if (!(o->i.row_mask >> l / 16 & 1) || !(o->i.bank_mask >> l % 16 / 4 & 1) ||
			(!there && !o->i.bound_ctrl))
			*exec &= ~(1ull << l);
		temp[l] = there ? p[from] : 0;
		if (kind == '2')
			temp[AMD_LANES + l] = there ? p[AMD_LANES + from] : 0;
	}
	return temp;
}

/* --- denormals and results --- */

static void flush_singles(uint32_t *p)
{
	for (unsigned l = 0; l < AMD_LANES; l++)
		p[l] = (p[l] & 0x7f800000) ? p[l] : p[l] & 0x80000000;
}

static void flush_halves(uint32_t *p)
{
	for (unsigned l = 0; l < AMD_LANES; l++)
		p[l] = (p[l] & 0x7c00) ? p[l] : p[l] & 0xffff8000;
}

static void flush_doubles(uint32_t *p)
{
	for (unsigned l = 0; l < AMD_LANES; l++)
		if (!(p[AMD_LANES + l] & 0x7ff00000)) {
			p[l] = 0;
			p[AMD_LANES + l] &= 0x80000000;
		}
}

static void flush(char type, uint32_t *p)
{
	if (type == 'f')
		flush_singles(p);
	else if (type == 'h')
		flush_halves(p);
	else if (type == 'd')
		flush_doubles(p);
}

/* The mode's two bits for a type: 1: sources keep denormals... FP_DENORM: bit 0 allows input
 * denormals, bit 1 output ones ("MI200", 3.4: 0: flush both, 1: flush results, 2: flush sources).
 */
static unsigned denormals(const struct amd_wave *w, char type)
{
	return type == 'f' ? w->mode >> 4 & 3 : type == 'i' ? 3 : w->mode >> 6 & 3;
}

static const uint32_t *flushed(char from, char kind, const uint32_t *p, uint32_t *temp)
{
	bool wide = kind == '2';

	if ((from == 'd') != wide)
		return p; /* an exponent, a class mask */
	if (p != temp)
		memcpy(temp, p, (wide ? 2 : 1) * AMD_LANES * 4);
	flush(from, temp);
	return temp;
}

static double scaled(double v, unsigned omod)
{
	static const double by[] = {1, 2, 4, 0.5};

	return v * by[omod];
}

/* Clamp to 0..1; NaN becomes 0 with DX10_CLAMP. omod is before it. */
static void finish_singles(const struct amd_wave *w, const struct amd_op *o, uint32_t *d)
{
	for (unsigned l = 0; l < AMD_LANES; l++) {
		float v;

		memcpy(&v, d + l, 4);
		if (o->i.omod) {
			v = (float)scaled(v, o->i.omod);
			if (v == 0)
				v = 0; /* no negative zero ("MI200", 6.2.3) */
		}
		if (o->i.clamp)
			v = v != v ? (w->mode >> 8 & 1 ? 0 : v) : v > 1 ? 1 : v > 0 ? v : 0;
		memcpy(d + l, &v, 4);
	}
}

static void finish_doubles(const struct amd_wave *w, const struct amd_op *o, uint32_t *d)
{
	for (unsigned l = 0; l < AMD_LANES; l++) {
		uint64_t bits = d[l] | (uint64_t)d[AMD_LANES + l] << 32;
		double v;

		memcpy(&v, &bits, 8);
		if (o->i.omod) {
			v = scaled(v, o->i.omod);
			if (v == 0)
				v = 0;
		}
		if (o->i.clamp)
			v = v != v ? (w->mode >> 8 & 1 ? 0 : v) : v > 1 ? 1 : v > 0 ? v : 0;
		memcpy(&bits, &v, 8);
		d[l] = (uint32_t)bits;
		d[AMD_LANES + l] = (uint32_t)(bits >> 32);
	}
}

static void finish_halves(const struct amd_wave *w, const struct amd_op *o, uint32_t *d)
{
	for (unsigned l = 0; l < AMD_LANES; l++) {
		uint32_t h = d[l] & 0xffff;
		bool nan = (h & 0x7fff) > 0x7c00;

		if (nan)
			h = w->mode >> 8 & 1 ? 0 : h;
		else if (h & 0x8000)
			h = 0;
		else if (h > 0x3c00)
			h = 0x3c00;
		d[l] = h;
	}
	(void)o;
}

static void finish(struct amd_wave *w, const struct amd_op *o, uint32_t *d)
{
	if (!o->i.clamp && !o->i.omod)
		return;
	switch (o->h->to) {
	case 'f':
		finish_singles(w, o, d);
		break;
	case 'd':
		finish_doubles(w, o, d);
		break;
	case 'h':
		if (o->i.omod)
			amd_refuse(w, o, "omod of a half");
		finish_halves(w, o, d);
		break;
	default:
		if (o->i.omod)
			amd_refuse(w, o, "omod of an integer");
	}
}

/* SDWA's result: a byte or word of the register; the rest is zero, sign or kept. */
static void place_selected(const struct amd_op *o, uint32_t *d, const uint32_t *old)
{
	unsigned sel = o->i.dst_sel, shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
	unsigned bits = sel < 4 ? 8 : 16;
	uint32_t mask;

	if (sel == 6)
		return;
	mask = ((1u << bits) - 1) << shift;
	for (unsigned l = 0; l < AMD_LANES; l++) {
		uint32_t v = d[l] << shift & mask;

		if (o->i.dst_unused == 2)
			v |= old[l] & ~mask;
		else if (o->i.dst_unused == 1 && v >> (shift + bits - 1) & 1 && shift + bits < 32)
			v |= ~0u << (shift + bits);
		d[l] = v;
	}
}

/* A result of 16 bits beside the register's other half. */
static void place_half(const struct amd_op *o, uint32_t *d, const uint32_t *old)
{
	bool high = o->row->enc == GFX_VOP3 && o->i.opsel & 8;

	for (unsigned l = 0; l < AMD_LANES; l++)
		d[l] = high ? d[l] << 16 | (old[l] & 0xffff)
			    : (d[l] & 0xffff) | (old[l] & 0xffff0000);
}

static void merge(struct amd_wave *w, uint32_t *to, const uint32_t *d, uint64_t exec)
{
	const uint32_t *m;

	if (exec == ~0ull) {
		memcpy(to, d, AMD_LANES * 4);
		return;
	}
	m = amd_lane_mask(w, exec);
	for (unsigned l = 0; l < AMD_LANES; l++)
		to[l] = (d[l] & m[l]) | (to[l] & ~m[l]);
}

/* --- an instruction --- */

static unsigned carry_code(const struct amd_op *o, unsigned k)
{
	return o->i.form == GFX_LONG || o->row->enc == GFX_VOP3 ? o->i.src[k] : GFX_VCC;
}

static void write_results(struct amd_wave *w, const struct amd_op *o, struct amd_lanes *x)
{
	const struct gfx_row *r = o->row;
	bool full = o->i.form == GFX_LONG || r->enc == GFX_VOP3;

	if (r->dst[0] == 'c') {
		amd_set_pair(w, o->i.dst, x->mask & x->exec);
		if (strncmp(r->name, "v_cmpx", 6) == 0)
			amd_set_pair(w, GFX_EXEC, x->mask & x->exec);
		return;
	}
	if (!r->dst[0])
		return;
	merge(w, w->v[o->i.dst], x->d, x->exec);
	if (r->dst[0] == '2')
		merge(w, w->v[o->i.dst + 1], x->d + AMD_LANES, x->exec);
	if (r->dst[1] == 'c')
		amd_set_pair(w, full ? o->i.sdst : GFX_VCC, x->mask & x->exec);
}

static void prepare(struct amd_wave *w, const struct amd_op *o, struct amd_lanes *x, bool flushes)
{
	const struct gfx_row *r = o->row;
	const uint32_t *p[3] = {w->temp[0], w->temp[0], w->temp[0]};
	unsigned n = 0;

	for (unsigned k = 0; k < r->nsrc; k++) {
		char kind = r->src[k];

		if (kind == 'L') { /* v_madmk, v_madak: the constant is a source of its own */
			fill(w->temp[n == 1 && k == 1 ? 1 : 2], o->i.literal);
			p[k] = w->temp[n == 1 && k == 1 ? 1 : 2];
			continue;
		}
		if (kind == 'c') {
			x->carry_in = amd_scalar(w, o, carry_code(o, n), 'c');
			n++;
			continue;
		}
		if (kind == '1' && o->h->from == 'h')
			kind = 'h';
		p[k] = source(w, o, o->i.src[n], kind, w->temp[k]);
		if (!o->plain && o->row->enc != GFX_VOP3P) {
			if (o->i.form == GFX_SDWA)
				p[k] = selected(o, n, p[k], w->temp[k]);
			if (o->i.form == GFX_DPP && k == 0)
				p[k] = crossed(o, kind, p[k], w->temp[k], &x->exec);
			p[k] = upper(o, n, p[k], w->temp[k]);
			p[k] = modified(o, n, kind, p[k], w->temp[k]);
		}
		if (flushes)
			p[k] = flushed(o->h->from, kind, p[k], w->temp[k]);
		n++;
	}
	x->a = p[0];
	x->b = p[1];
	x->c = p[2];
}

/* The instruction with the registers that M0 means: bits 12 to 15 say for which of the sources and
 * the result ("MI200", 3.6). */
static const struct amd_op *indexed(
	struct amd_wave *w, const struct amd_op *o, struct amd_op *moved)
{
	unsigned by = w->s[GFX_M0] & 0xff, which = w->s[GFX_M0] >> 12 & 15;

	*moved = *o;
	for (unsigned k = 0; k < 3; k++)
		if (which >> k & 1 && o->i.src[k] >= GFX_VGPR) {
			if (o->i.src[k] + by + 1 >= 2 * GFX_VGPR)
				amd_refuse(w, o, "the index leaves the vector registers");
			moved->i.src[k] = (uint16_t)(o->i.src[k] + by);
		}
	if (which >> 3 & 1 && o->row->dst[0] != 'c' && o->row->dst[0] != 's') {
		if (o->i.dst + by + 1 >= GFX_VGPR)
			amd_refuse(w, o, "the index leaves the vector registers");
		moved->i.dst = (uint16_t)(o->i.dst + by);
	}
	return moved;
}

void amd_run_lanes(struct amd_wave *w, const struct amd_op *plain)
{
	struct amd_op moved;
	const struct amd_op *o =
		__builtin_expect(w->indexing, 0) ? indexed(w, plain, &moved) : plain;
	uint32_t result[4 * AMD_LANES];
	struct amd_lanes x = {.w = w, .o = o, .d = result, .exec = amd_exec(w)};
	const struct amd_handler *h = o->h;
	bool in = h->flushes || !(denormals(w, h->from) & 1);
	bool out = h->flushes || !(denormals(w, h->to) & 2);

	if (h->approximate)
		w->group->worker->approximate |= 1ull << (h->approximate - 1);
	if (w->mode & 15 && (strchr("fhd", h->from) || strchr("fhd", h->to)))
		amd_refuse(w, o, "a rounding mode other than to nearest even is set");
	prepare(w, o, &x, in && strchr("fhd", h->from) && h->to != 'c');
	h->lanes(&x);
	if (out && o->row->dst[0] != 'c')
		flush(h->to, result);
	if (!o->plain && o->row->enc != GFX_VOP3P) {
		finish(w, o, result);
		if (o->i.form == GFX_SDWA && o->row->enc != GFX_VOPC)
			place_selected(o, result, w->v[o->i.dst]);
	}
	if (h->keeps && o->i.form != GFX_SDWA)
		place_half(o, result, w->v[o->i.dst]);
	write_results(w, o, &x);
}
