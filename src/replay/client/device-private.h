/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside device.h: device-process.c starts, feeds and buries the replayer; device.c knows what to ask it and what to do when it is gone.
 */
#ifndef REPLAY_DEVICE_PRIVATE_H
#define REPLAY_DEVICE_PRIVATE_H

#include <sys/types.h>
#include "base/patience.h"
#include "replay/device.h"

/* A request that a fresh process must be told again: a what-if, and where it was made. */
struct device_edit {
	uint64_t at;
	uint32_t type; /* enum replayer_type */
	struct buf body;
};

#define DEVICE_SILENT 1000u /* no answer in time */

struct device {
	char *replayer, *trace, *softgpu;
	uint64_t first, last;
	unsigned flags, timeout_ms;
	bool no_sandbox;
	unsigned attempt; /* at placing the memory: device_child_layout() */
	volatile bool *interrupt;
	struct patience *budget; /* of device_budget(); NULL: none */
	void (*progress)(void *arg, enum device_doing doing, uint64_t seq);
	void *progress_arg;
	enum device_doing doing;
	void (*said)(void *arg, const char *text, size_t n);
	void *said_arg;
	int said_fd;   /* the end of the replayer's standard output that we read; -1 */
	uint32_t asked; /* the type of the message sent last */
	bool back;	/* it goes back: what is executed then was executed for the user before */

	pid_t pid; /* 0: no process */
	int fd;	   /* ours, non-blocking; -1 */
	struct buf out; /* messages not yet sent */
	struct buf in;	/* body of the last reply */

	uint64_t pos;	/* of the replayer, if it lives and is not astray */
	uint64_t want;	/* where the caller believes to be */
	uint64_t done;	/* known to have finished */
	bool astray;	/* pos is not known */
	bool blaming;	/* looking for the command that broke the device */
	uint64_t late;	/* of the last hit of device_run() */
	uint64_t culprit, culprit_first; /* of the last failure; 0 */
	unsigned error; /* of the last failure: enum replayer_error_code, or DEVICE_SILENT; 0 */

	uint64_t inside;  /* the launch under the microscope; 0: none. device-kernel.c */
	uint64_t graph;	  /* the graph launch that it is in the middle of; 0: none. device-node.c */
	uint32_t step;	  /* so many are done */
	uint64_t outside; /* where the caller believed to be before it */
	struct soft_stop stop;

	struct device_edit *edits;
	size_t nedits, cap_edits;
	struct device_info info;
	char *notes;
};

/* ---- device-said.c ---- */
/* The pipe; *ret_end is to be the replayer's standard output, owned by the caller. */
struct err *device_said_open(struct device *d, int *ret_end) TS_CHECK;
/* Hands on what has come. Never waits. */
void device_said_take(struct device *d);
void device_said_close(struct device *d);

/* For device-kernel.c: a living process where the caller believes to be; and what every failure that may have moved it goes through. */
struct err *device_ready(struct device *d) TS_CHECK;
struct err *device_failed(struct device *d, struct err *e) TS_CHECK;

/* The attempts at placing the memory: so many processes are tried when a recorded address is taken in each. */
#define DEVICE_ATTEMPTS 4u

/* The replayer's environment, with the number of its end of the socket: a list to free. */
char **device_child_env(const struct device *d, int fd);
void device_child_env_free(char **env);
/* After fork, before exec: how the new program lies in its address space. */
void device_child_layout(unsigned attempt);
/* Forks and executes; the socket is set up. */
struct err *device_spawn(struct device *d) TS_CHECK;
/* Kills and reaps; harmless without a process. Returns the wait status it had died with, or -1 when we killed it. */
int device_bury(struct device *d);
/* An error when the process has died meanwhile; it is buried then. */
struct err *device_alive(struct device *d) TS_CHECK;
/* Appends a message; nothing is sent unless much has gathered. */
struct err *device_post(struct device *d, uint32_t type, const void *body, size_t n, const void *tail, size_t tail_n) TS_CHECK;
/* Sends all and waits for one reply: its body is in d->in, of at least size bytes. An ERROR becomes an err, d->culprit is set. */
struct err *device_reply(struct device *d, size_t size) TS_CHECK;

/* ---- for device-watch.c ---- */
/* A request about the position; the reply is in d->in. */
struct err *device_ask(struct device *d, uint32_t type, const void *body, size_t n, size_t reply) TS_CHECK;
/* One that executes towards seq `to`; the reply begins with the position it got to. */
struct err *device_ask_run(struct device *d, uint32_t type, const void *body, size_t n, size_t reply, uint64_t to) TS_CHECK;

#endif
