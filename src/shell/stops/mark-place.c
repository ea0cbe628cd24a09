/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX names as places, see mark-place.h. Marks are found by reading the trace once.
 */
#include "shell/stops/mark-place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/words.h"
#include "sbt/sbt.h"
#include "sbt/kernel-name.h"

enum { SHOWN_MAX = 8 }; /* names in the sentence that there is none */

struct seen {
	struct buf shown;
	unsigned n;
	uint64_t matches;
};

static void see(struct seen *seen, const struct sbt_cmd *c)
{
	const struct sbt_blob *text = &c->u.mark.text;
	struct buf one = BUF_INIT;

	if (!text->len || seen->n >= SHOWN_MAX)
		return;
	buf_byte(&one, '"');
	text_safe(&one, text->p, text->len, TEXT_QUOTE);
	buf_byte(&one, '"');
	if (!strstr(buf_cstr(&seen->shown), buf_cstr(&one)))
		buf_printf(&seen->shown, "%s%s", seen->n++ ? ", " : "", buf_cstr(&one));
	buf_free(&one);
}

static struct err *none(const char *glob, uint64_t nth, struct seen *seen)
{
	if (seen->matches)
		return err_new(ERR_NOT_FOUND,
			"the trace has %" PRIu64 " of the NVTX name %s, not %" PRIu64,
			seen->matches, glob, nth);
	return err_cure(
		err_new(ERR_NOT_FOUND, "no NVTX range or mark of the trace is called %s", glob),
		seen->n ? "It has %s" : "It has none%s", buf_cstr(&seen->shown));
}

struct err *mark_find(struct session *s, const char *glob, uint64_t nth, uint64_t *ret_seq)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct seen seen = {0};
	uint64_t found = 0;
	struct err *e;

	TRY(sbt_cursor_open(&cur, s->engine.trace.reader));
	e = sbt_cursor_seek(cur, 0);
	while (!e && !found) {
		e = sbt_cursor_next(cur, &c);
		if (e || !c)
			break;
		if (c->kind != SBT_MARK)
			continue;
		see(&seen, c);
		if (sbt_mark_glob(glob, c) && ++seen.matches == nth)
			found = c->seq;
	}
	sbt_cursor_close(cur);
	if (!e && !found)
		e = none(glob, nth, &seen);
	if (ret_seq)
		*ret_seq = found;
	buf_free(&seen.shown);
	return e;
}

struct err *mark_place(struct session *s, const char *text, uint64_t *ret_seq)
{
	const char *nth = NULL;
	uint64_t n = 1;
	size_t len;
	char *glob;
	struct err *e;

	text += strspn(text, " \t");
	for (const char *p = strstr(text, " nth "); p; p = strstr(p + 1, " nth "))
		nth = p;
	if (nth && (!word_u64(nth + 5 + strspn(nth + 5, " \t"), &n) || !n))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no number", nth + 5),
			"For example: goto nvtx step nth 3");
	len = nth ? (size_t)(nth - text) : strlen(text);
	if (len >= 2 && (*text == '"' || *text == '\'') && text[len - 1] == *text) {
		text++;
		len -= 2;
	}
	if (!len)
		return err_cure(err_new(ERR_USAGE, "no NVTX name is given"),
			"For example: goto nvtx \"step 12\"");
	glob = xasprintf("%.*s", (int)len, text);
	e = mark_find(s, glob, n, ret_seq);
	free(glob);
	return e;
}
