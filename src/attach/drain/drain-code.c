/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembles a module's code from the pieces in a ring. Memory grows with the bytes that came, never
 * with the announced size.
 */
#include "attach/drain/drain.h"

#include <string.h>
#include <xxhash.h>

#define CODE_MAX (2ull << 30) /* bytes; the largest cubins known are some hundred MB */

static void restart(struct drain_code *c, const struct tsdb_msg_code *m)
{
	c->open = true;
	c->hash = m->hash;
	c->total = m->total;
	c->kind = m->kind < CODE_UNKNOWN ? (enum code_kind)m->kind : CODE_UNKNOWN;
	buf_clear(&c->bytes);
}

bool drain_code_piece(struct drain_code *c, const struct tsdb_msg_code *m, struct drain_item *ret)
{
	if (m->head.size < sizeof(*m) || m->n > m->head.size - sizeof(*m) || m->total > CODE_MAX ||
		m->offset > m->total || m->n > m->total - m->offset)
		return false;
	if (m->offset == 0)
		restart(c, m);
	if (!c->open || m->hash != c->hash || m->total != c->total || m->offset != c->bytes.len)
		return false;
	buf_add(&c->bytes, m->bytes, m->n);
	if (c->bytes.len < c->total)
		return true;
	c->open = false;
	if (XXH64(c->bytes.data, c->bytes.len, 0) != c->hash)
		return false;
	ret->kind = DRAIN_CODE;
	ret->hash = c->hash;
	ret->code = c->bytes.data;
	ret->code_size = c->bytes.len;
	ret->code_kind = c->kind;
	return true;
}

void drain_code_free(struct drain_code *c)
{
	buf_free(&c->bytes);
}
