/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper of a live program (tsdb-keeper): when there is to be one, and what is to be known of
 * it.
 */
#include <stdlib.h>
#include <string.h>
#include "engine/live/live-private.h"
#include "engine/parts.h"

/* Whether memory has to be kept: not without a window, nor for a program that has not used the GPU
 * yet. */
static bool keeper_wanted(const struct engine *en, struct tsdb_control *ctl)
{
	return settings_on(&en->set, SET_KEEP) && atomic_load(&ctl->memory) != TSDB_MEMORY_NONE &&
	       (ctl->window.kind != TSDB_WINDOW_NONE ||
		       (atomic_load(&ctl->capture_all) && atomic_load(&ctl->next_seq) > 1));
}

void live_configure_keeper(struct engine *en, struct tsdb_control *ctl)
{
	struct live *l = &en->live;
	char *keeper, *soft;
	struct err *e;

	if (!settings_on(&en->set, SET_KEEP)) {
		inferior_keep_end(l->inf);
		l->keep_told = false;
	}
	if (!keeper_wanted(en, ctl))
		return;
	keeper = gpu_keeper_path();
	soft = l->soft ? gpu_soft_dir() : NULL;
	e = keeper ? inferior_keep(l->inf, keeper, soft) : NULL;
	if (e && !l->keep_told)
		live_tell_text(en, LIVE_NOTE_NO_KEEPER, e->what);
	l->keep_told |= e != NULL;
	err_free(e);
	free(keeper);
	free(soft);
}

void live_tell_keeper(struct engine *en, struct tsdb_control *ctl)
{
	struct live *l = &en->live;
	char text[TSDB_TEXT_MAX];
	int status;

	if (!ctl)
		return;
	if (inferior_keeper_ended(l->inf, &status)) {
		if (!l->keep_told)
			live_tell(en, &(struct live_note){
					      .kind = LIVE_NOTE_KEEPER_ENDED, .status = status});
		l->keep_told = true;
	}
	if (l->keep_told || !ctl->keep_text[0])
		return;
	memcpy(text, ctl->keep_text, sizeof text);
	text[sizeof text - 1] = 0;
	live_tell_text(en, LIVE_NOTE_NO_KEEPER, text);
	l->keep_told = true;
}
