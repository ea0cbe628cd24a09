/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of trace-stats.h as tables and as JSON. What is not known is named, with the reason; it
 * is never shown as 0.
 */
#include "shell/figures/stats-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text-table.h"
#include "shell/figures/sums-text.h"
#include "sbt/fields.h"

/* A figure that the trace does not allow. */
struct refusal {
	const char *figure, *why;
};
const char stats_no_times[] =
	"the trace has no GPU times; record with tsdb record --timestamps, or set capture timestamps on";
const char stats_no_order[] =
	"some work came later in the trace than one pass can put in order; take a range of commands";
static const struct {
	struct refusal is;
	bool times; /* else it needs the order */
} needs[] = {
	{{"times of streams", stats_no_times}, true},
	{{"use of devices", stats_no_times}, true},
	{{"queue depth", stats_no_times}, true},
	{{"launch latency", stats_no_times}, true},
	{{"bandwidth", stats_no_times}, true},
	{{"idle time by host call", stats_no_times}, true},
	{{"use of devices", stats_no_order}, false},
	{{"queue depth", stats_no_order}, false},
	{{"idle time by host call", stats_no_order}, false},
};
enum { NEEDS = sizeof needs / sizeof *needs };

struct stream_row {
	struct stats_stream is;
	const struct stats_stream *time, *depth; /* NULL: not known */
};
struct device_row {
	struct stats_device is;
	const struct stats_device *time; /* NULL: not known */
	uint32_t buckets;
	char *allocated_at; /* heap */
};
struct copies_row {
	struct stats_copies is;
	const char *name;
	double rate; /* bytes a second */
};
struct blame_row {
	struct stats_blame is;
	char *name; /* heap */
};
struct stats_view {
	const struct stats *st;
	struct stats is;
	uint64_t span_ns;
	struct stream_row *streams;
	struct device_row *devices;
	struct copies_row *copies;
	struct blame_row *blame;
	size_t nstreams, ndevices, ncopies, nblame, more_blame;
	const struct stats_spread *latency, *queued, *waits;
	struct refusal *refused;
	size_t nrefused;
	struct summary sums;
};

/* --- making the rows --- */

