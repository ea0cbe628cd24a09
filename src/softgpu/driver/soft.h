/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions between the software GPU's three libraries: libcuda.so.1 exports tsdb_soft_*,
 * libcupti.so.13 finds them with dlsym, libcudart.so.13 links to them. Private: all three come from
 * one build, so there is no version here.
 */
#ifndef SOFTGPU_SOFT_H
#define SOFTGPU_SOFT_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include "capture/soft-fault.h"
#include "capture/soft-look.h"

#define SOFT_EXPORT __attribute__((visibility("default")))
#define SOFT_CUDA_VERSION 13000

enum soft_domain { SOFT_DRIVER, SOFT_RUNTIME };

/* One API call on its way in or out; lives on the caller's stack, the same object for enter and
 * exit. */
struct soft_call {
	enum soft_domain domain;
	uint32_t cbid;	    /* CUPTI_DRIVER_TRACE_CBID_* or CUPTI_RUNTIME_TRACE_CBID_* */
	const char *name;   /* "cuLaunchKernel" */
	const void *params; /* the call's *_params structure, NULL for calls without arguments */
	const void *result; /* CUresult or cudaError_t; read at exit only */
	const char *symbol; /* launches: the kernel's mangled name, else NULL */
	/* Filled by libcuda at enter. */
	CUcontext ctx;
	uint32_t ctx_uid;
	uint32_t correlation;
	uint64_t start_ns;	   /* CLOCK_REALTIME */
	uint64_t correlation_data; /* the subscriber's, carried from enter to exit */
	uint32_t saved;		   /* libcuda's: the correlation id to go back to */
	bool quiet;		   /* libcuda's: made from inside a callback, so not reported */
};

enum soft_resource_kind {
	SOFT_CONTEXT_CREATED,
	SOFT_CONTEXT_DESTROY_STARTING,
	SOFT_STREAM_CREATED,
	SOFT_STREAM_DESTROY_STARTING,
	SOFT_MODULE_LOADED,
	SOFT_MODULE_UNLOAD_STARTING,
	SOFT_INIT_FINISHED,
	SOFT_STREAM_SYNCHRONIZED,
	SOFT_CONTEXT_SYNCHRONIZED,
};
struct soft_resource {
	enum soft_resource_kind kind;
	CUcontext ctx;
	uint32_t ctx_uid;
	CUstream stream;
	uint32_t module_id;
	const void *code; /* PTX text; valid during the callback only */
	size_t code_size;
};

enum soft_op_kind { SOFT_OP_KERNEL, SOFT_OP_COPY, SOFT_OP_FILL };
enum soft_mem_kind { SOFT_MEM_PAGEABLE, SOFT_MEM_PINNED, SOFT_MEM_DEVICE, SOFT_MEM_MANAGED };
/* A command that has been executed, for activity records. Strings live until their module is
 * unloaded. */
struct soft_op {
	enum soft_op_kind kind;
	uint32_t correlation, ctx_uid, stream_id;
	uint32_t graph_id;
	uint64_t graph_node_id;
	uint64_t queued_ns, start_ns, end_ns; /* CLOCK_REALTIME */
	CUcontext ctx;
	bool async;
	/* kernels */
	const char *name;
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared, local_per_thread, regs;
	uint64_t grid_id;
	/* copies and fills */
	uint64_t bytes;
	enum soft_mem_kind src, dst; /* a fill has dst only */
	uint32_t value;
};

/* What libcupti installs. Every member may be NULL. Called from the thread that makes the API call
 * (call, resource) or from a stream's thread (op); `call` and `resource` may make driver calls,
 * which are not reported. */
struct soft_hooks {
	void (*call)(struct soft_call *c, bool exit);
	void (*resource)(const struct soft_resource *r);
	void (*op)(const struct soft_op *op);
};

/* Installs hooks (NULL: none). The structure must stay valid for ever. */
SOFT_EXPORT void tsdb_soft_set_hooks(const struct soft_hooks *hooks);
/* Non-zero while hooks are installed: the runtime's one branch. The address never changes. */
SOFT_EXPORT const int *tsdb_soft_watched(void);
/* The runtime raises its callbacks with these, around the call. c: domain, cbid, name, params,
 * result, symbol filled, the rest zero. Driver calls made in between share the correlation id. */
SOFT_EXPORT void tsdb_soft_enter(struct soft_call *c);
SOFT_EXPORT void tsdb_soft_exit(struct soft_call *c);
/* Ids as CUPTI shows them. 0 for a handle that does not exist; stream 0 and 1 are the current
 * context's legacy stream. */
SOFT_EXPORT uint32_t tsdb_soft_context_id(CUcontext ctx);
SOFT_EXPORT uint32_t tsdb_soft_stream_id(CUcontext ctx, CUstream stream, bool per_thread);
/* The id of a CUgraph, CUgraphNode or CUgraphExec, or 0. */
SOFT_EXPORT uint64_t tsdb_soft_graph_id(const void *handle);
/* Waits until every command submitted so far has run and been reported to hooks->op. */
SOFT_EXPORT void tsdb_soft_drain(void);
/* capture/soft-fault.h */
SOFT_EXPORT bool tsdb_soft_fault(struct soft_fault *ret);
/* Describes the i-th stream that has work. 0: there are no more; -1: the state cannot be read now.
 * Waits for no command. */
SOFT_EXPORT int tsdb_soft_busy(unsigned i, char *text, unsigned size);
/* capture/soft-look.h */
SOFT_EXPORT void tsdb_soft_look(struct soft_look *ret, unsigned ms);
/* The calling thread's current context or NULL; no callback is made. */
SOFT_EXPORT CUcontext tsdb_soft_current(void);
/* Program exit or the runtime's need: the mangled name of a CUfunction or CUkernel, or NULL. */
SOFT_EXPORT const char *tsdb_soft_symbol(CUfunction f);

#endif
