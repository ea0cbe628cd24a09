/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder, see recorder.h: moves commands from the rings to the state and the trace.
 * recorder-file.c writes the file, recorder-stacks.c stacks and code, recorder-memory.c memory
 * contents.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "engine/record/recorder-inside.h"
#include "sbt/cmd-pack.h"

enum { TAIL_MAX = 16 << 20, CALL_NAME_MAX = 128 };
#define FLUSH_EVERY_NS 700000000u

uint64_t recorder_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- life --- */

struct recorder *recorder_new(const struct recorder_options *o)
{
	struct recorder *r = xcalloc(1, sizeof *r);

	r->o = *o;
	r->program = xstrdup(o->program ? o->program : "");
	r->cwd = xstrdup(o->cwd ? o->cwd : "");
	r->state = state_new();
	r->start_ns = recorder_clock_ns(CLOCK_REALTIME);
	if (o->keep)
		r->recent = xcalloc(RECENT_MAX, sizeof *r->recent);
	return r;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	if (r->w)
		err_free(sbt_writer_close(r->w));
	recorder_forget(r);
	for (unsigned i = 0; r->recent && i < RECENT_MAX; i++)
		free(r->recent[i].bytes);
	free(r->recent);
	state_free(r->state);
	buf_free(&r->tail);
	recorder_memory_free(r);
	free(r->finished);
	free(r->program);
	free(r->cwd);
	free(r->path);
	free(r);
}

void recorder_exec(struct recorder *r)
{
	state_free(r->state);
	r->state = state_new();
	r->nrecent = 0;
	free(r->finished);
	r->finished = NULL;
	r->nbeside = 0;
}

enum recorder_mode recorder_mode(const struct recorder *r)
{
	return r->mode;
}

/* --- commands --- */

static void count_call(struct recorder *r, const struct sbt_blob *name)
{
	size_t n = name->len < CALL_NAME_MAX ? (size_t)name->len : CALL_NAME_MAX;

	for (unsigned i = 0; i < r->ncalls; i++) {
		if (strlen(r->calls[i].name) == n && !memcmp(r->calls[i].name, name->p, n)) {
			r->calls[i].n++;
			return;
		}
	}
	r->calls = xrealloc(r->calls, (r->ncalls + 1) * sizeof *r->calls);
	r->calls[r->ncalls++] = (struct kept_call){
		.name = xasprintf("%.*s", (int)n, (const char *)name->p), .n = 1};
}

static void keep_recent(struct recorder *r, const struct sbt_cmd *c)
{
	struct recent *slot;
	size_t n;

	if (!r->recent)
		return;
	slot = &r->recent[r->nrecent++ % RECENT_MAX];
	n = sbt_pack_size(c);
	if (n > slot->cap) {
		slot->bytes = xrealloc(slot->bytes, n);
		slot->cap = n;
	}
	sbt_pack(slot->bytes, c);
	slot->len = n;
}

/* What to do with a command. */
enum fate {
	FATE_SKIP,
	FATE_WRITE,
	/* a window is open, but c is not in it: it is another thread's and was in flight when the
	 * window opened, or the window is over */
	FATE_KEEP,
};

static enum fate fate_of(const struct recorder *r, const struct sbt_cmd *c)
{
	if (c->seq < r->from)
		return FATE_SKIP;
	if ((r->mode == RECORDER_ALL && !r->memory.ending) ||
		(r->mode == RECORDER_WINDOW && (c->flags & SBT_F_WINDOW)))
		return FATE_WRITE;
	return r->mode != RECORDER_OFF && r->commands ? FATE_KEEP : FATE_SKIP;
}

struct err *recorder_write_cmd(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c)
{
	TRY(recorder_write_stack(r, inf, c->stack));
	TRY(sbt_writer_cmd(r->w, c));
	if (!r->first)
		r->first = c->seq;
	r->last = c->seq;
	r->commands++;
	return NULL;
}

