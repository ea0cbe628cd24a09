/* SPDX-License-Identifier: Apache-2.0
 *
 * The script language, as gdb has it: if, while, define, document, alias, with, pipe, source.
 * Blocks are read from where the command came from (script/script.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shell/python/py-source.h"
#include "shell/script/defined.h"
#include "shell/script/script.h"
#include "shell/line/interrupt.h"
#include "shell/values/value.h"
#include "shell/tui/tui.h"
#include "shell/values/vars.h"
#include "base/words.h"

/* --- if, while --- */

static struct err *condition(struct session *s, const char *text, bool *ret)
{
	TRY(script_interrupted(s));
	return value_true(s, text, ret);
}

static struct err *needs_condition(const struct cmd_args *a)
{
	return *a->rest ? NULL
			: err_cure(err_new(ERR_USAGE, "%s needs a condition", a->cmd->name),
				  "For example: %s $n > 3", a->cmd->name);
}

const char cmd_if_help[] =
	"Runs the lines up to `end`, or up to `else`, if EXPR is not 0; if it is, those behind\n"
	"`else`. EXPR is as for `print`. Blocks may be within blocks.\n"
	"Example:\n"
	"  if $seq > 100\n"
	"  info streams\n"
	"  else\n"
	"  echo early\\n\n"
	"  end\n";

struct err *cmd_if(struct session *s, const struct cmd_args *a)
{
	struct script_block whole, half[2] = {0};
	bool yes = false;
	struct err *e;

	TRY(script_read(s, "if", SCRIPT_COMMANDS, &whole));
	e = needs_condition(a);
	if (!e)
		e = script_split(s, &whole, &half[0], &half[1]);
	if (!e)
		e = condition(s, a->rest, &yes);
	if (!e)
		e = script_run(s, &half[!yes], script_args(s));
	script_block_free(&whole);
	script_block_free(&half[0]);
	script_block_free(&half[1]);
	return e;
}

const char cmd_while_help[] =
	"Runs the lines up to `end` again and again while EXPR, as for `print`, is not 0.\n"
	"`loop_break` leaves the innermost `while`, `loop_continue` begins its next turn.\n"
	"Ctrl-C ends it.\n"
	"Example:\n"
	"  while $n < 10\n"
	"  set $n = $n + 1\n"
	"  next\n"
	"  end\n";

/* One turn; *ret_on false: the loop has ended. */
static struct err *turn(
	struct session *s, const char *cond, const struct script_block *b, bool *ret_on)
{
	TRY(condition(s, cond, ret_on));
	if (!*ret_on)
		return NULL;
	TRY(script_run(s, b, script_args(s)));
	*ret_on = s->script.jump != SCRIPT_BREAK && !s->quitting && !out_closed(s->out);
	s->script.jump = SCRIPT_GO_ON;
	return NULL;
}

struct err *cmd_while(struct session *s, const struct cmd_args *a)
{
	struct script_block b;
	bool on = true;
	struct err *e;

	TRY(script_read(s, "while", SCRIPT_COMMANDS, &b));
	e = needs_condition(a);
	s->script.loops++;
	while (!e && on)
		e = turn(s, a->rest, &b, &on);
	s->script.loops--;
	script_block_free(&b);
	return e;
}

static struct err *jump(struct session *s, const struct cmd_args *a, enum script_jump to)
{
	if (!s->script.loops)
		return err_cure(err_new(ERR_USAGE, "%s is not within a `while`", a->cmd->name),
			"See \"help while\"");
	s->script.jump = to;
	return NULL;
}

const char cmd_loop_break_help[] = "Leaves the innermost `while` that the line is in.\n";

struct err *cmd_loop_break(struct session *s, const struct cmd_args *a)
{
	return jump(s, a, SCRIPT_BREAK);
}

const char cmd_loop_continue_help[] =
	"Begins the next turn of the innermost `while` that the line is in.\n";

struct err *cmd_loop_continue(struct session *s, const struct cmd_args *a)
{
	return jump(s, a, SCRIPT_CONTINUE);
}

static struct err *no_block(const struct cmd_args *a, const char *of)
{
	return err_cure(err_new(ERR_USAGE, "there is no block here for `%s`", a->cmd->name),
		"It belongs to %s", of);
}

const char cmd_else_help[] =
	"Begins the other half of an `if`: see `help if`. There is no `else if`: the second `if`,\n"
	"with an `end` of its own, is a line behind `else`.\n";

struct err *cmd_else(struct session *s, const struct cmd_args *a)
{
	return no_block(a, "`if`");
}

const char cmd_end_help[] =
	"Closes a block of `if`, `while`, `define`, `document` or `commands`.\n";

struct err *cmd_end(struct session *s, const struct cmd_args *a)
{
	return no_block(a, "`if`, `while`, `define`, `document` or `commands`");
}

