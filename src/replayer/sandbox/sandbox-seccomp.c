/* SPDX-License-Identifier: Apache-2.0
 *
 * seccomp: which system calls the process may make. On the software GPU it may make those of a list
 * and no others; a refused call fails with EPERM. A vendor's driver makes calls that no list has,
 * so there a list of calls that no driver needs is refused instead. In both cases clone3 fails with
 * ENOSYS, since a filter cannot look into its argument: the C library then makes its threads by
 * clone.
 */
#include "config.h"
#include "replayer/sandbox/sandbox-private.h"

#ifdef HAVE_SECCOMP
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEW_SPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | \
		CLONE_NEWCGROUP)
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)
#define LOW32 0xffffffffu

/* A call with conditions on its arguments, which must all hold. */
struct when {
	const char *call;
	unsigned n;
	struct scmp_arg_cmp arg[2];
};
#define MASKED(i, mask, value)                                                                     \
	{                                                                                          \
		(i), SCMP_CMP_MASKED_EQ, (mask), (value)                                           \
	}
#define EQUALS(i, value)                                                                           \
	{                                                                                          \
		(i), SCMP_CMP_EQ, (value), 0                                                       \
	}

static const char *const soft_calls[] = {
	"read",
	"write",
	"readv",
	"writev",
	"pread64",
	"preadv",
	"lseek",
	"close",
	"dup",
	"fstat",
	"newfstatat",
	"statx",
	"stat",
	"lstat",
	"access",
	"faccessat",
	"faccessat2",
	"readlink",
	"readlinkat",
	"getcwd",
	"munmap",
	"mremap",
	"madvise",
	"brk",
	"msync",
	"futex",
	"set_robust_list",
	"get_robust_list",
	"rseq",
	"set_tid_address",
	"sched_yield",
	"sched_getaffinity",
	"sched_getparam",
	"sched_getscheduler",
	"nanosleep",
	"clock_nanosleep",
	"clock_gettime",
	"clock_getres",
	"gettimeofday",
	"time",
	"times",
	"getrusage",
	"getcpu",
	"getpid",
	"gettid",
	"getppid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"sysinfo",
	"uname",
	"getrandom",
	"membarrier",
	"restart_syscall",
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack",
	"exit",
	"exit_group",
	"mseal",
};

/* A thread, and nothing but a thread; memory that is never writable and executable at once. */
static const struct when soft_when[] = {
	{"clone", 1, {MASKED(0, CLONE_THREAD | CLONE_VM | NEW_SPACES, CLONE_THREAD | CLONE_VM)}},
	{"mmap", 1, {MASKED(2, PROT_EXEC, 0)}},
	{"mmap", 1, {MASKED(2, PROT_EXEC | PROT_WRITE, PROT_EXEC)}},
	{"mprotect", 1, {MASKED(2, PROT_EXEC, 0)}},
	{"mprotect", 1, {MASKED(2, PROT_EXEC | PROT_WRITE, PROT_EXEC)}},
	{"fcntl", 1, {EQUALS(1, F_DUPFD_CLOEXEC)}},
	{"fcntl", 1, {EQUALS(1, F_GETFD)}},
	{"fcntl", 1, {EQUALS(1, F_SETFD)}},
	{"fcntl", 1, {EQUALS(1, F_GETFL)}},
	{"ioctl", 1, {MASKED(1, LOW32, TCGETS)}}, /* isatty(), before the first line is printed */
	{"prctl", 1, {EQUALS(0, PR_SET_NAME)}},
	{"prctl", 1, {EQUALS(0, 0x53564d41)}}, /* PR_SET_VMA: malloc names its arenas */
	{"prlimit64", 2, {EQUALS(0, 0), EQUALS(2, 0)}},
};

/* Used where Landlock limits the files: the compiler of hot kernels and its libraries are opened
 * when they are needed. */
static const struct when soft_opens[] = {
	{"openat", 1, {MASKED(2, WRITES, 0)}},
};

/* bind, listen and accept are missing here: cuInit() of driver 580 binds an abstract name,
 * "cuda-uvmfd-...", and fails when it cannot. Processes outside its network namespace cannot
 * connect to such a name, a name in the file system is refused by Landlock and read-only mounts,
 * and there are no other kinds of sockets. */
static const char *const driver_never[] = {
	"execve",
	"execveat",
	"fork",
	"vfork",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"kcmp",
	"pidfd_open",
	"pidfd_getfd",
	"pidfd_send_signal",
	"tkill",
	"rt_sigqueueinfo",
	"rt_tgsigqueueinfo",
	"connect",
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"setns",
	"unshare",
	"fsopen",
	"fsmount",
	"fsconfig",
	"fspick",
	"open_tree",
	"move_mount",
	"mount_setattr",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"keyctl",
	"add_key",
	"request_key",
	"init_module",
	"finit_module",
	"delete_module",
	"kexec_load",
	"kexec_file_load",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"quotactl_fd",
	"sethostname",
	"setdomainname",
	"settimeofday",
	"clock_settime",
	"adjtimex",
	"clock_adjtime",
	"open_by_handle_at",
	"personality",
	"iopl",
	"ioperm",
	"modify_ldt",
	"syslog",
	"vhangup",
	"setuid",
	"setgid",
	"setreuid",
	"setregid",
	"setresuid",
	"setresgid",
	"setgroups",
	"capset",
	"fanotify_init",
	"creat",
	"mknod",
	"mknodat",
};

