/* SPDX-License-Identifier: Apache-2.0
 *
 * Races by cause, see causes.h. Without host functions' names a race is a cause of its own.
 */
#include "shell/print/causes.h"

#include <stdlib.h>
#include <string.h>
#include "shell/print/stack-view.h"

/* Appends what identifies a party; returns false if nothing does. */
static bool add_party(
	struct session *s, struct sbt_reader *r, struct buf *b, const struct order_party *p)
{
	struct stack st = {0};
	struct err *e;
	bool named = false;

	buf_printf(b, "%u %u %d|", p->kind, p->kernel, p->stream == SBT_NO_ID);
	if (p->stream == SBT_NO_ID) /* the host: which command is behind its write is chance */
		return true;
	e = stack_recorded(s, r, p->stack, &st);
	for (unsigned i = 0; !e && i < st.n; i++) {
		named |= st.frames[i].sym.function != NULL;
		buf_printf(b, "%s;", st.frames[i].sym.function ? st.frames[i].sym.function : "?");
	}
	err_free(e);
	stack_free(&st);
	return named;
}

size_t *causes_find(
	struct session *s, struct sbt_reader *r, const struct order_race *races, size_t n)
{
	size_t *ret = xcalloc(n + 1, sizeof *ret);
	char **keys = xcalloc(n + 1, sizeof *keys);

	for (size_t i = 0; i < n; i++) {
		struct buf b = BUF_INIT;
		const struct order_race *x = &races[i];

		buf_printf(&b, "%d %d %d %d|", (int)x->tier, (int)x->unread, (int)x->staged,
			(int)(x->early | x->flag));
		ret[i] = i;
		if (x->a.node == SBT_NO_ID && add_party(s, r, &b, &x->a) &&
			add_party(s, r, &b, &x->b))
			keys[i] = xstrdup(buf_cstr(&b));
		buf_free(&b);
		for (size_t k = 0; keys[i] && k < i && ret[i] == i; k++)
			if (keys[k] && ret[k] == k && !strcmp(keys[k], keys[i]))
				ret[i] = k;
	}
	for (size_t i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
	return ret;
}
