/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over a trace: info summary, tsdb summary, and info kernels, whose figures come from the
 * state and, in a replay, from a pass over the commands up to its position.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text-table.h"
#include "base/words.h"
#include "state/summary.h"
#include "replay/replay.h"
#include "shell/line/interrupt.h"
#include "shell/print/shown-names.h"
#include "shell/figures/sums-text.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "state/state.h"
#include "sbt/kernel-name.h"

/* --- one pass --- */

static bool cancelled(void *session, uint64_t done, uint64_t of)
{
	struct session *s = session;

	out_progress(s->out, "reading", done, of);
	return interrupt_flag;
}

static struct err *make(struct session *s, struct sbt_reader *r, uint64_t first, uint64_t last,
	bool kernels_only, struct summary *ret)
{
	const struct summary_ask ask = {first, last, kernels_only, false, cancelled, s};
	struct err *e = summary_make(ret, r, &ask);

	out_progress_end(s->out);
	return e;
}

static struct err *parse_sort(const char *word, enum summary_sort *ret)
{
	static const char *const words[] = {"time", "count", "bytes"};

	for (unsigned i = 0; word && i < sizeof words / sizeof *words; i++) {
		if (!strcmp(word, words[i])) {
			*ret = (enum summary_sort)i;
			return NULL;
		}
	}
	return err_cure(err_new(ERR_USAGE, "--sort takes time, count or bytes"),
		"For example: info summary --sort bytes");
}

static struct err *no_times(void)
{
	return err_cure(err_new(ERR_INCOMPLETE, "the trace has no GPU times to sort by"),
		"Record with `set capture timestamps on`, or tsdb record --timestamps; --sort count needs none");
}

/* --- info summary --- */

const char cmd_info_summary_help[] =
	"Sums up the open trace's launches, copies and fills: by kernel, by call site (the\n"
	"innermost Python function, else the innermost host function) and by NVTX range, where a\n"
	"command counts for every range that it is in. RANGE is 100-200, 100- or 143.\n"
	"  --by kernel|site|range    only that table\n"
	"  --sort time|count|bytes   the largest first; time, or count where there are no GPU times\n"
	"`set listsize` says how many rows a table has at most. \"In graphs\" are nodes that graph\n"
	"launches executed, which have no times of their own. Bytes are those of copies and fills;\n"
	"what kernels touch is not in a trace, `info accesses` finds out.\n"
	"Examples: info summary\n"
	"          info summary 100-200 --by site --sort count\n";

struct ask {
	uint64_t first, last;
	unsigned by;
	enum summary_sort sort;
	bool sort_given, json;
};

static void print_summary(struct session *s, struct summary *sum, const struct ask *a)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%" PRIu64 " launch%s, cop%s and fill%s", sum->all.count,
		sum->all.count == 1 ? "" : "es", sum->all.count == 1 ? "y" : "ies",
		sum->all.count == 1 ? "" : "s");
	if (sum->all.count)
		buf_printf(&b, " within #%" PRIu64 "-#%" PRIu64, sum->all.first_seq,
			sum->all.last_seq);
	if (sum->all.bytes)
		buf_printf(&b, "; %" PRIu64 " bytes copied and set", sum->all.bytes);
	if (sum->all.timed) {
		buf_str(&b, "; ");
		sums_put_ms(&b, sum->all.time_ns);
		buf_str(&b, " ms on the GPU");
	}
	buf_str(&b, ".\n");
	if (sum->graphs_unknown)
		buf_printf(&b, "Of %" PRIu64 " graph launches the nodes are not known.\n",
			sum->graphs_unknown);
	if (sum->not_kept)
		buf_printf(&b, "%" PRIu64 " %s in no row: there are too many rows.\n",
			sum->not_kept, sum->not_kept == 1 ? "command is" : "commands are");
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	sums_print(s, sum, a->by, s->set.number[SHELL_LIST_SIZE], "`set listsize 0`");
}

static struct err *summarise(struct session *s, struct sbt_reader *r, struct ask *a)
{
	struct summary sum;
	struct buf b = BUF_INIT;

