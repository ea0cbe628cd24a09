/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints all ranks of a set in one timeline, and what the set contains; see ranks.h. Within a rank
 * commands stay in order of seq, whatever their times are: a rank's next command is assumed to come
 * no earlier than the previous one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "shell/line/interrupt.h"
#include "shell/trace/ranks-odd.h"
#include "shell/trace/ranks-view.h"
#include "base/words.h"

/* A rank that is being listed. */
struct lane {
	const struct rank *r;
	struct sbt_reader *reader;
	struct view_stream *v;
	const struct sbt_cmd *c; /* its next command; NULL: none left */
	uint64_t at;		 /* of that, on the set's clock */
};

struct lanes {
	struct lane *l;
	unsigned n;
	uint64_t start; /* of the first command of all */
	int host_width;
};

static struct err *lane_next(struct lane *l)
{
	uint64_t at;

	TRY(view_stream_next(l->v, &l->c));
	if (!l->c)
		return NULL;
	at = ranks_time(l->r, l->c->host_ns);
	l->at = at > l->at ? at : l->at;
	return NULL;
}

static struct err *open_lanes(
	struct session *s, struct ranks *set, const struct view_filter *f, struct lanes *ls)
{
	for (unsigned i = 0; i < set->n; i++) {
		struct lane *l = &ls->l[ls->n];

		if (f->rank >= 0 && set->r[i].rank != (uint64_t)f->rank)
			continue;
		l->r = &set->r[i];
		TRY(ranks_open(l->r, &l->reader));
		ls->n++;
		TRY(view_stream_open(&l->v, s, l->reader, f));
		TRY(lane_next(l));
		ls->host_width = (int)strlen(l->r->host) > ls->host_width ? (int)strlen(l->r->host)
									  : ls->host_width;
	}
	return NULL;
}

/* The rank with the earliest command; equal times are ordered by rank. NULL: all are done. */
static struct lane *earliest(struct lanes *ls)
{
	struct lane *best = NULL;

	for (unsigned i = 0; i < ls->n; i++) {
		if (ls->l[i].c && (!best || ls->l[i].at < best->at))
			best = &ls->l[i];
	}
	return best;
}

/* What a command of a set has besides. */
struct at {
	uint64_t rank, time_ns;
	const char *host;
};
JS_DEFINE(at_object, "ranked", at, JS(UINT, at, rank), JS(TEXT, at, host), JS(UINT, at, time_ns));

static struct err *print_line(struct session *s, const struct lanes *ls, const struct lane *l,
	bool json, struct buf *line)
{
	struct buf cmd = BUF_INIT;
	struct err *e = view_stream_print(l->v, l->c, &cmd);

	buf_clear(line);
	if (json) { /* {"seq":.. becomes {"rank":..,"seq":.. */
		buf_byte(line, '{');
		js_members(line, &at_object, &(struct at){l->r->rank, l->at, l->r->host});
		buf_printf(line, ",%s", buf_cstr(&cmd) + 1);
	} else {
		buf_printf(line, "%+14.6f ms  %4" PRIu64 "  %-*s  %s",
			(double)(l->at - ls->start) / 1e6, l->r->rank, ls->host_width, l->r->host,
			buf_cstr(&cmd));
	}
	out_str(s->out, buf_cstr(line));
	buf_free(&cmd);
	return e;
}

static struct err *list_lanes(struct session *s, struct lanes *ls, const struct view_filter *f)
{
	struct lane *l = earliest(ls);
	struct buf line = BUF_INIT;
	struct err *e = NULL;

	if (!l && !f->json)
		out_str(s->out, "No such commands.\n");
	if (l && !f->json)
		out_style(s->out, STYLE_HEADER, "%17s  %4s  %-*s  %s\n", "Time", "Rank",
			ls->host_width, "Host", "Command");
	ls->start = l ? l->at : 0;
	while (!e && (l = earliest(ls)) && !out_closed(s->out) && !interrupt_flag) {
		e = print_line(s, ls, l, f->json, &line);
		if (!e)
			e = lane_next(l);
	}
	out_progress_end(s->out);
	buf_free(&line);
	return e;
}

struct err *ranks_view(struct session *s, struct ranks *set, const struct view_filter *f)
{
	struct lanes ls = {.l = xcalloc(set->n, sizeof *ls.l), .host_width = 4};
	struct err *e = NULL;

	if (f->newest || f->count)
		e = err_cure(err_new(ERR_UNSUPPORTED,
				     "--last and --count are about one trace, not a set"),
			"Use tsdb view on the rank's own trace");
	else if (f->rank >= 0 && !ranks_find(set, (uint64_t)f->rank))
		e = err_cure(err_new(ERR_NOT_FOUND, "the set has no rank %" PRId64, f->rank),
			"\"tsdb info %s\" lists them", set->path);
	else if (f->rank < 0 && (f->first || f->last != UINT64_MAX))
		e = err_cure(
			err_new(ERR_USAGE,
				"each rank numbers its commands by itself: a range is one rank's"),
			"Add --rank N");
	if (!e)
		e = open_lanes(s, set, f, &ls);
	if (!e)
		e = list_lanes(s, &ls, f);
	for (unsigned i = 0; i < ls.n; i++) {
		view_stream_close(ls.l[i].v);
		sbt_reader_close(ls.l[i].reader);
	}
	free(ls.l);
	return e;
}

/* --- what the set holds --- */

static void clock_text(struct buf *b, const struct rank *r)
{
	if (!r->fitted) {
		buf_str(b, "as it is");
		return;
	}
	buf_printf(b, "%+.6f ms, to %.1f us", (double)r->fit.offset / 1e6, r->fit.error / 1e3);
	if (r->fit.drift != 0)
		buf_printf(b, ", drift %+.3f ppm", r->fit.drift * 1e6);
}

static void info_row(struct session *s, const struct rank *r)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%4" PRIu64 "  %-16s %8" PRIu64 "  %10" PRIu64 "  %-40s ", r->rank, r->host,
		r->pid, r->commands, r->file);
	clock_text(&b, r);
	buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

static void put_ranks(struct buf *out, const void *set)
{
	ranks_json(out, set);
}

JS_DEFINE(set_object, "set", ranks, JS_BY("rank_list", ranks, path, put_ranks, "[rank]"));

static void info_rows(struct session *s, const struct ranks *set)
{
	struct ranks_odd odd;
	struct buf others = BUF_INIT;

	ranks_odd_find(set, &odd);
	for (unsigned i = 0; i < set->n; i++)
		if (odd.line[i])
			info_row(s, &set->r[i]);
	if (odd.others) {
		ranks_odd_others(&others, &odd);
		out_printf(s->out, "%s(--json lists all ranks)\n", buf_cstr(&others));
	}
	buf_free(&others);
	ranks_odd_free(&odd);
}

struct err *ranks_info(struct session *s, struct ranks *set, bool json)
{
	struct buf b = BUF_INIT;

	if (json) {
		js_put(&b, &set_object, set);
		out_printf(s->out, "%s\n", buf_cstr(&b));
		buf_free(&b);
		return NULL;
	}
	out_style(s->out, STYLE_HEADER, "%4s  %-16s %8s  %10s  %-40s %s\n", "Rank", "Host",
		"Process", "Commands", "Trace", "Host's clock");
	info_rows(s, set);
	return NULL;
}
