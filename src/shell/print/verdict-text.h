/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a replay differs from its recording, in sentences and as JSON.
 */
#ifndef SHELL_VERDICT_TEXT_H
#define SHELL_VERDICT_TEXT_H

#include "engine/verdict.h"
#include "shell/line/session.h"

/* A verdict for JSON: its values, and its sentences. */
struct why {
	struct verdict v;	  /* borrowed */
	const char *tier, *proof; /* of a race; NULL: none */
	struct buf text;
};
extern const struct js_object *const why_object;

/* Appends lines, the first begins with "Why: "; nothing for VERDICT_NONE. The replay is at the
 * window's end. */
void verdict_print(struct session *s, const struct verdict *v, struct buf *out);
/* The caller frees ret->text. */
void why_make(struct session *s, const struct verdict *v, struct why *ret);

#endif
