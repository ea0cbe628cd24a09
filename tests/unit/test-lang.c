/* SPDX-License-Identifier: Apache-2.0
 *
 * Room lang where there is memory: structs, pointers, arrays, texts, assignments, and what is
 * refused. Arithmetic is compared with gdb's in test-lang-gdb.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lang/lang.h"

enum { BASE = 0x1000, SIZE = 4096, DEVICE = 1 };

/* Ordinary memory at BASE; space DEVICE has other bytes at the same addresses. */
static uint8_t memory[2][SIZE];
static unsigned reads;

/* As the program would declare it, laid out by hand below. */
struct point {
	int32_t x;
	float y;
};
struct node {
	struct point at;
	char name[16];
	uint64_t next;
	uint32_t low : 3, high : 5;
	int32_t negative : 4;
};

static struct lang *l;
static struct lang_type point, node, color, flags, celsius;
static const struct lang_enumerator colors[] = {{"RED", 0}, {"GREEN", 1}, {"BLUE", 5}};
static const struct lang_enumerator bits[] = {{"READ", 1}, {"WRITE", 2}, {"EXEC", 4}};

static struct err *read_memory(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	(void)arg;
	reads++;
	if (space > DEVICE || addr < BASE || addr - BASE > SIZE || n > SIZE - (addr - BASE))
		return err_new(ERR_NOT_FOUND, "nothing lies at 0x%llx", (unsigned long long)addr);
	memcpy(dst, memory[space] + (addr - BASE), n);
	return NULL;
}

static struct err *write_memory(void *arg, unsigned space, uint64_t addr, const void *src, size_t n)
{
	(void)arg;
	if (space > DEVICE || addr < BASE || addr - BASE > SIZE || n > SIZE - (addr - BASE))
		return err_new(ERR_NOT_FOUND, "nothing lies at 0x%llx", (unsigned long long)addr);
	memcpy(memory[space] + (addr - BASE), src, n);
	return NULL;
}

static struct err *find(void *arg, const char *name, struct lang_value *ret, bool *ret_found)
{
	const struct {
		const char *name;
		const struct lang_type *type;
		unsigned space;
		uint64_t addr;
	} names[] = {{"n", &node, 0, BASE}, {"p", &point, 0, BASE + 256},
		{"a", lang_array_of(l, lang_base_type(l, "int"), 40), 0, BASE + 512},
		{"d", lang_array_of(l, lang_base_type(l, "f32"), 4), DEVICE, BASE},
		{"far", lang_base_type(l, "int"), 0, 0x99}};

	(void)arg;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(names[i].name, name)) {
			*ret = lang_at(names[i].type, names[i].space, names[i].addr);
			*ret_found = true;
		}
	}
	if (!strcmp(name, "%tid.x")) {
		*ret = lang_from_int(lang_base_type(l, "u32"), 7);
		*ret_found = true;
	}
	if (!strcmp(name, "gone")) {
		*ret = (struct lang_value){.type = lang_base_type(l, "int"), .place = LANG_GONE};
		*ret_found = true;
	}
	return NULL;
}

static const struct lang_type *find_type(void *arg, const char *name)
{
	(void)arg;
	return !strcmp(name, "struct node")    ? &node
	       : !strcmp(name, "struct point") ? &point
	       : !strcmp(name, "celsius")      ? &celsius
	       : !strcmp(name, "enum color")   ? &color
	       : !strcmp(name, "flags")	       ? &flags
					       : NULL;
}

static void describe(void *arg, unsigned space, uint64_t addr, struct buf *out)
{
	(void)arg;
	if (space == DEVICE && addr - BASE < SIZE)
		buf_printf(out, " <allocation 1 + %u>", (unsigned)(addr - BASE));
}

static const struct lang_scope scope = {.name = find,
	.type = find_type,
	.read = read_memory,
	.write = write_memory,
	.describe = describe};

