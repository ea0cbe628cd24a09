/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a process before an attach, see target.h. Everything comes from /proc/PID; a process that
 * changes meanwhile (exits, execs, is traced) is noticed again later.
 */
#include "attach/ptrace/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "attach/remote.h"
#include "base/buf.h"
#include "gpucode/gpu-files.h"

struct status {
	char name[64], state, features[64];
	int tgid, ppid, tracer, kthread, seccomp, threads;
	unsigned uid;
	unsigned long long caps; /* permitted */
	bool has_memory;
};

static void take_field(struct status *s, const char *line)
{
	static const struct {
		const char *name;
		size_t field;
	} numbers[] = {
		{"Tgid:", offsetof(struct status, tgid)},
		{"PPid:", offsetof(struct status, ppid)},
		{"TracerPid:", offsetof(struct status, tracer)},
		{"Kthread:", offsetof(struct status, kthread)},
		{"Seccomp:", offsetof(struct status, seccomp)},
		{"Threads:", offsetof(struct status, threads)},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strncmp(line, numbers[i].name, strlen(numbers[i].name)))
			*(int *)((char *)s + numbers[i].field) =
				atoi(line + strlen(numbers[i].name));
	(void)sscanf(line, "Name: %63[^\n]", s->name);
	(void)sscanf(line, "State: %c", &s->state);
	(void)sscanf(line, "Uid: %*u %u", &s->uid);
	(void)sscanf(line, "CapPrm: %llx", &s->caps);
	(void)sscanf(line, "x86_Thread_features: %63[^\n]", s->features);
	s->has_memory |= !strncmp(line, "VmSize:", 7);
}

static bool read_status(pid_t pid, struct status *s)
{
	char path[64], *line = NULL;
	size_t cap = 0;
	FILE *f;

	*s = (struct status){.state = '?'};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (getline(&line, &cap, f) > 0)
		take_field(s, line);
	free(line);
	fclose(f);
	return s->tgid != 0;
}

bool target_program(pid_t pid, char *path, size_t n)
{
	char link[64];
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	got = readlink(link, path, n - 1);
	path[got < 0 ? 0 : got] = 0;
	return got > 0;
}

void target_name(pid_t pid, char name[16])
{
	struct status s;

	snprintf(name, 16, "%.15s", read_status(pid, &s) ? s.name : "?");
}

int target_yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = -1;

	if (f) {
		if (fscanf(f, "%d", &scope) != 1)
			scope = -1;
		fclose(f);
	}
	return scope;
}

/* ---- what kind of process it is ---- */

static struct err *refuse(enum err_code code, pid_t pid, const char *why)
{
	return err_new(code, "cannot attach to process %d: %s", pid, why);
}

static bool is_driver(const char *name)
{
	return gpu_library_is(name, GPU_DRIVER | GPU_HIP);
}

/* In a container the program itself is often process 1. */
static bool has_driver(pid_t pid)
{
	struct remote_space maps = {0};
	bool has;

	err_free(remote_space_read(&maps, pid));
	has = remote_find(&maps, is_driver);
	remote_space_free(&maps);
	return has;
}

bool inferior_may_use_gpu(pid_t pid)
{
	struct remote_space maps = {0};
	struct err *e = remote_space_read(&maps, pid);
	const bool may = e || remote_find(&maps, is_driver);

	err_free(e);
	remote_space_free(&maps);
	return may;
}

static struct err *check_pid(pid_t pid)
{
	if (pid <= 0)
		return err_cure(err_new(ERR_USAGE, "%d is no process id", pid),
			"`ps -e` lists the processes");
	if (pid == getpid())
		return err_cure(refuse(ERR_USAGE, pid, "that is tsdb itself"),
			"name the process that makes the GPU calls");
	if (pid == 1 && !has_driver(pid))
		return err_cure(
			refuse(ERR_USAGE, pid,
				"it is the first process of the system or container, which nothing may hold up"),
			"name the process that makes the GPU calls");
	return NULL;
}

static struct err *check_traced(pid_t pid, const struct status *s)
{
	char name[16];

	if (!s->tracer)
		return NULL;
	target_name(s->tracer, name);
	if (s->tracer == getpid())
		return err_cure(
			refuse(ERR_STATE, pid, "tsdb is attached to it already"), "`detach` first");
	return err_cure(
		err_new(ERR_STATE,
			"cannot attach to process %d: %s (process %d) is tracing it, and a process has one tracer at a time",
			pid, name, s->tracer),
		"end %s, or detach it there", name);
}

static struct err *check_state(pid_t pid, const struct status *s)
{
	if (s->tgid != pid)
		return err_cure(err_new(ERR_USAGE, "%d is a thread of process %d", pid, s->tgid),
			"`attach %d`", s->tgid);
	if (s->state == 'Z' && s->threads > 1)
		return err_cure(
			refuse(ERR_UNSUPPORTED, pid,
				"its first thread has ended while others run on, and debuggers come in by the first"),
			"let main() wait for the other threads (pthread_join) instead of pthread_exit(), or start the program with tsdb");
	if (s->state == 'Z' || s->state == 'X')
		return err_cure(
			refuse(ERR_STATE, pid,
				"it has ended and only waits for its parent to notice (a zombie)"),
			"there is nothing left to debug");
	if (s->kthread || !s->has_memory)
		return err_cure(refuse(ERR_USAGE, pid, "it is a thread of the kernel"),
			"name the process that makes the GPU calls");
	return check_traced(pid, s);
}

static struct err *check_owner(pid_t pid, const struct status *s)
{
	const struct passwd *pw;
	char id[32];

