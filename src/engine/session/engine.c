/* SPDX-License-Identifier: Apache-2.0
 *
 * The open trace and its replay, see engine.h.
 */
#include "engine/engine.h"

#include <stdlib.h>
#include "engine/breakpoints.h"
#include "engine/graph-steps.h"
#include "engine/microscope.h"
#include "engine/ranks.h"
#include "engine/replay-device.h"
#include "engine/soft-settings.h"
#include "replay/replay.h"
#include "sbt/sbt.h"
#include "state/state.h"

void engine_init(struct engine *en)
{
	settings_init(&en->set, &engine_settings);
	en->breaks = breakpoints_new();
	en->cancel = &en->cancelled;
	live_init(en);
}

void engine_deinit(struct engine *en)
{
	live_deinit(en);
	engine_close(en);
	breakpoints_free(en->breaks);
	probes_free(en->probes);
	ranks_free(en->ranks);
	settings_deinit(&en->set);
}

struct err *engine_setting_changed(struct engine *en, enum setting id)
{
	switch (id) {
	case SET_ON_FULL:
	case SET_TIMESTAMPS:
	case SET_STACKS:
	case SET_STACK_DEPTH:
	case SET_CODE:
	case SET_KEEP:
	case SET_WINDOW_STOP:
	case SET_STOP_ON_ERROR:
	case SET_STOP_ON_TRIGGER:
	case SET_MEMORY:
	case SET_MEMORY_LIMIT:
	case SET_OUTPUTS:
		live_configure(en);
		return NULL;
	case SET_SOFT_SCHEDULE:
	case SET_SOFT_RACECHECK:
		return soft_settings_apply(en);
	case SET_SOFT_SM:
		return soft_settings_sm(en);
	case SET_REPLAY_ORDER:
		return replay_device_order(en);
	default:
		return NULL;
	}
}

bool engine_cancelled(const struct engine *en)
{
	return en->cancel && *en->cancel;
}

void engine_go_on(struct engine *en)
{
	if (en->cancel)
		*en->cancel = false;
}

void engine_progress(const struct engine *en, const char *what, uint64_t done, uint64_t total)
{
	const struct engine_progress p = {.what = what, .done = done, .total = total};

	if (en->hooks.progress)
		en->hooks.progress(en->hooks.arg, &p);
}

void engine_progress_end(const struct engine *en)
{
	engine_progress(en, NULL, 0, 0);
}

struct err *engine_open(struct engine *en, const char *path)
{
	struct sbt_reader *r;

	TRY(sbt_reader_open(&r, path));
	engine_close(en);
	en->trace.reader = r;
	en->trace.path = xstrdup(path);
	return NULL;
}

void engine_replay_end(struct engine *en)
{
	graph_forget(en);
	if (en->trace.replay)
		replay_close(en->trace.replay);
	en->trace.replay = NULL;
	replay_device_free(en->trace.device);
	en->trace.device = NULL;
}

void engine_close(struct engine *en)
{
	engine_replay_end(en);
	if (en->trace.end)
		state_free(en->trace.end);
	en->trace.end = NULL;
	if (en->trace.inside_cursor)
		sbt_cursor_close(en->trace.inside_cursor);
	en->trace.inside_cursor = NULL;
	en->trace.inside = NULL;
	launch_names_free(en->trace.launch_names);
	en->trace.launch_names = NULL;
	en->trace.told_changed = en->trace.sources_kept = false;
	if (en->trace.reader)
		sbt_reader_close(en->trace.reader);
	en->trace.reader = NULL;
	free(en->trace.path);
	en->trace.path = NULL;
}

static void note(struct engine *en, const struct err *e)
{
	char *text = xasprintf("The state alone is replayed: %s.", e->what);

	if (en->hooks.note)
		en->hooks.note(en->hooks.arg, text);
	free(text);
}

struct err *engine_replay(struct engine *en, const struct replay_choice *c)
{
	struct replay_choice chosen = c ? *c : replay_choice_default(en);
	struct replay_device *rd = NULL;
	struct replay_executor ex;
	struct err *e = NULL;

	if (chosen.on != REPLAY_ON_NONE)
		e = replay_device_check(en, &chosen);
	if (!e)
		engine_replay_end(en); /* two replays at a time may need too much device memory */
	if (!e && chosen.on != REPLAY_ON_NONE)
		e = replay_device_open(en, &chosen, &rd);
	if (e && (chosen.strict || chosen.on != REPLAY_ON_AUTO || e->code == ERR_INTERRUPTED ||
			 e->code == ERR_NOT_FOUND))
		return e;
	if (e) {
		note(en, e);
		err_free(e);
	}
	engine_replay_end(en);
	if (rd)
		ex = device_executor(rd->d);
	e = replay_open(&en->trace.replay, en->trace.reader, rd ? &ex : NULL);
	if (e) {
		if (rd)
			device_close(rd->d);
		replay_device_free(rd);
		return e;
	}
	en->trace.device = rd;
	return en->hooks.replay_opened ? en->hooks.replay_opened(en->hooks.arg) : NULL;
}

struct err *engine_end_state(struct engine *en, const struct state **ret)
{
	if (!en->trace.end)
		TRY(state_at(
			&en->trace.end, en->trace.reader, sbt_reader_last_seq(en->trace.reader)));
	*ret = en->trace.end;
	return NULL;
}
