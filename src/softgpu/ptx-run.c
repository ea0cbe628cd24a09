/* SPDX-License-Identifier: Apache-2.0
 *
 * The warp loop: divergence, calls, barriers, and the turns of a block's warps.
 * A warp has a stack of entries (pc, meeting point, lanes). The top one runs; when it reaches its meeting point it is popped and
 * the one below, which waits there, goes on with all lanes. Each call has its own part of the stack. A warp runs until it waits, ends, or
 * has used up its slice, counted in backward branches, so turns are the same on every machine.
 */
#include "softgpu/ptx-observe.h"
#include "softgpu/ptx-run.h"
#include "softgpu/ptx-schedule.h"
#include "softgpu/ptx-async.h"
#include "softgpu/ptx-cluster.h"
#include "softgpu/ptx-path.h"

#include "softgpu/jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE 20000 /* backward branches and calls */
#define SHORT_SLICE 4000 /* of a warp whose lanes wait for one another, perhaps */

/* --- the stack --------------------------------------------------------------------------------------- */
static struct ptx_ent *push(struct ptx_warp *w, uint32_t pc, uint32_t rpc, uint32_t mask)
{
	size_t cap = w->capents;

	if (w->nents >= w->capents) {
		w->ents = ptx_more(w->wk, w->ents, &cap, w->nents + 1, sizeof(*w->ents));
		w->capents = (unsigned)cap;
	}
	w->ents[w->nents] = (struct ptx_ent){.pc = pc, .rpc = rpc, .mask = mask};
	return &w->ents[w->nents++];
}

static void push_frame(struct ptx_warp *w, const struct ptx_function *fn, const struct ptx_call *call, uint32_t mask,
	size_t regs, uint32_t lbase)
{
	size_t cap = w->capframes;

	w->frames = ptx_more(w->wk, w->frames, &cap, w->nframes + 1, sizeof(*w->frames));
	w->capframes = (unsigned)cap;
	w->frames[w->nframes++] = (struct ptx_frame){fn, w->nents, lbase, mask, regs, call};
	ptx_reserve_regs(w, regs, fn->const_bytes + fn->reg_bytes);
	ptx_enter_frame(w);
	if (fn->alloca_reg != NO_REG)
		memset(w->frame + fn->alloca_reg, 0, PTX_LANES * 4);
	if (fn->local_bytes)
		EACH_LANE(l) memset(w->local + l * w->lstride + lbase, 0, fn->local_bytes);
	push(w, 0, NO_PC, mask);
}

/* --- calls ------------------------------------------------------------------------------------------- */
static void copy_params(struct ptx_warp *w, uint32_t mask, uint32_t to, uint32_t from, uint32_t bytes)
{
	EACH_LANE(l) memcpy(w->local + l * w->lstride + to, w->local + l * w->lstride + from, bytes);
}

static void call_builtin(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, const struct ptx_function *fn)
{
	const struct ptx_call *c = i->u.call;
	uint32_t base = w->frames[w->nframes - 1].lbase;

	EACH_LANE(l)
	{
		uint8_t *local = w->local + l * w->lstride + base;
		uint64_t arg[5] = {0};
		for (unsigned k = 0; k < c->nargs && k < 5; k++)
			memcpy(&arg[k], local + c->args[k].caller, c->args[k].bytes < 8 ? c->args[k].bytes : 8);
		if (fn->builtin == PB_VPRINTF) {
			int taken = ptx_printf(w, i, l, arg[0], arg[1]);
			memcpy(local + c->rets[0].caller, &taken, 4);
		} else if (fn->builtin == PB_MALLOC) {
			uint64_t a = ptx_heap_malloc(w, arg[0]);
			ptx_observe_sync(w, i, PTX_SYNC_ACQUIRE, 1u << l, PTX_SYNC_HEAP);
			memcpy(local + c->rets[0].caller, &a, 8);
		} else if (fn->builtin == PB_FREE) {
			ptx_observe_sync(w, i, PTX_SYNC_RELEASE, 1u << l, PTX_SYNC_HEAP);
			ptx_heap_free(w, i, l, arg[0]);
		} else {
			char text[3][160], what[384];
			unsigned t[3];
			ptx_string(w, i, l, arg[0], text[0], sizeof(text[0]));
			ptx_string(w, i, l, arg[1], text[1], sizeof(text[1]));
			ptx_string(w, i, l, arg[3], text[2], sizeof(text[2]));
			ptx_thread_of(w, l, t); /* in the words of the vendor's driver */
			snprintf(what, sizeof(what), "%.80s:%u: %.40s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%.60s` failed.",
				text[1], (unsigned)arg[2], text[2], w->blk->ctaid[0], w->blk->ctaid[1], w->blk->ctaid[2], t[0],
				t[1], t[2], text[0]);
			ptx_raise(w, i, l, PTX_ASSERT, 0, 0, what);
		}
	}
}

