/* SPDX-License-Identifier: Apache-2.0
 *
 * What only the software GPU can do: access sets, schedules, races inside kernels (soft-watch.h).
 * While sets or races are collected, each command is waited for, so that the results belong to it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"

/* Size of a reply at which it is sent; one more set fits behind it. */
#define FULL (4u << 20)
#define SPANS_MAX 131072u
#define BASES_SPANS_MAX 4096u /* of a set of one base, of each kind */
#define LONG_NS 1000000000u
#define RACES_MAX 2048u
_Static_assert(
	FULL + SOFT_ACCESSES * SPANS_MAX * sizeof(struct soft_span) + 65536 < REPLAYER_MESSAGE_MAX,
	"a reply fits in a message");
_Static_assert(
	FULL + (SOFT_SOURCES + 1) * SOFT_ACCESSES * BASES_SPANS_MAX * sizeof(struct soft_span) +
			65536 <
		REPLAYER_MESSAGE_MAX,
	"so do sets of all bases");
_Static_assert(RACES_MAX * sizeof(struct soft_race) + 65536 < REPLAYER_MESSAGE_MAX,
	"races fit in a message");

void watch_open(struct rp *rp)
{
	const struct soft_watch *(*get)(void) = (const struct soft_watch *(*)(void))(
		uintptr_t)dlsym(rp->lib.device, SOFT_WATCH_SYMBOL);
	const struct soft_watch *w = get ? get() : NULL;

	if (w && w->version == SOFT_WATCH_VERSION && w->size >= sizeof *w)
		rp->watch.soft = w;
}

static struct err *need_soft(struct rp *rp, const char *what)
{
	if (rp->watch.soft)
		return NULL;
	return rp_fail(rp, REPLAYER_E_DEVICE, 0, "%s only on the software GPU", what);
}

struct err *watch_probes(struct rp *rp, const void *p, size_t n)
{
	struct soft_probe *v;

	TRY(need_soft(rp, "kernels have probes"));
	if (n % sizeof *v || n / sizeof *v > SOFT_PROBES_MAX)
		return rp_fail(rp, REPLAYER_E_REFUSED, 0, "%zu bytes are no list of probes", n);
	TRY(execute_finish(rp));
	v = xmalloc(n + 1); /* aligned */
	memcpy(v, p, n);
	rp->watch.soft->probes(v, (unsigned)(n / sizeof *v));
	free(v);
	return NULL;
}

struct err *watch_probed(struct rp *rp, struct buf *out)
{
	struct soft_probe_result *r = xmalloc(sizeof *r);
	struct err *e = need_soft(rp, "kernels have probes");

	for (unsigned i = 0; !e && rp->watch.soft->probe_result(i, r); i++)
		buf_add(out, r, sizeof *r);
	free(r);
	return e;
}

/* Used only if the trace was recorded on the software GPU: NVIDIA's devices let a kernel read
 * between allocations. All allocations of the window count. With an agent that came late, or
 * without the memory that the window does not name, some are not known, and nothing is limited. */
void watch_bounds(struct rp *rp)
{
	if (!rp->watch.soft || !rp->trace_soft || rp->flags & REPLAYER_TOUCHED || rp->attached)
		return;
	struct ranges all = place_allocations(rp);
	struct soft_span *s = xmalloc((all.n + 1) * sizeof *s);

	for (size_t i = 0; i < all.n; i++)
		s[i] = (struct soft_span){all.r[i].addr, all.r[i].size};
	rp->watch.soft->bounds(s, all.n);
	ranges_free(&all);
	free(s);
}

struct err *watch_soft(struct rp *rp, const struct replayer_soft *s)
{
	const bool other = s->schedule != rp->watch.how.schedule || s->seed != rp->watch.how.seed;

	if (!s->schedule && !s->racecheck && !rp->watch.soft)
		return NULL;
	TRY(need_soft(rp, "schedules and checks for races are"));
	TRY(execute_finish(rp));
	rp->watch.how = *s;
	rp->watch.soft->schedule(s->schedule, s->seed);
	rp->watch.soft->racecheck(s->racecheck);
	if (other) /* memory made under another schedule is no base for any position */
		checkpoint_forget(rp, rp->first);
	return NULL;
}

