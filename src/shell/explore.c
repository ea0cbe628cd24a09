/* SPDX-License-Identifier: Apache-2.0
 *
 * Exploring, see explore.h. First every unordered pair is turned round alone; then, while there are few pairs, all ways of ordering them;
 * then streams are starved; then chance. What differs is brought down to the fewest pairs that have to be turned round.
 */
#include "shell/explore.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "shell/exact.h"
#include "shell/interrupt.h"
#include "shell/replay-device.h"
#include "shell/stack.h"
#include "shell/trace.h"
#include "state/state.h"

#define BUDGET 200
#define MOST 4
#define PAIRS_MAX 4096u /* looked at; more are left to chance */
#define COMPLETE_PAIRS 10 /* so few that all their orders are tried */
#define COMPARED_MAX (64u << 20)
#define FRAMES 4

struct explorer {
	struct session *s;
	const struct explore_options *o;
	struct explore_result *r;
	struct device *d;
	struct order *order;
	struct order_pair *pairs; /* as recorded: before was called first */
	uint64_t *places;	  /* the same: a hash of the two places in the program */
	size_t npairs, cap_pairs;
	bool too_many;
	struct device_ordered base;
	uint64_t *recorded;
	size_t nrecorded;
	uint64_t *position; /* by seq - first: in the schedule at hand */
	uint64_t *seen;	    /* signatures of what was executed, a hash table; 0: free */
	size_t slots, nseen;
	uint64_t candidates; /* for shards */
	double begin;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t place_of(const struct order_party *p)
{
	uint64_t h = mix(p->stream, p->kernel);

	h = mix(mix(h, p->kind), p->stack);
	return p->stack || p->kernel != SBT_NO_ID ? h : mix(h, p->seq);
}

static void add_pair(void *arg, const struct order_party *a, const struct order_party *b)
{
	struct explorer *x = arg;

	if (a->stream == SBT_NO_ID || b->stream == SBT_NO_ID || a->how == ORDER_DEATH || a->seq >= b->seq)
		return;
	/* Of one command with another there may be several conflicts, one after the other. */
	for (size_t i = x->npairs; i-- && x->npairs - i < 16;)
		if (x->pairs[i].before == a->seq && x->pairs[i].after == b->seq)
			return;
	if (x->npairs == PAIRS_MAX) {
		x->too_many = true;
		return;
	}
	if (x->npairs == x->cap_pairs) {
		x->cap_pairs = x->cap_pairs ? 2 * x->cap_pairs : 64;
		x->pairs = xrealloc(x->pairs, x->cap_pairs * sizeof *x->pairs);
		x->places = xrealloc(x->places, x->cap_pairs * sizeof *x->places);
	}
	x->places[x->npairs] = mix(place_of(a), place_of(b));
	x->pairs[x->npairs++] = (struct order_pair){a->seq, b->seq};
}

static struct err *find_pairs(struct explorer *x)
{
	struct order_options o = {.first = x->r->first, .last = x->r->last, .each = add_pair, .each_arg = x,
		.interrupt = &interrupt_flag};
	struct order_races races = {0};
	struct exact *exact;
	struct err *e;

