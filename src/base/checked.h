/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked arithmetic for every number that comes from outside: a trace, PTX, ELF, DWARF, another
 * process. For all rooms, the agent and the software GPU too: nothing here allocates, prints or
 * calls anything.
 *
 * ckd_add(&r, a, b), ckd_sub, ckd_mul: C23's. r gets the wrapped result; true when it wrapped, or
 * when the exact result does not fit into the type of r, so that
 * `if (ckd_mul(&n, rows, pitch) || ckd_add(&n, n, width)) return error;` reads well.
 *
 * sat_add(a, b), sat_mul(a, b): the result, or UINT64_MAX: for extents, where "to the end of
 * memory" is the safe answer.
 *
 * range_within, ranges_meet: the two questions about ranges of bytes whose obvious forms overflow.
 *
 * round_up_to(&r, v, to): v rounded up to a multiple of to; true when that is impossible.
 */
#ifndef TS_CHECKED_H
#define TS_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<stdckdint.h>)
#include <stdckdint.h>
#endif
#endif
#ifndef ckd_add
#define ckd_add(ret, a, b) __builtin_add_overflow(a, b, ret)
#define ckd_sub(ret, a, b) __builtin_sub_overflow(a, b, ret)
#define ckd_mul(ret, a, b) __builtin_mul_overflow(a, b, ret)
#endif

static inline uint64_t sat_add(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static inline uint64_t sat_mul(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* Whether the n bytes at addr all lie within the size bytes at base. No bytes lie within when addr
 * does, or is just behind it. */
static inline bool range_within(uint64_t addr, uint64_t n, uint64_t base, uint64_t size)
{
	return addr >= base && addr - base <= size && n <= size - (addr - base);
}

/* Whether the n bytes at addr and the size bytes at base have a byte in common. */
static inline bool ranges_meet(uint64_t addr, uint64_t n, uint64_t base, uint64_t size)
{
	return addr >= base ? n && addr - base < size : size && base - addr < n;
}

/* *ret: v rounded up to a multiple of `to`. True, as with ckd_*, when there is none in 64 bits, or
 * when `to` is 0. */
static inline bool round_up_to(uint64_t *ret, uint64_t v, uint64_t to)
{
	const uint64_t over = to ? v % to : 0;

	return !to || __builtin_add_overflow(v, over ? to - over : 0, ret);
}

#endif
