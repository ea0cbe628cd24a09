/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: the kernel's side. probes.c loads the BPF programs, attaches them
 * and reads the ring. Where tsdb was built without libbpf or clang, probes-none.c replaces it and
 * refuses to open.
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

/* Loads the programs. Where this is not permitted or not possible, the error is one sentence with
 * the cure. */
struct err *probes_open(struct probes **ret, const struct probes_options *o) TS_CHECK;
void probes_close(struct probes *p);
/* Attaches to the entry points of the library at path: the driver, or the runtime. pid -1: in every
 * process. A file is attached to once for each pid. *ret: the number of entry points; 0 when the
 * library has none. */
struct err *probes_attach(
	struct probes *p, const char *path, bool runtime, pid_t pid, unsigned *ret) TS_CHECK;
/* Turns the entry points that only give names on or off, in all libraries. Off at first. */
struct err *probes_names(struct probes *p, bool on) TS_CHECK;
/* Removes all probes; records already sent can still be read. */
void probes_detach(struct probes *p);
/* Ignores this process from now on. */
void probes_ignore(struct probes *p, pid_t pid);
/* Waits up to timeout_ms for a first record, then calls fn for all records that are there. */
struct err *probes_read(struct probes *p, int timeout_ms,
	struct err *(*fn)(void *arg, const void *record, size_t n), void *arg) TS_CHECK;
/* Addresses of a stack, innermost first, at most OBS_DEPTH; 0: there is none with this id. */
unsigned probes_stack(struct probes *p, int32_t id, uint64_t *ret);
void probes_counts(struct probes *p, uint64_t ret[OBS_COUNTS]);

#endif
