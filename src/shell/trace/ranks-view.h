/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens sets of traces in a session, and shows them.
 */
#ifndef SHELL_RANKS_VIEW_H
#define SHELL_RANKS_VIEW_H

#include "engine/ranks.h"
#include "shell/trace/trace.h"

/* trace.c: opens a set in the session, with its first rank's trace. */
struct err *ranks_begin(struct session *s, const char *path) TS_CHECK;

/* ranks-view.c: prints all ranks in one timeline; prints what the set contains. */
struct err *ranks_view(struct session *s, struct ranks *set, const struct view_filter *f) TS_CHECK;
struct err *ranks_info(struct session *s, struct ranks *set, bool json) TS_CHECK;

#endif
