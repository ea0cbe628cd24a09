/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels print ("CUDA C++ Programming Guide", Formatted Output), their assertions, and their
 * malloc() and free(): the functions that PTX calls and that no PTX defines. What printf() writes
 * is ISO C's, 7.23.6.1: the expected texts are written after it.
 */
#include "ptx-test.h"

#include <unistd.h>

enum { ARGS = 1024, TAKEN = 2048, AREA = 8192 };

/* p points to the format, to the arguments 1024 bytes behind it, and to the result behind these. */
static const char printing[] =
	PTX_HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
		 ".visible .entry k(.param .u64 p, .param .u64 f) {\n"
		 ".reg .b64 %d<4>; .reg .b32 %r<2>;\n"
		 "ld.param.u64 %d0, [p]; ld.param.u64 %d2, [f]; add.u64 %d1, %d0, 1024;\n"
		 "{ .param .b64 a; .param .b64 b; .param .b32 c;\n"
		 "st.param.b64 [a], %d2; st.param.b64 [b], %d1; call (c), vprintf, (a, b);\n"
		 "ld.param.b32 %r0, [c]; }\n"
		 "st.global.b32 [%d0+2048], %r0; ret; }\n";

static int out = -1; /* the real standard output, while a kernel's is taken */
static FILE *taken;

static void take_output(void)
{
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	taken = tmpfile();
	assert_non_null(taken);
	assert_true(dup2(fileno(taken), STDOUT_FILENO) >= 0);
}

static size_t give_back_output(char *to, size_t n)
{
	fflush(stdout);
	assert_true(dup2(out, STDOUT_FILENO) >= 0);
	close(out);
	rewind(taken);
	n = fread(to, 1, n - 1, taken);
	to[n] = 0;
	fclose(taken);
	return n;
}

/* What a thread prints, and how many arguments printf() says that it took. */
static int print(const char *format, const void *args, size_t n, char *to, size_t room)
{
	struct ptx_module *m = load(printing);
	char *area = device(AREA);
	const struct {
		void *area;
		const char *format;
	} params = {area, format ? area : NULL};
	struct ptx_fault f;
	int result;
	enum ptx_fault_code code;

	if (format)
		memcpy(area, format, strlen(format) + 1);
	memcpy(area + ARGS, args, n);
	take_output();
	code = launch_of(m, "k", 1, 1, &params, &f);
	give_back_output(to, room);
	if (code)
		fail_msg("%s: %s", format, f.text);
	memcpy(&result, area + TAKEN, sizeof result);
	ptx_free(m);
	mem_free((uint64_t)(uintptr_t)area);
	return result;
}

/* 4, 8: an integer of so many bytes; 0: a double. Each lies at its natural alignment. */
struct arg {
	unsigned size;
	int64_t i;
	double f;
};

static const struct {
	const char *format, *want;
	int taken;
	struct arg arg[4];
} formats[] = {
	{"plain", "plain", 0, {{0}}},
	{"", "", 0, {{0}}},
	{"%%", "%", 0, {{0}}},
	{"a%%b%%%d", "a%b%7", 1, {{4, 7, 0}}},
	{"%d", "-5", 1, {{4, -5, 0}}},
	{"%i|", "-2147483648|", 1, {{4, INT32_MIN, 0}}},
	{"%u", "4294967291", 1, {{4, -5, 0}}},
	{"%x %X %o", "fffffffb FFFFFFFB 37777777773", 3, {{4, -5, 0}, {4, -5, 0}, {4, -5, 0}}},
	{"%ld", "-5000000000", 1, {{8, -5000000000, 0}}},
	{"%lld", "9223372036854775807", 1, {{8, INT64_MAX, 0}}},
	{"%llu", "18446744073709551615", 1, {{8, -1, 0}}},
	{"%lx", "123456789abcdef0", 1, {{8, 0x123456789abcdef0, 0}}},
	{"%zu %jd %td", "12345678901 -1 -2", 3, {{8, 12345678901, 0}, {8, -1, 0}, {8, -2, 0}}},
	{"%c%c%c", "A b", 3, {{4, 'A', 0}, {4, ' ', 0}, {4, 'b', 0}}},
	{"%5d|%-5d|%05d", "   42|42   |00042", 3, {{4, 42, 0}, {4, 42, 0}, {4, 42, 0}}},
	{"%+d % d %#x", "+42  42 0x2a", 3, {{4, 42, 0}, {4, 42, 0}, {4, 42, 0}}},
	{"%.3d|%8.3d", "007|     007", 2, {{4, 7, 0}, {4, 7, 0}}},
	{"%*d|", "    9|", 2, {{4, 5, 0}, {4, 9, 0}}},
	{"%-*d|", "9    |", 2, {{4, 5, 0}, {4, 9, 0}}},
	{"%*d|", "9    |", 2, {{4, -5, 0}, {4, 9, 0}}},
	{"%.*f", "3.14", 2, {{4, 2, 0}, {0, 0, 3.14159}}},
	{"%*.*f|", "   3.1|", 3, {{4, 6, 0}, {4, 1, 0}, {0, 0, 3.14159}}},
	{"%f %e %g", "0.500000 5.000000e-01 0.5", 3, {{0, 0, 0.5}, {0, 0, 0.5}, {0, 0, 0.5}}},
	{"%E %G %F", "1.250000E+10 1.25E+10 0.250000", 3,
		{{0, 0, 1.25e10}, {0, 0, 1.25e10}, {0, 0, 0.25}}},
	{"%a", "0x1.8p+1", 1, {{0, 0, 3.0}}},
	{"%9.2f|%-9.2f|", "    -1.50|-1.50    |", 2, {{0, 0, -1.5}, {0, 0, -1.5}}},
	/* alignment: the double and the long lie 8 bytes behind the int */
	{"%d %f %d %lld", "1 2.000000 3 4", 4, {{4, 1, 0}, {0, 0, 2}, {4, 3, 0}, {8, 4, 0}}},
	/* no conversion: written as it is, and it takes nothing */
	{"%y %d", "%y 3", 1, {{4, 3, 0}}},
	{"100%", "100%", 0, {{0}}},
	{"%l", "%l", 0, {{0}}},
};

