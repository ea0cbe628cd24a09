/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic operations ("AMD Instinct MI200 ISA", 12.13 and 12.16).
 */
#include "softamd/insns/amd-atomic.h"

#include "softamd/insns/amd-insn.h"

static uint64_t smaller(unsigned bits, uint64_t a, uint64_t b, bool less)
{
	bool below = bits == 64 ? (int64_t)a < (int64_t)b : (int32_t)a < (int32_t)b;

	return below == less ? a : b;
}

static uint64_t float_value(enum amd_atomic op, unsigned bits, uint64_t old, uint64_t data)
{
	if (bits == 64) {
		double a = as_double(old), b = as_double(data), r;

		r = op == AMD_FADD ? a + b : (a < b) == (op == AMD_FMIN) ? a : b;
		if (op != AMD_FADD && (a != a || b != b))
			r = a != a ? b : a;
		return double_bits(r != r && a == a && b == b ? as_double(DOUBLE_NAN) : r);
	}
	float a = as_float((uint32_t)old), b = as_float((uint32_t)data), r;

	r = op == AMD_FADD ? a + b : (a < b) == (op == AMD_FMIN) ? a : b;
	if (op != AMD_FADD && (a != a || b != b))
		r = a != a ? b : a;
	return float_bits(r != r && a == a && b == b ? as_float(FLOAT_NAN) : r);
}

static uint64_t add_halves(uint64_t old, uint64_t data)
{
	uint64_t r = 0;

	for (unsigned k = 0; k < 32; k += 16) {
		double a = (double)amd_half_to_float((uint16_t)(old >> k));
		double b = (double)amd_half_to_float((uint16_t)(data >> k));
		uint16_t h = amd_double_to_half(a + b);

		r |= (uint64_t)(a + b != a + b && a == a && b == b ? 0x7e00 : h) << k;
	}
	return r;
}

uint64_t amd_atomic_value(
	enum amd_atomic op, unsigned bits, uint64_t old, uint64_t data, uint64_t other)
{
	switch (op) {
	case AMD_ADD:
		return old + data;
	case AMD_SUB:
		return old - data;
	case AMD_RSUB:
		return data - old;
	case AMD_INC:
		return old >= data ? 0 : old + 1;
	case AMD_DEC:
		return old == 0 || old > data ? data : old - 1;
	case AMD_SMIN:
		return smaller(bits, old, data, true);
	case AMD_SMAX:
		return smaller(bits, old, data, false);
	case AMD_UMIN:
		return old < data ? old : data;
	case AMD_UMAX:
		return old > data ? old : data;
	case AMD_AND:
		return old & data;
	case AMD_OR:
		return old | data;
	case AMD_XOR:
		return old ^ data;
	case AMD_SWAP:
		return data;
	case AMD_CMPSWAP:
		return old == other ? data : old;
	case AMD_MSKOR:
		return (old & ~data) | other;
	case AMD_PK_ADD_F16:
		return add_halves(old, data);
	default:
		return float_value(op, bits, old, data);
	}
}

uint64_t amd_atomic(enum amd_atomic op, unsigned bits, void *p, uint64_t data, uint64_t other)
{
	if (bits == 64) {
		uint64_t *at = p, old = __atomic_load_n(at, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n(at, &old,
			amd_atomic_value(op, 64, old, data, other), true, __ATOMIC_SEQ_CST,
			__ATOMIC_RELAXED))
			;
		return old;
	}
	uint32_t *at = p, old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(at, &old,
		(uint32_t)amd_atomic_value(op, 32, old, (uint32_t)data, (uint32_t)other), true,
		__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return old;
}
