/* SPDX-License-Identifier: Apache-2.0
 *
 * From probes' records to commands, without BPF: records are made by hand here, as the CUDA driver
 * API's prototypes and the System V ABI say.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "observe/decode/observe-calls.h"
#include "observe/decode/kernel-names.h"
#include "state/state.h"

struct rig {
	struct observe_decoder *d;
	struct sbt_cmd cmd[64]; /* names are copied to text */
	char text[64][128];
	unsigned n;
	struct state *state;
	bool count_only;
};

static void keep_text(struct rig *r, struct sbt_blob *b)
{
	size_t n = b->len < sizeof r->text[0] - 1 ? b->len : sizeof r->text[0] - 1;

	memcpy(r->text[r->n], b->p, n);
	r->text[r->n][n] = 0;
}

static struct err *on_command(void *arg, const struct sbt_cmd *c)
{
	struct rig *r = arg;

	if (r->state) {
		struct err *e = state_apply(r->state, c);

		if (e)
			fail_msg("%s", e->what);
	}
	if (r->count_only || r->n == 64)
		return NULL;
	r->cmd[r->n] = *c;
	if (c->kind == SBT_KERNEL_DEF)
		keep_text(r, &r->cmd[r->n].u.kernel_def.kernel_name);
	if (c->kind == SBT_MODULE_LOAD)
		keep_text(r, &r->cmd[r->n].u.module_load.file);
	r->n++;
	return NULL;
}

static const char *on_host_fn(void *arg, uint64_t addr)
{
	return addr == 0x401000 ? "_Z3foov" : NULL;
}

static char told[64];
static unsigned asked;

static const char *on_kernel_name(void *arg, uint64_t handle)
{
	(void)arg;
	asked++;
	return handle == 0x8000 ? "_Z5knownv" : NULL;
}

static void on_kernel_told(void *arg, uint64_t handle, const char *name)
{
	(void)arg;
	snprintf(told, sizeof told, "%llx %s", (unsigned long long)handle, name);
}

static const struct observe_decoder_ops ops = {
	on_command, on_host_fn, on_kernel_name, on_kernel_told};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof *r);

	r->d = observe_decoder_new(&ops, r, 1000, true);
	r->state = state_new();
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	observe_decoder_free(r->d);
	state_free(r->state);
	free(r);
	return 0;
}

struct record {
	struct obs_event e;
	uint8_t data[4096];
};

static unsigned call_id(const char *name)
{
	for (unsigned i = 0; i < obs_ncalls; i++) {
		if (!strcmp(obs_calls[i].name, name))
			return i;
	}
	fail_msg("no call %s", name);
	return 0;
}

/* A call with these arguments, that were passed in registers and then on the stack. */
#define OBS_ARGS (OBS_REGS + OBS_STACK)
#define CALL(name, ...) make(name, (const uint64_t[OBS_ARGS]){__VA_ARGS__})
static struct record make(const char *name, const uint64_t *arg)
{
	struct record r = {.e = {.ns = 5000,
				   .pid = 77,
				   .tid = 78,
				   .call = (uint16_t)call_id(name),
				   .stack = -ENOENT}};

	memcpy(r.e.reg, arg, sizeof r.e.reg);
	memcpy(r.e.stacked, arg + OBS_REGS, sizeof r.e.stacked);
	return r;
}

static void take(struct rig *r, const struct record *rec)
{
	assert_null(observe_decoder_take(r->d, rec, sizeof rec->e + rec->e.size, 9));
}

#define TAKE(r, name, ...)                                                                         \
	do {                                                                                       \
		struct record rec_ = CALL(name, __VA_ARGS__);                                      \
		take(r, &rec_);                                                                    \
	} while (0)

/* The same at its return, with what it put into its first out-argument. */
static void take_return(
	struct rig *r, struct record rec, uint32_t result, uint64_t out, const char *name)
{
	rec.e.phase = OBS_RETURNS;
	rec.e.end_ns = rec.e.ns + 400;
	rec.e.result = result;
	rec.e.out[0] = out;
	if (name) {
		rec.e.size = (uint32_t)strlen(name) + 1;
		memcpy(rec.data, name, rec.e.size);
	}
	take(r, &rec);
}

static const struct sbt_cmd *last(const struct rig *r)
{
	assert_true(r->n > 0);
	return &r->cmd[r->n - 1];
}

/* --- launches --- */

