/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads show, by changed code (gpucode/ptx-probe.h): all probes that print share one log,
 * which is read behind each launch. What is made of it is what the software GPU hands out by itself
 * (softcore/lane-print.c): records of lanes of a warp that have the same values, by block, by warp,
 * and of a warp in the order of time. The log is memory of the device: the kernel may have written
 * into it, so nothing in it is believed.
 */
#include <stdlib.h>
#include <string.h>
#include "gpucode/ptx-probe.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"

enum {
	LOG_BYTES = 128 << 20,
	PRINTED_MAX = 1 << 18, /* records that are kept of a window */
	WARP = 32
};
_Static_assert((int)PTX_PRINT_VALUES == (int)SOFT_PRINT_ARGS, "as many values");

/* A probe's share of the log's size: 0 if it does not print. */
uint64_t print_log(struct rp *rp, uint64_t at)
{
	struct counting *c = &rp->counting;
	struct printing *g = &c->printing;

	for (unsigned i = 0; i < c->n; i++) {
		if (c->p[i].kind != SOFT_PROBE_PRINT)
			continue;
		const unsigned n = ptx_print_count(c->p[i].expr);

		g->of = g->stride ? g->of : i;
		g->nvalues = n > g->nvalues ? n : g->nvalues;
		g->nvalues = g->nvalues < SOFT_PRINT_ARGS ? g->nvalues : SOFT_PRINT_ARGS;
		g->stride = ptx_print_size(g->nvalues);
	}
	if (!g->stride)
		return 0;
	g->at = at;
	g->room = LOG_BYTES / g->stride;
	return g->room * g->stride;
}

/* --- the log's records --- */

/* Lanes of a warp that passed together. */
struct pass {
	uint64_t at; /* its first record */
	uint32_t block[3], warp;
	unsigned n; /* records that the log has of it */
};
struct passes {
	const uint8_t *log;
	size_t stride;
	struct pass *v;
	size_t n, cap;
};

static const struct ptx_print_record *record_at(const struct passes *p, uint64_t i)
{
	return (const struct ptx_print_record *)(const void *)(p->log + i * p->stride);
}

static unsigned nth_lane(uint32_t mask, unsigned n)
{
	for (; n; n--)
		mask &= mask - 1;
	return (unsigned)__builtin_ctz(mask);
}

static uint32_t warp_of(const struct ptx_print_record *r)
{
	const uint32_t x = r->size[0], y = r->size[1];

	return (r->thread[0] + x * (r->thread[1] + y * r->thread[2])) / WARP;
}

/* Whether record k of a pass is what its first one makes it. */
static bool belongs(
	const struct ptx_print_record *first, const struct ptx_print_record *r, unsigned k)
{
	return r->mask == first->mask && (r->lane & 255) == nth_lane(first->mask, k) &&
	       r->lane >> 8 == first->lane >> 8 && warp_of(r) == warp_of(first) &&
	       !memcmp(r->block, first->block, sizeof r->block) && r->types == first->types;
}

