// SPDX-License-Identifier: Apache-2.0
//
// The source HIP, as ROCm up to 5.3 reports its calls: hipRegisterApiCallback() for each entry
// point, and hipRegisterActivityCallback(), which lends the memory for the arguments; without it no
// call is reported. HIP calls the first when a call begins and when it ends, and the second around
// both.
//
// HIP does not tell what a call returned. It is the thread's last error, which each call sets.
// The library is loaded by the HSA runtime below HIP, which HSA_TOOLS_LIB tells to (OnLoad()),
// while the program initialises HIP; the version is asked in the first call, since HIP holds a lock
// then.
#include <errno.h>
#include <stdio.h>

#include "capture/core/agent.h"
#include "capture/core/driver.h"
#include "capture/core/source.h"
#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/hip/hsa-signals.h"

enum { BEGINS = 0, ENDS = 1 }; /* phase, as in roctracer's ACTIVITY_API_PHASE_ENTER, _EXIT */

/* A call on its way, in its thread's room. Calls that HIP makes within one lie above it. */
struct slot {
	uintptr_t frame; /* where the stack was then */
	uint64_t link;
	hip_api_data_t data;
};
enum { SLOTS = SOURCE_ROOM / sizeof(struct slot) };

static struct slot *slots(struct thread *t)
{
	return (struct slot *)(void *)t->source_room;
}

static struct slot *slot_take(struct thread *t, uintptr_t frame)
{
	static _Atomic uint64_t calls;
	struct slot *s;

	/* Those that a longjmp() has left lie deeper in the stack than this call. */
	while (t->source_depth && slots(t)[t->source_depth - 1].frame <= frame)
		t->source_depth--;
	if (t->source_depth == SLOTS)
		return NULL;
	s = &slots(t)[t->source_depth++];
	*s = (struct slot){.frame = frame};
	s->data.correlation_id = atomic_fetch_add(&calls, 1) + 1;
	return s;
}

/* HIP asks for memory: the call's arguments go there. NULL: the call is not reported. */
static void *lend(uintptr_t frame)
{
	struct slot *s = NULL;
	struct thread *t;
	bool stranger;
	int saved = errno;

	if (tls.inside) {
		if (!tls.own)
			agent_count_lost(); /* a signal handler that makes GPU calls */
		return NULL;
	}
	if (!thread_come_in(&stranger))
		return NULL;
	t = agent_live() ? thread_get() : NULL;
	if (t)
		s = slot_take(t, frame);
	if (t && !s)
		agent_count_lost();
	thread_go_out(stranger);
	errno = saved;
	return s ? &s->data : NULL;
}

static void give_back(void)
{
	struct thread *t = tls.thread;

	if (t && !t->left && t->source_depth)
		t->source_depth--;
}

/* Around a call: begins without an argument, ends with ours. */
static void *activity(uint32_t id, void *record, const void *data, void *arg)
{
	(void)id, (void)record, (void)data;
	if (!arg)
		return lend((uintptr_t)__builtin_frame_address(0));
	give_back();
	return NULL;
}

