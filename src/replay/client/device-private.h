/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind device.h: device-process.c starts, feeds and reaps the replayer;
 * device.c decides what to ask it and how to go on when it has died.
 */
#ifndef REPLAY_DEVICE_PRIVATE_H
#define REPLAY_DEVICE_PRIVATE_H

#include <sys/types.h>
#include "base/patience.h"
#include "replay/device.h"

/* A what-if: a request to repeat in a fresh process, and the position where it was made. */
struct device_edit {
	uint64_t at;
	uint32_t type; /* enum replayer_type */
	struct buf body;
};

#define DEVICE_SILENT 1000u /* no answer in time */

struct device {
	char *replayer, *trace, *softgpu, *amd_target;
	uint64_t first, last;
	unsigned flags, timeout_ms;
	unsigned limit_s; /* 0: the environment says */
	bool no_sandbox;
	unsigned attempt; /* at placing the memory: device_child_layout() */
	volatile bool *interrupt;
	struct patience *budget; /* of device_budget(); NULL: none */
	void (*progress)(void *arg, const struct device_progress *p);
	void *progress_arg;
	enum device_doing doing;
	bool on_way;	   /* of SEEK, RUN: the replayer has said where it is */
	uint64_t from, at; /* ... at first, and since */
	void (*said)(void *arg, const char *text, size_t n);
	void *said_arg;
	void (*undone)(void *arg, uint64_t seq);
	void *undone_arg;
	uint64_t changed; /* the last reply's head */
	int said_fd;	  /* the end of the replayer's standard output that we read; -1 */
	uint32_t asked;	  /* the type of the message sent last */
	bool back;	  /* it goes back over commands that were executed for the user before */

	pid_t pid;	/* 0: no process */
	int fd;		/* ours, non-blocking; -1 */
	struct buf out; /* messages not yet sent */
	struct buf in;	/* body of the last reply */

	uint64_t pos;  /* of the replayer, if it lives and is not astray */
	uint64_t want; /* the caller's position */
	uint64_t done; /* known to have finished */
	bool astray;   /* pos is not known */
	bool again;    /* a fresh process goes to where the last one could not go back */
	uint64_t late; /* of the last hit of device_run() */
	uint64_t culprit, culprit_first; /* of the last failure; 0 */
	unsigned error; /* of the last failure: enum replayer_error_code, or DEVICE_SILENT; 0 */

	uint64_t inside;  /* the launch under the microscope; 0: none. device-kernel.c */
	uint64_t graph;	  /* the graph launch that it is in the middle of; 0: none. device-node.c */
	uint32_t step;	  /* steps done in it */
	uint64_t outside; /* where the caller believed to be before it */
	struct soft_stop stop;

	struct soft_probe *probes; /* of device_options; NULL: none */
	unsigned nprobes;

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

/* For device-kernel.c. device_ready() gives a living process at the caller's position;
 * device_failed() handles every failure that may have moved the device. */
struct err *device_ready(struct device *d) TS_CHECK;
struct err *device_failed(struct device *d, struct err *e) TS_CHECK;

/* How many processes are tried when some recorded address is already in use in each of them. */
#define DEVICE_ATTEMPTS 4u

/* The replayer's environment, with the number of its end of the socket. Free it with
 * device_child_env_free(). */
char **device_child_env(const struct device *d, int fd);
void device_child_env_free(char **env);
/* Called after fork and before exec: sets the layout of the new program's address space. */
void device_child_layout(unsigned attempt);
/* Forks and executes the replayer, and sets up the socket. */
struct err *device_spawn(struct device *d) TS_CHECK;
/* Kills and reaps the replayer; does nothing without a process. Returns the wait status if it had
 * died by itself, -1 if this call killed it. */
int device_bury(struct device *d);
/* Returns an error if the process has died meanwhile; the process is then reaped. */
struct err *device_alive(struct device *d) TS_CHECK;
/* Appends a message to the buffer. Sends only when the buffer has grown large. */
struct err *device_post(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n) TS_CHECK;
/* Sends everything and waits for one reply, whose body of at least size bytes is in d->in. An ERROR
 * reply becomes an err and sets d->culprit. */
struct err *device_reply(struct device *d, size_t size) TS_CHECK;

/* ---- for device-watch.c ---- */
/* Sends a request that does not move; the reply is in d->in. */
/* A request that a fresh process gets again, in place of the earlier one of its type; off: it ends
 * that one. */
struct err *device_edit(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n, bool off) TS_CHECK;
struct err *device_ask(
	struct device *d, uint32_t type, const void *body, size_t n, size_t reply) TS_CHECK;
/* Sends a request that executes towards seq `to`; the reply begins with the position reached. */
struct err *device_ask_run(struct device *d, uint32_t type, const void *body, size_t n,
	size_t reply, uint64_t to) TS_CHECK;

#endif
