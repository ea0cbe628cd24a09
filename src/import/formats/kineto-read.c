/* SPDX-License-Identifier: Apache-2.0
 *
 * The Chrome JSON of PyTorch's profiler (kineto, libkineto/src/output_json.cpp and
 * CuptiActivity.cpp of 2026-08; the older capitalised categories, too). Times are microseconds
 * since baseTimeNanoseconds, or since 1970 where there is none.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/checked.h"
#include "import/core/call-kind.h"
#include "import/core/figure.h"
#include "import/core/key-table.h"
#include "import/formats/kineto-event.h"
#include "import/formats/readers.h"
#include "sbt/cmd.h"

enum category {
	CAT_OTHER,
	CAT_KERNEL,
	CAT_COPY,
	CAT_FILL,
	CAT_CALL,
	CAT_SYNC,
	CAT_RANGE,
	CAT_FRAME
};
static const struct {
	const char *name;
	enum category is;
} categories[] = {{"kernel", CAT_KERNEL}, {"gpu_memcpy", CAT_COPY}, {"memcpy", CAT_COPY},
	{"gpu_memset", CAT_FILL}, {"memset", CAT_FILL}, {"cuda_runtime", CAT_CALL},
	{"cuda_driver", CAT_CALL}, {"hip_runtime", CAT_CALL}, {"runtime", CAT_CALL},
	{"cuda_sync", CAT_SYNC}, {"user_annotation", CAT_RANGE}, {"python_function", CAT_FRAME},
	{"cpu_op", CAT_FRAME}, {"operator", CAT_FRAME}};

struct kineto_read {
	struct stage *s;
	struct json_pull *j;
	struct kineto_event ev;
	struct key_table stacks;
	uint64_t rows, events; /* objects in the list; those with a phase */
	int64_t other_pid;     /* of a second process; KINETO_NONE: there is none */
	bool any;	       /* there was a list of events */
};

static enum category category_of(const char *cat)
{
	for (unsigned i = 0; i < sizeof categories / sizeof *categories; i++) {
		if (!strcasecmp(cat, categories[i].name))
			return categories[i].is;
	}
	return CAT_OTHER;
}

/* --- stacks --- */

/* Takes "function (file:line)" apart. */
static void put_frame(struct stage *s, int64_t chain, int64_t depth, char *line)
{
	char *open = NULL, *colon = strrchr(line, ':');
	const size_t n = strlen(line);
	int64_t number = 0;

	for (char *p = strstr(line, " ("); p; p = strstr(p + 1, " ("))
		open = p;
	if (open && colon && colon > open && n && line[n - 1] == ')') {
		line[n - 1] = 0;
		if (figure_whole(colon + 1, &number)) {
			*open = *colon = 0;
			stage_frame(s, chain, depth, line, open + 2, number);
			return;
		}
		line[n - 1] = ')';
	}
	stage_frame(s, chain, depth, line, NULL, 0);
}

/* The number of the stack in args.stack, innermost function first; -1: there is none. */
static int64_t chain_of(struct kineto_read *k)
{
	struct buf *b = &k->ev.stack;
	bool fresh;
	int64_t chain, depth = 0;

	if (!b->len)
		return KINETO_NONE;
	chain = key_number(&k->stacks, b->data, b->len, &fresh);
	(void)buf_cstr(b);
	for (char *line = (char *)b->data; fresh && line; depth++) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = 0;
		put_frame(k->s, chain, depth, line);
		line = next;
	}
	return chain;
}

/* --- rows --- */

static int64_t copy_direction(const char *name)
{
	static const struct {
		const char *word;
		enum sbt_copy dir;
	} words[] = {{"HtoD", SBT_COPY_H2D}, {"HostToDevice", SBT_COPY_H2D}, {"DtoH", SBT_COPY_D2H},
		{"DeviceToHost", SBT_COPY_D2H}, {"DtoD", SBT_COPY_D2D},
		{"DeviceToDevice", SBT_COPY_D2D}, {"HtoH", SBT_COPY_H2H}, {"PtoP", SBT_COPY_PEER}};

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		if (strstr(name, words[i].word))
			return words[i].dir;
	}
	return SBT_COPY_ANY;
}

