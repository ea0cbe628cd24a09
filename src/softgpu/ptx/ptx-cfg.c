/* SPDX-License-Identifier: Apache-2.0
 *
 * The control-flow graph of a function: where divergent lanes meet again (the immediate
 * post-dominator of the branch), which registers are live, which atomics have a result that is
 * never read. The surprising thing: a block that can only end in `exit`, `trap` or an endless loop
 * does not count for post-dominance, so that a failed assertion's path does not keep the other
 * lanes apart.
 */
#include "softgpu/ptx/ptx-int.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define MAX_LIVE_WORDS (4u << 20)

struct cfg {
	struct ptx_function *fn;
	uint32_t n; /* blocks; block n is the virtual end */
	uint32_t *block_of, *first, *last;
	uint32_t *nsucc, **succ, *npred, **pred;
	bool *reached, *good;		  /* from the entry; towards the end */
	uint32_t *order, *number, norder; /* reverse graph, post-order */
	uint32_t *ipdom;
};

static bool ends_block(const struct ptx_insn *i)
{
	return i->flags & F_CTRL && (i->arg == C_BRA || i->arg == C_BRX || i->arg == C_RET ||
					    i->arg == C_EXIT || i->arg == C_TRAP);
}

static bool is_unguarded(const struct ptx_insn *i)
{
	return i->pred == NO_REG;
}

static void find_blocks(struct cfg *g)
{
	struct ptx_function *fn = g->fn;
	bool *leader = calloc(fn->ninsns + 1, 1);

	if (!leader)
		longjmp(*fn->m->nomem, 1);
	leader[0] = true;
	for (uint32_t k = 0; k < fn->ninsns; k++) {
		const struct ptx_insn *i = &fn->insns[k];
		if (!ends_block(i))
			continue;
		leader[k + 1] = true;
		if (i->arg == C_BRA)
			leader[i->imm] = true;
		if (i->arg == C_BRX)
			for (unsigned t = 0; t < i->u.table->n; t++)
				leader[i->u.table->pc[t]] = true;
	}
	for (uint32_t k = 0; k < fn->ninsns; k++) {
		if (leader[k])
			g->first[g->n++] = k;
		g->block_of[k] = g->n - 1;
		g->last[g->n - 1] = k;
	}
	free(leader);
}

static void add_succ(struct cfg *g, uint32_t b, uint32_t to)
{
	for (uint32_t k = 0; k < g->nsucc[b]; k++)
		if (g->succ[b][k] == to)
			return;
	g->succ[b][g->nsucc[b]++] = to;
}

static void find_edges(struct cfg *g)
{
	struct ptx_function *fn = g->fn;

	for (uint32_t b = 0; b < g->n; b++) {
		const struct ptx_insn *i = &fn->insns[g->last[b]];
		uint32_t max = 2 + (i->flags & F_CTRL && i->arg == C_BRX ? i->u.table->n : 0);
		bool falls = b + 1 < g->n && !(ends_block(i) && is_unguarded(i));
		g->succ[b] = ptx_alloc(fn->m, max * sizeof(uint32_t));
		if (falls)
			add_succ(g, b, b + 1);
		if (!ends_block(i))
			continue;
		if (i->arg == C_BRA)
			add_succ(g, b, g->block_of[i->imm]);
		if (i->arg == C_BRX)
			for (unsigned t = 0; t < i->u.table->n; t++)
				add_succ(g, b, g->block_of[i->u.table->pc[t]]);
	}
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t k = 0; k < g->nsucc[b]; k++)
			g->npred[g->succ[b][k]]++;
	for (uint32_t b = 0; b < g->n; b++) {
		g->pred[b] = ptx_alloc(fn->m, g->npred[b] * sizeof(uint32_t));
		g->npred[b] = 0;
	}
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t k = 0; k < g->nsucc[b]; k++) {
			uint32_t s = g->succ[b][k];
			g->pred[s][g->npred[s]++] = b;
		}
}

