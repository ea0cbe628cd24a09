/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's half of a wait-for graph: streams, commands, events, kernels in flight, values in
 * memory. Private to the drawer.
 */
#ifndef ENGINE_WHY_DEVICE_H
#define ENGINE_WHY_DEVICE_H

#include "engine/live-look.h"
#include "engine/why/why-private.h"

/* What the files of the device's half share. */
struct why_device {
	struct why *w;
	struct engine *en;
	const struct live_look *look; /* NULL: nobody can look */
	const struct state *state;    /* as far as the device is */
	const struct why_process *p;
	pid_t pid;
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
bool why_only_loops(const struct why_device *d, uint32_t corr);
/* A kernel in flight of which nothing was recorded: its node. */
uint32_t why_late_kernel(struct why_device *d, uint32_t corr);

/* --- late-streams.c --- */
/* Streams with work of which only the look knows, since tsdb came late. Returns how many. */
unsigned why_late_streams(struct why_device *d);

/* --- why-values.c --- */
/* The node of a value in memory that somebody waits for, with those that may write it. now: the
 * bytes that are there; reader: the node that reads, not a writer for its own sake. */
uint32_t why_value(struct why_device *d, uint64_t addr, unsigned bytes, uint64_t now);
/* Every thread and stream may write: for memory whose address is not known. */
void why_anybody(struct why_device *d, uint32_t node);

#endif
