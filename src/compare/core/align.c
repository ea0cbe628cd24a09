/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts two traces on one axis. Threads and streams are paired first, by what is submitted on them;
 * then each pair of threads is aligned in program order. What both begin and end with alike needs
 * no search. Where the rest differs too much for one search it is cut into pieces where its
 * contents say so, so that pieces that are equal are cut alike wherever they lie; equal pieces are
 * found first, commands between them after that.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/buf.h"
#include "compare/core/myers.h"
#include "compare/core/side.h"

enum {
	BUCKETS = 256,
	GROUPS_MAX = 256,
	SKETCH = 128,
	GRAM = 4,
	PIECE_MOST = 1024,
	PIECE_MASK = 31,
	PIECE_WINDOW = 4
};

/* --- pairing threads, and streams --- */

/* Entries that have a thread or a stream in common, by what they are. */
struct group {
	uint32_t id;
	uint32_t count[BUCKETS];
	uint32_t n;
	uint64_t last[GRAM];	 /* the newest keys, a ring */
	uint64_t sketch[SKETCH]; /* the least hashes of GRAM keys in a row, in order; A. Broder, "On
				  * the resemblance and containment of documents" (1997) */
	unsigned nsketch;
	int pair; /* of the other side; -1: none */
};
struct groups {
	struct group *g;
	unsigned n;
	struct id_table by_id; /* number, plus 1 */
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x7fb5d329728ea185);
	x ^= x >> 27;
	return x * UINT64_C(0x81dadef4bc2dd44d);
}

static void sketch_add(struct group *g, uint64_t h)
{
	unsigned lo = 0, hi = g->nsketch;

	if (hi == SKETCH && h >= g->sketch[hi - 1])
		return;
	while (lo < hi) {
		const unsigned mid = (lo + hi) / 2;

		if (g->sketch[mid] < h)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < g->nsketch && g->sketch[lo] == h)
		return;
	if (g->nsketch < SKETCH)
		g->nsketch++;
	memmove(&g->sketch[lo + 1], &g->sketch[lo], (g->nsketch - 1 - lo) * sizeof *g->sketch);
	g->sketch[lo] = h;
}

static void take_entry(struct group *g, const struct entry *e)
{
	uint64_t h = 0;

	g->count[e->weak % BUCKETS]++;
	g->last[g->n++ % GRAM] = e->key;
	for (unsigned i = 0; i < GRAM && i < g->n; i++)
		h = mix(h ^ g->last[(g->n - 1 - i) % GRAM]);
	sketch_add(g, h);
}

static void group_add(struct groups *gs, uint32_t id, const struct entry *e)
{
	uint32_t *number = id_table_row(&gs->by_id, id, true);

	if (!number || (!*number && gs->n == GROUPS_MAX))
		return;
	if (!*number) {
		gs->g = xrealloc(gs->g, (gs->n + 1) * sizeof *gs->g);
		gs->g[gs->n++] = (struct group){.id = id, .pair = -1};
		*number = gs->n;
	}
	take_entry(&gs->g[*number - 1], e);
}

static struct groups groups_of(const struct side *s, bool streams)
{
	struct groups gs = {.by_id.size = sizeof(uint32_t)};

	for (uint32_t i = 0; i < s->n; i++) {
		const struct entry *e = &s->e[i];

		if (!streams)
			group_add(&gs, e->thread, e);
		else if (e->stream != SBT_NO_ID)
			group_add(&gs, e->stream, e);
	}
	return gs;
}

static void groups_free(struct groups *gs)
{
	free(gs->g);
	free(gs->by_id.at);
}

/* How many of the least hashes of both together are in both: about the share of what comes in a row
 * in one that does so in the other. */
static double resemblance(const struct group *a, const struct group *b)
{
	unsigned i = 0, k = 0, all = 0, both = 0;

	while (all < SKETCH && (i < a->nsketch || k < b->nsketch)) {
		const bool of_a =
			k == b->nsketch || (i < a->nsketch && a->sketch[i] <= b->sketch[k]);
		const bool of_b =
			i == a->nsketch || (k < b->nsketch && b->sketch[k] <= a->sketch[i]);

		both += of_a && of_b;
		i += of_a;
		k += of_b;
		all++;
	}
	return (double)both / (double)all;
}

/* How alike two groups are: by what comes in a row, by how much of each there is, by the order in
 * which they were first used. */
static double likeness(const struct group *a, const struct group *b, bool same_rank)
{
	uint64_t common = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		common += a->count[i] < b->count[i] ? a->count[i] : b->count[i];
	return resemblance(a, b) + 0.5 * (double)common / (double)(a->n > b->n ? a->n : b->n) +
	       (same_rank ? 0.0001 : 0);
}

