/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside tsdb-replayer: what its files share. One process, one trace, its devices, one thread that calls the driver (and a watchdog
 * that only looks at the clock). Whatever the program created with its own contexts lives in its device's primary context here; the
 * context of home, the window's first device, is current but while a command of another one is executed (replayer-devices.c).
 */
#ifndef REPLAY_REPLAYER_INT_H
#define REPLAY_REPLAYER_INT_H

#include <stdatomic.h>
#include "buf.h"
#include "replay/address-map.h"
#include "replay/hash-kernel.h"
#include "replay/replayer.h"
#include "replay/replayer-driver.h"
#include "replay/replayer-ranges.h"
#include "replay/sandbox.h"
#include "sbt/footprint.h"
#include "sbt/memory.h"
#include "state/state.h"
#include "state/steps.h"

/* From an id to an index; ids come from the trace, so they may be any number. */
struct id_map {
	uint32_t *id, *index; /* slots; index UINT32_MAX: empty */
	size_t n, slots;      /* a power of two */
};
uint32_t id_map_get(const struct id_map *m, uint32_t id); /* UINT32_MAX: none */
void id_map_put(struct id_map *m, uint32_t id, uint32_t index);
void id_map_free(struct id_map *m);

/* ---- devices --------------------------------------------------------------------------------------------------------- */

/* The GPUs of the window, numbered in the order of their first use; 0 is home: what is ours lives there. One context each. */
#define DEVICES_MAX 16u
struct rdevice {
	uint64_t ordinal; /* in the recording */
	CUdevice device;  /* here */
	CUcontext ctx;
};
struct devices {
	struct rdevice d[DEVICES_MAX];
	unsigned n, now; /* now: whose context is current */
	bool too_many;
	struct id_map of_ctx; /* context id -> number */
};

/* ---- objects of the trace ------------------------------------------------------------------------------------------- */

struct rstream {
	unsigned dev; /* number of its device in struct devices; NOT a device's ordinal */
	bool at_start; /* live before the window */
	bool is_default, per_thread;
	unsigned flags;
	int priority;
	CUstream handle; /* made at first use; NULL for a default stream */
};
struct revent {
	unsigned dev;
	CUevent handle; /* made at first use */
};
struct rmodule {
	uint32_t id;
	uint64_t code_hash;
	uint64_t ptx_hash; /* of the PTX that was beside it; 0: none */
	bool before; /* it was there when tsdb was attached */
	char *why;   /* its code is not known; NULL: nothing was said */
	unsigned dev; /* whose context it was loaded into; a library is everywhere */
	CUmodule handle[DEVICES_MAX]; /* by device; NULL: not loaded there */
	uint32_t tried; /* on which devices: a set */
};
struct rkernel {
	uint32_t id, module; /* ids; module may be SBT_NO_ID */
	char *name;
	uint32_t *params; /* (offset, size) pairs */
	unsigned nparams;
	uint64_t code_hash;
	unsigned max_shared[DEVICES_MAX]; /* what it may use as dynamic shared memory so far */
	bool used;	     /* launched in the window */
	uint32_t devs;	     /* on which devices: a set */
	CUfunction function[DEVICES_MAX]; /* by device; NULL: not looked up there */
	CUmodule swapped; /* replacement code, or NULL */
	CUfunction held[DEVICES_MAX]; /* by device: the same, changed so that it holds itself (replayer-held.c); NULL: not made */
};
struct rglobal {
	uint32_t module; /* id */
	unsigned dev;
	char *name;
	uint64_t addr, size; /* where it was while recording */
	CUdeviceptr here;    /* 0: not found, or not needed */
	uint8_t *initial;    /* as the module begins; NULL: its contents at the window's start were recorded */
};
struct rattr {
	uint64_t seq;
	uint32_t kernel;
	int attr, value;
};
/* What a node is from command `since` on: nodes of executable graphs change. */
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
/* Host memory that a graph's copy reads or writes, standing in for memory of the program. */
struct rshadow {
	uint64_t addr, size; /* of the program's */
	void *mem;	     /* pinned */
	bool is_source;
	uint64_t device; /* what is copied from there or to there, as it was; of several, those with its last three bits */
};
struct rgraph {
	uint32_t id;
	bool is_exec, used;
	struct rnode *nodes;
	size_t nnodes, cap;
	uint64_t built; /* exec is as the nodes were then: graph_version() */
	CUgraph graph;
	CUgraphExec exec;
	struct rshadow *shadows;
	size_t nshadows, cap_shadows;
};

struct objects {
	struct id_map stream_ids, event_ids, module_ids, kernel_ids, graph_ids;
	struct rstream *streams;
	struct revent *events;
	struct rmodule *modules;
	struct rkernel *kernels;
	struct rgraph *graphs;
	struct rglobal *globals;
	bool graphs_change; /* some node has more than one version */
	struct rattr *attrs; /* in order of seq */
	size_t nstreams, cap_streams, nevents, cap_events, nmodules, cap_modules, nkernels, cap_kernels, ngraphs, cap_graphs,
		nglobals, cap_globals, nattrs, cap_attrs;
};

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

