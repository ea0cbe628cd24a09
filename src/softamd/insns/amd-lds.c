/* SPDX-License-Identifier: Apache-2.0
 *
 * LDS instructions, and those of the LDS unit that only cross lanes ("AMD Instinct MI200 ISA",
 * chapter 11 and 12.13).
 */
#include "softamd/insns/amd-atomic.h"
#include "softamd/insns/amd-insn.h"

static uint32_t (*bank(struct amd_wave *w, const struct amd_op *o))[AMD_LANES]
{
	return o->i.acc ? w->acc : w->v;
}

/* The byte `offset` behind the lane's address. The sum is of 32 bits: an address may be negative.
 */
static uint8_t *at(struct amd_wave *w, const struct amd_op *o, unsigned lane, uint32_t offset,
	unsigned size, bool write)
{
	return amd_lds(w, lane, (uint32_t)(w->v[o->i.addr][lane] + offset), size, write);
}

/* --- reads and writes --- */

/* Where the active lanes' bytes lie in LDS. False: something looks at them, or one of them is not
 * there: lane by lane, then. */
static bool offsets(
	struct amd_wave *w, const struct amd_op *o, uint32_t offset, unsigned size, uint32_t *ret)
{
	const uint32_t *address = w->v[o->i.addr], *mask = amd_lane_mask(w, amd_exec(w));
	const uint32_t room = w->group->worker->l->lds_bytes;
	uint32_t beyond = 0;

	if (amd_is_observed(w) || room < size)
		return false;
	for (unsigned l = 0; l < AMD_LANES; l++) {
		ret[l] = (address[l] + offset) & mask[l];
		beyond |= ret[l] > room - size;
	}
	return !beyond;
}

/* A word of each active lane; those of others stay. */
static void gather(struct amd_wave *w, const uint32_t *offset, unsigned more, uint32_t *v)
{
	const uint32_t *mask = amd_lane_mask(w, amd_exec(w));
	const uint8_t *lds = w->group->lds + more;

	for (unsigned l = 0; l < AMD_LANES; l++) {
		uint32_t word;

		memcpy(&word, lds + offset[l], 4);
		v[l] = (word & mask[l]) | (v[l] & ~mask[l]);
	}
}

static void read_words(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->dst[0]);
	uint32_t(*v)[AMD_LANES] = bank(w, o), where[AMD_LANES];

	if (offsets(w, o, (uint32_t)o->i.imm, 4 * n, where)) {
		for (unsigned k = 0; k < n; k++)
			gather(w, where, 4 * k, v[o->i.dst + k]);
		return;
	}
	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint32_t words[4];

		memcpy(words, at(w, o, (unsigned)l, (uint32_t)o->i.imm, 4 * n, false), 4 * n);
		for (unsigned k = 0; k < n; k++)
			v[o->i.dst + k][l] = words[k];
	}
}

static void write_words(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->src[1]);
	uint32_t(*v)[AMD_LANES] = bank(w, o);

	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint32_t words[4];

		for (unsigned k = 0; k < n; k++)
			words[k] = v[o->i.data0 + k][l];
		memcpy(at(w, o, (unsigned)l, (uint32_t)o->i.imm, 4 * n, true), words, 4 * n);
	}
}

/* Two places; st64: 64 times as far apart. */
static unsigned pair_unit(const struct amd_op *o, unsigned words)
{
	const unsigned id = o->i.id;

	return 4 * words *
	       (id == GFX_ds_read2st64_b32 || id == GFX_ds_read2st64_b64 ||
				       id == GFX_ds_write2st64_b32 || id == GFX_ds_write2st64_b64
			       ? 64
			       : 1);
}

