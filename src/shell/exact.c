/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact access sets, see exact.h. The surprise: a failure in the middle keeps what is known of the commands before it; the others are
 * judged by their arguments, and the note says from where on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "first-where.h"
#include "order/kept.h"
#include "patience.h"
#include "sbt/memory.h"
#include "shell/exact.h"
#include "shell/host-changes.h"
#include "shell/interrupt.h"
#include "shell/replay-device.h"

#define SPANS_MAX 4096u	       /* of each kind, of one command; beyond, the smallest gaps are closed and the set is not exact */
#define NEAR 8u		       /* commands between two launches that are not worth a request of their own */
#define POOL_MAX (4u << 20)    /* accesses of all commands: 96 MiB */

struct known {
	uint64_t seq;
	size_t at, n; /* in the pool */
	size_t nbefore; /* behind these: by threads that had not waited for the launch in front */
	uint32_t depends; /* enum soft_depends */
};

struct exact {
	struct known *known; /* in order of seq */
	size_t n, cap;
	struct order_accesses pool;
	struct order_source source;
	char *note;
	struct exact_ask ask;
	struct session *s;
	struct patience budget;
	uint64_t left_ns; /* of the budget, for the next window */
	uint64_t reached; /* the last command executed */
	bool host;	  /* what the host changed is wanted, too */
	struct order_change *changes; /* in order of seq */
	size_t nchanges;
	struct part {
		uint64_t first, last;
	} *parts; /* of the trace, in which that is known */
	size_t nparts;
};

static bool accesses(void *arg, uint64_t seq, struct order_accesses *l)
{
	const struct exact *x = arg;
	const size_t at = kept_row_from(x->known, x->n, sizeof *x->known, seq);

	if (at == x->n || x->known[at].seq != seq)
		return false;
	for (size_t i = 0; i < x->known[at].n; i++) {
		const struct order_access *a = &x->pool.a[x->known[at].at + i];

		order_access_add(l, a->addr, a->end, a->how);
	}
	return true;
}

static bool early(void *arg, uint64_t seq, struct order_early *ret, struct order_accesses *before)
{
	const struct exact *x = arg;
	const size_t at = kept_row_from(x->known, x->n, sizeof *x->known, seq);
	const struct known *k = &x->known[at];

	if (at == x->n || k->seq != seq || k->depends & SOFT_OLD || x->source.writes_only)
		return false;
	*ret = (struct order_early){.known = true, .waits = k->depends & SOFT_WAITS, .before = k->nbefore, .triggers = k->depends & SOFT_TRIGGERS,
		.trigger_waits = k->depends & SOFT_TRIGGER_WAITS};
	for (size_t i = 0; before && i < k->nbefore; i++) {
		const struct order_access *a = &x->pool.a[k->at + k->n + i];

		order_access_add(before, a->addr, a->end, a->how);
	}
	return true;
}

/* Those of the kinds from `from` on go into the pool. */
static struct err *take_spans(struct exact *x, const struct access_set *a, unsigned from)
{
	static const enum order_how hows[SOFT_ACCESSES] = {ORDER_READ, ORDER_WRITE, ORDER_ATOMIC};

	for (unsigned k = from; k < from + SOFT_ACCESSES; k++) {
		if (x->pool.n + a->set.n[k] > POOL_MAX)
			return err_new(ERR_LIMIT, "there are more than %u ranges", POOL_MAX);
		for (size_t i = 0; i < a->set.n[k]; i++) {
			const struct soft_span s = a->set.span[k][i];

			order_access_add(&x->pool, s.addr, s.addr + s.size, a->set.inexact >> k & 1 ? ORDER_MAYBE : hows[k - from]);
		}
	}
	return NULL;
}

static struct err *take_set(void *arg, const struct access_set *a)
{
	struct exact *x = arg;
	const size_t at = x->pool.n;
	size_t n;

	TRY(take_spans(x, a, SOFT_ACCESS_READ));
	n = x->pool.n - at;
	TRY(take_spans(x, a, SOFT_ACCESSES));
	MAKE_ROOM(x->known, x->n, x->cap);
	x->known[x->n++] = (struct known){a->seq, at, n, x->pool.n - at - n, a->set.depends};
	x->reached = a->seq;
	if (x->ask.only && x->ask.only->n)
		out_progress(x->s->out, "executing launches,", FIRST_WHERE(x->ask.only->n, i, x->ask.only->seq[i] > a->seq), x->ask.only->n);
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

/* What the host changed in the window. */
static struct err *learn_host(struct exact *x, struct session *s, struct device *d, uint64_t first, uint64_t last)
{
	struct host_changes h;

