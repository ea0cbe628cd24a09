// SPDX-License-Identifier: Apache-2.0
//
// Handlers: launches, host functions, values. The surprising thing: hipExtModuleLaunchKernel and
// its older name count the grid in work-items, all others in workgroups. Events that a launch
// records become commands of their own before and behind it, as HIP 5.2 does it: markers.
#include "capture/core/armed.h"
#include "capture/core/thread.h"
#include "capture/hip/hip-calls.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"

/* (key, value) pairs up to HIP_LAUNCH_PARAM_END (hip_runtime_api.h). */
static int64_t gather_extra(void **extra, uint8_t *buf, uint64_t size)
{
	const void *from = NULL;
	const size_t *n = NULL;

	for (unsigned i = 0; i < 8 && extra[i] != HIP_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
			from = extra[i + 1];
		else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
			n = extra[i + 1];
	}
	if (!from || !n)
		return 0;
	if (*n > size)
		return -1;
	memcpy(buf, from, *n);
	return (int64_t)*n;
}

int64_t hip_gather(const struct kernel *k, void **params, void **extra, uint8_t *buf, uint64_t size)
{
	return !params && extra ? gather_extra(extra, buf, size)
				: kernel_gather(k, params, buf, size);
}

static void launch(struct call *c, uint64_t handle, hipStream_t stream, void **params, void **extra)
{
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	int64_t n;

	c->kernel = kernel_get(c->t, c->ctx, handle);
	l->stream = call_stream(c, H(stream));
	l->kernel = c->kernel ? c->kernel->id : SBT_NO_ID;
	if (!c->kernel)
		return;
	n = hip_gather(c->kernel, params, extra, c->t->args, sizeof(c->t->args));
	if (n >= 0)
		l->args = (struct sbt_blob){c->t->args, (uint64_t)n};
	else
		record_unreplayable(c->t, "kernel arguments (no code object tells their sizes)");
}

static void shape(struct call *c, const uint32_t grid[3], const uint32_t block[3], uint64_t shared)
{
	struct sbt_cmd_launch *l = &c->cmd.u.launch;

	l->grid_x = grid[0];
	l->grid_y = grid[1];
	l->grid_z = grid[2];
	l->block_x = block[0];
	l->block_y = block[1];
	l->block_z = block[2];
	l->shared = shared;
}

#define DIM3(d) ((const uint32_t[3]){(d).x, (d).y, (d).z})

static void record_event(struct call *c, uint64_t event)
{
	struct sbt_cmd cmd = {.kind = SBT_EVENT_RECORD};

	cmd.u.event_record.stream = c->cmd.u.launch.stream;
	cmd.u.event_record.event = event;
	record_now(c->t, &cmd,
		SBT_F_SYNTHETIC | (c->cmd.flags & (SBT_F_WINDOW | SBT_F_PTDS)) |
			(armed_is_open() ? SBT_F_WINDOW : 0));
}

/* Events that a launch records when its kernel begins and ends. The first has its record before it
 * is known whether HIP takes the launch: in a launch that fails it says that the event is recorded,
 * though it is not. */
static void events(struct call *c, hipEvent_t start, hipEvent_t stop)
{
	c->note = stop ? 1ull + ids_event(c->t, H(stop)) : 0;
	if (start)
		record_event(c, ids_event(c->t, H(start)));
}

void hip_launch_exit(struct call *c) /* all that take events */
{
	if (c->note && !c->cmd.result)
		record_event(c, c->note - 1);
}

void hip_launch(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipLaunchKernel)) *p = HIP_ARGS(c, hipLaunchKernel);

	launch(c, H(p->function_address), p->stream, p->args, NULL);
	shape(c, DIM3(p->numBlocks), DIM3(p->dimBlocks), p->sharedMemBytes);
}

void hip_launch_ext(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipExtLaunchKernel)) *p = HIP_ARGS(c, hipExtLaunchKernel);

	launch(c, H(p->function_address), p->stream, p->args, NULL);
	shape(c, DIM3(p->numBlocks), DIM3(p->dimBlocks), p->sharedMemBytes);
	events(c, p->startEvent, p->stopEvent);
}

void hip_launch_cooperative(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipLaunchCooperativeKernel)) *p =
		HIP_ARGS(c, hipLaunchCooperativeKernel);

	launch(c, H(p->f), p->stream, p->kernelParams, NULL);
	shape(c, DIM3(p->gridDim), DIM3(p->blockDimX), p->sharedMemBytes);
	c->cmd.u.launch.cooperative = 1;
}

