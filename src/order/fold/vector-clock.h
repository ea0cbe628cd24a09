/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks that never change and are shared by reference count. A stream that waits for
 * nothing new keeps its clock, and after a barrier all streams have the same one, so ten million
 * commands on 64 streams fit into memory.
 */
#ifndef ORDER_CLOCK_H
#define ORDER_CLOCK_H

#include <stdint.h>

/* at[l]: so many items of lane l are finished; lanes from n on: none. NULL is the clock that knows
 * nothing. */
struct clock {
	uint32_t refs, n;
	uint32_t at[];
};

static inline uint32_t clock_at(const struct clock *c, uint32_t lane)
{
	return c && lane < c->n ? c->at[lane] : 0;
}

/* All return a reference that the caller owns. */
struct clock *clock_ref(struct clock *c);
void clock_drop(struct clock *c);
/* c with lane at least at v. */
struct clock *clock_with(struct clock *c, uint32_t lane, uint32_t v);
/* All that a or b knows; a or b itself when it knows all that the other does. Lane except is not
 * compared, since its owner counts for itself; the result may have either's value there. */
struct clock *clock_join(struct clock *a, struct clock *b, uint32_t except);

#endif