static size_t lay_out(const struct arg *a, int n, char *to)
{
	size_t at = 0;

	for (int k = 0; k < n; k++) {
		const size_t size = a[k].size ? a[k].size : 8;

		at = (at + size - 1) / size * size;
		memcpy(to + at, a[k].size ? (const void *)&a[k].i : &a[k].f, size);
		at += size;
	}
	return at;
}

static void test_formats(void **state)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		char args[64] = {0}, got[512];
		const size_t n = lay_out(formats[i].arg, formats[i].taken, args);
		const int taking = print(formats[i].format, args, n, got, sizeof got);

		if (strcmp(got, formats[i].want))
			fail_msg("%s: \"%s\", not \"%s\"", formats[i].format, got, formats[i].want);
		if (taking != formats[i].taken)
			fail_msg("%s took %d, not %d", formats[i].format, taking, formats[i].taken);
	}
}

/* The guide: printf() returns the number of arguments, -1 for a format that is NULL. */
static void test_no_format(void **state)
{
	char got[64];

	assert_int_equal(print(NULL, "", 0, got, sizeof got), -1);
	assert_string_equal(got, "");
}

static void test_strings(void **state)
{
	char *text = device(4096), got[9000];
	const uint64_t at = (uint64_t)(uintptr_t)text, both[] = {at, at}, none = 0;

	strcpy(text, "word");
	assert_int_equal(print("%s-%.2s|", both, sizeof both, got, sizeof got), 2);
	assert_string_equal(got, "word-wo|");
	assert_int_equal(print("%6s|%-6s|", both, sizeof both, got, sizeof got), 2);
	assert_string_equal(got, "  word|word  |");
	assert_int_equal(print("%s", &none, sizeof none, got, sizeof got), 1);
	assert_string_equal(got, "(null)");
	memset(text, 'x', 3000);
	text[3000] = 0;
	assert_int_equal(print("<%s>%s", both, sizeof both, got, sizeof got), 2);
	assert_int_equal(strlen(got), 6002);
	assert_int_equal(strspn(got + 1, "x"), 3000);
	assert_string_equal(got + 3001 + 3000, "x");
	mem_free(at);
}

static void test_pointers(void **state)
{
	const uint64_t p = 0x7f1234;
	char got[64];

	assert_int_equal(print("%p", &p, sizeof p, got, sizeof got), 1);
	assert_string_equal(got, "0x7f1234");
}

/* Workers take blocks as they come: what they print is in the order of the blocks, and of the
 * threads in them. */
static void test_order(void **state)
{
	static const char text[] = PTX_HEAD
		".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
		".global .align 1 .b8 f[7] = {37, 117, 46, 37, 117, 10, 0};\n" /* "%u.%u\n" */
		".visible .entry k(.param .u64 p) {\n"
		".reg .b64 %d<3>; .reg .b32 %r<4>; .reg .pred %q; .local .align 8 .b8 l[8];\n"
		"mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mov.u64 %d0, l;\n"
		"st.local.b32 [%d0], %r0; st.local.b32 [%d0+4], %r1; cvta.local.u64 %d0, %d0;\n"
		"sub.u32 %r2, 200, %r0; mul.lo.u32 %r2, %r2, 20;\n" /* the first take longest */
		"L: sub.u32 %r2, %r2, 1; setp.gt.s32 %q, %r2, 0; @%q bra L;\n"
		"mov.u64 %d1, f; cvta.global.u64 %d1, %d1;\n"
		"{ .param .b64 a; .param .b64 b; .param .b32 c;\n"
		"st.param.b64 [a], %d1; st.param.b64 [b], %d0; call (c), vprintf, (a, b); }\n"
		"ret; }\n";
	enum { BLOCKS = 200, ROOM = BLOCKS * 3 * 8 };
	char *got = malloc(ROOM), *want = malloc(ROOM), *at = want;
	struct ptx_module *m = load(text);
	uint64_t nothing = 0;

	assert_true(got && want);
	for (unsigned b = 0; b < BLOCKS; b++)
		for (unsigned t = 0; t < 3; t++)
			at += sprintf(at, "%u.%u\n", b, t);
	for (int k = 0; k < 5; k++) {
		take_output();
		run(m, "k", BLOCKS, 3, &nothing);
		give_back_output(got, ROOM);
		assert_string_equal(got, want);
	}
	ptx_free(m);
	free(got);
	free(want);
}

