/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb_soft_debug: the microscope as libcuda.so.1 offers it (replay/soft-debug.h). It knows nothing of streams and contexts: a launch under
 * the microscope is not in flight as far as the driver knows, and its fault ends no context.
 */
#include "softgpu/driver.h"
#include "softgpu/micro.h"

#include <stdio.h>
#include <string.h>

static const char *start(const struct soft_start *l, struct soft_session **ret, struct soft_stop *stop)
{
	static char sentence[160];
	unsigned long long threads = (unsigned long long)l->block[0] * l->block[1] * l->block[2];
	unsigned long long blocks = (unsigned long long)l->grid[0] * l->grid[1];
	struct ptx_launch launch = {.dynamic_shared = l->shared, .params = l->params, .cooperative = l->cooperative != 0,
		.first_block = l->first_block};
	const struct module *m;
	const char *why;
	const struct func *f;

	*ret = NULL;
	if (!obj_alive(OBJ_FUNC, l->function))
		return "that is no function of the software GPU";
	f = l->function;
	m = f->module;
	if (!threads || threads > DEV_MAX_THREADS || !blocks || !l->grid[2] || blocks > (1ull << 40) / l->grid[2] ||
		l->shared > DEV_MAX_SHARED_OPTIN)
		return "a launch of that shape is not possible";
	if (l->nparams < f->info.param_bytes || l->first_block >= blocks * l->grid[2]) {
		snprintf(sentence, sizeof(sentence), "kernel %.80s takes %zu bytes of parameters, %llu were given", f->info.name,
			f->info.param_bytes, (unsigned long long)l->nparams);
		return sentence;
	}
	if (l->cooperative && blocks * l->grid[2] > (unsigned)func_blocks_resident(f, (unsigned)threads, l->shared))
		return "a cooperative launch with so many blocks is not possible";
	launch.fn = f->fn;
	for (unsigned k = 0; k < 3; k++) {
		launch.grid[k] = l->grid[k];
		launch.block[k] = l->block[k];
	}
	if (func_cluster(f, l->cluster[0] ? l->cluster : NULL, launch.grid, launch.cluster) != CUDA_SUCCESS)
		return "a launch with such clusters is not possible";
	if (launch.cooperative)
		launch.grid_workspace = workspace_get();
	why = micro_start(&launch, m->text ? m->text : "", m->text ? m->text_size : 0, l->turns, l->nturns, ret, stop);
	if (why && launch.grid_workspace)
		workspace_put(launch.grid_workspace);
	return why;
}

static void end(struct soft_session *s)
{
	uint64_t workspace = s->l.grid_workspace;

	micro_end(s);
	if (workspace)
		workspace_put(workspace);
}

SOFT_EXPORT const struct soft_debug *tsdb_soft_debug(void);
const struct soft_debug *tsdb_soft_debug(void)
{
	static const struct soft_debug table = {SOFT_DEBUG_VERSION, sizeof(table), start, micro_go, micro_points, micro_focus, micro_ask,
		micro_turns, end};

	return &table;
}
