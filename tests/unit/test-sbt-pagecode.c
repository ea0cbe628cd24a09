/* SPDX-License-Identifier: Apache-2.0
 *
 * The two codes of pages (docs/sbt.md, "Code 1", "Code 2") against plain ones that are written here
 * after that text; and bytes that are no code.
 */
#include "sbt/format/pagecode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 65536, SPARE = 64 };

static uint64_t seed = 7;

static uint32_t rnd(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

/* --- the codes, word for word after the text --- */

static size_t plain_planes(const uint8_t *page, size_t n, uint8_t *dst)
{
	const size_t each = n / 8;
	size_t at = 10;

	memset(dst, 0, at);
	dst[0] = 1;
	for (unsigned k = 0; k < 8; k++) {
		bool differs = false;

		for (size_t i = 0; i < each; i++)
			differs |= page[8 * i + k] != page[k];
		if (!differs) {
			dst[2 + k] = page[k];
			continue;
		}
		dst[1] = (uint8_t)(dst[1] | 1u << k);
		for (size_t i = 0; i < each; i++)
			dst[at++] = page[8 * i + k];
	}
	memcpy(dst + at, page + 8 * each, n % 8);
	return at + n % 8;
}

static size_t plain_words(const uint8_t *page, size_t n, uint8_t *dst)
{
	const size_t words = n / 4;
	size_t at = 1 + (words + 7) / 8;

	memset(dst, 0, at);
	dst[0] = 2;
	for (size_t i = 0; i < words; i++)
		if (memcmp(page + 4 * i, "\0\0\0\0", 4) != 0) {
			dst[1 + i / 8] = (uint8_t)(dst[1 + i / 8] | 1u << i % 8);
			memcpy(dst + at, page + 4 * i, 4);
			at += 4;
		}
	memcpy(dst + at, page + 4 * words, n % 4);
	return at + n % 4;
}

/* --- pages --- */

/* Bytes of which those of mask change in every eight; a word of `of` is not zero. */
static void fill(uint8_t *page, size_t n, unsigned mask, unsigned of)
{
	for (size_t i = 0; i < n; i++)
		page[i] = mask >> i % 8 & 1 ? (uint8_t)rnd() : (uint8_t)(3 * (i % 8) + 1);
	for (size_t i = 0; of > 1 && i + 4 <= n; i += 4)
		if (rnd() % of)
			memset(page + i, 0, 4);
}

/* In memory that ends there, so that a sanitized build sees a read behind it. */
static bool unpacks(const uint8_t *code, size_t got, const uint8_t *page, size_t n)
{
	uint8_t *exact = malloc(got ? got : 1), *to = malloc(n + SPARE);
	bool is;

	assert_true(exact && to);
	memcpy(exact, code, got);
	memset(to, 0x5a, n + SPARE);
	is = sbt_pagecode_unpack(exact, got, to, n);
	for (size_t k = n; k < n + SPARE; k++)
		assert_int_equal(to[k], 0x5a);
	if (is && page)
		assert_memory_equal(to, page, n);
	free(exact);
	free(to);
	return is;
}

static const size_t sizes[] = {256, 257, 259, 260, 263, 264, 287, 288, 300, 383, 384, 1000, 4093,
	4096, 4100, 65530, 65535, 65536};

/* What was coded by the text is decoded, of any size and shape. */
static void test_decoding(void **state)
{
	static uint8_t page[MAX], code[2 * MAX];

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (unsigned k = 0; k < 40; k++) {
			fill(page, sizes[i], k < 9 ? (1u << k) - 1 : rnd() & 0xff, k % 5);
			assert_true(
				unpacks(code, plain_planes(page, sizes[i], code), page, sizes[i]));
			assert_true(
				unpacks(code, plain_words(page, sizes[i], code), page, sizes[i]));
		}
}

/* The smaller of both codes, byte for byte, if it is at most four fifths of the page. */
static void test_coding(void **state)
{
	static uint8_t page[MAX], got[MAX], planes[2 * MAX], words[2 * MAX];
	unsigned coded[3] = {0};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (unsigned k = 0; k < 60; k++) {
			const size_t n = sizes[i];
			size_t a, b, size;

			fill(page, n, k < 9 ? (1u << k) - 1 : rnd() & 0xff, k % 6);
			a = plain_planes(page, n, planes);
			b = plain_words(page, n, words);
			size = sbt_pagecode_pack(page, n, got);
			if (!size) {
				assert_true(a > n - n / 5 && b > n - n / 5);
				coded[0]++;
				continue;
			}
			assert_true(size <= n - n / 5);
			assert_int_equal(size, a < b ? a : b);
			assert_true(got[0] == 1 || got[0] == 2);
			assert_memory_equal(got, got[0] == 1 ? planes : words, size);
			coded[got[0]]++;
			assert_true(unpacks(got, size, page, n));
		}
	assert_true(coded[0] > 20 && coded[1] > 20 && coded[2] > 20);
}

static void test_small_pages(void **state)
{
	uint8_t page[256] = {0}, got[256];

	for (size_t n = 0; n < 256; n++)
		assert_int_equal(sbt_pagecode_pack(page, n, got), 0);
	assert_int_equal(sbt_pagecode_pack(page, 256, got), 9); /* 64 bits, none set */
}

/* "Filled up with zeros", "0 for those that are": anything else is no code, nor is another length.
 */
static void test_no_code(void **state)
{
	static uint8_t page[MAX], code[2 * MAX];
	const size_t n = 260 * 4 + 3; /* 260 words: the last byte of bits has 4 */
	size_t size;

	fill(page, n, 0x0f, 3);
	size = plain_words(page, n, code);
	for (size_t cut = 0; cut < size; cut++)
		assert_false(unpacks(code, cut, NULL, n));
	assert_false(unpacks(code, size + 1, NULL, n));
	for (unsigned bit = 4; bit < 8; bit++) { /* of words that the page does not have */
		code[1 + 32] = (uint8_t)(code[1 + 32] | 1u << bit);
		assert_false(unpacks(code, size, NULL, n));
		assert_false(unpacks(code, size + 4, NULL, n));
		code[1 + 32] = (uint8_t)(code[1 + 32] & ~(1u << bit));
	}
	assert_true(unpacks(code, size, page, n));

	fill(page, n, 0x35, 0);
	size = plain_planes(page, n, code);
	for (size_t cut = 0; cut < size; cut++)
		assert_false(unpacks(code, cut, NULL, n));
	assert_false(unpacks(code, size + 1, NULL, n));
	for (unsigned k = 0; k < 8; k++) {
		const uint8_t was = code[2 + k];

		code[2 + k] = (uint8_t)(was + 1);
		assert_int_equal(unpacks(code, size, NULL, n), !(0x35 >> k & 1));
		code[2 + k] = was;
		code[1] = (uint8_t)(code[1] ^ 1u << k); /* one plane more or less than there is */
		assert_false(unpacks(code, size, NULL, n));
		code[1] = (uint8_t)(code[1] ^ 1u << k);
	}
	assert_true(unpacks(code, size, page, n));
	for (unsigned kind = 0; kind < 256; kind++) {
		code[0] = (uint8_t)kind;
		if (kind != 1)
			assert_false(unpacks(code, size, NULL, n));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decoding),
		cmocka_unit_test(test_coding),
		cmocka_unit_test(test_small_pages),
		cmocka_unit_test(test_no_code),
	};

	return cmocka_run_group_tests_name("sbt pagecode", tests, NULL, NULL);
}
