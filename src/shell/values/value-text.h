/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as `print`, `info locals`, `show values` and their like say them, as text and as JSON.
 */
#ifndef SHELL_VALUE_TEXT_H
#define SHELL_VALUE_TEXT_H

#include "lang/lang.h"
#include "shell/line/session.h"
#include "shell/print/listing.h"

struct shown_value {
	const char *name; /* "$1", "n" */
	char *type;	  /* heap; NULL: it has none, or is not known */
	char *shown;	  /* heap: as text */
};
extern const struct js_object shown_value_object;
/* "name = value", a listing_text. */
void shown_value_text(struct buf *out, const void *value);
/* A value of that name as text; v NULL: text alone. text is copied. */
struct shown_value shown_value_of(const char *name, const struct lang_value *v, const char *text);
/* Adds it to a list and frees it. */
void shown_value_add(struct listing *l, struct shown_value v);
/* A list of variables; shown_list_add() adds one to the struct shown_list at arg. why: v is not to
 * be had. */
struct shown_list {
	struct session *s;
	struct listing *l;
};
void shown_list_add(void *arg, const char *name, const struct lang_value *v, const char *why);
/* Prints it alone and frees it. */
void shown_value_tell(struct session *s, bool json, struct shown_value v);

#endif
