/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of one call: each that puts work into a stream has a form in which stream 0 is the
 * thread's own ("CUDA Driver API", Stream synchronization behavior: *_ptsz, *_ptds), and most have
 * one that waits. Work that is captured shows which stream it went to; then the graph shows what it
 * does.
 */
#include "softgpu-test.h"

#include <stdio.h>
#include <string.h>

/* The first half is 1, 2, 3 ... on the device and 101, 102, 103 ... on the host, the other zeroes.
 */
#define HALF 32
static CUdeviceptr dev, to; /* to: the other half */
static unsigned char *host, *to_host;
static CUevent event;

static int start(void **state)
{
	softgpu_start(state);
	OK(cuMemAlloc(&dev, 2 * HALF));
	OK(cuMemAllocHost((void **)&host, 2 * HALF));
	to = dev + HALF;
	to_host = host + HALF;
	OK(cuEventCreate(&event, 0));
	return 0;
}

static int stop(void **state)
{
	OK(cuEventDestroy(event));
	OK(cuMemFreeHost(host));
	OK(cuMemFree(dev));
	return softgpu_stop(state);
}

static void fresh(void)
{
	unsigned char bytes[2 * HALF] = {0};

	for (unsigned i = 0; i < HALF; i++)
		bytes[i] = (unsigned char)(1 + i);
	OK(cuMemcpyHtoD(dev, bytes, sizeof bytes));
	for (unsigned i = 0; i < HALF; i++)
		bytes[i] = (unsigned char)(101 + i);
	memcpy(host, bytes, sizeof bytes);
}

/* That the other half, of host and device together, is just this. */
static void became(const unsigned char want[HALF])
{
	unsigned char bytes[HALF];

	OK(cuMemcpyDtoH(bytes, to, HALF));
	for (unsigned i = 0; i < HALF; i++)
		bytes[i] |= to_host[i];
	assert_memory_equal(bytes, want, HALF);
}

/* Calls f, whose last parameter is the stream if `s` is not NO_STREAM. */
#define NO_STREAM ((CUstream)-1)
#define CALL(types, ...)                                                                           \
	(s == NO_STREAM ? ((CUresult(*) types)f)(__VA_ARGS__)                                      \
			: ((CUresult(*)(STRIP types, CUstream))f)(__VA_ARGS__, s))
#define STRIP(...) __VA_ARGS__

static CUresult d8(void *f, CUstream s)
{
	return CALL((CUdeviceptr, unsigned char, size_t), to, 0x11, 3);
}

static CUresult d16(void *f, CUstream s)
{
	return CALL((CUdeviceptr, unsigned short, size_t), to, 0x2211, 2);
}

static CUresult d32(void *f, CUstream s)
{
	return CALL((CUdeviceptr, unsigned, size_t), to, 0x44332211, 1);
}

static CUresult d2d8(void *f, CUstream s)
{
	return CALL((CUdeviceptr, size_t, unsigned char, size_t, size_t), to, 4, 0x11, 2, 2);
}

static CUresult d2d16(void *f, CUstream s)
{
	return CALL((CUdeviceptr, size_t, unsigned short, size_t, size_t), to, 8, 0x2211, 2, 2);
}

static CUresult d2d32(void *f, CUstream s)
{
	return CALL((CUdeviceptr, size_t, unsigned, size_t, size_t), to, 8, 0x44332211, 1, 2);
}

static CUresult any(void *f, CUstream s)
{
	return CALL((CUdeviceptr, CUdeviceptr, size_t), to, (CUdeviceptr)host, 3);
}

static CUresult htod(void *f, CUstream s)
{
	return CALL((CUdeviceptr, const void *, size_t), to, host + 1, 2);
}

static CUresult dtoh(void *f, CUstream s)
{
	return CALL((void *, CUdeviceptr, size_t), to_host, dev + 1, 2);
}

static CUresult dtod(void *f, CUstream s)
{
	return CALL((CUdeviceptr, CUdeviceptr, size_t), to, dev + 2, 2);
}

static CUresult peer(void *f, CUstream s)
{
	return CALL((CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t), to, primary, dev + 3,
		primary, 2);
}

static CUresult two(void *f, CUstream s)
{
	const CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = dev,
		.srcPitch = 4,
		.srcXInBytes = 1,
		.srcY = 1,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = to,
		.dstPitch = 3,
		.dstXInBytes = 1,
		.dstY = 1,
		.WidthInBytes = 2,
		.Height = 2};

	return CALL((const CUDA_MEMCPY2D *), &c);
}

