/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressing with zlib, see squeeze.h.
 */
#include "squeeze/squeeze.h"

#include <stdlib.h>
#include <zlib.h>
#include "base/memory-door.h"

/* Level 1 makes a fifth of Perfetto's packets; higher levels take half as long again for a tenth
 * less. */
enum { LEVEL = 1, MEMORY = 8, PIECE = 1 << 16, STEP = 1 << 30 };

struct squeeze {
	z_stream z;
};

struct squeeze *squeeze_new(enum squeeze_as as)
{
	struct squeeze *s = xcalloc(1, sizeof *s);

	if (deflateInit2(&s->z, LEVEL, Z_DEFLATED, as == SQUEEZE_ZLIB ? MAX_WBITS : -MAX_WBITS,
		    MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		memory_out();
	return s;
}

/* Has no error but wrong settings. */
static void compress_some(struct squeeze *s, struct buf *out, int flush)
{
	int r;

	do {
		s->z.next_out = buf_room(out, PIECE);
		s->z.avail_out = PIECE;
		r = deflate(&s->z, flush);
		BUG_ON(r == Z_STREAM_ERROR);
		out->len += PIECE - s->z.avail_out;
	} while (!s->z.avail_out || (flush == Z_FINISH && r != Z_STREAM_END));
}

void squeeze_put(struct squeeze *s, const void *p, size_t n, struct buf *out)
{
	const uint8_t *from = p;

	while (n) {
		const size_t some = n < STEP ? n : STEP;

		s->z.next_in = (Bytef *)(uintptr_t)from;
		s->z.avail_in = (uInt)some;
		compress_some(s, out, Z_NO_FLUSH);
		from += some;
		n -= some;
	}
}

void squeeze_end(struct squeeze *s, struct buf *out)
{
	s->z.avail_in = 0;
	compress_some(s, out, Z_FINISH);
	deflateReset(&s->z);
}

void squeeze_free(struct squeeze *s)
{
	if (s)
		deflateEnd(&s->z);
	free(s);
}

uint32_t squeeze_crc32(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}
