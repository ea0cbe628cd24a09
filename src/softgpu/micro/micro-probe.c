/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts lanes at lines, see micro-probe.h. The surprise: a step is reported before its instruction
 * is executed, and it may be put off and reported again. So what lanes would count is kept for each
 * warp until its next step shows that it went on, by the warp's own count of instructions.
 */
#include "softgpu/micro/micro-probe.h"
#include "softgpu/micro/micro-print.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SLOTS = 4 * SOFT_PROBE_KEYS, TOGETHER = SOFT_PROBES_MAX };

/* A place of a probe, and what is asked there. */
struct place {
	unsigned probe;
	const struct ptx_function *fn;
	uint32_t pc;
	bool broken; /* an expression has names that are not there */
	bool has_expr, has_condition;
	struct lane_expr expr, condition;
	struct micro_prints *prints; /* in the place of expr; NULL: it prints nothing */
};

/* What the lanes of a warp count when it goes on. */
struct pending {
	const struct ptx_warp *w;
	uint64_t count;
	const struct ptx_function *fn; /* NULL: nothing */
	uint32_t pc;
	uint32_t place;				   /* first place at pc */
	uint32_t counted[TOGETHER], bad[TOGETHER]; /* lanes, by place */
	struct lane_value value[TOGETHER][PTX_LANES];
	struct soft_print *print;
	unsigned nprints;
};

struct probed {
	const struct soft_probe *p;
	unsigned n;
	uint8_t *marks; /* by PTX line: there is a place */
	unsigned nlines;
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

static const struct soft_probe_row *row_of(const struct soft_probe *p, uint64_t hash, unsigned line)
{
	for (unsigned k = 0; k < p->nrows && k < SOFT_PROBE_ROWS; k++)
		if (p->row[k].line == line && p->row[k].text == hash)
			return &p->row[k];
	return NULL;
}

static void compile(struct place *at, const char *text, struct lane_expr *x, bool *ret_has)
{
	char why[160];

	*ret_has = text[0];
	if (text[0] && micro_compile(x, at->fn, at->pc, text, why, sizeof(why)))
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

static void add_place(
	struct probed *b, unsigned probe, const struct ptx_function *fn, uint32_t pc, uint64_t hash)
{
	const struct soft_probe *p = &b->p[probe];
	const struct soft_probe_row *row = row_of(p, hash, fn->insns[pc].line);
	struct place *at;

	if (fn->insns[pc].line > b->nlines || !more_places(b))
		return;
	at = &b->places[b->nplaces++];
	*at = (struct place){.probe = probe, .fn = fn, .pc = pc, .broken = p->nrows && !row};
	if (p->kind == SOFT_PROBE_PRINT) {
		at->prints = micro_prints_new(fn, pc, row ? row->expr : p->expr);
		b->no_memory |= !at->prints;
	} else {
		compile(at, row ? row->expr : p->expr, &at->expr, &at->has_expr);
	}
	compile(at, row ? row->condition : p->condition, &at->condition, &at->has_condition);
	b->marks[fn->insns[pc].line] = 1;
}

static void add_places(
	struct probed *b, unsigned probe, const struct ptx_function *kernel, uint64_t hash)
{
	struct soft_point q = {.kind = SOFT_AT_SOURCE, .line = b->p[probe].line};
	const struct ptx_module *m = kernel->m;

	snprintf(q.file, sizeof(q.file), "%s",
		b->p[probe].file[0] ? b->p[probe].file
		: kernel->nlocs	    ? micro_file(kernel, kernel->locs[0].file)
				    : "");
	q.line = micro_find_source(m, &q);
	for (unsigned k = 0; q.line && k < m->nfuncs; k++)
		for (unsigned j = 0; j < m->funcs[k]->nlocs; j++)
			if (micro_begins_source(m->funcs[k], m->funcs[k]->locs[j].pc, &q, q.line))
				add_place(b, probe, m->funcs[k], m->funcs[k]->locs[j].pc, hash);
}

static unsigned count_lines(const char *text, size_t n)
{
	unsigned lines = 1;

	for (size_t k = 0; k < n && text[k]; k++)
		lines += text[k] == '\n';
	return lines;
}

struct probed *probed_new(const struct ptx_launch *l, const struct soft_probe *p, unsigned n,
	const char *text, size_t text_size)
{
	struct probed *b = NULL;
	uint64_t hash = 0;

	for (unsigned k = 0; k < n; k++) {
		if (!is_kernel(&p[k], l->fn->name))
			continue;
		if (!b) {
			b = calloc(1, sizeof(*b));
			if (!b)
				return NULL;
			b->p = p;
			b->n = n;
			b->nlines = count_lines(text, text_size);
			b->marks = calloc(b->nlines + 1, 1);
			b->results = calloc(n, sizeof(*b->results));
			b->slots = calloc((size_t)n * KEY_SLOTS, sizeof(*b->slots));
			if (!b->marks || !b->results || !b->slots) {
				probed_free(b);
				return NULL;
			}
		}
		if (p[k].nrows && !hash)
			hash = soft_probe_hash(text, text_size);
		add_places(b, k, l->fn, hash);
	}
	if (b && !b->nplaces) {
		probed_free(b);
		return NULL;
	}
	return b;
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
	free(b->marks);
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
		for (unsigned l = 0; l < PTX_LANES; l++)
			if (q->counted[k] >> l & 1)
				count_lane(b, at, &q->value[k][l]);
		b->results[at->probe].unknown += (uint64_t)__builtin_popcount(q->bad[k]);
		k++;
	}
	hand_out(b, q);
	q->fn = NULL;
	b->npending--;
}

static unsigned slot_of(const struct probed *b, const struct ptx_warp *w)
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

static struct pending *pending_of(struct probed *b, const struct ptx_warp *w)
{
	return b->cap_warps ? b->warps[slot_of(b, w)] : NULL;
}

static struct pending *make_pending(struct probed *b, const struct ptx_warp *w)
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
static void settle(struct probed *b, struct pending *q, const struct ptx_warp *w)
{
	if (!q || !q->fn)
		return;
	if (w->count + w->returns > q->count) {
		flush(b, q);
	} else { /* the instruction was put off */
		q->nprints = 0;
		q->fn = NULL;
		b->npending--;
	}
}

/* What lanes of a warp would count at one place. */
static void look(const struct place *at, const struct ptx_warp *w, uint32_t mask, uint32_t *counted,
	uint32_t *bad, struct lane_value *value)
{
	const unsigned frame = w->nframes - 1;

	*counted = *bad = 0;
	if (at->broken) {
		*bad = mask;
		return;
	}
	EACH_LANE(l)
	{
		struct lane_value yes = {.i = 1};

		if (at->has_condition)
			yes = micro_eval(&at->condition, w, frame, l);
		if (!yes.bad && !(yes.is_float ? yes.f != 0 : yes.i != 0))
			continue;
		value[l] =
			at->has_expr ? micro_eval(&at->expr, w, frame, l) : (struct lane_value){0};
		*(yes.bad || value[l].bad || isnan(value[l].f) ? bad : counted) |= 1u << l;
	}
}

static enum ptx_step on_step(void *arg, struct ptx_warp *w, uint32_t pc)
{
	struct probed *b = arg;
	const struct ptx_function *fn = w->frames[w->nframes - 1].fn;
	const unsigned line = fn->insns[pc].line;
	const uint32_t mask = w->ents[w->nents - 1].mask;
	struct pending *q = b->npending ? pending_of(b, w) : NULL;
	unsigned k = 0;

