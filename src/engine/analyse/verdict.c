/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a replay differs, see verdict.h. The surprise: possible causes are checked in a fixed order,
 * the most certain first, and the first one that reaches the difference is the answer. A check that
 * failed is mentioned and does not stop the others.
 */
#include "engine/verdict.h"

#include <stdlib.h>
#include <string.h>
#include "sbt/memory.h"
#include "engine/check.h"
#include "engine/trace-file.h"
#include "engine/analyse/verdict-private.h"

#define RUNS 5				 /* executions of each launch from the same memory */
#define PERTURB_NS UINT64_C(60000000000) /* of the replayer's time, for other orders */

/* --- what differs --- */

static void add_different(struct search *x, uint64_t addr, uint64_t end)
{
	if (x->ndiffering < DIFFERING_MAX)
		x->differing[x->ndiffering++] = (struct order_range){addr, end};
}

static struct err *output_differs(struct search *x)
{
	const uint64_t seq = x->v->sums.first_output;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct order_access a;

	TRY(trace_cmd(x->en->trace.reader, seq, &cursor, &c));
	x->seq = seq;
	x->output = *c; /* its blobs are not looked at */
	sbt_cursor_close(cursor);
	for (size_t i = 0; order_flow_access(x->flow, seq, i, &a); i++)
		if (a.how != ORDER_WRITE)
			add_different(x, a.addr, a.end);
	return NULL;
}

static struct err *find_differing(struct search *x)
{
	if (x->v->sums.first_output)
		return output_differs(x);
	x->seq = UINT64_MAX;
	if (x->v->sums.first_freed) {
		x->seq = x->v->sums.first_freed;
		add_different(
			x, x->v->sums.freed_addr, x->v->sums.freed_addr + x->v->sums.freed_size);
		return NULL;
	}
	for (size_t i = 0; i < x->v->npieces; i++) {
		const struct replayer_piece *p = &x->v->pieces[i];

		if (p->checked == REPLAYER_CHECKED && !p->same)
			add_different(x, p->addr, p->addr + p->size);
	}
	return NULL;
}

size_t verdict_first(const struct search *x, const struct order_doubt *d, size_t n, size_t each)
{
	return order_flow_first(x->flow, d, n, each, x->seq, x->differing, x->ndiffering);
}

/* --- answers --- */

void verdict_answer(const struct search *x, enum verdict_kind kind, enum verdict_reason reason,
	uint64_t seq, uint64_t with)
{
	x->ret->kind = kind;
	x->ret->reason = reason;
	x->ret->seq = seq;
	x->ret->with = with;
}

bool verdict_answered(const struct search *x)
{
	return x->ret->kind != VERDICT_NONE;
}

/* Takes detail. */
static void add_unanswered(
	struct search *x, enum verdict_question question, uint64_t launches, char *detail)
{
	struct verdict *v = x->ret;

	v->unanswered = xrealloc(v->unanswered, (v->nunanswered + 1) * sizeof *v->unanswered);
	v->unanswered[v->nunanswered++] = (struct verdict_unanswered){question, launches, detail};
}

struct err *verdict_not_asked(struct search *x, enum verdict_question question, struct err *e)
{
	if (!e || e->code == ERR_INTERRUPTED)
		return e;
	add_unanswered(x, question, 0, xstrdup(e->what));
	err_free(e);
	return NULL;
}

/* --- kernels that are not deterministic --- */

/* Makes a result of the launch in row i of r and its steps. It borrows from r. */
static struct check_result only(const struct check_result *r, size_t i)
{
	struct check_result one = *r;

	one.launches = &r->launches[i];
	one.nlaunches = 1;
	while (i + one.nlaunches < r->nlaunches && r->launches[i + one.nlaunches].step)
		one.nlaunches++;
	one.nsteps = one.nlaunches - 1;
	one.npassing = 0;
	one.checked = 1;
	return one;
}

/* Answers with the launch in row i of r, which becomes the answer's. */
static void say_not_deterministic(
	const struct search *x, enum verdict_reason reason, struct check_result *r, size_t i)
{
	struct verdict *v = x->ret;

	verdict_answer(x, VERDICT_NOT_DETERMINISTIC, reason, r->launches[i].seq, 0);
	v->checked = *r;
	v->check = only(&v->checked, i);
	*r = (struct check_result){0};
}

/* What a nondeterministic launch puts in doubt: the allocations in which it was seen to differ;
 * else all that it writes. */
static size_t doubts_of(
	const struct check_result *r, const struct check_launch *l, struct order_doubt *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < l->nplaces; i++)
		if (l->places[i].size)
			ret[n++] = (struct order_doubt){
				l->seq, l->places[i].addr, l->places[i].addr + l->places[i].size};
	if (n && n == l->nplaces && !r->left_out && !l->shared)
		return n;
	ret[0] = (struct order_doubt){.seq = l->seq};
	return 1;
}