static void read_two(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->dst[0]) / 2, unit = pair_unit(o, n);
	uint32_t(*v)[AMD_LANES] = bank(w, o), one[AMD_LANES], two[AMD_LANES];

	if (offsets(w, o, (uint32_t)o->i.imm * unit, 4 * n, one) &&
		offsets(w, o, o->i.offset1 * unit, 4 * n, two)) {
		for (unsigned k = 0; k < n; k++) {
			gather(w, one, 4 * k, v[o->i.dst + k]);
			gather(w, two, 4 * k, v[o->i.dst + n + k]);
		}
		return;
	}
	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint32_t words[4];

		memcpy(words, at(w, o, (unsigned)l, (uint32_t)o->i.imm * unit, 4 * n, false),
			4 * n);
		memcpy(words + n, at(w, o, (unsigned)l, o->i.offset1 * unit, 4 * n, false), 4 * n);
		for (unsigned k = 0; k < 2 * n; k++)
			v[o->i.dst + k][l] = words[k];
	}
}

static void write_two(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->src[1]), unit = pair_unit(o, n);
	uint32_t(*v)[AMD_LANES] = bank(w, o);

	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint32_t words[4];

		for (unsigned k = 0; k < n; k++) {
			words[k] = v[o->i.data0 + k][l];
			words[n + k] = v[o->i.data1 + k][l];
		}
		memcpy(at(w, o, (unsigned)l, (uint32_t)o->i.imm * unit, 4 * n, true), words, 4 * n);
		memcpy(at(w, o, (unsigned)l, o->i.offset1 * unit, 4 * n, true), words + n, 4 * n);
	}
}

/* Bytes and words, with zeros, sign, or into one half of the register. */
#define READ_PART(name, type, merge)                                                               \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		uint32_t(*v)[AMD_LANES] = bank(w, o);                                              \
                                                                                                   \
		AMD_EACH_LANE(l, amd_exec(w))                                                      \
		{                                                                                  \
			uint32_t old = v[o->i.dst][l];                                             \
			type part;                                                                 \
                                                                                                   \
			(void)old;                                                                 \
			memcpy(&part,                                                              \
				at(w, o, (unsigned)l, (uint32_t)o->i.imm, sizeof(type), false),    \
				sizeof(type));                                                     \
			v[o->i.dst][l] = (merge);                                                  \
		}                                                                                  \
	}
#define LOW (old & 0xffff0000) | (uint16_t)part
#define HIGH (old & 0xffff) | (uint32_t)(uint16_t)part << 16
READ_PART(read_i8, int8_t, (uint32_t)part)
READ_PART(read_u8, uint8_t, part)
READ_PART(read_i16, int16_t, (uint32_t)part)
READ_PART(read_u16, uint16_t, part)
READ_PART(read_u8_d16, uint8_t, LOW)
READ_PART(read_u8_d16_hi, uint8_t, HIGH)
READ_PART(read_i8_d16, int8_t, LOW)
READ_PART(read_i8_d16_hi, int8_t, HIGH)
READ_PART(read_u16_d16, uint16_t, LOW)
READ_PART(read_u16_d16_hi, uint16_t, HIGH)

static void write_part(struct amd_wave *w, const struct amd_op *o, unsigned size, unsigned shift)
{
	uint32_t(*v)[AMD_LANES] = bank(w, o);

	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint32_t part = v[o->i.data0][l] >> shift;

		memcpy(at(w, o, (unsigned)l, (uint32_t)o->i.imm, size, true), &part, size);
	}
}

static void write_b8(struct amd_wave *w, const struct amd_op *o)
{
	write_part(w, o, 1, 0);
}

static void write_b16(struct amd_wave *w, const struct amd_op *o)
{
	write_part(w, o, 2, 0);
}

static void write_b8_hi(struct amd_wave *w, const struct amd_op *o)
{
	write_part(w, o, 1, 16);
}

static void write_b16_hi(struct amd_wave *w, const struct amd_op *o)
{
	write_part(w, o, 2, 16);
}

/* --- atomics --- */

static uint64_t data_of(uint32_t (*v)[AMD_LANES], unsigned reg, uint64_t l, bool two)
{
	return v[reg][l] | (two ? (uint64_t)v[reg + 1][l] << 32 : 0);
}

