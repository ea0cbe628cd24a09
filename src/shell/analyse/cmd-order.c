/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program ordered and what it did not: races, order why, order graph. The replay, if one
 * is on, stays where it is.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "order/order.h"
#include "shell/print/shown-names.h"
#include "shell/print/causes.h"
#include "shell/print/drawing.h"
#include "shell/print/listing.h"
#include "engine/exact.h"
#include "engine/races-find.h"
#include "engine/replay-device.h"
#include "shell/print/stack-view.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "base/words.h"
#include "sbt/fields.h"

/* --- races --- */

const char cmd_races_help[] =
	"Lists pairs of commands that touch the same bytes, at least one of them writing, without\n"
	"anything in the program that puts one before the other: stream order, events, the legacy\n"
	"default stream, what the host waited for. CERTAIN: both accesses are known to the byte.\n"
	"Kernels' are, where the trace can be executed on the software GPU: --exact insists on\n"
	"that, --no-exact leaves it. Without either launches that something is not ordered with\n"
	"are executed, within --budget (30s of the replayer's time) and for up to 20,000 commands,\n"
	"one for all that are alike: by their kernel's code they touch the same, or the same by\n"
	"other pointers;\n"
	"Ctrl-C ends that with what is known by then.\n"
	"With --possible also those of kernels of which only the arguments are known.\n"
	"--strict: also what is a race by the letter of the documentation alone: use of what a copy\n"
	"of at most 64 KiB from pageable memory brings, behind its call but not behind the copy.\n"
	"--threads-apart: calls of different host threads are not ordered by when they were made.\n"
	"Each comes with both host stacks and the one call that would order them. The same two\n"
	"places in the program are shown once, with how often they met. With --batch the exit\n"
	"status is 3 when one is certain or likely.\n"
	"Examples: races\n"
	"          races --possible 100-200\n";

#define MORE_MAX 8u /* other places of a cause that are named */

struct races_view {
	struct session *s;
	struct sbt_reader *r;
	struct order_races found;
	char *note; /* what was not made exact; "" */
	enum exact_want want;
	bool possible, json, apart, strict;
	uint64_t first, last;
	uint64_t budget_ns; /* 0: the usual one */
	struct state *names;
};

/* "fill", or a kernel's name. */
static const char *node_name(const struct races_view *v, const struct order_party *p)
{
	const struct sbt_kind_desc *d = sbt_kind(p->kind);
	struct state_kernel k;

	if (p->kernel != SBT_NO_ID && state_kernel_by_id(v->names, p->kernel, &k))
		return kernel_shown_name(v->s, k.name);
	return d ? d->name : "node";
}

static void print_party(
	struct races_view *v, struct buf *b, const struct order_party *p, enum order_unread unread)
{
	static const char *const why[] = {[ORDER_OVERWRITTEN] = "overwrites it",
		[ORDER_FREED] = "frees the memory",
		[ORDER_ENDED] = ", the end of the recording"};

	struct stack st = {0};
	uint32_t stack = 0;
	struct err *e;

	if (p->stream == SBT_NO_ID) {
		buf_printf(b,
			unread ? "    the host may read there, before "
			       : "    the host %s there before ",
			order_how_name(p->how));
		e = shown_cmd(
			&(struct shown_names){v->s, v->names}, v->r, p->seq, false, b, &stack);
		if (unread)
			buf_printf(b, "%s%s: nothing has waited for the copy by then",
				unread == ORDER_ENDED ? "" : " ", why[unread]);
		buf_byte(b, '\n');
		err_free(e);
		return;
	}
	buf_str(b, "    ");
	e = shown_cmd(&(struct shown_names){v->s, v->names}, v->r, p->seq, false, b, &stack);
	if (p->node == SBT_NO_ID)
		buf_printf(b, " %s", order_how_name(p->how));
	buf_byte(b, '\n');
	if (!e)
		e = stack_recorded(v->s, v->r, stack, &st);
	stack_print_brief(b, &st, "      ", 4);
	stack_free(&st);
	err_free(e);
}

