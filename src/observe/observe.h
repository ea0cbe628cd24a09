/* SPDX-License-Identifier: Apache-2.0
 *
 * Observing without touching: what the room observe offers. BPF programs on the entry points of the
 * CUDA driver (and, on request, the runtime) see every call of a running process, without stopping
 * it and without a library in it. Their records go through a ring that is read on a timer and
 * become commands; the commands feed a live table and, on request, a trace that is marked observed.
 *
 *   observe.bpf.c (kernel) -> probes.c -> observed.c -> observe-decode.c -> commands
 *   commands -> stats.c -> table.c
 *   commands -> sbt writer
 *
 * All calls come from one thread. Nothing here prints.
 */
#ifndef OBSERVE_OBSERVE_H
#define OBSERVE_OBSERVE_H

#include <sys/types.h>
#include "base/buf.h"
#include "base/err.h"

struct observe;
struct symbols;

struct observe_options {
	pid_t pid;	     /* a process that runs; 0 */
	char *const *argv;   /* a program to start; NULL */
	bool all;	     /* every process that uses the driver */
	const char *softgpu; /* argv: folder of the software GPU's libraries to put first; NULL: the
			      * machine's driver. all: probed besides the machine's driver */
	const char *output;  /* the trace; %p is the process's number, %h the machine's name; NULL:
				none */
	bool no_stacks;
	/* also probe the runtime's entry points: stacks then begin in the program, and kernels
	 * launched before have names */
	bool runtime;
	uint32_t ring_bytes; /* 0: 16 MiB */
};

/* Returns NULL if this machine lets tsdb observe; else why not, and the cure. */
struct err *observe_possible(void) TS_CHECK;
/* Name of the i-th entry point that is probed where a library has it; NULL past the end. */
const char *observe_entry_point(unsigned i);
/* Appends a script for bpftrace with the probes that the library has. ERR_NOT_FOUND: it has none;
 * ERR_UNSUPPORTED: bpftrace cannot name it. */
struct err *observe_script(const char *library, struct buf *out) TS_CHECK;
/* The machine's driver, where such libraries usually are, or else that in the folder softgpu: a
 * heap string. NULL: there is none; softgpu may be NULL. */
char *observe_usual_driver(const char *softgpu);
/* Loads and attaches the probes, and starts the program, if there is one. Every refusal is one
 * sentence with its cure. */
struct err *observe_open(struct observe **ret, const struct observe_options *o) TS_CHECK;
/* Reads the records that have come, waiting up to timeout_ms; looks for processes that ended and
 * for newly loaded libraries. */
struct err *observe_turn(struct observe *o, int timeout_ms) TS_CHECK;
/* Whether the given or started process has ended. Never true with all. */
bool observe_finished(const struct observe *o);
/* The wait status of the program that was started, once observe_finished(). Returns false if it
 * still runs, or if there is none. */
bool observe_status(const struct observe *o, int *ret);
/* The process that was started or given; 0 with all. */
pid_t observe_pid(const struct observe *o);
/* Detaches, reads the remaining records and ends the traces. The figures can still be shown. */
struct err *observe_end(struct observe *o) TS_CHECK;
void observe_free(struct observe *o);

/* ---- showing ---- */

struct observe_look {
	unsigned rows, columns; /* of the screen; 0: no limit */
	unsigned top;		/* kernels and places at most; 0: as rows allow, or 10 */
	bool final;		/* totals, not rates */
};
/* Computes the rates since the last call. */
void observe_rates(struct observe *o);
/* Appends the live table. */
void observe_table(struct observe *o, const struct observe_look *look, struct buf *out);
/* One line for each process: "12.0 s  pid 4711 train  launches 4,321/s ...". */
void observe_lines(struct observe *o, struct buf *out);
/* One JSON object, one line. */
void observe_json(struct observe *o, const struct observe_look *look, struct buf *out);
/* Appends what was probed, one line for each library: "187 entry points of
 * /usr/lib/.../libcuda.so.1". */
void observe_about(struct observe *o, struct buf *out);
/* Appends sentences that the user should see (lost records, no driver found yet), one line each,
 * each only once. */
void observe_notes(struct observe *o, struct buf *out);

#endif