#define RUBBISH 0xdeadbeef00000000u /* above a 32-bit argument */

static void test_launch(void **state)
{
	struct rig *r = *state;
	const struct sbt_cmd_launch *l;

	TAKE(r, "cuLaunchKernel", 0x1234, RUBBISH | 2, RUBBISH | 3, 4, 32, RUBBISH | 8, RUBBISH | 1,
		RUBBISH | 512, 0, 0x7f00, 0);
	/* thread, context, kernel: all introduced; then the launch */
	assert_int_equal(r->n, 4);
	assert_int_equal(r->cmd[0].kind, SBT_THREAD);
	assert_int_equal(r->cmd[0].u.thread.os_tid, 78);
	assert_int_equal(r->cmd[1].kind, SBT_CTX_CREATE);
	assert_int_equal(r->cmd[2].kind, SBT_KERNEL_DEF);
	assert_string_equal(r->text[2], "unknown kernel 0x1234");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(r->cmd[i].flags, SBT_F_SYNTHETIC | (i == 1 ? SBT_F_BEFORE : 0));
	l = &last(r)->u.launch;
	assert_int_equal(last(r)->kind, SBT_LAUNCH);
	assert_int_equal(last(r)->flags, 0);
	assert_int_equal(last(r)->seq, 4);
	assert_int_equal(last(r)->thread, 1);
	assert_int_equal(last(r)->ctx, 0);
	assert_int_equal(last(r)->stack, 9);
	assert_int_equal(last(r)->host_ns, 6000); /* 5000 and the clocks' difference */
	assert_int_equal(l->stream, 0);
	assert_int_equal(l->kernel, 0);
	assert_int_equal(l->grid_x, 2);
	assert_int_equal(l->grid_y, 3);
	assert_int_equal(l->grid_z, 4);
	assert_int_equal(l->block_x, 32);
	assert_int_equal(l->block_y, 8);
	assert_int_equal(l->block_z, 1);
	assert_int_equal(l->shared, 512);
	assert_int_equal(l->args.len, 0);
	assert_int_equal(observe_decoder_nameless(r->d), 1);
}

static void test_launch_by_config(void **state)
{
	struct rig *r = *state;
	struct obs_config c = {.grid = {7, 6, 5},
		.block = {128, 2, 1},
		.shared = 64,
		.stream = 0x55,
		.nattrs = 2,
		.bits = 1 << 4 | 1 << 2,
		.cluster = {2, 1, 1},
		.cooperative = 1};
	struct record rec = CALL("cuLaunchKernelEx", 0x7ffe1000, 0x88);

	memcpy(rec.data, &c, sizeof c);
	rec.e.size = sizeof c;
	take(r, &rec);
	assert_int_equal(last(r)->kind, SBT_LAUNCH);
	assert_int_equal(last(r)->u.launch.grid_x, 7);
	assert_int_equal(last(r)->u.launch.grid_z, 5);
	assert_int_equal(last(r)->u.launch.block_x, 128);
	assert_int_equal(last(r)->u.launch.shared, 64);
	assert_int_equal(last(r)->u.launch.stream, 1); /* 0 is the context's default stream */
	assert_int_equal(last(r)->u.launch.cluster_x, 2);
	assert_int_equal(last(r)->u.launch.cooperative, 1);
	assert_int_equal(last(r)->u.launch.launch_attrs, 1 << 4 | 1 << 2);
	/* it could not be read: the launch counts, its shape is not known */
	rec.e.size = 0;
	take(r, &rec);
	assert_int_equal(last(r)->kind, SBT_LAUNCH);
	assert_int_equal(last(r)->u.launch.grid_x, 0);
	assert_int_equal(observe_decoder_bad(r->d), 1);
}

