/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes inside kernels: probe, unprobe, info probes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "base/words.h"
#include "engine/soft-settings.h"
#include "shell/print/listing.h"
#include "shell/source/source-place.h"
#include "shell/trace/trace.h"
#include "state/state.h"

enum { BAR = 50, VALUES_SHOWN = 20 };

/* --- probe --- */

const char cmd_probe_help[] =
	"Counts the GPU threads that pass a line of a kernel: in the launches of a program that is started\n"
	"after it on the software GPU, or of a replay's window on any device. `count` counts them, `hist EXPR`\n"
	"sorts them by powers of two of EXPR, `by EXPR` by its values. `if EXPR` leaves others out.\n"
	"PLACE is KERNEL:LINE, KERNEL:FILE:LINE, FILE:LINE or, of the file where it has stopped, LINE: lines\n"
	"of the source (nvcc -lineinfo); KERNEL may be a pattern. A thread passes a line where a breakpoint at it stops: at the first instruction\n"
	"of each run of instructions that come from it, also where that was inlined or unrolled.\n"
	"EXPR has threadIdx.x, blockIdx.x, blockDim.x, gridDim.x, lane, registers of the PTX (%r4),\n"
	"numbers, C's operators, memory at a generic address, f32[ADDRESS] or s32[ADDRESS] (u8 to u64, s8\n"
	"to s64, f32, f64), and casts, s32(%f1); with nvcc -G variables, too: sum, arr[i], p->x. Results:\n"
	"`info probes`.\n"
	"Examples: probe matmul:25 count\n"
	"          probe reduce.cu:17 hist s32[%rd5] if threadIdx.x == 0\n"
	"          probe sort*:sort.cu:40 by blockIdx.x\n";

static struct err *wrong(const char *what, const char *text)
{
	return err_cure(err_new(ERR_USAGE, "%s: \"%s\"", what, text),
		"For example: probe matmul:25 hist %%r4");
}

/* KERNEL:LINE, KERNEL:FILE:LINE, FILE:LINE; what has a dot is a file. */
static struct err *parse_place(const char *word, struct probe *ret)
{
	const char *last = strrchr(word, ':'), *file;
	uint64_t line;
	char *rest;

	if (!last || last == word || !word_u64(last + 1, &line) || !line || line > INT32_MAX)
		return wrong("a probe is at KERNEL:LINE or FILE:LINE", word);
	ret->line = (unsigned)line;
	rest = strndup(word, (size_t)(last - word));
	BUG_ON(!rest);
	file = strrchr(rest, ':');
	file = file ? file + 1 : rest;
	if (strchr(file, '.')) {
		ret->file = xstrdup(file);
		if (file > rest)
			ret->kernel = strndup(rest, (size_t)(file - 1 - rest));
	} else {
		ret->kernel = xstrdup(rest);
	}
	free(rest);
	return NULL;
}

/* Where " if " begins; NULL: it is not there. */
static const char *find_condition(const char *text)
{
	return !strncmp(text, "if ", 3) ? text : strstr(text, " if ");
}

static char *trimmed(const char *p, size_t n)
{
	char *text;

	while (n && strchr(" \t", *p))
		p++, n--;
	while (n && strchr(" \t", p[n - 1]))
		n--;
	text = strndup(p, n);
	BUG_ON(!text);
	return text;
}

/* "count", "hist EXPR", "by EXPR", each with "if COND" */
static struct err *parse_what(const char *text, struct probe *ret)
{
	static const char *const kinds[] = {"count", "hist", "by"};
	const size_t n = strcspn(text, " \t");
	const char *expr = text + n + strspn(text + n, " \t"), *cond = find_condition(expr);
	unsigned k = 0;

	while (k < 3 && (strlen(kinds[k]) != n || memcmp(kinds[k], text, n)))
		k++;
	if (k == 3)
		return wrong("a probe does count, hist EXPR or by EXPR", text);
	ret->kind = (enum soft_probe_kind)k;
	ret->expr = trimmed(expr, cond ? (size_t)(cond - expr) : strlen(expr));
	if (cond) {
		cond = strstr(cond, "if ") + 3;
		ret->condition = trimmed(cond, strlen(cond));
		if (!*ret->condition)
			return wrong("there is no condition", text);
	}
	if (ret->kind == SOFT_PROBE_COUNT && *ret->expr)
		return wrong("count takes no expression", ret->expr);
	if (ret->kind != SOFT_PROBE_COUNT && !*ret->expr)
		return wrong("there is no expression", text);
	return NULL;
}

static void put_place(struct buf *b, const struct probe *p)
{
	if (p->kernel)
		buf_printf(b, "%s:", p->kernel);
	if (p->file)
		buf_printf(b, "%s:", p->file);
	buf_printf(b, "%u", p->line);
}

static void put_what(struct buf *b, const struct probe *p)
{
	static const char *const kinds[] = {"count", "hist", "by"};

	buf_printf(b, "%s%s%s", kinds[p->kind], *p->expr ? " " : "", p->expr);
	if (p->condition)
		buf_printf(b, " if %s", p->condition);
}