/* A step of a launch has its launch's number. wholly: by any of its writes; else by those alone
 * that were seen to differ. */
static size_t first_that_reaches(const struct search *x, const struct check_result *r, bool wholly)
{
	struct order_doubt *d;
	size_t each = 1;

	for (size_t i = 0; i < r->nlaunches && !wholly; i++)
		each = r->launches[i].nplaces > each ? r->launches[i].nplaces : each;
	d = xcalloc(r->nlaunches * each + 1, sizeof *d);
	for (size_t i = 0; i < r->nlaunches; i++) {
		struct order_doubt *of = &d[i * each];

		*of = (struct order_doubt){.seq = r->launches[i].seq};
		for (size_t n = wholly ? 1 : doubts_of(r, &r->launches[i], of); n < each; n++)
			of[n] = of[0];
	}
	size_t first = verdict_first(x, d, r->nlaunches, each);
	free(d);
	while (first != SIZE_MAX && first && r->launches[first].step)
		first--;
	return first;
}

static void take_first(
	struct search *x, enum verdict_reason reason, struct check_result *r, bool wholly)
{
	const size_t first = first_that_reaches(x, r, wholly);

	if (first != SIZE_MAX)
		say_not_deterministic(x, reason, r, first);
}

/* Notes launches that were executed once only: they may be the cause. */
static void say_not_checked(struct search *x, const struct check_result *r)
{
	if (r->heap)
		add_unanswered(x, VERDICT_ASK_HEAP, r->heap, NULL);
	if (r->late)
		add_unanswered(x, VERDICT_ASK_LATE, r->late, NULL);
	if (r->missed)
		add_unanswered(x, VERDICT_ASK_MISSED, r->missed, NULL);
}

static struct err *ask_determinism(struct search *x)
{
	const struct check_options o = {.runs = RUNS,
		.first = x->rd->first,
		.last = x->output.kind ? order_flow_newest(x->flow, x->output.seq) : x->rd->last};
	struct check_result r = {0};
	struct err *e = check_run(x->en, &o, &r);

	if (!e)
		take_first(x, VERDICT_DIFFERS_AGAIN, &r, false);
	if (!e && !verdict_answered(x))
		say_not_checked(x, &r);
	x->seen = r;
	return verdict_not_asked(x, VERDICT_ASK_DETERMINISM, e);
}

/* --- the trace --- */

static struct err *ask_incomplete(struct search *x)
{
	const char *notes = device_info(x->rd->d).notes,
		   *at = strstr(notes, " were not recorded: they begin as zeros");

	if (!at)
		return NULL;
	while (at > notes && at[-1] != '\n')
		at--;
	verdict_answer(x, VERDICT_INCOMPLETE, VERDICT_MEMORY_NOT_RECORDED, 0, 0);
	x->ret->detail = xasprintf("%.*s", (int)strcspn(at, "\n"), at);
	return NULL;
}

/* --- other orders of warps and blocks, other contents of fresh memory --- */

static struct err *is_recorded(void *arg, const struct sbt_memory *m)
{
	struct order_range *r = arg;

	if (m->role == SBT_MEMORY_EFFECT && m->addr <= r->addr && m->addr + m->size >= r->end)
		r->end = r->addr;
	return NULL;
}

/* Whether the trace has the memory's contents when it was allocated: a replay restores them. */
static struct err *begins_as_recorded(const struct search *x, const struct unwritten *u, bool *ret)
{
	struct order_range left = {u->read[0].addr, u->read[0].addr + u->read[0].size};
	struct err *e = sbt_reader_memory(
		x->en->trace.reader, u->alloc_seq, u->alloc_seq, is_recorded, &left);

	*ret = left.end == left.addr;
	return e;
}

static struct err *take_unwritten(struct search *x, const struct check_result *r)
{
	for (size_t i = 0; i < r->unwritten.n && !verdict_answered(x); i++) {
		const struct unwritten *u = &r->unwritten.row[i];
		const struct order_doubt d = {.seq = u->seq};
		bool known;

		TRY(begins_as_recorded(x, u, &known));
		if (known || verdict_first(x, &d, 1, 1) == SIZE_MAX)
			continue;
		verdict_answer(x, VERDICT_UNWRITTEN, VERDICT_READS_UNWRITTEN, u->seq, 0);
		x->ret->addr = u->read[0].addr;
		x->ret->alloc = u->alloc;
		x->ret->alloc_seq = u->alloc_seq;
	}
	return NULL;
}

/* Asked before the device is blamed: a launch that is the same every time here may still differ. */
static struct err *ask_perturbed(struct search *x)
{
	const struct check_options o = {.runs = RUNS,
		.perturb = true,
		.first = x->rd->first,
		.budget_ns = PERTURB_NS,
		.last = x->output.kind ? order_flow_newest(x->flow, x->output.seq) : x->rd->last};
	struct check_result r = {0};
	struct err *e = check_run(x->en, &o, &r);