/* Whether the command's accesses are collected. An allocation's command fills fresh memory here,
 * which the program did not do. */
static bool is_watched(const struct rp *rp, const struct sbt_cmd *c)
{
	return (rp->watch.out || rp->watch.how.racecheck) && c->kind != SBT_ALLOC;
}

struct err *watch_addressing(struct rp *rp, uint64_t kernel, struct soft_addressing *ret)
{
	struct rkernel *k = objects_kernel(rp, kernel);
	struct gpu_kernel *f;

	*ret = (struct soft_addressing){0};
	TRY(need_soft(rp, "how kernels make their addresses is known"));
	if (!k)
		return NULL;
	TRY(code_function(rp, k, &f));
	rp->watch.soft->addressing(f, ret);
	return NULL;
}

/* A launch that may begin early has sets of its own kind. */
static struct err *collect_by_base(struct rp *rp, const struct sbt_cmd *c)
{
	rp->watch.bases = 0;
	if (!rp->watch.by_base || c->kind != SBT_LAUNCH ||
		c->u.launch.launch_attrs >> SBT_ATTR_PROGRAMMATIC_STREAM & 1)
		return NULL;
	struct soft_addressing a;
	TRY(watch_addressing(rp, c->u.launch.kernel, &a));
	if (a.known) {
		rp->watch.bases = a.n + 1;
		rp->watch.soft->collect_by_base();
	}
	return NULL;
}

struct err *watch_before(struct rp *rp, const struct sbt_cmd *c)
{
	if (!is_watched(rp, c))
		return NULL;
	TRY(execute_finish(rp));
	rp->watch.soft->label(c->seq);
	if (!rp->watch.out)
		return NULL;
	rp->watch.soft->collect();
	return collect_by_base(rp, c);
}

/* --- access sets --- */

struct span_list {
	struct soft_span *s;
	size_t n, cap;
};

static void put_span(struct span_list *l, uint64_t addr, uint64_t size)
{
	MAKE_ROOM(l->s, l->n, l->cap);
	l->s[l->n++] = (struct soft_span){addr, size};
}

/* The part of s that lies in [addr, addr + size), moved to `to`. */
static void put_part(
	struct span_list *l, const struct soft_span *s, uint64_t addr, uint64_t size, uint64_t to)
{
	const uint64_t begin = s->addr > addr ? s->addr : addr;
	const uint64_t s_end = s->addr + s->size, end = s_end < addr + size ? s_end : addr + size;

	if (begin < end)
		put_span(l, begin - addr + to, end - begin);
}

/* Adds the part of a span that is memory of the recording; the replayer's own staging memory is
 * left out. by_record: its address is the recorded one, which for a global need not be where it is
 * now. */
