/* SPDX-License-Identifier: Apache-2.0
 *
 * Subscribes to CUPTI itself, before the driver starts, and counts its launches: only one subscriber is allowed. uses_cupti [SECONDS]: stays that long.
 */
#include "gpu.h"
#include <cupti.h>
#include <dlfcn.h>

static int seen;

static void CUPTIAPI on_call(void *, CUpti_CallbackDomain, CUpti_CallbackId id, const void *data)
{
	if (((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER && id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
		seen++;
}

int main(int argc, char **argv)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	CUpti_SubscriberHandle sub;

	if (!cupti) {
		fprintf(stderr, "uses_cupti: %s\n", dlerror());
		return 1;
	}
	auto subscribe = (decltype(&cuptiSubscribe))dlsym(cupti, "cuptiSubscribe");
	auto enable = (decltype(&cuptiEnableDomain))dlsym(cupti, "cuptiEnableDomain");
	CUptiResult r = subscribe(&sub, (CUpti_CallbackFunc)on_call, NULL);
	if (r != CUPTI_SUCCESS) {
		printf("uses_cupti: cannot subscribe: %d\n", r);
		return 1;
	}
	enable(1, sub, CUPTI_CB_DOMAIN_DRIVER_API);
	int *n = counter_new();
	for (int i = 0; i < 25; i++)
		count<<<1, 1>>>(n, 1);
	printf("uses_cupti: counted %d, saw %d launches\n", counter_value(n), seen);
	fflush(stdout);
	if (argc > 1)
		sleep((unsigned)atoi(argv[1]));
	return 0;
}
