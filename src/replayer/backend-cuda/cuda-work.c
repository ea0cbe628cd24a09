/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's code, launches, streams and events, behind src/replayer/backend.h.
 */
#include "replayer/backend-cuda/cuda-driver.h"

#include <string.h>

/* --- code --- */

struct gpu_result cuda_code_load(struct gpu_module **ret, const void *code, size_t size)
{
	(void)size; /* the driver believes what the code says of itself */
	CUmodule m = NULL;
	const CUresult r = CU.cuModuleLoadData(&m, code);

	*ret = (struct gpu_module *)m;
	return cuda_result(r, "cuModuleLoadData");
}

struct gpu_result cuda_code_unload(struct gpu_module *m)
{
	return cuda_result(CU.cuModuleUnload((CUmodule)m), "cuModuleUnload");
}

struct gpu_result cuda_code_kernel(struct gpu_kernel **ret, struct gpu_module *m, const char *name)
{
	CUfunction f = NULL;
	const CUresult r = CU.cuModuleGetFunction(&f, (CUmodule)m, name);

	*ret = (struct gpu_kernel *)f;
	return cuda_result(r, "cuModuleGetFunction");
}

struct gpu_result cuda_code_global(
	uint64_t *ret, size_t *ret_size, struct gpu_module *m, const char *name)
{
	CUdeviceptr at = 0;
	const CUresult r = CU.cuModuleGetGlobal_v2(&at, ret_size, (CUmodule)m, name);

	*ret = at;
	return cuda_result(r, "cuModuleGetGlobal");
}

struct gpu_result cuda_kernel_param(
	struct gpu_kernel *k, size_t i, size_t *ret_offset, size_t *ret_size)
{
	return cuda_result(CU.cuFuncGetParamInfo((CUfunction)k, i, ret_offset, ret_size),
		"cuFuncGetParamInfo");
}

struct gpu_result cuda_kernel_attribute(struct gpu_kernel *k, int attr, int value)
{
	return cuda_result(CU.cuFuncSetAttribute((CUfunction)k, (CUfunction_attribute)attr, value),
		"cuFuncSetAttribute");
}

struct gpu_result cuda_kernel_max_shared(struct gpu_kernel *k, int bytes)
{
	return cuda_kernel_attribute(k, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}

struct gpu_result cuda_kernel_any_cluster(struct gpu_kernel *k)
{
	return cuda_kernel_attribute(k, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
}

/* --- launches --- */

/* Passes the parameters as one block with its size: the code determines their number and sizes,
 * whatever the trace says. */
void cuda_args_of(struct cuda_args *ret, const struct gpu_launch *l)
{
	void *const block[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, l->args, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&ret->n, CU_LAUNCH_PARAM_END};

	ret->n = l->nargs;
	memcpy(ret->extra, block, sizeof block);
	if (!ret->n)
		ret->extra[0] = CU_LAUNCH_PARAM_END;
}

/* Sets the attributes that change what a launch computes or whether it can run; the others are
 * hints. */
static struct gpu_result launch_more(const struct gpu_launch *l, struct gpu_stream *s, void **extra)
{
	CUlaunchAttribute attrs[5];
	CUlaunchConfig config = {.gridDimX = l->grid[0],
		.gridDimY = l->grid[1],
		.gridDimZ = l->grid[2],
		.blockDimX = l->block[0],
		.blockDimY = l->block[1],
		.blockDimZ = l->block[2],
		.sharedMemBytes = l->shared,
		.hStream = (CUstream)s,
		.attrs = attrs};

