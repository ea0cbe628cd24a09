/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands refer to: the live program or the replay, see enum focus.
 */
#include "replay/replay.h"
#include "shell/print/graph.h"
#include "engine/microscope.h"
#include "engine/recorder.h"
#include "shell/line/session.h"
#include "shell/trace/trace.h"

struct err *session_state(struct session *s, const struct state **ret)
{
	if (s->focus == FOCUS_REPLAY && s->engine.trace.replay) {
		*ret = replay_state(s->engine.trace.replay);
		return NULL;
	}
	if (s->focus == FOCUS_REPLAY && s->engine.trace.reader)
		return engine_end_state(&s->engine, ret);
	if (s->engine.live.recorder) {
		*ret = recorder_state(s->engine.live.recorder);
		return NULL;
	}
	return err_cure(
		err_new(ERR_STATE,
			"there is no GPU to look at: no program has been run and no trace is open"),
		"Use \"run\", or \"replay start FILE\"");
}

bool session_cmd(struct session *s, const struct sbt_cmd **ret)
{
	*ret = NULL;
	const struct graph_place *p = graph_place(s);

	if (p && p->has_cmd)
		*ret = &p->cmd;
	else if (s->focus == FOCUS_REPLAY && microscope_cmd(&s->engine))
		*ret = microscope_cmd(&s->engine);
	else if (s->focus == FOCUS_REPLAY)
		*ret = s->engine.trace.replay ? replay_cmd(s->engine.trace.replay) : NULL;
	else if (s->engine.live.at_cmd)
		*ret = &s->engine.live.cmd;
	return *ret != NULL;
}
