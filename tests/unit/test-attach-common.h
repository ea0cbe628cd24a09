/* SPDX-License-Identifier: Apache-2.0
 *
 * What the unit tests of the room attach share.
 */
#ifndef TEST_ATTACH_COMMON_H
#define TEST_ATTACH_COMMON_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "attach/ptrace/inferior.h"

#define EVENT_MS 20000

static inline void must(struct err *e)
{
	if (!e)
		return;
	print_error("unexpected error: %s (%s)\n", e->what, e->cure ? e->cure : "no cure");
	err_free(e);
	fail();
}

/* The error must be there, say text, and have a cure. */
static inline void must_say(struct err *e, const char *text)
{
	assert_non_null(e);
	if (!strstr(e->what, text)) {
		print_error("\"%s\" does not say \"%s\"\n", e->what, text);
		fail();
	}
	assert_non_null(e->cure);
	err_free(e);
}

static inline const char *built(const char *name)
{
	static char path[PATH_MAX];
	const char *dir = getenv("TSDB_BUILD");

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : ".", name);
	return path;
}

/* A fresh file name, removed by the caller. */
static inline char *temp_name(void)
{
	char *name = xstrdup("/tmp/tsdb-test-XXXXXX");
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	close(fd);
	return name;
}

static inline char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	struct buf b = BUF_INIT;
	char piece[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(&b, piece, n);
	fclose(f);
	(void)buf_cstr(&b);
	return buf_steal(&b);
}

static inline struct inferior_event next_event(struct inferior *inf)
{
	struct inferior_event ev;

	must(inferior_wait(inf, EVENT_MS, &ev));
	return ev;
}

/* Resumes and waits until the program ends, past forks and execs. */
static inline struct inferior_event run_to_end(struct inferior *inf)
{
	struct inferior_event ev;

	if (!inferior_running(inf))
		must(inferior_resume(inf, false));
	do
		ev = next_event(inf);
	while (ev.kind == INFERIOR_FORKED || ev.kind == INFERIOR_EXECED);
	return ev;
}

static inline void assert_exited(struct inferior_event ev, int status)
{
	assert_int_equal(ev.kind, INFERIOR_EXITED);
	assert_int_equal(ev.status, status);
}

static inline void pause_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

#endif
