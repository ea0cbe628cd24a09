/* SPDX-License-Identifier: Apache-2.0
 *
 * Which instruction of a launch made a NaN, on a software GPU: the launch is run to the store of
 * the element, then its warp is run again, instruction by instruction, with a label on each
 * register of each lane that is not finite: where its value was made. A value that came through
 * memory is followed to the thread that stored it there.
 *
 * This is about where, never about whether: what cannot be followed leaves the store as the answer,
 * and says so.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/nan/nan-private.h"
#include "replay/device-kernel.h"
#include "replay/values.h"

enum { HITS_MOST = 4096, STEPS_MOST = 20000, TOKENS = 16, HOPS_MOST = 16, ORIGINS_MOST = 60000 };

/* A register in an instruction's text. */
struct token {
	char name[24];
	bool is_dst, wide; /* wide: the first of several, "v[2:3]" */
};
struct insn {
	const char *text;
	struct token v[TOKENS];
	unsigned n;
	enum replayer_as type, from;	  /* of what it makes, and of what it takes; AUTO: bits */
	bool integer, store, load, lanes; /* lanes: it takes values of other lanes */
};
/* Where a value was made. */
struct origin {
	struct nan_site site;
	bool load;
	unsigned space;
	uint64_t addr, step;
};
struct label {
	char name[64];
	uint16_t of[SOFT_LANES]; /* origin + 1 */
};
/* A store: the thread, and how many instructions its warp had begun. */
struct place {
	uint32_t block[3], thread[3];
	uint64_t step;
	bool found;
};
struct site {
	struct nan_job *j;
	uint64_t seq;
	enum replayer_as as;
	bool inf;
	struct soft_value *regs; /* heap; before the next instruction */
	size_t nregs;
	struct soft_value address; /* of the load that comes next */
	struct label *labels;	   /* heap */
	size_t nlabels, cap_labels;
	struct origin *origins; /* heap */
	size_t norigins, cap_origins;
};

/* --- instructions --- */

static bool begins(const char *op, const char *with)
{
	return !strncmp(op, with, strlen(with));
}

/* The n-th type of numbers in an opcode; AUTO: bits, or none. */
static enum replayer_as op_type(const char *op, const char *end, unsigned n, bool *ret_integer)
{
	static const struct {
		const char *name;
		enum replayer_as as;
		bool integer;
	} names[] = {{"bf16", REPLAYER_AS_BF16, false}, {"f16", REPLAYER_AS_F16, false},
		{"f32", REPLAYER_AS_F32, false}, {"f64", REPLAYER_AS_F64, false},
		{"s32", REPLAYER_AS_AUTO, true}, {"u32", REPLAYER_AS_AUTO, true},
		{"s64", REPLAYER_AS_AUTO, true}, {"u64", REPLAYER_AS_AUTO, true},
		{"i32", REPLAYER_AS_AUTO, true}, {"u16", REPLAYER_AS_AUTO, true},
		{"s16", REPLAYER_AS_AUTO, true}, {"b32", REPLAYER_AS_AUTO, false},
		{"b64", REPLAYER_AS_AUTO, false}, {"b16", REPLAYER_AS_AUTO, false}};

	for (const char *p = op; p < end; p++) {
		if (*p != '.' && *p != '_')
			continue;
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			if (!begins(p + 1, names[i].name) || n--)
				continue;
			*ret_integer = names[i].integer;
			return names[i].as;
		}
	}
	return REPLAYER_AS_AUTO;
}

/* "%f1", "v3", "s4"; of "v[2:3]" the first. */
static const char *take_token(const char *p, struct token *t)
{
	const bool ptx = *p == '%';
	size_t n = 0;

	if (!ptx && !((*p == 'v' || *p == 's') && (isdigit((unsigned char)p[1]) || p[1] == '[')))
		return NULL;
	if (!ptx)
		t->name[n++] = *p;
	p += 1;
	t->wide = *p == '[' && !ptx;
	p += t->wide;
	while (n + 1 < sizeof t->name &&
		(isalnum((unsigned char)*p) || (ptx && (*p == '_' || *p == '$'))))
		t->name[n++] = *p++;
	t->name[n] = 0;
	return p;
}

