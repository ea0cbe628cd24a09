/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists as text or as JSON, see listing.h.
 */
#include "shell/print/listing.h"

struct listing listing_begin(struct session *s, bool json, const struct js_object *of,
	const char *header, listing_text text)
{
	struct listing l = {s, json, of, text, header, 0, BUF_INIT};

	buf_str(&l.b, json ? "[" : header ? header : "");
	return l;
}

void listing_add(struct listing *l, const void *row)
{
	l->n++;
	if (l->json)
		js_add(&l->b, l->of, row);
	else
		l->text(&l->b, row);
}

void listing_end(struct listing *l, const char *none)
{
	if (l->json)
		buf_str(&l->b, "]\n");
	if (l->json || !l->header)
		out_str(l->s->out, !l->json && !l->n && none ? none : buf_cstr(&l->b));
	else if (l->n || !none)
		out_table(l->s->out, &l->b);
	else
		out_str(l->s->out, none);
	buf_free(&l->b);
}

void listing_one(struct session *s, bool json, const struct js_object *of, listing_text text,
	const void *row)
{
	struct buf b = BUF_INIT;

	if (json) {
		js_put(&b, of, row);
		buf_byte(&b, '\n');
	} else {
		text(&b, row);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
}
