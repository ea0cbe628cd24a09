/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX texts that are refused, each with what is wrong and in which line, and their nearest
 * neighbours that are not; initial values of every type (PTX ISA 9.0, 5.4 "Variables", 4.5
 * "Constants"); parameters and prototypes.
 */
#include "ptx-test.h"

static struct ptx_module *loads(const char *text, char *log, size_t n)
{
	char whole[20000];

	log[0] = '\0';
	assert_true((size_t)snprintf(whole, sizeof whole, PTX_HEAD "%s", text) < sizeof whole);
	return ptx_load(whole, strlen(whole), log, n);
}

/* The text begins in line 4. */
static void refused(const char *text, unsigned line, const char *why)
{
	char log[512], want[300];
	struct ptx_module *m = loads(text, log, sizeof log);

	if (m)
		fail_msg("was loaded: %.200s", text);
	snprintf(want, sizeof want, "line %u: %s", line, why);
	if (strncmp(log, want, strlen(want)) != 0)
		fail_msg("'%s' is not '%s', of %.200s", log, want, text);
}

static void taken(const char *text)
{
	char log[512];
	struct ptx_module *m = loads(text, log, sizeof log);

	if (!m)
		fail_msg("%s: %.200s", log, text);
	ptx_free(m);
}

#define BODY(text)                                                                                       \
	".visible .entry k(.param .u64 p) {\n.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;\n" text \
	"\nret; }"

