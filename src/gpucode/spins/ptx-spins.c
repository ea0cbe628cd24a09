/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-spins.h. Twice the registers that always have one value are found, and with them the
 * branches that are taken: first with memory unknown, for what is true of the kernel at any time,
 * so also of lanes that have come far; then with the values that are there now.
 */
#include "gpucode/ptx-spins.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"
#include "gpucode/spins/ptx-flow.h"
#include "gpucode/spins/ptx-values.h"

/* Accesses of all lanes outside of loops that are over within the time between two looks, even if
 * each is an atomic over a slow bus, one after the other. */
#define SHORT_ACCESSES (1u << 17)
/* Instructions of all lanes, the same. */
#define SHORT_INSNS (1ull << 36)
#define LOOP_RESULTS 8u

struct judge {
	struct flow f;
	struct ptx_spins *out;
	const struct ptx_spin_launch *launch;
	bool *reached;		 /* instructions, with memory unknown */
	struct flow_parts loops; /* of the flow with memory unknown */
};

static void open_because(struct judge *j, const char *why)
{
	j->out->answer = PTX_SPINS_OPEN;
	if (!j->out->why)
		j->out->why = why;
}

/* --- the flow --- */

/* Where an instruction may go on: up to two, as far as values say. */
static unsigned successors(const struct flow_values *v, uint32_t at, uint32_t ret[2])
{
	const struct flow_insn *i = &v->f->insn[at];
	const struct flow_value guard = flow_guard(v, i);
	const bool is_branch = ptx_begins(i->op, "bra");
	const bool leaves = !is_branch && (ptx_begins(i->op, "ret") || ptx_begins(i->op, "exit") ||
						  ptx_begins(i->op, "trap"));
	unsigned n = 0;

	if (is_branch && i->target != FLOW_NONE && (guard.known != FLOW_VALUE || guard.v))
		ret[n++] = i->target;
	if (i->next != FLOW_NONE &&
		!((is_branch || leaves) && guard.known == FLOW_VALUE && guard.v))
		ret[n++] = i->next;
	return n;
}

/* Whether a lane may end with this instruction. */
static bool may_end(const struct flow_values *v, uint32_t at)
{
	const struct flow_insn *i = &v->f->insn[at];
	const struct flow_value guard = flow_guard(v, i);
	const bool taken = guard.known != FLOW_VALUE || guard.v;

	if (ptx_begins(i->op, "ret") || ptx_begins(i->op, "exit") || ptx_begins(i->op, "trap"))
		return taken;
	if (ptx_begins(i->op, "bra"))
		return taken ? i->target == FLOW_NONE : i->next == FLOW_NONE;
	return i->next == FLOW_NONE;
}

/* Marks what can be reached from the first instruction. */
static bool *reach(const struct flow_values *v)
{
	const size_t n = v->f->n;
	bool *reached = xcalloc(n + 1, sizeof(*reached));
	uint32_t *todo = xcalloc(n + 1, sizeof(*todo)), ntodo = 0, to[2];

	if (n)
		reached[todo[ntodo++] = 0] = true;
	while (ntodo) {
		const uint32_t at = todo[--ntodo];

		for (unsigned k = successors(v, at, to); k-- > 0;)
			if (!reached[to[k]])
				reached[todo[ntodo++] = to[k]] = true;
	}
	free(todo);
	return reached;
}

/* The edges between these instructions; the caller frees them. */
static struct flow_edge *edges(const struct flow_values *v, const bool *of, size_t *ret_n)
{
	struct flow_edge *e = xcalloc(2 * v->f->n + 1, sizeof(*e));
	uint32_t to[2];
	size_t n = 0;

	for (uint32_t i = 0; i < v->f->n; i++)
		for (unsigned k = of[i] ? successors(v, i, to) : 0; k-- > 0;)
			e[n++] = (struct flow_edge){i, to[k]};
	*ret_n = n;
	return e;
}

