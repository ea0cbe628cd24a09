/* SPDX-License-Identifier: Apache-2.0
 *
 * help, apropos, history, shell, pwd, cd, doctor, quit.
 */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attach/attach.h"
#include "shell/line/editor.h"
#include "shell/print/listing.h"
#include "shell/line/gdb-words.h"
#include "shell/live/gpu.h"
#include "shell/live/process.h"
#include "shell/tools/tools.h"
#include "shell/tui/tui.h"
#include "shell/script/defined.h"
#include "shell/values/vars.h"
#include "base/words.h"
#include "sbt/fields.h"

/* --- help --- */

const char cmd_help_help[] =
	"Without a word: the commands in classes; `help data` lists one class. `help COMMAND` says what one does, `help info`\n"
	"lists what is below a command of several words. `help expressions`, `help fields\n"
	"[KIND]` and `help kinds` are about conditions and print. `help gdb`: what is called\n"
	"otherwise here than in gdb.\n"
	"Examples: help break\n"
	"          help fields launch\n";

static const char expressions_help[] =
	"Conditions of breakpoints are evaluated inside the program, so they are simple: C's\n"
	"operators over 64-bit integers and doubles: || && | ^ & == != < <= > >= << >> + - * / %\n"
	"! ~ ( ), decimal and 0x numbers, 0.5, suffixes K M G (powers of 1024); division by 0 is 0.\n"
	"Names are fields of the command (`help fields launch`), those that every command has\n"
	"(seq, thread, ctx, result, ...), arguments arg0, arg1, ... of a launch, read as\n"
	"arg0.f32 .f64 .s8 .s16 .s32 .s64 .u8 .u16 .u32 .u64, arg1[8].f32 from byte 8 on, and\n"
	"enumeration names (h2d, pinned, stream). At launches also the names of the kernel's\n"
	"arguments, where `info args` knows them: lr, p.radius, w[1]; a field of the same name\n"
	"comes first, adam::stream is the argument of the kernel adam. In conditions, a field that a command does not have is 0.\n"
	"Conditions can ask which Python functions the command was called from: pyfunc, pyfile and\n"
	"pyline are the innermost one's, pystack is any on the stack; == and != compare with a text\n"
	"(a name or the end of a qualified one, a path or its end), =~ and !~ with a glob.\n"
	"`print pyfunc` and its like show them, alone.\n"
	"`print`, `x`, `set` and their like take the same names and all of C: types as in C and gdb\n"
	"(1 / 2 is 0, 1 / 2.0 is 0.5, 1 / 0 is an error), ?:, sizeof, casts, characters, texts,\n"
	"assignments to $n and, in a replay, to memory, {TYPE}ADDRESS, *PTR, PTR[i], x@n for n of\n"
	"them; $cmd (all fields), $n (variables), $1, $, $$, $$3 (values shown before).\n"
	"In a live program a name first means a variable of the selected frame, innermost block\n"
	"first (where the frame has no debug information, of the nearest one further out that\n"
	"has), then one of the program's own, then a field; types are the program's, too:\n"
	"*(struct point *)p, sizeof(struct point). $cmd.n is always the field. At a launch, live\n"
	"and in a replay, arguments of the kernel come before all of these; one that the host\n"
	"has a different variable of the same name for is refused: $args.n or adam::n is the\n"
	"argument.\n"
	"Examples: block_x > 256 && stream == 2\n"
	"          dir == h2d && size >= 1M\n"
	"          arg3.f32 < 0.5\n"
	"          lr > 0.5 && p.radius == 3\n"
	"          print *(float *)arg0@8\n"
	"          print head->next->value\n"
	"          pyfunc == \"forward\" && pyfile == \"model.py\"\n";

static void put_folded(struct session *s, const char *text, unsigned column);

static void help_kinds(struct session *s)
{
	static const char *const classes[] = {"work", "object", "host", "note"};

	for (unsigned k = 1; k < SBT_KIND_END; k++) {
		const struct sbt_kind_desc *d = sbt_kind(k);

		if (d)
			out_printf(s->out, "%-18s %-7s %s\n", d->name, classes[d->cls], d->help);
	}
}

