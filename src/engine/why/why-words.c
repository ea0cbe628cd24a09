/* SPDX-License-Identifier: Apache-2.0
 *
 * Phrases that several sources of a wait-for graph have in their nodes.
 */
#include "engine/why/why-private.h"

#include <inttypes.h>

static void put_size(struct buf *b, const uint64_t size[3])
{
	if (size[1] == 1 && size[2] == 1)
		buf_printf(b, "%" PRIu64, size[0]);
	else
		buf_printf(b, "(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", size[0], size[1], size[2]);
}

void why_put_launch(
	struct buf *b, const char *kernel, const uint64_t grid[3], const uint64_t block[3])
{
	buf_printf(b, "%s<<<", kernel);
	put_size(b, grid);
	buf_byte(b, ',');
	put_size(b, block);
	buf_str(b, ">>>");
}

void why_put_bytes(struct buf *b, unsigned bytes, uint64_t addr, uint64_t now)
{
	buf_printf(b, "%u bytes at 0x%" PRIx64 " (now %" PRIu64 ")", bytes, addr, now);
}

void why_put_lanes(struct buf *b, bool all, uint64_t lanes)
{
	buf_printf(b, "%s%" PRIu64 " lane%s at ", all && lanes > 1 ? "all " : "", lanes,
		lanes == 1 ? "" : "s");
}
