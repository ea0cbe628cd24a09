/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of /proc that are held back: a FIFO that nobody writes to blocks its reader as they do.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/proc-read.h"

static char dir[] = "/tmp/test-proc-read-XXXXXX", fifo[64];

static void what_is_there(void **state)
{
	struct buf b = BUF_INIT;
	char path[64];
	struct stat st;
	char *file = NULL;
	int fd;

	buf_str(&b, "x");
	assert_true(proc_read(getpid(), "comm", 100, &b));
	assert_string_equal(buf_cstr(&b), "xtest-proc-read\n");
	buf_clear(&b);
	assert_true(proc_read(getpid(), "comm", 4, &b));
	assert_string_equal(buf_cstr(&b), "test");
	buf_clear(&b);
	assert_true(proc_read(getpid(), "cmdline", 1 << 20, &b));
	assert_int_equal(b.data[b.len - 1], 0);
	buf_clear(&b);
	snprintf(path, sizeof path, "%s/long", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	file = calloc(1, 100000);
	memset(file, 'y', 100000);
	assert_int_equal(write(fd, file, 100000), 100000);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	assert_true(proc_read_file(getpid(), path, 1 << 20, &b));
	assert_int_equal(b.len, 100000);
	assert_memory_equal(b.data, file, 100000);
	free(file);
	unlink(path);
	buf_clear(&b);
	assert_false(proc_read(getpid(), "nothing", 100, &b));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

static unsigned long ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

static void what_is_held_back(void **state)
{
	struct buf b = BUF_INIT;
	bool good = false;
	int fd;

	alarm(60); /* what waits for ever */
	const pid_t other = getppid();
	assert_false(proc_read_file(other, fifo, 100, &b));
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(b.len, 0);
	/* Nothing more of that process, and without waiting; everything of others. */
	const unsigned long from = ms_now();
	for (unsigned i = 0; i < 100; i++)
		assert_false(proc_read(other, "comm", 100, &b));
	assert_int_equal(errno, ETIMEDOUT);
	assert_true(ms_now() - from < 1500);
	assert_true(proc_read(getpid(), "comm", 100, &b));
	/* It goes on. */
	fd = open(fifo, O_WRONLY);
	assert_int_equal(write(fd, "late", 4), 4);
	close(fd);
	for (unsigned i = 0; i < 2000 && !good; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		buf_clear(&b);
		good = proc_read(other, "comm", 100, &b);
	}
	assert_true(good);
	assert_null(strstr(buf_cstr(&b), "late"));
	buf_free(&b);
	alarm(0);
}

static void lines(void **state)
{
	char text[] = "one\n\ntwo", *at = text;

	assert_string_equal(proc_next_line(&at), "one");
	assert_string_equal(proc_next_line(&at), "");
	assert_string_equal(proc_next_line(&at), "two");
	assert_null(proc_next_line(&at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there),
		cmocka_unit_test(what_is_held_back),
		cmocka_unit_test(lines),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	snprintf(fifo, sizeof fifo, "%s/fifo", dir);
	if (mkfifo(fifo, 0600))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(fifo);
	rmdir(dir);
	return failed;
}
