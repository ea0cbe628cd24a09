/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/graph.h"
CUresult capture_add(struct stream *s, struct op *op){op_release(op);return CUDA_ERROR_NOT_SUPPORTED;}
bool capture_forbids(const struct stream *s){return false;}
void capture_stream_gone(struct stream *s){}
CUresult capture_wait(struct stream *s, struct event *e){return CUDA_ERROR_NOT_SUPPORTED;}
void capture_invalidate(struct stream *s){}
void graph_exec_run(struct graph_exec *g, struct ctx *c, const struct op_origin *origin, uint64_t queued_ns){}
void graph_exec_ref(struct graph_exec *g){}
void graph_exec_unref(struct graph_exec *g){}
struct capture_stream *capture_stream_of(struct stream *s){return NULL;}
bool ctx_has_capture(struct ctx *c){return false;}
