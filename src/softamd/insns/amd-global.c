/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector memory: FLAT, GLOBAL, SCRATCH and MUBUF ("AMD Instinct MI200 ISA", chapters 8 to 10). Each
 * lane's address becomes a place: in memory, in LDS, or in the lane's private bytes.
 */
#include "softamd/insns/amd-atomic.h"
#include "softamd/insns/amd-insn.h"

enum space {
	IN_MEMORY,
	IN_LDS,
	IN_PRIVATE,
	NOWHERE /* beyond a buffer's records: reads 0, writes nothing */
};

struct place {
	enum space space;
	uint64_t at; /* address, or offset */
};

static uint64_t vector_address(const struct amd_wave *w, const struct amd_op *o, unsigned l)
{
	return w->v[o->i.addr][l] | (uint64_t)w->v[o->i.addr + 1][l] << 32;
}

/* Where private offset 0 is, by FLAT_SCRATCH: kernels set it up from what they are given. */
static uint64_t scratch_base(struct amd_wave *w, const struct amd_op *o)
{
	if (w->group->worker->l->target == GFX_942) /* the hardware's own business there */
		return 0;

	uint64_t base = amd_pair(w, GFX_FLAT_SCRATCH) - AMD_SCRATCH_VA;

	if (base % 256 || base >> 40)
		amd_refuse(w, o, "FLAT_SCRATCH is not what the kernel was given");
	return base / AMD_LANES;
}

static struct place flat_place(struct amd_wave *w, const struct amd_op *o, unsigned l)
{
	const struct amd_dispatch *d = w->group->worker->l->d;
	uint64_t a = vector_address(w, o, l) + (uint64_t)(int64_t)o->i.imm;

	if (a >> 32 == d->shared_aperture >> 32)
		return (struct place){IN_LDS, a & 0xffffffff};
	if (a >> 32 == d->private_aperture >> 32)
		return (struct place){IN_PRIVATE, (a & 0xffffffff) + scratch_base(w, o)};
	return (struct place){IN_MEMORY, a};
}

static struct place global_place(struct amd_wave *w, const struct amd_op *o, unsigned l)
{
	uint64_t a = o->i.saddr == 0x7f ? vector_address(w, o, l)
					: amd_pair(w, o->i.saddr) + w->v[o->i.addr][l];

	return (struct place){IN_MEMORY, a + (uint64_t)(int64_t)o->i.imm};
}

static struct place scratch_place(struct amd_wave *w, const struct amd_op *o, unsigned l)
{
	uint32_t a = (o->i.no_vaddr ? 0 : w->v[o->i.addr][l]) +
		     (o->i.saddr == 0x7f ? 0 : w->s[o->i.saddr]);

	return (struct place){IN_PRIVATE, (uint32_t)(a + (uint32_t)o->i.imm) + scratch_base(w, o)};
}

/* A buffer's address. The descriptor is either scratch's (lanes interleaved) or plain bytes. */
static struct place buffer_place(struct amd_wave *w, const struct amd_op *o, unsigned l)
{
	const uint32_t *r = w->s + o->i.sbase;
	uint64_t base = r[0] | (uint64_t)(r[1] & 0xffff) << 32;
	uint32_t soffset = (uint32_t)amd_scalar(w, o, o->i.soffset, '1');
	uint64_t offset = (uint64_t)(uint32_t)o->i.imm + (o->i.offen ? w->v[o->i.addr][l] : 0);
	bool swizzled = r[1] >> 31, add_lane = r[3] >> 23 & 1;

	if (o->i.idxen || r[1] >> 16 & 0x3fff)
		amd_refuse(w, o, "a buffer with a stride or an index");
	if (!swizzled && !add_lane) {
		if (offset + 4 > r[2])
			return (struct place){NOWHERE, 0};
		return (struct place){IN_MEMORY, base + soffset + offset};
	}
	/* words of 4 bytes, 64 lanes */
	if (!swizzled || !add_lane || (r[3] >> 19 & 15) != 13)
		amd_refuse(w, o, "a buffer that is swizzled otherwise than scratch");
	if (base < AMD_SCRATCH_VA || (base - AMD_SCRATCH_VA + soffset) % 256)
		amd_refuse(w, o, "a scratch buffer that is not the kernel's");
	return (struct place){
		IN_PRIVATE, (base - AMD_SCRATCH_VA + soffset) / AMD_LANES + (uint32_t)offset};
}

