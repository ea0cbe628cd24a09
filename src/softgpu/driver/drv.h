/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects behind CUDA's handles, and what the files of libcuda.so.1 offer to one another.
 * Handles are pointers into typed arenas that are never unmapped, so any bit pattern can be checked
 * for being a live handle. Locks: drv_lock guards every list of objects; the executor has its own
 * lock (drv-exec.c), taken inside it, never around it.
 */
#ifndef SOFTGPU_DRIVER_H
#define SOFTGPU_DRIVER_H

#include "softgpu/driver/entry.h"
#include "softgpu/memory/mem.h"
#include "softgpu/ptx/ptx.h"
#include <pthread.h>
#include <stddef.h>

#define TRY_CU(expr)                                                                               \
	do {                                                                                       \
		CUresult try_r_ = (expr);                                                          \
		if (try_r_ != CUDA_SUCCESS)                                                        \
			return try_r_;                                                             \
	} while (0)
#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return CUDA_ERROR_INVALID_VALUE;                                           \
	} while (0)

/* --- handles (drv-obj.c) --- */
enum obj_kind {
	OBJ_CTX,
	OBJ_STREAM,
	OBJ_EVENT,
	OBJ_MODULE,
	OBJ_FUNC,
	OBJ_LIBRARY,
	OBJ_KERNEL,
	OBJ_POOL,
	OBJ_GRAPH,
	OBJ_NODE,
	OBJ_GRAPH_EXEC,
	OBJ_ARRAY,
	OBJ_USER,
	OBJ_LINK,
	OBJ_KINDS,
};
/* A zeroed object, or NULL when memory or the arena is exhausted. Any thread. */
void *obj_new(enum obj_kind kind);
/* Destroyed handles are reused as late as possible. */
void obj_free(enum obj_kind kind, void *obj);
bool obj_alive(enum obj_kind kind, const void *obj);
/* Walks live objects: start with NULL. Caller holds drv_lock. */
void *obj_next(enum obj_kind kind, void *after);

extern pthread_mutex_t drv_lock;

#define DRV_MEM_SYNC (1u << 31) /* in a range's flags: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */

/* --- execution (drv-exec.c) --- */
struct ctx;
struct pool {
	int dev;
	uint32_t access; /* devices that cuMemPoolSetAccess gave access, bits */
	bool is_default;
	uint64_t release_threshold;
	uint64_t used, used_high;
	int reuse[3];
};
struct timeline; /* a queue of work executed in order by one thread, and how far it has come */

/* Where the timeline is, but for handle, ctx and `behind`. *behind: the timeline that it waits for,
 * or NULL; only to be compared. */
void timeline_look(
	struct timeline *tl, struct soft_look_stream *ret, const struct timeline **behind);

/* A place on a timeline: reached when `done >= ticket`. Holds a reference to tl unless tl is NULL
 * (always reached). */
struct point {
	struct timeline *tl;
	uint64_t ticket;
};

/* When an event was reached; shared by the event and the recording in flight. */
struct mark {
	_Atomic int refs;
	_Atomic bool done;
	uint64_t ns; /* CLOCK_MONOTONIC; valid when done */
};

