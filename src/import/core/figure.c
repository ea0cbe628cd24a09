/* SPDX-License-Identifier: Apache-2.0
 *
 * Decimal numbers, see figure.h.
 */
#include "import/core/figure.h"

#include <string.h>

enum { DIGITS = 19, POWER_MAX = 100000 };

struct decimal {
	uint64_t digits;
	unsigned n; /* of them, without leading zeros */
	int power;
	bool negative, whole;
};

static const char *take_digits(const char *p, struct decimal *d, bool behind_point, bool *any)
{
	for (; *p >= '0' && *p <= '9'; p++) {
		*any = true;
		if (d->n < DIGITS) {
			d->digits = d->digits * 10 + (uint64_t)(*p - '0');
			d->n += d->digits != 0;
			d->power -= behind_point;
		} else if (d->power < POWER_MAX) {
			d->power += !behind_point;
		}
	}
	return p;
}

static const char *take_power(const char *p, struct decimal *d)
{
	const bool negative = *p == '-';
	int power = 0;

	p += *p == '-' || *p == '+';
	if (*p < '0' || *p > '9')
		return NULL;
	for (; *p >= '0' && *p <= '9'; p++)
		power = power < POWER_MAX ? power * 10 + (*p - '0') : power;
	d->power += negative ? -power : power;
	return p;
}

static bool parse(const char *p, struct decimal *d)
{
	bool any = false;

	*d = (struct decimal){.negative = *p == '-', .whole = true};
	p += *p == '-' || *p == '+';
	p = take_digits(p, d, false, &any);
	if (*p == '.') {
		d->whole = false;
		p = take_digits(p + 1, d, true, &any);
	}
	if (any && (*p | 32) == 'e') {
		d->whole = false;
		p = take_power(p + 1, d);
	}
	return any && p && !*p;
}

bool figure_scaled(const char *text, int shift, int64_t *ret)
{
	struct decimal d;
	uint64_t v;

	if (!parse(text, &d))
		return false;
	v = d.digits;
	d.power += shift;
	for (; d.power > 0 && v; d.power--) {
		if (v > FIGURE_MAX / 10)
			return false;
		v *= 10;
	}
	for (; d.power < -1 && v; d.power++)
		v /= 10;
	if (d.power == -1)
		v = (v + 5) / 10;
	if (v > FIGURE_MAX)
		return false;
	*ret = d.negative ? -(int64_t)v : (int64_t)v;
	return true;
}

bool figure_whole(const char *text, int64_t *ret)
{
	const size_t n = strlen(text);

	return n < 20 && strspn(text, "-0123456789") == n && figure_scaled(text, 0, ret);
}
