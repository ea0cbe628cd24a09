/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of the software GPU and what is captured from them: what each call answers, and to wrong
 * arguments ("CUDA Driver API", Stream Management; "CUDA C++ Programming Guide", Stream Capture).
 */
#include "softgpu-test.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static void add_one(void *p)
{
	++*(int *)p;
}

/* --- what a stream is --- */

static void *its_own_id(void *p)
{
	OK(cuCtxSetCurrent(primary));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, p));
	return NULL;
}

/* The stream that stream 0 means, with and without _ptsz, and in each thread. */
static void test_default_streams(void **state)
{
	CUresult (*const get_id)(CUstream, unsigned long long *) = entry("cuStreamGetId_ptsz");
	unsigned long long legacy, own, id, others;
	CUcontext c;
	CUstream s;
	pthread_t t;

	OK(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
	assert_true(own != legacy);
	OK(cuStreamGetId(NULL, &id));
	assert_true(id == legacy);
	OK(get_id(NULL, &id));
	assert_true(id == own);
	OK(get_id(CU_STREAM_LEGACY, &id));
	assert_true(id == legacy);
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id)); /* the same again */
	assert_true(id == own);
	assert_int_equal(pthread_create(&t, NULL, its_own_id, &others), 0);
	pthread_join(t, NULL);
	assert_true(others != own && others != legacy);
	OK(cuCtxCreate_v4(&c, NULL, 0, 0)); /* another context has others */
	OK(cuStreamGetId(NULL, &id));
	assert_true(id != legacy);
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
	assert_true(id != own && id != others);
	OK(cuCtxDestroy(c));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
	assert_true(id == own);
	IS(cuStreamDestroy(CU_STREAM_PER_THREAD), INVALID_HANDLE);
	OK(cuStreamCreate(&s, 0));
	OK(cuStreamGetId(s, &id));
	assert_true(id != own && id != legacy && id != others);
	OK(((CUresult(*)(CUstream))entry("cuStreamDestroy"))(s));
	IS(cuStreamQuery(s), INVALID_HANDLE);
}

