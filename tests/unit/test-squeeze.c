/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressing, of which zlib's inflate says what it stands for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>
#include "squeeze/squeeze.h"

static uint64_t below(uint64_t *x, uint64_t n)
{
	*x ^= *x << 13; /* xorshift64, Marsaglia 2003 */
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return (*x >> 16) % n;
}

/* n bytes: noise, or one of few values at a time, so that there is something to find. */
static uint8_t *bytes(size_t n, bool noise)
{
	uint8_t *p = xmalloc(n + 1);
	uint64_t x = 88172645463325252;

	for (size_t i = 0; i < n; i++)
		p[i] = noise || i < 300 ? (uint8_t)below(&x, 256)
		       : below(&x, 50)	? p[i - 300]
					: (uint8_t)below(&x, 256);
	return p;
}

/* The stream is whole, ends where it ends, and is those n bytes. */
static void is_stream_of(const uint8_t *p, size_t n, const struct buf *packed, enum squeeze_as as)
{
	uint8_t *back = xmalloc(n + 1);
	z_stream z = {.next_in = packed->data,
		.avail_in = (uInt)packed->len,
		.next_out = back,
		.avail_out = (uInt)n + 1};

	assert_int_equal(inflateInit2(&z, as == SQUEEZE_ZLIB ? MAX_WBITS : -MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, n);
	assert_memory_equal(back, p, n);
	inflateEnd(&z);
	free(back);
}

/* Piece by piece, each up to `most` long. */
static void put_pieces(
	struct squeeze *s, const uint8_t *p, size_t n, size_t most, struct buf *ret, uint64_t *x)
{
	for (size_t at = 0; at < n;) {
		const size_t rest = n - at, some = (size_t)below(x, most) + 1;

		squeeze_put(s, p + at, some < rest ? some : rest, ret);
		at += some < rest ? some : rest;
	}
	squeeze_end(s, ret);
}

static void test_same_bytes(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 255, 32768, 65536, 65537, 1000003};
	static const size_t pieces[] = {1000000000, 65536, 4096, 7};
	uint64_t x = 1;

	(void)state;
	for (enum squeeze_as as = SQUEEZE_BARE; as <= SQUEEZE_ZLIB; as++) {
		struct squeeze *s = squeeze_new(as); /* one after the other */

		for (unsigned i = 0; i < 2 * 8 * 4; i++) {
			const size_t n = sizes[i / 2 % 8];
			uint8_t *p = bytes(n, i & 1);
			struct buf packed = BUF_INIT;

			put_pieces(s, p, n, pieces[i / 16], &packed, &x);
			is_stream_of(p, n, &packed, as);
			buf_free(&packed);
			free(p);
		}
		squeeze_free(s);
	}
	squeeze_free(NULL);
}

static void test_shorter(void **state)
{
	enum { N = 1000000 };
	struct squeeze *s = squeeze_new(SQUEEZE_BARE);
	struct buf packed = BUF_INIT;
	uint8_t *p = bytes(N, false);

	(void)state;
	squeeze_put(s, p, N, &packed);
	squeeze_end(s, &packed);
	assert_true(packed.len < N / 4); /* it repeats itself but for a byte in fifty */
	assert_true(packed.len > N / 50);
	free(p);
	p = bytes(N, true);
	buf_clear(&packed);
	squeeze_put(s, p, N, &packed);
	squeeze_end(s, &packed);
	assert_true(
		packed.len >= N && packed.len < N + N / 100); /* noise: no shorter, hardly longer */
	squeeze_free(s);
	buf_free(&packed);
	free(p);
}

static void test_crc32(void **state)
{
	uint8_t *p = bytes(100003, true);
	uint64_t x = 5;
	uint32_t crc = 0;

	(void)state;
	assert_int_equal(squeeze_crc32(0, "123456789", 9), 0xcbf43926); /* the check of CRC-32 */
	assert_int_equal(squeeze_crc32(0, "", 0), 0);
	for (size_t at = 0; at < 100003;) {
		size_t some = (size_t)below(&x, 5000);

		some = some < 100003 - at ? some : 100003 - at;
		crc = squeeze_crc32(crc, p + at, some);
		at += some;
	}
	assert_int_equal(crc, crc32(0, p, 100003));
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_shorter), cmocka_unit_test(test_crc32)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
