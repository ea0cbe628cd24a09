/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of driver calls: the records of a process that makes them, one test after the other
 * in the same process, because the agent's state is the process's.
 */
#include "capture-fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include "capture/objects/code.h"
#include "capture/objects/ids.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

static struct tsdb_control *control;

static int start(void **state)
{
	control = fake_start();
	return 0;
}

/* --- the table --- */

static void every_row_is_whole(void **state)
{
	unsigned handled = 0, ignored = 0;
	for (uint32_t i = 0; i < cuda_calls_size; i++) {
		const struct call_row *r = &cuda_calls[i];
		if (r->how == CALL_HANDLED) {
			handled++;
			assert_non_null(r->name);
			assert_true(r->kind > 0 && r->kind < SBT_KIND_END);
			assert_non_null(sbt_kind(r->kind));
			assert_non_null(r->enter);
			/* What is published first cannot wait for the driver's answer. */
			assert_false(r->flags & CALL_FIRST && r->exit);
			const char *end = strrchr(r->name, '_');
			const bool per_thread =
				end && (!strcmp(end, "_ptsz") || !strcmp(end, "_ptds"));
			assert_int_equal(!!(r->flags & CALL_PTSZ), per_thread);
		} else if (r->how == CALL_IGNORED) {
			ignored++;
		} else if (r->flags & CALL_HANDLES) {
			assert_non_null(r->name);
			assert_int_equal(r->kind, SBT_UNREPLAYABLE);
			assert_null(r->enter);
			assert_null(r->exit);
		}
	}
	assert_true(handled > 170 && ignored > 250);
}

/* The calls that a PyTorch program makes (CUDA 13.0) are all understood. */
/* What `next` stops at is work of the program and what it does to objects, not what the agent tells
 * beside them (gdb: a step ends at what the user wrote). */
static void steps(void **state)
{
	const enum sbt_kind yes[] = {SBT_LAUNCH, SBT_COPY, SBT_FREE, SBT_SYNC, SBT_EVENT_RECORD,
		SBT_MODULE_LOAD, SBT_GRAPH_LAUNCH, SBT_GRAPH_CREATE, SBT_CAPTURE_BEGIN,
		SBT_UNREPLAYABLE, SBT_GLOBAL_DEF};
	const enum sbt_kind no[] = {SBT_SYNC_END, SBT_QUERY, SBT_MARK, SBT_THREAD, SBT_DEVICE,
		SBT_KERNEL_DEF, SBT_ATTACH, SBT_MODULE_CODE, SBT_GRAPH_NODE, SBT_GRAPH_ADD};

	for (unsigned i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		assert_true(call_is_step(&(struct sbt_cmd){.kind = yes[i]}));
		assert_false(
			call_is_step(&(struct sbt_cmd){.kind = yes[i], .flags = SBT_F_SYNTHETIC}));
	}
	for (unsigned i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(call_is_step(&(struct sbt_cmd){.kind = no[i]}));
}

static void pytorch_is_covered(void **state)
{
#define ROW(name) &cuda_calls[CUPTI_DRIVER_TRACE_CBID_##name]
	const struct call_row *const rows[] = {ROW(cuLaunchKernel), ROW(cuLaunchKernelEx),
		ROW(cuGraphInstantiateWithFlags), ROW(cuGraphLaunch), ROW(cuStreamBeginCapture_v2),
		ROW(cuStreamEndCapture), ROW(cuMemAlloc_v2), ROW(cuMemFree_v2), ROW(cuMemHostAlloc),
		ROW(cuMemFreeHost), ROW(cuMemcpyHtoDAsync_v2), ROW(cuMemcpyDtoHAsync_v2),
		ROW(cuMemsetD8Async), ROW(cuEventCreate), ROW(cuEventDestroy_v2),
		ROW(cuEventRecord), ROW(cuEventRecordWithFlags), ROW(cuStreamCreate),
		ROW(cuStreamCreateWithPriority), ROW(cuStreamDestroy_v2), ROW(cuStreamWaitEvent),
		ROW(cuStreamSynchronize), ROW(cuCtxSynchronize_v2), ROW(cuModuleLoadData),
		ROW(cuModuleGetFunction), ROW(cuLibraryLoadData), ROW(cuLibraryGetKernel),
		ROW(cuLibraryGetGlobal), ROW(cuLibraryUnload), ROW(cuFuncSetAttribute),
		ROW(cuKernelSetAttribute), ROW(cuDevicePrimaryCtxRetain),
		ROW(cuDevicePrimaryCtxRelease), ROW(cuCtxSetCurrent)};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(rows[i]->how, CALL_HANDLED);
	assert_int_equal((ROW(cuMemHostGetDevicePointer_v2))->how, CALL_IGNORED);
	assert_int_equal((ROW(cuThreadExchangeStreamCaptureMode))->how, CALL_IGNORED);
	assert_int_equal((ROW(cuMipmappedArrayDestroy))->how, CALL_COUNTED);
	assert_int_equal((ROW(cuIpcOpenEventHandle))->how, CALL_COUNTED);
#undef ROW
}

/* --- first sights --- */

static void the_first_call_introduces(void **state)
{
	CUdeviceptr p = 0x700000001000;
	FAKE(cuMemAlloc_v2, &p, 4096);
	struct fake_record r;
	uint16_t seen[16];
	unsigned n = 0;
	uint64_t last = 0;
	while (fake_next(0, &r)) {
		assert_true(n < 16);
		seen[n++] = r.type;
		assert_true(r.cmd.seq > last);
		last = r.cmd.seq;
	}
	assert_int_equal(n, 4);
	assert_int_equal(seen[0], SBT_DEVICE);
	assert_int_equal(seen[1], SBT_THREAD);
	assert_int_equal(seen[2], SBT_CTX_CREATE);
	assert_int_equal(seen[3], SBT_ALLOC);
	assert_int_equal(r.cmd.u.alloc.addr, 0x700000001000);
	assert_int_equal(r.cmd.u.alloc.size, 4096);
	assert_int_equal(r.cmd.u.alloc.mem, SBT_MEM_DEVICE);
	assert_int_equal(r.cmd.u.alloc.stream, SBT_NO_ID);
	assert_int_equal(r.cmd.ctx, 0);
	assert_int_equal(r.cmd.thread, 1);
	assert_int_equal(r.cmd.seq, 4);
	assert_true(r.cmd.host_ns > 1600000000000000000u);
}

/* A driver's calls may name a primary context while it is being made: it was introduced by one that
 * could not say what it is. */
static void a_primary_context_seen_early(void **state)
{
	CUcontext ctx = FAKE_CTX;
	CUdeviceptr p = 0x700000001000;
	FAKE(cuMemAlloc_v2, &p, 4096);
	const uint64_t id = fake_expect(SBT_ALLOC).ctx;
	FAKE(cuDevicePrimaryCtxRetain, &ctx, 0);
	fake_skip();
	FAKE(cuDevicePrimaryCtxReset, 0);
	assert_int_equal(fake_expect(SBT_CTX_DESTROY).u.ctx_destroy.dead_ctx, id);
}

/* --- launches --- */

static void launch_on(CUfunction f, CUstream s, uint64_t a, uint32_t b, uint64_t c)
{
	FAKE(cuLaunchKernel, f, 4, 2, 1, 128, 1, 1, 64, s, (void *[]){&a, &b, &c}, NULL);
}

static void a_launch_is_whole(void **state)
{
	launch_on(FAKE_FUNC, NULL, 0x1122334455667788, 0xaabbccdd, 7);
	struct sbt_cmd def = fake_expect(SBT_KERNEL_DEF);
	assert_int_equal(def.flags, SBT_F_SYNTHETIC);
	assert_int_equal(def.u.kernel_def.new_kernel, 0);
	assert_int_equal(def.u.kernel_def.kernel_name.len, 14);
	assert_memory_equal(def.u.kernel_def.kernel_name.p, "_Z6matmulPfS_i", 14);
	assert_int_equal(def.u.kernel_def.regs, 32);
	const uint32_t params[] = {0, 8, 8, 4, 16, 8};
	assert_int_equal(def.u.kernel_def.params.len, sizeof(params));
	assert_memory_equal(def.u.kernel_def.params.p, params, sizeof(params));

	struct sbt_cmd cmd = fake_expect(SBT_LAUNCH);
	const struct sbt_cmd_launch *l = &cmd.u.launch;
	assert_int_equal(l->kernel, 0);
	assert_int_equal(l->stream, 0);
	assert_int_equal(l->grid_x, 4);
	assert_int_equal(l->grid_y, 2);
	assert_int_equal(l->block_x, 128);
	assert_int_equal(l->shared, 64);
	/* Parameter 1 ends at 12; the gap to 16 is zero. */
	const uint8_t args[24] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xdd, 0xcc, 0xbb,
		0xaa, 0, 0, 0, 0, 7};
	assert_int_equal(l->args.len, 24);
	assert_memory_equal(l->args.p, args, 24);
	assert_true(cmd.corr != 0);
	fake_expect_nothing();

	const unsigned asked = fake_questions;
	launch_on(FAKE_FUNC, NULL, 1, 2, 3);
	struct fake_record r;
	assert_true(fake_next(0, &r));
	assert_int_equal(r.type, SBT_LAUNCH); /* nothing is introduced twice */
	assert_int_equal(fake_questions, asked);
	assert_false(fake_next(0, &r));
}

