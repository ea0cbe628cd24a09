/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI callbacks: one subscriber, and a table of what it enabled. The driver calls the hooks here
 * only while something is enabled, and never for calls made from inside a callback.
 */
#include "softgpu/cupti/cupti-int.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CBID 1024

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc _Atomic fn; /* NULL: no subscriber */
	void *userdata;
	char name[CUPTI_SUBSCRIBER_NAME_MAX_LEN + 1];
};
static struct CUpti_Subscriber_st subscriber;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint8_t enabled[CUPTI_CB_DOMAIN_SIZE][MAX_CBID];
static const struct {
	const char *name;
	unsigned ids;
} domains[CUPTI_CB_DOMAIN_SIZE] = {
	[CUPTI_CB_DOMAIN_DRIVER_API] = {"driver", CUPTI_DRIVER_TRACE_CBID_SIZE},
	[CUPTI_CB_DOMAIN_RUNTIME_API] = {"runtime", CUPTI_RUNTIME_TRACE_CBID_SIZE},
	[CUPTI_CB_DOMAIN_RESOURCE] = {"resource", CUPTI_CBID_RESOURCE_SIZE},
	[CUPTI_CB_DOMAIN_SYNCHRONIZE] = {"synchronize", CUPTI_CBID_SYNCHRONIZE_SIZE},
	[CUPTI_CB_DOMAIN_NVTX] = {"nvtx", 128},
	[CUPTI_CB_DOMAIN_STATE] = {"state", CUPTI_CBID_STATE_SIZE},
};
_Static_assert(
	CUPTI_DRIVER_TRACE_CBID_SIZE <= MAX_CBID && CUPTI_RUNTIME_TRACE_CBID_SIZE <= MAX_CBID,
	"table size");

static bool any_enabled(CUpti_CallbackDomain d)
{
	unsigned i;

	for (i = 0; i < domains[d].ids; i++)
		if (enabled[d][i])
			return true;
	return false;
}

bool callback_wants_calls(void)
{
	return subscriber.fn && (any_enabled(CUPTI_CB_DOMAIN_DRIVER_API) ||
					any_enabled(CUPTI_CB_DOMAIN_RUNTIME_API));
}

bool callback_wants_resources(void)
{
	return subscriber.fn &&
	       (any_enabled(CUPTI_CB_DOMAIN_RESOURCE) || any_enabled(CUPTI_CB_DOMAIN_SYNCHRONIZE));
}

/* --- on the way --- */

void callback_call(struct soft_call *c, bool exit)
{
	CUpti_CallbackDomain d =
		c->domain == SOFT_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
	CUpti_CallbackFunc fn = subscriber.fn;

	if (!fn || c->cbid >= MAX_CBID ||
		!atomic_load_explicit(&enabled[d][c->cbid], memory_order_relaxed))
		return;
	CUpti_CallbackData data = {
		.callbackSite = exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = c->name,
		.functionParams = c->params,
		.functionReturnValue = exit ? (void *)c->result : NULL,
		.symbolName = c->symbol,
		.context = c->ctx,
		.contextUid = c->ctx_uid,
		.correlationData = &c->correlation_data,
		.correlationId = c->correlation,
	};

	fn(subscriber.userdata, d, c->cbid, &data);
}

