/* SPDX-License-Identifier: Apache-2.0
 *
 * See values.h. The two 16-bit floats differ in nothing but where the exponent ends, so one
 * function reads both.
 */
#include "replay/values.h"

#include <math.h>
#include <string.h>

const struct value_type value_types[REPLAYER_AS_END] = {
	[REPLAYER_AS_AUTO] = {"auto", 4, true},
	[REPLAYER_AS_F32] = {"f32", 4, true},
	[REPLAYER_AS_F64] = {"f64", 8, true},
	[REPLAYER_AS_F16] = {"f16", 2, true},
	[REPLAYER_AS_BF16] = {"bf16", 2, true},
	[REPLAYER_AS_I32] = {"i32", 4, false},
	[REPLAYER_AS_I64] = {"i64", 8, false},
	[REPLAYER_AS_I8] = {"i8", 1, false},
};

static double half_value(uint32_t h, unsigned exponent_bits)
{
	const unsigned mantissa = 15 - exponent_bits;
	const int bias = (1 << (exponent_bits - 1)) - 1,
		  e = (int)(h >> mantissa & ((1u << exponent_bits) - 1));
	const double m = (double)(h & ((1u << mantissa) - 1)) / (double)(1u << mantissa);
	double v;

	if (e == (1 << exponent_bits) - 1)
		v = m != 0 ? NAN : INFINITY;
	else
		v = e ? ldexp(1 + m, e - bias) : ldexp(m, 1 - bias);
	return h & 0x8000 ? -v : v;
}

int64_t value_signed(uint64_t bits, enum replayer_as as)
{
	const unsigned unused = 64 - 8 * value_types[as].bytes;

	return (int64_t)(bits << unused) >> unused;
}

double value_of(uint64_t bits, enum replayer_as as)
{
	const uint32_t low = (uint32_t)bits;
	double d;
	float f;

	switch (as) {
	case REPLAYER_AS_F32:
		memcpy(&f, &low, 4);
		return (double)f;
	case REPLAYER_AS_F64:
		memcpy(&d, &bits, 8);
		return d;
	case REPLAYER_AS_F16:
		return half_value(low, 5);
	case REPLAYER_AS_BF16:
		return half_value(low, 8);
	default:
		return (double)value_signed(bits, as);
	}
}
