/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: one process that is observed, from its first record to its end: its
 * decoder, figures, stacks and trace.
 */
#ifndef OBSERVE_PROCESS_H
#define OBSERVE_PROCESS_H

#include <sys/types.h>
#include "observe/decode/observe-decode.h"
#include "observe/process/maps.h"
#include "observe/bpf/probes.h"
#include "observe/process/stats.h"

struct observe_stack {
	struct sbt_frame *frames;
	unsigned n;
	bool written; /* in the trace */
};

struct observe_process {
	pid_t pid;
	int pidfd;		   /* readable once it has ended; -1: none, kill() is used */
	char *name;		   /* what the kernel calls it */
	char *args;		   /* its command line */
	bool ended, soft, started; /* by tsdb */
	bool closed;		   /* its number may belong to another process now */
	unsigned quiet;		   /* turns since it has ended */
	struct observe_decoder *decoder;
	struct observe_stats stats;
	struct observe_maps *maps;
	struct kernel_names *kernel_names;
	struct probes *probes;	  /* whose stacks the records name; NULL in tests */
	struct handles stack_ids; /* (id in the kernel's map, caller), or the hash of a whole stack
				     -> index + 1 */
	struct observe_stack *stacks;
	unsigned nstacks;
	char *path; /* of the trace; NULL: none is written */
	struct sbt_writer *w;
	struct state *state; /* for keyframes; with w */
	uint32_t *modules;   /* by the maps' index: the trace's + 1 */
	uint32_t nmodules;
	uint64_t commands, first_ns, flushed_ns;
};

/* path: of the trace, NULL for none. argv: of a program that tsdb started, NULL for others. mapped:
 * see observe_maps_new(). */
struct observe_process *observe_process_new(pid_t pid, struct probes *probes, const char *path,
	char *const *argv, struct mapped *mapped);
/* Ends the trace, with lost records counted. */
struct err *observe_process_end(struct observe_process *p, uint64_t lost) TS_CHECK;
void observe_process_free(struct observe_process *p);
/* A record of this process. */
struct err *observe_process_take(struct observe_process *p, const void *record, size_t n) TS_CHECK;
/* Called now and then: flushes what was written to the file. */
struct err *observe_process_tick(struct observe_process *p, uint64_t now_ns) TS_CHECK;
/* Whether it has ended. */
bool observe_process_ended(struct observe_process *p);

#endif
