/* SPDX-License-Identifier: Apache-2.0
 *
 * The warp loop: divergence, calls, barriers, and the turns of a block's warps.
 * A warp has a stack of entries (pc, meeting point, lanes). The top one runs; when it reaches its
 * meeting point it is popped and the one below, which waits there, goes on with all lanes. Each
 * call has its own part of the stack. A warp runs until it waits, ends, or has used up its slice,
 * counted in backward branches, so turns are the same on every machine.
 */
#include "softgpu/watch/ptx-observe.h"
#include "softgpu/machine/ptx-run.h"
#include "softgpu/machine/ptx-schedule.h"
#include "softgpu/insns/ptx-async.h"
#include "softgpu/machine/ptx-barrier.h"
#include "softgpu/machine/ptx-cluster.h"
#include "softgpu/machine/ptx-path.h"

#include "softgpu/jit/jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_SLICE 4000 /* of a warp whose lanes wait for one another, perhaps */

/* --- the stack --- */
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

void ptx_push_frame(struct ptx_warp *w, const struct ptx_function *fn, const struct ptx_call *call,
	uint32_t mask, size_t regs, uint32_t lbase)
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

/* --- calls --- */
static void copy_params(
	struct ptx_warp *w, uint32_t mask, uint32_t to, uint32_t from, uint32_t bytes)
{
	EACH_LANE(l)
	memcpy(w->local + l * w->lstride + to, w->local + l * w->lstride + from, bytes);
}

static void call_builtin(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, const struct ptx_function *fn)
{
	const struct ptx_call *c = i->u.call;
	uint32_t base = w->frames[w->nframes - 1].lbase;

	EACH_LANE(l)
	{
		uint8_t *local = w->local + l * w->lstride + base;
		uint64_t arg[5] = {0};
		for (unsigned k = 0; k < c->nargs && k < 5; k++)
			memcpy(&arg[k], local + c->args[k].caller,
				c->args[k].bytes < 8 ? c->args[k].bytes : 8);
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
			snprintf(what, sizeof(what),
				"%.80s:%u: %.40s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%.60s` failed.",
				text[1], (unsigned)arg[2], text[2], w->blk->ctaid[0],
				w->blk->ctaid[1], w->blk->ctaid[2], t[0], t[1], t[2], text[0]);
			ptx_raise(w, i, l, PTX_ASSERT, 0, 0, what);
		}
	}
}

static const struct ptx_function *callee_of(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, uint32_t *same)
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
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, t[first], 0,
			"a call of an address that is no function's");
	fn = m->funcs[(uint32_t)t[first]];
	fn = fn->alias ? fn->alias : fn;
	if (fn->is_entry || fn->sig.nparams != c->nargs || fn->sig.nrets != c->nrets)
		ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, t[first], 0,
			"an indirect call of a function with other parameters");
	for (unsigned k = 0; k < c->nargs + c->nrets; k++) {
		const struct ptx_formal *f =
			k < c->nargs ? &fn->sig.params[k] : &fn->sig.rets[k - c->nargs];
		const struct ptx_xfer *x = k < c->nargs ? &c->args[k] : &c->rets[k - c->nargs];
		if (f->size != x->bytes || f->off != x->callee)
			ptx_raise(w, i, first, PTX_ILLEGAL_INSTRUCTION, t[first], 0,
				"an indirect call of a function with other parameters");
	}
	return fn;
}

/* The caller's entry has its next pc already. */
static void call_function(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, const struct ptx_function *fn)
{
	const struct ptx_call *c = i->u.call;
	const struct ptx_frame *f = &w->frames[w->nframes - 1];
	uint32_t from = f->lbase,
		 to = f->lbase + (uint32_t)f->fn->local_bytes + ptx_alloca_top(w, mask);
	size_t regs = f->regs + f->fn->const_bytes + f->fn->reg_bytes;
	unsigned first = (unsigned)__builtin_ctz(mask);

	if (w->nparked)
		regs = ptx_path_regs(w, regs);
	if (to + fn->local_bytes > w->lstride || w->nframes >= PTX_DEPTH_LIMIT ||
		regs + fn->const_bytes + fn->reg_bytes > (64u << 20))
		ptx_raise(w, i, first, PTX_STACK_OVERFLOW, 0, 0, fn->name);
	ptx_push_frame(w, fn, c, mask, regs, to);
	for (unsigned k = 0; k < c->nargs; k++)
		copy_params(w, mask, to + c->args[k].callee, from + c->args[k].caller,
			c->args[k].bytes);
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
		copy_params(w, f.mask, to + f.call->rets[k].caller,
			f.lbase + f.call->rets[k].callee, f.call->rets[k].bytes);
	ptx_enter_frame(w);
}