static const struct ptx_function *callee_of(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t *same)
{
	const struct ptx_call *c = i->u.call;
	const struct ptx_module *m = w->frames[0].fn->m;
	const u64a *t;
	unsigned first = (unsigned)__builtin_ctz(mask);
	const struct ptx_function *fn;

	*same = mask;
	if (c->fn)
		return c->fn->alias ? c->fn->alias : c->fn;
	t = REG_AT(u64a, c->target);
	*same = 0;
	EACH_LANE(l) *same |= (uint32_t)(t[l] == t[first]) << l;
	if (PTX_WIN(t[first]) != PTX_WIN_CODE || (uint32_t)t[first] >= m->nfuncs)
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, t[first], 0, "a call of an address that is no function's");
	fn = m->funcs[(uint32_t)t[first]];
	fn = fn->alias ? fn->alias : fn;
	if (fn->is_entry || fn->sig.nparams != c->nargs || fn->sig.nrets != c->nrets)
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, t[first], 0, "an indirect call of a function with other parameters");
	for (unsigned k = 0; k < c->nargs + c->nrets; k++) {
		const struct ptx_formal *f = k < c->nargs ? &fn->sig.params[k] : &fn->sig.rets[k - c->nargs];
		const struct ptx_xfer *x = k < c->nargs ? &c->args[k] : &c->rets[k - c->nargs];
		if (f->size != x->bytes || f->off != x->callee)
			ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, t[first], 0,
				"an indirect call of a function with other parameters");
	}
	return fn;
}

/* The caller's entry has its next pc already. */
static void call_function(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, const struct ptx_function *fn)
{
	const struct ptx_call *c = i->u.call;
	const struct ptx_frame *f = &w->frames[w->nframes - 1];
	uint32_t from = f->lbase, to = f->lbase + (uint32_t)f->fn->local_bytes + ptx_alloca_top(w, mask);
	size_t regs = f->regs + f->fn->const_bytes + f->fn->reg_bytes;
	unsigned first = (unsigned)__builtin_ctz(mask);

	if (w->nparked)
		regs = ptx_path_regs(w, regs);
	if (to + fn->local_bytes > w->lstride || w->nframes >= PTX_DEPTH_LIMIT || regs + fn->const_bytes + fn->reg_bytes > (64u << 20))
		ptx_raise(w, i, first, PTX_STACK_OVERFLOW, 0, 0, fn->name);
	push_frame(w, fn, c, mask, regs, to);
	for (unsigned k = 0; k < c->nargs; k++)
		copy_params(w, mask, to + c->args[k].callee, from + c->args[k].caller, c->args[k].bytes);
	memcpy(w->frame - fn->const_bytes, fn->const_image, fn->const_bytes);
	if (fn->needs_zero || ptx_is_observed(w))
		memset(w->frame, 0, fn->reg_bytes);
	ptx_fill_specials(w, fn, false);
}

static void pop_frame(struct ptx_warp *w)
{
	struct ptx_frame f = w->frames[--w->nframes];
	uint32_t to = w->frames[w->nframes - 1].lbase;

	for (unsigned k = 0; k < f.call->nrets; k++)
		copy_params(w, f.mask, to + f.call->rets[k].caller, f.lbase + f.call->rets[k].callee, f.call->rets[k].bytes);
	ptx_enter_frame(w);
}

/* --- the divergence stack ----------------------------------------------------------------------------- */
/* Pops what has nothing left to do. False when the warp has ended. */
bool ptx_settle(struct ptx_warp *w)
{
	for (;;) {
		struct ptx_frame *f = &w->frames[w->nframes - 1];
		struct ptx_ent *e;
		if (w->nents == f->base) {
			if (w->nframes == 1)
				return false;
			pop_frame(w);
			continue;
		}
		e = &w->ents[w->nents - 1];
		if (e->mask && (e->state != ENT_RUN || e->pc != e->rpc || e->rpc == NO_PC))
			return true;
		w->nents--;
	}
}

static void remove_lanes(struct ptx_warp *w, unsigned from, uint32_t mask)
{
	for (unsigned k = from; k < w->nents; k++)
		w->ents[k].mask &= ~mask;
}

static void exit_lanes(struct ptx_warp *w, uint32_t mask)
{
	remove_lanes(w, 0, mask);
	ptx_cluster_exit(w, mask);
	w->live &= ~mask;
	w->blk->live -= (uint32_t)__builtin_popcount(mask);
}

/* ret: in the kernel itself the same as exit. */
static void return_lanes(struct ptx_warp *w, uint32_t mask)
{
	if (w->nframes == 1)
		exit_lanes(w, mask);
	else
		remove_lanes(w, w->frames[w->nframes - 1].base, mask);
}

static bool is_plain_return(const struct ptx_insn *i)
{
	return i->flags & F_CTRL && (i->arg == C_RET || i->arg == C_EXIT) && i->pred == NO_REG;
}

