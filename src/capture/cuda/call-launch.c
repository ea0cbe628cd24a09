/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: launches.
 */
#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/cuda-calls.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/cuda/launch-shape.h"
#include "capture/core/thread.h"

/* (key, value) pairs, ended by CU_LAUNCH_PARAM_END: source cuLaunchKernel, CUDA driver API. */
static int64_t gather_extra(void **extra, uint8_t *buf, uint64_t size)
{
	const void *from = NULL;
	const size_t *n = NULL;
	for (unsigned i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			from = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			n = extra[i + 1];
	}
	if (!from || !n)
		return 0;
	if (*n > size)
		return -1;
	memcpy(buf, from, *n);
	return (int64_t)*n;
}

int64_t launch_gather(
	const struct kernel *k, void **params, void **extra, uint8_t *buf, uint64_t size)
{
	return !params && extra ? gather_extra(extra, buf, size)
				: kernel_gather(k, params, buf, size);
}

static void launch(struct call *c, CUfunction f, CUstream stream, void **params, void **extra)
{
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	c->kernel = thread_kernel(c->t, H(f));
	if (__builtin_expect(!c->kernel, 0))
		c->kernel = kernel_get(c->t, c->ctx, H(f));
	l->stream = call_stream(c, H(stream));
	l->kernel = c->kernel ? c->kernel->id : SBT_NO_ID;
	if (!c->kernel)
		return;
	const int64_t n = launch_gather(c->kernel, params, extra, c->t->args, sizeof(c->t->args));
	if (n >= 0)
		l->args = (struct sbt_blob){c->t->args, (uint64_t)n};
	else
		record_unreplayable(
			c->t, "kernel arguments (the driver does not tell their sizes)");
}

void enter_launch(struct call *c)
{
	const cuLaunchKernel_params *p = c->params;
	launch(c, p->f, p->hStream, p->kernelParams, p->extra);
	LAUNCH_SHAPE(&c->cmd.u.launch, p);
}

void enter_launch_cooperative(struct call *c)
{
	const cuLaunchCooperativeKernel_params *p = c->params;
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	launch(c, p->f, p->hStream, p->kernelParams, NULL);
	LAUNCH_SHAPE(l, p);
	l->cooperative = 1;
}

/* Returns 0 if the agent does not know the event. */
static uint64_t event_plus_one(struct call *c, CUevent event)
{
	const uint32_t id = ids_event(c->t, H(event));
	return id == SBT_NO_ID ? 0 : (uint64_t)id + 1;
}

/* Notes an event that the launch records when it lets others begin, not when it has ended. */
static void launch_event(struct call *c, const CUlaunchAttribute *a)
{
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
		l->trigger_event = event_plus_one(c, a->value.programmaticEvent.event);
		l->trigger_at_start = a->value.programmaticEvent.triggerAtBlockStart != 0;
	}
	if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
		l->begun_event = event_plus_one(c, a->value.launchCompletionEvent.event);
}

void enter_launch_ex(struct call *c)
{
	const cuLaunchKernelEx_params *p = c->params;
	const CUlaunchConfig *g = p->config;
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	launch(c, p->f, g ? g->hStream : NULL, p->kernelParams, p->extra);
	if (!g)
		return;
	LAUNCH_SHAPE(l, g);
	for (unsigned i = 0; g->attrs && i < g->numAttrs; i++) {
		const CUlaunchAttribute *a = &g->attrs[i];
		if ((unsigned)a->id < 64 && launch_attribute_counts(a->id, &a->value))
			l->launch_attrs |= 1ull << a->id;
		launch_attribute(l, a->id, &a->value);
		launch_event(c, a);
	}
}