	if (!x->host)
		return NULL;
	TRY(host_changes_learn(&h, s->trace.reader, d, &x->source, first, last));
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
	return x->source.writes_only ? device_changed_sets(d, first, last, SPANS_MAX, take_set, x) : device_access_sets(d, first, last, SPANS_MAX, take_set, x);
}

/* Of the launches asked for, those that lie near each other in one go; what is between goes by unwatched. */
static struct err *sets_of_some(struct exact *x, struct device *d, uint64_t first, uint64_t last)
{
	const struct order_suspects *o = x->ask.only;
	size_t i = FIRST_WHERE(o->n, k, o->seq[k] >= first);

	while (i < o->n && o->seq[i] <= last) {
		const uint64_t from = o->seq[i];
		uint64_t to = from;

		for (; i < o->n && o->seq[i] <= last && o->seq[i] - to <= NEAR; i++)
			to = o->seq[i];
		TRY(sets(x, d, from, to));
	}
	return NULL;
}

static struct err *sets_and_host(struct exact *x, struct session *s, struct device *d, uint64_t first, uint64_t last)
{
	const struct device_fault f = device_info(d).fault;
	struct err *e;

	if (f.told && f.first && f.first <= last) {
		if (f.first > first)
			TRY(sets_and_host(x, s, d, first, f.first - 1));
		return err_new(ERR_STATE, "from #%" PRIu64 " on a command faulted in the recording, CUDA error %u", f.first, f.code);
	}
	if (x->ask.want != EXACT_MUST)
		device_budget(d, &x->budget, x->left_ns);
	e = x->ask.only ? sets_of_some(x, d, first, last) : sets(x, d, first, last);
	x->left_ns -= x->budget.spent_ns < x->left_ns ? x->budget.spent_ns : x->left_ns;
	device_budget(d, NULL, 0);
	TRY(e);
	return !x->ask.only || x->ask.only->host ? learn_host(x, s, d, first, last) : NULL;
}

/* The session's own replay, when it runs what was recorded on the software GPU. */
static struct replay_device *session_device(struct session *s, uint64_t first, uint64_t last)
{
	struct replay_device *rd = s->trace.device;

	return rd && rd->soft && !rd->what_if && !rd->partial && rd->first == first && rd->last == last ? rd : NULL;
}

/* A trace whose code only a machine's GPU can run: what its launches change is found there. */
static struct err *on_a_gpu(struct exact *x, struct session *s, unsigned i, uint64_t first, uint64_t last)
{
	const struct replay_choice c = {.on = REPLAY_ON_REAL, .window = i, .quiet = true};
	struct replay_device *rd = s->trace.device;
	struct err *e;

	x->source.writes_only = true;
	if (rd && !rd->soft && !rd->what_if && !rd->partial && rd->first == first && rd->last == last)
		return replay_device_back(s, sets_and_host(x, s, rd->d, first, last));
	TRY(replay_device_open(s, &c, &rd));
	e = sets_and_host(x, s, rd->d, first, last);
	device_close(rd->d);
	replay_device_free(rd);
	return e;
}

static struct err *one_window(struct exact *x, struct session *s, unsigned i, uint64_t first, uint64_t last)
{
	const struct replay_choice c = {.on = REPLAY_ON_SOFT, .window = i, .quiet = true};
	struct replay_device *rd = session_device(s, first, last);
	struct err *e;

	if (rd)
		return replay_device_back(s, sets_and_host(x, s, rd->d, first, last));
	e = replay_device_open(s, &c, &rd);
	if (e && !x->n) {
		struct err *other = on_a_gpu(x, s, i, first, last);

		if (!other || other->code == ERR_INTERRUPTED || x->n) {
			err_free(e);
			return other;
		}
		err_free(other); /* why not on the software GPU is what can be mended */
		x->source.writes_only = false;
		return e;
	}
	TRY(e);
	e = sets_and_host(x, s, rd->d, first, last);
	device_close(rd->d);
	replay_device_free(rd);
	return e;
}

static bool is_in(uint64_t first, uint64_t last, uint64_t a, uint64_t b)
{
	return (!first || first <= b) && (!last || last >= a);
}

static struct err *windows(struct exact *x, struct session *s, enum exact_want want, uint64_t first, uint64_t last)
{
	uint64_t a, b, n = 0;
	unsigned found = 0;

