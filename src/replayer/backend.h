/* SPDX-License-Identifier: Apache-2.0
 *
 * What the replayer asks of a GPU: a table of operations, in types that no vendor has. The rest of
 * the replayer calls a GPU through rp->gpu alone. A vendor's types and functions live in a drawer
 * of their own, which fills the table: backend-cuda/ and backend-hip/.
 *
 * To add a vendor: open() finds its library, which is loaded and not yet started when the sandbox
 * shuts, unless the table says starts_first; every operation must be there; one that the opened
 * library lacks is a bit that `can` of struct backend_library does not have, and is then never
 * called.
 *
 * Device addresses are those that kernels see. Operations that take a stream do not wait, unless
 * they say so; NULL is the default stream. What is made belongs to the context that is current. Any
 * thread may call an operation, after context_enter() in that thread.
 */
#ifndef REPLAYER_BACKEND_H
#define REPLAYER_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "gpucode/code-kind.h"
#include "gpucode/hash-rows.h"
#include "sbt/footprint.h"
#include "sbt/pagehash.h"

/* The vendor's own handles: never defined, only passed on. */
struct gpu_context;
struct gpu_stream;
struct gpu_event;
struct gpu_module; /* loaded code */
struct gpu_kernel; /* a function of it that can be launched */
struct gpu_graph;
struct gpu_node;
struct gpu_exec;     /* a graph that can be launched */
struct gpu_array;    /* memory without an address, for textures and surfaces */
struct soft_texture; /* soft-watch.h */

/* How an operation ended, as far as the replayer asks. */
enum gpu_status {
	GPU_OK,
	GPU_NOT_READY, /* of event_query() */
	GPU_NOT_FOUND, /* the code has nothing of that name */
	GPU_NO_MEMORY,
	GPU_REFUSED, /* this device does not have what was asked for, or not with that value */
	GPU_ALREADY, /* it is so already */
	GPU_FAULT,   /* the context answers nothing else from now on */
	GPU_FAILED,  /* anything else */
};
struct gpu_result {
	enum gpu_status status;
	int code; /* the vendor's number */
	const char
		*call; /* the vendor's name of the function that answered, or what was being done */
};

/* The same result of something that has a better name than the vendor's function. */
static inline struct gpu_result gpu_result_of(const char *what, struct gpu_result r)
{
	r.call = what;
	return r;
}

/* What not every library can. */
enum gpu_can {
	GPU_CAN_HASH = 1,		/* hash_*() */
	GPU_CAN_PLACE = 2,		/* mem_grain(), mem_reserve(), mem_unreserve(), mem_map() */
	GPU_CAN_PEERS = 4,		/* device_sees(), context_open_to() */
	GPU_CAN_LAUNCH_MORE = 8,	/* launches that are cooperative, in clusters or early */
	GPU_CAN_PARAMS = 16,		/* kernel_param() */
	GPU_CAN_WRITE_32 = 32,		/* stream_write() of 4 bytes */
	GPU_CAN_WRITE_64 = 64,		/* and of 8 */
	GPU_CAN_TIME = 128,		/* event_elapsed() */
	GPU_CAN_NODE_LAUNCH_MORE = 256, /* the same launches in graphs */
	GPU_CAN_NODE_RECORD = 512,	/* graph_add_record() */
	GPU_CAN_NODE_WAIT = 1024,	/* graph_add_wait() */
	GPU_CAN_TEXTURES = 2048,	/* array_*(), texture_*() */
	GPU_CAN_GRAPHS = 4096,		/* graph_*() */
	GPU_CAN_LAST = 8192,		/* launches whose last block is smaller, not in graphs */
};

/* An opened library. */
struct backend_library {
	void *handle; /* for dlsym() */
	void *device; /* the software GPU's own library, for dlsym() */
	void *inside; /* an address in it: the sandbox leaves its folder readable */
	void *tables; /* of functions to call, tables_size bytes in whole pages: the caller makes
			 them read-only */
	size_t tables_size;
	unsigned can;  /* enum gpu_can */
	bool soft;     /* a software GPU: its memory is this process's */
	bool ptx_only; /* no machine code runs there */
};