	if (!e)
		e = take_unwritten(x, &r);
	if (!e && !verdict_answered(x))
		take_first(x, VERDICT_DIFFERS_PERTURBED, &r, false);
	x->perturbed = r;
	return verdict_not_asked(x, VERDICT_ASK_PERTURBED, e);
}

/* Asked when nothing else explains it. What a launch was seen to leave differently in a few
 * executions need not be all that it may: of two sums by atomics in one kernel, one came out the
 * same every time on an H200, and not as recorded. */
static struct err *ask_wholly(struct search *x)
{
	take_first(x, VERDICT_DIFFERS_AGAIN, &x->seen, true);
	if (!verdict_answered(x))
		take_first(x, VERDICT_DIFFERS_PERTURBED, &x->perturbed, true);
	return NULL;
}

/* --- the device --- */

static bool is_another_device(const struct search *x)
{
	const char *notes = device_info(x->rd->d).notes;

	return sbt_reader_meta(x->en->trace.reader)->soft != x->rd->soft ||
	       strstr(notes, ", replayed on ") || strstr(notes, ", replayed with driver ");
}

static void is_launch(void *arg, const struct sbt_cmd *c)
{
	bool *any = arg;

	*any |= c->kind == SBT_LAUNCH || c->kind == SBT_GRAPH_LAUNCH;
}

/* Whether launches may have written what no command is known to write: the software GPU says what
 * each touches, other devices do not. */
static struct err *may_be_launches(const struct search *x, bool *ret)
{
	*ret = false;
	return x->rd->watches ? NULL : verdict_each_command(x, is_launch, ret);
}

static struct err *ask_device(struct search *x)
{
	const struct order_range *t = x->ndiffering ? &x->differing[0] : NULL;
	const uint64_t writer = t ? order_flow_writer(x->flow, x->seq, t->addr, t->end) : 0,
		       seq = writer ? writer : x->output.seq;
	bool launches = false;

	if (!seq)
		TRY(may_be_launches(x, &launches));
	if (x->ret->nunanswered || launches) {
		verdict_answer(x, VERDICT_OPEN, VERDICT_UNANSWERED, seq, 0);
		return NULL;
	}
	verdict_answer(x, VERDICT_DEVICE,
		writer ? VERDICT_LAST_WRITER
		: seq  ? VERDICT_DELIVERS
		       : VERDICT_NO_WRITER,
		seq, 0);
	if (seq)
		x->ret->addr = t ? t->addr : x->output.u.copy.dst;
	x->ret->other_device = is_another_device(x);
	return NULL;
}

/* --- all of it --- */

static struct err *open_search(struct search *x)
{
	struct order_options o = {
		.first = x->rd->first, .last = x->rd->last, .interrupt = x->en->cancel};

	TRY(exact_open(&x->exact, x->en, EXACT_AUTO, x->rd->first, x->rd->last));
	o.source = exact_source(x->exact);
	TRY(order_flow_open(&x->flow, x->en->trace.reader, &o));
	TRY(state_at(&x->end, x->en->trace.reader, x->rd->last));
	TRY(verdict_list_shared(x));
	return find_differing(x);
}

static struct err *search(struct search *x)
{
	static struct err *(*const ask[])(struct search *) = {
		verdict_ask_host_surely,
		ask_determinism,
		verdict_ask_values,
		verdict_ask_races,
		ask_incomplete,
		ask_perturbed,
		verdict_ask_left_out,
		verdict_ask_host,
		ask_wholly,
		ask_device,
	};

	TRY(open_search(x));
	for (size_t i = 0; i < sizeof ask / sizeof *ask && !verdict_answered(x); i++)
		TRY(ask[i](x));
	return NULL;
}

void verdict_find(struct engine *en, const struct device_verified *v, struct verdict *ret)
{
	struct search x = {.en = en, .rd = en->trace.device, .v = v, .ret = ret};

	*ret = (struct verdict){.node = SBT_NO_ID, .with_node = SBT_NO_ID};
	if (device_verified_ok(v) || x.rd->what_if || x.rd->partial)
		return;
	struct err *e = search(&x);
	order_flow_close(x.flow);
	exact_free(x.exact);
	state_free(x.end);
	free(x.shared);
	check_free(&x.seen);
	check_free(&x.perturbed);
	if (e) { /* the replay differs all the same */
		verdict_free(ret);
		ret->kind = VERDICT_OPEN;
		ret->reason = VERDICT_SEARCH_FAILED;
		ret->detail = xstrdup(e->what);
		err_free(e);
	}
}

void verdict_free(struct verdict *v)
{
	for (size_t i = 0; i < v->nunanswered; i++)
		free(v->unanswered[i].detail);
	free(v->unanswered);
	free(v->call);
	free(v->detail);
	check_free(&v->checked);
	*v = (struct verdict){.node = SBT_NO_ID, .with_node = SBT_NO_ID};
}