/* The lanes of one side leave the top entry: for a way of their own, or to wait at the meeting point. */
static void add_side(struct ptx_warp *w, const struct ptx_insn *code, uint32_t pc, uint32_t rpc, uint32_t mask)
{
	if (is_plain_return(&code[pc])) { /* do not let them wait for a barrier's lanes */
		if (code[pc].arg == C_EXIT)
			exit_lanes(w, mask);
		else
			return_lanes(w, mask);
		return;
	}
	if (pc != rpc || rpc == NO_PC)
		push(w, pc, rpc, mask);
}

/* The top entry's lanes split: taken to target, rest to next. Turns the top entry into the one that waits where they meet. */
static void diverge(struct ptx_warp *w, const struct ptx_insn *code, const struct ptx_insn *i, uint32_t taken, uint32_t target,
	uint32_t rest, uint32_t next)
{
	struct ptx_ent *e = &w->ents[w->nents - 1];
	uint32_t rpc = i->rpc == NO_PC ? e->rpc : i->rpc;

	if (rpc == e->rpc)
		w->nents--; /* somebody below waits there already */
	else
		e->pc = rpc;
	add_side(w, code, target, rpc, taken);
	add_side(w, code, next, rpc, rest);
}

/* The top entry cannot go on; moves one that can to the top. Siblings lie next to each other and have the same meeting point. */
bool ptx_rotate(struct ptx_warp *w)
{
	unsigned base = w->frames[w->nframes - 1].base;

	for (unsigned k = w->nents - 1; k-- > base;) {
		struct ptx_ent e = w->ents[k];
		bool leaf = w->ents[k + 1].rpc == e.rpc;
		if (!leaf || e.state != ENT_RUN || !e.mask || (e.pc == e.rpc && e.rpc != NO_PC))
			continue;
		memmove(&w->ents[k], &w->ents[k + 1], (w->nents - k - 1) * sizeof(e));
		w->ents[w->nents - 1] = e;
		return true;
	}
	return false;
}

/* --- barriers ---------------------------------------------------------------------------------------- */
static void arrive(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next)
{
	unsigned first = (unsigned)__builtin_ctz(mask), kind = i->cls, red = kind >= BAR_RED_POPC;
	bool has_b = red ? !i->vec : i->o[1] != NO_REG;
	uint32_t id = REG(u32a, red ? 1 : 0)[first], need = has_b ? REG(u32a, red ? 2 : 1)[first] : 0, v;
	struct ptx_ent *e = &w->ents[w->nents - 1];
	struct ptx_barrier *b;

	if (id > 15)
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, 0, 0, "a barrier above 15");
	if (has_b && (!need || need % PTX_LANES))
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, 0, 0, "a barrier for a number of threads that is not a multiple of 32");
	b = &w->blk->bar[id];
	if (!b->arrived) {
		b->kind = (enum ptx_bar_kind)kind;
		b->red = kind == BAR_RED_AND;
		b->need = need;
	}
	if (need != b->need)
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, 0, 0, "two numbers of threads for one barrier");
	/* with a count, a warp counts whole, however many of its threads live */
	b->arrived += need && mask == w->live ? PTX_LANES : (uint32_t)__builtin_popcount(mask);
	if (red) {
		int32_t slot = i->o[i->vec ? 2 : 3];
		v = *(u32a *)(w->frame + slot);
		v = (i->flags & F_NEG_SRC ? ~v : v) & mask;
		if (kind == BAR_RED_POPC)
			b->red += (uint32_t)__builtin_popcount(v);
		else if (kind == BAR_RED_AND)
			b->red &= v == mask;
		else
			b->red |= v != 0;
	}
	ptx_observe_sync(w, i, PTX_SYNC_ARRIVE, mask, id);
	e->pc = next;
	if (kind != BAR_ARRIVE) {
		e->state = ENT_BARRIER;
		e->bar = id;
		e->insn = red ? i : NULL;
	}
}

/* The result of bar.red, in the frame of the entry that waited, n-th of the stack. */
static void give_result(struct ptx_warp *w, unsigned n, uint32_t red)
{
	const struct ptx_insn *i = w->ents[n].insn;
	uint32_t mask = w->ents[n].mask;
	unsigned k = w->nframes - 1;

	while (w->frames[k].base > n)
		k--;
	w->frame = w->regmem + w->frames[k].regs + w->frames[k].fn->const_bytes;
	if (i->cls == BAR_RED_POPC) {
		EACH_LANE(l) REG(u32a, 0)[l] = red;
	} else {
		ptx_set_pred(&PRED(0), mask, red ? PTX_FULL : 0);
	}
	ptx_enter_frame(w);
}

static bool release_entry(struct ptx_warp *w, unsigned n, unsigned id, uint32_t red)
{
	struct ptx_ent *e = &w->ents[n];

	if (e->state != ENT_BARRIER || e->bar != id)
		return false;
	ptx_observe_sync(w, e->insn, PTX_SYNC_LEAVE, e->mask, id);
	if (e->insn)
		give_result(w, n, red);
	e->state = ENT_RUN;
	e->insn = NULL;
	return true;
}

