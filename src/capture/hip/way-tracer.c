// SPDX-License-Identifier: Apache-2.0
//
// How ROCm 5.4 and later report calls to a tool that comes at any time: hipRegisterTracerCallback()
// takes one function, which HIP calls with each call's number and the memory for its arguments.
// When it answers 0, HIP puts the arguments there, and calls the two functions that it finds behind
// them when the call begins and when it ends. Where that is depends on the version
// (hip-version.h).
//
// HIP has one such function: another tool's is replaced by ours, and ours by another's. Numbers
// differ between versions; hipApiName() has their names.
#include <errno.h>
#include <stdatomic.h>

#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/hip/hip-version.h"
#include "capture/hip/hip-ways.h"

enum { HIP_API = 3 };	     /* domain: ACTIVITY_DOMAIN_HIP_API; others report the device's work */
enum { NUMBERS_MAX = 2048 }; /* calls that a version can have */

/* What lies behind hip_api_data_t: hip_api_trace_data_t of ROCclr's hip_prof_api.h. */
struct tail {
	uint64_t time;
	uint64_t word; /* the tool's own */
	void (*begins)(uint32_t id, void *data);
	void (*ends)(uint32_t id, void *data);
};

static struct tail *tail_of(void *data)
{
	return (struct tail *)(void *)((char *)data + hip_version()->data);
}

/* By HIP's numbers; looked up when a call with it first comes. */
static const struct call_row unknown;
static const struct call_row *_Atomic rows[NUMBERS_MAX];

static const struct call_row *row_of(uint32_t id)
{
	const struct call_row *row;
	const char *name;

	if (id >= NUMBERS_MAX)
		return &unknown;
	row = atomic_load_explicit(&rows[id], memory_order_relaxed);
	if (row)
		return row;
	name = OWN(hip.hipApiName(id));
	row = name ? hip_row_named(name) : NULL;
	row = row ? row : &unknown;
	atomic_store_explicit(&rows[id], row, memory_order_relaxed);
	return row;
}

static void begins(uint32_t id, void *data)
{
	const struct call_row *row = row_of(id);

	hip_begin(&(struct hip_report){row == &unknown ? NULL : row, OWN(hip.hipApiName(id)), data,
		&tail_of(data)->word, __builtin_frame_address(0)});
}

static void ends(uint32_t id, void *data)
{
	(void)id;
	hip_end(&tail_of(data)->word, HIP_RESULT_ASKED, __builtin_frame_address(0));
}

static bool wanted(uint32_t id)
{
	const struct hip_version *v = agent_live() ? hip_version() : NULL;

	return v && v->data && row_of(id)->how != CALL_IGNORED;
}

/* 0: the call's begin and end are to be reported. */
static int report(uint32_t domain, uint32_t id, void *data)
{
	const int saved = errno;
	bool stranger, is_wanted;

	if (domain != HIP_API || !data || !hip_reports() || !thread_come_in(&stranger))
		return -1;
	is_wanted = wanted(id);
	thread_go_out(stranger);
	errno = saved;
	if (!is_wanted)
		return -1;
	((hip_api_data_t *)data)->correlation_id = 0;
	*tail_of(data) = (struct tail){.begins = begins, .ends = ends};
	return 0;
}

static bool offered(void)
{
	return hip.hipRegisterTracerCallback && hip.hipApiName;
}

static int start(char *why, size_t why_size)
{
	(void)why, (void)why_size;
	hip.hipRegisterTracerCallback(report);
	return 0;
}

static void stop(void)
{
	if (hip.hipRegisterTracerCallback)
		hip.hipRegisterTracerCallback(NULL);
}

const struct hip_way hip_way_tracer = {
	.name = "hipRegisterTracerCallback", .offered = offered, .start = start, .stop = stop};