/* "Assertion": what fails, where, and in which thread; the kernel ends there. */
static void test_assertion(void **state)
{
	static const char text[] = PTX_HEAD
		".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
		".global .align 1 .b8 m[6] = {97, 32, 62, 32, 98, 0};\n" /* "a > b" */
		".global .align 1 .b8 f[5] = {120, 46, 99, 117, 0};\n"	 /* "x.cu" */
		".global .align 1 .b8 n[5] = {119, 111, 114, 107, 0};\n" /* "work" */
		".visible .entry k(.param .u64 p) {\n"
		".reg .b64 %d<4>; .reg .b32 %r<3>; .reg .pred %p;\n"
		"ld.param.u64 %d3, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"
		"mov.u64 %d0, m; cvta.global.u64 %d0, %d0; mov.u64 %d1, f; cvta.global.u64 %d1, %d1;\n"
		"mov.u64 %d2, n; cvta.global.u64 %d2, %d2; mad.lo.u32 %r2, %r1, 64, %r0;\n"
		"setp.ne.u32 %p, %r2, 101; @%p bra E;\n"
		"{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
		"st.param.b64 [a], %d0; st.param.b64 [b], %d1; st.param.b32 [c], 321;\n"
		"st.param.b64 [d], %d2; st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); }\n"
		"st.global.b32 [%d3], 1;\n"
		"E: ret; }\n";
	struct ptx_module *m = load(text);
	uint32_t *behind = device(4);
	struct ptx_fault f;

	assert_int_equal(launch_of(m, "k", 2, 64, &behind, &f), PTX_ASSERT);
	assert_non_null(strstr(f.text,
		"x.cu:321: work: block: [1,0,0], thread: [37,0,0] Assertion `a > b` failed."));
	assert_int_equal(f.block[0], 1);
	assert_int_equal(f.thread[0], 37);
	assert_int_equal(*behind, 0);
	ptx_free(m);
}

/* Each thread has memory of its own, aligned to 16 bytes, keeps it, and gives it back. */
static void test_heap(void **state)
{
	static const char text[] = PTX_HEAD
		".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
		".extern .func free (.param .b64 p);\n"
		".visible .entry k(.param .u64 p) {\n"
		".reg .b64 %d<4>; .reg .b32 %r<2>;\n"
		"ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 8; add.u64 %d0, %d0, %d1;\n"
		"{ .param .b64 a; .param .b64 b; st.param.b64 [a], 24; call (b), malloc, (a); ld.param.b64 %d2, [b]; }\n"
		"st.u32 [%d2+20], %r0; st.global.u64 [%d0], %d2; bar.sync 0;\n"
		"ld.u32 %r1, [%d2+20]; st.global.u32 [%d0+1024], %r1;\n"
		"{ .param .b64 a; st.param.b64 [a], %d2; call free, (a); }\n"
		"{ .param .b64 a; st.param.b64 [a], 0; call free, (a); }\n" /* C: nothing happens */
		"ret; }\n";
	struct ptx_module *m = load(text);
	uint64_t *p = device(2048);
	struct ptx_launch l = {.fn = ptx_kernel_by_name(m, "k"),
		.grid = {1, 1, 1},
		.block = {64, 1, 1},
		.heap = ptx_heap_new(1 << 20, 78),
		.params = &p};
	struct ptx_fault f;

	if (ptx_run(&l, &f))
		fail_msg("%s", f.text);
	for (unsigned k = 0; k < 64; k++) {
		assert_int_not_equal(p[k], 0);
		assert_int_equal(p[k] % 16, 0);
		assert_int_equal((uint32_t)p[128 + k], k);
		for (unsigned j = 0; j < k; j++)
			assert_true(p[j] + 24 <= p[k] || p[k] + 24 <= p[j]);
	}
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_no_format),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_assertion),
		cmocka_unit_test(test_heap),
	};

	setenv("TSDB_SOFT_WORKERS", "4", 1);
	return cmocka_run_group_tests_name("softgpu printf", tests, NULL, NULL);
}