static void take_operands(struct insn *x, const char *p)
{
	bool first = !x->store, name = false;
	int depth = 0;

	for (; *p && x->n < TOKENS; name = isalnum((unsigned char)*p) || *p == '_', p++) {
		struct token *t = &x->v[x->n];
		const char *end = name ? NULL : take_token(p, t);

		if (end) {
			t->is_dst = first;
			x->n++;
			p = end - 1;
			continue;
		}
		depth += (*p == '{') - (*p == '}');
		first = first && !(*p == ',' && !depth);
	}
}

static void read_insn(struct insn *x, const char *text)
{
	const char *op = text, *end;
	bool unused = false;

	*x = (struct insn){.text = text};
	if (*op == '@') {
		op += strcspn(op, " \t");
		op += strspn(op, " \t");
	}
	end = op + strcspn(op, " \t");
	x->store = begins(op, "st.") || begins(op, "red.") || strstr(op, "_store") ||
		   strstr(op, "_write") || strstr(op, "_atomic");
	x->load = begins(op, "ld.") || begins(op, "ldu.") || strstr(op, "_load") ||
		  strstr(op, "_read_");
	x->lanes = begins(op, "shfl") || strstr(op, "bpermute") || strstr(op, "dpp") ||
		   strstr(op, "readlane") || strstr(op, "readfirstlane") || begins(op, "redux");
	x->type = op_type(op, end, 0, &x->integer);
	x->from = begins(op, "cvt") || begins(op, "v_cvt") ? op_type(op, end, 1, &unused) : x->type;
	x->integer = (x->integer && !x->load && !begins(op, "mov")) || begins(op, "setp");
	take_operands(x, end);
}

/* --- registers --- */

static const struct soft_value *reg_of(const struct soft_value *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name + (v[i].name[0] == '%'), name))
			return &v[i];
	return NULL;
}

static enum replayer_as as_of(const struct site *x, const struct soft_value *v, enum replayer_as as)
{
	if (as != REPLAYER_AS_AUTO)
		return as;
	return v->bytes == 8		   ? REPLAYER_AS_F64
	       : v->bytes == 4		   ? REPLAYER_AS_F32
	       : x->as == REPLAYER_AS_BF16 ? REPLAYER_AS_BF16
					   : REPLAYER_AS_F16;
}

static bool bad_bits(const struct site *x, uint64_t bits, enum replayer_as as)
{
	return nan_is_nan(bits, as) || (x->inf && nan_is_inf(bits, as));
}

/* Of two halves in a register either. */
static bool is_bad(
	const struct site *x, const struct soft_value *v, unsigned lane, enum replayer_as as)
{
	const enum replayer_as is = as_of(x, v, as);
	const unsigned size = value_types[is].bytes;
	uint64_t bits = v->value[lane];

	if (!(v->lanes >> lane & 1) || size > v->bytes)
		return false;
	for (unsigned i = 0; i < v->bytes && i < 8; i += size) {
		const uint64_t one =
			size == 8 ? bits : bits >> (8 * i) & ((UINT64_C(1) << (8 * size)) - 1);

		if (bad_bits(x, one, is))
			return true;
	}
	return false;
}

static struct label *label_of(struct site *x, const char *name)
{
	for (size_t i = 0; i < x->nlabels; i++)
		if (!strcmp(x->labels[i].name, name))
			return &x->labels[i];
	MAKE_ROOM(x->labels, x->nlabels, x->cap_labels);
	x->labels[x->nlabels] = (struct label){.of = {0}};
	memcpy(x->labels[x->nlabels].name, name, strlen(name) + 1);
	return &x->labels[x->nlabels++];
}

/* --- origins --- */

static void origin_free(struct origin *o)
{
	free(o->site.file);
	free(o->site.function);
	free(o->site.text);
	free(o->site.operands);
}