/* One side of a copy: the rows as recorded, and where their first byte is here. */
struct gpu_rows {
	struct sbt_rows rows;
	uint64_t here;
	bool on_device; /* else memory of the host */
};

struct gpu_launch {
	struct gpu_kernel *kernel;
	unsigned grid[3], block[3];
	unsigned last[3];    /* threads of the last block in each direction; 0: a whole one */
	unsigned shared;     /* bytes of dynamic shared memory */
	unsigned cluster[3]; /* cluster[0] 0: none */
	bool cooperative;
	bool early;		     /* may begin before the launch in front of it has finished */
	struct gpu_event *triggered; /* recorded when all blocks let others begin; NULL: none */
	bool at_start;		     /* each lets them begin when it begins itself */
	struct gpu_event *begun;     /* recorded when all blocks have begun; NULL: none */
	void *args;		     /* all parameters as one block */
	size_t nargs;		     /* bytes */
};

/* Where a node goes. */
struct gpu_node_place {
	struct gpu_graph *graph;
	struct gpu_node **deps; /* it runs behind these */
	size_t ndeps;
	struct gpu_context *context; /* of the device that runs it */
};

struct backend {
	/* ---- the library ---- */
	/* Loads the library: nothing of it has run yet. ERR_NOT_FOUND: none is here;
	 * ERR_UNSUPPORTED: it lacks a function, which is named. */
	struct err *(*open)(struct backend_library *ret);
	struct gpu_result (*start)(void);
	/* It starts before the sandbox shuts, and before the trace is looked at: it needs files,
	 * and its threads are shut in with the process. */
	bool starts_first;
	/* What the device executes, beside PTX: CODE_CUBIN means fat binaries, too. */
	enum code_kind machine_code;
	/* The vendor's name of a result; NULL: it has none. */
	const char *(*result_name)(int code);
	/* Whether a recorded result is one after which a context answers nothing else. */
	bool (*result_is_fault)(int code);
	/* Calls, by how their names begin, after which kernels may use a texture or a surface; NULL
	 * ends them. */
	const char *const *texture_calls;
	/* Limits that can be set only before a kernel has used what they limit; -1 ends them. NULL
	 * if context_limit is. */
	const int *limits_once;
	/* Recorded values that mean something to the replayer. */
	int attr_max_shared; /* the kernel attribute: how much dynamic shared memory a launch may
				have */

	/* ---- devices and contexts ---- */
	struct gpu_result (*driver_version)(int *ret);
	struct gpu_result (*device_count)(int *ret);
	struct gpu_result (*device_get)(int *ret, int ordinal);
	struct gpu_result (*device_name)(char *ret, int size, int device);
	struct gpu_result (*device_sees)(bool *ret, int device, int other);
	/* The one context that the device has in this process. */
	struct gpu_result (*context_open)(struct gpu_context **ret, int device);
	/* Makes it the calling thread's. */
	struct gpu_result (*context_enter)(struct gpu_context *c);
	/* Its memory can be used from the current context. GPU_ALREADY is no failure. */
	struct gpu_result (*context_open_to)(struct gpu_context *c);
	/* Waits for all that the current one was given. */
	struct gpu_result (*context_finish)(void);
	/* Sets and reads a limit of the current one; the number is the recording's. Both may be
	 * NULL: the backend has no limits. */
	struct gpu_result (*context_limit)(int limit, uint64_t value);
	struct gpu_result (*context_limit_is)(int limit, uint64_t *ret);

