/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry and exit of runtime calls, for CUPTI's runtime domain. libcuda keeps the subscribers; while
 * there are none, a call costs one load and one branch here.
 */
#include "softgpu/runtime/rt.h"

static const int *watched;

__attribute__((constructor)) static void find_flag(void)
{
	watched = tsdb_soft_watched();
}

/* A launch shows its kernel's name. The host function (or kernel handle) is the first of its
 * parameters. */
static const char *launch_symbol(const struct soft_call *c)
{
	switch (c->cbid) {
	case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000:
	case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000:
	case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000:
	case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000:
		return rt_kernel_name(((const cudaLaunchKernel_v7000_params *)c->params)->func);
	case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060:
	case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060:
		return rt_kernel_name(((const cudaLaunchKernelExC_v11060_params *)c->params)->func);
	default:
		return NULL;
	}
}

void rt_enter(struct rt_call *call)
{
	/* a call from another library's constructor may come before ours */
	if (__builtin_expect(!watched, 0))
		find_flag();
	if (__builtin_expect(!*watched, 1))
		return;
	call->watched = true;
	call->soft.symbol = launch_symbol(&call->soft);
	call->soft.result = &call->result;
	tsdb_soft_enter(&call->soft);
}

void rt_trace_leave(struct rt_call *call, cudaError_t err)
{
	if (!call->watched)
		return;
	call->result = err;
	tsdb_soft_exit(&call->soft);
}

cudaError_t rt_leave(struct rt_call *call, cudaError_t err)
{
	rt_last_error(err);
	rt_trace_leave(call, err);
	return err;
}
