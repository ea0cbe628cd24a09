/* SPDX-License-Identifier: Apache-2.0
 *
 * The studio: one loop that waits, between windows and one session. A window's question becomes the
 * adapter's request, its answer the window's; what the adapter tells by itself goes to all windows.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/buf.h"
#include "base/monotonic.h"
#include "studio/core/adapter.h"
#include "studio/core/studio-check.h"
#include "studio/core/studio-events.h"
#include "studio/core/studio-trace.h"
#include "studio/http/studio-http.h"
#include "studio/studio.h"

enum {
	WAITING_MAX = 256, /* questions under way, and windows that wait for something */
	EVENTS_MS = 25000, /* a window waits for events; then it asks again */
	TRACE_MS = 50,	   /* between two looks at the page's columns */
};

/* What a request that has no answer yet waits for. */
enum wait_for { FOR_ANSWER, FOR_EVENTS, FOR_TRACE };
struct waiting {
	struct http_request *r;
	enum wait_for what;
	json_int_t seq;	       /* FOR_ANSWER: of the adapter's request */
	uint64_t after, until; /* FOR_EVENTS: number, and ms */
};

struct studio {
	const struct studio_ask *ask;
	char token[STUDIO_TOKEN + 1];
	struct http *http;
	struct adapter adapter;
	struct studio_trace trace;
	struct studio_events events;
	enum { STARTING, LIVE, ENDED } state;
	json_t *position; /* the newest tsdb/position; NULL: none yet */
	json_t *tasks;	  /* progressId: what is known of work that goes on */
	char *why;	  /* it has ended, heap; else NULL */
	char *file;	  /* the trace that the session is in, heap */
	json_int_t own;	  /* the adapter's request that is the studio's own; 0: none */
	const char *own_name;
	struct waiting waiting[WAITING_MAX];
	size_t nwaiting;
};

/* --- requests that wait --- */

static void put_later(struct studio *s, struct waiting w)
{
	static const char busy[] =
		"{\"success\":false,\"message\":\"too many questions are under way\"}";

	if (s->nwaiting == WAITING_MAX)
		http_answer(w.r, 503, busy, sizeof busy - 1);
	else
		s->waiting[s->nwaiting++] = w;
}

static void on_gone(void *studio, struct http_request *r)
{
	struct studio *s = studio;

	for (size_t i = 0; i < s->nwaiting; i++) {
		if (s->waiting[i].r == r)
			s->waiting[i--] = s->waiting[--s->nwaiting];
	}
}

/* Takes the one at place i out. */
static struct http_request *take_out(struct studio *s, size_t i)
{
	struct http_request *r = s->waiting[i].r;

	s->waiting[i] = s->waiting[--s->nwaiting];
	return r;
}

/* Takes body. */
static void answer_json(struct http_request *r, unsigned status, json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);

	BUG_ON(!text);
	http_answer(r, status, text, strlen(text));
	free(text);
	json_decref(body);
}

static void answer_failed(struct http_request *r, unsigned status, const char *why)
{
	answer_json(r, status, json_pack("{s:b, s:s}", "success", 0, "message", why));
}

static void fail_questions(struct studio *s, const char *why)
{
	for (size_t i = s->nwaiting; i-- > 0;) {
		if (s->waiting[i].what == FOR_ANSWER)
			answer_failed(take_out(s, i), 200, why);
	}
}

/* --- the session --- */

/* All that a window needs to begin with: the session may be at work, and answer later. */
static json_t *status_of(const struct studio *s)
{
	static const char *const words[] = {"starting", "live", "ended"};

	return json_pack("{s:s, s:s?, s:s, s:s, s:I, s:O?, s:o}", "state", words[s->state], "why",
		s->why, "trace", s->file, "original", s->ask->trace, "next",
		(json_int_t)s->events.newest, "position", s->position, "tasks",
		json_deep_copy(s->tasks));
}

