/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock: which files the process may open from now on. Everything that the kernel's version of
 * it can forbid is forbidden; what a driver opens late is let through by the tables below.
 * linux/landlock.h is often older than the kernel, so its numbers are here (Linux's
 * Documentation/userspace-api/landlock.rst; the ABI's version says which of them the kernel knows).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "replayer/sandbox/sandbox-private.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum {
	WRITE_FILE = 1u << 1,
	READ_FILE = 1u << 2,
	READ_DIR = 1u << 3,
	TRUNCATE = 1u << 14,
	IOCTL = 1u << 15
};
/* the rights that a rule for a file may have; 1: execute */
#define OF_FILES (1u | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL)
#define READ (READ_FILE | READ_DIR)
#define USE (READ_FILE | WRITE_FILE | IOCTL)

struct ruleset { /* struct landlock_ruleset_attr */
	uint64_t files, net, scoped;
};
struct beneath { /* struct landlock_path_beneath_attr */
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));

/* What each version of the ABI can forbid in all, and the size of its structure. */
static const struct {
	struct ruleset all;
	size_t size;
} versions[] = {
	{{0, 0, 0}, 0}, {{0x1fff, 0, 0}, 8},
	{{0x3fff, 0, 0}, 8},  /* moving files to other folders */
	{{0x7fff, 0, 0}, 8},  /* truncating */
	{{0x7fff, 3, 0}, 16}, /* TCP */
	{{0xffff, 3, 0}, 16}, /* ioctl on devices */
	{{0xffff, 3, 3}, 24}, /* abstract sockets and signals of other processes */
};
#define NEWEST ((int)(sizeof versions / sizeof *versions) - 1)

struct path {
	const char *path;
	unsigned rights;
};

/* The software GPU: libraries, which its compiler of hot kernels is opened from. */
static const struct path for_soft[] = {
	{"/lib", READ},
	{"/lib64", READ},
	{"/usr/lib", READ},
	{"/usr/lib64", READ},
	{"/usr/local/lib", READ},
	{"/nix/store", READ},
	{"/etc/ld.so.cache", READ},
	{"/sys/devices/system/cpu", READ},
	{"/dev/null", READ_FILE | WRITE_FILE},
	{"/dev/urandom", READ},
};

/* NVIDIA's driver: its devices, libraries, settings, and what it asks the system about. */
static const struct path for_driver[] = {
	{"/lib", READ},
	{"/lib64", READ},
	{"/usr", READ},
	{"/nix/store", READ},
	{"/run/opengl-driver", READ},
	{"/etc/ld.so.cache", READ},
	{"/etc/nvidia", READ},
	{"/sys", READ},
	{"/proc/driver", READ},
	{"/proc/devices", READ},
	{"/proc/modules", READ},
	{"/proc/cpuinfo", READ},
	{"/proc/meminfo", READ},
	{"/proc/stat", READ},
	{"/proc/version", READ},
	{"/proc/filesystems", READ},
	{"/proc/mounts", READ},
	{"/proc/sys/vm", READ},
	{"/proc/sys/kernel", READ},
	{"/proc/self", READ},
	{"/dev/null", USE},
	{"/dev/zero", USE},
	{"/dev/random", READ},
	{"/dev/urandom", READ},
	{"/dev/dxg", USE},
};

/* A driver that starts now, as AMD's runtime does: it looks at the machine, and compiles kernels of
 * its own in files. Once the sandbox is locked no file can be opened any more. */
#define MAKE ((1u << 4) | (1u << 5) | (1u << 7) | (1u << 8) | (1u << 13)) /* and remove */
static const struct path for_start[] = {
	{"/usr", READ},
	{"/sys", READ},
	{"/etc/ld.so.cache", READ},
	{"/proc", READ},
	{"/dev/random", USE},
	{"/tmp", READ | WRITE_FILE | TRUNCATE | MAKE},
};

struct rules {
	int fd;
	uint64_t known;
};

/* Permits a path. A missing path is left out. The descriptor stays open: the kernel forgets a rule
 * for a folder in /proc without it. */
static void permit(const struct rules *r, const char *path, unsigned rights)
{
	struct beneath b = {rights & r->known, open(path, O_PATH | O_CLOEXEC)};
	struct stat st;

	if (b.fd < 0)
		return;
	if (fstat(b.fd, &st) || !S_ISDIR(st.st_mode))
		b.rights &= OF_FILES;
	(void)syscall(SYS_landlock_add_rule, r->fd, 1, &b, 0);
	if (strncmp(path, "/proc/self", 10))
		close(b.fd);
}

static void permit_table(const struct rules *r, const struct path *p, size_t n)
{
	for (; n--; p++)
		permit(r, p->path, p->rights);
}

/* /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-caps and so on. */
static void permit_devices(const struct rules *r)
{
	DIR *dev = opendir("/dev");
	char path[300];

	for (const struct dirent *d; dev && (d = readdir(dev));) {
		if (strncmp(d->d_name, "nvidia", 6))
			continue;
		snprintf(path, sizeof path, "/dev/%s", d->d_name);
		permit(r, path, USE | READ_DIR);
	}
	if (dev)
		closedir(dev);
}

/* Permits the folders of LD_LIBRARY_PATH, but not relative ones and not the root. */
static void permit_library_path(const struct rules *r)
{
	const char *all = getenv("LD_LIBRARY_PATH");
	char *copy = strdup(all ? all : ""), *rest = copy;

	for (char *one; rest && (one = strsep(&rest, ":;"));)
		if (one[0] == '/' && one[strspn(one, "/.")])
			permit(r, one, READ);
	free(copy);
}

static bool restrict_self(const struct sandbox *b, const struct rules *r, const char *folder)
{
	if (b->soft)
		permit_table(r, for_soft, sizeof for_soft / sizeof *for_soft);
	else
		permit_table(r, for_driver, sizeof for_driver / sizeof *for_driver);
	if (b->started)
		permit_table(r, for_start, sizeof for_start / sizeof *for_start);
	if (!b->soft)
		permit_devices(r);
	permit_library_path(r);
	if (folder)
		permit(r, folder, READ);
	return !syscall(SYS_landlock_restrict_self, r->fd, 0);
}

void sandbox_landlock(struct sandbox *b, const char *folder)
{
	const int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	const int use = abi < NEWEST ? abi : NEWEST;

	if (abi <= 0) {
		sandbox_lacks(b, SANDBOX_LANDLOCK, "%s",
			errno == EOPNOTSUPP ? "this kernel has it switched off"
					    : "this kernel has none (Linux 5.13 has)");
		return;
	}
	struct ruleset all = versions[use].all;
	const struct rules r = {
		(int)syscall(SYS_landlock_create_ruleset, &all, versions[use].size, 0), all.files};
	if (r.fd < 0 || !restrict_self(b, &r, folder)) {
		sandbox_lacks(b, SANDBOX_LANDLOCK, "this kernel refuses it (%s)", strerror(errno));
	} else {
		b->landlock = abi;
		sandbox_has(b, SANDBOX_LANDLOCK,
			"version %d: opens libraries%s to read, changes no file, executes none%s",
			abi, b->soft ? "" : " and the driver's devices",
			use >= 6 ? ", signals nobody" : "");
	}
	if (r.fd >= 0)
		close(r.fd);
}
