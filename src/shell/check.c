/* SPDX-License-Identifier: Apache-2.0
 *
 * Nondeterministic launches, see check.h. Which ones only pass a difference on is seen, not reasoned: the window is executed twice from
 * its beginning, and a launch that is the same from the same memory but changed something else in the second run had other memory to read.
 */
#include "shell/check.h"

#include <math.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/values.h"
#include "shell/reads-clock.h"
#include "shell/replay-device.h"
#include "shell/trace.h"
#include "shell/words.h"
#include "state/state.h"

#define RUNS 10

/* ---- options -------------------------------------------------------------------------------------------------------- */

static struct err *usage(const char *word)
{
	return err_cure(err_new(ERR_USAGE, "\"%s\" does not say what to check", word),
		"Use: [N] [A-B] [kernel GLOB] [--as f32|f64|f16|bf16|i32|i64|i8] [--perturb] [--thorough]");
}

static struct err *parse_as(struct check_options *o, const char *word)
{
	for (unsigned i = 0; i < REPLAYER_AS_END; i++)
		if (!strcmp(value_types[i].name, word)) {
			o->as = (enum replayer_as)i;
			return NULL;
		}
	return usage(word);
}

struct err *check_parse(struct check_options *o, int argc, char *const *argv, const char **ret_other)
{
	uint64_t n;

	*o = (struct check_options){.runs = RUNS};
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(w, "--perturb")) {
			o->perturb = true;
		} else if (!strcmp(w, "--thorough")) {
			o->thorough = true;
		} else if ((!strcmp(w, "kernel") || !strcmp(w, "--kernel")) && value) {
			o->kernel = value;
			i++;
		} else if (!strcmp(w, "--as") && value) {
			TRY(parse_as(o, value));
			i++;
		} else if (*w != '#' && word_u64(w, &n)) {
			if (n < 2 || n > 1000)
				return err_new(ERR_USAGE, "%s executions of each launch cannot be compared: 2 to 1000 can", w);
			o->runs = (uint32_t)n;
		} else if (word_range(w, &o->first, &o->last)) {
			continue;
		} else if (ret_other && !*ret_other) {
			*ret_other = w;
		} else {
			return usage(w);
		}
	}
	return NULL;
}

/* ---- asking ----------------------------------------------------------------------------------------------------------- */

/* Ids of the kernels whose names match; *ret_n 0 with o->kernel set: none does. */
static struct err *find_kernels(struct session *s, const struct check_options *o, uint32_t **ret, size_t *ret_n)
{
	struct state *end;
	struct state_kernel k;

	*ret = NULL;
	*ret_n = 0;
	if (!o->kernel)
		return NULL;
	TRY(state_at(&end, s->trace.reader, s->trace.device->last));
	for (unsigned i = 0; state_kernel(end, i, &k); i++) {
		if (!sbt_kernel_glob(o->kernel, k.name, k.short_name))
			continue;
		*ret = xrealloc(*ret, (*ret_n + 1) * sizeof **ret);
		(*ret)[(*ret_n)++] = k.id;
	}
	state_free(end);
	return *ret_n ? NULL : err_new(ERR_NOT_FOUND, "no kernel of the trace matches \"%s\"", o->kernel);
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

static void add_unwritten(struct check_result *r, const struct state *st, const struct replayer_difference *d)
{
	struct unwritten_rows *rows = &r->unwritten;
	struct state_alloc a;
	struct unwritten *u;

	rows->row = xrealloc(rows->row, (rows->n + 1) * sizeof *rows->row);
	u = &rows->row[rows->n++];
	*u = (struct unwritten){.seq = d->seq, .kernel = SBT_NO_ID, .count = 1, .alloc = d->at, .nread = 1};
	u->read[0] = (struct unwritten_range){d->addr, 8};
	if (state_alloc_at(st, d->addr, &a))
		u->alloc_seq = a.alloc_seq;
}

static void add_row(struct check_result *r, const struct state *st, const struct replayer_difference *d)
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

/* Sums in another order differ in their last bits; of a race, whole values are exchanged or lost. */
static void judge(struct check_launch *l)
{
	uint64_t elements = 0, close = 0;
	bool floats = true;

	for (size_t i = 0; i < l->nplaces; i++) {
		elements += l->places[i].elements;
		close += l->places[i].close;
		floats &= value_types[l->places[i].as].is_float;
	}
	l->looks = floats && elements && 100 * close >= 99 * elements ? CHECK_LIKE_ATOMICS :
		   elements && 2 * close < elements ? CHECK_LIKE_A_RACE : CHECK_LIKE_NEITHER;
}

/* Those whose results are different by nature. */
static void find_clocks(struct session *s, const struct state *st, struct check_result *r)
{
	for (size_t i = 0; i < r->nlaunches; i++) {
		struct check_launch *l = &r->launches[i];
		struct sbt_cursor *cursor;
		const struct sbt_cmd *c;
		struct state_kernel k;
		struct err *e = l->nplaces && !l->step ? trace_cmd(s->trace.reader, l->seq, &cursor, &c) : NULL;

		if (!e && l->nplaces && !l->step) {
			if (c->kind == SBT_LAUNCH && state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k))
				l->clock = reads_clock(s->trace.reader, k.name);
			sbt_cursor_close(cursor);
		}
		err_free(e);
	}
}

