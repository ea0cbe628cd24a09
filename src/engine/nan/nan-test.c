/* SPDX-License-Identifier: Apache-2.0
 *
 * Causal tests: why did this launch write a NaN? It is executed again from the same memory with
 * finite numbers in place of what is not finite among its inputs. If the NaN stays, the launch made
 * it. If it goes, some of those elements made it; the search halves them until one is left that
 * makes the NaN with everything else finite.
 *
 * The surprise: a finite number may bring a NaN of its own (0 in a divisor), so that three kinds of
 * them are tried before a launch is accused.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/nan/nan-private.h"
#include "replay/values.h"
#include "state/args.h"

enum { BYTES_MOST = 1 << 30, BAD_MOST = 8 << 20, GROUPS_MOST = 16, VARIANTS = 3, ORDERS = 8 };

struct bad {
	uint32_t input; /* in test.in */
	uint32_t group; /* which of the launch's inputs */
	uint64_t at;	/* bytes into it */
};
struct input {
	struct nan_span span;
	uint8_t *bytes, *patched; /* heap; NULL: it holds nothing that is not finite */
	uint64_t finite;	  /* the bits of a finite number of it; of 1 if there is none */
	uint64_t nans, infs;
};
struct test {
	struct nan_job *j;
	const struct nan_work *w;
	struct nan_step *step;
	struct input *in;
	size_t nin, cap_in;
	uint64_t bytes;
	struct bad *bad; /* NaNs first */
	size_t nbad, nnans, cap_bad;
	unsigned ngroups;
	unsigned variant;
	bool cut; /* more elements or bytes than are looked at */
};

/* --- inputs --- */

static struct err *add_input(struct test *t, const struct nan_span *s)
{
	if (t->bytes + s->size > BYTES_MOST) {
		t->cut = true;
		return NULL;
	}
	t->bytes += s->size;
	MAKE_ROOM(t->in, t->nin, t->cap_in);
	t->in[t->nin++] = (struct input){.span = *s};
	return NULL;
}

static void add_alloc(struct test *t, const struct state_alloc *a, struct nan_job *j)
{
	for (size_t i = 0; i < t->nin; i++)
		if (t->in[i].span.addr == a->addr)
			return;
	MAKE_ROOM(j->spans, j->nspans, j->cap_spans);
	j->spans[j->nspans++] =
		(struct nan_span){.addr = a->addr, .size = a->size, .param = NAN_NO_PARAM};
}

/* All memory that the launch was given; of a graph launch, all there is. */
static void reachable(struct test *t, const struct state *st, const struct sbt_cmd *c)
{
	struct nan_job *j = t->j;
	struct state_kernel k = {0};
	struct state_alloc a;
	struct args_words words;
	uint64_t word;

	if (c->kind != SBT_LAUNCH) {
		for (unsigned i = 0; state_alloc(st, i, &a); i++)
			add_alloc(t, &a, j);
		return;
	}
	if (!state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k))
		k = (struct state_kernel){0};
	words = args_words(c->u.launch.args, k.params);
	while (args_words_next(&words, &word))
		if (state_alloc_at(st, word, &a))
			add_alloc(t, &a, j);
}

/* By what wrote the bytes last, if that is known: a kernel may be given them as void *. */
static bool type_by_writer(struct nan_job *j, uint64_t seq, struct nan_span *s)
{
	const struct nan_work *from = nan_last_writer(j, s->addr, s->size, seq);
	const struct nan_span *is =
		from ? nan_span_at(j, from->writes, from->nwrites, s->addr) : NULL;

	if (!is || is->as == REPLAYER_AS_AUTO || is->typed == NAN_TYPE_VALUES)
		return false;
	s->as = is->as;
	s->typed = is->typed;
	return true;
}

static struct err *take_bad(struct test *t, uint32_t input)
{
	struct input *x = &t->in[input];
	const unsigned size = value_types[x->span.as].bytes;
	bool have = false;
	uint64_t bits;

