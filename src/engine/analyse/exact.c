/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact access sets, see exact.h. The surprise: after a failure in the middle the sets of earlier
 * commands are kept; the other commands are judged by their arguments, and the note says from where
 * on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/first-where.h"
#include "order/kept.h"
#include "base/patience.h"
#include "sbt/memory.h"
#include "sbt/vendor.h"
#include "engine/analyse/exact-alike.h"
#include "engine/exact.h"
#include "engine/analyse/host-changes.h"
#include "engine/replay-device.h"

/* of each kind, of one command; beyond, the smallest gaps are closed and the set is not exact */
#define SPANS_MAX 4096u
#define NEAR 8u		    /* commands between two launches that are executed in one request */
#define POOL_MAX (4u << 20) /* accesses of all commands: 96 MiB */

struct known {
	uint64_t seq;
	uint64_t like; /* the launch that was executed for it; 0: it was executed itself */
	size_t at, n;  /* in the pool */
	/* those behind these are by threads that had not waited for the launch in front */
	size_t nbefore;
	/* of a launch that is like another: how far each base has moved, SOFT_SOURCES of them */
	size_t moves;
	size_t stretch, nstretches; /* of its accesses in the pool, one for each base */
	uint32_t depends;	    /* enum soft_depends */
	/* not all that it touched is listed: it cannot give the sets of launches with other
	 * bases */
	bool cut;
};

struct stretch {
	size_t n;
	uint32_t base;
};

struct exact {
	struct known *known; /* in order of seq */
	size_t n, cap;
	struct order_accesses pool;
	struct stretch *stretches;
	size_t nstretches, cap_stretches;
	uint64_t *moves;
	size_t nmoves, cap_moves;
	size_t alike; /* how many of the known ones were not executed themselves */
	size_t asked; /* launches to execute, for the progress */
	bool own;     /* the device is opened for this alone */
	struct order_source source;
	char *note;
	struct exact_ask ask;
	struct engine *en;
	struct patience budget;
	uint64_t left_ns;	      /* of the budget, for the next window */
	uint64_t reached;	      /* the last command executed */
	bool hip;		      /* a HIP program's */
	bool host;		      /* also find out what the host changed */
	struct order_change *changes; /* in order of seq */
	size_t nchanges;
	struct part {
		uint64_t first, last;
	} * parts; /* of the trace, in which that is known */
	size_t nparts;
};

static const struct known *known_at(const struct exact *x, uint64_t seq)
{
	const size_t at = kept_row_from(x->known, x->n, sizeof *x->known, seq);

	return at == x->n || x->known[at].seq != seq ? NULL : &x->known[at];
}

