/* SPDX-License-Identifier: Apache-2.0
 *
 * The longest common subsequence of two sequences of numbers: E. Myers, "An O(ND) Difference
 * Algorithm and Its Variations" (1986), section 4b, in linear space.
 */
#ifndef COMPARE_MYERS_H
#define COMPARE_MYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends each pair by calling pair(), not in order: a[i] and b[k] are equal and belong together.
 * Returns false if the sequences differ so much, or the search takes so many comparisons (more than
 * `most`), that the result, though right, may not be the longest. n and m are less than 2^30. */
bool myers(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint64_t most,
	void (*pair)(void *arg, size_t i, size_t k), void *arg);

#endif
