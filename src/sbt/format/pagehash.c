/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash of memory contents, see pagehash.h. Compiled into tsdb and into the agent, so it needs
 * nothing but libc, takes no lock and no heap. The surprise: a page is walked in the order of its
 * bytes, not lane by lane, which keeps memory streaming; the 512 sums wait in 4 KiB of stack
 * meanwhile. For pages i of a range, see sbt_range_hash_add().
 */
#include <string.h>

#include "sbt/pagehash.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LANES 256u
#define TURNS 16u
#define CELL 16u
#define BLOCK (LANES * CELL) /* bytes a turn takes: one cell for each lane */
#define P 0x9e3779b97f4a7c15ull
#define Q 0xc2b2ae3d27d4eb4full
#define MIX_1 0xbf58476d1ce4e5b9ull
#define MIX_2 0x94d049bb133111ebull
_Static_assert(BLOCK *TURNS == SBT_PAGE, "a page is 16 turns of 256 cells");

/* --- keys --- */

/* mix() as a constant expression, so that the keys are read-only data and no thread has to make
 * them first. */
#define CMIX_A(z) (((z) ^ (z) >> 30) * MIX_1)
#define CMIX_B(z) (((z) ^ (z) >> 27) * MIX_2)
#define CMIX_C(z) ((z) ^ (z) >> 31)
#define KEY(l, h, j) (uint32_t) CMIX_C(CMIX_B(CMIX_A(1ull + (l)*8 + (h)*4 + (j))))
#define KEYS_1(l, h) KEY(l, h, 0), KEY(l, h, 1), KEY(l, h, 2), KEY(l, h, 3)
#define KEYS_4(l, h) KEYS_1(l, h), KEYS_1(l + 1, h), KEYS_1(l + 2, h), KEYS_1(l + 3, h)
#define KEYS_16(l, h) KEYS_4(l, h), KEYS_4(l + 4, h), KEYS_4(l + 8, h), KEYS_4(l + 12, h)
#define KEYS_64(l, h) KEYS_16(l, h), KEYS_16(l + 16, h), KEYS_16(l + 32, h), KEYS_16(l + 48, h)
#define KEYS_256(h) KEYS_64(0, h), KEYS_64(64, h), KEYS_64(128, h), KEYS_64(192, h)

static const uint32_t keys[2][LANES * 4]
	__attribute__((aligned(64))) = {{KEYS_256(0)}, {KEYS_256(1)}};

/* The sums of one page. */
struct sums {
	uint64_t acc[2][LANES];
} __attribute__((aligned(64)));

static inline uint64_t mix(uint64_t z)
{
	z ^= z >> 30;
	z *= MIX_1;
	z ^= z >> 27;
	z *= MIX_2;
	return z ^ z >> 31;
}

/* --- any processor --- */

static void turn_plain(struct sums *s, const uint8_t *p)
{
	for (unsigned l = 0; l < LANES; l++) {
		uint32_t w[4];

		memcpy(w, p + l * CELL, sizeof w);
		for (unsigned h = 0; h < 2; h++) {
			const uint32_t *k = keys[h] + l * 4;

			s->acc[h][l] = s->acc[h][l] * P +
				       (uint64_t)(uint32_t)(w[0] + k[0]) * (uint32_t)(w[1] + k[1]) +
				       (uint64_t)(uint32_t)(w[2] + k[2]) * (uint32_t)(w[3] + k[3]);
		}
	}
}

static struct sbt_hash end_plain(const struct sums *s)
{
	struct sbt_hash r = {{0, 0}};

	for (unsigned h = 0; h < 2; h++)
		for (unsigned l = 0; l < LANES; l++)
			r.half[h] += mix(s->acc[h][l] + (l + 1) * Q);
	return r;
}

/* --- AVX2: four lanes at a time --- */

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

/* a * (high:low) mod 2^64 in each of four words; b holds the constant. */
static inline AVX2 __m256i mul64(__m256i a, __m256i b, __m256i b_high)
{
	__m256i cross = _mm256_add_epi64(
		_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b), _mm256_mul_epu32(a, b_high));

	return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

/* The products of two cells: (w0 + K0) * (w1 + K1), (w2 + K2) * (w3 + K3), and of the second cell
 * the same. */
static inline AVX2 __m256i products(__m256i cells, const uint32_t *k)
{
	__m256i x = _mm256_add_epi32(cells, _mm256_load_si256((const __m256i *)k));

	return _mm256_mul_epu32(x, _mm256_srli_epi64(x, 32));
}

