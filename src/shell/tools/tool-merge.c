/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb merge`: makes a set (ranks.h) with one clock from the traces of a job's ranks. Hosts'
 * clocks are compared at kernels that meet: a collective ends on no rank before it has started on
 * all, and ends on all within microseconds. The k-th launch of a name on one rank meets the k-th on
 * another. If the counts differ, or a match contradicts the fit, that assumption was wrong, and the
 * ranks' clocks are used unchanged.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/names.h"
#include "engine/ranks.h"
#include "shell/trace/ranks-odd.h"
#include "shell/trace/trace.h"
#include "shell/tools/explore-words.h"
#include "shell/tools/tools.h"
#include "sbt/kernel-name.h"

enum { MEETINGS_MAX = 1 << 20, MATCHES_MIN = 3 };

/* Kernels that no rank can leave before all have entered: NCCL's (2.4 to 2.28) except broadcasts,
 * reductions and point to point. */
static const char *const default_globs[] = {
	"nccl*AllReduce*", "nccl*AllGather*", "nccl*ReduceScatter*", NULL};

/* A launch that meets launches of other ranks. */
struct meeting {
	char *name; /* mangled */
	uint64_t nth;
	uint64_t start, end;
};
struct meetings {
	struct meeting *m; /* by name, nth */
	size_t n, cap;
	uint64_t without_times;
};

struct merge {
	struct session *s;
	struct ranks set;
	struct meetings *of; /* by rank's place in set.r */
	const char *match;   /* glob; NULL: the default ones */
	bool as_is, json;
};

#define USAGE "Usage: tsdb merge -o FILE [--match GLOB] [--as-is] TRACE TRACE..."

/* --- options --- */

static struct err *usage(const char *why, const char *word)
{
	return err_cure(err_new(ERR_USAGE, why, word), USAGE);
}

static void add_file(struct merge *m, const char *file)
{
	m->set.r = xrealloc(m->set.r, (m->set.n + 1) * sizeof *m->set.r);
	m->set.r[m->set.n++] = (struct rank){.file = xstrdup(file)};
}

static struct err *take_options(struct merge *m, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *w = argv[i];

		if (!strcmp(w, "--as-is"))
			m->as_is = true;
		else if (!strcmp(w, "--json"))
			m->json = true;
		else if ((!strcmp(w, "-o") || !strcmp(w, "--match")) && i + 1 >= argc)
			return usage("%s needs a value", w);
		else if (!strcmp(w, "--match"))
			m->match = argv[++i];
		else if (!strcmp(w, "-o") && !m->set.path)
			m->set.path = xstrdup(argv[++i]);
		else if (*w == '-')
			return usage("merge has no option %s", w);
		else
			add_file(m, w);
	}
	if (!m->set.path)
		return usage("merge needs a file to write: -o FILE%s", "");
	return m->set.n ? NULL : usage("merge needs traces%s", "");
}

/* --- meetings --- */

static bool is_meeting(const struct merge *m, const char *mangled)
{
	char name[512];

	sbt_kernel_short_name(name, sizeof name, mangled);
	if (m->match)
		return sbt_kernel_glob(m->match, mangled, name);
	for (const char *const *g = default_globs; *g; g++) {
		if (sbt_kernel_glob(*g, mangled, name))
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : (x->nth > y->nth) - (x->nth < y->nth);
}

/* Numbers the meetings of each name; before, nth holds the seq. */
static void number_meetings(struct meetings *t)
{
	uint64_t nth = 0;

	if (t->n)
		qsort(t->m, t->n, sizeof *t->m, by_name);
	for (size_t i = 0; i < t->n; i++) {
		nth = i && !strcmp(t->m[i].name, t->m[i - 1].name) ? nth + 1 : 0;
		t->m[i].nth = nth;
	}
}

static void add_meeting(struct meetings *t, const char *name, const struct sbt_cmd *c)
{
	if (!c->gpu_start_ns || c->gpu_end_ns < c->gpu_start_ns) {
		t->without_times++;
		return;
	}
	if (t->n == MEETINGS_MAX)
		return;
	MAKE_ROOM(t->m, t->n, t->cap);
	t->m[t->n++] = (struct meeting){.name = xstrdup(name),
		.nth = c->seq,
		.start = c->gpu_start_ns,
		.end = c->gpu_end_ns};
}

static struct err *find_meetings(struct merge *m, struct sbt_reader *r, struct meetings *t)
{
	const struct view_filter f = {.last = UINT64_MAX, .rank = VIEW_NO_RANK, .kind = SBT_LAUNCH};
	struct view_stream *v;
	const struct sbt_cmd *c = NULL;
	struct err *e;

	TRY(view_stream_open(&v, m->s, r, &f));
	while (!(e = view_stream_next(v, &c)) && c) {
		const char *name = view_stream_kernel(v, c->u.launch.kernel);

		if (name && !c->result && is_meeting(m, name))
			add_meeting(t, name, c);
	}
	view_stream_close(v);
	out_progress_end(m->s->out);
	number_meetings(t);
	return e;
}

/* Matches the meetings of two ranks, in order of the other's ends; *ret_lone: meetings without a
 * match. */
static size_t match_up(const struct meetings *ref, const struct meetings *t,
	struct clock_match *ret, size_t *ret_lone)
{
	size_t i = 0, k = 0, n = 0;

	*ret_lone = 0;
	while (i < ref->n && k < t->n) {
		int c = by_name(&ref->m[i], &t->m[k]);

		if (!c)
			ret[n++] = (struct clock_match){
				ref->m[i].start, ref->m[i].end, t->m[k].start, t->m[k].end};
		else
			++*ret_lone;
		i += c <= 0;
		k += c >= 0;
	}
	*ret_lone += ref->n - i + t->n - k;
	return n;
}

static int by_end(const void *a, const void *b)
{
	const struct clock_match *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

/* --- ranks --- */

static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Numbers the ranks as recorded. If one is not known, or two are equal, all are numbered in the
 * given order. */
static void number_ranks(struct merge *m)
{
	bool known = true;

	for (unsigned i = 0; i < m->set.n; i++) {
		known = known && m->set.r[i].rank != UINT64_MAX;
		for (unsigned k = 0; k < i; k++)
			known = known && m->set.r[i].rank != m->set.r[k].rank;
	}
	if (known)
		return;
	out_warn(m->s->out,
		"the traces do not say which rank each is, or two say the same: they are numbered as they were given");
	for (unsigned i = 0; i < m->set.n; i++)
		m->set.r[i].rank = i;
}

static struct err *look_at(struct merge *m, struct rank *r)
{
	struct sbt_reader *reader;
	const struct sbt_meta *meta;

	if (ranks_is(r->file))
		return err_cure(err_new(ERR_USAGE, "%s is a set already", r->file),
			"Merge the traces themselves");
	TRY(sbt_reader_open(&reader, r->file));
	meta = sbt_reader_meta(reader);
	r->host = ranks_host(meta);
	r->rank = meta->rank ? meta->rank - 1 : UINT64_MAX;
	r->pid = meta->pid;
	r->start_ns = meta->start_ns;
	r->commands = sbt_reader_count(reader);
	trace_tell_damage(m->s->out, r->file, reader);
	sbt_reader_close(reader);
	return NULL;
}

/* --- clocks --- */

/* Fits the clock of rank i to the first rank's; appends what to report about it. */
static void fit_clock(struct merge *m, unsigned i, struct buf *say)
{
	const struct meetings *ref = &m->of[0], *t = &m->of[i];
	struct rank *r = &m->set.r[i];
	struct clock_match *match = xcalloc(ref->n + 1, sizeof *match);
	size_t lone, n = match_up(ref, t, match, &lone);
	bool same_host = !strcmp(r->host, m->set.r[0].host);

	if (n)
		qsort(match, n, sizeof *match, by_end);
	clocks_fit(match, (unsigned)n, &r->fit);
	free(match);
	if (n)
		buf_printf(say, "%zu meetings, ends %+.1f us apart to %.1f us, drift %+.3f ppm", n,
			(double)r->fit.offset / 1e3, r->fit.error / 1e3, r->fit.drift * 1e6);
	if (same_host) {
		buf_str(say, n ? "; the same host: its clock is taken as it is"
			       : "the same host as the first: the same clock");
		return;
	}
	if (n >= MATCHES_MIN && r->fit.possible && !m->as_is && lone <= n / 4) {
		r->fitted = true;
		return;
	}
	buf_str(say, n ? "; " : "");
	if (m->as_is)
		buf_str(say, "its clock is taken as it is, as asked for");
	else if (!n)
		buf_printf(say, "%s: its clock is taken as it is",
			t->without_times || ref->without_times
				? "no GPU times were recorded (record --timestamps)"
				: "no kernels that meet the first rank's");
	else
		buf_printf(say, "%s: its clock is taken as it is",
			n < MATCHES_MIN ? "too few"
			: r->fit.possible
				? "the ranks do not have the same ones"
				: "some end on one rank before they start on the other, so they are not the same ones");
}

static void tell_clocks(const struct merge *m, struct buf *say)
{
	struct ranks_odd odd;
	struct buf others = BUF_INIT;

	ranks_odd_find(&m->set, &odd);
	for (unsigned i = 0; i < m->set.n; i++) {
		const struct rank *r = &m->set.r[i];

		if (odd.line[i])
			out_printf(m->s->out,
				"rank %" PRIu64 " on %s, %s, %" PRIu64 " commands: %s\n", r->rank,
				r->host, r->file, r->commands, buf_cstr(&say[i]));
	}
	ranks_odd_others(&others, &odd);
	out_str(m->s->out, buf_cstr(&others));
	buf_free(&others);
	ranks_odd_free(&odd);
}

static void fit_clocks(struct merge *m)
{
	struct buf *say = xcalloc(m->set.n, sizeof *say);

	for (unsigned i = 0; i < m->set.n; i++) {
		if (i)
			fit_clock(m, i, &say[i]);
		else
			buf_str(&say[i], "the reference");
	}
	tell_clocks(m, say);
	for (unsigned i = 0; i < m->set.n; i++)
		buf_free(&say[i]);
	free(say);
}

static struct err *merge(struct merge *m)
{
	for (unsigned i = 0; i < m->set.n; i++)
		TRY(look_at(m, &m->set.r[i]));
	number_ranks(m);
	qsort(m->set.r, m->set.n, sizeof *m->set.r, by_rank);
	m->of = xcalloc(m->set.n, sizeof *m->of);
	for (unsigned i = 0; i < m->set.n; i++) {
		struct sbt_reader *r;
		struct err *e;

		TRY(ranks_open(&m->set.r[i], &r));
		e = find_meetings(m, r, &m->of[i]);
		sbt_reader_close(r);
		TRY(e);
	}
	fit_clocks(m);
	return ranks_save(&m->set);
}

/* Whether the files are what `tsdb explore -o` wrote, not traces. */
static bool has_results(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (argv[i][0] != '-' && (!i || strcmp(argv[i - 1], "-o")) &&
			explore_is_results(argv[i]))
			return true;
	return false;
}

int tool_merge(struct session *s, int argc, char **argv)
{
	struct merge m = {.s = s};
	struct err *e;

	if (has_results(argc, argv))
		return tool_explore_merge(s, argc, argv);
	e = take_options(&m, argc, argv);

	if (!e)
		e = merge(&m);
	if (!e)
		out_printf(s->out, "%s: %u ranks\n", m.set.path, m.set.n);
	for (unsigned i = 0; i < m.set.n; i++) {
		for (size_t k = 0; m.of && k < m.of[i].n; k++)
			free(m.of[i].m[k].name);
		free(m.of ? m.of[i].m : NULL);
		free(m.set.r[i].file);
		free(m.set.r[i].host);
	}
	free(m.of);
	free(m.set.r);
	free(m.set.path);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