/* --- the divergence stack --- */
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

/* Shows observers the return that lanes are about to make in the middle of a branch. */
static void observe_return(
	struct ptx_warp *w, const struct ptx_insn *code, uint32_t pc, uint32_t mask)
{
	push(w, pc, NO_PC, mask);
	w->returns++;
	ptx_observed_return(w, &code[pc], mask, pc);
	w->nents--;
}

/* The lanes of one side leave the top entry: for a way of their own, or to wait at the meeting
 * point. */
static void add_side(
	struct ptx_warp *w, const struct ptx_insn *code, uint32_t pc, uint32_t rpc, uint32_t mask)
{
	if (is_plain_return(&code[pc])) { /* do not let them wait for a barrier's lanes */
		if (ptx_is_observed(w) && mask)
			observe_return(w, code, pc, mask);
		if (code[pc].arg == C_EXIT)
			exit_lanes(w, mask);
		else
			return_lanes(w, mask);
		return;
	}
	if (pc != rpc || rpc == NO_PC)
		push(w, pc, rpc, mask);
}

/* The top entry's lanes split: taken to target, rest to next. Turns the top entry into the one that
 * waits where they meet. */
static void diverge(struct ptx_warp *w, const struct ptx_insn *code, const struct ptx_insn *i,
	uint32_t taken, uint32_t target, uint32_t rest, uint32_t next)
{
	struct ptx_ent *e = &w->ents[w->nents - 1];
	uint32_t rpc = i->rpc == NO_PC ? e->rpc : i->rpc;

	if (rpc == e->rpc)
		w->nents--; /* an entry below waits there already */
	else
		e->pc = rpc;
	add_side(w, code, target, rpc, taken);
	add_side(w, code, next, rpc, rest);
}

/* The top entry cannot go on; moves one that can to the top. Siblings lie next to each other and
 * have the same meeting point. */
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

/* --- the loop --- */

/* Memory that was freed since the worker's last turn is looked up again, and not found. */
static void forget_freed(struct ptx_worker *wk)
{
	const uint32_t now = mem_frees();

	if (wk->frees == now)
		return;
	wk->frees = now;
	memset(wk->cache, 0, sizeof(wk->cache));
	memset(wk->jit_range, 0, sizeof(wk->jit_range));
}

static void out_of_slice(struct ptx_warp *w, const struct ptx_insn *i)
{
	enum ptx_fault_code code;

	forget_freed(w->wk);
	w->wk->slice = PTX_SLICE;
	/* one that waits politely uses little */
	if (w->wk->gave_way && ++w->wk->ways % 64) {
		w->wk->gave_way = false;
		return;
	}
	w->wk->gave_way = false;
	if (w->wk->l->max_slices && ++w->wk->slices > w->wk->l->max_slices)
		ptx_raise(w, i, w->live ? (unsigned)__builtin_ctz(w->live) : 0, PTX_TIMEOUT, 0, 0,
			"the launch's slices are used up");
	if (ptx_should_stop(w->wk, &code))
		ptx_raise(w, i, w->live ? (unsigned)__builtin_ctz(w->live) : 0, code, 0, 0,
			code == PTX_TIMEOUT ? "the time limit is over" : NULL);
}