/* The layouts of arguments are one version's: another's are not read. */
static bool known_version(void)
{
	static _Atomic int known;
	char why[TSDB_TEXT_MAX];
	int v = 0;

	if (atomic_load(&known))
		return atomic_load(&known) > 0;
	(void)OWN(hip.hipRuntimeGetVersion(&v));
	/* major * 10,000,000 + minor * 100,000 + patch */
	atomic_store(&known, v / 100000 == HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR ? 1 : -1);
	if (atomic_load(&known) < 0) {
		snprintf(why, sizeof(why),
			"the program runs on HIP %d.%d, and this tsdb reads the calls of HIP %d.%d, so there is no capture",
			v / 10000000, v / 100000 % 100, HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
		agent_refuse(why);
	}
	return atomic_load(&known) > 0;
}

static const struct call_row counted = {NULL, CALL_COUNTED, 0, SBT_UNREPLAYABLE, NULL, NULL};

/* Takes away an error that one of the agent's own questions has left. */
static void clear_error(void)
{
	int device;

	if (OWN(hip.hipPeekAtLastError()))
		(void)OWN(hip.hipGetDevice(&device));
}

static void begin(uint32_t id, struct slot *s, const void *frame)
{
	const struct call_row *row =
		id < HIP_CALLS && hip_calls[id].name ? &hip_calls[id] : &counted;
	int device = 0;
	uint64_t ctx;

	if (row->how == CALL_IGNORED || !known_version())
		return;
	ctx = OWN(hip.hipGetDevice(&device)) ? 0 : hip_context(device);
	calls_enter(&(struct call_site){.row = row,
		.name = hip_api_name(id),
		.params = &s->data,
		.ctx = ctx,
		.frame = frame,
		.corr = (uint32_t)s->data.correlation_id,
		.link = &s->link});
	/* HIP sets the thread's last error in every call but those that it captures into a graph.
	 */
	if (atomic_load_explicit(&calls_captures, memory_order_relaxed))
		clear_error();
}

static void end(struct slot *s, const void *frame)
{
	const hipError_t result = OWN(hip.hipPeekAtLastError());

	calls_exit(&s->link, (uint32_t)result, frame);
	if (!result)
		clear_error();
}

static void callback(uint32_t domain, uint32_t id, const void *data, void *arg)
{
	struct slot *s =
		(struct slot *)(uintptr_t)((const char *)data - offsetof(struct slot, data));
	const void *frame = __builtin_frame_address(0);
	const int saved = errno;
	bool stranger;

	(void)domain, (void)arg;
	if (!data || !thread_come_in(&stranger))
		return;
	if (!agent_live())
		; /* The agent was retired after this callback began. */
	else if (tls.inside == 1 && s->data.phase == BEGINS)
		begin(id, s, frame);
	else if (tls.inside == 1 && s->data.phase == ENDS)
		end(s, frame);
	errno = saved;
	thread_go_out(stranger);
}

/* --- start --- */

static bool wanted(uint32_t id)
{
	return hip_calls[id].how != CALL_IGNORED;
}

static void stop(void)
{
	for (uint32_t id = HIP_API_ID_FIRST; hip.lib && id < HIP_CALLS; id++)
		if (wanted(id)) {
			(void)OWN(hip.hipRemoveApiCallback(id));
			(void)OWN(hip.hipRemoveActivityCallback(id));
		}
}

static int start(char *why, size_t why_size)
{
	static char ours; /* activity() tells by it when a call ends */
	uint32_t n = 0;

	for (uint32_t id = HIP_API_ID_FIRST; id < HIP_CALLS; id++)
		if (wanted(id) &&
			!OWN(hip.hipRegisterActivityCallback(
				id, (void *)(uintptr_t)activity, &ours)) &&
			!OWN(hip.hipRegisterApiCallback(id, (void *)(uintptr_t)callback, &ours)))
			n++;
	if (n)
		return 0;
	snprintf(why, why_size, "HIP refused to report the program's calls");
	return -EIO;
}

static void nothing(bool on)
{
	(void)on;
}

static const char *const hidden[] = {"libamdhip64.so", NULL};
static const char *const foreign[] = {"libamdhip64.so", "libhsa-runtime64.so", "libhsakmt.so",
	"libamd_comgr.so", "libhiprtc", NULL};
static const char *const devices[] = {"/dev/kfd", "/dev/dri/", NULL};

const struct source source_hip = {
	.names = {[SOURCE_HIDDEN] = hidden, [SOURCE_FOREIGN] = foreign, [SOURCE_DEVICES] = devices},
	.name = "HIP",
	.number = 2,
	.driver = &driver_hip,
	.variable = "HSA_TOOLS_LIB",
	.start = start,
	.stop = stop,
	.timestamps = nothing,
	.own_context = nothing,
	.flush = nothing};

/* Called by the HSA runtime that HSA_TOOLS_LIB has told to load us. A program may use it without
 * HIP: then there is nothing to see here. */
AGENT_PUBLIC bool OnLoad(
	void *table, uint64_t version, uint64_t failed_tools, const char *const *failed_names);
bool OnLoad(void *table, uint64_t version, uint64_t failed_tools, const char *const *failed_names)
{
	(void)version, (void)failed_tools, (void)failed_names;
	if (driver_hip.is_loaded()) {
		hsa_signals_wrap(table);
		(void)agent_loaded();
	}
	return true;
}
