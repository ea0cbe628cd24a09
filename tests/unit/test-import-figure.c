/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as profiles write them, numbers for keys, and what calls do by their names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "import/core/call-kind.h"
#include "import/core/figure.h"
#include "import/core/key-table.h"

static void scaled(const char *text, int64_t expected)
{
	int64_t v = -77;

	if (!figure_scaled(text, 3, &v) || v != expected)
		fail_msg("%s is %lld, not %lld", text, (long long)v, (long long)expected);
}

/* Microseconds to nanoseconds: exact to the last digit, where a double would not be. */
static void test_scaled(void **state)
{
	scaled("0", 0);
	scaled("1", 1000);
	scaled("1.5", 1500);
	scaled("-1.5", -1500);
	scaled("1.0004", 1000);
	scaled("1.0005", 1001);
	scaled("1.00049999999999999999999999999", 1000);
	scaled("0.0004999", 0);
	scaled("1764208047123456.789", 1764208047123456789);
	scaled("1.764208047123456789e15", 1764208047123456789);
	scaled("1E3", 1000000);
	scaled("1e-3", 1);
	scaled("1e-99999999999999", 0);
	scaled("0e99999999999999", 0);
	scaled("000000000000000000000000000012", 12000);
	scaled("2305843009213693.952", INT64_C(1) << 61);
	scaled("-2305843009213693.952", -(INT64_C(1) << 61));
}

static void test_not_scaled(void **state)
{
	static const char *const bad[] = {"", "-", ".", "e3", "1e", "1e+", "1x", "1.2.3", "1 ",
		"--1", "2305843009213693.953", "1e300", "-1e300", "99999999999999999999999999",
		"nan", "0x10"};
	int64_t v = 5;

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (figure_scaled(bad[i], 3, &v))
			fail_msg("%s is a number", bad[i]);
		assert_int_equal(v, 5);
	}
}

static void test_whole(void **state)
{
	int64_t v;

	assert_true(figure_whole("4294967296", &v));
	assert_int_equal(v, INT64_C(4294967296));
	assert_true(figure_whole("-1", &v));
	assert_int_equal(v, -1);
	assert_false(figure_whole("9223372036854775808", &v));
	assert_false(figure_whole("18446744073709551615", &v));
	assert_false(figure_whole("1.0", &v));
	assert_false(figure_whole("1e3", &v));
}

static void test_keys(void **state)
{
	struct key_table t = {.n = 0};
	char key[16];
	bool fresh;

	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			const int n = snprintf(key, sizeof key, "k%u", i);

			assert_int_equal(key_number(&t, key, (size_t)n, &fresh), i);
			assert_int_equal(fresh, round == 0);
		}
	}
	assert_int_equal(key_number(&t, "", 0, &fresh), 1000);
	assert_int_equal(key_number(&t, "k1", 1, &fresh), 1001); /* "k" */
	assert_true(fresh);
	key_table_free(&t);
}

static void test_calls(void **state)
{
	static const struct {
		const char *name;
		enum call_kind kind;
	} calls[] = {{"cudaLaunchKernel", CALL_LAUNCHES}, {"cudaLaunchKernel_v7000", CALL_LAUNCHES},
		{"cuLaunchKernelEx", CALL_LAUNCHES}, {"hipModuleLaunchKernel", CALL_LAUNCHES},
		{"hipExtModuleLaunchKernel", CALL_LAUNCHES}, {"cudaGraphLaunch_v10000", CALL_GRAPH},
		{"cudaMemcpy2DAsync", CALL_COPIES}, {"cuMemcpyHtoDAsync_v2", CALL_COPIES},
		{"cuMemsetD8Async", CALL_FILLS}, {"cudaLaunchHostFunc", CALL_OTHER},
		{"cudaMalloc", CALL_OTHER}, {"cuCtxSynchronize", CALL_WAITS_CTX},
		{"cudaDeviceSynchronize", CALL_WAITS_CTX},
		{"hipStreamSynchronize", CALL_WAITS_STREAM},
		{"cudaEventSynchronize", CALL_WAITS_EVENT}, {"cuEventRecord", CALL_RECORDS},
		{"cudaEventRecordWithFlags", CALL_RECORDS},
		{"cuStreamWaitEvent", CALL_STREAM_WAITS}, {"customLaunch", CALL_OTHER},
		{"Launch", CALL_OTHER}, {"", CALL_OTHER}};

	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		if (call_kind_of(calls[i].name) != calls[i].kind)
			fail_msg("%s", calls[i].name);
	}
	assert_true(call_is_hip("hipFree"));
	assert_false(call_is_hip("hippo"));
	assert_false(call_is_async("cudaMemcpy"));
	assert_true(call_is_async("cudaMemcpyAsync"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_scaled),
		cmocka_unit_test(test_not_scaled), cmocka_unit_test(test_whole),
		cmocka_unit_test(test_keys), cmocka_unit_test(test_calls)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
