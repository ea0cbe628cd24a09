/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches, calls, barriers, messages, hardware registers ("AMD Instinct MI200 ISA", chapter 4 and
 * 12.5).
 */
#include "softamd/insns/amd-insn.h"

static uint64_t target(const struct amd_wave *w, const struct amd_op *o)
{
	return w->pc + (uint64_t)((int64_t)o->i.imm * 4); /* from the next instruction on */
}

#define BRANCH(name, condition)                                                                    \
	static void name(struct amd_wave *w, const struct amd_op *o)                               \
	{                                                                                          \
		if (condition)                                                                     \
			w->pc = target(w, o);                                                      \
	}
BRANCH(branch, true)
BRANCH(scc0, !w->scc)
BRANCH(scc1, w->scc)
BRANCH(vccz, amd_pair(w, GFX_VCC) == 0)
BRANCH(vccnz, amd_pair(w, GFX_VCC) != 0)
BRANCH(execz, amd_exec(w) == 0)
BRANCH(execnz, amd_exec(w) != 0)
BRANCH(never, false) /* no debugger's conditions */

static void nothing(struct amd_wave *w, const struct amd_op *o)
{
	(void)w;
	(void)o;
}

static void waitcnt(struct amd_wave *w, const struct amd_op *o)
{
	if (amd_is_observed(w) && !(o->i.imm & 0xc00f))
		amd_observed_sync(w, AMD_SYNC_WAIT);
}

static void end(struct amd_wave *w, const struct amd_op *o)
{
	(void)o;
	w->state = AMD_ENDED;
	w->turn_over = true;
}

static void barrier(struct amd_wave *w, const struct amd_op *o)
{
	(void)o;
	w->state = AMD_AT_BARRIER;
	w->turn_over = true;
}

static void sleep_(struct amd_wave *w, const struct amd_op *o)
{
	(void)o;
	w->slept = true;
	w->turn_over = true;
}

static void getpc(struct amd_wave *w, const struct amd_op *o)
{
	amd_set_pair(w, o->i.dst, w->pc);
}

static void setpc(struct amd_wave *w, const struct amd_op *o)
{
	w->pc = amd_pair(w, o->i.src[0]);
}

static void swappc(struct amd_wave *w, const struct amd_op *o)
{
	uint64_t to = amd_pair(w, o->i.src[0]);

	amd_set_pair(w, o->i.dst, w->pc);
	w->pc = to;
}

static void call(struct amd_wave *w, const struct amd_op *o)
{
	uint64_t to = target(w, o);

	amd_set_pair(w, o->i.dst, w->pc);
	w->pc = to;
}

static void trap(struct amd_wave *w, const struct amd_op *o)
{
	unsigned n = (uint16_t)o->i.imm;

	/* 2: llvm.trap, with the queue in s[0:1]; 3: llvm.debugtrap */
	w->pc = o->pc;
	amd_raise(w->group->worker, AMD_FAULT_TRAP, w, -1, "s_trap %u%s", n,
		n == 2	 ? " (abort or a failed assert)"
		: n == 3 ? " (debug trap)"
			 : "");
}

static void message(struct amd_wave *w, const struct amd_op *o)
{
	const struct amd_dispatch *d = w->group->worker->l->d;

	if ((o->i.imm & 0x7f) != 1 || !d->interrupt)
		amd_refuse(w, o, "this message has no receiver");
	d->interrupt(d->interrupt_arg, w->s[GFX_M0]);
}

/* --- vector registers by index --- */

static void idx_on(struct amd_wave *w, const struct amd_op *o)
{
	uint32_t by = (uint32_t)amd_scalar(w, o, o->i.src[0], '1') & 0xff;

	w->indexing = true;
	w->s[GFX_M0] = (w->s[GFX_M0] & ~0xf0ffu) | by | (uint32_t)o->i.imm << 12;
}

static void idx_off(struct amd_wave *w, const struct amd_op *o)
{
	(void)o;
	w->indexing = false;
}

static void idx_idx(struct amd_wave *w, const struct amd_op *o)
{
	w->s[GFX_M0] =
		(w->s[GFX_M0] & ~0xffu) | ((uint32_t)amd_scalar(w, o, o->i.src[0], '1') & 0xff);
}

