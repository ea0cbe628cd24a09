/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: the kernel's side. probes.c loads the BPF programs, attaches them and reads the ring; probes-none.c stands in
 * where tsdb was built without libbpf or clang, and refuses.
 */
#ifndef OBSERVE_PROBES_H
#define OBSERVE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "observe/bpf/probe.h"

struct probes;

struct probes_options {
	uint32_t ring_bytes; /* a power of two of pages; 0: 16 MiB */
	bool no_stacks;
	bool wake; /* wake the reader at each process's first record */
};

/* Loads the programs. Where that is not permitted or not possible: one sentence with the cure. */
struct err *probes_open(struct probes **ret, const struct probes_options *o) TS_CHECK;
void probes_close(struct probes *p);
/* Attaches to the entry points that the library at path has: the driver's, or the runtime's. pid -1: in every process. The same file is
 * attached to once for each pid. *ret: how many entry points; 0 when none is there. */
struct err *probes_attach(struct probes *p, const char *path, bool runtime, pid_t pid, unsigned *ret) TS_CHECK;
/* Entry points that only tell names: on or off, in all libraries. Off at first. */
struct err *probes_names(struct probes *p, bool on) TS_CHECK;
/* Takes all probes away; what they sent can still be read. */
void probes_detach(struct probes *p);
/* Nothing of this process. */
void probes_ignore(struct probes *p, pid_t pid);
/* Waits up to timeout_ms for a first record, then hands over all that is there. */
struct err *probes_read(struct probes *p, int timeout_ms, struct err *(*fn)(void *arg, const void *record, size_t n), void *arg) TS_CHECK;
/* Addresses of a stack, innermost first, at most OBS_DEPTH; 0: there is none with this id. */
unsigned probes_stack(struct probes *p, int32_t id, uint64_t *ret);
void probes_counts(struct probes *p, uint64_t ret[OBS_COUNTS]);

#endif
