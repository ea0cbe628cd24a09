/* SPDX-License-Identifier: Apache-2.0
 *
 * Printers in Python, see py-show.h. The surprise: which printer is for a type is decided here, so
 * that values of all others cost Python nothing.
 */
#include "shell/python/py-show.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "shell/python/py-helper.h"
#include "shell/values/value.h"

enum { BYTES_MAX = 1 << 20 };

/* The first printer for a type; -1: none. */
static int printer_of(const char *printers, const char *type)
{
	char *all = xstrdup(printers), *rest = all, *glob;
	int i = 0, found = -1;

	for (; found < 0 && (glob = strsep(&rest, "\n")); i++) {
		if (!strcmp(glob, type) || !fnmatch(glob, type, 0))
			found = i;
	}
	free(all);
	return found;
}

static void put_bytes(struct buf *out, const uint8_t *p, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		buf_printf(out, "%02x", p[i]);
}

/* What Python is asked: see PYTHON_SHOW. */
static struct err *question(struct session *s, int printer, const char *type,
	const struct lang_value *v, struct buf *out)
{
	struct lang_value copy = lang_value_copy(v);
	struct err *e = value_fetch(s, &copy);

	if (!e) {
		buf_printf(out, "%d\n%s\n", printer, type);
		if (v->place == LANG_MEMORY)
			buf_printf(out, "0x%" PRIx64, v->addr);
		buf_byte(out, '\n');
		put_bytes(out, copy.bytes, copy.type->size);
	}
	lang_value_free(&copy);
	return e;
}

static bool show(struct session *s, int printer, const char *type, const struct lang_value *v,
	struct buf *out)
{
	struct buf asked = BUF_INIT;
	char *text = NULL;
	struct err *e = question(s, printer, type, v, &asked);
	bool shown;

	if (!e) {
		e = python_run(s, PYTHON_SHOW, buf_cstr(&asked), &text);
		if (e)
			text_print(out_notes(s->out), "The printer for %s failed: %s%s%s\n", type,
				e->what, e->cure ? ". " : "", e->cure ? e->cure : "");
	}
	err_free(e);
	buf_free(&asked);
	shown = text && *text == '=';
	if (shown)
		text_safe(out, text + 1, strlen(text + 1), 0);
	free(text);
	return shown;
}

bool python_show(struct session *s, const struct lang_value *v, struct buf *out)
{
	const char *printers = python_printers(s);
	struct buf type = BUF_INIT;
	bool shown = false;
	int printer;

	if (!printers || python_is_busy(s) || !v->type || v->place == LANG_GONE ||
		v->type->size > BYTES_MAX)
		return false;
	lang_type_name(&type, v->type, "");
	printer = printer_of(printers, buf_cstr(&type));
	if (printer >= 0 && !strchr(buf_cstr(&type), '\n'))
		shown = show(s, printer, buf_cstr(&type), v, out);
	buf_free(&type);
	return shown;
}