static const char *node_why(const struct order_race *r)
{
	if (r->early & ORDER_EARLY_UNKNOWN)
		return "whether it waits is not known";
	if (r->early & ORDER_EARLY_BETWEEN)
		return "other nodes wait for that one, too, and what that means is not documented";
	if (r->early & ORDER_EARLY_QUIET && r->a.seq == r->behind)
		return "without a trigger in that one, they overlap at its very end only, by the letter of the documentation";
	if (r->early & ORDER_EARLY_BEHIND)
		return "a node between them does not wait, and waiting for that one is not enough";
	return "some of its threads touch this memory without having waited";
}

/* Prints why two launches of one stream are not ordered by it. */
static void print_early(struct buf *b, const struct order_race *r)
{
	if (!r->early)
		return;
	if (r->early == ORDER_EARLY_EVENT) {
		buf_str(b,
			"    A launch attribute may have recorded the event that this stream waited for: what that orders is not known\n");
		return;
	}
	if (r->early == ORDER_EARLY_TRIGGER) {
		buf_printf(b,
			"    Stream %u waited for an event that #%" PRIu64
			" records by a launch attribute when it lets others begin, not when it has ended\n",
			r->b.stream, r->a.seq);
		return;
	}
	if (r->early == ORDER_EARLY_VALUE) {
		buf_str(b, "    A stream waited for a value in memory before one of them, and "
			   "which write that was is not known: it may order them\n");
		return;
	}
	if (r->a.node != SBT_NO_ID) {
		buf_printf(b,
			"    A programmatic edge is between them: the later one may begin before the other has finished; %s\n",
			node_why(r));
		return;
	}
	buf_printf(b,
		"    Programmatic dependent launch: #%" PRIu64 " may begin before #%" PRIu64
		" has finished",
		r->b.seq, r->a.seq);
	if (r->early & ORDER_EARLY_UNKNOWN)
		buf_str(b, "; whether it waits is not known");
	else if (r->early & ORDER_EARLY_BETWEEN)
		buf_str(b, "; an event comes between them, and what that means is not documented");
	else if (r->early & ORDER_EARLY_QUIET && r->a.seq == r->behind)
		buf_str(b,
			", by the letter of the documentation: without a trigger in the first, they overlap at its very end only");
	else if (r->a.seq != r->behind && r->early & ORDER_EARLY_BEHIND)
		buf_str(b,
			": a launch between them does not wait, and waiting for that one is not enough");
	else if (r->a.seq != r->behind)
		buf_printf(b,
			": some of its threads touch this memory without having waited, and %s",
			r->early & ORDER_EARLY_LOOSE
				? "a launch between them does not wait either"
				: "it may begin before the launches between them have waited");
	else
		buf_str(b,
			r->early & ORDER_EARLY_CODE
				? ": its code has no wait"
				: ": some of its threads touch this memory without having waited");
	buf_byte(b, '\n');
}

/* Explains the staging of copies, which surprises most users. */
static void print_staged(struct buf *b, const struct order_race *r)
{
	if (!r->staged)
		return;
	buf_printf(b,
		"    A copy from pageable memory returns when its source has been read, not when the device has the bytes: #%" PRIu64
		" may still be on its way.\n",
		r->a.seq);
	if (r->staged == ORDER_STAGED_SMALL)
		buf_str(b,
			"    At most 64 KiB: a race by the letter of the documentation; drivers seen so far finish these first.\n");
}

static void print_race(struct races_view *v, struct buf *b, size_t i)
{
	const struct order_race *r = &v->found.r[i];

	buf_printf(b, "Race %zu (%s): ", i + 1, order_tier_name(r->tier));
	if (r->a.node != SBT_NO_ID)
		buf_printf(b, "nodes %u (%s) and %u (%s) of the graph that #%" PRIu64 " launches",
			r->a.node, node_name(v, &r->a), r->b.node, node_name(v, &r->b), r->a.seq);
	else
		buf_printf(b, "#%" PRIu64 " and #%" PRIu64, r->a.seq, r->b.seq);
	buf_printf(b, " both touch %" PRIu64 " bytes at 0x%" PRIx64, r->size, r->addr);
	if (r->alloc)
		buf_printf(b, " (0x%" PRIx64 "+%" PRIu64 ")", r->alloc, r->addr - r->alloc);
	if (r->count > 1)
		buf_printf(b, ", %" PRIu64 " times", r->count);
	buf_byte(b, '\n');
	print_party(v, b, &r->a, ORDER_NO_COPY);
	if (r->a.node == SBT_NO_ID)
		print_party(v, b, &r->b, r->unread);
	else
		buf_printf(b, "    node %u %s, node %u %s\n", r->a.node, order_how_name(r->a.how),
			r->b.node, order_how_name(r->b.how));
	print_early(b, r);
	print_staged(b, r);
	buf_str(b, "    Cure: ");
	order_race_cure(b, r);
	buf_byte(b, '\n');
}