/* An allocation that the window needs. */
struct wanted {
	uint64_t addr, size;
	enum sbt_mem mem;
	unsigned dev;  /* number of the device that it lives on */
	bool at_start; /* live before the window */
	bool touched;  /* touched_find() */
	bool by_kernel; /* the same: and a kernel may have */
};
struct place {
	struct wanted *wanted;
	size_t nwanted, cap_wanted;
	struct ranges device; /* what the allocations cover: the contents that matter, checkpointed */
	struct ranges mapped; /* reserved and mapped, larger */
	struct ranges host;   /* pinned memory, by pages */
	struct ranges mixed;  /* the part of it that lies in the blocks of device memory, by the grain */
};

/* Host memory in flight between the trace and the device. */
#define STAGING_SLOTS 8u
#define STAGING_BYTES (4u << 20) /* a multiple of SBT_PAGE */
struct staging_slot {
	uint8_t *mem; /* pinned */
	CUevent event;
	unsigned dev; /* of the event */
	bool busy;
	uint32_t output; /* index into outputs that the slot's bytes belong to, UINT32_MAX: none */
	uint64_t offset, n;
};
/* A copy to the host that is checked. */
struct output {
	const struct sbt_memory *piece;
	uint64_t addr; /* where it is copied from, as that was */
	uint64_t left;
	struct sbt_hash sum, as_it_is; /* with addresses of the recording; with those of here, which may have been in it */
};
struct contents {
	struct sbt_memory *start, *flow, *end; /* sorted by seq, role, addr */
	size_t nstart, cap_start, nflow, cap_flow, nend, cap_end;
	struct staging_slot slots[STAGING_SLOTS];
	unsigned next_slot;
	struct output *outputs;
	size_t noutputs, cap_outputs;
	/* what is known by now; an output that is executed again replaces its earlier answer */
	struct verdict {
		const struct sbt_memory *piece;
		bool same, unknown; /* unknown: what was recorded cannot be compared with */
	} *verdicts; /* in the order of flow */
	size_t nverdicts, cap_verdicts;
};

struct checkpoint {
	uint64_t seq;
	CUdeviceptr mem; /* all device ranges and globals, one after the other */
	uint8_t *host;	 /* all host ranges; NULL when there are none */
};
struct checkpoints {
	struct checkpoint *c; /* by seq */
	size_t n, cap, max;
	uint64_t bytes;	     /* of one, on the device */
	uint64_t last_ns;    /* when the last was taken or restored */
	uint64_t cost_ns;    /* what one cost, the room for it included */
	uint64_t pace_ns;    /* what a command cost lately, on the way to a place before the position; 0: not known */
	bool planned;	     /* max is known */
};

/* What the user changed; applied whenever execution passes it. */
struct edit {
	uint64_t seq;	 /* a write: after this command. A parameter: of this launch */
	bool is_param;
	uint32_t param;
	uint64_t addr;
	uint8_t *bytes;
	size_t n;
};

/* Who ran last, when one command runs after the other (replayer-turn.c). */
struct turn {
	bool overlap; /* streams overlap instead */
	bool ordered; /* ORDER says what comes when, and waits where the stream changes */
	bool any;     /* something may be in flight: what was submitted to stream last of device dev, and all before it */
	CUstream last;
	unsigned dev;
	CUevent event[DEVICES_MAX]; /* by device; NULL: not made */
};

struct watchdog {
	_Atomic uint64_t turn; /* another number for each wait; 0: nothing is being waited for */
	uint64_t turns;	       /* the main thread's: the last number given */
	_Atomic uint64_t seq, first; /* first: nothing before it is in flight */
	_Atomic int owner; /* who may write to the socket: 0 the main thread, 1 the watchdog */
	_Atomic uint64_t limit_ns; /* while a GPU is being opened OPEN_NS at least */
	uint64_t command_ns;	   /* what a command may take */
	int fd;
};

/* Events along the way, so that a long wait is many short ones and the host knows about how far the device is: at most MARKS are
 * ahead of it, each behind so many commands as take some milliseconds. */
#define MARKS 3u
#define MARK_EVERY_MAX 64u
struct marks {
	CUevent event[MARKS];
	unsigned dev[MARKS]; /* of the events */
	uint64_t seq[MARKS];
	unsigned head, n, since, every;
	uint64_t passed_ns; /* when the device was seen to pass the last one; 0: nothing has been in flight since */
	uint64_t pretend_ns, clock_ns; /* for tests, else 0: how far each passing moves marks_clock(), and its time */
};