	TRY(exact_open(&exact, x->s, EXACT_AUTO, x->r->first, x->r->last));
	o.source = exact_source(exact);
	e = order_races(&races, x->s->trace.reader, &o);
	exact_free(exact);
	order_races_free(&races);
	x->r->pairs = x->npairs;
	return e;
}

/* ---- schedules ---------------------------------------------------------------------------------------------------------------- */

static void place(struct explorer *x, const uint64_t *seqs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x->position[seqs[i] - x->r->first] = i;
}

static bool is_flipped(const struct explorer *x, const struct order_pair *p)
{
	return x->position[p->before - x->r->first] > x->position[p->after - x->r->first];
}

/* Which pairs a schedule turns round: schedules alike in that are alike. */
static uint64_t signature(struct explorer *x, const uint64_t *seqs, size_t n)
{
	uint64_t h = 1;

	place(x, seqs, n);
	for (size_t i = 0; i < x->npairs; i++)
		h = mix(h, is_flipped(x, &x->pairs[i]) ? 2 * i + 1 : 0);
	return h ? h : 1;
}

static bool is_new(struct explorer *x, uint64_t h)
{
	size_t i;

	if (2 * (x->nseen + 1) > x->slots) {
		uint64_t *old = x->seen;
		const size_t n = x->slots;

		x->slots = n ? 2 * n : 256;
		x->seen = xcalloc(x->slots, sizeof *x->seen);
		x->nseen = 0;
		for (i = 0; i < n; i++)
			if (old[i])
				(void)is_new(x, old[i]);
		free(old);
	}
	for (i = h & (x->slots - 1); x->seen[i]; i = (i + 1) & (x->slots - 1))
		if (x->seen[i] == h)
			return false;
	x->seen[i] = h;
	x->nseen++;
	return true;
}

static bool is_over(const struct explorer *x)
{
	return x->r->executed >= (x->o->budget ? x->o->budget : BUDGET) || x->r->nfound >= (x->o->most ? x->o->most : MOST) ||
	       (x->o->seconds > 0 && now() - x->begin > x->o->seconds);
}

/* Executes it; whether the result is another one. */
static struct err *differs(struct explorer *x, const uint64_t *seqs, size_t n, bool *ret)
{
	struct device_ordered o;

	TRY(device_order(x->d, seqs, n, &o));
	x->r->executed++;
	*ret = !device_ordered_same(&x->base, &o);
	device_ordered_free(&o);
	return NULL;
}

/* ---- what was found ------------------------------------------------------------------------------------------------------------- */

/* The pairs that seqs turns round. */
static struct order_pair *flipped_in(struct explorer *x, const uint64_t *seqs, size_t n, size_t *ret_n)
{
	struct order_pair *p = xcalloc(x->npairs + 1, sizeof *p);

	place(x, seqs, n);
	*ret_n = 0;
	for (size_t i = 0; i < x->npairs; i++)
		if (is_flipped(x, &x->pairs[i]))
			p[(*ret_n)++] = x->pairs[i];
	return p;
}

/* Whether turning round these and no others, as far as the program allows, gives another result; then *seqs is replaced. */
static struct err *try_flips(struct explorer *x, const struct order_pair *flips, size_t n, uint64_t **seqs, size_t *nseqs, bool *ret)
{
	struct order_pair *want = xcalloc(x->npairs + 1, sizeof *want);
	uint64_t *mine = NULL;
	size_t nmine = 0;
	struct err *e;

	*ret = false;
	for (size_t i = 0; i < x->npairs; i++) {
		want[i] = x->pairs[i];
		for (size_t k = 0; k < n; k++)
			if (flips[k].before == x->pairs[i].before && flips[k].after == x->pairs[i].after)
				want[i] = (struct order_pair){x->pairs[i].after, x->pairs[i].before};
	}
	e = order_with(x->order, want, x->npairs, &mine, &nmine);
	free(want);
	if (e && e->code == ERR_NOT_FOUND) {
		err_free(e);
		return NULL;
	}
	if (!e)
		e = differs(x, mine, nmine, ret);
	if (e || !*ret) {
		free(mine);
		return e;
	}
	free(*seqs);
	*seqs = mine;
	*nseqs = nmine;
	return NULL;
}

/* One pair alone, if one is enough; else one after the other is left out while the result stays another one. */
static struct err *minimise(struct explorer *x, uint64_t **seqs, size_t *nseqs, struct order_pair **ret, size_t *ret_n)
{
	size_t n;
	struct order_pair *p = flipped_in(x, *seqs, *nseqs, &n);
	bool other = false;
	struct err *e = NULL;

