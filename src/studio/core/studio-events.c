/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of events, see studio-events.h.
 */
#include "studio/core/studio-events.h"

#include <inttypes.h>
#include <stdlib.h>

void studio_events_add(struct studio_events *e, const char *name, json_t *body)
{
	json_t **at = &e->kept[++e->newest % STUDIO_EVENTS_KEPT];

	json_decref(*at);
	*at = json_pack("{s:s, s:o?}", "event", name, "body", body);
	BUG_ON(!*at);
}

void studio_events_put(const struct studio_events *e, uint64_t after, struct buf *out)
{
	const uint64_t oldest =
		e->newest < STUDIO_EVENTS_KEPT ? 1 : e->newest - STUDIO_EVENTS_KEPT + 1;
	/* a number of another server's: everything has to be looked at again */
	const bool lost = after > e->newest || after + 1 < oldest;
	uint64_t n = lost ? e->newest + 1 : after + 1;

	buf_printf(out, "{\"next\":%" PRIu64 ",\"lost\":%s,\"events\":[", e->newest,
		lost ? "true" : "false");
	for (bool first = true; n <= e->newest; n++, first = false) {
		char *text = json_dumps(e->kept[n % STUDIO_EVENTS_KEPT], JSON_COMPACT);

		BUG_ON(!text);
		buf_str(out, first ? "" : ",");
		buf_str(out, text);
		free(text);
	}
	buf_str(out, "]}");
}

void studio_events_free(struct studio_events *e)
{
	for (unsigned i = 0; i < STUDIO_EVENTS_KEPT; i++)
		json_decref(e->kept[i]);
	*e = (struct studio_events){0};
}
