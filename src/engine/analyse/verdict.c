/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a replay differs, see verdict.h. The surprise: possible causes are checked in a fixed order,
 * the most certain first, and the first one that reaches the difference is the answer. A check that
 * failed is mentioned and does not stop the others.
 */
#include "engine/verdict.h"

#include <inttypes.h>
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

void verdict_print_cmd(const struct search *x, const char *indent, uint64_t seq)
{
	struct buf *b = &x->ret->text;
	uint32_t stack;

	buf_str(b, indent);
	struct err *e = trace_print_cmd(x->en->trace.reader, x->end, seq, false, b, &stack);
	if (e)
		buf_printf(b, "#%" PRIu64, seq);
	err_free(e);
	buf_byte(b, '\n');
}

void verdict_answer(const struct search *x, enum verdict_kind kind, uint64_t seq, uint64_t with)
{
	x->ret->kind = kind;
	x->ret->seq = seq;
	x->ret->with = with;
}

bool verdict_answered(const struct search *x)
{
	return x->ret->kind != VERDICT_NONE;
}

struct err *verdict_not_asked(struct search *x, const char *what, struct err *e)
{
	if (!e || e->code == ERR_INTERRUPTED)
		return e;
	buf_printf(&x->not_asked, "  %s could not be found out: %s\n", what, e->what);
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

static void say_not_deterministic(const struct search *x, const struct check_result *r, size_t i)
{
	const struct check_result one = only(r, i);

	verdict_answer(x, VERDICT_NOT_DETERMINISTIC, r->launches[i].seq, 0);
	buf_printf(&x->ret->text,
		"Why: #%" PRIu64
		" is not deterministic. It is executed again as it was recorded, and no two runs of the program need agree.\n",
		r->launches[i].seq);
	if (x->en->hooks.describe_check)
		x->en->hooks.describe_check(x->en->hooks.arg, &one, &x->ret->text);
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

/* A step of a launch has its launch's number. */
static size_t first_that_reaches(const struct search *x, const struct check_result *r)
{
	struct order_doubt *d;
	size_t each = 1;

	for (size_t i = 0; i < r->nlaunches; i++)
		each = r->launches[i].nplaces > each ? r->launches[i].nplaces : each;
	d = xcalloc(r->nlaunches * each + 1, sizeof *d);
	for (size_t i = 0; i < r->nlaunches; i++) {
		struct order_doubt *of = &d[i * each];

		for (size_t n = doubts_of(r, &r->launches[i], of); n < each; n++)
			of[n] = of[0];
	}
	size_t first = verdict_first(x, d, r->nlaunches, each);
	free(d);
	while (first != SIZE_MAX && first && r->launches[first].step)
		first--;
	return first;
}

static void take_first(struct search *x, const struct check_result *r)
{
	const size_t first = first_that_reaches(x, r);

	if (first != SIZE_MAX)
		say_not_deterministic(x, r, first);
}

/* Notes launches that were executed once only: they may be the cause. */
static void say_not_checked(struct search *x, const struct check_result *r)
{
	static const char text[] =
		"  whether %" PRIu64 " launch%s deterministic could not be found out: %s\n";

	if (r->heap)
		buf_printf(&x->not_asked, text, r->heap, r->heap == 1 ? " is" : "es are",
			"what they take from the device's own heap cannot be put back");
	if (r->late)
		buf_printf(&x->not_asked, text, r->late, r->late == 1 ? " is" : "es are",
			"they are kept back behind a wait for a value that was written later");
	if (r->missed)
		buf_printf(&x->not_asked, text, r->missed, r->missed == 1 ? " is" : "es are",
			"there was no time for it");
}

static struct err *ask_determinism(struct search *x)
{
	const struct check_options o = {.runs = RUNS,
		.first = x->rd->first,
		.last = x->output.kind ? order_flow_newest(x->flow, x->output.seq) : x->rd->last};
	struct check_result r = {0};
	struct err *e = check_run(x->en, &o, &r);

	if (!e)
		take_first(x, &r);
	if (!e && !verdict_answered(x))
		say_not_checked(x, &r);
	check_free(&r);
	return verdict_not_asked(x, "whether a kernel is deterministic", e);
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
	verdict_answer(x, VERDICT_INCOMPLETE, 0, 0);
	buf_printf(&x->ret->text, "Why: memory that the trace lacks: %.*s.\n",
		(int)strcspn(at, "\n"), at);
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
		verdict_answer(x, VERDICT_UNWRITTEN, u->seq, 0);
		buf_printf(&x->ret->text,
			"Why: #%" PRIu64 " reads memory that nobody wrote, 0x%" PRIx64
			" of the allocation #%" PRIu64 " at 0x%" PRIx64
			": what lay there in the recording is not in the trace.\n",
			u->seq, u->read[0].addr, u->alloc_seq, u->alloc);
		verdict_print_cmd(x, "    ", u->seq);
	}
	return NULL;
}

static void take_perturbed(struct search *x, const struct check_result *r)
{
	const size_t first = first_that_reaches(x, r);

	if (first == SIZE_MAX)
		return;
	const struct check_result one = only(r, first);

	verdict_answer(x, VERDICT_NOT_DETERMINISTIC, r->launches[first].seq, 0);
	buf_printf(&x->ret->text,
		"Why: #%" PRIu64
		" may give other bytes than it did. Executed again as it is here it does not; under other conditions it does, and the recording's are"
		" not known.\n",
		r->launches[first].seq);
	if (x->en->hooks.describe_check)
		x->en->hooks.describe_check(x->en->hooks.arg, &one, &x->ret->text);
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
		take_perturbed(x, &r);
	check_free(&r);
	return verdict_not_asked(
		x, "whether a kernel gives other bytes in other orders of its blocks", e);
}

/* --- the device --- */

static bool is_another_device(const struct search *x)
{
	const char *notes = device_info(x->rd->d).notes;

	return sbt_reader_meta(x->en->trace.reader)->soft != x->rd->soft ||
	       strstr(notes, ", replayed on ") || strstr(notes, ", replayed with driver ");
}

static struct err *ask_device(struct search *x)
{
	const struct order_range *t = x->ndiffering ? &x->differing[0] : NULL;
	const uint64_t writer = t ? order_flow_writer(x->flow, x->seq, t->addr, t->end) : 0,
		       seq = writer ? writer : x->output.seq;
	struct buf *b = &x->ret->text;