static void test_names(void **state)
{
	struct rig *r = *state;
	uint64_t named;
	unsigned n;

	take_return(r, CALL("cuModuleLoadData", 0x7ffe, 0x5000), 0, 0xaa, NULL);
	assert_int_equal(last(r)->kind, SBT_MODULE_LOAD);
	take_return(r, CALL("cuModuleGetFunction", 0x7ffe, 0xaa, 0x5000), 0, 0x1000, "_Z3addv");
	assert_int_equal(last(r)->kind, SBT_KERNEL_DEF);
	assert_string_equal(r->text[r->n - 1], "_Z3addv");
	assert_int_equal(last(r)->u.kernel_def.module, 0);
	named = last(r)->u.kernel_def.new_kernel;
	/* the function of a kernel is the same kernel */
	take_return(r, CALL("cuKernelGetFunction", 0x7ffe, 0x1000), 0, 0x2000, NULL);
	n = r->n;
	TAKE(r, "cuLaunchKernel", 0x2000, 1, 1, 1, 1, 1, 1);
	assert_int_equal(r->n, n + 1); /* nothing had to be introduced */
	assert_int_equal(last(r)->u.launch.kernel, named);
	assert_int_equal(observe_decoder_nameless(r->d), 0);
	/* a failed question tells nothing */
	n = r->n;
	take_return(r, CALL("cuModuleGetFunction", 0x7ffe, 0xaa, 0x5000), 500, 0x3000, "nothing");
	assert_int_equal(r->n, n);
}

static void test_a_name_that_comes_late(void **state)
{
	struct rig *r = *state;
	struct record launch = CALL("cuLaunchKernel", 0x4000, 1, 1, 1, 1, 1, 1);

	take(r, &launch);
	assert_int_equal(last(r)->u.launch.kernel, 0);
	take_return(r, CALL("cuKernelGetName", 0x7ffe, 0x4000), 0, 0, "_Z4latev");
	assert_string_equal(r->text[r->n - 1], "_Z4latev");
	take(r, &launch);
	assert_int_equal(last(r)->u.launch.kernel, 1); /* ids are never used for something else */
	/* the runtime tells the host function */
	launch.e.reg[0] = 0x6000;
	launch.e.runtime = 1;
	launch.e.host_fn = 0x401000;
	take(r, &launch);
	assert_string_equal(r->text[r->n - 2], "_Z3foov");
	assert_int_equal(last(r)->u.launch.kernel, 2);
	assert_int_equal(observe_decoder_nameless(r->d), 1);
}

static void test_a_name_that_the_process_has(void **state)
{
	struct rig *r = *state;
	struct record launch = CALL("cuLaunchKernel", 0x8000, 1, 1, 1, 1, 1, 1),
		      nameless = CALL("cuLaunchKernel", 0x7000, 1, 1, 1, 1, 1, 1);

	asked = 0;
	take(r, &launch);
	assert_string_equal(r->text[r->n - 2], "_Z5knownv");
	take(r, &launch);
	assert_int_equal(last(r)->u.launch.kernel, 0);
	assert_int_equal(observe_decoder_nameless(r->d), 0);
	for (unsigned i = 0; i < 3; i++)
		take(r, &nameless);
	assert_int_equal(observe_decoder_nameless(r->d), 3);
	assert_int_equal(asked, 2); /* once for each */
	take_return(r, CALL("cuKernelGetName", 0x7ffe, 0x7000), 0, 0, "_Z4latev");
	assert_string_equal(told, "7000 _Z4latev");
	take_return(r, CALL("cuModuleGetFunction", 0x7ffe, 0xaa, 0x5000), 0, 0x3000, "plain");
	assert_string_equal(told, "3000 plain");
}

/* ---- kernel-names.c, on ourselves ---- */

struct kernel_record {
	void *first;
	const char *name;
	char rest[64];
};

static uint64_t handle_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void test_names_in_memory(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kernel_record good = {NULL, "_Z5thirdPi", ""}, other = {NULL, "plain_$1.x", ""},
			     words = {NULL, "no kernel", ""}, wild = {NULL, (const char *)8, ""},
			     empty = {NULL, "", ""}, end = {NULL, page + 4096 - 8, ""},
			     beyond = {NULL, page + 4096 - 4, ""};
	struct kernel_names *k = kernel_names_new(getpid());

	(void)state;
	assert_non_null(page);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	memcpy(page + 4096 - 8, "kernel7", 8); /* the last byte that is mapped is its NUL */
	assert_null(kernel_names_get(k, handle_of(&good), false)); /* nothing speaks for it */
	assert_string_equal(kernel_names_get(k, handle_of(&good), true), "_Z5thirdPi");
	assert_string_equal(kernel_names_get(k, handle_of(&end), true), "kernel7");
	page[4095] = 'x';
	assert_null(kernel_names_get(k, handle_of(&beyond), true)); /* no end */
	assert_null(kernel_names_get(k, handle_of(&words), true));
	assert_null(kernel_names_get(k, handle_of(&wild), true));
	assert_null(kernel_names_get(k, handle_of(&empty), true));
	assert_null(kernel_names_get(k, 0, true));
	assert_null(kernel_names_get(k, 24, true));
	kernel_names_told(k, 24, "gone"); /* its record cannot be read: that says nothing */
	kernel_names_told(k, handle_of(&other), "plain_$1.x");
	assert_string_equal(kernel_names_get(k, handle_of(&good), false), "_Z5thirdPi");
	kernel_names_told(
		k, handle_of(&good), "another"); /* that was another kernel's record once */
	assert_string_equal(kernel_names_get(k, handle_of(&good), false), "_Z5thirdPi");
	kernel_names_free(k);

	k = kernel_names_new(getpid());
	kernel_names_told(k, handle_of(&good), "another");
	assert_null(kernel_names_get(
		k, handle_of(&good), true)); /* this driver's records are not like that */
	kernel_names_told(k, handle_of(&good), "_Z5thirdPi");
	assert_non_null(kernel_names_get(k, handle_of(&good), true));
	kernel_names_free(k);
	munmap(page, 4096);
}