static void release(struct ptx_block *blk, unsigned id)
{
	struct ptx_barrier *b = &blk->bar[id];

	for (unsigned k = 0; k < blk->nwarps; k++) {
		struct ptx_warp *w = &blk->warps[k];
		for (unsigned n = 0; w->state != WARP_DONE && n < w->nents; n++)
			w->wake |= release_entry(w, n, id, b->red);
		for (unsigned p = 0; w->state != WARP_DONE && p < w->nparked; p++) {
			ptx_path_swap(w, p);
			for (unsigned n = 0; n < w->nents; n++)
				w->wake |= release_entry(w, n, id, b->red);
			ptx_path_swap(w, p);
		}
		if (w->wake)
			w->state = WARP_RUN;
		w->wake = false;
	}
	ptx_observe_sync(&blk->warps[0], NULL, PTX_SYNC_RESET, 0, id);
	memset(b, 0, sizeof(*b));
}

static void check_barriers(struct ptx_block *blk)
{
	for (unsigned k = 0; k < 16; k++) {
		struct ptx_barrier *b = &blk->bar[k];
		if (b->arrived && (b->need ? b->arrived >= b->need : b->arrived >= blk->live))
			release(blk, k);
	}
}

/* The lanes of the entries that wait at a bar.warp.sync among these. */
static uint32_t wsync_lanes(const struct ptx_ent *ents, unsigned n)
{
	uint32_t mask = 0;

	for (unsigned k = 0; k < n; k++)
		if (ents[k].state == ENT_WSYNC)
			mask |= ents[k].mask;
	return mask;
}

/* Those of which all lanes are here go on. told: the lanes that observers know of. */
static void wsync_release(struct ptx_warp *w, struct ptx_ent *ents, unsigned n, uint32_t here, uint32_t *told)
{
	for (unsigned k = 0; k < n; k++) {
		uint32_t want = ents[k].want & w->live;
		if (ents[k].state != ENT_WSYNC || want & ~here)
			continue;
		ents[k].state = ENT_RUN;
		if (want & ~*told)
			ptx_observe_sync(w, NULL, PTX_SYNC_WARP, want, 0);
		*told |= want;
	}
}

/* Lets go on who waited for lanes that are there now, or have ended. */
static void wsync_check(struct ptx_warp *w)
{
	uint32_t here = wsync_lanes(w->ents, w->nents), told = 0;

	for (unsigned k = 0; k < w->nparked; k++)
		here |= wsync_lanes(w->parked[k].ents, w->parked[k].nents);
	if (!here)
		return;
	wsync_release(w, w->ents, w->nents, here, &told);
	for (unsigned k = 0; k < w->nparked; k++)
		wsync_release(w, w->parked[k].ents, w->parked[k].nents, here, &told);
}

/* bar.warp.sync: lanes on other paths come to one of their own. True when all are there. */
static bool warp_sync(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t next)
{
	struct ptx_ent *e = &w->ents[w->nents - 1];
	uint32_t want = 0;

	EACH_LANE(l) want |= REG(u32a, 0)[l];
	if (mask & ~want)
		ptx_raise(w, i, (unsigned)__builtin_ctz(mask & ~want), PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"the lane is not in its own member mask");
	e->pc = next;
	e->state = ENT_WSYNC;
	e->want = want;
	wsync_check(w);
	return e->state == ENT_RUN;
}

/* --- the loop ---------------------------------------------------------------------------------------- */
static void out_of_slice(struct ptx_warp *w, const struct ptx_insn *i)
{
	enum ptx_fault_code code;

	w->wk->slice = SLICE;
	/* one that waits politely uses little */
	if (w->wk->gave_way && ++w->wk->ways % 64) {
		w->wk->gave_way = false;
		return;
	}
	w->wk->gave_way = false;
	if (w->wk->l->max_slices && ++w->wk->slices > w->wk->l->max_slices)
		ptx_raise(w, i, w->live ? (unsigned)__builtin_ctz(w->live) : 0, PTX_TIMEOUT, 0, 0, "the launch's slices are used up");
	if (ptx_should_stop(w->wk, &code))
		ptx_raise(w, i, w->live ? (unsigned)__builtin_ctz(w->live) : 0, code, 0, 0,
			code == PTX_TIMEOUT ? "the time limit is over" : NULL);
}

