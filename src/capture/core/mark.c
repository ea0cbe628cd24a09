/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program says of itself; see mark.h. The surprise: a range is counted before its record
 * is made and after its end's, so that a window has both in it.
 */
#include "capture/core/mark.h"

#include <errno.h>
#include <string.h>
#include <tracesmith/mark.h>
#include "capture/core/agent.h"
#include "capture/core/armed.h"
#include "capture/core/calls.h"
#include "capture/core/stop.h"
#include "capture/core/thread.h"

enum { TEXT_MAX = 4096 };

static void record(struct thread *t, enum mark_kind kind, const char *text)
{
	static const struct call_row row = {.name = "mark", .kind = SBT_MARK};
	struct call c = {.row = &row, .t = t, .cmd.kind = SBT_MARK};
	c.cmd.u.mark.mark_kind = kind;
	if (text)
		c.cmd.u.mark.text = (struct sbt_blob){text, strnlen(text, TEXT_MAX)};
	if (armed_takes_marks())
		c.cmd.flags |= SBT_F_WINDOW;
	record_with_stop(&c);
	if (kind == MARK_TRIGGER)
		stop_trigger(&c);
}

static void say(struct thread *t, enum mark_kind kind, const char *text, bool window)
{
	/* The devices cannot be listed before cuInit(): the first GPU call announces the thread. */
	if (kind == MARK_PUSH)
		armed_push(t, text ? text : "", window);
	record(t, kind, text);
	if (kind == MARK_POP)
		armed_pop(t);
}

static bool is_recording(void)
{
	return agent_live() && atomic_load_explicit(&agent.control->on, memory_order_relaxed);
}

bool mark_say(enum mark_kind kind, const char *text, bool window)
{
	const int saved = errno;
	bool stranger;
	if (tls.inside || !thread_come_in(&stranger))
		return false;
	struct thread *t = is_recording() ? thread_get() : NULL;
	if (t)
		say(t, kind, text, window);
	thread_go_out(stranger);
	errno = saved;
	return t != NULL;
}

/* The other end of tracesmith/mark.h. */
AGENT_PUBLIC tracesmith_hook tsdb_agent_mark;
int tsdb_agent_mark(unsigned ask, const char *text)
{
	if (!agent.control && agent_open())
		return 0;
	switch (ask) {
	case TRACESMITH_MARK:
		return mark_say(MARK_POINT, text, false);
	case TRACESMITH_PUSH:
		return mark_say(MARK_PUSH, text, false);
	case TRACESMITH_POP:
		return mark_say(MARK_POP, NULL, false);
	case TRACESMITH_TRIGGER:
		return mark_say(MARK_TRIGGER, text, false);
	case TRACESMITH_WINDOW:
		return mark_say(MARK_PUSH, text, true);
	case TRACESMITH_HERE:
		return is_recording();
	default:
		return 0;
	}
}