	TRY(make(s, r, a->first, a->last, false, &sum));
	if (a->sort_given && a->sort == SUMMARY_BY_TIME && sum.all.count && !sum.all.timed) {
		summary_free(&sum);
		return no_times();
	}
	if (!a->sort_given)
		a->sort = sum.all.timed ? SUMMARY_BY_TIME : SUMMARY_BY_COUNT;
	sums_name(s, r, &sum);
	sums_sort(&sum, a->by, a->sort);
	if (a->json) {
		sums_json(&b, &sum);
		buf_byte(&b, '\n');
		out_str(s->out, buf_cstr(&b));
		buf_free(&b);
	} else {
		print_summary(s, &sum, a);
	}
	summary_free(&sum);
	return NULL;
}

static struct err *parse_by(const char *word, unsigned *ret)
{
	static const char *const words[] = {"kernel", "site", "range"};

	for (unsigned i = 0; word && i < 3; i++) {
		if (!strcmp(word, words[i])) {
			*ret = 1u << i;
			return NULL;
		}
	}
	return err_cure(err_new(ERR_USAGE, "--by takes kernel, site or range"),
		"For example: info summary --by site");
}

/* Words of the command or the tool; ret_file: NULL for the command. */
static struct err *parse(struct ask *a, unsigned argc, char *const *argv, const char **ret_file)
{
	for (unsigned i = 0; i < argc; i++) {
		const char *w = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(w, "--json")) {
			a->json = true;
		} else if (!strcmp(w, "--sort")) {
			TRY(parse_sort(value, &a->sort));
			a->sort_given = true;
			i++;
		} else if (!strcmp(w, "--by")) {
			TRY(parse_by(value, &a->by));
			i++;
		} else if (ret_file && !*ret_file && *w != '-') {
			*ret_file = w;
		} else if (!word_range(w, &a->first, &a->last)) {
			return err_cure(
				w[0] == '-' && w[1] == '-'
					? err_new(ERR_USAGE, "there is no option %s", w)
					: err_new(ERR_USAGE, "\"%s\" is no range of commands", w),
				"Ranges are like 100-200; the options are --by, --sort and --json");
		}
	}
	return NULL;
}

struct err *cmd_info_summary(struct session *s, const struct cmd_args *c)
{
	struct ask a = {.last = UINT64_MAX, .by = BY_ALL, .json = c->json};

	TRY(parse(&a, c->argc, c->argv, NULL));
	return summarise(s, s->engine.trace.reader, &a);
}

int tool_summary(struct session *s, int argc, char **argv)
{
	struct ask a = {.last = UINT64_MAX, .by = BY_ALL};
	const char *file = NULL;
	struct err *e = parse(&a, (unsigned)argc, argv, &file);

	if (!e && !file)
		e = err_cure(err_new(ERR_USAGE, "summary needs a trace"),
			"Usage: tsdb summary FILE [RANGE] [--by kernel|site|range] [--sort time|count|bytes] [--json]");
	if (!e)
		e = trace_open(s, file);
	if (!e)
		e = summarise(s, s->engine.trace.reader, &a);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}

/* --- info kernels --- */

const char cmd_info_kernels_help[] =
	"Lists the kernels that the program has shown so far, with registers, shared memory and\n"
	"launches. GLOB: only those that match. \"In graphs\" counts the nodes that graph launches\n"
	"executed besides (of a live program: of graphs that are there now); \"Time\" is the time on\n"
	"the GPU where it was recorded.\n"
	"  --sort time|count   the largest first. Bytes that kernels touch are not in a trace:\n"
	"                      `info accesses` finds out, `info summary` has those of copies\n"
	"Examples: info kernels\n"
	"          info kernels 'gemm*' --sort time\n";

struct kernel_row {
	struct state_kernel k;
	const char *shown;
	uint64_t in_graphs, timed, time_ns;
};

static void params_cell(struct buf *out, const void *row)
{
	buf_printf(out, "%" PRIu64, ((const struct kernel_row *)row)->k.params.len / 8);
}

static void kernel_time_cell(struct buf *out, const void *row)
{
	const struct kernel_row *r = row;

	if (r->timed)
		sums_put_ms(out, r->time_ns);
}