static char *operands_of(const struct site *x, const struct insn *in, unsigned lane)
{
	struct buf b = BUF_INIT;

	for (unsigned i = 0; i < in->n; i++) {
		const struct soft_value *v = reg_of(x->regs, x->nregs, in->v[i].name);
		uint64_t bits;

		if (in->v[i].is_dst || in->v[i].wide || !v || !(v->lanes >> lane & 1) ||
			v->bytes < 2)
			continue;
		const enum replayer_as as = as_of(x, v, in->from);

		bits = v->value[lane];
		buf_printf(&b, "%s%s = %.9g", b.len ? ", " : "", v->name,
			value_of(bits, value_types[as].bytes > v->bytes ? REPLAYER_AS_F32 : as));
	}
	return b.len ? buf_steal(&b) : NULL;
}

/* What a load's address is, as an expression: "%r3+16" between brackets, or a register and an
 * offset in AMD's LDS. Empty: it is not known. */
static void address_text(const struct insn *in, char *dst, size_t n)
{
	const char *open = strchr(in->text, '['), *close = open ? strchr(open, ']') : NULL,
		   *offset = strstr(in->text, "offset:");

	*dst = 0;
	if (begins(in->text, "ds_read_b32") && in->n == 2)
		snprintf(dst, n, "%%%s+%lu", in->v[1].name,
			offset ? strtoul(offset + 7, NULL, 0) : 0);
	else if (close && strstr(in->text, "ld.") && !strstr(in->text, ".param") &&
		 !strstr(in->text, ".local") && !strchr(in->text, '{'))
		snprintf(dst, n, "%.*s", (int)(close - open - 1), open + 1);
}

/* Asks for it, before the instruction is executed. */
static void ask_address(struct site *x, const struct insn *in)
{
	struct soft_ask q = {.what = SOFT_ASK_VALUE};
	void *v;
	size_t n;

	x->address.lanes = 0;
	if (!in->load)
		return;
	address_text(in, q.text, sizeof q.text);
	struct err *e = *q.text ? device_kernel_ask(x->j->d, &q, sizeof x->address, &v, &n) : NULL;
	if (!e && *q.text) {
		if (n == 1)
			memcpy(&x->address, v, sizeof x->address);
		free(v);
	}
	err_free(e); /* what cannot be followed is not */
}

static void take_address(
	const struct site *x, const struct insn *in, unsigned lane, struct origin *o)
{
	const bool shared = strstr(in->text, ".shared") || begins(in->text, "ds_");

	o->load = x->address.lanes >> lane & 1;
	o->space = shared ? SOFT_SHARED : SOFT_GLOBAL;
	o->addr = o->load ? x->address.value[lane] : 0;
}

static uint16_t add_origin(
	struct site *x, const struct insn *in, const struct soft_stop *s, unsigned lane)
{
	struct origin o = {.step = s->step};

	if (x->norigins == ORIGINS_MOST)
		return 0;
	o.site = (struct nan_site){.known = true,
		.lane = lane,
		.line = s->line,
		.source_line = s->source_line,
		.file = *s->file ? xstrdup(s->file) : NULL,
		.function = xstrdup(s->function),
		.text = xstrdup(s->text),
		.operands = in->load ? NULL : operands_of(x, in, lane)};
	memcpy(o.site.block, s->block, sizeof o.site.block);
	memcpy(o.site.thread, s->thread, sizeof o.site.thread);
	if (in->load)
		take_address(x, in, lane, &o);
	MAKE_ROOM(x->origins, x->norigins, x->cap_origins);
	x->origins[x->norigins] = o;
	return (uint16_t)++x->norigins;
}

static uint16_t source_label(struct site *x, const struct insn *in, unsigned lane)
{
	for (unsigned i = 0; i < in->n; i++) {
		const struct label *l = label_of(x, in->v[i].name);

		if (in->v[i].is_dst)
			continue;
		if (l->of[lane])
			return l->of[lane];
		for (unsigned k = 0; in->lanes && k < SOFT_LANES; k++)
			if (l->of[k])
				return l->of[k];
	}
	return 0;
}