	memset(attrs, 0, sizeof attrs);
	if (l->cooperative) {
		attrs[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		attrs[config.numAttrs++].value.cooperative = 1;
	}
	if (l->cluster[0]) {
		CUlaunchAttribute *a = &attrs[config.numAttrs++];

		a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
		a->value.clusterDim.x = l->cluster[0];
		a->value.clusterDim.y = l->cluster[1];
		a->value.clusterDim.z = l->cluster[2];
	}
	if (l->early) {
		attrs[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
		attrs[config.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
	}
	if (l->triggered) {
		CUlaunchAttribute *a = &attrs[config.numAttrs++];

		a->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
		a->value.programmaticEvent.event = (CUevent)l->triggered;
		a->value.programmaticEvent.triggerAtBlockStart = l->at_start;
	}
	if (l->begun) {
		CUlaunchAttribute *a = &attrs[config.numAttrs++];

		a->id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
		a->value.launchCompletionEvent.event = (CUevent)l->begun;
	}
	return cuda_result(CU.cuLaunchKernelEx(&config, (CUfunction)l->kernel, NULL, extra),
		"cuLaunchKernelEx");
}

struct gpu_result cuda_launch(const struct gpu_launch *l, struct gpu_stream *s)
{
	struct cuda_args args;

	cuda_args_of(&args, l);
	if (l->cooperative || l->cluster[0] || l->early || l->triggered || l->begun)
		return launch_more(l, s, args.extra);
	return cuda_result(CU.cuLaunchKernel((CUfunction)l->kernel, l->grid[0], l->grid[1],
				   l->grid[2], l->block[0], l->block[1], l->block[2], l->shared,
				   (CUstream)s, NULL, args.extra),
		"cuLaunchKernel");
}

/* --- streams and events --- */

struct gpu_result cuda_stream_create(struct gpu_stream **ret, bool apart, int priority)
{
	CUstream s = NULL;
	const CUresult r = CU.cuStreamCreateWithPriority(
		&s, apart ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, priority);

	*ret = (struct gpu_stream *)s;
	return cuda_result(r, "cuStreamCreateWithPriority");
}

struct gpu_result cuda_stream_destroy(struct gpu_stream *s)
{
	return cuda_result(CU.cuStreamDestroy_v2((CUstream)s), "cuStreamDestroy");
}

struct gpu_result cuda_stream_finish(struct gpu_stream *s)
{
	return cuda_result(CU.cuStreamSynchronize((CUstream)s), "cuStreamSynchronize");
}

struct gpu_result cuda_stream_wait(struct gpu_stream *s, struct gpu_event *e)
{
	return cuda_result(CU.cuStreamWaitEvent((CUstream)s, (CUevent)e, 0), "cuStreamWaitEvent");
}

struct gpu_result cuda_stream_write(
	struct gpu_stream *s, uint64_t addr, uint64_t value, unsigned size)
{
	if (size == 8)
		return cuda_result(CU.cuStreamWriteValue64_v2((CUstream)s, addr, value, 0),
			"cuStreamWriteValue64");
	return cuda_result(CU.cuStreamWriteValue32_v2((CUstream)s, addr, (cuuint32_t)value, 0),
		"cuStreamWriteValue32");
}

struct gpu_result cuda_event_create(struct gpu_event **ret, bool timed)
{
	CUevent e = NULL;
	const CUresult r = CU.cuEventCreate(&e, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);

	*ret = (struct gpu_event *)e;
	return cuda_result(r, "cuEventCreate");
}

struct gpu_result cuda_event_destroy(struct gpu_event *e)
{
	return cuda_result(CU.cuEventDestroy_v2((CUevent)e), "cuEventDestroy");
}

struct gpu_result cuda_event_record(struct gpu_event *e, struct gpu_stream *s)
{
	return cuda_result(CU.cuEventRecord((CUevent)e, (CUstream)s), "cuEventRecord");
}

struct gpu_result cuda_event_query(struct gpu_event *e)
{
	return cuda_result(CU.cuEventQuery((CUevent)e), "cuEventQuery");
}

struct gpu_result cuda_event_finish(struct gpu_event *e)
{
	return cuda_result(CU.cuEventSynchronize((CUevent)e), "cuEventSynchronize");
}

struct gpu_result cuda_event_elapsed(float *ret_ms, struct gpu_event *begin, struct gpu_event *end)
{
	return cuda_result(
		CU.cuEventElapsedTime(ret_ms, (CUevent)begin, (CUevent)end), "cuEventElapsedTime");
}
