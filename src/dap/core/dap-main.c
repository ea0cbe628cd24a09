/* SPDX-License-Identifier: Apache-2.0
 *
 * One conversation: requests one after the other, each answered; what the listener does meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/monotonic.h"
#include "dap/core/dap-private.h"
#include "dap/dap.h"

enum {
	BREAK_MS = 50,	   /* a request that waits so long makes a move stop shortly */
	PROGRESS_MS = 700, /* a request that takes so long is shown as work that can be cancelled */
};

/* --- answers --- */

static json_t *answer_to(const json_t *request, bool success)
{
	json_t *m = json_pack("{s:s, s:b}", "type", "response", "success", success);

	json_object_set(m, "request_seq", json_object_get(request, "seq"));
	json_object_set(m, "command", json_object_get(request, "command"));
	return m;
}

static void answer(struct dap *d, const json_t *request, json_t *body)
{
	json_t *m = answer_to(request, true);

	json_object_set_new(m, "body", body);
	link_send(d->link, m);
}

/* "<what>. <cure>."; `message` is the word by which clients know a cancelled request, or one that
 * came while the program runs. Frees e. */
static void answer_error(struct dap *d, const json_t *request, struct err *e, const char *message)
{
	char *whole = dap_sentence(e);
	json_t *m = answer_to(request, false), *text = link_text(whole, strlen(whole));
	const char *name = json_string_value(json_object_get(request, "command"));
	const bool evaluates = !strcmp(name, "evaluate"); /* its errors are shown in their place */

	if (e->code == ERR_INTERRUPTED)
		message = "cancelled";
	if (message)
		json_object_set_new(m, "message", json_string(message));
	else
		json_object_set(m, "message", text);
	json_object_set_new(m, "body",
		json_pack("{s:{s:i, s:s, s:{s:o}, s:b}}", "error", "id", (int)e->code, "format",
			"{text}", "variables", "text", text, "showUser", !evaluates));
	link_send(d->link, m);
	free(whole);
	err_free(e);
}

/* --- progress --- */

/* Of a request, or of a move: the answer to its request has been given. */
static json_t *progress_id(json_int_t of)
{
	char id[40];

	snprintf(id, sizeof id, "%s-%lld", of < 0 ? "move" : "request",
		of < 0 ? -(long long)of : (long long)of);
	return json_string(id);
}

void dap_end_progress(struct dap *d)
{
	const json_int_t of = atomic_exchange(&d->progress, 0);

	if (of)
		link_event(
			d->link, "progressEnd", json_pack("{s:o}", "progressId", progress_id(of)));
}

static void begin_progress(struct dap *d, json_int_t of, const char *title)
{
	long long none = 0;
	json_t *body;

	if (!of || !atomic_compare_exchange_strong(&d->progress, &none, of))
		return;
	body = json_pack(
		"{s:o, s:s, s:b}", "progressId", progress_id(of), "title", title, "cancellable", 1);
	if (of > 0)
		json_object_set_new(body, "requestId", json_integer(of));
	link_event(d->link, "progressStart", body);
}

void dap_on_work(void *dap, const char *what, uint64_t done, uint64_t total)
{
	struct dap *d = dap;
	json_int_t of = atomic_load(&d->progress);
	json_t *body;
	char message[80];

	if (!of && total && d->shows_progress && atomic_load(&d->moves) &&
		monotonic_ms() - d->move_ms > PROGRESS_MS) {
		of = -++d->moves_shown;
		begin_progress(d, of, d->move_title);
	}
	if (!of)
		return;
	snprintf(message, sizeof message, "%.*s", (int)strcspn(what, ","), what);
	if (!total)
		snprintf(message, sizeof message, "%s: %llu", what, (unsigned long long)done);
	body = json_pack("{s:o, s:s}", "progressId", progress_id(of), "message", message);
	if (total)
		json_object_set_new(body, "percentage",
			json_real(100.0 * (double)(done < total ? done : total) / (double)total));
	link_event(d->link, "progressUpdate", body);
}

/* --- what the listener does --- */

/* "request-12", "move-3", as progress_id() names it; negative: of a move. */
static json_int_t request_of(const json_t *args)
{
	const json_t *id = json_object_get(args, "requestId");
	const char *progress = json_string_value(json_object_get(args, "progressId"));
	long long n;

	if (json_is_integer(id))
		return json_integer_value(id);
	if (progress && sscanf(progress, "move-%lld", &n) == 1)
		return n > 0 ? -n : 0;
	return progress && sscanf(progress, "request-%lld", &n) == 1 ? n : 0;
}

