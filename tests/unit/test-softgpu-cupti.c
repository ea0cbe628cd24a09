/* SPDX-License-Identifier: Apache-2.0
 *
 * libcupti.so.13 of the software GPU: what a subscriber sees around driver calls, resource
 * callbacks, activity records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <cupti.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "locks-held.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)
#define CUPTI_OK(call) assert_int_equal(call, CUPTI_SUCCESS)
#define CUPTI_IS(call, code) assert_int_equal(call, CUPTI_ERROR_##code)

struct seen {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId id;
	CUpti_CallbackData data;
	CUpti_ResourceData resource;
	char name[64];
	CUresult result;
	uint64_t correlation_data;
	CUdeviceptr dst;
	size_t size;
};
static struct seen seen[256];
static unsigned nseen;
static CUcontext ctx;

static void record(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *p)
{
	struct seen *s = &seen[nseen++ % 256];
	CUdevice dev;

	assert_ptr_equal(userdata, &nseen);
	*s = (struct seen){.domain = domain, .id = id};
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		s->resource = *(const CUpti_ResourceData *)p;
		return;
	}
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return;
	s->data = *(const CUpti_CallbackData *)p;
	strncpy(s->name, s->data.functionName, sizeof(s->name) - 1);
	if (s->data.callbackSite == CUPTI_API_ENTER)
		*s->data.correlationData = 0x1234567890ull + s->data.correlationId;
	else
		s->result = *(CUresult *)s->data.functionReturnValue;
	s->correlation_data = *s->data.correlationData;
	if (id == CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2) {
		const cuMemcpyHtoD_v2_params *a = s->data.functionParams;

		s->dst = a->dstDevice;
		s->size = a->ByteCount;
	}
	cuCtxGetDevice(&dev); /* not reported */
}

static CUpti_SubscriberHandle subscribe(void)
{
	CUpti_SubscriberHandle h;

	nseen = 0;
	CUPTI_OK(cuptiSubscribe(&h, record, &nseen));
	return h;
}

static int start(void **state)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	return 0;
}

static int stop(void **state)
{
	OK(cuDevicePrimaryCtxRelease(0));
	return 0;
}

