/* SPDX-License-Identifier: Apache-2.0
 *
 * The live table, the line for a file, and the JSON of tsdb observe. Kernels and places of all
 * processes share one list, busiest first: by rate while it runs, by total at the end, where rates
 * are those over all the time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/json-put.h"
#include "attach/attach.h"
#include "base/monotonic.h"
#include "observe/process/observe-private.h"

enum { TOP_DEFAULT = 10, FRAMES_SHOWN = 4, INLINED_MAX = 8, NUMBER_MAX = 32 };

/* --- numbers --- */

/* 1234567 as "1,234,567". */
static const char *number(char *dst, uint64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, v), k = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			dst[k++] = ',';
		dst[k++] = digits[i];
	}
	dst[k] = 0;
	return dst;
}

static const char *bytes(char *dst, uint64_t v)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double x = (double)v;
	unsigned u = 0;

	while (x >= 1024 && u < 4) {
		x /= 1024;
		u++;
	}
	snprintf(dst, NUMBER_MAX, u ? "%.1f %s" : "%.0f %s", x, units[u]);
	return dst;
}

static double seconds(const struct observe *o)
{
	return (double)((o->end_ns ? o->end_ns : monotonic_ns()) - o->start_ns) / 1e9;
}

/* --- rows --- */

struct row {
	struct observe_process *p;
	unsigned i; /* its kernel, or its site */
	uint64_t total;
	double rate, by;
};

static int busier(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? 1 : -1;
	return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

/* All kernels, or all places, busiest first; the caller frees them. */
static struct row *rows_of(const struct observe *o, bool kernels, bool final, unsigned *ret)
{
	struct row *rows = NULL;
	unsigned n = 0;

	for (unsigned k = 0; k < o->nprocesses; k++) {
		struct observe_stats *s = &o->processes[k]->stats;
		unsigned m = kernels ? s->nkernels : s->nsites;

		rows = xrealloc(rows, (n + m + 1) * sizeof *rows);
		for (unsigned i = 0; i < m; i++) {
			uint64_t total = kernels ? s->kernels[i].launches : s->sites[i].calls;
			double rate = kernels ? s->kernels[i].rate : s->sites[i].rate;

			if (final)
				rate = (double)total / seconds(o);
			if (total)
				rows[n++] = (struct row){o->processes[k], i, total, rate,
					final ? (double)total : rate};
		}
	}
	if (n)
		qsort(rows, n, sizeof *rows, busier);
	*ret = n;
	return rows;
}

/* --- places --- */

static bool is_cuda(const char *module)
{
	const char *name = file_name_of(module);

	return !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libcudart.so", 12);
}

/* The symbols of a frame, inlined ones first. */
static unsigned frame_symbols(
	struct observe *o, struct observe_process *p, const struct sbt_frame *f, struct symbol *ret)
{
	struct sbt_host_module m;

	memset(ret, 0, sizeof *ret);
	if (!observe_maps_module(p->maps, f->module, &m))
		return 0;
	ret->module = m.path;
	return o->symbols
		       ? symbols_lookup(o->symbols, m.path, m.build_id, f->offset, ret, INLINED_MAX)
		       : 1;
}

/* Whether a symbol is the runtime's part of the program: what the compiler made of a launch. */
static bool is_wrapper(const struct symbol *s)
{
	if (s->function && (!strncmp(s->function, "__device_stub__", 15) ||
				   !strncmp(s->function, "__cudaLaunch", 12)))
		return true;
	return s->file &&
	       (strstr(s->file, "/include/crt/") || strstr(s->file, "/include/cuda_runtime"));
}

/* The one of a frame's symbols to show: the innermost that is the program's own; NULL: there is
 * none. */
static const struct symbol *own_symbol(const struct symbol *sym, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!is_wrapper(&sym[i]))
			return sym[i].module && is_cuda(sym[i].module) ? NULL : &sym[i];
	}
	return NULL;
}

/* "step(float*) train.c:12 < main": from the program's own function outwards. When there is none,
 * whatever there is. */
static void put_place(struct observe *o, struct observe_process *p, uint32_t stack, struct buf *out)
{
	const struct observe_stack *s = &p->stacks[stack - 1];
	struct symbol sym[INLINED_MAX];
	unsigned shown = 0;

	for (unsigned i = 0; i < s->n && shown < FRAMES_SHOWN; i++) {
		unsigned n = frame_symbols(o, p, &s->frames[i], sym);
		const struct symbol *y = n ? own_symbol(sym, n) : NULL;
		bool wrapper = n && !y;

		if (wrapper && i + 1 < s->n)
			continue;
		y = wrapper ? &sym[n - 1] : y;
		buf_str(out, shown++ ? " < " : "");
		if (y && y->function)
			buf_add(out, y->function,
				wrapper ? strcspn(y->function, "(") : strlen(y->function));
		else if (y)
			buf_printf(
				out, "%s+0x%" PRIx64, file_name_of(y->module), s->frames[i].offset);
		else
			buf_printf(out, "0x%" PRIx64, s->frames[i].offset);
		if (y && y->file && shown == 1 && !wrapper)
			buf_printf(out, " %s:%u", file_name_of(y->file), y->line);
	}
}