/* brx.idx: lanes are grouped by target. */
static void branch_indexed(struct ptx_warp *w, const struct ptx_insn *code, const struct ptx_insn *i, uint32_t mask, uint32_t next)
{
	const u32a *a = REG(u32a, 0);
	const struct ptx_table *t = i->u.table;
	struct ptx_ent *e = &w->ents[w->nents - 1];
	uint32_t rest = e->mask & ~mask, rpc = i->rpc == NO_PC ? e->rpc : i->rpc, group;

	EACH_LANE(l)
	if (a[l] >= t->n)
		ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0, "an index past the list of targets");
	if (rpc == e->rpc)
		w->nents--;
	else
		e->pc = rpc;
	if (rest)
		add_side(w, code, next, rpc, rest);
	while (mask) {
		uint32_t pc = t->pc[a[__builtin_ctz(mask)]];
		group = 0;
		EACH_LANE(l) group |= (uint32_t)(t->pc[a[l]] == pc) << l;
		add_side(w, code, pc, rpc, group);
		mask &= ~group;
	}
}

static void trap(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
	ptx_raise(w, i, (unsigned)__builtin_ctz(mask), i->arg == C_TRAP ? PTX_TRAP : PTX_ILLEGAL_INSTRUCTION, 0, 0,
		i->arg == C_TRAP ? NULL : i->u.text);
}

static void do_call(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t pc)
{
	uint32_t same;
	const struct ptx_function *fn = callee_of(w, i, mask, &same);

	if (fn->builtin >= PB_VPRINTF && fn->builtin <= PB_FREE) {
		call_builtin(w, i, mask, fn);
		same = mask;
		w->ents[w->nents - 1].pc = pc + 1;
		return;
	}
	if (!fn->has_body) {
		char what[96];
		snprintf(what, sizeof(what), "%.40s is not there%s", fn->name,
			!strncmp(fn->name, "cudaLaunchDevice", 16) || strstr(fn->name, "cudaCDP2") || !strncmp(fn->name, "cudaGetParameterBuffer", 22)
				? ": kernels do not launch kernels" : ", it has no body");
		ptx_raise(w, i, (unsigned)__builtin_ctz(mask), PTX_ILLEGAL_INSTRUCTION, 0, 0, what);
	}
	if (same != mask) { /* indirect: one target after the other; the others come back to this call */
		struct ptx_ent *e = &w->ents[w->nents - 1];
		uint32_t all = e->mask, rpc = pc + 1;
		e->pc = rpc;
		if (e->rpc == rpc) /* the entry below waits there */
			w->nents--;
		(void)all;
		push(w, pc, rpc, mask & ~same);
		push(w, rpc, NO_PC, same)->rpc = rpc;
		call_function(w, i, same, fn);
		return;
	}
	w->ents[w->nents - 1].pc = pc + 1;
	call_function(w, i, mask, fn);
}

/* A guarded barrier at pc: the lanes that skip it go on after it when those of m are released. The entry of m. */
struct ptx_ent *ptx_part(struct ptx_warp *w, uint32_t m, uint32_t mask, uint32_t pc)
{
	struct ptx_ent *e = &w->ents[w->nents - 1];

	if (m == mask)
		return e;
	e->pc = pc + 1;
	if (e->rpc == pc + 1 && e->rpc != NO_PC)
		w->nents--;
	return push(w, pc, pc + 1, m);
}

/* Runs the top entry's compiled code, if there is any for this place; returns where to go on. */
static uint32_t run_compiled(struct ptx_warp *w, struct ptx_jit_entry *jit, uint32_t pc, uint32_t mask, uint32_t rpc)
{
	bool full = mask == PTX_FULL;

	for (;;) {
		struct ptx_jit_entry *e = &jit[pc];
		ptx_jit_code *c = atomic_load_explicit(&e->code[!full], memory_order_acquire);

		if (!c)
			c = ptx_jit_hot(w->frames[w->nframes - 1].fn, pc, e, full);
		if (!c)
			return pc;
		pc = c(w, w->frame, mask, rpc);
		if (!(pc & PTX_JIT_AGAIN))
			return pc;
		pc &= ~PTX_JIT_AGAIN;
		if (pc == rpc)
			return pc;
	}
}

/* Compiled code for a warp's very beginning, as far as there is any when a block begins. */
static void find_first_code(struct ptx_worker *wk)
{
	struct ptx_jit_entry *jit = wk->light ? ptx_jit_entries(wk->l->fn) : NULL;

	for (unsigned k = 0; k < 2; k++)
		wk->first[k] = jit ? atomic_load_explicit(&jit->code[k], memory_order_acquire) : NULL;
}

/* The very beginning of a warp that was started light. Most end here: they never had a stack. True: it has ended. */
static bool run_cold(struct ptx_warp *w)
{
	const struct ptx_function *fn = w->wk->l->fn;
	ptx_jit_code *c = w->wk->first[w->all != PTX_FULL];
	uint32_t pc;

	w->cold = false;
	w->wk->slice = SLICE;
	pc = c(w, w->frame, w->all, NO_PC) & ~PTX_JIT_AGAIN;
	if (is_plain_return(&fn->insns[pc])) {
		w->count++;
		if (w->async)
			ptx_async_end(w);
		w->blk->live -= w->all == PTX_FULL ? PTX_LANES : (uint32_t)__builtin_popcount(w->all);
		w->live = 0;
		w->state = WARP_DONE;
		return true;
	}
	ptx_fill_specials(w, fn, true);
	push(w, pc, NO_PC, w->all);
	return false;
}

