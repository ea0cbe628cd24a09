/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of calls that name streams, events, kernels and graphs, as commands: by the prototypes
 * of the CUDA driver API reference.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/object-calls.h"

#define RUBBISH 0xabcdef0000000000u /* above an argument of 32 bits */

static struct object_asked asked[OBJECT_CALL_ASKED];
static unsigned nasked;
static struct sbt_cmd cmd;

#define CALL(name, ...) call(OBJECT_CALL_##name, (const uint64_t[OBJECT_CALL_ARGS]){__VA_ARGS__})
static void call(enum object_call which, const uint64_t *args)
{
	memset(&cmd, 0, sizeof cmd);
	memset(asked, 0, sizeof asked);
	nasked = object_call(which, args, &cmd, asked);
}

static void assert_asks(unsigned i, enum object_kind kind, uint64_t handle, const uint64_t *id)
{
	assert_true(i < nasked);
	assert_int_equal(asked[i].kind, kind);
	assert_int_equal(asked[i].handle, handle);
	assert_ptr_equal(asked[i].id, id);
}

static void work(void **state)
{
	(void)state;
	/* cuLaunchHostFunc(hStream, fn, userData) */
	CALL(host_func, 0x100, 0x401000, 0x7f00);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.host_func.stream);
	assert_int_equal(cmd.u.host_func.fn, 0x401000);
	assert_int_equal(cmd.u.host_func.user_data, 0x7f00);
	/* cuGraphLaunch(hGraphExec, hStream) */
	CALL(graph_launch, 0xee, 0x100);
	assert_int_equal(nasked, 2);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.graph_launch.stream);
	assert_asks(1, OBJECT_EXEC, 0xee, &cmd.u.graph_launch.exec);
}

/* cuStreamWriteValue32(stream, addr, value, flags) and the three others */
static void memory_operations(void **state)
{
	const struct sbt_cmd_batch *b = &cmd.u.batch;

	(void)state;
	CALL(write32, 0x100, 0x302000000000, RUBBISH | 0xfffffff0, RUBBISH | 1);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_STREAM, 0x100, &b->stream);
	assert_int_equal(b->addr, 0x302000000000);
	assert_int_equal(b->value, 0xfffffff0);
	assert_int_equal(b->op_flags, 1);
	assert_int_equal(b->elem, 4);
	assert_int_equal(b->is_wait, 0);
	CALL(write64, 0x100, 0x302000000000, 0xfedcba9876543210, RUBBISH | 0);
	assert_int_equal(b->value, 0xfedcba9876543210);
	assert_int_equal(b->op_flags, 0);
	assert_int_equal(b->elem, 8);
	assert_int_equal(b->is_wait, 0);
	CALL(wait32, 0x100, 0x302000000000, RUBBISH | 7, 2);
	assert_int_equal(b->value, 7);
	assert_int_equal(b->op_flags, 2);
	assert_int_equal(b->elem, 4);
	assert_int_equal(b->is_wait, 1);
	CALL(wait64, 0x100, 0x302000000000, 1ull << 40, 0);
	assert_int_equal(b->value, 1ull << 40);
	assert_int_equal(b->elem, 8);
	assert_int_equal(b->is_wait, 1);
}

/* cuFuncSetAttribute(hfunc, attrib, value), cuKernelSetAttribute(attrib, val, kernel, dev) */
static void attributes(void **state)
{
	(void)state;
	CALL(func_attr, 0x8000, RUBBISH | 9, RUBBISH | 0xffffffff);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_KERNEL, 0x8000, &cmd.u.func_attr.kernel);
	assert_int_equal(cmd.u.func_attr.attr, 9);
	assert_int_equal(cmd.u.func_attr.attr_value, UINT64_MAX); /* -1 */
	CALL(kernel_attr, RUBBISH | 8, 65536, 0x8000, 0);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_KERNEL, 0x8000, &cmd.u.func_attr.kernel);
	assert_int_equal(cmd.u.func_attr.attr, 8);
	assert_int_equal(cmd.u.func_attr.attr_value, 65536);
}

