/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of what launches write and read: as the kernel's parameter is declared, as its code
 * computes it, or, where neither says, as what lies there looks. A span of bytes belongs to the
 * parameter whose address is the nearest before it in the same allocation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "engine/nan/nan-private.h"
#include "gpucode/ptx-stores.h"
#include "replay/values.h"
#include "state/args.h"
#include "state/steps.h"

/* What the code of a kernel says. */
struct nan_kernel {
	uint64_t id;
	struct ptx_types t;
};

/* --- parameters --- */

static uint32_t param_at(const struct sbt_blob *layout, uint64_t offset)
{
	uint32_t pair[2];

	for (uint32_t i = 0; 8 * (uint64_t)i + 8 <= layout->len; i++) {
		memcpy(pair, (const uint8_t *)layout->p + 8 * (size_t)i, 8);
		if (offset - pair[0] < pair[1])
			return i;
	}
	return NAN_NO_PARAM;
}

/* The addresses of live allocations among a launch's arguments. */
void nan_pointers_of(const struct state *st, const struct sbt_cmd *c, struct nan_pointers *ret)
{
	struct state_kernel k = {0};
	struct state_alloc a;
	struct args_words words;
	uint64_t word;

	ret->n = 0;
	if (!c || c->kind != SBT_LAUNCH)
		return;
	if (!state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k))
		k = (struct state_kernel){0};
	words = args_words(c->u.launch.args, k.params);
	while (ret->n < NAN_POINTERS_MAX && args_words_next(&words, &word)) {
		const struct nan_pointer *last = ret->n ? &ret->v[ret->n - 1] : NULL;
		const uint32_t param = param_at(&k.params, words.at - 8);

		if (state_alloc_at(st, word, &a))
			ret->v[ret->n++] = (struct nan_pointer){
				word, param, last && last->param == param ? last->number + 1 : 0};
	}
}

/* The nearest before addr, of the same allocation; of several equal ones the first. */
static const struct nan_pointer *nearest(
	const struct state *st, const struct nan_pointers *p, uint64_t addr)
{
	const struct nan_pointer *best = NULL;
	struct state_alloc a;

	if (!state_alloc_at(st, addr, &a))
		return NULL;
	for (unsigned i = 0; i < p->n; i++)
		if (p->v[i].addr <= addr && p->v[i].addr - a.addr < a.size &&
			(!best || p->v[i].addr > best->addr))
			best = &p->v[i];
	return best;
}

bool nan_reaches(const struct state *st, const struct sbt_cmd *c, uint64_t addr)
{
	struct nan_pointers *p = xmalloc(sizeof *p);
	struct state_alloc a;
	bool found = false;

	nan_pointers_of(st, c, p);
	if (state_alloc_at(st, addr, &a))
		for (unsigned i = 0; i < p->n; i++)
			found |= p->v[i].addr - a.addr < a.size;
	free(p);
	return found;
}

/* --- splitting --- */

/* Where the part that begins at addr ends, at the latest at end. */
static uint64_t part_end(
	const struct state *st, const struct nan_pointers *p, uint64_t addr, uint64_t end)
{
	struct state_alloc a;

	if (state_alloc_from(st, addr, &a)) {
		const uint64_t border = a.addr > addr ? a.addr : a.addr + a.size;

		end = border < end ? border : end;
	}
	for (unsigned i = 0; i < p->n; i++)
		if (p->v[i].addr > addr && p->v[i].addr < end)
			end = p->v[i].addr;
	return end;
}

struct err *nan_split(
	struct nan_job *j, const struct state *st, const struct sbt_cmd *c, size_t *at, size_t *n)
{
	const size_t from = *at, end = *at + *n;
	struct nan_pointers *p = xmalloc(sizeof *p);

	nan_pointers_of(st, c, p);
	*at = j->nspans;
	for (size_t i = from; i < end; i++) {
		const struct nan_span s = j->spans[i];

		for (uint64_t a = s.addr; a - s.addr < s.size;) {
			const uint64_t to = part_end(st, p, a, s.addr + s.size);
			const struct nan_pointer *mine = nearest(st, p, a);

			MAKE_ROOM(j->spans, j->nspans, j->cap_spans);
			j->spans[j->nspans++] = (struct nan_span){.addr = a,
				.size = to - a,
				.param = mine ? mine->param : NAN_NO_PARAM,
				.pointer = mine ? mine->number : 0,
				.base = mine ? mine->addr : 0};
			a = to;
		}
	}
	*n = j->nspans - *at;
	free(p);
	return NULL;
}