	x->finite = x->span.as == REPLAYER_AS_F64   ? UINT64_C(0x3ff0000000000000)
		    : x->span.as == REPLAYER_AS_F32 ? 0x3f800000
		    : x->span.as == REPLAYER_AS_F16 ? 0x3c00
						    : 0x3f80;
	for (uint64_t i = -x->span.addr & (size - 1); i + size <= x->span.size; i += size) {
		bits = 0;
		memcpy(&bits, x->bytes + i, size);
		const bool is_nan = nan_is_nan(bits, x->span.as),
			   is_inf = nan_is_inf(bits, x->span.as);

		x->nans += is_nan;
		x->infs += is_inf;
		if (!is_nan && !is_inf) {
			x->finite = have || !(bits << (65 - 8 * size)) ? x->finite : bits;
			have = have || (bits << (65 - 8 * size));
			continue;
		}
		if (t->nbad == BAD_MOST) {
			t->cut = true;
			return NULL;
		}
		MAKE_ROOM(t->bad, t->nbad, t->cap_bad);
		t->bad[t->nbad++] = (struct bad){.input = input, .at = i};
	}
	return NULL;
}

static struct err *read_input(
	struct test *t, const struct state *st, const struct sbt_cmd *c, uint32_t i)
{
	struct input *x = &t->in[i];

	x->bytes = xmalloc(x->span.size + 1);
	TRY(device_read(t->j->d, x->span.addr, x->bytes, x->span.size));
	if (!type_by_writer(t->j, t->w->seq, &x->span))
		nan_type_span(t->j, st, c, &x->span, false, x->bytes, x->span.size);
	if (x->span.as != REPLAYER_AS_AUTO && value_types[x->span.as].is_float)
		TRY(take_bad(t, i));
	if (!x->nans && !x->infs) {
		free(x->bytes);
		x->bytes = NULL;
	} else {
		x->patched = xmalloc(x->span.size + 1);
	}
	return NULL;
}

static bool bad_is_nan(const struct test *t, const struct bad *b)
{
	const struct input *x = &t->in[b->input];
	uint64_t bits = 0;

	memcpy(&bits, x->bytes + b->at, value_types[x->span.as].bytes);
	return nan_is_nan(bits, x->span.as);
}

/* NaNs to the front; the order stays otherwise. */
static void sort_bad(struct test *t)
{
	struct bad *sorted = xmalloc((t->nbad + 1) * sizeof *sorted);

	for (unsigned pass = 0, n = 0; pass < 2; pass++) {
		for (size_t i = 0; i < t->nbad; i++)
			if (bad_is_nan(t, &t->bad[i]) == !pass)
				sorted[n++] = t->bad[i];
		t->nnans = pass ? t->nnans : n;
	}
	free(t->bad);
	t->bad = sorted;
}

static struct nan_element element_of(const struct test *t, const struct bad *b)
{
	const struct input *x = &t->in[b->input];
	struct nan_element e = {.addr = x->span.addr + b->at,
		.as = x->span.as,
		.typed = x->span.typed,
		.param = x->span.param};

	memcpy(&e.bits, x->bytes + b->at, value_types[e.as].bytes);
	return e;
}

/* Elements of one parameter, or of one allocation, are one input. */
static void group_bad(struct test *t, const struct state *st, const struct sbt_cmd *c)
{
	struct nan_step *s = t->step;

	for (size_t i = 0; i < t->nbad; i++) {
		struct nan_element e = element_of(t, &t->bad[i]);
		size_t g;

		nan_place(st, c, &t->in[t->bad[i].input].span, &e);
		for (g = 0; g < s->ninputs; g++)
			if (s->inputs[g].first.alloc == e.alloc &&
				s->inputs[g].first.param == e.param)
				break;
		if (g == s->ninputs && g < GROUPS_MOST) {
			s->inputs = xrealloc(s->inputs, (g + 1) * sizeof *s->inputs);
			s->inputs[s->ninputs++] = (struct nan_input){.first = e};
		}
		g = g < s->ninputs ? g : s->ninputs - 1;
		s->inputs[g].count++;
		t->bad[i].group = (uint32_t)g;
	}
}

static struct err *find_inputs(struct test *t, const struct state *st, const struct sbt_cmd *c)
{
	struct nan_job *j = t->j;
	size_t at = t->w->reads, n = t->w->nreads;
	struct err *e = NULL;

