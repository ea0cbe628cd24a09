/* SPDX-License-Identifier: Apache-2.0
 *
 * What is mapped where in an observed process, from /proc/PID/maps. The maps are read when an
 * unknown address is met, because no event says when a library is loaded. What was known when the
 * process ended stays known.
 */
#ifndef OBSERVE_MAPS_H
#define OBSERVE_MAPS_H

#include <sys/types.h>
#include "base/err.h"
#include "sbt/sbt.h"

struct observe_maps;

struct mapped;

/* from: the file to read instead of /proc/PID/maps (tests); NULL. mapped: reports the mappings when
 * the process has ended; the caller owns it; may be NULL. */
struct observe_maps *observe_maps_new(pid_t pid, const char *from, struct mapped *mapped);
void observe_maps_free(struct observe_maps *m);
/* Reads the maps (again). Returns false if the process has ended. */
bool observe_maps_read(struct observe_maps *m);
/* The frame of an address: module is an index for observe_maps_module(); SBT_NO_ID and the plain
 * address when it is in no file. */
struct sbt_frame observe_maps_frame(struct observe_maps *m, uint64_t addr);
/* Whether there is code at addr, of a file or made at run time. */
bool observe_maps_code(struct observe_maps *m, uint64_t addr);
/* Module i; false past the end. */
bool observe_maps_module(struct observe_maps *m, uint32_t i, struct sbt_host_module *ret);
/* Calls fn for every mapped file whose last component begins with prefix. tsdb can open path, also
 * when the process runs in a container. Each path comes once for each reading. */
void observe_maps_files(struct observe_maps *m, const char *prefix,
	void (*fn)(void *arg, const char *path), void *arg);
/* Whether a file whose last component begins with prefix is mapped, without looking into any file.
 */
bool observe_maps_uses(const struct observe_maps *m, const char *prefix);
/* Name of the function that begins at addr, as in the symbol table (mangled); NULL: none. Valid as
 * long as m. */
const char *observe_maps_function(struct observe_maps *m, uint64_t addr);

#endif