#define ONLY_JSON(js_field)                                                                        \
	{                                                                                          \
		NULL, js_field, NULL, false, false                                                 \
	}
#define K(title, m, t, is_optional)                                                                \
	{                                                                                          \
		title, JS_IN(t, kernel_row, k, m), NULL, false, is_optional                        \
	}
static const struct column kernel_columns[] = {K("Kernel", id, ID, false),
	{"Name", {.name = NULL, .type = JS_TEXT, JS_MEMBER(kernel_row, shown)}, NULL, false, false},
	K("Module", module, ID, false), {"Params", {.type = JS_CALL}, params_cell, true, false},
	K("Regs", regs, UINT, false), K("Shared", static_shared, UINT, true),
	K("Local", local_mem, UINT, true), K("Threads", max_threads, UINT, false),
	K("Launches", launches, UINT, false),
	{"In graphs", JS(UINT, kernel_row, in_graphs), NULL, false, true},
	{"Time/ms", {.type = JS_CALL}, kernel_time_cell, true, true},
	K("Last", last_launch, SEQ, false), K(NULL, name, TEXT, false),
	K(NULL, short_name, TEXT, false),
	ONLY_JSON(JS_BY("param_list", kernel_row, k.params, state_json_params, "[param]")),
	K(NULL, code_hash, HEX, false), ONLY_JSON(JS(UINT, kernel_row, timed)),
	ONLY_JSON(JS_AS("gpu_ns", UINT, kernel_row, time_ns)),
	{NULL, {.type = JS_END}, NULL, false, false}};
TABLE_OBJECT(kernel_columns, "kernel_used", sizeof(struct kernel_row));

struct kernels {
	struct session *s;
	struct kernel_row *v;
	size_t n;
	uint64_t launches, in_graphs, timed, time_ns; /* of all */
	bool changed; /* some graphs were changed or are gone: what they launched before is missing
		       */
};

static void collect(struct kernels *list, const struct state *st, const char *glob)
{
	struct state_kernel k;

	for (unsigned i = 0; state_kernel(st, i, &k); i++) {
		if (glob && !sbt_kernel_glob(glob, k.name, k.short_name))
			continue;
		if (!(list->n & (list->n - 1)))
			list->v = xrealloc(list->v, (list->n ? 2 * list->n : 1) * sizeof *list->v);
		list->v[list->n++] =
			(struct kernel_row){.k = k, .shown = kernel_shown_name(list->s, k.name)};
	}
}

static struct kernel_row *kernel_row(struct kernels *list, uint32_t id)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].k.id == id)
			return &list->v[i];
	}
	return NULL;
}

/* Of a live program: the launches of each graph as it is now. */
static void count_graphs(struct kernels *list, const struct state *st)
{
	struct state_graph g;
	struct state_node node;

	for (unsigned i = 0; state_graph(st, i, &g); i++) {
		list->changed |= g.launches && (g.updates || g.before);
		for (unsigned k = 0; g.launches && state_graph_node(st, g.id, k, &node); k++) {
			struct kernel_row *row = node.type == SBT_NODE_KERNEL && !node.disabled
							 ? kernel_row(list, node.kernel)
							 : NULL;

			list->changed |= node.type == SBT_NODE_GRAPH;
			if (row)
				row->in_graphs += g.launches;
		}
	}
}

/* In a replay: what a pass over the commands up to its position comes to. */
static struct err *count_trace(struct kernels *list)
{
	struct session *s = list->s;
	const uint64_t at =
		s->engine.trace.replay ? replay_seq(s->engine.trace.replay) : UINT64_MAX;
	struct summary sum;

	TRY(make(s, s->engine.trace.reader, 0, at, true, &sum));
	for (size_t i = 0; i < sum.kernels.n; i++) {
		const struct summary_row *r = &sum.kernels.v[i];
		struct kernel_row *row = kernel_row(list, r->id);

		if (!row)
			continue;
		row->in_graphs = r->in_graphs;
		row->timed = r->timed;
		row->time_ns = r->time_ns;
	}
	list->changed = sum.graphs_unknown;
	summary_free(&sum);
	return NULL;
}

