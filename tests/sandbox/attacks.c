/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace would do that had taken the replayer over. Linked into
 * tests/sandbox/replayer-under-attack only, which is tsdb-replayer with one function wrapped: when
 * the first launch comes whose first parameter points to the text "ATTACK", the lines of that text
 * are carried out with plain system calls, by the thread that executes the trace. The text is part
 * of the trace: the program recorded had copied it to the device.
 *
 * Without a sandbox they get through, perhaps with root's rights: an attack changes nothing but
 * what its argument names, and undoes the rest.
 *
 * Each line on standard error is "attack NAME: done" or "attack NAME: refused (why)".
 * tests/sandbox/attack writes the text and judges.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "replayer/execute/replayer-execute.h"

#define SCRIPT_MAX 4096u

struct err *__real_watch_before(struct rp *rp, const struct sbt_cmd *c);
struct err *__wrap_watch_before(struct rp *rp, const struct sbt_cmd *c);
struct err *__real_sandbox_lock(struct sandbox *b, bool soft, void *driver);
struct err *__wrap_sandbox_lock(struct sandbox *b, bool soft, void *driver);

static struct rp *victim;
static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

/* Each returns whether it got through; errno says why not. */

static bool write_file(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT, 0600);

	return fd >= 0 && write(fd, "taken\n", 6) == 6;
}

static bool read_file(const char *path)
{
	char text[64];
	const int fd = open(path, O_RDONLY);

	return fd >= 0 && read(fd, text, sizeof text) > 0;
}

static bool truncate_file(const char *path)
{
	return !truncate(path, 0);
}

static bool remove_file(const char *path)
{
	return !unlink(path);
}

static bool make_folder(const char *path)
{
	return !mkdir(path, 0700);
}

static bool connect_tcp(const char *port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd >= 0 && !connect(fd, (const struct sockaddr *)&to, sizeof to);
}

static bool connect_unix(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	return fd >= 0 && !connect(fd, (const struct sockaddr *)&to, sizeof to);
}

/* A child, whatever the C library thinks of it. */
static bool fork_child(const char *unused)
{
	const long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	return pid > 0;
}

static bool spawn(const char *path)
{
	const long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int status;

	if (!pid) {
		execl("/bin/sh", "sh", "-c", "echo taken >\"$0\"", path, NULL);
		_exit(errno == EACCES ? 2 : 1);
	}
	if (pid > 0 && (waitpid((pid_t)pid, &status, 0) != pid || !WIFEXITED(status) ||
			       WEXITSTATUS(status)))
		errno = EACCES;
	return pid > 0 && !access(path, F_OK);
}

/* In this process: comes last, since nothing comes after it when it gets through. */
static bool exec_here(const char *unused)
{
	execl("/bin/sh", "sh", "-c", "echo 'attack exec: done' >&2", NULL);
	return false;
}

static bool trace_tsdb(const char *unused)
{
	return !ptrace(PTRACE_SEIZE, getppid(), 0, 0);
}

/* Permission is looked at before addresses. */
static bool write_tsdb(const char *unused)
{
	char byte = 0;
	const struct iovec from = {&byte, 1}, to = {(void *)8, 1};

	return process_vm_writev(getppid(), &from, 1, &to, 1, 0) == 1 || errno == EFAULT;
}

static bool open_tsdb(const char *unused)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
	return open(path, O_RDWR) >= 0;
}

static bool signal_tsdb(const char *unused)
{
	return !kill(getppid(), SIGCONT);
}

static bool write_word(void *volatile *slot)
{
	const struct sigaction act = {.sa_handler = on_fault};
	struct sigaction old;
	bool through = false;

	sigaction(SIGSEGV, &act, &old);
	if (!sigsetjmp(back, 1)) {
		*slot = NULL;
		through = true;
	}
	sigaction(SIGSEGV, &old, NULL);
	errno = EFAULT;
	return through;
}

/* The driver's functions, the table of operations, and which table it is; then the attempt to make
 * them writable first. */
static bool write_table(const char *unused)
{
	const bool functions = write_word((void *volatile *)victim->lib.tables),
		   operations = write_word((void *volatile *)(uintptr_t)&victim->gpu->start);

	return write_word((void *volatile *)&victim->gpu) || functions || operations;
}

static bool unprotect_table(const char *unused)
{
	const bool functions = !mprotect(victim->lib.tables, TABLE_PAGE, PROT_READ | PROT_WRITE);

	return !mprotect(&victim->gpu, TABLE_PAGE, PROT_READ | PROT_WRITE) || functions;
}

