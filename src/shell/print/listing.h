/* SPDX-License-Identifier: Apache-2.0
 *
 * A list or a single thing on the screen, as text or as JSON: both are printed from the same
 * struct, the text by the caller's function, the JSON by the struct's table (base/json-put.h).
 */
#ifndef SHELL_LISTING_H
#define SHELL_LISTING_H

#include "base/json-put.h"
#include "shell/line/session.h"

/* Appends the text of a row, with its newline. */
typedef void (*listing_text)(struct buf *out, const void *row);

struct listing {
	struct session *s;
	bool json;
	const struct js_object *of;
	listing_text text;
	const char *header; /* of the text, with its newline; NULL: none */
	unsigned n;
	struct buf b;
};

/* Begins a list; listing_end() prints it. The struct lives until then, on the caller's stack. */
struct listing listing_begin(struct session *s, bool json, const struct js_object *of,
	const char *header, listing_text text);
void listing_add(struct listing *l, const void *row);
/* Prints the list and frees it. none: the text of an empty one, with its newline; NULL: the header
 * alone. */
void listing_end(struct listing *l, const char *none);
/* Prints one thing. */
void listing_one(struct session *s, bool json, const struct js_object *of, listing_text text,
	const void *row);

#endif