static void find_loops(const struct flow_values *v, const bool *of, struct flow_parts *ret)
{
	size_t n;
	struct flow_edge *e = edges(v, of, &n);

	flow_parts(ret, (uint32_t)v->f->n, e, n);
	free(e);
}

static bool in_loop(const struct judge *j, uint32_t at)
{
	return j->reached[at] && j->loops.cyclic[j->loops.part[at]];
}

/* --- what loops do --- */

static bool reads_clock(const struct flow_insn *i)
{
	static const char *const clocks[] = {"%clock", "%clock_hi", "%clock64", "%globaltimer",
		"%globaltimer_lo", "%globaltimer_hi"};

	for (unsigned k = 0; k < i->nargs && k < FLOW_ARGS; k++)
		for (unsigned c = 0; c < sizeof(clocks) / sizeof(*clocks); c++)
			if (ptx_has_name(i->arg[k], clocks[c]))
				return true;
	return false;
}

/* Instructions whose results depend on nothing but their operands, and what neither waits nor
 * changes anything. */
static bool is_plain(struct ptx_text op)
{
	static const char *const plain[] = {"mov", "add", "sub", "mul", "mad", "and", "or", "xor",
		"not", "neg", "cnot", "min", "max", "abs", "shl", "shr", "shf", "selp", "setp",
		"set", "slct", "cvt", "cvta", "bfe", "bfi", "prmt", "lop3", "popc", "clz", "brev",
		"bfind", "testp", "ld", "atom", "bra", "ret", "exit", "trap", "nanosleep", "membar",
		"fence"};

	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (ptx_begins(op, plain[i]))
			return true;
	return false;
}

static void add_read(struct judge *j, const struct ptx_spin_read *r)
{
	struct ptx_spins *o = j->out;

	for (unsigned i = 0; i < o->nreads; i++)
		if (o->read[i].addr == r->addr && o->read[i].bytes == r->bytes)
			return;
	if (o->nreads == PTX_SPIN_READS) {
		open_because(j, "its loops read more places than are looked at");
		return;
	}
	o->read[o->nreads++] = *r;
}

/* An instruction in a loop. */
static void check_one(struct judge *j, const struct flow_values *v, uint32_t at)
{
	const struct flow_insn *i = &v->f->insn[at];
	struct ptx_spin_read r;
	bool addr;
	const enum flow_access access = flow_access(v, i, &r, &addr);

	if (access == FLOW_WRITES)
		open_because(j, "one of its loops may write to memory");
	else if (!is_plain(i->op))
		open_because(j, "one of its loops has an instruction of which not enough is known");
	else if (reads_clock(i))
		open_because(j, "one of its loops reads a clock");
	else if (access == FLOW_READS && addr)
		add_read(j, &r);
}

/* From the operands, the guard and the address of an instruction of a loop to its results. */
static void add_uses(struct judge *j, const uint32_t *made_in, uint32_t part, uint32_t at,
	struct flow_edge **e, size_t *n, size_t *cap)
{
	const struct flow_insn *i = &j->f.insn[at];
	uint32_t result[LOOP_RESULTS], name;
	const unsigned nresults = flow_results(&j->f, i, result, LOOP_RESULTS);

	for (unsigned k = 0; k <= i->nargs && k <= FLOW_ARGS; k++) {
		struct ptx_text at_arg = k < i->nargs && k < FLOW_ARGS
						 ? i->arg[k]
						 : (struct ptx_text){NULL, NULL},
				w;

		if (k == i->nargs || k == FLOW_ARGS) { /* last: the guard */
			if (i->guard == FLOW_NONE)
				break;
			at_arg = j->f.numbers.text[i->guard];
		} else if (!k) {
			continue;
		}
		while (w = flow_word(&at_arg), w.p < w.end) {
			if (!flow_find(&j->f, w, &name) || made_in[name] != part + 1)
				continue;
			for (unsigned r = 0; r < nresults; r++) {
				MAKE_ROOM(*e, *n, *cap);
				(*e)[(*n)++] = (struct flow_edge){name, result[r]};
			}
		}
	}
}