static bool new_user(const char *unused)
{
	return !unshare(CLONE_NEWUSER);
}

/* Taken down again at once: this test may run as root. */
static bool mount_something(const char *folder)
{
	return !mount("none", folder, "tmpfs", 0, NULL) && !umount2(folder, MNT_DETACH);
}

static bool write_and_execute(const char *unused)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0) != MAP_FAILED;
}

static bool ring(const char *unused)
{
	char params[120] = {0};

	return syscall(425, 1, params) >= 0; /* io_uring_setup */
}

static bool key(const char *unused)
{
	return syscall(SYS_add_key, "user", "tsdb-attack", "x", 1, -2) >=
	       0; /* the keyring of this process */
}

static bool environment(const char *name)
{
	errno = ENOENT;
	return getenv(name) != NULL;
}

static bool raise_limit(const char *unused)
{
	struct rlimit l;

	errno = EPERM;
	return !getrlimit(RLIMIT_CORE, &l) && l.rlim_max != 0;
}

static bool take_memory(const char *unused)
{
	const size_t size = (size_t)16 << 40;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, size);
#ifdef __SANITIZE_ADDRESS__
	return false; /* such a build has no limit */
#endif
	return true;
}

/* Not an attack: where things lie, so that two processes can be compared. */
static bool tell_layout(const char *unused)
{
	char on_stack;
	void *on_heap = malloc(16);

	dprintf(2, "layout code %p libraries %p stack %p heap %p\n", (void *)(uintptr_t)tell_layout,
		(void *)(uintptr_t)dprintf, (void *)&on_stack, on_heap);
	free(on_heap);
	errno = 0;
	return false;
}

static const struct {
	const char *name;
	bool (*go)(const char *argument);
} attacks[] = {
	{"write", write_file},
	{"read", read_file},
	{"truncate", truncate_file},
	{"remove", remove_file},
	{"folder", make_folder},
	{"tcp", connect_tcp},
	{"unix", connect_unix},
	{"fork", fork_child},
	{"spawn", spawn},
	{"exec", exec_here},
	{"ptrace", trace_tsdb},
	{"vmwrite", write_tsdb},
	{"procmem", open_tsdb},
	{"signal", signal_tsdb},
	{"table", write_table},
	{"unprotect", unprotect_table},
	{"newuser", new_user},
	{"mount", mount_something},
	{"wx", write_and_execute},
	{"ring", ring},
	{"key", key},
	{"secret", environment},
	{"limits", raise_limit},
	{"memory", take_memory},
	{"layout", tell_layout},
};

static void carry_out(char *line)
{
	char *argument = strchr(line, ' ');

	if (argument)
		*argument++ = '\0';
	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
		if (strcmp(line, attacks[i].name))
			continue;
		errno = 0;
		if (attacks[i].go(argument ? argument : ""))
			dprintf(2, "attack %s: done\n", line);
		else
			dprintf(2, "attack %s: refused (%s)\n", line, strerror(errno));
	}
}

/* The text that the launch's first parameter points to, if it is one. */
static bool script_of(struct rp *rp, const struct sbt_cmd *c, char *ret)
{
	uint64_t at;

	if (c->kind != SBT_LAUNCH || c->u.launch.args.len < sizeof at)
		return false;
	memcpy(&at, c->u.launch.args.p, sizeof at);
	struct err *e = execute_finish(rp);
	if (!e)
		e = contents_read(rp, at, ret, SCRIPT_MAX);
	const bool ok = !e;
	err_free(e);
	ret[SCRIPT_MAX - 1] = '\0';
	return ok && !strncmp(ret, "ATTACK\n", 7);
}

/* With TSDB_ATTACK_AS_DRIVER the rules for a vendor's driver are tried, on a machine without one.
 */
struct err *__wrap_sandbox_lock(struct sandbox *b, bool soft, void *driver)
{
	return __real_sandbox_lock(b, soft && !getenv("TSDB_ATTACK_AS_DRIVER"), driver);
}

struct err *__wrap_watch_before(struct rp *rp, const struct sbt_cmd *c)
{
	static bool over;
	char script[SCRIPT_MAX], *rest = script;

	victim = rp;
	if (!over && script_of(rp, c, script)) {
		over = true;
		for (char *line; (line = strsep(&rest, "\n"));)
			carry_out(line);
	}
	return __real_watch_before(rp, c);
}
