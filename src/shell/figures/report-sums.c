/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of report-sums.h. Nothing that they use is shared: each has a reader, and what it
 * makes belongs to it until it is joined. Where a thread cannot be had, the work is done at the
 * end.
 */
#include "shell/figures/report-sums.h"

#include <stdlib.h>
#include "base/buf.h"
#include "base/quiet-thread.h"

struct part {
	struct report_sums_work *of;
	volatile bool *interrupt; /* ends it */
	struct sbt_reader *r;
	struct err *(*run)(struct part *p);
	struct err *e;
	pthread_t thread;
	bool threaded;
};
struct report_sums_work {
	uint64_t first, last;
	volatile bool *interrupt; /* the user's */
	volatile bool stop;	  /* the threads' */
	struct report_sums sums;
	struct part stats, critical;
};

static bool is_cancelled(void *part, uint64_t done, uint64_t of)
{
	const struct part *p = part;

	(void)done, (void)of;
	return *p->interrupt;
}

static struct err *make_stats(struct part *p)
{
	const struct stats_ask ask = {p->of->first, p->of->last, is_cancelled, p};

	return stats_make(&p->of->sums.stats, p->r, &ask);
}

static struct err *make_path(struct part *p)
{
	const struct order_options o = {
		.first = p->of->first, .last = p->of->last, .interrupt = p->interrupt};

	return critical_path(&p->of->sums.critical, p->r, &o);
}

static void *run(void *part)
{
	struct part *p = part;

	p->e = p->run(p);
	return NULL;
}

static void start(struct part *p)
{
	p->interrupt = &p->of->stop;
	p->threaded = !quiet_thread(&p->thread, NULL, run, p);
}

/* Waits for the thread, and stops both when the user interrupts meanwhile. */
static void join(struct part *p)
{
	enum { LOOK_MS = 50 };

	do {
		if (*p->of->interrupt)
			report_sums_stop(p->of);
	} while (!quiet_thread_join(p->thread, LOOK_MS));
}

static void finish(struct part *p)
{
	if (p->threaded) {
		join(p);
	} else if (p->of->stop) {
		p->e = err_new(ERR_INTERRUPTED, "interrupted");
	} else {
		p->interrupt = p->of->interrupt;
		run(p);
	}
	sbt_reader_close(p->r);
}

struct err *report_sums_begin(struct report_sums_work **ret, const char *path, uint64_t first,
	uint64_t last, volatile bool *interrupt)
{
	struct report_sums_work *w = xcalloc(1, sizeof *w);
	struct err *e;

	*w = (struct report_sums_work){.first = first, .last = last, .interrupt = interrupt};
	w->stats = (struct part){.of = w, .run = make_stats};
	w->critical = (struct part){.of = w, .run = make_path};
	e = sbt_reader_open(&w->stats.r, path);
	if (!e) {
		e = sbt_reader_open(&w->critical.r, path);
		if (e)
			sbt_reader_close(w->stats.r);
	}
	if (e) {
		free(w);
		return e;
	}
	start(&w->stats);
	start(&w->critical);
	*ret = w;
	return NULL;
}

void report_sums_stop(struct report_sums_work *w)
{
	w->stop = true;
}

struct err *report_sums_end(struct report_sums_work *w, struct report_sums *ret)
{
	struct err *e;

	finish(&w->stats);
	finish(&w->critical);
	*ret = w->sums;
	ret->no_path = w->critical.e;
	e = w->stats.e;
	free(w);
	if (!e && ret->no_path && ret->no_path->code == ERR_INTERRUPTED) {
		e = ret->no_path;
		ret->no_path = NULL;
	}
	if (e)
		report_sums_free(ret);
	return e;
}

void report_sums_free(struct report_sums *s)
{
	stats_free(&s->stats);
	critical_path_free(&s->critical);
	err_free(s->no_path);
	*s = (struct report_sums){0};
}