/* GPU rows have the device as process and the stream as thread, where args do not say it. */
static void put_work(struct kineto_read *k, enum category cat)
{
	const struct kineto_event *ev = &k->ev;
	struct stage_work w = {.start = ev->ts,
		.corr = ev->corr,
		.device = ev->device >= 0 ? ev->device : ev->pid,
		.ctx = ev->ctx,
		.stream = ev->stream >= 0 ? ev->stream : ev->tid,
		.graph = ev->graph,
		.shared = ev->shared,
		.regs = ev->regs,
		.bytes = ev->bytes};

	w.kind = cat == CAT_KERNEL ? STAGE_KERNEL : cat == CAT_COPY ? STAGE_COPY : STAGE_FILL;
	w.name = buf_cstr(&k->ev.name);
	memcpy(w.grid, ev->grid, sizeof w.grid);
	memcpy(w.block, ev->block, sizeof w.block);
	w.dir = copy_direction(w.name);
	if (ev->dur < 0 || ckd_add(&w.end, ev->ts, ev->dur))
		stage_bad(k->s);
	else
		stage_work(k->s, &w);
}

static void put_sync(struct kineto_read *k)
{
	const struct kineto_event *ev = &k->ev;
	const char *name = buf_cstr(&k->ev.name);
	const int64_t device = ev->device >= 0 ? ev->device : ev->pid;
	struct stage_sync y = {.kind = STAGE_SYNC_CTX,
		.corr = ev->corr,
		.device = device,
		.ctx = ev->ctx,
		.stream = ev->stream,
		.event = ev->event};

	if (strstr(name, "Stream Wait"))
		y.kind = STAGE_SYNC_WAIT;
	else if (strstr(name, "Event"))
		y.kind = STAGE_SYNC_EVENT;
	else if (strstr(name, "Stream"))
		y.kind = STAGE_SYNC_STREAM;
	stage_sync(k->s, &y);
	if (ev->record_corr > 0 && ev->wait_stream >= 0)
		stage_record(k->s, ev->record_corr, device, ev->ctx, ev->wait_stream, ev->event);
}

static void put_host(struct kineto_read *k, enum stage_host_kind kind)
{
	const struct kineto_event *ev = &k->ev;
	const char *name = buf_cstr(&k->ev.name);
	const struct stage_host h = {kind, ev->ts, ev->dur == KINETO_NONE ? 0 : ev->dur, ev->tid,
		ev->corr, name, chain_of(k)};

	if (kind == STAGE_FRAME && !ev->pid)
		; /* of a thread that PyTorch's profiler could not name: thread 0 of process 0 */
	else if (k->s->pid < 0)
		k->s->pid = ev->pid;
	else if (ev->pid != k->s->pid)
		k->other_pid = ev->pid;
	k->s->hip |= call_is_hip(name);
	stage_host(k->s, &h);
}

/* Rows of metadata: names of processes and threads. */
static void put_name(struct kineto_read *k)
{
	const char *what = buf_cstr(&k->ev.name), *name = buf_cstr(&k->ev.label);

	if (!*name)
		return;
	if (!strcmp(what, "thread_name"))
		stage_thread(k->s, k->ev.tid, name);
	if (!strcmp(what, "process_name") && !k->s->program)
		k->s->program = xstrdup(name);
}

static void put_timed(struct kineto_read *k)
{
	const enum category cat = category_of(k->ev.cat);

	if (cat == CAT_OTHER)
		return;
	if (k->ev.bad || !k->ev.timed) {
		stage_bad(k->s);
		return;
	}
	if (cat == CAT_CALL)
		put_host(k, call_kind_waits(call_kind_of(buf_cstr(&k->ev.name))) ? STAGE_WAIT
										 : STAGE_CALL);
	else if (cat == CAT_RANGE || cat == CAT_FRAME)
		put_host(k, cat == CAT_RANGE ? STAGE_RANGE : STAGE_FRAME);
	else if (cat == CAT_SYNC)
		put_sync(k);
	else
		put_work(k, cat);
}

static struct err *read_events(struct kineto_read *k)
{
	enum json_token t;

	k->any = true;
	for (;;) {
		TRY(json_next(k->j, &t));
		if (t == JSON_ARRAY_END)
			return NULL;
		if (t != JSON_OBJECT) {
			TRY(json_skip(k->j, t));
			continue;
		}
		TRY(kineto_read_event(k->j, &k->ev));
		k->rows++;
		k->events += k->ev.ph[0] != 0;
		if (!strcmp(k->ev.ph, "M"))
			put_name(k);
		else if (!strcmp(k->ev.ph, "X"))
			put_timed(k);
		if (k->s->failed)
			return NULL;
	}
}

/* --- what is around the events --- */