/* The launch under the microscope. */
struct microscope {
	const struct soft_debug *soft; /* NULL: not the software GPU */
	struct soft_session *session;  /* NULL: none */
	uint64_t seq, first_block;
	struct soft_turn *turns; /* for the next start */
	unsigned nturns;
	struct soft_point points[SOFT_POINTS_MAX];
	unsigned npoints;
	struct soft_stop stop; /* the last one */
	bool ended;
	/* on the way back */
	enum micro_stage { MICRO_FORWARDS, MICRO_BACK_STEP, MICRO_SCAN, MICRO_BACK_TO } stage;
	uint32_t thread[3]; /* to look at again */
};

/* What is at another address here than while recording. */
struct moved {
	struct moved_cell { /* a word of a variable that begins with a function's address */
		uint32_t module;
		unsigned dev;
		char *variable;
		uint64_t offset;
	} *cells;
	size_t ncells, cap_cells;
	struct address_map to_here, to_there; /* complete after moved_find() */
};

/* A code of the trace, loaded to see which kernels it has. */
struct probe {
	CUmodule module; /* NULL: not tried, or it cannot be loaded here */
	bool tried;
};

#define TABLE_PAGE 4096
struct rp {
	/* The pages of functions to call: read-only once the driver is open (replayer_driver_open). */
	_Alignas(TABLE_PAGE) struct replayer_driver d;
	struct hash_kernel_driver hash_driver;
	bool can_hash; /* hash_driver is whole */
	_Alignas(TABLE_PAGE) struct sandbox *sandbox; /* NULL: none */
	int trace_fd;
	struct sbt_reader *trace;
	struct sbt_cursor *cursor;
	uint64_t cursor_seq; /* of the command it delivered last; UINT64_MAX: it must seek */
	bool open;
	unsigned flags; /* enum replayer_open_flags */
	uint64_t first, last;
	uint64_t position; /* everything up to here has been submitted */
	uint64_t current;  /* being submitted */
	uint64_t finished; /* everything up to here is known to have finished */
	bool trace_soft;
	bool attached; /* an agent came late: not everything that was there is known */
	struct devices devices;
	CUstream own; /* ours: contents, checkpoints */
	struct objects objects;
	struct place place;
	struct contents contents;
	struct restore_kit *restore_kits; /* replayer-restore.c; NULL: none yet */
	struct feeder *feeder; /* NULL: nothing for it to do */
	struct checkpoints checkpoints;
	struct in_graph {		 /* replayer-node.c: the position is before launch seq, memory is as after so many steps of it */
		uint64_t seq;		 /* 0: in none */
		uint32_t done;
		struct state_steps steps;
	} in_graph;
	struct replayer_graph_part part; /* seq 0: graph launches are executed whole */
	struct moved moved;
	struct probe *probes; /* by number of the code; NULL: none yet */
	struct soft_watching {
		const struct soft_watch *soft; /* NULL: not the software GPU */
		struct replayer_soft how;
		struct buf *out; /* access sets go there; NULL: none are asked for */
		uint32_t max;
		uint64_t n;
	} watch;
	struct window_kept *kept; /* replayer-order.c; NULL: not read */
	uint64_t host_done; /* the host's changes of memory before commands up to this one were made already, or are not to be; 0: as each command comes */
	bool live_host; /* the copy being executed reads what is in host memory, not what it carried */
	bool holding; /* a held launch was submitted, and since then only such as may overtake it: nothing may come between them */
	struct checking *checking; /* replayer-check.c; NULL: nothing is checked */
	struct fresh {		   /* replayer-fresh.c: memory allocated since, newest last */
		bool on;
		struct fresh_range {
			uint64_t addr, here, size; /* of the recording; in this process */
		} *r;
		size_t n, cap;
	} fresh;
	bool stale; /* memory at the position is not what executing up to there gives: the next seek restores */
	struct edit *edits;
	size_t nedits, cap_edits;
	uint64_t *skip; /* sorted */
	size_t nskip;
	bool skip_recorded;
	struct microscope micro;
	struct marks marks;
	struct turn turn;
	struct watchdog watchdog;
	struct hash_kernel hash;
	bool has_hash; /* false: the driver would not load it; hash on the host */
	char *path;	  /* of the trace */
	struct buf notes; /* sentences for OPEN's reply */
	uint64_t unrepeatable;
	struct recorded_fault {
		uint64_t told, first, last; /* the call that got the error, 0: none; the commands that can have caused it, first 0: none in the window */
		uint32_t code;
		uint64_t wait; /* while learning: the last wait for a context */
	} fault;
	struct replayer_figures figures;
	/* of the error being returned */
	uint32_t fail_code;
	uint64_t fail_seq, fail_first;
};

/* ---- replayer-driver.c: errors ------------------------------------------------------------------------------------------ */

/* An error of the protocol: code and seq go with it to tsdb. */
struct err *rp_fail(struct rp *rp, enum replayer_error_code code, uint64_t seq, const char *fmt, ...)
	TS_PRINTF(4, 5) TS_CHECK;