/* Lanes l, l + 2, l + 1, l + 3 in this order: what unpacking yields. acc keeps it; end_avx2()
 * knows. */
static AVX2 void turn_avx2(struct sums *s, const uint8_t *p)
{
	const __m256i b = _mm256_set1_epi64x((long long)P), b_high = _mm256_srli_epi64(b, 32);

	for (unsigned l = 0; l < LANES; l += 4) {
		__m256i low = _mm256_loadu_si256((const __m256i *)(p + l * CELL));
		__m256i high = _mm256_loadu_si256((const __m256i *)(p + l * CELL + 32));

		for (unsigned h = 0; h < 2; h++) {
			__m256i *acc = (__m256i *)&s->acc[h][l];
			__m256i x = products(low, keys[h] + l * 4),
				y = products(high, keys[h] + l * 4 + 8);
			__m256i sum = _mm256_add_epi64(
				_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y));

			_mm256_store_si256(acc,
				_mm256_add_epi64(mul64(_mm256_load_si256(acc), b, b_high), sum));
		}
	}
}

static inline AVX2 __m256i mix_avx2(__m256i z)
{
	const __m256i m1 = _mm256_set1_epi64x((long long)MIX_1),
		      m2 = _mm256_set1_epi64x((long long)MIX_2);

	z = _mm256_xor_si256(z, _mm256_srli_epi64(z, 30));
	z = mul64(z, m1, _mm256_srli_epi64(m1, 32));
	z = _mm256_xor_si256(z, _mm256_srli_epi64(z, 27));
	z = mul64(z, m2, _mm256_srli_epi64(m2, 32));
	return _mm256_xor_si256(z, _mm256_srli_epi64(z, 31));
}

static AVX2 struct sbt_hash end_avx2(const struct sums *s)
{
	const __m256i step = _mm256_set1_epi64x((long long)(4 * Q));
	struct sbt_hash r;

	for (unsigned h = 0; h < 2; h++) {
		__m256i add = _mm256_setr_epi64x(
			(long long)Q, (long long)(3 * Q), (long long)(2 * Q), (long long)(4 * Q));
		__m256i sum = _mm256_setzero_si256();
		uint64_t four[4];

		for (unsigned l = 0; l < LANES; l += 4) {
			sum = _mm256_add_epi64(sum,
				mix_avx2(_mm256_add_epi64(
					_mm256_load_si256((const __m256i *)&s->acc[h][l]), add)));
			add = _mm256_add_epi64(add, step);
		}
		_mm256_storeu_si256((__m256i *)four, sum);
		r.half[h] = four[0] + four[1] + four[2] + four[3];
	}
	return r;
}

/* --- AVX-512: eight lanes at a time --- */

#define AVX512 __attribute__((target("avx512f,avx512bw")))

static inline AVX512 __m512i mul64_512(__m512i a, __m512i b, __m512i b_high)
{
	__m512i cross = _mm512_add_epi64(
		_mm512_mul_epu32(_mm512_srli_epi64(a, 32), b), _mm512_mul_epu32(a, b_high));

	return _mm512_add_epi64(_mm512_mul_epu32(a, b), _mm512_slli_epi64(cross, 32));
}

static inline AVX512 __m512i products_512(__m512i cells, const uint32_t *k)
{
	__m512i x = _mm512_add_epi32(cells, _mm512_load_si512(k));

	return _mm512_mul_epu32(x, _mm512_srli_epi64(x, 32));
}

/* Lanes l, l + 4, l + 1, l + 5, ... l + 7 in this order; end_avx512() knows. */
static AVX512 void turn_avx512(struct sums *s, const uint8_t *p)
{
	const __m512i b = _mm512_set1_epi64((long long)P), b_high = _mm512_srli_epi64(b, 32);

	for (unsigned l = 0; l < LANES; l += 8) {
		__m512i low = _mm512_loadu_si512(p + l * CELL);
		__m512i high = _mm512_loadu_si512(p + l * CELL + 64);

		for (unsigned h = 0; h < 2; h++) {
			uint64_t *acc = &s->acc[h][l];
			__m512i x = products_512(low, keys[h] + l * 4),
				y = products_512(high, keys[h] + l * 4 + 16);
			__m512i sum = _mm512_add_epi64(
				_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));

			_mm512_store_si512(
				acc, _mm512_add_epi64(
					     mul64_512(_mm512_load_si512(acc), b, b_high), sum));
		}
	}
}

