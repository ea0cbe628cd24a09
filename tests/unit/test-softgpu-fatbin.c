/* SPDX-License-Identifier: Apache-2.0
 *
 * Fat binaries made by hand, byte for byte, in all the ways they can be right and wrong. Those that
 * nvcc makes are in tests/fuzz/corpus/fatbin (nvcc 13.0), one for each way of compressing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "gpucode/fatbin-text.h"
#include "gpucode/fatbin.h"

#define PLAIN 0x11u
#define ZSTD 0x8011u
#define LZ4 0x2011u

struct bytes {
	unsigned char b[8192];
	size_t n;
};

static void put(struct bytes *x, uint64_t value, unsigned size)
{
	for (; size; size--, value >>= 8)
		x->b[x->n++] = (unsigned char)value;
}

static void header(struct bytes *x, uint64_t body)
{
	put(x, 0xba55ed50, 4);
	put(x, 1, 2);
	put(x, 16, 2);
	put(x, body, 8);
}

static void entry(struct bytes *x, unsigned kind, unsigned arch, unsigned flags,
	const void *payload, size_t n, uint64_t whole)
{
	size_t padded = (n + 7) & ~(size_t)7;

	put(x, kind, 2);
	put(x, 0x0101, 2);
	put(x, 0x50, 4);
	put(x, padded, 8);
	put(x, flags == PLAIN ? 0 : n, 4);
	put(x, 0x40, 4);
	put(x, 0x00090000, 4);
	put(x, arch, 4);
	put(x, 0, 8);
	put(x, flags, 8);
	put(x, 0, 8);
	put(x, whole, 8);
	put(x, 0, 16);
	memcpy(x->b + x->n, payload, n);
	memset(x->b + x->n + n, 0, padded - n);
	x->n += padded;
}

static struct bytes with_entries(void (*fill)(struct bytes *))
{
	struct bytes body = {.n = 0}, x = {.n = 0};

	fill(&body);
	header(&x, body.n);
	memcpy(x.b + x.n, body.b, body.n);
	x.n += body.n;
	return x;
}

static void expect(const struct bytes *x, unsigned arch, enum fatbin_result want, const char *text)
{
	void *copy = malloc(x->n ? x->n : 1);
	const char *why = NULL;
	char *got = NULL;
	size_t size = 0;

	memcpy(copy, x->b, x->n);
	assert_int_equal(fatbin_ptx(copy, x->n, arch, &got, &size, &why), want);
	if (text) {
		assert_int_equal(size, strlen(text));
		assert_string_equal(got, text);
	} else {
		assert_null(got);
	}
	if (want == FATBIN_MALFORMED)
		assert_non_null(why);
	free(got);
	free(copy);
}

static void three(struct bytes *x)
{
	entry(x, 1, 60, PLAIN, ".target sm_60", 13, 0);
	entry(x, 2, 75, PLAIN,
		"\x7f"
		"ELF....",
		8, 0);
	entry(x, 1, 90, PLAIN, ".target sm_90", 13, 0);
	entry(x, 1, 70, PLAIN, ".target sm_70", 13, 0);
}

static void test_choice(void **state)
{
	struct bytes x = with_entries(three);

	expect(&x, 75, FATBIN_OK, ".target sm_70"); /* the highest not above the device */
	expect(&x, 70, FATBIN_OK, ".target sm_70");
	expect(&x, 69, FATBIN_OK, ".target sm_60");
	expect(&x, 100, FATBIN_OK, ".target sm_90");
	expect(&x, 50, FATBIN_OK, ".target sm_60"); /* none fits: the lowest */
}

static void elf_only(struct bytes *x)
{
	entry(x, 2, 75, PLAIN,
		"\x7f"
		"ELF....",
		8, 0);
}

static void nothing(struct bytes *x)
{
}

static void test_no_ptx(void **state)
{
	struct bytes x = with_entries(elf_only);

	expect(&x, 75, FATBIN_NO_PTX, NULL);
	x = with_entries(nothing);
	expect(&x, 75, FATBIN_NO_PTX, NULL);
}

static void test_two_regions(void **state)
{
	struct bytes x = {.n = 0}, y = with_entries(three);

	header(&x, 0); /* a region may begin with an empty one */
	memcpy(x.b + x.n, y.b, y.n);
	x.n += y.n;
	expect(&x, 75, FATBIN_OK, ".target sm_70");
}

static const char long_text[] =
	".version 9.0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void packed(struct bytes *x)
{
	char z[512];
	size_t n = ZSTD_compress(z, sizeof(z), long_text, sizeof(long_text) - 1, 3);

	assert_false(ZSTD_isError(n));
	entry(x, 1, 75, ZSTD, z, n, sizeof(long_text) - 1);
}

static void packed_wrong_size(struct bytes *x)
{
	char z[512];
	size_t n = ZSTD_compress(z, sizeof(z), long_text, sizeof(long_text) - 1, 3);

	entry(x, 1, 75, ZSTD, z, n, sizeof(long_text) - 2);
}

static void packed_bomb(struct bytes *x)
{
	entry(x, 1, 75, ZSTD, "12345678", 8, 1u << 29);
}

static void packed_garbage(struct bytes *x)
{
	entry(x, 1, 75, ZSTD, "12345678", 8, 100);
}

static void test_zstd(void **state)
{
	struct bytes x = with_entries(packed);

	expect(&x, 75, FATBIN_OK, long_text);
	x = with_entries(packed_wrong_size);
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = with_entries(packed_bomb);
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = with_entries(packed_garbage);
	expect(&x, 75, FATBIN_MALFORMED, NULL);
}

