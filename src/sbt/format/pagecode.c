/* SPDX-License-Identifier: Apache-2.0
 *
 * See pagecode.h. Planes: byte k of every eight bytes, for each k. The surprise: both ways of
 * splitting bytes into planes are the same step, repeated. Of 128 bytes in 8 vectors, the place of
 * a byte is a number of 7 bits; a turn rotates those bits left by one. Planes first (3 bits plane,
 * 4 bits element) become elements first by 3 turns, and elements first become planes first by 4.
 */
#include <string.h>

#include "sbt/format/pagecode.h"

#define PLANES 8u
#define STEP 16u /* elements in a vector's step */
/* code, mask of the planes that are stored, values of the others */
#define HEAD (2 + PLANES)
#define WORTH(n) ((n) - (n) / 5) /* a page is coded when it comes out smaller than this */
#define SMALLEST 256u		 /* bytes of a page that is coded at all */

typedef uint8_t vec __attribute__((vector_size(16)));

static inline vec low(vec a, vec b)
{
	return __builtin_shufflevector(
		a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static inline vec high(vec a, vec b)
{
	return __builtin_shufflevector(
		a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

static inline __attribute__((always_inline)) void turn(vec x[PLANES])
{
	vec y[PLANES];

#pragma GCC unroll 4
	for (unsigned k = 0; k < PLANES / 2; k++) {
		y[2 * k] = low(x[k], x[k + PLANES / 2]);
		y[2 * k + 1] = high(x[k], x[k + PLANES / 2]);
	}
#pragma GCC unroll 8
	for (unsigned k = 0; k < PLANES; k++)
		x[k] = y[k];
}

static inline __attribute__((always_inline)) void load(
	vec x[PLANES], const uint8_t *const from[PLANES])
{
#pragma GCC unroll 8
	for (unsigned k = 0; k < PLANES; k++)
		memcpy(&x[k], from[k], sizeof x[k]);
}

/* 16 bytes of each plane to 16 elements. */
static inline __attribute__((always_inline)) void weave(
	const uint8_t *const planes[PLANES], uint8_t *dst)
{
	vec x[PLANES];

	load(x, planes);
	turn(x);
	turn(x);
	turn(x);
	memcpy(dst, x, sizeof x);
}

static inline __attribute__((always_inline)) void unweave(
	const uint8_t *src, uint8_t *const planes[PLANES])
{
	vec x[PLANES];

	memcpy(x, src, sizeof x);
	turn(x);
	turn(x);
	turn(x);
	turn(x);
#pragma GCC unroll 8
	for (unsigned k = 0; k < PLANES; k++)
		memcpy(planes[k], &x[k], sizeof x[k]);
}

/* --- planes --- */

/* Bit k: byte k is not the same in all n elements. */
static unsigned changing(const uint8_t *page, size_t n)
{
	uint64_t first, v, differ = 0;
	unsigned mask = 0;

	memcpy(&first, page, sizeof first);
	for (size_t i = 1; i < n; i++) {
		memcpy(&v, page + i * PLANES, sizeof v);
		differ |= v ^ first;
		if (i % 512 == 63 && !~(differ | (differ >> 4 & 0x0f0f0f0f0f0f0f0full) |
					     (differ << 4 & 0xf0f0f0f0f0f0f0f0ull)))
			return 0xff; /* soon seen, as a rule */
	}
	for (unsigned k = 0; k < PLANES; k++)
		mask |= (differ >> 8 * k & 0xff ? 1u : 0) << k;
	return mask;
}

static size_t planes_size(unsigned mask, size_t n)
{
	return HEAD + (size_t)__builtin_popcount(mask) * (n / PLANES) + n % PLANES;
}

static void planes_pack(unsigned mask, const uint8_t *page, size_t n, uint8_t *dst)
{
	const size_t elements = n / PLANES;
	uint8_t block[PLANES * STEP] = {0}, out[PLANES][STEP], *to[PLANES], *planes[PLANES];
	uint8_t *p = dst + HEAD;

	dst[0] = SBT_PAGECODE_PLANES;
	dst[1] = (uint8_t)mask;
	for (unsigned k = 0; k < PLANES; k++) {
		dst[2 + k] = mask >> k & 1 ? 0 : page[k];
		to[k] = out[k];
		planes[k] = mask >> k & 1 ? p : NULL;
		p += planes[k] ? elements : 0;
	}
	for (size_t i = 0; i < elements; i += STEP) {
		const size_t left = elements - i < STEP ? elements - i : STEP;

		if (left < STEP)
			memcpy(block, page + i * PLANES, left * PLANES);
		unweave(left < STEP ? block : page + i * PLANES, to);
		for (unsigned k = 0; k < PLANES; k++)
			if (planes[k] && left == STEP)
				memcpy(planes[k] + i, out[k], STEP);
			else if (planes[k])
				memcpy(planes[k] + i, out[k], left);
	}
	memcpy(p, page + elements * PLANES, n % PLANES);
}

static bool planes_unpack(const uint8_t *stored, size_t got, uint8_t *dst, size_t n)
{
	const size_t elements = n / PLANES;
	const unsigned mask = got > 1 ? stored[1] : 0;
	uint8_t same[PLANES][STEP], last[PLANES][STEP] = {{0}}, block[PLANES * STEP];
	const uint8_t *planes[PLANES], *p = stored + HEAD;
	size_t step[PLANES], i = 0;

	if (got < HEAD || got != planes_size(mask, n))
		return false;
	for (unsigned k = 0; k < PLANES; k++) {
		const bool is_stored = mask >> k & 1;

		if (is_stored && stored[2 + k])
			return false;
		memset(same[k], stored[2 + k], STEP);
		planes[k] = is_stored ? p : same[k];
		step[k] = is_stored ? STEP : 0;
		p += is_stored ? elements : 0;
	}
	for (; i + STEP <= elements; i += STEP) {
		weave(planes, dst + i * PLANES);
#pragma GCC unroll 8
		for (unsigned k = 0; k < PLANES; k++)
			planes[k] += step[k];
	}
	for (unsigned k = 0; k < PLANES; k++) {
		memcpy(last[k], planes[k], step[k] ? elements - i : STEP);
		planes[k] = last[k];
	}
	weave(planes, block);
	memcpy(dst + i * PLANES, block, (elements - i) * PLANES);
	memcpy(dst + elements * PLANES, p, n % PLANES);
	return true;
}

/* --- words --- */

static size_t words_size(size_t set, size_t n)
{
	return 1 + (n / 4 + 7) / 8 + 4 * set + n % 4;
}

static size_t count_set(const uint8_t *page, size_t words)
{
	size_t zeros = 0;
	uint32_t v;

	for (size_t i = 0; i < words; i++) {
		memcpy(&v, page + 4 * i, sizeof v);
		zeros += v == 0;
	}
	return words - zeros;
}

static void words_pack(const uint8_t *page, size_t n, uint8_t *dst)
{
	const size_t words = n / 4;
	uint8_t *bits = dst + 1, *p = bits + (words + 7) / 8;
	uint32_t v;

	dst[0] = SBT_PAGECODE_WORDS;
	memset(bits, 0, (words + 7) / 8);
	for (size_t i = 0; i < words; i++) {
		memcpy(&v, page + 4 * i, sizeof v);
		if (!v)
			continue;
		bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << i % 8);
		memcpy(p, &v, sizeof v);
		p += sizeof v;
	}
	memcpy(p, page + words * 4, n % 4);
}

/* Eight words; without branches, since the bits that are set are not predictable. It reads 32 bytes
 * at p. */
static inline const uint8_t *eight_words(unsigned bits, const uint8_t *p, uint8_t *dst)
{
	uint32_t v;

#pragma GCC unroll 8
	for (unsigned k = 0; k < 8; k++) {
		const uint32_t set = bits >> k & 1;

		memcpy(&v, p, sizeof v);
		v &= -set;
		memcpy(dst + 4 * k, &v, sizeof v);
		p += 4 * set;
	}
	return p;
}

static bool words_unpack(const uint8_t *stored, size_t got, uint8_t *dst, size_t n)
{
	const size_t words = n / 4, bytes = (words + 7) / 8;
	const uint8_t *bits = stored + 1, *p = bits + bytes, *end = stored + got;
	size_t set = 0, i = 0;

	if (got < 1 + bytes || (words % 8 && bits[bytes - 1] >> words % 8))
		return false;
	for (size_t k = 0; k < bytes; k++)
		set += (size_t)__builtin_popcount(bits[k]);
	if (got != words_size(set, n))
		return false;
	for (; i + 8 <= words && (size_t)(end - p) >= 32; i += 8)
		p = eight_words(bits[i / 8], p, dst + 4 * i);
	for (; i < words; i++) {
		const bool is_set = bits[i / 8] >> i % 8 & 1;

		if (is_set)
			memcpy(dst + 4 * i, p, 4);
		else
			memset(dst + 4 * i, 0, 4);
		p += is_set ? 4 : 0;
	}
	memcpy(dst + words * 4, p, n % 4);
	return true;
}

/* --- either --- */

size_t sbt_pagecode_pack(const uint8_t *page, size_t n, uint8_t *dst)
{
	if (n < SMALLEST)
		return 0;
	const unsigned mask = changing(page, n / PLANES);
	const size_t planes = planes_size(mask, n), words = words_size(count_set(page, n / 4), n);

	if (planes > WORTH(n) && words > WORTH(n))
		return 0;
	if (planes <= words)
		planes_pack(mask, page, n, dst);
	else
		words_pack(page, n, dst);
	return planes <= words ? planes : words;
}

bool sbt_pagecode_unpack(const uint8_t *stored, size_t got, uint8_t *dst, size_t n)
{
	if (got && stored[0] == SBT_PAGECODE_PLANES)
		return planes_unpack(stored, got, dst, n);
	return got && stored[0] == SBT_PAGECODE_WORDS && words_unpack(stored, got, dst, n);
}