/* --- streams, contexts --- */

static void test_streams(void **state)
{
	struct rig *r = *state;

	TAKE(r, "cuMemsetD32Async", 0x1000, 0x123456789, 16, 0);
	assert_int_equal(last(r)->u.fill.stream, 0);
	assert_int_equal(last(r)->u.fill.value, 0x23456789);
	assert_int_equal(last(r)->u.fill.size, 64);
	TAKE(r, "cuMemsetD32Async", 0x1000, 1, 16, 1); /* CU_STREAM_LEGACY */
	assert_int_equal(last(r)->u.fill.stream, 0);
	TAKE(r, "cuMemsetD32Async", 0x1000, 1, 16, 2); /* CU_STREAM_PER_THREAD */
	assert_int_equal(last(r)->u.fill.stream, 1);
	assert_int_equal(last(r)->flags, SBT_F_PTDS);
	assert_int_equal(r->cmd[r->n - 2].kind, SBT_STREAM_CREATE);
	assert_int_equal(r->cmd[r->n - 2].u.stream_create.per_thread, 1);
	TAKE(r, "cuMemsetD32Async_ptsz", 0x1000, 1, 16, 0);
	assert_int_equal(last(r)->u.fill.stream, 1);
	TAKE(r, "cuMemsetD32Async_ptsz", 0x1000, 1, 16, 0x9000);
	assert_int_equal(last(r)->u.fill.stream, 2);
	assert_int_equal(
		r->cmd[r->n - 2].flags, SBT_F_SYNTHETIC | SBT_F_BEFORE); /* nobody saw it made */
	assert_int_equal(r->cmd[r->n - 2].u.stream_create.stream_flags, SBT_STREAM_UNKNOWN);
	TAKE(r, "cuStreamDestroy_v2", 0x9000);
	assert_int_equal(last(r)->u.stream_destroy.dead_stream, 2);
	take_return(r, CALL("cuStreamCreateWithPriority", 0x7ffe, 1, 0xffffffff), 0, 0x9000,
		NULL); /* the same handle: another stream */
	assert_int_equal(last(r)->u.stream_create.new_stream, 3);
	assert_int_equal((int64_t)last(r)->u.stream_create.priority, -1);
	assert_int_equal(last(r)->u.stream_create.stream_flags, 1);
}

static void test_contexts(void **state)
{
	struct rig *r = *state;
	unsigned n;

	take_return(r, CALL("cuDevicePrimaryCtxRetain", 0x7ffe, 3), 0, 0xc0, NULL);
	assert_int_equal(last(r)->u.ctx_create.device, 3);
	assert_int_equal(last(r)->u.ctx_create.primary, 1);
	n = r->n;
	take_return(r, CALL("cuDevicePrimaryCtxRetain", 0x7ffe, 3), 0, 0xc0,
		NULL); /* once more: no new context */
	assert_int_equal(r->n, n);
	TAKE(r, "cuCtxSetCurrent", 0xc0);
	assert_int_equal(last(r)->u.ctx_set.new_ctx, 0);
	TAKE(r, "cuCtxSetCurrent", 0xc0);
	assert_int_equal(r->n, n + 1); /* it is current already */
	TAKE(r, "cuCtxPushCurrent_v2", 0xc1);
	assert_int_equal(last(r)->u.ctx_set.new_ctx, 1);
	TAKE(r, "cuLaunchKernel", 1, 1, 1, 1, 1, 1, 1);
	assert_int_equal(last(r)->ctx, 1);
	assert_int_equal(last(r)->u.launch.stream, 1); /* the default stream of context 1 */
	TAKE(r, "cuCtxPopCurrent_v2", 0x7ffe);
	assert_int_equal(last(r)->u.ctx_set.new_ctx, 0);
	take_return(r, CALL("cuMemAlloc_v2", 0x7ffe, 64), 0, 0x30000000, NULL);
	assert_int_equal(last(r)->u.alloc.device, 3);
	TAKE(r, "cuCtxDestroy_v2", 0xc1);
	assert_int_equal(last(r)->u.ctx_destroy.dead_ctx, 1);
}

