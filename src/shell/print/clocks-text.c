/* SPDX-License-Identifier: Apache-2.0
 *
 * How devices' clocks relate to the host's, as text. Surprise: the bounds can prove a clock wrong
 * but not right; their distance shows how much is known.
 */
#include <inttypes.h>
#include "engine/device-clocks.h"
#include "shell/trace/trace.h"

/* A bound that is on the wrong side of 0 by less than the accuracy of times is ignored. */
static void tell_same(struct buf *out, const struct clock_bounds *b)
{
	const double before = b->low < 0 ? -(double)b->low / 1e3 : 0,
		     behind = b->high > 0 ? (double)b->high / 1e3 : 0;

	if (b->high == INT64_MAX)
		buf_printf(out,
			"the host's, as far as can be said: at most %.1f us before it, no wait bounds the other side",
			before);
	else
		buf_printf(out, "the host's, between %.1f us before and %.1f us behind", before,
			behind);
	if (b->low > 0 || b->high < 0)
		buf_printf(out, " (host times are good for %d us)", CLOCKS_READ_NS / 1000);
}

static void tell(struct buf *out, const struct device_clock *c)
{
	const struct clock_bounds *b = &c->bounds;

	buf_printf(out, "clock       device %u, %" PRIu64 " times: ", c->device, c->times);
	switch (c->distance) {
	case CLOCKS_UNSTEADY:
		buf_printf(out,
			"not a steady distance from the host's: at least %.1f us behind it and at least %.1f us before it",
			(double)b->low / 1e3, -(double)b->high / 1e3);
		break;
	case CLOCKS_BEHIND:
		buf_printf(out, "at least %.1f us behind the host's", (double)b->low / 1e3);
		break;
	case CLOCKS_BEFORE:
		buf_printf(out, "at least %.1f us before the host's", -(double)b->high / 1e3);
		break;
	case CLOCKS_SAME:
		tell_same(out, b);
		break;
	}
	if (c->has_drift)
		buf_printf(out, "; drift between %+.3f and %+.3f ppm", c->least_drift * 1e6,
			c->most_drift * 1e6);
	buf_byte(out, '\n');
}

struct err *trace_clocks(struct session *s, struct sbt_reader *r, struct buf *out)
{
	struct device_clock clock[DEVICE_CLOCKS_MAX];
	unsigned n;

	TRY(device_clocks(&s->engine, r, clock, &n));
	for (unsigned i = 0; i < n; i++)
		tell(out, &clock[i]);
	if (!n)
		buf_str(out, "clock       no GPU times were recorded (record --timestamps)\n");
	return NULL;
}
