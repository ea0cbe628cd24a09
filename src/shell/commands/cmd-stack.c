/* SPDX-License-Identifier: Apache-2.0
 *
 * Host threads and stacks: backtrace, frame, up, down, thread, info threads, info locals, info
 * sharedlibrary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "attach/attach.h"
#include "engine/breakpoints.h"
#include "shell/print/kernel-text.h"
#include "shell/print/listing.h"
#include "shell/print/stack-view.h"
#include "shell/source/source-view.h"
#include "shell/values/kernel-source.h"
#include "shell/values/value-text.h"
#include "shell/values/program.h"
#include "base/words.h"
#include "state/state.h"

/* --- backtrace --- */

const char cmd_backtrace_help[] =
	"Shows the host call stack: of the selected thread of the stopped program, or the\n"
	"recorded one of the command that the replay is at. Inside a launch (`replay enter`), the\n"
	"frames of the focused GPU thread come first. N: only the N innermost frames,\n"
	"-N: the outermost. `full` shows the variables of each frame (live programs).\n"
	"Of a Python program (CPython 3.11 to 3.13) it shows the Python functions in place of the\n"
	"interpreter's own frames: `python` shows nothing else, `native` everything else.\n"
	"Examples: bt\n"
	"          bt python 5\n"
	"          bt full -3\n";

struct bt {
	bool full;
	enum stack_only only;
	int64_t limit; /* 0: all; negative: outermost */
};

static struct err *parse_bt(const struct cmd_args *a, struct bt *ret)
{
	*ret = (struct bt){0};
	for (unsigned i = 0; i < a->argc; i++) {
		const char *w = a->argv[i];
		uint64_t v;

		if (!strncmp("full", w, strlen(w)) && *w)
			ret->full = true;
		else if (!strncmp("python", w, strlen(w)) && *w)
			ret->only = STACK_PYTHON;
		else if (!strncmp("native", w, strlen(w)) && *w)
			ret->only = STACK_NATIVE;
		else if (word_u64(w + (*w == '-'), &v) && v && v < INT32_MAX)
			ret->limit = *w == '-' ? -(int64_t)v : (int64_t)v;
		else
			return err_cure(err_new(ERR_USAGE, "backtrace has no \"%s\"", w),
				"Use \"bt\", \"bt 10\", \"bt -3\", \"bt full\", \"bt python\" or \"bt native\"");
	}
	return NULL;
}

static void print_locals(struct session *s, const struct stack *st, unsigned i, struct buf *b)
{
	struct buf lines = BUF_INIT;
	const char *p;
	struct err *e;

	if ((st->recorded && !st->frames[i].device) || st->frames[i].python)
		return;
	e = st->frames[i].device ? kernel_print_variables(s, st->frames[i].number, &lines)
				 : program_print_locals(s, st->frames[i].number, &lines);
	if (e) {
		err_free(e);
		buf_free(&lines);
		return;
	}
	for (p = buf_cstr(&lines); *p;) {
		int n = (int)strcspn(p, "\n");

		buf_printf(b, "        %.*s\n", n, p);
		p += n;
		p += *p == '\n';
	}
	buf_free(&lines);
}

static void print_stack(struct session *s, const struct stack *st, const struct bt *bt)
{
	unsigned first = 0, end = st->n;

	if (bt->limit > 0 && bt->limit < (int64_t)end)
		end = (unsigned)bt->limit;
	if (bt->limit < 0 && -bt->limit < (int64_t)end)
		first = end - (unsigned)-bt->limit;
	for (unsigned i = first; i < end; i++) {
		struct buf b = BUF_INIT;

		stack_print_frame(&b, st, i);
		buf_byte(&b, '\n');
		if (bt->full)
			print_locals(s, st, i, &b);
		out_str(s->out, buf_cstr(&b));
		buf_free(&b);
	}
	if (end < st->n)
		out_printf(s->out, "(%u more frame%s)\n", st->n - end, st->n - end == 1 ? "" : "s");
	if (!st->n)
		out_str(s->out, "No stack.\n");
}

struct err *cmd_backtrace(struct session *s, const struct cmd_args *a)
{
	struct stack st;
	struct buf b = BUF_INIT;
	struct bt bt;