/* `cancel` is answered at once: it would wait for what it ends. */
static bool on_arrival(void *arg, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "command"));
	struct dap *d = arg;

	if (!strcmp(name, "cancel")) {
		const json_int_t seq = request_of(json_object_get(request, "arguments"));

		if (seq < 0 && seq == atomic_load(&d->progress))
			atomic_store(&d->pauses, true);
		else if (seq > 0 && !link_cancel(d->link, seq))
			atomic_store(&d->cancelled, seq);
		answer(d, request, json_object());
		return true;
	}
	if (!strcmp(name, "pause")) {
		atomic_store(&d->pauses, true);
	} else if (!strcmp(name, "disconnect") || !strcmp(name, "terminate")) {
		atomic_store(&d->ends, true);
	}
	return false;
}

/* A signal may come before the session listens: it is sent again until the work ends. */
static void on_busy(void *arg, uint64_t ms, uint64_t waiting)
{
	struct dap *d = arg;
	const bool moves = atomic_load(&d->moves);
	const json_int_t cancelled = atomic_load(&d->cancelled);
	const struct link_status link = link_status(d->link);

	if (atomic_load(&d->ends) || link.gone ||
		(cancelled && cancelled == link.current && !moves) ||
		(moves && atomic_load(&d->pauses))) {
		dap_interrupt(d);
	} else if (moves && waiting > BREAK_MS && atomic_load(&d->may_break)) {
		atomic_store(&d->breaks, true);
		dap_interrupt(d);
	}
	if (!moves && ms > PROGRESS_MS && d->shows_progress)
		begin_progress(d, link.current, atomic_load(&d->progress_title));
}

/* --- requests --- */

static const char *phase_text(enum dap_phase p)
{
	switch (p) {
	case DAP_NEW:
		return "before \"initialize\"";
	case DAP_READY:
		return "before \"launch\" or \"attach\"";
	case DAP_SET_UP:
		return "before \"configurationDone\"";
	case DAP_RUNNING:
		return "while the program runs";
	case DAP_ENDED:
		return "after the program has ended";
	default:
		return "now";
	}
}

static void dispatch(struct dap *d, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "command"));
	const struct dap_request *r = dap_request_find(name);
	const json_t *args = json_object_get(request, "arguments");
	json_t *body;
	struct err *e;

	if (!r || !(r->phases & d->phase)) {
		e = r ? err_new(ERR_STATE, "\"%s\" is not possible %s", name, phase_text(d->phase))
		      : err_new(ERR_UNSUPPORTED, "there is no request \"%.100s\"", name);
		answer_error(d, request, e, r && d->phase == DAP_RUNNING ? "notStopped" : NULL);
		return;
	}
	body = json_object();
	atomic_store(&d->progress_title, r->name);
	e = r->run(d, args, body);
	if (atomic_load(&d->progress) > 0) /* a move goes on behind a request that came meanwhile */
		dap_end_progress(d);
	if (e) {
		const bool gone = e->code == ERR_SYSTEM; /* the session may be */

		json_decref(body);
		answer_error(d, request, e, NULL);
		if (gone)
			dap_check_session(d);
	} else {
		answer(d, request, body);
	}
}

/* Takes a request and answers it; returns false when the conversation is over. */
static bool next_request(struct dap *d)
{
	bool cancelled = false;
	json_t *request = link_take(d->link, &cancelled);

	if (!request)
		return false;
	if (cancelled)
		answer_error(d, request, err_new(ERR_INTERRUPTED, "cancelled"), NULL);
	else
		dispatch(d, request);
	json_decref(request);
	return true;
}

void dap_answer_waiting(struct dap *d)
{
	struct link_status link = link_status(d->link);

	while (!d->leaves && (link.waiting || link.gone) && next_request(d))
		link = link_status(d->link);
}

/* What a request began, behind its answer. */
static void run_later(struct dap *d)
{
	void (*const then)(struct dap * d) = d->then;

	d->then = NULL;
	if (then)
		then(d);
	if (d->move.command)
		dap_move_now(d);
}

static void deinit(struct dap *d)
{
	dap_end_session(d);
	dap_forget(d);
	for (int i = 0; i < DAP_POINT_KINDS; i++)
		dap_points_free(&d->points[i]);
	free(d->frames);
	free(d->refs);
	json_decref(d->filters);
	json_decref(d->sources);
	free(d->trace);
	free(d->begin);
	link_close(d->link);
	pthread_mutex_destroy(&d->ask_lock);
}

int dap_talk(const char *tsdb)
{
	struct dap d = {.tsdb = tsdb, .phase = DAP_NEW, .frames_base = 1, .refs_base = 1};
	const struct link_hooks hooks = {.arg = &d, .arrived = on_arrival, .busy = on_busy};
	struct err *e;
	bool failed;

	pthread_mutex_init(&d.ask_lock, NULL);
	e = link_open(&d.link, &hooks);
	while (!e && !d.leaves && next_request(&d))
		run_later(&d);
	if (!e && link_failure(d.link)) {
		const char *what = link_failure(d.link)->what;

		link_output(d.link, "important", what, strlen(what));
		link_event(d.link, "terminated", NULL);
	}
	failed = e || link_failure(d.link);
	err_free(e);
	deinit(&d);
	return failed;
}
