/* SPDX-License-Identifier: Apache-2.0
 *
 * The breakpoint table, see breakpoints.h. Surprise: an ignore count of a breakpoint on several
 * kinds cannot be counted by the agent (each kind has its own slot), so tsdb counts it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "engine/breakpoints.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

struct breakpoints {
	struct breakpoint **v;
	unsigned n;
	int next_id;
	char *pending;
	bool silent;		   /* the stop at the last breakpoint is not reported */
	int owner[TSDB_BREAK_MAX]; /* breakpoint id of each slot; 0: free */
};

struct breakpoints *breakpoints_new(void)
{
	struct breakpoints *b = xcalloc(1, sizeof *b);

	b->next_id = 1;
	return b;
}

static void breakpoint_free(struct breakpoint *bp)
{
	free(bp->what);
	free(bp->glob);
	free(bp->file);
	free(bp->from);
	free(bp->cond);
	free(bp->commands);
	free(bp->message);
	free(bp->nan);
	free(bp);
}

void breakpoints_free(struct breakpoints *b)
{
	for (unsigned i = 0; i < b->n; i++)
		breakpoint_free(b->v[i]);
	free(b->v);
	free(b->pending);
	free(b);
}

/* --- making --- */

static uint64_t kinds_of_class(const char *name)
{
	static const char *const classes[] = {"work", "object", "host", "note"};
	uint64_t mask = 0;

	for (unsigned c = 0; c < sizeof classes / sizeof *classes; c++) {
		if (strcmp(classes[c], name))
			continue;
		for (unsigned k = 1; k < SBT_KIND_END; k++) {
			const struct sbt_kind_desc *d = sbt_kind(k);

			if (d && d->cls == (enum sbt_class)c)
				mask |= 1ull << k;
		}
	}
	return mask;
}

_Static_assert(SBT_KIND_END <= 64, "kinds fit a mask");

/* The kind for which a condition is compiled: the only one, or any. */
static unsigned only_kind(const struct breakpoint *bp)
{
	return bp->kinds && !(bp->kinds & (bp->kinds - 1)) ? (unsigned)__builtin_ctzll(bp->kinds)
							   : 0;
}

struct err *breakpoints_condition(struct breakpoint *bp, const char *expr)
{
	struct sbt_expr compiled;
	char why[256];

	memset(&compiled, 0, sizeof compiled);
	if (expr && *expr && !bp->line &&
		!sbt_expr_compile(&compiled, only_kind(bp), expr, why, sizeof why))
		return err_cure(
			err_new(ERR_USAGE, "the condition \"%s\" does not compile: %s", expr, why),
			"\"help expressions\" has the grammar and the fields");
	free(bp->cond);
	bp->cond = expr && *expr ? xstrdup(expr) : NULL;
	bp->expr = compiled;
	return NULL;
}

struct err *breakpoints_condition_shown(struct breakpoint *bp, const char *expr, const char *shown)
{
	TRY(breakpoints_condition(bp, expr));
	if (bp->cond) {
		free(bp->cond);
		bp->cond = xstrdup(shown);
	}
	return NULL;
}

/* Splits "WHAT if EXPR"; what is the heap string to cut. "WHAT if" gives an empty condition. */
static char *cut_condition(char *what)
{
	char *p = !strncmp(what, "if ", 3) ? what : strstr(what, " if ");
	size_t n = strlen(what);

	if (!p && n > 3 && !strcmp(what + n - 3, " if")) {
		what[n - 3] = 0;
		return what + n;
	}
	if (!p)
		return NULL;
	*p = 0;
	return p + (p == what ? 3 : 4);
}

static char *trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && strchr(" \t", text[n - 1]))
		text[--n] = 0;
	return text;
}

static struct err *set_kernel(struct breakpoint *bp, const char *glob)
{
	if (!*glob)
		return err_cure(err_new(ERR_USAGE, "no kernel is named"),
			"Use \"break kernel NAME\"; it may have * and ?");
	if (strlen(glob) >= TSDB_GLOB_MAX)
		return err_new(
			ERR_LIMIT, "a kernel pattern has at most %u characters", TSDB_GLOB_MAX - 1);
	bp->glob = xstrdup(glob);
	bp->kinds = 1ull << SBT_LAUNCH;
	bp->what = xasprintf("kernel %s", glob);
	return NULL;
}