static void launch_buffers_are_taken(void **state)
{
	uint64_t buf[2] = {5, 6};
	size_t n = sizeof(buf);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &n,
		CU_LAUNCH_PARAM_END};
	FAKE(cuLaunchKernel, FAKE_FUNC, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
	struct sbt_cmd cmd = fake_expect(SBT_LAUNCH);
	assert_int_equal(cmd.u.launch.args.len, 16);
	assert_memory_equal(cmd.u.launch.args.p, buf, 16);
}

static void extended_launches(void **state)
{
	CUlaunchAttribute attrs[2] = {
		{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1},
		{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}}};
	CUlaunchConfig config = {.gridDimX = 8,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = attrs,
		.numAttrs = 2};
	uint64_t a = 1, c = 3;
	uint32_t b = 2;
	FAKE(cuLaunchKernelEx, &config, FAKE_KERNEL, (void *[]){&a, &b, &c}, NULL);
	struct sbt_cmd load =
		fake_expect(SBT_MODULE_LOAD); /* the library was there before the agent */
	assert_int_equal(load.u.module_load.is_library, 1);
	struct sbt_cmd def = fake_expect(SBT_KERNEL_DEF);
	assert_int_equal(def.u.kernel_def.module, load.u.module_load.new_module);
	struct sbt_cmd cmd = fake_expect(SBT_LAUNCH);
	assert_int_equal(cmd.u.launch.cooperative, 1);
	assert_int_equal(cmd.u.launch.cluster_x, 2);
	assert_int_equal(
		cmd.u.launch.launch_attrs, 1ull << CU_LAUNCH_ATTRIBUTE_COOPERATIVE |
						   1ull << CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
	assert_int_equal(cmd.u.launch.grid_x, 8);
}

/* Frameworks give it to every launch, and set it by a switch. */
static void programmatic_launches(void **state)
{
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
	const CUlaunchConfig config = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = &attr,
		.numAttrs = 1};

	for (int allowed = 0; allowed < 2; allowed++) {
		uint64_t a = 1, c = 3;
		uint32_t b = 2;

		attr.value.programmaticStreamSerializationAllowed = allowed;
		FAKE(cuLaunchKernelEx, &config, FAKE_FUNC, (void *[]){&a, &b, &c}, NULL);
		assert_int_equal(fake_expect(SBT_LAUNCH).u.launch.launch_attrs,
			allowed ? 1u << SBT_ATTR_PROGRAMMATIC_STREAM : 0);
	}
}

