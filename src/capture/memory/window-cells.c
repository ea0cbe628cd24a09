/* SPDX-License-Identifier: Apache-2.0
 *
 * See window-cells.h. There are few of them: a collective library has one table of some kilobytes.
 */
#include "capture/memory/window-cells.h"

#define CELLS_MAX 256u
#define CELLS_BYTES (1u << 20)

static struct {
	struct {
		uint64_t addr;
		uint32_t module;
	} known[CELLS_MAX];
	unsigned nknown;
	struct piece piece[CELLS_MAX];
	unsigned n;
	uint8_t *bytes; /* of the pieces, one after the other; NULL: not needed yet */
	uint32_t used;
} cells;

void cells_begin(void)
{
	cells.nknown = cells.n = cells.used = 0;
}

void cells_at_start(const struct piece *p)
{
	if (cells.nknown == CELLS_MAX)
		return;
	cells.known[cells.nknown].addr = p->addr;
	cells.known[cells.nknown++].module = p->module;
}

bool cells_at_end(struct device_ctx *d, const struct piece *p)
{
	for (unsigned i = 0; i < cells.nknown; i++)
		if (cells.known[i].addr == p->addr && cells.known[i].module == p->module)
			return false;
	if (!cells.bytes)
		cells.bytes = agent_map(CELLS_BYTES);
	if (!cells.bytes || cells.n == CELLS_MAX || p->size > CELLS_BYTES - cells.used ||
		!device_read(d, p->addr, cells.bytes + cells.used, p->size))
		return false;
	cells.piece[cells.n++] = *p;
	cells.used += (uint32_t)p->size;
	return true;
}

void cells_send(void)
{
	uint32_t at = 0;
	for (unsigned i = 0; i < cells.n && agent_live(); i++) {
		(void)bulk_bytes(&cells.piece[i], cells.bytes + at, cells.piece[i].size);
		at += (uint32_t)cells.piece[i].size;
	}
	cells.n = cells.used = 0;
}