static void reach(struct cfg *g, uint32_t *stack)
{
	uint32_t n = 0;

	stack[n++] = 0;
	g->reached[0] = true;
	while (n) {
		uint32_t b = stack[--n];
		for (uint32_t k = 0; k < g->nsucc[b]; k++)
			if (!g->reached[g->succ[b][k]]) {
				g->reached[g->succ[b][k]] = true;
				stack[n++] = g->succ[b][k];
			}
	}
}

static bool leaves(const struct cfg *g, uint32_t b, unsigned how)
{
	const struct ptx_insn *i = &g->fn->insns[g->last[b]];

	return i->flags & F_CTRL && i->arg == how && is_unguarded(i) && g->reached[b];
}

/* Post-order of the reverse graph from the virtual end, over blocks that lead to it. */
static void reverse_order(struct cfg *g, uint32_t *stack, uint32_t *at)
{
	unsigned how = C_EXIT;
	uint32_t n = 0;

	for (uint32_t b = 0; b < g->n; b++)
		if (leaves(g, b, C_RET))
			how = C_RET;
	for (uint32_t b = 0; b < g->n; b++) {
		if (!leaves(g, b, how) || g->good[b])
			continue;
		stack[n++] = b;
		g->good[b] = true;
		while (n) {
			uint32_t t = stack[n - 1];
			if (at[t] < g->npred[t]) {
				uint32_t p = g->pred[t][at[t]++];
				if (!g->good[p] && g->reached[p]) {
					g->good[p] = true;
					stack[n++] = p;
				}
			} else {
				g->number[t] = g->norder;
				g->order[g->norder++] = t;
				n--;
			}
		}
	}
	g->number[g->n] = g->norder; /* the end */
	for (uint32_t b = 0; b < g->n; b++)
		g->ipdom[b] = g->good[b] && leaves(g, b, how) ? g->n : NONE;
	g->ipdom[g->n] = g->n;
}

static uint32_t meet(const struct cfg *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->number[a] < g->number[b])
			a = g->ipdom[a];
		while (g->number[b] < g->number[a])
			b = g->ipdom[b];
	}
	return a;
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the reverse graph. */
static void post_dominators(struct cfg *g)
{
	bool changed = true;

	for (unsigned pass = 0; changed && pass < 1000; pass++) {
		changed = false;
		for (uint32_t k = g->norder; k-- > 0;) {
			uint32_t b = g->order[k], d = g->ipdom[b] == g->n ? g->n : NONE;
			for (uint32_t s = 0; s < g->nsucc[b]; s++) {
				uint32_t t = g->succ[b][s];
				if (!g->good[t] || g->ipdom[t] == NONE)
					continue;
				d = d == NONE ? t : meet(g, d, t);
			}
			if (d != g->ipdom[b]) {
				g->ipdom[b] = d;
				changed = true;
			}
		}
	}
}

static void set_meeting_points(struct cfg *g)
{
	for (uint32_t b = 0; b < g->n; b++) {
		struct ptx_insn *i = &g->fn->insns[g->last[b]];
		if (!ends_block(i) || (i->arg != C_BRA && i->arg != C_BRX))
			continue;
		i->rpc = g->ipdom[b] < g->n ? g->first[g->ipdom[b]] : NO_PC;
	}
}

/* --- registers --- */
void ptx_visit_operands(const struct ptx_insn *i, ptx_visit *fn, void *arg)
{
	unsigned slot = 0, nfrag = 0;

	if (i->pred != NO_REG)
		fn(arg, i->pred, 0, false);
	if (i->flags & F_CTRL && i->arg == C_CALL && !i->u.call->fn)
		fn(arg, i->u.call->target, 8, false);
	if (!i->row)
		return;
	for (const char *c = i->row->pattern; *c; c++) {
		if (*c == '?' || *c == 'j')
			continue;
		if (strchr("vVkKuU", *c)) {
			for (unsigned k = 0; k < i->vec; k++)
				if (i->u.vecs->off[k] != NO_REG)
					fn(arg, i->u.vecs->off[k], i->u.vecs->width[k],
						*c == 'v' || *c == 'k' || *c == 'u');
		} else if (*c == 'e' || *c == 'F') {
			const struct ptx_vec *v = *c == 'e' ? &i->u.vecatom->d : &i->u.vecatom->s;
			for (unsigned k = 0; k < i->vec; k++)
				if (v->off[k] != NO_REG)
					fn(arg, v->off[k], v->width[k], *c == 'e');
		} else if (*c == 'E') {
			for (unsigned k = 0; k < i->vec; k++)
				fn(arg, i->u.ats[0].vec.off[k], i->u.ats[0].vec.width[k], false);
		} else if (strchr("gG", *c)) {
			const struct ptx_frag *f = &i->u.mma->f[nfrag++];
			for (unsigned k = 0; k < f->n; k++)
				fn(arg, f->off[k], f->width, *c == 'g');
		} else if (*c == 't') {
			for (unsigned k = 0; k < i->u.tex->nregs; k++)
				fn(arg, i->u.tex->regs[k], 0, false);
		} else if (i->o[slot] != NO_REG) {
			fn(arg, i->o[slot], 0, strchr("dDWrLpqyYo", *c) != NULL);
		}
		slot++;
	}
	if (i->flags & F_PAIR && i->o[5] != NO_REG)
		fn(arg, i->o[5], 0, true);
}