struct party {
	struct order_party p;
	bool host;
	const char *how, *name; /* name NULL: a whole command */
	struct buf cmd;		/* JSON */
	struct stack stack;
};
JS_DEFINE(party_object, "party", party, JS_IN(UINT, party, p, seq),
	JS_AS("by_host", BOOL, party, host), JS(TEXT, party, how),
	JS_MAYBE("node", ID, party, p.node), JS_MAYBE("name", TEXT, party, name),
	JS_BY("command", party, cmd, js_raw, "command or null"),
	JS_BY("frames", party, stack, stack_json, "[frame]"));

static void party_init(struct party *x, struct races_view *v, const struct order_party *p)
{
	uint32_t stack = 0;
	struct err *e;

	*x = (struct party){*p, p->stream == SBT_NO_ID, order_how_name(p->how),
		p->node == SBT_NO_ID ? NULL : node_name(v, p), BUF_INIT, {0}};
	e = shown_cmd(&(struct shown_names){v->s, v->names}, v->r, p->seq, true, &x->cmd, &stack);
	if (!e)
		e = stack_recorded(v->s, v->r, stack, &x->stack);
	err_free(e);
}

static void party_deinit(struct party *x)
{
	buf_free(&x->cmd);
	stack_free(&x->stack);
}

struct race {
	struct order_race r;
	const char *tier, *cure;
	bool early, staged;
	struct party a, b;
};
JS_DEFINE(race_object, "race", race, JS(TEXT, race, tier), JS_IN(HEX, race, r, addr),
	JS_IN(UINT, race, r, size), JS_AS("allocation", HEX, race, r.alloc),
	JS_IN(UINT, race, r, count), JS(BOOL, race, early, staged),
	JS_OF("a", OBJECT, race, a, party_object), JS_OF("b", OBJECT, race, b, party_object),
	JS(TEXT, race, cure));

static void json_race(struct races_view *v, struct buf *b, const struct order_race *r)
{
	struct race race = {*r, order_tier_name(r->tier), .early = r->early & ~ORDER_EARLY_VALUE,
		.staged = r->staged};
	struct buf cure = BUF_INIT;

	order_race_cure(&cure, r);
	race.cure = buf_cstr(&cure);
	party_init(&race.a, v, &r->a);
	party_init(&race.b, v, &r->b);
	js_add(b, &race_object, &race);
	party_deinit(&race.a);
	party_deinit(&race.b);
	buf_free(&cure);
}

static size_t shown(const struct races_view *v)
{
	size_t n = 0;

	while (n < v->found.n && (v->possible || v->found.r[n].tier != ORDER_POSSIBLE))
		n++;
	return n;
}

static void show_json(struct races_view *v)
{
	struct buf b = BUF_INIT;

	buf_byte(&b, '[');
	for (size_t i = 0; i < shown(v); i++)
		json_race(v, &b, &v->found.r[i]);
	buf_str(&b, "]\n");
	out_str(v->s->out, buf_cstr(&b));
	buf_free(&b);
}

static bool same_pair(const struct order_race *x, const struct order_race *y)
{
	return x->a.seq == y->a.seq && x->b.seq == y->b.seq;
}

/* Prints each cause with its first race, and the numbers of the others. Returns how many causes
 * there are. */
static size_t print_by_cause(struct races_view *v, struct buf *b, size_t n)
{
	size_t *cause = causes_find(v->s, v->r, v->found.r, n), causes = 0;

	for (size_t i = 0; i < n; i++) {
		size_t more = 0, told = i;

		if (cause[i] != i)
			continue;
		causes++;
		print_race(v, b, i);
		for (size_t k = i + 1; k < n; k++) {
			if (cause[k] != i || same_pair(&v->found.r[k], &v->found.r[i]) ||
				same_pair(&v->found.r[k], &v->found.r[told]))
				continue;
			told = k;
			if (more < MORE_MAX)
				buf_printf(b, "%s#%" PRIu64 " and #%" PRIu64,
					more ? ", " : "    Also, between the same functions: ",
					v->found.r[k].a.seq, v->found.r[k].b.seq);
			more++;
		}
		if (more > MORE_MAX)
			buf_printf(b, ", and %zu more", more - MORE_MAX);
		if (more)
			buf_byte(b, '\n');
	}
	free(cause);
	return causes;
}

