/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions and lines of code objects: what a table says by the words of the DWARF standard, and
 * that damaged files of any kind are taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "amd-elf.h"
#include "gpucode/amd-image.h"

/* Lines 10, 11, 10 and 14, the last of them for the function behind the kernel. */
static const struct elf_row rows[] = {{0, 10}, {8, 1}, {8, -1}, {4, 0}, {12, 4}};

static struct elf_bytes object(void)
{
	const struct elf_bytes lines = line_table(rows, 5, 8);

	return code_object(32, &lines);
}

static void functions(void **state)
{
	const struct elf_bytes e = object();
	struct amd_image *m = amd_image_new(e.b, e.n);

	(void)state;
	assert_non_null(m);
	assert_int_equal(m->nfunctions, 2);
	assert_string_equal(amd_image_function(m, 0x1000)->name, "k");
	assert_true(amd_image_function(m, 0x101f)->is_kernel);
	assert_string_equal(amd_image_function(m, 0x1020)->name, "f");
	assert_false(amd_image_function(m, 0x1020)->is_kernel);
	assert_null(amd_image_function(m, 0xfff));
	assert_null(amd_image_function(m, 0x1028));
	assert_int_equal(amd_image_named(m, "f")->addr, 0x1020);
	assert_null(amd_image_named(m, "k.kd"));
	amd_image_free(m);
}

static uint32_t line_at(const struct amd_image *m, uint64_t addr)
{
	const struct amd_line *l = amd_image_line(m, addr);

	return l ? l->line : 0;
}

static void lines(void **state)
{
	static const struct {
		uint64_t addr;
		uint32_t line;
	} want[] = {{0xffc, 0}, {0x1000, 10}, {0x1007, 10}, {0x1008, 11}, {0x100f, 11},
		{0x1010, 10}, {0x1014, 10}, {0x101f, 10}, {0x1020, 14}, {0x1027, 14}, {0x1028, 0},
		{0x2000, 0}};
	const struct elf_bytes e = object();
	struct amd_image *m = amd_image_new(e.b, e.n);
	unsigned begin = 0;

	(void)state;
	for (size_t k = 0; k < sizeof(want) / sizeof(*want); k++)
		assert_int_equal(line_at(m, want[k].addr), want[k].line);
	assert_string_equal(amd_image_file(m, amd_image_line(m, 0x1000)), "src/k.hip");
	assert_string_equal(amd_image_file_at(m, 0x1000), "src/k.hip");
	assert_string_equal(amd_image_file_at(m, 0x10), "");
	assert_true(amd_image_file_is(m, amd_image_line(m, 0x1000), "k.hip"));
	assert_true(amd_image_file_is(m, amd_image_line(m, 0x1000), "src/k.hip"));
	assert_false(amd_image_file_is(m, amd_image_line(m, 0x1000), ".hip"));
	assert_false(amd_image_file_is(m, amd_image_line(m, 0x1000), "c/k.hip"));
	assert_int_equal(amd_image_find(m, "k.hip", 1), 10);
	assert_int_equal(amd_image_find(m, "k.hip", 11), 11);
	assert_int_equal(amd_image_find(m, "k.hip", 12), 14);
	assert_int_equal(amd_image_find(m, "k.hip", 15), 0);
	assert_int_equal(amd_image_find(m, "other.hip", 1), 0);
	for (size_t k = 0; k < m->lines.n; k++)
		begin += amd_image_begins(m, k);
	assert_int_equal(begin, 4); /* the second row of line 10 in a row begins nothing */
	amd_image_free(m);
}

/* A function begins with a row of its own, and what is inlined there has one at the same address:
 * the last row counts for lines, the first for where the function is. */
