/* SPDX-License-Identifier: Apache-2.0
 *
 * The command python.
 */
#include <stdlib.h>
#include <string.h>
#include "shell/python/py-helper.h"
#include "shell/python/py-source.h"
#include "shell/script/script.h"

const char cmd_python_help[] =
	"Runs a Python statement, and shows its value; without one, the lines up to `end`. The module\n"
	"tsdb is there: tsdb.execute(COMMAND), tsdb.ask(COMMAND) for its text, tsdb.trace and\n"
	"tsdb.replay as in the module tracesmith, tsdb.memory(ADDRESS, SIZE, dtype),\n"
	"tsdb.register_command(NAME, FUNCTION), tsdb.breakpoint(PLACE, condition=FUNCTION),\n"
	"tsdb.register_printer(TYPE, FUNCTION) for `print` and `info args`.\n"
	"Python is a process of its own, started at the first use; names stay from use to use, and\n"
	"Ctrl-C ends what it does. `python @NAME ARGS` calls a registered command; `source x.py`\n"
	"runs a file.\n"
	"Examples: python print(len(tsdb.trace))\n"
	"          python tsdb.replay.memory(tsdb.replay.command.args[1], dtype='f4')[0]\n";

/* Runs the lines that Python left for the shell. */
static struct err *run_then(struct session *s, char *lines)
{
	struct err *e = NULL;
	char *rest = lines, *line;

	while (!e && (line = strsep(&rest, "\n")))
		if (*line)
			e = session_execute(s, line);
	free(lines);
	return e;
}

static struct err *run(struct session *s, enum python_what what, const char *text)
{
	char *then;

	TRY(python_run(s, what, text, &then));
	return then ? run_then(s, then) : NULL;
}

struct err *python_source(struct session *s, const char *path)
{
	return run(s, PYTHON_FILE, path);
}

struct err *cmd_python(struct session *s, const struct cmd_args *a)
{
	struct script_block b;
	struct err *e;

	if (python_is_busy(s) && !strncmp(a->rest, "@.stop ", 7))
		return NULL; /* it asks its condition itself, when it has the stop */
	if (*a->rest == '@')
		return run(s, PYTHON_CALL, a->rest + 1);
	if (*a->rest)
		return run(s, PYTHON_LINE, a->rest);
	TRY(script_read(s, "python", SCRIPT_TEXT, &b));
	e = run(s, PYTHON_BLOCK, b.text);
	script_block_free(&b);
	return e;
}
