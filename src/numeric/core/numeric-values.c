/* SPDX-License-Identifier: Apache-2.0
 *
 * How far two elements lie apart: absolute, relative, and in ULP, the number of values of the type
 * between them.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "numeric/core/numeric-private.h"
#include "replay/values.h"

/* A float's bits as an integer that grows with the value: one more is the next value. */
static int64_t rank_of(uint64_t bits, unsigned bytes)
{
	const unsigned width = 8 * bytes;
	const uint64_t sign = UINT64_C(1) << (width - 1), magnitude = bits & (sign - 1);

	return bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static double ulp_between(uint64_t a, uint64_t b, unsigned bytes)
{
	const int64_t x = rank_of(a, bytes), y = rank_of(b, bytes);
	/* they may be further apart than an int64_t can say */
	const uint64_t apart = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;

	return (double)apart;
}

static double distance(uint64_t a, uint64_t b, enum replayer_as as)
{
	const int64_t x = value_signed(a, as), y = value_signed(b, as);

	if (value_types[as].is_float)
		return fabs(value_of(a, as) - value_of(b, as));
	return (double)(x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x);
}

static void add_element(
	struct numeric_place *p, uint64_t a, uint64_t b, uint64_t off, enum replayer_as as)
{
	const bool is_float = value_types[as].is_float;
	const double x = is_float ? value_of(a, as) : 0, y = is_float ? value_of(b, as) : 0;
	double d, most;

	if (!p->elements++) {
		p->at = off;
		p->a = a;
		p->b = b;
	}
	p->nan_a += isnan(x) && !isnan(y);
	p->nan_b += isnan(y) && !isnan(x);
	if (isnan(x) || isnan(y))
		return;
	d = distance(a, b, as);
	most = is_float
		       ? fmax(fabs(x), fabs(y))
		       : fmax(fabs((double)value_signed(a, as)), fabs((double)value_signed(b, as)));
	if (d > p->largest) {
		p->largest = d;
		p->at = off;
		p->a = a;
		p->b = b;
	}
	if (most > 0 && isfinite(most))
		p->relative = fmax(p->relative, d / most);
	if (is_float)
		p->ulp = fmax(p->ulp, ulp_between(a, b, value_types[as].bytes));
}

void values_add(struct numeric_place *p, const uint8_t *a, const uint8_t *b, uint64_t off, size_t n,
	enum replayer_as as)
{
	const unsigned bytes = value_types[as].bytes;

	p->as = as;
	if (as == REPLAYER_AS_AUTO)
		return;
	for (size_t i = (size_t)(-off & (bytes - 1)); i + bytes <= n; i += bytes) {
		uint64_t x = 0, y = 0;

		p->compared++;
		memcpy(&x, a + i, bytes);
		memcpy(&y, b + i, bytes);
		if (x != y)
			add_element(p, x, y, off + i, as);
	}
}

/* --- the type, by the kernel's name --- */

/* Reads the type behind P or PK of a mangled name (Itanium C++ ABI, 5.1.5); *p moves behind it. */
static enum replayer_as pointed_type(const char **p, bool *ret_known)
{
	static const struct {
		const char *code;
		enum replayer_as as;
	} types[] = {{"f", REPLAYER_AS_F32}, {"d", REPLAYER_AS_F64}, {"6__half", REPLAYER_AS_F16},
		{"13__nv_bfloat16", REPLAYER_AS_BF16}, {"i", REPLAYER_AS_I32},
		{"j", REPLAYER_AS_I32}, {"x", REPLAYER_AS_I64}, {"y", REPLAYER_AS_I64},
		{"l", REPLAYER_AS_I64}, {"m", REPLAYER_AS_I64}, {"a", REPLAYER_AS_I8},
		{"h", REPLAYER_AS_I8}, {"c", REPLAYER_AS_I8}};

	*ret_known = true;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		const size_t n = strlen(types[i].code);

		if (strncmp(*p, types[i].code, n) != 0)
			continue;
		*p += n;
		return types[i].as;
	}
	*ret_known = false;
	return REPLAYER_AS_AUTO;
}

/* Behind the names of a kernel without templates: "_Z5scalePff" -> "Pff". */
static const char *parameters(const char *mangled)
{
	const bool nested = !strncmp(mangled, "_ZN", 3);
	const char *p = mangled + (nested ? 3 : 2);

	if (strncmp(mangled, "_Z", 2) != 0)
		return "";
	while (isdigit((unsigned char)*p)) {
		char *end;
		const unsigned long n = strtoul(p, &end, 10);

		if (n > strlen(end))
			return "";
		p = end + n;
		if (!nested)
			break;
	}
	return nested ? *p == 'E' ? p + 1 : "" : p;
}

enum replayer_as values_type_of(const char *mangled)
{
	enum replayer_as found = REPLAYER_AS_AUTO;
	bool named = false; /* there was a type of the program's */

	for (const char *p = parameters(mangled); *p;) {
		enum replayer_as as;
		bool known;

		if (*p == 'S') { /* a type that was there before */
			p += strcspn(p, "_");
			p += *p == '_';
			continue;
		}
		if (isdigit((unsigned char)*p)) { /* a name */
			char *end;
			const unsigned long n = strtoul(p, &end, 10);

			p = n > strlen(end) ? "" : end + n;
			named = true;
			continue;
		}
		if (*p++ != 'P')
			continue;
		p += *p == 'K';
		if (*p == 'S' && !named) /* one of those that it was before */
			continue;
		as = pointed_type(&p, &known);
		if (!known || (found != REPLAYER_AS_AUTO && as != found))
			return REPLAYER_AS_AUTO;
		found = as;
	}
	return found;
}
