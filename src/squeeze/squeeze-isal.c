/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressing with Intel's ISA-L, see squeeze.h.
 */
#include "squeeze/squeeze.h"

#include <stdlib.h>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

/* Level 0 is hardly faster and a sixth longer, levels 2 and 3 are slower by more than they save. */
enum { LEVEL = 1, LEVEL_ROOM = ISAL_DEF_LVL1_DEFAULT, PIECE = 1 << 16, STEP = 1 << 30 };

struct squeeze {
	struct isal_zstream z;
	enum squeeze_as as;
	uint8_t level[LEVEL_ROOM];
};

static void begin(struct squeeze *s)
{
	s->z.gzip_flag = s->as == SQUEEZE_ZLIB ? IGZIP_ZLIB : IGZIP_DEFLATE;
	s->z.end_of_stream = 0;
}

struct squeeze *squeeze_new(enum squeeze_as as)
{
	struct squeeze *s = xmalloc(sizeof *s);

	isal_deflate_init(&s->z);
	s->as = as;
	s->z.level = LEVEL;
	s->z.level_buf = s->level;
	s->z.level_buf_size = LEVEL_ROOM;
	begin(s);
	return s;
}

/* Has no error but wrong settings. */
static void compress(struct squeeze *s, struct buf *out)
{
	do {
		s->z.next_out = buf_room(out, PIECE);
		s->z.avail_out = PIECE;
		BUG_ON(isal_deflate(&s->z) != COMP_OK);
		out->len += PIECE - s->z.avail_out;
	} while (!s->z.avail_out);
	BUG_ON(s->z.avail_in);
}

void squeeze_put(struct squeeze *s, const void *p, size_t n, struct buf *out)
{
	const uint8_t *from = p;

	while (n) {
		const uint32_t some = n < STEP ? (uint32_t)n : STEP;

		s->z.next_in = (uint8_t *)(uintptr_t)from;
		s->z.avail_in = some;
		compress(s, out);
		from += some;
		n -= some;
	}
}

void squeeze_end(struct squeeze *s, struct buf *out)
{
	s->z.avail_in = 0;
	s->z.end_of_stream = 1;
	do
		compress(s, out);
	while (s->z.internal_state.state != ZSTATE_END);
	isal_deflate_reset(&s->z);
	begin(s);
}

void squeeze_free(struct squeeze *s)
{
	free(s);
}

uint32_t squeeze_crc32(uint32_t crc, const void *p, size_t n)
{
	return crc32_gzip_refl(crc, p, n);
}
