/* SPDX-License-Identifier: Apache-2.0
 *
 * Clock arithmetic, see clocks.h. Times since 1970 in nanoseconds need 61 bits, more than a double
 * has: differences are computed as integers, and only those become doubles.
 */
#include "engine/trace/clocks.h"

#include <math.h>
#include <stdlib.h>
#include "base/buf.h"

enum { SAMPLES_MAX = 400, DRIFT_MIN_MATCHES = 16 };
#define DRIFT_MIN_NS 1e9

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts v. */
static double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int64_t difference(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b);
}

/* t seconds' worth of samples: x from the first match's end, y the difference less the first one.
 */
struct samples {
	double x[SAMPLES_MAX], y[SAMPLES_MAX];
	unsigned n;
};

static void take_samples(const struct clock_match *m, unsigned n, struct samples *s)
{
	const int64_t base = difference(m[0].ref_end, m[0].end);

	s->n = n < SAMPLES_MAX ? n : SAMPLES_MAX;
	for (unsigned i = 0; i < s->n; i++) {
		const struct clock_match *k = &m[s->n < 2 ? 0 : (uint64_t)i * (n - 1) / (s->n - 1)];

		s->x[i] = (double)difference(k->end, m[0].end);
		s->y[i] = (double)(difference(k->ref_end, k->end) - base);
	}
}

static double slope(const struct samples *s)
{
	double *v, ret;
	size_t n = 0;

	if (s->n < DRIFT_MIN_MATCHES || s->x[s->n - 1] - s->x[0] < DRIFT_MIN_NS)
		return 0;
	v = xmalloc((size_t)s->n * s->n / 2 * sizeof *v);
	for (unsigned i = 0; i < s->n; i++)
		for (unsigned j = i + 1; j < s->n; j++)
			if (s->x[j] > s->x[i])
				v[n++] = (s->y[j] - s->y[i]) / (s->x[j] - s->x[i]);
	ret = n ? median(v, n) : 0;
	free(v);
	return ret;
}

/* Whether one side of a match ends before the other starts, by more than slack. */
static bool contradicts(const struct clock_fit *f, const struct clock_match *m, double slack)
{
	return (double)difference(m->ref_start, clocks_apply(f, m->end)) > slack ||
	       (double)difference(clocks_apply(f, m->start), m->ref_end) > slack;
}

void clocks_fit(const struct clock_match *m, unsigned n, struct clock_fit *ret)
{
	struct samples s;
	double v[SAMPLES_MAX], middle;

	*ret = (struct clock_fit){.n = n, .possible = true};
	if (!n)
		return;
	take_samples(m, n, &s);
	ret->at = m[0].end;
	ret->drift = slope(&s);
	for (unsigned i = 0; i < s.n; i++)
		v[i] = s.y[i] - ret->drift * s.x[i];
	middle = median(v, s.n);
	for (unsigned i = 0; i < s.n; i++)
		v[i] = fabs(v[i] - middle);
	ret->error = median(v, s.n);
	ret->offset = difference(m[0].ref_end, m[0].end) + llround(middle);
	for (unsigned i = 0; i < n && ret->possible; i++)
		ret->possible = !contradicts(ret, &m[i], 3 * ret->error + 1000);
}

uint64_t clocks_apply(const struct clock_fit *f, uint64_t t)
{
	return t + (uint64_t)f->offset + (uint64_t)llround(f->drift * (double)difference(t, f->at));
}

/* --- devices --- */

void clocks_bounds_init(struct clock_bounds *b, uint64_t middle)
{
	*b = (struct clock_bounds){.low = INT64_MIN,
		.high = INT64_MAX,
		.half_low = {INT64_MIN, INT64_MIN},
		.half_high = {INT64_MAX, INT64_MAX},
		.middle = middle};
}

static unsigned note_time(struct clock_bounds *b, uint64_t host_ns)
{
	if (!b->first || host_ns < b->first)
		b->first = host_ns;
	if (host_ns > b->last)
		b->last = host_ns;
	return host_ns >= b->middle;
}

void clocks_asked(struct clock_bounds *b, uint64_t host_ns, uint64_t gpu_start_ns)
{
	const int64_t d = difference(host_ns, gpu_start_ns);
	const unsigned half = note_time(b, host_ns);

	b->low = d > b->low ? d : b->low;
	b->half_low[half] = d > b->half_low[half] ? d : b->half_low[half];
}

void clocks_waited(struct clock_bounds *b, uint64_t host_ns, uint64_t gpu_end_ns)
{
	const int64_t d = difference(host_ns, gpu_end_ns);
	const unsigned half = note_time(b, host_ns);

	b->high = d < b->high ? d : b->high;
	b->half_high[half] = d < b->half_high[half] ? d : b->half_high[half];
}

enum clocks_distance clocks_distance(const struct clock_bounds *b)
{
	if ((double)b->low - (double)b->high > 2.0 * CLOCKS_READ_NS)
		return CLOCKS_UNSTEADY;
	if (b->low > CLOCKS_READ_NS)
		return CLOCKS_BEHIND;
	return b->high < -CLOCKS_READ_NS ? CLOCKS_BEFORE : CLOCKS_SAME;
}

bool clocks_bounds_drift(const struct clock_bounds *b, double *ret_least, double *ret_most)
{
	const double apart = (double)(b->last - b->first) / 2;

	for (unsigned i = 0; i < 2; i++)
		if (b->half_low[i] == INT64_MIN || b->half_high[i] == INT64_MAX)
			return false;
	if (apart < 1e8) /* a microsecond there is 10 ppm */
		return false;
	*ret_least = ((double)b->half_low[1] - (double)b->half_high[0]) / apart;
	*ret_most = ((double)b->half_high[1] - (double)b->half_low[0]) / apart;
	return true;
}
