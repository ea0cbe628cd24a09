/* SPDX-License-Identifier: Apache-2.0
 *
 * Running the lines of a block, see script.h.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "shell/line/input.h"
#include "shell/line/interrupt.h"
#include "shell/script/script.h"

/* Blocks that are being run within one another: each takes some of tsdb's own stack. */
enum { RUNNING_MAX = 2500 };

const struct user_args *script_args(const struct session *s)
{
	return s->input ? s->input->args : NULL;
}

struct err *script_place(struct session *s, const struct input *in, struct err *e)
{
	if (!e || s->script.placed || !in || !in->name)
		return e;
	s->script.placed = true;
	return err_wrap(e, "%s:%u", in->name, in->command);
}

struct err *script_interrupted(struct session *s)
{
	const bool yes = interrupt_flag || s->script.interrupted;

	s->script.interrupted = false;
	return yes ? err_new(ERR_INTERRUPTED, "the script was interrupted") : NULL;
}

static struct err *run_line(struct session *s, const struct user_args *args, const char *line)
{
	char *text;
	struct err *e;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return NULL;
	TRY(user_args_put(args, line, &text));
	e = session_execute(s, text);
	free(text);
	return e;
}

/* until_moved: ends behind a command that has moved the program or the replay. */
static struct err *run(struct session *s, const struct script_block *b,
	const struct user_args *args, bool until_moved)
{
	struct input in = {.kind = INPUT_LINES,
		.name = b->name,
		.line = b->line ? b->line - 1 : 0,
		.text = *b->text ? b->text : NULL,
		.args = args};
	const uint64_t runs = s->engine.live.runs;
	struct err *e = NULL;
	char *line;

	if (s->script.running >= RUNNING_MAX)
		return err_cure(
			err_new(ERR_LIMIT, "more than %u blocks are being run within one another",
				RUNNING_MAX),
			"Does a command call itself without an end?");
	s->script.running++;
	input_push(s, &in);
	while (!e && !s->quitting && !s->script.jump && !out_closed(s->out) &&
		(!until_moved || runs == s->engine.live.runs)) {
		e = script_interrupted(s);
		line = e ? NULL : session_read(s, "");
		if (!line)
			break;
		in.command = in.line;
		e = run_line(s, args, line);
		free(line);
	}
	e = script_place(s, &in, e);
	input_pop(s, &in);
	s->script.running--;
	return e;
}

struct err *script_run(
	struct session *s, const struct script_block *b, const struct user_args *args)
{
	return run(s, b, args, false);
}

struct err *script_run_stop(struct session *s, const char *text)
{
	const struct script_block b = {.text = (char *)text, .line = 1};
	const unsigned loops = s->script.loops;
	struct err *e;

	s->script.loops = 0;
	e = run(s, &b, NULL, true);
	s->script.loops = loops;
	return e;
}