/* Events that a launch records itself: which, and when. */
static void launches_record_events(void **state)
{
	CUlaunchAttribute attrs[2] = {{.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT},
		{.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT}};
	const CUlaunchConfig config = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = attrs,
		.numAttrs = 2};
	uint64_t a = 1, c = 3, event_ids[2];
	uint32_t b = 2;

	for (unsigned i = 0; i < 2; i++) {
		CUevent e = (CUevent)(uintptr_t)(0xe100 + i);

		FAKE(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING);
		event_ids[i] = fake_expect(SBT_EVENT_CREATE).u.event_create.new_event;
		if (i)
			attrs[1].value.launchCompletionEvent.event = e;
		else
			attrs[0].value.programmaticEvent.event = e;
	}
	attrs[0].value.programmaticEvent.triggerAtBlockStart = 1;
	FAKE(cuLaunchKernelEx, &config, FAKE_FUNC, (void *[]){&a, &b, &c}, NULL);
	const struct sbt_cmd cmd = fake_expect(SBT_LAUNCH);

	assert_int_equal(cmd.u.launch.trigger_event, event_ids[0] + 1);
	assert_int_equal(cmd.u.launch.trigger_at_start, 1);
	assert_int_equal(cmd.u.launch.begun_event, event_ids[1] + 1);
}

static void failed_calls_are_recorded(void **state)
{
	const cuMemcpyHtoD_v2_params p = {0, NULL, 8};
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, &p, CUDA_ERROR_INVALID_VALUE);
	struct sbt_cmd cmd = fake_expect(SBT_COPY);
	assert_int_equal(cmd.result, CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cmd.u.copy.async, 0);
	/* What was asked for is told, not what the driver has made. */
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
		&(cuMemHostRegister_v2_params){(void *)0x7f0000003000, 8192, 2},
		CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	cmd = fake_expect(SBT_ALLOC);
	assert_int_equal(cmd.result, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	assert_int_equal(cmd.u.alloc.addr, 0x7f0000003000);
	assert_int_equal(cmd.u.alloc.size, 8192);
	assert_int_equal(cmd.u.alloc.mem, SBT_MEM_REGISTERED);
	assert_int_equal(cmd.u.alloc.alloc_flags, 2);
}

/* --- objects --- */

static uint64_t new_stream(CUstream handle)
{
	FAKE(cuStreamCreate, &handle, CU_STREAM_NON_BLOCKING);
	struct sbt_cmd cmd = fake_expect(SBT_STREAM_CREATE);
	assert_int_equal(cmd.u.stream_create.handle, (uint64_t)(uintptr_t)handle);
	assert_int_equal(cmd.u.stream_create.stream_flags, CU_STREAM_NON_BLOCKING);
	return cmd.u.stream_create.new_stream;
}

static void a_reused_handle_is_a_new_stream(void **state)
{
	const CUstream s = (CUstream)0x5000;
	const uint64_t first = new_stream(s);
	launch_on(FAKE_FUNC, s, 1, 2, 3);
	assert_int_equal(fake_expect(SBT_LAUNCH).u.launch.stream, first);
	FAKE(cuStreamDestroy_v2, s);
	assert_int_equal(fake_expect(SBT_STREAM_DESTROY).u.stream_destroy.dead_stream, first);
	const uint64_t second = new_stream(s);
	assert_int_not_equal(first, second);
	launch_on(FAKE_FUNC, s, 1, 2, 3);
	assert_int_equal(fake_expect(SBT_LAUNCH).u.launch.stream, second);
	FAKE(cuStreamDestroy_v2, s);
	launch_on(FAKE_FUNC, s, 1, 2, 3); /* wrong, and still not the dead stream */
	assert_true(fake_expect(SBT_STREAM_CREATE).u.stream_create.new_stream > second);
	fake_skip();
}

static void an_unknown_stream_is_introduced(void **state)
{
	launch_on(FAKE_FUNC, (CUstream)0x5500, 1, 2, 3);
	struct sbt_cmd created = fake_expect(SBT_STREAM_CREATE);
	assert_int_equal(created.flags, SBT_F_SYNTHETIC);
	assert_int_equal(
		created.u.stream_create.stream_flags, CU_STREAM_NON_BLOCKING); /* asked for */
	struct sbt_cmd cmd = fake_expect(SBT_LAUNCH);
	assert_int_equal(cmd.u.launch.stream, created.u.stream_create.new_stream);
	assert_true(created.seq < cmd.seq);
}

static void per_thread_streams(void **state)
{
	uint64_t a = 1, c = 3;
	uint32_t b = 2;
	FAKE(cuLaunchKernel_ptsz, FAKE_FUNC, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&a, &b, &c},
		NULL);
	struct sbt_cmd created = fake_expect(SBT_STREAM_CREATE);
	assert_int_equal(created.u.stream_create.per_thread, 1);
	struct sbt_cmd cmd = fake_expect(SBT_LAUNCH);
	assert_int_equal(cmd.u.launch.stream, created.u.stream_create.new_stream);
	assert_int_equal(cmd.flags & SBT_F_PTDS, SBT_F_PTDS);
	/* The special handle is the same stream. */
	launch_on(FAKE_FUNC, CU_STREAM_PER_THREAD, 1, 2, 3);
	assert_int_equal(
		fake_expect(SBT_LAUNCH).u.launch.stream, created.u.stream_create.new_stream);
	launch_on(FAKE_FUNC, CU_STREAM_LEGACY, 1, 2, 3);
	assert_int_equal(fake_expect(SBT_LAUNCH).u.launch.stream, 0);
}

