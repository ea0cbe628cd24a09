/* SPDX-License-Identifier: Apache-2.0
 *
 * Nondeterministic launches, see check.h. Which ones only pass a difference on is seen, not reasoned: the window is executed twice from
 * its beginning, and a launch that is the same from the same memory but changed something else in the second run had other memory to read.
 */
#include "shell/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "replay/values.h"
#include "shell/replay-device.h"
#include "shell/stack.h"
#include "shell/trace.h"
#include "shell/words.h"
#include "state/state.h"

#define RUNS 10
#define FRAMES 5 /* of a stack */

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

static struct check_launch *launch_of(struct check_result *r, uint64_t seq)
{
	if (r->nlaunches && r->launches[r->nlaunches - 1].seq == seq)
		return &r->launches[r->nlaunches - 1];
	r->launches = xrealloc(r->launches, (r->nlaunches + 1) * sizeof *r->launches);
	r->launches[r->nlaunches] = (struct check_launch){.seq = seq};
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
	l = launch_of(r, d->seq);
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
	state_free(st);
	for (size_t i = 0; i < r->nlaunches; i++)
		judge(&r->launches[i]);
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

/* ---- telling ------------------------------------------------------------------------------------------------------------ */

static void print_value(struct buf *out, enum replayer_as as, uint64_t bits)
{
	static const int digits[REPLAYER_AS_END] = {[REPLAYER_AS_F32] = 9, [REPLAYER_AS_F64] = 17, [REPLAYER_AS_F16] = 5, [REPLAYER_AS_BF16] = 4};

	if (digits[as])
		buf_printf(out, "%.*g", digits[as], value_of(bits, as));
	else
		buf_printf(out, "%" PRId64, value_signed(bits, as));
}

static const char *looks_text(enum check_looks l)
{
	static const char *const texts[] = {
		[CHECK_LIKE_ATOMICS] = "only last bits differ: it looks like sums made in another order (floating-point atomics)",
		[CHECK_LIKE_A_RACE] = "whole values differ: it looks like a race within the kernel",
		[CHECK_LIKE_NEITHER] = "neither the last bits alone nor mostly whole values differ",
	};

	return texts[l];
}

static void print_place(const struct check_place *p, struct buf *out)
{
	buf_printf(out, "    0x%" PRIx64, p->addr);
	if (p->size)
		buf_printf(out, " (%" PRIu64 " bytes)", p->size);
	if (!p->elements) {
		buf_str(out, ": something in it was different once, and not when each execution was looked at\n");
		return;
	}
	buf_printf(out, ": %" PRIu64 " %s differ", p->elements, value_types[p->as].name);
	if (value_types[p->as].is_float)
		buf_printf(out, ", by at most %.6g (%.0f ULP)", p->largest, p->steps);
	else
		buf_printf(out, ", by at most %.0f", p->largest);
	buf_printf(out, "; at +%" PRIu64 " ", p->first_differs - p->addr);
	print_value(out, p->as, p->was);
	buf_str(out, ", then ");
	print_value(out, p->as, p->is);
	buf_byte(out, '\n');
}

static void print_cmd(struct session *s, const struct state *st, uint64_t seq, struct buf *out, bool stack)
{
	struct stack frames = {0};
	uint32_t id = 0;
	struct err *e = trace_print_cmd(s->trace.reader, st, seq, false, out, &id);

	if (e)
		buf_printf(out, "#%" PRIu64, seq);
	err_free(e);
	buf_byte(out, '\n');
	e = stack ? stack_recorded(s, s->trace.reader, id, &frames) : NULL;
	stack_print_brief(out, &frames, "    ", FRAMES);
	stack_free(&frames);
	err_free(e);
}

/* Values that differ were seen. */
static bool is_seen(const struct check_launch *l)
{
	for (size_t i = 0; i < l->nplaces; i++)
		if (l->places[i].elements)
			return true;
	return false;
}

static void print_launch(struct session *s, const struct state *st, const struct check_result *r, const struct check_launch *l, struct buf *out)
{
	if (l->nplaces)
		buf_printf(out, "Not deterministic, in %u of %u further executions from the same memory:\n  ", l->differing, r->runs - 1);
	else
		buf_str(out, "Its result depends on memory that nobody wrote:\n  ");
	print_cmd(s, st, l->seq, out, true);
	for (size_t i = 0; i < l->nplaces; i++)
		print_place(&l->places[i], out);
	if (is_seen(l))
		buf_printf(out, "    %s\n", looks_text(l->looks));
	if (l->shared)
		buf_str(out, "    reads shared memory that nothing in its block has written\n");
}

static void print_unwritten(struct session *s, const struct state *st, const struct unwritten *u, struct buf *out)
{
	buf_str(out, "Its result depends on memory that nobody wrote:\n  ");
	print_cmd(s, st, u->seq, out, true);
	if (!u->bytes)
		buf_printf(out, "    reads 0x%" PRIx64 ", +%" PRIu64 " of the allocation #%" PRIu64 " at 0x%" PRIx64 ", the first such address that matters\n", u->read[0].addr,
			u->read[0].addr - u->alloc, u->alloc_seq, u->alloc);
	else
		buf_printf(out, "    reads %" PRIu64 " bytes from 0x%" PRIx64 " on, of the allocation #%" PRIu64 " at 0x%" PRIx64 ": with zeros there it leaves other bytes than"
		" with 0xff\n", u->bytes, u->read[0].addr, u->alloc_seq, u->alloc);
	if (u->count > 1)
		buf_printf(out, "    %" PRIu64 " launches of the kernel read such memory\n", u->count);
}

void check_print(struct session *s, const struct check_result *r, struct buf *out)
{
	struct state *st = NULL;
	struct err *e = state_at(&st, s->trace.reader, r->last);

	err_free(e);
	if (!st)
		st = state_new();
	for (size_t i = 0; i < r->nlaunches; i++)
		print_launch(s, st, r, &r->launches[i], out);
	for (size_t i = 0; i < r->unwritten.n; i++)
		print_unwritten(s, st, &r->unwritten.row[i], out);
	if (r->npassing)
		buf_printf(out, "Deterministic, but different in two runs of the window because what they read was:\n");
	for (size_t i = 0; i < r->npassing && i < 20; i++) {
		buf_str(out, "  ");
		print_cmd(s, st, r->passing[i], out, false);
	}
	if (r->npassing > 20)
		buf_printf(out, "  ... and %zu more\n", r->npassing - 20);
	buf_printf(out, "%" PRIu64 " launch%s of #%" PRIu64 "-#%" PRIu64 " executed %u times each: ", r->checked, r->checked == 1 ? "" : "es",
		r->first, r->last, r->runs);
	if (r->nlaunches)
		buf_printf(out, "%zu not deterministic", r->nlaunches);
	else
		buf_str(out, "all gave the same bytes every time");
	if (r->left_out)
		buf_printf(out, " (%" PRIu64 " more pages differ than were looked at)", r->left_out);
	buf_str(out, ".\n");
	if (r->outside)
		buf_str(out, "Memory changed that, by its PTX, no launch writes to: since then all memory was compared after each execution.\n");
	state_free(st);
}

static void json_launch(struct session *s, const struct state *st, const struct check_result *r, const struct check_launch *l, struct buf *out)
{
	static const char *const looks[] = {"atomics", "race", "unclear"};
	uint32_t id;

	buf_printf(out, "{\"seq\":%" PRIu64 ",\"differing\":%u,\"executions\":%u,\"looks_like\":\"%s\",\"command\":", l->seq, l->differing, r->runs - 1,
		!l->nplaces ? "uninitialised" : is_seen(l) ? looks[l->looks] : "seen_once");
	struct err *e = trace_print_cmd(s->trace.reader, st, l->seq, true, out, &id);
	if (e)
		buf_str(out, "null");
	err_free(e);
	buf_printf(out, ",\"unwritten_shared\":%s,\"places\":[", l->shared ? "true" : "false");
	for (size_t i = 0; i < l->nplaces; i++) {
		const struct check_place *p = &l->places[i];

		buf_printf(out, "%s{\"allocation\":\"0x%" PRIx64 "\",\"size\":%" PRIu64 ",\"type\":\"%s\",\"elements\":%" PRIu64 ",\"bytes\":%" PRIu64
			",\"largest\":", i ? "," : "", p->addr, p->size, value_types[p->as].name, p->elements, p->bytes);
		if (isfinite(p->largest))
			buf_printf(out, "%.17g", p->largest);
		else
			buf_str(out, "null");
		buf_printf(out, ",\"ulp\":%.17g,\"first\":\"0x%" PRIx64 "\"}", p->steps, p->first_differs);
	}
	buf_str(out, "]}");
}

void check_json(struct session *s, const struct check_result *r, struct buf *out)
{
	struct state *st = NULL;
	struct err *e = state_at(&st, s->trace.reader, r->last);

	err_free(e);
	if (!st)
		st = state_new();
	buf_printf(out, "{\"first\":%" PRIu64 ",\"last\":%" PRIu64 ",\"checked\":%" PRIu64 ",\"executions\":%u,\"nondeterministic\":[", r->first, r->last,
		r->checked, r->runs);
	for (size_t i = 0; i < r->nlaunches; i++) {
		buf_str(out, i ? ",\n" : "");
		json_launch(s, st, r, &r->launches[i], out);
	}
	buf_str(out, "],\"passing\":[");
	for (size_t i = 0; i < r->npassing; i++)
		buf_printf(out, "%s%" PRIu64, i ? "," : "", r->passing[i]);
	buf_str(out, "],\"unwritten\":[");
	for (size_t i = 0; i < r->unwritten.n; i++) {
		const struct unwritten *u = &r->unwritten.row[i];
		uint32_t id;

		buf_printf(out, "%s{\"seq\":%" PRIu64 ",\"launches\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"first\":\"0x%" PRIx64 "\",\"allocation\":\"0x%" PRIx64
			"\",\"command\":", i ? ",\n" : "", u->seq, u->count, u->bytes, u->read[0].addr, u->alloc);
		e = trace_print_cmd(s->trace.reader, st, u->seq, true, out, &id);
		if (e)
			buf_str(out, "null");
		err_free(e);
		buf_byte(out, '}');
	}
	buf_printf(out, "],\"outside\":%" PRIu64 "}\n", r->outside);
	state_free(st);
}