static void tell_status(struct studio *s)
{
	studio_events_add(&s->events, "studio/status", status_of(s));
}

static void ask_own(struct studio *s, const char *name, json_t *args)
{
	s->own_name = name;
	s->own = adapter_send(&s->adapter, json_pack("{s:s, s:s, s:o?}", "type", "request",
						   "command", name, "arguments", args));
}

/* Nothing is known of the replay. */
static void forget_session(struct studio *s)
{
	json_decref(s->position);
	s->position = NULL;
	json_object_clear(s->tasks);
}

static void session_ended(struct studio *s, const char *why)
{
	char *sentence = xstrdup(why);

	adapter_close(&s->adapter);
	free(s->why);
	s->why = sentence;
	s->state = ENDED;
	s->own = 0;
	forget_session(s);
	fail_questions(s, sentence);
	tell_status(s);
}

static void make_trace(struct studio *s, const char *file)
{
	struct err *e;
	char *copy = xstrdup(file);

	studio_trace_close(&s->trace);
	free(s->file);
	s->file = copy;
	e = studio_trace_make(&s->trace, s->ask->tsdb, s->file);
	if (e) {
		s->trace.why = xstrdup(e->what);
		err_free(e);
	}
}

static struct err *session_begin(struct studio *s)
{
	adapter_close(&s->adapter);
	fail_questions(s, "the session begins anew");
	free(s->why);
	s->why = NULL;
	s->state = STARTING;
	forget_session(s);
	if (!s->file || strcmp(s->file, s->ask->trace) != 0)
		make_trace(s, s->ask->trace);
	TRY(adapter_open(&s->adapter, s->ask->tsdb));
	ask_own(s, "initialize",
		json_pack("{s:s, s:b, s:b}", "adapterID", "tsdb", "supportsProgressReporting", 1,
			"supportsMemoryEvent", 1));
	tell_status(s);
	return NULL;
}

static json_t *launch_arguments(const struct studio_ask *a)
{
	json_t *args = json_pack("{s:s}", "trace", a->trace);

	if (a->on)
		json_object_set_new(args, "on", json_string(a->on));
	if (a->window >= 0)
		json_object_set_new(args, "window", json_integer(a->window));
	if (a->any_device)
		json_object_set_new(args, "anyDevice", json_true());
	return args;
}

/* "message"; of an error its body's text, if there is one. */
static const char *message_of(const json_t *m)
{
	const json_t *body = json_object_get(m, "body");
	const json_t *error = json_object_get(body, "error");
	const char *text =
		json_string_value(json_object_get(json_object_get(error, "variables"), "text"));

	if (!text)
		text = json_string_value(json_object_get(m, "message"));
	return text ? text : "the session cannot begin";
}

static void on_own(struct studio *s, const json_t *m)
{
	const char *name = s->own_name;

	s->own = 0;
	if (!json_is_true(json_object_get(m, "success")))
		session_ended(s, message_of(m));
	else if (!strcmp(name, "initialize"))
		ask_own(s, "launch", launch_arguments(s->ask));
}

/* --- what the adapter says --- */

static void on_answer(struct studio *s, const json_t *m)
{
	const json_int_t seq = json_integer_value(json_object_get(m, "request_seq"));
	const bool done = json_is_true(json_object_get(m, "success"));

	if (s->own && seq == s->own) {
		on_own(s, m);
		return;
	}
	for (size_t i = 0; i < s->nwaiting; i++) {
		if (s->waiting[i].what != FOR_ANSWER || s->waiting[i].seq != seq)
			continue;
		answer_json(take_out(s, i), 200,
			done ? json_pack("{s:b, s:O?}", "success", 1, "body",
				       json_object_get(m, "body"))
			     : json_pack("{s:b, s:s}", "success", 0, "message", message_of(m)));
		return;
	}
}

