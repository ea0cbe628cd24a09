/* SPDX-License-Identifier: Apache-2.0
 *
 * What a format works with: the commands one after the other, each with its name, device, times,
 * bytes and what it waited for, and host stacks with names.
 */
#ifndef EXPORT_JOB_H
#define EXPORT_JOB_H

#include "export/export.h"
#include "state/stream-time.h"

enum export_what {
	EXPORT_KERNEL,
	EXPORT_GRAPH,
	EXPORT_COPY,
	EXPORT_FILL,
	EXPORT_OTHER_WORK, /* events, waits, host functions, values in memory */
	EXPORT_HOST_WAIT,  /* a sync; comes when its sync_end does */
	EXPORT_RANGE,	   /* NVTX; comes at its pop, with the name that it was pushed with */
	EXPORT_MARK,	   /* NVTX */
	EXPORT_CALL,	   /* any other */
};
enum { EXPORT_WAITS_MAX = 16 };

/* What is allocated on a device, as `info devices` has it. */
struct export_memory {
	uint32_t device;
	uint64_t bytes;
};
enum { EXPORT_DEVICES_MAX = 256 };

struct export_event {
	const struct sbt_cmd *c;
	enum export_what what;
	const char *name;	 /* a kernel's C++ name, "copy h2d", a mark's text, else the kind */
	uint32_t kernel;	 /* SBT_NO_ID: none */
	uint32_t stream, device; /* of work; SBT_NO_ID, 0: of none */
	bool timed;
	uint64_t gpu_ns;   /* if timed; starts at c->gpu_start_ns */
	uint64_t host_end; /* of a host wait or a range: when it ended; 0: not known */
	uint64_t bytes;	   /* that a copy or a fill moves or sets */
	/* Work on other streams that this one waited for by an event: seqs. */
	uint64_t waits[EXPORT_WAITS_MAX];
	unsigned nwaits;
	/* What its stream did since the end of its last work, up to the end of this one; for
	 * formats with states. */
	const struct stream_span *spans;
	unsigned nspans;
	/* Devices on which it changed how much is allocated; for formats with memory. */
	const struct export_memory *memory;
	unsigned nmemory;
};
/* As the state machine calls it: "Idle", "Wait", "Dispatch Pending", "Running". */
const char *export_doing_name(enum stream_doing what);

/* One function of a host stack. Texts live as long as the job. */
struct export_frame {
	const char *function; /* never NULL: "app+0x1234" if it has no name */
	const char *file;     /* or NULL */
	unsigned line;	      /* 0: not known */
	bool python;
};
struct export_stack {
	bool runtime; /* the call came through the GPU runtime, not straight to the driver */
	unsigned n;
	struct export_frame frames[]; /* outermost first */
};

/* What is known of a kernel. */
struct export_kernel {
	const char *name;    /* NULL: not known */
	const char *mangled; /* as the compiler wrote it */
	const char *brief;   /* without arguments and namespaces */
	uint64_t regs, static_shared;
};

struct export_job {
	const struct export_ask *ask;
	/* The source that is being read. Ids of commands, kernels, streams, threads and stacks are
	 * its own; export_next() goes on to the next one when it is over. */
	unsigned source;
	const struct sbt_meta *meta; /* of it */
	FILE *f;
	struct zip *zip; /* into f, in place of the lines themselves; NULL: none */
	struct buf line; /* for the format's use: flushed by export_flush() */
	struct export_result *result;
	struct export_walk **walks; /* by source; NULL: not begun */
};

/* The next command that is asked for; *ret NULL at the end, or after cancelled(). Valid until the
 * next call. */
struct err *export_next(struct export_job *j, const struct export_event **ret) TS_CHECK;
/* The stack with this id in the source; NULL: there is none. Lives as long as the job. */
const struct export_stack *export_stack(struct export_job *j, uint32_t id);
/* NULL: not seen. */
const struct export_kernel *export_kernel(const struct export_job *j, uint32_t id);
/* Above the largest id of a kernel that was seen. */
uint32_t export_kernels(const struct export_job *j);
/* The operating system's id of a thread; 0: not known. */
uint32_t export_os_tid(const struct export_job *j, uint32_t thread);
/* The device's name and figures, from its record; NULL: there was none so far. Valid until the next
 * event. */
const struct sbt_cmd_device *export_device(const struct export_job *j, uint32_t device);
/* Writes j->line and empties it. */
struct err *export_flush(struct export_job *j) TS_CHECK;
/* The same once it has grown. */
struct err *export_flush_some(struct export_job *j) TS_CHECK;
/* ERR_INCOMPLETE: the format, or its weight, needs GPU times and there are none. */
struct err *export_no_times(const struct export_job *j) TS_CHECK;

/* Private to core: begins the pass over a source, and ends that over all. */
struct err *export_begin(struct export_job *j, unsigned source) TS_CHECK;
void export_end(struct export_job *j);

#endif