/* --- the table --- */

static void put_head(const struct observe *o, const struct observe_look *look, struct buf *out)
{
	char calls[NUMBER_MAX], lost[NUMBER_MAX];
	uint64_t n = 0;

	for (unsigned i = 0; i < o->nprocesses; i++)
		n += o->processes[i]->stats.sums.calls;
	buf_printf(out, "observed %.1f s, %u process%s, %s calls, %s lost%s\n", seconds(o),
		o->nprocesses, o->nprocesses == 1 ? "" : "es", number(calls, n),
		number(lost, o->counts[OBS_COUNT_LOST]), look->final ? "" : "   (Ctrl-C ends)");
}

static void put_process(const struct observe_process *p, bool final, struct buf *out)
{
	const struct observe_sums *s = final ? &p->stats.sums : &p->stats.rate;
	char a[NUMBER_MAX], b[NUMBER_MAX], c[NUMBER_MAX], d[NUMBER_MAX], e[NUMBER_MAX],
		f[NUMBER_MAX], g[NUMBER_MAX];

	buf_printf(out, "%8d %-16.16s %11s %9s %11s %9s %8s %11s", (int)p->pid, p->name,
		number(a, s->launches), number(b, s->copies), bytes(c, s->copy_bytes),
		number(d, s->fills), number(e, s->allocs), bytes(f, p->stats.live_bytes));
	if (final)
		buf_printf(out, " %7.2f s", (double)s->wait_ns / 1e9);
	else
		buf_printf(out, " %7.0f %%", (double)s->wait_ns / 1e7);
	if (s->graph_launches)
		buf_printf(out, "  %s graph launches", number(g, s->graph_launches));
	buf_str(out, p->ended ? "  ended\n" : "\n");
}

static void put_row(
	struct observe *o, const struct row *r, bool kernels, unsigned columns, struct buf *out)
{
	char rate[NUMBER_MAX], total[NUMBER_MAX];
	size_t begin = out->len, end;

	buf_printf(out, "%11s %12s  ", number(rate, (uint64_t)(r->rate + 0.5)),
		number(total, r->total));
	if (o->nprocesses > 1)
		buf_printf(out, "%d: ", (int)r->p->pid);
	if (kernels)
		buf_str(out, r->p->stats.kernels[r->i].name ? r->p->stats.kernels[r->i].name : "?");
	else
		put_place(o, r->p, r->p->stats.sites[r->i].stack, out);
	end = out->len;
	if (columns && end - begin > columns)
		out->len = begin + columns;
	buf_byte(out, '\n');
}

static void put_rows(struct observe *o, bool kernels, const struct observe_look *look,
	unsigned most, struct buf *out)
{
	unsigned n;
	struct row *rows = rows_of(o, kernels, look->final, &n);

	if (n) {
		buf_printf(out, kernels ? "\n LAUNCHES/S     LAUNCHES  KERNEL\n"
					: "\n    CALLS/S        CALLS  FROM\n");
		for (unsigned i = 0; i < n && i < most; i++)
			put_row(o, &rows[i], kernels, look->columns, out);
		if (n > most)
			buf_printf(out, "%26s(%u more)\n", "", n - most);
	}
	free(rows);
}

/* Lines for the kernels and for the places: what the screen has left, in equal parts. */
static unsigned lines_each(const struct observe *o, const struct observe_look *look)
{
	unsigned used = 10 + (o->nprocesses < 8 ? o->nprocesses : 8);

	if (look->top)
		return look->top;
	return look->rows > used + 4 ? (look->rows - used) / 2 : look->rows ? 2 : TOP_DEFAULT;
}

void observe_table(struct observe *o, const struct observe_look *look, struct buf *out)
{
	unsigned shown = 0, most = look->rows ? 8 : o->nprocesses;

	put_head(o, look, out);
	buf_printf(out,
		look->final
			? "\n     PID PROGRAM             LAUNCHES    COPIES      COPIED     FILLS   ALLOCS        LIVE    WAITED\n"
			: "\n     PID PROGRAM           LAUNCHES/S  COPIES/S    COPIED/S   FILLS/S ALLOCS/S        LIVE   WAITING\n");
	for (unsigned i = o->nprocesses; i-- && shown < most; shown++)
		put_process(o->processes[i], look->final, out);
	put_rows(o, true, look, lines_each(o, look), out);
	put_rows(o, false, look, lines_each(o, look), out);
}

