/* SPDX-License-Identifier: Apache-2.0
 *
 * What drawer objects/ offers: the devices, streams, events, modules, kernels, globals and graphs
 * of the trace, and for each the object of the GPU here. An object of the trace is found by its id;
 * the object of the GPU is made at first use. The driver alone chooses the addresses of globals and
 * functions, so these are translated (struct moved).
 */
#ifndef REPLAYER_OBJECTS_H
#define REPLAYER_OBJECTS_H

#include "gpucode/address-map.h"
#include "replayer/backend.h"
#include "replay/protocol.h"
#include "replayer/soft-watch.h"
#include "state/state.h"
#include "state/steps.h"
#include "gpucode/code-kind.h"

struct rp;

/* From an id to an index; ids come from the trace, so they may be any number. */
struct id_map {
	uint32_t *id, *index; /* slots; index UINT32_MAX: empty */
	size_t n, slots;      /* a power of two */
};
uint32_t id_map_get(const struct id_map *m, uint32_t id); /* UINT32_MAX: none */
void id_map_put(struct id_map *m, uint32_t id, uint32_t index);

/* --- devices --- */

/* The GPUs of the window, numbered in the order of first use. Number 0 is home: the replayer's own
 * memory and kernels are there. Each has one context. */
#define DEVICES_MAX 16u
struct rdevice {
	uint64_t ordinal; /* in the recording */
	int device;	  /* here */
	struct gpu_context *ctx;
};
struct devices {
	struct rdevice d[DEVICES_MAX];
	unsigned n, now; /* now: whose context is current */
	bool too_many;
	struct id_map of_ctx; /* context id -> number */
};

/* --- objects of the trace --- */

struct rstream {
	unsigned dev;  /* number of its device in struct devices; NOT a device's ordinal */
	bool at_start; /* live before the window */
	bool is_default, per_thread;
	bool apart; /* from the default stream: neither waits for the other */
	int priority;
	struct gpu_stream *handle; /* made at first use; NULL for a default stream */
};
struct revent {
	unsigned dev;
	struct gpu_event *handle; /* made at first use */
};
struct rmodule {
	uint32_t id;
	uint64_t code_hash;
	uint64_t ptx_hash; /* of the PTX that was beside it; 0: none */
	bool before;	   /* it was there when tsdb was attached */
	char *why;	   /* why its code is not known; NULL: the trace does not say */
	unsigned dev;	   /* whose context it was loaded into; a library is everywhere */
	struct gpu_module *handle[DEVICES_MAX]; /* by device; NULL: not loaded there */
	uint32_t tried;				/* on which devices: a set */
};
struct rkernel {
	uint32_t id, module; /* ids; module may be SBT_NO_ID */
	char *name;
	uint32_t *params; /* (offset, size) pairs */
	unsigned nparams;
	uint64_t code_hash;
	unsigned max_shared[DEVICES_MAX]; /* what it may use as dynamic shared memory so far */
	bool used;			  /* launched in the window */
	bool before;			  /* launched before it */
	uint32_t devs;			  /* on which devices: a set */
	struct gpu_kernel *function[DEVICES_MAX]; /* by device; NULL: not looked up there */
	struct gpu_module *swapped;		  /* replacement code, or NULL */
	enum { HEAP_NOT_LOOKED, HEAP_NOT, HEAP_MAY } heap; /* whether it uses the device's own */
	struct gpu_kernel *held[DEVICES_MAX];	 /* by device: the same, changed so that it holds
						    itself (replayer-held.c); NULL: not made */
	struct gpu_kernel *passing[DEVICES_MAX]; /* the same, changed so that it triggers before it
						    returns; NULL: not made */
	uint32_t not_passing;			 /* devices on which that cannot be made: a set */
};
struct rglobal {
	uint32_t module; /* id */
	unsigned dev;
	char *name;
	uint64_t addr, size; /* where it was while recording */
	uint64_t here;	     /* 0: not found, or not needed */
	uint8_t *initial;    /* as the module begins; NULL: its contents at the window's start were
				recorded */
};
struct rattr {
	uint64_t seq;
	uint32_t kernel;
	int attr, value;
};
/* A limit of a context, as the program set it. */
struct context_limit_set {
	uint64_t seq, ctx, value;
	unsigned limit; /* below LIMITS_MAX */
};
#define LIMITS_MAX STATE_LIMITS /* CUDA 13 numbers 12 of them (cuda.h, CUlimit) */
struct limits {
	struct context_limit_set *sets; /* those before the window, then in order of seq */
	size_t nsets, cap_sets;
	uint64_t unknown, unknown_seq; /* sets of limits that tsdb does not know, and the first */
	uint64_t unknown_limit;	       /* of the first */
	struct context_limit {
		uint64_t was; /* before the replay set it */
		bool changes; /* the recording sets it, and the device takes it at any time */
		bool told;    /* the user knows that this device did not take one */
	} of[32][LIMITS_MAX]; /* by number of the device */
};
/* A node as it is from command `since` on: nodes of executable graphs change. */
struct rnode_version {
	uint64_t since; /* 0: before the window */
	enum sbt_node type;
	uint32_t *deps;
	unsigned ndeps;
	uint8_t *payload; /* packed, aligned to 8 */
	size_t payload_size;
	bool disabled;
};
struct rnode {
	uint32_t node;
	struct rnode_version *versions; /* in order of since; at least one */
	size_t nversions, cap;
};
/* Host memory that a graph's copy uses in place of the program's memory. */
struct rstand_in {
	uint64_t addr, size; /* of the program's */
	void *mem;	     /* pinned */
	bool is_source;
	uint64_t device; /* what is copied from there or to there, as it was; of several, those with
			    its last three bits */
};
struct rgraph {
	uint32_t id;
	bool is_exec, used;
	struct rnode *nodes;
	size_t nnodes, cap;
	uint64_t built; /* exec is as the nodes were then: graph_version() */
	struct gpu_graph *graph;
	struct gpu_exec *exec;
	struct rstand_in *stand_ins;
	size_t nstand_ins, cap_stand_ins;
};