static void test_captures(void **state)
{
	struct rig *r = *state;

	TAKE(r, "cuStreamBeginCapture_v2", 0x100, 2);
	assert_int_equal(last(r)->u.capture_begin.mode, SBT_CAPTURE_RELAXED);
	TAKE(r, "cuEventRecord", 0xe0, 0x100);
	assert_true(last(r)->flags & SBT_F_GRAPH);
	TAKE(r, "cuStreamWaitEvent", 0x200, 0xe0, 0); /* joins the capture */
	assert_true(last(r)->flags & SBT_F_GRAPH);
	TAKE(r, "cuLaunchKernel", 1, 1, 1, 1, 1, 1, 1, 0, 0x200);
	assert_true(last(r)->flags & SBT_F_GRAPH);
	TAKE(r, "cuLaunchKernel", 1, 1, 1, 1, 1, 1, 1, 0, 0x300); /* not part of it */
	assert_false(last(r)->flags & SBT_F_GRAPH);
	take_return(r, CALL("cuStreamEndCapture", 0x100, 0x7ffe), 0, 0xf0, NULL);
	assert_int_equal(last(r)->u.capture_end.new_graph, 0);
	TAKE(r, "cuLaunchKernel", 1, 1, 1, 1, 1, 1, 1, 0, 0x200);
	assert_false(last(r)->flags & SBT_F_GRAPH);
	TAKE(r, "cuStreamWaitEvent", 0x300, 0xe0, 0);
	assert_false(last(r)->flags & SBT_F_GRAPH);
	take_return(r, CALL("cuGraphInstantiateWithFlags", 0x7ffe, 0xf0, 0), 0, 0xf1, NULL);
	assert_int_equal(last(r)->u.graph_instantiate.graph, 0);
	assert_int_equal(last(r)->u.graph_instantiate.new_exec, 1);
	TAKE(r, "cuGraphLaunch", 0xf1, 0x100);
	assert_int_equal(last(r)->u.graph_launch.exec, 1);
	TAKE(r, "cuGraphLaunch", 0xf9, 0x100); /* older than tsdb */
	assert_int_equal(last(r)->u.graph_launch.exec, 2);
}

/* --- memory, copies, waits --- */

static void test_memory(void **state)
{
	struct rig *r = *state;

	take_return(r, CALL("cuMemAlloc_v2", 0x7ffe, 4096), 0, 0x30000000, NULL);
	assert_int_equal(last(r)->u.alloc.addr, 0x30000000);
	assert_int_equal(last(r)->u.alloc.size, 4096);
	assert_int_equal(last(r)->u.alloc.stream, SBT_NO_ID);
	take_return(r, CALL("cuMemAlloc_v2", 0x7ffe, 1ull << 60), 2, 0, NULL);
	assert_int_equal(last(r)->result, 2);
	take_return(r, CALL("cuMemAllocAsync", 0x7ffe, 100, 0x44), 0, 0x31000000, NULL);
	assert_int_equal(last(r)->u.alloc.mem, SBT_MEM_ASYNC);
	assert_int_equal(last(r)->u.alloc.stream, 1);
	TAKE(r, "cuMemFree_v2", 0x31000000); /* cuMemFree may free it too: it is what it was */
	assert_int_equal(last(r)->u.free.mem, SBT_MEM_ASYNC);
	TAKE(r, "cuMemFree_v2", 0x30000000);
	assert_int_equal(last(r)->u.free.mem, SBT_MEM_DEVICE);
}

