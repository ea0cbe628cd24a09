/* SPDX-License-Identifier: Apache-2.0
 *
 * What sessions are for, each a command of tsdb's shell: races, why, figures, comparison; replays;
 * programs with breakpoints.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "library/ts-session.h"

int library_one_line(const char *options)
{
	if (options && strpbrk(options, "\r\n"))
		return result_of(err_new(ERR_USAGE, "options are one line"));
	return TS_OK;
}

static int ask_line(ts_answer **ret, ts_session *s, const char *fmt, va_list ap)
{
	char *line;
	int r;

	if (vasprintf(&line, fmt, ap) < 0)
		return result_of(err_nomem());
	r = ts_ask(ret, s, line);
	free(line);
	return r;
}

int library_ask_json(ts_answer **ret, ts_session *s, const char *fmt, ...)
{
	ts_answer *a;
	va_list ap;
	int r;

	if (!ret)
		return result_of(err_new(ERR_USAGE, "there is no place for the answer"));
	va_start(ap, fmt);
	r = ask_line(&a, s, fmt, ap);
	va_end(ap);
	if (r)
		return r;
	if (!library_is_json(a)) {
		r = result_of(
			err_new(ERR_SYSTEM, "tsdb answered with text: %.200s", ts_answer_text(a)));
		ts_answer_free(a);
		return r;
	}
	*ret = a;
	return TS_OK;
}

int library_do(ts_session *s, const char *fmt, ...)
{
	ts_answer *a;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = ask_line(&a, s, fmt, ap);
	va_end(ap);
	if (!r)
		ts_answer_free(a);
	return r;
}

/* --- a trace's order and time --- */

static int session_of(ts_trace *t)
{
	const char *words[] = {NULL, NULL};

	if (!t)
		return result_of(err_new(ERR_USAGE, "there is no trace"));
	if (t->session)
		return TS_OK;
	if (!t->path)
		return result_of(err_nomem());
	words[0] = t->path;
	return library_session_open(&t->session, words, NULL);
}

static int of_trace(ts_answer **ret, ts_trace *t, const char *command, const char *options)
{
	int r = library_one_line(options);

	if (!r)
		r = session_of(t);
	if (!r)
		r = library_ask_json(
			ret, t->session, "%s %s --json", command, options ? options : "");
	return r;
}

int ts_races(ts_answer **ret, ts_trace *t, const char *options)
{
	return of_trace(ret, t, "races", options);
}

int ts_order_why(ts_answer **ret, ts_trace *t, uint64_t a, uint64_t b)
{
	char two[64];

	snprintf(two, sizeof two, "%" PRIu64 " %" PRIu64, a, b);
	return of_trace(ret, t, "order why", two);
}

int ts_stats(ts_answer **ret, ts_trace *t, const char *options)
{
	return of_trace(ret, t, "info stats", options);
}

int ts_critical_path(ts_answer **ret, ts_trace *t, const char *options)
{
	return of_trace(ret, t, "info critical-path", options);
}

int ts_diff(ts_answer **ret, const char *path_a, const char *path_b, const char *const *options)
{
	enum { MOST = 32 };
	const char *words[MOST + 8] = {"diff", path_a, path_b, "--json"}, *none = NULL;
	ts_session *s;
	unsigned n = 4;
	int r;

	if (!ret || !path_a || !path_b || *path_a == '-' || *path_b == '-')
		return result_of(err_new(ERR_USAGE, "two traces are needed"));
	for (; options && *options && n < MOST; options++)
		words[n++] = *options;
	r = library_session_open(&s, &none, NULL);
	if (r)
		return r;
	r = library_ask_tool(ret, s, words);
	ts_session_close(s);
	return r;
}

/* --- replays and programs --- */

static int begin_replay(ts_session *s, const struct ts_session_options *o)
{
	char window[48] = "";

	if (o->window != TS_MISSING)
		snprintf(window, sizeof window, " --window %" PRIu64, o->window);
	return library_do(s, "replay start --on %s%s%s%s", o->on ? o->on : "auto", window,
		o->any_device ? " --any-device" : "", o->no_sandbox ? " --no-sandbox" : "");
}