static void put_recorded(
	const struct rp *rp, struct span_list *l, const struct soft_span *s, bool by_record)
{
	const struct ranges *const kinds[] = {&rp->place.device, &rp->place.host};

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < kinds[k]->n; i++)
			put_part(l, s, kinds[k]->r[i].addr, kinds[k]->r[i].size,
				kinds[k]->r[i].addr);
	for (size_t i = 0; i < rp->objects.nglobals; i++) {
		const struct rglobal *g = &rp->objects.globals[i];

		if (g->here)
			put_part(l, s, by_record ? g->addr : g->here, g->size, g->addr);
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct soft_span *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Sorts and joins the spans; returns how many are left. */
static size_t join(struct span_list *l)
{
	size_t out = 0;

	if (!l->n)
		return 0;
	qsort(l->s, l->n, sizeof *l->s, by_addr);
	for (size_t i = 1; i < l->n; i++) {
		struct soft_span *last = &l->s[out];

		if (l->s[i].addr <= last->addr + last->size) {
			const uint64_t end = l->s[i].addr + l->s[i].size;
			if (end > last->addr + last->size)
				last->size = end - last->addr;
		} else {
			l->s[++out] = l->s[i];
		}
	}
	return out + 1;
}

/* Whether to report the set. A launch that touches nothing is reported, too: whether it waits
 * matters for those behind it. */
static bool set_is_wanted(const struct sbt_cmd *c, const struct soft_access_set *set)
{
	return c->kind == SBT_LAUNCH &&
	       (set->depends & ~SOFT_OLD ||
		       c->u.launch.launch_attrs >> SBT_ATTR_PROGRAMMATIC_STREAM & 1);
}

static uint64_t bytes_of(const struct soft_span *s, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += s[i].size;
	return sum;
}

/* --- by the record --- */

/* What the record says that copies and fills touch, in the lists of each kind. A device need not
 * show it: AMD's runtime fills memory that the host can reach with the host. */
struct by_record {
	struct rp *rp;
	uint64_t seq;
	struct span_list *lists;
	uint32_t inexact; /* as in struct soft_access_set */
};

static bool node_of(void *arg, uint64_t graph, unsigned i, struct sbt_footprint_node *ret)
{
	const struct by_record *b = arg;
	const struct rgraph *g = objects_graph(b->rp, graph);

	if (!g || i >= g->nnodes)
		return false;
	const struct rnode_version v = objects_node(&g->nodes[i], b->seq);

	*ret = (struct sbt_footprint_node){v.type, {v.payload, v.payload_size}};
	return true;
}

static void put_rows(struct by_record *b, unsigned kind, const struct sbt_rows *rows)
{
	struct span_list *l = &b->lists[kind];
	struct sbt_rows r = *rows;

	if (r.pitch == r.width && (r.depth == 1 || r.slice == r.pitch * r.height))
		r = sbt_rows_flat(r.addr, sbt_rows_size(&r));
	if (r.depth && (r.depth > SPANS_MAX || r.height > SPANS_MAX / r.depth ||
			       l->n + r.depth * r.height > SPANS_MAX)) {
		/* too many for a reply: it may be anything */
		l->n = 0;
		b->inexact |= 1u << kind;
		r = sbt_rows_flat(0, UINT64_MAX);
	}
	for (uint64_t z = 0; z < r.depth; z++)
		for (uint64_t y = 0; y < r.height; y++) {
			const struct soft_span s = {r.addr + z * r.slice + y * r.pitch, r.width};

			put_recorded(b->rp, l, &s, true);
		}
}

static void put_footprint(void *arg, const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	static const struct {
		unsigned does, kind;
	} kinds[] = {{SBT_READS, SOFT_ACCESS_READ}, {SBT_WRITES, SOFT_ACCESS_WRITTEN},
		{SBT_UPDATES, SOFT_ACCESS_ATOMIC}};

	(void)c;
	for (unsigned i = 0; i < f->n; i++)
		for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
			if (f->touch[i].how & kinds[k].does)
				put_rows(arg, kinds[k].kind, &f->touch[i].rows);
}

/* Returns which lists have bytes that may not be touched. */
static uint32_t put_record(struct rp *rp, const struct sbt_cmd *c, struct span_list *lists)
{
	struct by_record b = {rp, c->seq, lists, 0};
	const struct sbt_footprint_walk walk = {node_of, put_footprint, &b};

	sbt_footprint_each(c, &walk);
	return b.inexact;
}

/* always: adds the set even if nothing was touched. */
static void put_set(struct rp *rp, const struct sbt_cmd *c, const struct soft_access_set *set,
	uint32_t base, bool always)
{
	struct replayer_access_set head = {
		.seq = c->seq, .inexact = set->inexact, .depends = set->depends, .base = base};
	struct span_list lists[SOFT_ACCESS_SETS] = {{0}};
	bool any = always;

	if (base == SOFT_NO_BASE)
		head.inexact |= put_record(rp, c, lists);
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++) {
		for (size_t i = 0; i < set->n[k]; i++)
			put_recorded(rp, &lists[k], &set->span[k][i], false);
		head.n[k] = (uint32_t)join(&lists[k]);
		head.cut |= bytes_of(lists[k].s, head.n[k]) != bytes_of(set->span[k], set->n[k]);
		any |= head.n[k] != 0;
	}
	if (any) {
		buf_add(rp->watch.out, &head, sizeof head);
		rp->watch.n++;
	}
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++) {
		if (any && head.n[k])
			buf_add(rp->watch.out, lists[k].s, head.n[k] * sizeof *lists[k].s);
		free(lists[k].s);
	}
}