	TRY(parse_bt(a, &bt));
	TRY(stack_get(s, bt.only, &st));
	if (a->json) {
		stack_json(&b, &st);
		out_printf(s->out, "%s\n", buf_cstr(&b));
		buf_free(&b);
	} else {
		print_stack(s, &st, &bt);
	}
	stack_free(&st);
	return NULL;
}

/* --- frames --- */

static unsigned selected(const struct session *s)
{
	return kernel_stop(s) ? kernel_frame_selected(s) : s->engine.live.frame;
}

static void set_selected(struct session *s, unsigned i)
{
	if (kernel_stop(s))
		kernel_frame_select(s, i);
	else
		s->engine.live.frame = i;
}

static struct err *select_frame(struct session *s, int64_t i, bool json)
{
	struct stack st;
	struct buf b = BUF_INIT;
	struct err *e = NULL;

	TRY(stack_get(s, STACK_MIXED, &st));
	if (i < 0 || i >= (int64_t)st.n) {
		e = err_cure(i < 0 ? err_new(ERR_NOT_FOUND, "this is the innermost frame")
				   : err_new(ERR_NOT_FOUND, "the stack has %u frame%s", st.n,
					     st.n == 1 ? "" : "s"),
			"\"bt\" shows %s", st.n == 1 ? "it" : "them");
	} else {
		set_selected(s, (unsigned)i);
		if (json)
			stack_json_frame(&b, &st, (unsigned)i);
		else
			stack_print_frame(&b, &st, (unsigned)i);
		out_printf(s->out, "%s\n", buf_cstr(&b));
		if (st.frames[i].sym.file && st.frames[i].sym.line && !json)
			source_tell(s, &(struct source_place){st.frames[i].sym.file,
					       st.frames[i].sym.folder, st.frames[i].sym.line});
	}
	buf_free(&b);
	stack_free(&st);
	return e;
}

static struct err *frame_count(const struct cmd_args *a, uint64_t none, uint64_t *ret)
{
	*ret = none;
	if (a->argc && (a->argc > 1 || !word_u64(a->argv[0], ret) || *ret > INT32_MAX))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no frame", a->rest),
			"\"bt\" shows their numbers");
	return NULL;
}

const char cmd_frame_help[] =
	"Selects stack frame N (without N: the selected one stays) and shows it.\n"
	"Example: frame 2\n";

struct err *cmd_frame(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(frame_count(a, selected(s), &n));
	return select_frame(s, (int64_t)n, a->json);
}

const char cmd_up_help[] = "Selects the frame that called the selected one, or N frames out.\n"
			   "Examples: up\n"
			   "          up 2\n";

struct err *cmd_up(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(frame_count(a, 1, &n));
	return select_frame(s, (int64_t)selected(s) + (int64_t)n, a->json);
}

const char cmd_down_help[] = "Selects the frame that the selected one called, or N frames in.\n"
			     "Example: down\n";

struct err *cmd_down(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(frame_count(a, 1, &n));
	return select_frame(s, (int64_t)selected(s) - (int64_t)n, a->json);
}

const char cmd_info_locals_help[] =
	"Shows the variables and arguments of the selected stack frame, as far as the program's debug information tells.\n"
	"Inside a launch (`replay enter`): those of the GPU thread, if the kernel was built with `nvcc -G`.\n"
	"Example: info locals\n";

struct err *cmd_info_locals(struct session *s, const struct cmd_args *a)
{
	const unsigned at = s->engine.live.frame;
	struct listing l = listing_begin(s, a->json, &shown_value_object, NULL, shown_value_text);
	bool known = false;
	struct stack st;
	struct err *e;

	if (kernel_stop(s))
		return kernel_tell_variables(s, 0, a->json);
	if (!s->engine.live.inf)
		return err_cure(err_new(ERR_STATE, "the program is not being run"),
			s->engine.trace.replay
				? "Inside a launch, a replay on the software GPU has variables: \"replay enter\""
				: "Use \"run\"");
	TRY(stack_of_thread(s, s->engine.live.tid, &st));
	if (at < st.n && st.frames[at].python)
		e = err_new(ERR_UNSUPPORTED,
			"frame %u is a Python function; its variables are not shown", at);
	else
		e = program_list_locals(s, at < st.n ? st.frames[at].number : at, &l, &known);
	stack_free(&st);
	if (!e)
		listing_end(&l, known ? "No locals.\n" : "No symbol table info available.\n");
	else
		buf_free(&l.b);
	return e;
}