static void show_text(struct races_view *v)
{
	const size_t n = shown(v);
	struct buf b = BUF_INIT;
	size_t causes;

	causes = print_by_cause(v, &b, n);
	buf_printf(&b, n ? "%zu race%s" : "No races", n, n == 1 ? "" : "s");
	if (causes < n)
		buf_printf(&b, " of %zu cause%s", causes, causes == 1 ? "" : "s");
	buf_printf(&b, " in %" PRIu64 " command%s.", v->found.commands,
		v->found.commands == 1 ? "" : "s");
	if (n < v->found.n)
		buf_printf(&b, " %zu more %s possible (races --possible).", v->found.n - n,
			v->found.n - n == 1 ? "is" : "are");
	if (v->found.more)
		buf_printf(&b, " %" PRIu64 " more meetings are left out.", v->found.more);
	if (v->found.unknown)
		buf_printf(&b, " Of %" PRIu64 " command%s nobody knows what they touch.",
			v->found.unknown, v->found.unknown == 1 ? "" : "s");
	if (v->found.coarse)
		buf_printf(&b,
			" %" PRIu64 " allocation%s touched in too many places to keep apart.",
			v->found.coarse, v->found.coarse == 1 ? " was" : "s were");
	buf_byte(&b, '\n');
	if (v->found.early_unknown)
		buf_printf(&b,
			"%" PRIu64 " of %" PRIu64
			" programmatic dependent launch%s may begin before the launch in front has finished: whether they wait for it "
			"(griddepcontrol.wait) before they touch memory is not known, so nothing is certain about them.\n",
			v->found.early_unknown, v->found.early, v->found.early == 1 ? "" : "es");
	if (v->found.by_attribute)
		buf_printf(&b,
			"%" PRIu64
			" launch%s an event by an attribute (programmatic event, launch completion event): what waiting for it orders is not known, so "
			"nothing is certain behind such a wait.\n",
			v->found.by_attribute,
			v->found.by_attribute == 1 ? " records" : "es record");
	if (v->found.early_edges)
		buf_printf(&b,
			"%" PRIu64
			" pair%s of nodes with nothing but a programmatic edge between them touch the same memory: whether the later one waits "
			"(griddepcontrol.wait) is not known.\n",
			v->found.early_edges, v->found.early_edges == 1 ? "" : "s");
	if (*v->note)
		buf_printf(&b, "%s\n", v->note);
	out_str(v->s->out, buf_cstr(&b));
	buf_free(&b);
}

/* Parses a range of commands. */
static struct err *a_range(const char *w, uint64_t *ret_first, uint64_t *ret_last)
{
	if (word_range(w, ret_first, ret_last))
		return NULL;
	return err_cure(err_new(ERR_USAGE, "\"%s\" is no range of commands", w),
		"Ranges are like 100-200, 100- or 143");
}

static struct err *no_option(const char *w)
{
	if (!strncmp(w, "--on", 4) || !strncmp(w, "--gpu", 5))
		return err_cure(err_new(ERR_USAGE, "races takes no %s", w),
			"What kernels touch is found on the software GPU, whatever the trace was recorded on");
	return err_cure(err_new(ERR_USAGE, "races has no option %s", w),
		"It has --possible, --exact, --no-exact, --budget TIME, --strict, --threads-apart and --json");
}

/* Parses argv[*i] and its value. */
static struct err *races_word(struct races_view *v, int argc, char *const *argv, int *i)
{
	const char *w = argv[*i];