	for (size_t i = 0; !e && !other && n > 1 && i < n && i < 64; i++) {
		e = try_flips(x, &p[i], 1, seqs, nseqs, &other);
		if (!e && other) {
			p[0] = p[i];
			n = 1;
		}
	}
	for (size_t i = 0; !e && n > 1 && i < n && n <= 64;) {
		const struct order_pair out = p[i];

		memmove(&p[i], &p[i + 1], (n - i - 1) * sizeof *p);
		e = try_flips(x, p, n - 1, seqs, nseqs, &other);
		if (other) {
			n--;
			continue;
		}
		memmove(&p[i + 1], &p[i], (n - i - 1) * sizeof *p);
		p[i++] = out;
	}
	*ret = p;
	*ret_n = n;
	return e;
}

static struct err *read_place(struct explorer *x, uint64_t addr, uint64_t size, struct buf *b)
{
	const size_t n = size < COMPARED_MAX ? (size_t)size : COMPARED_MAX;

	buf_clear(b);
	TRY(device_read(x->d, addr, buf_room(b, n), n));
	b->len = n;
	return NULL;
}

/* The first byte that is another one after the recorded order. */
static struct err *find_place(struct explorer *x, struct explore_found *f, const struct device_ordered *o)
{
	struct buf is = BUF_INIT, was = BUF_INIT;
	struct device_ordered again;
	struct err *e = NULL;

	for (uint64_t i = 0; i < o->sums.n && i < x->base.sums.n && !f->place; i++)
		if (memcmp(&o->places[i].hash, &x->base.places[i].hash, sizeof o->places[i].hash)) {
			f->place = o->places[i].addr;
			f->place_size = o->places[i].size;
		}
	if (!f->place)
		return NULL;
	e = read_place(x, f->place, f->place_size, &is);
	if (!e)
		e = device_order(x->d, x->recorded, x->nrecorded, &again);
	if (!e) {
		device_ordered_free(&again);
		e = read_place(x, f->place, f->place_size, &was);
	}
	f->at = f->place;
	for (size_t i = 0; !e && i < is.len; i++) {
		if (is.data[i] == was.data[i])
			continue;
		if (!f->bytes++) {
			const size_t from = i & ~(size_t)3, n = is.len - from < 8 ? is.len - from : 8;

			f->at = f->place + from;
			memcpy(f->is, is.data + from, n);
			memcpy(f->was, was.data + from, n);
		}
	}
	buf_free(&is);
	buf_free(&was);
	return e;
}

static struct err *save(struct explorer *x, struct explore_found *f, const struct device_ordered *o)
{
	const char *base = x->o->save ? x->o->save : x->s->trace.path;
	const size_t n = strlen(base), cut = n > 4 && !strcmp(base + n - 4, ".sbt") ? n - 4 : n;
	struct order_end *ends = xcalloc(o->sums.n + 1, sizeof *ends);
	struct err *e;

	for (uint64_t i = 0; i < o->sums.n; i++)
		ends[i] = (struct order_end){o->places[i].addr, o->places[i].size, o->places[i].hash};
	f->path = xasprintf("%.*s.schedule-%zu.sbt", (int)cut, base, x->r->nfound + 1);
	e = order_rewrite(x->s->trace.reader, x->r->first, x->r->last, f->seqs, f->nseqs, ends, o->sums.n, f->path, NULL, NULL);
	free(ends);
	return e;
}

static uint64_t place_of_pair(const struct explorer *x, const struct order_pair *p)
{
	for (size_t i = 0; i < x->npairs; i++)
		if (x->pairs[i].before == p->before && x->pairs[i].after == p->after)
			return x->places[i];
	return 0;
}

/* Whether the same places, passed another time, were found already; then that is counted. */
static bool is_known(const struct explorer *x, const struct order_pair *p, size_t n)
{
	for (size_t i = 0; i < x->r->nfound; i++) {
		struct explore_found *f = &x->r->found[i];
		bool same = f->nflipped == n;

		for (size_t k = 0; same && k < n; k++)
			same = place_of_pair(x, &f->as_recorded[k]) == place_of_pair(x, &p[k]);
		f->again += same;
		if (same)
			return true;
	}
	return false;
}

/* seqs gives another result. It belongs to us. */
static struct err *found(struct explorer *x, uint64_t *seqs, size_t n)
{
	struct explore_found f = {.seqs = seqs, .nseqs = n};
	struct device_ordered o = {0};
	struct err *e = minimise(x, &f.seqs, &f.nseqs, &f.as_recorded, &f.nflipped);

