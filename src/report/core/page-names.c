/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts with numbers, see page-names.h.
 */
#include "report/core/page-names.h"

#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "base/text.h"

static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

static uint32_t *slot(const struct names *t, const char *text)
{
	uint32_t i = hash(text) & (t->slots - 1);

	while (t->index[i] && strcmp(t->v[t->index[i] - 1], text))
		i = (i + 1) & (t->slots - 1);
	return &t->index[i];
}

static void grow(struct names *t)
{
	t->slots = t->slots ? 2 * t->slots : 64;
	free(t->index);
	t->index = xcalloc(t->slots, sizeof *t->index);
	for (uint32_t i = 0; i < t->n; i++)
		*slot(t, t->v[i]) = i + 1;
}

/* Takes text over. */
static uint32_t number(struct names *t, char *text)
{
	uint32_t *at;

	if (2 * t->n >= t->slots)
		grow(t);
	at = slot(t, text);
	if (*at) {
		free(text);
		return *at - 1;
	}
	MAKE_ROOM(t->v, t->n, t->cap);
	t->v[t->n++] = text;
	*at = t->n;
	return t->n - 1;
}

uint32_t names_number(struct names *t, const void *text, size_t n)
{
	struct buf safe = BUF_INIT;

	if (t->n >= NAMES_MAX)
		return number(t, xstrdup("..."));
	text_safe(&safe, text, n < NAME_BYTES_MAX ? n : NAME_BYTES_MAX, 0);
	if (n > NAME_BYTES_MAX)
		buf_str(&safe, "...");
	(void)buf_cstr(&safe);
	return number(t, buf_steal(&safe));
}

uint32_t names_of(struct names *t, const char *text)
{
	return names_number(t, text, strlen(text));
}

void names_put(struct buf *out, const struct names *t)
{
	buf_byte(out, '[');
	for (uint32_t i = 0; i < t->n; i++) {
		if (i)
			buf_byte(out, ',');
		js_text(out, t->v[i]);
	}
	buf_byte(out, ']');
}

void names_free(struct names *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	free(t->index);
	*t = (struct names){0};
}