static void test_questions(void **state)
{
	int priority = 7;
	unsigned flags = 7;
	CUgreenCtx green = (CUgreenCtx)&flags;
	CUcontext c = NULL;
	CUdevice d = 7;
	CUstream s;

	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -3));
	OK(cuStreamGetPriority(s, &priority));
	assert_int_equal(priority, -3);
	OK(cuStreamGetPriority(NULL, &priority));
	assert_int_equal(priority, 0);
	OK(cuStreamGetFlags(s, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	OK(cuStreamGetFlags(NULL, &flags));
	assert_int_equal(flags, 0);
	OK(cuStreamGetCtx_v2(s, &c, &green));
	assert_ptr_equal(c, primary);
	assert_null(green);
	OK(cuStreamGetCtx_v2(s, &c, NULL));
	OK(cuStreamGetDevice(s, &d));
	assert_int_equal(d, 0);
	IS(cuStreamGetPriority(s, NULL), INVALID_VALUE);
	IS(cuStreamGetFlags(s, NULL), INVALID_VALUE);
	IS(cuStreamGetId(s, NULL), INVALID_VALUE);
	IS(cuStreamGetCtx(s, NULL), INVALID_VALUE);
	IS(cuStreamGetCtx_v2(s, NULL, &green), INVALID_VALUE);
	IS(cuStreamGetDevice(s, NULL), INVALID_VALUE);
	OK(cuStreamDestroy(s));
	IS(cuStreamGetDevice(s, &d), INVALID_HANDLE);
	OK(cuStreamCreateWithPriority(&s, 0, 3)); /* more than the least is the least */
	OK(cuStreamGetPriority(s, &priority));
	assert_int_equal(priority, 0);
	OK(cuStreamDestroy(s));
}

static void test_attributes(void **state)
{
	static const CUstreamAttrID hints[] = {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP};
	const CUstreamAttrID sync = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
	CUstreamAttrValue v;
	CUstream s, t;

	OK(cuStreamCreateWithPriority(&s, 0, -2));
	OK(cuStreamCreate(&t, 0));
	memset(&v, 0xff, sizeof v);
	OK(cuStreamGetAttribute(s, sync, &v));
	assert_int_equal(v.syncPolicy, CU_SYNC_POLICY_AUTO);
	v.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
	OK(cuStreamSetAttribute(s, sync, &v));
	v.syncPolicy = CU_SYNC_POLICY_AUTO;
	OK(cuStreamGetAttribute(s, sync, &v));
	assert_int_equal(v.syncPolicy, CU_SYNC_POLICY_BLOCKING_SYNC);
	OK(cuStreamCopyAttributes(t, s));
	v.syncPolicy = CU_SYNC_POLICY_AUTO;
	OK(cuStreamGetAttribute(t, sync, &v));
	assert_int_equal(v.syncPolicy, CU_SYNC_POLICY_BLOCKING_SYNC);
	OK(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	assert_int_equal(v.priority, -2);
	OK(cuStreamGetAttribute(t, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	assert_int_equal(v.priority, 0);
	memset(&v, 0, sizeof v);
	for (size_t i = 0; i < COUNT_OF(hints); i++)
		OK(cuStreamSetAttribute(s, hints[i], &v));
	IS(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v), INVALID_VALUE);
	IS(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v), INVALID_VALUE);
	IS(cuStreamSetAttribute(s, sync, NULL), INVALID_VALUE);
	IS(cuStreamGetAttribute(s, sync, NULL), INVALID_VALUE);
	OK(cuStreamDestroy(t));
	IS(cuStreamCopyAttributes(s, t), INVALID_HANDLE);
	IS(cuStreamCopyAttributes(t, s), INVALID_HANDLE);
	OK(cuStreamDestroy(s));
}

static void test_attach(void **state)
{
	CUdeviceptr managed, plain;
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemAlloc(&plain, 4096));
	OK(cuStreamAttachMemAsync(s, managed, 0, CU_MEM_ATTACH_SINGLE));
	OK(cuStreamAttachMemAsync(s, managed, 4096, CU_MEM_ATTACH_HOST));
	IS(cuStreamAttachMemAsync(s, managed, 4095, CU_MEM_ATTACH_SINGLE), INVALID_VALUE);
	IS(cuStreamAttachMemAsync(s, managed, 0, 5), INVALID_VALUE);
	IS(cuStreamAttachMemAsync(s, plain, 0, CU_MEM_ATTACH_SINGLE), INVALID_VALUE);
	IS(cuStreamAttachMemAsync(s, (CUdeviceptr)&s, 0, CU_MEM_ATTACH_SINGLE), INVALID_VALUE);
	OK(cuMemFree(managed));
	OK(cuMemFree(plain));
	OK(cuStreamDestroy(s));
	IS(cuStreamAttachMemAsync(s, managed, 0, CU_MEM_ATTACH_SINGLE), INVALID_HANDLE);
}

static void gate_wait(void *open)
{
	while (!*(_Atomic bool *)open)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* The legacy stream is done when every stream is that it waits for. */
static void test_query(void **state)
{
	static _Atomic bool open;
	CUstream blocking, non_blocking;

	OK(cuStreamCreate(&blocking, 0));
	OK(cuStreamCreate(&non_blocking, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(non_blocking, gate_wait, (void *)&open));
	IS(cuStreamQuery(non_blocking), NOT_READY);
	OK(cuStreamQuery(NULL));
	OK(cuStreamQuery(blocking));
	OK(cuStreamSynchronize(NULL));
	OK(cuStreamSynchronize(blocking));
	open = true;
	OK(cuStreamSynchronize(non_blocking));
	OK(cuStreamQuery(non_blocking));
	open = false;
	OK(cuLaunchHostFunc(blocking, gate_wait, (void *)&open));
	IS(cuStreamQuery(NULL), NOT_READY);
	IS(cuStreamQuery(CU_STREAM_LEGACY), NOT_READY);
	IS(cuStreamQuery(blocking), NOT_READY);
	OK(cuStreamQuery(non_blocking));
	open = true;
	OK(cuStreamSynchronize(NULL));
	OK(cuStreamQuery(NULL));
	OK(cuStreamQuery(blocking));
	OK(cuStreamDestroy(blocking));
	OK(cuStreamDestroy(non_blocking));
}

/* What a wait for a value waits for: now >= want as signed difference, equal, a bit in common, a
 * bit that neither has. The first of each pair waits, the second does not. */
static const struct {
	unsigned how;
	uint64_t want, waits, goes;
} values[] = {
	{CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 5},
	{CU_STREAM_WAIT_VALUE_GEQ, 0, 0xffffffffffffffff, 1},
	{CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5},
	{CU_STREAM_WAIT_VALUE_AND, 6, 9, 4},
	{CU_STREAM_WAIT_VALUE_NOR, 0xfffffffffffffff0, 0x1f, 0x0e},
};

static void check_value(CUstream s, CUdeviceptr d, size_t i, unsigned bytes)
{
	const uint64_t mask = bytes == 4 ? 0xffffffff : UINT64_MAX;
	int done = 0;

	*(_Atomic uint64_t *)d = (values[i].waits & mask) | (bytes == 4 ? 0x7700000000 : 0);
	if (bytes == 4)
		OK(cuStreamWaitValue32(s, d, (cuuint32_t)values[i].want, values[i].how));
	else
		OK(cuStreamWaitValue64(s, d, values[i].want, values[i].how));
	OK(cuLaunchHostFunc(s, add_one, &done));
	nanosleep(&(struct timespec){0, 2000000}, NULL);
	IS(cuStreamQuery(s), NOT_READY);
	*(_Atomic uint64_t *)d = values[i].goes & mask;
	OK(cuStreamSynchronize(s));
	assert_int_equal(done, 1);
}

static void test_values(void **state)
{
	CUdeviceptr d;
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocManaged(&d, 16, CU_MEM_ATTACH_GLOBAL));
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		check_value(s, d, i, 4);
		check_value(s, d, i, 8);
	}
	IS(cuStreamWaitValue32(s, d, 0, 4), INVALID_VALUE);
	IS(cuStreamWaitValue32(s, d + 2, 0, 0), INVALID_VALUE);
	IS(cuStreamWaitValue64(s, d + 4, 0, 0), INVALID_VALUE);
	IS(cuStreamWaitValue32(s, (CUdeviceptr)&s & ~7ull, 0, 0), INVALID_VALUE);
	IS(cuStreamWriteValue32(s, d, 0, 2), INVALID_VALUE);
	IS(cuStreamWriteValue64(s, d + 4, 0, 0), INVALID_VALUE);
	OK(cuMemFree(d));
	OK(cuStreamDestroy(s));
}

/* --- capture --- */

struct two {
	CUstream s, t;
	CUevent e;
};

static void two_begin(struct two *x)
{
	OK(cuStreamCreate(&x->s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&x->t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&x->e, 0));
	OK(cuStreamBeginCapture(x->s, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void two_end(struct two *x)
{
	OK(cuEventDestroy(x->e));
	OK(cuStreamDestroy(x->s));
	OK(cuStreamDestroy(x->t));
}

static CUstreamCaptureStatus status_of(CUstream s)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)7;

	OK(cuStreamIsCapturing(s, &status));
	return status;
}

static size_t nodes_of(CUgraph g)
{
	size_t n = 0;

	OK(cuGraphGetNodes(g, NULL, &n));
	return n;
}

static void ends_invalid(CUstream s)
{
	CUgraph g = (CUgraph)&s;

	assert_int_equal(status_of(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	IS(cuStreamEndCapture(s, &g), STREAM_CAPTURE_INVALIDATED);
	assert_null(g);
	assert_int_equal(status_of(s), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void test_info(void **state)
{
	CUresult (*const v1)(CUstream, CUstreamCaptureStatus *, cuuint64_t *) =
		entry("cuStreamGetCaptureInfo");
	CUresult (*const v2)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
		const CUgraphNode **, size_t *) = entry("cuStreamGetCaptureInfo_v2");
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)7;
	const CUgraphEdgeData *edges;
	const CUgraphNode *deps;
	cuuint64_t id = 7, first;
	CUgraph g, end;
	struct two x;
	int calls;
	size_t n;

	two_begin(&x);
	OK(v1(x.t, &status, &id));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	assert_int_equal(id, 7);
	OK(v1(x.s, &status, &first));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(v1(x.s, &status, NULL));
	OK(v2(x.s, &status, &id, &g, &deps, &n));
	assert_true(id == first);
	assert_int_equal(n, 0);
	OK(cuLaunchHostFunc(x.s, add_one, &calls));
	edges = (const CUgraphEdgeData *)&x;
	OK(cuStreamGetCaptureInfo_v3(x.s, &status, &id, &end, &deps, &edges, &n));
	assert_ptr_equal(end, g);
	assert_int_equal(n, 1);
	assert_null(edges); /* all are full dependencies */
	assert_int_equal(nodes_of(g), 1);
	IS(cuStreamGetCaptureInfo_v3(x.s, NULL, &id, &g, &deps, &edges, &n), INVALID_VALUE);
	IS(cuStreamIsCapturing(x.s, NULL), INVALID_VALUE);
	IS(cuGraphDestroy(g), INVALID_VALUE); /* the capture's, still */
	IS(cuStreamEndCapture(x.s, NULL), INVALID_VALUE);
	OK(cuStreamEndCapture(x.s, &end));
	assert_ptr_equal(end, g);
	OK(cuGraphDestroy(g));
	OK(cuStreamBeginCapture(x.s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(v1(x.s, &status, &id));
	assert_true(id != first);
	IS(cuStreamQuery(x.s), STREAM_CAPTURE_UNSUPPORTED);
	OK(v1(x.s, &status, &id));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	IS(cuLaunchHostFunc(x.s, add_one, &calls), STREAM_CAPTURE_INVALIDATED);
	ends_invalid(x.s);
	IS(cuStreamBeginCapture(x.s, (CUstreamCaptureMode)3), INVALID_VALUE);
	two_end(&x);
}

/* The nodes that the next one will depend on: set, or more of them. */
static void test_update(void **state)
{
	CUresult (*const v1)(CUstream, CUgraphNode *, size_t, unsigned) =
		entry("cuStreamUpdateCaptureDependencies");
	CUgraphNode node[2], all[4], deps[3], own;
	CUstreamCaptureStatus status;
	CUgraph g, other;
	struct two x;
	int calls;
	size_t n;

	two_begin(&x);
	OK(cuGraphCreate(&other, 0));
	OK(cuGraphAddEmptyNode(&own, other, NULL, 0));
	IS(v1(x.t, NULL, 0, 0), ILLEGAL_STATE);
	OK(cuStreamGetCaptureInfo_v3(x.s, &status, NULL, &g, NULL, NULL, NULL));
	OK(cuGraphAddEmptyNode(&node[0], g, NULL, 0));
	OK(cuGraphAddEmptyNode(&node[1], g, NULL, 0));
	OK(v1(x.s, node, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	OK(cuStreamUpdateCaptureDependencies_v2(x.s, node + 1, NULL, 1, 0));
	IS(v1(x.s, node, 1, 2), INVALID_VALUE);
	IS(v1(x.s, NULL, 1, 0), INVALID_VALUE);
	IS(v1(x.s, &own, 1, 0), INVALID_VALUE);
	IS(v1(x.s, (CUgraphNode *)&x.s, 1, 0), INVALID_VALUE);
	OK(cuLaunchHostFunc(x.s, add_one, &calls)); /* after both */
	OK(v1(x.s, node + 1, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	OK(cuLaunchHostFunc(x.s, add_one, &calls)); /* after the second alone */
	OK(v1(x.s, node, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	OK(cuStreamEndCapture(x.s, &g));
	assert_int_equal(nodes_of(g), 4);
	n = 4;
	OK(cuGraphGetNodes(g, all, &n));
	n = 3;
	OK(cuGraphNodeGetDependencies(all[2], deps, NULL, &n));
	assert_int_equal(n, 2);
	assert_ptr_equal(deps[0], node[0]);
	assert_ptr_equal(deps[1], node[1]);
	n = 3;
	OK(cuGraphNodeGetDependencies(all[3], deps, NULL, &n));
	assert_int_equal(n, 1);
	assert_ptr_equal(deps[0], node[1]);
	OK(cuGraphDestroy(g));
	OK(cuGraphDestroy(other));
	two_end(&x);
}

/* What a captured event is to streams outside, and what one outside is to a capture. */
static void test_events(void **state)
{
	CUevent never, old;
	struct two x, y;
	CUgraph g;

	two_begin(&x);
	OK(cuEventCreate(&never, 0));
	OK(cuEventCreate(&old, 0));
	OK(cuEventRecord(x.e, x.s));
	OK(cuStreamWaitEvent(x.s, never, 0)); /* not recorded: nothing */
	assert_int_equal(status_of(x.s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	/* the legacy stream cannot join */
	IS(cuStreamWaitEvent(NULL, x.e, 0), STREAM_CAPTURE_IMPLICIT);
	ends_invalid(x.s);
	/* two captures do not become one */
	two_begin(&y);
	OK(cuStreamBeginCapture(x.s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(y.e, y.s));
	IS(cuStreamWaitEvent(x.s, y.e, 0), STREAM_CAPTURE_MERGE);
	ends_invalid(x.s);
	IS(cuStreamWaitEvent(y.t, y.e, 0), STREAM_CAPTURE_INVALIDATED);
	ends_invalid(y.s);
	/* a capture that has ended */
	IS(cuStreamWaitEvent(y.t, y.e, 0), CAPTURED_EVENT);
	OK(cuStreamBeginCapture(x.s, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(cuStreamWaitEvent(x.s, y.e, 0), STREAM_CAPTURE_ISOLATION);
	OK(cuStreamEndCapture(x.s, &g));
	OK(cuGraphDestroy(g));
	/* recorded outside */
	OK(cuEventRecord(old, x.t));
	OK(cuStreamBeginCapture(x.s, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(cuStreamWaitEvent(x.s, old, 0), STREAM_CAPTURE_ISOLATION);
	IS(cuStreamWaitEvent(x.s, never, 0), STREAM_CAPTURE_INVALIDATED);
	ends_invalid(x.s);
	OK(cuEventDestroy(never));
	OK(cuEventDestroy(old));
	two_end(&y);
	two_end(&x);
}

/* A joined stream's work is in the graph; it belongs to no capture when that has ended. */
static void test_joined(void **state)
{
	struct two x;
	CUgraph g;
	int calls;

	two_begin(&x);
	OK(cuEventRecord(x.e, x.s));
	OK(cuStreamWaitEvent(x.t, x.e, 0));
	assert_int_equal(status_of(x.t), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	IS(cuStreamBeginCapture(x.t, CU_STREAM_CAPTURE_MODE_RELAXED), ILLEGAL_STATE);
	OK(cuLaunchHostFunc(x.t, add_one, &calls));
	OK(cuEventRecord(x.e, x.t));
	OK(cuStreamWaitEvent(x.s, x.e, 0));
	OK(cuStreamEndCapture(x.s, &g));
	assert_int_equal(nodes_of(g), 1);
	assert_int_equal(status_of(x.t), CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuGraphDestroy(g));
	two_end(&x);
}

/* A stream of the capture that is destroyed: its work still has to be joined. The origin's end is
 * the capture's. */
static void test_destroyed(void **state)
{
	struct two x;
	CUgraph g;
	int calls;

	two_begin(&x);
	OK(cuEventRecord(x.e, x.s));
	OK(cuStreamWaitEvent(x.t, x.e, 0));
	OK(cuLaunchHostFunc(x.t, add_one, &calls));
	OK(cuStreamDestroy(x.t));
	IS(cuStreamEndCapture(x.s, &g), STREAM_CAPTURE_UNJOINED);
	OK(cuStreamCreate(&x.t, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(x.t, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(x.e, x.t));
	OK(cuStreamWaitEvent(x.s, x.e, 0));
	OK(cuStreamDestroy(x.t));
	assert_int_equal(status_of(x.s), CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuStreamCreate(&x.t, CU_STREAM_NON_BLOCKING));
	two_end(&x);
}

/* Work in the legacy stream would order itself after a blocking stream's, which is not there. */
static void test_legacy(void **state)
{
	CUdeviceptr m;
	struct two x;
	CUstream s;
	CUgraph g;

	OK(cuMemAlloc(&m, 4));
	two_begin(&x);
	OK(cuMemsetD8Async(m, 0, 4, NULL)); /* non-blocking streams do not mind */
	OK(cuStreamEndCapture(x.s, &g));
	OK(cuGraphDestroy(g));
	two_end(&x);
	OK(cuStreamCreate(&s, 0));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(cuMemsetD8Async(m, 0, 4, NULL), STREAM_CAPTURE_IMPLICIT);
	ends_invalid(s);
	OK(cuMemsetD8Async(m, 0, 4, NULL));
	OK(cuStreamDestroy(s));
	OK(cuMemFree(m));
}

/* --- modes: whether calls that might wait are allowed meanwhile --- */

struct other {
	CUstreamCaptureMode mode;
	CUresult r;
	CUstream s;
};

static void *other_thread(void *p)
{
	CUstreamCaptureMode mode = ((struct other *)p)->mode;
	CUdeviceptr m;

	OK(cuCtxSetCurrent(primary));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	((struct other *)p)->r = cuMemAlloc(&m, 4);
	if (((struct other *)p)->r == CUDA_SUCCESS)
		OK(cuMemFree(m));
	return NULL;
}

static void *end_elsewhere(void *p)
{
	struct other *o = p;
	CUgraph g;

	OK(cuCtxSetCurrent(primary));
	o->r = cuStreamEndCapture(o->s, &g);
	if (o->r == CUDA_SUCCESS)
		OK(cuGraphDestroy(g));
	return NULL;
}

static void on_thread(void *(*f)(void *), struct other *o)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, f, o), 0);
	pthread_join(t, NULL);
}

/* Of the capture's mode and the thread's: on the thread that began it, and on another. */
static const struct {
	CUstreamCaptureMode capture, thread;
	bool same_refused, other_refused;
} modes[] = {
#define M(x) CU_STREAM_CAPTURE_MODE_##x
	{M(GLOBAL), M(GLOBAL), true, true},
	{M(GLOBAL), M(THREAD_LOCAL), true, false},
	{M(GLOBAL), M(RELAXED), false, false},
	{M(THREAD_LOCAL), M(GLOBAL), true, false},
	{M(THREAD_LOCAL), M(THREAD_LOCAL), true, false},
	{M(THREAD_LOCAL), M(RELAXED), false, false},
	{M(RELAXED), M(GLOBAL), false, false},
	{M(RELAXED), M(THREAD_LOCAL), false, false},
};

static void check_mode(CUstream s, size_t i)
{
	CUstreamCaptureMode mode = modes[i].thread;
	struct other o = {.mode = modes[i].thread};
	CUdeviceptr m;
	CUresult r;
	CUgraph g;

	OK(cuStreamBeginCapture(s, modes[i].capture));
	on_thread(other_thread, &o);
	assert_int_equal(
		o.r, modes[i].other_refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
	if (modes[i].other_refused)
		ends_invalid(s);
	else
		OK(cuStreamEndCapture(s, &g));
	OK(cuStreamBeginCapture(s, modes[i].capture));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	r = cuMemAlloc(&m, 4);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, modes[i].thread);
	assert_int_equal(
		r, modes[i].same_refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS);
	if (modes[i].same_refused)
		ends_invalid(s);
	else
		OK(cuStreamEndCapture(s, &g));
}

static void test_modes(void **state)
{
	CUstreamCaptureMode mode = (CUstreamCaptureMode)3;
	struct other o = {0};
	CUgraph g;

	OK(cuStreamCreate(&o.s, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < COUNT_OF(modes); i++)
		check_mode(o.s, i);
	IS(cuThreadExchangeStreamCaptureMode(&mode), INVALID_VALUE);
	IS(cuThreadExchangeStreamCaptureMode(NULL), INVALID_VALUE);
	/* only a relaxed one may be ended by another thread */
	OK(cuStreamBeginCapture(o.s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	on_thread(end_elsewhere, &o);
	assert_int_equal(o.r, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	OK(cuStreamEndCapture(o.s, &g));
	OK(cuGraphDestroy(g));
	OK(cuStreamBeginCapture(o.s, CU_STREAM_CAPTURE_MODE_RELAXED));
	on_thread(end_elsewhere, &o);
	OK(o.r);
	OK(cuStreamDestroy(o.s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_streams),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests_name("softgpu-streams", tests, softgpu_start, softgpu_stop);
}