	if (!e && is_known(x, f.as_recorded, f.nflipped)) {
		free(f.seqs);
		free(f.as_recorded);
		return NULL;
	}
	f.flipped = xcalloc(f.nflipped + 1, sizeof *f.flipped);
	for (size_t i = 0; i < f.nflipped; i++)
		f.flipped[i] = (struct order_pair){f.as_recorded[i].after, f.as_recorded[i].before};
	if (!e)
		e = device_order(x->d, f.seqs, f.nseqs, &o);
	if (!e)
		e = find_place(x, &f, &o);
	if (!e && !x->o->no_save)
		e = save(x, &f, &o);
	device_ordered_free(&o);
	x->r->found = xrealloc(x->r->found, (x->r->nfound + 1) * sizeof f);
	x->r->found[x->r->nfound++] = f;
	return e;
}

/* ---- candidates ------------------------------------------------------------------------------------------------------------------- */

/* A candidate that order_X() made, or e: none. */
static struct err *candidate(struct explorer *x, struct err *e, uint64_t *seqs, size_t n)
{
	bool other = false;

	if (e && e->code == ERR_NOT_FOUND) {
		err_free(e);
		return NULL;
	}
	TRY(e);
	if (interrupt_flag)
		e = err_new(ERR_INTERRUPTED, "interrupted after %" PRIu64 " schedules", x->r->executed);
	else if (!is_new(x, signature(x, seqs, n)))
		x->r->alike++;
	else if (!x->o->shards || x->candidates++ % x->o->shards == x->o->shard - 1)
		e = differs(x, seqs, n, &other);
	if (!e && other)
		return found(x, seqs, n);
	free(seqs);
	return e;
}

static struct err *flip_each(struct explorer *x)
{
	for (size_t i = 0; i < x->npairs && !is_over(x); i++) {
		uint64_t *seqs = NULL;
		size_t n = 0;
		struct err *e = order_flip(x->order, x->pairs[i].before, x->pairs[i].after, &seqs, &n);

		if (!e && is_known(x, &x->pairs[i], 1)) {
			free(seqs);
			continue;
		}
		TRY(candidate(x, e, seqs, n));
		out_progress(x->s->out, "schedules", x->r->executed, x->o->budget ? x->o->budget : BUDGET);
	}
	return NULL;
}

/* All ways of ordering the pairs. */
static struct err *flip_all(struct explorer *x)
{
	struct order_pair want[COMPLETE_PAIRS];

	if (x->npairs > COMPLETE_PAIRS || x->too_many)
		return NULL;
	for (uint32_t ways = 0; ways < 1u << x->npairs; ways++) {
		uint64_t *seqs = NULL;
		size_t n = 0;

		if (is_over(x))
			return NULL;
		for (size_t i = 0; i < x->npairs; i++)
			want[i] = ways >> i & 1 ? (struct order_pair){x->pairs[i].after, x->pairs[i].before} : x->pairs[i];
		struct err *e = order_with(x->order, want, x->npairs, &seqs, &n);
		TRY(candidate(x, e, seqs, n));
	}
	x->r->complete = !x->o->shards;
	return NULL;
}

static struct err *starve_each(struct explorer *x)
{
	for (uint32_t l = 0; l < order_lanes(x->order) && !is_over(x); l++)
		for (unsigned first = 0; first < 2; first++) {
			uint64_t *seqs = NULL;
			size_t n = 0;

			if (order_stream_of(x->order, l) == SBT_NO_ID)
				continue;
			struct err *e = order_prefer(x->order, order_stream_of(x->order, l), first, &seqs, &n);
			TRY(candidate(x, e, seqs, n));
		}
	return NULL;
}

static struct err *shuffle(struct explorer *x)
{
	unsigned nothing = 0;

