/* SPDX-License-Identifier: Apache-2.0
 *
 * See core-ask.h. Where the driver's pipe is, and where it writes, is said by the process's
 * environment; %h, %p and %t in it are in "GPU core dump support" of the CUDA-GDB manual, the
 * defaults are those of driver 580.159.04. The driver refuses core dumps in a program in which a
 * tool has subscribed to CUPTI ("not supported with other developer tools"), so tsdb's agent cannot
 * ask for one.
 */
#include "shell/tools/core-ask.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/proc-read.h"
#include "base/text.h"
#include "symbols/gpu-core.h"
#include "gpucode/gpu-files.h"

enum { ENVIRON_MAX = 4 << 20, DUMP_MS = 10000, LOOK_MS = 20 };

/* The variables as the process was started, each with its NUL; heap, *ret_n bytes. */
static struct err *read_environ(pid_t pid, char **ret, size_t *ret_n)
{
	struct buf b = BUF_INIT;

	if (!proc_read(pid, "environ", ENVIRON_MAX, &b))
		return errno == ENOENT ? err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid)
				       : err_sys(errno, "cannot read /proc/%d/environ", (int)pid);
	*ret_n = b.len;
	*ret = buf_steal(&b);
	return NULL;
}

static const char *variable(const char *environ_text, size_t n, const char *name)
{
	const size_t k = strlen(name);

	for (const char *v = environ_text; v < environ_text + n; v += strlen(v) + 1)
		if (!strncmp(v, name, k) && v[k] == '=')
			return v + k + 1;
	return NULL;
}

static void put_quoted(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strchr("*?[\\", text[i]))
			buf_byte(b, '\\');
		buf_byte(b, text[i]);
	}
}

/* The path as the process means it: below its folder, %h its machine and %p its number; %t, a time
 * that is not known, becomes *. The rest is quoted for glob(3). */
static char *expand(pid_t pid, const char *path)
{
	struct buf b = BUF_INIT;
	char host[256] = "";
	size_t n;

	gethostname(host, sizeof host - 1);
	if (*path != '/')
		buf_printf(&b, "/proc/%d/cwd/", (int)pid);
	for (; *path; path += n) {
		n = *path == '%' && path[1] && strchr("pht", path[1]) ? 2 : 1;
		if (n == 1)
			put_quoted(&b, path, 1);
		else if (path[1] == 'p')
			buf_printf(&b, "%d", (int)pid);
		else if (path[1] == 'h')
			put_quoted(&b, host, strlen(host));
		else
			buf_byte(&b, '*');
	}
	return buf_steal(&b);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* The only file of that pattern, or the newest; NULL: there is none. */
static char *newest(const char *pattern, struct timespec *ret_time)
{
	char *found = NULL;
	struct stat st;
	glob_t g;

	*ret_time = (struct timespec){0};
	if (glob(pattern, GLOB_NOSORT, NULL, &g))
		return NULL;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (stat(g.gl_pathv[i], &st) || (found && !is_later(&st.st_mtim, ret_time)))
			continue;
		free(found);
		found = xstrdup(g.gl_pathv[i]);
		*ret_time = st.st_mtim;
	}
	globfree(&g);
	return found;
}

static bool is_pipe(const char *path)
{
	struct stat st;

	return path && !stat(path, &st) && S_ISFIFO(st.st_mode);
}

static struct err *trigger(pid_t pid, const char *pattern)
{
	struct timespec at;
	char *path = newest(pattern, &at);
	struct err *e = NULL;
	int fd = -1;

	if (!is_pipe(path))
		e = err_cure(err_new(ERR_STATE,
				     "the driver in process %d listens at no pipe for core dumps",
				     (int)pid),
			"It has made no context so far, or a tool that uses CUPTI (tsdb is one) was there first");
	else if ((fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		e = err_sys(errno, "cannot open the driver's pipe %s", path);
	else if (write(fd, "d", 1) != 1)
		e = err_sys(errno, "cannot write to the driver's pipe %s", path);
	if (fd >= 0)
		close(fd);
	free(path);
	return e;
}

/* Waits for a file that was not there before, and is whole. */
static struct err *await(
	const char *pattern, const struct timespec *before, struct gpu_core **ret, char **ret_path)
{
	for (int ms = 0; ms < DUMP_MS; ms += LOOK_MS) {
		struct timespec at;
		char *path = newest(pattern, &at);

		if (path && is_later(&at, before)) {
			struct err *e = gpu_core_read(path, ret);

			if (!e) {
				*ret_path = path;
				return NULL;
			}
			err_free(e); /* the driver still writes */
		}
		free(path);
		nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
	}
	return err_new(ERR_INFERIOR, "the driver wrote no core dump within %d s", DUMP_MS / 1000);
}

static bool is_on(const char *text, size_t n)
{
	const char *on = variable(text, n, GPU_ENV_CORE_ASKED);

	return on && !strcmp(on, "1");
}

static char *pipe_pattern(pid_t pid, const char *text, size_t n)
{
	const char *pipe = variable(text, n, GPU_ENV_CORE_PIPE);

	return expand(pid, pipe ? pipe : "corepipe_%h_%p");
}

bool core_can_ask(pid_t pid)
{
	char *text = NULL, *pattern, *path;
	struct timespec at;
	bool can;
	size_t n = 0;
	struct err *e = read_environ(pid, &text, &n);

	if (e || !is_on(text, n)) {
		err_free(e);
		free(text);
		return false;
	}
	pattern = pipe_pattern(pid, text, n);
	path = newest(pattern, &at);
	can = is_pipe(path);
	free(path);
	free(pattern);
	free(text);
	return can;
}

struct err *core_ask(pid_t pid, struct gpu_core **ret, char **ret_path)
{
	const char *file;
	char *text = NULL, *pipes, *files;
	struct timespec before;
	struct err *e;
	size_t n = 0;

	TRY(read_environ(pid, &text, &n));
	if (!is_on(text, n)) {
		free(text);
		return err_cure(
			err_new(ERR_STATE, "process %d was not started for core dumps", (int)pid),
			"Start it with CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 in its environment, and without tsdb");
	}
	file = variable(text, n, GPU_ENV_CORE_FILE);
	pipes = pipe_pattern(pid, text, n);
	files = expand(pid, file ? file : "core_%t_%h_%p.nvcudmp");
	free(newest(files, &before));
	e = trigger(pid, pipes);
	if (!e)
		e = await(files, &before, ret, ret_path);
	free(pipes);
	free(files);
	free(text);
	return e;
}