	/* ---- memory ---- */
	struct gpu_result (*mem_alloc)(uint64_t *ret, size_t size);
	struct gpu_result (*mem_free)(uint64_t addr);
	struct gpu_result (*mem_info)(size_t *ret_free, size_t *ret_total);
	/* Pinned memory. */
	struct gpu_result (*host_alloc)(void **ret, size_t size);
	struct gpu_result (*host_free)(void *p);
	/* Pins memory of this process; *ret: where kernels see it. */
	struct gpu_result (*host_register)(void *p, size_t size, uint64_t *ret);
	/* What addresses and sizes of mem_map() are multiples of. */
	struct gpu_result (*mem_grain)(size_t *ret, int device);
	/* addr is a wish: *ret may be another one. */
	struct gpu_result (*mem_reserve)(uint64_t *ret, uint64_t addr, size_t size);
	struct gpu_result (*mem_unreserve)(uint64_t addr, size_t size);
	/* Memory of the device, or with host the vendor's memory of the host, to reserved
	 * addresses; all n devices may use it. */
	struct gpu_result (*mem_map)(
		uint64_t addr, size_t size, int device, bool host, const int *devices, unsigned n);

	/* ---- copies and fills ---- */
	struct gpu_result (*copy_to_device)(
		uint64_t dst, const void *src, size_t n, struct gpu_stream *s);
	struct gpu_result (*copy_to_host)(void *dst, uint64_t src, size_t n, struct gpu_stream *s);
	struct gpu_result (*copy_on_device)(
		uint64_t dst, uint64_t src, size_t n, struct gpu_stream *s);
	/* Between memory of any kind. */
	struct gpu_result (*copy)(uint64_t dst, uint64_t src, size_t n, struct gpu_stream *s);
	/* Exactly the bytes of the rows. Both sides have the same width, height and depth. */
	struct gpu_result (*copy_rows)(
		const struct gpu_rows *dst, const struct gpu_rows *src, struct gpu_stream *s);
	/* n bytes, in elements of 1, 2 or 4. */
	struct gpu_result (*fill)(
		uint64_t dst, unsigned elem, unsigned value, size_t n, struct gpu_stream *s);
	/* One slice of rows. */
	struct gpu_result (*fill_rows)(uint64_t dst, const struct sbt_rows *rows, unsigned elem,
		unsigned value, struct gpu_stream *s);

	/* ---- arrays, texture and surface objects ---- */
	/* Of the shape that t describes. */
	struct gpu_result (*array_create)(struct gpu_array **ret, const struct soft_texture *t);
	struct gpu_result (*array_destroy)(struct gpu_array *a);
	/* All texels, between the array and memory at addr, where they lie row after row without
	 * gaps. Does not wait. */
	struct gpu_result (*array_copy)(struct gpu_array *a, const struct soft_texture *t,
		uint64_t addr, bool to_array, struct gpu_stream *s);
	/* An object as t describes it, of array a, or of memory at t->addr if a is NULL. The driver
	 * chooses its handle: *ret. */
	struct gpu_result (*texture_create)(
		uint64_t *ret, const struct soft_texture *t, struct gpu_array *a);
	struct gpu_result (*texture_destroy)(uint64_t handle, bool surface);

	/* ---- code ---- */
	/* size: bytes of it; PTX has a NUL behind them. */
	struct gpu_result (*code_load)(struct gpu_module **ret, const void *code, size_t size);
	struct gpu_result (*code_unload)(struct gpu_module *m);
	struct gpu_result (*code_kernel)(
		struct gpu_kernel **ret, struct gpu_module *m, const char *name);
	struct gpu_result (*code_global)(
		uint64_t *ret, size_t *ret_size, struct gpu_module *m, const char *name);
	/* Where parameter i lies in the block of all. Not GPU_OK: there is no parameter i. */
	struct gpu_result (*kernel_param)(
		struct gpu_kernel *k, size_t i, size_t *ret_offset, size_t *ret_size);
	/* Lets launches have so much dynamic shared memory. */
	struct gpu_result (*kernel_max_shared)(struct gpu_kernel *k, int bytes);
	/* Lets launches have clusters that only some devices have. */
	struct gpu_result (*kernel_any_cluster)(struct gpu_kernel *k);
	/* As recorded. */
	struct gpu_result (*kernel_attribute)(struct gpu_kernel *k, int attr, int value);
	struct gpu_result (*launch)(const struct gpu_launch *l, struct gpu_stream *s);
	/* Launches that begin to run from now on run their blocks in the n-th other order, 0: in
	 * the usual one. NULL: the device has none that is usual. Where it is not NULL, executing a
	 * launch again without it proves nothing: it comes out the same. */
	void (*order)(uint64_t n);

