/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox of tsdb-replayer. A trace is a program, and its author may try to take over the
 * process that executes it. After sandbox_lock() that process can compute, use its GPU and answer
 * tsdb over its socket, and nothing else. docs/security.md says what each wall prevents, and what
 * none of them prevents.
 *
 * Landlock and capabilities belong to a thread, so the walls go up while there is only one thread,
 * and before a byte of the trace is read.
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
	bool soft;    /* the device is a software GPU */
	bool started; /* sandbox_start() was there: threads have begun */
	bool up[SANDBOX_WALLS];
	bool read_only;		      /* the namespaces keep files from being changed */
	bool empty_root;	      /* there are no files to open */
	char how[SANDBOX_WALLS][128]; /* what the wall does here; or why it is missing */
	/* a set of walls that TSDB_SANDBOX_WITHOUT=NAME,... leaves out, to find the one that stops
	 * a driver */
	unsigned without;
	int landlock; /* its ABI version; 0: none */
};

/* The wall's name: "landlock". */
const char *sandbox_wall_name(enum sandbox_wall w);

/* Done first in the process: no new privileges, namespaces, a session without a terminal; closes
 * all descriptors but the first three and `keep`. Afterwards the process sees the machine's files
 * and cannot change them. */
struct err *sandbox_begin(struct sandbox *b, int keep) TS_CHECK;
/* For a driver that starts before the process is locked in, since it needs files: puts up the walls
 * that threads inherit (limits, files, capabilities) while there is only one, and gives the process
 * a folder to write to, /tmp, which is its own where the namespaces keep the machine's from being
 * changed. The trace must be open already. What is left, system calls, sandbox_lock() forbids in
 * all threads: then no file can be opened any more, not even one that the rules permit. */
struct err *sandbox_start(struct sandbox *b, bool soft, void *driver) TS_CHECK;
/* Locks the process in for ever. driver is a function in the opened driver's library, whose folder
 * stays readable. Fails when the walls that went up are too few for a sandbox, or when there are
 * several threads and no sandbox_start() before it. */
struct err *sandbox_lock(struct sandbox *b, bool soft, void *driver) TS_CHECK;
/* Appends one line for each wall that is missing and matters: what the code of a trace could do
 * through the gap. */
void sandbox_gaps(const struct sandbox *b, struct buf *out);
/* Makes whole pages of memory read-only; for ever where the kernel can (mseal, Linux 6.10). addr
 * and size are multiples of 4096. */
struct err *sandbox_seal(void *addr, size_t size) TS_CHECK;

#endif