enum op_kind {
	OP_NOP,
	OP_KERNEL,
	OP_COPY,
	OP_FILL,
	OP_HOST,
	OP_STREAM_CALLBACK,
	OP_MARK,
	OP_GRAPH,
	OP_WRITE_VALUE,
	OP_WAIT_VALUE,
	OP_EVENT_RECORD,
	OP_EVENT_WAIT,
	OP_MEM_ALLOC,
	OP_MEM_FREE, /* of graphs only */
	OP_BATCH,    /* of value operations */
};
/* width x height x depth bytes; all pointers are addresses of this process. */
struct copy {
	uint64_t dst, src;
	size_t dst_pitch, src_pitch, dst_slice, src_slice;
	size_t width, height, depth;
	enum soft_mem_kind dst_kind, src_kind;
};
struct fill {
	uint64_t dst;
	size_t pitch, width, height; /* width in elements */
	unsigned elem;		     /* 1, 2 or 4 bytes */
	uint32_t value;
};
struct graph_exec;
struct graph_launch;
struct graph_mem;
/* One command as data: what it does, not where or when. */
struct op {
	enum op_kind kind;
	union {
		struct {
			struct func *fn;
			unsigned grid[3], block[3];
			size_t shared;
			bool cooperative;
			bool early;	     /* programmatic stream serialization */
			bool held;	     /* see overlap.h */
			unsigned cluster[3]; /* or zeros */
			int priority;	     /* a hint: it is read back, and changes nothing */
			void *params;	     /* owned, param_bytes of the function */
		} kernel;
		struct {
			struct copy c;
			void *staging; /* owned, or NULL */
		} copy;
		struct fill fill;
		struct {
			CUhostFn fn;
			CUstreamCallback stream_fn;
			CUstream stream;
			void *data;
		} host;
		struct mark *mark; /* a reference */
		struct {
			struct graph_exec *graph;
			struct graph_launch *launch; /* owned, or NULL */
		};
		struct event *event;
		struct graph_mem *mem; /* a reference */
		struct {
			struct op *list; /* owned */
			unsigned n;
		} batch;
		struct {
			uint64_t addr, value;
			unsigned bytes, flags;
		} value;
	};
};

/* A copy that owns its own parameters; false when memory is out. */
bool op_clone(const struct op *op, struct op *ret);
void op_release(struct op *op);

/* How an op shows in activity records. */
struct op_origin {
	uint32_t correlation, stream_id, graph_id;
	uint32_t look; /* for tsdb_soft_look(): the correlation id, or a number of its own */
	uint64_t node_id;
	bool async;
};
/* Runs op now, on this thread; a fault becomes c's sticky error. */
void op_run(const struct op *op, struct ctx *c, const struct op_origin *origin, uint64_t queued_ns);

struct timeline *timeline_new(struct ctx *c);
void timeline_ref(struct timeline *tl);
void timeline_unref(struct timeline *tl);
/* No more work will come: its thread ends when the queue is empty. Drops the caller's reference. */
void timeline_close(struct timeline *tl);
/* For a timeline without work: its place moves on by one. */
void timeline_step(struct timeline *tl);
/* The point after everything submitted so far; the caller owns the reference. */
struct point timeline_now(struct timeline *tl);
void point_release(struct point *p);
void point_copy(struct point *to, const struct point *from);
bool point_reached(const struct point *p);
void point_wait(const struct point *p);

/* Memory for the barrier of a cooperative grid (drv-workspace.c); waits while all of it is in use.
 * put takes 0 too. */
uint64_t workspace_get(void);
void workspace_put(uint64_t addr);

struct stream;
/* Puts op (which it takes over, also on failure) at the end of s, after `extra` points and what the
 * legacy default stream's rules add. wait: return only when it has run. Under stream capture the op
 * becomes a graph node instead. */
CUresult stream_submit(
	struct stream *s, struct op *op, const struct point *extra, bool wait, bool async);
/* Waits for every stream of c. */
void ctx_drain(struct ctx *c);
/* The same for every context: a peer's or another context's work may use what is to go. Caller does
 * not hold drv_lock. */
void ctx_drain_all(void);

struct mark *mark_new(void);
void mark_ref(struct mark *m);
void mark_unref(struct mark *m);
uint64_t now_realtime(void);

/* --- contexts (drv-ctx.c) --- */
#define CTX_LIMITS 16
struct ctx {
	uint32_t uid;
	int dev;
	uint32_t peers; /* devices whose memory its kernels may use, bits */
	bool primary;
	unsigned refs;	   /* of a primary context */
	unsigned attached; /* cuCtxAttach not undone yet */
	unsigned flags, api_version;
	_Atomic int sticky; /* CUresult of the fault that ended it */
	size_t limits[CTX_LIMITS];
	struct ptx_heap *heap; /* of its kernels */
	CUfunc_cache cache;
	struct stream *legacy;
};

/* The current context, alive and not faulted. CUDA_ERROR_INVALID_CONTEXT without one. */
CUresult ctx_current(struct ctx **ret);
/* The same, but a faulted one is fine (destroying, error queries). */
CUresult ctx_current_any(struct ctx **ret);
struct ctx *ctx_peek(void);
/* h itself when it is a live context, the current one for NULL. */
CUresult ctx_resolve(CUcontext h, struct ctx **ret);
CUresult ctx_sticky(const struct ctx *c);

