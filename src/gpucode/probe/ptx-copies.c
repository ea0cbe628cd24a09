/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows moves between registers, see ptx-text.h.
 */
#include "gpucode/ptx-text.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"

struct move {
	char a[PTX_COPY_NAME], b[PTX_COPY_NAME];
};
struct moves {
	struct move *v;
	unsigned n, cap;
};

/* A register's name; false: it is none, or longer than ours. */
static bool take_register(const char **p, char *ret)
{
	const char *end;
	size_t n;

	*p += strspn(*p, " \t,");
	if (**p != '%')
		return false;
	for (end = *p + 1; ptx_is_name(*end);)
		end++;
	n = (size_t)(end - *p);
	if (n < 2 || n >= PTX_COPY_NAME || *end == '.')
		return false;
	memcpy(ret, *p, n);
	ret[n] = 0;
	*p = end;
	return true;
}

/* "mov.u32 %r4, %r39;", with a guard or without. */
static bool take_move(const char *p, struct move *ret)
{
	p += strspn(p, " \t");
	if (*p == '@') {
		p += strcspn(p, " \t\n");
		p += strspn(p, " \t");
	}
	if (strncmp(p, "mov.", 4))
		return false;
	p += strcspn(p, " \t\n");
	if (!take_register(&p, ret->a) || !take_register(&p, ret->b))
		return false;
	return p[strspn(p, " \t")] == ';';
}

static void take_moves(const char *text, unsigned first, unsigned last, struct moves *ret)
{
	for (unsigned line = 1; *text && line <= last; line++) {
		const size_t n = strcspn(text, "\n");
		struct move m;

		if (line >= first && take_move(text, &m)) {
			MAKE_ROOM(ret->v, ret->n, ret->cap);
			ret->v[ret->n++] = m;
		}
		text += n + (text[n] == '\n');
	}
}

static bool has(const struct ptx_copies *c, const char *reg)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!strcmp(c->reg[i], reg))
			return true;
	return false;
}

/* Adds what one move leads to from what is there. *ret_more: it was new. */
static bool add_move(struct ptx_copies *c, const struct move *m, bool *ret_more)
{
	const bool a = has(c, m->a), b = has(c, m->b);

	if (a == b)
		return true;
	if (c->n == PTX_COPIES_MAX)
		return false;
	strcpy(c->reg[c->n++], a ? m->b : m->a);
	*ret_more = true;
	return true;
}

bool ptx_copies(
	const char *text, unsigned first, unsigned last, const char *reg, struct ptx_copies *ret)
{
	struct moves m = {0};
	bool more = true, good = strlen(reg) < PTX_COPY_NAME;

	ret->n = 0;
	if (!good)
		return false;
	strcpy(ret->reg[ret->n++], reg);
	take_moves(text, first, last, &m);
	while (more && good) {
		more = false;
		for (unsigned i = 0; i < m.n && good; i++)
			good = add_move(ret, &m.v[i], &more);
	}
	free(m.v);
	return good;
}
