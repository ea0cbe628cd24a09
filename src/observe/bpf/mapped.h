/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: the code that a program of ours maps, as the kernel tells it (perf_event_open(2)). A program that ends before anybody
 * has looked into its /proc/PID/maps has addresses that mean something all the same.
 */
#ifndef OBSERVE_MAPPED_H
#define OBSERVE_MAPPED_H

#include <stdint.h>
#include <sys/types.h>

struct mapped;

struct mapped_area {
	uint64_t start, end, offset; /* in the file */
	char *path;		     /* as /proc/PID/maps has it; not a file's where it does not begin with a slash. May be changed. */
};

/* From now on, of all threads of pid. NULL: the kernel does not do it. The caller closes. */
struct mapped *mapped_open(pid_t pid);
void mapped_close(struct mapped *m);
/* All that its present program has mapped so far, in that order; a later one takes the place of what it overlaps. */
void mapped_each(struct mapped *m, void (*fn)(void *arg, const struct mapped_area *a), void *arg);

#endif
