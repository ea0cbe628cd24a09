/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of /proc/PID/maps as the kernel writes them, and texts that are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/maps-at.h"
#include "base/maps-line.h"

static void a_file(void **state)
{
	char text[] =
		"7f00a0000000-7f00a0003000 r-xp 0001f000 08:01 123456                     /usr/lib/a name.so\n";
	struct maps_line l;

	(void)state;
	assert_true(maps_line_parse(&l, text));
	assert_int_equal(l.start, 0x7f00a0000000);
	assert_int_equal(l.end, 0x7f00a0003000);
	assert_int_equal(l.offset, 0x1f000);
	assert_int_equal(l.inode, 123456);
	assert_true(l.r && !l.w && l.x && !l.shared);
	assert_string_equal(l.path, "/usr/lib/a name.so");
}

static void no_file(void **state)
{
	char bare[] = "10000-20000 ---p 00000000 00:00 0 \n",
	     cut[] = "10000-20000 rw-s 00000000 00:00 0";
	char last[] =
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";
	struct maps_line l;

	(void)state;
	assert_true(maps_line_parse(&l, bare));
	assert_true(!l.r && !l.w && !l.x && !l.shared);
	assert_string_equal(l.path, "");
	assert_true(maps_line_parse(&l, cut));
	assert_true(l.r && l.w && !l.x && l.shared);
	assert_string_equal(l.path, "");
	assert_true(maps_line_parse(&l, last));
	assert_true(l.start == 0xffffffffff600000 && l.end == 0xffffffffff601000 && l.x);
	assert_string_equal(l.path, "[vsyscall]");
}

static void not_a_line(void **state)
{
	static const char *const bad[] = {
		"",
		"-",
		"10000",
		"10000-",
		"10000-20000",
		"10000-20000 ",
		"10000-20000 r-x",
		"10000-20000 r-xp",
		"10000-20000 r-xp ",
		"10000-20000 r-xp 00",
		"20000-10000 r-xp 0 00:00 0 ",
		"10000-10000 r-xp 0 00:00 0 ",
		"10000 20000 r-xp 0 00:00 0 ",
		"10000-20000 r-xpp 0 00:00 0 ",
		"XYZ-20000 r-xp 0 00:00 0 ",
	};
	struct maps_line l;
	char text[64];

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "%s", bad[i]);
		assert_false(maps_line_parse(&l, text));
	}
}

static void deleted(void **state)
{
	char gone[] = "10000-20000 r-xp 00000000 00:01 9 /memfd:code (deleted)\n";
	char twice[] = "10000-20000 r-xp 00000000 00:01 9 /tmp/a (deleted) (deleted)\n";
	char within[] = "10000-20000 r-xp 00000000 00:01 9 /tmp/a (deleted).so\n";
	char none[] = "10000-20000 r-xp 00000000 00:00 0\n";
	struct maps_line l;

	(void)state;
	assert_true(maps_line_parse(&l, gone));
	maps_line_undelete(&l);
	assert_string_equal(l.path, "/memfd:code");
	assert_true(maps_line_parse(
		&l, twice)); /* a file whose own name ends so: the kernel's mark is the last */
	maps_line_undelete(&l);
	assert_string_equal(l.path, "/tmp/a (deleted)");
	assert_true(maps_line_parse(&l, within));
	maps_line_undelete(&l);
	assert_string_equal(l.path, "/tmp/a (deleted).so");
	assert_true(maps_line_parse(&l, none));
	maps_line_undelete(&l);
	assert_string_equal(l.path, "");
}

/* What this very process shows: every line is one. */
static void this_process(void **state)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4352];
	unsigned found = 0;
	struct maps_line l;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		assert_true(maps_line_parse(&l, line));
		found += (uintptr_t)this_process >= l.start && (uintptr_t)this_process < l.end &&
			 l.x && l.inode && strstr(l.path, "maps-line");
	}
	fclose(f);
	assert_int_equal(found, 1);
}

/* Ranges with a hole, two that touch, and one at the end of the address space. */
static void by_address(void **state)
{
	static const struct {
		uint64_t start, end;
		int what;
	} list[] = {{0x1000, 0x2000, 1}, {0x3000, 0x4000, 2}, {0x4000, 0x5000, 3},
		{0x8000, UINT64_MAX, 4}};

	(void)state;
	assert_null(MAPS_AT(list, 0, 0x1000));
	assert_null(MAPS_AT(list, 4, 0xfff));
	assert_ptr_equal(MAPS_AT(list, 4, 0x1000), &list[0]);
	assert_ptr_equal(MAPS_AT(list, 4, 0x1fff), &list[0]);
	assert_null(MAPS_AT(list, 4, 0x2000));
	assert_ptr_equal(MAPS_AT(list, 4, 0x3fff), &list[1]);
	assert_ptr_equal(MAPS_AT(list, 4, 0x4000), &list[2]);
	assert_null(MAPS_AT(list, 4, 0x5000));
	assert_ptr_equal(MAPS_AT(list, 4, UINT64_MAX - 1), &list[3]);
	assert_null(MAPS_AT(list, 4, UINT64_MAX));
	assert_null(MAPS_AT(list, 3, 0x8000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file),
		cmocka_unit_test(no_file),
		cmocka_unit_test(not_a_line),
		cmocka_unit_test(deleted),
		cmocka_unit_test(this_process),
		cmocka_unit_test(by_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