static void events(void **state)
{
	CUevent e = (CUevent)0x6000;
	FAKE(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING);
	const uint64_t id = fake_expect(SBT_EVENT_CREATE).u.event_create.new_event;
	FAKE(cuEventRecord, e, NULL);
	assert_int_equal(fake_expect(SBT_EVENT_RECORD).u.event_record.event, id);
	FAKE(cuStreamWaitEvent, (CUstream)0x5500, e, 0);
	assert_int_equal(fake_expect(SBT_STREAM_WAIT).u.stream_wait.event, id);
	FAKE(cuEventDestroy_v2, e);
	assert_int_equal(fake_expect(SBT_EVENT_DESTROY).u.event_destroy.dead_event, id);
}

static void a_free_knows_its_kind(void **state)
{
	void *p = (void *)0x600000002000;
	FAKE(cuMemHostAlloc, &p, 100, 1);
	assert_int_equal(fake_expect(SBT_ALLOC).u.alloc.mem, SBT_MEM_PINNED);
	CUdeviceptr m = 0x700000004000;
	FAKE(cuMemAllocManaged, &m, 100, 1);
	assert_int_equal(fake_expect(SBT_ALLOC).u.alloc.mem, SBT_MEM_MANAGED);
	FAKE(cuMemFree_v2, m);
	assert_int_equal(fake_expect(SBT_FREE).u.free.mem, SBT_MEM_MANAGED);
	FAKE(cuMemFree_v2, m); /* not known any more */
	assert_int_equal(fake_expect(SBT_FREE).u.free.mem, SBT_MEM_DEVICE);
	FAKE(cuMemFree_v2, 0); /* allowed, does nothing */
	fake_expect_nothing();
}

static void *free_it(void *arg)
{
	FAKE(cuMemFree_v2, *(const CUdeviceptr *)arg);
	return NULL;
}

/* The address that one thread's free gives back is what another thread's allocation, which is
 * already in the driver, gets. */
static void a_free_comes_before_the_allocation_that_gets_its_address(void **state)
{
	CUdeviceptr p = 0x700000006000, again = 0;
	const cuMemAlloc_v2_params second = {&again, 4096};
	struct fake_record r;
	pthread_t other;
	FAKE(cuMemAlloc_v2, &p, 4096);
	const uint64_t first = fake_expect(SBT_ALLOC).seq;
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &second);
	assert_int_equal(pthread_create(&other, NULL, free_it, &p), 0);
	pthread_join(other, NULL);
	again = p;
	fake_exit(link, CUDA_SUCCESS);
	const struct sbt_cmd alloc = fake_expect(SBT_ALLOC);
	do
		assert_true(fake_next(1, &r));
	while (r.type != SBT_FREE);
	assert_int_equal(r.cmd.u.free.addr, alloc.u.alloc.addr);
	assert_true(first < r.cmd.seq);
	assert_true(r.cmd.seq < alloc.seq);
	assert_true(control->ring[0].inflight == TSDB_IDLE);
	FAKE(cuMemFree_v2, again);
	fake_skip();
}

static void all_that_gives_out_addresses_is_numbered_at_exit(void **state)
{
	unsigned allocations = 0, frees = 0;
	for (uint32_t i = 0; i < cuda_calls_size; i++) {
		const struct call_row *r = &cuda_calls[i];
		if (r->how != CALL_HANDLED || (r->kind != SBT_ALLOC && r->kind != SBT_FREE))
			continue;
		if (r->kind == SBT_FREE || !strcmp(r->name, "cuIpcGetMemHandle"))
			assert_false(r->flags & (CALL_LATE | CALL_AFTER));
		else
			assert_true(r->flags & CALL_AFTER);
		allocations += r->kind == SBT_ALLOC;
		frees += r->kind == SBT_FREE;
	}
	assert_true(allocations >= 15 && frees >= 7);
}

/* --- copies and fills --- */

static void copies(void **state)
{
	FAKE(cuMemcpyHtoDAsync_v2, 0x700000001000, (void *)0x600000002000, 64, NULL);
	struct sbt_cmd cmd = fake_expect(SBT_COPY);
	assert_int_equal(cmd.u.copy.dir, SBT_COPY_H2D);
	assert_int_equal(cmd.u.copy.async, 1);
	assert_int_equal(cmd.u.copy.pageable, 0);
	FAKE(cuMemcpyAsync, (CUdeviceptr)0x1234, 0x700000001000, 64, NULL);
	cmd = fake_expect(SBT_COPY);
	assert_int_equal(cmd.u.copy.dir, SBT_COPY_D2H);
	assert_int_equal(cmd.u.copy.pageable, 1);
	CUDA_MEMCPY2D m = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = 0x700000001000,
		.srcPitch = 256,
		.srcXInBytes = 8,
		.srcY = 2,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = 0x700000009000,
		.dstPitch = 0,
		.WidthInBytes = 32,
		.Height = 4};
	FAKE(cuMemcpy2D_v2, &m);
	cmd = fake_expect(SBT_COPY);
	assert_int_equal(cmd.u.copy.src, 0x700000001000 + 2 * 256 + 8);
	assert_int_equal(cmd.u.copy.size, 128);
	assert_int_equal(cmd.u.copy.dst_pitch, 32);
	assert_int_equal(cmd.u.copy.dir, SBT_COPY_D2D);
	m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	FAKE(cuMemcpy2D_v2, &m);
	fake_expect(SBT_UNREPLAYABLE);
	FAKE(cuMemsetD2D16Async, 0x700000001000, 512, 0xbeef, 10, 3, NULL);
	cmd = fake_expect(SBT_FILL);
	assert_int_equal(cmd.u.fill.value, 0xbeef);
	assert_int_equal(cmd.u.fill.elem, 2);
	assert_int_equal(cmd.u.fill.size, 60);
	assert_int_equal(cmd.u.fill.width, 10);
	assert_int_equal(cmd.u.fill.height, 3);
	assert_int_equal(cmd.u.fill.dst_pitch, 512);
}

