/* SPDX-License-Identifier: Apache-2.0
 *
 * replayer-comm.c: a thread's name under /proc is written nowhere, all other files are what they
 * were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static void name_is(const char *path, const char *want)
{
	char text[32] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof text, f));
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	assert_string_equal(text, want);
}

static void test_a_name_goes_nowhere(void **unused)
{
	char path[64], before[32] = "";
	FILE *f;
	int fd;

	(void)unused;
	snprintf(path, sizeof path, "/proc/self/task/%ld/comm", syscall(SYS_gettid));
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(before, sizeof before, f));
	fclose(f);
	before[strcspn(before, "\n")] = '\0';
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs("changed", f) >= 0);
	assert_int_equal(fclose(f), 0);
	name_is(path, before);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "changed", 7), 7);
	close(fd);
	name_is(path, before);
}

static void test_others_are_what_they_were(void **unused)
{
	char path[] = "/tmp/replayer-comm.XXXXXX";
	const int fd = mkstemp(path);
	FILE *f;

	(void)unused;
	assert_true(fd >= 0);
	close(fd);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs("text\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
	name_is(path, "text");
	unlink(path);
	assert_null(fopen("/proc/self/task/x/comm", "w"));
	assert_null(fopen("/proc/self/task/1x/comm", "w"));
	assert_int_equal(open("/nowhere/at/all", O_RDONLY), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_name_goes_nowhere),
		cmocka_unit_test(test_others_are_what_they_were)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