	if (s->uid == geteuid() || geteuid() == 0)
		return NULL;
	pw = getpwuid(s->uid);
	snprintf(id, sizeof(id), "#%u", s->uid);
	return err_cure(err_new(ERR_PERMISSION,
				"cannot attach to process %d: it belongs to another user, %s", pid,
				pw ? pw->pw_name : id),
		"`sudo -u %s tsdb -p %d`", pw ? pw->pw_name : id, pid);
}

static bool same_link(pid_t pid, const char *what)
{
	char path[64], theirs[128] = "", ours[128] = "";

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	if (readlink(path, theirs, sizeof(theirs) - 1) < 0)
		return true; /* an old kernel */
	snprintf(path, sizeof(path), "/proc/self/%s", what);
	return readlink(path, ours, sizeof(ours) - 1) < 0 || !strcmp(theirs, ours);
}

/* Which processes may not look into tsdb's /proc (ptrace(2), access mode checking): those of other
 * users, of other user namespaces, and with fewer capabilities. */
bool target_is_foreign(pid_t pid)
{
	struct status s, ours;

	if (!read_status(pid, &s) || !read_status(getpid(), &ours))
		return false;
	return s.uid != geteuid() || ours.caps & ~s.caps || !same_link(pid, "ns/user");
}

/* For /proc, a process that is not dumpable (setuid, or by its own wish) belongs to root. */
static struct err *check_program(pid_t pid)
{
	unsigned char head[EI_NIDENT] = "";
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return target_seize_error(pid, errno);
	if (fd < 0)
		return err_cure(
			refuse(ERR_STATE, pid, "its program cannot be looked at; it may be ending"),
			"`ps -p %d` shows whether it is still there", pid);
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n == (ssize_t)sizeof(head) && !memcmp(head, ELFMAG, SELFMAG) &&
		head[EI_CLASS] == ELFCLASS32)
		return err_cure(refuse(ERR_UNSUPPORTED, pid, "it is a 32-bit program"),
			"build it for x86-64 (`-m64`); CUDA has no 32-bit programs any more");
	return NULL;
}

static struct err *check_protection(pid_t pid, const struct status *s)
{
	if (s->seccomp == 1)
		return err_cure(
			refuse(ERR_PERMISSION, pid,
				"it is in strict seccomp mode and would be killed for loading a library"),
			"start the program with tsdb instead");
	if (strstr(s->features, "shstk"))
		return err_cure(
			refuse(ERR_UNSUPPORTED, pid,
				"it runs with a shadow stack, which forbids calls from outside"),
			"start it without: GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK");
	if (s->ppid > 0 && syscall(SYS_kcmp, pid, s->ppid, KCMP_VM, 0, 0) == 0)
		return err_cure(
			refuse(ERR_STATE, pid,
				"it is a vfork child: it still borrows its parent's memory"),
			"attach again when it has executed its own program");
	return NULL;
}

/* The process opens the agent by its path. */
static struct err *check_places(pid_t pid, const char *agent)
{
	struct stat ours, theirs;
	char *there = xasprintf("/proc/%d/root%s", pid, agent);
	bool same = !stat(agent, &ours) && !stat(there, &theirs) && ours.st_ino == theirs.st_ino &&
		    ours.st_size == theirs.st_size;

	free(there);
	if (!same_link(pid, "ns/pid"))
		return err_cure(refuse(ERR_UNSUPPORTED, pid, "it runs in another container"),
			"run tsdb inside that container (`docker exec`)");
	if (!same)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"cannot attach to process %d: %s, the agent, is not at that place for it (a container or chroot)",
				pid, agent),
			"run tsdb inside that container");
	return NULL;
}

struct err *target_check(pid_t pid, const char *agent)
{
	struct status s;

	TRY(check_pid(pid));
	if (!read_status(pid, &s))
		return err_cure(err_new(ERR_NOT_FOUND, "there is no process %d", pid),
			"`ps -e` lists the processes");
	TRY(check_state(pid, &s));
	TRY(check_owner(pid, &s));
	TRY(check_program(pid));
	TRY(check_protection(pid, &s));
	return check_places(pid, agent);
}

/* ---- when the kernel refuses ---- */

struct err *target_seize_error(pid_t pid, int sys)
{
	int scope = target_yama_scope();
	struct status s;

	if (sys == ESRCH || !read_status(pid, &s))
		return err_cure(
			refuse(ERR_STATE, pid, "it has just ended"), "`ps -e` lists the processes");
	TRY(check_traced(pid, &s));
	if (scope == 3)
		return err_cure(
			refuse(ERR_PERMISSION, pid,
				"kernel.yama.ptrace_scope is 3, which forbids every debugger until the next boot"),
			"boot with `kernel.yama.ptrace_scope = 1` in /etc/sysctl.conf");
	if (scope > 0 && geteuid() != 0)
		return err_cure(
			err_new(ERR_PERMISSION,
				"cannot attach to process %d: kernel.yama.ptrace_scope is %d, which lets only %s",
				pid, scope,
				scope == 1 ? "its parent trace a process" : "root trace processes"),
			"`sudo sysctl kernel.yama.ptrace_scope=0`, or start the program with tsdb");
	return err_cure(err_new(ERR_PERMISSION,
				"cannot attach to process %d: ptrace is not permitted here (%s)",
				pid, strerror(sys)),
		"in a container, start it with `--cap-add=SYS_PTRACE --security-opt seccomp=unconfined`; a program that is setuid, or not dumpable, needs root");
}
