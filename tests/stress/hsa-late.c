/* SPDX-License-Identifier: Apache-2.0
 *
 * A tool for HSA_TOOLS_LIB that calls handlers of signals late, so that a program destroys what
 * they look at before they look, nearly each time. HSA_LATE_US: by how much. HSA_LATE_TOOL set: it
 * also asks HIP to report calls, as any profiler does, and does nothing with them; without tsdb a
 * program dies of that (docs/softamd.md).
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hsa/hsa_ext_amd.h>

enum { AMD_SIGNAL_ASYNC_HANDLER = 7, CALLS = 65536, IDS = 400 };
struct tables {
	uint32_t version[4];
	void **core, **amd; /* a version in 16 bytes, then functions */
};

static hsa_status_t (*handler)(hsa_signal_t s, hsa_signal_condition_t cond, hsa_signal_value_t v,
	hsa_amd_signal_handler fn, void *arg);
static struct late {
	hsa_amd_signal_handler fn;
	void *arg;
} calls[CALLS];
static atomic_uint ncalls;

static bool call_late(hsa_signal_value_t value, void *arg)
{
	const struct late *l = arg;
	const char *us = getenv("HSA_LATE_US");

	usleep(us ? (unsigned)atoi(us) : 0);
	return l->fn(value, l->arg);
}

static hsa_status_t late(hsa_signal_t s, hsa_signal_condition_t cond, hsa_signal_value_t v,
	hsa_amd_signal_handler fn, void *arg)
{
	const unsigned i = atomic_fetch_add(&ncalls, 1);

	if (i >= CALLS)
		return handler(s, cond, v, fn, arg);
	calls[i] = (struct late){fn, arg};
	return handler(s, cond, v, call_late, &calls[i]);
}

/* --- a tool that asks for calls --- */

static char ours;
static __thread char room[64][4096] __attribute__((aligned(64)));
static __thread int depth;

static void *activity(uint32_t id, void *record, const void *data, void *arg)
{
	(void)id, (void)record, (void)data;
	if (arg) {
		depth--;
		return NULL;
	}
	memset(room[depth], 0, sizeof(room[depth]));
	return room[depth++];
}

static void callback(uint32_t domain, uint32_t id, const void *data, void *arg)
{
	(void)domain, (void)id, (void)data, (void)arg;
}

static void ask_for_calls(void)
{
	void *lib = dlopen("libamdhip64.so.5", RTLD_NOLOAD | RTLD_NOW);
	int (*lend)(uint32_t, void *, void *), (*call)(uint32_t, void *, void *);

	if (!lib)
		return;
	lend = (__typeof__(lend))(uintptr_t)dlsym(lib, "hipRegisterActivityCallback");
	call = (__typeof__(call))(uintptr_t)dlsym(lib, "hipRegisterApiCallback");
	for (uint32_t id = 1; id < IDS; id++)
		if (!lend(id, (void *)(uintptr_t)activity, &ours))
			(void)call(id, (void *)(uintptr_t)callback, &ours);
}

bool OnLoad(void *table, uint64_t version, uint64_t failed_tools, const char *const *failed_names);
bool OnLoad(void *table, uint64_t version, uint64_t failed_tools, const char *const *failed_names)
{
	void **const at = &((struct tables *)table)->amd[2 + AMD_SIGNAL_ASYNC_HANDLER];

	(void)version, (void)failed_tools, (void)failed_names;
	handler = (__typeof__(handler))*at;
	*at = (void *)(uintptr_t)late;
	if (getenv("HSA_LATE_TOOL"))
		ask_for_calls();
	return true;
}