/* An object of numbers and one name; names the numbers by `keys`, which ends with NULL. */
static struct err *read_figures(
	struct kineto_read *k, const char *const *keys, int64_t *figures, struct buf *name)
{
	enum json_token t;
	char key[64];
	bool bad = false;

	for (;;) {
		unsigned i = 0;

		TRY(json_next(k->j, &t));
		if (t == JSON_OBJECT_END)
			return NULL;
		snprintf(key, sizeof key, "%s", json_text(k->j));
		while (keys[i] && strcmp(key, keys[i]))
			i++;
		if (keys[i]) {
			TRY(kineto_number(k->j, 0, &figures[i], &bad));
			continue;
		}
		TRY(json_next(k->j, &t));
		if (t == JSON_STRING && name && !strcmp(key, "name"))
			buf_str(name, json_text(k->j));
		TRY(json_skip(k->j, t));
	}
}

static struct err *read_device(struct kineto_read *k)
{
	static const char *const keys[] = {
		"id", "totalGlobalMem", "numSms", "computeMajor", "computeMinor", NULL};
	int64_t v[5] = {0};
	struct buf name = BUF_INIT;
	struct err *e = read_figures(k, keys, v, &name);

	if (!e)
		stage_device(k->s, v[0], buf_cstr(&name), v[1], v[2], v[3], v[4]);
	buf_free(&name);
	return e;
}

static struct err *read_devices(struct kineto_read *k)
{
	enum json_token t;

	for (;;) {
		TRY(json_next(k->j, &t));
		if (t == JSON_ARRAY_END)
			return NULL;
		TRY(t == JSON_OBJECT ? read_device(k) : json_skip(k->j, t));
	}
}

static struct err *read_ranks(struct kineto_read *k)
{
	static const char *const keys[] = {"rank", "world_size", NULL};
	int64_t v[2] = {-1, -1};

	TRY(read_figures(k, keys, v, NULL));
	k->s->rank = v[0];
	k->s->ranks = v[1];
	return NULL;
}

static struct err *read_top(struct kineto_read *k, const char *key)
{
	enum json_token t;
	bool bad = false;

	if (!strcmp(key, "baseTimeNanoseconds")) {
		TRY(kineto_number(k->j, 0, &k->s->base, &bad));
		return bad ? err_new(ERR_BAD_TRACE, "%s: its baseTimeNanoseconds cannot be",
				     k->s->ask->file)
			   : NULL;
	}
	TRY(json_next(k->j, &t));
	if (!strcmp(key, "traceEvents") && t == JSON_ARRAY)
		return read_events(k);
	if (!strcmp(key, "deviceProperties") && t == JSON_ARRAY)
		return read_devices(k);
	if (!strcmp(key, "distributedInfo") && t == JSON_OBJECT)
		return read_ranks(k);
	return json_skip(k->j, t);
}

static struct err *read_all(struct kineto_read *k)
{
	enum json_token t;
	char key[64];

	TRY(json_next(k->j, &t));
	if (t == JSON_ARRAY) /* the events alone */
		return read_events(k);
	while (t == JSON_OBJECT || t == JSON_KEY) {
		TRY(json_next(k->j, &t));
		if (t != JSON_KEY)
			break;
		snprintf(key, sizeof key, "%s", json_text(k->j));
		TRY(read_top(k, key));
		if (k->s->failed)
			return NULL;
	}
	if (t == JSON_OBJECT_END)
		TRY(json_next(k->j, &t));
	return t == JSON_END && k->any
		       ? NULL
		       : err_new(ERR_BAD_TRACE, "%s has no list \"traceEvents\"", k->s->ask->file);
}

struct err *read_kineto(struct stage *s)
{
	struct kineto_read k = {.s = s, .other_pid = KINETO_NONE};
	struct err *e = json_open(&k.j, s->ask->file);

	if (!e)
		e = read_all(&k);
	if (!e && !s->failed && k.other_pid != KINETO_NONE)
		e = err_cure(err_new(ERR_USAGE, "%s is of several processes: %lld and %lld",
				     s->ask->file, (long long)s->pid, (long long)k.other_pid),
			"Import the profile of each process by itself");
	if (!e && !s->failed && k.rows && !k.events)
		e = err_new(ERR_BAD_TRACE, "%s is no profile: none of its rows is an event",
			s->ask->file);
	json_close(k.j);
	kineto_event_free(&k.ev);
	key_table_free(&k.stacks);
	return e;
}
