/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's half of a wait-for graph: streams, commands, events, kernels in flight, values in
 * memory. Private to the drawer.
 */
#ifndef ENGINE_WHY_DEVICE_H
#define ENGINE_WHY_DEVICE_H

#include "engine/live-look.h"
#include "engine/why/why-private.h"
#include "gpucode/ptx-spins.h"

/* A kernel that waits, by its code and by the values that two looks have read. */
struct why_kept {
	uint64_t seq;
	struct ptx_spins is;
	char place[96]; /* "app.cu:9"; "": not known */
	bool whole;	/* its lanes are all in loops, if they have begun */
	uint64_t step;	/* of a graph launch: what its node in the answer has for an id; else 0 */
	char name[96];	/* of a step */
};

#define WHY_KEPT_MAX 4u
/* What the commands of a stream are, of which the driver says only that not all have finished. */
struct why_queue {
	uint32_t stream;
	bool sure; /* the device is at one of `kept` */
	struct why_kept kept[WHY_KEPT_MAX];
	unsigned nkept;
	uint64_t open_seq; /* a command that may be running; 0: none was found */
	const char *why;   /* it may be; a sentence about "it" */
};

/* What the files of the device's half share. */
struct why_device {
	struct why *w;
	struct engine *en;
	const struct live_look *look; /* NULL: nobody can look */
	const struct state *state;    /* as far as the device is */
	const struct why_process *p;
	pid_t pid;
	struct why_queue *queue; /* why_queues() */
	unsigned nqueues;
};

/* --- why-streams.c --- */
/* Adds streams that have work, and what their heads wait for. */
void why_streams(struct why_device *d);
/* The stream's node; made if need be. */
uint32_t why_stream_node(struct why_device *d, uint32_t stream);
/* The command's node, and that it is behind its stream's head; made if need be. WHY_NONE: it is not
 * pending. */
uint32_t why_command_node(struct why_device *d, uint64_t seq);
/* Says of a command that is queued that it would write what somebody waits for. */
void why_would_write(struct why_device *d, uint32_t node);
/* What the edge from a queued command to its stream's head is called. */
#define WHY_BEHIND "is behind"
/* The command in full, if it is one of the last few thousand. */
bool why_command(const struct why_device *d, uint64_t seq, struct sbt_cmd *ret);
/* For how long, in text: "312 s". */
const char *why_time(uint64_t ns, char to[32]);

/* --- why-kernels.c --- */
/* What the look saw of the launch, or graph launch, with this node. */
void why_kernel(struct why_device *d, uint32_t node, const struct sbt_cmd *c, uint32_t corr);
/* Whether the launch is in flight and proven to do nothing more until what it reads changes: all
 * its blocks have begun. */
bool why_only_loops(const struct why_device *d, const struct sbt_cmd *c);
/* A launch that waits by its code; q: the queue that it is in. */
void why_kept_kernel(struct why_device *d, uint32_t node, const struct why_queue *q);
/* A kernel in flight of which nothing was recorded: its node. */
uint32_t why_late_kernel(struct why_device *d, uint32_t corr);

/* --- why-moves.c --- */
/* What two looks show of a kernel; first: NULL, it was not there. *how is set: a phrase. */
enum why_moved why_kernel_moved(
	const struct soft_look_kernel *first, const struct soft_look_kernel *second, char **how);
bool why_same_reads(const struct soft_look_kernel *a, const struct soft_look_kernel *b);
/* Adds samples of the memory that queued launches were given to the questions of a look. */
void why_sum_questions(struct tsdb_look *l, const struct recorder *r, const struct state *s);
/* Where nothing looks inside: whether that memory has changed, said of the stream's command `node`
 * at which the device may be. */
void why_memory_moves(struct why_device *d, uint32_t stream, uint32_t node);

/* --- why-queue.c --- */
/* Fills in d->queue, where the device is not looked into; the caller frees it. */
void why_queues(struct why_device *d);
/* NULL: there is nothing to say. */
const struct why_queue *why_queue_of(const struct why_device *d, uint32_t stream);
/* Whether the command is a kernel that only waits, by its code. */
bool why_is_kept(const struct why_device *d, uint64_t seq);

/* Whether a step of a graph launch (why_step_id()) is such a kernel. */
bool why_is_kept_step(const struct why_device *d, uint64_t seq, uint64_t step);

/* --- why-peers.c --- */
#define WHY_PEERS 4u
/* Attaches to the processes that this one waits for and that use the GPU; fills in up to WHY_PEERS,
 * stopped. Each goes to why_peer_end(). */
unsigned why_peers_begin(struct engine *en, const struct why_process *p, struct inferior **ret);
void why_peer_end(struct inferior *inf);

/* --- why-helpers.c --- */
/* By a thread's name, whether it is one that never acts for the program. */
bool why_helper_name(const char *name);
/* By its stack: all of it lies in libraries of the driver and the vendor's tools, and in the C
 * library, where every thread begins. One that ends elsewhere was not unwound whole: false. */
bool why_helper_stack(const struct stack *st);

/* --- why-callbacks.c --- */
bool why_has_callbacks(const struct why_device *d); /* that are pending */
/* Whether a host function that is pending is on the stack. */
bool why_runs_callback(const struct why_device *d, const struct stack *st);
/* If the stream is at a host function, adds that and the thread, and returns true. */
bool why_at_callback(struct why_device *d, const struct state_stream *st, uint32_t stream);

/* --- late-streams.c --- */
/* Streams with work of which only the look knows, since tsdb came late. Returns how many. */
unsigned why_late_streams(struct why_device *d);

/* --- why-values.c --- */
/* The node of a value in memory that somebody waits for, with those that may write it. now: the
 * bytes that are there; reader: the node that reads, not a writer for its own sake. */
uint32_t why_value(struct why_device *d, uint64_t addr, unsigned bytes, uint64_t now);
/* Whether other processes, or devices, may have the memory, too. a->size 0: no allocation. */
bool why_is_shared(const struct why_device *d, uint64_t addr, const struct state_alloc *a);
/* Every thread and stream may write: for memory whose address is not known. */
void why_anybody(struct why_device *d, uint32_t node);

#endif