static const struct {
	const char *text;
	unsigned line;
	const char *why;
} wrong[] = {
	/* variables */
	{".global .align 3 .b32 a;", 4, "alignment 3 is not a small power of two"},
	{".global .align 0 .b32 a;", 4, "alignment 0 is not a small power of two"},
	{".global .align 2097152 .b32 a;", 4, "alignment 2097152 is not"},
	{"\n.global .b128 a = 5;", 5, "initial values of .b128 are not implemented"},
	{".global .u16 a = 1.5;", 4, "a floating-point value for a .u16"},
	{".global .s8 a = 0f3F800000;", 4, "a floating-point value for a .s8"},
	{".global .u64 a = b;", 4, "'b' is not declared"},
	{".global .u64 a = generic(b);", 4, "'b' is not declared"},
	{".global .u32 b; .global .u32 a = b;", 4, "an address needs 64 bits"},
	{".shared .u32 b; .global .u64 a = b;", 4, "the address of 'b' as an initial value"},
	{".global .u32 a = ;", 4, "';' where an initial value should be"},
	{".global .u32 a[1][1][1][1][1][1][1][1][1];", 4, "more than 8 dimensions"},
	{".global .v2 .u32 a[1][1][1][1][1][1][1][1] = {};", 4, "more than 8 dimensions"},
	{".global .pred a;", 4, "a variable of type .pred is not implemented"},
	{".global .texref a;", 4, "texture and surface references are not implemented"},
	{".shared .u32 a = 1;", 4, "only .global and .const variables have initial values"},
	{".extern .global .u32 a = 1;", 4, "'a' is extern and has initial values"},
	{".global .u32 a; .global .u32 a;", 4, "'a' is declared twice"},
	{".shared .b8 a[4294967296]; .shared .b8 b[4294967296];\n" BODY(
		 "ld.shared.u32 %r0, [a]; ld.shared.u32 %r0, [b];"),
		4, "too much memory in 'b'"},
	/* registers */
	{BODY(".reg .v2 .b32 %v;"), 6, "vector registers are not implemented"},
	{BODY(".reg .b32 %x<1048577>;"), 6, "too many registers"},
	{BODY(".reg .b32 %r<2>;"), 6, "'%r' is declared twice"},
	/* functions */
	{".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }", 5,
		"function f is declared differently before"},
	{".func f(.param .b32 a);\n.func f(.param .b32 a, .param .b32 b) { ret; }", 5,
		"function f is declared differently before"},
	{".func (.param .b32 r) f();\n.func f() { ret; }", 5,
		"function f is declared differently before"},
	{".func f(.param .b32 a);\n.visible .entry f(.param .b32 a) { ret; }", 5,
		"function f is declared differently before"},
	{".visible .entry f(.param .b32 a);\n.func f(.param .b32 a) { ret; }", 5,
		"function f is declared differently before"},
	{".func f() { ret; }\n.func f() { ret; }", 5, "function f is defined twice"},
	{".func f(.param .b8 a[1048577]);", 4, "parameter too large"},
	{".func f(.param .b64 a[536870912]);", 4, "parameter too large"},
	{".visible .entry k(.param .b8 a[32769]) { ret; }", 4,
		"kernel k has more than 32764 bytes of parameters"},
	{".visible .entry k(.global .b32 a) { ret; }", 4, "'.global' where .param should be"},
	{".visible .entry k() .maxntid 1048577 { ret; }", 4, "1048577 in .maxntid"},
	{".visible .entry k() .reqnctapercluster 0 { ret; }", 4, "a cluster of this size"},
	{".visible .entry k() .reqnctapercluster 17 { ret; }", 4, "a cluster of this size"},
	{".visible .entry k() .unheardof 1 { ret; }", 4, "directive .unheardof is not implemented"},
	{BODY(".unheardof 1;"), 6, "directive .unheardof is not known here"},
	{".func f() { ret;", 4, "the text ends inside function f"},
	{BODY("t: .calltargets k;"), 6, "'k' is not a function that can be called"},
	{BODY("t: .calltargets nobody;"), 6, "'nobody' is not a function that can be called"},
	{BODY("t: .callprototype _ (.reg .b32 a);"), 6, "register parameters are not implemented"},
	/* operands */
	{BODY("add.u32 %r0, %nobody, 1;"), 6, "'%nobody' is not declared"},
	{BODY("ld.global.u32 %r0, [nobody];"), 6, "'nobody' is not declared"},
	{BODY(".reg .b32 %x<100>; mov.u32 %x100, 1;"), 6, "'%x100' is not declared"},
	{BODY(".reg .b32 %x<100>; mov.u32 %x07, 1;"), 6, "'%x07' is not declared"},
	{BODY(".reg .b32 %x<100>; mov.u32 %x, 1;"), 6, "'%x' is not declared"},
	{BODY(".reg .b32 %x<100>; mov.u32 %x4294967301, 1;"), 6, "'%x4294967301' is not declared"},
	{BODY("mov.u64 %d0, nobody;"), 6, "'nobody' is not declared"},
	{BODY("@%nobody mov.u64 %d0, 1;"), 6, "'%nobody' is not a predicate"},
};

static void test_wrong(void **state)
{
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		refused(wrong[i].text, wrong[i].line, wrong[i].why);
}

/* One step beside what is refused. */
static void test_right(void **state)
{
	static const char *const right[] = {
		".global .align 1048576 .b32 a;",
		".global .u32 a[1][1][1][1][1][1][1][1];",
		".global .v2 .u32 a[1][1][1][1][1][1][1] = {};",
		".extern .global .u32 a; .global .u32 a = 1;",
		BODY(".reg .b32 %x<1048576>;"),
		".func f(.param .b32 a);\n.func f(.param .b32 b) { ret; }",
		".func f(.param .u32 a);\n.func f(.param .f32 b) { ret; }",
		".func f(.param .b8 a[1048576]);",
		".visible .entry k(.param .b8 a[32764]) { ret; }",
		".visible .entry k() .maxntid 1048576 { ret; }",
		".visible .entry k() .reqnctapercluster 16 { ret; }",
		".visible .entry k() .maxnreg 32 .minnctapersm 2 .maxnctapersm 4 .noreturn .maxclusterrank 8 .pragma \"x\"; { ret; }",
		".func f() { ret; }\n" BODY("t: .calltargets f;"),
		BODY("t: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _) .noreturn;"),
		BODY(".pragma \"nounroll\"; .loc 1 2 3, function_name $L+4, inlined_at 1 2 3;"),
		BODY("{ .reg .b32 %r<2>; { mov.u32 %r1, 1; } }"),
		BODY(";;"),
		BODY(".reg .b32 %a_long_name_of<100>; mov.u32 %a_long_name_of99, 1;"),
		BODY(".reg .b32 %x<1>; mov.u32 %x0, 1;"),
		".global .attribute(.managed) .u32 a;",
		".const[2] .u32 a;",
		".visible .entry k(.param .u64 .ptr .global .align 4 p) { ret; }",
	};

	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		taken(right[i]);
}