static struct place place_of(struct amd_wave *w, const struct amd_op *o, unsigned l)
{
	switch (o->row->enc) {
	case GFX_FLAT:
		return flat_place(w, o, l);
	case GFX_GLOBAL:
		return global_place(w, o, l);
	case GFX_SCRATCH:
		return scratch_place(w, o, l);
	default:
		return buffer_place(w, o, l);
	}
}

/* --- bytes --- */

static void read_private(struct amd_wave *w, unsigned l, uint64_t at, void *to, unsigned n)
{
	for (unsigned k = 0, part; k < n; k += part) {
		part = 4 - (unsigned)((at + k) & 3);
		part = part < n - k ? part : n - k;
		memcpy((uint8_t *)to + k, amd_private(w, l, at + k, part, false), part);
	}
}

static void write_private(struct amd_wave *w, unsigned l, uint64_t at, const void *from, unsigned n)
{
	for (unsigned k = 0, part; k < n; k += part) {
		part = 4 - (unsigned)((at + k) & 3);
		part = part < n - k ? part : n - k;
		memcpy(amd_private(w, l, at + k, part, true), (const uint8_t *)from + k, part);
	}
}

static void get(struct amd_wave *w, const struct amd_op *o, unsigned l, void *to, unsigned n)
{
	struct place p = place_of(w, o, l);

	switch (p.space) {
	case IN_MEMORY:
		memcpy(to, amd_global(w, l, p.at, n, false), n);
		break;
	case IN_LDS:
		memcpy(to, amd_lds(w, l, p.at, n, false), n);
		break;
	case IN_PRIVATE:
		read_private(w, l, p.at, to, n);
		break;
	case NOWHERE:
		memset(to, 0, n);
	}
}

static void put(
	struct amd_wave *w, const struct amd_op *o, unsigned l, const void *from, unsigned n)
{
	struct place p = place_of(w, o, l);

	switch (p.space) {
	case IN_MEMORY:
		memcpy(amd_global(w, l, p.at, n, true), from, n);
		break;
	case IN_LDS:
		memcpy(amd_lds(w, l, p.at, n, true), from, n);
		break;
	case IN_PRIVATE:
		write_private(w, l, p.at, from, n);
		break;
	case NOWHERE:
		break;
	}
}

/* --- loads and stores --- */

static uint32_t (*bank(struct amd_wave *w, const struct amd_op *o))[AMD_LANES]
{
	return o->i.acc ? w->acc : w->v;
}

/* The register that a load writes: MUBUF has one field for data. */
static unsigned loaded(const struct amd_op *o)
{
	return o->row->enc == GFX_MUBUF ? o->i.data0 : o->i.dst;
}

static void load_words(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->dst[0]), to = loaded(o);
	uint32_t(*v)[AMD_LANES] = bank(w, o), words[AMD_LANES][4];
	uint64_t exec = amd_exec(w);

	AMD_EACH_LANE(l, exec)
	get(w, o, (unsigned)l, words[l], 4 * n);
	AMD_EACH_LANE(l, exec)
	for (unsigned k = 0; k < n; k++)
		v[to + k][l] = words[l][k];
}

static void store_words(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->src[0]);
	uint32_t(*v)[AMD_LANES] = bank(w, o);

	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint32_t words[4];

		for (unsigned k = 0; k < n; k++)
			words[k] = v[o->i.data0 + k][l];
		put(w, o, (unsigned)l, words, 4 * n);
	}
}