/* Another process, another kind of socket, and the ioctls that type into a terminal. */
static const struct when driver_never_when[] = {
	{"clone", 1, {MASKED(0, CLONE_THREAD, 0)}},
	{"socket", 1, {{0, SCMP_CMP_NE, AF_UNIX, 0}}},
	{"ioctl", 1, {MASKED(1, LOW32, TIOCSTI)}},
	{"ioctl", 1, {MASKED(1, LOW32, TIOCLINUX)}},
	{"ioctl", 1, {MASKED(1, LOW32, TIOCSCTTY)}},
};

/* Adds a rule. A call that this machine's library does not know gets the default action. */
static int add(scmp_filter_ctx f, uint32_t action, const struct when *w)
{
	const int number = seccomp_syscall_resolve_name(w->call);

	return number == __NR_SCMP_ERROR ? 0
					 : seccomp_rule_add_array(f, action, number, w->n, w->arg);
}

static int add_names(scmp_filter_ctx f, uint32_t action, const char *const *names, size_t n)
{
	int bad = 0;

	while (n-- && !bad)
		bad = add(f, action, &(const struct when){names[n], 0, {{0}}});
	return bad;
}

static int add_when(scmp_filter_ctx f, uint32_t action, const struct when *w, size_t n)
{
	int bad = 0;

	for (; n-- && !bad; w++)
		bad = add(f, action, w);
	return bad;
}

#define NAMES(f, action, table) add_names(f, action, table, sizeof table / sizeof *table)
#define WHEN(f, action, table) add_when(f, action, table, sizeof table / sizeof *table)

/* abort() and the software GPU's faults signal the process itself; signals to other processes are
 * refused. */
static int only_self(scmp_filter_ctx f, bool soft)
{
	const struct when to_self[] = {{"kill", 1, {EQUALS(0, (scmp_datum_t)getpid())}},
		{"tgkill", 1, {EQUALS(0, (scmp_datum_t)getpid())}}};
	const struct when to_others[] = {{"kill", 1, {{0, SCMP_CMP_NE, (scmp_datum_t)getpid(), 0}}},
		{"tgkill", 1, {{0, SCMP_CMP_NE, (scmp_datum_t)getpid(), 0}}}};

	return soft ? WHEN(f, SCMP_ACT_ALLOW, to_self) : WHEN(f, SCMP_ACT_ERRNO(EPERM), to_others);
}

/* The stack of a new thread. AMD's library of HIP 5.2 is marked as one that needs executable
 * stacks, so the C library gives every thread one, from then on. */
static int thread_stacks(scmp_filter_ctx f)
{
	pthread_attr_t a;
	size_t size = 0;
	int bad = pthread_getattr_default_np(&a);

	if (bad)
		return -bad;
	bad = pthread_attr_getstacksize(&a, &size);
	pthread_attr_destroy(&a);
	const struct when stack[] = {
		{"mprotect", 2, {EQUALS(1, size), EQUALS(2, PROT_READ | PROT_WRITE | PROT_EXEC)}}};
	return bad ? -bad : WHEN(f, SCMP_ACT_ALLOW, stack);
}

static int fill(scmp_filter_ctx f, const struct sandbox *b)
{
	static const struct when clone3 = {"clone3", 0, {{0}}};
	const uint32_t refused = SCMP_ACT_ERRNO(EPERM);
	int bad = add(f, SCMP_ACT_ERRNO(ENOSYS), &clone3);

	bad = bad ? bad : only_self(f, b->soft);
	if (b->soft) {
		bad = bad ? bad : NAMES(f, SCMP_ACT_ALLOW, soft_calls);
		bad = bad ? bad : WHEN(f, SCMP_ACT_ALLOW, soft_when);
		if (b->started)
			bad = bad ? bad : thread_stacks(f);
		else if (b->landlock)
			bad = bad ? bad : WHEN(f, SCMP_ACT_ALLOW, soft_opens);
		return bad;
	}
	bad = bad ? bad : NAMES(f, refused, driver_never);
	return bad ? bad : WHEN(f, refused, driver_never_when);
}

void sandbox_seccomp(struct sandbox *b)
{
	scmp_filter_ctx f = seccomp_init(b->soft ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
	int bad = f ? fill(f, b) : -ENOMEM;

	if (!bad && b->started) /* for the threads that have begun, too; fails if it cannot */
		bad = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);

	if (!bad)
		bad = seccomp_load(f);
	if (bad)
		sandbox_lacks(
			b, SANDBOX_SECCOMP, "the system refuses the filter (%s)", strerror(-bad));
	else if (b->soft)
		sandbox_has(b, SANDBOX_SECCOMP,
			"%zu system calls, none that writes a file, connects or executes",
			sizeof soft_calls / sizeof *soft_calls);
	else
		sandbox_has(b, SANDBOX_SECCOMP, "%zu system calls are refused",
			sizeof driver_never / sizeof *driver_never);
	if (f)
		seccomp_release(f);
}
#else
void sandbox_seccomp(struct sandbox *b)
{
	sandbox_lacks(b, SANDBOX_SECCOMP, "tsdb was built without libseccomp");
}
#endif