/* After the instruction: labels what it made in each lane that executed it. */
static void label(struct site *x, const struct insn *in, const struct soft_stop *before,
	const struct soft_value *after, size_t n)
{
	uint16_t made[SOFT_LANES] = {0};

	for (unsigned lane = 0; lane < SOFT_LANES; lane++)
		made[lane] =
			before->executing >> lane & 1 && !in->load ? source_label(x, in, lane) : 0;
	for (unsigned i = 0; i < in->n; i++) {
		const struct soft_value *v =
			in->v[i].is_dst ? reg_of(after, n, in->v[i].name) : NULL;

		for (unsigned lane = 0; v && lane < SOFT_LANES; lane++) {
			if (!(before->executing >> lane & 1))
				continue;
			const bool bad = !in->integer && is_bad(x, v, lane, in->type);
			/* what integers or a comparison make of it passes it on */
			const uint16_t of = in->integer	 ? made[lane]
					    : !bad	 ? 0
					    : made[lane] ? made[lane]
							 : add_origin(x, in, before, lane);

			label_of(x, in->v[i].name)->of[lane] = of;
		}
	}
}

/* --- running the launch --- */

static struct err *registers(struct site *x, struct soft_value **ret, size_t *ret_n)
{
	const struct soft_ask q = {.what = SOFT_ASK_REGISTERS};
	void *v;

	TRY(device_kernel_ask(x->j->d, &q, sizeof **ret, &v, ret_n));
	*ret = v;
	return NULL;
}

static struct err *watch(struct site *x, unsigned space, uint64_t addr)
{
	struct soft_point p = {.id = 1,
		.kind = SOFT_WATCH_TOUCH,
		.space = space,
		.addr = addr,
		.size = value_types[x->as].bytes};

	return device_kernel_points(x->j->d, &p, 1);
}

static struct err *enter(struct site *x, const struct place *at, const struct soft_stop **ret)
{
	TRY(device_kernel(x->j->d, x->seq, ret));
	return at ? device_kernel_focus(x->j->d, at->block, at->thread, ret) : NULL;
}

static bool is_write(const struct soft_stop *s)
{
	return s->why == SOFT_WHY_WATCH && (!s->change.access || s->change.access & SOFT_WRITES);
}

static void take_place(const struct soft_stop *s, struct place *ret)
{
	memcpy(ret->block, s->change.block, sizeof ret->block);
	memcpy(ret->thread, s->change.thread, sizeof ret->thread);
	ret->step = s->step;
	ret->found = true;
}

/* The last store to the element, in the order that begins with the block of `first` (NULL: any). */
static struct err *find_store(
	struct site *x, uint64_t addr, const struct place *first, struct place *ret)
{
	const struct soft_stop *s;

	ret->found = false;
	TRY(enter(x, first, &s));
	TRY(watch(x, SOFT_GLOBAL, addr));
	for (unsigned i = 0; i < HITS_MOST; i++) {
		TRY(device_kernel_go(x->j->d, SOFT_RUN, 0, &s));
		if (s->why != SOFT_WHY_WATCH)
			return NULL;
		if (is_write(s))
			take_place(s, ret);
	}
	ret->found = false; /* there are more, and the last one is not known */
	return NULL;
}

static void forget(struct site *x)
{
	for (size_t i = 0; i < x->norigins; i++)
		origin_free(&x->origins[i]);
	x->norigins = x->nlabels = 0;
	free(x->regs);
	x->regs = NULL;
	x->nregs = 0;
}

/* Runs the warp to the store; *s is before it then. */
static struct err *label_up_to(struct site *x, const struct place *at, const struct soft_stop **s)
{
	struct soft_value *after;
	struct soft_stop before;
	struct insn in;
	size_t n;

	forget(x);
	TRY(enter(x, at, s));
	TRY(registers(x, &x->regs, &x->nregs));
	while ((*s)->state == SOFT_STOPPED && (*s)->line && (*s)->step + 1 < at->step) {
		before = **s;
		read_insn(&in, before.text);
		ask_address(x, &in);
		TRY(device_kernel_go(x->j->d, SOFT_STEP, 1, s));
		TRY(registers(x, &after, &n));
		label(x, &in, &before, after, n);
		free(x->regs);
		x->regs = after;
		x->nregs = n;
		if (engine_cancelled(x->j->en))
			return err_new(ERR_INTERRUPTED, "interrupted inside a launch");
	}
	return NULL;
}

