/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to the session. Each may bring a stop, which is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dap/core/dap-private.h"

struct err *dap_session_error(int result)
{
	static const enum err_code codes[] = {
		[TS_USAGE] = ERR_USAGE,
		[TS_NOT_FOUND] = ERR_NOT_FOUND,
		[TS_INTERRUPTED] = ERR_INTERRUPTED,
		[TS_UNSUPPORTED] = ERR_UNSUPPORTED,
		[TS_LIMIT] = ERR_LIMIT,
		[TS_PERMISSION] = ERR_PERMISSION,
		[TS_INCOMPLETE] = ERR_INCOMPLETE,
		[TS_BAD_TRACE] = ERR_BAD_TRACE,
	};
	const bool known = result > 0 && (size_t)result < sizeof codes / sizeof *codes;
	const enum err_code code = known && codes[result] ? codes[result] : ERR_SYSTEM;
	struct err *e;

	if (!result)
		return NULL;
	e = err_new(code, "%s", ts_error());
	return *ts_error_cure() ? err_cure(e, "%s", ts_error_cure()) : e;
}

char *dap_sentence(const struct err *e)
{
	return xasprintf("%s%s%s", e->what, e->cure ? ". " : "", e->cure ? e->cure : "");
}

void dap_interrupt(struct dap *d)
{
	pthread_mutex_lock(&d->ask_lock);
	if (d->asked)
		ts_session_interrupt(d->asked);
	pthread_mutex_unlock(&d->ask_lock);
}

void dap_asking(struct dap *d, bool asking)
{
	pthread_mutex_lock(&d->ask_lock);
	d->asked = asking ? d->session : NULL;
	pthread_mutex_unlock(&d->ask_lock);
}

/* Keeps the session's newest stop, if it is another one. */
static void keep_stop(struct dap *d)
{
	ts_answer *a = NULL;
	json_t *stop = NULL;

	if (!ts_stopped(&a, d->session))
		stop = json_loads(ts_answer_text(a), 0, NULL);
	ts_answer_free(a);
	if (!stop ||
		json_equal(json_object_get(stop, "stops"), json_object_get(d->stop, "stops"))) {
		json_decref(stop);
		return;
	}
	json_decref(d->stop);
	d->stop = stop;
	d->stopped_now = true;
}

/* What tsdb would print on stderr is for the user, too. */
static void tell_notes(struct dap *d, const char *notes)
{
	if (notes && *notes)
		link_output(d->link, "console", notes, strlen(notes));
}

static struct err *ask_line(struct dap *d, ts_answer **ret, const char *line)
{
	struct err *e;

	if (!d->session)
		return err_cure(err_new(ERR_STATE, "there is no session"),
			"\"launch\" or \"attach\" begins one");
	dap_asking(d, true);
	e = dap_session_error(ts_ask(ret, d->session, line));
	dap_asking(d, false);
	keep_stop(d);
	if (!e)
		tell_notes(d, ts_answer_notes(*ret));
	return e;
}

/* ret_text: the answer's, heap. */
static struct err *ask(struct dap *d, char **ret_text, const char *fmt, va_list ap)
{
	ts_answer *a;
	char *line;
	struct err *e;

	if (vasprintf(&line, fmt, ap) < 0)
		return err_nomem();
	e = ask_line(d, &a, line);
	free(line);
	if (e)
		return e;
	*ret_text = xstrdup(ts_answer_text(a));
	ts_answer_free(a);
	return NULL;
}

struct err *dap_line(struct dap *d, char **ret_text, const char *fmt, ...)
{
	char *text = NULL;
	struct err *e;
	va_list ap;

	va_start(ap, fmt);
	e = ask(d, ret_text ? ret_text : &text, fmt, ap);
	va_end(ap);
	free(text);
	return e;
}

/* One value, or several as an array. */
static json_t *read_values(const char *text)
{
	json_t *all = json_array(), *first;
	const char *p = text + strspn(text, " \t\r\n");

	while (*p) {
		json_error_t why;
		json_t *v = json_loads(p, JSON_DISABLE_EOF_CHECK, &why);

		if (!v) {
			json_decref(all);
			return NULL;
		}
		json_array_append_new(all, v);
		p += why.position;
		p += strspn(p, " \t\r\n");
	}
	if (json_array_size(all) != 1)
		return all;
	first = json_incref(json_array_get(all, 0));
	json_decref(all);
	return first;
}

struct err *dap_ask(struct dap *d, json_t **ret, const char *fmt, ...)
{
	char *text;
	struct err *e;
	va_list ap;

	va_start(ap, fmt);
	e = ask(d, &text, fmt, ap);
	va_end(ap);
	if (e)
		return e;
	*ret = read_values(text);
	if (!*ret)
		e = err_new(ERR_SYSTEM, "tsdb answered with text: %.200s", text);
	free(text);
	return e;
}

void dap_check_session(struct dap *d)
{
	ts_answer *a = NULL;
	int r;

	if (!d->session)
		return;
	dap_asking(d, true);
	r = ts_ask(&a, d->session, "");
	dap_asking(d, false);
	ts_answer_free(a);
	if (!r)
		return;
	dap_end_session(d);
	d->phase = DAP_ENDED;
	link_flush_program(d->link);
	link_event(d->link, "terminated", NULL);
}

struct err *dap_needs_replay(const struct dap *d, const char *what)
{
	if (d->replays)
		return NULL;
	return err_cure(err_new(ERR_UNSUPPORTED,
				"%s is possible in a replay, not in a program that runs", what),
		"Launch with \"trace\", or with \"record\": true and \"replay\": true");
}

void dap_end_session(struct dap *d)
{
	ts_session *s = d->session;

	dap_asking(d, false);
	d->session = NULL;
	ts_session_close(s);
	json_decref(d->stop);
	d->stop = NULL;
	d->stopped_now = false;
}