/* The most alike first; of equal ones those that were first used. */
static void pair_groups(struct groups *a, struct groups *b)
{
	for (;;) {
		double best = -1;
		int x = -1, y = -1;

		for (unsigned i = 0; i < a->n; i++)
			for (unsigned k = 0; a->g[i].pair < 0 && k < b->n; k++) {
				const double like = b->g[k].pair < 0
							    ? likeness(&a->g[i], &b->g[k], i == k)
							    : -1;

				if (like > best) {
					best = like;
					x = (int)i;
					y = (int)k;
				}
			}
		if (x < 0)
			return;
		a->g[x].pair = y;
		b->g[y].pair = x;
	}
}

static void pair_streams(struct alignment *al)
{
	struct groups a = groups_of(al->a, true), b = groups_of(al->b, true);
	uint32_t *row;

	pair_groups(&a, &b);
	al->streams = xmalloc((2 * (size_t)a.n + 1) * sizeof *al->streams);
	al->of_b.size = sizeof *row;
	for (unsigned i = 0; i < a.n; i++) {
		if (a.g[i].pair < 0)
			continue;
		al->streams[2 * al->nstreams] = a.g[i].id;
		al->streams[2 * al->nstreams++ + 1] = b.g[a.g[i].pair].id;
		row = id_table_row(&al->of_b, b.g[a.g[i].pair].id, true);
		if (row)
			*row = a.g[i].id + 1;
	}
	groups_free(&a);
	groups_free(&b);
}

/* The stream of A that one of B is; SBT_NO_ID: it is none of them. */
static uint32_t stream_in_a(const struct alignment *al, uint32_t b)
{
	struct id_table of_b = al->of_b;
	const uint32_t *row = id_table_row(&of_b, b, false);

	return row && *row ? *row - 1 : SBT_NO_ID;
}

bool align_same_stream(const struct alignment *al, uint32_t a, uint32_t b)
{
	if (a == SBT_NO_ID || b == SBT_NO_ID)
		return a == b;
	return stream_in_a(al, b) == a;
}

/* --- lanes --- */

static void limit_threads(struct side *s)
{
	for (uint32_t i = 0; i < s->n; i++) /* more than groups: the last is all others */
		if (s->e[i].thread >= GROUPS_MAX)
			s->e[i].thread = GROUPS_MAX - 1;
}

static struct lane_pair new_lane(const struct group *a, const struct group *b)
{
	return (struct lane_pair){.a = xmalloc(((a ? a->n : 0) + 1) * sizeof(uint32_t)),
		.b = xmalloc(((b ? b->n : 0) + 1) * sizeof(uint32_t))};
}

static void pair_threads(struct alignment *al)
{
	uint32_t lane_a[GROUPS_MAX] = {0}, lane_b[GROUPS_MAX] = {0};
	struct groups a, b;

	limit_threads(al->a);
	limit_threads(al->b);
	a = groups_of(al->a, false);
	b = groups_of(al->b, false);
	pair_groups(&a, &b);
	al->lanes = xmalloc((a.n + b.n + 1) * sizeof *al->lanes);
	for (unsigned i = 0; i < a.n; i++) {
		const struct group *pair = a.g[i].pair < 0 ? NULL : &b.g[a.g[i].pair];

		lane_a[a.g[i].id] = al->nlanes;
		if (pair)
			lane_b[pair->id] = al->nlanes;
		al->lanes[al->nlanes++] = new_lane(&a.g[i], pair);
	}
	for (unsigned k = 0; k < b.n; k++) {
		if (b.g[k].pair >= 0)
			continue;
		lane_b[b.g[k].id] = al->nlanes;
		al->lanes[al->nlanes++] = new_lane(NULL, &b.g[k]);
	}
	for (uint32_t i = 0; i < al->a->n; i++) {
		struct lane_pair *l = &al->lanes[lane_a[al->a->e[i].thread]];

		l->a[l->na++] = i;
	}
	for (uint32_t i = 0; i < al->b->n; i++) {
		struct lane_pair *l = &al->lanes[lane_b[al->b->e[i].thread]];

		l->b[l->nb++] = i;
	}
	groups_free(&a);
	groups_free(&b);
}

/* --- one pair of threads --- */

/* Keys of both in order, with their streams. */
struct lane_job {
	struct alignment *al;
	struct lane_pair *l;
	uint64_t *ka, *kb;
	uint32_t from_a, from_b; /* where the piece that is searched begins */
	uint32_t *pieces;	 /* of A: the piece of B that each is, plus 1 */
};

static void match(struct lane_job *j, uint32_t i, uint32_t k)
{
	j->al->a->e[j->l->a[i]].other = j->l->b[k];
	j->al->b->e[j->l->b[k]].other = j->l->a[i];
}