static void help_gdb(struct session *s)
{
	struct buf absent = BUF_INIT;

	out_str(s->out, "Commands of gdb that are called otherwise here, or are not here:\n");
	for (const struct gdb_word *w = gdb_words; w->word; w++) {
		out_printf(s->out, "  %-16s ", w->word);
		put_folded(s, w->here, 19);
	}
	out_str(s->out, "Without a counterpart:\n  ");
	for (unsigned i = 0; gdb_absent[i]; i++) {
		buf_printf(&absent, "%s%s", i ? ", " : "", gdb_absent[i]);
	}
	buf_str(&absent, "\n");
	put_folded(s, buf_cstr(&absent), 2);
	buf_free(&absent);
}

static void print_fields(struct session *s, const struct sbt_field *f)
{
	for (; f->name; f++)
		out_printf(s->out, "  %-16s %s\n", f->name, f->help);
}

static struct err *help_fields(struct session *s, const char *name)
{
	unsigned kind = *name ? sbt_kind_by_name(name) : SBT_LAUNCH;

	if (!kind)
		return err_cure(err_new(ERR_NOT_FOUND, "there is no command kind \"%s\"", name),
			"\"help kinds\" lists them");
	out_printf(s->out, "Fields of %s:\n", sbt_kind(kind)->name);
	print_fields(s, sbt_kind(kind)->fields);
	out_str(s->out, "Fields of every command:\n");
	print_fields(s, sbt_common_fields);
	return NULL;
}

/* The column where a folded line goes on: below its first word, or below the text behind two blanks
 * (" --on soft the software GPU"). */
static unsigned hanging(const char *line, size_t n, unsigned columns)
{
	size_t at = strspn(line, " "), gap;

	for (gap = at; gap + 2 < n && gap < columns / 2; gap++) {
		if (at && line[gap] == ' ' && line[gap + 1] == ' ')
			return (unsigned)(gap + strspn(line + gap, " "));
	}
	return (unsigned)at;
}

/* Whether a line continues the sentence of the line before it, which was folded at that
 * indentation. */
static bool goes_on(const char *line, unsigned indent)
{
	return strspn(line, " ") == indent && line[indent] && line[indent] != '\n' &&
	       strncmp(line + indent, "Example", 7) != 0;
}

/* Prints lines of text, folded between words if the screen is narrower; column: where the first
 * line begins. */
static void put_folded(struct session *s, const char *text, unsigned column)
{
	unsigned columns, indent = column;
	bool first = !column, blank = false; /* blank: owed before the next word */

	columns = out_columns();
	while (*text) {
		size_t n = strcspn(text, "\n"), cut;
		bool folded = false;

		if (first)
			indent = hanging(text, n, columns);
		while (column + blank + n > columns && indent < columns / 2) {
			for (cut = columns > column + blank ? columns - column - blank : 0;
				cut && text[cut] != ' '; cut--)
				;
			if ((!cut && column <= indent) || (!folded && first && cut < indent))
				break; /* a word that is longer than the screen */
			out_printf(s->out, "%s%.*s\n%*s", blank && cut ? " " : "", (int)cut, text,
				(int)indent, "");
			text += cut + !!cut;
			n -= cut + !!cut;
			column = indent;
			blank = false;
			folded = true;
		}
		out_printf(s->out, "%s%.*s", blank ? " " : "", (int)n, text);
		column += blank + (unsigned)n;
		text += n + (text[n] == '\n');
		first = !((folded || !first) && goes_on(text, indent));
		if (first) {
			out_str(s->out, "\n");
			column = 0;
		} else {
			text += indent;
		}
		blank = !first;
	}
}

static void help_row(struct session *s, const struct command *c)
{
	const size_t n = strlen(c->name);

	out_printf(s->out, "  ");
	out_style(s->out, STYLE_NAME, "%-24s", c->name);
	out_str(s->out, " ");
	put_folded(s, c->doc, 3 + (n > 24 ? (unsigned)n : 24));
}