static void test_subscribing(void **state)
{
	CUpti_SubscriberHandle h = subscribe(), other;
	CUpti_SubscriberParams p = {
		.structSize = CUpti_SubscriberParams_STRUCT_SIZE, .subscriberName = "second"};
	CUdevice dev;
	uint32_t on;

	CUPTI_IS(cuptiSubscribe(&other, record, NULL), MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	CUPTI_IS(cuptiSubscribe_v2(&other, record, NULL, &p), MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	CUPTI_IS(cuptiGetLastError(), MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	CUPTI_OK(cuptiGetLastError());
	OK(cuCtxGetDevice(&dev)); /* nothing is enabled yet */
	assert_int_equal(nseen, 0);
	CUPTI_OK(cuptiEnableCallback(
		1, h, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice));
	CUPTI_OK(cuptiGetCallbackState(
		&on, h, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice));
	assert_int_equal(on, 1);
	OK(cuCtxGetDevice(&dev));
	OK(cuCtxSynchronize());
	assert_int_equal(nseen, 2);
	CUPTI_IS(
		cuptiEnableCallback(1, h, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE),
		INVALID_PARAMETER);
	CUPTI_IS(cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_SIZE), INVALID_PARAMETER);
	CUPTI_IS(cuptiEnableDomain(1, NULL, CUPTI_CB_DOMAIN_DRIVER_API), INVALID_PARAMETER);
	CUPTI_OK(cuptiUnsubscribe(h));
	CUPTI_IS(cuptiUnsubscribe(h), INVALID_PARAMETER);
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(nseen, 2);
	h = subscribe(); /* free again, and nothing enabled */
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(nseen, 0);
	CUPTI_OK(cuptiUnsubscribe(h));
}

static void test_callback_data(void **state)
{
	CUpti_SubscriberHandle h = subscribe();
	uint32_t uid;
	CUdeviceptr d;
	int x = 0;

	OK(cuMemAlloc(&d, 16));
	CUPTI_OK(cuptiGetContextId(ctx, &uid));
	CUPTI_OK(cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_DRIVER_API));
	OK(cuMemcpyHtoD(d, &x, 4));
	assert_int_equal(cuMemcpyHtoD(d, &x, 17), CUDA_ERROR_INVALID_VALUE);
	CUPTI_OK(cuptiEnableDomain(0, h, CUPTI_CB_DOMAIN_DRIVER_API));
	assert_int_equal(nseen, 4);
	assert_int_equal(seen[0].id, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2);
	assert_string_equal(seen[0].name, "cuMemcpyHtoD_v2");
	assert_int_equal(seen[0].data.callbackSite, CUPTI_API_ENTER);
	assert_int_equal(seen[1].data.callbackSite, CUPTI_API_EXIT);
	assert_ptr_equal(seen[0].data.context, ctx);
	assert_int_equal(seen[0].data.contextUid, uid);
	assert_int_equal(seen[0].dst, d);
	assert_int_equal(seen[0].size, 4);
	assert_int_equal(seen[1].result, CUDA_SUCCESS);
	assert_int_equal(seen[3].result, CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(seen[0].data.correlationId, seen[1].data.correlationId);
	assert_true(seen[2].data.correlationId > seen[1].data.correlationId);
	assert_int_equal(seen[1].correlation_data, 0x1234567890ull + seen[0].data.correlationId);
	OK(cuMemFree(d));
	CUPTI_OK(cuptiUnsubscribe(h));
}

static void test_resources(void **state)
{
	CUpti_SubscriberHandle h = subscribe();
	CUcontext c;
	CUstream s;

	CUPTI_OK(cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_RESOURCE));
	OK(cuStreamCreate(&s, 0));
	OK(cuStreamDestroy(s));
	OK(cuCtxCreate(&c, NULL, 0, 0));
	OK(cuCtxDestroy(c));
	CUPTI_OK(cuptiUnsubscribe(h));
	assert_int_equal(nseen, 4);
	assert_int_equal(seen[0].id, CUPTI_CBID_RESOURCE_STREAM_CREATED);
	assert_ptr_equal(seen[0].resource.context, ctx);
	assert_ptr_equal(seen[0].resource.resourceHandle.stream, s);
	assert_int_equal(seen[1].id, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
	assert_int_equal(seen[2].id, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	assert_ptr_equal(seen[2].resource.context, c);
	assert_int_equal(seen[3].id, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
}

/* --- activity --- */

static uint64_t buffers[64][512]; /* 4 KiB each: several are needed */
static unsigned nbuffers, nback;
static CUpti_ActivityMemcpy6 copies[512];
static CUpti_ActivityMemset4 fills[512];
static CUpti_ActivityAPI apis[512];
static unsigned ncopies, nfills, napis;

static void give(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = (uint8_t *)buffers[nbuffers++ % 64];
	*size = sizeof(buffers[0]);
	*max = 0;
}

static void take(CUcontext c, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	nback++;
	assert_true(valid <= size);
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
		if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
			copies[ncopies++ % 512] = *(CUpti_ActivityMemcpy6 *)r;
		else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET)
			fills[nfills++ % 512] = *(CUpti_ActivityMemset4 *)r;
		else if (r->kind == CUPTI_ACTIVITY_KIND_DRIVER)
			apis[napis++ % 512] = *(CUpti_ActivityAPI *)r;
		else
			fail_msg("record of kind %d", r->kind);
}

static void test_activity(void **state)
{
	uint32_t uid, sid, sid0;
	uint64_t t0, t1;
	CUstream s;
	CUdeviceptr d;
	char h[64] = {0};
	unsigned i;

	OK(cuMemAlloc(&d, 64));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CUPTI_OK(cuptiGetContextId(ctx, &uid));
	CUPTI_OK(cuptiGetStreamIdEx(ctx, s, 0, &sid));
	CUPTI_OK(cuptiGetStreamId(ctx, NULL, &sid0));
	CUPTI_IS(cuptiGetStreamId(ctx, (CUstream)h, &sid0), INVALID_STREAM);
	CUPTI_OK(cuptiActivityRegisterCallbacks(give, take));
	CUPTI_OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	CUPTI_OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	CUPTI_OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	CUPTI_IS(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT), INVALID_KIND);
	CUPTI_IS(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), NOT_SUPPORTED);
	CUPTI_OK(cuptiGetTimestamp(&t0));
	OK(cuMemsetD32Async(d, 0xabcd, 3, s));
	OK(cuMemcpyDtoHAsync(h, d, 48, s));
	for (i = 0; i < 100; i++) /* more than one buffer holds */
		OK(cuMemcpyHtoD(d, h, 10));
	OK(cuCtxSynchronize());
	CUPTI_OK(cuptiGetTimestamp(&t1));
	CUPTI_OK(cuptiActivityFlushAll(1));
	CUPTI_OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY));
	CUPTI_OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
	CUPTI_OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	OK(cuMemcpyHtoD(d, h, 10));
	CUPTI_OK(cuptiActivityFlushAll(1));

	assert_true(nback > 1);
	assert_int_equal(nfills, 1);
	assert_int_equal(fills[0].value, 0xabcd);
	assert_int_equal(fills[0].bytes, 12);
	assert_int_equal(fills[0].memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(fills[0].streamId, sid);
	assert_int_equal(fills[0].contextId, uid);
	assert_true(t0 <= fills[0].start && fills[0].start < fills[0].end && fills[0].end <= t1);
	assert_int_equal(ncopies, 101);
	assert_int_equal(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	assert_int_equal(copies[0].bytes, 48);
	assert_int_equal(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
	assert_int_equal(copies[0].flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
	assert_true(copies[0].start >= fills[0].end); /* stream order */
	assert_int_equal(copies[1].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	assert_int_equal(copies[1].flags, 0);
	assert_int_equal(copies[1].streamId, sid0);
	assert_int_equal(napis, 103);
	assert_int_equal(apis[0].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async);
	assert_int_equal(apis[0].correlationId, fills[0].correlationId);
	assert_int_equal(apis[1].correlationId, copies[0].correlationId);
	assert_int_equal(apis[102].cbid, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
	OK(cuStreamDestroy(s));
	OK(cuMemFree(d));
}

/* --- the rest --- */

static void test_queries(void **state)
{
	struct timespec now;
	const char *text;
	uint32_t n;
	uint64_t t;

	CUPTI_OK(cuptiGetVersion(&n));
	assert_int_equal(n, CUPTI_API_VERSION);
	CUPTI_OK(cuptiGetCallbackName(
		CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &text));
	assert_string_equal(text, "cuLaunchKernel");
	CUPTI_OK(cuptiGetCallbackName(
		CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, &text));
	assert_string_equal(text, "cudaMalloc_v3020");
	CUPTI_IS(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 0, &text), INVALID_PARAMETER);
	CUPTI_IS(
		cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 100000, &text), INVALID_PARAMETER);
	CUPTI_OK(cuptiGetResultString(CUPTI_ERROR_INVALID_KIND, &text));
	assert_string_equal(text, "CUPTI_ERROR_INVALID_KIND");
	CUPTI_IS(cuptiGetResultString((CUptiResult)777, &text), INVALID_PARAMETER);
	CUPTI_OK(cuptiGetDeviceId(ctx, &n));
	assert_int_equal(n, 0);
	CUPTI_IS(cuptiGetContextId((CUcontext)&n, &n), INVALID_CONTEXT);
	CUPTI_OK(cuptiGetTimestamp(&t));
	clock_gettime(CLOCK_REALTIME, &now);
	assert_true((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - t < 1000000000u);
}

static void test_finalize(void **state)
{
	CUpti_SubscriberHandle h = subscribe();
	CUdevice dev;

	CUPTI_OK(cuptiEnableAllDomains(1, h));
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(nseen, 2);
	CUPTI_OK(cuptiFinalize());
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(nseen, 2);
	h = subscribe();
	CUPTI_OK(cuptiUnsubscribe(h));
}

/* A tool in the forked child's memory: its calls fail, nothing hangs. */
static void test_fork(void **state)
{
	CUpti_SubscriberHandle h = subscribe();
	CUdeviceptr d;
	pid_t pid;
	int status;

	CUPTI_OK(cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_DRIVER_API));
	pid = fork();
	if (!pid) {
		alarm(20);
		_exit(cuMemAlloc(&d, 4) == CUDA_ERROR_NOT_INITIALIZED && nseen == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	CUPTI_OK(cuptiUnsubscribe(h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subscribing),
		cmocka_unit_test(test_callback_data),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_activity),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_finalize),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("softgpu-cupti", tests, start, stop);
}