int ts_replay(ts_session **ret, ts_trace *t, const struct ts_session_options *options)
{
	const char *words[] = {t ? t->path : NULL, NULL};
	struct ts_session_options o;
	ts_session *s;
	int r;

	if (!ret || !words[0])
		return result_of(
			err_new(ERR_USAGE, "a trace and a place for the session are needed"));
	r = library_session_options(&o, options);
	if (!r)
		r = library_session_open(&s, words, &o);
	if (r)
		return r;
	r = begin_replay(s, &o);
	if (r)
		ts_session_close(s);
	else
		*ret = s;
	return r;
}

/* A word as the shell reads it back whole: 'it'\''s'. A heap string, NULL: no memory. */
static char *quoted(const char *word)
{
	char *line = malloc(4 * strlen(word) + 3), *to = line;

	if (!line)
		return NULL;
	*to++ = '\'';
	for (; *word; word++)
		to = *word == '\'' ? stpcpy(to, "'\\''") : (*to = *word, to + 1);
	strcpy(to, "'");
	return line;
}

static int record(ts_session *s, const char *path)
{
	char *word = quoted(path);
	const int r = word ? library_do(s, "capture start %s", word) : result_of(err_nomem());

	free(word);
	return r;
}

int ts_launch(ts_session **ret, const char *const *argv, const struct ts_session_options *options)
{
	enum { MOST = 240 };
	const char *words[MOST + 8];
	struct ts_session_options o;
	unsigned n = 0;
	ts_session *s;
	int r;

	if (!ret || !argv || !*argv)
		return result_of(
			err_new(ERR_USAGE, "a program and a place for the session are needed"));
	r = library_session_options(&o, options);
	if (r)
		return r;
	if (o.record && (r = library_one_line(o.record)))
		return r;
	if (o.on && strcmp(o.on, "none") != 0) {
		words[n++] = "--gpu";
		words[n++] = o.on;
	}
	if (o.cwd) {
		words[n++] = "--cd";
		words[n++] = o.cwd;
	}
	words[n++] = "--args";
	for (; *argv && n < MOST; argv++)
		words[n++] = *argv;
	words[n] = NULL;
	if (*argv)
		return result_of(err_new(ERR_LIMIT, "there are too many arguments"));
	r = library_session_open(&s, words, &o);
	if (r)
		return r;
	r = o.record ? record(s, o.record) : TS_OK;
	if (r)
		ts_session_close(s);
	else
		*ret = s;
	return r;
}

int ts_position(ts_session *s, uint64_t *ret)
{
	ts_answer *a;
	int r;

	if (!ret)
		return result_of(err_new(ERR_USAGE, "there is no place for the position"));
	r = library_ask_json(&a, s, "when --json");

	if (r)
		return r;
	r = ts_answer_number(a, "seq", ret);
	ts_answer_free(a);
	return r;
}

int ts_goto(ts_session *s, uint64_t seq)
{
	return seq ? library_do(s, "replay goto %" PRIu64, seq)
		   : library_do(s, "replay goto begin");
}

int ts_step(ts_session *s, int64_t n)
{
	const uint64_t steps = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	return n ? library_do(s, n < 0 ? "reverse-step %" PRIu64 : "replay step %" PRIu64, steps)
		 : library_do(s, "when");
}

int ts_break(ts_session *s, const char *place, uint64_t *ret)
{
	ts_answer *a;
	char path[64];
	uint64_t n;
	int r = place ? library_one_line(place) : result_of(err_new(ERR_USAGE, "no place"));

	if (!r)
		r = library_do(s, "break %s", place);
	if (r || !ret)
		return r;
	r = library_ask_json(&a, s, "info breakpoints --json");
	if (r)
		return r;
	r = ts_answer_count(a, "", &n);
	snprintf(path, sizeof path, "[%" PRIu64 "].id", n - 1);
	if (!r)
		r = ts_answer_number(a, path, ret);
	ts_answer_free(a);
	return r;
}

int ts_who_wrote(ts_answer **ret, ts_session *s, uint64_t addr, uint64_t size)
{
	return library_ask_json(ret, s, "who-wrote --json 0x%" PRIx64 " len %" PRIu64, addr, size);
}

int ts_check(ts_answer **ret, ts_session *s, const char *options)
{
	const int r = library_one_line(options);

	return r ? r : library_ask_json(ret, s, "replay check --json %s", options ? options : "");
}

int ts_verify(ts_answer **ret, ts_session *s)
{
	return library_ask_json(ret, s, "replay verify --json");
}
