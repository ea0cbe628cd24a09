/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts the program to observe. It is an ordinary child: not traced, without tsdb's library, with
 * its own signals. It waits before its exec until the probes are placed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/child.h"
#include "symbols/elf-facts.h"
#include "observe/process/observe-private.h"

#define EXEC_MS 10000u

/* Runs between fork and exec. go[0] says when to go on; go[1] is closed by a successful exec and
 * gets errno otherwise. */
static void child_run(const char *path, char *const *argv, int go)
{
	char byte;
	int sys;

	if (read(go, &byte, 1) != 1)
		_exit(125); /* tsdb gave up */
	execv(path, argv);
	sys = errno;
	if (write(go, &sys, sizeof sys) < 0)
		_exit(126);
	_exit(127);
}

static void prepend_libraries(const char *dir)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char *value = old && *old ? xasprintf("%s:%s", dir, old) : xstrdup(dir);

	setenv("LD_LIBRARY_PATH", value, 1);
	free(value);
}

struct err *observe_launch(char *const *argv, const char *softgpu, pid_t *ret, int *ret_go)
{
	char *path = program_find(argv[0]);
	int go[2];
	struct err *e;

	if (!path || access(path, X_OK)) {
		e = err_cure(err_new(ERR_NOT_FOUND, "cannot start %s: %s", argv[0],
				     path ? strerror(errno) : "no such program in PATH"),
			"Give the path of a program, for example ./%s", argv[0]);
		free(path);
		return e;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go)) {
		free(path);
		return err_sys(errno, "cannot make a socket");
	}
	*ret = fork();
	if (!*ret) {
		close(go[0]);
		if (softgpu)
			prepend_libraries(softgpu);
		child_run(path, argv, go[1]);
	}
	e = *ret < 0 ? err_sys(errno, "cannot start a process") : NULL;
	close(go[1]);
	if (e)
		close(go[0]);
	*ret_go = go[0];
	free(path);
	return e;
}

struct err *observe_launch_go(int go, pid_t pid, const char *program)
{
	struct err *e = NULL;
	int sys;

	if (write(go, "g", 1) != 1)
		e = err_sys(errno, "cannot start %s", program);
	else if (!child_readable(go, pid, EXEC_MS))
		e = err_cure(
			err_new(ERR_SYSTEM, "cannot start %s: it does not get past exec", program),
			"A file system that does not answer is the usual reason");
	else if (read(go, &sys, sizeof sys) == sizeof sys)
		e = err_cure(err_new(ERR_SYSTEM, "cannot start %s: %s", program, strerror(sys)),
			"Try to run it without tsdb");
	close(go);
	if (e)
		(void)child_kill(pid, NULL);
	return e;
}
