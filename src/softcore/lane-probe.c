/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts lanes at lines, see lane-probe.h. The surprise: a step is reported before its instruction
 * is executed, and it may be put off and reported again. So what lanes would count is kept for each
 * warp until its next step shows that it went on, by the warp's own count of instructions.
 */
#include "softcore/lane-probe.h"
#include "softcore/lane-print.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SLOTS = 4 * SOFT_PROBE_KEYS, TOGETHER = SOFT_PROBES_MAX, MARKS = 4096 };

/* A place of a probe, and what is asked there. */
struct place {
	unsigned probe;
	const void *fn;
	uint64_t pc;
	bool broken; /* an expression has names that are not there */
	bool has_expr, has_condition;
	struct lane_expr expr, condition;
	struct lane_prints *prints; /* in the place of expr; NULL: it prints nothing */
};

/* What the lanes of a warp count when it goes on. */
struct pending {
	const void *w;
	uint64_t count;
	bool holds;
	const void *fn;
	uint64_t pc;
	uint32_t place;				   /* first place at pc */
	uint64_t counted[TOGETHER], bad[TOGETHER]; /* lanes, by place */
	struct lane_value value[TOGETHER][SOFT_LANES];
	struct soft_print *print;
	unsigned nprints;
};

struct probed {
	const struct probe_machine *m;
	const void *arg;
	const char *kernel;
	const struct soft_probe *p;
	unsigned n;
	uint8_t marks[MARKS]; /* by mark_of(): there may be a place */
	struct place *places;
	unsigned nplaces, cap_places;
	struct pending **warps; /* cap_warps: a hash table by warp, at most half full */
	unsigned nwarps, cap_warps;
	unsigned npending; /* that hold something */
	bool no_memory;	   /* some lanes were not counted */
	struct soft_probe_result *results;
	uint64_t *slots; /* of keys: by probe, a hash table of index + 1 */
	void (*print)(void *arg, const struct soft_print *r);
	void *print_arg;
	uint64_t lines[SOFT_PROBES_MAX];			 /* records handed out */
	uint64_t left[SOFT_PROBES_MAX], passes[SOFT_PROBES_MAX]; /* beyond the limit: lanes; passes
								    of which nothing was */
};

/* --- which kernels --- */

/* The function's own name in a mangled one: the last that has a length in front. */
static void short_name(const char *mangled, char *dst, size_t n)
{
	const char *p = mangled;

	snprintf(dst, n, "%s", mangled);
	if (strncmp(p, "_Z", 2))
		return;
	p += 2 + (p[2] == 'N');
	while (*p >= '1' && *p <= '9') {
		char *end;
		const unsigned long len = strtoul(p, &end, 10);

		if (len > strlen(end))
			return;
		snprintf(dst, n, "%.*s", (int)len, end);
		p = end + len;
	}
}

/* The pattern is one or several, with | between them. */
static bool is_kernel(const struct soft_probe *p, const char *mangled)
{
	char name[SOFT_NAME], one[SOFT_NAME];
	const char *at = p->kernel;

	short_name(mangled, name, sizeof(name));
	if (!*at)
		return true;
	for (;; at++) {
		const size_t n = strcspn(at, "|");

		memcpy(one, at, n);
		one[n] = 0;
		if (!fnmatch(one, mangled, 0) || !fnmatch(one, name, 0))
			return true;
		at += n;
		if (!*at)
			return false;
	}
}

/* --- places --- */

static unsigned mark_of(const void *fn, uint64_t pc)
{
	return (unsigned)(((uintptr_t)fn / 16 + pc / 4 + pc) % MARKS);
}

static void compile(const struct probed *b, struct place *at, const char *text, struct lane_expr *x,
	bool *ret_has)
{
	*ret_has = text[0];
	if (text[0] && !b->m->compile(b->arg, at->fn, at->pc, text, x))
		at->broken = true;
}

