/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions whose tsdb does what it should not. This program is that tsdb, too: started with
 * --serve=3 it greets and then does what the variable BADLY names.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <tracesmith/tracesmith.h>
#include "door/door-peer.h"
#include "door/door.h"

static char self[4096];

/* --- a tsdb --- */

static void send_answer(struct door_answer a, const char *data)
{
	a.size = a.size ? a.size : strlen(data);
	if (!door_send(DOOR_PEER_FD, &a, sizeof a) || !door_send(DOOR_PEER_FD, data, strlen(data)))
		exit(1);
}

static int be_tsdb(const char *badly)
{
	struct door_question q;

	if (!strcmp(badly, "stranger")) {
		send_answer((struct door_answer){0}, "tracesmith door 0");
		return 0;
	}
	send_answer((struct door_answer){0}, DOOR_GREETING);
	if (!door_receive(DOOR_PEER_FD, &q, sizeof q))
		return 0;
	if (!strcmp(badly, "dies"))
		raise(SIGABRT);
	if (!strcmp(badly, "too-long"))
		send_answer((struct door_answer){.size = DOOR_ANSWER_MAX + 1}, "");
	if (!strcmp(badly, "no-error"))
		send_answer((struct door_answer){.code = 1000}, "");
	if (!strcmp(badly, "half"))
		send_answer((struct door_answer){.size = 100}, "not a hundred");
	if (!strcmp(badly, "half"))
		return 0;
	pause(); /* it lives: the library has to end it */
	return 0;
}

/* --- */

static int open_badly(ts_session **ret, const char *how)
{
	static const char *const argv[] = {"app", NULL};
	struct ts_session_options o = TS_SESSION_DEFAULTS;

	o.tsdb = self;
	setenv("BADLY", how, 1);
	return ts_launch(ret, argv, &o);
}

/* The process that was started last: the only child. */
static pid_t child(void)
{
	pid_t pid = 0;
	FILE *f = fopen("/proc/thread-self/children", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

static char state_of(pid_t pid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%*d %*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state;
}

/* Its number is its own until the session is closed, or an interrupt could reach another one. */
static void a_tsdb_that_dies_keeps_its_number(void **state)
{
	ts_answer *a;
	ts_session *s;
	pid_t pid;

	(void)state;
	assert_int_equal(open_badly(&s, "dies"), TS_OK);
	pid = child();
	assert_int_equal(ts_ask(&a, s, "info streams"), TS_SYSTEM);
	assert_non_null(strstr(ts_error(), "ended by signal 6"));
	assert_int_equal(state_of(pid), 'Z');
	ts_session_interrupt(s);
	assert_int_not_equal(ts_ask(&a, s, "info streams"), TS_OK);
	assert_non_null(strstr(ts_error(), "the session has ended"));
	ts_session_close(s);
	assert_int_equal(state_of(pid), 0);
}

static void answers_that_cannot_be(void **state)
{
	static const char *const ways[] = {"too-long", "no-error", "half"};

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		ts_answer *a;
		ts_session *s;
		pid_t pid;

		assert_int_equal(open_badly(&s, ways[i]), TS_OK);
		pid = child();
		assert_int_equal(ts_ask(&a, s, "info streams"), TS_SYSTEM);
		assert_non_null(strstr(ts_error(), "has ended"));
		ts_session_close(s);
		assert_int_equal(state_of(pid), 0);
	}
}

static void a_tsdb_of_another_version(void **state)
{
	ts_session *s;

	(void)state;
	assert_int_equal(open_badly(&s, "stranger"), TS_UNSUPPORTED);
	assert_non_null(strstr(ts_error(), "another version"));
}

/* --- a process that has got the number of a dead one --- */

/* A process with this number, which does not exist now; 0: this system does not give numbers that
 * are asked for. It blocks all signals, so that those it got can be seen. */
static pid_t take_number(pid_t pid)
{
	sigset_t all;

	sigfillset(&all);
	for (int i = 0; i < 200; i++) {
		const int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
		pid_t got;

		if (fd < 0 || dprintf(fd, "%d", (int)pid - 1) < 0) {
			if (fd >= 0)
				close(fd);
			return 0;
		}
		close(fd);
		sigprocmask(SIG_BLOCK, &all, NULL);
		got = fork();
		if (!got) {
			for (;;)
				pause();
		}
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		if (got == pid)
			return got;
		kill(got, SIGKILL); /* somebody else was quicker */
		waitpid(got, NULL, 0);
	}
	return 0;
}

/* Whether it has got SIGINT. */
static bool got_interrupt(pid_t pid)
{
	char path[64], line[256];
	unsigned long long pending, both = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "SigPnd: %llx", &pending) == 1 ||
			sscanf(line, "ShdPnd: %llx", &pending) == 1)
			both |= pending;
	}
	fclose(f);
	return both & 1ull << (SIGINT - 1);
}

/* A program that collects all its children, or wants to know of none, has collected the session's,
 * too. */
static void an_interrupt_reaches_nobody_else(void **state)
{
	ts_answer *a;
	ts_session *s;
	pid_t pid, other;
	bool hit;

	(void)state;
	assert_int_equal(open_badly(&s, "dies"), TS_OK);
	pid = child();
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(ts_ask(&a, s, "info streams"), TS_SYSTEM);
	assert_int_equal(state_of(pid), 0);
	signal(SIGCHLD, SIG_DFL);
	other = take_number(pid);
	if (!other) {
		ts_session_close(s);
		skip();
	}
	assert_false(got_interrupt(other));
	ts_session_interrupt(s);
	hit = got_interrupt(other);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	ts_session_close(s);
	assert_false(hit);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tsdb_that_dies_keeps_its_number),
		cmocka_unit_test(answers_that_cannot_be),
		cmocka_unit_test(a_tsdb_of_another_version),
		cmocka_unit_test(an_interrupt_reaches_nobody_else),
	};

	if (argc > 1 && !strncmp(argv[1], "--serve", 7))
		return be_tsdb(getenv("BADLY"));
	if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