/* --- streams (drv-stream.c) --- */
struct capture;
struct stream {
	struct ctx *ctx;
	uint32_t id;
	unsigned flags;
	int priority;
	bool legacy, per_thread;
	struct timeline *tl;
	struct capture *capture; /* NULL: not capturing */
	int sync_policy;	 /* CUsynchronizationPolicy, 0: never set */
};
/* The stream behind h: 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a handle, of the current
 * context. */
CUresult stream_resolve(CUstream h, bool ptds, struct stream **ret);
struct stream *stream_new(struct ctx *c, unsigned flags, int priority);
/* Every blocking stream of s's context has come to its end too when s is the legacy one. */
bool stream_idle(struct stream *s);
CUresult stream_wait(struct stream *s);
/* Drains nothing: work already queued still runs. Caller holds drv_lock. */
void stream_delete(struct stream *s);
/* Caller holds drv_lock. */
void streams_delete_of(struct ctx *c);

/* --- events (drv-event.c) --- */
struct event {
	struct ctx *ctx;
	unsigned flags;
	bool recorded;
	struct point at;
	struct mark *mark;
	struct capture *capture; /* recorded inside a capture: compared only, with its id */
	unsigned long long capture_id;
	struct node **deps; /* in a capture: the nodes that the event refers to; owned */
	unsigned ndeps;
};
void events_delete_of(struct ctx *c);
CUresult event_record(struct event *e, struct stream *s);
/* The event was recorded at this place; m and at stay the caller's. Caller holds drv_lock. */
void event_set(struct event *e, struct mark *m, const struct point *at);

/* --- modules, functions, libraries, kernels --- */
struct global {
	const char *name;
	uint64_t addr;
	size_t size;
	bool visible;
};
struct func_attrs {
	int max_dynamic_shared, carveout, non_portable_cluster, required_cluster[3], cluster_policy;
};
struct func {
	struct module *module;
	struct kernel *kernel; /* of a library, or NULL */
	const struct ptx_function *fn;
	struct ptx_function_info info;
	struct func_attrs attrs;
	_Atomic bool told_undefined; /* one undefined result of it was reported to the user */
};
struct module {
	struct ctx *ctx;
	uint32_t id;
	struct library *library; /* NULL: cuModuleLoad* */
	char *text;		 /* owned when library is NULL */
	size_t text_size;
	struct ptx_module *ptx;
	bool owns_ptx; /* false: it is the library's */
	struct func **funcs;
	unsigned nfuncs;
	struct global *globals;
	unsigned nglobals;
};
struct kernel {
	struct library *library;
	unsigned index;
	const struct ptx_function *fn;
	struct ptx_function_info info;
	struct func_attrs attrs;
};
struct library {
	char *text;
	size_t text_size;
	struct ptx_module *ptx;
	struct kernel **kernels;
	unsigned nkernels;
	struct module *module; /* of the one context that uses it now, or NULL */
	struct module **more;  /* further contexts: modules of their own */
	unsigned nmore;
};

struct jit_log {
	char *error, *info;
	size_t error_size, info_size;
	void **error_used, **info_used; /* the option value slots where sizes go back */
};
/* PTX text out of whatever image is: text, fatbin wrapper, fatbin. *text is malloc'ed and
 * NUL-terminated. limit: bytes readable at image, SIZE_MAX when unknown. */
CUresult image_to_ptx(const void *image, size_t limit, char **text, size_t *size);
CUresult image_from_file(const char *path, char **data, size_t *size);
struct link_handle {
	struct link *link;
};
/* An error that is found before the text is read. */
void jit_log_error(struct jit_log *log, const char *why);
void jit_log_init(struct jit_log *log, unsigned n, const CUjit_option *options, void **values);
CUresult ptx_from_text(const char *text, size_t size, struct jit_log *log, struct ptx_module **ret);
/* What a failure of ptx_load() or ptx_merge() that has just happened is to the program. */
CUresult ptx_failure(void);
/* A module of c from parsed PTX: gives every variable its memory, links, makes the functions. */
CUresult module_new(struct ctx *c, struct library *lib, struct ptx_module *ptx, char *text,
	size_t text_size, struct module **ret);