static void streams_and_events(void **state)
{
	(void)state;
	/* cuStreamCreate(phStream, Flags); WithPriority(phStream, flags, priority) */
	CALL(stream_create, 0x7f00, RUBBISH | 1, 77);
	assert_int_equal(nasked, 0);
	assert_int_equal(cmd.u.stream_create.new_stream, SBT_NO_ID);
	assert_int_equal(cmd.u.stream_create.stream_flags, 1);
	assert_int_equal(cmd.u.stream_create.priority, 0);
	CALL(stream_create_priority, 0x7f00, 1, RUBBISH | 0xfffffffb);
	assert_int_equal(cmd.u.stream_create.new_stream, SBT_NO_ID);
	assert_int_equal(cmd.u.stream_create.stream_flags, 1);
	assert_int_equal((int64_t)cmd.u.stream_create.priority, -5);
	CALL(stream_destroy, 0x100);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.stream_destroy.dead_stream);
	/* cuEventCreate(phEvent, Flags) */
	CALL(event_create, 0x7f00, RUBBISH | 2);
	assert_int_equal(nasked, 0);
	assert_int_equal(cmd.u.event_create.new_event, SBT_NO_ID);
	assert_int_equal(cmd.u.event_create.event_flags, 2);
	CALL(event_destroy, 0xe0);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_EVENT, 0xe0, &cmd.u.event_destroy.dead_event);
	/* cuEventRecord(hEvent, hStream); WithFlags(hEvent, hStream, flags) */
	CALL(event_record, 0xe0, 0x100, 1);
	assert_int_equal(nasked, 2);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.event_record.stream);
	assert_asks(1, OBJECT_EVENT, 0xe0, &cmd.u.event_record.event);
	assert_int_equal(cmd.u.event_record.record_flags, 0);
	CALL(event_record_flags, 0xe0, 0x100, RUBBISH | 1);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.event_record.stream);
	assert_asks(1, OBJECT_EVENT, 0xe0, &cmd.u.event_record.event);
	assert_int_equal(cmd.u.event_record.record_flags, 1);
	/* cuStreamWaitEvent(hStream, hEvent, Flags) */
	CALL(stream_wait, 0x100, 0xe0, RUBBISH | 1);
	assert_int_equal(nasked, 2);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.stream_wait.stream);
	assert_asks(1, OBJECT_EVENT, 0xe0, &cmd.u.stream_wait.event);
	assert_int_equal(cmd.u.stream_wait.wait_flags, 1);
}

static void waits_and_questions(void **state)
{
	(void)state;
	CALL(ctx_sync, 1, 2);
	assert_int_equal(nasked, 0);
	assert_int_equal(cmd.u.sync.scope, SBT_SYNC_CTX);
	assert_int_equal(cmd.u.sync.stream, SBT_NO_ID);
	assert_int_equal(cmd.u.sync.event, SBT_NO_ID);
	CALL(stream_sync, 0x100);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.sync.stream);
	assert_int_equal(cmd.u.sync.scope, SBT_SYNC_STREAM);
	assert_int_equal(cmd.u.sync.event, SBT_NO_ID);
	CALL(event_sync, 0xe0);
	assert_asks(0, OBJECT_EVENT, 0xe0, &cmd.u.sync.event);
	assert_int_equal(cmd.u.sync.scope, SBT_SYNC_EVENT);
	assert_int_equal(cmd.u.sync.stream, SBT_NO_ID);
	CALL(stream_query, 0x100);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.query.stream);
	assert_int_equal(cmd.u.query.scope, SBT_SYNC_STREAM);
	assert_int_equal(cmd.u.query.event, SBT_NO_ID);
	CALL(event_query, 0xe0);
	assert_asks(0, OBJECT_EVENT, 0xe0, &cmd.u.query.event);
	assert_int_equal(cmd.u.query.scope, SBT_SYNC_EVENT);
	assert_int_equal(cmd.u.query.stream, SBT_NO_ID);
}