	if (!j->exact) {
		at = j->nspans;
		reachable(t, st, c);
		n = j->nspans - at;
	}
	TRY(nan_split(j, st, c, &at, &n));
	for (size_t i = at; !e && i < at + n; i++)
		e = add_input(t, &(struct nan_span){j->spans[i].addr, j->spans[i].size,
					 REPLAYER_AS_AUTO, NAN_TYPE_UNKNOWN, j->spans[i].param,
					 j->spans[i].pointer, j->spans[i].base});
	for (uint32_t i = 0; !e && i < t->nin; i++)
		e = read_input(t, st, c, i);
	if (e)
		return e;
	sort_bad(t);
	group_bad(t, st, c);
	return NULL;
}

/* --- one test --- */

/* Which elements stay as they are: those of [from, to), and those of a group. */
struct kept {
	size_t from, to;
	unsigned group; /* UINT32_MAX: none */
};

static uint64_t replacement(const struct test *t, const struct input *x)
{
	static const uint64_t one[REPLAYER_AS_END] = {[REPLAYER_AS_F16] = 0x3c00,
		[REPLAYER_AS_BF16] = 0x3f80,
		[REPLAYER_AS_F32] = 0x3f800000,
		[REPLAYER_AS_F64] = UINT64_C(0x3ff0000000000000)},
			      half[REPLAYER_AS_END] = {[REPLAYER_AS_F16] = 0x3800,
				      [REPLAYER_AS_BF16] = 0x3f00,
				      [REPLAYER_AS_F32] = 0x3f000000,
				      [REPLAYER_AS_F64] = UINT64_C(0x3fe0000000000000)};

	return t->variant == 0 ? x->finite : t->variant == 1 ? one[x->span.as] : half[x->span.as];
}

/* Makes the inputs' bytes, and writes them. */
static struct err *patch(struct test *t, const struct kept *k)
{
	struct input *x;

	for (uint32_t i = 0; i < t->nin; i++)
		if (t->in[i].bytes)
			memcpy(t->in[i].patched, t->in[i].bytes, t->in[i].span.size);
	for (size_t i = 0; i < t->nbad; i++) {
		const struct bad *b = &t->bad[i];

		x = &t->in[b->input];
		const uint64_t by = replacement(t, x);

		if ((i < k->from || i >= k->to) && b->group != k->group)
			memcpy(x->patched + b->at, &by, value_types[x->span.as].bytes);
	}
	for (uint32_t i = 0; i < t->nin; i++) {
		x = &t->in[i];
		if (x->bytes)
			TRY(device_write(t->j->d, x->span.addr, x->patched, x->span.size));
	}
	return NULL;
}

/* Whether the launch's result is as it was, after it was executed up to w. */
static struct err *look(struct test *t, bool *ret_stays)
{
	struct nan_element x = t->step->out;

	t->step->tests++;
	TRY(device_seek(t->j->d, t->w->seq));
	TRY(nan_read(t->j, &x));
	*ret_stays = nan_is_nan(x.bits, x.as) ||
		     (nan_is_inf(t->step->out.bits, x.as) && nan_is_inf(x.bits, x.as));
	if (engine_cancelled(t->j->en))
		return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, t->w->seq);
	return NULL;
}

static struct err *run(struct test *t, struct kept k, bool *ret_stays)
{
	t->j->forgets = true;
	TRY(device_seek(t->j->d, t->w->seq - 1));
	TRY(patch(t, &k));
	return look(t, ret_stays);
}

/* --- what is not the same every time --- */

static struct err *plain(struct test *t, const struct replayer_soft *order, bool *ret_stays)
{
	const struct replayer_soft fixed = {.schedule = SOFT_SCHEDULE_FIXED};
	struct err *e;

	TRY(device_seek(t->j->d, t->w->seq - 1));
	if (order)
		TRY(device_soft(t->j->d, order));
	e = look(t, ret_stays);
	return order ? err_first(e, device_soft(t->j->d, &fixed)) : e;
}

/* In the fixed order, and in those by seeds first..last. */
static struct err *is_steady(struct test *t, uint64_t first, uint64_t last, bool *ret)
{
	*ret = true;
	for (unsigned i = 0; *ret && first == 1 && i < 2; i++)
		TRY(plain(t, NULL, ret));
	for (uint64_t i = first; t->j->rd->watches && *ret && i <= last; i++)
		TRY(plain(t, &(struct replayer_soft){.schedule = SOFT_SCHEDULE_RANDOM, .seed = i},
			ret));
	return NULL;
}

