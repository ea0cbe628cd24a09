/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: kernels and host functions put into a stream. Arguments are copied at the call, by the
 * kernel's own parameter table, so the caller's memory is free again when it returns.
 */
#include "softgpu/driver/drv.h"
#include "softgpu/streams/overlap.h"

#include <stdlib.h>
#include <string.h>

struct shape {
	unsigned grid[3], block[3];
	size_t shared;
	bool cooperative, early;
	unsigned cluster[3]; /* zeros: the kernel's own */
};

CUresult func_shape(const struct func *f, const unsigned grid[3], const unsigned block[3],
	size_t shared, bool cooperative)
{
	static const unsigned max_grid[3] = {0x7fffffff, 65535, 65535},
			      max_block[3] = {1024, 1024, 64};
	unsigned long long threads;
	unsigned i;

	for (i = 0; i < 3; i++)
		REQUIRE(grid[i] && block[i] && grid[i] <= max_grid[i] && block[i] <= max_block[i]);
	threads = (unsigned long long)block[0] * block[1] * block[2];
	REQUIRE(threads <= DEV_MAX_THREADS);
	if (threads > f->info.max_threads)
		return CUDA_ERROR_INVALID_VALUE; /* .maxntid */
	for (i = 0; i < 3; i++)
		if (f->info.req[0] && block[i] != (f->info.req[i] ? f->info.req[i] : 1))
			return CUDA_ERROR_INVALID_VALUE; /* .reqntid */
	REQUIRE(shared <= (size_t)func_max_dynamic_shared(&f->info, &f->attrs));
	REQUIRE(f->info.static_shared + shared <= DEV_MAX_SHARED_OPTIN);
	if (cooperative && (unsigned long long)grid[0] * grid[1] * grid[2] >
				   (unsigned)func_blocks_resident(f, (unsigned)threads, shared))
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

/* CU_LAUNCH_PARAM_*: name and value pairs up to END. */
static CUresult extra_buffer(void **extra, const void **buffer, size_t *size)
{
	const size_t *n = NULL;

	*buffer = NULL;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			n = extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!*buffer || !n)
		return CUDA_ERROR_INVALID_VALUE;
	*size = *n;
	return CUDA_SUCCESS;
}

CUresult func_params(const struct func *f, void **kernel_params, void **extra, void **ret)
{
	const struct ptx_function_info *info = &f->info;
	const void *buffer;
	size_t size;
	unsigned i;

	*ret = NULL;
	REQUIRE(!kernel_params || !extra);
	if (!info->nparams)
		return CUDA_SUCCESS;
	REQUIRE(kernel_params || extra);
	if (extra) {
		TRY_CU(extra_buffer(extra, &buffer, &size));
		if (size < info->params[info->nparams - 1].offset +
				   info->params[info->nparams - 1].size)
			return CUDA_ERROR_INVALID_VALUE;
	}
	*ret = calloc(1, info->param_bytes);
	if (!*ret)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (extra) {
		memcpy(*ret, buffer, size < info->param_bytes ? size : info->param_bytes);
		return CUDA_SUCCESS;
	}
	for (i = 0; i < info->nparams; i++) {
		if (!kernel_params[i]) {
			free(*ret);
			*ret = NULL;
			return CUDA_ERROR_INVALID_VALUE;
		}
		memcpy((char *)*ret + info->params[i].offset, kernel_params[i],
			info->params[i].size);
	}
	return CUDA_SUCCESS;
}

CUresult func_op(CUfunction h, struct ctx *c, const unsigned grid[3], const unsigned block[3],
	size_t shared, bool cooperative, const unsigned *cluster, void **kernel_params,
	void **extra, struct op *ret)
{
	struct shape s = {.shared = shared, .cooperative = cooperative};
	struct func *f;

	memcpy(s.grid, grid, sizeof(s.grid));
	memcpy(s.block, block, sizeof(s.block));
	if (!h)
		return CUDA_ERROR_INVALID_HANDLE;
	TRY_CU(func_resolve(h, c, &f));
	if (f->module->ctx != c)
		return CUDA_ERROR_INVALID_HANDLE;
	TRY_CU(func_shape(f, s.grid, s.block, s.shared, s.cooperative));
	TRY_CU(func_cluster(f, cluster, grid, s.cluster));
	*ret = (struct op){.kind = OP_KERNEL};
	TRY_CU(func_params(f, kernel_params, extra, &ret->kernel.params));
	ret->kernel.fn = f;
	ret->kernel.shared = shared;
	ret->kernel.cooperative = cooperative;
	memcpy(ret->kernel.cluster, s.cluster, sizeof(s.cluster));
	memcpy(ret->kernel.grid, grid, sizeof(s.grid));
	memcpy(ret->kernel.block, block, sizeof(s.block));
	return CUDA_SUCCESS;
}