void observe_lines(struct observe *o, struct buf *out)
{
	char a[NUMBER_MAX], b[NUMBER_MAX], c[NUMBER_MAX], d[NUMBER_MAX], e[NUMBER_MAX];

	for (unsigned i = 0; i < o->nprocesses; i++) {
		const struct observe_process *p = o->processes[i];
		const struct observe_sums *r = &p->stats.rate;

		if (p->ended && !r->calls)
			continue;
		buf_printf(out,
			"%.1f s  %d %s  %s launches/s  %s copies/s  %s/s  %s allocs/s  %s live  waiting %.0f %%\n",
			seconds(o), (int)p->pid, p->name, number(a, r->launches),
			number(b, r->copies), bytes(c, r->copy_bytes), number(d, r->allocs),
			bytes(e, p->stats.live_bytes), (double)r->wait_ns / 1e7);
	}
}

void observe_rates(struct observe *o)
{
	uint64_t now = monotonic_ns();

	for (unsigned i = 0; i < o->nprocesses; i++)
		observe_stats_turn(&o->processes[i]->stats, now);
}

/* --- JSON --- */

/* Over all the time. */
static struct observe_sums average(const struct observe *o, const struct observe_sums *s)
{
	struct observe_sums a = *s;
	uint64_t *v = (uint64_t *)&a;

	for (size_t i = 0; i < sizeof a / sizeof *v; i++)
		v[i] = (uint64_t)((double)v[i] / seconds(o) + 0.5);
	return a;
}

struct direction {
	uint64_t copies, bytes;
};
JS_DEFINE(direction_object, "direction", direction, JS(UINT, direction, copies, bytes));

struct directions {
	struct direction d[SBT_COPY_ANY + 1];
};
#define DIRECTION(at, n) JS_OF(n, OBJECT, directions, d[at], direction_object)
JS_DEFINE(directions_object, "directions", directions, DIRECTION(0, "h2d"), DIRECTION(1, "d2h"),
	DIRECTION(2, "d2d"), DIRECTION(3, "h2h"), DIRECTION(4, "peer"), DIRECTION(5, "any"));

struct sums {
	struct observe_sums s;
	struct directions d;
};
#define SUM(m) JS_AS(#m, UINT, sums, s.m)
JS_DEFINE(sums_object, "sums", sums, SUM(calls), SUM(launches), SUM(graph_launches), SUM(copies),
	SUM(copy_bytes), SUM(fills), SUM(allocs), SUM(alloc_bytes), SUM(frees), SUM(syncs),
	SUM(wait_ns), JS_OF("copies_by_direction", OBJECT, sums, d, directions_object));

static struct sums sums_of(const struct observe_sums *s)
{
	struct sums ret = {.s = *s};

	for (unsigned i = 0; i <= SBT_COPY_ANY; i++)
		ret.d.d[i] = (struct direction){s->dir[i], s->dir_bytes[i]};
	return ret;
}

struct seen_process {
	int pid;
	const char *program, *args, *trace;
	bool ended;
	uint64_t live_allocations, live_bytes, peak_bytes;
	struct sums totals, per_second;
};
JS_DEFINE(process_object, "observed_process", seen_process, JS(UINT, seen_process, pid),
	JS(TEXT, seen_process, program, args), JS(BOOL, seen_process, ended),
	JS(UINT, seen_process, live_allocations, live_bytes, peak_bytes),
	JS(TEXT, seen_process, trace), JS_OF("totals", OBJECT, seen_process, totals, sums_object),
	JS_OF("per_second", OBJECT, seen_process, per_second, sums_object));

struct whole {
	struct observe *o;
	const struct observe_look *look;
	double seconds;
	bool final;
	uint64_t probe_hits, lost, no_stack, not_understood;
};

/* A frame of a recorded stack, as `backtrace --json` has it. */
struct frame {
	unsigned frame;
	uint64_t pc;
	struct symbol sym;
};
JS_DEFINE(frame_object, "observed_frame", frame, JS(UINT, frame, frame), JS(HEX, frame, pc),
	JS_IN(TEXT, frame, sym, function, file), JS_IN(UINT, frame, sym, line),
	JS_AS("binary", TEXT, frame, sym.module));

struct place {
	struct observe *o;
	int pid;
	struct row row;
	const char *name;
};