/* A register whose value is made from itself, around a loop: it counts, or remembers. made_in: the
 * loop in which each register gets a value, + 1. A register that gets values in two loops has the
 * last one's mark, so both count as loops that count: see check_counts(). */
static void check_counts(struct judge *j)
{
	uint32_t *made_in = xcalloc(j->f.nnames + 1, sizeof(*made_in)), result[LOOP_RESULTS];
	struct flow_edge *e = NULL;
	size_t n = 0, cap = 0;
	struct flow_parts p;
	bool shared = false;

	for (uint32_t i = 0; i < j->f.n; i++) {
		const unsigned k =
			in_loop(j, i) ? flow_results(&j->f, &j->f.insn[i], result, LOOP_RESULTS)
				      : 0;

		shared |= k == LOOP_RESULTS;
		for (unsigned r = 0; r < k; r++) {
			shared |= made_in[result[r]] && made_in[result[r]] != j->loops.part[i] + 1;
			made_in[result[r]] = j->loops.part[i] + 1;
		}
	}
	for (uint32_t i = 0; i < j->f.n; i++)
		if (in_loop(j, i))
			add_uses(j, made_in, j->loops.part[i], i, &e, &n, &cap);
	flow_parts(&p, (uint32_t)j->f.nnames, e, n);
	for (size_t i = 0; i < j->f.nnames; i++)
		shared |= p.cyclic[p.part[i]];
	if (shared)
		open_because(
			j, "one of its loops counts, or keeps a value from one turn to the next");
	flow_parts_free(&p);
	free(e);
	free(made_in);
}

static void check_loops(struct judge *j, const struct flow_values *v)
{
	bool *counted = xcalloc(j->loops.n + 1, sizeof(*counted));

	for (uint32_t i = 0; i < j->f.n; i++) {
		if (!in_loop(j, i))
			continue;
		j->out->nloops += !counted[j->loops.part[i]];
		counted[j->loops.part[i]] = true;
		check_one(j, v, i);
	}
	free(counted);
	check_counts(j);
}

/* --- how long the rest may take --- */

/* Whether all that is outside of loops is over within the time between two looks. */
static bool is_short(const struct judge *j, const struct flow_values *v)
{
	const struct ptx_spin_launch *l = j->launch;
	uint64_t lanes = 1, insns = 0, accesses = 0;

	for (unsigned i = 0; i < 3; i++)
		lanes = sat_mul(lanes, sat_mul(l->grid[i], l->block[i]));
	for (uint32_t i = 0; i < j->f.n; i++) {
		struct ptx_spin_read r;
		bool addr;

		if (!j->reached[i] || in_loop(j, i))
			continue;
		insns++;
		accesses += flow_access(v, &j->f.insn[i], &r, &addr) != FLOW_NO_ACCESS ||
			    (ptx_begins(j->f.insn[i].op, "ld") &&
				    !ptx_begins(j->f.insn[i].op, "ld.param"));
	}
	return sat_mul(lanes, accesses) <= SHORT_ACCESSES && sat_mul(lanes, insns) <= SHORT_INSNS;
}

/* Whether the lanes of this kind that begin now can come to no end. */
static bool all_stay(const struct judge *j, const struct flow_values *now, enum flow_lane lane)
{
	struct flow_values v = *now;
	bool *reached, ends = false;

	v.lane = lane;
	flow_values_find(&v);
	reached = reach(&v);
	for (uint32_t i = 0; i < j->f.n; i++)
		ends |= reached[i] && may_end(&v, i);
	free(reached);
	flow_values_free(&v);
	return !ends;
}

/* --- with the values that are there --- */

