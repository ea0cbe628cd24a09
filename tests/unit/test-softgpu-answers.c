/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls answer at the edges of what they take: buffers of parameters of every length, copies
 * of nothing, values written where nothing may be written, tables asked for with nothing to hold
 * them; the compute capability that the environment names; a graph's description, whole.
 */
#include "softgpu-test.h"
#include "thread-signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry store(.param .u64 where, .param .u8 skip, .param .align 8 .b8 last[12]) {\n"
	".reg .b32 %r<3>; .reg .b64 %d; ld.param.u64 %d, [where]; ld.param.u32 %r1, [last+8]; st.global.u32 [%d], %r1; ret; }\n"
	".visible .entry none() { ret; }\n";

static CUdeviceptr memory; /* 64 bytes */
static CUmodule module;
static CUfunction store, none;

static int start(void **state)
{
	softgpu_start(state);
	OK(cuMemAlloc(&memory, 64));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&store, module, "store"));
	OK(cuModuleGetFunction(&none, module, "none"));
	return 0;
}

static int stop(void **state)
{
	OK(cuModuleUnload(module));
	OK(cuMemFree(memory));
	return softgpu_stop(state);
}

static uint32_t word(unsigned k)
{
	uint32_t w[16];

	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(w, memory, sizeof w));
	return w[k];
}

/* All parameters in one buffer: as long as they are, or longer; 28 bytes here. */
static void test_parameters(void **state)
{
	uint8_t bytes[64] = {0};
	const uint32_t value = 0x1234567;

	memcpy(bytes, &memory, 8);
	memcpy(bytes + 16 + 8, &value, 4);
	for (size_t n = 0; n <= 40; n++) {
		size_t size = n;
		void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE,
			&size, CU_LAUNCH_PARAM_END};
		const CUresult r = cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);

		if ((r == CUDA_SUCCESS) != (n >= 28))
			fail_msg("%zu bytes: %d", n, r);
		if (r)
			assert_int_equal(r, CUDA_ERROR_INVALID_VALUE);
	}
	assert_int_equal(word(0), value);
	OK(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	IS(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
}

/* A copy that has no bytes in one direction is a node that does nothing. */
static void test_empty_copies(void **state)
{
	static const size_t sides[][3] = {
		{4, 1, 1}, {0, 1, 1}, {4, 0, 1}, {4, 1, 0}, {0, 0, 1}, {4, 0, 0}, {0, 1, 0}};

	for (size_t k = 0; k < COUNT_OF(sides); k++) {
		const CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			.srcDevice = memory + 32,
			.srcPitch = 4,
			.srcHeight = 1,
			.dstMemoryType = CU_MEMORYTYPE_DEVICE,
			.dstDevice = memory,
			.dstPitch = 4,
			.dstHeight = 1,
			.WidthInBytes = sides[k][0],
			.Height = sides[k][1],
			.Depth = sides[k][2]};
		CUgraphNode node;
		CUgraphExec e;
		CUgraph g;

		OK(cuMemsetD32(memory, 1, 8));
		OK(cuMemsetD32(memory + 32, 2, 8));
		OK(cuGraphCreate(&g, 0));
		OK(cuGraphAddMemcpyNode(&node, g, NULL, 0, &c, primary));
		OK(cuGraphInstantiateWithFlags(&e, g, 0));
		OK(cuGraphLaunch(e, NULL));
		assert_int_equal(word(0), k ? 1 : 2);
		assert_int_equal(word(1), 1);
		OK(cuGraphExecDestroy(e));
		OK(cuGraphDestroy(g));
	}
}

/* Mapped memory that may only be read: a value there may be waited for, and not written. */
static CUdeviceptr map_fixed(CUmemGenericAllocationHandle *h, size_t n)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr ret;

	OK(cuMemCreate(h, n, &prop, 0));
	OK(cuMemAddressReserve(&ret, n, 0, 0, 0));
	OK(cuMemMap(ret, n, 0, *h, 0));
	OK(cuMemSetAccess(ret, n, &access, 1));
	OK(cuMemsetD32(ret, 0, n / 4));
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	OK(cuMemSetAccess(ret, n, &access, 1));
	return ret;
}

