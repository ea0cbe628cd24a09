/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol Buffers' wire format, see proto.h.
 */
#include "export/core/proto.h"

#include <string.h>
#include "base/text.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void pb_packed(struct buf *m, uint64_t v)
{
	uint8_t *p = buf_room(m, 10);
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	m->len += n;
}

static void tag(struct buf *b, unsigned field, unsigned wire)
{
	pb_packed(b, (uint64_t)field << 3 | wire);
}

void pb_u64(struct buf *b, unsigned field, uint64_t v)
{
	tag(b, field, WIRE_VARINT);
	pb_packed(b, v);
}

void pb_text(struct buf *b, unsigned field, const char *s)
{
	struct buf safe = BUF_INIT;
	const size_t n = strlen(s);

	if (text_is_safe(s)) {
		tag(b, field, WIRE_BYTES);
		pb_packed(b, n);
		buf_add(b, s, n);
		return;
	}
	text_safe(&safe, s, n, 0);
	pb_message(b, field, &safe);
	buf_free(&safe);
}

void pb_message(struct buf *b, unsigned field, struct buf *m)
{
	tag(b, field, WIRE_BYTES);
	pb_packed(b, m->len);
	buf_add(b, m->data, m->len);
	buf_clear(m);
}
