/* SPDX-License-Identifier: Apache-2.0
 *
 * What `printf` and `dprintf` show: "fmt", EXPR, ... as in C, with the values of expressions.
 */
#ifndef SHELL_FORMAT_TEXT_H
#define SHELL_FORMAT_TEXT_H

#include "shell/line/session.h"

/* Appends the text. The whole is checked before an expression is evaluated. */
struct err *format_text(struct session *s, const char *text, struct buf *out) TS_CHECK;
/* Checks the format and how many expressions there are; evaluates nothing. */
struct err *format_check(const char *text) TS_CHECK;
/* The length of the expression at p: up to a comma that is in no bracket or quotation, or the end.
 */
size_t format_expression_length(const char *p);
/* Appends the character that an escape stands for, as `echo` knows them: *p is behind the
 * backslash, and moves behind the escape. */
void format_escape(const char **p, struct buf *out);

#endif