	for (uint64_t i = 0; !x->r->complete && x->npairs && !is_over(x) && nothing < 1000; i++) {
		const uint64_t before = x->r->executed;
		uint64_t *seqs = NULL;
		size_t n = 0;
		struct err *e = order_shuffle(x->order, x->o->seed + i, &seqs, &n);

		TRY(candidate(x, e, seqs, n));
		nothing = x->r->executed == before ? nothing + 1 : 0;
		out_progress(x->s->out, "schedules", x->r->executed, x->o->budget ? x->o->budget : BUDGET);
	}
	return NULL;
}

static struct err *explore(struct explorer *x)
{
	const struct order_options o = {.first = x->r->first, .last = x->r->last, .interrupt = &interrupt_flag};

	TRY(find_pairs(x));
	TRY(order_open(&x->order, x->s->trace.reader, &o));
	TRY(order_recorded(x->order, &x->recorded, &x->nrecorded));
	x->position = xcalloc(x->r->last - x->r->first + 2, sizeof *x->position);
	(void)is_new(x, signature(x, x->recorded, x->nrecorded));
	TRY(device_order(x->d, x->recorded, x->nrecorded, &x->base));
	TRY(flip_each(x));
	TRY(flip_all(x));
	TRY(starve_each(x));
	return shuffle(x);
}

struct err *explore_run(struct session *s, const struct explore_options *o, struct explore_result *ret)
{
	struct explorer x = {.s = s, .o = o, .r = ret, .begin = now()};
	struct replay_device *rd;
	struct err *e;