/* Streams of A count as they are, those of B as the ones of A that they are. */
static uint64_t key_of(const struct alignment *al, const struct entry *e, bool b)
{
	uint64_t stream = e->stream;

	if (b && e->stream != SBT_NO_ID) {
		stream = stream_in_a(al, e->stream);
		if (stream == SBT_NO_ID)
			stream = (UINT64_C(1) << 40) + e->stream;
	}
	return e->key ^ mix(stream);
}

struct pieces {
	uint32_t *from; /* n + 1 of them: the last is the end */
	uint64_t *hash;
	uint32_t n, cap, cap_hash;
};

/* A piece ends behind a host wait, and where the last few keys say so. */
static bool ends_piece(const uint64_t *k, uint32_t from, uint32_t i, const struct entry *e)
{
	uint64_t h = 0;

	if (e->kind == SBT_SYNC || i + 1 - from >= PIECE_MOST)
		return true;
	for (uint32_t n = 0; n < PIECE_WINDOW && n <= i; n++)
		h = mix(h ^ k[i - n]);
	return !(h & PIECE_MASK);
}

static struct pieces cut(
	const uint64_t *k, const uint32_t *lane, const struct side *s, uint32_t from, uint32_t to)
{
	struct pieces p = {0};

	for (uint32_t i = from; i < to; i++) {
		if (i + 1 < to && !ends_piece(k, from, i, &s->e[lane[i]]))
			continue;
		MAKE_ROOM(p.from, p.n, p.cap);
		MAKE_ROOM(p.hash, p.n, p.cap_hash);
		p.from[p.n] = from;
		p.hash[p.n++] = XXH64(k + from, (i + 1 - from) * sizeof *k, 0);
		from = i + 1;
	}
	MAKE_ROOM(p.from, p.n, p.cap);
	p.from[p.n] = to;
	return p;
}

static void pair_pieces(void *arg, size_t i, size_t k)
{
	((struct lane_job *)arg)->pieces[i] = (uint32_t)k + 1;
}

static void pair_commands(void *arg, size_t i, size_t k)
{
	struct lane_job *j = arg;

	match(j, j->from_a + (uint32_t)i, j->from_b + (uint32_t)k);
}

/* How many comparisons a search may take: a few for each command, and a minute's worth of a lost
 * case in no event. */
static uint64_t budget(uint64_t a, uint64_t b)
{
	return 20 * (a + b) + 20000000;
}

static bool search(struct lane_job *j, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1)
{
	j->from_a = a0;
	j->from_b = b0;
	return myers(j->ka + a0, a1 - a0, j->kb + b0, b1 - b0, budget(a1 - a0, b1 - b0),
		pair_commands, j);
}

static void search_between(struct lane_job *j, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1)
{
	if (!search(j, a0, a1, b0, b1))
		j->al->coarse = true;
}

/* Matches equal pieces, and searches between them. */
static void by_pieces(struct lane_job *j, const struct pieces *a, const struct pieces *b)
{
	uint32_t a0 = a->from[0], b0 = b->from[0];

	for (uint32_t i = 0; i < a->n; i++) {
		const uint32_t k = j->pieces[i] - 1, n = a->from[i + 1] - a->from[i];

		if (!j->pieces[i] || b->from[k + 1] - b->from[k] != n ||
			memcmp(j->ka + a->from[i], j->kb + b->from[k], n * sizeof *j->ka) != 0)
			continue;
		search_between(j, a0, a->from[i], b0, b->from[k]);
		for (uint32_t x = 0; x < n; x++)
			match(j, a->from[i] + x, b->from[k] + x);
		a0 = a->from[i + 1];
		b0 = b->from[k + 1];
	}
	search_between(j, a0, a->from[a->n], b0, b->from[b->n]);
}

static void forget(struct lane_job *j, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1)
{
	for (uint32_t i = a0; i < a1; i++)
		j->al->a->e[j->l->a[i]].other = SIDE_NONE;
	for (uint32_t k = b0; k < b1; k++)
		j->al->b->e[j->l->b[k]].other = SIDE_NONE;
}

/* The fewest differences if they can be found; by pieces if not. */
static void align_rest(struct lane_job *j, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1)
{
	struct pieces a, b;

	if (a0 == a1 || b0 == b1 || search(j, a0, a1, b0, b1))
		return;
	forget(j, a0, a1, b0, b1);
	a = cut(j->ka, j->l->a, j->al->a, a0, a1);
	b = cut(j->kb, j->l->b, j->al->b, b0, b1);
	j->pieces = xcalloc(a.n + 1, sizeof *j->pieces);
	if (!myers(a.hash, a.n, b.hash, b.n, budget(a.n, b.n), pair_pieces, j))
		j->al->coarse = true;
	by_pieces(j, &a, &b);
	free(j->pieces);
	free(a.from);
	free(a.hash);
	free(b.from);
	free(b.hash);
}

