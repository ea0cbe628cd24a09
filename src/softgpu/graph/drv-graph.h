/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA graphs inside the software driver: a graph is its nodes with edges backwards (what each node
 * waits for); an executable graph is a copy of the nodes' commands in topological order, run as one
 * command of a stream. All of it is guarded by drv_lock.
 */
#ifndef SOFTGPU_GRAPH_H
#define SOFTGPU_GRAPH_H

#include "softgpu/driver/drv.h"

struct node {
	struct graph *graph;
	uint64_t id;
	CUgraphNodeType type;
	struct op op;
	CUDA_MEMCPY3D copy;  /* memcpy nodes: as it was asked for */
	void **param_ptrs;   /* kernel nodes: into op.kernel.params, made when asked for; owned */
	struct graph *child; /* child graph nodes: a clone; owned */
	uint64_t clone_of;   /* id of the node that cuGraphClone copied, or 0 */
	struct node **deps;
	unsigned ndeps;
	struct node **early[2]; /* of those, by a programmatic edge: from the trigger, from the
				   beginning of all blocks */
	unsigned nearly[2];
	unsigned order; /* scratch while sorting and searching */
};

/* Counted references: the program's and those of graphs. */
struct user_object {
	_Atomic int refs;
	CUhostFn destroy;
	void *data;
	struct user_object *next; /* in the list of the dead */
};
struct user_ref;

struct graph {
	uint32_t id;
	uint32_t clone_of;
	struct node **nodes; /* in order of creation */
	unsigned nnodes;
	bool capturing; /* belongs to a capture that still runs */
	bool is_child;	/* belongs to a node */
	struct user_ref *users;
	_Atomic unsigned instances; /* executable graphs; counted for graphs with memory nodes,
				       which may have one */
};

struct graph_step {
	struct op op;
	uint64_t node_id;
	struct node *node; /* only compared and handed out: it may have gone */
	CUgraphNodeType type;
	unsigned ndeps;
	uint64_t parent; /* the child graph node that it comes from, or 0 */
	uint64_t shape;	 /* which steps it depends on, as a hash */
	bool disabled;
};
struct graph_exec {
	_Atomic int refs; /* the handle and every launch in flight */
	bool destroyed;
	uint32_t id, graph_id;
	unsigned long long flags;
	struct graph_step *steps;
	unsigned nsteps, room;
	bool has_mem;
	struct graph *graph; /* only compared: a graph with memory nodes that this is an instance
				of, or NULL */
	struct user_ref *users;
};

/* One cuStreamBeginCapture: the streams that joined and, per stream, what its next node depends on.
 */
struct capture {
	struct capture *next; /* all captures that run */
	struct graph *graph;
	struct stream *origin;
	unsigned long long id;
	CUstreamCaptureMode mode;
	pthread_t owner;
	bool invalid;
	bool borrowed; /* the graph is the program's: cuStreamBeginCaptureToGraph */
	struct capture_stream {
		struct capture_stream *next;
		struct stream *stream; /* NULL: destroyed meanwhile */
		struct node **deps;
		unsigned ndeps;
	} * streams;
};

/* --- drv-event-node.c --- */
/* Gives the events of e's nodes a place in time for one launch; *ret is NULL when there are none.
 * Takes drv_lock itself. */
CUresult graph_launch_new(struct graph_exec *e, struct ctx *c, struct graph_launch **ret);
/* Step i, which has an event, is reached. */
void graph_launch_step(struct graph_launch *l, unsigned i);
CUresult event_op(enum op_kind kind, CUevent h, struct op *ret);

/* --- drv-graph-mem.c --- */
bool graph_has_mem(const struct graph *g);
/* Checks and notes what a launch of e allocates and frees. */
CUresult graph_mem_launch(struct graph_exec *e);
CUresult graph_mem_node_op(const CUmemPoolProps *pool, size_t size, struct op *ret);

/* --- drv-user-object.c --- */
void user_unref(struct user_object *o, unsigned count);
bool user_refs_copy(struct user_ref *from, struct user_ref **to);
void user_refs_drop(struct user_ref **list);

/* --- drv-node.c --- */
/* Takes op over, also on failure; takes drv_lock itself. */
CUresult graph_add_node(CUgraphNode *ret, CUgraph h, const CUgraphNode *deps, size_t n,
	CUgraphNodeType type, struct op *op);

/* --- drv-graph.c; callers hold drv_lock --- */
struct graph *graph_new(void);
void graph_delete(struct graph *g);
/* Takes op over, also on failure. The dependencies must be nodes of g. */
CUresult node_add(struct graph *g, CUgraphNodeType type, struct op *op, struct node *const *deps,
	size_t ndeps, struct node **ret);
bool node_list_add(struct node ***list, unsigned *n, struct node *x);
/* Whether the edge may be of that type; data NULL: a full dependency. */
bool edge_is_valid(const struct node *from, CUgraphNodeType to, const CUgraphEdgeData *data);
/* Sets the type of an edge, which exists and may have that type. False: no memory. */
bool edge_set(struct node *to, struct node *from, const CUgraphEdgeData *data);
CUresult node_resolve(CUgraphNode h, struct node **ret);
CUresult graph_resolve(CUgraph h, struct graph **ret);
/* Nodes in an order that respects the edges: by creation as far as possible. malloc'ed, in
 * *ret. CUDA_ERROR_INVALID_VALUE when there is a cycle. */
CUresult graph_sorted(struct graph *g, struct node ***ret);

/* A copy that a node will own. */
struct graph *graph_clone_child(struct graph *g);
/* The commands of e as a graph that a node will own; NULL when memory is out. */
struct graph *graph_of_exec(const struct graph_exec *e);
/* Puts op, which it takes over, in place of the command of a graph's node; takes drv_lock itself.
 */
CUresult node_op_replace(CUgraphNode h, CUgraphNodeType type, struct op *op);
/* The same for the step that an executable graph has of the node, without drv_lock; waits until the
 * graph's launches have ended. */
CUresult exec_step_replace(CUgraphExec h, CUgraphNode hnode, CUgraphNodeType type, struct op *op);

/* --- drv-capture.c; callers hold drv_lock --- */
/* s joins c, its next node depends on the given nodes too. */
CUresult capture_join(
	struct capture *c, struct stream *s, struct node *const *deps, unsigned ndeps);
/* What s's next node would depend on. NULL when s does not capture, or its capture is invalid. */
struct capture_stream *capture_stream_of(struct stream *s);

#endif