	*ret = (struct explore_result){0};
	TRY(replay_device_need(s, "replay explore", &rd));
	if (rd->partial || rd->what_if)
		return err_cure(err_new(ERR_STATE, "this replay is not the recorded run"), "Use \"replay restart\" first");
	ret->first = rd->first;
	ret->last = rd->last;
	x.d = rd->d;
	e = replay_device_back(s, explore(&x));
	out_progress_end(s->out);
	ret->seconds = now() - x.begin;
	device_ordered_free(&x.base);
	order_close(x.order);
	free(x.pairs);
	free(x.places);
	free(x.recorded);
	free(x.position);
	free(x.seen);
	if (e)
		explore_free(ret);
	return e;
}

void explore_free(struct explore_result *r)
{
	for (size_t i = 0; i < r->nfound; i++) {
		free(r->found[i].flipped);
		free(r->found[i].as_recorded);
		free(r->found[i].seqs);
		free(r->found[i].path);
	}
	free(r->found);
	*r = (struct explore_result){0};
}

/* ---- telling -------------------------------------------------------------------------------------------------------------------- */

static void print_cmd(struct session *s, const struct state *st, uint64_t seq, struct buf *out)
{
	struct stack frames = {0};
	uint32_t id = 0;
	struct err *e = trace_print_cmd(s->trace.reader, st, seq, false, out, &id);

	buf_byte(out, '\n');
	if (!e)
		e = stack_recorded(s, s->trace.reader, id, &frames);
	for (unsigned i = 0; i < frames.n && i < FRAMES; i++) {
		buf_str(out, "      ");
		stack_print_frame(out, &frames, i);
		buf_byte(out, '\n');
	}
	stack_free(&frames);
	err_free(e);
}

static float as_float(const uint8_t *b)
{
	float f;

	memcpy(&f, b, 4);
	return f;
}

static void print_found(struct session *s, const struct state *st, const struct explore_result *r, size_t i, struct buf *out)
{
	const struct explore_found *f = &r->found[i];
	uint32_t w, v;

	memcpy(&w, f->was, 4);
	memcpy(&v, f->is, 4);
	buf_printf(out, "Result %zu: another one, because ", i + 1);
	for (size_t k = 0; k < f->nflipped; k++)
		buf_printf(out, "%s#%" PRIu64 " and #%" PRIu64, k ? ", " : "", f->as_recorded[k].before, f->as_recorded[k].after);
	buf_printf(out, " are unordered\n");
	if (f->place) {
		buf_printf(out, "  as recorded, #%" PRIu64 " first: 0x%08" PRIx32 " (%g) at 0x%" PRIx64 "\n", f->as_recorded[0].before, w,
			(double)as_float(f->was), f->at);
		buf_printf(out, "  with #%" PRIu64 " first:        0x%08" PRIx32 " (%g), %zu bytes of 0x%" PRIx64 " differ\n", f->flipped[0].before, v,
			(double)as_float(f->is), f->bytes, f->place);
	} else {
		buf_str(out, "  what was copied to the host is different\n");
	}
	for (size_t k = 0; k < f->nflipped && k < 4; k++) {
		buf_str(out, "    ");
		print_cmd(s, st, f->as_recorded[k].before, out);
		buf_str(out, "    ");
		print_cmd(s, st, f->as_recorded[k].after, out);
	}
	if (f->again)
		buf_printf(out, "  the same two places meet %" PRIu64 " more time%s\n", f->again, f->again == 1 ? "" : "s");
	if (f->path)
		buf_printf(out, "  saved as %s: replays to that result every time (replay schedule %zu --step)\n", f->path, i + 1);
}

void explore_print(struct session *s, const struct explore_result *r, struct buf *out)
{
	struct state *st = NULL;
	struct err *e = state_at(&st, s->trace.reader, r->last);

	err_free(e);
	if (!st)
		st = state_new();
	for (size_t i = 0; i < r->nfound; i++)
		print_found(s, st, r, i, out);
	buf_printf(out, "%" PRIu64 " schedules executed in %.2f s (%.0f a second), %" PRIu64 " left out as equal; %" PRIu64 " unordered pair%s%s. ", r->executed,
		r->seconds, (double)r->executed / (r->seconds > 0 ? r->seconds : 1), r->alike, r->pairs, r->pairs == 1 ? "" : "s",
		r->complete ? ", every order of them" : "");
	if (r->nfound)
		buf_printf(out, "%zu other result%s.\n", r->nfound, r->nfound == 1 ? "" : "s");
	else
		buf_str(out, "Always the same result.\n");
	state_free(st);
}

static void json_pairs(const struct order_pair *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s{\"a\":%" PRIu64 ",\"b\":%" PRIu64 "}", i ? "," : "", p[i].before, p[i].after);
}

void explore_json(struct session *s, const struct explore_result *r, struct buf *out)
{
	buf_printf(out, "{\"first\":%" PRIu64 ",\"last\":%" PRIu64 ",\"executed\":%" PRIu64 ",\"alike\":%" PRIu64 ",\"pairs\":%" PRIu64
		",\"complete\":%s,\"seconds\":%.3f,\"found\":[", r->first, r->last, r->executed, r->alike, r->pairs, r->complete ? "true" : "false",
		r->seconds);
	for (size_t i = 0; i < r->nfound; i++) {
		const struct explore_found *f = &r->found[i];

		buf_printf(out, "%s{\"pairs\":[", i ? "," : "");
		json_pairs(f->as_recorded, f->nflipped, out);
		buf_printf(out, "],\"again\":%" PRIu64 ",\"place\":\"0x%" PRIx64 "\",\"size\":%" PRIu64 ",\"bytes\":%zu,\"at\":\"0x%" PRIx64 "\",\"trace\":", f->again, f->place,
			f->place_size, f->bytes, f->at);
		if (f->path)
			sbt_json_string(out, f->path, strlen(f->path));
		else
			buf_str(out, "null");
		buf_str(out, ",\"schedule\":[");
		for (size_t k = 0; k < f->nseqs; k++)
			buf_printf(out, "%s%" PRIu64, k ? "," : "", f->seqs[k]);
		buf_str(out, "]}");
	}
	buf_str(out, "]}\n");
}
