/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts the inferior. The child waits for a byte before it does anything, so that it is traced and
 * the control block holds its pid before exec. Its failures come back through a pipe that a
 * successful exec closes.
 */
#include "attach/ptrace/inferior.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "symbols/elf-facts.h"
#include "attach/ptrace/target.h"
#include "gpucode/gpu-files.h"

#define EXEC_WAIT_MS 10000

extern char **environ;

/* tsdb's own signal dispositions at its start. The inferior inherits these, not what tsdb ignores
 * or blocks later. */
static sigset_t start_mask, start_ignored;

__attribute__((constructor)) static void remember_signals(void)
{
	struct sigaction sa;

	sigprocmask(SIG_SETMASK, NULL, &start_mask);
	sigemptyset(&start_ignored);
	for (int s = 1; s < _NSIG; s++)
		if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			sigaddset(&start_ignored, s);
}

/* ---- finding and checking the program ---- */

static struct err *check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return err_cure(
			err_new(ERR_NOT_FOUND, "cannot start %s: %s", path, strerror(errno)),
			"check the path of the program");
	if (S_ISDIR(st.st_mode))
		return err_cure(err_new(ERR_USAGE, "cannot start %s: it is a directory", path),
			"name a program inside it");
	if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
		return err_cure(err_new(ERR_PERMISSION,
					"cannot start %s: it is not an executable file", path),
			"make it executable with `chmod +x %s`", path);
	return NULL;
}

static struct err *check_format(const char *path)
{
	struct program_facts f;
	struct err *e = program_facts(path, &f);

	if (e) { /* an executable that is not readable is allowed: the kernel will check it */
		err_free(e);
		return NULL;
	}
	if (f.script)
		return NULL;
	if (!f.elf)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"cannot start %s: it is neither an ELF program nor a script", path),
			"a script needs a first line like `#!/bin/sh`");
	if (!f.elf64 || !f.x86_64)
		return err_cure(err_new(ERR_UNSUPPORTED, "cannot start %s: it is %s", path,
					f.elf64 ? "not an x86-64 program" : "a 32-bit program"),
			"build it for x86-64 (`-m64`); CUDA has no 32-bit programs any more");
	if (!f.executable)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"cannot start %s: it is an ELF file but not a program", path),
			"name the program that uses it");
	return NULL;
}

static struct err *find_program(const char *name, char **ret)
{
	char *path = program_find(name), *cwd;
	struct err *e;

	if (!path)
		return err_cure(
			err_new(ERR_NOT_FOUND, "cannot start %s: no such program in PATH", name),
			"give its path, for example `./%s`", name);
	e = check_file(path);
	if (!e)
		e = check_format(path);
	if (e) {
		free(path);
		return e;
	}
	cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	*ret = cwd ? xasprintf("%s/%s", cwd, path)
		   : xstrdup(path); /* the child may change its directory */
	free(cwd);
	free(path);
	return NULL;
}

/* ---- environment ---- */

struct env {
	char **vars;
	unsigned n;
};

static unsigned env_find(const struct env *env, const char *name, size_t len)
{
	unsigned i = 0;

	while (i < env->n && (strncmp(env->vars[i], name, len) != 0 || env->vars[i][len] != '='))
		i++;
	return i;
}

/* change is "NAME=value" or "NAME". */
static void env_change(struct env *env, const char *change)
{
	size_t len = strcspn(change, "=");
	unsigned i = env_find(env, change, len);

	if (i < env->n) {
		free(env->vars[i]);
		env->vars[i] = env->vars[--env->n];
		env->vars[env->n] = NULL;
	}
	if (!change[len])
		return;
	env->vars = xrealloc(env->vars, (env->n + 2) * sizeof(char *));
	env->vars[env->n++] = xstrdup(change);
	env->vars[env->n] = NULL;
}

static void env_set(struct env *env, const char *name, const char *value)
{
	char *s = xasprintf("%s=%s", name, value);

	env_change(env, s);
	free(s);
}

static void env_prepend_libraries(struct env *env, const char *dir)
{
	unsigned i = env_find(env, "LD_LIBRARY_PATH", strlen("LD_LIBRARY_PATH"));
	const char *old = i < env->n ? env->vars[i] + strlen("LD_LIBRARY_PATH=") : "";
	char *value = *old ? xasprintf("%s:%s", dir, old) : xstrdup(dir);

	env_set(env, "LD_LIBRARY_PATH", value);
	free(value);
}

/* A list of libraries, between blanks: ours comes before what the user has there. */
static void env_prepend_tool(struct env *env, const char *name, const char *path)
{
	unsigned i = env_find(env, name, strlen(name));
	const char *old = i < env->n ? env->vars[i] + strlen(name) + 1 : "";
	char *list = xcalloc(2 * strlen(path) + strlen(old) + 2, 1), *to = list;

	for (; *path; path++) {
		if (strchr(" \"\\", *path))
			*to++ = '\\';
		*to++ = *path;
	}
	if (*old)
		*to++ = ' ';
	strcpy(to, old);
	env_set(env, name, list);
	free(list);
}

