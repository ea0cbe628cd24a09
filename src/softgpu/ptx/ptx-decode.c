/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX decoder: modifiers, and the search for the row of ptx-insns.def that takes them. What no
 * row takes becomes an instruction that stops the launch that reaches it. A row's pattern has one
 * letter per operand: see ptx-operand.c. An opcode of the table may have dots in it
 * (`cp.async.bulk`): the longest that the instruction begins with is its opcode, what follows are
 * its modifiers and types.
 */
#include "softgpu/ptx/ptx-dec.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the table, by opcode --- */
static const struct ptx_row *rows;
static struct {
	const char *op;
	unsigned first, n;
} ops_index[1024];
static unsigned nops_index;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void build_index(void)
{
	rows = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? ptx_rows_avx2
									       : ptx_rows_base;
	if (getenv("TSDB_SOFT_NO_AVX2"))
		rows = ptx_rows_base;
	for (unsigned k = 0; k < ptx_nrows; k++) {
		if (!nops_index || strcmp(ops_index[nops_index - 1].op, rows[k].op)) {
			if (nops_index == sizeof(ops_index) / sizeof(ops_index[0]))
				abort();
			ops_index[nops_index].op = rows[k].op;
			ops_index[nops_index].first = k;
			ops_index[nops_index++].n = 0;
		}
		ops_index[nops_index - 1].n++;
	}
	qsort(ops_index, nops_index, sizeof(ops_index[0]), by_name);
	for (unsigned k = 1; k < nops_index; k++)
		if (!strcmp(ops_index[k - 1].op, ops_index[k].op))
			abort(); /* the rows of an opcode are not next to each other */
}