/* Puts the file before a line that is alone: the one that `list` and `break` take it of. */
static struct err *add_file(struct session *s, char **place)
{
	char *file, *both;

	if (!**place || (*place)[strspn(*place, "0123456789")])
		return NULL;
	TRY(source_default_file(s, &file));
	both = xasprintf("%s:%s", file, *place);
	free(file);
	free(*place);
	*place = both;
	return NULL;
}

struct err *cmd_probe(struct session *s, const struct cmd_args *a)
{
	const size_t n = strcspn(a->rest, " \t");
	char *place = strndup(a->rest, n);
	struct probe p = {0};
	struct buf b = BUF_INIT;
	unsigned id;
	struct err *e;

	BUG_ON(!place);
	e = add_file(s, &place);
	if (!e)
		e = parse_place(place, &p);
	free(place);
	if (!e)
		e = parse_what(a->rest + n + strspn(a->rest + n, " \t"), &p);
	if (e) {
		probe_free(&p);
		return e;
	}
	put_place(&b, &p);
	buf_str(&b, ": ");
	put_what(&b, &p);
	e = probes_add(&s->engine, p, &id);
	if (!e)
		out_printf(s->out, "Probe %u at %s\n", id, buf_cstr(&b));
	buf_free(&b);
	return e;
}

const char cmd_unprobe_help[] =
	"Removes probes, all without a number. What the program has counted so far is forgotten.\n"
	"Example: unprobe 2\n";

struct err *cmd_unprobe(struct session *s, const struct cmd_args *a)
{
	const struct probe *p;
	uint64_t id;

	for (unsigned i = 0; i < a->argc; i++)
		if (!word_u64(a->argv[i], &id) || !probes_remove(&s->engine, (unsigned)id))
			return err_cure(err_new(ERR_NOT_FOUND, "there is no probe %s", a->argv[i]),
				"\"info probes\" lists them");
	while (!a->argc && (p = probes_nth(&s->engine, 0)) != NULL)
		probes_remove(&s->engine, p->id);
	return NULL;
}

/* --- info probes --- */

const char cmd_info_probes_help[] =
	"Shows what the probes have counted: threads of the GPU that passed their lines, and in how many\n"
	"launches there were any. Of a program: of the launches that have ended. In a\n"
	"replay: of all launches of the window, which is executed for it; the replay is then where it\n"
	"was. On a machine's GPU, or with `set probes rewrite on`, code made from the PTX counts. `hist`: threads whose value lies from the first number to below the second.\n"
	"Example: info probes\n";

struct probed_row {
	const struct probe *p;
	const struct soft_probe_result *r;
	char *place, *what;
};

static void bucket_range(unsigned k, char *low, char *high, size_t n)
{
	static const char units[] = " KMGTPE";

	for (unsigned side = 0; side < 2; side++) {
		const unsigned power = k - 2 + side;

		snprintf(side ? high : low, n, "%u%.*s", 1u << power % 10, power >= 10,
			&units[power / 10]);
	}
}

static void put_bar(struct buf *b, const char *what, uint64_t n, uint64_t most)
{
	const unsigned bar = most ? (unsigned)((__uint128_t)n * BAR / most) : 0;

	buf_printf(b, "  %-16s %10" PRIu64 " |", what, n);
	for (unsigned i = 0; i < BAR; i++)
		buf_byte(b, i < bar ? '@' : ' ');
	buf_str(b, "|\n");
}

static void put_hist(struct buf *b, const struct soft_probe_result *r)
{
	unsigned first = SOFT_PROBE_BUCKETS, last = 0;
	uint64_t most = 0;

	for (unsigned k = 0; k < SOFT_PROBE_BUCKETS; k++) {
		if (!r->bucket[k])
			continue;
		first = first < k ? first : k;
		last = k;
		most = r->bucket[k] > most ? r->bucket[k] : most;
	}
	for (unsigned k = first; k <= last && k < SOFT_PROBE_BUCKETS; k++) {
		char low[16], high[16], what[40];

		if (k == 0)
			snprintf(what, sizeof what, "(..., 0)");
		else if (k <= 2)
			snprintf(what, sizeof what, "[%u]", k - 1);
		else {
			bucket_range(k, low, high, sizeof low);
			snprintf(what, sizeof what, "[%s, %s)", low, high);
		}
		put_bar(b, what, r->bucket[k], most);
	}
}

static int by_count(const void *x, const void *y)
{
	const struct soft_probe_key *a = x, *b = y;

	return a->count != b->count ? (a->count < b->count) - (a->count > b->count)
				    : ((int64_t)a->bits > (int64_t)b->bits) -
					      ((int64_t)a->bits < (int64_t)b->bits);
}

static void key_text(const struct soft_probe_result *r, uint64_t bits, char *dst, size_t n)
{
	double f;

	memcpy(&f, &bits, sizeof f);
	if (r->is_float)
		snprintf(dst, n, "%.9g", f);
	else
		snprintf(dst, n, "%" PRId64, (int64_t)bits);
}

