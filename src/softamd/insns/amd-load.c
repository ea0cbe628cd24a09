/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar memory ("AMD Instinct MI200 ISA", chapter 7). Addresses lose their two lowest bits.
 */
#include "softamd/insns/amd-insn.h"

static uint64_t offset_of(const struct amd_wave *w, const struct amd_op *o)
{
	uint64_t at = o->i.has_imm ? (uint64_t)(int64_t)o->i.imm : 0;

	if (!o->i.has_imm || o->i.has_soffset)
		at += w->s[o->i.soffset];
	return at;
}

static void load(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->dst[0]);
	uint64_t at = (amd_pair(w, o->i.sbase) + offset_of(w, o)) & ~3ull;
	uint32_t words[16];

	memcpy(words, amd_global(w, 0, at, 4 * n, false), 4 * n);
	memcpy(w->s + o->i.dst, words, 4 * n);
}

/* A buffer without a stride: bytes beyond its records are 0 ("MI200", 7.3). */
static void buffer_load(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->dst[0]);
	const uint32_t *r = w->s + o->i.sbase;
	uint64_t base = r[0] | (uint64_t)(r[1] & 0xffff) << 32, at = offset_of(w, o) & ~3ull;
	uint32_t words[16] = {0};

	if (r[1] >> 16 & 0x3fff)
		amd_refuse(w, o, "a buffer with a stride");
	for (unsigned k = 0; k < n; k++)
		if (at + 4 * k + 4 <= r[2])
			memcpy(words + k, amd_global(w, 0, (base + at + 4 * k) & ~3ull, 4, false),
				4);
	memcpy(w->s + o->i.dst, words, 4 * n);
}

static void store(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = gfx_width(o->row->src[0]);
	uint64_t at = (amd_pair(w, o->i.sbase) + offset_of(w, o)) & ~3ull;

	memcpy(amd_global(w, 0, at, 4 * n, true), w->s + o->i.dst, 4 * n);
}

/* The clock counts what the worker has executed: the same in every run with one worker. */
static void time_(struct amd_wave *w, const struct amd_op *o)
{
	struct amd_worker *wk = w->group->worker;

	wk->approximate |= 1ull << AMD_APPROX_CLOCK;
	amd_set_pair(w, o->i.dst, wk->clock + w->steps);
}

static void nothing(struct amd_wave *w, const struct amd_op *o)
{
	(void)w;
	(void)o;
}

const struct amd_entry amd_load_entries[] = {WAVE(s_load_dword, load), WAVE(s_load_dwordx2, load),
	WAVE(s_load_dwordx4, load), WAVE(s_load_dwordx8, load), WAVE(s_load_dwordx16, load),
	WAVE(s_buffer_load_dword, buffer_load), WAVE(s_buffer_load_dwordx2, buffer_load),
	WAVE(s_buffer_load_dwordx4, buffer_load), WAVE(s_buffer_load_dwordx8, buffer_load),
	WAVE(s_buffer_load_dwordx16, buffer_load), WAVE(s_store_dword, store),
	WAVE(s_store_dwordx2, store), WAVE(s_store_dwordx4, store), WAVE(s_memtime, time_),
	WAVE(s_memrealtime, time_), WAVE(s_dcache_inv, nothing), WAVE(s_dcache_wb, nothing),
	WAVE(s_dcache_inv_vol, nothing), WAVE(s_dcache_wb_vol, nothing), END};
