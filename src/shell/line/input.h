/* SPDX-License-Identifier: Apache-2.0
 *
 * Where command lines come from: the terminal, a pipe, a script, -ex options, the body of a
 * breakpoint's commands. Sources nest.
 */
#ifndef SHELL_INPUT_H
#define SHELL_INPUT_H

#include <stdio.h>
#include "shell/line/session.h"

enum input_kind { INPUT_TERMINAL, INPUT_STREAM, INPUT_SCRIPT, INPUT_LINES };

struct user_args;

struct input {
	struct input *outer;
	enum input_kind kind;
	const char *name; /* of a script, or of the command that the lines belong to */
	FILE *f;	  /* STREAM, SCRIPT */
	const char *text; /* LINES: what is left */
	unsigned line;	  /* number of the line read last, from 1 */
	unsigned command; /* of the line of the command that is being run: it may have read more */
	/* of the user's command that the lines belong to; NULL: none */
	const struct user_args *args;
};

void input_push(struct session *s, struct input *in);
void input_pop(struct session *s, struct input *in);

#endif
