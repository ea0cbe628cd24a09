/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: struct observe, the whole of an observation. observe.c runs it,
 * observe-launch.c starts a program, table.c shows it.
 */
#ifndef OBSERVE_PRIVATE_H
#define OBSERVE_PRIVATE_H

#include "observe/bpf/mapped.h"
#include "observe/observe.h"
#include "observe/process/observed.h"

struct observe_library {
	char *path;
	unsigned calls; /* entry points probed there */
	bool runtime;
};

struct observe {
	struct observe_options o;
	struct probes *probes;
	pid_t pid;  /* the one that was given or started; 0: all */
	bool child; /* ... tsdb started it */
	bool finished, has_status, ended;
	int status;
	struct observe_maps *maps; /* of pid: to find libraries */
	/* of a program that tsdb started; NULL where the kernel does not support it */
	struct mapped *mapped;
	struct observe_library *libraries;
	unsigned nlibraries;
	struct observe_process **processes;
	unsigned nprocesses;
	struct err *failed; /* in a callback */
	uint64_t start_ns, end_ns, looked_ns, nameless, nameless_ns, counts[OBS_COUNTS];
	bool told_lost, told_nothing;
	struct symbols *symbols;
};

/* observe-launch.c: starts argv, which waits before its exec until observe_launch_go(). *ret_go: a
 * descriptor for that. */
struct err *observe_launch(
	char *const *argv, const char *softgpu, pid_t *ret, int *ret_go) TS_CHECK;
struct err *observe_launch_go(int go, pid_t pid, const char *program) TS_CHECK;

#endif
