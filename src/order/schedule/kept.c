/* SPDX-License-Identifier: Apache-2.0
 *
 * A window's commands kept packed, see kept.h.
 */
#include <stdlib.h>
#include <string.h>
#include "base/first-where.h"
#include "order/kept.h"
#include "sbt/cmd-pack.h"

static uint64_t seq_of(const void *rows, size_t i, size_t size)
{
	uint64_t seq;

	memcpy(&seq, (const uint8_t *)rows + i * size, sizeof seq);
	return seq;
}

size_t kept_row_from(const void *rows, size_t n, size_t size, uint64_t seq)
{
	return FIRST_WHERE(n, i, seq_of(rows, i, size) >= seq);
}

size_t kept_from(const struct kept_window *k, uint64_t seq)
{
	return kept_row_from(k->c, k->n, sizeof *k->c, seq);
}

size_t kept_find(const struct kept_window *k, uint64_t seq)
{
	const size_t i = kept_from(k, seq);

	return i < k->n && k->c[i].seq == seq ? i : SIZE_MAX;
}

/* Packed commands are read in place, as u64: each begins at a multiple of 8. */
static void keep(struct kept_window *k, const struct sbt_cmd *c)
{
	const size_t size = sbt_pack_size(c), at = (k->packed.len + 7) & ~(size_t)7;

	MAKE_ROOM(k->c, k->n, k->cap);
	k->c[k->n++] = (struct kept_cmd){.seq = c->seq, .at = at, .is_work = sbt_cmd_is_work(c)};
	(void)buf_room(&k->packed, size + 8);
	memset(k->packed.data + k->packed.len, 0, at - k->packed.len);
	sbt_pack(k->packed.data + at, c);
	k->packed.len = at + size;
}

struct err *kept_read(
	struct kept_window *k, struct sbt_cursor *cursor, uint64_t first, uint64_t last)
{
	const struct sbt_cmd *c;

	TRY(sbt_cursor_seek(cursor, first));
	for (;;) {
		TRY(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > last)
			return NULL;
		if (k->n >= KEPT_MAX)
			return err_new(ERR_LIMIT,
				"the window has more than %u commands: too many for other orders",
				KEPT_MAX);
		keep(k, c);
	}
}

void kept_free(struct kept_window *k)
{
	free(k->c);
	buf_free(&k->packed);
	*k = (struct kept_window){0};
}

struct err *kept_get(const struct kept_window *k, size_t i, struct sbt_cmd *ret)
{
	if (sbt_unpack(ret, k->packed.data + k->c[i].at, k->packed.len - k->c[i].at))
		return NULL;
	return err_new(ERR_BAD_TRACE, "#%llu cannot be packed", (unsigned long long)k->c[i].seq);
}