static bool more_places(struct probed *b)
{
	const unsigned cap = b->cap_places ? 2 * b->cap_places : 32;
	struct place *v;

	if (b->nplaces < b->cap_places)
		return true;
	v = realloc(b->places, cap * sizeof(*v));
	if (!v) {
		b->no_memory = true;
		return false;
	}
	b->places = v;
	b->cap_places = cap;
	return true;
}

void probed_place(struct probed *b, unsigned probe, const void *fn, uint64_t pc,
	const struct soft_probe_row *row)
{
	const struct soft_probe *p = &b->p[probe];
	struct place *at;

	if (!more_places(b))
		return;
	at = &b->places[b->nplaces++];
	*at = (struct place){.probe = probe, .fn = fn, .pc = pc, .broken = p->nrows && !row};
	if (p->kind == SOFT_PROBE_PRINT) {
		at->prints = lane_prints_new(b->m, b->arg, fn, pc, row ? row->expr : p->expr);
		b->no_memory |= !at->prints;
	} else {
		compile(b, at, row ? row->expr : p->expr, &at->expr, &at->has_expr);
	}
	compile(b, at, row ? row->condition : p->condition, &at->condition, &at->has_condition);
	b->marks[mark_of(fn, pc)] = 1;
}

bool probed_is_about(const struct probed *b, unsigned probe)
{
	return is_kernel(&b->p[probe], b->kernel);
}

struct probed *probed_new(const struct probe_machine *m, const void *arg, const char *kernel,
	const struct soft_probe *p, unsigned n)
{
	struct probed *b;
	unsigned k = 0;

	while (k < n && !is_kernel(&p[k], kernel))
		k++;
	if (k == n)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->m = m;
	b->arg = arg;
	b->kernel = kernel;
	b->p = p;
	b->n = n;
	b->results = calloc(n, sizeof(*b->results));
	b->slots = calloc((size_t)n * KEY_SLOTS, sizeof(*b->slots));
	if (b->results && b->slots)
		return b;
	probed_free(b);
	return NULL;
}

void probed_free(struct probed *b)
{
	if (!b)
		return;
	for (unsigned k = 0; k < b->cap_warps; k++) {
		if (b->warps[k])
			free(b->warps[k]->print);
		free(b->warps[k]);
	}
	for (unsigned k = 0; k < b->nplaces; k++)
		free(b->places[k].prints);
	free(b->warps);
	free(b->places);
	free(b->results);
	free(b->slots);
	free(b);
}

/* --- counting --- */

static uint64_t bits_of(const struct lane_value *v)
{
	uint64_t u = (uint64_t)v->i;

	if (v->is_float)
		memcpy(&u, &v->f, sizeof(u));
	return u;
}

static void count_key(struct probed *b, unsigned probe, const struct lane_value *v)
{
	struct soft_probe_result *r = &b->results[probe];
	uint64_t *slots = &b->slots[(size_t)probe * KEY_SLOTS];
	const uint64_t bits = bits_of(v);
	uint64_t at = (bits * 0x9e3779b97f4a7c15u >> 40) % KEY_SLOTS;

	while (slots[at] && r->key[slots[at] - 1].bits != bits)
		at = (at + 1) % KEY_SLOTS;
	if (!slots[at] && r->nkeys == SOFT_PROBE_KEYS) {
		r->others++;
		return;
	}
	if (!slots[at]) {
		r->key[r->nkeys].bits = bits;
		slots[at] = ++r->nkeys;
	}
	r->key[slots[at] - 1].count++;
	r->is_float = v->is_float;
}

static unsigned bucket_of(const struct lane_value *v)
{
	const double f = v->f;

	if (!v->is_float)
		return v->i < 0 ? 0 : !v->i ? 1 : 65u - (unsigned)__builtin_clzll((uint64_t)v->i);
	if (f < 0)
		return 0;
	if (!(f >= 1)) /* NaN too */
		return 1;
	return f >= 9.2e18 ? 65 : 65u - (unsigned)__builtin_clzll((uint64_t)f);
}