/* CUDA_MEMCPY3D: a pitch of 0 is the width, a height of 0 the copy's; both count before z and y are
 * added. */
static void copies_without_gaps(void **state)
{
	CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = 0x700000001000,
		.srcHeight = 10,
		.srcY = 1,
		.srcZ = 2,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = 0x700000009000,
		.dstPitch = 64,
		.dstZ = 1,
		.WidthInBytes = 32,
		.Height = 4,
		.Depth = 3};
	FAKE(cuMemcpy3D_v2, &m);
	struct sbt_cmd cmd = fake_expect(SBT_COPY);
	assert_int_equal(cmd.u.copy.src_pitch, 32);
	assert_int_equal(cmd.u.copy.src_slice, 320);
	assert_int_equal(cmd.u.copy.src, 0x700000001000 + 2 * 320 + 32);
	assert_int_equal(cmd.u.copy.dst_pitch, 64);
	assert_int_equal(cmd.u.copy.dst_slice, 256);
	assert_int_equal(cmd.u.copy.dst, 0x700000009000 + 256);
	CUDA_MEMCPY2D m2 = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = 0x700000001000,
		.srcPitch = 256,
		.dstY = 3,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = 0x700000009000,
		.WidthInBytes = 32,
		.Height = 4};
	FAKE(cuMemcpy2D_v2, &m2);
	cmd = fake_expect(SBT_COPY);
	assert_int_equal(cmd.u.copy.dst, 0x700000009000 + 3 * 32);
	assert_int_equal(cmd.u.copy.dst_pitch, 32);
}

/* --- order --- */

static void a_sync_is_seen_while_it_waits(void **state)
{
	const cuStreamSynchronize_params p = {NULL};
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &p);
	struct sbt_cmd begin = fake_expect(SBT_SYNC);
	assert_int_equal(begin.u.sync.scope, SBT_SYNC_STREAM);
	assert_int_equal(begin.u.sync.stream, 0);
	assert_true(control->ring[0].inflight == TSDB_IDLE);
	fake_expect_nothing();
	fake_exit(link, CUDA_SUCCESS);
	struct sbt_cmd end = fake_expect(SBT_SYNC_END);
	assert_int_equal(end.u.sync_end.begin, begin.seq);
	assert_true(end.seq > begin.seq);
}

static void a_seq_in_flight_is_announced(void **state)
{
	const cuMemcpyDtoH_v2_params p = {(void *)0x1234, 0x700000001000, 8};
	const uint64_t next = control->next_seq;
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, &p);
	fake_expect_nothing();
	assert_true(control->ring[0].inflight <= next);
	assert_int_equal(control->next_seq, next + 1);
	/* What the driver calls on its way is not the program's. */
	FAKE(cuStreamSynchronize, NULL);
	fake_exit(link, CUDA_SUCCESS);
	assert_int_equal(fake_expect(SBT_COPY).seq, next);
	assert_true(control->ring[0].inflight == TSDB_IDLE);
	fake_expect_nothing();
}

static void polling_is_recorded_once(void **state)
{
	const cuEventQuery_params p = {(CUevent)0x6100};
	FAKE(cuEventRecord, p.hEvent, NULL); /* introduces it */
	fake_skip();
	const uint64_t before = control->next_seq;
	for (int i = 0; i < 5; i++)
		fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventQuery, &p, CUDA_ERROR_NOT_READY);
	assert_int_equal(fake_expect(SBT_QUERY).result, CUDA_ERROR_NOT_READY);
	fake_expect_nothing();
	assert_int_equal(control->next_seq, before + 1);
	const uint64_t next = control->next_seq;
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuEventQuery, &p, CUDA_SUCCESS);
	struct sbt_cmd cmd = fake_expect(SBT_QUERY);
	assert_int_equal(cmd.result, CUDA_SUCCESS);
	assert_int_equal(cmd.seq, next);
	assert_int_equal(control->next_seq, next + 1);
}

static void unknown_calls_are_named(void **state)
{
	FAKE(cuMipmappedArrayDestroy, NULL);
	struct sbt_cmd cmd = fake_expect(SBT_UNREPLAYABLE);
	assert_memory_equal(cmd.u.unreplayable.call.p, "cuSomethingNew", 14);
	const cuMipmappedArrayDestroy_params p = {NULL};
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayDestroy, &p,
		CUDA_ERROR_INVALID_VALUE); /* changed nothing, and is a command */
	cmd = fake_expect(SBT_UNREPLAYABLE);
	assert_int_equal(cmd.result, CUDA_ERROR_INVALID_VALUE);
	fake_expect_nothing();
}

/* --- modules --- */

static void a_module_has_its_code(void **state)
{
	static const char ptx[] = ".version 8.0\n.target sm_75\n";
	CUmodule m = (CUmodule)0x8000;
	const cuModuleLoadData_params p = {&m, ptx};
	control->code = 1;
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, &p);
	tls.inside = 1;
	code_loaded(tls.thread, ptx, sizeof(ptx) - 1);
	tls.inside = 0;
	fake_exit(link, CUDA_SUCCESS);
	struct fake_record r;
	assert_true(fake_next(0, &r));
	assert_int_equal(r.type, TSDB_MSG_CODE);
	const struct tsdb_msg_code *code = (const void *)r.head;
	const uint64_t hash = code->hash;
	assert_int_equal(code->total, sizeof(ptx) - 1);
	assert_int_equal(code->kind, CODE_PTX);
	assert_memory_equal(code->bytes, ptx, sizeof(ptx) - 1);
	struct sbt_cmd cmd = fake_expect(SBT_MODULE_LOAD);
	assert_int_equal(cmd.u.module_load.code_hash, hash);
	assert_int_equal(cmd.u.module_load.code_size, sizeof(ptx) - 1);
	FAKE(cuModuleUnload, m);
	assert_int_equal(fake_expect(SBT_MODULE_UNLOAD).u.module_unload.dead_module,
		cmd.u.module_load.new_module);
}