#define LOAD_PART(name, type, merge)                                                               \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		uint32_t *to = bank(w, o)[loaded(o)];                                              \
                                                                                                   \
		AMD_EACH_LANE(l, amd_exec(w))                                                      \
		{                                                                                  \
			uint32_t old = to[l];                                                      \
			type part;                                                                 \
                                                                                                   \
			(void)old;                                                                 \
			get(w, o, (unsigned)l, &part, sizeof(part));                               \
			to[l] = (merge);                                                           \
		}                                                                                  \
	}
#define LOW (old & 0xffff0000) | (uint16_t)part
#define HIGH (old & 0xffff) | (uint32_t)(uint16_t)part << 16
LOAD_PART(load_ubyte, uint8_t, part)
LOAD_PART(load_sbyte, int8_t, (uint32_t)part)
LOAD_PART(load_ushort, uint16_t, part)
LOAD_PART(load_sshort, int16_t, (uint32_t)part)
LOAD_PART(load_ubyte_d16, uint8_t, LOW)
LOAD_PART(load_ubyte_d16_hi, uint8_t, HIGH)
LOAD_PART(load_sbyte_d16, int8_t, LOW)
LOAD_PART(load_sbyte_d16_hi, int8_t, HIGH)
LOAD_PART(load_short_d16, uint16_t, LOW)
LOAD_PART(load_short_d16_hi, uint16_t, HIGH)

#define STORE_PART(name, size, shift)                                                              \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		const uint32_t *from = bank(w, o)[o->i.data0];                                     \
                                                                                                   \
		AMD_EACH_LANE(l, amd_exec(w))                                                      \
		{                                                                                  \
			uint32_t part = from[l] >> (shift);                                        \
                                                                                                   \
			put(w, o, (unsigned)l, &part, size);                                       \
		}                                                                                  \
	}
STORE_PART(store_byte, 1, 0)
STORE_PART(store_byte_hi, 1, 16)
STORE_PART(store_short, 2, 0)
STORE_PART(store_short_hi, 2, 16)

/* --- atomics --- */

static uint8_t *atomic_place(struct amd_wave *w, const struct amd_op *o, unsigned l, unsigned size)
{
	struct place p = place_of(w, o, l);

	if (p.space != NOWHERE && p.at % size)
		amd_raise(w->group->worker, AMD_FAULT_ALIGNMENT, w, (int)l,
			"%s at 0x%llx, which is not a multiple of %u", o->row->name,
			(unsigned long long)p.at, size);
	switch (p.space) {
	case IN_MEMORY:
		return amd_global(w, l, p.at, size, true);
	case IN_LDS:
		return amd_lds(w, l, p.at, size, true);
	case IN_PRIVATE:
		if (size == 4)
			return amd_private(w, l, p.at, size, true);
		amd_refuse(w, o, "an atomic of 64 bits in private memory");
	case NOWHERE:
		break;
	}
	return NULL;
}

static uint64_t data_of(uint32_t (*v)[AMD_LANES], unsigned reg, uint64_t l, bool two)
{
	return v[reg][l] | (two ? (uint64_t)v[reg + 1][l] << 32 : 0);
}

