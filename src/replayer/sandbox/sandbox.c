/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts up the walls in their order, and decides which gaps are too many. See sandbox.h.
 */
#include "replayer/sandbox/sandbox.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "replayer/sandbox/sandbox-private.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static const char *const names[SANDBOX_WALLS] = {
	[SANDBOX_NAMESPACES] = "namespaces",
	[SANDBOX_LIMITS] = "limits",
	[SANDBOX_LANDLOCK] = "landlock",
	[SANDBOX_CAPABILITIES] = "capabilities",
	[SANDBOX_SECCOMP] = "seccomp",
};

const char *sandbox_wall_name(enum sandbox_wall w)
{
	return names[w];
}

static void say(struct sandbox *b, enum sandbox_wall w, bool up, const char *fmt, va_list ap)
{
	b->up[w] = up;
	vsnprintf(b->how[w], sizeof b->how[w], fmt, ap);
}

void sandbox_has(struct sandbox *b, enum sandbox_wall w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(b, w, true, fmt, ap);
	va_end(ap);
}

void sandbox_lacks(struct sandbox *b, enum sandbox_wall w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(b, w, false, fmt, ap);
	va_end(ap);
}

/* Whether this wall is to go up at all. */
static bool wanted(struct sandbox *b, enum sandbox_wall w)
{
	if (!(b->without & 1u << w))
		return true;
	sandbox_lacks(b, w, "left out by TSDB_SANDBOX_WITHOUT");
	return false;
}

static struct err *read_without(struct sandbox *b)
{
	const char *all = getenv("TSDB_SANDBOX_WITHOUT");

	for (size_t n; all && *all; all += n + (all[n] == ',')) {
		unsigned w = 0;

		n = strcspn(all, ",");
		while (w < SANDBOX_WALLS && (strlen(names[w]) != n || strncmp(names[w], all, n)))
			w++;
		if (w == SANDBOX_WALLS)
			return err_cure(
				err_new(ERR_USAGE,
					"TSDB_SANDBOX_WITHOUT: the sandbox has no wall \"%.*s\"",
					(int)n, all),
				"They are namespaces, limits, landlock, capabilities, seccomp");
		b->without |= 1u << w;
	}
	return NULL;
}

/* Closes what tsdb had open: a trace must not reach it. */
static void close_others(int keep)
{
	const unsigned fd = keep < 3 ? 3 : (unsigned)keep;

	if (fd > 3)
		(void)syscall(SYS_close_range, 3u, fd - 1, 0);
	(void)syscall(SYS_close_range, keep < 3 ? 3u : fd + 1, ~0u, 0);
}

struct err *sandbox_begin(struct sandbox *b, int keep)
{
	TRY(read_without(b));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(errno, "the replayer cannot give up gaining privileges");
	close_others(keep);
	(void)setsid();	       /* no terminal that could be typed into; fails when there was none */
	sandbox_first_to_go(); /* before /proc is read-only */
	if (wanted(b, SANDBOX_NAMESPACES))
		sandbox_namespaces(b);
	return NULL;
}

/* The folder of the library that an address is in; false when it is not known. */
static bool folder_of(void *address, char *ret, size_t size)
{
	Dl_info info;

	if (!address || !dladdr(address, &info) || !info.dli_fname || !strrchr(info.dli_fname, '/'))
		return false;
	return snprintf(ret, size, "%.*s", (int)(strrchr(info.dli_fname, '/') - info.dli_fname),
		       info.dli_fname) < (int)size;
}

static unsigned threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;

	for (const struct dirent *d; dir && (d = readdir(dir));)
		n += d->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/* Without Landlock the software GPU cannot open files any more, so its compiler of hot kernels is
 * opened here. The name is the one that jit-host.c opens, so jit-host.c finds it loaded. */
static void open_compiler(const char *folder)
{
	char path[4200];

	snprintf(path, sizeof path, "%s/tsdb-softgpu-jit.so", folder);
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND))
		(void)dlerror(); /* kernels are interpreted */
}