	for (unsigned i = 0; sbt_reader_window(s->trace.reader, i, &a, &b); i++) {
		found += is_in(first, last, a, b);
		n += is_in(first, last, a, b) ? b - a + 1 : 0;
	}
	if (!found)
		return err_cure(err_new(ERR_INCOMPLETE, "the trace holds no memory contents there, so its commands cannot be executed again"),
			"Record it with memory: `tsdb record --memory all`, or `set capture memory all` before `capture start`");
	if (want != EXACT_MUST && n > EXACT_AUTO_COMMANDS)
		return err_new(ERR_LIMIT, "%" PRIu64 " commands would be executed (races --exact does it)", n);
	for (unsigned i = 0; sbt_reader_window(s->trace.reader, i, &a, &b); i++)
		if (is_in(first, last, a, b))
			TRY(one_window(x, s, i, a, b));
	return NULL;
}

/* What a failure means for the answer; takes e. */
static void explain(struct exact *x, struct err *e)
{
	if (e->code == ERR_INCOMPLETE && !x->n)
		x->note = xasprintf("Kernels' accesses are by their arguments: %s.", e->what);
	else if (!x->n)
		x->note = xasprintf("Kernels' accesses are by their arguments: not executed on the software GPU, %s.", e->what);
	else
		x->note = xasprintf("Kernels' accesses are exact up to #%" PRIu64 ", beyond by their arguments: %s%s.", x->reached, e->what,
			e->code == ERR_LIMIT ? " (--budget 5m has more, --exact no end)" : "");
	err_free(e);
}

static void explain_success(struct exact *x)
{
	const struct order_suspects *o = x->ask.only;

	if (o && !o->n)
		x->note = xasprintf("No launch had to be executed: all work that could meet another's is ordered.");
	else if (x->source.writes_only)
		x->note = xasprintf("What kernels write is exact, as far as it changed memory: executed on the machine's GPU. What they read is by their arguments.");
	else if (o && o->n < o->launches)
		x->note = xasprintf("Kernels' accesses are exact: %zu of %" PRIu64 " launches executed on the software GPU, the others are ordered with all work.",
			o->n, o->launches);
	else
		x->note = xstrdup("Kernels' accesses are exact: executed on the software GPU.");
}

static struct err *execute(struct exact *x)
{
	const struct exact_ask *a = &x->ask;

	if (a->only && !a->only->n && !a->only->host)
		return NULL;
	return windows(x, x->s, a->want, a->first, a->last);
}

struct err *exact_open_for(struct exact **ret, struct session *s, const struct exact_ask *ask)
{
	struct exact *x = xcalloc(1, sizeof *x);
	struct err *e;

	*ret = x;
	x->source = (struct order_source){.arg = x, .accesses = accesses, .early = early};
	x->ask = *ask;
	x->s = s;
	if (ask->want == EXACT_NEVER)
		return NULL;
	x->host = ask->want != EXACT_SETS;
	x->left_ns = ask->budget_ns ? ask->budget_ns : EXACT_AUTO_SECONDS * UINT64_C(1000000000);
	e = execute(x);
	out_progress_end(s->out);
	x->source.knows_host = knows_host;
	x->source.host_arg = x;
	x->source.changes = x->changes;
	x->source.nchanges = x->nchanges;
	if (e && e->code == ERR_INTERRUPTED && ask->rest && ask->want != EXACT_MUST)
		interrupt_flag = false;
	else if (e && (ask->want == EXACT_MUST || e->code == ERR_INTERRUPTED)) {
		exact_free(x);
		*ret = NULL;
		return e->code == ERR_INTERRUPTED ? e : err_wrap(e, "what kernels touch cannot be found exactly");
	}
	if (e)
		explain(x, e);
	else
		explain_success(x);
	x->ask.only = NULL; /* the caller's, for the time of the call */
	return NULL;
}

struct err *exact_open(struct exact **ret, struct session *s, enum exact_want want, uint64_t first, uint64_t last)
{
	return exact_open_for(ret, s, &(struct exact_ask){.want = want, .first = first, .last = last});
}

void exact_free(struct exact *x)
{
	if (!x)
		return;
	free(x->known);
	free(x->pool.a);
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
