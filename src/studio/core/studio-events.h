/* SPDX-License-Identifier: Apache-2.0
 *
 * What has happened in the session, numbered from 1: each window asks for what is behind the last
 * number that it has seen. So the server keeps nothing of a window.
 */
#ifndef STUDIO_STUDIO_EVENTS_H
#define STUDIO_STUDIO_EVENTS_H

#include <jansson.h>
#include <stdint.h>
#include "base/buf.h"

enum { STUDIO_EVENTS_KEPT = 256 };

struct studio_events {
	uint64_t newest; /* number; 0: there was none yet */
	json_t *kept[STUDIO_EVENTS_KEPT];
};

/* Appends {"event": name, "body": body}; takes body, which may be NULL. */
void studio_events_add(struct studio_events *e, const char *name, json_t *body);
/* All behind number `after` as a JSON object: next, the newest number; lost: some of them are not
 * kept any more, the window has to look again; events. */
void studio_events_put(const struct studio_events *e, uint64_t after, struct buf *out);
void studio_events_free(struct studio_events *e);

#endif
