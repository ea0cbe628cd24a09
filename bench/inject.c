/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for the agent that does nothing, to measure what the ground floor costs: loaded
 * through CUDA_INJECTION64_PATH, it subscribes to CUPTI (BENCH_INJECT=subscriber) and enables an
 * empty callback, for cuLaunchKernel alone (BENCH_INJECT=launch) or the driver domain
 * (BENCH_INJECT=callback).
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void CUPTIAPI nothing(
	void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so"};
	const char *mode = getenv("BENCH_INJECT");
	CUpti_SubscriberHandle handle;
	void *cupti = NULL;
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
	CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain);
	CUptiResult (*one)(
		uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);

	for (unsigned i = 0; !cupti && i < sizeof names / sizeof *names; i++)
		cupti = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
	if (!cupti)
		return 0;
	*(void **)&subscribe = dlsym(cupti, "cuptiSubscribe");
	*(void **)&enable = dlsym(cupti, "cuptiEnableDomain");
	*(void **)&one = dlsym(cupti, "cuptiEnableCallback");
	if (!subscribe || !enable || !one || subscribe(&handle, nothing, NULL) != CUPTI_SUCCESS)
		return 0;
	if (mode && !strcmp(mode, "callback"))
		enable(1, handle, CUPTI_CB_DOMAIN_DRIVER_API);
	if (mode && !strcmp(mode, "launch"))
		one(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	return 1;
}