static void keep_tail(struct recorder *r, const struct sbt_cmd *c)
{
	size_t n = sbt_pack_size(c);

	if (r->tail.len + n > TAIL_MAX)
		return;			    /* the window was over long ago */
	sbt_pack(buf_room(&r->tail, n), c); /* sizes are multiples of 8, so each one is aligned */
	r->tail.len += n;
}

/* Whether the command of an agent that came late says what a kernel that the capture launched was
 * loaded from. */
static bool tells_of_code(const struct sbt_cmd *c)
{
	return c->kind == SBT_MODULE_CODE ||
	       (c->kind == SBT_GLOBAL_DEF && c->flags & SBT_F_SYNTHETIC) ||
	       (c->kind == SBT_ATTACH && c->u.attach.what == SBT_ATTACH_UNKNOWN);
}

struct err *recorder_write_to(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c,
	uint64_t last, uint64_t known)
{
	if (c->seq <= last)
		return recorder_write_cmd(r, inf, c);
	return c->seq <= known && tells_of_code(c) ? sbt_writer_cmd(r->w, c) : NULL;
}

struct err *recorder_write_tail(
	struct recorder *r, struct inferior *inf, uint64_t last, uint64_t known)
{
	size_t at = 0, n;
	struct sbt_cmd c;

	while (at < r->tail.len) {
		n = sbt_unpack(&c, r->tail.data + at, r->tail.len - at);
		BUG_ON(!n);
		at += n;
		TRY(recorder_write_to(r, inf, &c, last, known));
	}
	buf_clear(&r->tail);
	return NULL;
}

/* Writes what has to be in the trace before c: the trace's head, waiting commands, a keyframe when
 * one is due. */
static struct err *before_cmd(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c)
{
	bool begins = recorder_window_begins(r, c->seq);

	if (!r->w)
		TRY(recorder_open(r, c));
	else
		TRY(recorder_device(r, c));
	if (!r->commands)
		return recorder_keyframe(r);
	TRY(recorder_write_tail(r, inf, UINT64_MAX, 0));
	if (begins || sbt_writer_since_keyframe(r->w) >= state_keyframe_every(r->state))
		return recorder_keyframe(r);
	return NULL;
}

static struct err *take_cmd(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c)
{
	enum fate fate = fate_of(r, c);
	struct err *e;

	if (c->seq <= r->last_seq)
		return NULL; /* the rings promise order; nothing downstream could use this one */
	if (c->kind == SBT_DEVICE)
		recorder_learn_target(r, c);
	if (fate == FATE_WRITE) {
		e = before_cmd(r, inf, c);
		if (e)
			return recorder_give_up(r, e);
	}
	e = state_apply(r->state, c);
	if (e) { /* it fits in no trace */
		err_free(e);
		return NULL;
	}
	r->last_seq = c->seq;
	if (c->kind == SBT_UNREPLAYABLE && !c->result) /* a call that failed has changed nothing */
		count_call(r, &c->u.unreplayable.call);
	if (c->kind == SBT_MODULE_LOAD && !c->result)
		recorder_note_module(r, &c->u.module_load);
	if (!(c->flags & SBT_F_SYNTHETIC) && c->kind != SBT_DEVICE && c->kind != SBT_THREAD)
		r->count++;
	keep_recent(r, c);
	if (fate == FATE_KEEP)
		keep_tail(r, c);
	if (fate == FATE_WRITE) {
		e = recorder_write_cmd(r, inf, c);
		if (e)
			return recorder_give_up(r, e);
	}
	return NULL;
}

static void note_finished(struct recorder *r, const struct drain_item *it)
{
	if (!it->seq)
		return;
	if (!r->finished)
		r->finished = xcalloc(FINISHED_MAX, sizeof *r->finished);
	r->finished[it->seq % FINISHED_MAX] = it->seq;
}

bool recorder_finished(const struct recorder *r, uint64_t seq)
{
	return r->finished && seq && r->finished[seq % FINISHED_MAX] == seq;
}