/* NULL for CUDA_SUCCESS. A fault names the commands that can have caused it. */
struct err *rp_cu(struct rp *rp, CUresult r, const char *call) TS_CHECK;
#define CU(rp, call, ...) TRY(rp_cu((rp), (rp)->d.call(__VA_ARGS__), #call))
/* Errors after which a context answers nothing else. */
bool driver_is_fault(CUresult r);
/* CLOCK_MONOTONIC: for figures, and for how often something is done, never for whether. With TSDB_REPLAYER_CLOCK=SECONDS (for tests) each look
 * is so many seconds later than the one before. */
uint64_t now_ns(void);

/* Of a long request a reply comes about every long_ns, so that tsdb shows how far it is and hears Ctrl-C. `while (slice_goes_on(&s))` turns at
 * least once, however late the processor comes round to it: every reply says more than the one before. */
struct slice {
	uint64_t long_ns, began_ns; /* began_ns 0: not yet */
};
bool slice_goes_on(struct slice *s);

/* ---- replayer-window.c ---------------------------------------------------------------------------------------------------- */

/* Everything that REPLAYER_OPEN does. */
struct err *window_open(struct rp *rp, const char *path) TS_CHECK;
/* Another reader of the trace, for a thread of its own. Nothing is opened for it: the sandbox is shut. */
struct err *window_reader(const struct rp *rp, struct sbt_reader **ret) TS_CHECK;
/* Refuses a command that is not in the window. */
struct err *window_holds(struct rp *rp, uint64_t seq) TS_CHECK;
/* A line for the user; counted: a command that cannot be executed again. */
void window_note(struct rp *rp, bool counted, const char *fmt, ...) TS_PRINTF(3, 4);

/* ---- replayer-devices.c ------------------------------------------------------------------------------------------------ */

/* The number of a device of the recording, which the window uses from now on. */
unsigned devices_use(struct rp *rp, uint64_t ordinal);
void devices_learn_ctx(struct rp *rp, uint64_t ctx, uint64_t ordinal);
/* The ordinal, below 32, of a context's device; 0 when it is not known. */
unsigned devices_ordinal(const struct rp *rp, uint64_t ctx);
/* From the ordinal to the number; 0 when the window does not use it. */
unsigned devices_number(const struct rp *rp, unsigned ordinal);
/* Which of the machine's they are; REPLAYER_E_DEVICE when it has too few. */
struct err *devices_choose(struct rp *rp) TS_CHECK;
/* Opens them all; home's context is current then. REPLAYER_E_DEVICE when they cannot see each other's memory. */
struct err *devices_open(struct rp *rp) TS_CHECK;
/* Makes a device's context current. All of the replayer expects home's, but for what executes a command. */
struct err *devices_enter(struct rp *rp, unsigned dev) TS_CHECK;
/* The device that c is executed on. */
unsigned devices_of(struct rp *rp, const struct sbt_cmd *c);
/* Waits for all of them. */
struct err *devices_finish(struct rp *rp) TS_CHECK;
/* An event that can be recorded on streams of the current device: made anew when it is another one's. */
struct err *devices_event(struct rp *rp, CUevent *event, unsigned *dev) TS_CHECK;
/* what: "looking at one launch" and the like, which is done on one device only. */
struct err *devices_one_only(struct rp *rp, const char *what) TS_CHECK;

/* ---- replayer-objects.c ------------------------------------------------------------------------------------------------ */

void objects_from_state(struct rp *rp, const struct state *s);
/* A command of the trace up to the window's end; before: it comes before the window. */
void objects_learn(struct rp *rp, const struct sbt_cmd *c, bool before);
struct rkernel *objects_kernel(struct rp *rp, uint64_t id); /* NULL: none */
struct rgraph *objects_graph(struct rp *rp, uint64_t id);
const struct rglobal *objects_global_at(const struct rp *rp, uint64_t addr, uint64_t size); /* where it was while recording; NULL: none */
/* A kernel that the window launches is of a module from before an attach whose code is not known so far. */
bool objects_lack_code(const struct rp *rp);
/* The node as it is for command seq; an empty one without edges before it came to be. */
struct rnode_version objects_node(const struct rnode *n, uint64_t seq);
struct rmodule *objects_module(struct rp *rp, uint64_t id);
/* All has been learnt: what knew its device by the ordinal knows it by the number from now on. */
void objects_settle(struct rp *rp);
/* The number of the device that a stream belongs to. */
unsigned objects_stream_device(struct rp *rp, uint64_t id);
/* The stream to submit to; makes it. */
struct err *objects_stream(struct rp *rp, uint64_t id, CUstream *ret) TS_CHECK;
struct err *objects_event(struct rp *rp, uint64_t id, CUevent *ret) TS_CHECK;
/* The same, to record it on a stream of the current device. */
struct err *objects_event_here(struct rp *rp, uint64_t id, CUevent *ret) TS_CHECK;
/* Streams that were there before the window: so that their first commands are not late. */
struct err *objects_make_streams(struct rp *rp) TS_CHECK;
struct err *objects_drop_stream(struct rp *rp, uint64_t id) TS_CHECK;
struct err *objects_drop_event(struct rp *rp, uint64_t id) TS_CHECK;
/* Makes stream wait for all that has been submitted to any other. */
struct err *objects_barrier(struct rp *rp, CUstream stream) TS_CHECK;