static CUresult three(void *f, CUstream s)
{
	const CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = dev,
		.srcPitch = 2,
		.srcHeight = 3,
		.srcXInBytes = 1,
		.srcY = 1,
		.srcZ = 1,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = to_host,
		.dstPitch = 2,
		.dstHeight = 3,
		.dstXInBytes = 1,
		.dstY = 1,
		.dstZ = 1,
		.WidthInBytes = 1,
		.Height = 2,
		.Depth = 2};

	return CALL((const CUDA_MEMCPY3D *), &c);
}

static CUresult three_peer(void *f, CUstream s)
{
	const CUDA_MEMCPY3D_PEER c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = host,
		.srcPitch = 2,
		.srcHeight = 3,
		.srcXInBytes = 1,
		.srcY = 1,
		.srcZ = 1,
		.srcContext = primary,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = to,
		.dstPitch = 2,
		.dstHeight = 3,
		.dstXInBytes = 1,
		.dstY = 1,
		.dstZ = 1,
		.dstContext = primary,
		.WidthInBytes = 1,
		.Height = 2,
		.Depth = 2};

	return CALL((const CUDA_MEMCPY3D_PEER *), &c);
}

static void set_one(void *p)
{
	*(unsigned char *)p = 1;
}

static CUresult host_fn(void *f, CUstream s)
{
	return ((CUresult(*)(CUstream, CUhostFn, void *))f)(s, set_one, to_host);
}

static CUresult record(void *f, CUstream s)
{
	return ((CUresult(*)(CUevent, CUstream, unsigned))f)(event, s, CU_EVENT_RECORD_EXTERNAL);
}

static CUresult write32(void *f, CUstream s)
{
	return ((CUresult(*)(CUstream, CUdeviceptr, cuuint32_t, unsigned))f)(
		s, to, 0x44332211, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
}

static CUresult write64(void *f, CUstream s)
{
	return ((CUresult(*)(CUstream, CUdeviceptr, cuuint64_t, unsigned))f)(
		s, to, 0x8877665544332211, 0);
}

static CUresult wait32(void *f, CUstream s)
{
	return ((CUresult(*)(CUstream, CUdeviceptr, cuuint32_t, unsigned))f)(
		s, dev, 0x04030201, CU_STREAM_WAIT_VALUE_EQ | CU_STREAM_WAIT_VALUE_FLUSH);
}

static CUresult wait64(void *f, CUstream s)
{
	return ((CUresult(*)(CUstream, CUdeviceptr, cuuint64_t, unsigned))f)(
		s, dev, 0x0807060504030201, CU_STREAM_WAIT_VALUE_EQ);
}

#define FILL CU_GRAPH_NODE_TYPE_MEMSET
#define COPY CU_GRAPH_NODE_TYPE_MEMCPY
#define VALUE CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
static const struct row {
	const char *waits, *async; /* names; async also with _ptsz, waits with _ptds */
	CUresult (*call)(void *f, CUstream s);
	CUgraphNodeType type;
	unsigned char becomes[HALF];
} rows[] = {
	{"cuMemsetD8_v2", "cuMemsetD8Async", d8, FILL, {0x11, 0x11, 0x11}},
	{"cuMemsetD16_v2", "cuMemsetD16Async", d16, FILL, {0x11, 0x22, 0x11, 0x22}},
	{"cuMemsetD32_v2", "cuMemsetD32Async", d32, FILL, {0x11, 0x22, 0x33, 0x44}},
	{"cuMemsetD2D8_v2", "cuMemsetD2D8Async", d2d8, FILL, {0x11, 0x11, 0, 0, 0x11, 0x11}},
	{"cuMemsetD2D16_v2", "cuMemsetD2D16Async", d2d16, FILL,
		{0x11, 0x22, 0x11, 0x22, 0, 0, 0, 0, 0x11, 0x22, 0x11, 0x22}},
	{"cuMemsetD2D32_v2", "cuMemsetD2D32Async", d2d32, FILL,
		{0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44}},
	{"cuMemcpy", "cuMemcpyAsync", any, COPY, {101, 102, 103}},
	{"cuMemcpyHtoD_v2", "cuMemcpyHtoDAsync_v2", htod, COPY, {102, 103}},
	{"cuMemcpyDtoH_v2", "cuMemcpyDtoHAsync_v2", dtoh, COPY, {2, 3}},
	{"cuMemcpyDtoD_v2", "cuMemcpyDtoDAsync_v2", dtod, COPY, {3, 4}},
	{"cuMemcpyPeer", "cuMemcpyPeerAsync", peer, COPY, {4, 5}},
	/* rows at 4 + 1 and 8 + 1 to 3 + 1 and 6 + 1 */
	{"cuMemcpy2D_v2", "cuMemcpy2DAsync_v2", two, COPY, {0, 0, 0, 0, 6, 7, 0, 10, 11}},
	{"cuMemcpy2DUnaligned_v2", NULL, two, COPY, {0, 0, 0, 0, 6, 7, 0, 10, 11}},
	/* a slice has 6 bytes: the bytes at 9, 11, 15 and 17 */
	{"cuMemcpy3D_v2", "cuMemcpy3DAsync_v2", three, COPY,
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 12, 0, 0, 0, 16, 0, 18}},
	{"cuMemcpy3DPeer", "cuMemcpy3DPeerAsync", three_peer, COPY,
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 110, 0, 112, 0, 0, 0, 116, 0, 118}},
	{NULL, "cuLaunchHostFunc", host_fn, CU_GRAPH_NODE_TYPE_HOST, {1}},
	{NULL, "cuEventRecordWithFlags", record, CU_GRAPH_NODE_TYPE_EVENT_RECORD, {0}},
	{NULL, "cuStreamWriteValue32_v2", write32, VALUE, {0x11, 0x22, 0x33, 0x44}},
	{NULL, "cuStreamWriteValue64_v2", write64, VALUE,
		{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}},
	{NULL, "cuStreamWaitValue32_v2", wait32, VALUE, {0}},
	{NULL, "cuStreamWaitValue64_v2", wait64, VALUE, {0}},
};