static void not_steady(struct nan_verdict *ret)
{
	ret->is = NAN_NOT_STEADY;
	ret->why = xasprintf(
		"executed again from the same memory it does not write the NaN every time");
}

/* --- the search --- */

/* Halves the elements while one half alone keeps the NaN. */
static struct err *halve(struct test *t, size_t from, size_t to, struct bad *ret)
{
	while (to - from > 1) {
		const size_t mid = from + (to - from) / 2;
		bool stays;

		TRY(run(t, (struct kept){from, mid, UINT32_MAX}, &stays));
		if (stays) {
			to = mid;
			continue;
		}
		TRY(run(t, (struct kept){mid, to, UINT32_MAX}, &stays));
		if (!stays) /* it takes some of both */
			break;
		from = mid;
	}
	*ret = t->bad[from];
	return NULL;
}

static struct err *judge_inputs(struct test *t)
{
	struct nan_step *s = t->step;

	for (unsigned g = 0; g < s->ninputs; g++) {
		s->inputs[g].sufficient = s->ninputs == 1;
		if (s->ninputs > 1)
			TRY(run(t, (struct kept){0, 0, g}, &s->inputs[g].sufficient));
	}
	return NULL;
}

static struct err *cures(struct test *t, bool *ret)
{
	bool stays = true;

	for (t->variant = 0; stays && t->variant < VARIANTS; t->variant++)
		TRY(run(t, (struct kept){0, 0, UINT32_MAX}, &stays));
	t->variant -= t->variant > 0;
	*ret = !stays;
	return NULL;
}

static struct err *search(
	struct test *t, const struct state *st, const struct sbt_cmd *c, struct nan_verdict *ret)
{
	size_t from = 0, to = t->nnans;
	bool stays = t->nnans != 0, cured;
	struct bad found;

	TRY(cures(t, &cured));
	if (!cured)
		return NULL; /* NAN_MADE_HERE */
	ret->is = NAN_MADE_OF_INPUT;
	if (t->nnans && t->nnans < t->nbad)
		TRY(run(t, (struct kept){0, t->nnans, UINT32_MAX}, &stays));
	if (!stays && t->nnans < t->nbad) {
		TRY(run(t, (struct kept){t->nnans, t->nbad, UINT32_MAX}, &stays));
		from = stays ? t->nnans : 0;
		to = stays ? t->nbad : t->nnans ? t->nnans : t->nbad;
	}
	ret->by_inf = from == t->nnans && t->nnans < t->nbad;
	if (stays)
		TRY(halve(t, from, to, &found));
	else
		found = t->bad[from];
	t->step->in = element_of(t, &found);
	nan_place(st, c, &t->in[found.input].span, &t->step->in);
	t->step->has_in = true;
	return judge_inputs(t);
}

/* --- what nothing has written --- */

/* Marks the bytes of an input that a command of the window wrote since the allocation. */
static void mark_written(
	const struct test *t, const struct input *x, uint64_t since, uint8_t *written)
{
	const struct nan_job *j = t->j;

	for (size_t i = nan_work_at(j, since); i < j->nwork && j->work[i].seq < t->w->seq; i++)
		for (size_t k = j->work[i].writes; k < j->work[i].writes + j->work[i].nwrites;
			k++) {
			const struct nan_span *s = &j->spans[k];
			const uint64_t from = s->addr > x->span.addr ? s->addr : x->span.addr,
				       s_end = s->addr + s->size,
				       x_end = x->span.addr + x->span.size,
				       end = s_end < x_end ? s_end : x_end;

			if (from < end)
				memset(written + (from - x->span.addr), 1, end - from);
		}
}

/* Writes ones where nothing has written; *ret_first: the first such element. */
static struct err *fill_holes(struct test *t, const struct state *st, const struct input *x,
	struct nan_element *ret_first, bool *ret_any)
{
	const enum replayer_as as = x->span.as == REPLAYER_AS_AUTO ? REPLAYER_AS_F32 : x->span.as;
	const unsigned size = value_types[as].bytes;
	const uint64_t one = replacement(t, &(struct input){.span.as = as});
	struct state_alloc a;
	uint8_t *written, *bytes;
	bool any = false;
	struct err *e;

