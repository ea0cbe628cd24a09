/* SPDX-License-Identifier: Apache-2.0
 *
 * Python in the shell: a process of its own, started at the first use, whose Python asks this
 * session over a socket (door/door.h). So neither tsdb nor a session without Python has anything of
 * it, a fault of the user's code is that process's, and Ctrl-C ends its code alone.
 */
#ifndef SHELL_PY_HELPER_H
#define SHELL_PY_HELPER_H

#include "shell/line/session.h"

struct python;

/* What Python is to do with a text; the numbers are tracesmith/inshell.py's, too. */
enum python_what {
	PYTHON_LINE = 1, /* a statement, whose value is shown */
	PYTHON_BLOCK,
	PYTHON_FILE, /* a path */
	PYTHON_CALL, /* the name of a registered function, and behind a blank its arguments */
	PYTHON_SHOW, /* the number of a printer, a type, an address or "", bytes in hexadecimal:
			lines; it leaves "=TEXT", or nothing */
};

/* Does it. An exception is an error with its sentence; where it came from is a note. *ret_then:
 * lines for the shell to run now, a heap string or NULL. */
struct err *python_run(
	struct session *s, enum python_what what, const char *text, char **ret_then) TS_CHECK;
/* The types that its printers are for, lines; NULL: there are none. Valid until Python runs. */
const char *python_printers(const struct session *s);
/* Whether it is in the middle of something: of what made the shell do what it is doing. */
bool python_is_busy(const struct session *s);
/* Ends the process. NULL is fine. */
void python_free(struct python *p);

#endif
