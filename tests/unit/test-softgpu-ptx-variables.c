/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of modules: sizes, initial values, declarations that are repeated. Each text that a
 * variable's memory does not hold must be refused by the parser: it is a trace's, and what is
 * written besides is this process's memory.
 */
#include "ptx-test.h"

#include <stdint.h>

#define STRING_4096                                                                                \
	S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64 S64    \
		S64 S64 S64 S64 S64 S64
#define S64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void refused(const char *text, const char *why)
{
	char log[256] = "", whole[8192];
	struct ptx_module *m;

	snprintf(whole, sizeof(whole), PTX_HEAD "%s", text);
	m = ptx_load(whole, strlen(whole), log, sizeof(log));
	if (m)
		fail_msg("was loaded: %.200s", text);
	if (!strstr(log, why))
		fail_msg("'%s' does not say '%s'", log, why);
}

struct bad {
	const char *text, *why;
};

static void test_initial_values_outside(void **state)
{
	static const struct bad bad[] = {
		/* a value 8 * 218203770 bytes behind its variable, which the second declaration
		   made smaller */
		{".extern .global .align 8 .b64 zz[][218203770]={{},{0x4141414141414141}}; .global .align 8 .b64 zz[0];",
			"extern and has initial"},
		{".global .b8 s[2] = \"abc\";", "a string of 3 bytes for an array of 2"},
		{".global .b8 s[2][2] = {\"ab\", \"cde\"};",
			"a string of 3 bytes for an array of 2"},
		{".global .b8 s[8] = \"" STRING_4096 "\";", "for an array of 8"},
		{".global .b32 a[2] = {1, 2, 3};", "more initial values than elements"},
		{".global .b32 a[2][2] = {{1, 2, 3}};", "more initial values than elements"},
		{".global .b32 a[0] = {1};", "more initial values than elements"},
		{".global .b32 a[][0] = {{1}};", "more initial values than elements"},
		{".global .v2 .b32 a[1] = {{1, 2, 3}};", "more initial values than elements"},
		{".global .b32 a[0][18446744073709551615][18446744073709551615] = {};",
			"not possible"},
		{".global .b64 a[][65536][65536] = {{}, {}, {{}, {1}}};", "not possible"},
		{".global .b64 a[][4294967296] = {{}, {}};", "not possible"},
		{".global .b8 a[4294967297];", "not possible"},
		{".global .b64 a[536870913];", "not possible"},
		{".global .b64 a[4294967296][4294967296];", "not possible"},
		{".global .b8 a[18446744073709551615][18446744073709551615][0];", "not possible"},
		{".shared .b64 a[4][4294967296];", "not possible"},
	};

	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		refused(bad[k].text, bad[k].why);
}

static void test_declared_differently(void **state)
{
	static const char *const bad[] = {
		".extern .global .b32 a[4]; .global .b32 a[3];",
		".extern .global .b32 a[4]; .global .b32 a[0];",
		".extern .global .b32 a[4]; .global .b64 a[4] = {1};",
		".extern .global .b32 a[4]; .extern .global .b32 a[5];",
		".extern .global .b32 a[4]; .extern .global .b32 a[]; .global .b32 a[5];",
		".extern .global .b32 a; .const .b32 a;",
		".extern .global .b32 a[4]; .shared .b32 a[4];",
		".extern .shared .b8 a[]; .shared .b8 a[8];",
		".extern .shared .b8 a[]; .extern .shared .b8 a[8];",
		".extern .shared .align 4 .b8 a[8]; .shared .align 8 .b8 a[8];",
	};

	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		refused(bad[k], "'a' is declared differently before");
}

static void find(struct ptx_module *m, const char *name, struct ptx_var *v)
{
	for (unsigned k = 0; ptx_var(m, k, v); k++)
		if (!strcmp(v->name, name))
			return;
	fail_msg("%s is not there", name);
}

