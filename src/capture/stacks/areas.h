/* SPDX-License-Identifier: Apache-2.0
 *
 * The process's address space as /proc/self/maps tells it, one area at a time, adjacent ones joined.
 */
#ifndef CAPTURE_AREAS_H
#define CAPTURE_AREAS_H

#include <stdbool.h>
#include <stdint.h>

struct area {
	uint64_t start, end;
};
/* Where memory of the driver's may be: all but files' mappings, the stack of the first thread and the kernel's own pages; reservations that nobody can
 * read count. Calls fn until it returns true. False: the list could not be read. */
bool areas_each(bool (*fn)(void *arg, const struct area *a), void *arg);
/* Memory that the program itself can read and may have code images in: private and writable, or mapped from a file that holds GPU code (the file's name,
 * else NULL). Not joined. */
bool areas_readable(bool (*fn)(void *arg, const struct area *a, const char *file), void *arg);

#endif