static void atomic(struct amd_wave *w, const struct amd_op *o, enum amd_atomic op)
{
	bool two = o->row->src[1] == '2', returns = o->row->dst[0] != 0;
	uint32_t(*v)[AMD_LANES] = bank(w, o);
	unsigned size = two ? 8 : 4;

	w->group->worker->atomic = true;
	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint8_t *p = at(w, o, (unsigned)l, (uint32_t)o->i.imm, size, true);
		uint64_t data = data_of(v, o->i.data0, l, two), other = 0, old;

		if ((uintptr_t)p % size)
			amd_raise(w->group->worker, AMD_FAULT_ALIGNMENT, w, (int)l,
				"%s at an LDS offset that is not a multiple of %u", o->row->name,
				size);
		if (o->row->src[2])
			other = data_of(v, o->i.data1, l, two);
		/* ds_cmpst: data0 is compared with, data1 stored */
		old = op == AMD_CMPSWAP ? amd_atomic(op, 8 * size, p, other, data)
					: amd_atomic(op, 8 * size, p, data, other);
		if (!returns)
			continue;
		v[o->i.dst][l] = (uint32_t)old;
		if (two)
			v[o->i.dst + 1][l] = (uint32_t)(old >> 32);
	}
	w->group->worker->atomic = false;
}

#define ATOMIC(name, op)                                                                           \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		atomic(w, o, op);                                                                  \
	}
ATOMIC(add, AMD_ADD)
ATOMIC(sub, AMD_SUB)
ATOMIC(rsub, AMD_RSUB)
ATOMIC(inc, AMD_INC)
ATOMIC(dec, AMD_DEC)
ATOMIC(smin, AMD_SMIN)
ATOMIC(smax, AMD_SMAX)
ATOMIC(umin, AMD_UMIN)
ATOMIC(umax, AMD_UMAX)
ATOMIC(and, AMD_AND)
ATOMIC(or, AMD_OR)
ATOMIC(xor, AMD_XOR)
ATOMIC(swap, AMD_SWAP)
ATOMIC(cmpswap, AMD_CMPSWAP)
ATOMIC(mskor, AMD_MSKOR)
ATOMIC(fadd, AMD_FADD)
ATOMIC(fmin_, AMD_FMIN)
ATOMIC(fmax_, AMD_FMAX)

/* --- across lanes: no memory --- */

