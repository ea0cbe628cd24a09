/* SPDX-License-Identifier: Apache-2.0
 *
 * The source CUPTI. Callbacks are enabled one by one, for the entry points that matter: other calls
 * cost nothing. The surprising thing: within its callback the agent calls the driver (OWN in
 * agent.h), and CUPTI reports that, too; resource callbacks of such calls are wanted (the code of a
 * kernel that the agent asked about), API callbacks are not.
 */
#include "capture/core/source.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "capture/core/agent.h"
#include "capture/cuda/cuda-calls.h"
#include "capture/objects/code.h"
#include "capture/cuda/cupti-api.h"
#include "capture/cuda/driver-cuda.h"
#include "capture/objects/nvinfo.h"
#include "capture/stacks/mapping.h"
#include "capture/core/thread.h"

struct cupti cupti;

/* --- callbacks --- */

static const struct call_row counted = {NULL, CALL_COUNTED, 0, SBT_UNREPLAYABLE, NULL, NULL};

static _Atomic uint32_t timestamps_now;

static __attribute__((noinline)) void timestamps_switch(uint32_t wanted)
{
	if (atomic_exchange(&timestamps_now, wanted) != wanted)
		OWN((activity_switch(wanted), 0));
}

static inline void timestamps_follow(void)
{
	const uint32_t wanted =
		atomic_load_explicit(&agent.control->timestamps, memory_order_relaxed) != 0;
	if (__builtin_expect(
		    atomic_load_explicit(&timestamps_now, memory_order_relaxed) != wanted, 0))
		timestamps_switch(wanted);
}

static inline void api(CUpti_CallbackId cbid, const CUpti_CallbackData *d, const void *frame)
{
	if (d->callbackSite == CUPTI_API_EXIT) {
		calls_exit(d->correlationData,
			d->functionReturnValue ? *(const CUresult *)d->functionReturnValue : 0,
			frame);
		return;
	}
	const struct call_row *row = cbid < cuda_calls_size ? &cuda_calls[cbid] : &counted;
	if (row->how == CALL_IGNORED) {
		*d->correlationData = 0;
		return;
	}
	if (!row->name)
		row = &counted;
	timestamps_follow();
	calls_enter(&(struct call_site){.row = row,
		.name = d->functionName,
		.params = d->functionParams,
		.symbol = d->symbolName,
		.ctx = H(d->context),
		.frame = frame,
		.corr = d->correlationId,
		.link = d->correlationData});
}

static __attribute__((noinline)) void resource(CUpti_CallbackId cbid, const CUpti_ResourceData *d)
{
	const CUpti_ModuleResourceData *m = d->resourceDescriptor;
	if (cbid != CUPTI_CBID_RESOURCE_MODULE_LOADED || !m || !m->pCubin || !m->cubinSize ||
		tls.hidden)
		return;
	if (!atomic_load_explicit(&agent.control->on, memory_order_relaxed))
		return;
	struct thread *t = thread_get();
	if (t && tls.peek) {
		code_peek(t, m->pCubin, m->cubinSize);
	} else if (t) {
		if (!cuda.cuFuncGetParamInfo && code_kind_of(m->pCubin, m->cubinSize) == CODE_CUBIN)
			nvinfo_learn(m->pCubin, m->cubinSize);
		code_loaded(t, m->pCubin, m->cubinSize);
	}
}

static void CUPTIAPI callback(
	void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	bool stranger;
	if (!thread_come_in(&stranger))
		return;
	const int saved = errno;
	if (!agent_live())
		; /* The agent was retired after this callback began. */
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		resource(cbid, data);
	else if (tls.inside == 1)
		api(cbid, data, __builtin_frame_address(0));
	else if (!tls.own)
		agent_count_lost(); /* a signal handler that makes GPU calls interrupted us */
	errno = saved;
	thread_go_out(stranger);
}

/* --- finding the library --- */

static void *open_in(const char *folder, size_t n, const char *below)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
	char path[2048];
	void *lib = NULL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++) {
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)n, folder, below, names[i]) <
			(int)sizeof(path))
			lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return lib;
}

static void *already_there(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	return lib ? lib : dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
}

/* Looks beside the runtime, for Python wheels: nvidia/cuda_runtime/lib/libcudart.so.12 beside
 * nvidia/cuda_cupti/lib/libcupti.so.12. */
static void *beside_runtime(void)
{
	const char *path = mapping_path_of("libcudart.so");
	const char *slash = path ? strrchr(path, '/') : NULL;
	if (!slash)
		return NULL;
	const size_t n = (size_t)(slash + 1 - path);
	void *lib = open_in(path, n, "");
	return lib ? lib : open_in(path, n, "../../cuda_cupti/lib/");
}

static void *open_library(void)
{
	static const char *const places[] = {
		"", "/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"};
	const size_t n = strlen(cuda.folder);
	void *lib = NULL;
	/* The software GPU's CUPTI and its driver belong together. */
	if (cuda.soft)
		return open_in(cuda.folder, n, "");
	lib = already_there();
	if (!lib)
		lib = open_in("", 0, "");
	if (!lib)
		lib = beside_runtime();
	if (!lib)
		lib = open_in(cuda.folder, n, "");
	for (unsigned i = 1; i < sizeof(places) / sizeof(*places) && !lib; i++)
		lib = open_in(places[i], strlen(places[i]), "");
	return lib;
}

/* --- start --- */

/* Enables entry points that this build does not know, if CUPTI can name them and the name is not
 * that of a question. */