static int by_how(const void *pa, const void *pb)
{
	const struct order_access *a = pa, *b = pb;

	if (a->how != b->how)
		return a->how < b->how ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Joins the accesses from `from` on: what bases have in common becomes one range. */
static void join(struct order_accesses *l, size_t from)
{
	size_t out = from;

	if (l->n < from + 2)
		return;
	qsort(l->a + from, l->n - from, sizeof *l->a, by_how);
	for (size_t i = from + 1; i < l->n; i++) {
		struct order_access *last = &l->a[out];

		if (l->a[i].how != last->how || l->a[i].addr > last->end)
			l->a[++out] = l->a[i];
		else if (l->a[i].end > last->end)
			last->end = l->a[i].end;
	}
	l->n = out + 1;
}

static bool accesses(void *arg, uint64_t seq, struct order_accesses *l)
{
	const struct exact *x = arg;
	const struct known *k = known_at(x, seq), *of = k && k->like ? known_at(x, k->like) : k;
	const size_t from = l->n;

	if (!of)
		return false;
	for (size_t i = 0, at = of->at; i < of->nstretches; i++) {
		const struct stretch *s = &x->stretches[of->stretch + i];
		const uint64_t by =
			k->like && s->base < SOFT_SOURCES ? x->moves[k->moves + s->base] : 0;

		for (size_t n = 0; n < s->n; n++, at++)
			order_access_add(l, x->pool.a[at].addr + by, x->pool.a[at].end + by,
				x->pool.a[at].how);
	}
	if (of->nstretches > 1)
		join(l, from);
	return true;
}

static bool early(void *arg, uint64_t seq, struct order_early *ret, struct order_accesses *before)
{
	const struct exact *x = arg;
	const struct known *k = known_at(x, seq);

	if (!k || k->depends & SOFT_OLD || x->source.writes_only)
		return false;
	*ret = (struct order_early){.known = true,
		.waits = k->depends & SOFT_WAITS,
		.before = k->nbefore,
		.triggers = k->depends & SOFT_TRIGGERS,
		.trigger_waits = k->depends & SOFT_TRIGGER_WAITS};
	for (size_t i = 0; before && i < k->nbefore; i++) {
		const struct order_access *a = &x->pool.a[k->at + k->n + i];

		order_access_add(before, a->addr, a->end, a->how);
	}
	return true;
}

/* Puts the spans of the kinds from `from` on into the pool. */
static struct err *take_spans(struct exact *x, const struct access_set *a, unsigned from)
{
	static const enum order_how hows[SOFT_ACCESSES] = {ORDER_READ, ORDER_WRITE, ORDER_ATOMIC};

	for (unsigned k = from; k < from + SOFT_ACCESSES; k++) {
		if (x->pool.n + a->set.n[k] > POOL_MAX)
			return err_new(ERR_LIMIT, "there are more than %u ranges", POOL_MAX);
		for (size_t i = 0; i < a->set.n[k]; i++) {
			const struct soft_span s = a->set.span[k][i];

			order_access_add(&x->pool, s.addr, s.addr + s.size,
				a->set.inexact >> k & 1 ? ORDER_MAYBE : hows[k - from]);
		}
	}
	return NULL;
}

/* Adds a stretch to the newest launch. */
static void add_stretch(struct exact *x, size_t n, uint32_t base)
{
	MAKE_ROOM(x->stretches, x->nstretches, x->cap_stretches);
	x->stretches[x->nstretches++] = (struct stretch){n, base};
	x->known[x->n - 1].nstretches++;
}

/* Adds what the launch touched through another base. */
static struct err *take_more(struct exact *x, const struct access_set *a)
{
	struct known *k = &x->known[x->n - 1];
	const size_t at = x->pool.n;

	TRY(take_spans(x, a, SOFT_ACCESS_READ));
	k->n += x->pool.n - at;
	k->cut |= a->cut;
	add_stretch(x, x->pool.n - at, a->base);
	return NULL;
}

static struct err *take_set(void *arg, const struct access_set *a)
{
	struct exact *x = arg;
	const size_t at = x->pool.n;
	size_t n;

	if (x->n && x->known[x->n - 1].seq == a->seq)
		return take_more(x, a);
	TRY(take_spans(x, a, SOFT_ACCESS_READ));
	n = x->pool.n - at;
	TRY(take_spans(x, a, SOFT_ACCESSES));
	MAKE_ROOM(x->known, x->n, x->cap);
	x->known[x->n++] = (struct known){.seq = a->seq,
		.at = at,
		.n = n,
		.nbefore = x->pool.n - at - n,
		.stretch = x->nstretches,
		.depends = a->set.depends,
		.cut = a->cut};
	add_stretch(x, n, a->base);
	x->reached = a->seq;
	if (x->asked)
		engine_progress(x->en, "executing launches,", x->n - x->alike, x->asked);
	return NULL;
}

static bool knows_host(void *arg, uint64_t seq)
{
	const struct exact *x = arg;

	for (size_t i = 0; i < x->nparts; i++)
		if (seq >= x->parts[i].first && seq <= x->parts[i].last)
			return true;
	return false;
}

/* Learns what the host changed in the window. */
static struct err *learn_host(
	struct exact *x, struct engine *en, struct device *d, uint64_t first, uint64_t last)
{
	struct host_changes h;

	if (!x->host)
		return NULL;
	TRY(host_changes_learn(&h, en->trace.reader, d, &x->source, first, last, en->cancel));
	if (h.known) {
		x->parts = xrealloc(x->parts, (x->nparts + 1) * sizeof *x->parts);
		x->parts[x->nparts++] = (struct part){first, last};
		x->changes = xrealloc(x->changes, (x->nchanges + h.n + 1) * sizeof *x->changes);
		for (size_t i = 0; i < h.n; i++)
			x->changes[x->nchanges++] = h.c[i];
	}
	host_changes_free(&h);
	return NULL;
}

static struct err *sets(struct exact *x, struct device *d, uint64_t first, uint64_t last)
{
	if (x->source.writes_only)
		return device_changed_sets(d, first, last, SPANS_MAX, take_set, x);
	return (x->ask.only ? device_sets_by_base : device_access_sets)(
		d, first, last, SPANS_MAX, take_set, x);
}

/* ---- launches that are alike
 * ---------------------------------------------------------------------------------------- */

/* Gets the sets of launches: those at most `near` commands apart in one request; longer gaps
 * between them are executed without collecting. */
static struct err *sets_of(
	struct exact *x, struct device *d, const uint64_t *seq, size_t n, uint64_t near)
{
	for (size_t i = 0; i < n;) {
		const uint64_t from = seq[i];
		uint64_t to = from;

		for (; i < n && seq[i] - to <= near; i++)
			to = seq[i];
		TRY(sets(x, d, from, to));
	}
	return NULL;
}

/* Executes only these launches: their kernels do not use the contents of memory to find what they
 * touch, so no other work that touches memory is needed. */
static struct err *sets_of_these_alone(struct exact *x, struct device *d, const uint64_t *seq,
	size_t n, uint64_t first, uint64_t last)
{
	struct buf others = BUF_INIT;
	struct err *e = alike_others(&others, x->en->trace.reader, seq, n, first, last), *back;

	if (!e)
		e = device_skip(
			d, (const void *)others.data, (uint32_t)(others.len / sizeof *seq), false);
	buf_free(&others);
	TRY(e);
	e = sets_of(x, d, seq, n, NEAR);
	back = e && e->code == ERR_INFERIOR ? NULL : device_skip(d, NULL, 0, false);
	if (!e)
		return back;
	err_free(back);
	return e;
}

/* Lists the launches to execute: those that give the sets of others and are not yet known, and
 * those not known to be like another. *ret_all: which bytes each of them touches depends only on
 * its parameters. */
static uint64_t *list_asked(
	const struct exact *x, const struct alike *a, size_t *ret_n, bool *ret_all)
{
	uint64_t *seq = xcalloc(a->n + 1, sizeof *seq);

	*ret_n = 0;
	*ret_all = true;
	for (size_t i = 0; i < a->n; i++) {
		if (a->l[i].like != a->l[i].seq || known_at(x, a->l[i].seq))
			continue;
		seq[(*ret_n)++] = a->l[i].seq;
		*ret_all &= a->l[i].values != SIZE_MAX;
	}
	return seq;
}

static int by_known_seq(const void *pa, const void *pb)
{
	const struct known *a = pa, *b = pb;

	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void add_alike(struct exact *x, const struct alike *a, const struct alike_launch *l,
	const struct alike_launch *of, uint32_t depends)
{
	MAKE_ROOM(x->known, x->n, x->cap);
	x->known[x->n++] = (struct known){
		.seq = l->seq, .like = of->seq, .moves = x->nmoves, .depends = depends};
	x->alike++;
	for (unsigned i = 0; i < SOFT_SOURCES; i++) {
		MAKE_ROOM(x->moves, x->nmoves, x->cap_moves);
		x->moves[x->nmoves++] = a->values[l->values + i] - a->values[of->values + i];
	}
}

/* Whether seq is among the first n known. */
static bool is_known(const struct exact *x, size_t n, uint64_t seq)
{
	const size_t row = kept_row_from(x->known, n, sizeof *x->known, seq);

	return row < n && x->known[row].seq == seq;
}

/* Gives launches the sets of the launch they are like. Where that is not possible they have to be
 * executed themselves; returns true if there are any. */
static bool spread(struct exact *x, const struct alike *a)
{
	const size_t n = x->n;
	bool again = false;

	if (n)
		qsort(x->known, n, sizeof *x->known, by_known_seq);
	for (size_t i = 0; i < a->n; i++) {
		struct alike_launch *l = &a->l[i];
		const size_t at = FIRST_WHERE(a->n, k, a->l[k].seq >= l->like),
			     row = kept_row_from(x->known, n, sizeof *x->known, l->like);
		const struct alike_launch *of = &a->l[at];

		if (l->like == l->seq || row == n || x->known[row].seq != l->like ||
			is_known(x, n, l->seq))
			continue;
		if (!x->known[row].cut || !memcmp(a->values + l->values, a->values + of->values,
						  SOFT_SOURCES * sizeof *a->values)) {
			add_alike(x, a, l, of, x->known[row].depends);
		} else {
			l->like = l->seq;
			again = true;
		}
	}
	if (x->n)
		qsort(x->known, x->n, sizeof *x->known, by_known_seq);
	return again;
}

static struct err *sets_of_asked(
	struct exact *x, struct device *d, const struct alike *a, uint64_t first, uint64_t last)
{
	size_t n;
	bool alone;
	uint64_t *seq = list_asked(x, a, &n, &alone);
	struct err *e;

	x->asked += n;
	e = n && alone && x->own ? sets_of_these_alone(x, d, seq, n, first, last)
				 : sets_of(x, d, seq, n, n == a->n ? NEAR : 1);
	free(seq);
	return e;
}

/* Gets all sets when some launches are executed behind commands with higher numbers. */
static struct err *sets_with_late(struct exact *x, struct device *d, uint64_t first, uint64_t last)
{
	struct err *e = device_access_sets(d, first, last, SPANS_MAX, take_set, x);

	if (x->n)
		qsort(x->known, x->n, sizeof *x->known, by_known_seq);
	return e;
}

/* Gets the sets of the launches asked for. */
static struct err *sets_of_some(struct exact *x, struct device *d, uint64_t first, uint64_t last)
{
	struct alike a = {0};
	struct err *e = NULL;
	bool again = true;

	if (x->ask.only->late && !x->source.writes_only)
		return sets_with_late(x, d, first, last);

	if (x->source.writes_only) {
		const struct order_suspects *o = x->ask.only;
		const size_t from = FIRST_WHERE(o->n, k, o->seq[k] >= first);

		return sets_of(
			x, d, o->seq + from, FIRST_WHERE(o->n, k, o->seq[k] > last) - from, NEAR);
	}
	TRY(alike_find(&a, x->en->trace.reader, d, x->ask.only, first, last, x->en->cancel));
	while (!e && again) {
		e = sets_of_asked(x, d, &a, first, last);
		again = spread(x, &a);
	}
	alike_free(&a);
	return e;
}

static struct err *sets_and_host(
	struct exact *x, struct engine *en, struct device *d, uint64_t first, uint64_t last)
{
	const struct device_fault f = device_info(d).fault;
	struct err *e;

	if (f.told && f.first && f.first <= last) {
		if (f.first > first)
			TRY(sets_and_host(x, en, d, first, f.first - 1));
		return err_new(ERR_STATE,
			"from #%" PRIu64 " on a command faulted in the recording, CUDA error %u",
			f.first, f.code);
	}
	if (x->ask.want != EXACT_MUST)
		device_budget(d, &x->budget, x->left_ns);
	e = x->ask.only ? sets_of_some(x, d, first, last) : sets(x, d, first, last);
	if (x->n)
		qsort(x->known, x->n, sizeof *x->known, by_known_seq);
	x->left_ns -= x->budget.spent_ns < x->left_ns ? x->budget.spent_ns : x->left_ns;
	device_budget(d, NULL, 0);
	TRY(e);
	return !x->ask.only || x->ask.only->host ? learn_host(x, en, d, first, last) : NULL;
}

/* The engine's own replay, if it runs the recorded commands on the software GPU. */
static struct replay_device *open_device(struct engine *en, uint64_t first, uint64_t last)
{
	struct replay_device *rd = en->trace.device;

	return rd && rd->watches && !rd->what_if && !rd->partial && rd->first == first &&
			       rd->last == last
		       ? rd
		       : NULL;
}

/* For a trace whose code no device that watches can run: finds what its launches change. */
static struct err *on_a_gpu(
	struct exact *x, struct engine *en, unsigned i, uint64_t first, uint64_t last)
{
	const struct replay_choice c = {.on = REPLAY_ON_REAL, .window = i, .quiet = true};
	struct replay_device *rd = en->trace.device;
	struct err *e;

	x->source.writes_only = true;
	if (rd && !rd->watches && !rd->what_if && !rd->partial && rd->first == first &&
		rd->last == last)
		return replay_device_back(en, sets_and_host(x, en, rd->d, first, last));
	TRY(replay_device_open(en, &c, &rd));
	x->own = true;
	e = sets_and_host(x, en, rd->d, first, last);
	device_close(rd->d);
	replay_device_free(rd);
	return e;
}

static struct err *one_window(
	struct exact *x, struct engine *en, unsigned i, uint64_t first, uint64_t last)
{
	const struct replay_choice c = {.on = REPLAY_ON_SOFT, .window = i, .quiet = true};
	struct replay_device *rd = open_device(en, first, last);
	struct err *e;

	x->hip = sbt_meta_is_hip(sbt_reader_meta(en->trace.reader));
	if (rd)
		return replay_device_back(en, sets_and_host(x, en, rd->d, first, last));
	e = replay_device_open(en, &c, &rd);
	if (e && !x->n && !x->hip) {
		struct err *other = on_a_gpu(x, en, i, first, last);

		if (!other || other->code == ERR_INTERRUPTED || x->n) {
			err_free(e);
			return other;
		}
		/* the reason without the software GPU is the one that the user can act on */
		err_free(other);
		x->source.writes_only = false;
		return e;
	}
	TRY(e);
	x->own = true;
	e = sets_and_host(x, en, rd->d, first, last);
	device_close(rd->d);
	replay_device_free(rd);
	return e;
}

static bool is_in(uint64_t first, uint64_t last, uint64_t a, uint64_t b)
{
	return (!first || first <= b) && (!last || last >= a);
}

static struct err *windows(
	struct exact *x, struct engine *en, enum exact_want want, uint64_t first, uint64_t last)
{
	uint64_t a, b, n = 0;
	unsigned found = 0;

	for (unsigned i = 0; sbt_reader_window(en->trace.reader, i, &a, &b); i++) {
		found += is_in(first, last, a, b);
		n += is_in(first, last, a, b) ? b - a + 1 : 0;
	}
	if (!found)
		return err_cure(
			err_new(ERR_INCOMPLETE,
				"the trace holds no memory contents there, so its commands cannot be executed again"),
			"Record it with memory: `tsdb record --memory all`, or `set capture memory all` before `capture start`");
	if (want != EXACT_MUST && n > EXACT_AUTO_COMMANDS)
		return err_new(ERR_LIMIT,
			"%" PRIu64 " commands would be executed (races --exact does it)", n);
	for (unsigned i = 0; sbt_reader_window(en->trace.reader, i, &a, &b); i++)
		if (is_in(first, last, a, b))
			TRY(one_window(x, en, i, a, b));
	return NULL;
}

static const char *soft_name(const struct exact *x)
{
	return x->hip ? "the software AMD GPU" : "the software GPU";
}

/* Puts a failure into the note; frees e. */
static void explain(struct exact *x, struct err *e)
{
	if (e->code == ERR_INCOMPLETE && !x->n)
		x->note = xasprintf("Kernels' accesses are by their arguments: %s.", e->what);
	else if (!x->n)
		x->note = xasprintf(
			"Kernels' accesses are by their arguments: not executed on %s, %s.",
			soft_name(x), e->what);
	else
		x->note = xasprintf("Kernels' accesses are exact up to #%" PRIu64
				    ", beyond by their arguments: %s%s.",
			x->reached, e->what,
			e->code == ERR_LIMIT ? " (--budget 5m has more, --exact no end)" : "");
	err_free(e);
}

static void explain_success(struct exact *x)
{
	const struct order_suspects *o = x->ask.only;
	struct buf b = BUF_INIT;

	if (o && !o->n)
		buf_str(&b, "No launch had to be executed: all work that could meet another's is "
			    "ordered.");
	else if (x->source.writes_only)
		buf_str(&b,
			"What kernels write is exact, as far as it changed memory: executed on the machine's GPU. What they read is by their arguments.");
	else if (o && (x->alike || o->n < o->launches))
		buf_printf(&b,
			"Kernels' accesses are exact: %zu of %" PRIu64 " launches executed on %s",
			o->n - x->alike, o->launches, soft_name(x));
	else
		buf_printf(&b, "Kernels' accesses are exact: executed on %s.", soft_name(x));
	if (x->alike)
		buf_printf(&b, ", and %zu that %s like one of them", x->alike,
			x->alike == 1 ? "is" : "are");
	if (o && o->n && o->n < o->launches && !x->source.writes_only)
		buf_str(&b, "; the others are ordered with all work");
	if (o && o->n && (x->alike || o->n < o->launches) && !x->source.writes_only)
		buf_byte(&b, '.');
	x->note = xstrdup(buf_cstr(&b));
	buf_free(&b);
}

static struct err *execute(struct exact *x)
{
	const struct exact_ask *a = &x->ask;

	if (a->only && !a->only->n && !a->only->host)
		return NULL;
	return windows(x, x->en, a->want, a->first, a->last);
}

struct err *exact_open_for(struct exact **ret, struct engine *en, const struct exact_ask *ask)
{
	struct exact *x = xcalloc(1, sizeof *x);
	struct err *e;

	*ret = x;
	x->source = (struct order_source){.arg = x, .accesses = accesses, .early = early};
	x->ask = *ask;
	x->en = en;
	if (ask->want == EXACT_NEVER)
		return NULL;
	x->host = ask->want != EXACT_SETS;
	x->left_ns = ask->budget_ns ? ask->budget_ns : EXACT_AUTO_SECONDS * UINT64_C(1000000000);
	e = execute(x);
	engine_progress_end(en);
	x->source.knows_host = knows_host;
	x->source.host_arg = x;
	x->source.changes = x->changes;
	x->source.nchanges = x->nchanges;
	if (e && e->code == ERR_INTERRUPTED && ask->rest && ask->want != EXACT_MUST)
		engine_go_on(en);
	else if (e && (ask->want == EXACT_MUST || e->code == ERR_INTERRUPTED)) {
		exact_free(x);
		*ret = NULL;
		return e->code == ERR_INTERRUPTED
			       ? e
			       : err_wrap(e, "what kernels touch cannot be found exactly");
	}
	if (e)
		explain(x, e);
	else
		explain_success(x);
	x->ask.only = NULL; /* valid only during the call */
	return NULL;
}

struct err *exact_open(
	struct exact **ret, struct engine *en, enum exact_want want, uint64_t first, uint64_t last)
{
	return exact_open_for(
		ret, en, &(struct exact_ask){.want = want, .first = first, .last = last});
}

void exact_free(struct exact *x)
{
	if (!x)
		return;
	free(x->known);
	free(x->pool.a);
	free(x->stretches);
	free(x->moves);
	free(x->changes);
	free(x->parts);
	free(x->note);
	free(x);
}

const struct order_source *exact_source(const struct exact *x)
{
	return x->n || x->nparts ? &x->source : NULL;
}

const char *exact_note(const struct exact *x)
{
	return x->note ? x->note : "";
}