static struct err *take_item(struct recorder *r, struct inferior *inf, const struct drain_item *it)
{
	struct err *e = NULL;

	switch (it->kind) {
	case DRAIN_CMD:
		return take_cmd(r, inf, &it->cmd);
	case DRAIN_STACK:
		if (r->mode != RECORDER_OFF || r->o.keep)
			recorder_keep_stack(r, it->stack, it->frames, it->n);
		return NULL;
	case DRAIN_TIME:
		note_finished(r, it);
		if (r->w && it->seq && it->seq >= r->first && it->seq <= r->last)
			e = sbt_writer_time(r->w, it->seq, it->start_ns, it->end_ns);
		break;
	case DRAIN_CODE:
		if (r->mode != RECORDER_OFF || r->o.keep)
			e = recorder_take_code(r, it);
		break;
	case DRAIN_MEMORY:
		e = recorder_take_memory(r, it);
		break;
	case DRAIN_WINDOW:
		e = recorder_take_window(r, it);
		break;
	case DRAIN_NONE:
		break;
	}
	return e ? recorder_give_up(r, e) : NULL;
}

/* Whether the next item begins another program's commands; it is then kept back. */
static bool is_exec(struct recorder *r, const struct drain_item *it)
{
	if ((it->kind != DRAIN_CMD && it->kind != DRAIN_MEMORY && it->kind != DRAIN_WINDOW) ||
		it->epoch == r->epoch)
		return false;
	r->epoch = it->epoch;
	r->held = *it; /* its data is valid until the next drain_next() */
	r->holds = true;
	return true;
}

struct err *recorder_drain(struct recorder *r, struct inferior *inf, bool final, unsigned most,
	enum recorder_turn *ret)
{
	struct drain_item it;

	*ret = RECORDER_DONE;
	if (r->holds) {
		r->holds = false;
		TRY(take_item(r, inf, &r->held));
	}
	for (unsigned n = 0; !most || n < most; n++) {
		TRY(drain_next(inf, final, &it));
		if (it.kind == DRAIN_NONE)
			return NULL;
		if (is_exec(r, &it)) {
			*ret = RECORDER_EXEC;
			return NULL;
		}
		TRY(take_item(r, inf, &it));
	}
	*ret = RECORDER_MORE;
	return NULL;
}

struct err *recorder_tick(struct recorder *r)
{
	struct err *e;
	uint64_t now;

	if (!r->w)
		return NULL;
	now = recorder_clock_ns(CLOCK_MONOTONIC);
	if (now - r->flushed_ns < FLUSH_EVERY_NS)
		return NULL;
	r->flushed_ns = now;
	e = sbt_writer_flush(r->w);
	return e ? recorder_give_up(r, e) : NULL;
}

/* --- looking --- */

struct state *recorder_state(struct recorder *r)
{
	return r->state;
}

uint64_t recorder_count(const struct recorder *r)
{
	return r->count;
}

uint64_t recorder_written(const struct recorder *r)
{
	return r->commands;
}

uint64_t recorder_last_seq(const struct recorder *r)
{
	return r->last_seq;
}

bool recorder_recent(const struct recorder *r, unsigned age, struct sbt_cmd *ret)
{
	const struct recent *slot;

	if (!r->recent || age >= RECENT_MAX || age >= r->nrecent)
		return false;
	slot = &r->recent[(r->nrecent - 1 - age) % RECENT_MAX];
	return sbt_unpack(ret, slot->bytes, slot->len) != 0;
}

bool recorder_unreplayable(
	struct recorder *r, unsigned i, const char **ret_call, uint64_t *ret_n, bool *ret_new)
{
	if (i >= r->ncalls)
		return false;
	*ret_call = r->calls[i].name;
	*ret_n = r->calls[i].n;
	*ret_new = !r->calls[i].told;
	r->calls[i].told = true;
	return true;
}

const char *recorder_call(const struct recorder *r, unsigned i)
{
	return i < r->ncalls ? r->calls[i].name : NULL;
}