static void inlined_at_once(void **state)
{
	struct amd_line several[] = {{0x1000, UINT32_MAX, 0, UINT32_MAX, 0},
		{0x1000, 0, 8, UINT32_MAX, 1}, {0x1000, 1, 259, UINT32_MAX, 1},
		{0x1010, 0, 9, UINT32_MAX, 1}, {0x2000, 1, 259, UINT32_MAX, 0},
		{0x2008, 0, 12, UINT32_MAX, 0}, {0x3000, 1, 254, UINT32_MAX, 0}};
	struct amd_function functions[] = {{.addr = 0x1000, .size = 0x100},
		{.addr = 0x2000, .size = 0x100}, {.addr = 0x3000, .size = 0x100}};
	char *files[] = {(char *)"k.hip", (char *)"header.h"};
	struct amd_image m = {.functions = functions,
		.nfunctions = 3,
		.lines = {.v = several, .n = 7, .files = files, .nfiles = 2}};

	(void)state;
	amd_lines_sort(&m.lines);
	assert_int_equal(m.lines.n, 5);
	assert_int_equal(several[0].line, 259);
	assert_string_equal(amd_image_file(&m, &several[0]), "header.h");
	assert_string_equal(amd_image_file_at(&m, 0x1000), "k.hip");
	/* without a row of its own: the source that was compiled, if anything is from there */
	assert_string_equal(amd_image_file_at(&m, 0x2000), "k.hip");
	assert_string_equal(amd_image_file_at(&m, 0x3000), "header.h");
}

/* The names of version 5: formats, .debug_line_str, files from 0 on. */
static void version_5(void **state)
{
	static const uint8_t table[] = {/* length */ 66, 0, 0, 0, 5, 0, 8, 0, /* header's */ 36, 0,
		0, 0, 4, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1,
		/* directories: a path in line_str */ 1, 1, 0x1f, 1, 0, 0, 0, 0,
		/* files: path, directory */ 2, 1, 0x1f, 2, 0x0b, 1, 5, 0, 0, 0, 0,
		/* the program */ 0, 9, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 4, 0, 3, 41, 1, 2, 2, 0, 1,
		1};
	static const uint8_t line_str[] = "/src\0k.hip";
	uint8_t t[sizeof(table)];
	struct amd_lines l = {0};

	(void)state;
	memcpy(t, table, sizeof(t));
	t[0] = sizeof(t) - 4;
	t[8] = 18 + 8 + 11;
	assert_true(amd_dwarf_lines(&l, (struct amd_bytes){t, sizeof(t)},
		(struct amd_bytes){line_str, sizeof(line_str)}, (struct amd_bytes){line_str, 0}));
	amd_lines_sort(&l);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.v[0].addr, 0x2000);
	assert_int_equal(l.v[0].line, 42);
	assert_string_equal(l.files[l.v[0].file], "/src/k.hip");
	assert_int_equal(l.v[1].addr, 0x2008);
	assert_int_equal(l.v[1].line, 0);
	t[sizeof(t) - 18] = 8; /* a second sequence begins where the first ends */
	assert_true(amd_dwarf_lines(&l, (struct amd_bytes){t, sizeof(t)},
		(struct amd_bytes){line_str, sizeof(line_str)}, (struct amd_bytes){line_str, 0}));
	amd_lines_sort(&l);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.v[1].addr, 0x2008);
	assert_int_equal(l.v[1].line, 42);
	for (size_t k = 0; k < l.nfiles; k++)
		free(l.files[k]);
	free(l.files);
	free(l.v);
}

static void look_everywhere(const struct elf_bytes *e)
{
	uint8_t *exact = malloc(e->n + 1); /* so that a sanitizer sees a read behind the end */
	struct amd_image *m;

	memcpy(exact, e->b, e->n);
	m = amd_image_new(exact, e->n);
	free(exact);
	if (!m)
		return;
	for (uint64_t a = 0xff0; a < 0x1030; a += 4) {
		const struct amd_line *l = amd_image_line(m, a);

		amd_image_function(m, a);
		if (l)
			assert_non_null(amd_image_file(m, l));
	}
	amd_image_free(m);
}

static void damaged(void **state)
{
	const struct elf_bytes whole = object();

	(void)state;
	for (size_t n = 0; n < whole.n; n++) {
		struct elf_bytes cut = whole;

		cut.n = n;
		look_everywhere(&cut);
	}
	srandom(1);
	for (unsigned k = 0; k < 20000; k++) {
		struct elf_bytes e = whole;

		for (unsigned j = 0; j <= k % 4; j++)
			e.b[(size_t)random() % e.n] = (uint8_t)random();
		look_everywhere(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(functions), cmocka_unit_test(lines),
		cmocka_unit_test(inlined_at_once), cmocka_unit_test(version_5),
		cmocka_unit_test(damaged)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