static unsigned help_group(struct session *s, enum group g)
{
	unsigned n, shown = 0;
	const struct command *all = defined_table(s, &n);

	for (unsigned i = 0; i < n; i++) {
		if (all[i].group != g || all[i].flags & (CMD_PREFIX | CMD_UNLISTED))
			continue;
		if (!shown++) {
			out_style(s->out, STYLE_HEADER, "%s", command_group_title(g));
			out_str(s->out, "\n");
		}
		help_row(s, &all[i]);
	}
	return shown;
}

static void help_groups(struct session *s)
{
	for (int g = 0; g < GROUP_END; g++) {
		help_group(s, (enum group)g);
	}
	out_style(s->out, STYLE_HEADER, "In the system's shell");
	out_str(s->out, "\n");
	for (const struct tool *t = tools; t->name; t++) {
		out_str(s->out, "  ");
		out_style(s->out, STYLE_NAME, "tsdb %-19s", t->name);
		out_str(s->out, " ");
		put_folded(s, t->doc, 27);
	}
	out_str(s->out, "\n");
	put_folded(s,
		"Type \"help COMMAND\" for more on one, \"help CLASS\" for one of these lists: running, breakpoints, capturing, replaying, kernels, status, data, stack, files, support, scripts, user-defined. Commands may be abbreviated as long as they stay unique.\n",
		0);
}

static void help_prefix(struct session *s, const struct command *c)
{
	size_t n = strlen(c->name);
	unsigned nall;
	const struct command *all = defined_table(s, &nall);

	out_printf(s->out, "%s.\n", c->doc);
	for (unsigned i = 0; i < nall; i++) {
		if (!strncmp(all[i].name, c->name, n) && all[i].name[n] == ' ')
			help_row(s, &all[i]);
	}
}

static void help_command(struct session *s, const struct command *c)
{
	if (c->flags & CMD_PREFIX) {
		help_prefix(s, c);
		return;
	}
	if (c->group == GROUP_USER && !c->stands_for && defined_text(s, c->name)) {
		out_str(s->out, defined_text(s, c->name));
		return;
	}
	out_style(s->out, STYLE_HEADER, "%s%s%s", c->name, *c->usage ? " " : "", c->usage);
	out_printf(s->out, "\n%s.\n\n", c->doc);
	if (c->group == GROUP_USER && !c->stands_for)
		out_printf(s->out, "`show user %s` shows its lines.\n", c->name);
	put_folded(s, c->help, 0);
	if (*c->aliases)
		out_printf(s->out, "Short: %s\n", c->aliases);
}

/* Prints the help of a tool, which is run from the system's shell. */
static void help_tool(struct session *s, const struct tool *t)
{
	struct buf b = BUF_INIT;

	out_printf(s->out, "In the system's shell (here: `shell tsdb %s ...`):\n", t->name);
	tool_usage(t, &b);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}

struct err *cmd_help(struct session *s, const struct cmd_args *a)
{
	const struct command *c;
	const char *rest;
	struct err *e, *gdb;

	if (!*a->rest) {
		help_groups(s);
		return NULL;
	}
	if (!strncmp("expressions", a->rest, strlen(a->rest)) && strlen(a->rest) > 2) {
		put_folded(s, expressions_help, 0);
		return NULL;
	}
	for (int g = 0; g < GROUP_END; g++) {
		if (!strcmp(command_group_name((enum group)g), a->rest)) {
			if (!help_group(s, (enum group)g))
				out_str(s->out, "There are none.\n");
			return NULL;
		}
	}
	if (!strcmp(a->rest, "gdb")) {
		help_gdb(s);
		return NULL;
	}
	if (!strcmp(a->rest, "kinds")) {
		help_kinds(s);
		return NULL;
	}
	if (!strncmp(a->rest, "fields", 6) && (!a->rest[6] || a->rest[6] == ' '))
		return help_fields(s, a->rest + 6 + strspn(a->rest + 6, " \t"));
	e = defined_lookup(s, a->rest, &c, &rest);
	if (e && tool_find(a->rest)) {
		err_free(e);
		help_tool(s, tool_find(a->rest));
		return NULL;
	}
	if (!e) {
		help_command(s, c);
		return NULL;
	}
	gdb = gdb_word_error(a->rest);
	err_free(gdb ? e : NULL);
	return gdb ? gdb : e;
}