	settle(b, q, w);
	if (line > b->nlines || !b->marks[line])
		return PTX_STEP_ON;
	for (unsigned j = 0; j < b->nplaces && k < TOGETHER; j++) {
		if (b->places[j].fn != fn || b->places[j].pc != pc)
			continue;
		q = q ? q : make_pending(b, w);
		if (!q) {
			b->no_memory = true;
			return PTX_STEP_ON;
		}
		if (!k) {
			q->place = j;
			q->fn = fn;
			q->pc = pc;
			q->count = w->count + w->returns;
			memset(q->counted, 0, sizeof(q->counted));
			memset(q->bad, 0, sizeof(q->bad));
			b->npending++;
		}
		look(&b->places[j], w, mask, &q->counted[k], &q->bad[k], q->value[k]);
		if (b->places[j].prints && q->counted[k] &&
			!micro_prints_take(b->places[j].prints, b->p[b->places[j].probe].id, w,
				q->counted[k], &q->print, &q->nprints))
			b->no_memory = true;
		k++;
	}
	return PTX_STEP_ON;
}

/* A block's warps have executed all that they began. */
static void on_block_end(void *arg, struct ptx_block *blk)
{
	struct probed *b = arg;

	for (unsigned k = 0; b->npending && k < blk->nwarps; k++) {
		struct pending *q = pending_of(b, &blk->warps[k]);

		if (q && q->fn)
			flush(b, q);
	}
}

struct ptx_observer probed_observer(struct probed *b)
{
	return (struct ptx_observer){.arg = b, .step = on_step, .block_end = on_block_end};
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
