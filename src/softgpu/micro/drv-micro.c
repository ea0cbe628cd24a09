/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb_soft_debug: the microscope as libcuda.so.1 offers it (replayer/soft-debug.h). It knows
 * nothing of streams and contexts: a launch under the microscope is not in flight as far as the
 * driver knows, and its fault ends no context.
 */
#include "softgpu/driver/drv.h"
#include "softgpu/micro/micro.h"

#include <stdio.h>
#include <string.h>

#define BLOCKS_MAX (1u << 28)

static const char *start(
	const struct soft_start *l, struct soft_session **ret, struct soft_stop *stop)
{
	static char sentence[200];
	uint64_t blocks;
	struct ptx_launch launch = {.dynamic_shared = l->shared,
		.params = l->params,
		.cooperative = l->cooperative != 0,
		.first_block = l->first_block};
	const struct module *m;
	const char *why;
	const struct func *f;

	*ret = NULL;
	if (!obj_alive(OBJ_FUNC, l->function))
		return "that is no function of the software GPU";
	f = l->function;
	m = f->module;
	if (func_shape(f, l->grid, l->block, l->shared, l->cooperative) != CUDA_SUCCESS)
		return "a launch of that shape is not possible";
	blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	if (blocks > BLOCKS_MAX)
		return "a launch of more than 2^28 blocks is too large to look into: each takes memory";
	if (l->first_block >= blocks)
		return "that block is not in the grid";
	if (l->nparams < f->info.param_bytes) {
		snprintf(sentence, sizeof(sentence),
			"kernel %.80s takes %zu bytes of parameters, %llu were given", f->info.name,
			f->info.param_bytes, (unsigned long long)l->nparams);
		return sentence;
	}
	launch.fn = f->fn;
	for (unsigned k = 0; k < 3; k++) {
		launch.grid[k] = l->grid[k];
		launch.block[k] = l->block[k];
	}
	if (func_cluster(f, l->cluster[0] ? l->cluster : NULL, launch.grid, launch.cluster) !=
		CUDA_SUCCESS)
		return "a launch with such clusters is not possible";
	if (launch.cooperative)
		launch.grid_workspace = workspace_get();
	why = micro_start(&launch, m->text ? m->text : "", m->text ? m->text_size : 0, l->turns,
		l->nturns, ret, stop);
	if (why && launch.grid_workspace)
		workspace_put(launch.grid_workspace);
	return why;
}

static void end(struct soft_session *s)
{
	uint64_t workspace = ptx_micro_of(s)->l.grid_workspace;

	micro_end(s);
	if (workspace)
		workspace_put(workspace);
}

SOFT_EXPORT const struct soft_debug *tsdb_soft_debug(void);
const struct soft_debug *tsdb_soft_debug(void)
{
	static const struct soft_debug table = {SOFT_DEBUG_VERSION, sizeof(table), start, micro_go,
		NULL, micro_points, micro_focus, micro_ask, micro_turns, end, micro_put};

	return &table;
}