static void complete_node(struct lang_type *t)
{
	static struct lang_member m[6];

	m[0] = (struct lang_member){"at", &point, offsetof(struct node, at), 0, 0, false};
	m[1] = (struct lang_member){"name", lang_array_of(l, lang_base_type(l, "char"), 16),
		offsetof(struct node, name), 0, 0, false};
	m[2] = (struct lang_member){
		"next", lang_pointer_to(l, t), offsetof(struct node, next), 0, 0, false};
	m[3] = (struct lang_member){"low", lang_base_type(l, "unsigned int"),
		offsetof(struct node, next) + 8, 0, 3, false};
	m[4] = (struct lang_member){"high", lang_base_type(l, "unsigned int"),
		offsetof(struct node, next) + 8, 3, 5, false};
	m[5] = (struct lang_member){
		"negative", lang_base_type(l, "int"), offsetof(struct node, next) + 8, 8, 4, false};
	t->members = m;
	t->nmembers = 6;
}

static int setup(void **unused)
{
	static struct lang_member m[2];
	struct node first = {{-3, 1.5f}, "first", BASE + 64, 5, 17, -2};
	struct node second = {{4, 0.25f}, "second", 0, 1, 2, 7};
	struct point p = {12, -0.5f};
	int32_t a[40] = {1, 2, 3};
	float d[4] = {0.5f, 1, 2, 4};

	(void)unused;
	l = lang_new();
	m[0] = (struct lang_member){"x", lang_base_type(l, "int"), 0, 0, 0, false};
	m[1] = (struct lang_member){"y", lang_base_type(l, "float"), 4, 0, 0, false};
	point = (struct lang_type){.kind = LANG_STRUCT,
		.name = "point",
		.prefix = "struct",
		.size = 8,
		.members = m,
		.nmembers = 2};
	node = (struct lang_type){.kind = LANG_STRUCT,
		.name = "node",
		.prefix = "struct",
		.size = sizeof first,
		.complete = complete_node};
	color = (struct lang_type){.kind = LANG_ENUM,
		.name = "color",
		.prefix = "enum",
		.size = 4,
		.enumerators = colors,
		.nenumerators = 3};
	flags = (struct lang_type){.kind = LANG_ENUM,
		.name = "flags",
		.size = 4,
		.enumerators = bits,
		.nenumerators = 3};
	celsius = (struct lang_type){.kind = LANG_TYPEDEF,
		.name = "celsius",
		.size = 8,
		.target = lang_base_type(l, "double")};
	memcpy(memory[0], &first, sizeof first);
	memcpy(memory[0] + 64, &second, sizeof second);
	memcpy(memory[0] + 256, &p, sizeof p);
	memcpy(memory[0] + 512, a, sizeof a);
	memcpy(memory[1], d, sizeof d);
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	lang_free(l);
	return 0;
}

/* What `print/LETTER text` shows; "error: ..." for what is refused. */
static const char *shown(const char *text, char letter)
{
	static struct buf out;
	const struct lang_format f = {.letter = letter, .elements = 200};
	struct lang_value v;
	struct err *e = lang_eval(l, &scope, text, &v);

	buf_clear(&out);
	if (!e)
		e = lang_show(l, &scope, &f, &v, &out);
	if (e) {
		buf_clear(&out);
		buf_printf(&out, "error: %s", e->what);
	}
	err_free(e);
	lang_value_free(&v);
	return buf_cstr(&out);
}

#define IS(text, expected) assert_string_equal(shown(text, 0), expected)
#define REFUSED(text, why) assert_non_null(strstr(shown(text, 0), "error: " why))

static void test_members(void **unused)
{
	(void)unused;
	IS("n.at.x", "-3");
	IS("n.at", "{x = -3, y = 1.5}");
	IS("n.next->name", "\"second\\000\\000\\000\\000\\000\\000\\000\\000\\000\"");
	IS("n.low", "5");
	IS("n.high", "17");
	IS("n.negative", "-2");
	IS("n.next->negative", "7");
	IS("(&n)->at.y * 2", "3");
	IS("&p", "(struct point *) 0x1100");
	IS("(&p)->x + p.x", "24");
	IS("*n.next->next", "error: nothing lies at 0x0");
	IS("sizeof n", "40");
	REFUSED("n.z", "struct node has no member \"z\"");
	REFUSED("a.x", "only a struct has members");
	REFUSED("n + 1", "the operand is no number");
}

