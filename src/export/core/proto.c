/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol Buffers' wire format, see proto.h: what is seldom needed.
 */
#include "export/core/proto.h"

uint8_t *pb_grow(struct buf *b, uint8_t *p, size_t n)
{
	b->len = (size_t)(p - b->data);
	return buf_room(b, n);
}

uint8_t *pb_close_wide(struct buf *b, uint8_t *p, size_t at, enum pb_width width)
{
	const size_t n = (size_t)(p - b->data) - at;
	uint8_t length[PB_VARINT_MAX], *begin;
	const size_t bytes = (size_t)(pb_put_varint(length, n) - length);

	pb_grow(b, p, bytes);
	begin = b->data + at - width;
	memmove(begin + bytes, begin + width, n);
	memcpy(begin, length, bytes);
	return begin + bytes + n;
}