	if (!strcmp(w, "--budget")) {
		if (++*i < argc && word_duration(argv[*i], &v->budget_ns) && v->budget_ns)
			return NULL;
		return err_cure(err_new(ERR_USAGE, "--budget takes a time"), "Use --budget 30s");
	}
	if (!strcmp(w, "--possible"))
		v->possible = true;
	else if (!strcmp(w, "--threads-apart"))
		v->apart = true;
	else if (!strcmp(w, "--strict"))
		v->strict = true;
	else if (!strcmp(w, "--exact"))
		v->want = EXACT_MUST;
	else if (!strcmp(w, "--no-exact"))
		v->want = EXACT_NEVER;
	else if (!strcmp(w, "--json"))
		v->json = true;
	else if (*w == '-' && !isdigit((unsigned char)w[1]))
		return no_option(w);
	else
		return a_range(w, &v->first, &v->last);
	return NULL;
}

static struct err *races(struct races_view *v, bool *ret_found)
{
	const struct races_ask ask = {.want = v->want,
		.first = v->first,
		.last = v->last,
		.budget_ns = v->budget_ns,
		.threads_apart = v->apart,
		.strict = v->strict};
	struct err *e = races_find(&v->found, &v->note, &v->s->engine, &ask);

	if (!e)
		e = state_at(&v->names, v->r, sbt_reader_last_seq(v->r));
	if (!e)
		(v->json ? show_json : show_text)(v);
	/* sorted: the most certain first */
	*ret_found = !e && v->found.n && v->found.r[0].tier != ORDER_POSSIBLE;
	order_races_free(&v->found);
	free(v->note);
	state_free(v->names);
	return e;
}

struct err *cmd_races(struct session *s, const struct cmd_args *a)
{
	struct races_view v = {.s = s, .r = s->engine.trace.reader, .json = a->json};
	bool found = false;

	for (int i = 0; i < (int)a->argc; i++)
		TRY(races_word(&v, (int)a->argc, a->argv, &i));
	TRY(races(&v, &found));
	if (found && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	return NULL;
}

/* --- tsdb races FILE --- */

static struct err *races_of_file(struct races_view *v, int argc, char **argv, bool *ret_found)
{
	const char *file = NULL;