static void env_free(struct env *env)
{
	for (unsigned i = 0; i < env->n; i++)
		free(env->vars[i]);
	free(env->vars);
}

static void env_make(struct env *env, const struct inferior *inf, const struct launch_options *o)
{
	env->vars = xcalloc(1, sizeof(char *));
	env->n = 0;
	for (char **e = environ; e && *e; e++)
		if (strchr(*e, '='))
			env_change(env, *e);
	for (char *const *c = o->env_changes; c && *c; c++)
		env_change(env, *c);
	if (o->softgpu)
		env_prepend_libraries(env, o->softgpu);
	if (o->agent) {
		char *control = family_control(inf);

		env_set(env, "TSDB_CONTROL", control);
		env_set(env, GPU_ENV_LOADS, o->agent);
		env_set(env, GPU_ENV_MARKS_LOAD, o->agent);
		env_set(env, "TSDB_AGENT", o->agent);		    /* for tracesmith/mark.h */
		env_prepend_tool(env, GPU_ENV_HSA_LOADS, o->agent); /* HIP's way in */
		free(control);
	}
}

/* ---- the child ---- */

enum child_step { CHILD_CWD, CHILD_IN, CHILD_OUT, CHILD_ERR, CHILD_EXEC };
struct child_report {
	int step, sys;
};

struct child {
	const struct launch_options *o;
	const char *path;
	char **env;
	bool own_group;
	int go, report; /* ends of the two pipes */
};

static bool redirect(const char *path, int fd, int flags)
{
	int f;

	if (!path)
		return true;
	f = open(path, flags | O_NOCTTY, 0666);
	if (f < 0 || (f != fd && dup2(f, fd) < 0))
		return false;
	if (f != fd)
		close(f);
	return true;
}

static void child_fail(const struct child *c, enum child_step step)
{
	struct child_report r = {step, errno};

	if (write(c->report, &r, sizeof(r)) < 0)
		_exit(126);
	_exit(127);
}

static void child_signals(void)
{
	struct sigaction sa = {.sa_handler = SIG_DFL}, old;

	for (int s = 1; s < _NSIG; s++) {
		sa.sa_handler = sigismember(&start_ignored, s) == 1 ? SIG_IGN : SIG_DFL;
		if (sigaction(s, NULL, &old) == 0 && old.sa_handler != sa.sa_handler)
			sigaction(s, &sa, NULL);
	}
	sigprocmask(SIG_SETMASK, &start_mask, NULL);
}

/* Between fork and exec: async-signal-safe calls only. */
static void child_run(const struct child *c)
{
	const struct launch_options *o = c->o;
	int out = O_WRONLY | O_CREAT | (o->out_append ? O_APPEND : O_TRUNC);
	int err = O_WRONLY | O_CREAT | (o->err_append ? O_APPEND : O_TRUNC);
	char byte;

	if (c->own_group)
		setpgid(0, 0);
	if (read(c->go, &byte, 1) != 1)
		_exit(125);
	child_signals();
	if (!o->keep_aslr) /* containers may forbid it; then addresses differ from run to run */
		(void)personality(ADDR_NO_RANDOMIZE);
	if (!redirect(o->in, STDIN_FILENO, O_RDONLY))
		child_fail(c, CHILD_IN);
	if (!redirect(o->out, STDOUT_FILENO, out))
		child_fail(c, CHILD_OUT);
	if (!redirect(o->err, STDERR_FILENO, err))
		child_fail(c, CHILD_ERR);
	if (o->cwd && chdir(o->cwd) != 0)
		child_fail(c, CHILD_CWD);
	execve(c->path, o->argv, c->env);
	child_fail(c, CHILD_EXEC);
}

/* ---- the parent ---- */

static struct err *report_error(
	const struct launch_options *o, const char *path, struct child_report r)
{
	switch (r.step) {
	case CHILD_CWD:
		return err_cure(err_new(ERR_SYSTEM, "cannot enter the directory %s: %s", o->cwd,
					strerror(r.sys)),
			"choose another one with `set cwd`");
	case CHILD_IN:
		return err_cure(err_new(ERR_SYSTEM, "cannot read the input from %s: %s", o->in,
					strerror(r.sys)),
			"check the name after `<`");
	case CHILD_OUT:
		return err_cure(err_new(ERR_SYSTEM, "cannot write the output to %s: %s", o->out,
					strerror(r.sys)),
			"check the name after `>`");
	case CHILD_ERR:
		return err_cure(err_new(ERR_SYSTEM, "cannot write errors to %s: %s", o->err,
					strerror(r.sys)),
			"check the name after `2>`");
	}
	if (r.sys == ENOENT)
		return err_cure(
			err_new(ERR_NOT_FOUND, "cannot start %s: its interpreter is missing", path),
			"see the first line of the script, or `readelf -l %s`, for the interpreter",
			path);
	return err_cure(err_new(ERR_SYSTEM, "cannot start %s: %s", path, strerror(r.sys)),
		"try to run it without tsdb to see what the system says");
}