static void deliver_resource(const struct soft_resource *r, CUpti_CallbackIdResource id)
{
	CUpti_ModuleResourceData module = {
		.moduleId = r->module_id, .cubinSize = r->code_size, .pCubin = r->code};
	CUpti_ResourceData data = {.context = r->ctx};
	CUpti_CallbackFunc fn = subscriber.fn;

	if (!fn || !enabled[CUPTI_CB_DOMAIN_RESOURCE][id])
		return;
	if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
		id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
		data.resourceDescriptor = &module;
	else
		data.resourceHandle.stream = r->stream;
	fn(subscriber.userdata, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

static void deliver_sync(const struct soft_resource *r, CUpti_CallbackIdSync id)
{
	CUpti_SynchronizeData data = {.context = r->ctx, .stream = r->stream};
	CUpti_CallbackFunc fn = subscriber.fn;

	if (fn && enabled[CUPTI_CB_DOMAIN_SYNCHRONIZE][id])
		fn(subscriber.userdata, CUPTI_CB_DOMAIN_SYNCHRONIZE, id, &data);
}

void callback_resource(const struct soft_resource *r)
{
	static const CUpti_CallbackIdResource ids[] = {
		[SOFT_CONTEXT_CREATED] = CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		[SOFT_CONTEXT_DESTROY_STARTING] = CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
		[SOFT_STREAM_CREATED] = CUPTI_CBID_RESOURCE_STREAM_CREATED,
		[SOFT_STREAM_DESTROY_STARTING] = CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
		[SOFT_MODULE_LOADED] = CUPTI_CBID_RESOURCE_MODULE_LOADED,
		[SOFT_MODULE_UNLOAD_STARTING] = CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
		[SOFT_INIT_FINISHED] = CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
	};

	if (r->kind == SOFT_STREAM_SYNCHRONIZED)
		deliver_sync(r, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
	else if (r->kind == SOFT_CONTEXT_SYNCHRONIZED)
		deliver_sync(r, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
	else
		deliver_resource(r, ids[r->kind]);
}

/* --- subscribing --- */

static CUptiResult subscribe(
	CUpti_SubscriberHandle *ret, CUpti_CallbackFunc fn, void *userdata, const char *name)
{
	CUptiResult r = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;

	if (!ret)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (!cupti_driver())
		return cupti_result(CUPTI_ERROR_NOT_INITIALIZED);
	/* Where contexts are there already NVIDIA's waits for their work, too (seen on an H200: an
	 * attach beside a kernel that spins). */
	if (cupti_driver()->drain && fn)
		cupti_driver()->drain();
	pthread_mutex_lock(&lock);
	if (!subscriber.fn && fn) {
		subscriber.userdata = userdata;
		snprintf(subscriber.name, sizeof(subscriber.name), "%s", name ? name : "");
		subscriber.fn = fn;
		*ret = &subscriber;
		r = CUPTI_SUCCESS;
	} else if (!subscriber.fn) {
		r = CUPTI_ERROR_INVALID_PARAMETER;
	}
	pthread_mutex_unlock(&lock);
	return cupti_result(r);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(
	CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *userdata)
{
	return subscribe(handle, callback, userdata, NULL);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *handle,
	CUpti_CallbackFunc callback, void *userdata, CUpti_SubscriberParams *p)
{
	CUptiResult r = subscribe(handle, callback, userdata, p ? p->subscriberName : NULL);

	if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && p && p->oldSubscriberName &&
		p->oldSubscriberSize)
		snprintf(p->oldSubscriberName, p->oldSubscriberSize, "%s", subscriber.name);
	return r;
}

void callback_reset(void)
{
	pthread_mutex_lock(&lock);
	subscriber.fn = NULL;
	memset((void *)enabled, 0, sizeof(enabled));
	pthread_mutex_unlock(&lock);
}

void callback_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	subscriber.fn = NULL;
	memset((void *)enabled, 0, sizeof(enabled));
}

static bool is_subscriber(CUpti_SubscriberHandle h)
{
	return h == &subscriber && subscriber.fn;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle h)
{
	if (!is_subscriber(h))
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	callback_reset();
	return cupti_result(hooks_update());
}

/* --- enabling --- */

static bool domain_ok(CUpti_CallbackDomain d)
{
	return d > CUPTI_CB_DOMAIN_INVALID && d < CUPTI_CB_DOMAIN_SIZE;
}

static void domain_set(CUpti_CallbackDomain d, uint32_t on)
{
	unsigned i;

	for (i = 1; i < domains[d].ids; i++)
		enabled[d][i] = on != 0;
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle h,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!is_subscriber(h) || !domain_ok(domain) || !cbid || cbid >= domains[domain].ids)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	enabled[domain][cbid] = enable != 0;
	return cupti_result(hooks_update());
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(
	uint32_t enable, CUpti_SubscriberHandle h, CUpti_CallbackDomain domain)
{
	if (!is_subscriber(h) || !domain_ok(domain))
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	domain_set(domain, enable);
	return cupti_result(hooks_update());
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle h)
{
	int d;

	if (!is_subscriber(h))
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	for (d = 1; d < CUPTI_CB_DOMAIN_SIZE; d++)
		domain_set((CUpti_CallbackDomain)d, enable);
	return cupti_result(hooks_update());
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle h,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!enable || !is_subscriber(h) || !domain_ok(domain) || cbid >= domains[domain].ids)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*enable = enabled[domain][cbid];
	return cupti_result(CUPTI_SUCCESS);
}

SOFT_EXPORT CUptiResult CUPTIAPI cuptiSupportedDomains(
	size_t *domainCount, CUpti_DomainTable *domainTable)
{
	static CUpti_CallbackDomain table[] = {CUPTI_CB_DOMAIN_DRIVER_API,
		CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE};

	if (!domainCount || !domainTable)
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*domainCount = sizeof(table) / sizeof(table[0]);
	*domainTable = table;
	return cupti_result(CUPTI_SUCCESS);
}

/* --- names --- */

/* Made from the toolkit's headers when we are built: [cbid] = "name". */
static const char *const driver_names[] = {
#include "softgpu/cupti-driver-names.inc"
};
static const char *const runtime_names[] = {
#include "softgpu/cupti-runtime-names.inc"
};
static const char *const resource_names[] = {
	[CUPTI_CBID_RESOURCE_CONTEXT_CREATED] = "CONTEXT_CREATED",
	[CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING] = "CONTEXT_DESTROY_STARTING",
	[CUPTI_CBID_RESOURCE_STREAM_CREATED] = "STREAM_CREATED",
	[CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING] = "STREAM_DESTROY_STARTING",
	[CUPTI_CBID_RESOURCE_CU_INIT_FINISHED] = "CU_INIT_FINISHED",
	[CUPTI_CBID_RESOURCE_MODULE_LOADED] = "MODULE_LOADED",
	[CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING] = "MODULE_UNLOAD_STARTING",
};

SOFT_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(
	CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	const char *const *table;
	size_t n;

	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
		table = driver_names;
		n = sizeof(driver_names) / sizeof(driver_names[0]);
		break;
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		table = runtime_names;
		n = sizeof(runtime_names) / sizeof(runtime_names[0]);
		break;
	case CUPTI_CB_DOMAIN_RESOURCE:
		table = resource_names;
		n = sizeof(resource_names) / sizeof(resource_names[0]);
		break;
	default:
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	}
	if (!name || cbid >= n || !table[cbid])
		return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	*name = table[cbid];
	return cupti_result(CUPTI_SUCCESS);
}