static void put_keys(struct buf *b, const struct soft_probe_result *r)
{
	for (unsigned k = 0; k < r->nkeys && k < VALUES_SHOWN; k++) {
		char what[40];

		key_text(r, r->key[k].bits, what, sizeof what);
		put_bar(b, what, r->key[k].count, r->key[0].count);
	}
	if (r->nkeys > VALUES_SHOWN)
		buf_printf(b, "  (%u more values; --json has them)\n", r->nkeys - VALUES_SHOWN);
	if (r->others)
		buf_printf(b, "  %" PRIu64 " thread%s had values beyond the first %d\n", r->others,
			r->others == 1 ? "" : "s", SOFT_PROBE_KEYS);
}

static void probed_text(struct buf *b, const void *row)
{
	const struct probed_row *x = row;
	const struct soft_probe_result *r = x->r;

	buf_printf(b, "Probe %u at %s: %s\n", x->p->id, x->place, x->what);
	if (!r->launches)
		buf_str(b, "  no thread of a launch that has ended\n");
	else
		buf_printf(b, "  %" PRIu64 " thread%s, %" PRIu64 " launch%s\n", r->count,
			r->count == 1 ? "" : "s", r->launches, r->launches == 1 ? "" : "es");
	if (r->unknown)
		buf_printf(b,
			"  %" PRIu64
			" threads were not counted: the expression has no value there\n",
			r->unknown);
	if (x->p->kind == SOFT_PROBE_HIST && r->count)
		put_hist(b, r);
	if (x->p->kind == SOFT_PROBE_BY)
		put_keys(b, r);
}

struct probe_group {
	const char *key;
	uint64_t threads;
};
JS_DEFINE(probe_group_object, "probe_group", probe_group, JS(TEXT, probe_group, key),
	JS(UINT, probe_group, threads));

/* Keys are texts: 64 bits are no JSON numbers. -1 is below 0. */
static void json_groups(struct buf *b, const void *row)
{
	const struct probed_row *x = row;
	const struct soft_probe_result *r = x->r;
	char value[40];

	buf_byte(b, '[');
	for (unsigned k = 0; x->p->kind == SOFT_PROBE_HIST && k < SOFT_PROBE_BUCKETS; k++) {
		if (k < 2)
			snprintf(value, sizeof value, "%s", k ? "0" : "-1");
		else
			snprintf(value, sizeof value, "%" PRIu64, (uint64_t)1 << (k - 2));
		if (r->bucket[k])
			js_add(b, &probe_group_object, &(struct probe_group){value, r->bucket[k]});
	}
	for (unsigned k = 0; x->p->kind == SOFT_PROBE_BY && k < r->nkeys; k++) {
		key_text(r, r->key[k].bits, value, sizeof value);
		js_add(b, &probe_group_object, &(struct probe_group){value, r->key[k].count});
	}
	buf_byte(b, ']');
}

static const char *kind_name(uint64_t v)
{
	static const char *const kinds[] = {"count", "hist", "by"};

	return v < 3 ? kinds[v] : "?";
}

struct probed_shown {
	unsigned id;
	const char *location, *expression, *condition;
	uint64_t kind, launches, threads, uncounted, beyond;
	struct probed_row row;
};
JS_DEFINE(probe_object, "probe", probed_shown, JS(UINT, probed_shown, id),
	JS(TEXT, probed_shown, location),
	{"counts", JS_NAMED, JS_MEMBER(probed_shown, kind), .named = kind_name},
	JS(TEXT, probed_shown, expression, condition),
	JS(UINT, probed_shown, launches, threads, uncounted, beyond),
	JS_BY("groups", probed_shown, row, json_groups, "[probe_group]"));

static void show(struct listing *l, const struct probe *p, struct soft_probe_result *r)
{
	struct buf place = BUF_INIT, what = BUF_INIT;
	struct probed_shown x = {.id = p->id,
		.kind = p->kind,
		.expression = *p->expr ? p->expr : NULL,
		.condition = p->condition,
		.launches = r->launches,
		.threads = r->count,
		.uncounted = r->unknown,
		.beyond = r->others,
		.row = {.p = p, .r = r}};

	qsort(r->key, r->nkeys, sizeof *r->key, by_count);
	put_place(&place, p);
	put_what(&what, p);
	x.location = x.row.place = buf_steal(&place);
	x.row.what = buf_steal(&what);
	if (l->json)
		listing_add(l, &x);
	else
		listing_add(l, &x.row);
	free(x.row.place);
	free(x.row.what);
}

struct err *cmd_info_probes(struct session *s, const struct cmd_args *a)
{
	struct listing l = listing_begin(s, a->json, &probe_object, NULL, probed_text);
	struct soft_probe_result *r;
	const struct probe *p;

	if (!probes_nth(&s->engine, 0)) {
		listing_end(&l, "No probes.\n");
		return NULL;
	}
	TRY(probes_results(&s->engine, s->focus == FOCUS_REPLAY && s->engine.trace.reader, &r));
	for (unsigned i = 0; (p = probes_nth(&s->engine, i)) != NULL; i++)
		show(&l, p, &r[i]);
	listing_end(&l, NULL);
	free(r);
	return NULL;
}