/* A fat binary with an empty region's worth of nothing but two entries of PTX, as cuLibraryLoadData
 * gets it. */
static void ptx_beside_a_cubin(void **state)
{
	static const char old[] = ".version 7.0\n.target sm_50\n",
			  new[] = ".version 8.0\n.target sm_80\n// padded";
	static _Alignas(8) uint8_t fat[16 + 2 * (64 + 64)];
	const struct {
		uint32_t magic, version;
		const void *fatbin, *more;
	} wrapper = {0x466243b1, 1, fat, NULL};
	CUlibrary l = (CUlibrary)0x8800;
	const cuLibraryLoadData_params p = {.library = &l, .code = &wrapper};
	memcpy(fat, &(uint32_t){0xba55ed50}, 4);
	fat[4] = 1;
	fat[6] = 16;
	fat[8] = 0; /* 256 bytes follow */
	fat[9] = 1;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *e = fat + 16 + 128 * i;
		e[0] = 1; /* PTX */
		e[4] = 64;
		e[8] = 64;
		e[28] = i ? 50 : 80;
		memcpy(e + 64, i ? old : new, i ? sizeof(old) : sizeof(new));
	}
	control->code = 1;
	fake_skip();
	fake_exit(fake_enter(CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, &p), CUDA_SUCCESS);
	struct fake_record r;
	assert_true(fake_next(0, &r));
	assert_int_equal(r.type, TSDB_MSG_CODE);
	const struct tsdb_msg_code *code = (const void *)r.head;
	assert_int_equal(code->kind, CODE_PTX);
	assert_int_equal(code->total, sizeof(new) - 1); /* the newest, without its padding */
	assert_memory_equal(code->bytes, new, sizeof(new) - 1);
	const uint64_t hash = code->hash;
	struct sbt_cmd cmd = fake_expect(SBT_MODULE_LOAD);
	assert_int_equal(cmd.u.module_load.ptx_hash, hash);
	assert_int_equal(cmd.u.module_load.code_hash, 0); /* loaded lazily */
	/* An entry that claims more than there is ends the search. */
	fat[16 + 9] = 1;
	fake_exit(fake_enter(CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, &p), CUDA_SUCCESS);
	assert_int_equal(fake_expect(SBT_MODULE_LOAD).u.module_load.ptx_hash, 0);
}

/* PTX as toolkits before 12.x compressed it: one LZ4 block; here of literals only (LZ4 block
 * format: token, length beyond 15, bytes). */
static void ptx_by_lz4(void **state)
{
	static const char text[] = ".version 7.0\n.target sm_50\n// old toolkit\n";
	static _Alignas(8) uint8_t fat[16 + 64 + 64];
	const size_t n = sizeof(text) - 1;
	CUlibrary l = (CUlibrary)0x8900;
	const cuLibraryLoadData_params p = {.library = &l, .code = fat};
	uint8_t *e = fat + 16, *block = e + 64;
	const uint64_t flags = 0x2000;
	assert_in_range(n, 15, 60);
	memcpy(fat, &(uint32_t){0xba55ed50}, 4);
	fat[4] = 1;
	fat[6] = 16;
	fat[8] = 128;
	e[0] = 1;
	e[4] = e[8] = 64;
	e[16] = (uint8_t)(n + 2); /* compressed */
	e[28] = 50;
	memcpy(e + 40, &flags, 8);
	e[56] = (uint8_t)n;
	block[0] = 0xf0;
	block[1] = (uint8_t)(n - 15);
	memcpy(block + 2, text, n);
	control->code = 1;
	fake_skip();
	fake_exit(fake_enter(CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, &p), CUDA_SUCCESS);
	struct fake_record r;
	if (!dlopen("liblz4.so.1", RTLD_NOW)) {
		assert_non_null(memmem(fake_expect(SBT_UNREPLAYABLE).u.unreplayable.call.p, 60,
			"liblz4.so.1", 11));
		return;
	}
	assert_true(fake_next(0, &r));
	assert_int_equal(r.type, TSDB_MSG_CODE);
	const struct tsdb_msg_code *code = (const void *)r.head;
	assert_int_equal(code->kind, CODE_PTX);
	assert_int_equal(code->total, n);
	assert_memory_equal(code->bytes, text, n);
	/* A block that does not make sense is named. */
	block[1] = 200;
	fake_skip();
	fake_exit(fake_enter(CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, &p), CUDA_SUCCESS);
	const struct sbt_blob what = fake_expect(SBT_UNREPLAYABLE).u.unreplayable.call;
	assert_non_null(memmem(what.p, what.len, "LZ4", 3));
}

/* --- graphs --- */

/* A graph 0x7000 of four nodes: fill(1) -> kernel(2) -> kernel(3), and a memory allocation (4), in
 * no order. */
#define NODE(i) ((CUgraphNode)(uintptr_t)(0x7100 + (i)))

static CUresult graph_nodes(CUgraph g, CUgraphNode *nodes, size_t *n)
{
	static const unsigned order[] = {3, 1, 2, 4};
	if (nodes)
		for (size_t i = 0; i < *n && i < 4; i++)
			nodes[i] = NODE(order[i]);
	*n = 4;
	return CUDA_SUCCESS;
}

static CUresult node_type(CUgraphNode n, CUgraphNodeType *type)
{
	*type = n == NODE(1)   ? CU_GRAPH_NODE_TYPE_MEMSET
		: n == NODE(4) ? CU_GRAPH_NODE_TYPE_MEM_ALLOC
			       : CU_GRAPH_NODE_TYPE_KERNEL;
	return CUDA_SUCCESS;
}