static CUresult launch(CUfunction h, const struct shape *shape, CUstream hs, bool ptds,
	void **kernel_params, void **extra)
{
	struct stream *s;
	struct op op;

	TRY_CU(stream_resolve(hs, ptds, &s));
	TRY_CU(func_op(h, s->ctx, shape->grid, shape->block, shape->shared, shape->cooperative,
		shape->cluster, kernel_params, extra, &op));
	op.kernel.early = shape->early;
	op.kernel.held = overlap_take_hold();
	return stream_submit(s, &op, NULL, false, true);
}

DRV_STREAM(11, cuLaunchKernel, _ptsz, CUfunction, f, unsigned int, gridDimX, unsigned int, gridDimY,
	unsigned int, gridDimZ, unsigned int, blockDimX, unsigned int, blockDimY, unsigned int,
	blockDimZ, unsigned int, sharedMemBytes, CUstream, hStream, void **, kernelParams, void **,
	extra)
{
	struct shape s = {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ},
		sharedMemBytes, false, false, {0}};

	return launch(f, &s, hStream, ptds, kernelParams, extra);
}

DRV_STREAM(10, cuLaunchCooperativeKernel, _ptsz, CUfunction, f, unsigned int, gridDimX,
	unsigned int, gridDimY, unsigned int, gridDimZ, unsigned int, blockDimX, unsigned int,
	blockDimY, unsigned int, blockDimZ, unsigned int, sharedMemBytes, CUstream, hStream,
	void **, kernelParams)
{
	struct shape s = {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ},
		sharedMemBytes, true, false, {0}};

	return launch(f, &s, hStream, ptds, kernelParams, NULL);
}

/* Events that a launch records when its blocks have begun, and when they let launches behind begin.
 * Here both come when it has ended: later is allowed. */
enum { BEGUN, TRIGGERED, RECORDS };

/* What changes the launch goes into *s and record; hints are accepted; the rest is refused by name.
 */
static CUresult launch_attribute(
	const CUlaunchAttribute *a, struct shape *s, CUevent record[RECORDS])
{
	unsigned i;

	switch ((int)a->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* may overlap, need not */
		s->early = a->value.programmaticStreamSerializationAllowed != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		s->cooperative = a->value.cooperative != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: {
		const unsigned dim[3] = {
			a->value.clusterDim.x, a->value.clusterDim.y, a->value.clusterDim.z};

		for (i = 0; i < 3; i++)
			if (!dim[i] || s->grid[i] % dim[i])
				return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) /* the other is a wish */
			memcpy(s->cluster, dim, sizeof(dim));
		return CUDA_SUCCESS;
	}
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		record[BEGUN] = a->value.launchCompletionEvent.event;
		return record[BEGUN] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		record[TRIGGERED] = a->value.programmaticEvent.event;
		return record[TRIGGERED] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		drv_say("cuLaunchKernelEx: launch attribute %d is not supported", (int)a->id);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

DRV_STREAM(4, cuLaunchKernelEx, _ptsz, const CUlaunchConfig *, config, CUfunction, f, void **,
	kernelParams, void **, extra)
{
	CUevent record[RECORDS] = {NULL};
	struct stream *st;
	struct shape s;
	unsigned i;

	REQUIRE(config && (!config->numAttrs || config->attrs));
	s = (struct shape){{config->gridDimX, config->gridDimY, config->gridDimZ},
		{config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
		false, false, {0}};
	for (i = 0; i < config->numAttrs; i++)
		TRY_CU(launch_attribute(&config->attrs[i], &s, record));
	for (i = 0; i < RECORDS; i++)
		if (record[i] && !obj_alive(OBJ_EVENT, record[i]))
			return CUDA_ERROR_INVALID_HANDLE;
	TRY_CU(launch(f, &s, config->hStream, ptds, kernelParams, extra));
	TRY_CU(stream_resolve(config->hStream, ptds, &st));
	for (i = 0; i < RECORDS; i++)
		if (record[i])
			TRY_CU(event_record((struct event *)record[i], st));
	return CUDA_SUCCESS;
}

/* --- host functions --- */

DRV_STREAM(3, cuLaunchHostFunc, _ptsz, CUstream, hStream, CUhostFn, fn, void *, userData)
{
	struct op op = {.kind = OP_HOST, .host = {.fn = fn, .data = userData}};
	struct stream *s;

	REQUIRE(fn);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	return stream_submit(s, &op, NULL, false, true);
}

DRV_STREAM(4, cuStreamAddCallback, _ptsz, CUstream, hStream, CUstreamCallback, callback, void *,
	userData, unsigned int, flags)
{
	struct op op = {.kind = OP_STREAM_CALLBACK,
		.host = {.stream_fn = callback, .stream = hStream, .data = userData}};
	struct stream *s;

	REQUIRE(callback && !flags);
	TRY_CU(stream_resolve(hStream, ptds, &s));
	if (s->capture) {
		capture_invalidate(s);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return stream_submit(s, &op, NULL, false, true);
}