static unsigned swizzled(unsigned offset, unsigned l)
{
	if (offset >> 15)
		return (l & ~3u) | (offset >> 2 * (l & 3) & 3);
	return (l & 32) | ((((l & 31) & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}

/* A lane outside EXEC gives 0. */
static void swizzle(struct amd_wave *w, const struct amd_op *o)
{
	uint32_t values[AMD_LANES];
	uint64_t exec = amd_exec(w);

	if (o->i.imm >= 0xc000)
		amd_refuse(w, o, "this swizzle (FFT, rotation) is not executed");
	memcpy(values, w->v[o->i.addr], sizeof(values));
	AMD_EACH_LANE(l, exec)
	{
		unsigned from = swizzled((unsigned)o->i.imm, (unsigned)l);

		bank(w, o)[o->i.dst][l] = exec >> from & 1 ? values[from] : 0;
	}
}

/* Each lane gives to the lane that its address names; the highest one wins; the others get 0. */
static void permute(struct amd_wave *w, const struct amd_op *o)
{
	uint32_t out[AMD_LANES] = {0};
	uint64_t exec = amd_exec(w);
	uint32_t(*v)[AMD_LANES] = bank(w, o);

	AMD_EACH_LANE(l, exec)
	out[(w->v[o->i.addr][l] + (uint32_t)o->i.imm) / 4 % AMD_LANES] = v[o->i.data0][l];
	AMD_EACH_LANE(l, exec)
	v[o->i.dst][l] = out[l];
}

/* Each lane takes from the lane that its address names: 0 from one outside EXEC. */
static void bpermute(struct amd_wave *w, const struct amd_op *o)
{
	uint32_t values[AMD_LANES], from[AMD_LANES];
	uint64_t exec = amd_exec(w);
	uint32_t(*v)[AMD_LANES] = bank(w, o);

	memcpy(values, v[o->i.data0], sizeof(values));
	memcpy(from, w->v[o->i.addr], sizeof(from));
	AMD_EACH_LANE(l, exec)
	{
		unsigned k = (from[l] + (uint32_t)o->i.imm) / 4 % AMD_LANES;

		v[o->i.dst][l] = exec >> k & 1 ? values[k] : 0;
	}
}

#define BOTH(name, type, fn) WAVE(ds_##name##_##type, fn), WAVE(ds_##name##_rtn_##type, fn)
const struct amd_entry amd_lds_entries[] = {WAVE(ds_read_b32, read_words),
	WAVE(ds_read_b64, read_words), WAVE(ds_read_b96, read_words),
	WAVE(ds_read_b128, read_words), WAVE(ds_write_b32, write_words),
	WAVE(ds_write_b64, write_words), WAVE(ds_write_b96, write_words),
	WAVE(ds_write_b128, write_words), WAVE(ds_read2_b32, read_two),
	WAVE(ds_read2_b64, read_two), WAVE(ds_read2st64_b32, read_two),
	WAVE(ds_read2st64_b64, read_two), WAVE(ds_write2_b32, write_two),
	WAVE(ds_write2_b64, write_two), WAVE(ds_write2st64_b32, write_two),
	WAVE(ds_write2st64_b64, write_two), WAVE(ds_read_i8, read_i8), WAVE(ds_read_u8, read_u8),
	WAVE(ds_read_i16, read_i16), WAVE(ds_read_u16, read_u16), WAVE(ds_read_u8_d16, read_u8_d16),
	WAVE(ds_read_u8_d16_hi, read_u8_d16_hi), WAVE(ds_read_i8_d16, read_i8_d16),
	WAVE(ds_read_i8_d16_hi, read_i8_d16_hi), WAVE(ds_read_u16_d16, read_u16_d16),
	WAVE(ds_read_u16_d16_hi, read_u16_d16_hi), WAVE(ds_write_b8, write_b8),
	WAVE(ds_write_b16, write_b16), WAVE(ds_write_b8_d16_hi, write_b8_hi),
	WAVE(ds_write_b16_d16_hi, write_b16_hi), BOTH(add, u32, add), BOTH(sub, u32, sub),
	BOTH(rsub, u32, rsub), BOTH(inc, u32, inc), BOTH(dec, u32, dec), BOTH(min, i32, smin),
	BOTH(max, i32, smax), BOTH(min, u32, umin), BOTH(max, u32, umax), BOTH(and, b32, and),
	BOTH(or, b32, or), BOTH(xor, b32, xor), BOTH(mskor, b32, mskor), BOTH(cmpst, b32, cmpswap),
	BOTH(add, f32, fadd), BOTH(min, f32, fmin_), BOTH(max, f32, fmax_), BOTH(add, u64, add),
	BOTH(sub, u64, sub), BOTH(rsub, u64, rsub), BOTH(inc, u64, inc), BOTH(dec, u64, dec),
	BOTH(min, i64, smin), BOTH(max, i64, smax), BOTH(min, u64, umin), BOTH(max, u64, umax),
	BOTH(and, b64, and), BOTH(or, b64, or), BOTH(xor, b64, xor), BOTH(mskor, b64, mskor),
	BOTH(cmpst, b64, cmpswap), BOTH(add, f64, fadd), BOTH(min, f64, fmin_),
	BOTH(max, f64, fmax_), WAVE(ds_wrxchg_rtn_b32, swap), WAVE(ds_wrxchg_rtn_b64, swap),
	WAVE(ds_swizzle_b32, swizzle), WAVE(ds_permute_b32, permute),
	WAVE(ds_bpermute_b32, bpermute), END};