/* ---- replayer-held.c ---------------------------------------------------------------------------------------------------------- */

/* The next launch, of function *f, is held; *f may become another one. ERR when this device cannot. */
struct err *held_launch(struct rp *rp, const struct sbt_cmd_launch *u, CUfunction *f) TS_CHECK;

/* ---- replayer-touched.c ------------------------------------------------------------------------------------------------------ */

/* Allocations of the window by address; reach: where those up to this one end at most, so that looking back ends. */
struct alloc_rows {
	struct alloc_row {
		struct wanted *w;
		uint64_t reach;
	} *row; /* the caller frees it */
	size_t n;
};
void alloc_rows_sort(struct alloc_rows *r, const struct place *p);
/* Those with a byte in [addr, end) are among the rows from the one before the returned index, back to where reach is not above addr. */
size_t alloc_rows_before(const struct alloc_rows *r, uint64_t end);
/* Which of place.wanted the window's commands name, directly or through recorded pointers: wanted.touched, wanted.by_kernel. */
struct err *touched_find(struct rp *rp) TS_CHECK;
/* Leaves the others out of place.wanted. */
struct err *touched_only(struct rp *rp) TS_CHECK;

/* ---- replayer-place.c ------------------------------------------------------------------------------------------------------ */

/* The bytes of device memory that place.wanted holds, without the gaps that place.device may have. The caller frees them. */
struct ranges place_allocations(const struct rp *rp);
/* Reserves and maps what place.wanted holds. Must come right after the context. */
struct err *place_all(struct rp *rp) TS_CHECK;
/* After place_all: pinned memory. */
struct err *place_host(struct rp *rp) TS_CHECK;
enum place_where { PLACE_NOWHERE, PLACE_DEVICE, PLACE_HOST };
/* Where the recorded range is here: *ret its address in this process (a module's global has another than while recording). */
enum place_where place_find(const struct rp *rp, uint64_t addr, uint64_t size, uint64_t *ret);

/* ---- replayer-code.c -------------------------------------------------------------------------------------------------- */