/* --- apropos --- */

const char cmd_apropos_help[] =
	"Lists commands and settings whose name or help has the word in it. With --json and no\n"
	"word it lists them all.\n"
	"Example: apropos stream\n";

struct topic {
	const char *before, *name, *usage, *doc;
	bool in_system_shell, is_setting;
};
JS_DEFINE(topic_object, "topic", topic, JS(TEXT, topic, name, usage, doc),
	JS(BOOL, topic, in_system_shell, is_setting));

static void topic_text(struct buf *out, const void *row)
{
	const struct topic *t = row;

	buf_printf(out, "%s%s -- %s%s\n", t->before, t->name, t->doc,
		t->in_system_shell ? " (in the system's shell)" : "");
}

/* Adds the settings that have to do with text. */
static void apropos_settings(struct listing *l, const struct setting_list *list, const char *text)
{
	for (unsigned i = 0; i < list->n; i++) {
		const struct setting_desc *d = &list->desc[i];

		if (strcasestr(d->name, text) || strcasestr(d->doc, text))
			listing_add(l, &(struct topic){"set ", d->name, NULL, d->doc, false, true});
	}
}

/* Adds all commands, tools and settings that have to do with text; "": all that there are. */
static void add_topics(struct session *s, struct listing *l, const char *text)
{
	struct settings *sets[SESSION_SETS];
	unsigned n;
	const struct command *all = defined_table(s, &n);

	for (unsigned i = 0; i < n; i++) {
		const struct command *c = &all[i];

		if (strcasestr(c->name, text) || strcasestr(c->doc, text) ||
			(c->help && strcasestr(c->help, text)))
			listing_add(
				l, &(struct topic){"", c->name, c->usage, c->doc, false, false});
	}
	for (const struct tool *t = tools; t->name; t++) {
		if (strcasestr(t->name, text) || strcasestr(t->doc, text))
			listing_add(l,
				&(struct topic){"tsdb ", t->name, t->usage, t->doc, true, false});
	}
	session_sets(s, sets);
	for (unsigned k = 0; k < SESSION_SETS; k++)
		apropos_settings(l, sets[k]->list, text);
}

struct err *cmd_apropos(struct session *s, const struct cmd_args *a)
{
	struct listing l = listing_begin(s, a->json, &topic_object, NULL, topic_text);
	char *none;

	if (!*a->rest && !a->json) {
		buf_free(&l.b);
		return err_cure(
			err_new(ERR_USAGE, "apropos needs a word"), "For example: apropos stream");
	}
	add_topics(s, &l, a->rest);
	none = xasprintf("Nothing has to do with \"%s\".\n", a->rest);
	listing_end(&l, none);
	free(none);
	return NULL;
}

/* --- history --- */

const char cmd_history_help[] =
	"Shows the last N lines typed (20 without N), kept from session to session.\n"
	"Example: history 20\n";

struct history_row {
	unsigned number;
	char *text;
};
JS_DEFINE(history_object, "history", history_row, JS(UINT, history_row, number),
	JS(TEXT, history_row, text));

static void history_text(struct buf *out, const void *row)
{
	const struct history_row *h = row;

	buf_printf(out, "%5u  %s\n", h->number, h->text);
}

struct err *cmd_history(struct session *s, const struct cmd_args *a)
{
	struct listing l = listing_begin(s, a->json, &history_object, NULL, history_text);
	uint64_t n = 20;
	unsigned total = 0;
	const char *line;

