/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of files, and files that tsdb makes. Those hold what programs had in memory, so only their
 * owner may read them (mode 0600; a file that was there keeps its mode), and one process at a time
 * writes one.
 */
#ifndef TS_FILE_H
#define TS_FILE_H

#include <stdio.h>
#include <string.h>
#include "base/err.h"

/* What is behind the last slash of a path; all of it if there is none. Points into path. */
static inline const char *file_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Creates path, or empties it; an advisory lock (flock(2)) makes a second writer fail with
 * ERR_STATE before it has changed anything. What is no regular file (a device, a FIFO, a socket) is
 * refused with ERR_USAGE. The descriptor reads and writes, closes on exec; it is the caller's, and
 * the lock ends with it. */
struct err *file_create_locked(const char *path, int *ret_fd) TS_CHECK;

/* Checks whether file_create_locked() would accept the file at path, or could create one; the
 * folder stays as it was. */
struct err *file_can_create(const char *path) TS_CHECK;

/* A stream for writing a new file, or one in the place of what was there. */
struct err *file_create(const char *path, FILE **ret) TS_CHECK;

/* Closes f in every case; returns an error when not all that was written reached the file. */
struct err *file_close(FILE *f, const char *path) TS_CHECK;

/* Whether a new file may take the place of what is at path: a file, or nothing. */
bool file_is_replaced(const char *path);

/* Has put() write the file beside its name, and gives it the name when it is whole; else what was
 * there stays. A device or a pipe is written to and stays what it is. */
struct err *file_put(const char *path, struct err *(*put)(void *arg, FILE *to), void *arg) TS_CHECK;

/* Replaces the file's contents by the n bytes at p. */
struct err *file_write(const char *path, const void *p, size_t n) TS_CHECK;

/* Reads n bytes of fd, or up to the file's end. *ret_n: how many. Returns 0, or the errno. */
int file_take(int fd, void *to, size_t n, size_t *ret_n);

/* Removes a folder and all in it; links are removed, not followed. Reports no error: it cleans up
 * after a failure. */
void file_remove_all(const char *dir);

#endif