	if (!state_alloc_at(st, x->span.addr, &a) || a.alloc_seq < t->j->first ||
		(a.mem != SBT_MEM_DEVICE && a.mem != SBT_MEM_ASYNC))
		return NULL;
	written = xcalloc(x->span.size + 1, 1);
	bytes = xmalloc(x->span.size + 1);
	mark_written(t, x, a.alloc_seq, written);
	e = device_read(t->j->d, x->span.addr, bytes, x->span.size);
	for (uint64_t i = -x->span.addr & (size - 1); !e && i + size <= x->span.size; i += size) {
		if (memchr(written + i, 1, size))
			continue;
		if (!*ret_any) {
			*ret_first = (struct nan_element){.addr = x->span.addr + i,
				.as = as,
				.typed = x->span.typed,
				.param = x->span.param};
			memcpy(&ret_first->bits, bytes + i, size);
		}
		any = *ret_any = true;
		memcpy(bytes + i, &one, size);
	}
	if (!e && any)
		e = device_write(t->j->d, x->span.addr, bytes, x->span.size);
	free(written);
	free(bytes);
	return e;
}

/* Finite numbers made it: are they those that happened to lie in memory which nothing wrote? */
static struct err *ask_unwritten(
	struct test *t, const struct state *st, const struct sbt_cmd *c, struct nan_verdict *ret)
{
	struct nan_element first = {0};
	bool any = false, stays;

	if (!t->j->exact)
		return NULL;
	t->variant = 1;
	TRY(device_seek(t->j->d, t->w->seq - 1));
	t->j->forgets = true;
	for (size_t i = 0; i < t->nin; i++)
		TRY(fill_holes(t, st, &t->in[i], &first, &any));
	if (!any)
		return NULL;
	TRY(look(t, &stays));
	if (stays)
		return NULL;
	ret->is = NAN_MADE_OF_UNWRITTEN;
	nan_place(st, c, &(struct nan_span){.param = first.param}, &first);
	t->step->in = first;
	t->step->has_in = true;
	return NULL;
}

/* --- what is of no known type --- */

static bool reads_as_bad(uint32_t bits)
{
	return bits == 0x7fffffff || (bits & 0x7fbfffff) == 0x7f800000;
}

/* Ones for what computing leaves as NaN, and for infinities, if they are floats. */
static struct err *fill_untyped(struct test *t, const struct input *x, uint64_t *ret_first)
{
	const uint32_t one = 0x3f800000;
	uint8_t *bytes = xmalloc(x->span.size + 1);
	struct err *e = device_read(t->j->d, x->span.addr, bytes, x->span.size);
	bool any = false;
	uint32_t bits;

	for (uint64_t i = -x->span.addr & 3; !e && i + 4 <= x->span.size; i += 4) {
		memcpy(&bits, bytes + i, 4);
		if (!reads_as_bad(bits))
			continue;
		memcpy(bytes + i, &one, 4);
		*ret_first = *ret_first ? *ret_first : x->span.addr + i;
		any = true;
	}
	if (!e && any)
		e = device_write(t->j->d, x->span.addr, bytes, x->span.size);
	free(bytes);
	return e;
}

/* The launch is to be accused, but some of what it reads was not looked at: is it that? */
static struct err *ask_untyped(struct test *t, struct nan_verdict *ret)
{
	uint64_t first = 0;
	bool stays;

	TRY(device_seek(t->j->d, t->w->seq - 1));
	for (size_t i = 0; i < t->nin; i++) {
		const struct nan_span *s = &t->in[i].span;

		if (s->typed == NAN_TYPE_UNKNOWN && (t->j->exact || s->base))
			TRY(fill_untyped(t, &t->in[i], &first));
	}
	if (!first)
		return NULL;
	t->j->forgets = true;
	TRY(look(t, &stays));
	if (stays)
		return NULL;
	ret->is = NAN_NOT_TOLD;
	ret->why =
		xasprintf("it reads what may be NaN or infinite at 0x%" PRIx64
			  ", of no type that is known, and makes none without; --as TYPE says it",
			first);
	return NULL;
}