static void enable_unknown(CUpti_SubscriberHandle h)
{
	for (uint32_t id = cuda_calls_size; id < cuda_calls_size + 512; id++) {
		const char *name = NULL;
		if (!cupti.cuptiGetCallbackName ||
			cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) || !name)
			return;
		if (!strstr(name, "Get") && !strstr(name, "Query"))
			(void)cupti.cuptiEnableCallback(1, h, CUPTI_CB_DOMAIN_DRIVER_API, id);
	}
}

static bool enable(CUpti_SubscriberHandle h)
{
	uint32_t enabled = 0;
	for (uint32_t id = 1; id < cuda_calls_size; id++)
		if (cuda_calls[id].how != CALL_IGNORED &&
			!cupti.cuptiEnableCallback(1, h, CUPTI_CB_DOMAIN_DRIVER_API, id))
			enabled++;
	/* An implementation that cannot enable single callbacks: enables all of them. */
	if (!enabled && cupti.cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_DRIVER_API))
		return false;
	enable_unknown(h);
	if (cupti.cuptiEnableCallback(
		    1, h, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED))
		return !cupti.cuptiEnableDomain(1, h, CUPTI_CB_DOMAIN_RESOURCE);
	return true;
}

/* Subscribes under tsdb's name if CUPTI takes names (CUDA 13), so that another tool can say what
 * has taken CUPTI. other: 64 bytes. */
static CUptiResult subscribe(void *lib, CUpti_SubscriberHandle *handle, char *other)
{
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
	CUpti_SubscriberParams p = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
		.subscriberName = "tsdb",
		.oldSubscriberName = other,
		.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN};
	const __typeof__(&cuptiSubscribe_v2) v2 =
		(__typeof__(&cuptiSubscribe_v2))(uintptr_t)dlsym(lib, "cuptiSubscribe_v2");
	if (v2)
		return v2(handle, callback, NULL, &p);
#endif
	return cupti.cuptiSubscribe(handle, callback, NULL);
}

static CUpti_SubscriberHandle handle;

static int start(char *why, size_t why_size)
{
	char other[64] = "";
	bool missing = false;
	void *lib = open_library();
	if (!lib) {
		snprintf(why, why_size,
			"no CUPTI library (libcupti.so.13 or .12) was found: put its folder into LD_LIBRARY_PATH");
		return -ENOENT;
	}
#define REQUIRED(name)                                                                             \
	cupti.name = (__typeof__(cupti.name))(uintptr_t)dlsym(lib, #name);                         \
	missing |= !cupti.name;
#define OPTIONAL(name) cupti.name = (__typeof__(cupti.name))(uintptr_t)dlsym(lib, #name);
	CUPTI_FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
	if (missing) {
		snprintf(why, why_size,
			"the CUPTI library in this process lacks functions: it is too old");
		return -ENOSYS;
	}
	const CUptiResult r = subscribe(lib, &handle, other);
	if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		handle = NULL;
		snprintf(why, why_size,
			"the program, or a tool in it, already uses CUPTI%s%.63s%s, which serves one at a time",
			other[0] ? " (" : "", other, other[0] ? ")" : "");
		return -EBUSY;
	}
	if (r || !enable(handle)) {
		if (r)
			handle = NULL;
		snprintf(why, why_size, "CUPTI refused to report driver calls (error %d)", (int)r);
		return -EIO;
	}
	timestamps_follow();
	return 0;
}

static void stop(void)
{
	if (!handle)
		return;
	OWN((activity_switch(false), 0));
	if (cupti.cuptiUnsubscribe)
		(void)OWN(cupti.cuptiUnsubscribe(handle));
}

/* CUPTI reserves buffers for each context (three of 3.2 MB, source: cupti_activity.h,
 * CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_*), and keeps them when the context is destroyed: 9.4 MB each
 * time that a debugger attaches. */
static void own_context(bool about_to)
{
	static const CUpti_ActivityAttribute what[] = {
		CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE,
		CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE};
	static const size_t little[] = {0, 4096};
	static size_t was[2];
	static bool known[2];
	if (!cupti.cuptiActivityGetAttribute || !cupti.cuptiActivitySetAttribute)
		return;
	for (unsigned i = 0; i < 2; i++) {
		size_t bytes = sizeof(size_t), value = about_to ? little[i] : was[i];
		if (about_to)
			known[i] = !OWN(cupti.cuptiActivityGetAttribute(what[i], &bytes, &was[i]));
		if (known[i])
			(void)OWN(cupti.cuptiActivitySetAttribute(what[i], &bytes, &value));
	}
}

static const char *const hidden[] = {"libcupti.so", "libcuda.so", NULL};
static const char *const foreign[] = {
	"libcuda.so", "libnvidia-", "libcupti", "libnvrtc", "libnvJitLink", NULL};
static const char *const devices[] = {"/dev/nvidia", NULL};

const struct source source_cupti = {
	.names = {[SOURCE_HIDDEN] = hidden, [SOURCE_FOREIGN] = foreign, [SOURCE_DEVICES] = devices},
	.name = "CUPTI",
	.number = 1,
	.driver = &driver_cuda,
	.variable = "CUDA_INJECTION64_PATH",
	.start = start,
	.stop = stop,
	.own_context = own_context,
	.timestamps = activity_switch,
	.flush = activity_flush};

/* Called by the driver from cuInit() because CUDA_INJECTION64_PATH names us; nonzero means
 * "loaded". */
AGENT_PUBLIC int InitializeInjection(void);
int InitializeInjection(void)
{
	return agent_loaded();
}