static void test_pageable(void **state)
{
	struct rig *r = *state;

	TAKE(r, "cuMemcpyHtoDAsync_v2", 0x30000000, 0x7f001000, 64, 0);
	assert_int_equal(last(r)->u.copy.pageable, 1);
	take_return(
		r, CALL("cuMemHostAlloc", 0x7ffe, 8192, 0xabcdef0000000002), 0, 0x7f000000, NULL);
	assert_int_equal(
		last(r)->u.alloc.alloc_flags, 2); /* an unsigned int: what lies above is nobody's */
	TAKE(r, "cuMemcpyHtoDAsync_v2", 0x30000000, 0x7f001000, 64, 0); /* inside */
	assert_int_equal(last(r)->u.copy.pageable, 0);
	TAKE(r, "cuMemcpyDtoH_v2", 0x7f002000, 0x30000000, 64); /* just behind it */
	assert_int_equal(last(r)->u.copy.pageable, 1);
	assert_int_equal(last(r)->u.copy.dst, 0x7f002000);
	assert_int_equal(last(r)->u.copy.async, 0);
	TAKE(r, "cuMemFreeHost", 0x7f000000);
	TAKE(r, "cuMemcpyHtoDAsync_v2", 0x30000000, 0x7f001000, 64, 0);
	assert_int_equal(last(r)->u.copy.pageable, 1);
}

/* CUDA_MEMCPY2D and CUDA_MEMCPY3D of cuda.h, by the offsets of their members. */
static void test_pitched_copies(void **state)
{
	struct rig *r = *state;
	struct record rec = CALL("cuMemcpy2DAsync_v2", 0x7ffe, 0);
	uint64_t w2[16] = {8, 2, 1, 0x7f000000, 0, 0, 256, /* from the host: x 8, y 2, pitch 256 */
		0, 0, 2, 0, 0x30000000, 0, 512,		   /* to the device */
		100, 10};
	uint64_t w3[25] = {[2] = 3,
		[4] = 2,
		[6] = 0x1000,
		[9] = 64,
		[10] = 4, /* device: z 3, pitch 64, height 4 */
		[11 + 4] = 2,
		[11 + 6] = 0x9000,
		[11 + 9] = 64,
		[11 + 10] = 4,
		[22] = 60,
		[23] = 4,
		[24] = 2};
	const struct sbt_cmd_copy *k;

	memcpy(rec.data, w2, sizeof w2);
	rec.e.size = sizeof w2;
	take(r, &rec);
	k = &last(r)->u.copy;
	assert_int_equal(k->dir, SBT_COPY_H2D);
	assert_int_equal(k->src, 0x7f000000 + 2 * 256 + 8);
	assert_int_equal(k->dst, 0x30000000);
	assert_int_equal(k->size, 1000);
	assert_int_equal(k->width, 100);
	assert_int_equal(k->height, 10);
	assert_int_equal(k->depth, 1);
	assert_int_equal(k->src_pitch, 256);
	assert_int_equal(k->dst_pitch, 512);
	rec = CALL("cuMemcpy3D_v2", 0x7ffe);
	memcpy(rec.data, w3, sizeof w3);
	rec.e.size = sizeof w3;
	take(r, &rec);
	k = &last(r)->u.copy;
	assert_int_equal(k->dir, SBT_COPY_D2D);
	assert_int_equal(k->src, 0x1000 + 3 * 256);
	assert_int_equal(k->dst, 0x9000);
	assert_int_equal(k->size, 480);
	assert_int_equal(k->src_slice, 256);
	rec = CALL("cuMemcpy3DPeer", 0x7ffe);
	memcpy(rec.data, w3, sizeof w3);
	rec.e.size = sizeof w3;
	take(r, &rec);
	assert_int_equal(last(r)->u.copy.dir, SBT_COPY_PEER);
	assert_int_equal(last(r)->u.copy.dst, 0x9000);
	rec = CALL("cuMemcpy3D_v2", 0x7ffe);
	rec.e.size = sizeof w3;
	/* A pitch of 0 is the width, a height of 0 the copy's; both count before z and y are added.
	 */
	w3[9] = 0;
	w3[10] = 10;
	w3[1] = 1;
	w3[11 + 2] = 1;
	w3[11 + 10] = 0;
	memcpy(rec.data, w3, sizeof w3);
	take(r, &rec);
	k = &last(r)->u.copy;
	assert_int_equal(k->src_pitch, 60);
	assert_int_equal(k->src_slice, 600);
	assert_int_equal(k->src, 0x1000 + 3 * 600 + 60);
	assert_int_equal(k->dst_slice, 256);
	assert_int_equal(k->dst, 0x9000 + 256);
}

