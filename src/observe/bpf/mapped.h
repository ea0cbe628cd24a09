/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: the code that a program started by tsdb maps, as the kernel reports
 * it (perf_event_open(2)). So addresses of a program that ends before its /proc/PID/maps was read
 * can still be resolved.
 */
#ifndef OBSERVE_MAPPED_H
#define OBSERVE_MAPPED_H

#include <stdint.h>
#include <sys/types.h>

struct mapped;

struct mapped_area {
	uint64_t start, end, offset; /* in the file */
	char *path; /* as /proc/PID/maps has it; not a file's where it does not begin with a slash.
		       May be changed. */
};

/* Begins to record mappings of all threads of pid. NULL: the kernel does not support it. The caller
 * closes it. */
struct mapped *mapped_open(pid_t pid);
void mapped_close(struct mapped *m);
/* Calls fn for all that the present program has mapped so far, in order; a later area replaces what
 * it overlaps. */
void mapped_each(struct mapped *m, void (*fn)(void *arg, const struct mapped_area *a), void *arg);

#endif