static void count_lane(struct probed *b, const struct place *at, const struct lane_value *v)
{
	struct soft_probe_result *r = &b->results[at->probe];

	r->count++;
	if (b->p[at->probe].kind == SOFT_PROBE_HIST)
		r->bucket[bucket_of(v)]++;
	else if (b->p[at->probe].kind == SOFT_PROBE_BY)
		count_key(b, at->probe, v);
}

static unsigned probe_of(const struct probed *b, uint32_t id)
{
	unsigned k = 0;

	while (k + 1 < b->n && b->p[k].id != id)
		k++;
	return k;
}

static void hand_out(struct probed *b, struct pending *q)
{
	for (unsigned j = 0; j < q->nprints; j++) {
		const unsigned k = probe_of(b, q->print[j].id);

		if (b->p[k].limit && b->lines[k] >= b->p[k].limit) {
			b->left[k] += (uint64_t)__builtin_popcountll(q->print[j].lanes);
			b->passes[k] += !q->print[j].more;
			continue;
		}
		b->lines[k]++;
		if (b->print)
			b->print(b->print_arg, &q->print[j]);
	}
	q->nprints = 0;
}

/* The places at an instruction lie next to one another only by chance: all are looked through. */
static void flush(struct probed *b, struct pending *q)
{
	unsigned k = 0;

	for (unsigned j = q->place; j < b->nplaces && k < TOGETHER; j++) {
		const struct place *at = &b->places[j];

		if (at->fn != q->fn || at->pc != q->pc)
			continue;
		for (unsigned l = 0; l < SOFT_LANES; l++)
			if (q->counted[k] >> l & 1)
				count_lane(b, at, &q->value[k][l]);
		b->results[at->probe].unknown += (uint64_t)__builtin_popcountll(q->bad[k]);
		k++;
	}
	hand_out(b, q);
	q->holds = false;
	b->npending--;
}

static unsigned slot_of(const struct probed *b, const void *w)
{
	unsigned at = (unsigned)((uint64_t)(uintptr_t)w * 0x9e3779b97f4a7c15u >> 40);

	for (at %= b->cap_warps; b->warps[at] && b->warps[at]->w != w;)
		at = (at + 1) % b->cap_warps;
	return at;
}

/* Makes room for one more warp. */
static bool more_warps(struct probed *b)
{
	const unsigned was = b->cap_warps;
	struct pending **old = b->warps, **v;

	if (2 * (b->nwarps + 1) <= was)
		return true;
	v = calloc(was ? 2 * was : 256, sizeof(*v));
	if (!v)
		return false;
	b->warps = v;
	b->cap_warps = was ? 2 * was : 256;
	for (unsigned k = 0; k < was; k++)
		if (old[k])
			b->warps[slot_of(b, old[k]->w)] = old[k];
	free(old);
	return true;
}

static struct pending *pending_of(struct probed *b, const void *w)
{
	return b->cap_warps ? b->warps[slot_of(b, w)] : NULL;
}

static struct pending *make_pending(struct probed *b, const void *w)
{
	struct pending *q = pending_of(b, w);

	if (q || !more_warps(b))
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->w = w;
	b->warps[slot_of(b, w)] = q;
	b->nwarps++;
	return q;
}

/* What the warp's last place was waiting for has happened, or has not. */
static void settle(struct probed *b, struct pending *q, uint64_t count)
{
	if (!q || !q->holds)
		return;
	if (count > q->count) {
		flush(b, q);
	} else { /* the instruction was put off */
		q->nprints = 0;
		q->holds = false;
		b->npending--;
	}
}

