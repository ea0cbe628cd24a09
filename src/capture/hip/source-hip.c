// SPDX-License-Identifier: Apache-2.0
//
// The source HIP. How it reports a program's calls depends on its version: the ways are in
// way-*.c, and the newest one that the program's HIP has is taken.
//
// The callbacks do not say what a call returned. It is the thread's last error, which each call
// sets, and from HIP 7 on what hipExtGetLastError() says. The library is loaded by the HSA runtime
// below HIP, which HSA_TOOLS_LIB tells to (OnLoad()), while the program initialises HIP; the
// version is asked in the first call, since HIP holds a lock then.
#include <errno.h>
#include <stdio.h>

#include "capture/core/agent.h"
#include "capture/core/driver.h"
#include "capture/core/source.h"
#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/hip/hip-version.h"
#include "capture/hip/hip-ways.h"
#include "capture/hip/hsa-signals.h"

static const struct hip_way *const ways[] = {&hip_way_tracer, &hip_way_callback};
enum { WAYS = sizeof(ways) / sizeof(*ways) };
static const struct hip_way *way; /* the one that was taken */

bool hip_reports(void)
{
	if (tls.inside && !tls.own)
		agent_count_lost(); /* a signal handler that makes GPU calls */
	return !tls.inside && !tls.own;
}

static const struct call_row counted = {NULL, CALL_COUNTED, 0, SBT_UNREPLAYABLE, NULL, NULL};

/* Takes away an error that one of the agent's own questions has left, where the program had none:
 * `had` is the thread's last error before them. From HIP 7 on another call does not do it; and the
 * program's own error cannot be put back there if one of the agent's questions failed, too. */
static void clear_error(hipError_t had)
{
	int device;

	if (had || !OWN(hip.hipPeekAtLastError()))
		return;
	if (hip_version()->errors_stay && hip.hipGetLastError)
		(void)OWN(hip.hipGetLastError());
	else
		(void)OWN(hip.hipGetDevice(&device));
}

/* What the program's call returned; nothing else is asked before. */
static uint32_t call_result(void)
{
	const struct hip_version *v = hip_version();

	return (uint32_t)(v && v->errors_stay && hip.hipExtGetLastError
				  ? OWN(hip.hipExtGetLastError())
				  : OWN(hip.hipPeekAtLastError()));
}

static void begin(const struct hip_report *r)
{
	static _Atomic uint32_t calls;
	const struct call_row *row = r->row ? r->row : &counted;
	hipError_t had = hipSuccess;
	int device = 0;
	uint64_t ctx;

	if (row->how == CALL_IGNORED || !hip_version())
		return;
	hip_settle();
	if (hip_version()->errors_stay)
		had = OWN(hip.hipPeekAtLastError());
	ctx = OWN(hip.hipGetDevice(&device)) ? 0 : hip_context(device);
	calls_enter(&(struct call_site){.row = row,
		.name = r->name,
		.params = r->data,
		.ctx = ctx,
		.frame = r->frame,
		.corr = atomic_fetch_add(&calls, 1) + 1,
		.link = r->link});
	/* HIP sets the thread's last error in every call but those that it captures into a graph.
	 */
	if (hip_version()->errors_stay ||
		atomic_load_explicit(&calls_captures, memory_order_relaxed))
		clear_error(had);
}

static void end(uint64_t *link, uint32_t result, const void *frame)
{
	hipError_t had;

	if (!hip_version())
		return;
	if (result == HIP_RESULT_ASKED)
		result = call_result();
	had = OWN(hip.hipPeekAtLastError());
	calls_exit(link, result, frame);
	clear_error(had);
}

void hip_begin(const struct hip_report *r)
{
	const int saved = errno;
	bool stranger;

	if (!thread_come_in(&stranger))
		return;
	if (agent_live() && tls.inside == 1)
		begin(r);
	errno = saved;
	thread_go_out(stranger);
}

void hip_end(uint64_t *link, uint32_t result, const void *frame)
{
	const int saved = errno;
	bool stranger;

	if (!thread_come_in(&stranger))
		return;
	if (agent_live() && tls.inside == 1)
		end(link, result, frame);
	errno = saved;
	thread_go_out(stranger);
}

/* --- start --- */

static void stop(void)
{
	if (way)
		way->stop();
}

static int start(char *why, size_t why_size)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (ways[i]->offered()) {
			way = ways[i];
			return way->start(why, why_size);
		}
	snprintf(why, why_size, "this HIP reports no calls in a way that this tsdb knows");
	return -ENOSYS;
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