	if (a->argc && (a->argc > 1 || !word_u64(a->argv[0], &n))) {
		buf_free(&l.b);
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no count", a->rest),
			"For example: history 50");
	}
	while (s->editor && editor_history(s->editor, total, &line))
		total++;
	for (unsigned i = n < total ? total - (unsigned)n : 0;
		s->editor && editor_history(s->editor, i, &line); i++) {
		struct history_row row = {i + 1, strndup(line, strcspn(line, "\n"))};

		listing_add(&l, &row);
		free(row.text);
	}
	listing_end(&l,
		s->editor ? NULL : "There is no history: tsdb does not read from a terminal.\n");
	return NULL;
}

/* --- the system --- */

const char cmd_shell_help[] =
	"Runs COMMAND in the system's shell ($SHELL, or /bin/sh); without one, an interactive shell. !COMMAND is the same.\n"
	"Examples: shell ls -l\n"
	"          !ls\n";

struct err *cmd_shell(struct session *s, const struct cmd_args *a)
{
	const char *shell = getenv("SHELL");
	int status = 0;
	pid_t pid;

	if (!shell || !*shell)
		shell = "/bin/sh";
	out_flush(s->out);
	tui_suspend(s);
	pid = fork();
	if (pid < 0) {
		tui_resume(s, false);
		return err_sys(errno, "cannot start %s", shell);
	}
	if (!pid) {
		if (*a->rest)
			execl(shell, shell, "-c", a->rest, (char *)NULL);
		else
			execl(shell, shell, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	tui_resume(s, *a->rest);
	vars_set_status(s->vars, status);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_new(ERR_SYSTEM, "the shell %s could not run the command", shell);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return err_new(
			ERR_SYSTEM, "the command ended with exit status %d", WEXITSTATUS(status));
	return NULL;
}

const char cmd_pwd_help[] =
	"Shows the working directory of tsdb, which the program gets unless `set cwd` names another.\n";

struct err *cmd_pwd(struct session *s, const struct cmd_args *a)
{
	char *dir = getcwd(NULL, 0);

	if (!dir)
		return err_sys(errno, "the working directory is gone");
	out_printf(s->out, "%s\n", dir);
	free(dir);
	return NULL;
}

const char cmd_cd_help[] =
	"Changes the working directory of tsdb; without a word, to the home directory.\n"
	"Example: cd ../runs\n";

struct err *cmd_cd(struct session *s, const struct cmd_args *a)
{
	const char *dir = a->argc ? a->argv[0] : getenv("HOME"), *home = getenv("HOME");
	char *path;
	int r;

	if (!dir)
		return err_cure(err_new(ERR_USAGE, "cd needs a directory"), "$HOME is not set");
	path = *dir == '~' && home && (!dir[1] || dir[1] == '/') ? xasprintf("%s%s", home, dir + 1)
								 : xstrdup(dir);
	r = chdir(path) ? errno : 0;
	free(path);
	return r ? err_sys(r, "cannot change to %s", dir) : NULL;
}

const char cmd_doctor_help[] =
	"Says what this machine can do: driver, CUPTI, ptrace, software GPU; and the cure for what is missing.\n"
	"Example: doctor --json\n";

struct err *cmd_doctor(struct session *s, const struct cmd_args *a)
{
	return gpu_doctor(s, a->json)
		       ? NULL
		       : err_new(ERR_STATE, "tsdb cannot debug programs here as it is");
}

const char cmd_quit_help[] =
	"Leaves tsdb, killing the program if it runs; one that was attached to goes on. The exit status is STATUS, else 0 (with --batch: 1 when a command failed).\n"
	"Examples: quit\n"
	"          quit 1\n";

struct err *cmd_quit(struct session *s, const struct cmd_args *a)
{
	uint64_t status = 0;

	if (a->argc && (a->argc > 1 || !word_u64(a->argv[0], &status) || status > 255))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no exit status", a->rest),
			"It is a number from 0 to 255");
	if (s->engine.live.inf &&
		!session_confirm(s, "The program is being debugged and will %s. Quit anyway?",
			inferior_attached(s->engine.live.inf) ? "go on without tsdb" : "be killed"))
		return NULL;
	s->quitting = true;
	s->quit_status = (int)status;
	return NULL;
}