/* Takes the quotation marks off a name that has them on both sides. */
static char *unquoted(char *text)
{
	const size_t n = strlen(text);

	if (n < 2 || !strchr("\"'", text[0]) || text[n - 1] != text[0])
		return text;
	text[n - 1] = 0;
	return text + 1;
}

static struct err *set_mark(struct breakpoint *bp, const char *word, const char *glob)
{
	if (!*glob)
		return err_cure(err_new(ERR_USAGE, "no name of a mark is given"),
			"Use \"break %s NAME\"; * and ? may stand in it", word);
	if (strlen(glob) >= TSDB_GLOB_MAX)
		return err_new(ERR_LIMIT, "a pattern has at most %u characters", TSDB_GLOB_MAX - 1);
	bp->glob = xstrdup(glob);
	bp->kinds = 1ull << SBT_MARK;
	bp->what = xasprintf("%s %s", word, glob);
	return NULL;
}

/* The last colon that is not part of a "::". */
static char *last_colon(char *text)
{
	for (char *p = text + strlen(text); p-- > text;)
		if (*p == ':' && (p == text || p[-1] != ':') && p[1] != ':')
			return p;
	return NULL;
}

/* Parses "KERNEL:LINE", "KERNEL:FILE:LINE", "FILE:LINE" or "LINE"; LINE may be "+OFFSET". */
static struct err *set_code(struct breakpoint *bp, const char *word, char *text)
{
	char *colon = last_colon(text), *kernel = text, *file = NULL;
	const char *number = colon ? colon + 1 : text;
	uint64_t line;

	bp->is_offset = *number == '+';
	if (!word_u64(number + bp->is_offset, &line) || line >= INT32_MAX ||
		(!line && !bp->is_offset))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no line of a kernel", text),
			"Use \"break %s KERNEL:LINE\" with a line that \"disassemble\" shows, or \"break %s KERNEL:FILE:LINE\"",
			word, word);
	bp->what = xasprintf("%s %s", word, text);
	if (!colon)
		kernel = NULL;
	else
		*colon = 0;
	colon = kernel ? last_colon(kernel) : NULL;
	if (colon) {
		*colon = 0;
		file = colon + 1;
	} else if (kernel && strchr(kernel, '.')) {
		file = kernel;
		kernel = NULL;
	}
	bp->glob = xstrdup(kernel && *kernel ? kernel : "*");
	bp->file = file && *file ? xstrdup(file) : NULL;
	bp->kinds = 1ull << SBT_LAUNCH;
	bp->line = (unsigned)line + bp->is_offset;
	return NULL;
}

/* Parses "FUNCTION" or "FILE:LINE". */
static struct err *set_from(struct breakpoint *bp, char *text)
{
	char *colon = last_colon(text);
	uint64_t line = 0;

	if (!*text || colon == text)
		return err_cure(err_new(ERR_USAGE, "no function is named"),
			"Use \"break from FUNCTION\" or \"break from FILE:LINE\"");
	bp->what = xasprintf("from %s", text);
	if (colon && word_u64(colon + 1, &line) && line && line <= INT32_MAX)
		*colon = 0;
	bp->from = xstrdup(text);
	bp->from_line = line <= INT32_MAX ? (unsigned)line : 0;
	return NULL;
}

static struct err *set_seq(struct breakpoint *bp, const char *word)
{
	char cond[40] = "";
	uint64_t seq;

	if (!word_u64(word, &seq))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no command number", word),
			"Use \"break seq 143\"");
	bp->what = xstrdup("command");
	snprintf(cond, sizeof cond, "seq == %llu", (unsigned long long)seq);
	return breakpoints_condition(bp, cond);
}

/* Sets where a breakpoint stops, from the text before "if". */
static struct err *set_what(struct breakpoint *bp, char *text)
{
	unsigned kind;

