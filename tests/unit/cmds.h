/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands for unit tests: one function per kind, the seq first, everything that is not named 0.
 * Thread 1, context 0. Change what comes back for more: `c = cmd_launch(7, 1, 0); c.u.launch.grid_x
 * = 64;`.
 */
#ifndef TESTS_CMDS_H
#define TESTS_CMDS_H

#include <string.h>
#include "sbt/cmd.h"

#define CMD_FN static inline __attribute__((unused)) struct sbt_cmd

CMD_FN cmd_any(uint64_t seq, enum sbt_kind kind)
{
	return (struct sbt_cmd){.seq = seq,
		.kind = (uint16_t)kind,
		.thread = 1,
		.host_ns = 1000000000 + seq * 1000};
}

static inline __attribute__((unused)) struct sbt_blob cmd_blob(const char *s)
{
	return (struct sbt_blob){s, strlen(s)};
}

CMD_FN cmd_device(uint64_t seq, uint64_t device, const char *name)
{
	struct sbt_cmd c = cmd_any(seq, SBT_DEVICE);

	c.u.device = (struct sbt_cmd_device){.device = device,
		.device_name = cmd_blob(name),
		.sm_major = 9,
		.total_mem = UINT64_C(1) << 34,
		.sm_count = 132,
		.driver_version = 13000};
	return c;
}

/* A primary context on device 0. */
CMD_FN cmd_ctx_create(uint64_t seq, uint64_t ctx, uint64_t default_stream)
{
	struct sbt_cmd c = cmd_any(seq, SBT_CTX_CREATE);

	c.u.ctx_create.new_ctx = ctx;
	c.u.ctx_create.primary = 1;
	c.u.ctx_create.default_stream = default_stream;
	c.u.ctx_create.handle = 0xc000 + ctx;
	return c;
}

CMD_FN cmd_ctx_destroy(uint64_t seq, uint64_t ctx)
{
	struct sbt_cmd c = cmd_any(seq, SBT_CTX_DESTROY);

	c.u.ctx_destroy.dead_ctx = ctx;
	return c;
}

/* flags: 1 is non-blocking */
CMD_FN cmd_stream_create(uint64_t seq, uint64_t stream, uint64_t flags)
{
	struct sbt_cmd c = cmd_any(seq, SBT_STREAM_CREATE);

	c.u.stream_create.new_stream = stream;
	c.u.stream_create.stream_flags = flags;
	c.u.stream_create.handle = 0x5000 + stream;
	return c;
}

CMD_FN cmd_stream_destroy(uint64_t seq, uint64_t stream)
{
	struct sbt_cmd c = cmd_any(seq, SBT_STREAM_DESTROY);

	c.u.stream_destroy.dead_stream = stream;
	return c;
}

CMD_FN cmd_event_create(uint64_t seq, uint64_t event)
{
	struct sbt_cmd c = cmd_any(seq, SBT_EVENT_CREATE);

	c.u.event_create.new_event = event;
	c.u.event_create.handle = 0xe000 + event;
	return c;
}

CMD_FN cmd_event_destroy(uint64_t seq, uint64_t event)
{
	struct sbt_cmd c = cmd_any(seq, SBT_EVENT_DESTROY);

	c.u.event_destroy.dead_event = event;
	return c;
}

CMD_FN cmd_event_record(uint64_t seq, uint64_t stream, uint64_t event)
{
	struct sbt_cmd c = cmd_any(seq, SBT_EVENT_RECORD);

	c.u.event_record.stream = stream;
	c.u.event_record.event = event;
	return c;
}

CMD_FN cmd_stream_wait(uint64_t seq, uint64_t stream, uint64_t event)
{
	struct sbt_cmd c = cmd_any(seq, SBT_STREAM_WAIT);

	c.u.stream_wait.stream = stream;
	c.u.stream_wait.event = event;
	return c;
}

CMD_FN cmd_module_load(uint64_t seq, uint64_t module)
{
	struct sbt_cmd c = cmd_any(seq, SBT_MODULE_LOAD);

	c.u.module_load.new_module = module;
	c.u.module_load.code_hash = 0xabcd;
	c.u.module_load.code_size = 4096;
	return c;
}

/* params: packed (offset, size) pairs; may be NULL with n == 0. Name and pairs must outlive the
 * command. */
CMD_FN cmd_kernel_def(uint64_t seq, uint64_t kernel, uint64_t module, const char *name,
	const uint32_t *params, uint64_t n)
{
	struct sbt_cmd c = cmd_any(seq, SBT_KERNEL_DEF);

	c.u.kernel_def.new_kernel = kernel;
	c.u.kernel_def.module = module;
	c.u.kernel_def.kernel_name = cmd_blob(name);
	c.u.kernel_def.params = (struct sbt_blob){params, n * 8};
	c.u.kernel_def.regs = 32;
	c.u.kernel_def.max_threads = 1024;
	return c;
}

CMD_FN cmd_alloc(uint64_t seq, uint64_t addr, uint64_t size)
{
	struct sbt_cmd c = cmd_any(seq, SBT_ALLOC);

	c.u.alloc.addr = addr;
	c.u.alloc.size = size;
	c.u.alloc.stream = SBT_NO_ID;
	return c;
}