static double rate_of(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

static void make_copies(struct stats_view *v)
{
	const struct stats *st = v->st;

	v->ncopies = st->ncopies;
	v->copies = xcalloc(st->ncopies + 1, sizeof *v->copies);
	for (size_t i = 0; i < st->ncopies; i++) {
		const struct stats_copies *c = &st->copies[i];
		const char *dir = sbt_enum_name(SBT_T_ENUM_COPY, c->dir);

		v->copies[i] = (struct copies_row){
			*c, dir ? dir : "fill", rate_of(c->timed_bytes, c->time_ns)};
	}
}

static void make_streams(struct stats_view *v)
{
	const struct stats *st = v->st;

	v->nstreams = st->nstreams;
	v->streams = xcalloc(st->nstreams + 1, sizeof *v->streams);
	for (size_t i = 0; i < st->nstreams; i++) {
		struct stream_row *row = &v->streams[i];

		row->is = st->streams[i];
		row->time = row->is.timed ? &row->is : NULL;
		row->depth = row->is.timed && st->known.order ? &row->is : NULL;
	}
}

static void make_devices(struct session *s, struct sbt_reader *r, struct stats_view *v)
{
	const struct stats *st = v->st;

	v->ndevices = st->ndevices;
	v->devices = xcalloc(st->ndevices + 1, sizeof *v->devices);
	for (size_t i = 0; i < st->ndevices; i++) {
		struct device_row *row = &v->devices[i];

		row->is = st->devices[i];
		row->time = row->is.timed && st->known.order ? &row->is : NULL;
		row->buckets = st->buckets;
		if (row->is.allocated_most_seq)
			row->allocated_at =
				sums_site(s, r, row->is.allocated_stack, &st->sums.kernels);
	}
}

static int blame_by_name(const void *x, const void *y)
{
	return strcmp(((const struct blame_row *)x)->name, ((const struct blame_row *)y)->name);
}

static int blame_by_idle(const void *x, const void *y)
{
	const struct stats_blame *a = &((const struct blame_row *)x)->is,
				 *b = &((const struct blame_row *)y)->is;

	if (a->idle_ns != b->idle_ns)
		return a->idle_ns < b->idle_ns ? 1 : -1;
	return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

static void blame_add(struct stats_blame *a, const struct stats_blame *b)
{
	a->idle_ns += b->idle_ns;
	a->waits_ns += b->waits_ns;
	a->calls += b->calls;
	if (b->first_seq < a->first_seq)
		a->first_seq = b->first_seq;
}

/* Makes one row of those that are the same place. */
static void merge_blame(struct stats_view *v)
{
	size_t n = 0;

	qsort(v->blame, v->nblame, sizeof *v->blame, blame_by_name);
	for (size_t i = 0; i < v->nblame; i++) {
		if (n && !strcmp(v->blame[n - 1].name, v->blame[i].name)) {
			blame_add(&v->blame[n - 1].is, &v->blame[i].is);
			free(v->blame[i].name);
		} else {
			v->blame[n++] = v->blame[i];
		}
	}
	v->nblame = n;
	qsort(v->blame, v->nblame, sizeof *v->blame, blame_by_idle);
}

static void make_blame(struct session *s, struct sbt_reader *r, struct stats_view *v, uint64_t top)
{
	const struct stats *st = v->st;

	v->nblame = st->nblame;
	v->blame = xcalloc(v->nblame + 1, sizeof *v->blame);
	for (size_t i = 0; i < v->nblame; i++)
		v->blame[i] = (struct blame_row){
			st->blame[i], sums_site(s, r, st->blame[i].stack, &st->sums.kernels)};
	merge_blame(v);
	for (; top && v->nblame > top; v->more_blame++)
		free(v->blame[--v->nblame].name);
}

static void make_refused(struct stats_view *v)
{
	v->refused = xcalloc(NEEDS, sizeof *v->refused);
	for (size_t i = 0; i < NEEDS; i++) {
		if (needs[i].times ? !v->st->known.times : !v->st->known.order)
			v->refused[v->nrefused++] = needs[i].is;
	}
}

static struct stats_view view_make(
	struct session *s, struct sbt_reader *r, struct stats *st, uint64_t top)
{
	struct stats_view v = {.st = st, .is = *st, .span_ns = st->end_ns - st->begin_ns};

	make_streams(&v);
	make_devices(s, r, &v);
	make_copies(&v);
	make_blame(s, r, &v, top);
	make_refused(&v);
	v.latency = st->latency.n ? &st->latency : NULL;
	v.queued = st->queued.n ? &st->queued : NULL;
	v.waits = st->waits.n ? &st->waits : NULL;
	sums_name(s, r, &st->sums);
	sums_sort(&st->sums, BY_ALL, st->known.times ? SUMMARY_BY_TIME : SUMMARY_BY_COUNT);
	v.sums = st->sums;
	return v;
}

static void view_free(struct stats_view *v)
{
	for (size_t i = 0; i < v->ndevices; i++)
		free(v->devices[i].allocated_at);
	for (size_t i = 0; i < v->nblame; i++)
		free(v->blame[i].name);
	free(v->streams);
	free(v->devices);
	free(v->copies);
	free(v->blame);
	free(v->refused);
}

/* --- JSON --- */

JS_DEFINE(stream_time_object, "stream_time", stats_stream, JS(UINT, stats_stream, busy_ns),
	JS_AS("event_wait_ns", UINT, stats_stream, event_ns),
	JS_AS("host_late_ns", UINT, stats_stream, host_ns),
	JS(UINT, stats_stream, starting_ns, empty_ns));
JS_DEFINE(stream_depth_object, "queue_depth", stats_stream, JS(UINT, stats_stream, depth_most),
	JS(REAL, stats_stream, depth_mean));
JS_DEFINE(stream_row_object, "stream_use", stream_row, JS_AS("stream", ID, stream_row, is.id),
	JS_IN(UINT, stream_row, is, device, work, timed),
	JS_OF("time", POINTER, stream_row, time, stream_time_object),
	JS_OF("queue_depth", POINTER, stream_row, depth, stream_depth_object));

static void put_buckets(struct buf *out, const void *member)
{
	const struct device_row *row =
		(const void *)((const char *)member - offsetof(struct device_row, is.busy));

	buf_byte(out, '[');
	for (unsigned i = 0; i < row->buckets; i++)
		buf_printf(out, "%s%" PRIu64, i ? "," : "", row->is.busy[i]);
	buf_byte(out, ']');
}

JS_DEFINE(device_time_object, "device_time", device_row, JS_IN(UINT, device_row, is, begin_ns),
	JS_IN(UINT, device_row, is, end_ns, busy_ns, kernel_ns, copy_ns, overlap_ns),
	JS_IN(UINT, device_row, is, concurrent_ns, idle_ns, starting_ns, gaps, depth_most),
	JS_AS("host_late_ns", UINT, device_row, is.late_ns),
	JS_IN(REAL, device_row, is, depth_mean),
	JS_BY("busy_parts", device_row, is.busy, put_buckets, "[number]"));
JS_DEFINE(device_row_object, "device_use", device_row, JS_IN(UINT, device_row, is, device),
	JS_IN(TEXT, device_row, is, name), JS_IN(UINT, device_row, is, work, timed),
	JS_AS("alloc_peak", UINT, device_row, is.allocated_most),
	JS_AS("peak_seq", SEQ, device_row, is.allocated_most_seq),
	JS_AS("peak_place", TEXT, device_row, allocated_at),
	JS_AS("alloc_bytes", UINT, device_row, is.allocated_end),
	JS_OF("use", POINTER, device_row, time, device_time_object));
JS_DEFINE(copies_row_object, "copies_of", copies_row, JS_AS("direction", TEXT, copies_row, name),
	JS_IN(UINT, copies_row, is, count, timed, bytes),
	JS_AS("gpu_ns", UINT, copies_row, is.time_ns),
	JS_AS("bytes_per_second", REAL, copies_row, rate),
	JS_AS("fastest", REAL, copies_row, is.fastest),
	JS_AS("fastest_seq", SEQ, copies_row, is.fastest_seq));
JS_DEFINE(blame_row_object, "idle_by", blame_row, JS_AS("name", TEXT, blame_row, name),
	JS_IN(UINT, blame_row, is, idle_ns, calls),
	JS_AS("in_waits_ns", UINT, blame_row, is.waits_ns), JS_IN(SEQ, blame_row, is, first_seq));
JS_DEFINE(spread_object, "spread", stats_spread, JS_AS("count", UINT, stats_spread, n),
	JS_AS("sum_ns", UINT, stats_spread, sum), JS_AS("least_ns", UINT, stats_spread, least),
	JS_AS("median_ns", UINT, stats_spread, half), JS_AS("p90_ns", UINT, stats_spread, p90),
	JS_AS("p99_ns", UINT, stats_spread, p99), JS_AS("most_ns", UINT, stats_spread, most));
JS_DEFINE(refusal_object, "refusal", refusal, JS(TEXT, refusal, figure),
	JS_AS("reason", TEXT, refusal, why));
JS_DEFINE(stats_object, "stats", stats_view, JS_IN(SEQ, stats_view, is, first_seq, last_seq),
	JS_IN(UINT, stats_view, is, commands, begin_ns, end_ns, work, timed, impossible),
	JS_AS("before_submission", UINT, stats_view, is.early),
	JS_AS("before_submission_ns", UINT, stats_view, is.early_most_ns),
	JS_AS("out_of_order", UINT, stats_view, is.late),
	JS_LIST_OF("stream_list", stats_view, streams, nstreams, stream_row_object),
	JS_LIST_OF("device_list", stats_view, devices, ndevices, device_row_object),
	JS_AS("part_ns", UINT, stats_view, is.bucket_ns),
	JS_AS("parts_begin_ns", UINT, stats_view, is.buckets_begin_ns),
	JS_LIST_OF("copies_by", stats_view, copies, ncopies, copies_row_object),
	JS_OF("latency", POINTER, stats_view, latency, spread_object),
	JS_OF("queued", POINTER, stats_view, queued, spread_object),
	JS_OF("host_waits", POINTER, stats_view, waits, spread_object),
	JS_LIST_OF("idle_by", stats_view, blame, nblame, blame_row_object),
	JS_AS("idle_unknown_ns", UINT, stats_view, is.blame_lost_ns),
	JS_BY("sums", stats_view, sums, sums_json, "work_summary"),
	JS_LIST_OF("refused", stats_view, refused, nrefused, refusal_object));

void stats_put(
	struct buf *out, struct session *s, struct sbt_reader *r, struct stats *st, uint64_t top)
{
	struct stats_view v = view_make(s, r, st, top);

	js_put(out, &stats_object, &v);
	view_free(&v);
}

void stats_json(struct session *s, struct sbt_reader *r, struct stats *st, uint64_t top)
{
	struct buf b = BUF_INIT;

	stats_put(&b, s, r, st, top);
	buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

/* --- text --- */

#define MS(fn, T, m)                                                                               \
	static void fn(struct buf *out, const void *row)                                           \
	{                                                                                          \
		sums_put_ms(out, ((const struct T *)row)->m);                                      \
	}
#define MS_OF_STREAM(fn, m)                                                                        \
	static void fn(struct buf *out, const void *row)                                           \
	{                                                                                          \
		const struct stream_row *r = row;                                                  \
                                                                                                   \
		if (r->time)                                                                       \
			sums_put_ms(out, r->is.m);                                                 \
	}
MS_OF_STREAM(busy_cell, busy_ns)
MS_OF_STREAM(event_cell, event_ns)
MS_OF_STREAM(host_cell, host_ns)
MS_OF_STREAM(starting_cell, starting_ns)
MS_OF_STREAM(empty_cell, empty_ns)

static void depth_cell(struct buf *out, const void *row)
{
	const struct stream_row *r = row;

	if (r->depth)
		buf_printf(out, "%" PRIu64, r->is.depth_most);
}

static void mean_cell(struct buf *out, const void *row)
{
	const struct stream_row *r = row;

	if (r->depth)
		buf_printf(out, "%.1f", r->is.depth_mean);
}

static const struct column stream_columns[] = {
	{"Stream", {.type = JS_ID, JS_MEMBER(stream_row, is.id)}, NULL, false, false},
	{"Device", {.type = JS_UINT, JS_MEMBER(stream_row, is.device)}, NULL, false, false},
	{"Work", {.type = JS_UINT, JS_MEMBER(stream_row, is.work)}, NULL, false, false},
	SUMS_CALC("Busy/ms", busy_cell), SUMS_CALC("Event/ms", event_cell),
	SUMS_CALC("Host/ms", host_cell), SUMS_CALC("Starting/ms", starting_cell),
	SUMS_CALC("Empty/ms", empty_cell), SUMS_CALC("Queue", depth_cell),
	SUMS_CALC("Mean", mean_cell), SUMS_END};

static void put_rate(struct buf *out, double rate)
{
	if (rate > 0)
		buf_printf(out, "%.3f", rate / 1e9);
}

static void copies_time_cell(struct buf *out, const void *row)
{
	const struct copies_row *r = row;

	if (r->is.timed)
		sums_put_ms(out, r->is.time_ns);
}

static void rate_cell(struct buf *out, const void *row)
{
	put_rate(out, ((const struct copies_row *)row)->rate);
}

static void fastest_cell(struct buf *out, const void *row)
{
	put_rate(out, ((const struct copies_row *)row)->is.fastest);
}

static const struct column copies_columns[] = {
	{"Count", {.type = JS_UINT, JS_MEMBER(copies_row, is.count)}, NULL, false, false},
	{"Bytes", {.type = JS_UINT, JS_MEMBER(copies_row, is.bytes)}, NULL, false, false},
	SUMS_CALC("Time/ms", copies_time_cell), SUMS_CALC("GB/s", rate_cell),
	SUMS_CALC("Fastest", fastest_cell),
	{"What", {.type = JS_TEXT, JS_MEMBER(copies_row, name)}, NULL, false, false}, SUMS_END};

MS(idle_cell, blame_row, is.idle_ns)
MS(in_waits_cell, blame_row, is.waits_ns)
static const struct column blame_columns[] = {SUMS_CALC("Idle/ms", idle_cell),
	SUMS_CALC("In waits/ms", in_waits_cell),
	{"Calls", {.type = JS_UINT, JS_MEMBER(blame_row, is.calls)}, NULL, false, false},
	{"First", {.type = JS_SEQ, JS_MEMBER(blame_row, is.first_seq)}, NULL, false, false},
	{"Up to a call in", {.type = JS_TEXT, JS_MEMBER(blame_row, name)}, NULL, false, false},
	SUMS_END};

static void print_head(struct session *s, const struct stats_view *v)
{
	const struct stats *st = v->st;

	out_printf(s->out,
		"%" PRIu64 " commands within #%" PRIu64 "-#%" PRIu64 ", %.3f ms; %" PRIu64
		" launches, copies and fills, ",
		st->commands, st->first_seq, st->last_seq, (double)v->span_ns / 1e6, st->work);
	if (st->timed == st->work)
		out_str(s->out, "all with GPU times.\n");
	else
		out_printf(s->out, "%" PRIu64 " of them with GPU times.\n", st->timed);
	if (st->impossible)
		out_printf(s->out,
			"%" PRIu64 " ended before they began: their times are not used.\n",
			st->impossible);
	if (st->early)
		out_printf(s->out,
			"%" PRIu64
			" began before they were submitted, by up to %.3f ms: the device's clock is not the host's (info --clocks).\n",
			st->early, (double)st->early_most_ns / 1e6);
}

static void print_use(struct session *s, const struct stats_device *d)
{
	const uint64_t span = d->end_ns - d->begin_ns;

	out_printf(s->out,
		"  busy %.1f %% of %.3f ms: kernels %.3f ms, copies and fills %.3f ms, both at once %.3f ms, several kernels at once %.3f ms\n",
		sums_share(d->busy_ns, span), (double)span / 1e6, (double)d->kernel_ns / 1e6,
		(double)d->copy_ns / 1e6, (double)d->overlap_ns / 1e6,
		(double)d->concurrent_ns / 1e6);
	out_printf(s->out,
		"  idle %.3f ms in %" PRIu64
		" %s: %.3f ms until the host had submitted what came next, %.3f ms until that began\n",
		(double)d->idle_ns / 1e6, d->gaps, d->gaps == 1 ? "gap" : "gaps",
		(double)d->late_ns / 1e6, (double)d->starting_ns / 1e6);
	out_printf(s->out, "  queue: %" PRIu64 " %s at most, %.1f in the mean\n", d->depth_most,
		d->depth_most == 1 ? "command" : "commands", d->depth_mean);
}

/* A mark for each part of the time: from ' ', nothing ran, to '#', all of it. */
static void print_parts(struct session *s, const struct stats_view *v, const struct stats_device *d)
{
	static const char marks[] = " .:-=+*%#";
	char line[STATS_BUCKETS + 1] = {0};
	const uint64_t ns = v->st->bucket_ns;

	for (unsigned i = 0; i < v->st->buckets && i < STATS_BUCKETS; i++) {
		const uint64_t busy = d->busy[i] < ns ? d->busy[i] : ns;
		const unsigned last = sizeof marks - 2;
		unsigned m = (unsigned)((double)busy / (double)ns * last + 0.5);

		line[i] = marks[busy && !m ? 1 : m < last ? m : last];
	}
	out_printf(s->out, "  [%s] a mark is %.3f ms\n", line, (double)ns / 1e6);
}

static void print_device(
	struct session *s, const struct stats_view *v, const struct device_row *row)
{
	const struct stats_device *d = &row->is;

	out_printf(s->out, "\nDevice %u%s%s: %" PRIu64 " launches, copies and fills\n", d->device,
		d->name ? ", " : "", d->name ? d->name : "", d->work);
	if (row->time) {
		print_use(s, d);
		print_parts(s, v, d);
	}
	if (d->allocated_most_seq)
		out_printf(s->out,
			"  memory: %" PRIu64 " bytes at most, at #%" PRIu64 ", %s; %" PRIu64
			" at the end\n",
			d->allocated_most, d->allocated_most_seq, row->allocated_at,
			d->allocated_end);
}

static void print_spread(struct session *s, const char *what, const struct stats_spread *d)
{
	if (!d)
		return;
	if (d->n == 1) {
		out_printf(s->out, "%s: once, %.1f us\n", what, (double)d->most / 1e3);
		return;
	}
	out_printf(s->out,
		"%s: %" PRIu64
		" times; median %.1f us, 90 %% within %.1f us, 99 %% within %.1f us, least %.1f us, most %.1f us\n",
		what, d->n, (double)d->half / 1e3, (double)d->p90 / 1e3, (double)d->p99 / 1e3,
		(double)d->least / 1e3, (double)d->most / 1e3);
}

static void print_spreads(struct session *s, const struct stats_view *v)
{
	if (v->queued || v->waits)
		out_str(s->out, "\n");
	print_spread(s, "Launch latency, on a stream with nothing else to do", v->latency);
	print_spread(s, "From launch to beginning, all launches", v->queued);
	print_spread(s, "The host waited", v->waits);
}

static void print_refused(struct session *s, const struct stats_view *v)
{
	if (v->nrefused)
		out_str(s->out, "\nNot known\n");
	for (size_t i = 0; i < v->nrefused; i++) {
		const bool same = i && v->refused[i].why == v->refused[i - 1].why;
		const bool last =
			i + 1 == v->nrefused || v->refused[i + 1].why != v->refused[i].why;

		out_printf(s->out, "%s%s", same ? ", " : "  ", v->refused[i].figure);
		if (last)
			out_printf(s->out, ": %s.\n", v->refused[i].why);
	}
}

void stats_print(struct session *s, struct sbt_reader *r, struct stats *st, uint64_t top)
{
	struct stats_view v = view_make(s, r, st, top);

	print_head(s, &v);
	for (size_t i = 0; i < v.ndevices; i++)
		print_device(s, &v, &v.devices[i]);
	sums_table(s, "Streams", stream_columns, v.streams, sizeof *v.streams, v.nstreams);
	sums_table(s, "Copies and fills", copies_columns, v.copies, sizeof *v.copies, v.ncopies);
	print_spreads(s, &v);
	sums_table(s, "Idle devices, by what the host did meanwhile", blame_columns, v.blame,
		sizeof *v.blame, v.nblame);
	if (v.more_blame)
		out_printf(s->out, "and %zu more (--top 0 shows all)\n", v.more_blame);
	sums_print(s, &st->sums, BY_ALL, top, "--top 0");
	print_refused(s, &v);
	view_free(&v);
}