/* CU_STREAM_CAPTURE_MODE_GLOBAL, _THREAD_LOCAL, _RELAXED are 0, 1, 2 (cuda.h). */
static void captures(void **state)
{
	(void)state;
	CALL(begin_capture_v1, 0x100, 2);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.capture_begin.stream);
	assert_int_equal(cmd.u.capture_begin.mode, SBT_CAPTURE_GLOBAL);
	CALL(begin_capture, 0x100, RUBBISH | 1);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.capture_begin.stream);
	assert_int_equal(cmd.u.capture_begin.mode, SBT_CAPTURE_THREAD);
	CALL(begin_capture, 0x100, 2);
	assert_int_equal(cmd.u.capture_begin.mode, SBT_CAPTURE_RELAXED);
	CALL(begin_capture, 0x100, 3); /* the driver refuses it */
	assert_int_equal(cmd.u.capture_begin.mode, SBT_CAPTURE_GLOBAL);
	CALL(begin_capture_to, 0x100, 0x9000, 1, 2, 3, RUBBISH | 2);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.capture_begin.stream);
	assert_int_equal(cmd.u.capture_begin.mode, SBT_CAPTURE_RELAXED);
	CALL(end_capture, 0x100, 0x7f00);
	assert_int_equal(nasked, 1);
	assert_asks(0, OBJECT_STREAM, 0x100, &cmd.u.capture_end.stream);
	assert_int_equal(cmd.u.capture_end.new_graph, SBT_NO_ID);
}

/* The structures have the members of CUPTI's cuNAME_params. */
static void structures(void **state)
{
	const struct {
		void *stream;
		uint64_t addr;
		uint32_t value;
		uint32_t flags;
	} write32 = {(void *)0x100, 0x302000000000, 7, 1};
	const struct {
		void *stream;
		uint64_t addr;
		uint64_t value;
		uint32_t flags;
	} wait64 = {(void *)0x100, 0x302000000000, 1ull << 40, 2};
	const struct {
		uint32_t attrib;
		int32_t val;
		void *kernel;
		int32_t dev;
	} attribute = {8, -3, (void *)0x8000, 0};
	uint64_t args[OBJECT_CALL_ARGS];

	(void)state;
	memset(args, 0xff, sizeof args);
	object_call_args(OBJECT_CALL_write32, &write32, args);
	assert_memory_equal(args, ((uint64_t[]){0x100, 0x302000000000, 7, 1, ~0ull}), 40);
	object_call_args(OBJECT_CALL_wait64, &wait64, args);
	assert_memory_equal(args, ((uint64_t[]){0x100, 0x302000000000, 1ull << 40, 2, ~0ull}), 40);
	object_call_args(OBJECT_CALL_kernel_attr, &attribute, args);
	call(OBJECT_CALL_kernel_attr, args);
	assert_asks(0, OBJECT_KERNEL, 0x8000, &cmd.u.func_attr.kernel);
	assert_int_equal(cmd.u.func_attr.attr, 8);
	assert_int_equal((int64_t)cmd.u.func_attr.attr_value, -3);
}

/* Every row's arguments lie within what callers give. */
static void rows(void **state)
{
	static const uint64_t params[OBJECT_CALL_ARGS];

	(void)state;
	for (unsigned i = 0; i < OBJECT_CALLS; i++) {
		uint64_t args[OBJECT_CALL_ARGS + 1];

		args[OBJECT_CALL_ARGS] = 0x5a;
		object_call_args((enum object_call)i, params, args);
		assert_int_equal(args[OBJECT_CALL_ARGS], 0x5a);
		call((enum object_call)i, params);
		assert_true(nasked <= OBJECT_CALL_ASKED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work),
		cmocka_unit_test(memory_operations),
		cmocka_unit_test(attributes),
		cmocka_unit_test(streams_and_events),
		cmocka_unit_test(waits_and_questions),
		cmocka_unit_test(captures),
		cmocka_unit_test(structures),
		cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
