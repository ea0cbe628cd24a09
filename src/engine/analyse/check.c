/* SPDX-License-Identifier: Apache-2.0
 *
 * Nondeterministic launches, see check.h. Launches that only pass a difference on are found by
 * observation: the window is executed twice from its beginning. A launch that is the same from the
 * same memory, but changed something else in the second run, had read other memory.
 */
#include "engine/check.h"

#include <math.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/patience.h"
#include "replay/values.h"
#include "engine/replay-device.h"
#include "engine/trace-file.h"
#include "base/words.h"
#include "state/state.h"
#include "sbt/kernel-name.h"

/* --- asking --- */

/* Ids of the kernels whose names match; *ret_n 0 with o->kernel set: none does. */
static struct err *find_kernels(
	struct engine *en, const struct check_options *o, uint32_t **ret, size_t *ret_n)
{
	struct state *end;
	struct state_kernel k;

	*ret = NULL;
	*ret_n = 0;
	if (!o->kernel)
		return NULL;
	TRY(state_at(&end, en->trace.reader, en->trace.device->last));
	for (unsigned i = 0; state_kernel(end, i, &k); i++) {
		if (!sbt_kernel_glob(o->kernel, k.name, k.short_name))
			continue;
		*ret = xrealloc(*ret, (*ret_n + 1) * sizeof **ret);
		(*ret)[(*ret_n)++] = k.id;
	}
	state_free(end);
	return *ret_n ? NULL
		      : err_new(ERR_NOT_FOUND, "no kernel of the trace matches \"%s\"", o->kernel);
}

static struct check_launch *launch_of(struct check_result *r, uint64_t seq, uint32_t step)
{
	struct check_launch *last = r->nlaunches ? &r->launches[r->nlaunches - 1] : NULL;

	if (last && last->seq == seq && last->step == step)
		return last;
	r->launches = xrealloc(r->launches, (r->nlaunches + 1) * sizeof *r->launches);
	r->launches[r->nlaunches] = (struct check_launch){.seq = seq, .step = step};
	r->nsteps += step != 0;
	return &r->launches[r->nlaunches++];
}

static struct check_place *place_of(struct check_launch *l, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < l->nplaces; i++)
		if (l->places[i].addr == addr)
			return &l->places[i];
	l->places = xrealloc(l->places, (l->nplaces + 1) * sizeof *l->places);
	l->places[l->nplaces] = (struct check_place){.addr = addr, .size = size};
	return &l->places[l->nplaces++];
}

static void add_unwritten(
	struct check_result *r, const struct state *st, const struct replayer_difference *d)
{
	struct unwritten_rows *rows = &r->unwritten;
	struct state_alloc a;
	struct unwritten *u;

	rows->row = xrealloc(rows->row, (rows->n + 1) * sizeof *rows->row);
	u = &rows->row[rows->n++];
	*u = (struct unwritten){
		.seq = d->seq, .kernel = SBT_NO_ID, .count = 1, .alloc = d->at, .nread = 1};
	u->read[0] = (struct unwritten_range){d->addr, 8};
	if (state_alloc_at(st, d->addr, &a))
		u->alloc_seq = a.alloc_seq;
}

static void add_row(
	struct check_result *r, const struct state *st, const struct replayer_difference *d)
{
	struct check_launch *l;
	struct check_place *p;
	struct state_alloc a;

	if (d->unwritten == REPLAYER_UNWRITTEN_MEMORY) {
		add_unwritten(r, st, d);
		return;
	}
	l = launch_of(r, d->seq, d->step);
	l->nodes = d->nodes;
	if (d->unwritten) {
		l->shared = true;
		return;
	}
	if (state_alloc_at(st, d->elements ? d->at : d->addr, &a))
		p = place_of(l, a.addr, a.size);
	else
		p = place_of(l, d->addr, 0);
	if (!p->elements && d->elements) {
		p->as = (enum replayer_as)d->as;
		p->first_differs = d->at;
		p->was = d->first;
		p->is = d->other;
	}
	p->bytes += d->bytes;
	p->elements += d->elements;
	p->close += d->close;
	p->largest = fmax(p->largest, d->largest);
	p->steps = fmax(p->steps, d->steps);
	l->differing = d->runs > l->differing ? d->runs : l->differing;
}

/* Tells sums in another order, which differ in their last bits, from races, in which whole values
 * are exchanged or lost. */