static struct err *too_little(const struct sandbox *b)
{
	const bool calls = b->soft && b->up[SANDBOX_SECCOMP];

	/* After sandbox_start() the rules for files are wide, until no call can open one. */
	if (calls || (!b->started && (b->up[SANDBOX_LANDLOCK] || b->read_only)))
		return NULL;
	return err_cure(
		err_new(ERR_UNSUPPORTED,
			"this system grants the replayer no sandbox: landlock: %s; namespaces: %s; seccomp: %s",
			b->how[SANDBOX_LANDLOCK], b->how[SANDBOX_NAMESPACES],
			b->how[SANDBOX_SECCOMP]),
		"--no-sandbox executes without one, with all your rights: for traces that you recorded yourself");
}

static void limits_and_files(struct sandbox *b, const char *folder)
{
	if (wanted(b, SANDBOX_LIMITS))
		sandbox_limits(b);
	if (wanted(b, SANDBOX_LANDLOCK))
		sandbox_landlock(b, folder);
}

struct err *sandbox_start(struct sandbox *b, bool soft, void *driver)
{
	char folder[4096];
	const bool known = folder_of(driver, folder, sizeof folder);

	if (threads() > 1)
		return err_new(ERR_STATE, "the GPU driver started threads when it was opened");
	b->soft = soft;
	b->started = true;
	if (b->read_only && !sandbox_scratch())
		return err_sys(errno, "the replayer cannot have a folder of its own");
	limits_and_files(b, known ? folder : NULL);
	if (wanted(b, SANDBOX_CAPABILITIES))
		sandbox_capabilities(b);
	return NULL;
}

/* All walls but the last, around a process of one thread. */
static struct err *walls(struct sandbox *b, void *driver)
{
	char folder[4096];
	const bool known = folder_of(driver, folder, sizeof folder);
	const unsigned n = threads();

	if (n > 1)
		return err_new(ERR_STATE,
			"the GPU driver started %u threads when it was opened: they would be outside the sandbox",
			n - 1);
	limits_and_files(b, known ? folder : NULL);
	if (b->soft && !b->landlock) {
		if (known)
			open_compiler(folder);
		b->empty_root = b->up[SANDBOX_NAMESPACES] && sandbox_empty_root();
		if (b->empty_root)
			sandbox_has(b, SANDBOX_NAMESPACES, "no network, no file system");
	}
	if (wanted(b, SANDBOX_CAPABILITIES))
		sandbox_capabilities(b);
	return NULL;
}

struct err *sandbox_lock(struct sandbox *b, bool soft, void *driver)
{
	b->soft = soft;
	if (!b->started)
		TRY(walls(b, driver));
	if (wanted(b, SANDBOX_SECCOMP))
		sandbox_seccomp(b);
	return too_little(b);
}

void sandbox_gaps(const struct sandbox *b, struct buf *out)
{
	const bool files =
		b->up[SANDBOX_LANDLOCK] || b->empty_root || (b->soft && b->up[SANDBOX_SECCOMP]);

	if (!files)
		buf_printf(out,
			"the sandbox has a gap: the trace's code could read the files that you can read (landlock: %s)\n",
			b->how[SANDBOX_LANDLOCK]);
	if (!files && !b->read_only)
		buf_printf(out,
			"the sandbox has a gap: the trace's code could change your files (namespaces: %s)\n",
			b->how[SANDBOX_NAMESPACES]);
	if (!b->up[SANDBOX_SECCOMP] && !b->up[SANDBOX_NAMESPACES])
		buf_printf(out,
			"the sandbox has a gap: the trace's code could use the network (seccomp: %s)\n",
			b->how[SANDBOX_SECCOMP]);
}

struct err *sandbox_seal(void *addr, size_t size)
{
	if (mprotect(addr, size, PROT_READ))
		return err_sys(errno, "the replayer cannot make its tables read-only");
	/* without mseal the pages can be made writable again by mprotect() */
	(void)syscall(SYS_mseal, addr, size, 0);
	return NULL;
}