static void test_memory(void **unused)
{
	(void)unused;
	IS("a[1]", "2");
	IS("*a", "1");
	IS("*(a + 2)", "3");
	IS("&a[3] - &a[1]", "2");
	IS("a", "{1, 2, 3, 0 <repeats 37 times>}");
	IS("a[0]@2", "{1, 2}");
	IS("a[2]@12", "{3, 0 <repeats 11 times>}");
	IS("&a", "(int (*)[40]) 0x1200");
	IS("{int}0x1204", "2");
	IS("{f32[2]}0x1104", "{-0.5, 0}");
	IS("*(float *)0x1104", "-0.5");
	IS("(long)&a", "4608");
	IS("{char[6]}0x1008", "\"first\"");
	IS("(char *)0x1008", "0x1008 \"first\"");
	IS("(char *)0x9", "0x9 <error: cannot be read>");
	/* a pointer into another space leads there, through sums and casts */
	IS("d", "{0.5, 1, 2, 4}");
	IS("*(d + 1)", "1");
	IS("*(int *)&d[1]", "1065353216");
	IS("&d[2]", "(f32 *) 0x1008 <allocation 1 + 8>");
	IS("d[0].u32", "1056964608");
	REFUSED("far", "nothing lies at 0x99");
	REFUSED("*(void *)0x1000", "a void pointer leads to no value");
	REFUSED("a[0.5]", "an index is an integer");
	REFUSED("1@2", "\"@\" extends what lies in memory");
	REFUSED("a[0]@0", "\"@\" takes a count of 1 and more");
	REFUSED("&1", "only what lies in memory has an address");
	IS("gone", "<optimized out>");
	REFUSED("gone + 1", "the value has been optimized out");
	REFUSED("gone = 1", "it is optimized out here: it has no place that could be set");
	REFUSED("gone++", "the value has been optimized out");
}

static void test_nothing_is_read_for_a_type(void **unused)
{
	const struct {
		const char *text, *type;
	} types[] = {{"n.at.y", "float"}, {"n.next", "struct node *"}, {"*n.next", "struct node"},
		{"a", "int [40]"}, {"&a", "int (*)[40]"}, {"a[3] + 1.5f", "float"},
		{"n.next->next->next->at", "struct point"}, {"struct node", "struct node"},
		{"enum color *", "enum color *"}, {"(struct point *)0", "struct point *"},
		{"far / far", "int"}, {"$x = a[0]", "int"}, {"d[1]@3", "f32 [3]"},
		{"celsius", "double"}, {"(celsius)1", "celsius"}, {"(celsius)1 + 1", "double"},
		{"n.low", "unsigned int"}, {"sizeof (struct node)", "unsigned long"}};

	(void)unused;
	reads = 0;
	for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
		struct buf b = BUF_INIT;
		const struct lang_type *t;

		assert_null(lang_type_of(l, &scope, types[i].text, &t));
		lang_type_name(&b, t, "");
		assert_string_equal(buf_cstr(&b), types[i].type);
		buf_free(&b);
	}
	assert_int_equal(reads, 0);
}

static void test_enumerations(void **unused)
{
	(void)unused;
	IS("(enum color)1", "GREEN");
	IS("(enum color)5", "BLUE");
	IS("(enum color)3", "3");
	IS("(enum color)1 + 1", "2");
	IS("(flags)3", "(READ | WRITE)");
	IS("(flags)12", "(EXEC | unknown: 0x8)");
	IS("(flags)8", "(unknown: 0x8)");
}

static void test_small_floats(void **unused)
{
	(void)unused;
	/* IEEE 754 binary16: largest 65504, smallest normal 2^-14, smallest subnormal 2^-24 */
	IS("(f16)65504", "65504");
	IS("((f16)65504).u16 == 0x7bff", "1");
	IS("((f16)65520).u16 == 0x7c00", "1");
	IS("((f16)65519).u16 == 0x7bff", "1");
	IS("((f16)1).u16 == 0x3c00", "1");
	IS("((f16)-2).u16 == 0xc000", "1");
	IS("((f16)0.000000059604644775390625).u16", "1");
	IS("((f16)0.00006103515625).u16 == 0x400", "1");
	IS("((f16)0.0000000298).u16", "0"); /* half of the smallest: to even */
	IS("((f16)2049).u16 == ((f16)2048).u16", "1");
	IS("(f16)0.1", "0.099976");
	IS("(f16)1e9", "inf");
	/* bfloat16 is the upper half of a float, rounded to nearest even */
	IS("((bf16)1).u16 == 0x3f80", "1");
	IS("((bf16)3.140625).u16 == 0x4049", "1");
	IS("((bf16)1.00390625).u16 == 0x3f80", "1"); /* 1 + 2^-8: to even */
	IS("((bf16)1.01171875).u16 == 0x3f82", "1"); /* 1 + 3 * 2^-8 */
	IS("(bf16)1e38", "9.969e+37");		     /* 150 / 128 * 2^126 */
	IS("{f16}0x1110", "0");
}

