/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox round tsdb-replayer. A trace is a program, and whoever made it may have made it to take over the process that executes it: from
 * sandbox_lock() on, that process can compute, talk to its GPU and answer tsdb over its socket, and nothing else. docs/security.md says what
 * each wall keeps in, and what none of them does.
 *
 * Landlock and capabilities belong to a thread, so the walls go up while there is one thread only, and before a byte of the trace is read.
 */
#ifndef REPLAY_SANDBOX_H
#define REPLAY_SANDBOX_H

#include "base/buf.h"
#include "base/err.h"

enum sandbox_wall {
	SANDBOX_NAMESPACES,   /* no network, no System V objects, file systems mounted read-only */
	SANDBOX_LIMITS,	      /* memory, processor time, open files, no core */
	SANDBOX_LANDLOCK,     /* files, signals to others, execution */
	SANDBOX_CAPABILITIES, /* none left */
	SANDBOX_SECCOMP,      /* system calls */
	SANDBOX_WALLS
};

struct sandbox {
	bool soft;		      /* the device is the software GPU */
	bool up[SANDBOX_WALLS];
	bool read_only;		      /* the namespaces keep files from being changed */
	bool empty_root;	      /* there are no files to open */
	char how[SANDBOX_WALLS][128]; /* what the wall does here; or why it is missing */
	unsigned without;	      /* a set of walls: left out, by TSDB_SANDBOX_WITHOUT=NAME,... (to find the one that a driver needs left out) */
	int landlock;		      /* its ABI version; 0: none */
};

/* The wall's name: "landlock". */
const char *sandbox_wall_name(enum sandbox_wall w);

/* What must be done at the process's beginning: no new privileges, namespaces, a session without a terminal, all descriptors but the first three and
 * `keep` closed. Afterwards the process sees the machine's files, and cannot change them. */
struct err *sandbox_begin(struct sandbox *b, int keep) TS_CHECK;
/* Shuts the process in for ever: driver is a function in the opened driver's library, whose folder stays readable. An error when what is left would
 * be no sandbox, or when there are several threads. */
struct err *sandbox_lock(struct sandbox *b, bool soft, void *driver) TS_CHECK;
/* A sentence for each wall that is missing and matters, a line each: what the code of a trace could do through the gap. */
void sandbox_gaps(const struct sandbox *b, struct buf *out);
/* Makes whole pages of memory read-only, where the kernel can for ever (mseal, Linux 6.10). addr and size are multiples of 4096. */
struct err *sandbox_seal(void *addr, size_t size) TS_CHECK;

#endif