static int kernels_by_time(const void *x, const void *y)
{
	const struct kernel_row *a = x, *b = y;

	return (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns);
}

static int kernels_by_count(const void *x, const void *y)
{
	const struct kernel_row *a = x, *b = y;
	const uint64_t m = a->k.launches + a->in_graphs, n = b->k.launches + b->in_graphs;

	return m != n ? (m < n) - (m > n) : (a->k.id > b->k.id) - (a->k.id < b->k.id);
}

static void print_kernels(struct kernels *list)
{
	struct session *s = list->s;
	struct table t = table_begin(kernel_columns);
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < list->n; i++)
		table_row(&t, &list->v[i]);
	if (!list->n)
		buf_str(&b, "No kernels.\n");
	table_end(&t, &b, out_table_columns());
	out_table(s->out, &b);
	buf_free(&b);
	if (!list->n)
		return;
	out_printf(s->out, "%zu kernel%s, %" PRIu64 " launch%s", list->n, list->n == 1 ? "" : "s",
		list->launches, list->launches == 1 ? "" : "es");
	if (list->in_graphs)
		out_printf(s->out, ", %" PRIu64 " in graphs", list->in_graphs);
	if (list->timed)
		out_printf(s->out, ", %.3f ms", (double)list->time_ns / 1e6);
	out_printf(s->out, ".%s\n",
		list->changed
			? " Graphs were launched that changed since, or whose nodes are not known: those launches are not all counted."
			: "");
}

static void add_up(struct kernels *list)
{
	for (size_t i = 0; i < list->n; i++) {
		list->launches += list->v[i].k.launches;
		list->in_graphs += list->v[i].in_graphs;
		list->timed += list->v[i].timed;
		list->time_ns += list->v[i].time_ns;
	}
}

static struct err *kernels_words(
	const struct cmd_args *a, const char **ret_glob, bool *ret_sorted, enum summary_sort *ret)
{
	for (unsigned i = 0; i < a->argc; i++) {
		if (!strcmp(a->argv[i], "--sort")) {
			TRY(parse_sort(i + 1 < a->argc ? a->argv[++i] : NULL, ret));
			*ret_sorted = true;
		} else if (!*ret_glob && *a->argv[i] != '-') {
			*ret_glob = a->argv[i];
		} else {
			return err_cure(
				err_new(ERR_USAGE, "info kernels takes no \"%s\"", a->argv[i]),
				"See \"help info kernels\"");
		}
	}
	if (*ret_sorted && *ret == SUMMARY_BY_BYTES)
		return err_cure(
			err_new(ERR_UNSUPPORTED, "the bytes that kernels touch are not in a trace"),
			"`info accesses` executes launches to find them; `info summary --sort bytes` has copies and fills");
	return NULL;
}

struct err *cmd_info_kernels(struct session *s, const struct cmd_args *a)
{
	const bool replay = s->focus == FOCUS_REPLAY && s->engine.trace.reader;
	struct kernels list = {.s = s};
	enum summary_sort sort = SUMMARY_BY_COUNT;
	const struct state *st;
	const char *glob = NULL;
	bool sorted = false;
	struct buf b = BUF_INIT;
	struct err *e = NULL;

	TRY(kernels_words(a, &glob, &sorted, &sort));
	TRY(session_state(s, &st));
	collect(&list, st, glob);
	if (replay)
		e = count_trace(&list);
	else
		count_graphs(&list, st);
	add_up(&list);
	if (!e && sorted && sort == SUMMARY_BY_TIME && !list.timed && list.n)
		e = no_times();
	if (!e && sorted && list.n)
		qsort(list.v, list.n, sizeof *list.v,
			sort == SUMMARY_BY_TIME ? kernels_by_time : kernels_by_count);
	if (!e && a->json) {
		table_json(&b, &kernel_columns_object, list.v, sizeof *list.v, list.n);
		out_printf(s->out, "%s\n", buf_cstr(&b));
		buf_free(&b);
	} else if (!e) {
		print_kernels(&list);
	}
	free(list.v);
	return e;
}