static void test_names(void **unused)
{
	(void)unused;
	IS("%tid.x * 2", "14");
	REFUSED("10 %tid.x", "there is no \"tid\" here");
	IS("10 % 4", "2");
	IS("4K", "4096");
	IS("1G / 1M", "1024");
	REFUSED("nothing", "there is no \"nothing\" here");
	REFUSED("nothing(1, 2)", "");
	REFUSED("(struct nothing)1", "there is no type \"struct nothing\"");
	IS("$nothing", "void");
	REFUSED("$nothing + 1", "void has no value");
	IS("\"abc\" == \"abc\"", "1");
	IS("\"abc\" != \"abd\"", "1");
	IS("n.name == \"first\"", "1");
}

static void test_assignments(void **unused)
{
	(void)unused;
	IS("p.x = 7", "7");
	IS("p", "{x = 7, y = -0.5}");
	IS("p.y += 1", "0.5");
	IS("p.x++", "7");
	IS("p.x", "8");
	IS("--a[0]", "0");
	IS("a[0]", "0");
	REFUSED("1 = 2", "what stands before \"=\" cannot be assigned to");
	REFUSED("$x = 2", "variables are not kept here");
}

static void test_letters(void **unused)
{
	(void)unused;
	assert_string_equal(shown("n.at", 'x'), "{x = 0xfffffffd, y = 0x3fc00000}");
	assert_string_equal(shown("a[1]@3", 'z'), "{0x00000002, 0x00000003, 0x00000000}");
	assert_string_equal(shown("{char[6]}0x1008", 'd'), "{102, 105, 114, 115, 116, 0}");
	assert_string_equal(shown("a[1]@3", 'f'), "{2.80259693e-45, 4.20389539e-45, 0}");
	assert_non_null(strstr(shown("1", 'q'), "there is no format letter"));
}

static void test_layout(void **unused)
{
	struct buf b = BUF_INIT;

	(void)unused;
	lang_type_layout(&b, &node);
	assert_string_equal(buf_cstr(&b),
		"struct node {\n    struct point at;\n    char name[16];\n    struct node *next;\n"
		"    unsigned int low : 3;\n    unsigned int high : 5;\n    int negative : 4;\n}");
	buf_clear(&b);
	lang_type_layout(&b, &color);
	assert_string_equal(buf_cstr(&b), "enum color {RED, GREEN, BLUE = 5}");
	buf_free(&b);
}

/* Deep and long expressions end with a sentence, not with the stack. */
static void test_hostile(void **unused)
{
	const char *const units[] = {"(", "-", "*", "1+", "1,", "a[", "1?", "{int}", "(int)", "!",
		"1?1:", "$x=", "sizeof ", "n.next->", "\"a\" "};
	const unsigned counts[] = {10, 199, 1000, 30000};

	(void)unused;
	for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
		for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++) {
			struct buf b = BUF_INIT;
			struct lang_value v;

			for (unsigned n = 0; n < counts[k]; n++)
				buf_str(&b, units[i]);
			buf_str(&b, "1");
			err_free(lang_eval(l, &scope, buf_cstr(&b), &v));
			lang_value_free(&v);
			buf_free(&b);
		}
	}
	REFUSED("(int[99999999999][99999999999])1", "an array of this size");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_members, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_read_for_a_type, setup, teardown),
		cmocka_unit_test_setup_teardown(test_enumerations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_small_floats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_assignments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_letters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_layout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
