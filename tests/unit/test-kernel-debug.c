/* SPDX-License-Identifier: Apache-2.0
 *
 * Debug information out of PTX: tests/fuzz/corpus/gpudebug/add.ptx is written by hand. Lines of its
 * text are the addresses; values come from registers and variables by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "symbols/kernel-debug.h"

static struct lang *l;

static char *text_of(const char *name)
{
	const char *src = getenv("srcdir");
	char *path = xasprintf("%s/tests/fuzz/corpus/gpudebug/%s", src ? src : ".", name);
	struct buf b = BUF_INIT;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	for (int c; (c = fgetc(f)) != EOF;)
		buf_byte(&b, (uint8_t)c);
	fclose(f);
	free(path);
	return buf_steal(&b);
}

/* --- values --- */

/* "%r2" is 2002, "%r3" 2003. */
static const char *reg(void *arg, uint64_t number, uint64_t *ret)
{
	char name[9];

	(void)arg;
	if (!kernel_debug_register(number, name) || strncmp(name, "%r", 2))
		return "no such register";
	*ret = 2000 + strtoul(name + 2, NULL, 10);
	return NULL;
}

/* Addresses: 1000 times the length of the name, and the offset. */
static struct err *settle(void *arg, const char *name, struct lang_value *v)
{
	uint64_t offset;
	const char *symbol = kernel_debug_symbol(arg, v->addr, &offset);

	(void)name;
	assert_non_null(symbol);
	v->addr = 1000 * strlen(symbol) + offset;
	return NULL;
}

static struct err *no_memory(void *arg, uint64_t addr, void *dst, size_t n)
{
	(void)arg, (void)addr, (void)dst, (void)n;
	return err_new(ERR_NOT_FOUND, "none");
}

static void append(void *arg, const char *name, const struct lang_value *v, const char *why)
{
	struct buf *b = arg;
	uint64_t u = 0;

	buf_printf(b, "%s", name);
	if (why)
		buf_printf(b, "?%s ", why);
	else if (v->place == LANG_GONE)
		buf_str(b, "-gone ");
	else if (v->place == LANG_MEMORY)
		buf_printf(b, "@%u ", (unsigned)v->addr);
	else
		buf_printf(b, "=%u ", (unsigned)(memcpy(&u, v->bytes, v->type->size), u));
}

/* The variables at a line of the PTX, `depth` inlined calls out. */
static void variables_are(
	struct kernel_debug *d, unsigned line, unsigned depth, unsigned which, const char *want)
{
	struct symbols_scope sc;
	struct dwarf_context ctx = {
		.read = no_memory, .arg = d, .reg = reg, .settle = settle, .pc = line};
	struct variables_frame f = {kernel_debug_names(d), &ctx, &sc, depth, which};
	struct buf b = BUF_INIT;

	assert_true(kernel_debug_scopes(d, line, &sc));
	frame_variables(&f, append, &b);
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
	free(sc.scopes);
}

static void variables(void **state)
{
	char *text = text_of("add.ptx");
	struct kernel_debug *d = kernel_debug_new(l, text);
	struct symbols_scope sc;

	(void)state;
	assert_non_null(d);
	/* i begins to be known behind $L__tmp1 (line 18), in %r2, then behind line 20 in %r3 */
	variables_are(d, 17, 0, 0, "n@17000 i-gone p@14008 ");
	variables_are(d, 19, 0, 0, "n@17000 i=2002 p@14008 ");
	variables_are(d, 19, 0, VARIABLES_ARGS, "n@17000 ");
	variables_are(d, 19, 0, VARIABLES_LOCALS, "i=2002 p@14008 ");
	/* within half(), inlined from line 20 to 23 */
	variables_are(d, 22, 0, 0, "z=2004 ");
	variables_are(d, 22, 1, 0, "n@17000 i=2003 p@14008 ");
	/* in the block of k, whose instruction stands behind a comment of two lines */
	variables_are(d, 26, 0, 0, "k=2005 n@17000 i=2003 p@14008 ");
	variables_are(d, 28, 0, 0, "n@17000 i-gone p@14008 ");
	assert_false(kernel_debug_scopes(d, 12, &sc));
	assert_false(kernel_debug_scopes(d, 29, &sc));
	assert_string_equal(kernel_debug_file(d, 1), "/home/me/a.cu");
	assert_null(kernel_debug_file(d, 2));
	kernel_debug_free(d);
	free(text);
}

