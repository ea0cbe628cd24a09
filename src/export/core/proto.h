/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol Buffers' wire format (protobuf.dev, "Encoding"), written straight into a buffer. A
 * message within a message is opened, its fields follow, and its length is put in front when it is
 * closed. All is inline: an export writes some hundred numbers a command.
 */
#ifndef EXPORT_PROTO_H
#define EXPORT_PROTO_H

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/text.h"

/* A field is a handful of instructions where its number and width are constants. */
#define PB_INLINE static inline __attribute__((always_inline))

enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2 };
enum { PB_VARINT_MAX = 10 }; /* bytes */

/* The end of a buffer, where fields are written. The buffer's own length is right after pb_end()
 * only, and nothing else may write to it before. */
struct pb {
	struct buf *b;
	uint8_t *p, *end;
};

/* The bits of v, which is below 2^56, 7 to a byte, the low ones in the lowest byte. */
static inline uint64_t pb_spread(uint64_t v)
{
	v = (v & UINT64_C(0x00fffffff0000000)) << 4 | (v & UINT64_C(0x000000000fffffff));
	v = (v & UINT64_C(0x0fffc0000fffc000)) << 2 | (v & UINT64_C(0x00003fff00003fff));
	return (v & UINT64_C(0x3f803f803f803f80)) << 1 | (v & UINT64_C(0x007f007f007f007f));
}

/* A varint of more than one byte at p, which has PB_VARINT_MAX bytes of room; returns its end. */
static inline uint8_t *pb_long_varint(uint8_t *p, uint64_t v)
{
	const unsigned n = v >> 56 ? 9 : (70 - (unsigned)__builtin_clzll(v)) / 7;
	const uint64_t more = UINT64_C(0x8080808080808080),
		       x = htole64(pb_spread(v & (UINT64_MAX >> 8)) |
				   (n > 8 ? more : more & ((UINT64_C(1) << 8 * (n - 1)) - 1)));

	memcpy(p, &x, sizeof x);
	p[8] = (uint8_t)(v >> 56); /* its top bit is that of v: one more byte follows */
	p[9] = 1;
	return p + n + (v >> 63);
}

PB_INLINE uint8_t *pb_put_varint(uint8_t *p, uint64_t v)
{
	if (v >= 0x80)
		return pb_long_varint(p, v);
	*p = (uint8_t)v;
	return p + 1;
}

PB_INLINE struct pb pb_begin(struct buf *b)
{
	uint8_t *p = buf_room(b, PB_VARINT_MAX);

	return (struct pb){b, p, b->data + b->cap};
}

PB_INLINE void pb_end(const struct pb *w)
{
	w->b->len = (size_t)(w->p - w->b->data);
}

/* Makes room in b, which is written up to p, for n more bytes; returns where p is then. */
uint8_t *pb_grow(struct buf *b, uint8_t *p, size_t n);

PB_INLINE void pb_room(struct pb *w, size_t n)
{
	if (__builtin_expect((size_t)(w->end - w->p) >= n, 1))
		return;
	w->p = pb_grow(w->b, w->p, n);
	w->end = w->b->data + w->b->cap;
}

PB_INLINE void pb_tag(struct pb *w, unsigned field, unsigned wire)
{
	w->p = pb_put_varint(w->p, (uint64_t)field << 3 | wire);
}

/* A field that is a number: int32 to uint64, bool, an enumeration. */
PB_INLINE void pb_u64(struct pb *w, unsigned field, uint64_t v)
{
	pb_room(w, 2 * PB_VARINT_MAX);
	pb_tag(w, field, PB_VARINT);
	w->p = pb_put_varint(w->p, v);
}

/* A number of a packed field, which was opened as a message is. */
PB_INLINE void pb_packed(struct pb *w, uint64_t v)
{
	pb_room(w, PB_VARINT_MAX);
	w->p = pb_put_varint(w->p, v);
}

/* A fixed64. */
PB_INLINE void pb_fixed64(struct pb *w, unsigned field, uint64_t v)
{
	const uint64_t x = htole64(v);

	pb_room(w, PB_VARINT_MAX + sizeof x);
	pb_tag(w, field, PB_FIXED64);
	memcpy(w->p, &x, sizeof x);
	w->p += sizeof x;
}

/* A string of n bytes that is plain text, such as a literal; or a message that was made before. */
PB_INLINE void pb_bytes(struct pb *w, unsigned field, const void *s, size_t n)
{
	pb_room(w, 2 * PB_VARINT_MAX + n);
	pb_tag(w, field, PB_BYTES);
	w->p = pb_put_varint(w->p, n);
	memcpy(w->p, s, n);
	w->p += n;
}

/* A string. Text that is not UTF-8 is made so. */
PB_INLINE void pb_text(struct pb *w, unsigned field, const char *s)
{
	char *safe = text_is_safe(s) ? NULL : text_safe_dup(s, strlen(s));

	pb_bytes(w, field, safe ? safe : s, strlen(safe ? safe : s));
	free(safe);
}

/* A message's width is how many bytes its length gets: a varint may be longer than it must. One
 * that turns out longer than the width can say is moved. */
enum pb_width { PB_BELOW_128 = 1, PB_BELOW_16K = 2 };

/* Begins a message, or packed numbers; returns what pb_close() wants, with the same width. */
PB_INLINE size_t pb_open(struct pb *w, unsigned field, enum pb_width width)
{
	pb_room(w, 2 * PB_VARINT_MAX);
	pb_tag(w, field, PB_BYTES);
	w->p += width;
	return (size_t)(w->p - w->b->data);
}

/* What pb_close() does when the width is too small; returns where p is then. */
uint8_t *pb_close_wide(struct buf *b, uint8_t *p, size_t at, enum pb_width width);

PB_INLINE void pb_close(struct pb *w, size_t at, enum pb_width width)
{
	uint8_t *begin = w->b->data + at;
	const size_t n = (size_t)(w->p - begin);

	if (__builtin_expect(n >> 7 * width != 0, 0)) {
		w->p = pb_close_wide(w->b, w->p, at, width);
		w->end = w->b->data + w->b->cap;
	} else if (width == PB_BELOW_128) {
		begin[-1] = (uint8_t)n;
	} else {
		begin[-2] = (uint8_t)(n | 0x80);
		begin[-1] = (uint8_t)(n >> 7);
	}
}

#endif