static const struct ptx_row *rows_of(const char *s, size_t n, unsigned *count)
{
	unsigned lo = 0, hi = nops_index;

	pthread_once(&once, build_index);
	hi = nops_index;
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		int c = strncmp(ops_index[mid].op, s, n);
		if (!c && ops_index[mid].op[n])
			c = 1;
		if (!c) {
			*count = ops_index[mid].n;
			return &rows[ops_index[mid].first];
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*count = 0;
	return NULL;
}

/* Whether opcodes of the table begin with op and a dot. */
static bool has_longer(const char *s, size_t n)
{
	unsigned lo = 0, hi = nops_index;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		int c = strncmp(ops_index[mid].op, s, n);
		if (!c && ops_index[mid].op[n] == '.')
			return true;
		if (c < 0 || (!c && (unsigned char)ops_index[mid].op[n] < '.'))
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

#define MAX_SUFFIXES 24
/* The rows of the longest opcode that the instruction begins with; *used: how many of its suffixes
 * that takes. */
static const struct ptx_row *longest_opcode(const struct ptx_token *op,
	const struct ptx_token *suffix, unsigned n, unsigned *used, unsigned *count)
{
	const struct ptx_row *r = rows_of(op->s, op->n, count), *longer;
	char text[128];
	size_t len = op->n;
	unsigned c;

	*used = 0;
	if (len >= sizeof(text))
		return r;
	memcpy(text, op->s, len);
	for (unsigned k = 0; k < n && has_longer(text, len); k++) {
		if (len + 1 + suffix[k].n >= sizeof(text))
			break;
		text[len++] = '.';
		memcpy(text + len, suffix[k].s, suffix[k].n);
		len += suffix[k].n;
		longer = rows_of(text, len, &c);
		if (longer) {
			r = longer;
			*count = c;
			*used = k + 1;
		}
	}
	return r;
}

/* --- one instruction --- */
static uint32_t flags_of(ptx_mods m)
{
	uint32_t f = 0;

	f |= m & MB(ftz) ? F_FTZ : 0;
	f |= m & MB(sat) ? F_SAT : 0;
	f |= m & (MB(rz) | MB(rzi)) ? F_RZ : 0;
	f |= m & (MB(rm) | MB(rmi)) ? F_RM : 0;
	f |= m & (MB(rp) | MB(rpi)) ? F_RP : 0;
	f |= m & MB(rna) ? F_RNA : 0;
	f |= m & (MB(rni) | MB(rzi) | MB(rmi) | MB(rpi)) ? F_INT : 0;
	f |= m & MB(cc) ? F_CC : 0;
	f |= m & MB(hi) ? F_HI : 0;
	f |= m & MB(NaN) ? F_NAN : 0;
	f |= m & MB(relu) ? F_RELU : 0;
	f |= m & MB(satfinite) ? F_SATFINITE : 0;
	return f;
}

static bool at_most_one(ptx_mods m)
{
	return !(m & (m - 1));
}

static void reset_insn(struct ptx_dec *d)
{
	struct ptx_insn *i = d->i;
	struct ptx_insn keep = *i;

	memset(i, 0, sizeof(*i));
	i->pred = keep.pred;
	i->flags = keep.flags & F_NEG_PRED;
	i->line = keep.line;
	i->name = keep.name;
	i->rpc = NO_PC;
	for (unsigned k = 0; k < 6; k++)
		i->o[k] = NO_REG;
	i->type = d->types[0];
	i->type2 = d->types[1];
}

static void refuse(struct ptx_dec *d, const char *why)
{
	char *text;
	size_t n = strlen(why) + 1;

	reset_insn(d);
	text = ptx_alloc(d->p->m, n);
	memcpy(text, why, n);
	d->i->flags |= F_CTRL;
	d->i->arg = C_REFUSED;
	d->i->u.text = text;
}

static bool row_takes(const struct ptx_dec *d, const struct ptx_row *r)
{
	unsigned want = (r->types != 0) + (r->types2 != 0), have = d->ntypes;

	if (r->types2 == TB_REST) {
		have = have != 0;
		want = 1;
	}
	/* SIMD video instructions name the types of all three operands; rows take those that agree
	 */
	if (have == 3 && d->types[0] == d->types[1] && d->types[1] == d->types[2] &&
		!strncmp(r->op, "vabsdiff", 8))
		have = 1;
	if (have != want || (d->mods & r->must) != r->must || d->mods & ~(r->must | r->may))
		return false;
	if (want && !(r->types >> d->types[0] & 1))
		return false;
	return want < 2 || r->types2 >> d->types[1] & 1;
}

static void choose_row(struct ptx_dec *d, const struct ptx_row *r, unsigned n, const char *unknown)
{
	const char *why = unknown ? unknown : "this form is not implemented", *got;
	unsigned nfixes = d->p->nfixes;
	bool chosen = false;

	if (!at_most_one(d->mods & (MB(rn) | MB(rz) | MB(rm) | MB(rp) | MB(rna) | MB(rni) |
					   MB(rzi) | MB(rmi) | MB(rpi))))
		n = 0;
	for (; n && !unknown; n--, r++) {
		if (!row_takes(d, r))
			continue;
		reset_insn(d);
		d->row = r;
		d->i->h = r->h;
		d->i->row = r;
		d->i->arg = r->h ? r->arg : r->arg & 0xff;
		d->i->cls = (uint8_t)(r->h ? 0 : r->arg >> 8);
		d->i->size = (uint8_t)ptx_type_bytes(d->i->type);
		d->i->flags |= flags_of(d->mods) | (r->h ? 0 : F_CTRL);
		d->p->nfixes = nfixes;
		got = ptx_match(d);
		if (got) {
			why = chosen ? why : got;
			continue;
		}
		got = r->select ? r->select(d) : NULL;
		if (!got)
			return;
		why = got;
		chosen = true; /* the operands fit: this is the form that was meant */
	}
	d->p->nfixes = nfixes;
	refuse(d, why);
}

static const char *const mod_names[M_COUNT] = {
#define X(n) [M_##n] = #n,
	PTX_MODS(X)
#undef X
};

/* One .suffix of the opcode; false when no row knows it. */
static bool take_suffix(struct ptx_dec *d, const struct ptx_token *t)
{
	static const struct {
		const char *name;
		unsigned mod;
	} others[] = {{"shared::cta", M_shared}, {"shared::cluster", M_shcluster},
		{"L2::cache_hint", M_cache_hint}, {"mbarrier::complete_tx::bytes", M_txbytes},
		{"multicast::cluster", M_multicast}, {"param::entry", M_param},
		{"param::func", M_param}, {"L1", M_hint}, {"L2", M_hint}};

	for (unsigned k = 1; k < T_COUNT; k++)
		if (ptx_tok_is(t, TK_DOT, ptx_type_name[k])) {
			if (d->ntypes == 4)
				return false;
			d->types[d->ntypes++] = (uint8_t)k;
			return true;
		}
	for (unsigned k = 0; k < M_COUNT; k++)
		if (ptx_tok_is(t, TK_DOT, mod_names[k])) {
			d->mods |= (ptx_mods)1 << k;
			return true;
		}
	for (unsigned k = 0; k < sizeof(others) / sizeof(others[0]); k++)
		if (ptx_tok_is(t, TK_DOT, others[k].name)) {
			d->mods |= (ptx_mods)1 << others[k].mod;
			return true;
		}
	if (t->n > 4 && t->s[0] == 'L' && (t->s[1] == '1' || t->s[1] == '2') && t->s[2] == ':') {
		d->mods |= MB(hint);
		return true;
	}
	return false;
}

static const char *instruction_name(struct ptx_parse *p, const char *s, size_t n)
{
	char buf[80];
	uint32_t h = 5381;
	size_t k = 0;
	const char **slot;
	char *copy;

	for (; n && k + 1 < sizeof(buf); n--, s++) {
		if (*s <= ' ')
			continue;
		buf[k++] = *s;
		h = h * 33 + (unsigned char)*s;
	}
	buf[k] = 0;
	slot = &p->names[h % 1024];
	if (*slot && !strcmp(*slot, buf))
		return *slot;
	copy = ptx_alloc(p->m, k + 1);
	memcpy(copy, buf, k + 1);
	*slot = copy;
	return copy;
}

/* --- calls --- */
static const char *call_xfers(struct ptx_dec *d, const struct ptx_opnd *list, unsigned n,
	const struct ptx_formal *f, struct ptx_xfer **ret)
{
	struct ptx_xfer *x = *ret = ptx_alloc(d->p->m, (n + 1) * sizeof(*x));

	for (unsigned k = 0; k < n; k++) {
		const struct ptx_opnd *o = &list[k];
		if (o->kind == O_NAME)
			ptx_fail(d->p, d->i->line, "'%.*s' is not declared",
				(int)(o->len < 60 ? o->len : 60), o->name);
		if (o->kind != O_VAR || o->sym->var->space != SP_LOCAL || o->disp)
			return "an argument that is not a .param variable";
		if (o->sym->var->size != f[k].size)
			return "an argument whose size is not the parameter's";
		x[k] = (struct ptx_xfer){
			(uint32_t)o->sym->var->addr, f[k].off, (uint32_t)f[k].size};
	}
	return NULL;
}

/* [ (results), ] callee [, (arguments)] [, prototype] */
static const char *decode_call(struct ptx_dec *d)
{
	const struct ptx_opnd *o = d->ops, *end = d->ops + d->nops, *rets = NULL, *args = NULL,
			      *callee;
	struct ptx_call *c = ptx_alloc(d->p->m, sizeof(*c));
	struct ptx_function *fn = d->p->fn;
	const struct ptx_proto *sig;
	const char *why;

	if (d->mods & ~MB(uni))
		return "this form is not implemented";
	if (o < end && o->kind == O_LIST)
		rets = o++;
	if (o == end)
		return "no callee";
	callee = o++;
	if (o < end && o->kind == O_LIST)
		args = o++;
	if (callee->kind == O_NAME)
		ptx_fail(d->p, d->i->line, "function '%.*s' is not declared",
			(int)(callee->len < 60 ? callee->len : 60), callee->name);
	if (callee->kind == O_FUNC && o == end) {
		c->fn = callee->sym->fn;
		sig = &c->fn->sig;
		if (c->fn->is_entry || c->fn->reg_params)
			return "a call of this kind of function";
		fn->callees = ptx_grow(
			d->p->m, fn->callees, fn->ncallees, &fn->capcallees, sizeof(*fn->callees));
		fn->callees[fn->ncallees++] = c->fn;
		/* addresses depend on the order of the calls */
		if (c->fn->builtin == PB_MALLOC || c->fn->builtin == PB_FREE)
			fn->ordered = true;
	} else if (callee->kind == O_REG && !callee->nsel && ptx_type_bits[callee->type] == 64 &&
		   o + 1 == end && o->sym && o->sym->kind == SY_PROTO) {
		c->target = callee->off;
		sig = o->sym->proto;
		fn->has_indirect = true;
	} else {
		return "this form of call is not implemented";
	}
	c->nrets = rets ? rets->nelem : 0;
	c->nargs = args ? args->nelem : 0;
	if (c->nrets != sig->nrets || c->nargs != sig->nparams)
		return "a call with another number of arguments than its function has";
	why = call_xfers(d, rets ? rets->elem : NULL, c->nrets, sig->rets, &c->rets);
	if (!why)
		why = call_xfers(d, args ? args->elem : NULL, c->nargs, sig->params, &c->args);
	if (why)
		return why;
	reset_insn(d);
	d->i->flags |= F_CTRL;
	d->i->arg = C_CALL;
	d->i->u.call = c;
	return NULL;
}

/* @p, @!p */
static void parse_guard(struct ptx_parse *p, struct ptx_insn *i)
{
	uint8_t type;

	if (!ptx_accept(p, '@'))
		return;
	if (ptx_accept(p, '!'))
		i->flags |= F_NEG_PRED;
	if (p->lx.t.kind != TK_IDENT || !ptx_reg(p, p->lx.t.s, p->lx.t.n, &i->pred, &type) ||
		type != T_pred)
		ptx_fail(p, p->lx.t.line, "'%.*s' is not a predicate",
			(int)(p->lx.t.n < 60 ? p->lx.t.n : 60), p->lx.t.s);
	ptx_next(p);
}

static void parse_operands(struct ptx_dec *d)
{
	struct ptx_parse *p = d->p;

	p->nelems = 0;
	while (!ptx_punct(p, ';') && !ptx_punct(p, '}') && p->lx.t.kind != TK_EOF) {
		if (d->nops == PTX_MAX_OPNDS)
			ptx_fail(p, p->lx.t.line, "too many operands");
		d->ops[d->nops] = ptx_operand(p, 0);
		d->nops++;
		if (ptx_punct(p, '|')) {
			d->ops[d->nops - 1].pair = true;
			ptx_next(p);
		} else if (!ptx_accept(p, ',')) {
			break;
		}
	}
}

static void skip_braces(struct ptx_parse *p)
{
	while (!ptx_punct(p, '}') && !ptx_punct(p, ';') && p->lx.t.kind != TK_EOF)
		ptx_next(p);
	ptx_expect(p, '}');
}

/* Atomics are relaxed at the GPU's scope unless they say otherwise, volatile is relaxed at the
 * system's: "PTX ISA 9.0", 8.4 and 9.7.13. */
static uint8_t order_of(const struct ptx_dec *d, const struct ptx_token *op)
{
	bool atomic = ptx_tok_is(op, TK_IDENT, "atom") || ptx_tok_is(op, TK_IDENT, "red");
	bool fence = ptx_tok_is(op, TK_IDENT, "membar") || ptx_tok_is(op, TK_IDENT, "fence");
	ptx_mods m = d->mods;
	unsigned order = 0;

	if (fence)
		order = ORDER_FENCE | ORDER_STRONG | (m & (MB(release)) ? 0 : ORDER_ACQUIRE) |
			(m & MB(acquire) ? 0 : ORDER_RELEASE);
	else if (atomic ||
		 m & (MB(volatile) | MB(relaxed) | MB(acquire) | MB(release) | MB(acq_rel)))
		order = ORDER_STRONG | (m & (MB(acquire) | MB(acq_rel)) ? ORDER_ACQUIRE : 0) |
			(m & (MB(release) | MB(acq_rel)) ? ORDER_RELEASE : 0);
	if (!order)
		return 0;
	return (uint8_t)(order | (m & (MB(sys) | MB(volatile)) ? ORDER_SYS
					 : m & MB(cta)	       ? ORDER_CTA
					 : m & MB(cluster)     ? ORDER_CLUSTER
							       : ORDER_GPU));
}

/* ld.const[2].u32: the bank, which follows .const. Afterwards the current token is its last one. */
static void skip_bank(struct ptx_parse *p)
{
	struct ptx_lex save = p->lx;

	if (!ptx_tok_is(&p->lx.t, TK_DOT, "const"))
		return;
	ptx_next(p);
	if (p->lx.t.glued && ptx_accept(p, '[') && p->lx.t.kind == TK_INT) {
		ptx_next(p);
		if (ptx_punct(p, ']'))
			return;
	}
	p->lx = save;
}

void ptx_decode(struct ptx_parse *p)
{
	struct ptx_opnd ops[PTX_MAX_OPNDS];
	struct ptx_dec d = {.p = p, .ops = ops};
	const char *unknown = NULL, *last;
	const struct ptx_row *r;
	struct ptx_token op, suffix[MAX_SUFFIXES];
	unsigned n, nsuffix = 0, used;

	d.i = ptx_emit(p);
	parse_guard(p, d.i);
	op = p->lx.t;
	if (op.kind != TK_IDENT)
		ptx_fail(p, op.line, "'%.*s' is not an instruction", (int)(op.n < 60 ? op.n : 60),
			op.s);
	d.i->line = op.line;
	d.is_tex = ptx_tex_opcode(op.s, op.n);
	last = op.s + op.n;
	ptx_next(p);
	for (; p->lx.t.kind == TK_DOT; ptx_next(p)) {
		if (nsuffix == MAX_SUFFIXES)
			ptx_fail(p, op.line, "an instruction with more than %u modifiers",
				MAX_SUFFIXES);
		suffix[nsuffix++] = p->lx.t;
		last = p->lx.t.s + p->lx.t.n;
		skip_bank(p);
	}
	d.i->name = instruction_name(p, op.s, (size_t)(last - op.s));
	r = longest_opcode(&op, suffix, nsuffix, &used, &n);
	for (unsigned k = used; k < nsuffix; k++)
		if (!(d.is_tex && ptx_tex_suffix(&d, &suffix[k])) && !take_suffix(&d, &suffix[k]))
			unknown = "a modifier that is not implemented";
	if (r && r->pattern[0] == '*') /* known, and refused */
		r = NULL;
	if (r || ptx_tok_is(&op, TK_IDENT, "call"))
		parse_operands(&d);
	else /* whatever its operands look like */
		while (!ptx_punct(p, ';') && !ptx_punct(p, '}') && p->lx.t.kind != TK_EOF)
			ptx_accept(p, '{') ? skip_braces(p) : ptx_next(p);
	if (!ptx_punct(p, ';'))
		ptx_fail(p, p->lx.t.line, "';' should end %s", d.i->name);
	if (ptx_tok_is(&op, TK_IDENT, "call")) {
		const char *why = unknown ? unknown : decode_call(&d);
		if (why)
			refuse(&d, why);
	} else {
		choose_row(&d, r, n, r ? unknown : "the instruction is not implemented");
	}
	d.i->order = order_of(&d, &op);
	ptx_next(p);
}
