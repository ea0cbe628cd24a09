/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that NVIDIA's driver wants to write and the sandbox forbids: /proc/self/task/N/comm, the
 * name of a thread that it starts in cuInit(). Driver 580 takes the refusal for a system failure
 * and returns CUDA_ERROR_OPERATING_SYSTEM. /proc must not be writable (mem is in the same folder),
 * so opening such a name for writing gives a memory file whose contents are never used. The
 * surprise: these functions replace the C library's in the whole process, also for the driver's
 * libraries, because the dynamic linker looks for names in the program first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef int open_fn(const char *path, int flags, ...);
typedef FILE *fopen_fn(const char *path, const char *mode);

/* "/proc/self/task/722/comm" */
static bool is_thread_name(const char *path)
{
	static const char dir[] = "/proc/self/task/", file[] = "/comm";
	const char *at;

	if (!path || strncmp(path, dir, sizeof dir - 1))
		return false;
	at = path + sizeof dir - 1;
	at += strspn(at, "0123456789");
	return !strcmp(at, file);
}

static int nowhere(void)
{
	return memfd_create("comm", MFD_CLOEXEC);
}

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
	open_fn *next;

	if ((flags & O_ACCMODE) != O_RDONLY && is_thread_name(path))
		return nowhere();
	next = (open_fn *)(uintptr_t)dlsym(RTLD_NEXT, name);
	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	return next(path, flags, mode);
}

static FILE *fopen_as(const char *name, const char *path, const char *mode)
{
	fopen_fn *next;

	if (*mode != 'r' && is_thread_name(path)) {
		const int fd = nowhere();

		return fd < 0 ? NULL : fdopen(fd, "w");
	}
	next = (fopen_fn *)(uintptr_t)dlsym(RTLD_NEXT, name);
	if (!next) {
		errno = ENOSYS;
		return NULL;
	}
	return next(path, mode);
}

#define TAKES_PLACE __attribute__((visibility("default")))
#define MODE(flags, ret)                                                                           \
	do {                                                                                       \
		va_list ap;                                                                        \
		va_start(ap, flags);                                                               \
		if (flags & (O_CREAT | __O_TMPFILE))                                               \
			ret = va_arg(ap, mode_t);                                                  \
		va_end(ap);                                                                        \
	} while (0)

TAKES_PLACE int open(const char *path, int flags, ...);
TAKES_PLACE int open64(const char *path, int flags, ...);
TAKES_PLACE FILE *fopen(const char *path, const char *mode);
TAKES_PLACE FILE *fopen64(const char *path, const char *mode);

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE(flags, mode);
	return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE(flags, mode);
	return open_as("open64", path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return fopen_as("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return fopen_as("fopen64", path, mode);
}