/* The kernel stores the addresses of a and b; what lies there is looked at. */
static void test_declared_again(void **state)
{
	struct ptx_module *m = load(PTX_HEAD
		".extern .global .align 4 .b8 a[]; .extern .global .align 8 .b8 b[16]; .extern .global .b8 b[];\n"
		".visible .entry k(.param .u64 p) { .reg .u64 %rd<3>; ld.param.u64 %rd0, [p]; mov.u64 %rd1, a; mov.u64 %rd2, b;\n"
		"  st.global.u64 [%rd0], %rd1; st.global.u64 [%rd0+8], %rd2; }\n"
		".global .align 4 .u32 a[3] = {7, 8, 9}; .global .u64 b[2] = {1, a+4};\n");
	uint64_t *out = device(16);
	struct ptx_var v;

	run(m, "k", 1, 1, &out);
	assert_int_equal(((uint32_t *)out[0])[2], 9);
	assert_int_equal(((uint64_t *)out[1])[0], 1);
	assert_int_equal(((uint64_t *)out[1])[1], out[0] + 4);
	find(m, "a", &v);
	assert_int_equal(v.size, 12);
	find(m, "b", &v);
	assert_int_equal(v.size, 16);
	ptx_free(m);
}

/* A variable of no bytes has an address, not 0: what is stored through it is a fault of the
 * kernel's. */
static void test_no_bytes(void **state)
{
	struct ptx_module *m = load(PTX_HEAD
		".global .align 8 .b64 zz[0]; .global .b8 e[] = \"ab\";\n"
		".visible .entry k(.param .u64 p) { .reg .u64 %rd<3>; ld.param.u64 %rd0, [p]; mov.u64 %rd1, zz;\n"
		"  st.global.u64 [%rd0], %rd1; }\n");
	uint64_t *out = device(8);
	struct ptx_var v;

	run(m, "k", 1, 1, &out);
	assert_int_not_equal(*out, 0);
	find(m, "zz", &v);
	assert_int_equal(v.size, 0);
	find(m, "e", &v);
	assert_int_equal(v.size, 3);
	ptx_free(m);
}

static void test_undefined(void **state)
{
	static const char text[] = PTX_HEAD ".extern .global .b32 nowhere;";
	char log[256];
	struct ptx_module *m = ptx_load(text, strlen(text), log, sizeof(log));

	assert_non_null(m);
	assert_int_equal(ptx_link(m, place_var, NULL, log, sizeof(log)), PTX_LINK_EXTERN);
	assert_non_null(strstr(log, "nowhere"));
	ptx_free(m);
}

/* 4 GiB in 60 bytes of text: takes no memory until it is used. */
static void test_large_is_lazy(void **state)
{
	struct ptx_module *m = load(PTX_HEAD ".visible .global .align 4 .b8 large[4294967296];");
	char line[128];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	fclose(f);
	assert_in_range(kib, 1, 2 << 20);
	ptx_free(m);
}

static size_t shared_of(const struct ptx_module *m, const char *name)
{
	struct ptx_function_info info;

	ptx_function_info(ptx_kernel_by_name(m, name), &info);
	return info.static_shared;
}

/* A kernel has the shared variables that it, or what it calls, names; those that no kernel has
 * together lie at one place. */
static void test_shared_outside_of_kernels(void **state)
{
	static const char text[] = PTX_HEAD
		".shared .align 4 .b8 a[40000]; .shared .align 4 .b8 b[40000]; .shared .align 16 .b8 c[100]; .shared .b8 d[5000];\n"
		".func f() { .reg .b32 %r<2>; .shared .align 4 .b8 e[60]; ld.shared.u32 %r0, [c]; st.shared.u32 [e], %r0; ret; }\n"
		".visible .entry one() { .reg .b32 %r<2>; ld.shared.u32 %r0, [a]; call f; ret; }\n"
		".visible .entry two() { .reg .b32 %r<2>; ld.shared.u32 %r0, [b]; call f; ret; }\n"
		".visible .entry three() { .shared .align 4 .b8 own[8]; .reg .b32 %r<2>; ld.shared.u32 %r0, [own]; ret; }\n"
		".visible .entry four() { ret; }\n";
	char log[256] = "";
	struct ptx_module *m = ptx_load(text, strlen(text), log, sizeof(log));

	if (!m)
		fail_msg("%s", log);
	assert_int_equal(shared_of(m, "one"), 40000 + 112 - 12 + 60); /* c at 40000, e behind it */
	assert_int_equal(shared_of(m, "two"), 40000 + 112 - 12 + 60);
	assert_int_equal(shared_of(m, "three"), 8);
	assert_int_equal(shared_of(m, "four"), 0);
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_initial_values_outside),
		cmocka_unit_test(test_shared_outside_of_kernels),
		cmocka_unit_test(test_declared_differently),
		cmocka_unit_test(test_declared_again),
		cmocka_unit_test(test_no_bytes),
		cmocka_unit_test(test_undefined),
		cmocka_unit_test(test_large_is_lazy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
