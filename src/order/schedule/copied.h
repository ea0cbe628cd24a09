/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies what a window's commands refer to from a trace to one that is being written: modules of
 * the host, places of source, stacks, code, and memory.
 */
#ifndef ORDER_COPIED_H
#define ORDER_COPIED_H

#include "order/kept.h"
#include "sbt/memory.h"

struct copied { /* but for from and to all zeros: nothing copied yet */
	struct sbt_reader *from;
	struct sbt_writer *to;
	uint32_t *modules; /* host modules, by their number in from */
	uint32_t nmodules;
	uint32_t *places; /* likewise, of source */
	uint32_t nplaces;
};

/* All but memory. */
struct err *copied_all(struct copied *w, const struct kept_window *window) TS_CHECK;
/* One more stack; not one of the window's commands. */
struct err *copied_stack(struct copied *w, uint32_t id) TS_CHECK;
/* The part of m that lies at [m->addr + from, m->addr + to), as a piece of its own like `as`. */
struct err *copied_part(struct copied *w, const struct sbt_memory *m, uint64_t from, uint64_t to,
	struct sbt_memory as) TS_CHECK;
void copied_free(struct copied *w);

#endif
