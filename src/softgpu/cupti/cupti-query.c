/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of libcupti.so.13: finding the driver, the hooks that are in it, ids, clock, versions,
 * errors. The driver is opened, not linked, because the program may have another one.
 */
#include "softgpu/cupti/cupti-int.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local CUptiResult last_error;
static CUpti_TimestampCallbackFunc _Atomic clock_fn;
static _Atomic int thread_id_type;

CUptiResult cupti_result(CUptiResult r)
{
	if (r != CUPTI_SUCCESS)
		last_error = r;
	return r;
}

/* --- the driver below --- */

static struct cupti_driver driver;
static bool driver_ok;

/* A forked child has no driver, and no thread that could hold one of this library's locks: start
 * afresh, without a subscriber. */
static void in_child(void)
{
	callback_after_fork();
	activity_after_fork();
}

static void driver_find(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	pthread_atfork(NULL, NULL, in_child);
	if (!lib) {
		fprintf(stderr, "tsdb: software GPU: libcupti.so.13: %s\n", dlerror());
		return;
	}
	*(void **)&driver.set_hooks = dlsym(lib, "tsdb_soft_set_hooks");
	*(void **)&driver.context_id = dlsym(lib, "tsdb_soft_context_id");
	*(void **)&driver.stream_id = dlsym(lib, "tsdb_soft_stream_id");
	*(void **)&driver.graph_id = dlsym(lib, "tsdb_soft_graph_id");
	*(void **)&driver.drain = dlsym(lib, "tsdb_soft_drain");
	*(void **)&driver.ctx_get_current = dlsym(lib, "cuCtxGetCurrent");
	driver_ok = driver.set_hooks && driver.context_id && driver.stream_id && driver.graph_id &&
		    driver.ctx_get_current;
	if (!driver_ok)
		fprintf(stderr,
			"tsdb: software GPU: this libcupti.so.13 does not go with the libcuda.so.1 that was loaded\n");
}

const struct cupti_driver *cupti_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, driver_find);
	return driver_ok ? &driver : NULL;
}

/* --- hooks: the structures must live for ever, so there is one per combination --- */

static void hook_call(struct soft_call *c, bool exit)
{
	callback_call(c, exit);
	if (exit)
		activity_call(c);
}

#define HOOKS(bits)                                                                                \
	{                                                                                          \
		(bits) & 1 ? hook_call : NULL, (bits)&2 ? callback_resource : NULL,                \
			(bits)&4 ? activity_op : NULL                                              \
	}
static const struct soft_hooks hooks[8] = {
	HOOKS(0), HOOKS(1), HOOKS(2), HOOKS(3), HOOKS(4), HOOKS(5), HOOKS(6), HOOKS(7)};

CUptiResult hooks_update(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct cupti_driver *d = cupti_driver();
	unsigned bits;

	if (!d)
		return CUPTI_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	bits = (callback_wants_calls() || activity_wants_calls() ? 1u : 0) |
	       (callback_wants_resources() ? 2u : 0) | (activity_wants_ops() ? 4u : 0);
	d->set_hooks(bits ? &hooks[bits] : NULL);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
	callback_reset();
	activity_reset();
	return cupti_result(hooks_update());
}

/* --- clock --- */

static uint64_t our_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t cupti_now(void)
{
	CUpti_TimestampCallbackFunc fn = clock_fn;

	return fn ? fn() : our_clock();
}