/* --- threads --- */

const char cmd_info_threads_help[] =
	"Lists host threads: * marks the selected one; GPU is the thread's number in the order\n"
	"of first GPU calls. tsdb's own threads in the program are not listed. In a replay: the\n"
	"threads that made GPU calls.\n"
	"Example: info threads\n";

/* The next thread from *i on that the user's numbers count: the agent's do not, unless the stop is
 * in one. *i is then behind it. */
static bool next_thread(struct session *s, unsigned *i, struct inferior_thread *ret)
{
	while (inferior_thread(s->engine.live.inf, (*i)++, ret))
		if (!ret->agents || ret->tid == s->engine.live.tid)
			return true;
	return false;
}

static bool thread_of_number(struct session *s, uint64_t number, struct inferior_thread *ret)
{
	for (unsigned i = 0; next_thread(s, &i, ret);)
		if (!--number)
			return true;
	return false;
}

static void thread_top(struct session *s, pid_t tid, struct buf *b)
{
	struct stack st;
	struct err *e = stack_of_thread(s, tid, &st);

	if (e) {
		err_free(e);
		return;
	}
	if (st.n)
		stack_print_frame(b, &st, 0);
	stack_free(&st);
}

struct host_thread {
	unsigned number;
	bool selected;
	struct inferior_thread of;
};
JS_DEFINE(host_thread_object, "host_thread", host_thread, JS(UINT, host_thread, number),
	JS_IN(UINT, host_thread, of, tid, thread), JS(BOOL, host_thread, selected),
	JS_IN(CHARS, host_thread, of, name));

static void print_thread(
	struct session *s, unsigned i, const struct inferior_thread *t, bool json, struct buf *b)
{
	bool selected = t->tid == s->engine.live.tid;

	if (json) {
		js_add(b, &host_thread_object, &(struct host_thread){i + 1, selected, *t});
		return;
	}
	buf_printf(b, "%c %-4u %-8d ", selected ? '*' : ' ', i + 1, (int)t->tid);
	if (t->thread)
		buf_printf(b, "%-4u", t->thread);
	else
		buf_str(b, "-   ");
	buf_printf(b, " %-16s ", t->name);
	thread_top(s, t->tid, b);
	buf_byte(b, '\n');
}

struct err *cmd_info_threads(struct session *s, const struct cmd_args *a)
{
	struct inferior_thread t;
	struct buf b = BUF_INIT;
	const struct state *st;

	if (s->focus == FOCUS_REPLAY || !s->engine.live.inf) {
		TRY(session_state(s, &st));
		if (a->json)
			state_json(&b, st, STATE_VIEW_THREADS);
		else
			state_print(&b, st, STATE_VIEW_THREADS, out_table_columns());
		if (b.len && b.data[b.len - 1] != '\n')
			buf_byte(&b, '\n');
	} else {
		buf_str(&b, a->json ? "[" : "  Id   Tid      GPU  Name             Frame\n");
		for (unsigned n = 0, i = 0; next_thread(s, &i, &t); n++)
			print_thread(s, n, &t, a->json, &b);
		if (a->json)
			buf_str(&b, "]\n");
	}
	if (a->json)
		out_str(s->out, buf_cstr(&b));
	else
		out_table(s->out, &b);
	buf_free(&b);
	return NULL;
}

const char cmd_thread_help[] =
	"Selects a host thread for `bt` and `frame`; `info threads` shows the numbers. `thread\n"
	"apply all COMMAND` runs a command for each, `thread apply 1 3-5 COMMAND` for some.\n"
	"Without words: says which one is selected.\n"
	"Example: thread apply all bt 5\n";

/* How many of the first words name threads: "all", or numbers and ranges. */
static unsigned count_thread_words(char *const *words, unsigned n)
{
	uint64_t first, last;
	unsigned i = 0;

	if (n && !strcmp(words[0], "all"))
		return 1;
	while (i < n && word_range(words[i], &first, &last))
		i++;
	return i;
}

static bool names_thread(char *const *words, unsigned n, unsigned id)
{
	uint64_t first, last;

	for (unsigned i = 0; i < n; i++) {
		if (!word_range(words[i], &first, &last) || (first <= id && id <= last))
			return true;
	}
	return false;
}

