/* SPDX-License-Identifier: Apache-2.0
 *
 * The process's address space, from /proc/self/maps, one area at a time; adjacent areas are joined.
 */
#ifndef CAPTURE_AREAS_H
#define CAPTURE_AREAS_H

#include <stdbool.h>
#include <stdint.h>

struct maps_line; /* base/maps-line.h */

struct area {
	uint64_t start, end;
};
/* Calls fn for each line of the list, which is read first, until it returns true. The line is fn's
 * until it returns. Returns false if the list could not be read. */
bool areas_lines(bool (*fn)(void *arg, const struct maps_line *l), void *arg);
/* Calls fn for areas that may have the driver's memory, until it returns true: all but mappings of
 * files, the stack of the first thread and the kernel's own pages. Reservations without read
 * permission count. Returns false if the list could not be read. */
bool areas_each(bool (*fn)(void *arg, const struct area *a), void *arg);
/* Calls fn for readable memory of the program that may have code images: private and writable
 * memory, or mappings of files with GPU code (file is the name, else NULL). Areas are not
 * joined. */
bool areas_readable(bool (*fn)(void *arg, const struct area *a, const char *file), void *arg);

#endif
