/* SPDX-License-Identifier: Apache-2.0
 *
 * What CUPTI's callbacks tell about runtime calls: which driver calls are made inside them, under one correlation id, with what parameters
 * and results. Speaks TAP.
 */
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <cupti.h>

__global__ void the_kernel(int *p, int v)
{
	*p = v;
}

struct event {
	bool runtime, exit;
	std::string name, symbol;
	unsigned correlation, cbid;
	int result;
	size_t size; /* cudaMalloc's argument */
};

static std::vector<event> events;
static bool recording;
static int n, failed;

static void check(bool ok, const char *what)
{
	if (!ok) {
		for (const event &e : events)
			printf("# %s %s %s %u %d %s\n", e.runtime ? "runtime" : "driver", e.exit ? "exit" : "enter",
				e.name.c_str(), e.correlation, e.result, e.symbol.c_str());
	}
	printf("%s %d - %s\n", ok ? "ok" : "not ok", ++n, what);
	failed += !ok;
}

static void CUPTIAPI on_call(void *, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	const CUpti_CallbackData *d = (const CUpti_CallbackData *)data;
	event e = {};

	if (!recording || (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API))
		return;
	e.runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
	e.exit = d->callbackSite == CUPTI_API_EXIT;
	e.name = d->functionName;
	e.symbol = d->symbolName ? d->symbolName : "";
	e.correlation = d->correlationId;
	e.cbid = cbid;
	if (e.exit)
		e.result = *(const int *)d->functionReturnValue;
	if (e.runtime && cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020)
		e.size = ((const cudaMalloc_v3020_params *)d->functionParams)->size;
	events.push_back(e);
}

/* The position of an event, or -1. */
static int find(bool runtime, bool exit, const char *name)
{
	for (size_t i = 0; i < events.size(); i++) {
		const event &e = events[i];

		if (e.runtime == runtime && e.exit == exit && e.name.compare(0, strlen(name), name) == 0)
			return (int)i;
	}
	return -1;
}

/* One runtime call around one driver call. */
static bool nested(const char *runtime, const char *driver)
{
	int a = find(true, false, runtime), b = find(false, false, driver), c = find(false, true, driver),
	    d = find(true, true, runtime);

	return a >= 0 && a < b && b < c && c < d && events[a].correlation == events[b].correlation &&
	       events[b].correlation == events[c].correlation && events[c].correlation == events[d].correlation;
}

int main()
{
	CUpti_SubscriberHandle subscriber;
	unsigned first;
	int *p, v = 0;

	check(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)on_call, nullptr) == CUPTI_SUCCESS, "subscribe");
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	cudaMalloc(&p, 64);
	the_kernel<<<1, 1>>>(p, 1);
	cudaDeviceSynchronize();
	recording = true;

	the_kernel<<<1, 1>>>(p, 2);
	check(nested("cudaLaunchKernel", "cuLaunchKernel"), "<<<>>> is cudaLaunchKernel around cuLaunchKernel");
	check(find(true, false, "cudaLaunchKernel") >= 0 &&
			events[find(true, false, "cudaLaunchKernel")].symbol.find("the_kernel") != std::string::npos,
		"the launch names its kernel");
	first = events.empty() ? 0 : events[0].correlation;

	events.clear();
	cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost);
	check(nested("cudaMemcpy", "cuMemcpyDtoH") && events[0].correlation > first, "a copy, with a new correlation id");
	check(v == 2, "the launch ran");

	events.clear();
	cudaMalloc(&p, 12345);
	int m = find(true, false, "cudaMalloc");
	check(nested("cudaMalloc", "cuMemAlloc") && m >= 0 && events[m].size == 12345, "an allocation's size is seen");

	events.clear();
	cudaFree((void *)16);
	m = find(true, true, "cudaFree");
	check(m >= 0 && events[m].result == cudaErrorInvalidValue, "a failure is seen at exit");

	events.clear();
	cudaGetLastError();
	m = find(true, true, "cudaGetLastError");
	check(m >= 0 && events.size() == 2 && events[m].result == cudaErrorInvalidValue, "cudaGetLastError is a call too");

	events.clear();
	cuptiUnsubscribe(subscriber);
	cudaFree(p);
	check(events.empty(), "silence after unsubscribing");
	printf("1..%d\n", n);
	return failed != 0;
}