static void inlined_by_dwarf(void **state)
{
	char *text = text_of("add.ptx");
	struct kernel_debug *d = kernel_debug_new(l, text);
	struct inlined_call c;

	(void)state;
	assert_true(kernel_debug_inlined(d, 22, 0, &c));
	assert_string_equal(c.function, "_Z4halfi");
	assert_int_equal(c.line, 20);
	assert_int_equal(c.file, 1);
	assert_false(kernel_debug_inlined(d, 22, 1, &c));
	assert_false(kernel_debug_inlined(d, 19, 0, &c));
	kernel_debug_free(d);
	free(text);
}

static void inlined_by_lines(void **state)
{
	char *text = text_of("inlined.ptx");
	struct kernel_debug *d = kernel_debug_new(l, text);
	struct inlined_call c;

	(void)state;
	assert_non_null(d);
	assert_false(kernel_debug_inlined(d, 2, 0, &c));
	assert_false(kernel_debug_inlined(d, 4, 0, &c));
	assert_true(kernel_debug_inlined(d, 6, 0, &c));
	assert_string_equal(c.function, "mid");
	assert_int_equal(c.line, 7);
	assert_false(kernel_debug_inlined(d, 6, 1, &c));
	assert_true(kernel_debug_inlined(d, 8, 0, &c));
	assert_string_equal(c.function, "in");
	assert_int_equal(c.line, 5);
	assert_true(kernel_debug_inlined(d, 8, 1, &c));
	assert_string_equal(c.function, "mid");
	assert_int_equal(c.line, 7);
	/* an unknown name; a place that is its own caller ends */
	assert_true(kernel_debug_inlined(d, 10, 0, &c));
	assert_null(c.function);
	assert_false(kernel_debug_inlined(d, 10, 1, &c));
	kernel_debug_free(d);
	free(text);
}

static void registers(void **state)
{
	char name[9];

	(void)state;
	assert_true(kernel_debug_register(0x257232, name));
	assert_string_equal(name, "%r2");
	assert_true(kernel_debug_register(0x2572643132333435, name));
	assert_string_equal(name, "%rd12345");
	assert_false(kernel_debug_register(0, name));
	assert_false(kernel_debug_register(0x25, name));
	assert_false(kernel_debug_register(0x25720032, name)); /* a hole */
	assert_false(kernel_debug_register(0x2572200a, name));
	assert_false(kernel_debug_register(7, name));
}

/* Whatever is cut off or put in, reading ends and what it gives can be asked. */
static void damaged(void **state)
{
	char *text = text_of("add.ptx");
	const size_t n = strlen(text);

	(void)state;
	assert_null(kernel_debug_new(l, ""));
	assert_null(kernel_debug_new(l, ".version 9.0\n// .section .debug_info { .b8 1 }\n"));
	assert_null(kernel_debug_new(l, ".section .debug_info"));
	assert_null(kernel_debug_new(l, "\"unfinished .section .debug_info { .b8 1"));
	for (size_t i = 0; i < n; i += 7) {
		char *cut = strndup(text, i), *other = strdup(text);
		struct kernel_debug *d;
		struct symbols_scope sc;

		if (strchr("0123456789", other[i]))
			other[i] = other[i] == '9' ? '0' : (char)(other[i] + 1);
		for (int k = 0; k < 2; k++) {
			d = kernel_debug_new(l, k ? cut : other);
			if (d && kernel_debug_scopes(d, 22, &sc))
				free(sc.scopes);
			kernel_debug_free(d);
		}
		free(cut);
		free(other);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables),
		cmocka_unit_test(inlined_by_dwarf),
		cmocka_unit_test(inlined_by_lines),
		cmocka_unit_test(registers),
		cmocka_unit_test(damaged),
	};
	int ret;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	l = lang_new();
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	lang_free(l);
	return ret;
}
