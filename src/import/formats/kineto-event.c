/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads an event, see kineto-event.h. Members come in any order, and what they are of is known only
 * at the end.
 */
#include "import/formats/kineto-event.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "import/core/figure.h"

enum { MICROSECONDS = 3 };

static const struct member {
	const char *key;
	size_t at;
	int shift;
} outer[] = {{"pid", offsetof(struct kineto_event, pid), 0},
	{"tid", offsetof(struct kineto_event, tid), 0},
	{"ts", offsetof(struct kineto_event, ts), MICROSECONDS},
	{"dur", offsetof(struct kineto_event, dur), MICROSECONDS}, {NULL, 0, 0}},
  inner[] = {{"device", offsetof(struct kineto_event, device), 0},
	  {"context", offsetof(struct kineto_event, ctx), 0},
	  {"stream", offsetof(struct kineto_event, stream), 0},
	  {"correlation", offsetof(struct kineto_event, corr), 0},
	  {"graph id", offsetof(struct kineto_event, graph), 0},
	  {"registers per thread", offsetof(struct kineto_event, regs), 0},
	  {"shared memory", offsetof(struct kineto_event, shared), 0},
	  {"bytes", offsetof(struct kineto_event, bytes), 0},
	  {"wait_on_stream", offsetof(struct kineto_event, wait_stream), 0},
	  {"wait_on_cuda_event_record_corr_id", offsetof(struct kineto_event, record_corr), 0},
	  {"wait_on_cuda_event_id", offsetof(struct kineto_event, event), 0}, {NULL, 0, 0}};

struct err *kineto_number(struct json_pull *j, int shift, int64_t *ret, bool *bad)
{
	enum json_token t;

	TRY(json_next(j, &t));
	if (t != JSON_NUMBER && t != JSON_STRING)
		return json_skip(j, t);
	if (!(shift ? figure_scaled(json_text(j), shift, ret) : figure_whole(json_text(j), ret)) &&
		t == JSON_NUMBER)
		*bad = true;
	return NULL;
}

/* A text of at most n - 1 bytes. */
static struct err *read_short(struct json_pull *j, char *to, size_t n)
{
	enum json_token t;

	TRY(json_next(j, &t));
	if (t == JSON_STRING)
		snprintf(to, n, "%s", json_text(j));
	return json_skip(j, t);
}

static struct err *read_text(struct json_pull *j, struct buf *to)
{
	enum json_token t;

	TRY(json_next(j, &t));
	if (t == JSON_STRING) {
		buf_clear(to);
		buf_str(to, json_text(j));
	}
	return json_skip(j, t);
}

/* "[64, 1, 1]" */
static struct err *read_three(struct json_pull *j, int64_t *to, bool *bad)
{
	enum json_token t;

	TRY(json_next(j, &t));
	if (t != JSON_ARRAY)
		return json_skip(j, t);
	for (unsigned i = 0;; i++) {
		TRY(json_next(j, &t));
		if (t == JSON_ARRAY_END)
			return NULL;
		if (i < 3 && t == JSON_NUMBER)
			*bad |= !figure_whole(json_text(j), &to[i]);
		TRY(json_skip(j, t));
	}
}

/* Reads the value if a member of the table has this key. */
static struct err *read_member(struct json_pull *j, const struct member *table, const char *key,
	struct kineto_event *ev, bool *ret)
{
	for (const struct member *m = table; m->key; m++) {
		if (!strcmp(key, m->key)) {
			*ret = true;
			return kineto_number(
				j, m->shift, (int64_t *)((char *)ev + m->at), &ev->bad);
		}
	}
	*ret = false;
	return NULL;
}

static struct err *read_arg(struct json_pull *j, const char *key, struct kineto_event *ev)
{
	enum json_token t;
	bool found;

	TRY(read_member(j, inner, key, ev, &found));
	if (found)
		return NULL;
	if (!strcmp(key, "grid"))
		return read_three(j, ev->grid, &ev->bad);
	if (!strcmp(key, "block"))
		return read_three(j, ev->block, &ev->bad);
	if (!strcmp(key, "stack"))
		return read_text(j, &ev->stack);
	if (!strcmp(key, "name"))
		return read_text(j, &ev->label);
	TRY(json_next(j, &t));
	return json_skip(j, t);
}

static struct err *read_args(struct json_pull *j, struct kineto_event *ev)
{
	enum json_token t;
	char key[64];

	TRY(json_next(j, &t));
	if (t != JSON_OBJECT)
		return json_skip(j, t);
	for (;;) {
		TRY(json_next(j, &t));
		if (t == JSON_OBJECT_END)
			return NULL;
		snprintf(key, sizeof key, "%s", json_text(j));
		TRY(read_arg(j, key, ev));
	}
}

static struct err *read_outer(struct json_pull *j, const char *key, struct kineto_event *ev)
{
	enum json_token t;
	bool found;

	ev->timed |= !strcmp(key, "ts");
	TRY(read_member(j, outer, key, ev, &found));
	if (found)
		return NULL;
	if (!strcmp(key, "ph"))
		return read_short(j, ev->ph, sizeof ev->ph);
	if (!strcmp(key, "cat"))
		return read_short(j, ev->cat, sizeof ev->cat);
	if (!strcmp(key, "name"))
		return read_text(j, &ev->name);
	if (!strcmp(key, "args"))
		return read_args(j, ev);
	TRY(json_next(j, &t));
	return json_skip(j, t);
}

static void forget(struct kineto_event *ev)
{
	const struct kineto_event had = *ev;

	*ev = (struct kineto_event){.pid = KINETO_NONE,
		.tid = KINETO_NONE,
		.dur = KINETO_NONE,
		.device = KINETO_NONE,
		.ctx = KINETO_NONE,
		.stream = KINETO_NONE,
		.corr = KINETO_NONE,
		.graph = KINETO_NONE,
		.wait_stream = KINETO_NONE,
		.record_corr = KINETO_NONE,
		.event = KINETO_NONE,
		.name = had.name,
		.stack = had.stack,
		.label = had.label};
	buf_clear(&ev->name);
	buf_clear(&ev->stack);
	buf_clear(&ev->label);
}

struct err *kineto_read_event(struct json_pull *j, struct kineto_event *ev)
{
	enum json_token t;
	char key[64];

	forget(ev);
	for (;;) {
		TRY(json_next(j, &t));
		if (t == JSON_OBJECT_END)
			return NULL;
		snprintf(key, sizeof key, "%s", json_text(j));
		TRY(read_outer(j, key, ev));
	}
}

void kineto_event_free(struct kineto_event *ev)
{
	buf_free(&ev->name);
	buf_free(&ev->stack);
	buf_free(&ev->label);
}
