/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of /proc: those that are held back (a FIFO that nobody writes to blocks its reader as they
 * do), and the one that says how a process is.
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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/proc-read.h"
#include "base/proc-stat.h"

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

/* proc(5): the state is the third field, behind the name in brackets; the start is the 22nd. */
static void stat_text(void **state)
{
	static const char rest[] = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 21\n";
	static const char *const bad[] = {"", "17", "17 (name", "17 (name)", "17 (name) ",
		"17 name) S 1", "17 )name( S 1 2", "17 (name) S 1 2 3"};
	struct proc_stat s;
	char text[256];

	snprintf(text, sizeof text, "17 (a name) S%s", rest);
	assert_true(proc_stat_parse(text, &s));
	assert_int_equal(s.state, 'S');
	assert_string_equal(s.name, "a name");
	assert_int_equal(s.start_ticks, 987654);
	snprintf(text, sizeof text, "17 (x) Z 9 (y\n) T%s", rest);
	assert_true(proc_stat_parse(text, &s));
	assert_int_equal(s.state, 'T');
	assert_string_equal(s.name, "x) Z 9 (y\n");
	snprintf(text, sizeof text, "17 () R%s", rest);
	assert_true(proc_stat_parse(text, &s));
	assert_int_equal(s.state, 'R');
	assert_string_equal(s.name, "");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		s.state = 'R';
		assert_false(proc_stat_parse(bad[i], &s));
		assert_int_equal(s.state, 0);
		assert_true(proc_stat_ended(&s));
	}
}

/* A program may give itself any name. */
static void stat_of_processes(void **state)
{
	struct proc_stat s, again;
	siginfo_t info;
	pid_t pid;

	assert_int_equal(prctl(PR_SET_NAME, "a) Z (b"), 0);
	assert_true(proc_stat_read(getpid(), 0, &s));
	assert_int_equal(s.state, 'R');
	assert_string_equal(s.name, "a) Z (b");
	assert_false(proc_stat_ended(&s));
	assert_true(proc_stat_read(getpid(), getpid(), &again));
	assert_int_equal(again.start_ticks, s.start_ticks);
	pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(proc_stat_read(pid, 0, &s));
	assert_int_equal(s.state, 'Z');
	assert_true(proc_stat_ended(&s));
	assert_true(s.start_ticks >= again.start_ticks);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(proc_stat_read(pid, 0, &s));
	assert_true(proc_stat_ended(&s));
	assert_false(proc_stat_read(getpid(), pid, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there),
		cmocka_unit_test(what_is_held_back),
		cmocka_unit_test(lines),
		cmocka_unit_test(stat_text),
		cmocka_unit_test(stat_of_processes),
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