/* The current path can run, or waits, or has ended; takes another one if there is one that can. */
static bool choose_path(struct ptx_warp *w)
{
	enum ptx_path_next next;

	if (ptx_settle(w) && (w->ents[w->nents - 1].state == ENT_RUN || ptx_rotate(w)))
		return true;
	wsync_check(w);
	next = ptx_path_next(w);
	if (next == PATH_READY)
		return true;
	if (next == PATH_ENDED && w->async)
		ptx_async_end(w);
	w->state = next == PATH_ENDED ? WARP_DONE : WARP_WAIT;
	return false;
}

/* Runs the warp until it waits, ends or its slice is used up. */
static void run_paths(struct ptx_warp *w, bool begun)
{
	const struct ptx_insn *code, *i;
	struct ptx_jit_entry *jit = NULL;
	struct ptx_ent *e;
	uint32_t pc, rpc, mask, m, left = NO_PC;
	uint64_t count = w->count;
	const bool observed = ptx_is_observed(w);

	if (!begun)
		w->wk->slice = w->nents > 1 || w->nparked ? SHORT_SLICE : SLICE;
restart:
	if (!choose_path(w)) {
		w->count = count;
		return;
	}
	e = &w->ents[w->nents - 1];
	pc = e->pc;
	rpc = e->rpc;
	mask = e->mask;
	code = w->frames[w->nframes - 1].fn->insns;
	if (w->wk->jit)
		jit = ptx_jit_entries(w->frames[w->nframes - 1].fn);
enter:
	if (jit) {
		uint32_t from = pc;
		w->count = count;
		pc = run_compiled(w, jit, pc, mask, rpc);
		left = pc == from ? NO_PC : pc;
		count = w->count;
	}
	for (;;) {
		if (pc == rpc) {
			e->pc = pc;
			goto restart;
		}
		i = &code[pc];
		count++;
		m = mask;
		if (i->pred != NO_REG) {
			uint32_t p = *(u32a *)(w->frame + i->pred);
			m &= i->flags & F_NEG_PRED ? ~p : p;
		}
		if (__builtin_expect(observed, 0)) {
			e->pc = pc;
			w->count = count;
			if (ptx_observed_step(w, i, m, pc) == PTX_STEP_YIELD) {
				w->count = count - 1;
				if (++w->spun % SHORT_SLICE == 0 || ptx_schedule_parts(w->wk))
					ptx_path_tired(w);
				return;
			}
		}
		if (!(i->flags & F_CTRL)) {
			if (m) {
				w->count = count;
				i->h(w, i, m);
				count = w->count;
			}
			if (pc++ == left) /* compiled code stopped for this one */
				goto enter;
			continue;
		}
		if (!m) {
			pc++;
			continue;
		}
		w->count = count;
		switch (i->arg) {
		case C_BRA: {
			uint32_t target = (uint32_t)i->imm;
			if (target <= pc && !w->wk->slice--) {
				out_of_slice(w, i);
				e->pc = pc; /* the branch is made again next time */
				w->count = count - 1;
				ptx_path_tired(w);
				return;
			}
			if (m == mask) {
				if (target <= pc) {
					pc = target;
					goto enter;
				}
				pc = target;
				continue;
			}
			diverge(w, code, i, m, target, mask & ~m, pc + 1);
			goto restart;
		}
		case C_BRX:
			if (!w->wk->slice--) {
				out_of_slice(w, i);
				e->pc = pc;
				ptx_path_tired(w);
				return;
			}
			branch_indexed(w, code, i, m, pc + 1);
			goto restart;
		case C_CALL:
			if (!w->wk->slice--)
				out_of_slice(w, i);
			do_call(w, i, m, pc);
			goto restart;
		case C_RET:
			e->pc = pc + 1;
			return_lanes(w, m);
			goto restart;
		case C_EXIT:
			e->pc = pc + 1;
			exit_lanes(w, m);
			goto restart;
		case C_BAR:
			e = ptx_part(w, m, mask, pc);
			arrive(w, i, m, pc + 1);
			if (i->cls == BAR_ARRIVE) {
				if (m != mask)
					goto restart;
				pc++;
				goto enter;
			}
			goto restart;
		case C_WSYNC:
			e = ptx_part(w, m, mask, pc);
			if (warp_sync(w, i, m, pc + 1) && m == mask) {
				pc++;
				goto enter;
			}
			goto restart;
		case C_CLUSTER_WAIT:
			if (ptx_cluster_pass(w, i, m)) {
				pc++;
				goto enter;
			}
			e = ptx_part(w, m, mask, pc);
			e->pc = pc + 1;
			e->state = ENT_CLUSTER;
			e->insn = i;
			goto restart;
		default:
			trap(w, i, m);
		}
	}
}

