/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of gdb's words, see gdb-words.h: all that gdb 13 lists with `help all`. Words that
 * mean the same here are not in them.
 */
#include "shell/line/gdb-words.h"

#include <stddef.h>
#include <string.h>

const struct gdb_word gdb_words[] = {
	{"append", "Use \"dump\""},
	{"call", "Functions of the program are not called; \"print\" evaluates expressions"},
	{"clear", "Use \"info breakpoints\" and \"delete N\""},
	{"core-file",
		"Use \"replay start FILE\" for a trace, `tsdb core FILE` for a GPU's core dump"},
	{"edit", "Use \"info source\" and \"shell\""},
	{"eval", "Use \"printf\", \"pipe\" and \"source\""},
	{"exec-file", "Use \"file\""},
	{"forward-search",
		"Use \"list\"; what is longer than the screen goes through a pager, / searches there"},
	{"gcore", "Use \"capture start\" before \"run\""},
	{"generate-core-file", "Use \"capture start\" before \"run\""},
	{"hbreak", "Use \"break\""},
	{"inferior", "Use \"info inferiors\", and \"rank\" in a set of traces"},
	{"info address", "Use \"info line\", \"info scope\" and \"print &NAME\""},
	{"info all-registers", "Use \"info registers\""},
	{"info auxv", "Use \"info program\""},
	{"info files", "Use \"info sharedlibrary\" and \"info modules\""},
	{"info line-table", "Use \"info line\""},
	{"info macro",
		"Macros are in no debug information that tsdb reads; \"list\" shows the source"},
	{"info macros",
		"Macros are in no debug information that tsdb reads; \"list\" shows the source"},
	{"info proc", "Use \"info program\" and \"info sharedlibrary\""},
	{"info record", "Use \"info trace\""},
	{"info sources", "Use \"info source\" and \"info functions\""},
	{"info stack", "Use \"bt\""},
	{"info target", "Use \"info program\" or \"info trace\""},
	{"info tracepoints", "Use \"info probes\""},
	{"info types", "Use \"ptype NAME\""},
	{"info variables", "Use \"info scope PLACE\" and \"print NAME\""},
	{"info watchpoints", "Use \"info breakpoints\""},
	{"info win", "Use \"layout\" and \"winheight\""},
	{"jump", "The host is not moved; \"goto\" moves a replay"},
	{"macro", "Macros are in no debug information that tsdb reads; \"list\" shows the source"},
	{"make", "Use \"shell make\""},
	{"python-interactive", "Use \"python\"; a prompt of Python's own is \"shell python3\""},
	{"queue-signal", "Use \"handle\""},
	{"record", "Use \"capture start\" before \"run\""},
	{"return",
		"The host's functions are not left early; \"set arg\" changes a launch of a replay"},
	{"reverse-search",
		"Use \"list\"; what is longer than the screen goes through a pager, ? searches there"},
	{"search",
		"Use \"list\"; what is longer than the screen goes through a pager, / searches there"},
	{"select-frame", "Use \"frame\""},
	{"sharedlibrary",
		"Symbols are read when they are needed; \"info sharedlibrary\" lists the files"},
	{"signal", "Use \"handle\""},
	{"starti", "Use \"start\""},
	{"stepping", "Use \"probe PLACE count\""},
	{"symbol-file", "Symbols are read when they are needed; \"directory\" is for sources"},
	{"target", "Use \"attach PID\""},
	{"tcatch", "Use \"catch\", and \"delete N\" behind it"},
	{"thbreak", "Use \"tbreak\""},
	{"trace", "Use \"probe PLACE count\" for a line of a kernel, \"dprintf\" for others"},
	{"tstart", "Probes count from \"run\" on; \"info probes\" shows them"},
	{"tstatus", "Use \"info probes\""},
	{"tstop", "Use \"unprobe\""},
	{"up-silently", "Use \"up\""},
	{"down-silently", "Use \"down\""},
	{"winwidth", "Panes are as wide as the terminal; \"winheight\" divides its lines"},
	{NULL, NULL},
};

const char *const gdb_absent[] = {"actions", "add-auto-load-safe-path",
	"add-auto-load-scripts-directory", "add-inferior", "add-symbol-file",
	"add-symbol-file-from-memory", "agent-printf", "break-range", "clone-inferior", "collect",
	"compare-sections", "compile", "complete", "define-prefix", "demangle", "disconnect",
	"faas", "flash-erase", "ftrace", "function", "guile", "guile-repl", "init-if-undefined",
	"interpreter-exec", "interrupt", "jit-reader-load", "jit-reader-unload", "load",
	"maintenance", "mem", "memory-tag", "monitor", "new-ui", "nosharedlibrary", "overlay",
	"passcount", "path", "print-object", "remote", "remove-inferiors", "remove-symbol-file",
	"section", "skip", "stop", "strace", "taas", "task", "tdump", "teval", "tfaas", "tfind",
	"tsave", "tvariable", "update", "while-stepping", "info bookmarks", "info classes",
	"info common", "info connections", "info copying", "info dcache", "info exceptions",
	"info extensions", "info float", "info guile", "info mem", "info os", "info selectors",
	"info set", "info skip", "info tasks", "info terminal", "info tvariables", "info unwinder",
	"info vector", "info vtbl", "info warranty", "info xmethod", NULL};

/* Whether a line begins with the words of a command. */
static bool begins(const char *line, const char *words)
{
	while (*words) {
		if (*words == ' ') {
			const size_t blanks = strspn(line, " \t");

			if (!blanks)
				return false;
			line += blanks;
		} else if (*line++ != *words) {
			return false;
		}
		words++;
	}
	return strchr(" \t", *line) != NULL; /* the line's end, too */
}

struct err *gdb_word_error(const char *line)
{
	for (const struct gdb_word *w = gdb_words; w->word; w++)
		if (begins(line, w->word))
			return err_cure(
				err_new(ERR_USAGE, "unknown command: %s", w->word), "%s", w->here);
	for (const char *const *w = gdb_absent; *w; w++)
		if (begins(line, *w))
			return err_cure(
				err_new(ERR_USAGE,
					"unknown command: %s, a command of gdb that has no counterpart here",
					*w),
				"\"help gdb\" lists those that have one");
	return NULL;
}