static struct err *take_rows(struct session *s, const struct device_checked *c, struct check_result *r)
{
	struct state *st = NULL;
	uint64_t at = 0;
	struct err *e = NULL;

	for (size_t i = 0; !e && i < c->n; i++) {
		if (at != c->rows[i].seq) {
			state_free(st);
			st = NULL;
			at = c->rows[i].seq;
			e = state_at(&st, s->trace.reader, at);
		}
		if (!e)
			add_row(r, st, &c->rows[i]);
	}
	for (size_t i = 0; i < r->nlaunches; i++)
		judge(&r->launches[i]);
	if (st)
		find_clocks(s, st, r);
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

static struct err *find_passing(struct device *d, const struct check_options *o, struct check_result *r)
{
	struct replayer_check how = {.from = device_info(d).first, .to = r->last, .runs = 2, .perturb = o->perturb};
	struct device_checked runs[2] = {{0}};
	struct err *e = NULL;

	how.digest = 1;
	for (unsigned i = 0; !e && i < 2; i++, how.digest++)
		e = device_check(d, &how, NULL, 0, &runs[i]);
	for (size_t i = 0; !e && i < runs[0].n && i < runs[1].n; i++) {
		const struct replayer_difference *a = &runs[0].rows[i], *b = &runs[1].rows[i];

		if (a->seq != b->seq || (a->first == b->first && a->other == b->other) || is_found(r, a->seq) || a->seq < r->first)
			continue;
		r->passing = xrealloc(r->passing, (r->npassing + 1) * sizeof *r->passing);
		r->passing[r->npassing++] = a->seq;
	}
	device_checked_free(&runs[0]);
	device_checked_free(&runs[1]);
	return e;
}

static struct err *ask(struct session *s, const struct check_options *o, struct check_result *r)
{
	struct device *d = s->trace.device->d;
	const bool exact = s->trace.device->soft && !s->trace.device->what_if && !s->trace.device->partial;
	const struct replayer_check how = {.from = r->first, .to = r->last, .runs = o->runs, .as = o->as, .thorough = o->thorough,
		.perturb = o->perturb ? exact ? REPLAYER_PERTURB_OTHERS : REPLAYER_PERTURB_ALL : 0};
	struct device_checked c = {0};
	uint32_t *kernels;
	size_t n;
	struct err *e;

	TRY(find_kernels(s, o, &kernels, &n));
	e = device_check(d, &how, kernels, n, &c);
	if (!e)
		e = take_rows(s, &c, r);
	if (!e && o->perturb && exact) /* access sets know more than trying does */
		e = unwritten_find(s, r->first, r->last, kernels, n, &r->unwritten);
	free(kernels);
	r->checked = c.checked;
	r->left_out = c.left_out;
	r->heap = c.heap;
	r->outside = c.outside;
	device_checked_free(&c);
	if (!e && r->nlaunches && !o->kernel)
		e = find_passing(d, o, r);
	return e;
}

struct err *check_run(struct session *s, const struct check_options *o, struct check_result *ret)
{
	struct replay_device *rd;
	struct err *e;

	TRY(replay_device_need(s, "replay check", &rd));
	*ret = (struct check_result){.first = o->first > rd->first ? o->first : rd->first,
		.last = o->last && o->last < rd->last ? o->last : rd->last, .runs = o->runs};
	const struct device_fault f = device_info(rd->d).fault;
	if (f.told && f.first && f.first <= ret->last) {
		if (f.first <= ret->first)
			return err_new(ERR_STATE, "#%" PRIu64 " cannot be checked: a command from #%" PRIu64 " on faulted in the recording (CUDA error %u, told by #%"
				PRIu64 ")", ret->first, f.first, f.code, f.told);
		ret->fault = f;
		ret->last = f.first - 1;
	}
	e = replay_device_back(s, ask(s, o, ret));
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