static void test_values(void **state)
{
	const size_t n = 2 << 20;
	CUmemGenericAllocationHandle h;
	CUdeviceptr fixed = map_fixed(&h, n);

	OK(cuStreamWaitValue32(NULL, fixed, 0, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamWaitValue64(NULL, fixed, 0, CU_STREAM_WAIT_VALUE_EQ));
	IS(cuStreamWriteValue32(NULL, fixed, 1, 0), INVALID_VALUE);
	IS(cuStreamWriteValue64(NULL, fixed, 1, 0), INVALID_VALUE);
	OK(cuStreamWriteValue32(NULL, memory + 60, 9, 0));
	OK(cuStreamWriteValue64(NULL, memory + 48, 8, 0));
	IS(cuStreamWriteValue32(NULL, memory + 62, 9, 0), INVALID_VALUE);
	IS(cuStreamWriteValue64(NULL, memory + 60, 9, 0), INVALID_VALUE);
	IS(cuStreamWriteValue32(NULL, memory + 64, 9, 0), INVALID_VALUE);
	IS(cuStreamWaitValue32(NULL, memory + 64, 9, 0), INVALID_VALUE);
	IS(cuStreamWaitValue64(NULL, memory + 60, 9, 0), INVALID_VALUE);
	assert_int_equal(word(15), 9);
	assert_int_equal(word(12), 8);
	assert_int_equal(word(13), 0);
	OK(cuMemUnmap(fixed, n));
	OK(cuMemAddressFree(fixed, n));
	OK(cuMemRelease(h));
}

static void test_tables(void **state)
{
	const CUuuid id = {{1, 2, 3}};
	const void *table;
	CUdriverProcAddressQueryResult how;
	void *f;

	IS(cuGetExportTable(NULL, &id), INVALID_VALUE);
	IS(cuGetExportTable(&table, NULL), INVALID_VALUE);
	assert_int_not_equal(cuGetExportTable(&table, &id), CUDA_SUCCESS); /* nobody's */
	IS(cuGetProcAddress(NULL, &f, 12000, 0, &how), INVALID_VALUE);
	IS(cuGetProcAddress("cuInit", NULL, 12000, 0, &how), INVALID_VALUE);
	OK(cuGetProcAddress("cuInit", &f, 12000, 0, &how));
	assert_non_null(f);
}

/* --- the compute capability --- */
static void capability(const char *text, int major, int minor)
{
	int status;
	pid_t p;

	fflush(NULL);
	p = fork();
	if (!p) {
		int a = -1, b = -1;

		alarm(60);
		text ? setenv("TSDB_SOFT_CC", text, 1) : unsetenv("TSDB_SOFT_CC");
		_exit(cuInit(0) ||
			cuDeviceGetAttribute(&a, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) ||
			cuDeviceGetAttribute(&b, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0) ||
			a != major || b != minor);
	}
	assert_int_equal(waitpid(p, &status, 0), p);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("TSDB_SOFT_CC=%s", text ? text : "(none)");
}

static int test_capabilities(void)
{
	static const struct {
		const char *text;
		int major, minor;
	} rows[] = {{NULL, 7, 5}, {"", 7, 5}, {"7.5", 7, 5}, {"8.0", 8, 0}, {"8.6", 8, 6},
		{"8.9", 8, 9}, {"9.0", 9, 0}, {"10.0", 10, 0}, {"12.0", 12, 0}};

	for (size_t k = 0; k < COUNT_OF(rows); k++)
		capability(rows[k].text, rows[k].major, rows[k].minor);
	return 0;
}

/* --- a graph's description --- */
/* What it says of a node, and of the nodes before it, by their order. */
struct said {
	const char *label;
	unsigned nbefore, before[2];
};

static void nothing(void *p)
{
}

static const char *expect_text(const char *at, const char *want)
{
	if (strncmp(at, want, strlen(want)) != 0)
		fail_msg("%s\nis not\n%.200s", want, at);
	return at + strlen(want);
}

/* The nodes in order, each with a number of its own, which it is called by. */
static const char *expect_nodes(const char *at, const struct said *said, size_t n)
{
	unsigned long long id[16];
	char text[512];

	for (size_t k = 0; k < n; k++) {
		int used = 0;

		assert_int_equal(sscanf(at, "\tn%llu%n", &id[k], &used), 1);
		for (size_t j = 0; j < k; j++)
			assert_true(id[j] != id[k]);
		snprintf(text, sizeof text, " [label=\"%llu\\n%s\"];\n", id[k], said[k].label);
		at = expect_text(at + used, text);
		for (unsigned j = 0; j < said[k].nbefore; j++) {
			snprintf(text, sizeof text, "\tn%llu -> n%llu;\n", id[said[k].before[j]],
				id[k]);
			at = expect_text(at, text);
		}
	}
	return at;
}

static void describe(CUgraph g, char *text, size_t n)
{
	char path[64];
	FILE *f;
	size_t got;

	snprintf(path, sizeof path, "/tmp/tsdb-answers-%d", (int)getpid());
	OK(cuGraphDebugDotPrint(g, path, 0));
	f = fopen(path, "r");
	assert_non_null(f);
	got = fread(text, 1, n - 1, f);
	text[got] = 0;
	fclose(f);
	unlink(path);
}

static void test_description(void **state)
{
	static char text[8192], copy[128], fill[128], labels[2][128];
	struct said said[] = {{"EMPTY", 0, {0}},
		{"KERNEL\\nstore\\n<<<(2,3,4), (5,6,7), 89>>>", 1, {0}}, {copy, 2, {0, 1}},
		{fill, 1, {2}}, {"HOST", 0, {0}}, {labels[0], 0, {0}}, {labels[1], 1, {5}}};
	uint32_t zero[7] = {0};
	void *params[] = {&memory, zero, zero};
	const CUDA_KERNEL_NODE_PARAMS k = {.func = store,
		.gridDimX = 2,
		.gridDimY = 3,
		.gridDimZ = 4,
		.blockDimX = 5,
		.blockDimY = 6,
		.blockDimZ = 7,
		.sharedMemBytes = 89,
		.kernelParams = params};
	const CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = memory + 32,
		.srcPitch = 6,
		.srcHeight = 2,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = memory,
		.dstPitch = 6,
		.dstHeight = 2,
		.WidthInBytes = 5,
		.Height = 2,
		.Depth = 1};
	const CUDA_MEMSET_NODE_PARAMS m = {.dst = memory,
		.value = 0x7b,
		.elementSize = 2,
		.width = 3,
		.height = 4,
		.pitch = 16};
	const CUDA_HOST_NODE_PARAMS h = {.fn = nothing};
	CUDA_MEM_ALLOC_NODE_PARAMS a = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
						.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
		.bytesize = 100};
	CUgraphNode n[8];
	const char *at;
	CUgraph g, outer;

	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddEmptyNode(&n[0], g, NULL, 0));
	OK(cuGraphAddKernelNode(&n[1], g, n, 1, &k));
	OK(cuGraphAddMemcpyNode(&n[2], g, n, 2, &c, primary));
	OK(cuGraphAddMemsetNode(&n[3], g, n + 2, 1, &m, primary));
	OK(cuGraphAddHostNode(&n[4], g, NULL, 0, &h));
	snprintf(copy, sizeof copy, "MEMCPY\\n%#llx to %#llx\\n5 x 2 x 1 bytes", memory + 32,
		memory);
	snprintf(fill, sizeof fill, "MEMSET\\n%#llx, 0x7b, 3 x 4 of 2 bytes", memory);
	describe(g, text, sizeof text);
	at = strchr(text, '\n');
	assert_true(at && !strncmp(text, "digraph ", 8));
	at = expect_nodes(expect_text(at, "\n\tnode [shape=box];\n"), said, 5);
	expect_text(at, "}\n");
	OK(cuGraphAddMemAllocNode(&n[5], g, NULL, 0, &a));
	OK(cuGraphAddMemFreeNode(&n[6], g, n + 5, 1, a.dptr));
	snprintf(labels[0], sizeof labels[0], "MEM_ALLOC\\n%#llx", a.dptr);
	snprintf(labels[1], sizeof labels[1], "MEM_FREE\\n%#llx", a.dptr);
	describe(g, text, sizeof text);
	at = expect_text(strchr(text, '\n'), "\n\tnode [shape=box];\n");
	expect_text(expect_nodes(at, said, 7), "}\n");
	OK(cuGraphDestroy(g));
	/* a graph in a graph */
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddKernelNode(&n[1], g, NULL, 0, &k));
	OK(cuGraphCreate(&outer, 0));
	OK(cuGraphAddChildGraphNode(&n[7], outer, NULL, 0, g));
	describe(outer, text, sizeof text);
	at = expect_nodes(strstr(text, "\tn"), &(struct said){"GRAPH", 0, {0}}, 0);
	at = strstr(at, "GRAPH");
	assert_non_null(at);
	at = strchr(at, '\n');
	assert_true(at && !strncmp(at, "\n\tsubgraph cluster_", 19));
	at = strstr(at, "label=\"graph of node ");
	assert_non_null(at);
	at = strchr(at, '\n') + 1;
	said[1].nbefore = 0;
	expect_text(expect_nodes(at, said + 1, 1), "\t}\n}\n");
	OK(cuGraphDestroy(outer));
	OK(cuGraphDestroy(g));
}

/* The threads of streams and of launches take no signals of the program. */
static void test_threads(void **state)
{
	CUstream s[3];

	for (unsigned k = 0; k < 3; k++) {
		OK(cuStreamCreate(&s[k], CU_STREAM_NON_BLOCKING));
		OK(cuLaunchKernel(none, 4, 1, 1, 256, 1, 1, 0, s[k], NULL, NULL));
	}
	OK(cuCtxSynchronize());
	assert_true(threads_without_signals() >= 1);
	assert_true(a_thread_is_called("tsdb-softgpu"));
	for (unsigned k = 0; k < 3; k++)
		OK(cuStreamDestroy(s[k]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_empty_copies),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_threads),
	};

	return test_capabilities() || cmocka_run_group_tests(tests, start, stop);
}