static void judge(struct check_launch *l)
{
	uint64_t elements = 0, close = 0;
	bool floats = true;

	for (size_t i = 0; i < l->nplaces; i++) {
		elements += l->places[i].elements;
		close += l->places[i].close;
		floats &= value_types[l->places[i].as].is_float;
	}
	l->looks = floats && elements && 100 * close >= 99 * elements ? CHECK_LIKE_ATOMICS
		   : elements && 2 * close < elements		      ? CHECK_LIKE_A_RACE
								      : CHECK_LIKE_NEITHER;
}

/* Marks launches whose kernels read a clock: their results differ by nature. */
static void find_clocks(struct engine *en, const struct state *st, struct check_result *r)
{
	for (size_t i = 0; i < r->nlaunches; i++) {
		struct check_launch *l = &r->launches[i];
		struct sbt_cursor *cursor;
		const struct sbt_cmd *c;
		struct state_kernel k;
		struct err *e = l->nplaces && !l->step
					? trace_cmd(en->trace.reader, l->seq, &cursor, &c)
					: NULL;

		if (!e && l->nplaces && !l->step) {
			if (c->kind == SBT_LAUNCH &&
				state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k))
				l->clock = reads_clock(en->trace.reader, k.name);
			sbt_cursor_close(cursor);
		}
		err_free(e);
	}
}

static struct err *take_rows(
	struct engine *en, const struct device_checked *c, struct check_result *r)
{
	struct state *st = NULL;
	uint64_t at = 0;
	struct err *e = NULL;

	for (size_t i = 0; !e && i < c->n; i++) {
		if (at != c->rows[i].seq) {
			state_free(st);
			st = NULL;
			at = c->rows[i].seq;
			e = state_at(&st, en->trace.reader, at);
		}
		if (!e)
			add_row(r, st, &c->rows[i]);
	}
	for (size_t i = 0; i < r->nlaunches; i++)
		judge(&r->launches[i]);
	if (st)
		find_clocks(en, st, r);
	state_free(st);
	return e;
}

static bool is_found(const struct check_result *r, uint64_t seq)
{
	for (size_t i = 0; i < r->nlaunches; i++)
		if (r->launches[i].seq == seq)
			return true;
	return false;
}

static struct err *find_passing(
	struct device *d, const struct check_options *o, struct check_result *r)
{
	struct replayer_check how = {
		.from = device_info(d).first, .to = r->last, .runs = 2, .perturb = o->perturb};
	struct device_checked runs[2] = {{0}};
	struct err *e = NULL;

	how.digest = 1;
	for (unsigned i = 0; !e && i < 2; i++, how.digest++)
		e = device_check(d, &how, NULL, 0, &runs[i]);
	r->passing_unknown = !e && (runs[0].end || runs[1].end);
	for (size_t i = 0; !e && !r->passing_unknown && i < runs[0].n && i < runs[1].n; i++) {
		const struct replayer_difference *a = &runs[0].rows[i], *b = &runs[1].rows[i];

		if (a->seq != b->seq || (a->first == b->first && a->other == b->other) ||
			is_found(r, a->seq) || a->seq < r->first)
			continue;
		r->passing = xrealloc(r->passing, (r->npassing + 1) * sizeof *r->passing);
		r->passing[r->npassing++] = a->seq;
	}
	device_checked_free(&runs[0]);
	device_checked_free(&runs[1]);
	return e;
}

/* Launches behind r->reached, up to r->last, that would have been checked. */
static struct err *count_missed(
	struct engine *en, const uint32_t *kernels, size_t n, struct check_result *r)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	TRY(sbt_cursor_open(&cursor, en->trace.reader));
	struct err *e = sbt_cursor_seek(cursor, r->reached + 1);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	while (!e && c && c->seq <= r->last) {
		r->missed += replayer_checks(c, kernels, n);
		e = sbt_cursor_next(cursor, &c);
	}
	sbt_cursor_close(cursor);
	return e;
}

/* Adds launches that read unwritten memory. Access sets find more than trying does. */
static struct err *find_unwritten(struct engine *en, const uint32_t *kernels, size_t n,
	const struct patience *budget, struct check_result *r)
{
	struct err *e;

	r->unwritten_unknown = r->end != DEVICE_CHECKED_ALL;
	if (r->unwritten_unknown)
		return NULL;
	e = unwritten_find(en, r->first, r->last, kernels, n, &r->unwritten);
	if (!e || !(e->code == ERR_INTERRUPTED ||
			  (e->code == ERR_LIMIT && budget->spent_ns >= budget->limit_ns)))
		return e;
	err_free(e);
	r->unwritten_unknown = true;
	return NULL;
}

