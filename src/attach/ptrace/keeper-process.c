/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts and ends the keeper, see keeper-process.h and capture/cuda/keeper/keeper.h. Its socket
 * listens before the process runs, so the agent may ask at once; it answers when it has opened the
 * driver.
 */
#include "attach/ptrace/keeper-process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/child.h"
#include "gpucode/gpu-files.h"

extern char **environ;

struct keeper {
	pid_t pid;
	char *program, *softgpu;
};

static struct err *listen_at(char name[TSDB_KEEPER_MAX], int *ret)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	unsigned long long salt = 0;
	size_t n;

	(void)!getrandom(&salt, sizeof(salt), GRND_NONBLOCK);
	snprintf(name, TSDB_KEEPER_MAX, "@tsdb-keeper-%d-%llx", getpid(), salt);
	n = strlen(name);
	memcpy(at.sun_path + 1, name + 1, n - 1);
	*ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*ret >= 0 &&
		bind(*ret, (const struct sockaddr *)&at,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0 &&
		listen(*ret, 8) == 0)
		return NULL;
	n = (size_t)errno;
	if (*ret >= 0)
		close(*ret);
	return err_sys((int)n, "cannot make a socket for the process that keeps copies of memory");
}

static bool is_var(const char *entry, const char *name)
{
	const size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

/* The environment shows all devices, also those hidden from the program, and has no agent. */
static char **make_env(const char *softgpu)
{
	static const char *const gone[] = {GPU_ENV_DEVICES, GPU_ENV_LOADS, GPU_ENV_MARKS_LOAD,
		"TSDB_AGENT", "TSDB_CONTROL", "TSDB_SOFT_DEVICES"};
	const char *path = getenv("LD_LIBRARY_PATH");
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = xcalloc(n + 3, sizeof(*env));
	for (size_t i = 0; i < n; i++) {
		bool keep = !softgpu || !is_var(environ[i], "LD_LIBRARY_PATH");

		for (size_t g = 0; g < sizeof(gone) / sizeof(*gone); g++)
			keep = keep && !is_var(environ[i], gone[g]);
		if (keep)
			env[k++] = xstrdup(environ[i]);
	}
	if (softgpu) {
		env[k++] = path && *path ? xasprintf("LD_LIBRARY_PATH=%s:%s", softgpu, path)
					 : xasprintf("LD_LIBRARY_PATH=%s", softgpu);
		env[k++] = xstrdup("TSDB_SOFT_DEVICES=16");
	}
	return env;
}

static void free_env(char **env)
{
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
}

/* Runs after fork: only async-signal-safe calls. */
static void child(
	const struct keeper *k, int listening, char *const *argv, char *const *env, pid_t parent)
{
	sigset_t none;
	int null;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(127);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (!fcntl(listening, F_SETFD, 0))
		execve(k->program, argv, env);
	_exit(127);
}

/* From here on the agent does not ask: it sees that the number has changed. */
static void dismiss(struct inferior *inf)
{
	if (inf->control)
		atomic_store(&inf->control->keeper_number, 0);
}

static void introduce(struct inferior *inf, const char name[TSDB_KEEPER_MAX], uint32_t number)
{
	memcpy(inf->control->keeper, name, TSDB_KEEPER_MAX);
	inf->control->keep_text[0] = '\0';
	atomic_store(&inf->control->keeper_number, number);
}

static struct err *start(struct inferior *inf, struct keeper *k)
{
	static uint32_t last_number;
	char name[TSDB_KEEPER_MAX], number[16], pid[16], keeper[16];
	char *argv[] = {k->program, number, pid, keeper, NULL};
	pid_t parent = getpid();
	char **env;
	int listening;

	TRY(listen_at(name, &listening));
	snprintf(number, sizeof(number), "%d", listening);
	snprintf(pid, sizeof(pid), "%d", inf->pid);
	snprintf(keeper, sizeof(keeper), "%u", ++last_number);
	env = make_env(k->softgpu);
	k->pid = fork();
	if (k->pid == 0)
		child(k, listening, argv, env, parent);
	free_env(env);
	close(listening);
	if (k->pid < 0) {
		k->pid = 0;
		return err_sys(errno, "cannot fork for the process that keeps copies of memory");
	}
	introduce(inf, name, last_number);
	return NULL;
}

static void stop(struct keeper *k)
{
	if (!k->pid)
		return;
	(void)child_kill(k->pid, NULL);
	k->pid = 0;
}

struct err *inferior_keep(struct inferior *inf, const char *keeper, const char *softgpu)
{
	struct keeper *k;
	struct err *e;

	if (inf->keeper || !inf->control || !inf->alive)
		return NULL;
	k = xcalloc(1, sizeof(*k));
	k->program = xstrdup(keeper);
	k->softgpu = softgpu ? xstrdup(softgpu) : NULL;
	e = start(inf, k);
	if (e)
		keeper_end(k);
	else
		inf->keeper = k;
	return e;
}

void inferior_keep_end(struct inferior *inf)
{
	dismiss(inf);
	keeper_end(inf->keeper);
	inf->keeper = NULL;
}

bool inferior_keeper_ended(struct inferior *inf, int *ret_status)
{
	struct keeper *k = inf->keeper;

	if (!k || !k->pid || waitpid(k->pid, ret_status, WNOHANG) != k->pid)
		return false;
	k->pid = 0;
	dismiss(inf);
	return true;
}

void keeper_exec(struct inferior *inf)
{
	if (!inf->keeper)
		return;
	dismiss(inf);
	stop(inf->keeper);
	err_free(start(inf, inf->keeper));
}

void keeper_end(struct keeper *k)
{
	if (!k)
		return;
	stop(k);
	free(k->program);
	free(k->softgpu);
	free(k);
}