/* --- what the code says --- */

static void read_code(struct nan_job *j, const char *name, uint64_t code, struct ptx_types *ret)
{
	struct buf text = BUF_INIT;
	enum code_kind kind, of;
	struct err *e = sbt_reader_code(j->en->trace.reader, code, &text, &of);
	uint64_t hash;
	bool found = false;

	if (!e && of == CODE_PTX)
		found = ptx_types_find(ret, (const char *)text.data, text.len, name);
	err_free(e);
	for (unsigned i = 0; !found && sbt_reader_code_at(j->en->trace.reader, i, &hash, &kind);
		i++) {
		if (kind != CODE_PTX)
			continue;
		buf_clear(&text);
		e = sbt_reader_code(j->en->trace.reader, hash, &text, &of);
		if (!e)
			found = ptx_types_find(ret, (const char *)text.data, text.len, name);
		err_free(e);
	}
	buf_free(&text);
}

static const struct ptx_types *code_types(
	struct nan_job *j, const struct state *st, uint64_t kernel)
{
	struct state_kernel k;

	for (size_t i = 0; i < j->kernels.n; i++)
		if (j->kernels.v[i].id == kernel)
			return &j->kernels.v[i].t;
	MAKE_ROOM(j->kernels.v, j->kernels.n, j->kernels.cap);
	struct nan_kernel *x = &j->kernels.v[j->kernels.n++];
	*x = (struct nan_kernel){.id = kernel};
	if (state_kernel_by_id(st, (uint32_t)kernel, &k) && k.name)
		read_code(j, k.name, k.code_hash, &x->t);
	return &x->t;
}

void nan_kernels_free(struct nan_job *j)
{
	free(j->kernels.v);
	free(j->given.v);
}

/* --- what lies there --- */

struct look {
	uint64_t n, zero, strange, plausible, off; /* off: nonzero ones that are not the last of
						      each pair */
	uint64_t named_nans; /* the pattern that computing gives, and no usual integer */
};

static bool is_named_nan(uint64_t bits, enum replayer_as as)
{
	switch (as) {
	case REPLAYER_AS_F32:
		return (bits & 0x7fffffff) == 0x7fc00000;
	case REPLAYER_AS_F64:
		return (bits & INT64_MAX) == 0x7ff8000000000000;
	default:
		return false;
	}
}

static void look_at(struct look *l, uint64_t bits, uint64_t i, enum replayer_as as)
{
	const bool narrow = as == REPLAYER_AS_F16;
	const double v = fabs(value_of(bits, as));

	l->n++;
	if (!(bits << (65 - 8 * value_types[as].bytes))) {
		l->zero++;
		return;
	}
	if (!isfinite(v)) {
		l->named_nans += is_named_nan(bits, as);
		return;
	}
	l->off += !(i & 1);
	if (v >= (narrow ? 1e-3 : 1e-9) && v <= (narrow ? 1e3 : 1e9))
		l->plausible++;
	else
		l->strange++;
}

static bool looks_like(const uint8_t *bytes, size_t n, uint64_t addr, enum replayer_as as)
{
	const unsigned size = value_types[as].bytes;
	const bool half = size == 2 || as == REPLAYER_AS_F32;
	struct look l = {0};
	uint64_t bits;

	for (size_t i = (size_t)(-addr & (size - 1)); i + size <= n; i += size) {
		bits = 0;
		memcpy(&bits, bytes + i, size);
		look_at(&l, bits, (addr + i) / size, as);
	}
	if (half && l.n > 3 && !l.off && l.plausible) /* the upper halves of wider numbers */
		return false;
	if (!l.plausible)
		return l.named_nans && !l.strange && l.named_nans + l.zero == l.n;
	return l.plausible >= 9 * l.strange && (size > 2 || l.n >= 8);
}

enum replayer_as nan_type_by_values(const uint8_t *bytes, size_t n, uint64_t addr)
{
	static const enum replayer_as order[] = {
		REPLAYER_AS_BF16, REPLAYER_AS_F16, REPLAYER_AS_F32, REPLAYER_AS_F64};

	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (looks_like(bytes, n, addr, order[i]))
			return order[i];
	return REPLAYER_AS_AUTO;
}

