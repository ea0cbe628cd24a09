/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of /proc that the kernel makes from another process's memory: maps, cmdline, environ. While
 * that process holds the lock of its memory map, perhaps in a driver call that never ends, reading
 * them blocks. So a thread reads, and is left alone when it is not done in time; it ends when the
 * kernel lets it, or with tsdb.
 */
#ifndef TS_PROC_READ_H
#define TS_PROC_READ_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/buf.h"

#define MAPS_MOST ((size_t)64 << 20) /* bytes of a process's maps that are read */

/* Appends the contents of /proc/PID/NAME to ret, `most` bytes at most. False, with errno and ret
 * unchanged: it cannot be read; ETIMEDOUT: the process held it back for two seconds, charged as in
 * patience.h. While an earlier read of a file of that process is held back the others of it fail at
 * once. Any thread. */
bool proc_read(pid_t pid, const char *name, size_t most, struct buf *ret);
/* The same of any file that process pid may hold back. */
bool proc_read_file(pid_t pid, const char *path, size_t most, struct buf *ret);
/* Cuts the next line off text: its newline becomes NUL. NULL: there is none. */
char *proc_next_line(char **text);

#endif