/* By the block format: 3 literals "abc", a match of 4 + 15 + 2 = 21 bytes at distance 3, then 2
 * literals "xy". */
static void lz4(struct bytes *x)
{
	entry(x, 1, 75, LZ4,
		"\x3f"
		"abc"
		"\x03\x00"
		"\x02"
		"\x20"
		"xy",
		10, 26);
}

static void lz4_far(struct bytes *x)
{
	entry(x, 1, 75, LZ4,
		"\x3f"
		"abc"
		"\x04\x00"
		"\x02"
		"\x20"
		"xy",
		10, 26);
}

static void lz4_long(struct bytes *x)
{
	entry(x, 1, 75, LZ4,
		"\x3f"
		"abc"
		"\x03\x00"
		"\xff",
		7, 26);
}

static void test_lz4(void **state)
{
	struct bytes x = with_entries(lz4);

	expect(&x, 75, FATBIN_OK, "abcabcabcabcabcabcabcabcxy");
	x = with_entries(lz4_far); /* a distance before the beginning */
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = with_entries(lz4_long); /* a length that goes on past the end */
	expect(&x, 75, FATBIN_MALFORMED, NULL);
}

static void set(struct bytes *x, size_t at, uint64_t value, unsigned size)
{
	size_t n = x->n;

	x->n = at;
	put(x, value, size);
	x->n = n;
}

static void test_damaged(void **state)
{
	const struct bytes good = with_entries(three);
	struct bytes x;
	size_t i;

	for (i = 0; i < good.n; i++) { /* cut anywhere */
		x = good;
		x.n = i;
		expect(&x, 75, FATBIN_MALFORMED, NULL);
	}
	x = good;
	x.b[0] ^= 1;
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = good;
	set(&x, 6, 8, 2); /* header size below 16 */
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = good;
	set(&x, 8, UINT64_MAX, 8); /* the region's size */
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = good;
	set(&x, 16 + 4, 0x20, 4); /* an entry's header size too small, too large */
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	set(&x, 16 + 4, 0xffffffff, 4);
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = good;
	set(&x, 16 + 8, UINT64_MAX - 7, 8); /* an entry's payload size */
	expect(&x, 75, FATBIN_MALFORMED, NULL);
	x = with_entries(packed);
	set(&x, 16 + 16, 0x10000, 4); /* compressed size above the padded one */
	expect(&x, 75, FATBIN_MALFORMED, NULL);
}

static void test_wrapper(void **state)
{
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} w = {0x466243b1, 1, &w, NULL};

	assert_ptr_equal(fatbin_unwrap(&w), &w);
	w.magic++;
	assert_null(fatbin_unwrap(&w));
}

/* "fatbinary_section.h": version 2 has a list of what was linked. */
static void test_wrapper_of_linked_code(void **state)
{
	const void *const parts[] = {&state, NULL};
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} w = {0x466243b1, 2, &w, parts};

	assert_ptr_equal(fatbin_parts(&w), parts);
	assert_ptr_equal(fatbin_unwrap(&w), &w);
	w.version = 1; /* then it is the name of a file */
	assert_null(fatbin_parts(&w));
	w.version = 2;
	w.magic++;
	assert_null(fatbin_parts(&w));
}

static uint64_t readable_until;

static bool read_until(uint64_t at, void *to, size_t n)
{
	return at + n <= readable_until && fatbin_memory(at, to, n);
}

/* As the agent reads memory that other threads may unmap: what is not there ends the walk, and what
 * was found is kept. */
static void test_unreadable(void **state)
{
	const struct bytes x = with_entries(packed);
	const uint64_t at = (uint64_t)(uintptr_t)x.b;
	struct fatbin_entry best = {0};
	struct fatbin_walk w;

	readable_until = at + 15;
	assert_false(fatbin_begin(&w, read_until, at, x.n));
	assert_non_null(w.why);
	readable_until = at + 16;
	assert_true(fatbin_begin(&w, read_until, at, x.n));
	assert_false(fatbin_next(&w, &best));
	assert_non_null(w.why);
	readable_until = at + 16 + 0x50; /* the first entry's header */
	assert_true(fatbin_begin(&w, read_until, at, x.n));
	fatbin_best(&w, 75, &best);
	assert_int_equal(best.at, at + 16 + 0x50);
	assert_int_equal(best.kind, FATBIN_PTX);
	assert_false(fatbin_begin(&w, fatbin_memory, at, x.n - 1));
}

static void from_nvcc(const char *name, enum fatbin_result want)
{
	const char *src = getenv("TSDB_SRC");
	char path[512], *text = NULL;
	static unsigned char data[65536];
	size_t n, size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/fatbin/%s", src ? src : ".", name);
	f = fopen(path, "rb");
	assert_non_null(f);
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	assert_int_equal(fatbin_ptx(data, n, 75, &text, &size, NULL), want);
	if (want == FATBIN_OK) {
		assert_non_null(strstr(text, ".target sm_75"));
		assert_non_null(strstr(text, ".visible .entry add("));
		assert_int_equal(strlen(text), size);
	}
	free(text);
}

static void test_nvcc(void **state)
{
	from_nvcc("nvcc-none", FATBIN_OK);
	from_nvcc("nvcc-default", FATBIN_OK);
	from_nvcc("nvcc-size", FATBIN_OK);
	from_nvcc("nvcc-speed", FATBIN_OK);
	from_nvcc("nvcc-elf-only", FATBIN_NO_PTX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_no_ptx),
		cmocka_unit_test(test_two_regions),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_lz4),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_wrapper),
		cmocka_unit_test(test_wrapper_of_linked_code),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_nvcc),
	};

	return cmocka_run_group_tests_name("softgpu-fatbin", tests, NULL, NULL);
}
