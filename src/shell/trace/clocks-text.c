/* SPDX-License-Identifier: Apache-2.0
 *
 * How devices' clocks relate to the host's, as text and as JSON. Surprise: the bounds can prove a
 * clock wrong but not right; their distance shows how much is known.
 */
#include <inttypes.h>
#include <math.h>
#include "base/json-put.h"
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

void trace_clocks_print(struct buf *out, const struct trace_clocks *clocks)
{
	for (unsigned i = 0; i < clocks->n; i++)
		tell(out, &clocks->clock[i]);
	if (!clocks->n)
		buf_str(out, "clock       no GPU times were recorded (record --timestamps)\n");
}

static const char *distance_name(uint64_t distance)
{
	static const char *const names[] = {[CLOCKS_SAME] = "same",
		[CLOCKS_BEHIND] = "behind",
		[CLOCKS_BEFORE] = "before",
		[CLOCKS_UNSTEADY] = "unsteady"};

	return names[distance];
}

struct clock {
	struct device_clock c;
	double low_ns, high_ns, least_drift, most_drift; /* NAN: not bounded */
};
JS_DEFINE(clock_object, "clock", clock, JS_IN(UINT, clock, c, device, times),
	{"distance", JS_NAMED, JS_MEMBER(clock, c.distance), .named = distance_name},
	JS(REAL, clock, low_ns, high_ns, least_drift, most_drift));

void trace_clocks_put(struct buf *out, const struct trace_clocks *clocks)
{
	buf_byte(out, '[');
	for (unsigned i = 0; i < clocks->n; i++) {
		const struct device_clock *c = &clocks->clock[i];
		const struct clock_bounds *b = &c->bounds;

		js_add(out, &clock_object,
			&(struct clock){*c, b->low == INT64_MIN ? NAN : (double)b->low,
				b->high == INT64_MAX ? NAN : (double)b->high,
				c->has_drift ? c->least_drift : NAN,
				c->has_drift ? c->most_drift : NAN});
	}
	buf_byte(out, ']');
}
