/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash of memory contents. The host and a device compute the same value
 * (src/gpucode/hash/kernels.cu runs where the memory is), so comparing moves no bytes. It does not
 * resist an adversary.
 *
 * A page is SBT_PAGE bytes; the last one of a range may be shorter and is taken as if filled up
 * with zeros. The page is 4096 cells of 16 bytes, a cell four little-endian u32 words w0..w3. Cell
 * c belongs to lane c % 256 and turn c / 256, 16 turns. For half h (0, 1), with K(l, h, j) = the
 * j-th (0..3) u32 key of lane l: low 32 bits of mix(1 + l * 8 + h * 4 + j), and all sums mod 2^64:
 *
 * 	acc(l, h) = 0; for turn 0..15: acc = acc * P + (u64)(w0 + K0) * (w1 + K1) + (u64)(w2 + K2) *
 * (w3 + K3)	(w + K mod 2^32) page(h) = sum over l of mix(acc(l, h) + (l + 1) * Q)
 *
 * P = 0x9e3779b97f4a7c15, Q = 0xc2b2ae3d27d4eb4f, mix is splitmix64's finaliser: z ^= z >> 30; z *=
 * 0xbf58476d1ce4e5b9; z ^= z >> 27; z *= 0x94d049bb133111eb; z ^= z >> 31. The range's hash is, for
 * each half, the sum over pages i of mix(page(h) + (i + 1) * P), plus mix(size), so pages can be
 * hashed in any order.
 */
#ifndef SBT_PAGEHASH_H
#define SBT_PAGEHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBT_PAGE 65536u

struct sbt_hash {
	uint64_t half[2];
};

/* The hash of one page; n <= SBT_PAGE, missing bytes count as zeros. */
struct sbt_hash sbt_page_hash(const void *p, size_t n);
/* The same by way `way` of computing it, 0 without the processor's vector instructions; false: this
 * processor does not have it. For the test that all agree. */
bool sbt_page_hash_by(unsigned way, const void *p, size_t n, struct sbt_hash *ret);
/* Adds page i to a range's hash, which begins as {{0, 0}} and is ended with the range's size. */
void sbt_range_hash_add(struct sbt_hash *range, uint64_t i, struct sbt_hash page);
void sbt_range_hash_end(struct sbt_hash *range, uint64_t size);
struct sbt_hash sbt_range_hash(const void *p, size_t n);
static inline bool sbt_hash_equal(struct sbt_hash a, struct sbt_hash b)
{
	return a.half[0] == b.half[0] && a.half[1] == b.half[1];
}

#endif
