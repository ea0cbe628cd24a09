/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for the agent that does nothing, to measure what the ground floor costs: loaded
 * through CUDA_INJECTION64_PATH, it does what BENCH_INJECT says:
 *   subscriber  subscribes to CUPTI
 *   launch      and enables an empty callback for cuLaunchKernel alone
 *   callback    or for the driver domain
 *   hook        no CUPTI: cuLaunchKernel's first instruction is replaced by a jump (inject-hook.c)
 *   hooked      that, and CUPTI's callback for every call but cuLaunchKernel
 *   probe       says, at the end, whether launches pass through the cuLaunchKernel that is found
 */
#include "inject-hook.h"

#include <cupti.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long launches, through;
static int probes;

/* Whether the entry point, by its name, is on the stack. */
static void probe(void)
{
	void *frame[32];
	const int n = backtrace(frame, 32);
	Dl_info in;

	launches++;
	for (int i = 0; i < n; i++)
		if (dladdr(frame[i], &in) && in.dli_sname &&
			!strncmp(in.dli_sname, "cuLaunchKernel", 14)) {
			through++;
			return;
		}
}

static void CUPTIAPI nothing(
	void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	if (probes && launches < 1000 && domain == CUPTI_CB_DOMAIN_DRIVER_API &&
		((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER)
		probe();
}

static void at_end(void)
{
	if (probes)
		fprintf(stderr, "inject: %lu of %lu launches have cuLaunchKernel on their stack\n",
			through, launches);
	if (hook_calls())
		fprintf(stderr, "inject: %lu calls came through the hook\n", hook_calls());
}

static int subscribe(const char *mode)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so"};
	CUpti_SubscriberHandle handle;
	void *cupti = NULL;
	CUptiResult (*start)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
	CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain);
	CUptiResult (*one)(
		uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId);

	for (unsigned i = 0; !cupti && i < sizeof names / sizeof *names; i++)
		cupti = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
	if (!cupti)
		return 0;
	*(void **)&start = dlsym(cupti, "cuptiSubscribe");
	*(void **)&enable = dlsym(cupti, "cuptiEnableDomain");
	*(void **)&one = dlsym(cupti, "cuptiEnableCallback");
	if (!start || !enable || !one || start(&handle, nothing, NULL) != CUPTI_SUCCESS)
		return 0;
	if (!strcmp(mode, "callback") || !strcmp(mode, "hooked"))
		enable(1, handle, CUPTI_CB_DOMAIN_DRIVER_API);
	if (!strcmp(mode, "launch") || !strcmp(mode, "probe") || !strcmp(mode, "hooked"))
		one(strcmp(mode, "hooked") != 0, handle, CUPTI_CB_DOMAIN_DRIVER_API,
			CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	return 1;
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	const char *mode = getenv("BENCH_INJECT");

	if (!mode)
		mode = "subscriber";
	probes = !strcmp(mode, "probe");
	if (probes || !strncmp(mode, "hook", 4)) {
		atexit(at_end);
		hook_place(!probes);
	}
	return strcmp(mode, "hook") ? subscribe(mode) : 1;
}
