/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol Buffers' wire format, see proto.h.
 */
#include "export/core/proto.h"

#include <string.h>
#include "base/text.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

enum { VARINT_MAX = 10 }; /* bytes */

static inline uint8_t *put(uint8_t *p, uint64_t v)
{
	if (__builtin_expect(v < 0x80, 1)) {
		*p = (uint8_t)v;
		return p + 1;
	}
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

void pb_packed(struct buf *m, uint64_t v)
{
	uint8_t *p = buf_room(m, VARINT_MAX);

	m->len += (size_t)(put(p, v) - p);
}

/* A tag and the number behind it: a value, or the length of what follows. */
static void tagged(struct buf *b, unsigned field, unsigned wire, uint64_t v)
{
	uint8_t *p = buf_room(b, 2 * VARINT_MAX);

	b->len += (size_t)(put(put(p, (uint64_t)field << 3 | wire), v) - p);
}

void pb_u64(struct buf *b, unsigned field, uint64_t v)
{
	tagged(b, field, WIRE_VARINT, v);
}

void pb_fixed64(struct buf *b, unsigned field, uint64_t v)
{
	uint8_t *p = buf_room(b, 2 * VARINT_MAX),
		*end = put(p, (uint64_t)field << 3 | WIRE_FIXED64);

	for (unsigned i = 0; i < 8; i++)
		*end++ = (uint8_t)(v >> 8 * i);
	b->len += (size_t)(end - p);
}

void pb_plain(struct buf *b, unsigned field, const char *s, size_t n)
{
	tagged(b, field, WIRE_BYTES, n);
	buf_add(b, s, n);
}

void pb_text(struct buf *b, unsigned field, const char *s)
{
	struct buf safe = BUF_INIT;
	const size_t n = strlen(s);

	if (text_is_safe(s)) {
		pb_plain(b, field, s, n);
		return;
	}
	text_safe(&safe, s, n, 0);
	pb_message(b, field, &safe);
	buf_free(&safe);
}

void pb_message(struct buf *b, unsigned field, struct buf *m)
{
	tagged(b, field, WIRE_BYTES, m->len);
	buf_add(b, m->data, m->len);
	buf_clear(m);
}