static void idx_mode(struct amd_wave *w, const struct amd_op *o)
{
	w->s[GFX_M0] = (w->s[GFX_M0] & ~0xf000u) | (uint32_t)(o->i.imm & 15) << 12;
}

/* --- hardware registers --- */

enum {
	HW_MODE = 1,
	HW_STATUS = 2,
	HW_TRAPSTS = 3,
	HW_HW_ID = 4,
	HW_LDS_ALLOC = 6,
	HW_SH_MEM_BASES = 15
};

static uint32_t hardware_register(struct amd_wave *w, const struct amd_op *o, unsigned id)
{
	const struct amd_dispatch *d = w->group->worker->l->d;

	switch (id) {
	case HW_MODE:
		return w->mode;
	case HW_TRAPSTS:
		return 0; /* no exceptions are recorded */
	case HW_SH_MEM_BASES:
		if ((d->private_aperture | d->shared_aperture) & 0xffffffffffffull)
			amd_refuse(w, o, "the flat apertures are no multiples of 2^48");
		return (uint32_t)(d->private_aperture >> 48 | d->shared_aperture >> 48 << 16);
	}
	amd_refuse(w, o, "this hardware register is not there");
}

static void getreg(struct amd_wave *w, const struct amd_op *o)
{
	unsigned v = (uint16_t)o->i.imm, offset = v >> 6 & 31, width = (v >> 11 & 31) + 1;
	uint32_t all = hardware_register(w, o, v & 63);

	w->s[o->i.dst] = (uint32_t)((all >> offset) & ((1ull << width) - 1));
}

static void set_register(struct amd_wave *w, const struct amd_op *o, uint32_t value)
{
	unsigned v = (uint16_t)o->i.imm, offset = v >> 6 & 31, width = (v >> 11 & 31) + 1;
	uint32_t mask = (uint32_t)(((1ull << width) - 1) << offset);

	if ((v & 63) != HW_MODE)
		amd_refuse(w, o, "this hardware register cannot be written");
	w->mode = (w->mode & ~mask) | (value << offset & mask);
	if (w->mode >> 23 & 1)
		amd_refuse(w, o, "FP16 overflow mode");
}

static void setreg(struct amd_wave *w, const struct amd_op *o)
{
	set_register(w, o, w->s[o->i.dst]);
}

static void setreg_imm(struct amd_wave *w, const struct amd_op *o)
{
	set_register(w, o, o->i.literal);
}

const struct amd_entry amd_flow_entries[] = {WAVE(s_nop, nothing), WAVE(s_endpgm, end),
	WAVE(s_endpgm_saved, end), WAVE(s_branch, branch), WAVE(s_cbranch_scc0, scc0),
	WAVE(s_cbranch_scc1, scc1), WAVE(s_cbranch_vccz, vccz), WAVE(s_cbranch_vccnz, vccnz),
	WAVE(s_cbranch_execz, execz), WAVE(s_cbranch_execnz, execnz), WAVE(s_barrier, barrier),
	WAVE(s_waitcnt, waitcnt), WAVE(s_sleep, sleep_), WAVE(s_setprio, nothing),
	WAVE(s_sendmsg, message), WAVE(s_trap, trap), WAVE(s_icache_inv, nothing),
	WAVE(s_incperflevel, nothing), WAVE(s_decperflevel, nothing), WAVE(s_ttracedata, nothing),
	WAVE(s_cbranch_cdbgsys, never), WAVE(s_cbranch_cdbguser, never),
	WAVE(s_cbranch_cdbgsys_or_user, never), WAVE(s_cbranch_cdbgsys_and_user, never),
	WAVE(s_getpc_b64, getpc), WAVE(s_setpc_b64, setpc), WAVE(s_swappc_b64, swappc),
	WAVE(s_call_b64, call), WAVE(s_getreg_b32, getreg), WAVE(s_setreg_b32, setreg),
	WAVE(s_setreg_imm32_b32, setreg_imm), WAVE(s_wakeup, nothing),
	WAVE(s_set_gpr_idx_on, idx_on), WAVE(s_set_gpr_idx_off, idx_off),
	WAVE(s_set_gpr_idx_idx, idx_idx), WAVE(s_set_gpr_idx_mode, idx_mode), END};