/* --- define, document --- */

/* Checks a new command's name, and makes it canonical: "i  foo" is "info foo". *ret: a heap string.
 */
static struct err *new_name(
	struct session *s, const struct cmd_args *a, unsigned argc, char *const *argv, char **ret)
{
	struct buf b = BUF_INIT;

	*ret = NULL;
	for (unsigned i = 0; i < argc; i++) {
		const char *w = argv[i], *rest;
		const struct command *c;
		struct err *e;

		if (!*w || w[strspn(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789-_")]) {
			buf_free(&b);
			return err_cure(err_new(ERR_USAGE, "\"%s\" is no name of a command", w),
				"Use letters, digits, - and _");
		}
		if (i + 1 == argc) {
			buf_printf(&b, "%s%s", b.len ? " " : "", w);
			break;
		}
		buf_printf(&b, "%s%s", b.len ? " " : "", w);
		e = defined_lookup(s, buf_cstr(&b), &c, &rest);
		err_free(e);
		if (!c || !(c->flags & CMD_PREFIX)) {
			e = err_cure(err_new(ERR_USAGE, "`%s` has no subcommands", buf_cstr(&b)),
				"A command's name is one word, or one behind `info`, `replay`, `capture`, ...");
			buf_free(&b);
			return e;
		}
		buf_clear(&b);
		buf_str(&b, c->name);
	}
	if (!b.len)
		return err_cure(err_new(ERR_USAGE, "%s needs a name", a->cmd->name),
			"For example: %s hello", a->cmd->name);
	*ret = buf_steal(&b);
	return NULL;
}

/* The row that has this very name; NULL: none. A short form counts if `shorts`. */
static const struct command *row_named(const struct session *s, const char *name, bool shorts)
{
	unsigned n;
	const struct command *all = defined_table(s, &n), *c = NULL;
	const char *rest, *last = strrchr(name, ' ');
	struct err *e;

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	e = shorts ? lookup_command(all, n, name, &c, &rest) : NULL;
	err_free(e);
	/* a prefix that only one command has is no name of its own */
	return !e && c && lookup_is_name(c, last ? last + 1 : name) ? c : NULL;
}

/* What is wrong with a hook's name: nothing, or a question that the user has answered with no. */
static bool hooks_something(struct session *s, const char *name)
{
	const char *last = strrchr(name, ' ');
	size_t group = last ? (size_t)(last + 1 - name) : 0, skip;
	char *hooked;
	bool yes;

	skip = !strncmp(name + group, "hook-", 5)	? 5
	       : !strncmp(name + group, "hookpost-", 9) ? 9
							: 0;
	if (!skip)
		return true;
	hooked = xasprintf("%.*s%s", (int)group, name, name + group + skip);
	yes = !strcmp(hooked, "stop") || row_named(s, hooked, false);
	if (!yes)
		out_printf(s->out, "There is no command `%s` that `%s` would be called for.\n",
			hooked, name);
	free(hooked);
	return yes || session_confirm(s, "Define it all the same?");
}

static bool may_define(struct session *s, const char *name)
{
	const struct command *c = row_named(s, name, false);

	if (c && c->group == GROUP_USER)
		return session_confirm(s, "Define the command `%s` anew?", name);
	if (c)
		return session_confirm(s, "`%s` is a command of tsdb. Replace it?", name);
	return hooks_something(s, name);
}

const char cmd_define_help[] =
	"Makes the lines up to `end` a command NAME. $arg0, $arg1, ... in the lines are replaced,\n"
	"as text, by the words behind the command when it is used, $argc by how many there are.\n"
	"A command of tsdb may be replaced. `document NAME` gives it help, `show user` shows\n"
	"it. Lines of a command hook-X are run before each X, those of hookpost-X behind it,\n"
	"those of hook-stop whenever the program or the replay has stopped.\n"
	"Example:\n"
	"  define peek\n"
	"  if $argc == 1\n"
	"  x/4fw $arg0\n"
	"  end\n"
	"  end\n";

struct err *cmd_define(struct session *s, const struct cmd_args *a)
{
	const struct command *group = NULL;
	struct script_block b;
	char *name;
	struct err *e;

	e = new_name(s, a, a->argc, a->argv, &name);
	if (!e)
		group = row_named(s, name, false);
	if (!e && group && group->flags & (CMD_PREFIX | CMD_BLOCK))
		e = err_cure(err_new(ERR_USAGE, "`%s` cannot be defined", name),
			group->flags & CMD_PREFIX ? "It is a group of commands"
						  : "Blocks of scripts begin with it");
	if (!e && !may_define(s, name)) {
		free(name);
		return err_new(ERR_STATE, "nothing was defined");
	}
	if (!e && s->interactive)
		out_printf(s->out, "Commands for `%s`, one a line; \"end\" ends them.\n", name);
	if (e) /* its lines are not commands for now */
		e = err_first(e, script_skip(s, SCRIPT_COMMANDS));
	else
		e = script_read(s, "define", SCRIPT_COMMANDS, &b);
	if (!e) {
		if (!b.name) {
			b.name = xstrdup(name);
			b.line = 1;
		}
		defined_add(s, name, &b);
	}
	free(name);
	return e;
}

const char cmd_document_help[] =
	"Makes the lines up to `end` the help of a command that `define` made. The first line\n"
	"is shown in lists.\n"
	"Example:\n"
	"  document peek\n"
	"  Show four floats at an address.\n"
	"  end\n";

struct err *cmd_document(struct session *s, const struct cmd_args *a)
{
	struct script_block b;
	char *name;
	struct err *e = new_name(s, a, a->argc, a->argv, &name);

	if (!e && !defined_body(s, name))
		e = row_named(s, name, true)
			    ? err_new(ERR_USAGE, "`%s` is a command of tsdb: its help stays", name)
			    : err_cure(err_new(ERR_NOT_FOUND, "no command `%s` is defined", name),
				      "Define it first");
	if (!e && s->interactive)
		out_printf(s->out, "Help of `%s`; \"end\" ends it.\n", name);
	if (e) {
		e = err_first(e, script_skip(s, SCRIPT_TEXT));
	} else {
		e = script_read(s, "document", SCRIPT_TEXT, &b);
		if (!e) {
			defined_document(s, name, b.text);
			script_block_free(&b);
		}
	}
	free(name);
	return e;
}

const char cmd_dont_repeat_help[] =
	"Among the lines of `define`: an empty line does not run the command again.\n";

struct err *cmd_dont_repeat(struct session *s, const struct cmd_args *a)
{
	free(s->last_line);
	s->last_line = NULL;
	return NULL;
}

/* --- alias --- */

static struct err *alias_usage(void)
{
	return err_cure(err_new(ERR_USAGE, "alias needs a name, \"=\" and a command"),
		"For example: alias pf = print/f");
}

const char cmd_alias_help[] =
	"Makes NAME another name for a command, with the beginning of its arguments if you like.\n"
	"-a: Tab does not offer it.\n"
	"Examples: alias pf = print/f\n"
	"          alias two = info streams\n";

struct err *cmd_alias(struct session *s, const struct cmd_args *a)
{
	const char *text = a->rest, *eq, *stands_for, *rest;
	const struct command *c;
	bool listed = true;
	char *name, *left, **words;
	unsigned n;
	struct err *e;

	if (!strncmp(text, "-a", 2) && strchr(" \t", text[2])) {
		listed = false;
		text += 2 + strspn(text + 2, " \t");
	}
	if (!strncmp(text, "--", 2) && strchr(" \t", text[2]))
		text += 2 + strspn(text + 2, " \t");
	eq = strchr(text, '=');
	if (!eq || eq == text || !eq[1 + strspn(eq + 1, " \t")])
		return alias_usage();
	stands_for = eq + 1 + strspn(eq + 1, " \t");
	left = xasprintf("%.*s", (int)(eq - text), text);
	e = words_split(left, &words, &n);
	free(left);
	TRY(e);
	e = n ? new_name(s, a, n, words, &name) : alias_usage();
	words_free(words);
	TRY(e);
	if (row_named(s, name, true))
		e = err_cure(err_new(ERR_USAGE, "`%s` is a command already", name),
			"Choose another name");
	if (!e)
		e = defined_lookup(s, stands_for, &c, &rest);
	if (!e && c->flags & CMD_BLOCK)
		e = err_new(ERR_UNSUPPORTED, "`%s` takes no other name", c->name);
	if (!e)
		defined_alias(s, name, stands_for, listed);
	free(name);
	return e;
}

/* --- with --- */

const char cmd_with_help[] =
	"Runs COMMAND with a setting changed, and changes it back. Without COMMAND, the last one\n"
	"that an empty line repeats.\n"
	"Example: with print elements 4 -- print *arg0@100\n";

/* Where "--" is a word of its own; NULL: nowhere. */
static const char *find_dashes(const char *text)
{
	for (const char *p = strstr(text, "--"); p; p = strstr(p + 2, "--"))
		if ((p == text || strchr(" \t", p[-1])) && (!p[2] || strchr(" \t", p[2])))
			return p;
	return NULL;
}

static struct err *assign(struct session *s, const struct setting_found *f, const char *value)
{
	TRY(settings_assign(f->set, f->id, value));
	return session_setting_changed(s, f->set, f->id);
}

struct err *cmd_with(struct session *s, const struct cmd_args *a)
{
	const char *dashes = find_dashes(a->rest), *command;
	struct settings *sets[SESSION_SETS];
	struct setting_found found;
	struct buf before = BUF_INIT;
	char *setting, *last;
	size_t n;
	struct err *e;

	command = dashes ? dashes + 2 + strspn(dashes + 2, " \t") : s->last_line;
	if (!*a->rest || dashes == a->rest)
		return err_cure(err_new(ERR_USAGE, "with needs a setting"),
			"For example: with print elements 4 -- print *arg0@100");
	if (!command || !*command)
		return err_cure(
			err_new(ERR_USAGE, "with has no command to run"), "Put it behind \"--\"");
	for (n = dashes ? (size_t)(dashes - a->rest) : strlen(a->rest);
		strchr(" \t", a->rest[n - 1]);)
		n--;
	setting = xasprintf("%.*s", (int)n, a->rest);
	last = xstrdup(command);
	session_sets(s, sets);
	e = settings_find(sets, SESSION_SETS, setting, &found);
	if (!e && !found.set)
		e = err_cure(err_new(ERR_USAGE, "%s is the beginning of several settings", setting),
			"\"show %s\" lists them", setting);
	if (!e) {
		settings_value(found.set, found.id, &before);
		e = assign(s, &found, found.rest);
		if (!e) {
			e = session_execute(s, last);
			e = err_first(e, assign(s, &found, buf_cstr(&before)));
		}
	}
	free(setting);
	free(last);
	buf_free(&before);
	return e;
}

/* --- pipe --- */

const char cmd_pipe_help[] =
	"Runs COMMAND and gives what it shows to a command of the system's shell. -d chooses\n"
	"another word than | between the two. | COMMAND | ... is the same. $_shell_exitcode is\n"
	"the shell's exit status.\n"
	"Examples: pipe view --kernel mat* | wc -l\n"
	"          | info allocations | sort -k3\n"
	"          pipe -d -- print 1|2 -- cat\n";

/* Where the delimiter begins. "--" must be a word of its own; | may be anywhere. */
static const char *find_delimiter(const char *text, const char *delimiter)
{
	return strstr(text, delimiter);
}

static struct err *run_piped(struct session *s, const char *command, const char *shell)
{
	FILE *to;
	struct err *e;
	struct out_target before;
	int status;

	out_flush(s->out);
	tui_suspend(s);
	to = popen(shell, "we");
	if (!to) {
		tui_resume(s, false);
		return err_sys(errno, "cannot run %s", shell);
	}
	before = out_divert(s->out, fileno(to));
	e = session_execute(s, command);
	out_restore(s->out, before);
	status = pclose(to);
	if (status >= 0)
		vars_set_status(s->vars, status);
	tui_resume(s, true);
	return e;
}

struct err *cmd_pipe(struct session *s, const struct cmd_args *a)
{
	const char *text = a->rest, *at;
	char *delimiter = NULL, *command;
	struct err *e;

	if (!strncmp(text, "-d", 2) && strchr(" \t", text[2])) {
		size_t n;

		text += 2 + strspn(text + 2, " \t");
		n = strcspn(text, " \t");
		delimiter = xasprintf("%.*s", (int)n, text);
		text += n + strspn(text + n, " \t");
	}
	at = delimiter && !*delimiter ? NULL : find_delimiter(text, delimiter ? delimiter : "|");
	if (!at || at == text || !at[strlen(delimiter ? delimiter : "|")]) {
		e = err_cure(err_new(ERR_USAGE,
				     "pipe needs a command, %s and a command of the system's shell",
				     delimiter && *delimiter ? delimiter : "|"),
			"For example: pipe view | wc -l");
		free(delimiter);
		return e;
	}
	command = xasprintf("%.*s", (int)(at - text), text);
	e = run_piped(s, command, at + strlen(delimiter ? delimiter : "|"));
	free(command);
	free(delimiter);
	return e;
}

/* --- source --- */

const char cmd_source_help[] =
	"Runs the commands of FILE; # begins a comment. The first command that fails ends it.\n"
	"A FILE that ends in .py is run by Python (`help python`).\n"
	"-v shows each line before it is run.\n"
	"Example: source stops.tsdb\n";

static bool is_python(const char *path)
{
	const size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".py");
}

struct err *cmd_source(struct session *s, const struct cmd_args *a)
{
	const bool verbose = a->argc && !strcmp(a->argv[0], "-v"), before = s->script.verbose;
	const char *home = getenv("HOME"), *file = a->argc ? a->argv[a->argc - 1] : "";
	char *path;
	struct err *e;

	if (a->argc != 1u + verbose)
		return err_cure(
			err_new(ERR_USAGE, "source needs a file"), "For example: source my.tsdb");
	path = !strncmp(file, "~/", 2) && home ? xasprintf("%s%s", home, file + 1) : xstrdup(file);
	s->script.verbose = before || verbose;
	e = is_python(path) ? python_source(s, path) : session_source(s, path);
	s->script.verbose = before;
	free(path);
	return e;
}
