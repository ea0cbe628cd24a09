/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that let a device write; see bypass.h. A character device that is not known to be
 * harmless counts as one that writes.
 */
#include "capture/host/bypass.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "capture/core/agent.h"

/* Kept when the debugger leaves: the children are still there. */
static AGENT_KEPT _Atomic bool forked;

bool bypass_by_children(void)
{
	return atomic_load(&forked);
}

void bypass_forked(void)
{
	atomic_store(&forked, true);
}

/* Character devices that write only where a call of the program has them write, through its page
 * tables, and the GPU's. A name that ends in '*' stands for all that begin so. */
static const char *const harmless[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
	"/dev/urandom", "/dev/tty*", "/dev/pts/*", "/dev/ptmx", "/dev/console", "/dev/fuse",
	"/dev/kmsg", "/dev/nvidiactl", "/dev/nvidia-uvm*", "/dev/nvidia-modeset",
	"/dev/nvidia-caps/*", "/dev/nvidia[0-9]", "/dev/kfd", "/dev/dri/*"};

static bool matches(const char *pattern, const char *path)
{
	const size_t n = strcspn(pattern, "*[");
	if (strncmp(pattern, path, n))
		return false;
	if (pattern[n] == '[')
		return path[n] >= '0' && path[n] <= '9';
	return pattern[n] || !path[n];
}

static bool is_harmless(const char *path)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (matches(harmless[i], path))
			return true;
	return false;
}

/* Whether the descriptor `name` in the folder dir lets a device write. One that is closed meanwhile
 * does not. */
static bool writes(int dir, const char *name)
{
	char path[128];
	struct stat st;
	unsigned fd = 0;
	for (const char *s = name; *s; s++)
		fd = fd * 10 + (unsigned)(*s - '0');
	if (fstat((int)fd, &st))
		return false;
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
		const int flags = fcntl((int)fd, F_GETFL);
		return flags >= 0 && flags & O_DIRECT;
	}
	if (!S_ISCHR(st.st_mode) && st.st_mode & S_IFMT)
		return false;
	const ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return S_ISCHR(st.st_mode) ? !is_harmless(path) : !strcmp(path, "anon_inode:[io_uring]");
}

struct linux_dirent64 {
	uint64_t ino, off;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* opendir() would allocate. */
static bool any_writes(void)
{
	_Alignas(struct linux_dirent64) char text[2048];
	const int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = dir < 0;
	long n = 0;
	while (!found && (n = syscall(SYS_getdents64, dir, text, sizeof(text))) > 0)
		for (long at = 0; at < n && !found;) {
			const struct linux_dirent64 *e = (const void *)(text + at);
			found = e->name[0] != '.' && writes(dir, e->name);
			at += e->size;
		}
	if (dir >= 0)
		close(dir);
	return found || n < 0;
}

bool bypass_by_devices(void)
{
	static bool seen;
	static uint64_t next_ms;
	if (seen || monotonic_ms() < next_ms)
		return seen;
	seen = any_writes();
	next_ms = monotonic_ms() + BYPASS_EVERY_MS;
	return seen;
}
