/* SPDX-License-Identifier: Apache-2.0
 *
 * The page's columns, see studio-trace.h. They lie in a memfd: nothing of a trace's contents gets
 * onto a disk.
 */
#include "studio/core/studio-trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/child.h"
#include "base/text.h"

enum { SAID_MAX = 2000 };

extern char **environ;

static int spawn(struct studio_trace *t, const char *tsdb, const char *path)
{
	char *const words[] = {(char *)(uintptr_t)tsdb, (char *)(uintptr_t) "report",
		(char *)(uintptr_t) "--no-exact", (char *)(uintptr_t) "-o", (char *)(uintptr_t) "-",
		(char *)(uintptr_t)path, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, t->page, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, t->said, STDERR_FILENO);
	r = posix_spawn(&t->pid, tsdb, &actions, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		t->pid = 0;
	return r;
}

struct err *studio_trace_make(struct studio_trace *t, const char *tsdb, const char *path)
{
	int r;

	*t = (struct studio_trace){.page = memfd_create("page", MFD_CLOEXEC),
		.said = memfd_create("said", MFD_CLOEXEC)};
	r = t->page < 0 || t->said < 0 ? errno : spawn(t, tsdb, path);
	if (!r)
		return NULL;
	studio_trace_close(t);
	return err_sys(r, "cannot read the trace for the page");
}

/* What it said, in one line; heap. */
static char *said_by(const struct studio_trace *t)
{
	char text[SAID_MAX];
	ssize_t n = pread(t->said, text, sizeof text, 0);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	return n > 0 ? text_safe_dup(text, (size_t)n) : xstrdup("tsdb report has failed");
}

bool studio_trace_look(struct studio_trace *t)
{
	int status;
	pid_t r;

	if (!t->pid)
		return false;
	r = waitpid(t->pid, &status, WNOHANG);
	if (!r || (r < 0 && errno == EINTR))
		return false;
	t->pid = 0;
	t->made = r > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
	if (!t->made)
		t->why = said_by(t);
	return true;
}

void studio_trace_close(struct studio_trace *t)
{
	if (t->pid)
		child_kill(t->pid, NULL);
	if (t->page >= 0)
		close(t->page);
	if (t->said >= 0)
		close(t->said);
	free(t->why);
	*t = (struct studio_trace){.page = -1, .said = -1};
}