CMD_FN cmd_free(uint64_t seq, uint64_t addr)
{
	struct sbt_cmd c = cmd_any(seq, SBT_FREE);

	c.u.free.addr = addr;
	c.u.free.stream = SBT_NO_ID;
	return c;
}

CMD_FN cmd_launch(uint64_t seq, uint64_t stream, uint64_t kernel)
{
	struct sbt_cmd c = cmd_any(seq, SBT_LAUNCH);

	c.u.launch = (struct sbt_cmd_launch){.stream = stream,
		.kernel = kernel,
		.grid_x = 64,
		.grid_y = 1,
		.grid_z = 1,
		.block_x = 256,
		.block_y = 1,
		.block_z = 1};
	return c;
}

CMD_FN cmd_copy(uint64_t seq, uint64_t stream, enum sbt_copy dir, uint64_t dst, uint64_t src,
	uint64_t size, bool async)
{
	struct sbt_cmd c = cmd_any(seq, SBT_COPY);

	c.u.copy.stream = stream;
	c.u.copy.dir = dir;
	c.u.copy.dst = dst;
	c.u.copy.src = src;
	c.u.copy.size = size;
	c.u.copy.async = async;
	return c;
}

CMD_FN cmd_fill(uint64_t seq, uint64_t stream, uint64_t dst, uint64_t size)
{
	struct sbt_cmd c = cmd_any(seq, SBT_FILL);

	c.u.fill.stream = stream;
	c.u.fill.dst = dst;
	c.u.fill.size = size;
	c.u.fill.elem = 1;
	c.u.fill.async = 1;
	return c;
}

CMD_FN cmd_sync_ctx(uint64_t seq)
{
	struct sbt_cmd c = cmd_any(seq, SBT_SYNC);

	c.u.sync.scope = SBT_SYNC_CTX;
	c.u.sync.stream = c.u.sync.event = SBT_NO_ID;
	return c;
}

CMD_FN cmd_sync_stream(uint64_t seq, uint64_t stream)
{
	struct sbt_cmd c = cmd_sync_ctx(seq);

	c.u.sync.scope = SBT_SYNC_STREAM;
	c.u.sync.stream = stream;
	return c;
}

CMD_FN cmd_sync_event(uint64_t seq, uint64_t event)
{
	struct sbt_cmd c = cmd_sync_ctx(seq);

	c.u.sync.scope = SBT_SYNC_EVENT;
	c.u.sync.event = event;
	return c;
}

CMD_FN cmd_sync_end(uint64_t seq, uint64_t begin)
{
	struct sbt_cmd c = cmd_any(seq, SBT_SYNC_END);

	c.u.sync_end.begin = begin;
	return c;
}

CMD_FN cmd_query_stream(uint64_t seq, uint64_t stream, uint32_t result)
{
	struct sbt_cmd c = cmd_any(seq, SBT_QUERY);

	c.u.query.scope = SBT_SYNC_STREAM;
	c.u.query.stream = stream;
	c.u.query.event = SBT_NO_ID;
	c.result = result;
	return c;
}

CMD_FN cmd_query_event(uint64_t seq, uint64_t event, uint32_t result)
{
	struct sbt_cmd c = cmd_query_stream(seq, SBT_NO_ID, result);

	c.u.query.scope = SBT_SYNC_EVENT;
	c.u.query.event = event;
	return c;
}

CMD_FN cmd_capture_begin(uint64_t seq, uint64_t stream)
{
	struct sbt_cmd c = cmd_any(seq, SBT_CAPTURE_BEGIN);

	c.u.capture_begin.stream = stream;
	return c;
}

CMD_FN cmd_capture_end(uint64_t seq, uint64_t stream, uint64_t graph)
{
	struct sbt_cmd c = cmd_any(seq, SBT_CAPTURE_END);

	c.u.capture_end.stream = stream;
	c.u.capture_end.new_graph = graph;
	return c;
}

/* payload: a packed command; may be NULL with n == 0. */
CMD_FN cmd_graph_node(uint64_t seq, uint64_t graph, uint64_t node, enum sbt_node type,
	uint64_t kernel, const void *payload, uint64_t n)
{
	struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_NODE);

	c.u.graph_node.graph = graph;
	c.u.graph_node.node = node;
	c.u.graph_node.type = type;
	c.u.graph_node.kernel = kernel;
	c.u.graph_node.payload = (struct sbt_blob){payload, n};
	return c;
}

CMD_FN cmd_graph_instantiate(uint64_t seq, uint64_t exec, uint64_t graph)
{
	struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_INSTANTIATE);

	c.u.graph_instantiate.new_exec = exec;
	c.u.graph_instantiate.graph = graph;
	return c;
}

CMD_FN cmd_graph_destroy(uint64_t seq, uint64_t graph)
{
	struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_DESTROY);

	c.u.graph_destroy.dead_graph = graph;
	return c;
}

CMD_FN cmd_graph_launch(uint64_t seq, uint64_t stream, uint64_t exec)
{
	struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_LAUNCH);

	c.u.graph_launch.stream = stream;
	c.u.graph_launch.exec = exec;
	return c;
}

CMD_FN cmd_host_func(uint64_t seq, uint64_t stream)
{
	struct sbt_cmd c = cmd_any(seq, SBT_HOST_FUNC);

	c.u.host_func.stream = stream;
	return c;
}

#undef CMD_FN
#endif