/* A texture or surface object comes (or goes) with command seq. */
struct rtexture {
	uint64_t seq, id;
	bool gone; /* only its id and handle are there, and of */
	size_t of; /* gone: where in the list it came */
	struct soft_texture is;
	bool alive;   /* the device has it now; not on the software GPU */
	size_t array; /* alive: the number of its array; SIZE_MAX: it is of none */
};
/* An array of the device's own that objects which are alive are of. The same texels lie at its
 * recorded address, where all commands but kernels reach them. */
struct rarray {
	struct soft_texture is; /* its shape */
	struct gpu_array *handle;
	unsigned objects, surfaces; /* alive; objects 0: there is no array */
};
struct textures {
	struct rtexture *list; /* in order of seq */
	size_t nlist, cap_list;
	size_t done;	/* so many of the list are as they are on the device */
	bool by_driver; /* the driver makes objects and arrays; else the software GPU, by handle */
	struct rarray *arrays;
	size_t narrays, cap_arrays;
	uint64_t *held; /* handles of objects that only keep them from being given out */
	size_t nheld, cap_held;
	uint64_t held_memory; /* what those are of; 0: there is none yet */
	unsigned tries;	      /* objects made for handles so far */
};

struct objects {
	struct textures textures;
	struct id_map stream_ids, event_ids, module_ids, kernel_ids, graph_ids;
	struct rstream *streams;
	struct revent *events;
	struct rmodule *modules;
	struct rkernel *kernels;
	struct rgraph *graphs;
	struct rglobal *globals;
	bool graphs_change;  /* some node has more than one version */
	struct rattr *attrs; /* in order of seq */
	struct limits limits;
	size_t nstreams, cap_streams, nevents, cap_events, nmodules, cap_modules, nkernels,
		cap_kernels, ngraphs, cap_graphs, nglobals, cap_globals, nattrs, cap_attrs;
};

/* Objects whose addresses differ here from the recording's. */
struct moved {
	struct moved_cell { /* a word of a variable that begins with a function's address */
		uint32_t module;
		unsigned dev;
		char *variable;
		uint64_t offset;
	} * cells;
	size_t ncells, cap_cells;
	struct address_map to_here, to_there; /* complete after moved_find() */
};

/* A code of the trace, loaded to see which kernels it has. */
struct probe {
	struct gpu_module *module; /* NULL: not tried, or it cannot be loaded here */
	bool tried;
};

/* --- replayer-devices.c --- */