static void put_frames(struct buf *out, const void *place)
{
	const struct place *x = place;
	struct observe_process *p = x->row.p;
	const struct observe_stack *s = &p->stacks[p->stats.sites[x->row.i].stack - 1];

	buf_byte(out, '[');
	for (unsigned i = 0; i < s->n; i++) {
		struct symbol sym[INLINED_MAX];

		frame_symbols(x->o, p, &s->frames[i], sym);
		js_add(out, &frame_object, &(struct frame){i, s->frames[i].offset, sym[0]});
	}
	buf_byte(out, ']');
}

JS_DEFINE(kernel_object, "busy_kernel", place, JS(UINT, place, pid),
	JS_AS("launches", UINT, place, row.total), JS_AS("per_s", REAL, place, row.rate),
	JS(TEXT, place, name));
JS_DEFINE(place_object, "busy_place", place, JS(UINT, place, pid),
	JS_AS("calls", UINT, place, row.total), JS_AS("per_s", REAL, place, row.rate),
	JS_BY("frames", place, o, put_frames, "[observed_frame]"));

static void json_rows(struct buf *out, const struct whole *w, bool kernels)
{
	unsigned n, most = w->look->top ? w->look->top : TOP_DEFAULT;
	struct row *rows = rows_of(w->o, kernels, w->look->final, &n);

	buf_byte(out, '[');
	for (unsigned i = 0; i < n && i < most; i++) {
		struct observe_process *p = rows[i].p;

		js_add(out, kernels ? &kernel_object : &place_object,
			&(struct place){w->o, p->pid, rows[i],
				kernels ? p->stats.kernels[rows[i].i].name : NULL});
	}
	buf_byte(out, ']');
	free(rows);
}

static void put_kernels(struct buf *out, const void *whole)
{
	json_rows(out, whole, true);
}

static void put_places(struct buf *out, const void *whole)
{
	json_rows(out, whole, false);
}

static void put_processes(struct buf *out, const void *whole)
{
	const struct whole *w = whole;

	buf_byte(out, '[');
	for (unsigned i = 0; i < w->o->nprocesses; i++) {
		const struct observe_process *p = w->o->processes[i];
		const struct observe_sums rate =
			w->final ? average(w->o, &p->stats.sums) : p->stats.rate;

		js_add(out, &process_object,
			&(struct seen_process){p->pid, p->name, p->args,
				p->path && p->commands ? p->path : NULL, p->ended, p->stats.live,
				p->stats.live_bytes, p->stats.live_peak, sums_of(&p->stats.sums),
				sums_of(&rate)});
	}
	buf_byte(out, ']');
}

/* Records that came and could not be understood, in all. */
static uint64_t not_understood(const struct observe *o)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < o->nprocesses; i++)
		n += o->processes[i]->decoder ? observe_decoder_bad(o->processes[i]->decoder) : 0;
	return n;
}

JS_DEFINE(whole_object, "observed", whole, JS(REAL, whole, seconds), JS(BOOL, whole, final),
	JS(UINT, whole, probe_hits, lost, no_stack, not_understood),
	JS_BY("processes", whole, o, put_processes, "[observed_process]"),
	JS_BY("kernel_list", whole, o, put_kernels, "[busy_kernel]"),
	JS_BY("places", whole, o, put_places, "[busy_place]"));

void observe_json(struct observe *o, const struct observe_look *look, struct buf *out)
{
	js_put(out, &whole_object,
		&(struct whole){o, look, seconds(o), look->final, o->counts[OBS_COUNT_HITS],
			o->counts[OBS_COUNT_LOST], o->counts[OBS_COUNT_NO_STACK],
			not_understood(o)});
	buf_byte(out, '\n');
}

/* --- what else the user should know --- */

void observe_about(struct observe *o, struct buf *out)
{
	for (unsigned i = 0; i < o->nlibraries; i++)
		buf_printf(out, "%u entry points of %s\n", o->libraries[i].calls,
			o->libraries[i].path);
}

void observe_notes(struct observe *o, struct buf *out)
{
	char n[NUMBER_MAX];

	if (o->counts[OBS_COUNT_LOST] && !o->told_lost) {
		o->told_lost = true;
		buf_printf(out,
			"%s records were lost: the ring was full (--ring SIZE makes it larger)\n",
			number(n, o->counts[OBS_COUNT_LOST]));
	}
	if (!o->nlibraries && !o->told_nothing && monotonic_ns() - o->start_ns > 2000000000u) {
		o->told_nothing = true;
		buf_str(out,
			o->pid ? "the process has not loaded libcuda.so.1; it is observed as soon as it does\n"
			       : "no process has loaded libcuda.so.1; the first that does is observed\n");
	}
}