/* Of the kernels that the window launches (*ret_all), how many the trace has PTX of: those run on any device. */
size_t code_portable(struct rp *rp, size_t *ret_all);
/* Loads the code of every kernel that the window launches and finds the globals. */
struct err *code_load(struct rp *rp) TS_CHECK;
struct err *code_function(struct rp *rp, struct rkernel *k, CUfunction *ret) TS_CHECK;
/* The PTX that the kernel was made from, or that was beside its machine code; 0: the trace has none, or the user replaced the code. */
uint64_t code_ptx(struct rp *rp, const struct rkernel *k);
/* Function attributes as they were after seq. */
struct err *code_attrs(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *code_attr(struct rp *rp, const struct rattr *a) TS_CHECK;
/* REPLAYER_SWAP; n 0: the recorded code again. */
struct err *code_swap(struct rp *rp, uint32_t kernel, bool is_ptx, const void *code, size_t n) TS_CHECK;

/* ---- replayer-moved.c ------------------------------------------------------------------------------------------------------ */

/* Code of a module that was just loaded on this device: which of its variables begin with functions' addresses. */
void moved_learn_code(struct rp *rp, uint32_t module, const void *code, size_t size);
/* After all code is loaded and its globals are found, before anything is written to them: completes rp->moved. */
struct err *moved_find(struct rp *rp) TS_CHECK;
/* Bytes of the recording, on their way to memory that was at addr then; any thread. Of a copy from or to the host, addr is on the device: there the words are used. How many addresses changed. */
static inline size_t moved_to_here(const struct rp *rp, uint64_t addr, void *p, size_t n)
{
	return address_map_words(&rp->moved.to_here, addr, p, n);
}
/* Bytes of this device, to be compared with those of the recording or shown. */
static inline size_t moved_to_there(const struct rp *rp, uint64_t addr, void *p, size_t n)
{
	return address_map_words(&rp->moved.to_there, addr, p, n);
}
/* Whether host memory p is what was recorded of memory at addr; it stays as it is. */
bool moved_is(const struct rp *rp, uint64_t addr, const void *p, size_t n, struct sbt_hash want);

/* ---- replayer-memory.c, replayer-restore.c, replayer-staging.c ---------------------------------------------------------------------------- */

struct err *contents_read_index(struct rp *rp) TS_CHECK;
/* The memory of the window's start, from the trace; several threads read it (replayer-restore.c). Nothing else may be going on. */
struct err *contents_restore(struct rp *rp) TS_CHECK;
/* The hash kernel, when this device takes it. */
void contents_open_hash(struct rp *rp);
/* Pieces of command seq in *ret_n elements from the returned one. */
const struct sbt_memory *contents_of(const struct rp *rp, uint64_t seq, size_t *ret_n);
const struct sbt_memory *contents_find(const struct rp *rp, uint64_t seq, enum sbt_memory_role role, uint64_t addr);
/* Applies the HOST (before) or EFFECT (after) pieces of seq; *ret_any: there were some (may be NULL). */
struct err *contents_apply(struct rp *rp, uint64_t seq, enum sbt_memory_role role, bool *ret_any) TS_CHECK;
/* Bytes of a piece to where it is now; in order with stream. */
struct err *contents_put(struct rp *rp, const struct sbt_memory *m, uint64_t addr, CUstream stream) TS_CHECK;
struct err *contents_read(struct rp *rp, uint64_t addr, void *dst, size_t n) TS_CHECK;
struct err *contents_write(struct rp *rp, uint64_t addr, const void *src, size_t n) TS_CHECK;
/* Of recorded addresses; everything submitted must have finished. */
struct err *contents_hash(struct rp *rp, uint64_t addr, uint64_t size, struct sbt_hash *ret) TS_CHECK;
/* The same with addresses as they were recorded: what another process can compare with. Slow where anything is elsewhere here. */
struct err *contents_hash_recorded(struct rp *rp, uint64_t addr, uint64_t size, struct sbt_hash *ret) TS_CHECK;
/* Pages of memory that is at `here` in this process. */
struct err *contents_hash_pages(struct rp *rp, uint64_t here, uint64_t size, struct sbt_hash *ret) TS_CHECK;
/* pieces: of struct replayer_piece. */
struct err *contents_verify(struct rp *rp, struct replayer_verified *ret, struct buf *pieces) TS_CHECK;

struct err *staging_open(struct rp *rp) TS_CHECK;
/* To `to`, which was at addr while recording (moved_to_here()). */
struct err *staging_upload(struct rp *rp, const struct sbt_memory *m, uint64_t addr, uint64_t to, CUstream stream) TS_CHECK;
/* Copies n bytes from device or pinned memory, which was at addr, to nowhere, compared with m (may be NULL: not compared). */
struct err *staging_output(struct rp *rp, const struct sbt_memory *m, uint64_t addr, uint64_t from, uint64_t n, CUstream stream) TS_CHECK;
/* Looks at outputs that have arrived; wait: all. */
struct err *staging_collect(struct rp *rp, bool wait) TS_CHECK;
/* What the output piece m (of the index) turned out to be. */
void staging_verdict(struct rp *rp, const struct sbt_memory *m, bool same);

/* ---- replayer-fault.c ----------------------------------------------------------------------------------------------------- */

/* A command of the window, in order. */
void fault_learn(struct rp *rp, const struct sbt_cmd *c);
/* Whether c may be the one that broke the device in the recording. */
bool fault_suspects(const struct rp *rp, const struct sbt_cmd *c);

/* ---- replayer-feeder.c ---------------------------------------------------------------------------------------------------- */

/* The piece will be uploaded to addr by a copy of the window; in the order of the commands, before feeder_open(). */
void feeder_add(struct rp *rp, const struct sbt_memory *m, uint64_t addr);
/* Begins to read. */
struct err *feeder_open(struct rp *rp) TS_CHECK;
bool feeder_has(const struct rp *rp, const struct sbt_memory *m);
/* staging_upload() for pieces that it has. */
struct err *feeder_upload(struct rp *rp, const struct sbt_memory *m, uint64_t to, CUstream stream) TS_CHECK;

/* ---- replayer-execute.c ------------------------------------------------------------------------------------------------- */

/* Whether there is a way to execute commands of c's kind, or none is needed. */
bool execute_knows(const struct sbt_cmd *c);
/* Submits c. */
struct err *execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* The user's writes at positions first to last. */
struct err *execute_writes(struct rp *rp, uint64_t first, uint64_t last) TS_CHECK;
/* The position is seq, with nothing in flight. */
void execute_at(struct rp *rp, uint64_t seq);
/* Nothing up to seq is in flight. */
void execute_finished(struct rp *rp, uint64_t seq);
/* The part of execute() before the command's own work, and the one behind it: what the user and the program's host did to memory. */
struct err *execute_before(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *execute_after(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* A step of a graph launch, as a command of its own on a stream. Only of kinds that step_works() is about. */
struct err *execute_node(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* Waits for everything submitted. */
struct err *execute_finish(struct rp *rp) TS_CHECK;
/* The next command after the position; none up to seq: the position is seq then. */
struct err *execute_step(struct rp *rp, uint64_t seq, bool *ret_work) TS_CHECK;
/* From the position on, up to seq; checkpoints on the way. */
struct err *execute_to(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *execute_run(struct rp *rp, const struct replayer_run *run, struct replayer_ran *ret) TS_CHECK;
/* The command seq; NULL when the trace has none. Valid until the next call. */
struct err *execute_fetch(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret) TS_CHECK;
/* The next command behind the position, up to seq; NULL: none. */
struct err *execute_fetch_next(struct rp *rp, uint64_t seq, const struct sbt_cmd **ret) TS_CHECK;
/* The launch's parameters with the user's changes, in out. */
struct err *execute_args(struct rp *rp, const struct sbt_cmd *c, const struct rkernel *k, struct buf *out) TS_CHECK;

/* A launch's function, parameters and shared memory, ready to start. */
struct err *execute_launch_parts(struct rp *rp, const struct sbt_cmd *c, CUfunction *ret, struct buf *args) TS_CHECK;
/* Whether the recording holds what c did, which is not executed then; whether the user left it out. */
bool execute_has_effect(const struct rp *rp, uint64_t seq);
bool execute_is_skipped(const struct rp *rp, uint64_t seq);

/* ---- replayer-turn.c ------------------------------------------------------------------------------------------------------- */

/* Makes c, about to be submitted to its stream, wait for everything before it. Its device's context is current. */
struct err *turn_of(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* What is submitted to stream of the current device comes behind everything submitted before, also where streams overlap else. */
struct err *turn_take(struct rp *rp, CUstream stream) TS_CHECK;
/* Whether one command runs after the other for no other reason than that a replay has an order. */
static inline bool turn_is_fixed(const struct rp *rp)
{
	return !rp->turn.overlap && !rp->turn.ordered;
}
/* The stream is about to be destroyed, perhaps with work in it. */
struct err *turn_before_destroy(struct rp *rp, CUstream stream) TS_CHECK;
/* Nothing is in flight. */
void turn_over(struct rp *rp);
/* Lets streams overlap from now on, or not. */
struct err *turn_overlap(struct rp *rp, bool overlap) TS_CHECK;

/* ---- replayer-into.c ------------------------------------------------------------------------------------------------------- */

struct into_kind {
	enum sbt_kind kind;
	const char *noun; /* in words */
	const char *so;	  /* what follows from its not being executed again, ", so ..." or "" */
};
/* To before launch seq, with a checkpoint there for the way back; *ret is valid until the next command is fetched. Refuses what cannot be looked
 * into: no command of that kind, or one that did not run here or is not executed again in this replay. */
struct err *into_seek(struct rp *rp, uint64_t seq, const struct into_kind *k, const struct sbt_cmd **ret) TS_CHECK;
/* What comes before the launch's own work. */
struct err *into_begin(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* It has run to its end, and nothing is in flight: the position is behind it. */
void into_behind(struct rp *rp, uint64_t seq);

/* ---- replayer-micro.c ------------------------------------------------------------------------------------------------------ */

struct err *micro_enter(struct rp *rp, uint64_t seq) TS_CHECK;
struct err *micro_go(struct rp *rp, const struct soft_go *g) TS_CHECK;
struct err *micro_focus(struct rp *rp, const struct replayer_kernel_focus *f) TS_CHECK;
/* p: n of them, from the wire. */
struct err *micro_points(struct rp *rp, const void *p, size_t n, struct buf *out) TS_CHECK;
struct err *micro_ask(struct rp *rp, const struct soft_ask *q, struct buf *out) TS_CHECK;
/* Something else is asked for: the launch is given up, unless it has ended. */
void micro_leave(struct rp *rp);

/* ---- replayer-node.c ------------------------------------------------------------------------------------------------------ */

/* To right behind step `step` of graph launch seq (0: before its first); past the last one is behind the launch. */
struct err *node_go(struct rp *rp, uint64_t seq, uint32_t step, uint32_t *ret_steps) TS_CHECK;
/* Something else is asked for: the launch is given up. */
void node_leave(struct rp *rp);

/* ---- replayer-copy.c --------------------------------------------------------------------------------------------------- */

struct err *copy_execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *fill_execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* What the copy reads from memory of the program, when it is uploaded as one row of bytes; NULL: something else. */
const struct sbt_memory *copy_payload(const struct rp *rp, const struct sbt_cmd *c);
/* A side of a copy: its rows as recorded, and where their first byte is here. */
struct copy_side {
	struct sbt_rows rows;
	enum place_where where; /* PLACE_NOWHERE: host memory of ours, which has sbt_rows_size() bytes */
	uint64_t here;
};
/* A copy touches exactly the bytes of the rows. Both sides have the same width, height and depth. */
void copy_descriptor(CUDA_MEMCPY3D *m, const struct copy_side *dst, const struct copy_side *src);

/* ---- replayer-image.c -------------------------------------------------------------------------------------------------- */

/* Host memory for contents whose size a trace says: more is refused (docs/replayer.md). */
#define IMAGE_MAX (4ull << 30)
/* size bytes of zeros for `what` of command seq. The caller frees it. */
struct err *image_alloc(struct rp *rp, uint64_t seq, uint64_t size, const char *what, uint8_t **ret) TS_CHECK;
/* n elements of `each` bytes, in the same way. */
struct err *image_array(struct rp *rp, uint64_t seq, uint64_t n, uint64_t each, const char *what, void **ret) TS_CHECK;

/* ---- replayer-graph.c ---------------------------------------------------------------------------------------------------- */

struct err *graph_launch(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* The nodes of a launch of g by command seq, in order. Belongs to the caller, and refers to the nodes. */
struct err *graph_steps(struct rp *rp, const struct rgraph *g, uint64_t seq, struct state_steps *ret) TS_CHECK;
/* Whether all its nodes, as they are for command seq, are of types that can be executed again. */
bool graph_is_told(struct rp *rp, const struct rgraph *g, uint64_t seq);
/* Makes the executable graph if it is not there. */
struct err *graph_make(struct rp *rp, struct rgraph *g) TS_CHECK;
void graph_unmake(struct rp *rp, struct rgraph *g);
/* All of them: a kernel's code or a parameter changed. */
void graph_unmake_all(struct rp *rp);

/* ---- replayer-checkpoint.c ------------------------------------------------------------------------------------------------ */

/* Keeps a copy of the memory at the position. No room is no error. */
struct err *checkpoint_take(struct rp *rp) TS_CHECK;
/* The same when one is due. */
struct err *checkpoint_tick(struct rp *rp) TS_CHECK;
struct err *checkpoint_seek(struct rp *rp, uint64_t seq) TS_CHECK;
/* Forgets those at and behind seq: the user changed something there. */
void checkpoint_forget(struct rp *rp, uint64_t from);

/* ---- replayer-watch.c: what only the software GPU can do ------------------------------------------------------------------- */

/* After the driver was opened. */
void watch_open(struct rp *rp);
/* After everything is placed: the software GPU is told where the recording's allocations were, so that what faulted there faults here. */
void watch_bounds(struct rp *rp);
struct err *watch_soft(struct rp *rp, const struct replayer_soft *s) TS_CHECK;
struct err *watch_accesses(struct rp *rp, const struct replayer_accesses *a, struct buf *out) TS_CHECK;
struct err *watch_races(struct rp *rp, struct buf *out) TS_CHECK;
/* Around the execution of a command. */
struct err *watch_before(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *watch_after(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;

/* ---- replayer-order.c ------------------------------------------------------------------------------------------------------ */

/* tail: what follows q, n bytes. */
struct err *order_run(struct rp *rp, const struct replayer_order *q, const void *tail, size_t n, struct buf *out) TS_CHECK;
void order_free(struct rp *rp);

/* ---- replayer-check.c ------------------------------------------------------------------------------------------------------ */

/* kernels: u32 ids, n bytes of them; none: all. */
struct err *check_run(struct rp *rp, const struct replayer_check *q, const void *kernels, size_t n, struct buf *out) TS_CHECK;
/* What each launch changes, as it is executed on the way. */
struct err *check_changed(struct rp *rp, const struct replayer_accesses *a, struct buf *out) TS_CHECK;
/* Gives back what those took. */
void check_close(struct rp *rp);

/* ---- replayer-fresh.c ------------------------------------------------------------------------------------------------------ */

/* While a check with perturbations is on: c allocates or frees. */
struct err *fresh_alloc(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
void fresh_free(struct rp *rp, const struct sbt_cmd *c);

/* ---- replayer-watchdog.c ---------------------------------------------------------------------------------------------------- */

struct err *watchdog_start(struct rp *rp) TS_CHECK; /* writes to rp->watchdog.fd */
/* The driver is being called for command seq. */
void watchdog_on(struct rp *rp, uint64_t seq);
/* The GPU has been opened: from here on it is commands that are waited for. */
void watchdog_opened(struct rp *rp);
void watchdog_off(struct rp *rp);
/* Before the main thread writes to the socket. */
void watchdog_claim(struct rp *rp);
struct err *marks_note(struct rp *rp, uint64_t seq, CUstream stream) TS_CHECK;
struct err *marks_wait(struct rp *rp) TS_CHECK;
/* By what the distances of marks and of checkpoints are measured: now_ns(), or with TSDB_REPLAYER_MARK_NS (for tests, whose outcome must not hang on
 * how fast a machine is) so much for each mark that was waited for. */
uint64_t marks_clock(const struct rp *rp);

#endif