static void test_waits(void **state)
{
	struct rig *r = *state;
	struct record rec = CALL("cuStreamSynchronize", 0);
	uint64_t begin;

	take_return(r, rec, 0, 0, NULL); /* its beginning was lost */
	assert_true(!r->n || last(r)->kind != SBT_SYNC_END);
	rec.e.phase = OBS_BEGINS;
	take(r, &rec);
	assert_int_equal(last(r)->kind, SBT_SYNC);
	begin = last(r)->seq;
	take_return(r, rec, 0, 0, NULL);
	assert_int_equal(last(r)->kind, SBT_SYNC_END);
	assert_int_equal(last(r)->u.sync_end.begin, begin);
	assert_int_equal(last(r)->host_ns, 6400);
}

/* --- hostile --- */

static void test_records_that_are_none(void **state)
{
	struct rig *r = *state;
	struct record rec = CALL("cuLaunchKernel", 1, 1, 1, 1, 1, 1, 1);

	for (size_t n = 0; n < sizeof rec.e; n++)
		assert_null(observe_decoder_take(r->d, &rec, n, 0));
	assert_int_equal(observe_decoder_bad(r->d), sizeof rec.e);
	rec.e.call = (uint16_t)obs_ncalls;
	take(r, &rec);
	rec.e.call = (uint16_t)call_id("cudaLaunchKernel"); /* the runtime's send none */
	take(r, &rec);
	rec = CALL("cuLaunchKernel", 1);
	rec.e.size = 1;
	assert_null(
		observe_decoder_take(r->d, &rec, sizeof rec.e, 0)); /* says more than there is */
	rec.e.size = 0;
	rec.e.phase = 9;
	take(r, &rec);
	rec.e.phase = 0;
	rec.e.tid = 0;
	take(r, &rec);
	assert_int_equal(observe_decoder_bad(r->d), sizeof rec.e + 5);
	assert_int_equal(r->n, 0);
}

/* Whatever comes, every command is one that the state machine takes. */
static void test_any_bytes(void **state)
{
	struct rig *r = *state;
	uint64_t x = 88172645463325252u;
	struct record rec;

	r->count_only = true;
	for (unsigned i = 0; i < 60000; i++) {
		uint64_t *w = (uint64_t *)&rec.e;

		memset(&rec.data, (int)(i & 0xff), 300);
		for (size_t k = 0; k < sizeof rec.e / 8; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			w[k] = i % 3 ? x & 0xf : x; /* small ones meet each other */
		}
		rec.e.call = (uint16_t)(i % (obs_ncalls + 2));
		rec.e.pid = 1;
		rec.e.tid = 1 + i % 5;
		rec.e.phase = (uint8_t)(x % 5);
		rec.e.result = x % 4 ? 0 : 2;
		rec.e.size = (uint32_t)(x % 280);
		assert_null(observe_decoder_take(r->d, &rec, sizeof rec.e + 280, (uint32_t)i));
	}
}

/* --- the map --- */

static void test_handles(void **state)
{
	enum { KEYS = 400 };
	uint64_t model[KEYS + 1] = {0}, x = 12345;
	struct handles h = {0};
	size_t n = 0;

	assert_int_equal(handles_get(&h, 5), 0);
	assert_int_equal(handles_remove(&h, 5), 0);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t key;

		x = x * 6364136223846793005u + 1442695040888963407u;
		key = (x >> 33) % KEYS + 1;
		if (x >> 63) {
			handles_put(&h, key * 4096, i + 1);
			n += !model[key];
			model[key] = i + 1;
		} else {
			assert_int_equal(handles_remove(&h, key * 4096), model[key]);
			n -= model[key] != 0;
			model[key] = 0;
		}
		assert_int_equal(h.n, n);
	}
	for (unsigned k = 1; k <= KEYS; k++)
		assert_int_equal(handles_get(&h, k * 4096ull), model[k]);
	handles_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_launch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_launch_by_config, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_name_that_comes_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_name_that_the_process_has, setup, teardown),
		cmocka_unit_test(test_names_in_memory),
		cmocka_unit_test_setup_teardown(test_streams, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contexts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_captures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pageable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pitched_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_records_that_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any_bytes, setup, teardown),
		cmocka_unit_test(test_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