struct live {
	uint32_t *id; /* of the register at 4 * index, from 1 */
	uint32_t n, words;
	uint64_t *now;	     /* live registers while going backwards */
	uint64_t *use, *def; /* of the block being summarised */
	bool guarded, defs;
	uint8_t *read;	/* by anything */
	uint32_t *bits; /* registers' 32-bit words */
	uint32_t count;
};

static void number_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct live *v = arg;

	if (off < 0)
		return;
	if (!v->id[off / 4])
		v->id[off / 4] = ++v->n;
	if (!def)
		v->read[off / 4] = 1;
}

#define HAS(set, k) ((set)[(k) / 64] >> ((k) % 64) & 1)
#define ADD(set, k) ((set)[(k) / 64] |= 1ull << ((k) % 64))
#define DEL(set, k) ((set)[(k) / 64] &= ~(1ull << ((k) % 64)))

/* Backwards over one instruction: definitions first, then uses. */
static void summary_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct live *v = arg;
	uint32_t k;

	if (off < 0 || def != v->defs || (def && v->guarded))
		return;
	k = v->id[off / 4] - 1;
	if (def) {
		ADD(v->def, k);
		DEL(v->use, k);
	} else {
		ADD(v->use, k);
	}
}

static void count_visit(void *arg, int32_t off, unsigned width, bool def)
{
	struct live *v = arg;
	uint32_t k;

	if (off < 0 || def != v->defs)
		return;
	k = v->id[off / 4] - 1;
	if (def && HAS(v->now, k)) {
		if (v->guarded)
			return;
		DEL(v->now, k);
		v->count--;
	} else if (!def && !HAS(v->now, k)) {
		ADD(v->now, k);
		v->count++;
	}
}

static bool solve(struct cfg *g, struct live *v, uint64_t *in, uint64_t *use, uint64_t *def)
{
	uint32_t w = v->words;
	bool changed = true;

	for (unsigned pass = 0; changed; pass++) {
		if (pass == 100)
			return false;
		changed = false;
		for (uint32_t b = g->n; b-- > 0;)
			for (uint32_t k = 0; k < w; k++) {
				uint64_t out = 0, now;
				for (uint32_t s = 0; s < g->nsucc[b]; s++)
					out |= in[(size_t)g->succ[b][s] * w + k];
				now = use[(size_t)b * w + k] | (out & ~def[(size_t)b * w + k]);
				changed |= now != in[(size_t)b * w + k];
				in[(size_t)b * w + k] = now;
			}
	}
	return true;
}

static uint32_t most_live(struct cfg *g, struct live *v, const uint64_t *in)
{
	uint32_t most = 0, w = v->words;

	for (uint32_t b = 0; b < g->n; b++) {
		memset(v->now, 0, w * 8);
		for (uint32_t s = 0; s < g->nsucc[b]; s++)
			for (uint32_t k = 0; k < w; k++)
				v->now[k] |= in[(size_t)g->succ[b][s] * w + k];
		v->count = 0;
		for (uint32_t k = 0; k < w; k++)
			v->count += (uint32_t)__builtin_popcountll(v->now[k]);
		for (uint32_t k = g->last[b] + 1; k-- > g->first[b];) {
			const struct ptx_insn *i = &g->fn->insns[k];
			v->guarded = i->pred != NO_REG;
			v->defs = true;
			ptx_visit_operands(i, count_visit, v);
			v->defs = false;
			ptx_visit_operands(i, count_visit, v);
			if (v->count > most)
				most = v->count;
		}
	}
	return most;
}