	text = trim(text);
	if (!strncmp(text, "kernel", 6) && strchr(" \t", text[6]))
		return set_kernel(bp, trim(text + 6));
	if (!strncmp(text, "nvtx", 4) && strchr(" \t", text[4]))
		return set_mark(bp, "nvtx", unquoted(trim(text + 4)));
	if (!strncmp(text, "mark", 4) && text[4] && strchr(" \t", text[4]))
		return set_mark(bp, "mark", unquoted(trim(text + 4)));
	if (!strncmp(text, "ptx", 3) && strchr(" \t", text[3]))
		return set_code(bp, "ptx", trim(text + 3));
	if (!strncmp(text, "code", 4) && strchr(" \t", text[4]))
		return set_code(bp, "code", trim(text + 4));
	if (!strncmp(text, "from", 4) && strchr(" \t", text[4]))
		return set_from(bp, trim(text + 4));
	if (!strncmp(text, "seq ", 4))
		return set_seq(bp, trim(text + 4));
	if (*text == '#')
		return set_seq(bp, text);
	if (!*text || !strcmp(text, "command") || !strcmp(text, "any")) {
		bp->what = xstrdup("command");
		return NULL;
	}
	kind = sbt_kind_by_name(text);
	bp->kinds = kind ? 1ull << kind : kinds_of_class(text);
	if (!bp->kinds && strpbrk(text, " \t"))
		return err_cure(err_new(ERR_USAGE, "cannot break at \"%s\"", text),
			"Use \"break kernel GLOB [if EXPR]\", or a kind such as copy, fill, alloc, sync; see \"help break\"");
	if (!bp->kinds)
		return set_kernel(bp, text);
	bp->what = xstrdup(text);
	return NULL;
}

static void add(struct breakpoints *b, struct breakpoint *bp)
{
	bp->id = b->next_id++;
	bp->enabled = true;
	b->v = xrealloc(b->v, (b->n + 1) * sizeof *b->v);
	b->v[b->n++] = bp;
}

struct err *breakpoints_add(
	struct breakpoints *b, const char *spec, bool temporary, struct breakpoint **ret)
{
	struct breakpoint *bp = xcalloc(1, sizeof *bp);
	char *text = xstrdup(spec), *cond = cut_condition(text);
	struct err *e;

	if (!*trim(text) && !cond) {
		free(text);
		breakpoint_free(bp);
		return err_cure(err_new(ERR_USAGE, "break needs to know where"),
			"Use \"break kernel GLOB [if EXPR]\" or \"break copy\"; see \"help break\"");
	}
	e = set_what(bp, text);
	if (!e && cond && bp->cond)
		e = err_new(ERR_USAGE, "\"break seq N\" takes no condition");
	if (!e && cond && !*trim(cond))
		e = err_cure(err_new(ERR_USAGE, "nothing stands behind \"if\""),
			"For example: break kernel matmul if grid_x > 64");
	if (!e && cond)
		e = breakpoints_condition(bp, trim(cond));
	free(text);
	if (e) {
		breakpoint_free(bp);
		return e;
	}
	bp->temporary = temporary;
	add(b, bp);
	*ret = bp;
	return NULL;
}

static const char *const watch_words[] = {"watch", "rwatch", "awatch", "watch --nan"};

struct breakpoint *breakpoints_add_watch(
	struct breakpoints *b, enum watch_on on, uint64_t addr, uint64_t size)
{
	struct breakpoint *bp = xcalloc(1, sizeof *bp);

	bp->addr = addr;
	bp->size = size;
	bp->watch = on;
	bp->what = xasprintf("%s 0x%" PRIx64 " len %" PRIu64, watch_words[on], addr, size);
	add(b, bp);
	return bp;
}

struct breakpoint *breakpoints_add_nan(
	struct breakpoints *b, uint64_t addr, uint64_t size, struct nan_list *list)
{
	struct breakpoint *bp =
		breakpoints_add_watch(b, WATCH_NAN, size ? addr : 0, size ? size : UINT64_MAX);

	bp->nan = list;
	if (!size) {
		free(bp->what);
		bp->what = xstrdup(watch_words[WATCH_NAN]);
	}
	return bp;
}