	for (int i = 0; i < argc; i++) {
		if (argv[i][0] == '-' || (file && argv[i][0] >= '0' && argv[i][0] <= '9'))
			TRY(races_word(v, argc, argv, &i));
		else if (!file)
			file = argv[i];
		else
			return err_cure(
				err_new(ERR_USAGE, "one file at a time, not also %s", argv[i]),
				"Use: tsdb races FILE [RANGE] [--possible] [--exact | --no-exact | --budget TIME] [--strict] [--threads-apart] [--json]");
	}
	if (!file)
		return err_cure(err_new(ERR_USAGE, "no trace was named"),
			"Use: tsdb races FILE [RANGE] [--possible] [--exact | --no-exact | --budget TIME] [--strict] [--threads-apart] [--json]");
	TRY(trace_open(v->s, file));
	v->r = v->s->engine.trace.reader;
	return races(v, ret_found);
}

int tool_races(struct session *s, int argc, char **argv)
{
	struct races_view v = {.s = s};
	bool found = false;
	struct err *e = races_of_file(&v, argc, argv, &found);

	if (e) {
		out_error(s->out, e);
		return 1;
	}
	return found ? REPLAY_STATUS_DIFFERS : 0;
}

/* --- order --- */

const char cmd_order_why_help[] =
	"Explains why command A is finished before command B begins, whatever the timing: the\n"
	"steps from A to B, each with the call that makes it. When there are none, it says what B\n"
	"does wait for of A's stream. Exit status of a script is not changed by the answer.\n"
	"Example: order why 201 214\n";

static struct err *two_seqs(const struct cmd_args *a, uint64_t *ret_a, uint64_t *ret_b)
{
	if (a->argc == 2 && word_u64(a->argv[0], ret_a) && word_u64(a->argv[1], ret_b))
		return NULL;
	return err_cure(err_new(ERR_USAGE, "two commands are needed"),
		"Use: order why A B, with numbers as in #201");
}

struct order_answer {
	uint64_t before_seq, after_seq;
	bool turned;	       /* the user named them the other way round */
	bool ordered;	       /* the first is finished before the second begins */
	struct err *unordered; /* why not; NULL if they are */
	struct order_step *path;
	size_t n;
	struct state *names;
	struct sbt_reader *r;
	struct session *s;
};

static void put_step(struct buf *b, const struct order_answer *w, uint64_t seq, bool json)
{
	uint32_t stack;
	struct err *e =
		shown_cmd(&(struct shown_names){w->s, w->names}, w->r, seq, json, b, &stack);

	if (e && !json)
		buf_printf(b, "#%" PRIu64, seq);
	err_free(e);
}

static void why_text(struct buf *b, const void *answer)
{
	const struct order_answer *w = answer;

	if (w->turned)
		buf_printf(b, "(#%" PRIu64 " was called first.)\n",
			w->before_seq < w->after_seq ? w->before_seq : w->after_seq);
	if (!w->ordered) {
		buf_printf(b, "No order: %s.\n", w->unordered->what);
		return;
	}
	buf_printf(b, "#%" PRIu64 " is always finished before #%" PRIu64 " begins:\n  %-21s ",
		w->before_seq, w->after_seq, "");
	put_step(b, w, w->before_seq, false);
	for (size_t i = 0; i < w->n; i++) {
		buf_printf(b, "\n  %-21s ", order_edge_name(w->path[i].edge));
		put_step(b, w, w->path[i].to, false);
		if (w->path[i].skipped)
			buf_printf(b, " (%" PRIu64 " between)", w->path[i].skipped);
	}
	buf_byte(b, '\n');
}

struct path_step {
	const char *edge;
	uint64_t seq, skipped;
	struct buf cmd; /* JSON */
};
JS_DEFINE(path_step_object, "path_step", path_step, JS(TEXT, path_step, edge),
	JS(UINT, path_step, seq, skipped),
	JS_BY("command", path_step, cmd, js_raw, "command or null"));

static void put_path(struct buf *out, const void *path)
{
	const struct order_answer *w =
		(const void *)((const char *)path - offsetof(struct order_answer, path));

	buf_byte(out, '[');
	for (size_t i = 0; i < w->n; i++) {
		const struct order_step *step = &w->path[i];
		struct path_step row = {
			order_edge_name(step->edge), step->to, step->skipped, BUF_INIT};

		put_step(&row.cmd, w, step->to, true);
		js_add(out, &path_step_object, &row);
		buf_free(&row.cmd);
	}
	buf_byte(out, ']');
}

static void put_unordered(struct buf *out, const void *error)
{
	const struct err *const *e = error;

	js_text(out, *e ? (*e)->what : NULL);
}

JS_DEFINE(why_object, "order_why", order_answer, JS(UINT, order_answer, before_seq, after_seq),
	JS(BOOL, order_answer, ordered),
	JS_BY("text", order_answer, unordered, put_unordered, "text or null"),
	JS_BY("path", order_answer, path, put_path, "[path_step]"));

/* Finds the path, or why there is none. */
static struct err *find_path(const struct order *o, struct order_answer *w)
{
	struct err *e = order_path(o, w->before_seq, w->after_seq, &w->path, &w->n);

	w->ordered = !e;
	if (e && e->code == ERR_NOT_FOUND) {
		w->unordered = e;
		return NULL;
	}
	TRY(e);
	return state_at(&w->names, w->r, sbt_reader_last_seq(w->r));
}

/* Whether commands up to last have programmatic dependent launches among them. */
static struct err *has_early(struct session *s, uint64_t last, bool *ret)
{
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;
	struct err *e;

	*ret = false;
	TRY(sbt_cursor_open(&cursor, s->engine.trace.reader));
	do {
		e = sbt_cursor_next(cursor, &c);
		*ret = !e && c && c->seq <= last && early_is(c);
	} while (!e && c && c->seq < last && !*ret);
	sbt_cursor_close(cursor);
	return e;
}

/* Opens the graph up to command last. If there are programmatic dependent launches, it finds out
 * whether they wait, where possible. */
static struct err *open_graph(struct session *s, uint64_t last, struct order **ret)
{
	struct order_options opt = {.last = last, .strict = true, .interrupt = s->engine.cancel};
	struct exact *exact = NULL;
	struct err *e;
	bool early;

	TRY(has_early(s, last, &early));
	if (early)
		TRY(exact_open(&exact, &s->engine, EXACT_AUTO, 0, last));
	opt.source = exact ? exact_source(exact) : NULL;
	e = order_open(ret, s->engine.trace.reader, &opt);
	exact_free(exact);
	return e;
}

/* The later command may come first, behind a wait for a value that a command behind both may write:
 * reverses the pair and replaces *o. */
static struct err *turn_round(struct session *s, struct order **o, uint64_t *from, uint64_t *to)
{
	struct order *all;

