/* SPDX-License-Identifier: Apache-2.0
 *
 * Values with their names, see value-text.h.
 */
#include "shell/values/value-text.h"

#include <stdlib.h>
#include "shell/values/value.h"

static const struct js_field fields[] = {JS_AS("name", TEXT, shown_value, name),
	JS_AS("type", TEXT, shown_value, type), JS_AS("shown", TEXT, shown_value, shown),
	{.type = JS_END}};
const struct js_object shown_value_object = {"value", sizeof(struct shown_value), fields, 0};
JS_LISTED(shown_value_object);

void shown_value_text(struct buf *out, const void *value)
{
	const struct shown_value *v = value;

	buf_printf(out, "%s = %s\n", v->name, v->shown);
}

struct shown_value shown_value_of(const char *name, const struct lang_value *v, const char *text)
{
	struct buf type = BUF_INIT;

	if (v && v->type)
		lang_type_name(&type, v->type, "");
	return (struct shown_value){name, v && v->type ? buf_steal(&type) : NULL, xstrdup(text)};
}

static void forget(struct shown_value *v)
{
	free(v->type);
	free(v->shown);
}

void shown_value_add(struct listing *l, struct shown_value v)
{
	listing_add(l, &v);
	forget(&v);
}

void shown_list_add(void *arg, const char *name, const struct lang_value *v, const char *why)
{
	const struct shown_list *in = arg;
	struct buf b = BUF_INIT;

	if (why)
		buf_printf(&b, "<not available: %s>", why);
	else
		value_show_inside(in->s, v, &b);
	shown_value_add(in->l, shown_value_of(name, v, buf_cstr(&b)));
	buf_free(&b);
}

void shown_value_tell(struct session *s, bool json, struct shown_value v)
{
	listing_one(s, json, &shown_value_object, shown_value_text, &v);
	forget(&v);
}
