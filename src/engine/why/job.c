/* SPDX-License-Identifier: Apache-2.0
 *
 * A job by the traces of its ranks, see why-ranks.h. They are read twice, more than the recorder's
 * interval apart: a rank whose trace grows goes on. The processes are looked at from outside, since
 * the tsdb that records them is their tracer.
 */
#include "engine/why-ranks.h"

#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include "base/buf.h"
#include "engine/trace-file.h"

enum { APART_MS = 1000 };

struct job_ranks {
	struct why_rank *r;
	unsigned n;
};

static void job_free(struct job_ranks *j)
{
	for (unsigned i = 0; i < j->n; i++)
		why_rank_free(&j->r[i]);
	free(j->r);
	*j = (struct job_ranks){0};
}

static int by_rank(const void *a, const void *b)
{
	const struct why_rank *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Where a rank is not known, or two are the same, all are numbered as given. */
static void number_ranks(struct job_ranks *j)
{
	bool good = true;

	qsort(j->r, j->n, sizeof(*j->r), by_rank);
	for (unsigned i = 0; i < j->n; i++)
		good = good && j->r[i].rank >= 0 && (!i || j->r[i].rank != j->r[i - 1].rank);
	for (unsigned i = 0; !good && i < j->n; i++)
		j->r[i].rank = i;
}

static struct err *job_read(struct job_ranks *j, const glob_t *files, const char *match)
{
	struct err *e = NULL;

	j->r = xcalloc(files->gl_pathc + 1, sizeof(*j->r));
	for (size_t i = 0; !e && i < files->gl_pathc; i++)
		if (trace_is(files->gl_pathv[i]))
			e = why_rank_read(&j->r[j->n++], files->gl_pathv[i], match);
	if (!e && j->n < 2)
		e = err_cure(err_new(ERR_NOT_FOUND,
				     "there are %u traces with such a name: a job has two or more",
				     j->n),
			"record the ranks with `tsdb record --children -o 'run.%%h.%%r.sbt' PROGRAM`, then `tsdb why --ranks 'run.*.sbt'`");
	number_ranks(j);
	return e;
}

static uint64_t commands_of(const struct job_ranks *j)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < j->n; i++)
		n += j->r[i].commands;
	return n;
}

static void look_at_processes(struct why *w, const struct job_ranks *j)
{
	struct why_process *p = xcalloc(j->n + 1, sizeof(*p));
	unsigned n = 0;

	for (unsigned i = 0; i < j->n; i++)
		if (j->r[i].here)
			p[n++] = (struct why_process){.pid = j->r[i].pid, .rank = j->r[i].rank};
	why_host(w, p, n);
	free(p);
}

static struct why *job_graph(const struct job_ranks *before, const struct job_ranks *now)
{
	struct why *w = why_new();
	struct why_progress p = {.apart_ms = APART_MS,
		.looked = true,
		.moved = commands_of(before) != commands_of(now),
		.finished = commands_of(now)};
	unsigned without = 0;

	why_ranks(w, now->r, now->n);
	look_at_processes(w, now);
	why_set_progress(w, &p);
	for (unsigned i = 0; i < now->n; i++)
		without += !now->r[i].n;
	if (without)
		why_note(w,
			"%u of %u ranks have launched no collective: --match GLOB says which kernels are some",
			without, now->n);
	return w;
}

struct err *why_ask_ranks(const char *pattern, const char *match, struct why **ret)
{
	const struct timespec apart = {APART_MS / 1000, APART_MS % 1000 * 1000000};
	struct job_ranks before = {0}, now = {0};
	glob_t files;
	struct err *e;

	*ret = NULL;
	if (glob(pattern, 0, NULL, &files))
		return err_cure(err_new(ERR_NOT_FOUND, "no file is called %s", pattern),
			"name the traces of the ranks, in quotes: 'run.*.sbt'");
	e = job_read(&before, &files, match);
	if (!e) {
		nanosleep(&apart, NULL);
		e = job_read(&now, &files, match);
	}
	if (!e)
		*ret = job_graph(&before, &now);
	job_free(&before);
	job_free(&now);
	globfree(&files);
	return e;
}