/* Returns the number of a recorded device and notes that the window uses it. */
unsigned devices_use(struct rp *rp, uint64_t ordinal);
void devices_learn_ctx(struct rp *rp, uint64_t ctx, uint64_t ordinal);
/* The ordinal, below 32, of a context's device; 0 when it is not known. */
unsigned devices_ordinal(const struct rp *rp, uint64_t ctx);
/* From the ordinal to the number; 0 when the window does not use it. */
unsigned devices_number(const struct rp *rp, unsigned ordinal);
/* Chooses the machine's devices; REPLAYER_E_DEVICE when it has too few. */
struct err *devices_choose(struct rp *rp) TS_CHECK;
/* Opens all devices; home's context is current afterwards. REPLAYER_E_DEVICE when they cannot see
 * each other's memory. */
struct err *devices_open(struct rp *rp) TS_CHECK;
/* Makes a device's context current. All code but the execution of a command expects home's. */
struct err *devices_enter(struct rp *rp, unsigned dev) TS_CHECK;
/* The device that c is executed on. */
unsigned devices_of(struct rp *rp, const struct sbt_cmd *c);
/* Waits for all of them. */
struct err *devices_finish(struct rp *rp) TS_CHECK;
/* Makes *event an event that can be recorded on streams of the current device: a new one if it
 * belongs to another device. */
struct err *devices_event(struct rp *rp, struct gpu_event **event, unsigned *dev) TS_CHECK;
/* Refuses `what` ("looking at one launch" and the like) when the window uses more than one
 * device. */
struct err *devices_one_only(struct rp *rp, const char *what) TS_CHECK;

/* --- replayer-objects.c --- */

void objects_from_state(struct rp *rp, const struct state *s);
/* Learns from a command up to the window's end; before: the command comes before the window. */
void objects_learn(struct rp *rp, const struct sbt_cmd *c, bool before);
struct rkernel *objects_kernel(struct rp *rp, uint64_t id); /* NULL: none */
struct rgraph *objects_graph(struct rp *rp, uint64_t id);
const struct rglobal *objects_global_at(const struct rp *rp, uint64_t addr,
	uint64_t size); /* where it was while recording; NULL: none */
/* Whether the window launches a kernel whose module was loaded before an attach and whose code is
 * not known so far. */
bool objects_lack_code(const struct rp *rp);
/* The node as it is for command seq; an empty node without edges if it does not exist yet. */
struct rnode_version objects_node(const struct rnode *n, uint64_t seq);
struct rmodule *objects_module(struct rp *rp, uint64_t id);
/* Called when all has been learnt: replaces device ordinals by device numbers. */
void objects_settle(struct rp *rp);
/* The number of the device that a stream belongs to. */
unsigned objects_stream_device(struct rp *rp, uint64_t id);
/* The stream to submit to; makes it at first use. */
struct err *objects_stream(struct rp *rp, uint64_t id, struct gpu_stream **ret) TS_CHECK;
struct err *objects_event(struct rp *rp, uint64_t id, struct gpu_event **ret) TS_CHECK;
/* The same event, ready to be recorded on a stream of the current device. */
struct err *objects_event_here(struct rp *rp, uint64_t id, struct gpu_event **ret) TS_CHECK;
/* Makes the streams that existed before the window, so that their first commands are not
 * delayed. */
struct err *objects_make_streams(struct rp *rp) TS_CHECK;
struct err *objects_drop_stream(struct rp *rp, uint64_t id) TS_CHECK;
struct err *objects_drop_event(struct rp *rp, uint64_t id) TS_CHECK;
/* Makes stream wait for all that has been submitted to any other. */
struct err *objects_barrier(struct rp *rp, struct gpu_stream *stream) TS_CHECK;

/* --- replayer-code.c --- */

/* How many of the kernels that the window launches (*ret_all) have PTX in the trace: those run on
 * any device. */
size_t code_portable(struct rp *rp, size_t *ret_all);
/* Loads the code of every kernel that the window launches and finds the globals. */
struct err *code_load(struct rp *rp) TS_CHECK;
struct err *code_function(struct rp *rp, struct rkernel *k, struct gpu_kernel **ret) TS_CHECK;
/* The PTX that the kernel was made from, or that was beside its machine code; 0: the trace has
 * none, or the user replaced the code. */