/* Takes the log apart; false: it is not what lanes have logged. */
static bool take_passes(struct passes *p, uint64_t have, unsigned nprobes)
{
	for (uint64_t i = 0; i < have;) {
		const struct ptx_print_record *first = record_at(p, i);
		const unsigned n = (unsigned)__builtin_popcount(first->mask);
		struct pass s = {.at = i, .n = n < have - i ? n : (unsigned)(have - i)};

		if (!n || first->lane >> 8 >= nprobes)
			return false;
		for (unsigned k = 0; k < s.n; k++)
			if (!belongs(first, record_at(p, i + k), k))
				return false;
		memcpy(s.block, first->block, sizeof s.block);
		s.warp = warp_of(first);
		MAKE_ROOM(p->v, p->n, p->cap);
		p->v[p->n++] = s;
		i += s.n;
	}
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct pass *x = a, *y = b;

	for (int k = 2; k >= 0; k--)
		if (x->block[k] != y->block[k])
			return x->block[k] < y->block[k] ? -1 : 1;
	if (x->warp != y->warp)
		return x->warp < y->warp ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* --- what is shown --- */

static struct soft_print_value value_of(uint64_t bits, unsigned type)
{
	static const struct soft_print_value types[16] = {[PTX_PRINT_U8] = {SOFT_UINT, 1, 0},
		[PTX_PRINT_S8] = {SOFT_INT, 1, 0},
		[PTX_PRINT_U16] = {SOFT_UINT, 2, 0},
		[PTX_PRINT_S16] = {SOFT_INT, 2, 0},
		[PTX_PRINT_U32] = {SOFT_UINT, 4, 0},
		[PTX_PRINT_S32] = {SOFT_INT, 4, 0},
		[PTX_PRINT_U64] = {SOFT_UINT, 8, 0},
		[PTX_PRINT_S64] = {SOFT_INT, 8, 0},
		[PTX_PRINT_F32] = {SOFT_FLOAT, 4, 0},
		[PTX_PRINT_F64] = {SOFT_FLOAT, 8, 0},
		[PTX_PRINT_BOOL] = {SOFT_BOOL, 1, 0}};
	struct soft_print_value v = types[type];
	uint32_t single;
	double d;
	float f;

	if (v.type == SOFT_FLOAT && v.bytes == 4) {
		memcpy(&d, &bits, sizeof d);
		f = (float)d;
		memcpy(&single, &f, sizeof single);
		v.bits = single;
	} else {
		v.bits = v.bytes == 8 ? bits : bits & ((1ull << 8 * v.bytes) - 1);
	}
	return v;
}

static struct soft_print said_by(
	const struct rp *rp, const struct ptx_print_record *r, unsigned probe)
{
	const unsigned n = ptx_print_count(rp->counting.p[probe].expr);
	const uint64_t *bits = (const void *)(r + 1);
	struct soft_print s = {.id = rp->counting.p[probe].id,
		.lanes = 1ull << (r->lane & (WARP - 1)),
		.launch = rp->current,
		.bad = r->bad};

	memcpy(s.block, r->block, sizeof s.block);
	memcpy(s.thread, r->thread, sizeof s.thread);
	for (unsigned k = 0; k < n && k < rp->counting.printing.nvalues; k++)
		if (!(r->bad >> k & 1))
			s.value[k] = value_of(bits[k], r->types >> 4 * k & 15);
	return s;
}

static bool same(const struct soft_print *a, const struct soft_print *b)
{
	return a->bad == b->bad && !memcmp(a->value, b->value, sizeof a->value);
}

/* What one launch has shown so far, by probe. */
struct told {
	uint64_t lines[SOFT_PROBES_MAX], left[SOFT_PROBES_MAX], passes[SOFT_PROBES_MAX];
	uint64_t lost[SOFT_PROBES_MAX];
};

static void keep(struct rp *rp, const struct soft_print *s)
{
	struct printing *g = &rp->counting.printing;

	MAKE_ROOM(g->said, g->nsaid, g->cap);
	g->said[g->nsaid++] = *s;
}

/* Keeps the lines of one pass, as far as the limits allow. */
static void tell_pass(struct rp *rp, const struct passes *p, const struct pass *s, struct told *t)
{
	const unsigned probe = record_at(p, s->at)->lane >> 8;
	const uint64_t limit = rp->counting.p[probe].limit;
	struct soft_print v[WARP];
	unsigned n = 0, at;

	for (unsigned k = 0; k < s->n; k++) {
		const struct soft_print one = said_by(rp, record_at(p, s->at + k), probe);

		for (at = 0; at < n && !same(&v[at], &one);)
			at++;
		if (at < n) {
			v[at].lanes |= one.lanes;
		} else {
			v[n] = one;
			v[n].more = n > 0;
			n++;
		}
	}
	for (at = 0; at < n; at++) {
		const bool full = rp->counting.printing.nsaid >= PRINTED_MAX;

		if (!full && (!limit || t->lines[probe] < limit)) {
			t->lines[probe]++;
			keep(rp, &v[at]);
			continue;
		}
		t->passes[probe] += !v[at].more;
		*(full ? &t->lost[probe] : &t->left[probe]) +=
			(uint64_t)__builtin_popcountll(v[at].lanes);
	}
}

/* lost: records that had no room in the log, of whichever probe. */
static void tell_left(struct rp *rp, const struct told *t, uint64_t lost)
{
	struct counting *c = &rp->counting;

	for (unsigned i = 0; i < c->n; i++) {
		const uint64_t more = i == c->printing.of ? lost : 0;

		if (t->left[i] || t->lost[i] || more)
			keep(rp, &(struct soft_print){.id = c->p[i].id,
					 .launch = rp->current,
					 .left = t->left[i],
					 .lost = t->lost[i] + more,
					 .passes = t->passes[i]});
	}
}

static struct err *tell(struct rp *rp, const uint8_t *log, uint64_t have, uint64_t lost)
{
	struct passes p = {.log = log, .stride = rp->counting.printing.stride};
	struct told *t = xcalloc(1, sizeof *t);
	const bool good = take_passes(&p, have, rp->counting.n);

	if (good) {
		qsort(p.v, p.n, sizeof *p.v, by_place);
		for (size_t i = 0; i < p.n; i++)
			tell_pass(rp, &p, &p.v[i], t);
		tell_left(rp, t, lost);
	}
	free(p.v);
	free(t);
	return good ? NULL
		    : rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
			      "what threads of #%llu have logged was overwritten",
			      (unsigned long long)rp->current);
}

struct err *print_after(struct rp *rp)
{
	struct printing *g = &rp->counting.printing;
	const uint64_t cursor = rp->counting.area + g->of * sizeof(struct ptx_probe_cell) +
				offsetof(struct ptx_probe_cell, logged),
		       none = 0;
	uint64_t n, have;
	uint8_t *log;

	if (!g->stride)
		return NULL;
	GPU(rp, copy_to_host, &n, cursor, sizeof n, rp->own);
	GPU(rp, stream_finish, rp->own);
	if (!n)
		return NULL;
	have = n < g->room ? n : g->room;
	log = xmalloc(have * g->stride);
	struct err *e = rp_gpu(rp,
		rp->gpu->copy_to_host(log, rp->counting.area + g->at, have * g->stride, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->copy_to_device(cursor, &none, sizeof none, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(rp->own));
	if (!e)
		e = tell(rp, log, have, n - have);
	free(log);
	return e;
}

void print_take(struct rp *rp, struct buf *out)
{
	struct printing *g = &rp->counting.printing;
	const size_t most = (REPLAYER_MESSAGE_MAX / 2) / sizeof *g->said,
		     left = g->nsaid - g->taken;
	const struct replayer_printed head = {
		.n = left < most ? left : most, .more = left > most ? left - most : 0};

	buf_add(out, &head, sizeof head);
	buf_add(out, g->said + g->taken, head.n * sizeof *g->said);
	g->taken += head.n;
}
