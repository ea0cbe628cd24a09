/* SPDX-License-Identifier: Apache-2.0
 *
 * Which NVTX ranges are open: nested, on two threads, ends without beginnings, more than are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "state/marks.h"

static void mark(struct marks *m, uint32_t thread, unsigned kind, const char *text)
{
	struct sbt_cmd c = {.kind = SBT_MARK, .thread = thread};

	c.u.mark.mark_kind = kind;
	c.u.mark.text = (struct sbt_blob){text, strlen(text)};
	marks_see(m, &c);
}

static void open_are(struct marks *m, uint32_t thread, const char *want)
{
	char got[256] = "";
	unsigned n;
	const uint32_t *open = marks_open(m, thread, &n);

	for (unsigned i = 0; i < n; i++) {
		strcat(got, i ? " " : "");
		strcat(got, marks_name(m, open[i]));
	}
	assert_string_equal(got, want);
}

static void ranges_nest(void **state)
{
	struct marks *m = marks_new();

	mark(m, 1, 2, "");
	open_are(m, 1, "");
	mark(m, 1, 1, "step");
	mark(m, 1, 0, "a mark is no range");
	mark(m, 1, 1, "inner");
	open_are(m, 1, "step inner");
	mark(m, 1, 1, "step");
	open_are(m, 1, "step inner step");
	mark(m, 1, 2, "");
	mark(m, 1, 2, "");
	open_are(m, 1, "step");
	mark(m, 1, 2, "");
	mark(m, 1, 2, "");
	mark(m, 1, 1, "again");
	open_are(m, 1, "again");
	assert_int_equal(marks_names(m), 3);
	marks_free(m);
}

static void threads_are_apart(void **state)
{
	struct marks *m = marks_new();

	mark(m, 7, 1, "seven");
	mark(m, 4000000000u, 1, "large");
	open_are(m, 7, "seven");
	open_are(m, 4000000000u, "large");
	open_are(m, 8, "");
	mark(m, 4000000000u, 2, "");
	open_are(m, 7, "seven");
	open_are(m, 4000000000u, "");
	assert_int_equal(marks_dropped(m), 0);
	marks_free(m);
}

static void too_many_are_counted(void **state)
{
	struct marks *m = marks_new();
	char name[16];
	unsigned n;

	for (unsigned i = 0; i < 300; i++)
		mark(m, 1, 1, "deep");
	marks_open(m, 1, &n);
	assert_int_equal(n, 256);
	assert_int_equal(marks_dropped(m), 44);
	for (unsigned i = 0; i < 299; i++)
		mark(m, 1, 2, "");
	open_are(m, 1, "deep");
	for (unsigned i = 0; i < 70000; i++) {
		snprintf(name, sizeof name, "n%u", i);
		mark(m, 2, 1, name);
		mark(m, 2, 2, "");
	}
	assert_int_equal(marks_names(m), 65536);
	assert_null(marks_name(m, 65536));
	assert_int_equal(marks_dropped(m), 44 + 70000 - 65535);
	marks_free(m);
}

/* A name is kept up to 512 bytes; of the empty one there is one, too. */
static void names_have_ends(void **state)
{
	struct marks *m = marks_new();
	char long_name[514];

	memset(long_name, 'x', sizeof long_name);
	long_name[511] = '\0';
	mark(m, 1, 1, long_name);
	long_name[511] = 'x';
	long_name[512] = '\0';
	mark(m, 1, 1, long_name);
	assert_int_equal(marks_names(m), 2);
	assert_int_equal(strlen(marks_name(m, 1)), 512);
	long_name[512] = 'y';
	long_name[513] = '\0';
	mark(m, 1, 1, long_name);
	assert_int_equal(marks_names(m), 2);
	mark(m, 1, 1, "");
	mark(m, 1, 1, "");
	assert_int_equal(marks_names(m), 3);
	assert_string_equal(marks_name(m, 2), "");
	assert_int_equal(marks_dropped(m), 0);
	marks_free(m);
	marks_free(NULL);
}

static void too_many_threads_are_counted(void **state)
{
	struct marks *m = marks_new();

	for (uint32_t t = 1; t <= 4097; t++)
		mark(m, t, 1, "x");
	open_are(m, 4096, "x");
	open_are(m, 4097, "");
	assert_int_equal(marks_dropped(m), 1);
	mark(m, 4097, 2, ""); /* ends what was not kept */
	assert_int_equal(marks_dropped(m), 1);
	mark(m, 4096, 2, "");
	open_are(m, 4096, "");
	open_are(m, 1, "x");
	marks_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_nest),
		cmocka_unit_test(threads_are_apart),
		cmocka_unit_test(too_many_are_counted),
		cmocka_unit_test(names_have_ends),
		cmocka_unit_test(too_many_threads_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
