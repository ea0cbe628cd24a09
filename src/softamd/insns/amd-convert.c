/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions ("AMD Instinct MI200 ISA", 12.8). To integers: towards zero, NaN is 0, what does not
 * fit becomes the nearest that does.
 */
#include "softamd/insns/amd-insn.h"

#include <math.h>

static uint32_t to_i32(double v)
{
	if (v != v)
		return 0;
	if (v <= -2147483648.0)
		return 0x80000000u;
	if (v >= 2147483647.0)
		return 0x7fffffffu;
	return (uint32_t)(int32_t)v;
}

static uint32_t to_u32(double v)
{
	if (!(v > 0))
		return 0;
	return v >= 4294967295.0 ? ~0u : (uint32_t)v;
}

static uint32_t to_i16(double v)
{
	if (v != v)
		return 0;
	return (uint16_t)(v <= -32768 ? -32768 : v >= 32767 ? 32767 : (int16_t)v);
}

static uint32_t to_u16(double v)
{
	if (!(v > 0))
		return 0;
	return v >= 65535 ? 65535 : (uint16_t)v;
}

#define AF ((double)as_float(x->a[l]))
#define BF ((double)as_float(x->b[l]))
#define AD as_double(wide(x->a, l))
#define AH ((double)amd_half_to_float((uint16_t)x->a[l]))
#define BH ((double)amd_half_to_float((uint16_t)x->b[l]))
#define TO32(name, expression)                                                                     \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP x->d[l] = (expression);                                                  \
	}
#define TO64(name, expression)                                                                     \
	static void name(struct amd_lanes *x)                                                      \
	{                                                                                          \
		LANE_LOOP set_wide(x->d, l, double_bits(expression));                              \
	}
TO32(i32_f32, to_i32(AF))
TO32(u32_f32, to_u32(AF))
TO32(i32_f64, to_i32(AD))
TO32(u32_f64, to_u32(AD))
TO32(f32_i32, float_bits((float)(int32_t)x->a[l]))
TO32(f32_u32, float_bits((float)x->a[l]))
TO64(f64_i32, (double)(int32_t)x->a[l])
TO64(f64_u32, (double)x->a[l])
TO64(f64_f32, AF)
TO32(f32_f64, float_bits((float)AD))
TO32(f16_f32, amd_float_to_half(as_float(x->a[l])))
TO32(f32_f16, float_bits(amd_half_to_float((uint16_t)x->a[l])))
TO32(f16_u16, amd_double_to_half((uint16_t)x->a[l]))
TO32(f16_i16, amd_double_to_half((int16_t)x->a[l]))
TO32(u16_f16, to_u16(AH))
TO32(i16_f16, to_i16(AH))
/* nearest, halves up; down */
TO32(rpi, to_i32(floor(AF + 0.5)))
TO32(flr, to_i32(floor(AF)))
TO32(ubyte0, float_bits((float)(x->a[l] & 255)))
TO32(ubyte1, float_bits((float)(x->a[l] >> 8 & 255)))
TO32(ubyte2, float_bits((float)(x->a[l] >> 16 & 255)))
TO32(ubyte3, float_bits((float)(x->a[l] >> 24)))
/* four bits as sixteenths */
TO32(off_f32_i4, float_bits((float)((int32_t)(x->a[l] << 28) >> 28) / 16))

#define PAIR(low, high) ((uint32_t)(uint16_t)(low) | (uint32_t)(high) << 16)
TO32(pkrtz,
	PAIR(amd_float_to_half_rtz(as_float(x->a[l])), amd_float_to_half_rtz(as_float(x->b[l]))))
TO32(pk_u16_u32, PAIR(x->a[l] > 65535 ? 65535 : x->a[l], x->b[l] > 65535 ? 65535u : x->b[l]))

static uint32_t short_of(uint32_t v)
{
	int32_t s = (int32_t)v;

	return (uint16_t)(s < -32768 ? -32768 : s > 32767 ? 32767 : s);
}

TO32(pk_i16_i32, PAIR(short_of(x->a[l]), short_of(x->b[l])))

/* v_cvt_pk_u8_f32 and the normalised forms are refused: the documents do not say how they round. */
const struct amd_entry amd_convert_entries[] = {LANES(v_cvt_i32_f32, i32_f32, 'f', 'i'),
	LANES(v_cvt_u32_f32, u32_f32, 'f', 'i'), LANES(v_cvt_i32_f64, i32_f64, 'd', 'i'),
	LANES(v_cvt_u32_f64, u32_f64, 'd', 'i'), LANES(v_cvt_f32_i32, f32_i32, 'i', 'f'),
	LANES(v_cvt_f32_u32, f32_u32, 'i', 'f'), LANES(v_cvt_f64_i32, f64_i32, 'i', 'd'),
	LANES(v_cvt_f64_u32, f64_u32, 'i', 'd'), LANES(v_cvt_f64_f32, f64_f32, 'f', 'd'),
	LANES(v_cvt_f32_f64, f32_f64, 'd', 'f'), LANES(v_cvt_f16_f32, f16_f32, 'f', 'h'),
	LANES(v_cvt_f32_f16, f32_f16, 'h', 'f'), LANES(v_cvt_f16_u16, f16_u16, 'i', 'h'),
	LANES(v_cvt_f16_i16, f16_i16, 'i', 'h'), LANES(v_cvt_u16_f16, u16_f16, 'h', 'i'),
	LANES(v_cvt_i16_f16, i16_f16, 'h', 'i'), LANES(v_cvt_rpi_i32_f32, rpi, 'f', 'i'),
	LANES(v_cvt_flr_i32_f32, flr, 'f', 'i'), LANES(v_cvt_f32_ubyte0, ubyte0, 'i', 'f'),
	LANES(v_cvt_f32_ubyte1, ubyte1, 'i', 'f'), LANES(v_cvt_f32_ubyte2, ubyte2, 'i', 'f'),
	LANES(v_cvt_f32_ubyte3, ubyte3, 'i', 'f'), LANES(v_cvt_off_f32_i4, off_f32_i4, 'i', 'f'),
	LANES(v_cvt_pkrtz_f16_f32, pkrtz, 'f', 'i'), LANES(v_cvt_pk_u16_u32, pk_u16_u32, 'i', 'i'),
	LANES(v_cvt_pk_i16_i32, pk_i16_i32, 'i', 'i'), END};
