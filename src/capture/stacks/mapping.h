/* SPDX-License-Identifier: Apache-2.0
 *
 * What is mapped for execution in this process, read from /proc/self/maps. The dynamic linker's
 * lock is not taken, because a thread that holds it may be waiting for the thread that runs the
 * agent.
 */
#ifndef CAPTURE_MAPPING_H
#define CAPTURE_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

#define MAPPING_SENT_MAX 8192 /* mappings of which a thread remembers that it sent them */

struct mapping {
	uint64_t start, end, bias;
	const char *path; /* "" for code that is in no file */
	uint32_t path_len;
	uint32_t number; /* of this (start, end, path); never changes */
	bool hidden;	 /* the agent, the source, the driver: left out of stacks */
};

void mapping_init(void);
/* The mapping that contains pc; reads the table again if there is none. NULL: pc is not in
 * executable memory. Valid for ever. */
const struct mapping *mapping_find(uint64_t pc);
/* Reads the table again: another library may have replaced one. */
void mapping_reload(void);
/* Sends the mapping's message on the thread's ring, once for each thread. */
void mapping_send(struct thread *t, const struct mapping *m);
/* Path of the mapping whose file name begins with prefix; reads the table again if there is none.
 * NULL: there is none. */
const char *mapping_path_of(const char *prefix);

#endif