/* Reports the module to the tools (CUPTI). Caller does not hold drv_lock. */
void module_loaded(struct module *m);
/* Waits for the context's work first. */
void module_delete(struct module *m);
void modules_delete_of(struct ctx *c);
void libraries_forget(struct ctx *c);
struct func *module_func(struct module *m, const char *name);
const struct global *module_global(struct module *m, const char *name);
void library_end(struct library *lib);
CUresult library_module(struct library *lib, struct ctx *c, struct module **ret);
/* The function behind a CUfunction or a CUkernel, in context c. */
CUresult func_resolve(CUfunction h, struct ctx *c, struct func **ret);
void func_attrs_init(struct func_attrs *a);
CUresult func_attribute_get(const struct ptx_function_info *info, const struct func_attrs *a,
	CUfunction_attribute which, int *ret);
CUresult func_attribute_set(struct func_attrs *a, const struct ptx_function_info *info,
	CUfunction_attribute which, int value);

int func_max_dynamic_shared(const struct ptx_function_info *info, const struct func_attrs *a);
/* Whether the device can launch f in that shape. */
CUresult func_shape(const struct func *f, const unsigned grid[3], const unsigned block[3],
	size_t shared, bool cooperative);
/* The dimensions of the clusters of a launch (zeros: none), of those asked for (or NULL) and those
 * the kernel is compiled for. */
CUresult func_cluster(
	const struct func *f, const unsigned *asked, const unsigned grid[3], unsigned ret[3]);
/* Blocks that the whole device holds at a time. */
int func_blocks_resident(const struct func *f, unsigned threads, size_t dynamic);
/* --- launches and copies as commands (drv-launch.c, drv-copy.c); a graph's nodes are made with
 * these too --- */
/* The argument bytes of a launch, malloc'ed; NULL for a kernel without parameters. */
CUresult func_params(const struct func *f, void **kernel_params, void **extra, void **ret);
/* A checked launch; the caller owns what is in *ret. cluster: NULL or zeros for the kernel's own.
 */
CUresult func_op(CUfunction h, struct ctx *c, const unsigned grid[3], const unsigned block[3],
	size_t shared, bool cooperative, const unsigned *cluster, void **kernel_params,
	void **extra, struct op *ret);
/* A checked memory operation of a stream, and a batch of them. */
CUresult value_op_check(enum op_kind kind, CUdeviceptr addr, uint64_t value, unsigned bytes,
	unsigned flags, struct op *ret);
CUresult batch_op(
	unsigned n, const CUstreamBatchMemOpParams *params, unsigned flags, struct op *ret);
/* A checked copy; one of the sizes is 0 when there is nothing to do. */
CUresult copy_3d(const CUDA_MEMCPY3D *p, struct copy *c);
CUresult copy_check(struct copy *c, int dst_side, int src_side);
enum copy_side { SIDE_HOST, SIDE_DEVICE, SIDE_ANY };
/* One run of bytes, checked and submitted. */
CUresult copy_bytes(uint64_t dst, enum copy_side dst_side, uint64_t src, enum copy_side src_side,
	size_t n, CUstream h, bool ptds, bool async);
CUresult fill_check(const struct fill *f);

/* --- device facts (drv-device.c) --- */
/* The compute capability, 75 for 7.5: TSDB_SOFT_CC. 0: that names none that there is; nothing
 * starts then. */
unsigned device_cc(void);
#define DEV_MAX_THREADS 1024
#define DEV_MAX_SHARED 49152
#define DEV_MAX_SHARED_OPTIN 65536
#define DEV_SHARED_PER_SM 65536
#define DEV_THREADS_PER_SM 1024
#define DEV_BLOCKS_PER_SM 16
#define DEV_REGS_PER_SM 65536
CUresult device_check(CUdevice dev);
/* What CUDA_VISIBLE_DEVICES leaves of them. */
unsigned device_count(void);
bool device_visible(void);
unsigned device_sm_count(void);