static struct err *refuse_set(struct rp *rp, const struct sbt_cmd *c, const char *why)
{
	return why ? rp_fail(rp, REPLAYER_E_MEMORY, c->seq, "#%llu: %s", (unsigned long long)c->seq,
			     why)
		   : NULL;
}

/* Adds the command's sets. A launch that was collected by base always has the set without a base
 * first. */
static struct err *put_sets(struct rp *rp, const struct sbt_cmd *c)
{
	const uint32_t bases = rp->watch.bases;
	struct soft_access_set set;
	uint32_t depends;

	TRY(refuse_set(rp, c, rp->watch.soft->collected(rp->watch.max, &set)));
	depends = set.depends;
	if (!bases) {
		put_set(rp, c, &set, SOFT_NO_BASE, set_is_wanted(c, &set));
		return NULL;
	}
	TRY(refuse_set(rp, c, rp->watch.soft->collected_by(SOFT_NO_BASE, rp->watch.max, &set)));
	set.depends = depends;
	put_set(rp, c, &set, SOFT_NO_BASE, true);
	for (uint32_t i = 0; i + 1 < bases; i++) {
		TRY(refuse_set(rp, c, rp->watch.soft->collected_by(i, rp->watch.max, &set)));
		put_set(rp, c, &set, i, false);
	}
	return NULL;
}

struct err *watch_after(struct rp *rp, const struct sbt_cmd *c)
{
	if (!is_watched(rp, c))
		return NULL;
	TRY(execute_finish(rp));
	return rp->watch.out ? put_sets(rp, c) : NULL;
}

static struct err *run_collecting(struct rp *rp, uint64_t to)
{
	struct slice slice = {LONG_NS};
	bool work;

	while (rp->position < to && rp->watch.out->len < FULL && slice_goes_on(&slice))
		TRY(execute_step(rp, to, &work));
	return NULL;
}

struct err *watch_accesses(struct rp *rp, const struct replayer_accesses *a, struct buf *out)
{
	struct replayer_accessed head = {0};
	struct err *e;

	TRY(need_soft(rp, "access sets are"));
	buf_add(out, &head, sizeof head);
	rp->watch.out = out;
	rp->watch.n = 0;
	rp->watch.by_base = a->by_base;
	rp->watch.max = !a->max ? 65536 : a->max < SPANS_MAX / 2 ? a->max : SPANS_MAX / 2;
	if (a->by_base && rp->watch.max > BASES_SPANS_MAX)
		rp->watch.max = BASES_SPANS_MAX;
	e = run_collecting(rp, a->to < rp->last ? a->to : rp->last);
	rp->watch.out = NULL;
	TRY(e);
	head = (struct replayer_accessed){rp->position, rp->watch.n};
	memcpy(out->data, &head, sizeof head);
	return NULL;
}

/* --- races --- */

/* The recorded address of the race: a module's global has another address here. */
static uint64_t recorded_address(const struct rp *rp, const struct soft_race *r)
{
	for (size_t i = 0; i < rp->objects.nglobals && !r->shared; i++) {
		const struct rglobal *g = &rp->objects.globals[i];

		if (g->here && r->addr - g->here < g->size)
			return r->addr - g->here + g->addr;
	}
	return r->addr;
}

struct err *watch_races(struct rp *rp, struct buf *out)
{
	struct replayer_races head = {0};
	size_t more;

	TRY(need_soft(rp, "checks for races are"));
	TRY(execute_finish(rp));
	buf_add(out, &head, sizeof head);
	struct soft_race *to = (void *)buf_room(out, RACES_MAX * sizeof *to);
	head.n = rp->watch.soft->races(to, RACES_MAX, &more);
	head.more = more;
	for (uint64_t i = 0; i < head.n; i++)
		to[i].addr = recorded_address(rp, &to[i]);
	head.doubts = rp->watch.soft->doubts(head.doubt, sizeof head.doubt);
	out->len += head.n * sizeof *to;
	memcpy(out->data, &head, sizeof head);
	return NULL;
}