/* An instruction that cannot be done yet comes back here: ptx_path_wait(). */
static void run_warp(struct ptx_warp *w)
{
	bool cold = w->cold;

	if (cold && run_cold(w))
		return;
	if (setjmp(w->wk->resume))
		run_paths(w, false);
	else
		run_paths(w, cold);
}

/* --- a block ----------------------------------------------------------------------------------------- */
static size_t total_shared(const struct ptx_function *fn, size_t dynamic)
{
	size_t n = fn->m->shared_bytes && (fn->shared_bytes || fn->uses_module_shared) ? (fn->m->shared_bytes + 127) / 128 * 128 : 0;

	n += fn->shared_bytes;
	return (n + 127) / 128 * 128 + dynamic;
}

static void start_warp(struct ptx_worker *wk, struct ptx_block *blk, unsigned id, unsigned threads)
{
	const struct ptx_function *fn = wk->l->fn;
	struct ptx_warp *w = &blk->warps[id];
	unsigned n = threads - id * PTX_LANES;

	w->wk = wk;
	w->blk = blk;
	w->id = id;
	w->live = w->all = n >= PTX_LANES ? PTX_FULL : (1u << n) - 1;
	w->state = WARP_RUN;
	w->cc = 0;
	w->count = 0;
	w->nents = w->nframes = 0;
	if (w->nparked)
		ptx_path_reset(w);
	w->spun = 0;
	w->cl_arrived = w->cl_done = 0;
	ptx_async_start(w);
	if (w->inited == wk->launch_id && wk->first[w->all != PTX_FULL]) {
		w->cold = true; /* its frame is as the block before has left it; nothing more until it needs more */
		w->nframes = 1;
		w->frame = w->regmem + fn->const_bytes;
		return;
	}
	w->cold = false;
	ptx_reserve_local(w, wk->stack_limit);
	push_frame(w, fn, NULL, w->live, 0, 0);
	if (w->inited != wk->launch_id) {
		memcpy(w->frame - fn->const_bytes, fn->const_image, fn->const_bytes);
		ptx_fill_specials(w, fn, false);
		w->inited = wk->launch_id;
	} else {
		ptx_fill_specials(w, fn, true);
	}
	if (fn->needs_zero || ptx_is_observed(w))
		memset(w->frame, 0, fn->reg_bytes);
}

void ptx_begin(struct ptx_worker *wk)
{
	const struct ptx_function *fn = wk->l->fn;

	memset(wk->cache, 0, sizeof(wk->cache));
	memset(wk->jit_range, 0, sizeof(wk->jit_range));
	wk->jit = !wk->watched && ptx_jit_wanted();
	wk->light = wk->jit && !fn->needs_zero && !fn->stack_bytes && !fn->recursive;
	for (unsigned k = 0; k < fn->nspecials; k++) /* of what changes from block to block, compiled code knows one */
		wk->light &= !ptx_special_varies(&fn->specials[k]) || (fn->specials[k].sreg >= SR_ctaid_x && fn->specials[k].sreg <= SR_ctaid_z);
	wk->slice = SLICE;
	wk->slices = 0;
	wk->nprint = 0;
	ptx_async_reset(wk);
	wk->stack_limit = fn->stack_bytes;
	if (fn->recursive)
		wk->stack_limit += PTX_STACK_LIMIT;
	memset(&wk->fault, 0, sizeof(wk->fault));
}

void ptx_block_start(struct ptx_worker *wk, struct ptx_block *blk, uint64_t index)
{
	const struct ptx_launch *l = wk->l;
	unsigned threads = l->block[0] * l->block[1] * l->block[2];
	size_t shared = total_shared(l->fn, l->dynamic_shared), cap = blk->capwarps;
	unsigned old = blk->capwarps;
	uint64_t cluster;

	if (wk->stack_limit > PTX_LOCAL_LIMIT) {
		memset(&wk->fault, 0, sizeof(wk->fault));
		wk->fault.code = PTX_STACK_OVERFLOW;
		wk->fault.kernel = l->fn->name;
		snprintf(wk->fault.text, sizeof(wk->fault.text),
			"tsdb softgpu: stack overflow: kernel %.100s needs %zu bytes of local memory per thread", l->fn->name,
			wk->stack_limit);
		longjmp(wk->out, 1);
	}
	blk->index = index;
	blk->ctaid[0] = (uint32_t)(index % l->grid[0]);
	blk->ctaid[1] = (uint32_t)(index / l->grid[0] % l->grid[1]);
	blk->ctaid[2] = (uint32_t)(index / l->grid[0] / l->grid[1]);
	blk->live = threads;
	blk->self = blk;
	blk->own = (struct ptx_cluster){.blocks = &blk->self, .n = 1};
	blk->cluster = &blk->own;
	blk->rank = 0;
	if (l->cluster[0])
		ptx_cluster_of(l, blk->ctaid, &cluster, &blk->rank);
	find_first_code(wk);
	blk->nwarps = (threads + PTX_LANES - 1) / PTX_LANES;
	memset(blk->bar, 0, sizeof(blk->bar));
	if (shared > blk->shared_cap) {
		free(blk->shared);
		blk->shared = aligned_alloc(128, (shared + 127) / 128 * 128);
		blk->shared_cap = blk->shared ? shared : 0;
		if (!blk->shared)
			ptx_out_of_memory(wk);
	}
	blk->shared_size = shared;
	if (shared)
		memset(blk->shared, l->schedule.residue, shared);
	blk->warps = ptx_more(wk, blk->warps, &cap, blk->nwarps, sizeof(*blk->warps));
	blk->capwarps = (unsigned)cap;
	if (blk->capwarps > old)
		memset(&blk->warps[old], 0, (blk->capwarps - old) * sizeof(*blk->warps));
	for (unsigned k = 0; k < blk->nwarps; k++)
		start_warp(wk, blk, k, threads);
	if (wk->observer)
		ptx_observed_block(wk, blk, false);
}

