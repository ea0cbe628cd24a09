/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the newest stop of what moves of the program and of the replay came to.
 */
#include "engine/last-stop.h"

#include <stdio.h>
#include <string.h>
#include "engine/engine.h"
#include "engine/graph-steps.h"
#include "engine/recorder.h"
#include "engine/replay-moves.h"
#include "replay/replay.h"
#include "sbt/kernel-name.h"

static const char *const words[] = {
#define WORD(name, number, word) [STOP_##name] = word,
	TS_STOP_REASONS(WORD)
#undef WORD
};

const char *stop_reason_word(enum stop_reason reason)
{
	return (size_t)reason < sizeof words / sizeof *words ? words[reason] : NULL;
}

static struct stop *begin(struct engine *en, enum stop_reason reason, bool replay)
{
	struct stop *s = &en->stop;
	const uint64_t number = s->number + 1;

	*s = (struct stop){.number = number,
		.reason = reason,
		.replay = replay,
		.stream = SBT_NO_ID,
		.exit_code = -1};
	return s;
}

static void copy(char *to, size_t room, const char *text)
{
	snprintf(to, room, "%s", text ? text : "");
}

static void take_command(struct stop *s, const struct sbt_cmd *c, const struct state *st)
{
	struct state_kernel k;

	s->kind = c->kind;
	s->stream = sbt_cmd_stream(c);
	if (c->kind == SBT_LAUNCH && st && state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k))
		copy(s->kernel, sizeof s->kernel, k.short_name);
}

static void add_breakpoint(struct stop *s, int id)
{
	if (id > 0 && s->nbreakpoints < STOP_BREAKPOINTS)
		s->breakpoints[s->nbreakpoints++] = (uint64_t)id;
}

/* --- the program --- */

static void take_fault(struct stop *s, const struct tsdb_error *e)
{
	s->has_fault = true;
	s->fault = (struct stop_fault){.code = e->code, .addr = e->known ? e->addr : 0};
	copy(s->fault.name, sizeof s->fault.name, e->name);
	copy(s->fault.call, sizeof s->fault.call, e->call);
	copy(s->fault.text, sizeof s->fault.text, e->text);
}

void stop_of_program(struct engine *en, const struct live_stop *stop)
{
	const enum stop_reason reason = stop->why;
	const bool failed = reason == STOP_FAULT || reason == STOP_FAILED_CALL;
	const struct live *l = &en->live;
	struct stop *s;

	if (!stop_reason_word(reason)) /* it runs, or the agent has answered */
		return;
	s = begin(en, reason, false);
	s->pid = (int)stop->pid;
	s->tid = (int)stop->tid;
	if (reason == STOP_EXITED)
		s->exit_code = stop->status;
	if (reason == STOP_SIGNAL || reason == STOP_KILLED)
		s->signal = stop->signal;
	if (failed)
		take_fault(s, &stop->fault.error);
	if (reason == STOP_EXITED || reason == STOP_KILLED)
		return;
	s->seq = stop->seq;
	s->step = stop->step;
	s->before = s->seq && !failed && reason != STOP_TRIGGER;
	if (s->seq && l->at_cmd)
		take_command(s, &l->cmd, recorder_state(l->recorder));
	if (reason == STOP_TRIGGER && l->at_cmd && l->cmd.kind == SBT_MARK) {
		const struct sbt_blob *text = &l->cmd.u.mark.text;

		snprintf(s->trigger, sizeof s->trigger, "%.*s",
			(int)(text->len < STOP_TEXT ? text->len : STOP_TEXT),
			text->len ? (const char *)text->p : "");
	}
	if (reason != STOP_BREAKPOINT)
		return;
	s->temporary = stop->temporary;
	add_breakpoint(s, stop->breakpoint);
	for (unsigned i = 0; i < stop->nothers; i++)
		add_breakpoint(s, stop->others[i]);
}

/* --- the replay --- */

static enum stop_reason reason_of_replay(enum replay_why why)
{
	static const enum stop_reason reasons[] = {
		[REPLAY_STEPPED] = STOP_STEP,
		[REPLAY_BREAKPOINT] = STOP_BREAKPOINT,
		[REPLAY_END] = STOP_END,
		[REPLAY_BEGIN] = STOP_BEGIN,
		[REPLAY_INTERRUPTED] = STOP_INTERRUPTED,
		[REPLAY_WATCHPOINT] = STOP_WATCHPOINT,
	};

	return reasons[why];
}

static bool is_hit(const struct replay_stop *stop)
{
	return stop->why == REPLAY_BREAKPOINT || stop->why == REPLAY_WATCHPOINT;
}

void stop_of_replay(
	struct engine *en, const struct replay_stop *stop, const int *others, unsigned nothers)
{
	const struct sbt_cmd *c = replay_cmd(en->trace.replay);
	struct stop *s = begin(en, reason_of_replay(stop->why), true);

	s->seq = c ? c->seq : 0;
	if (c)
		take_command(s, c, replay_state(en->trace.replay));
	else if (s->reason == STOP_STEP)
		s->reason = STOP_BEGIN;
	if (!is_hit(stop))
		return;
	add_breakpoint(s, stop->breakpoint);
	for (unsigned i = 0; i < nothers; i++)
		add_breakpoint(s, others[i]);
	s->watch.by = stop->late ? stop->late : s->seq;
}

void stop_of_device(struct engine *en, uint64_t seq, const char *what)
{
	struct stop *s = begin(en, STOP_FAULT, true);

	s->seq = seq;
	s->before = true;
	s->has_fault = true;
	copy(s->fault.text, sizeof s->fault.text, what);
}

