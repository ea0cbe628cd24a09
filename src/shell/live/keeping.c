/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper of a live program, see keeping.h.
 */
#include "shell/live/keeping.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "attach/attach.h"
#include "shell/line/out.h"
#include "shell/live/gpu.h"
#include "shell/live/process.h"

#define LOST_IF_FAULT "copies of device memory will be lost if the device faults: "
#define ENDED "tsdb-keeper, the process that has them, "
#define CURE "; `set capture keep off` and `set capture keep on` start another"

/* Whether memory has to be kept: not without a span, nor for a program that has not used the GPU
 * yet. */
static bool keeper_wanted(const struct session *s, struct tsdb_control *ctl)
{
	return settings_on(&s->engine.set, SET_KEEP) &&
	       atomic_load(&ctl->memory) != TSDB_MEMORY_NONE &&
	       (ctl->window.kind != TSDB_WINDOW_NONE ||
		       (atomic_load(&ctl->span) && atomic_load(&ctl->next_seq) > 1));
}

void keeping_configure(struct session *s, struct tsdb_control *ctl)
{
	char *keeper, *soft;
	struct err *e;

	if (!settings_on(&s->engine.set, SET_KEEP)) {
		inferior_keep_end(s->target.inf);
		s->target.keep_told = false;
	}
	if (!keeper_wanted(s, ctl))
		return;
	keeper = gpu_keeper_path();
	soft = s->target.soft ? gpu_soft_dir() : NULL;
	e = keeper ? inferior_keep(s->target.inf, keeper, soft) : NULL;
	if (e && !s->target.keep_told)
		out_warn(s->out, LOST_IF_FAULT "%s", e->what);
	s->target.keep_told |= e != NULL;
	err_free(e);
	free(keeper);
	free(soft);
}

static void tell_end(struct session *s, int status)
{
	if (WIFSIGNALED(status))
		out_warn(s->out, LOST_IF_FAULT ENDED "was killed by %s" CURE,
			process_signal_name(WTERMSIG(status)));
	else
		out_warn(s->out, LOST_IF_FAULT ENDED "ended with status %d" CURE,
			WEXITSTATUS(status));
}

void keeping_tell(struct session *s, struct tsdb_control *ctl)
{
	char text[TSDB_TEXT_MAX];
	int status;

	if (!ctl)
		return;
	if (inferior_keeper_ended(s->target.inf, &status)) {
		if (!s->target.keep_told)
			tell_end(s, status);
		s->target.keep_told = true;
	}
	if (s->target.keep_told || !ctl->keep_text[0])
		return;
	memcpy(text, ctl->keep_text, sizeof text);
	text[sizeof text - 1] = 0;
	out_warn(s->out, LOST_IF_FAULT "%s", text);
	s->target.keep_told = true;
}
