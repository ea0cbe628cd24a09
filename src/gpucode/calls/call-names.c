/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of calls, see call-names.h. CUPTI's versions are those of its CUpti_runtime_api_trace_cbid.
 */
#include "gpucode/call-names.h"

static const struct {
	uint16_t kind;
	struct call_name name;
} calls[] = {
	{SBT_LAUNCH, {"cudaLaunchKernel", "cudaLaunchKernel_v7000", "cuLaunchKernel",
			     "hipLaunchKernel"}},
	{SBT_COPY, {"cudaMemcpyAsync", "cudaMemcpyAsync_v3020", "cuMemcpyAsync", "hipMemcpyAsync"}},
	{SBT_FILL,
		{"cudaMemsetAsync", "cudaMemsetAsync_v3020", "cuMemsetD8Async", "hipMemsetAsync"}},
	{SBT_GRAPH_LAUNCH,
		{"cudaGraphLaunch", "cudaGraphLaunch_v10000", "cuGraphLaunch", "hipGraphLaunch"}},
	{SBT_EVENT_RECORD,
		{"cudaEventRecord", "cudaEventRecord_v3020", "cuEventRecord", "hipEventRecord"}},
	{SBT_STREAM_WAIT, {"cudaStreamWaitEvent", "cudaStreamWaitEvent_v3020", "cuStreamWaitEvent",
				  "hipStreamWaitEvent"}},
	{SBT_HOST_FUNC, {"cudaLaunchHostFunc", "cudaLaunchHostFunc_v10000", "cuLaunchHostFunc",
				"hipLaunchHostFunc"}},
	{SBT_ALLOC, {"cudaMalloc", "cudaMalloc_v3020", "cuMemAlloc", "hipMalloc"}},
	{SBT_FREE, {"cudaFree", "cudaFree_v3020", "cuMemFree", "hipFree"}},
};
/* By enum sbt_sync. */
static const struct call_name waits[] = {
	{"cudaDeviceSynchronize", "cudaDeviceSynchronize_v3020", "cuCtxSynchronize",
		"hipDeviceSynchronize"},
	{"cudaStreamSynchronize", "cudaStreamSynchronize_v3020", "cuStreamSynchronize",
		"hipStreamSynchronize"},
	{"cudaEventSynchronize", "cudaEventSynchronize_v3020", "cuEventSynchronize",
		"hipEventSynchronize"},
};
enum { WAITS = sizeof waits / sizeof *waits };

const struct call_name *call_name_of(const struct sbt_cmd *c)
{
	if (c->kind == SBT_SYNC)
		return &waits[c->u.sync.scope < WAITS ? c->u.sync.scope : 0];
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		if (calls[i].kind == c->kind)
			return &calls[i].name;
	}
	return NULL;
}

const char *call_name_shown(const struct sbt_cmd *c, bool hip, bool runtime)
{
	const struct call_name *n = call_name_of(c);

	if (!n)
		return NULL;
	return hip ? n->hip : runtime ? n->runtime : n->driver;
}