void stop_of_step(struct engine *en, const struct replay_stop *stop, uint64_t seq, uint32_t step)
{
	const struct graph_place *p = graph_place_of(en);
	struct stop *s = begin(en, reason_of_replay(stop->why), true);

	s->seq = s->watch.by = seq;
	s->before = p && (p->before || !step);
	s->step = step + s->before;
	if (p && p->has_cmd)
		take_command(s, &p->cmd, replay_state(en->trace.replay));
	else if (replay_cmd(en->trace.replay))
		take_command(s, replay_cmd(en->trace.replay), replay_state(en->trace.replay));
	if (is_hit(stop))
		add_breakpoint(s, stop->breakpoint);
}

/* --- inside a launch --- */

static enum stop_reason reason_of_kernel(const struct soft_stop *t)
{
	if (t->why == SOFT_WHY_FAULT)
		return STOP_FAULT;
	if (t->state == SOFT_ENDED)
		return STOP_KERNEL_END;
	switch (t->why) {
	case SOFT_WHY_BEGIN:
		return STOP_KERNEL_BEGIN;
	case SOFT_WHY_POINT:
		return STOP_BREAKPOINT;
	case SOFT_WHY_WATCH:
		return STOP_WATCHPOINT;
	case SOFT_WHY_WARP_ENDED:
		return STOP_WARP_END;
	case SOFT_WHY_END:
		return STOP_KERNEL_END;
	case SOFT_WHY_TIME:
		return STOP_INTERRUPTED;
	default:
		return STOP_STEP;
	}
}

static const char *space_name(uint32_t space)
{
	static const char *const names[SOFT_SPACES] = {"global", "shared", "local", "param"};

	return space < SOFT_SPACES ? names[space] : NULL;
}

static void take_soft_change(struct stop *s, const struct soft_change *c)
{
	s->has_watch = true;
	s->watch = (struct stop_watch){.addr = c->addr,
		.size = c->size,
		.space = space_name(c->space),
		.by = s->seq,
		.reads = c->access & SOFT_READS,
		.writes = c->access != SOFT_READS,
		.sure = true,
		.nbytes = c->size <= STOP_BYTES ? c->size : STOP_BYTES};
	memcpy(s->watch.before, c->before, STOP_BYTES);
	memcpy(s->watch.after, c->after, STOP_BYTES);
	s->watch.changed = s->watch.writes && memcmp(c->before, c->after, s->watch.nbytes) != 0;
}

void stop_of_kernel(struct engine *en, const struct soft_stop *t)
{
	struct stop *s;

	if (t->why == SOFT_WHY_FOCUS)
		return;
	s = begin(en, reason_of_kernel(t), true);
	s->seq = t->seq;
	s->kind = SBT_LAUNCH;
	sbt_kernel_short_name(s->kernel, sizeof s->kernel, t->kernel);
	if (en->trace.inside && en->trace.inside->seq == t->seq)
		s->stream = sbt_cmd_stream(en->trace.inside);
	if (s->reason == STOP_BREAKPOINT || s->reason == STOP_WATCHPOINT)
		add_breakpoint(s, (int)t->id);
	if (s->reason == STOP_WATCHPOINT)
		take_soft_change(s, &t->change);
	if (s->reason == STOP_FAULT) {
		s->has_fault = true;
		copy(s->fault.text, sizeof s->fault.text, t->sentence);
	}
	if (t->state == SOFT_ENDED)
		return;
	s->in_kernel = true;
	s->thread.warp = t->warp;
	s->thread.lane = t->lane;
	s->thread.line = t->line;
	s->thread.source_line = t->source_line;
	memcpy(s->thread.block, t->block, sizeof t->block);
	memcpy(s->thread.thread, t->thread, sizeof t->thread);
	copy(s->thread.file, sizeof s->thread.file, t->file);
}

/* --- what watchpoints saw --- */

void stop_add_change(
	struct engine *en, uint64_t addr, const void *before, const void *after, size_t n)
{
	const uint8_t *a = before, *b = after;
	struct stop_watch *w = &en->stop.watch;
	size_t first = 0, last = n;

	if (en->stop.reason != STOP_WATCHPOINT)
		return;
	while (first < n && a[first] == b[first])
		first++;
	if (first == n)
		return; /* the change lies behind the bytes that were read */
	while (a[last - 1] == b[last - 1])
		last--;
	first -= first < (addr + first) % STOP_WORD ? first : (addr + first) % STOP_WORD;
	while (last < n && (addr + last) % STOP_WORD)
		last++;
	en->stop.has_watch = true;
	*w = (struct stop_watch){.addr = addr + first,
		.size = last - first,
		.space = space_name(SOFT_GLOBAL),
		.by = w->by,
		.changed = true,
		.writes = true,
		.sure = true};
	w->nbytes = w->size < STOP_BYTES ? w->size : STOP_BYTES;
	memcpy(w->before, a + first, w->nbytes);
	memcpy(w->after, b + first, w->nbytes);
}

void stop_add_touch(struct engine *en, const struct watch_touch *touch)
{
	en->stop.has_watch = true;
	en->stop.watch = (struct stop_watch){.addr = touch->addr,
		.size = touch->size,
		.space = space_name(SOFT_GLOBAL),
		.by = touch->by,
		.reads = touch->reads,
		.writes = touch->writes,
		.sure = touch->sure};
}
