/* SPDX-License-Identifier: Apache-2.0
 *
 * `evaluate`: in the console every command of tsdb, with its text; elsewhere an expression and its
 * value. A command that moves sends a stop.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

static void tell_typed_stop(struct dap *d)
{
	if (d->phase == DAP_SET_UP)
		return;
	if (d->stopped_now)
		d->phase = DAP_STOPPED;
	dap_tell_continued(d);
	dap_tell_stop(d, "goto", 0, NULL);
}

/* While a move is under way, that move sends the stop. */
static struct err *run_typed(struct dap *d, const char *line, json_t *body)
{
	char *text = NULL;
	struct err *e;

	d->stopped_now = false;
	e = dap_line(d, &text, "%s", line);
	if (d->stopped_now && d->phase != DAP_RUNNING)
		d->then = tell_typed_stop;
	else if (d->phase != DAP_RUNNING)
		d->then = dap_check_session; /* it may have been `quit` */
	if (!e)
		json_object_set_new(body, "result", link_text(text, strlen(text)));
	json_object_set_new(body, "variablesReference", json_integer(0));
	free(text);
	return e;
}

/* The address that a value of pointer type shows. */
static void add_reference(json_t *body, const char *type, const char *shown)
{
	const char *at = shown ? strstr(shown, "0x") : NULL;
	char word[32];

	if (!at || !type || !strchr(type, '*'))
		return;
	snprintf(word, sizeof word, "%.*s", (int)strspn(at + 2, "0123456789abcdef") + 2, at);
	json_object_set_new(body, "memoryReference", json_string(word));
}

static struct err *evaluate(struct dap *d, const char *expression, bool hex, json_t *body)
{
	const char *type, *shown;
	json_t *v;

	TRY(dap_ask(d, &v, "print%s --json %s", hex ? "/x" : "", expression));
	type = json_string_value(json_object_get(v, "type"));
	shown = json_string_value(json_object_get(v, "shown"));
	json_object_set_new(body, "result", json_string(shown ? shown : ""));
	json_object_set_new(body, "variablesReference", json_integer(0));
	if (type)
		json_object_set_new(body, "type", json_string(type));
	add_reference(body, type, shown);
	json_decref(v);
	return NULL;
}

/* The frame whose variables an expression is about. */
static struct err *choose_frame(struct dap *d, const json_t *args)
{
	const struct dap_frame *f;
	json_int_t id = 0;

	TRY(dap_take_int(args, "frameId", &id));
	if (!id)
		return NULL;
	TRY(dap_frame_of(d, id, &f));
	if (!f->current || f->is_command)
		return NULL;
	return dap_line(d, NULL, "frame %u", f->level);
}

struct err *dap_on_evaluate(struct dap *d, const json_t *args, json_t *body)
{
	const json_t *text = json_object_get(args, "expression");
	const json_t *hex = json_object_get(json_object_get(args, "format"), "hex");
	const char *context;

	TRY(dap_take_line(args, "context", &context));
	if (!json_is_string(text))
		return err_new(ERR_USAGE, "the argument \"expression\" is no text");
	if (!d->session)
		return err_cure(err_new(ERR_STATE, "the session has ended"), "Start another one");
	if (d->phase != DAP_RUNNING && d->phase != DAP_ENDED)
		TRY(choose_frame(d, args));
	if (context && !strcmp(context, "repl"))
		return run_typed(d, json_string_value(text), body);
	if (strpbrk(json_string_value(text), "\r\n"))
		return err_new(ERR_USAGE, "an expression is one line");
	return evaluate(d, json_string_value(text), json_is_true(hex), body);
}
