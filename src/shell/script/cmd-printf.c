/* SPDX-License-Identifier: Apache-2.0
 *
 * Text of the user's: printf, echo, and dprintf, a breakpoint that shows a text and goes on.
 */
#include <stdlib.h>
#include <string.h>
#include "shell/line/session.h"
#include "shell/values/format-text.h"

const char cmd_printf_help[] =
	"Shows a text with values in it, as C's printf does: %d %i %u %o %x %X %c %s %f %e %g %p\n"
	"with flags, width, precision and l. Each takes an expression as for `print`; %s takes\n"
	"an array of characters, or the address of a text.\n"
	"Example: printf \"%5.2f of %s\\n\", arg2.f32, $cmd.name\n";

struct err *cmd_printf(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;
	struct err *e = format_text(s, a->rest, &b);

	/* what came before an error is shown, as gdb does */
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return e;
}

const char cmd_echo_help[] =
	"Shows TEXT. \\n is a new line, \\t a tab, \\\\ a backslash, \\101 the character of that\n"
	"octal number; a backslash before a blank at the beginning keeps it, one at the end keeps the\n"
	"blanks before it.\n"
	"Example: echo step done\\n\n";

struct err *cmd_echo(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;

	for (const char *p = a->rest; *p;) {
		if (*p++ != '\\')
			buf_byte(&b, (uint8_t)p[-1]);
		else if (*p)
			format_escape(&p, &b);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	return NULL;
}