/* Whether the instruction's result may depend on how far other blocks are: an atomic operation
 * whose result is read, a strong load. */
static bool sees_other_blocks(const struct ptx_insn *i, const uint8_t *read)
{
	if (!i->row || i->space == SP_SHARED || i->space == SP_LOCAL || i->space == SP_PARAM ||
		i->space == SP_CONST)
		return false;
	if (!strcmp(i->row->op, "atom"))
		return i->o[0] != NO_REG && read[i->o[0] / 4];
	return !strcmp(i->row->op, "ld") && i->order & ORDER_STRONG;
}

static void liveness(struct cfg *g)
{
	struct ptx_function *fn = g->fn;
	struct live v = {0};
	size_t total;
	uint64_t *in;

	fn->needs_zero = true;
	v.id = calloc(fn->reg_bytes / 4 + 1, 4);
	v.read = calloc(fn->reg_bytes / 4 + 1, 1);
	if (!v.id || !v.read)
		goto out;
	for (uint32_t k = 0; k < fn->ninsns; k++)
		ptx_visit_operands(&fn->insns[k], number_visit, &v);
	for (uint32_t k = 0; k < fn->ninsns; k++)
		fn->ordered |= sees_other_blocks(&fn->insns[k], v.read);
	fn->regs = v.n < 255 ? v.n : 255;
	v.words = v.n / 64 + 1;
	total = (size_t)g->n * v.words;
	if (total > MAX_LIVE_WORDS)
		goto out;
	in = calloc(3 * total + v.words, 8);
	if (!in)
		goto out;
	v.now = in + 3 * total;
	for (uint32_t b = 0; b < g->n; b++) {
		v.use = in + total + (size_t)b * v.words;
		v.def = in + 2 * total + (size_t)b * v.words;
		for (uint32_t k = g->last[b] + 1; k-- > g->first[b];) {
			v.guarded = fn->insns[k].pred != NO_REG;
			v.defs = true;
			ptx_visit_operands(&fn->insns[k], summary_visit, &v);
			v.defs = false;
			ptx_visit_operands(&fn->insns[k], summary_visit, &v);
		}
	}
	if (solve(g, &v, in, in + total, in + 2 * total)) {
		uint32_t most = most_live(g, &v, in);
		fn->needs_zero = false;
		for (uint32_t k = 0; k < v.words; k++)
			fn->needs_zero |= in[k] != 0;
		fn->regs = most < 255 ? most : 255;
	}
	free(in);
out:
	free(v.id);
	free(v.read);
}

void ptx_cfg(struct ptx_function *fn)
{
	struct ptx_module *m = fn->m;
	struct cfg g = {.fn = fn};
	uint32_t n = fn->ninsns, *stack, *at;

	g.block_of = ptx_alloc(m, n * 4);
	g.first = ptx_alloc(m, n * 4);
	g.last = ptx_alloc(m, n * 4);
	find_blocks(&g);
	n = g.n + 1;
	g.nsucc = ptx_alloc(m, n * 4);
	g.npred = ptx_alloc(m, n * 4);
	g.succ = ptx_alloc(m, n * sizeof(*g.succ));
	g.pred = ptx_alloc(m, n * sizeof(*g.pred));
	g.reached = ptx_alloc(m, n);
	g.good = ptx_alloc(m, n);
	g.order = ptx_alloc(m, n * 4);
	g.number = ptx_alloc(m, n * 4);
	g.ipdom = ptx_alloc(m, n * 4);
	stack = ptx_alloc(m, n * 4);
	at = ptx_alloc(m, n * 4);
	find_edges(&g);
	reach(&g, stack);
	reverse_order(&g, stack, at);
	post_dominators(&g);
	set_meeting_points(&g);
	liveness(&g);
}