static void on_progress(struct studio *s, const char *name, json_t *body)
{
	const char *id = json_string_value(json_object_get(body, "progressId"));
	json_t *known = id ? json_object_get(s->tasks, id) : NULL;

	if (!id)
		return;
	if (!strcmp(name, "progressStart"))
		json_object_set_new(s->tasks, id, json_copy(body));
	else if (!strcmp(name, "progressEnd"))
		json_object_del(s->tasks, id);
	else if (known)
		json_object_update(known, body);
}

/* The session may have gone into another trace, a schedule's. */
static void on_position(struct studio *s, json_t *body)
{
	const char *file =
		json_string_value(json_object_get(json_object_get(body, "position"), "file"));

	json_decref(s->position);
	s->position = json_incref(body);
	if (s->state == STARTING) {
		s->state = LIVE;
		tell_status(s);
	}
	if (!file || !strcmp(file, s->file))
		return;
	make_trace(s, file);
	tell_status(s);
}

/* Memory was changed by hand: the replay is where it was, and a what-if now. */
static void on_memory(struct studio *s)
{
	json_t *body = json_deep_copy(s->position);

	if (!body)
		return;
	json_object_set_new(json_object_get(body, "position"), "what_if", json_true());
	json_decref(s->position);
	s->position = body;
	studio_events_add(&s->events, "tsdb/position", json_incref(body));
}

