/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA graphs inside the software driver: a graph is its nodes with edges backwards (what each node waits for); an executable graph is
 * a copy of the nodes' commands in topological order, run as one command of a stream.
 */
#ifndef SOFTGPU_GRAPH_H
#define SOFTGPU_GRAPH_H

#include "softgpu/driver.h"

struct node {
	struct graph *graph;
	uint64_t id;
	CUgraphNodeType type;
	struct op op;
	struct node **deps;
	unsigned ndeps;
	unsigned order; /* scratch while sorting */
};

struct graph {
	uint32_t id;
	struct node **nodes; /* in order of creation */
	unsigned nnodes;
	bool capturing; /* belongs to a capture that still runs */
};

struct graph_step {
	struct op op;
	uint64_t node_id;
	struct node *from; /* may be gone; compared only */
	bool disabled;
};
struct graph_exec {
	_Atomic int refs; /* the handle and every launch in flight */
	uint32_t id, graph_id;
	unsigned long long flags;
	struct graph_step *steps;
	unsigned nsteps;
};

/* One cuStreamBeginCapture: the streams that joined and, per stream, what its next node depends on. */
struct capture {
	struct graph *graph;
	struct stream *origin;
	unsigned long long id;
	CUstreamCaptureMode mode;
	pthread_t owner;
	bool invalid;
	struct capture_stream {
		struct stream *stream;
		struct node **deps;
		unsigned ndeps;
	} *streams;
	unsigned nstreams;
};

/* s joins c, its next node depends on the given nodes too. Caller holds drv_lock. */
CUresult capture_join(struct capture *c, struct stream *s, struct node *const *deps, unsigned ndeps);
/* What s's next node would depend on. Caller holds drv_lock. */
struct capture_stream *capture_stream_of(struct stream *s);

#endif