	/* ---- streams and events ---- */
	/* apart: it does not wait for the default stream, nor the default stream for it. */
	struct gpu_result (*stream_create)(struct gpu_stream **ret, bool apart, int priority);
	struct gpu_result (*stream_destroy)(struct gpu_stream *s);
	/* Waits. */
	struct gpu_result (*stream_finish)(struct gpu_stream *s);
	struct gpu_result (*stream_wait)(struct gpu_stream *s, struct gpu_event *e);
	/* The value, of 4 or 8 bytes, when all before it in the stream is done. */
	struct gpu_result (*stream_write)(
		struct gpu_stream *s, uint64_t addr, uint64_t value, unsigned size);
	struct gpu_result (*event_create)(struct gpu_event **ret, bool timed);
	/* Also while it is waited for. */
	struct gpu_result (*event_destroy)(struct gpu_event *e);
	struct gpu_result (*event_record)(struct gpu_event *e, struct gpu_stream *s);
	struct gpu_result (*event_query)(struct gpu_event *e);
	/* Waits. */
	struct gpu_result (*event_finish)(struct gpu_event *e);
	struct gpu_result (*event_elapsed)(
		float *ret_ms, struct gpu_event *begin, struct gpu_event *end);

	/* ---- graphs ---- */
	struct gpu_result (*graph_create)(struct gpu_graph **ret);
	struct gpu_result (*graph_destroy)(struct gpu_graph *g);
	struct gpu_result (*graph_add_kernel)(
		struct gpu_node **ret, const struct gpu_node_place *at, const struct gpu_launch *l);
	struct gpu_result (*graph_add_copy)(struct gpu_node **ret, const struct gpu_node_place *at,
		const struct gpu_rows *dst, const struct gpu_rows *src);
	struct gpu_result (*graph_add_fill)(struct gpu_node **ret, const struct gpu_node_place *at,
		uint64_t dst, const struct sbt_rows *rows, unsigned elem, unsigned value);
	struct gpu_result (*graph_add_empty)(
		struct gpu_node **ret, const struct gpu_node_place *at);
	/* The node has a copy of the child. */
	struct gpu_result (*graph_add_child)(
		struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_graph *child);
	struct gpu_result (*graph_add_record)(
		struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_event *e);
	struct gpu_result (*graph_add_wait)(
		struct gpu_node **ret, const struct gpu_node_place *at, struct gpu_event *e);
	struct gpu_result (*graph_instantiate)(struct gpu_exec **ret, struct gpu_graph *g);
	struct gpu_result (*graph_launch)(struct gpu_exec *g, struct gpu_stream *s);
	struct gpu_result (*graph_exec_destroy)(struct gpu_exec *g);

	/* --- hashes of memory where it is (gpucode/hash-kernel.h says what each does) --- */
	/* In the current context, which must be current in the others. Waits. */
	struct gpu_result (*hash_open)(void);
	/* Whether the host does it, since it can read the device's memory. */
	bool (*hash_on_host)(void);
	/* Wait. */
	struct gpu_result (*hash_ranges)(const struct hash_kernel_range *ranges, size_t n,
		struct sbt_hash *ret, struct gpu_stream *s);
	struct gpu_result (*hash_pages)(
		struct hash_kernel_range range, struct sbt_hash *ret, struct gpu_stream *s);
	/* Do not wait. */
	struct gpu_result (*hash_changed)(
		uint64_t before, uint64_t now, size_t n, uint64_t changed, struct gpu_stream *s);
	struct gpu_result (*hash_replace)(uint64_t at, uint64_t bytes, uint64_t like, uint64_t from,
		uint64_t to, struct gpu_stream *s);
	struct gpu_result (*hash_settle)(const struct hash_kernel_settle *on,
		const struct hash_kernel_rows *rows, unsigned todo, struct gpu_stream *s);
};

extern const struct backend backend_cuda, backend_hip; /* backend_hip: if built with HIP */

#endif