static void test_tuning(void **state)
{
	static const struct {
		const char *directive;
		unsigned max, req[3];
	} rows[] = {{"", 1024, {0}}, {".maxntid 64", 64, {0}}, {".maxntid 8, 4, 2", 64, {0}},
		{".maxntid 1024", 1024, {0}}, {".maxntid 2000", 1024, {0}},
		{".maxntid 0", 1024, {0}}, {".reqntid 32", 32, {32, 1, 1}},
		{".reqntid 8, 4", 32, {8, 4, 1}}, {".reqntid 8, 4, 2", 64, {8, 4, 2}}};
	char text[200], log[512];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct ptx_function_info info;
		struct ptx_module *m;

		snprintf(text, sizeof text, ".visible .entry k() %s { ret; }", rows[i].directive);
		m = loads(text, log, sizeof log);
		assert_non_null(m);
		ptx_function_info(ptx_kernel_by_name(m, "k"), &info);
		assert_int_equal(info.max_threads, rows[i].max);
		assert_memory_equal(info.req, rows[i].req, sizeof info.req);
		assert_int_equal(info.ptx_version, 80);
		assert_int_equal(info.target, 75);
		ptx_free(m);
	}
}

/* Each at a multiple of its alignment: PTX ISA, 7.1. */
static void test_parameters(void **state)
{
	static const struct ptx_param want[] = {{0, 1, 1}, {4, 4, 4}, {8, 2, 2}, {16, 8, 8},
		{24, 3, 1}, {32, 16, 16}, {48, 12, 8}, {60, 4, 4}};
	char log[512];
	struct ptx_module *m = loads(
		".visible .entry k(.param .b8 a, .param .f32 b, .param .u16 c, .param .u64 d, .param .b8 e[3], "
		".param .v4 .f32 f, .param .align 8 .b8 g[12], .param .b32 h) { ret; }",
		log, sizeof log);
	struct ptx_function_info info;

	assert_non_null(m);
	ptx_function_info(ptx_kernel_by_name(m, "k"), &info);
	assert_int_equal(info.nparams, 8);
	assert_int_equal(info.param_bytes, 64);
	for (unsigned i = 0; i < 8; i++)
		assert_memory_equal(&info.params[i], &want[i], sizeof want[i]);
	ptx_free(m);
}

/* --- initial values: the bytes that they are --- */