/* --- the type of a span --- */

static struct nan_named declared(
	struct nan_job *j, const struct sbt_cmd *c, uint32_t param, uint32_t pointer)
{
	return j->ask->param_type && param != NAN_NO_PARAM
		       ? j->ask->param_type(j->ask->arg, c, param, pointer)
		       : (struct nan_named){.as = REPLAYER_AS_AUTO};
}

static bool by_declaration(struct nan_job *j, const struct sbt_cmd *c, struct nan_span *s)
{
	const struct nan_named is = declared(j, c, s->param, s->pointer);

	s->as = is.as;
	s->typed = NAN_TYPE_DECLARED;
	return is.known || is.as != REPLAYER_AS_AUTO;
}

static enum replayer_as type_of_ptx(unsigned types)
{
	switch (types & PTX_FLOATS) {
	case PTX_F16:
		return REPLAYER_AS_F16;
	case PTX_BF16:
		return REPLAYER_AS_BF16;
	case PTX_F32:
		return REPLAYER_AS_F32;
	case PTX_F64:
		return REPLAYER_AS_F64;
	default:
		return REPLAYER_AS_AUTO;
	}
}

/* False: the code moves these bytes and says nothing of what they are. */
static bool by_code(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	struct nan_span *s, bool stores)
{
	const struct ptx_types *t = code_types(j, st, c->u.launch.kernel);
	unsigned types;

	if (s->param >= PTX_TYPES_PARAMS)
		return false;
	types = stores ? t->stores[s->param] : t->loads[s->param];
	s->as = type_of_ptx(types);
	s->typed = NAN_TYPE_CODE;
	return s->as != REPLAYER_AS_AUTO || types == PTX_INTEGER;
}

struct nan_named nan_reads_as(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	const struct nan_pointer *p)
{
	struct nan_named is = declared(j, c, p->param, p->number);
	const struct ptx_types *t = code_types(j, st, c->u.launch.kernel);

	if (is.reads || p->param >= PTX_TYPES_PARAMS || t->stores[p->param])
		return is;
	if (is.as == REPLAYER_AS_AUTO && !is.known)
		is.as = type_of_ptx(t->loads[p->param]);
	is.reads = t->loads[p->param] != 0;
	return is;
}

static bool by_launch(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	struct nan_span *s, bool stores)
{
	return by_declaration(j, c, s) || by_code(j, st, c, s, stores);
}

/* By the kernel nodes that were given an address before it, the last one that knows. */
static bool by_nodes(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	struct nan_span *s, bool stores)
{
	struct nan_pointers *p = xmalloc(sizeof *p);
	struct state_steps steps = {0};
	const struct nan_pointer *mine;
	struct sbt_cmd node;
	bool known = false;

	err_free(state_steps(&steps, st, (uint32_t)c->u.graph_launch.exec));
	for (uint32_t i = steps.n; i-- && !known;) {
		if (!step_cmd(&steps.step[i], &node) || node.kind != SBT_LAUNCH)
			continue;
		nan_pointers_of(st, &node, p);
		mine = nearest(st, p, s->addr);
		s->param = mine ? mine->param : NAN_NO_PARAM;
		s->pointer = mine ? mine->number : 0;
		s->base = mine ? mine->addr : 0;
		known = mine && by_launch(j, st, &node, s, stores);
	}
	s->param = NAN_NO_PARAM; /* of a node, not of the launch */
	state_steps_free(&steps);
	free(p);
	return known;
}

void nan_type_span(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	struct nan_span *s, bool stores, const uint8_t *bytes, size_t n)
{
	if (j->ask->as != REPLAYER_AS_AUTO) {
		s->as = j->ask->as;
		s->typed = NAN_TYPE_ASKED;
		return;
	}
	if (c && c->kind == SBT_LAUNCH && by_launch(j, st, c, s, stores))
		return;
	if (c && c->kind == SBT_GRAPH_LAUNCH && by_nodes(j, st, c, s, stores))
		return;
	if (c && stores && nan_type_by_reader(j, c->seq, s))
		return;
	s->as = nan_type_by_values(bytes, n, s->addr);
	s->typed = s->as == REPLAYER_AS_AUTO ? NAN_TYPE_UNKNOWN : NAN_TYPE_VALUES;
}
