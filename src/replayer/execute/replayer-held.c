/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds launches of saved schedules while programmatic dependent launches behind them go as far as
 * they can (SBT_ATTR_HELD). The software GPU holds them itself. For a GPU the kernel's PTX is
 * changed so that the kernel holds itself (ptx-hold.h), and loaded beside the recorded code. That
 * needs PTX, and a module without variables, since a second copy of the code has variables of its
 * own.
 */
#include "gpucode/ptx-hold.h"
#include "replayer/execute/replayer-held.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-watchdog.h"

static bool has_variables(const struct rp *rp, const struct rkernel *k)
{
	for (size_t i = 0; i < rp->objects.nglobals; i++)
		if (rp->objects.globals[i].module == k->module)
			return true;
	return false;
}

static struct err *cannot(struct rp *rp, const struct rkernel *k, const char *why)
{
	return rp_fail(rp, REPLAYER_E_REFUSED, rp->current,
		"#%llu %s cannot be held on this GPU: %s", (unsigned long long)rp->current, k->name,
		why);
}

static struct err *load(struct rp *rp, struct rkernel *k, struct gpu_module **ret)
{
	const uint64_t hash = code_ptx(rp, k);
	struct buf text = BUF_INIT, held = BUF_INIT;
	enum code_kind kind;
	struct err *e;

	if (!hash)
		return cannot(rp, k, "the trace has only machine code of it");
	if (has_variables(rp, k))
		return cannot(rp, k,
			"its module has variables, which a second copy of its code would not share");
	e = sbt_reader_code(rp->trace, hash, &text, &kind);
	if (!e && !ptx_hold(&held, (const char *)text.data, text.len, k->name))
		e = cannot(rp, k, "its PTX has no such kernel");
	watchdog_on(rp, 0);
	if (!e)
		e = rp_gpu(rp, rp->gpu->code_load(ret, held.data, held.len));
	buf_free(&text);
	buf_free(&held);
	return e;
}

/* Sets the function attributes of the changed code: a copy of the code has attributes of its
 * own. */
static struct err *allow(struct rp *rp, const struct sbt_cmd_launch *u, struct gpu_kernel *f)
{
	if (u->shared > 48u << 10)
		GPU(rp, kernel_max_shared, f, (int)u->shared);
	if (u->cluster_x * u->cluster_y * u->cluster_z > 8)
		GPU(rp, kernel_any_cluster, f);
	return NULL;
}

struct err *held_launch(struct rp *rp, const struct sbt_cmd_launch *u, struct gpu_kernel **f)
{
	struct rkernel *k = objects_kernel(rp, u->kernel);
	struct gpu_module *module;

	if (rp->watch.soft) {
		rp->watch.soft->hold();
		return NULL;
	}
	if (!k->held[rp->devices.now]) {
		TRY(load(rp, k, &module));
		GPU(rp, code_kernel, &k->held[rp->devices.now], module, k->name);
	}
	*f = k->held[rp->devices.now];
	return allow(rp, u, *f);
}

/* Makes the kernel that triggers. If that fails, the kernel stays as it is; the schedule then shows
 * less. */
static struct err *make_passing(struct rp *rp, struct rkernel *k)
{
	const unsigned now = rp->devices.now;
	const uint64_t hash = code_ptx(rp, k);
	struct buf text = BUF_INIT, with = BUF_INIT;
	struct err *e = NULL;
	struct gpu_module *module;
	enum code_kind kind;

	k->not_passing |= 1u << now;
	if (hash && !has_variables(rp, k))
		e = sbt_reader_code(rp->trace, hash, &text, &kind);
	if (!e && text.len && ptx_trigger_last(&with, (const char *)text.data, text.len, k->name)) {
		watchdog_on(rp, 0);
		if (!rp->gpu->code_load(&module, with.data, with.len).status &&
			!rp->gpu->code_kernel(&k->passing[now], module, k->name).status)
			k->not_passing &= ~(1u << now);
	}
	buf_free(&text);
	buf_free(&with);
	return e;
}

/* On an H200 a launch behind one that never triggers was never seen to begin before earlier
 * launches had ended: the blocks of the one in front have ended, but it is not complete. With a
 * trigger at its end it does not have to be. */
struct err *held_passed(struct rp *rp, const struct sbt_cmd_launch *u, struct gpu_kernel **f)
{
	struct rkernel *k = objects_kernel(rp, u->kernel);
	const unsigned now = rp->devices.now;

	if (rp->watch.soft)
		return NULL;
	if (!k->passing[now] && !(k->not_passing >> now & 1))
		TRY(make_passing(rp, k));
	if (!k->passing[now])
		return NULL;
	*f = k->passing[now];
	return allow(rp, u, *f);
}