static void atomic(struct amd_wave *w, const struct amd_op *o, enum amd_atomic op)
{
	unsigned words = gfx_width(o->row->src[0]) / (op == AMD_CMPSWAP ? 2 : 1), to = loaded(o);
	uint32_t(*v)[AMD_LANES] = bank(w, o);

	w->group->worker->atomic = true;
	AMD_EACH_LANE(l, amd_exec(w))
	{
		uint8_t *p = atomic_place(w, o, (unsigned)l, 4 * words);
		uint64_t data = data_of(v, o->i.data0, l, words == 2), other = 0, old = 0;

		if (op == AMD_CMPSWAP)
			other = data_of(v, o->i.data0 + words, l, words == 2);
		if (p)
			old = amd_atomic(op, 32 * words, p, data, other);
		if (!o->i.glc)
			continue;
		v[to][l] = (uint32_t)old;
		if (words == 2)
			v[to + 1][l] = (uint32_t)(old >> 32);
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
ATOMIC(fadd, AMD_FADD)
ATOMIC(fmin_, AMD_FMIN)
ATOMIC(fmax_, AMD_FMAX)
ATOMIC(pk_add_f16, AMD_PK_ADD_F16)

/* Caches: there are none. */
static void nothing(struct amd_wave *w, const struct amd_op *o)
{
	(void)w;
	(void)o;
}

static void invalidate(struct amd_wave *w, const struct amd_op *o)
{
	(void)o;
	if (amd_is_observed(w))
		amd_observed_sync(w, AMD_SYNC_INVALIDATE);
}

#define MOVES(unit)                                                                                \
	WAVE(unit##_load_ubyte, load_ubyte), WAVE(unit##_load_sbyte, load_sbyte),                  \
		WAVE(unit##_load_ushort, load_ushort), WAVE(unit##_load_sshort, load_sshort),      \
		WAVE(unit##_load_dword, load_words), WAVE(unit##_load_dwordx2, load_words),        \
		WAVE(unit##_load_dwordx3, load_words), WAVE(unit##_load_dwordx4, load_words),      \
		WAVE(unit##_load_ubyte_d16, load_ubyte_d16),                                       \
		WAVE(unit##_load_ubyte_d16_hi, load_ubyte_d16_hi),                                 \
		WAVE(unit##_load_sbyte_d16, load_sbyte_d16),                                       \
		WAVE(unit##_load_sbyte_d16_hi, load_sbyte_d16_hi),                                 \
		WAVE(unit##_load_short_d16, load_short_d16),                                       \
		WAVE(unit##_load_short_d16_hi, load_short_d16_hi),                                 \
		WAVE(unit##_store_byte, store_byte),                                               \
		WAVE(unit##_store_byte_d16_hi, store_byte_hi),                                     \
		WAVE(unit##_store_short, store_short),                                             \
		WAVE(unit##_store_short_d16_hi, store_short_hi),                                   \
		WAVE(unit##_store_dword, store_words), WAVE(unit##_store_dwordx2, store_words),    \
		WAVE(unit##_store_dwordx3, store_words), WAVE(unit##_store_dwordx4, store_words)
#define BOTH(unit, name, fn) WAVE(unit##_atomic_##name, fn), WAVE(unit##_atomic_##name##_x2, fn)
#define ATOMICS(unit)                                                                              \
	BOTH(unit, swap, swap), BOTH(unit, cmpswap, cmpswap), BOTH(unit, add, add),                \
		BOTH(unit, sub, sub), BOTH(unit, smin, smin), BOTH(unit, umin, umin),              \
		BOTH(unit, smax, smax), BOTH(unit, umax, umax), BOTH(unit, and, and),              \
		BOTH(unit, or, or), BOTH(unit, xor, xor), BOTH(unit, inc, inc),                    \
		BOTH(unit, dec, dec), WAVE(unit##_atomic_add_f64, fadd),                           \
		WAVE(unit##_atomic_min_f64, fmin_), WAVE(unit##_atomic_max_f64, fmax_)
#define FLOATS(unit) WAVE(unit##_atomic_add_f32, fadd), WAVE(unit##_atomic_pk_add_f16, pk_add_f16)
const struct amd_entry amd_global_entries[] = {MOVES(flat), MOVES(global), MOVES(scratch),
	MOVES(buffer), ATOMICS(flat), ATOMICS(global), ATOMICS(buffer), FLOATS(global),
	FLOATS(buffer), WAVE(buffer_wbl2, nothing), WAVE(buffer_invl2, invalidate),
	WAVE(buffer_inv, invalidate), WAVE(flat_atomic_add_f32, fadd),
	WAVE(flat_atomic_pk_add_f16, pk_add_f16), WAVE(buffer_wbinvl1, invalidate),
	WAVE(buffer_wbinvl1_vol, invalidate), WAVE(buffer_wbinvl1_also, invalidate), END};