struct breakpoint *breakpoints_add_watch_in(struct breakpoints *b, enum watch_on on, unsigned space,
	const char *name, uint64_t addr, uint64_t size)
{
	struct breakpoint *bp = breakpoints_add_watch(b, on, addr, size);

	free(bp->what);
	bp->what =
		xasprintf("%s @%s 0x%" PRIx64 " len %" PRIu64, watch_words[on], name, addr, size);
	bp->space = space;
	return bp;
}

struct breakpoint *breakpoints_by_id(struct breakpoints *b, int id)
{
	for (unsigned i = 0; i < b->n; i++) {
		if (b->v[i]->id == id)
			return b->v[i];
	}
	return NULL;
}

struct breakpoint *breakpoints_nth(struct breakpoints *b, unsigned i)
{
	return i < b->n ? b->v[i] : NULL;
}

int breakpoints_last_id(const struct breakpoints *b)
{
	return b->next_id - 1;
}

void breakpoints_delete(struct breakpoints *b, struct breakpoint *bp)
{
	for (unsigned i = 0; i < b->n; i++) {
		if (b->v[i] != bp)
			continue;
		memmove(&b->v[i], &b->v[i + 1], (b->n - i - 1) * sizeof *b->v);
		b->n--;
		breakpoint_free(bp);
		return;
	}
	BUG("a breakpoint that is not in the table");
}

/* --- where the host made a command --- */

/* The qualified name in a demangled one, without what it returns, takes and is made from. */
static char *plain_name(const char *name)
{
	size_t begin = 0, end = 0, open = 0;
	unsigned depth = 0;
	char *plain;

	for (; name[end]; end++) {
		const char c = name[end];

		if (c == '(' && !depth && strncmp(name + end, "(anonymous", 10) != 0)
			break;
		if (c == '<' && !depth)
			open = end;
		depth += c == '(' || c == '<';
		depth -= depth && (c == ')' || c == '>');
		if (c == ' ' && !depth)
			begin = end + 1;
	}
	if (end > begin && name[end - 1] == '>' && open > begin)
		end = open;
	plain = strndup(name + begin, end - begin);
	BUG_ON(!plain);
	return plain;
}

static bool is_in_function(const struct breakpoint *bp, const struct backtrace_frame *f)
{
	char *plain;
	bool yes;

	if (!f->sym.function)
		return false;
	if (f->python)
		return sbt_python_is(SBT_PY_STACK, bp->from, true, f->sym.function);
	plain = plain_name(f->sym.function);
	yes = sbt_kernel_glob(bp->from, f->sym.function, plain);
	free(plain);
	return yes;
}

bool breakpoint_is_from(const struct breakpoint *bp, const struct stack *st)
{
	for (unsigned i = 0; i < st->n; i++) {
		const struct symbol *y = &st->frames[i].sym;

		if (bp->from_line ? y->file && y->line == bp->from_line &&
					    sbt_python_is(SBT_PY_FILE, bp->from, false, y->file)
				  : is_in_function(bp, &st->frames[i]))
			return true;
	}
	return false;
}

/* --- the live program --- */

const char *breakpoint_message_values(const struct breakpoint *bp)
{
	const char *p = bp->message + (*bp->message == '"');

	while (*p && *p != '"')
		p += 1 + (*p == '\\' && p[1]);
	p += *p == '"';
	p += strspn(p, " \t");
	p += *p == ',';
	return p + strspn(p, " \t");
}

bool breakpoint_is_in_kernel(const struct breakpoint *bp)
{
	return bp->line && bp->message;
}

bool breakpoint_is_live(const struct breakpoint *bp)
{
	return !bp->size && !breakpoint_is_in_kernel(bp) && (!bp->line || (bp->file && !bp->cond));
}

/* Whether tsdb, not the agent, knows what counts as a hit. */
static bool is_for_tsdb(const struct breakpoint *bp)
{
	return bp->from != NULL;
}

static unsigned slots_needed(const struct breakpoint *bp)
{
	return bp->kinds ? (unsigned)__builtin_popcountll(bp->kinds) : 1;
}