static const struct {
	const char *text;
	size_t bytes;
	unsigned char want[16];
} values[] = {
	{".global .u8 a = 255;", 1, {255}},
	{".global .s8 a = -2;", 1, {0xfe}},
	{".global .u16 a = 0x1234;", 2, {0x34, 0x12}},
	{".global .s16 a = -2;", 2, {0xfe, 0xff}},
	{".global .u32 a = 0x12345678;", 4, {0x78, 0x56, 0x34, 0x12}},
	{".global .b32 a = 1.0;", 4, {0, 0, 0x80, 0x3f}},
	{".global .f32 a = 0f3F800001;", 4, {1, 0, 0x80, 0x3f}},
	{".global .f32 a = -0f3F800001;", 4, {1, 0, 0x80, 0xbf}},
	{".global .f32 a = -1.0;", 4, {0, 0, 0x80, 0xbf}},
	{".global .f32 a = 3;", 4, {0, 0, 0x40, 0x40}},
	{".global .f32 a = -3;", 4, {0, 0, 0x40, 0xc0}},
	{".global .f32 a = 0d3FF0000000000000;", 4, {0, 0, 0x80, 0x3f}},
	{".global .u64 a = 0x1122334455667788;", 8,
		{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}},
	{".global .s64 a = -1;", 8, {255, 255, 255, 255, 255, 255, 255, 255}},
	{".global .f64 a = 1.0;", 8, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
	{".global .f64 a = -1;", 8, {0, 0, 0, 0, 0, 0, 0xf0, 0xbf}},
	{".global .f64 a = 0f3F800000;", 8, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
	{".global .b64 a = 0d3FF0000000000001;", 8, {1, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
	{".global .u32 a = {5};", 4, {5}},
	{".global .u8 a[4] = {1, 2};", 4, {1, 2, 0, 0}},
	{".global .u8 a[] = {1, 2, 3};", 3, {1, 2, 3}},
	{".global .u8 a[2][2] = {{1, 2}, {3, 4}};", 4, {1, 2, 3, 4}},
	{".global .u8 a[2][3] = {{1}, {3, 4}};", 6, {1, 0, 0, 3, 4, 0}},
	{".global .u8 a[][2] = {{1, 2}, {3, 4}, {5}};", 6, {1, 2, 3, 4, 5, 0}},
	{".global .u16 a[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};", 16,
		{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0}},
	{".global .v4 .u8 a = {1, 2, 3, 4};", 4, {1, 2, 3, 4}},
	{".global .v2 .u8 a[2] = {{1, 2}, {3, 4}};", 4, {1, 2, 3, 4}},
	{".global .b8 a[4] = \"ab\";", 4, {'a', 'b', 0, 0}},
	{".global .b8 a[2] = \"ab\";", 2, {'a', 'b'}},
	{".global .b8 a[] = \"ab\";", 3, {'a', 'b', 0}},
	{".global .b8 a[2][3] = {\"ab\", \"cde\"};", 6, {'a', 'b', 0, 'c', 'd', 'e'}},
	{".const .u32 a = 7;", 4, {7}},
};

static const unsigned char *bytes_of_a(struct ptx_module *m, uint64_t **ret_out)
{
	uint64_t *out = device(16);

	run(m, "k", 1, 1, &out);
	*ret_out = out;
	return (const unsigned char *)(uintptr_t)out[0];
}

#define ADDRESS_OF_A                                                                               \
	"\n.visible .entry k(.param .u64 p) { .reg .u64 %rd<3>; ld.param.u64 %rd0, [p]; mov.u64 %rd1, a; st.global.u64 [%rd0], %rd1; ret; }\n"

static void test_values(void **state)
{
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char text[600];
		struct ptx_module *m;
		struct ptx_var v;
		uint64_t *out;

		snprintf(text, sizeof text, "%s%s%s", PTX_HEAD, values[i].text, ADDRESS_OF_A);
		m = load(text);
		assert_true(ptx_var(m, 0, &v));
		if (v.size != values[i].bytes ||
			memcmp(bytes_of_a(m, &out), values[i].want, v.size) != 0)
			fail_msg("%s: %zu bytes", values[i].text, v.size);
		assert_false(ptx_var(m, 1, &v));
		ptx_free(m);
	}
}

static void test_addresses(void **state)
{
	struct ptx_module *m = load(PTX_HEAD
		".global .b32 b[4] = {1, 2, 3, 4};\n"
		".global .u64 a[5] = {b, b+4, generic(b)+8, b+-4, generic(b)};" ADDRESS_OF_A);
	uint64_t *out;
	const uint64_t *a = (const uint64_t *)(const void *)bytes_of_a(m, &out);
	const uint64_t b = a[0];

	assert_int_equal(*(const uint32_t *)(uintptr_t)b, 1);
	assert_true(a[1] == b + 4 && a[2] == b + 8 && a[3] == b - 4 && a[4] == b);
	ptx_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_tuning),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests_name("softgpu ptx text", tests, NULL, NULL);
}