static CUresult node_deps(CUgraphNode n, CUgraphNode *deps, CUgraphEdgeData *edges, size_t *count)
{
	*count = n == NODE(2) || n == NODE(3);
	if (*count)
		deps[0] = n == NODE(2) ? NODE(1) : NODE(2);
	return CUDA_SUCCESS;
}

static CUresult kernel_node(CUgraphNode n, CUDA_KERNEL_NODE_PARAMS *p)
{
	static uint64_t a = 0x700000001000, c = 9;
	static uint32_t b = 8;
	static void *args[] = {&a, &b, &c};
	*p = (CUDA_KERNEL_NODE_PARAMS){.func = n == NODE(2) ? FAKE_FUNC : NULL,
		.kern = (CUkernel)FAKE_KERNEL,
		.gridDimX = 3,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 64,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = args};
	return CUDA_SUCCESS;
}

static CUresult memset_node(CUgraphNode n, CUDA_MEMSET_NODE_PARAMS *p)
{
	*p = (CUDA_MEMSET_NODE_PARAMS){
		.dst = 0x700000001000, .elementSize = 4, .value = 5, .width = 16, .height = 1};
	return CUDA_SUCCESS;
}

static struct sbt_cmd payload(const struct sbt_cmd *node)
{
	struct sbt_cmd c;
	const struct sbt_blob *b = &node->u.graph_node.payload;
	assert_int_equal(sbt_unpack(&c, b->p, b->len), b->len);
	return c;
}

static void a_graph_lists_its_nodes(void **state)
{
	CUgraph g = (CUgraph)0x7000;
	CUgraphExec x = (CUgraphExec)0x7001;
	cuda.cuGraphGetNodes = graph_nodes;
	cuda.cuGraphNodeGetType = node_type;
	cuda.cuGraphNodeGetDependencies_v2 = node_deps;
	cuda.cuGraphKernelNodeGetParams_v2 = kernel_node;
	cuda.cuGraphMemsetNodeGetParams = memset_node;
	FAKE(cuGraphCreate, &g, 0);
	const uint64_t id = fake_expect(SBT_GRAPH_CREATE).u.graph_create.new_graph;
	FAKE(cuGraphInstantiateWithFlags, &x, g, 0);
	struct sbt_cmd n = fake_expect(SBT_GRAPH_NODE), p = payload(&n);
	assert_int_equal(n.u.graph_node.graph, id);
	assert_int_equal(n.u.graph_node.node, 0);
	assert_int_equal(n.u.graph_node.type, SBT_NODE_KERNEL);
	assert_int_equal(n.u.graph_node.deps.len, 4);
	assert_int_equal(
		*(const uint32_t *)n.u.graph_node.deps.p, 2); /* NODE(2) is the third in the list */
	assert_int_equal(p.u.launch.kernel, n.u.graph_node.kernel);
	n = fake_expect(SBT_GRAPH_NODE);
	p = payload(&n);
	assert_int_equal(n.u.graph_node.type, SBT_NODE_FILL);
	assert_int_equal(n.u.graph_node.deps.len, 0);
	assert_int_equal(n.u.graph_node.kernel, SBT_NO_ID);
	assert_int_equal(p.u.fill.size, 64);
	assert_int_equal(p.u.fill.value, 5);
	n = fake_expect(SBT_GRAPH_NODE);
	p = payload(&n);
	assert_int_equal(*(const uint32_t *)n.u.graph_node.deps.p, 1);
	assert_int_equal(n.u.graph_node.kernel, 0); /* matmul */
	assert_int_equal(p.u.launch.grid_x, 3);
	assert_int_equal(p.u.launch.args.len, 24);
	assert_int_equal(fake_expect(SBT_GRAPH_NODE).u.graph_node.type, SBT_NODE_OTHER);
	fake_expect(SBT_UNREPLAYABLE); /* graph memory is named */
	struct sbt_cmd inst = fake_expect(SBT_GRAPH_INSTANTIATE);
	assert_int_equal(inst.u.graph_instantiate.graph, id);
	assert_true(inst.seq > n.seq);
	FAKE(cuGraphLaunch, x, NULL);
	assert_int_equal(fake_expect(SBT_GRAPH_LAUNCH).u.graph_launch.exec,
		inst.u.graph_instantiate.new_exec);
	FAKE(cuGraphExecDestroy, x);
	assert_int_equal(fake_expect(SBT_GRAPH_DESTROY).u.graph_destroy.dead_graph,
		inst.u.graph_instantiate.new_exec);
}

static CUstream capturing;