/* --- memory (drv-mem.c) --- */
/* Whether the n bytes at addr lie in one live range; NULL otherwise. */
const struct mem_range *mem_covers(uint64_t addr, size_t n);
/* The same, and a copy or fill may write there: not where cuMemSetAccess allows reading only. */
const struct mem_range *mem_covers_writable(uint64_t addr, size_t n);
struct vmm_span {
	uint64_t start;
	size_t size;
};
/* What cuMemAddressReserve gave, around addr; zeros when there is none. */
struct vmm_span vmm_reservation(uint64_t addr);
/* Forgets the advice about managed memory that is freed (drv-managed.c). */
void managed_forget(uint64_t start, uint64_t end);
/* A place for managed memory: a device that exists, or the host. */
CUresult location_check(const CUmemLocation *l);
enum soft_mem_kind mem_soft_kind(const struct mem_range *r);
void pools_delete_of(struct ctx *c);
/* Texture and surface objects (drv-tex.c). Caller holds drv_lock. */
void textures_delete_of(struct ctx *c);
/* Gives back the memory that cuMemFreeAsync freed on s (NULL: on any stream of c), all of whose
 * work has run. */
void pool_trim_freed(struct ctx *c, struct stream *s);
/* The pool of the allocation that starts at addr, or NULL. */
CUmemoryPool pool_of(uint64_t addr);
/* Frees addr if it came from a pool, after c's work has run; false when it did not. */
bool pool_forget(uint64_t addr, struct ctx *c);

/* --- hooks (drv-entry.c) --- */
void drv_raise(const struct soft_resource *r);
void drv_report(const struct soft_op *op);
bool drv_wants_ops(void);
uint32_t drv_correlation(void);
uint32_t drv_new_uid(void);
/* One line on stderr that starts with "tsdb: software GPU: ". */
void drv_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- stream capture and graphs (drv-graph.c) --- */
/* All take drv_lock as held. capture_add takes op over, also on failure. */
CUresult capture_add(struct stream *s, struct op *op);
/* Whether work on s, which does not capture, would tie a capture to it (the legacy stream). */
bool capture_forbids(const struct stream *s);
void capture_stream_gone(struct stream *s);
/* Takes drv_lock itself: a capture runs on a stream of c; it is invalidated when this is true. */
bool ctx_has_capture(struct ctx *c);
struct event;
CUresult capture_wait(struct stream *s, struct event *e);
/* Takes drv_lock itself: s was used in a way that ends its capture. */
void capture_invalidate(struct stream *s);
/* Takes drv_lock itself. For calls that a capture may forbid ("CUDA Driver API",
 * cuThreadExchangeStreamCaptureMode): the captures that do are invalid then. */
CUresult capture_check_unsafe(void);
/* launch: of this launch, NULL for a graph without events. */
void graph_exec_run(struct graph_exec *g, struct graph_launch *launch, struct ctx *c,
	const struct op_origin *origin, uint64_t queued_ns);
void graph_launch_free(struct graph_launch *l);
/* Graph memory (drv-graph-mem.c): an op that allocates or frees it, which has a reference; what it
 * does when it runs. */
CUresult graph_mem_alloc_op(struct ctx *c, size_t size, struct op *ret);
CUresult graph_mem_free_op(uint64_t addr, struct op *ret);
uint64_t graph_mem_address(const struct op *op);
void graph_mem_run(const struct op *op);
void graph_mem_ref(struct graph_mem *m);
void graph_mem_unref(struct graph_mem *m);
/* The program frees memory that a graph's launch allocated, after c's work has run. False when addr
 * is no graph's, else *ret is the answer. */
bool graph_mem_forget(uint64_t addr, struct ctx *c, CUresult *ret);
bool graph_mem_forget_async(uint64_t addr, struct stream *s, CUresult *ret);
void graph_mems_delete_of(struct ctx *c);
/* Destructors of user objects that are due (drv-user-object.c). No lock may be held. */
void user_flush(void);
void graph_exec_ref(struct graph_exec *g);
void graph_exec_unref(struct graph_exec *g);

#endif