static void fill_slot(struct tsdb_break *slot, const struct breakpoint *bp, unsigned kind)
{
	slot->id = bp->id;
	slot->kind = kind;
	slot->temporary = bp->temporary && !is_for_tsdb(bp);
	atomic_store_explicit(&slot->ignore,
		slots_needed(bp) == 1 && !is_for_tsdb(bp) ? bp->ignore : 0, memory_order_relaxed);
	atomic_store_explicit(&slot->hits, 0, memory_order_relaxed);
	memset(slot->glob, 0, sizeof slot->glob);
	if (bp->glob)
		strcpy(slot->glob, bp->glob); /* bounded by set_kernel */
	slot->cond = bp->expr;
	atomic_store_explicit(&slot->enabled, 1, memory_order_release);
}

/* Gives the next slots to one breakpoint; returns how many are then used. */
static unsigned arm_one(
	struct breakpoints *b, struct tsdb_control *ctl, const struct breakpoint *bp, unsigned used)
{
	for (unsigned k = 0; k < SBT_KIND_END; k++) {
		if (bp->kinds ? !(bp->kinds >> k & 1) : k != 0)
			continue;
		b->owner[used] = bp->id;
		fill_slot(&ctl->brk[used++], bp, k);
	}
	return used;
}

struct err *breakpoints_arm(struct breakpoints *b, struct tsdb_control *ctl)
{
	unsigned used = 0;
	struct err *e = NULL;

	breakpoints_collect(b, ctl);
	for (unsigned i = 0; i < TSDB_BREAK_MAX; i++) {
		atomic_store_explicit(&ctl->brk[i].enabled, 0, memory_order_relaxed);
		b->owner[i] = 0;
	}
	for (unsigned i = 0; i < b->n; i++) {
		if (!b->v[i]->enabled || !breakpoint_is_live(b->v[i]))
			continue;
		if (used + slots_needed(b->v[i]) > TSDB_BREAK_MAX) {
			e = err_cure(
				err_new(ERR_LIMIT,
					"more than %u command kinds have breakpoints; breakpoint %d is off",
					TSDB_BREAK_MAX, b->v[i]->id),
				"Delete or disable some");
			break;
		}
		used = arm_one(b, ctl, b->v[i], used);
	}
	atomic_store_explicit(&ctl->breaks, used, memory_order_release);
	return e;
}

void breakpoints_collect(struct breakpoints *b, struct tsdb_control *ctl)
{
	if (!ctl)
		return;
	for (unsigned i = 0; i < TSDB_BREAK_MAX; i++) {
		struct breakpoint *bp = b->owner[i] ? breakpoints_by_id(b, b->owner[i]) : NULL;

		if (!bp || is_for_tsdb(bp))
			continue;
		bp->hits += atomic_exchange_explicit(&ctl->brk[i].hits, 0, memory_order_relaxed);
		if (slots_needed(bp) == 1)
			bp->ignore =
				atomic_load_explicit(&ctl->brk[i].ignore, memory_order_relaxed);
	}
}

void breakpoints_forget_slots(struct breakpoints *b)
{
	memset(b->owner, 0, sizeof b->owner);
}

void breakpoints_reset(struct breakpoints *b)
{
	breakpoints_forget_slots(b);
	for (unsigned i = 0; i < b->n; i++)
		b->v[i]->hits = b->v[i]->left_out = 0;
}

/* As the first of a breakpoint's commands it suppresses the report of its stops. */
#define SILENT "silent\n"

bool breakpoints_silent(const struct breakpoints *b)
{
	return b->silent;
}

struct breakpoint *breakpoints_in_slot(struct breakpoints *b, unsigned slot)
{
	return b->owner[slot] ? breakpoints_by_id(b, b->owner[slot]) : NULL;
}

/* Counts a hit; returns false if it is to be ignored. */
static bool count_hit(struct breakpoint *bp, bool counted)
{
	if (is_for_tsdb(bp))
		counted = false;
	if (!counted)
		bp->hits++;
	if (!bp->ignore || (counted && slots_needed(bp) == 1))
		return true;
	bp->ignore--;
	return false;
}