/* Which thread wrote what the load at step `until` of the warp of `at` gets. */
static struct err *find_writer(
	struct site *x, const struct place *at, const struct origin *o, struct place *ret)
{
	const struct soft_stop *s;
	struct soft_stop here;

	ret->found = false;
	TRY(enter(x, at, &s));
	TRY(watch(x, o->space, o->addr));
	here = *s;
	while (here.state == SOFT_STOPPED && here.step < o->step) {
		TRY(device_kernel_go(x->j->d, SOFT_STEP, 1, &s));
		if (is_write(s))
			take_place(s, ret);
		if (s->why == SOFT_WHY_WATCH)
			TRY(device_kernel_focus(x->j->d, at->block, at->thread, &s));
		here = *s;
	}
	return NULL;
}

static void give(struct nan_site *ret, struct origin *o)
{
	free(ret->file);
	free(ret->function);
	free(ret->text);
	free(ret->operands);
	*ret = o->site;
	o->site = (struct nan_site){0};
	if (ret->is_store) { /* what it was given made nothing */
		free(ret->operands);
		ret->operands = NULL;
	}
}

/* The thread of that lane of the focused warp. */
static struct err *thread_of(struct site *x, unsigned lane, uint32_t thread[3])
{
	const struct soft_ask q = {.what = SOFT_ASK_LANES};
	const struct soft_lane *l;
	void *v;
	size_t n;

	TRY(device_kernel_ask(x->j->d, &q, sizeof *l, &v, &n));
	l = v;
	for (size_t i = 0; i < n; i++)
		if (l[i].lane == lane)
			memcpy(thread, l[i].thread, sizeof l[i].thread);
	free(v);
	return NULL;
}

/* The origin of what the store takes; the store itself where none is known. */
static struct err *origin_at(struct site *x, const struct soft_stop *s, struct origin **ret)
{
	struct insn in;
	uint16_t of;

	read_insn(&in, s->text);
	of = source_label(x, &in, s->lane);
	if (!of)
		of = add_origin(x, &in, s, s->lane);
	*ret = of ? &x->origins[of - 1] : NULL;
	if (*ret)
		(*ret)->site.is_store = in.store && (*ret)->site.line == s->line &&
					!strstr(in.text, "red.") && !strstr(in.text, "atom");
	return *ret ? thread_of(x, (*ret)->site.lane, (*ret)->site.thread) : NULL;
}

static struct err *follow(struct site *x, struct place at, struct nan_site *ret)
{
	const struct soft_stop *s;
	struct place writer;
	struct origin *o;

	for (unsigned hop = 0; hop < HOPS_MOST; hop++) {
		if (at.step > STEPS_MOST)
			return NULL;
		TRY(label_up_to(x, &at, &s));
		if (s->state != SOFT_STOPPED || !s->line)
			return NULL;
		TRY(origin_at(x, s, &o));
		if (!o)
			return NULL;
		const struct origin from = *o;

		give(ret, o);
		if (!from.load)
			return NULL;
		ret->is_store = true; /* a load made nothing: unless it is followed */
		TRY(find_writer(x, &at, &from, &writer));
		if (!writer.found)
			return NULL;
		at = writer;
	}
	return NULL;
}

struct err *nan_find_site(struct nan_job *j, struct nan_cause *c)
{
	struct site x = {.j = j, .seq = c->seq, .as = c->at.as, .inf = c->is_inf};
	struct place at = {.found = false}, again;
	struct err *e;

	if (!j->rd->shows || c->node)
		return NULL;
	e = find_store(&x, c->at.addr, NULL, &at);
	if (!e && at.found)
		e = find_store(&x, c->at.addr, &at, &again);
	if (!e && at.found && again.found)
		e = follow(&x, again, &c->site);
	forget(&x);
	free(x.labels);
	free(x.origins);
	if (!e || e->code == ERR_INTERRUPTED || e->code == ERR_SYSTEM)
		return err_first(e, device_seek(j->d, c->seq));
	err_free(e); /* the launch cannot be looked into: it is named all the same */
	return device_seek(j->d, c->seq);
}