	if (order_before(*o, *from, *to))
		return NULL;
	struct err *e = open_graph(s, sbt_reader_last_seq(s->engine.trace.reader), &all);
	if (e && e->code == ERR_LIMIT) {
		err_free(e);
		return NULL;
	}
	TRY(e);
	if (order_before(all, *to, *from)) {
		const uint64_t was = *from;

		*from = *to;
		*to = was;
	}
	order_close(*o);
	*o = all;
	return NULL;
}

static struct err *is_in_trace(struct session *s, uint64_t seq)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	bool found = false;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, s->engine.trace.reader));
	e = sbt_cursor_seek(cursor, seq);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	found = !e && c && c->seq == seq;
	sbt_cursor_close(cursor);
	TRY(e);
	return found ? NULL
		     : err_cure(err_new(ERR_NOT_FOUND, "the trace has no #%" PRIu64, seq),
			       "It has #%" PRIu64 " to #%" PRIu64,
			       sbt_reader_first_seq(s->engine.trace.reader),
			       sbt_reader_last_seq(s->engine.trace.reader));
}

struct err *cmd_order_why(struct session *s, const struct cmd_args *a)
{
	struct order_answer w = {.r = s->engine.trace.reader, .s = s};
	struct order *o;
	uint64_t from, to;
	struct err *e;

	TRY(two_seqs(a, &from, &to));
	TRY(is_in_trace(s, from));
	TRY(is_in_trace(s, to));
	if (from == to)
		return err_cure(err_new(ERR_USAGE, "#%" PRIu64 " is one command", from),
			"Order is between two");
	TRY(open_graph(s, from > to ? from : to, &o));
	w.turned = from > to;
	w.before_seq = w.turned ? to : from;
	w.after_seq = w.turned ? from : to;
	e = turn_round(s, &o, &w.before_seq, &w.after_seq);
	if (!e)
		e = find_path(o, &w);
	if (!e)
		listing_one(s, a->json, &why_object, why_text, &w);
	state_free(w.names);
	free(w.path);
	err_free(w.unordered);
	order_close(o);
	return e;
}

const char cmd_order_graph_help[] =
	"Writes the happens-before graph of the commands of RANGE (all, without) to FILE: a row\n"
	"for each stream, an arrow for each edge. A file that ends in .svg, .png or .pdf is drawn\n"
	"by Graphviz's dot, any other one is its input.\n"
	"Example: order graph -o window.svg 100-200\n";

struct labels {
	struct session *s;
	struct state *names;
};

static void label(void *arg, struct buf *out, uint64_t seq)
{
	const struct labels *l = arg;
	uint32_t stack;
	struct err *e = shown_cmd(&(struct shown_names){l->s, l->names}, l->s->engine.trace.reader,
		seq, false, out, &stack);

	if (e)
		buf_printf(out, "#%" PRIu64, seq);
	err_free(e);
}

static struct err *graph_options(
	const struct cmd_args *a, const char **ret_path, struct order_options *o)
{
	for (unsigned i = 0; i < a->argc; i++) {
		if (!strcmp(a->argv[i], "-o") && i + 1 < a->argc)
			*ret_path = a->argv[++i];
		else
			TRY(a_range(a->argv[i], &o->first, &o->last));
	}
	if (!*ret_path)
		return err_cure(err_new(ERR_USAGE, "no file was named"),
			"Use: order graph -o FILE.dot|FILE.svg [RANGE]");
	return NULL;
}

struct err *cmd_order_graph(struct session *s, const struct cmd_args *a)
{
	struct order_options opt = {.strict = true, .interrupt = s->engine.cancel};
	struct labels l = {.s = s};
	struct buf dot = BUF_INIT;
	const char *path = NULL;
	struct order *o;
	struct err *e;

	TRY(graph_options(a, &path, &opt));
	TRY(order_open(&o, s->engine.trace.reader, &opt));
	e = state_at(&l.names, s->engine.trace.reader, sbt_reader_last_seq(s->engine.trace.reader));
	if (!e)
		e = order_dot(&dot, o, label, &l);
	if (!e)
		e = drawing_write(path, &dot);
	if (!e)
		out_printf(s->out, "%s\n", path);
	buf_free(&dot);
	state_free(l.names);
	order_close(o);
	return e;
}