/* --- what the program wrote right before it --- */

/* The replayer makes such changes with the launch: they are seen behind it. */
static struct err *ask_host(
	struct test *t, const struct state *st, const struct sbt_cmd *c, struct nan_verdict *ret)
{
	for (size_t i = 0; i < t->j->nchanges; i++) {
		const struct nan_change *h = &t->j->changes[i];

		for (size_t k = 0; h->seq == t->w->seq && k < t->nin; k++) {
			struct input *x = &t->in[k];
			const size_t at = t->nbad;

			if (h->addr - x->span.addr >= x->span.size &&
				x->span.addr - h->addr >= h->size)
				continue;
			if (x->bytes || x->span.as == REPLAYER_AS_AUTO)
				continue;
			TRY(device_seek(t->j->d, t->w->seq));
			x->bytes = xmalloc(x->span.size + 1);
			TRY(device_read(t->j->d, x->span.addr, x->bytes, x->span.size));
			TRY(take_bad(t, (uint32_t)k));
			if (t->nbad == at)
				continue;
			ret->is = NAN_MADE_BY_HOST;
			t->step->in = element_of(t, &t->bad[at]);
			nan_place(st, c, &x->span, &t->step->in);
			t->step->has_in = true;
			return NULL;
		}
	}
	return NULL;
}

/* The launch is to be accused: in other orders of its blocks and warps, too? */
static struct err *ask_orders(struct test *t, struct nan_verdict *ret)
{
	bool steady;

	if (t->j->forgets) { /* from the recorded memory again */
		t->j->forgets = false;
		TRY(device_forget(t->j->d));
	}
	TRY(is_steady(t, 2, ORDERS, &steady));
	if (!steady)
		not_steady(ret);
	return NULL;
}

static struct err *ask(
	struct test *t, const struct state *st, const struct sbt_cmd *c, struct nan_verdict *ret)
{
	bool steady;

	/* going back to it costs little then; a write right before it forgets what is kept there */
	if (t->w->seq - 2 >= t->j->first - 1) {
		TRY(device_seek(t->j->d, t->w->seq - 2));
		TRY(device_checkpoint(t->j->d));
	}
	TRY(device_seek(t->j->d, t->w->seq - 1));
	TRY(find_inputs(t, st, c));
	TRY(is_steady(t, 1, 1, &steady));
	if (!steady) {
		not_steady(ret);
		return NULL;
	}
	/* on AMD's device a launch always touches its arguments and queue, which no trace has */
	if (t->cut || (t->w->cut && !t->j->rd->hip)) {
		ret->is = NAN_NOT_TOLD;
		ret->why = xasprintf("it reads more memory than is looked at");
		return NULL;
	}
	ret->is = NAN_MADE_HERE;
	if (t->nbad)
		TRY(search(t, st, c, ret));
	if (ret->is == NAN_MADE_HERE)
		TRY(ask_host(t, st, c, ret));
	if (ret->is == NAN_MADE_HERE)
		TRY(ask_unwritten(t, st, c, ret));
	if (ret->is == NAN_MADE_HERE)
		TRY(ask_untyped(t, ret));
	return ret->is == NAN_MADE_HERE ? ask_orders(t, ret) : NULL;
}

static void test_free(struct test *t)
{
	for (size_t i = 0; i < t->nin; i++) {
		free(t->in[i].bytes);
		free(t->in[i].patched);
	}
	free(t->in);
	free(t->bad);
}

struct err *nan_test(
	struct nan_job *j, const struct nan_work *w, struct nan_step *step, struct nan_verdict *ret)
{
	const struct nan_work copy = *w; /* spans move when some are added, works do not */
	struct test t = {.j = j, .w = &copy, .step = step};
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct state *st;
	struct err *e;

	*ret = (struct nan_verdict){.is = NAN_NOT_TOLD};
	TRY(nan_before(j, w->seq, &st, &cursor, &c));
	e = ask(&t, st, c, ret);
	test_free(&t);
	sbt_cursor_close(cursor);
	state_free(st);
	if (j->forgets) {
		j->forgets = false;
		e = err_first(e, device_forget(j->d));
	}
	return e;
}