static void *form(const char *name, const char *suffix)
{
	char full[64];

	snprintf(full, sizeof full, "%s%s", name, suffix);
	return entry(full);
}

/* Captures the call's work, and executes that. */
static void in_graph(const struct row *r, void *f, CUstream captured, CUstream given)
{
	CUgraphNodeType type;
	CUgraphNode node[2];
	CUgraphExec exec;
	size_t n = 2;
	CUgraph g;

	fresh();
	OK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(r->call(f, given));
	OK(cuStreamEndCapture(captured, &g));
	OK(cuGraphGetNodes(g, node, &n));
	assert_int_equal(n, 1);
	OK(cuGraphNodeGetType(node[0], &type));
	assert_int_equal(type, r->type);
	became((const unsigned char[HALF]){0});
	OK(cuGraphInstantiate(&exec, g, 0));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	became(r->becomes);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(g));
}

static void test_asynchronous(void **state)
{
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (const struct row *r = rows; r < rows + COUNT_OF(rows); r++) {
		if (!r->async)
			continue;
		in_graph(r, form(r->async, ""), s, s);
		in_graph(r, form(r->async, ""), CU_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);
		in_graph(r, form(r->async, "_ptsz"), CU_STREAM_PER_THREAD, NULL);
		in_graph(r, form(r->async, "_ptsz"), s, s);
		fresh();
		if (r->call == record) { /* such a flag is of captures only */
			IS(r->call(form(r->async, ""), NULL), INVALID_VALUE);
			continue;
		}
		OK(r->call(form(r->async, ""), NULL));
		OK(cuStreamSynchronize(CU_STREAM_LEGACY));
		became(r->becomes);
		IS(r->call(form(r->async, ""), (CUstream)&s), INVALID_HANDLE);
	}
	OK(cuStreamDestroy(s));
}

static void linger(void *p)
{
	for (volatile unsigned long i = 0; i < 3000000; i++)
		;
	*(_Atomic bool *)p = true;
}

/* Such a call cannot be captured. Where host memory is concerned, it returns when it has been done.
 */
static void waits(const struct row *r, const char *suffix, CUstream its)
{
	static _Atomic bool done;
	void *f = form(r->waits, suffix);

	fresh();
	done = false;
	OK(cuLaunchHostFunc(its, linger, (void *)&done));
	OK(r->call(f, NO_STREAM));
	if (r->call == any || r->call == htod || r->call == dtoh || r->call == three)
		assert_true(done);
	OK(cuStreamSynchronize(its));
	became(r->becomes);
}

static void test_waiting(void **state)
{
	CUgraph g;

	for (const struct row *r = rows; r < rows + COUNT_OF(rows); r++) {
		if (!r->waits)
			continue;
		waits(r, "", CU_STREAM_LEGACY);
		waits(r, "_ptds", CU_STREAM_PER_THREAD);
		if (r->call == peer || r->call == three_peer)
			continue; /* these wait for the context first */
		OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
		IS(r->call(form(r->waits, "_ptds"), NO_STREAM), STREAM_CAPTURE_UNSUPPORTED);
		IS(cuStreamEndCapture(CU_STREAM_PER_THREAD, &g), STREAM_CAPTURE_INVALIDATED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asynchronous),
		cmocka_unit_test(test_waiting),
	};

	return cmocka_run_group_tests_name("softgpu-names", tests, start, stop);
}
