/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of saved schedules that are held while programmatic dependent launches behind them go as far as they can (SBT_ATTR_HELD). The software
 * GPU holds them itself. For a GPU the kernel's PTX is changed so that the kernel does (ptx-hold.h), and loaded beside the code that was
 * recorded: that needs PTX, and a module without variables, since a second copy of the code has variables of its own.
 */
#include "replay/ptx-hold.h"
#include "replay/replayer-int.h"

static bool has_variables(const struct rp *rp, const struct rkernel *k)
{
	for (size_t i = 0; i < rp->objects.nglobals; i++)
		if (rp->objects.globals[i].module == k->module)
			return true;
	return false;
}

static struct err *cannot(struct rp *rp, const struct rkernel *k, const char *why)
{
	return rp_fail(rp, REPLAYER_E_REFUSED, rp->current, "#%llu %s cannot be held on this GPU: %s", (unsigned long long)rp->current, k->name, why);
}

static struct err *load(struct rp *rp, struct rkernel *k, CUmodule *ret)
{
	const uint64_t hash = code_ptx(rp, k);
	struct buf text = BUF_INIT, held = BUF_INIT;
	bool is_ptx;
	struct err *e;

	if (!hash)
		return cannot(rp, k, "the trace has only machine code of it");
	if (has_variables(rp, k))
		return cannot(rp, k, "its module has variables, which a second copy of its code would not share");
	e = sbt_reader_code(rp->trace, hash, &text, &is_ptx);
	if (!e && !ptx_hold(&held, (const char *)text.data, text.len, k->name))
		e = cannot(rp, k, "its PTX has no such kernel");
	watchdog_on(rp, 0);
	if (!e)
		e = rp_cu(rp, rp->d.cuModuleLoadData(ret, held.data), "cuModuleLoadData");
	buf_free(&text);
	buf_free(&held);
	return e;
}

struct err *held_launch(struct rp *rp, const struct sbt_cmd_launch *u, CUfunction *f)
{
	struct rkernel *k = objects_kernel(rp, u->kernel);
	CUmodule module;

	if (rp->watch.soft) {
		rp->watch.soft->hold();
		return NULL;
	}
	if (!k->held[rp->devices.now]) {
		TRY(load(rp, k, &module));
		CU(rp, cuModuleGetFunction, &k->held[rp->devices.now], module, k->name);
	}
	*f = k->held[rp->devices.now];
	if (u->shared > 48u << 10)
		CU(rp, cuFuncSetAttribute, *f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)u->shared);
	if (u->cluster_x * u->cluster_y * u->cluster_z > 8)
		CU(rp, cuFuncSetAttribute, *f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
	return NULL;
}
