// SPDX-License-Identifier: Apache-2.0
//
// How ROCm up to 5.3 reports calls: hipRegisterApiCallback() for each entry point, and
// hipRegisterActivityCallback(), which lends the memory for the arguments; without it no call is
// reported. HIP calls the first when a call begins and when it ends, and the second around both.
// Calls have the numbers of the headers that this file is built with.
#include <errno.h>
#include <stdio.h>

#include "capture/core/thread.h"
#include "capture/core/source.h"
#include "capture/hip/hip-calls.h"
#include "capture/hip/hip-ways.h"

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
	struct slot *s;

	/* Those that a longjmp() has left lie deeper in the stack than this call. */
	while (t->source_depth && slots(t)[t->source_depth - 1].frame <= frame)
		t->source_depth--;
	if (t->source_depth == SLOTS)
		return NULL;
	s = &slots(t)[t->source_depth++];
	*s = (struct slot){.frame = frame};
	return s;
}

/* HIP asks for memory: the call's arguments go there. NULL: the call is not reported. */
static void *lend(uintptr_t frame)
{
	struct slot *s = NULL;
	struct thread *t;
	bool stranger;
	int saved = errno;

	if (!hip_reports() || !thread_come_in(&stranger))
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

/* By HIP's numbers. */
static const struct call_row *rows[HIP_API_ID_LAST + 1];

static void callback(uint32_t domain, uint32_t id, const void *data, void *arg)
{
	struct slot *s =
		(struct slot *)(uintptr_t)((const char *)data - offsetof(struct slot, data));
	const void *frame = __builtin_frame_address(0);
	const struct call_row *row = id <= HIP_API_ID_LAST ? rows[id] : NULL;

	(void)domain, (void)arg;
	if (!data)
		return;
	if (s->data.phase == BEGINS)
		hip_begin(&(struct hip_report){row, hip_api_name(id), &s->data, &s->link, frame});
	else if (s->data.phase == ENDS)
		hip_end(&s->link, HIP_RESULT_ASKED, frame);
}

static bool wanted(uint32_t id)
{
	return !rows[id] || rows[id]->how != CALL_IGNORED;
}

static void stop(void)
{
	for (uint32_t id = HIP_API_ID_FIRST; hip.lib && id <= HIP_API_ID_LAST; id++)
		if (wanted(id)) {
			(void)OWN(hip.hipRemoveApiCallback(id));
			(void)OWN(hip.hipRemoveActivityCallback(id));
		}
}

static int start(char *why, size_t why_size)
{
	static char ours; /* activity() tells by it when a call ends */
	uint32_t n = 0;

	for (uint32_t id = HIP_API_ID_FIRST; id <= HIP_API_ID_LAST; id++) {
		rows[id] = hip_row_named(hip_api_name(id));
		if (wanted(id) &&
			!OWN(hip.hipRegisterActivityCallback(
				id, (void *)(uintptr_t)activity, &ours)) &&
			!OWN(hip.hipRegisterApiCallback(id, (void *)(uintptr_t)callback, &ours)))
			n++;
	}
	if (n)
		return 0;
	snprintf(why, why_size, "HIP refused to report the program's calls");
	return -EIO;
}

static bool offered(void)
{
	return hip.hipRegisterApiCallback && hip.hipRemoveApiCallback &&
	       hip.hipRegisterActivityCallback && hip.hipRemoveActivityCallback;
}

const struct hip_way hip_way_callback = {
	.name = "hipRegisterApiCallback", .offered = offered, .start = start, .stop = stop};