/* A hipFunction_t: HIP reads its name from it. */
static void launch_function(
	struct call *c, hipFunction_t f, hipStream_t stream, void **params, void **extra)
{
	if (f && hip.hipKernelNameRef)
		c->symbol = OWN(hip.hipKernelNameRef(f));
	launch(c, H(f), stream, params, extra);
}

void hip_launch_module(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipModuleLaunchKernel)) *p =
		HIP_ARGS(c, hipModuleLaunchKernel);

	launch_function(c, p->f, p->stream, p->kernelParams, p->extra);
	shape(c, (const uint32_t[3]){p->gridDimX, p->gridDimY, p->gridDimZ},
		(const uint32_t[3]){p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes);
}

/* items: in all; the last workgroup may have fewer. */
static void shape_of_items(
	struct call *c, const uint32_t items[3], const uint32_t block[3], uint64_t shared)
{
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	uint32_t grid[3], last[3];

	for (int i = 0; i < 3; i++) {
		last[i] = block[i] ? items[i] % block[i] : 0;
		grid[i] = block[i] ? items[i] / block[i] + (last[i] != 0) : 0;
	}
	shape(c, grid, block, shared);
	l->last_x = last[0];
	l->last_y = last[1];
	l->last_z = last[2];
}

void hip_launch_module_ext(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipExtModuleLaunchKernel)) *p =
		HIP_ARGS(c, hipExtModuleLaunchKernel);

	launch_function(c, p->f, p->hStream, p->kernelParams, p->extra);
	shape_of_items(c,
		(const uint32_t[3]){p->globalWorkSizeX, p->globalWorkSizeY, p->globalWorkSizeZ},
		(const uint32_t[3]){p->localWorkSizeX, p->localWorkSizeY, p->localWorkSizeZ},
		p->sharedMemBytes);
	events(c, p->startEvent, p->stopEvent);
}

void hip_launch_module_hcc(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipHccModuleLaunchKernel)) *p =
		HIP_ARGS(c, hipHccModuleLaunchKernel);

	launch_function(c, p->f, p->hStream, p->kernelParams, p->extra);
	shape_of_items(c,
		(const uint32_t[3]){p->globalWorkSizeX, p->globalWorkSizeY, p->globalWorkSizeZ},
		(const uint32_t[3]){p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes);
	events(c, p->startEvent, p->stopEvent);
}

void hip_host_func(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamAddCallback)) *p = HIP_ARGS(c, hipStreamAddCallback);
	struct sbt_cmd_host_func *h = &c->cmd.u.host_func;

	h->stream = call_stream(c, H(p->stream));
	h->fn = H(p->callback);
	h->user_data = H(p->userData);
}

/* A value written in a stream's order, or waited for. HIP's conditions have CUDA's numbers. */
static void value(struct call *c, hipStream_t stream, void *addr, uint64_t v, unsigned elem)
{
	struct sbt_cmd_batch *b = &c->cmd.u.batch;

	b->stream = call_stream(c, H(stream));
	b->addr = H(addr);
	b->value = v;
	b->elem = elem;
}

void hip_write32(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamWriteValue32)) *p =
		HIP_ARGS(c, hipStreamWriteValue32);

	value(c, p->stream, p->ptr, (uint32_t)p->value, 4);
	c->cmd.u.batch.op_flags = p->flags;
}

void hip_write64(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamWriteValue64)) *p =
		HIP_ARGS(c, hipStreamWriteValue64);

	value(c, p->stream, p->ptr, p->value, 8);
	c->cmd.u.batch.op_flags = p->flags;
}

/* all: the mask takes every bit; no record has another one. */
static void waits(struct call *c, unsigned flags, bool all)
{
	c->cmd.u.batch.is_wait = 1;
	c->cmd.u.batch.op_flags = flags;
	if (!all)
		call_unreplayable(c, "a wait for some bits of a value");
}

void hip_wait32(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamWaitValue32)) *p = HIP_ARGS(c, hipStreamWaitValue32);

	value(c, p->stream, p->ptr, (uint32_t)p->value, 4);
	waits(c, p->flags, p->mask == UINT32_MAX);
}

void hip_wait64(struct call *c)
{
	const __typeof__(*HIP_ARGS(c, hipStreamWaitValue64)) *p = HIP_ARGS(c, hipStreamWaitValue64);

	value(c, p->stream, p->ptr, p->value, 8);
	waits(c, p->flags, p->mask == UINT64_MAX);
}

_Static_assert(hipStreamWaitValueGte == 0 && hipStreamWaitValueEq == 1 &&
		       hipStreamWaitValueAnd == 2 && hipStreamWaitValueNor == 3,
	"the numbers of CUstreamWaitValue_flags");