static bool is_told(const char *name)
{
	static const char *const names[] = {"tsdb/position", "stopped", "output", "progressStart",
		"progressUpdate", "progressEnd"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static void on_event(struct studio *s, const json_t *m)
{
	const char *name = json_string_value(json_object_get(m, "event"));
	json_t *body = json_object_get(m, "body");

	if (!name)
		return;
	if (!strcmp(name, "initialized"))
		ask_own(s, "configurationDone", NULL);
	else if (!strcmp(name, "terminated") && s->state != ENDED) {
		free(s->why);
		s->why = xstrdup("the session has ended: its tsdb is gone");
	} else if (!strcmp(name, "memory")) {
		on_memory(s);
	} else if (is_told(name)) {
		studio_events_add(&s->events, name, json_incref(body));
		if (!strcmp(name, "tsdb/position"))
			on_position(s, body);
		else if (!strncmp(name, "progress", strlen("progress")))
			on_progress(s, name, body);
	}
}

static void on_message(void *studio, const json_t *m)
{
	const char *type = json_string_value(json_object_get(m, "type"));
	struct studio *s = studio;

	if (type && !strcmp(type, "response"))
		on_answer(s, m);
	else if (type && !strcmp(type, "event"))
		on_event(s, m);
}

/* --- what windows ask --- */

static void ask_studio(struct studio *s, struct http_request *r, const char *name)
{
	struct err *e = NULL;

	if (!strcmp(name, "studio/begin"))
		e = session_begin(s);
	if (e)
		answer_failed(r, 200, e->what);
	else
		answer_json(r, 200, json_pack("{s:b, s:o}", "success", 1, "body", status_of(s)));
	err_free(e);
}

static void on_ask(void *studio, struct http_request *r, const char *body, size_t n)
{
	struct studio *s = studio;
	json_t *m;
	struct err *e = studio_question(body, n, &m);
	const char *name;

	if (e) {
		answer_failed(r, 400, e->what);
		err_free(e);
		return;
	}
	name = json_string_value(json_object_get(m, "command"));
	if (!strncmp(name, "studio/", strlen("studio/"))) {
		ask_studio(s, r, name);
		json_decref(m);
	} else if (s->state != LIVE || s->why) {
		answer_failed(r, 200, s->why ? s->why : "the replay is starting");
		json_decref(m);
	} else if (s->nwaiting == WAITING_MAX) {
		answer_failed(r, 503, "too many questions are under way");
		json_decref(m);
	} else {
		put_later(s,
			(struct waiting){
				.r = r, .what = FOR_ANSWER, .seq = adapter_send(&s->adapter, m)});
	}
}

static void answer_events(struct studio *s, struct http_request *r, uint64_t after)
{
	struct buf b = BUF_INIT;

	studio_events_put(&s->events, after, &b);
	http_answer(r, 200, b.data, b.len);
	buf_free(&b);
}

static void on_events(void *studio, struct http_request *r, uint64_t after)
{
	struct studio *s = studio;

	if (after != s->events.newest)
		answer_events(s, r, after);
	else
		put_later(s, (struct waiting){.r = r,
				     .what = FOR_EVENTS,
				     .after = after,
				     .until = monotonic_ms() + EVENTS_MS});
}

static void answer_trace(struct studio *s, struct http_request *r)
{
	if (s->trace.made)
		http_answer_page(r, s->trace.page);
	else
		answer_failed(r, 500, s->trace.why);
}

static void on_trace(void *studio, struct http_request *r)
{
	struct studio *s = studio;

	if (s->trace.pid)
		put_later(s, (struct waiting){.r = r, .what = FOR_TRACE});
	else
		answer_trace(s, r);
}

static void on_stranger(void *studio, unsigned uid)
{
	const struct studio *s = studio;

	s->ask->stranger(s->ask->arg, uid);
}

/* --- the loop --- */

static void answer_waiting(struct studio *s, bool trace_done)
{
	const uint64_t now = monotonic_ms();

	for (size_t i = s->nwaiting; i-- > 0;) {
		const struct waiting w = s->waiting[i];

		if (w.what == FOR_EVENTS && (w.after != s->events.newest || now > w.until))
			answer_events(s, take_out(s, i), w.after);
		else if (w.what == FOR_TRACE && trace_done)
			answer_trace(s, take_out(s, i));
	}
}

static void turn(struct studio *s)
{
	const int most = http_timeout(s->http);
	struct pollfd p[3] = {{.fd = http_fd(s->http), .events = POLLIN}};
	bool over;

	adapter_poll(&s->adapter, p + 1);
	poll(p, 3, s->trace.pid && most > TRACE_MS ? TRACE_MS : most);
	adapter_turn(&s->adapter, on_message, s, &over);
	if (over || (s->why && s->state != ENDED))
		session_ended(s, s->why ? s->why : "the session has ended: its tsdb dap is gone");
	answer_waiting(s, studio_trace_look(&s->trace));
	http_turn(s->http);
}

static struct err *make_token(char *ret)
{
	uint8_t bytes[STUDIO_TOKEN / 2];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return err_sys(errno, "cannot get random bytes");
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return NULL;
}

static void serve(struct studio *s)
{
	char *address = xasprintf("http://127.0.0.1:%u/#token=%s", http_port(s->http), s->token);

	s->ask->ready(s->ask->arg, address);
	free(address);
	while (!*s->ask->interrupt)
		turn(s);
	for (size_t i = s->nwaiting; i-- > 0;)
		answer_failed(take_out(s, i), 503, "tsdb studio ends");
}

struct err *studio_possible(void)
{
	return NULL;
}

struct err *studio_run(const struct studio_ask *ask)
{
	struct studio *s = xcalloc(1, sizeof *s);
	const struct http_hooks hooks = {s, on_ask, on_events, on_trace, on_gone, on_stranger};
	struct err *e;

	*s = (struct studio){.ask = ask,
		.adapter = {.to = -1, .from = -1},
		.trace = {.page = -1, .said = -1},
		.tasks = json_object()};
	e = make_token(s->token);
	if (!e)
		e = http_open(&s->http, ask->port, s->token, ask->any_user, &hooks);
	if (!e)
		e = session_begin(s);
	if (!e)
		serve(s);
	http_close(s->http);
	adapter_close(&s->adapter);
	studio_trace_close(&s->trace);
	studio_events_free(&s->events);
	json_decref(s->position);
	json_decref(s->tasks);
	explicit_bzero(s->token, sizeof s->token);
	free(s->file);
	free(s->why);
	free(s);
	return e;
}
