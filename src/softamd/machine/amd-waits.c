/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether code waits for memory before it uses what it has loaded (amd_dispatch.check_waits).
 *
 * Memory is done at once here, so a missing s_waitcnt has no effect. On the hardware a register
 * still has its old value then. Each wave notes which registers loads have not brought yet, by the
 * counters as the ISA document has them ("AMD Instinct MI200 ISA", 4.4): vmcnt counts vector
 * memory, lgkmcnt LDS, scalar memory and messages; FLAT counts in both, and the one counts by which
 * its data comes (AMD's own copy kernels wait for vmcnt alone); a wait for n means that all but the
 * last n are done; scalar loads come in any order, so only lgkmcnt(0) is enough for them. An
 * instruction that reads such a register, or writes it by other means than memory, is a fault.
 *
 * Not looked for: a wait that is missing before a barrier, or before the end.
 */
#include <stdlib.h>

#include "softamd/machine/amd-machine.h"

#define VECTORS 512 /* vector registers, accumulation registers */
#define ACC 256

struct amd_board {
	uint32_t vm, vm_done, lgkm, lgkm_done, scalar, scalar_done; /* begun, waited for */
	uint32_t by_vm[VECTORS], by_lgkm[VECTORS], by_scalar[128];  /* what brings it; 0: nothing */
	uint64_t pc[VECTORS + 128];				    /* of the load */
};

void amd_waits_begin(struct amd_wave *w)
{
	if (!w->board)
		w->board = malloc(sizeof(*w->board));
	if (w->board)
		memset(w->board, 0, sizeof(*w->board));
}

static _Noreturn void missing(struct amd_wave *w, const struct amd_op *o, char kind, unsigned n,
	const char *counter, uint64_t pc)
{
	struct amd_worker *wk = w->group->worker;
	char text[120] = "?";

	gfx_text(wk->l->target, &o->i, text, sizeof(text));
	amd_raise(wk, AMD_FAULT_WAIT, w, -1,
		"%s uses %c%u, which the load at 0x%llx (code + 0x%llx) may not have brought yet: no "
		"s_waitcnt %s between them",
		text, kind, n, (unsigned long long)pc, (unsigned long long)(pc - wk->l->entry),
		counter);
}

static void use_vector(struct amd_wave *w, const struct amd_op *o, unsigned n, unsigned count)
{
	struct amd_board *b = w->board;

	for (unsigned r = n; r < n + count && r < VECTORS; r++) {
		const char *counter = b->by_vm[r] > b->vm_done	     ? "vmcnt"
				      : b->by_lgkm[r] > b->lgkm_done ? "lgkmcnt"
								     : NULL;

		if (counter)
			missing(w, o, r < ACC ? 'v' : 'a', r % ACC, counter, b->pc[r]);
	}
}

static void use_scalar(struct amd_wave *w, const struct amd_op *o, unsigned n, unsigned count)
{
	struct amd_board *b = w->board;

	for (unsigned r = n; r < n + count && r < 128; r++)
		if (b->by_scalar[r] > b->scalar_done)
			missing(w, o, 's', r, "lgkmcnt(0)", b->pc[VECTORS + r]);
}

static void use(struct amd_wave *w, const struct amd_op *o, unsigned code, unsigned count, bool acc)
{
	if (code >= GFX_VGPR)
		use_vector(w, o, code - GFX_VGPR + (acc ? ACC : 0), count);
	else
		use_scalar(w, o, code, count);
}

static bool is_vector_memory(const struct gfx_row *r)
{
	return r->enc >= GFX_FLAT && r->enc <= GFX_MUBUF;
}

/* --- what an instruction uses --- */

static void use_address(struct amd_wave *w, const struct amd_op *o)
{
	const struct gfx_insn *i = &o->i;

	switch (o->row->enc) {
	case GFX_DS:
		if (strchr(o->row->src, 'a'))
			use_vector(w, o, i->addr, 1);
		break;
	case GFX_FLAT:
		use_vector(w, o, i->addr, 2);
		break;
	case GFX_GLOBAL:
	case GFX_SCRATCH:
		if (i->saddr != 0x7f)
			use_scalar(w, o, i->saddr, o->row->enc == GFX_GLOBAL ? 2 : 1);
		if (i->saddr == 0x7f || o->row->enc == GFX_GLOBAL)
			use_vector(w, o, i->addr,
				i->saddr == 0x7f && o->row->enc == GFX_GLOBAL ? 2 : 1);
		break;
	case GFX_MUBUF:
		use_scalar(w, o, i->sbase, 4);
		use_scalar(w, o, i->soffset, 1);
		if (i->offen || i->idxen)
			use_vector(w, o, i->addr, 1);
		break;
	default: /* SMEM */
		use_scalar(w, o, i->sbase, 2);
		if (!i->has_imm || i->has_soffset)
			use_scalar(w, o, i->soffset, 1);
	}
}

static void use_data(struct amd_wave *w, const struct amd_op *o)
{
	unsigned acc = o->i.acc ? ACC : 0, seen = 0;

	for (const char *s = o->row->src; *s; s++) {
		unsigned width = *s == 'a' ? 0 : gfx_width(*s);

		if (!width)
			continue;
		if (o->row->enc == GFX_SMEM)
			continue;
		use_vector(w, o, acc + (seen++ ? o->i.data1 : o->i.data0), width);
	}
}

static void use_sources(struct amd_wave *w, const struct amd_op *o)
{
	bool mfma = o->row->enc == GFX_VOP3P && strncmp(o->row->name, "v_mfma", 6) == 0;
	unsigned n = 0;

	for (unsigned k = 0; k < o->row->nsrc && n < 3; k++) {
		char kind = o->row->src[k];
		unsigned width = gfx_width(kind), code = o->i.src[n];

		if (kind == 'L')
			continue;
		if (kind == 'c' && o->i.form != GFX_LONG && o->row->enc != GFX_VOP3)
			code = GFX_VCC;
		if (width)
			use(w, o, code, width,
				kind == 'A' ||
					(mfma && (n == 2 ? o->i.acc : o->i.acc_src >> n & 1)));
		n++;
	}
}

static void use_results(struct amd_wave *w, const struct amd_op *o)
{
	char kind = o->row->dst[0];
	bool scalar = o->row->enc <= GFX_SMEM || kind == 'c' || kind == 's' ||
		      o->i.id == GFX_v_readfirstlane_b32;

	if (o->row->enc == GFX_SOPK)
		use_scalar(w, o, o->i.dst, 1);
	else if (kind && scalar)
		use_scalar(w, o, o->i.dst, gfx_width(kind));
	else if (kind)
		use_vector(w, o, o->i.dst + (kind == 'A' || (kind == 'a' && o->i.acc) ? ACC : 0),
			gfx_width(kind == 'a' ? o->row->dst[1] : kind));
}

/* --- what it begins --- */

static void bring_vectors(
	struct amd_wave *w, const struct amd_op *o, unsigned n, bool vm, bool lgkm)
{
	struct amd_board *b = w->board;
	unsigned width = gfx_width(o->row->dst[0]), first = n + (o->i.acc ? ACC : 0);

	for (unsigned r = first; r < first + width && r < VECTORS; r++) {
		b->by_vm[r] = vm ? b->vm : 0;
		b->by_lgkm[r] = lgkm ? b->lgkm : 0;
		b->pc[r] = o->pc;
	}
}

/* Whether a FLAT instruction goes to LDS, or elsewhere, for any lane. */
static bool goes_to(const struct amd_wave *w, const struct amd_op *o, bool lds)
{
	uint64_t aperture = w->group->worker->l->d->shared_aperture >> 32;

	AMD_EACH_LANE(l, amd_exec(w))
	if ((w->v[o->i.addr + 1][l] == aperture) == lds)
		return true;
	return false;
}

static void begin_vector_memory(struct amd_wave *w, const struct amd_op *o)
{
	const struct gfx_row *r = o->row;
	bool flat = r->enc == GFX_FLAT, atomic = strstr(r->name, "atomic") != NULL;

	if (strncmp(r->name, "buffer_wb", 9) == 0 || strncmp(r->name, "buffer_inv", 10) == 0)
		return; /* not counted: a wait for few enough is right all the same */
	w->board->vm++;
	w->board->lgkm += flat;
	if (r->dst[0] && (!atomic || o->i.glc))
		bring_vectors(w, o, r->enc == GFX_MUBUF ? o->i.data0 : o->i.dst,
			!flat || goes_to(w, o, false), flat && goes_to(w, o, true));
}

static void begin_scalar(struct amd_wave *w, const struct amd_op *o)
{
	struct amd_board *b = w->board;
	unsigned width = gfx_width(o->row->dst[0]);

	b->lgkm++;
	b->scalar++;
	for (unsigned r = o->i.dst; r < o->i.dst + width && r < 128u; r++) {
		b->by_scalar[r] = b->scalar;
		b->pc[VECTORS + r] = o->pc;
	}
}

static void wait_for(struct amd_board *b, uint32_t counters)
{
	uint32_t vm = (counters & 15) | (counters >> 14 & 3) << 4, lgkm = counters >> 8 & 15;

	if (b->vm > vm && b->vm - vm > b->vm_done)
		b->vm_done = b->vm - vm;
	if (b->lgkm > lgkm && b->lgkm - lgkm > b->lgkm_done)
		b->lgkm_done = b->lgkm - lgkm;
	if (!lgkm)
		b->scalar_done = b->scalar;
}

void amd_waits_check(struct amd_wave *w, const struct amd_op *o)
{
	const struct gfx_row *r = o->row;

	if (!w->board)
		return;
	if (o->i.id == GFX_s_waitcnt) {
		wait_for(w->board, (uint16_t)o->i.imm);
	} else if (r->enc == GFX_SMEM || r->enc == GFX_DS || is_vector_memory(r)) {
		use_address(w, o);
		use_data(w, o);
		if (is_vector_memory(r)) {
			begin_vector_memory(w, o);
		} else if (r->enc == GFX_DS) {
			w->board->lgkm++;
			bring_vectors(w, o, o->i.dst, false, true);
		} else if (r->dst[0]) {
			begin_scalar(w, o);
		}
	} else if (o->i.id == GFX_s_sendmsg) {
		w->board->lgkm++;
	} else if (r->enc != GFX_SOPP) {
		use_sources(w, o);
		use_results(w, o);
	}
}
