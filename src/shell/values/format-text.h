/* SPDX-License-Identifier: Apache-2.0
 *
 * What `printf` and `dprintf` show: "fmt", EXPR, ... as in C, with the values of expressions.
 */
#ifndef SHELL_FORMAT_TEXT_H
#define SHELL_FORMAT_TEXT_H

#include "shell/line/session.h"

struct lang_value;

/* Appends the text. The whole is checked before an expression is evaluated. */
struct err *format_text(struct session *s, const char *text, struct buf *out) TS_CHECK;
/* The same with the values that a lane of the warp under the microscope has. One that has none is
 * "<no value>". */
struct err *format_text_lane(
	struct session *s, const char *text, unsigned lane, struct buf *out) TS_CHECK;
/* The same with given values in place of the expressions: all zero is none. */
struct err *format_text_values(struct session *s, const char *text, const struct lang_value *v,
	unsigned n, struct buf *out) TS_CHECK;
/* Checks a format that threads of kernels show: ERR_UNSUPPORTED for what is not there. */
struct err *format_check_kernel(const char *text) TS_CHECK;
/* Checks the format and how many expressions there are; evaluates nothing. */
struct err *format_check(const char *text) TS_CHECK;
/* The length of the expression at p: up to a comma that is in no bracket or quotation, or the end.
 */
size_t format_expression_length(const char *p);
/* Appends the character that an escape stands for, as `echo` knows them: *p is behind the
 * backslash, and moves behind the escape. */
void format_escape(const char **p, struct buf *out);

#endif