/* What lanes of a warp would count at one place. */
static void look(const struct probed *b, const struct place *at, const struct probe_step *s,
	uint64_t *counted, uint64_t *bad, struct lane_value *value)
{
	*counted = *bad = 0;
	if (at->broken) {
		*bad = s->mask;
		return;
	}
	for (uint64_t left = s->mask; left; left &= left - 1) {
		const unsigned l = (unsigned)__builtin_ctzll(left);
		struct lane_value yes = {.i = 1};

		if (at->has_condition)
			yes = b->m->eval(&at->condition, s->warp, l);
		if (!yes.bad && !lane_is_true(&yes))
			continue;
		value[l] =
			at->has_expr ? b->m->eval(&at->expr, s->warp, l) : (struct lane_value){0};
		*(yes.bad || value[l].bad || isnan(value[l].f) ? bad : counted) |= 1ull << l;
	}
}

static void hold(struct probed *b, struct pending *q, const struct probe_step *s, unsigned place)
{
	q->place = place;
	q->holds = true;
	q->fn = s->fn;
	q->pc = s->pc;
	q->count = s->count;
	memset(q->counted, 0, sizeof(q->counted));
	memset(q->bad, 0, sizeof(q->bad));
	b->npending++;
}

void probed_step(struct probed *b, const struct probe_step *s)
{
	struct pending *q = b->npending ? pending_of(b, s->warp) : NULL;
	unsigned k = 0;

	settle(b, q, s->count);
	if (!b->marks[mark_of(s->fn, s->pc)])
		return;
	for (unsigned j = 0; j < b->nplaces && k < TOGETHER; j++) {
		const struct place *at = &b->places[j];

		if (at->fn != s->fn || at->pc != s->pc)
			continue;
		q = q ? q : make_pending(b, s->warp);
		if (!q) {
			b->no_memory = true;
			return;
		}
		if (!k)
			hold(b, q, s, j);
		look(b, at, s, &q->counted[k], &q->bad[k], q->value[k]);
		if (at->prints && q->counted[k] &&
			!lane_prints_take(at->prints, b->m, b->p[at->probe].id, s->warp,
				q->counted[k], &q->print, &q->nprints))
			b->no_memory = true;
		k++;
	}
}

void probed_done(struct probed *b, const void *warp)
{
	struct pending *q = b->npending ? pending_of(b, warp) : NULL;

	if (q && q->holds)
		flush(b, q);
}

void probed_prints(
	struct probed *b, void (*print)(void *arg, const struct soft_print *r), void *arg)
{
	b->print = print;
	b->print_arg = arg;
}

void probed_tell_left(struct probed *b)
{
	for (unsigned k = 0; k < b->n && b->print; k++)
		if (b->left[k])
			b->print(b->print_arg, &(struct soft_print){.id = b->p[k].id,
						       .left = b->left[k],
						       .passes = b->passes[k]});
}

/* --- results --- */

bool probed_has(const struct probed *b, unsigned probe)
{
	for (unsigned j = 0; j < b->nplaces; j++)
		if (b->places[j].probe == probe)
			return true;
	return false;
}

static void add_key(struct soft_probe_result *to, const struct soft_probe_key *key)
{
	unsigned k = 0;

	while (k < to->nkeys && to->key[k].bits != key->bits)
		k++;
	if (k == SOFT_PROBE_KEYS) {
		to->others += key->count;
		return;
	}
	if (k == to->nkeys)
		to->key[to->nkeys++] = (struct soft_probe_key){.bits = key->bits};
	to->key[k].count += key->count;
}

void probed_add(struct probed *b, unsigned probe, struct soft_probe_result *to)
{
	const struct soft_probe_result *r = &b->results[probe];

	to->launches += r->count || r->unknown;
	to->count += r->count;
	to->unknown += r->unknown;
	to->others += r->others;
	to->is_float |= r->is_float;
	to->unknown += b->no_memory;
	for (unsigned k = 0; k < SOFT_PROBE_BUCKETS; k++)
		to->bucket[k] += r->bucket[k];
	for (unsigned k = 0; k < r->nkeys; k++)
		add_key(to, &r->key[k]);
}