static void align_lane(struct lane_job *j)
{
	uint32_t a1 = j->l->na, b1 = j->l->nb, front = 0;

	while (front < a1 && front < b1 && j->ka[front] == j->kb[front]) {
		match(j, front, front);
		front++;
	}
	while (a1 > front && b1 > front && j->ka[a1 - 1] == j->kb[b1 - 1])
		match(j, --a1, --b1);
	align_rest(j, front, a1, front, b1);
}

/* --- where a block lies --- */

/* A block that one side alone has can often be shifted: X Y | X Y | Z is X | Y X | Y Z as well. It
 * is put where it begins with a step, as late as possible; in A or in B alone, v describes which.
 */
struct shift {
	struct lane_job *j;
	const struct side *s, *other;
	const uint32_t *lane, *other_lane;
	const uint64_t *k;
	uint32_t n;
	bool b; /* the block is in B */
};

static bool is_matched(const struct shift *v, uint32_t i)
{
	return v->s->e[v->lane[i]].other != SIDE_NONE;
}

/* Matches entry `to` with what entry `from` was matched with. */
static void rematch(struct shift *v, uint32_t from, uint32_t to)
{
	struct entry *e = v->b ? v->j->al->b->e : v->j->al->a->e;
	struct entry *o = v->b ? v->j->al->a->e : v->j->al->b->e;
	const uint32_t other = e[v->lane[from]].other;

	e[v->lane[from]].other = SIDE_NONE;
	e[v->lane[to]].other = other;
	o[other].other = v->lane[to];
}

/* Whether the other side has nothing of its own at the block [from, to). */
static bool is_alone(const struct shift *v, uint32_t from, uint32_t to)
{
	const struct entry *o = v->other->e;
	uint32_t before, behind;

	if (!from)
		return false;
	before = v->s->e[v->lane[from - 1]].other;
	behind = to < v->n ? v->s->e[v->lane[to]].other : v->other->n;
	if (before == SIDE_NONE || behind == SIDE_NONE)
		return false;
	for (uint32_t i = before + 1; i < behind; i++)
		if (o[i].thread == o[before].thread && o[i].other == SIDE_NONE)
			return false;
	return true;
}

/* Returns where the next block may begin. */
static uint32_t shift_block(struct shift *v, uint32_t from, uint32_t to)
{
	const uint32_t length = to - from, low = from;
	uint32_t back = 0, best = UINT32_MAX;

	while (to < v->n && is_matched(v, to) && v->k[from] == v->k[to] && from - low < length) {
		rematch(v, to++, from);
		from++;
	}
	for (uint32_t at = from; back < length; back++, at--) {
		if (v->s->e[v->lane[at]].begins) {
			best = back;
			break;
		}
		if (!at || !is_matched(v, at - 1) || v->k[at - 1] != v->k[at - 1 + length])
			break;
	}
	for (; best != UINT32_MAX && best; best--) {
		rematch(v, from - 1, to - 1);
		from--;
		to--;
	}
	return to;
}

static void shift_blocks(struct shift *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		uint32_t to = i;

		while (to < v->n && !is_matched(v, to))
			to++;
		if (to > i && is_alone(v, i, to))
			to = shift_block(v, i, to);
		i = to > i ? to : i;
	}
}

void align(struct alignment *ret, struct side *a, struct side *b)
{
	*ret = (struct alignment){.a = a, .b = b};
	pair_streams(ret);
	pair_threads(ret);
	for (uint32_t i = 0; i < ret->nlanes; i++) {
		struct lane_pair *l = &ret->lanes[i];
		struct lane_job j = {.al = ret, .l = l};
		struct shift in_a = {&j, a, b, l->a, l->b, NULL, l->na, false},
			     in_b = {&j, b, a, l->b, l->a, NULL, l->nb, true};

		j.ka = xmalloc((l->na + 1) * sizeof *j.ka);
		j.kb = xmalloc((l->nb + 1) * sizeof *j.kb);
		for (uint32_t k = 0; k < l->na; k++)
			j.ka[k] = key_of(ret, &a->e[l->a[k]], false);
		for (uint32_t k = 0; k < l->nb; k++)
			j.kb[k] = key_of(ret, &b->e[l->b[k]], true);
		align_lane(&j);
		in_a.k = j.ka;
		in_b.k = j.kb;
		shift_blocks(&in_a);
		shift_blocks(&in_b);
		free(j.ka);
		free(j.kb);
	}
}

void alignment_free(struct alignment *al)
{
	for (uint32_t i = 0; i < al->nlanes; i++) {
		free(al->lanes[i].a);
		free(al->lanes[i].b);
	}
	free(al->lanes);
	free(al->streams);
	free(al->of_b.at);
}
