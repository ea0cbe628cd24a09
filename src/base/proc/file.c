/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that tsdb makes, see file.h.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"

#define MODE 0600

static struct err *not_regular(const char *path, mode_t mode)
{
	const char *what = S_ISDIR(mode)		    ? "directory"
			   : S_ISFIFO(mode)		    ? "FIFO"
			   : S_ISCHR(mode) || S_ISBLK(mode) ? "device"
							    : "special file";

	return err_cure(err_new(ERR_USAGE, "cannot write %s: it is a %s", path, what),
		"Name a regular file");
}

static struct err *lock(int fd, const char *path)
{
	if (!flock(fd, LOCK_EX | LOCK_NB) ||
		errno != EWOULDBLOCK) /* a file system without locks has none to respect */
		return NULL;
	return err_cure(err_new(ERR_STATE, "%s is being written by another process", path),
		"Name another file, or wait until that one has ended");
}

/* Opens or creates path and takes the lock; its contents stay. Checks the type first, because
 * opening a device or a FIFO may block or have effects. */
static struct err *open_locked(const char *path, int *ret_fd, bool *ret_there)
{
	struct stat st;
	struct err *e;

	*ret_there = !stat(path, &st);
	if (*ret_there && !S_ISREG(st.st_mode))
		return not_regular(path, st.st_mode);
	*ret_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, MODE);
	if (*ret_fd < 0)
		return err_cure(err_sys(errno, "cannot create %s", path),
			"Name a file in a folder that can be written");
	e = lock(*ret_fd, path);
	if (e)
		close(*ret_fd);
	return e;
}

struct err *file_create_locked(const char *path, int *ret_fd)
{
	bool there;
	int fd;

	TRY(open_locked(path, &fd, &there));
	if (ftruncate(fd, 0)) {
		struct err *e = err_sys(errno, "cannot empty %s", path);

		close(fd);
		return e;
	}
	*ret_fd = fd;
	return NULL;
}

struct err *file_can_create(const char *path)
{
	bool there;
	int fd;

	TRY(open_locked(path, &fd, &there));
	if (!there)
		unlink(path);
	close(fd);
	return NULL;
}

struct err *file_create(const char *path, FILE **ret)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, MODE);

	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	if (*ret)
		return NULL;
	const int sys = errno;
	if (fd >= 0)
		close(fd);
	return err_cure(err_sys(sys, "cannot create %s", path),
		"Name a file in a folder that can be written");
}

struct err *file_close(FILE *f, const char *path)
{
	const bool bad = ferror(f);

	errno = EIO;
	return fclose(f) || bad ? err_sys(errno, "cannot write %s", path) : NULL;
}

/* A device, a pipe: there is nothing to put in its place. */
static struct err *put_straight(
	const char *path, struct err *(*put)(void *arg, FILE *to), void *arg)
{
	FILE *to;
	struct err *e;

	TRY(file_create(path, &to));
	e = put(arg, to);
	return err_first(e, file_close(to, path));
}

bool file_is_replaced(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode);
}

struct err *file_put(const char *path, struct err *(*put)(void *arg, FILE *to), void *arg)
{
	if (!file_is_replaced(path))
		return put_straight(path, put, arg);
	char *part = xasprintf("%s.part", path);
	FILE *to = NULL;
	struct err *e = file_create(part, &to);

	if (!e) {
		e = put(arg, to);
		e = err_first(e, file_close(to, part));
		if (!e && rename(part, path))
			e = err_sys(errno, "cannot rename %s", part);
		if (e)
			unlink(part);
	}
	free(part);
	return e;
}

struct err *file_write(const char *path, const void *p, size_t n)
{
	FILE *f;

	TRY(file_create(path, &f));
	fwrite(p, 1, n, f);
	return file_close(f, path);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	(void)!remove(path);
	return 0;
}

void file_remove_all(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int file_take(int fd, void *to, size_t n, size_t *ret_n)
{
	ssize_t got = 1;

	for (*ret_n = 0; *ret_n < n && got;) {
		got = read(fd, (char *)to + *ret_n, n - *ret_n);
		if (got < 0 && errno != EINTR)
			return errno;
		if (got > 0)
			*ret_n += (size_t)got;
	}
	return 0;
}