static inline AVX512 __m512i mix_512(__m512i z)
{
	const __m512i m1 = _mm512_set1_epi64((long long)MIX_1),
		      m2 = _mm512_set1_epi64((long long)MIX_2);

	z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 30));
	z = mul64_512(z, m1, _mm512_srli_epi64(m1, 32));
	z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 27));
	z = mul64_512(z, m2, _mm512_srli_epi64(m2, 32));
	return _mm512_xor_si512(z, _mm512_srli_epi64(z, 31));
}

static AVX512 struct sbt_hash end_avx512(const struct sums *s)
{
	static const uint64_t order[8] __attribute__((aligned(64))) = {
		1 * Q, 5 * Q, 2 * Q, 6 * Q, 3 * Q, 7 * Q, 4 * Q, 8 * Q};
	const __m512i step = _mm512_set1_epi64((long long)(8 * Q));
	struct sbt_hash r;

	for (unsigned h = 0; h < 2; h++) {
		__m512i add = _mm512_load_si512(order), sum = _mm512_setzero_si512();
		uint64_t eight[8] __attribute__((aligned(64)));

		for (unsigned l = 0; l < LANES; l += 8) {
			sum = _mm512_add_epi64(sum,
				mix_512(_mm512_add_epi64(_mm512_load_si512(&s->acc[h][l]), add)));
			add = _mm512_add_epi64(add, step);
		}
		/* _mm512_reduce_add_epi64() adds signed numbers, which must not wrap. */
		_mm512_store_si512(eight, sum);
		r.half[h] = 0;
		for (unsigned l = 0; l < 8; l++)
			r.half[h] += eight[l];
	}
	return r;
}
#endif

/* --- which of them --- */

struct way {
	void (*turn)(struct sums *s, const uint8_t *p);
	struct sbt_hash (*end)(const struct sums *s);
};

/* The slowest first. Returns NULL if this processor does not have it. */
static const struct way *way_of(unsigned number)
{
	static const struct way plain = {turn_plain, end_plain};
#if defined(__x86_64__)
	static const struct way avx2 = {turn_avx2, end_avx2}, avx512 = {turn_avx512, end_avx512};

	__builtin_cpu_init(); /* we may be called before libgcc's constructor ran */
	if (number == 2)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
			       ? &avx512
			       : NULL;
	if (number == 1)
		return __builtin_cpu_supports("avx2") ? &avx2 : NULL;
#endif
	return number ? NULL : &plain;
}

static const struct way *fastest(void)
{
	const struct way *way = way_of(2);

	if (!way)
		way = way_of(1);
	return way ? way : way_of(0);
}

/* --- pages --- */

static struct sbt_hash hash_page(const uint8_t *p, size_t n, const struct way *way)
{
	static const uint8_t zeros[BLOCK];
	uint8_t last[BLOCK];
	struct sums s;

	memset(&s, 0, sizeof s);
	for (unsigned t = 0; t < TURNS; t++) {
		if (n >= BLOCK) {
			way->turn(&s, p);
			p += BLOCK;
			n -= BLOCK;
		} else if (n) {
			memcpy(last, p, n);
			memset(last + n, 0, BLOCK - n);
			way->turn(&s, last);
			n = 0;
		} else {
			way->turn(&s, zeros);
		}
	}
	return way->end(&s);
}

struct sbt_hash sbt_page_hash(const void *p, size_t n)
{
	return hash_page(p, n < SBT_PAGE ? n : SBT_PAGE, fastest());
}

bool sbt_page_hash_by(unsigned way, const void *p, size_t n, struct sbt_hash *ret)
{
	const struct way *w = way_of(way);

	if (w)
		*ret = hash_page(p, n < SBT_PAGE ? n : SBT_PAGE, w);
	return w;
}

/* --- ranges --- */

void sbt_range_hash_add(struct sbt_hash *range, uint64_t i, struct sbt_hash page)
{
	for (unsigned h = 0; h < 2; h++)
		range->half[h] += mix(page.half[h] + (i + 1) * P);
}

void sbt_range_hash_end(struct sbt_hash *range, uint64_t size)
{
	for (unsigned h = 0; h < 2; h++)
		range->half[h] += mix(size);
}

struct sbt_hash sbt_range_hash(const void *p, size_t n)
{
	struct sbt_hash r = {{0, 0}};

	for (size_t at = 0; at < n; at += SBT_PAGE)
		sbt_range_hash_add(
			&r, at / SBT_PAGE, sbt_page_hash((const uint8_t *)p + at, n - at));
	sbt_range_hash_end(&r, n);
	return r;
}