/* words: "all" or numbers, then the command. */
static struct err *apply(struct session *s, char *const *words, unsigned nwords)
{
	unsigned n = count_thread_words(words, nwords), frame = s->engine.live.frame, applied = 0;
	pid_t was = s->engine.live.tid;
	struct inferior_thread t;
	struct err *e = NULL;
	char *line;

	if (!n || n == nwords)
		return err_cure(err_new(ERR_USAGE, "thread apply needs threads and a command"),
			"For example: thread apply all bt 5");
	line = words_join(words + n, nwords - n);
	for (unsigned i = 0, number = 1; !e && s->engine.live.inf && next_thread(s, &i, &t);
		number++) {
		if (!names_thread(words, n, number))
			continue;
		applied++;
		s->engine.live.tid = t.tid;
		s->engine.live.frame = 0;
		out_style(s->out, STYLE_HEADER, "Thread %u (tid %d, %s):", number, (int)t.tid,
			t.name);
		out_str(s->out, "\n");
		e = session_execute(s, line);
	}
	s->engine.live.tid = was;
	s->engine.live.frame = frame;
	free(line);
	if (!e && !applied)
		e = err_cure(err_new(ERR_NOT_FOUND, "there is no thread %s", words[0]),
			"\"info threads\" lists them");
	return e;
}

struct err *cmd_thread(struct session *s, const struct cmd_args *a)
{
	struct inferior_thread t;
	uint64_t n;

	if (kernel_stop(s) || (a->argc && *a->argv[0] == '('))
		return kernel_focus(s, "thread", a->argc, a->argv);
	if (!s->engine.live.inf && s->engine.trace.replay)
		return err_cure(
			err_new(ERR_STATE,
				"a replay has no thread to select: its stacks are those of the commands"),
			"\"info threads\" lists the threads that made them");
	if (!s->engine.live.inf)
		return err_cure(err_new(ERR_STATE, "the program is not being run"), "Use \"run\"");
	if (a->argc && !strcmp(a->argv[0], "apply"))
		return apply(s, a->argv + 1, a->argc - 1);
	if (!a->argc) {
		for (unsigned number = 1, i = 0; next_thread(s, &i, &t); number++) {
			if (t.tid == s->engine.live.tid)
				out_printf(s->out, "Thread %u (tid %d, %s)\n", number, (int)t.tid,
					t.name);
		}
		return NULL;
	}
	if (a->argc != 1 || !word_u64(a->argv[0], &n) || !n || n > UINT32_MAX ||
		!thread_of_number(s, n, &t))
		return err_cure(err_new(ERR_NOT_FOUND, "there is no thread %s", a->rest),
			"\"info threads\" lists them");
	s->engine.live.tid = t.tid;
	s->engine.live.frame = 0;
	out_printf(s->out, "Thread %u (tid %d, %s)\n", (unsigned)n, (int)t.tid, t.name);
	return select_frame(s, 0, false);
}

/* --- libraries --- */

const char cmd_info_sharedlibrary_help[] =
	"Lists the ELF files mapped into the program, and whether they have symbols and line numbers.\n"
	"Example: info sharedlibrary\n";

JS_DEFINE(library_object, "library", inferior_library, JS(HEX, inferior_library, start, end),
	JS_AS("symbols", BOOL, inferior_library, has_symbols),
	JS_AS("lines", BOOL, inferior_library, has_lines),
	JS_AS("file", TEXT, inferior_library, path));

static void library_text(struct buf *b, const void *row)
{
	const struct inferior_library *l = row;

	buf_printf(b, "0x%016" PRIx64 " 0x%016" PRIx64 " %-7s %-5s %s\n", l->start, l->end,
		l->has_symbols ? "Yes" : "No", l->has_lines ? "Yes" : "No", l->path);
}

struct err *cmd_info_sharedlibrary(struct session *s, const struct cmd_args *a)
{
	struct listing list = listing_begin(s, a->json, &library_object,
		"From               To                 Symbols Lines File\n", library_text);
	struct inferior_library l;

	for (unsigned i = 0; inferior_library(s->engine.live.inf, i, &l); i++)
		listing_add(&list, &l);
	listing_end(&list, NULL);
	return NULL;
}
