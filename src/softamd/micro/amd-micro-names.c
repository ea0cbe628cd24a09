/* SPDX-License-Identifier: Apache-2.0
 *
 * What names in expressions are for a wave: %v3, %a3 of the lane, %s4, %vcc, %exec, %m0, %scc,
 * %mode, %pc of the wave; %s4_5 and %v2_3 are 64 bits in two registers, the low one first;
 * threadIdx.x and its like, also by the names that PTX has for them (%tid.x, %laneid).
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "softamd/micro/amd-micro.h"

enum { NAME_S, NAME_V, NAME_A, NAME_SCC, NAME_MODE, NAME_PC, NAME_BUILTIN };
enum { SPACE_WIDE = 1 }; /* lane_op.space: 64 bits */

unsigned amd_micro_scalars(const struct amd_launch *l)
{
	const unsigned n = ((l->rsrc1 >> 6 & 15) / 2 + 1) * 16;

	return n < GFX_SGPRS ? n : GFX_SGPRS;
}

/* --- finding --- */

static const struct {
	const char *name;
	uint8_t what, reg;
	bool wide;
} fixed[] = {{"%exec", NAME_S, GFX_EXEC, true}, {"%exec_lo", NAME_S, GFX_EXEC, false},
	{"%exec_hi", NAME_S, GFX_EXEC + 1, false}, {"%vcc", NAME_S, GFX_VCC, true},
	{"%vcc_lo", NAME_S, GFX_VCC, false}, {"%vcc_hi", NAME_S, GFX_VCC + 1, false},
	{"%flat_scratch", NAME_S, GFX_FLAT_SCRATCH, true}, {"%m0", NAME_S, GFX_M0, false},
	{"%scc", NAME_SCC, 0, false}, {"%mode", NAME_MODE, 0, false}, {"%pc", NAME_PC, 0, true}};

static bool find_fixed(const char *text, size_t n, struct lane_op *ret)
{
	for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); k++) {
		if (strlen(fixed[k].name) != n || memcmp(fixed[k].name, text, n))
			continue;
		ret->name = fixed[k].what;
		ret->off = fixed[k].reg;
		ret->space = fixed[k].wide ? SPACE_WIDE : 0;
		return true;
	}
	return false;
}

/* "%s4", "%v2_3": text has n characters and ends there. */
static bool find_register(
	const struct amd_launch *l, const char *text, size_t n, struct lane_op *ret)
{
	static const char letters[] = "sva";
	const char *kind = n > 2 ? strchr(letters, text[1]) : NULL;
	const unsigned most[] = {
		l ? amd_micro_scalars(l) : GFX_SGPRS, l ? l->vgprs : 256, l ? l->accs : 256};
	unsigned long first, last;
	char *end;

	if (!kind || !*kind || !isdigit((unsigned char)text[2]))
		return false;
	first = last = strtoul(text + 2, &end, 10);
	if (*end == '_' && isdigit((unsigned char)end[1]))
		last = strtoul(end + 1, &end, 10);
	if (end != text + n || last >= most[kind - letters] || (last != first && last != first + 1))
		return false;
	ret->name = (uint8_t)(NAME_S + (kind - letters));
	ret->off = (int32_t)first;
	ret->space = last != first ? SPACE_WIDE : 0;
	return true;
}

static bool find_special(const char *text, size_t n, struct lane_op *ret)
{
	static const char *const names[] = {"%tid", "%ctaid", "%ntid", "%nctaid"};

	ret->name = NAME_BUILTIN;
	ret->space = 0;
	if (n == 7 && !memcmp(text, "%laneid", 7)) {
		ret->type = LANE_LANE;
		return true;
	}
	for (unsigned k = 0; k < 4; k++) {
		const size_t m = strlen(names[k]);

		if (n == m + 2 && !memcmp(text, names[k], m) && text[m] == '.' &&
			text[m + 1] >= 'x' && text[m + 1] <= 'z') {
			ret->type = (uint8_t)k;
			ret->off = text[m + 1] - 'x';
			return true;
		}
	}
	return false;
}

static size_t find(const void *arg, const char *text, bool address, struct lane_op *ret)
{
	enum lane_builtin what;
	unsigned axis;
	size_t n;

	if (address)
		return 0;
	n = lane_builtin(text, &what, &axis);
	if (n) {
		*ret = (struct lane_op){
			.name = NAME_BUILTIN, .type = (uint8_t)what, .off = (int)axis};
		return n;
	}
	n = lane_word(text);
	return n && *text == '%' &&
			       (find_fixed(text, n, ret) || find_register(arg, text, n, ret) ||
				       find_special(text, n, ret))
		       ? n
		       : 0;
}

const char *amd_micro_compile(
	struct lane_expr *x, const struct amd_launch *l, const char *text, char *why, size_t n)
{
	const struct lane_names names = {
		l, find, "the machine code, which has registers: %v0, %s4"};

	return lane_compile(x, &names, text, why, n);
}

/* --- values --- */

struct seen {
	const struct amd_wave *w;
	uint8_t *room;
};

static struct lane_value builtin(const struct amd_wave *w, const struct lane_op *o, unsigned lane)
{
	const struct amd_group *g = w->group;
	const struct amd_launch *l = g->worker->l;
	uint32_t item[3];

	switch (o->type) {
	case LANE_THREAD:
		amd_micro_item(w, lane, item);
		return (struct lane_value){.i = item[o->off]};
	case LANE_BLOCK:
		return (struct lane_value){.i = g->id[o->off]};
	case LANE_BLOCK_SIZE:
		return (struct lane_value){.i = l->size[o->off]};
	case LANE_GRID_SIZE:
		return (struct lane_value){.i = l->groups[o->off]};
	default:
		return (struct lane_value){.i = lane};
	}
}