static bool is_silent(const struct breakpoint *bp)
{
	return bp->commands && !strncmp(bp->commands, SILENT, strlen(SILENT));
}

/* Makes the commands of bp follow those that are pending. */
static void add_pending(struct breakpoints *b, const struct breakpoint *bp)
{
	const char *more =
		bp->commands ? bp->commands + (is_silent(bp) ? strlen(SILENT) : 0) : NULL;
	char *both;

	if (!more)
		return;
	both = xasprintf("%s%s", b->pending ? b->pending : "", more);
	free(b->pending);
	b->pending = both;
}

void breakpoints_say(struct breakpoints *b, int id, bool counted,
	void (*say)(void *arg, struct breakpoint *bp), void *arg)
{
	struct breakpoint *bp = breakpoints_by_id(b, id);

	if (bp && count_hit(bp, counted) && say)
		say(arg, bp);
}

bool breakpoints_hit_also(struct breakpoints *b, int id, bool counted)
{
	struct breakpoint *bp = breakpoints_by_id(b, id);

	if (!bp || !count_hit(bp, counted))
		return false;
	b->silent = b->silent && is_silent(bp);
	add_pending(b, bp);
	if (bp->temporary)
		breakpoints_delete(b, bp);
	return true;
}

bool breakpoints_hit(struct breakpoints *b, int id, bool counted)
{
	struct breakpoint *bp = breakpoints_by_id(b, id);

	b->silent = false;
	if (!bp)
		return true;
	if (!count_hit(bp, counted))
		return false;
	free(b->pending);
	b->pending = NULL;
	b->silent = is_silent(bp);
	add_pending(b, bp);
	if (bp->temporary)
		breakpoints_delete(b, bp);
	return true;
}

char *breakpoints_take_pending(struct breakpoints *b)
{
	char *p = b->pending;

	b->pending = NULL;
	return p;
}

struct replay_breakpoint *breakpoints_for_replay(struct breakpoints *b, bool nodes, unsigned *ret_n)
{
	struct replay_breakpoint *v = xcalloc(b->n ? b->n * (size_t)SBT_KIND_END : 1, sizeof *v);
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		const struct breakpoint *bp = b->v[i];

		for (unsigned k = 0; bp->enabled && !bp->size && k < SBT_KIND_END; k++) {
			if (bp->kinds ? !(bp->kinds >> k & 1) : k != 0)
				continue;
			v[n++] = (struct replay_breakpoint){.id = bp->id,
				.kind = k,
				.glob = bp->glob,
				.cond = bp->expr,
				.nodes = nodes && k == SBT_LAUNCH && bp->glob && !bp->line};
		}
	}
	*ret_n = n;
	return v;
}

void breakpoints_replay_from(struct replay_breakpoint *v, unsigned n, struct breakpoints *b,
	bool (*from)(void *arg, int id, uint32_t stack), void *arg)
{
	for (unsigned i = 0; i < n; i++) {
		const struct breakpoint *bp = breakpoints_by_id(b, v[i].id);

		if (!bp || !bp->from)
			continue;
		v[i].from = from;
		v[i].from_arg = arg;
	}
}

bool breakpoint_watches_touches(const struct breakpoint *bp)
{
	return bp->enabled && bp->size && !bp->space &&
	       (bp->watch == WATCH_READS || bp->watch == WATCH_TOUCHES);
}

bool breakpoints_watch_touches(struct breakpoints *b)
{
	for (unsigned i = 0; i < b->n; i++)
		if (breakpoint_watches_touches(b->v[i]))
			return true;
	return false;
}

struct replay_watchpoint *breakpoints_watches(struct breakpoints *b, unsigned *ret_n)
{
	struct replay_watchpoint *v = xcalloc(b->n ? b->n : 1, sizeof *v);
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		if (b->v[i]->enabled && b->v[i]->size && !b->v[i]->space && !b->v[i]->watch)
			v[n++] = (struct replay_watchpoint){
				.id = b->v[i]->id, .addr = b->v[i]->addr, .size = b->v[i]->size};
	}
	*ret_n = n;
	return v;
}