/* The loops that lanes stay in now; false: a lane may leave one, or not. */
static bool find_kept(struct judge *j, const struct flow_values *v, bool *ret_any)
{
	struct flow_parts kept;
	bool sure = true;
	uint32_t to[2];

	find_loops(v, j->reached, &kept);
	*ret_any = false;
	for (uint32_t i = 0; i < j->f.n; i++) {
		struct ptx_spin_read r;
		bool addr;

		if (!j->reached[i] || !kept.cyclic[kept.part[i]])
			continue;
		*ret_any = true;
		sure &= !may_end(v, i);
		for (unsigned k = successors(v, i, to); k-- > 0;)
			sure &= kept.part[to[k]] == kept.part[i];
		if (flow_access(v, &j->f.insn[i], &r, &addr) == FLOW_READS && addr)
			add_read(j, &r);
	}
	flow_parts_free(&kept);
	return sure;
}

static void judge_now(struct judge *j, const struct flow_values *now)
{
	const bool is_quick = is_short(j, now);
	bool any;

	j->out->nreads = 0;
	if (!find_kept(j, now, &any)) {
		open_because(j,
			"whether one of its loops ends depends on more than memory whose address is known");
		return;
	}
	if (!is_quick && (!any || (!all_stay(j, now, FLOW_EVERY_LANE) &&
					  !all_stay(j, now, FLOW_FIRST_LANE)))) {
		open_because(j, "it has many threads, which need not all come to a loop");
		return;
	}
	j->out->answer = any ? PTX_SPINS_WAITS : PTX_SPINS_ENDS;
}

static bool all_known(const struct ptx_spins *s)
{
	for (unsigned i = 0; i < s->nreads; i++)
		if (!s->read[i].known)
			return false;
	return true;
}

/* With memory as it is: its loops' atomics may turn out to write. */
static void judge_loops(struct judge *j, const struct flow_values *before,
	const struct ptx_spin_read *known, unsigned nknown)
{
	struct flow_values now = {
		.f = &j->f, .launch = j->launch, .known = known, .nknown = nknown};

	find_loops(before, j->reached, &j->loops);
	check_loops(j, before);
	if (j->out->why)
		return;
	flow_values_find(&now);
	j->out->nreads = 0;
	for (uint32_t i = 0; i < j->f.n; i++)
		if (in_loop(j, i))
			check_one(j, &now, i);
	if (!j->out->why && !all_known(j->out))
		open_because(j, "what its loops read is not known");
	if (!j->out->why)
		judge_now(j, &now);
	flow_values_free(&now);
}

void ptx_spins_ask(struct ptx_spins *ret, const char *text, size_t n, const char *kernel,
	const struct ptx_spin_launch *l, const struct ptx_spin_read *known, unsigned nknown)
{
	struct judge j = {.out = ret, .launch = l};
	struct flow_values before = {.f = &j.f, .launch = l};

	*ret = (struct ptx_spins){.answer = PTX_SPINS_OPEN};
	flow_read(&j.f, (struct ptx_text){text, text + n}, kernel);
	if (!j.f.why)
		flow_values_find(&before);
	if (j.f.why) {
		open_because(&j, j.f.why);
	} else {
		j.reached = reach(&before);
		judge_loops(&j, &before, known, nknown);
	}
	flow_values_free(&before);
	flow_parts_free(&j.loops);
	free(j.reached);
	flow_free(&j.f);
}

size_t ptx_file_name(const char *text, size_t n, uint32_t file, const char **ret)
{
	const char *const end = text + n;

	for (const char *p = text; (p = memmem(p, (size_t)(end - p), ".file", 5));) {
		struct ptx_text rest = {p + 5, memchr(p, '\n', (size_t)(end - p))};
		const char *open, *close;
		struct ptx_text w;

		rest.end = rest.end ? rest.end : end;
		p += 5;
		w = flow_word(&rest);
		if (w.p == w.end || strtoul(w.p, NULL, 10) != file)
			continue;
		open = memchr(rest.p, '"', (size_t)(rest.end - rest.p));
		close = open ? memchr(open + 1, '"', (size_t)(rest.end - open - 1)) : NULL;
		if (!close)
			continue;
		*ret = open + 1;
		return (size_t)(close - open - 1);
	}
	return 0;
}
