/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to probes.c, which loads the programs and reads the ring, and probes-attach.c, which
 * places the probes.
 */
#ifndef OBSERVE_PROBES_PRIVATE_H
#define OBSERVE_PROBES_PRIVATE_H

#include <bpf/libbpf.h>
#include <sys/stat.h>
#include "observe/decode/observe-calls.h"
#include "observe/bpf/probes.h"

enum program { ENTER, ENTER_PEEK, ENTER_CONFIG, LEAVE, ENTER_RUNTIME, PROGRAMS };

/* Probes in the kernel: one link for many places, or one for each. */
struct hooks {
	int *fds;
	struct bpf_link **links;
	unsigned nfds, nlinks;
};

struct library {
	char *path;
	dev_t dev;
	ino_t ino;
	pid_t pid;
	uint64_t *offset;	   /* in the file, by call; 0: the library lacks it */
	uint64_t *given;	   /* where cuGetProcAddress has it, when that is somewhere else */
	struct hooks hooks, names; /* names: of the calls that only tell names */
};

struct probes {
	struct probes_options o;
	struct bpf_object *object;
	struct bpf_program *program[PROGRAMS];
	int stacks, counts, procs;
	struct ring_buffer *ring;
	struct library *libraries;
	unsigned nlibraries;
	bool names;
	bool multi; /* one link can have many places */
	struct err *(*fn)(void *arg, const void *record, size_t n);
	void *arg;
	struct err *failed;
};

#define PROBES_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, linux/bpf.h since 6.6 */

/* Makes one sentence, with its cure, from the kernel's refusal sys. */
struct err *probes_refused(int sys, const char *what) TS_CHECK;
/* Whether this kernel has links with many places, which follow all threads of a process. */
bool probes_has_multi(void);

#endif