static void take_sums(const struct device_checked *c, struct check_result *r)
{
	r->checked = c->checked;
	r->left_out = c->left_out;
	r->heap = c->heap;
	r->late = c->late;
	r->outside = c->outside;
	r->end = c->end;
	r->reached = c->reached;
}

static struct err *ask_all(struct engine *en, const struct check_options *o,
	const uint32_t *kernels, size_t n, const struct patience *budget, struct check_result *r)
{
	struct device *d = en->trace.device->d;
	const bool exact = en->trace.device->watches && !en->trace.device->what_if &&
			   !en->trace.device->partial;
	const struct replayer_check how = {.from = r->first,
		.to = r->last,
		.runs = o->runs,
		.as = o->as,
		.thorough = o->thorough,
		.perturb = o->perturb ? exact ? REPLAYER_PERTURB_OTHERS : REPLAYER_PERTURB_ALL : 0};
	struct device_checked c = {0};
	struct err *e = device_check(d, &how, kernels, n, &c);

	take_sums(&c, r);
	if (!e)
		e = take_rows(en, &c, r);
	device_checked_free(&c);
	if (!e && r->end)
		e = count_missed(en, kernels, n, r);
	if (!e && o->perturb && exact)
		e = find_unwritten(en, kernels, n, budget, r);
	if (e || !r->nlaunches || o->kernel)
		return e;
	r->passing_unknown = r->end != DEVICE_CHECKED_ALL;
	return r->passing_unknown ? NULL : find_passing(d, o, r);
}

static struct err *ask(struct engine *en, const struct check_options *o, struct check_result *r)
{
	struct device *d = en->trace.device->d;
	struct patience budget = {0};
	uint32_t *kernels;
	size_t n;
	struct err *e;

	TRY(find_kernels(en, o, &kernels, &n));
	if (o->budget_ns != CHECK_NO_BUDGET)
		device_budget(d, &budget, o->budget_ns);
	e = ask_all(en, o, kernels, n, &budget, r);
	device_budget(d, NULL, 0);
	r->spent_ns = budget.spent_ns;
	free(kernels);
	return e;
}

struct err *check_missed(struct engine *en, const struct check_options *o, uint64_t first,
	uint64_t last, enum device_checked_end end, struct check_result *ret)
{
	uint32_t *kernels;
	size_t n;
	struct err *e;

	*ret = (struct check_result){.first = o->first > first ? o->first : first,
		.last = o->last && o->last < last ? o->last : last,
		.runs = o->runs,
		.end = end};
	ret->reached = ret->first - 1;
	TRY(find_kernels(en, o, &kernels, &n));
	e = count_missed(en, kernels, n, ret);
	free(kernels);
	return e;
}

struct err *check_run(struct engine *en, const struct check_options *o, struct check_result *ret)
{
	struct replay_device *rd;
	struct err *e;

	TRY(replay_device_need(en, "replay check", &rd));
	*ret = (struct check_result){.first = o->first > rd->first ? o->first : rd->first,
		.last = o->last && o->last < rd->last ? o->last : rd->last,
		.runs = o->runs};
	const struct device_fault f = device_info(rd->d).fault;
	if (f.told && f.first && f.first <= ret->last) {
		if (f.first <= ret->first)
			return err_new(ERR_STATE,
				"#%" PRIu64 " cannot be checked: a command from #%" PRIu64
				" on faulted in the recording (CUDA error %u, reported by #%" PRIu64
				")",
				ret->first, f.first, f.code, f.told);
		ret->fault = f;
		ret->last = f.first - 1;
	}
	e = ask(en, o, ret);
	if (!e && (ret->end || ret->passing_unknown || ret->unwritten_unknown))
		err_free(replay_device_back(
			en, NULL)); /* the check's answer is valid even if this fails */
	else
		e = replay_device_back(en, e);
	if (e)
		check_free(ret);
	return e;
}

void check_free(struct check_result *r)
{
	for (size_t i = 0; i < r->nlaunches; i++)
		free(r->launches[i].places);
	free(r->launches);
	free(r->passing);
	free(r->unwritten.row);
	*r = (struct check_result){0};
}

bool check_found(const struct check_result *r)
{
	return r->nlaunches || r->unwritten.n;
}

bool check_cut_short(const struct check_result *r)
{
	return r->end || r->unwritten_unknown;
}