/* brx.idx: lanes are grouped by target. */
static void branch_indexed(struct ptx_warp *w, const struct ptx_insn *code,
	const struct ptx_insn *i, uint32_t mask, uint32_t next)
{
	const u32a *a = REG(u32a, 0);
	const struct ptx_table *t = i->u.table;
	struct ptx_ent *e = &w->ents[w->nents - 1];
	uint32_t rest = e->mask & ~mask, rpc = i->rpc == NO_PC ? e->rpc : i->rpc, group;

	EACH_LANE(l)
	if (a[l] >= t->n)
		ptx_raise(w, i, l, PTX_ILLEGAL_INSTRUCTION, 0, 0,
			"an index past the list of targets");
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
	ptx_raise(w, i, (unsigned)__builtin_ctz(mask),
		i->arg == C_TRAP ? PTX_TRAP : PTX_ILLEGAL_INSTRUCTION, 0, 0,
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
			!strncmp(fn->name, "cudaLaunchDevice", 16) ||
					strstr(fn->name, "cudaCDP2") ||
					strstr(fn->name, "syscall_cnp") ||
					!strncmp(fn->name, "cudaGetParameterBuffer", 22)
				? ": kernels do not launch kernels"
				: ", it has no body");
		ptx_raise(w, i, (unsigned)__builtin_ctz(mask), PTX_ILLEGAL_INSTRUCTION, 0, 0, what);
	}
	if (same != mask) { /* indirect: one target after the other; the others come back to this
			       call */
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

/* A guarded barrier at pc: the lanes that skip it go on after it when those of m are released. The
 * entry of m. */
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
static uint32_t run_compiled(
	struct ptx_warp *w, struct ptx_jit_entry *jit, uint32_t pc, uint32_t mask, uint32_t rpc)
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

void ptx_run_first(struct ptx_worker *wk)
{
	struct ptx_jit_entry *jit = wk->light ? ptx_jit_entries(wk->l->fn) : NULL;

	for (unsigned k = 0; k < 2; k++)
		wk->first[k] =
			jit ? atomic_load_explicit(&jit->code[k], memory_order_acquire) : NULL;
}

/* The very beginning of a warp that was started light. Most end here: they never had a stack. True:
 * it has ended. */
static bool run_cold(struct ptx_warp *w)
{
	const struct ptx_function *fn = w->wk->l->fn;
	ptx_jit_code *c = w->wk->first[w->all != PTX_FULL];
	uint32_t pc;

	w->cold = false;
	w->wk->slice = PTX_SLICE;
	pc = c(w, w->frame, w->all, NO_PC) & ~PTX_JIT_AGAIN;
	if (is_plain_return(&fn->insns[pc])) {
		w->count++;
		if (w->async)
			ptx_async_end(w);
		w->blk->live -=
			w->all == PTX_FULL ? PTX_LANES : (uint32_t)__builtin_popcount(w->all);
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
	ptx_wsync_check(w);
	next = ptx_path_next(w);
	if (next == PATH_READY)
		return true;
	if (next == PATH_ENDED && w->async)
		ptx_async_end(w);
	w->state = next == PATH_ENDED ? WARP_DONE : WARP_WAIT;
	return false;
}

/* How a warp goes on after an instruction that is not just for its lanes. */
enum go {
	GO_ON,	    /* at pc */
	GO_ENTER,   /* at pc, where there may be compiled code */
	GO_RESTART, /* with the top entry, which may be another one */
	GO_LEAVE,   /* in another turn */
};

/* A branch back when the slice is used up: it is made again next time. */
static bool is_tired(struct ptx_warp *w, const struct ptx_insn *i, uint32_t pc)
{
	if (w->wk->slice--)
		return false;
	out_of_slice(w, i);
	w->ents[w->nents - 1].pc = pc;
	return true;
}

/* The most frequent one. */
static inline __attribute__((always_inline)) enum go branch(struct ptx_warp *w,
	const struct ptx_insn *code, const struct ptx_insn *i, uint32_t m, uint32_t mask,
	uint32_t *pc)
{
	const uint32_t target = (uint32_t)i->imm, from = *pc;

	if (target <= from && is_tired(w, i, from)) {
		w->count--;
		ptx_path_tired(w);
		return GO_LEAVE;
	}
	if (m != mask) {
		diverge(w, code, i, m, target, mask & ~m, from + 1);
		return GO_RESTART;
	}
	*pc = target;
	return target <= from ? GO_ENTER : GO_ON;
}

static enum go at_barrier(
	struct ptx_warp *w, const struct ptx_insn *i, uint32_t m, uint32_t mask, uint32_t *pc)
{
	struct ptx_ent *e;

	if (i->arg == C_CLUSTER_WAIT && ptx_cluster_pass(w, i, m)) {
		++*pc;
		return GO_ENTER;
	}
	e = ptx_part(w, m, mask, *pc);
	if (i->arg == C_CLUSTER_WAIT) {
		e->pc = *pc + 1;
		e->state = ENT_CLUSTER;
		e->insn = i;
		return GO_RESTART;
	}
	if (i->arg == C_BAR)
		ptx_barrier_arrive(w, i, m, *pc + 1);
	else if (!ptx_wsync(w, i, m, *pc + 1))
		return GO_RESTART;
	if (m != mask || (i->arg == C_BAR && i->cls != BAR_ARRIVE))
		return GO_RESTART;
	++*pc;
	return GO_ENTER;
}

static enum go control(struct ptx_warp *w, const struct ptx_insn *code, const struct ptx_insn *i,
	uint32_t m, uint32_t mask, uint32_t *pc)
{
	switch (i->arg) {
	case C_BRX:
		if (is_tired(w, i, *pc)) {
			ptx_path_tired(w);
			return GO_LEAVE;
		}
		branch_indexed(w, code, i, m, *pc + 1);
		return GO_RESTART;
	case C_CALL:
		if (!w->wk->slice--)
			out_of_slice(w, i);
		do_call(w, i, m, *pc);
		return GO_RESTART;
	case C_RET:
	case C_EXIT:
		w->ents[w->nents - 1].pc = *pc + 1;
		if (i->arg == C_RET)
			return_lanes(w, m);
		else
			exit_lanes(w, m);
		return GO_RESTART;
	case C_BAR:
	case C_WSYNC:
	case C_CLUSTER_WAIT:
		return at_barrier(w, i, m, mask, pc);
	default:
		trap(w, i, m);
		return GO_ON; /* not reached */
	}
}

/* Observers see the instruction at pc before it is done. True: the warp's turn is over. */
static bool observer_yields(struct ptx_warp *w, const struct ptx_insn *i, uint32_t m, uint32_t pc)
{
	w->ents[w->nents - 1].pc = pc;
	if (ptx_observed_step(w, i, m, pc) != PTX_STEP_YIELD)
		return false;
	w->count--;
	if (++w->spun % SHORT_SLICE == 0 || ptx_schedule_parts(w->wk))
		ptx_path_tired(w);
	return true;
}

/* Runs the top entry: as long as it goes on with its lanes. True: until the warp's turn is over. */
static bool run_entry(struct ptx_warp *w, bool observed)
{
	struct ptx_ent *e = &w->ents[w->nents - 1];
	const struct ptx_insn *code = w->frames[w->nframes - 1].fn->insns, *i;
	struct ptx_jit_entry *jit =
		w->wk->jit ? ptx_jit_entries(w->frames[w->nframes - 1].fn) : NULL;
	const uint32_t rpc = e->rpc, mask = e->mask;
	uint32_t pc = e->pc, m, left = NO_PC;
	enum go go = GO_ENTER;

	for (;;) {
		if (go == GO_ENTER && jit) {
			const uint32_t from = pc;

			pc = run_compiled(w, jit, pc, mask, rpc);
			left = pc == from ? NO_PC : pc;
		}
		go = GO_ON;
		if (pc == rpc) {
			e->pc = pc;
			return false;
		}
		i = &code[pc];
		w->count++;
		m = mask;
		if (i->pred != NO_REG) {
			const uint32_t p = *(u32a *)(w->frame + i->pred);

			m &= i->flags & F_NEG_PRED ? ~p : p;
		}
		if (__builtin_expect(observed, 0) && observer_yields(w, i, m, pc))
			return true;
		if (!(i->flags & F_CTRL)) {
			if (m)
				i->h(w, i, m);
			if (pc++ == left) /* compiled code stopped for this one */
				go = GO_ENTER;
			continue;
		}
		if (!m) {
			pc++;
			continue;
		}
		go = i->arg == C_BRA ? branch(w, code, i, m, mask, &pc)
				     : control(w, code, i, m, mask, &pc);
		if (go >= GO_RESTART)
			return go == GO_LEAVE;
	}
}

/* Runs the warp until it waits, ends or its slice is used up. */
static void run_paths(struct ptx_warp *w, bool begun)
{
	const bool observed = ptx_is_observed(w);

	if (!begun)
		w->wk->slice = w->nents > 1 || w->nparked ? SHORT_SLICE : PTX_SLICE;
	while (choose_path(w) && !run_entry(w, observed))
		;
}

/* An instruction that cannot be done yet comes back here: ptx_path_wait(). */
void ptx_run_warp(struct ptx_warp *w)
{
	bool cold = w->cold;

	if (cold && run_cold(w))
		return;
	if (setjmp(w->wk->resume))
		run_paths(w, false);
	else
		run_paths(w, cold);
}

void ptx_check(struct ptx_worker *wk, struct ptx_block *blk)
{
	out_of_slice(&blk->warps[0], wk->l->fn->insns);
}
