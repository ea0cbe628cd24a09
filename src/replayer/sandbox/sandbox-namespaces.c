/* SPDX-License-Identifier: Apache-2.0
 *
 * Namespaces of our own: no network, and all file systems mounted read-only. A user without rights
 * gets them through a user namespace, where the system grants those; containers often do not, then
 * Landlock and seccomp are what there is. The surprise: a read-only mount of /dev does not keep a
 * driver from its device, for device nodes can be opened for writing all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "replayer/sandbox/sandbox-private.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
/* MOUNT_ATTR_RDONLY and MOUNT_ATTR_NOSUID of linux/mount.h, which clashes with sys/mount.h in older
 * C libraries */
#define ATTR_RDONLY 1u
#define ATTR_NOSUID 2u
#define WHOLE_TREE 0x8000u /* AT_RECURSIVE */

struct attributes { /* struct mount_attr */
	uint64_t set, clear, propagation, userns_fd;
};

static bool put(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Keeps our user and group ids in the new user namespace, so that file ownership looks the same. */
static bool map_ids(uid_t uid, gid_t gid)
{
	char users[40], groups[40];

	snprintf(users, sizeof users, "%u %u 1", (unsigned)uid, (unsigned)uid);
	snprintf(groups, sizeof groups, "%u %u 1", (unsigned)gid, (unsigned)gid);
	return put("/proc/self/setgroups", "deny") && put("/proc/self/gid_map", groups) &&
	       put("/proc/self/uid_map", users);
}

static bool read_only(void)
{
	const struct attributes a = {.set = ATTR_RDONLY | ATTR_NOSUID};

	return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !syscall(SYS_mount_setattr, AT_FDCWD, "/", WHOLE_TREE, &a, sizeof a);
}

void sandbox_namespaces(struct sandbox *b)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	const int spaces = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC;
	const bool own_user = !unshare(CLONE_NEWUSER | spaces);

	if (!own_user && unshare(spaces)) { /* root needs no user namespace */
		sandbox_lacks(
			b, SANDBOX_NAMESPACES, "the system grants none (%s)", strerror(errno));
		return;
	}
	if (own_user && !map_ids(uid, gid))
		sandbox_has(b, SANDBOX_NAMESPACES, "no network; users cannot be mapped (%s)",
			strerror(errno));
	else if (!read_only())
		sandbox_has(b, SANDBOX_NAMESPACES,
			"no network; file systems cannot be made read-only (%s)", strerror(errno));
	else {
		b->read_only = true;
		sandbox_has(b, SANDBOX_NAMESPACES, "no network, all file systems read-only");
	}
}

bool sandbox_scratch(void)
{
	return !mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		"size=64m,nr_inodes=4096,mode=0700");
}

/* A process's folder in /proc is empty once the process has ended, and no process can put anything
 * there. The child shares our root directory, and so sets it for us. */
static int into_dying_folder(void *unused)
{
	return chroot("/proc/self/fdinfo") || chdir("/");
}

bool sandbox_empty_root(void)
{
	_Alignas(16) char stack[16384];
	int status;
	const pid_t pid = clone(into_dying_folder, stack + sizeof stack,
		CLONE_FS | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}