void ptx_block_deadlock(struct ptx_block *blk)
{
	for (unsigned k = 0;; k++) {
		struct ptx_warp *w = &blk->warps[k];
		if (w->state != WARP_WAIT)
			continue;
		struct ptx_ent *e = &w->ents[w->nents - 1];
		bool lanes = e->state == ENT_WSYNC || e->state == ENT_SYNC;
		const struct ptx_insn *i = &w->frames[w->nframes - 1].fn->insns[e->state == ENT_SYNC ? e->pc : e->pc - 1];
		ptx_raise(w, i, (unsigned)__builtin_ctz(e->mask), PTX_TIMEOUT, 0, 0,
			lanes ? "lanes of the member mask can never come here" : "a barrier that not all threads can reach: deadlock");
	}
}

/* Nothing runs. Lanes that only wait to meet others that wait at a barrier may go on. */
static bool break_free(struct ptx_block *blk)
{
	bool any = false;

	for (unsigned k = 0; k < blk->nwarps; k++) {
		struct ptx_warp *w = &blk->warps[k];
		if (w->state == WARP_WAIT && ptx_path_break(w)) {
			w->state = WARP_RUN;
			any = true;
		}
	}
	return any;
}

void ptx_check(struct ptx_worker *wk, struct ptx_block *blk)
{
	out_of_slice(&blk->warps[0], wk->l->fn->insns);
}

bool ptx_block_run(struct ptx_worker *wk, struct ptx_block *blk, bool may_yield)
{
	for (unsigned turn = 1;; turn++) {
		bool ran = false, left = false;
		if (turn % 256 == 0)
			ptx_check(wk, blk);
		for (unsigned k = 0; k < blk->nwarps; k++) {
			struct ptx_warp *w = &blk->warps[k];
			if (w->state == WARP_RUN) {
				run_warp(w);
				ran = true;
			}
			left |= w->state != WARP_DONE;
		}
		if (!left) {
			if (wk->observer)
				ptx_observed_block(wk, blk, true);
			return true;
		}
		check_barriers(blk);
		ptx_cluster_check(blk->cluster);
		if (!ran) {
			bool any = false;
			for (unsigned k = 0; k < blk->nwarps; k++)
				any |= blk->warps[k].state == WARP_RUN;
			if (!any && !break_free(blk) && !ptx_cluster_waits(blk))
				ptx_block_deadlock(blk);
		}
		if (may_yield)
			return false;
	}
}

bool ptx_block_turn(struct ptx_worker *wk, struct ptx_block *blk, unsigned from)
{
	bool left = false, can = false;

	for (unsigned k = 0; k < blk->nwarps; k++) {
		struct ptx_warp *w = &blk->warps[(from + k) % blk->nwarps];
		if (w->state == WARP_RUN) {
			run_warp(w);
			break;
		}
	}
	check_barriers(blk);
	ptx_cluster_check(blk->cluster);
	for (unsigned k = 0; k < blk->nwarps; k++) {
		can |= blk->warps[k].state == WARP_RUN;
		left |= blk->warps[k].state != WARP_DONE;
	}
	if (left && !can && !break_free(blk) && !ptx_cluster_waits(blk))
		ptx_block_deadlock(blk);
	if (!left && wk->observer)
		ptx_observed_block(wk, blk, true);
	return !left;
}

void ptx_block_free(struct ptx_block *blk)
{
	for (unsigned k = 0; k < blk->capwarps; k++) {
		struct ptx_warp *w = &blk->warps[k];
		free(w->ents);
		free(w->frames);
		ptx_path_reset(w);
		free(w->parked);
		free(w->regmem);
		free(w->local);
		ptx_async_free(w);
	}
	free(blk->warps);
	free(blk->shared);
	memset(blk, 0, sizeof(*blk));
}
