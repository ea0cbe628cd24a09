/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: launches, host functions, stream memory operations, function attributes.
 */
#include <cupti.h>
#include <string.h>
#include "capture/calls.h"
#include "capture/ids.h"
#include "capture/kernel.h"
#include "capture/thread.h"

static void launch(struct call *c, CUfunction f, CUstream stream, void **params, void **extra)
{
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	c->kernel = kernel_get(c->t, c->ctx, f);
	l->stream = call_stream(c, stream);
	l->kernel = c->kernel ? c->kernel->id : SBT_NO_ID;
	if (!c->kernel)
		return;
	const int64_t n = kernel_gather(c->kernel, params, extra, c->t->args, sizeof(c->t->args));
	if (n >= 0)
		l->args = (struct sbt_blob){ c->t->args, (uint64_t)n };
	else
		record_unreplayable(c->t, "kernel arguments (the driver does not tell their sizes)");
}

void enter_launch(struct call *c)
{
	const cuLaunchKernel_params *p = c->params;
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	launch(c, p->f, p->hStream, p->kernelParams, p->extra);
	l->grid_x = p->gridDimX;
	l->grid_y = p->gridDimY;
	l->grid_z = p->gridDimZ;
	l->block_x = p->blockDimX;
	l->block_y = p->blockDimY;
	l->block_z = p->blockDimZ;
	l->shared = p->sharedMemBytes;
}

void enter_launch_cooperative(struct call *c)
{
	const cuLaunchCooperativeKernel_params *p = c->params;
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	launch(c, p->f, p->hStream, p->kernelParams, NULL);
	l->grid_x = p->gridDimX;
	l->grid_y = p->gridDimY;
	l->grid_z = p->gridDimZ;
	l->block_x = p->blockDimX;
	l->block_y = p->blockDimY;
	l->block_z = p->blockDimZ;
	l->shared = p->sharedMemBytes;
	l->cooperative = 1;
}

static void take_attribute(struct sbt_cmd_launch *l, const CUlaunchAttribute *a)
{
	if ((unsigned)a->id < 64)
		l->launch_attrs |= 1ull << a->id;
	if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		l->cooperative = a->value.cooperative != 0;
	if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		l->cluster_x = a->value.clusterDim.x;
		l->cluster_y = a->value.clusterDim.y;
		l->cluster_z = a->value.clusterDim.z;
	}
}

void enter_launch_ex(struct call *c)
{
	const cuLaunchKernelEx_params *p = c->params;
	const CUlaunchConfig *g = p->config;
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	launch(c, p->f, g ? g->hStream : NULL, p->kernelParams, p->extra);
	if (!g)
		return;
	l->grid_x = g->gridDimX;
	l->grid_y = g->gridDimY;
	l->grid_z = g->gridDimZ;
	l->block_x = g->blockDimX;
	l->block_y = g->blockDimY;
	l->block_z = g->blockDimZ;
	l->shared = g->sharedMemBytes;
	for (unsigned i = 0; g->attrs && i < g->numAttrs; i++)
		take_attribute(l, &g->attrs[i]);
}

void enter_host_func(struct call *c)
{
	const cuLaunchHostFunc_params *p = c->params;
	c->cmd.u.host_func.stream = call_stream(c, p->hStream);
	c->cmd.u.host_func.fn = (uint64_t)(uintptr_t)p->fn;
	c->cmd.u.host_func.user_data = (uint64_t)(uintptr_t)p->userData;
}

void enter_stream_callback(struct call *c)
{
	const cuStreamAddCallback_params *p = c->params;
	c->cmd.u.host_func.stream = call_stream(c, p->hStream);
	c->cmd.u.host_func.fn = (uint64_t)(uintptr_t)p->callback;
	c->cmd.u.host_func.user_data = (uint64_t)(uintptr_t)p->userData;
}

static void memory_op(struct call *c, CUstream s, CUdeviceptr addr, uint64_t value, unsigned elem, unsigned flags, bool wait)
{
	struct sbt_cmd_batch *b = &c->cmd.u.batch;
	b->stream = call_stream(c, s);
	b->is_wait = wait;
	b->addr = addr;
	b->value = value;
	b->elem = elem;
	b->op_flags = flags;
}

void enter_write32(struct call *c)
{
	const cuStreamWriteValue32_v2_params *p = c->params;
	memory_op(c, p->stream, p->addr, p->value, 4, p->flags, false);
}

void enter_write64(struct call *c)
{
	const cuStreamWriteValue64_v2_params *p = c->params;
	memory_op(c, p->stream, p->addr, p->value, 8, p->flags, false);
}

void enter_wait32(struct call *c)
{
	const cuStreamWaitValue32_v2_params *p = c->params;
	memory_op(c, p->stream, p->addr, p->value, 4, p->flags, true);
}

void enter_wait64(struct call *c)
{
	const cuStreamWaitValue64_v2_params *p = c->params;
	memory_op(c, p->stream, p->addr, p->value, 8, p->flags, true);
}

static void attribute(struct call *c, CUfunction f, CUfunction_attribute a, int value)
{
	const struct kernel *k = kernel_get(c->t, c->ctx, f);
	c->cmd.u.func_attr.kernel = k ? k->id : SBT_NO_ID;
	c->cmd.u.func_attr.attr = (uint64_t)a;
	c->cmd.u.func_attr.attr_value = (uint64_t)(int64_t)value;
}

void enter_func_attr(struct call *c)
{
	const cuFuncSetAttribute_params *p = c->params;
	attribute(c, p->hfunc, p->attrib, p->value);
}

void enter_kernel_attr(struct call *c)
{
	const cuKernelSetAttribute_params *p = c->params;
	attribute(c, (CUfunction)p->kernel, p->attrib, p->val);
}
