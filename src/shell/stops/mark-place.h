/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX names as places in a trace.
 */
#ifndef SHELL_MARK_PLACE_H
#define SHELL_MARK_PLACE_H

#include "shell/line/session.h"

/* Finds the nth (from 1) mark, or beginning of a range, of the open trace whose text glob matches.
 * ret_seq may be NULL. ERR_NOT_FOUND names those that there are. */
struct err *mark_find(
	struct session *s, const char *glob, uint64_t nth, uint64_t *ret_seq) TS_CHECK;
/* "NAME [nth K]" as such a place. */
struct err *mark_place(struct session *s, const char *text, uint64_t *ret_seq) TS_CHECK;

#endif
