/* SPDX-License-Identifier: Apache-2.0
 *
 * HIP's entry points, by name (hip-ways.h), and the handlers that hip-calls.def names. A handler's
 * call->params is HIP's own hip_api_data_t.
 */
#ifndef CAPTURE_HIP_CALLS_H
#define CAPTURE_HIP_CALLS_H

#include "capture/core/calls.h"
#include "capture/hip/hip-api.h"

/* The arguments of the call, which has that name. */
#define HIP_ARGS(c, name) (&((const hip_api_data_t *)(c)->params)->args.name)

struct hip_version;
/* What is known once the version is: called by hip_version(). */
void hip_rows_settle(const struct hip_version *v);

/* The module that a hipFunction_t was asked of; 0: none that is known. */
uint64_t hip_module_of(uint64_t function);
/* The module of the code object that has memory at that address, introduced if needed. NULL: there
 * is none. */
struct object *hip_introduce_code(struct call *c, uint64_t addr, struct hip_code *ret);

/* A launch's arguments, in either of HIP's two forms, as kernel_gather() has them. */
struct kernel;
int64_t hip_gather(
	const struct kernel *k, void **params, void **extra, uint8_t *buf, uint64_t size);

/* What a copy in a graph does, into n->cmd; to: into the variable, else from it. */
void hip_node_copy(struct call *n, uint64_t dst, uint64_t src, uint64_t size, hipMemcpyKind kind);
void hip_node_copy_symbol(struct call *n, const void *symbol, uint64_t offset, bool to,
	uint64_t other, uint64_t size, hipMemcpyKind kind);
void hip_node_copy_3d(struct call *n, const hipMemcpy3DParms *p);
/* The same of other nodes: hip-graph-nodes.c. */
void hip_node_kernel(struct call *n, const hipKernelNodeParams *p);
void hip_node_fill(struct call *n, const hipMemsetParams *p);
/* HIP does not tell what its flat copies copy: n->cmd is remembered as the node's. */
void hip_node_note_copy(uint64_t node, const struct sbt_cmd *cmd);
void hip_node_gone(uint64_t node);

#define CALL(name, KIND, enter_fn, flags) void enter_fn(struct call *c);
#define WITH_EXIT(name, KIND, enter_fn, exit_fn, flags)                                            \
	void enter_fn(struct call *c);                                                             \
	void exit_fn(struct call *c);
#define HANDLES(name)
#define IGNORED(name)
#include "capture/hip/hip-calls.def"
#undef CALL
#undef WITH_EXIT
#undef HANDLES
#undef IGNORED

#endif