uint64_t code_ptx(struct rp *rp, const struct rkernel *k);
/* Function attributes as they were after seq. */
struct err *code_attrs(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *code_attr(struct rp *rp, const struct rattr *a) TS_CHECK;
/* REPLAYER_SWAP: replaces the kernel's code; with n 0 the recorded code is used again. */
struct err *code_swap(
	struct rp *rp, uint32_t kernel, enum code_kind kind, const void *code, size_t n) TS_CHECK;

/* --- replayer-limits.c --- */

/* Learns what was set before the window, and what a command of it sets. */
void limits_from_state(struct rp *rp, const struct state *s);
void limits_learn(struct rp *rp, const struct sbt_cmd *c);
/* Sets what can be set only before kernels run. Called once, before code is loaded. */
struct err *limits_open(struct rp *rp) TS_CHECK;
/* Sets the limits that change as they were after command seq. */
struct err *limits_at(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *limits_execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;

/* --- replayer-textures.c --- */

/* Learns what was alive before the window, and from a command of it. */
void textures_from_state(struct rp *rp, const struct state *s);
void textures_learn(struct rp *rp, const struct sbt_cmd *c);
/* Refuses the window by name when objects of it cannot be made on this device. */
struct err *textures_open(struct rp *rp) TS_CHECK;
/* Makes the objects those that were alive at command seq, with their recorded handles. */
struct err *textures_at(struct rp *rp, uint64_t seq) TS_CHECK;
/* Called in the stream of a launch, around it: brings what lies at arrays' addresses into the
 * device's arrays, and back what surfaces may have changed. */
struct err *textures_before_launch(struct rp *rp, struct gpu_stream *stream) TS_CHECK;
struct err *textures_after_launch(struct rp *rp, struct gpu_stream *stream) TS_CHECK;
/* Whether the rows lie in an array that kernels see as one of the device's: a graph cannot bring
 * them there in the middle of a launch. */
bool textures_have(const struct rp *rp, const struct sbt_rows *rows);
/* Whether there may be such rows in the window. */
static inline bool textures_are_copies(const struct textures *x)
{
	return x->by_driver && x->nlist;
}

/* --- replayer-arrays.c --- */

/* Called before anything else uses textures: keeps for the window's objects the handles that they
 * must have. */
struct err *textures_claim(struct rp *rp) TS_CHECK;
/* Makes or destroys an object, by the driver. */
struct err *texture_make(struct rp *rp, struct rtexture *t) TS_CHECK;
struct err *texture_unmake(struct rp *rp, struct rtexture *t) TS_CHECK;

/* --- replayer-graph.c --- */

struct err *graph_launch(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* The nodes of a launch of g by command seq, in order. The caller owns the list; it refers to the
 * graph's nodes. */
struct err *graph_steps(
	struct rp *rp, const struct rgraph *g, uint64_t seq, struct state_steps *ret) TS_CHECK;
/* Whether all its nodes, as they are for command seq, are of types that can be executed again. */
bool graph_is_told(struct rp *rp, const struct rgraph *g, uint64_t seq);
/* Makes the executable graph if it is not there. */
struct err *graph_make(struct rp *rp, struct rgraph *g) TS_CHECK;
void graph_unmake(struct rp *rp, struct rgraph *g);
/* Launches the graph node by node if some copy of it reads or writes an array that kernels see as
 * one of the device's; *ret: it did. */
struct err *graph_by_nodes(
	struct rp *rp, const struct rgraph *g, const struct sbt_cmd *c, bool *ret) TS_CHECK;
/* Unmakes all graphs, after a kernel's code or a parameter changed. */
void graph_unmake_all(struct rp *rp);

/* --- replayer-moved.c --- */

/* Learns from the code of a module that was just loaded on this device which of its variables begin
 * with functions' addresses. */
void moved_learn_code(struct rp *rp, uint32_t module, const void *code, size_t size);
/* Completes rp->moved. Called after all code is loaded and its globals are found, before anything
 * is written to them. */
struct err *moved_find(struct rp *rp) TS_CHECK;
/* Whether host memory p has the recorded contents of memory at addr; p does not change. */
bool moved_is(const struct rp *rp, uint64_t addr, const void *p, size_t n, struct sbt_hash want);

#endif
