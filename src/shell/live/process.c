/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program at the prompt, see process.h.
 */
#include "shell/values/kernel-args.h"
#include "shell/live/process.h"

#include <stdio.h>
#include "base/words.h"
#include "shell/stops/break-place.h"
#include "shell/analyse/races.h"
#include "shell/live/live-text.h"

/* --- what the engine's hooks do --- */

static void note(void *arg, struct engine *en, const struct live_note *n)
{
	struct session *s = arg;

	if (n->kind == LIVE_NOTE_CLOSES)
		s->focus = FOCUS_LIVE;
	live_note_tell(s, en, n);
}

static void failed(void *arg, struct engine *en, struct err *e)
{
	struct session *s = arg;

	s->failures++;
	out_error(s->out, e);
}

static void runs_on(void *arg)
{
	struct session *s = arg;

	out_flush(s->out);
}

/* Prints a value for `set capture memory-limit` that would be enough. */
static void print_limit(char *dst, size_t n, uint64_t bytes)
{
	uint64_t mib = (bytes + (1u << 20) - 1) >> 20;

	if (mib < 1024)
		snprintf(dst, n, "%lluM", (unsigned long long)(mib ? mib : 1));
	else
		snprintf(dst, n, "%lluG", (unsigned long long)((mib + 1023) / 1024));
}

static struct err *over_limit(
	bool recording, const char *needed, const char *limit, const char *enough)
{
	if (recording)
		return err_cure(
			err_new(ERR_LIMIT,
				"the recording would hold %s of memory, more than the limit of %s; it goes on without memory",
				needed, limit),
			"Use \"--memory-limit %s\" or \"--memory touched\"", enough);
	return err_cure(
		err_new(ERR_LIMIT,
			"this window would record %s of memory, more than the limit of %s; it is captured without memory",
			needed, limit),
		"Use \"set capture memory-limit %s\" or \"set capture memory touched\"", enough);
}

/* A user who can be asked is asked; one at a terminal who is not to be asked means yes. */
static bool memory_limit(void *arg, struct engine *en, uint64_t bytes)
{
	struct session *s = arg;
	const bool own = en == &s->engine;
	char needed[32], limit[32], enough[32];

	words_bytes(needed, sizeof needed, bytes);
	words_bytes(limit, sizeof limit, en->set.number[SET_MEMORY_LIMIT]);
	if (own && session_can_ask(s))
		return session_confirm(s,
			"This window would record %s of memory, more than the limit of %s. Record it anyway?",
			needed, limit);
	if (own && s->interactive) /* `set confirm off` */
		return true;
	print_limit(enough, sizeof enough, bytes);
	failed(s, en, over_limit(en->live.recording, needed, limit, enough));
	return false;
}

void process_hooks(struct session *s)
{
	struct engine_hooks *h = &s->engine.hooks;

	h->live_note = note;
	h->live_failed = failed;
	h->memory_limit = memory_limit;
	h->runs_on = runs_on;
	h->made_from = break_made_from;
}

/* --- start --- */

struct err *process_launch(struct session *s, const struct redirect *r)
{
	races_forget(s);
	kernel_args_renew_conditions(s);
	TRY(live_launch(&s->engine, r));
	s->focus = FOCUS_LIVE;
	return NULL;
}

struct err *process_attach(struct session *s, const char *who, bool wait)
{
	const struct live *l = &s->engine.live;

	if (*who == '-')
		return err_cure(err_new(ERR_USAGE, "attach has no \"%s\"", who),
			"For example: attach 4711, attach --wait train");
	if (l->inf && !session_confirm(s, "A program is being debugged already. %s it?",
			      inferior_attached(l->inf) ? "Leave" : "Kill"))
		return err_new(ERR_STATE, "nothing was attached to");
	TRY(live_attach(&s->engine, who, wait));
	s->focus = FOCUS_LIVE;
	return NULL;
}

/* --- running --- */

struct err *process_await(struct session *s)
{
	struct live_stop stop;

	TRY(live_step(&s->engine, -1, &stop));
	races_tell_live(s);
	live_stop_tell(s, &stop);
	return NULL;
}

struct err *process_continue(struct session *s)
{
	s->focus = FOCUS_LIVE;
	TRY(live_continue(&s->engine));
	return process_await(s);
}

struct err *process_next(struct session *s)
{
	TRY(live_next(&s->engine));
	s->focus = FOCUS_LIVE;
	return process_await(s);
}
