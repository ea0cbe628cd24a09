/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the live program share.
 */
#ifndef ENGINE_LIVE_PRIVATE_H
#define ENGINE_LIVE_PRIVATE_H

#include "engine/engine.h"

enum {
	LIVE_DRAIN_MOST = 50000,  /* commands a turn, so that a stop is seen soon */
	LIVE_PRESSURE_HIGH = 250, /* per mille */
};

/* Passes a note to the hook. */
void live_tell(struct engine *en, const struct live_note *n);
void live_tell_text(struct engine *en, enum live_note_kind kind, const char *text);
/* Passes an error that does not end the work to the hook; frees it if there is none. */
void live_fail(struct engine *en, struct err *e);
/* Says that the program is about to run. */
void live_runs_on(struct engine *en);

/* Makes live.inf, which is stopped, the engine's program. line: its command line. */
struct err *live_begin(struct engine *en, const char *line, const char *cwd) TS_CHECK;
/* live-keeper.c: starts the keeper if the settings and the program ask for one, or ends it. Without
 * it everything works until the device faults. */
void live_configure_keeper(struct engine *en, struct tsdb_control *ctl);
/* Notes, once for each keeper, that it has ended or why the agent does not use it. ctl may be
 * NULL. */
void live_tell_keeper(struct engine *en, struct tsdb_control *ctl);
/* live-step.c. final: as in drain_next(). */
bool live_drain_some(struct engine *en, bool final, unsigned most);
/* Called when the program begins to run: the next sleeps are short or long from there on. */
void live_pace_begin(struct engine *en);
/* live-end.c: the program has ended. */
void live_end(struct engine *en, const struct inferior_event *ev, struct live_stop *ret);

#endif