int64_t cupti_clock_offset(void)
{
	CUpti_TimestampCallbackFunc fn = clock_fn;

	return fn ? (int64_t)(fn() - our_clock()) : 0;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*timestamp = cupti_now();
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(
	CUpti_TimestampCallbackFunc fn)
{
	if (!fn)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	clock_fn = fn;
	return cupti_result(CUPTI_SUCCESS);
}

/* --- ids --- */

static CUptiResult current_context(CUcontext *ctx)
{
	const struct cupti_driver *d = cupti_driver();

	if (!d)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!*ctx && (d->ctx_get_current(ctx) != CUDA_SUCCESS || !*ctx))
		return CUPTI_ERROR_INVALID_CONTEXT;
	return d->context_id(*ctx) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	CUptiResult r;

	if (!contextId)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (!context)
		return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
	r = current_context(&context);
	if (r == CUPTI_SUCCESS)
		*contextId = driver.context_id(context);
	return cupti_result(r);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetStreamIdEx(
	CUcontext context, CUstream stream, uint8_t perThreadStream, uint32_t *streamId)
{
	CUptiResult r;
	uint32_t id;

	if (!streamId)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	r = current_context(&context);
	if (r != CUPTI_SUCCESS)
		return cupti_result(r);
	id = driver.stream_id(context, stream, perThreadStream != 0);
	if (!id)
		return cupti_result(CUPTI_ERROR_INVALID_STREAM);
	*streamId = id;
	return cupti_result(CUPTI_SUCCESS);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetStreamId(
	CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	CUptiResult r;

	if (!deviceId)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	r = current_context(&context);
	if (r == CUPTI_SUCCESS)
		*deviceId = 0;
	return cupti_result(r);
}

static CUptiResult graph_id(const void *handle, uint64_t *ret)
{
	const struct cupti_driver *d = cupti_driver();

	if (!d)
		return CUPTI_ERROR_NOT_INITIALIZED;
	*ret = d->graph_id(handle);
	return *ret ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	uint64_t id = 0;
	CUptiResult r = nodeId ? graph_id(node, &id) : CUPTI_ERROR_INVALID_PARAMETER;

	if (r == CUPTI_SUCCESS)
		*nodeId = id;
	return cupti_result(r);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	uint64_t id = 0;
	CUptiResult r = pId ? graph_id(graph, &id) : CUPTI_ERROR_INVALID_PARAMETER;

	if (r == CUPTI_SUCCESS)
		*pId = (uint32_t)id;
	return cupti_result(r);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	uint64_t id = 0;
	CUptiResult r = pId ? graph_id(graphExec, &id) : CUPTI_ERROR_INVALID_PARAMETER;

	if (r == CUPTI_SUCCESS)
		*pId = (uint32_t)id;
	return cupti_result(r);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
	if (!support)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*support = major == 7 && minor == 5;
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiDeviceSupported(CUdevice dev, int *support)
{
	if (!support)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (dev)
		return cupti_result(CUPTI_ERROR_INVALID_DEVICE);
	*support = 1;
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiDeviceVirtualizationMode(
	CUdevice dev, CUpti_DeviceVirtualizationMode *mode)
{
	if (!mode)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (dev)
		return cupti_result(CUPTI_ERROR_INVALID_DEVICE);
	*mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if ((unsigned)type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	thread_id_type = (int)type;
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (!type)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*type = (CUpti_ActivityThreadIdType)thread_id_type;
	return CUPTI_SUCCESS;
}

/* --- sizes of the vendor's internal buffers: kept, without effect --- */

static size_t attributes[16];

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(
	CUpti_ActivityAttribute attr, size_t *size, void *value)
{
	if (!size || !value || (unsigned)attr >= 16 || *size > sizeof(attributes[0]))
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	attributes[attr] = 0;
	memcpy(&attributes[attr], value, *size);
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute(
	CUpti_ActivityAttribute attr, size_t *size, void *value)
{
	if (!size || !value || (unsigned)attr >= 16)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (*size > sizeof(attributes[0]))
		*size = sizeof(attributes[0]);
	memcpy(value, &attributes[attr], *size);
	return CUPTI_SUCCESS;
}

/* --- versions and errors --- */

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetLastError(void)
{
	CUptiResult r = last_error;

	last_error = CUPTI_SUCCESS;
	return r;
}

#define E(name, text)                                                                              \
	{                                                                                          \
		name, #name, text                                                                  \
	}
static const struct {
	CUptiResult code;
	const char *name, *text;
} errors[] = {
	E(CUPTI_SUCCESS, "no error"),
	E(CUPTI_ERROR_INVALID_PARAMETER, "one or more of the parameters is invalid"),
	E(CUPTI_ERROR_INVALID_DEVICE, "the device does not correspond to a valid CUDA device"),
	E(CUPTI_ERROR_INVALID_CONTEXT, "the context is NULL or not valid"),
	E(CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID, "the event domain id is invalid"),
	E(CUPTI_ERROR_INVALID_EVENT_ID, "the event id is invalid"),
	E(CUPTI_ERROR_INVALID_EVENT_NAME, "the event name is invalid"),
	E(CUPTI_ERROR_INVALID_OPERATION, "the current operation cannot be performed"),
	E(CUPTI_ERROR_OUT_OF_MEMORY, "unable to allocate enough memory"),
	E(CUPTI_ERROR_HARDWARE, "an error occurred on the performance monitoring hardware"),
	E(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "the output buffer is too small"),
	E(CUPTI_ERROR_API_NOT_IMPLEMENTED, "the call is not implemented"),
	E(CUPTI_ERROR_MAX_LIMIT_REACHED, "the maximum limit is reached"),
	E(CUPTI_ERROR_NOT_READY, "the object is not yet ready"),
	E(CUPTI_ERROR_NOT_COMPATIBLE, "the operation is not compatible with the current state"),
	E(CUPTI_ERROR_NOT_INITIALIZED,
		"CUPTI is unable to initialize its connection to the CUDA driver"),
	E(CUPTI_ERROR_INVALID_METRIC_ID, "the metric id is invalid"),
	E(CUPTI_ERROR_INVALID_METRIC_NAME, "the metric name is invalid"),
	E(CUPTI_ERROR_QUEUE_EMPTY, "the queue is empty"),
	E(CUPTI_ERROR_INVALID_HANDLE, "the handle is invalid"),
	E(CUPTI_ERROR_INVALID_STREAM, "the stream is invalid"),
	E(CUPTI_ERROR_INVALID_KIND, "the activity kind is invalid"),
	E(CUPTI_ERROR_INVALID_EVENT_VALUE, "the event value is invalid"),
	E(CUPTI_ERROR_DISABLED, "CUPTI is disabled"),
	E(CUPTI_ERROR_INVALID_MODULE, "the module is invalid"),
	E(CUPTI_ERROR_INVALID_METRIC_VALUE, "the metric value is invalid"),
	E(CUPTI_ERROR_HARDWARE_BUSY, "the performance monitoring hardware is in use"),
	E(CUPTI_ERROR_NOT_SUPPORTED, "the operation is not supported by the software GPU"),
	E(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "insufficient privileges"),
	E(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "there is a subscriber already"),
	E(CUPTI_ERROR_UNKNOWN, "an unknown internal error occurred"),
};
#undef E

static int error_row(CUptiResult r)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == r)
			return (int)i;
	return -1;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **str)
{
	int i = error_row(result);

	if (!str || i < 0)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*str = errors[i].name;
	return CUPTI_SUCCESS;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **str)
{
	int i = error_row(result);

	if (!str || i < 0)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*str = errors[i].text;
	return CUPTI_SUCCESS;
}
