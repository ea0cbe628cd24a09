/* SPDX-License-Identifier: Apache-2.0
 *
 * What two looks show of what runs: a line for each command of which anything is known.
 */
#include "shell/live/why-text.h"

#include <inttypes.h>
#include <string.h>
#include "base/text.h"

bool progress_lists(const struct why_node *n)
{
	return n->kind == WHY_COMMAND && n->moved_by;
}

static void put_head(struct buf *out, const struct why_progress *p)
{
	if (!p->looked) {
		buf_str(out, "The device did not answer.\n");
		return;
	}
	buf_printf(out, "Two looks, %u ms apart: ", p->apart_ms);
	if (p->between)
		buf_printf(out, "%" PRIu64 " command%s finished between them", p->between,
			p->between == 1 ? "" : "s");
	else
		buf_str(out, p->moved ? "commands finished between them"
				      : "no command finished between them");
	buf_printf(out, "; %" PRIu64 " %s not.\n", p->pending, p->pending == 1 ? "has" : "have");
}

static void put_line(struct buf *out, const struct why *w, uint32_t node)
{
	static const char *const says[] = {" may move or not: ", " moves: ", " does not move: "};
	const struct why_node *n = why_at(w, node);

	buf_str(out, "  ");
	why_put_stream(out, w, node);
	why_put_name(out, n);
	buf_str(out, says[n->moved <= WHY_STILL ? n->moved : WHY_MOVED_UNKNOWN]);
	text_safe(out, n->moved_by, strlen(n->moved_by), 0);
	buf_str(out, ".\n");
}

void progress_text(struct buf *out, const struct why *w)
{
	bool any = false;

	put_head(out, why_get_progress(w));
	for (uint32_t i = 0; why_at(w, i); i++) {
		if (!progress_lists(why_at(w, i)))
			continue;
		put_line(out, w, i);
		any = true;
	}
	if (!any)
		buf_str(out, "No kernel is known to be running.\n");
	for (unsigned i = 0; why_note_at(w, i); i++) {
		buf_str(out, "(");
		text_safe(out, why_note_at(w, i), strlen(why_note_at(w, i)), 0);
		buf_str(out, ".)\n");
	}
}