/* One that was compiled without knowing the launch may not be there. */
static bool has_register(const struct amd_wave *w, const struct lane_op *o)
{
	const struct amd_launch *l = w->group->worker->l;
	const uint32_t last = (uint32_t)o->off + (o->space & SPACE_WIDE ? 1 : 0);

	return o->name == NAME_S   ? last >= GFX_SGPRS || last < amd_micro_scalars(l)
	       : o->name == NAME_V ? last < l->vgprs
				   : last < l->accs;
}

static uint32_t word_of(const struct amd_wave *w, unsigned name, int32_t reg, unsigned lane)
{
	return name == NAME_S	? w->s[reg & 127]
	       : name == NAME_V ? w->v[reg & 255][lane]
				: w->acc[reg & 255][lane];
}

static void set_word(struct amd_wave *w, unsigned name, int32_t reg, unsigned lane, uint32_t value)
{
	if (name == NAME_S)
		w->s[reg & 127] = value;
	else if (name == NAME_V)
		w->v[reg & 255][lane] = value;
	else
		w->acc[reg & 255][lane] = value;
}

bool amd_micro_set(struct amd_wave *w, unsigned lane, const char *name, uint64_t value)
{
	const size_t n = strlen(name);
	struct lane_op o = {0};

	if (!find_fixed(name, n, &o) && !find_register(w->group->worker->l, name, n, &o))
		return false;
	if (o.name == NAME_SCC) {
		w->scc = value & 1;
		return true;
	}
	if (o.name > NAME_A || !has_register(w, &o) ||
		(o.name == NAME_S && (o.off == GFX_EXEC || o.off == GFX_EXEC + 1)))
		return false;
	set_word(w, o.name, o.off, lane, (uint32_t)value);
	if (o.space & SPACE_WIDE)
		set_word(w, o.name, o.off + 1, lane, (uint32_t)(value >> 32));
	return true;
}

static struct lane_value value_of(const void *arg, const struct lane_op *o, unsigned lane)
{
	const struct amd_wave *w = ((const struct seen *)arg)->w;
	uint32_t low;

	switch (o->name) {
	case NAME_SCC:
		return (struct lane_value){.i = w->scc};
	case NAME_MODE:
		return (struct lane_value){.i = w->mode};
	case NAME_PC:
		return (struct lane_value){.i = (int64_t)w->pc};
	case NAME_BUILTIN:
		return builtin(w, o, lane);
	default:
		if (!has_register(w, o))
			return (struct lane_value){.bad = true};
		low = word_of(w, o->name, o->off, lane);
		if (!(o->space & SPACE_WIDE))
			return (struct lane_value){.i = (int32_t)low};
		return (struct lane_value){
			.i = (int64_t)(low | (uint64_t)word_of(w, o->name, o->off + 1, lane)
						     << 32)};
	}
}

bool amd_micro_private(
	const struct amd_wave *w, unsigned lane, uint64_t offset, uint64_t n, uint8_t *dst)
{
	if (!w->scratch || !range_within(offset, n, 0, w->group->worker->l->private_bytes))
		return false;
	for (uint64_t k = 0; k < n; k++)
		dst[k] = w->scratch[((offset + k) / 4 * AMD_LANES + lane) * 4 + (offset + k) % 4];
	return true;
}

const uint8_t *amd_micro_bytes(
	const struct amd_wave *w, unsigned lane, uint64_t addr, unsigned n, uint8_t *room)
{
	const struct amd_launch *l = w->group->worker->l;
	const struct amd_memory *m = l->d->memory;
	const uint64_t aperture = addr & ~0xffffffffull, at = (uint32_t)addr;
	struct amd_extent e;

	if (aperture && aperture == l->d->shared_aperture)
		return range_within(at, n, 0, l->lds_bytes) ? w->group->lds + at : NULL;
	if (aperture && aperture == l->d->private_aperture)
		return n <= 8 && amd_micro_private(w, lane, at, n, room) ? room : NULL;
	if (!m->find(m->arg, addr, &e) || !range_within(addr, n, e.start, e.end - e.start))
		return NULL;
	return (const uint8_t *)(uintptr_t)addr;
}

static const uint8_t *memory(const void *arg, unsigned lane, uint64_t addr, unsigned n)
{
	const struct seen *s = arg;

	return amd_micro_bytes(s->w, lane, addr, n, s->room);
}

static void declare(const struct lane_op *o, struct soft_value *ret)
{
	const bool wide = o->space & SPACE_WIDE;

	if (o->name == NAME_SCC) {
		ret->type = SOFT_BOOL;
		ret->bytes = 0;
		snprintf(ret->declared, sizeof(ret->declared), "pred");
	} else if (o->name == NAME_BUILTIN || o->name == NAME_MODE) {
		ret->type = SOFT_UINT;
		ret->bytes = 4;
		snprintf(ret->declared, sizeof(ret->declared), "u32");
	} else {
		ret->type = o->name == NAME_PC || (o->name == NAME_S && wide && o->off > GFX_SGPRS)
				    ? SOFT_UINT
				    : SOFT_INT;
		ret->bytes = wide ? 8 : 4;
		snprintf(ret->declared, sizeof(ret->declared), wide ? "b64" : "b32");
	}
}

struct lane_value amd_micro_eval(const struct lane_expr *x, const struct amd_wave *w, unsigned lane)
{
	uint8_t room[8];
	const struct seen s = {w, room};
	const struct lane_reader r = {&s, value_of, memory, declare};

	return lane_eval(x, &r, lane);
}

void amd_micro_type(const struct lane_expr *x, struct soft_value *ret, int *ret_space)
{
	const struct lane_reader r = {NULL, value_of, memory, declare};

	lane_type(x, &r, ret, ret_space);
}