static CUresult is_capturing(CUstream s, CUstreamCaptureStatus *status)
{
	*status = s == capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static void captured_work_is_marked(void **state)
{
	CUgraph g = (CUgraph)0x7002;
	cuda.cuStreamIsCapturing = is_capturing;
	capturing = (CUstream)0x5500;
	FAKE(cuStreamBeginCapture_v2, capturing, CU_STREAM_CAPTURE_MODE_RELAXED);
	assert_int_equal(fake_expect(SBT_CAPTURE_BEGIN).u.capture_begin.mode, SBT_CAPTURE_RELAXED);
	launch_on(FAKE_FUNC, capturing, 1, 2, 3);
	assert_int_equal(fake_expect(SBT_LAUNCH).flags & SBT_F_GRAPH, SBT_F_GRAPH);
	launch_on(FAKE_FUNC, NULL, 1, 2, 3);
	assert_int_equal(fake_expect(SBT_LAUNCH).flags & SBT_F_GRAPH, 0);
	FAKE(cuStreamEndCapture, capturing, &g);
	assert_int_not_equal(fake_expect(SBT_CAPTURE_END).u.capture_end.new_graph, SBT_NO_ID);
	launch_on(FAKE_FUNC, capturing, 1, 2, 3); /* not asked any more */
	assert_int_equal(fake_expect(SBT_LAUNCH).flags & SBT_F_GRAPH, 0);
}

/* --- windows --- */

static void a_kernel_window(void **state)
{
	struct tsdb_window *w = &control->window;
	strcpy(w->glob, "mat*");
	w->count = 2;
	w->kind = TSDB_WINDOW_KERNEL;
	launch_on(FAKE_FUNC_2, NULL, 1, 2, 3); /* "fill" does not open it */
	assert_int_equal(fake_expect(SBT_LAUNCH).flags & SBT_F_WINDOW, 0);
	launch_on(FAKE_FUNC, NULL, 1, 2, 3);
	struct sbt_cmd first = fake_expect(SBT_LAUNCH);
	assert_int_equal(first.flags & SBT_F_WINDOW, SBT_F_WINDOW);
	launch_on(FAKE_FUNC_2, NULL, 1, 2, 3); /* within it */
	assert_int_equal(fake_expect(SBT_LAUNCH).flags & SBT_F_WINDOW, SBT_F_WINDOW);
	launch_on(FAKE_FUNC, NULL, 1, 2, 3);
	struct sbt_cmd last = fake_expect(SBT_LAUNCH);
	assert_int_equal(last.flags & SBT_F_WINDOW, SBT_F_WINDOW);
	assert_int_equal(w->state, TSDB_WINDOW_DONE);
	assert_int_equal(w->opened_seq, first.seq);
	assert_int_equal(w->closed_seq, last.seq);
	launch_on(FAKE_FUNC, NULL, 1, 2, 3);
	assert_int_equal(fake_expect(SBT_LAUNCH).flags & SBT_F_WINDOW, 0);
	w->kind = TSDB_WINDOW_NONE;
}

static void a_seq_window(void **state)
{
	struct tsdb_window *w = &control->window;
	w->first = control->next_seq + 1;
	w->last = control->next_seq + 2;
	w->state = TSDB_WINDOW_ARMED;
	w->kind = TSDB_WINDOW_SEQ;
	const uint16_t expected[] = {0, SBT_F_WINDOW, SBT_F_WINDOW, 0};
	for (unsigned i = 0; i < 4; i++) {
		launch_on(FAKE_FUNC, NULL, 1, 2, 3);
		assert_int_equal(fake_expect(SBT_LAUNCH).flags & SBT_F_WINDOW, expected[i]);
	}
	assert_int_equal(w->state, TSDB_WINDOW_DONE);
	w->kind = TSDB_WINDOW_NONE;
}

/* A context takes its streams and functions with it. */
static void a_dead_context_is_forgotten(void **state)
{
	launch_on(FAKE_FUNC, (CUstream)0x5500, 1, 2, 3);
	const struct sbt_cmd before = fake_expect(SBT_LAUNCH);
	FAKE(cuCtxDestroy_v2, FAKE_CTX);
	assert_int_equal(fake_expect(SBT_CTX_DESTROY).u.ctx_destroy.dead_ctx, before.ctx);
	launch_on(FAKE_FUNC, (CUstream)0x5500, 1, 2, 3);
	const struct sbt_cmd ctx = fake_expect(SBT_CTX_CREATE);
	fake_expect(SBT_STREAM_CREATE);
	const struct sbt_cmd after = fake_expect(SBT_LAUNCH);
	assert_int_equal(after.ctx, ctx.u.ctx_create.new_ctx);
	assert_int_not_equal(after.ctx, before.ctx);
	assert_int_not_equal(after.u.launch.stream, before.u.launch.stream);
	assert_int_not_equal(after.u.launch.kernel, before.u.launch.kernel);
}

/* --- switched off --- */

static void off_and_on_again(void **state)
{
	control->on = 0;
	launch_on(FAKE_FUNC, NULL, 1, 2, 3);
	FAKE(cuStreamDestroy_v2, (CUstream)0x5500); /* not seen */
	fake_expect_nothing();
	control->on = 1;
	launch_on(FAKE_FUNC, (CUstream)0x5500, 1, 2, 3);
	fake_expect(SBT_STREAM_CREATE); /* what the handle means now is not known: a new stream */
	fake_expect(SBT_LAUNCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(steps),
		cmocka_unit_test(pytorch_is_covered),
		cmocka_unit_test(the_first_call_introduces),
		cmocka_unit_test(a_launch_is_whole),
		cmocka_unit_test(launch_buffers_are_taken),
		cmocka_unit_test(extended_launches),
		cmocka_unit_test(programmatic_launches),
		cmocka_unit_test(launches_record_events),
		cmocka_unit_test(failed_calls_are_recorded),
		cmocka_unit_test(a_reused_handle_is_a_new_stream),
		cmocka_unit_test(an_unknown_stream_is_introduced),
		cmocka_unit_test(per_thread_streams),
		cmocka_unit_test(events),
		cmocka_unit_test(a_free_knows_its_kind),
		cmocka_unit_test(a_free_comes_before_the_allocation_that_gets_its_address),
		cmocka_unit_test(all_that_gives_out_addresses_is_numbered_at_exit),
		cmocka_unit_test(copies),
		cmocka_unit_test(copies_without_gaps),
		cmocka_unit_test(a_sync_is_seen_while_it_waits),
		cmocka_unit_test(a_seq_in_flight_is_announced),
		cmocka_unit_test(polling_is_recorded_once),
		cmocka_unit_test(unknown_calls_are_named),
		cmocka_unit_test(a_module_has_its_code),
		cmocka_unit_test(ptx_beside_a_cubin),
		cmocka_unit_test(ptx_by_lz4),
		cmocka_unit_test(a_graph_lists_its_nodes),
		cmocka_unit_test(captured_work_is_marked),
		cmocka_unit_test(a_kernel_window),
		cmocka_unit_test(a_seq_window),
		cmocka_unit_test(a_dead_context_is_forgotten),
		cmocka_unit_test(off_and_on_again),
		cmocka_unit_test(a_primary_context_seen_early),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