static struct err *seize_error(int sys)
{
	struct err *e = err_new(ERR_PERMISSION,
		"cannot trace the program: ptrace is not permitted here (%s)", strerror(sys));
	int scope = target_yama_scope();

	if (scope == 3)
		return err_cure(e,
			"kernel.yama.ptrace_scope is 3, which forbids every debugger until the next boot: boot with "
			"`kernel.yama.ptrace_scope = 1` in /etc/sysctl.conf");
	if (scope == 2)
		return err_cure(e,
			"kernel.yama.ptrace_scope is 2: run tsdb as root, or `sudo sysctl kernel.yama.ptrace_scope=1`");
	return err_cure(e,
		"in a container, start it with `--cap-add=SYS_PTRACE --security-opt seccomp=unconfined`");
}

/* Waits until the child is past exec, or says why it is not. */
static struct err *await_exec(
	struct inferior *inf, const struct launch_options *o, const char *path, int report)
{
	struct child_report r;
	struct patience patience;
	int status;

	patience_begin(&patience, inf->pid, EXEC_WAIT_MS * MS_NS);
	while (!patience_over(&patience)) {
		if (!wait_one(inf->pid, 50, &status))
			continue;
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			inf->alive = false;
			if (read(report, &r, sizeof(r)) == sizeof(r))
				return report_error(o, path, r);
			return err_cure(
				err_new(ERR_INFERIOR,
					"cannot start %s: it was killed while it was being started",
					path),
				"if it was killed for lack of memory, `dmesg` says so");
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return NULL;
		/* Another signal, sent from outside: passed on. */
		ptrace(PTRACE_CONT, inf->pid, 0, status >> 16 ? 0 : WSTOPSIG(status));
	}
	return err_cure(err_new(ERR_SYSTEM, "cannot start %s: it does not get past exec", path),
		"a file system that does not answer is the usual reason");
}

static struct err *start_child(struct inferior *inf, struct child *c, int go, int report)
{
	inf->pid = fork();
	if (inf->pid < 0)
		return err_sys(errno, "cannot start a process");
	if (inf->pid == 0) {
		close(go);
		child_run(c);
	}
	inf->alive = true;
	if (inf->own_group)
		setpgid(inf->pid, inf->pid);
	if (ptrace(PTRACE_SEIZE, inf->pid, 0, SEIZE_OPTIONS) != 0)
		return seize_error(errno);
	if (inf->control)
		inf->control->pid = (uint32_t)inf->pid;
	if (inf->family && !family_enter(inf))
		BUG("an empty family has no room");
	if (write(go, "g", 1) != 1)
		return err_sys(errno, "cannot start the process");
	close(c->report);
	c->report = -1;
	return await_exec(inf, c->o, c->path, report);
}

static void close_pair(int p[2])
{
	for (int i = 0; i < 2; i++)
		if (p[i] >= 0)
			close(p[i]);
}

static struct err *start(struct inferior *inf, const struct launch_options *o, const char *path)
{
	int go[2] = {-1, -1}, report[2] = {-1, -1};
	struct env env;
	struct child c = {.o = o, .path = path, .own_group = inf->own_group};
	struct err *e;

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0) {
		e = err_sys(errno, "cannot make a pipe");
		close_pair(go);
		return e;
	}
	env_make(&env, inf, o);
	c.env = env.vars;
	c.go = go[0];
	c.report = report[1];
	e = start_child(inf, &c, go[1], report[0]);
	report[1] = c.report;
	close_pair(go);
	close_pair(report);
	env_free(&env);
	return e;
}

static const int stopping_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

void inferior_default_rules(struct inferior *inf)
{
	for (int s = 1; s < _NSIG; s++)
		inf->rules[s] = (struct signal_rule){.pass = true};
	for (size_t i = 0; i < sizeof(stopping_signals) / sizeof(*stopping_signals); i++)
		inf->rules[stopping_signals[i]].stop = true;
	inf->sigint_ruled = false;
}

struct inferior *inferior_new(const char *agent)
{
	struct inferior *inf = xcalloc(1, sizeof(*inf));

	inf->control_fd = -1;
	inferior_default_rules(inf);
	inf->agent = agent ? xstrdup(agent) : NULL;
	inf->drain = drain_new();
	return inf;
}

struct err *inferior_launch(struct inferior **ret, const struct launch_options *o)
{
	struct inferior *inf;
	char *path = NULL;
	struct err *e;

	*ret = NULL;
	BUG_ON(!o->argv || !o->argv[0]);
	TRY(find_program(o->argv[0], &path));
	inf = inferior_new(o->agent);
	e = control_create(inf, o->ring_bytes);
	if (!e && o->children)
		e = family_begin(inf);
	if (!e) {
		wait_install_sigchld();
		terminal_begin(inf);
		e = start(inf, o, path);
	}
	free(path);
	if (e) {
		inferior_free(inf);
		return e;
	}
	stops_begin(inf, inf->pid);
	*ret = inf;
	return NULL;
}