	if (x->not_asked.len) {
		verdict_answer(x, VERDICT_OPEN, seq, 0);
		buf_str(b, "Why: that could not be found out.\n");
		return NULL;
	}
	verdict_answer(x, VERDICT_DEVICE, seq, 0);
	buf_str(b, "Why: the device disagrees with the recording.");
	if (seq) {
		buf_printf(b,
			" #%" PRIu64 " %s 0x%" PRIx64
			"; executed again from the same memory it leaves the same bytes every time, and not those of the"
			" recording.\n",
			seq, writer ? "is the last command that writes to" : "delivers",
			t ? t->addr : x->output.u.copy.dst);
		verdict_print_cmd(x, "    ", seq);
	} else {
		buf_str(b, " Nothing in the window writes there.\n");
	}
	if (is_another_device(x))
		buf_str(b,
			"    It was recorded on another GPU or driver, whose results may differ in their last bits.\n");
	else
		buf_str(b,
			"    No race and no call that is left out explains it. A fault of the hardware may, then or now: replay it on another GPU of the same"
			" model, and look at `nvidia-smi -q -d ECC` and dmesg (Xid).\n");
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
		ask_device,
	};

	TRY(open_search(x));
	for (size_t i = 0; i < sizeof ask / sizeof *ask && !verdict_answered(x); i++)
		TRY(ask[i](x));
	if (x->not_asked.len)
		buf_add(&x->ret->text, x->not_asked.data, x->not_asked.len);
	return NULL;
}

void verdict_find(struct engine *en, const struct device_verified *v, struct verdict *ret)
{
	struct search x = {.en = en, .rd = en->trace.device, .v = v, .ret = ret};

	*ret = (struct verdict){0};
	if (device_verified_ok(v) || x.rd->what_if || x.rd->partial)
		return;
	struct err *e = search(&x);
	order_flow_close(x.flow);
	exact_free(x.exact);
	state_free(x.end);
	buf_free(&x.not_asked);
	free(x.shared);
	if (e) { /* the replay differs all the same */
		ret->kind = VERDICT_OPEN;
		buf_clear(&ret->text);
		buf_printf(&ret->text, "Why: that could not be found out: %s.\n", e->what);
		err_free(e);
	}
}

void verdict_free(struct verdict *v)
{
	buf_free(&v->text);
	*v = (struct verdict){0};
}
