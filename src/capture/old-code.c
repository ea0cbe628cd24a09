/* SPDX-License-Identifier: Apache-2.0
 *
 * Old code; see old-code.h. Work comes from threads that launch and is done by the agent's own: a context takes a tenth of a second to make.
 */
#include "capture/old-code.h"

#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include "capture/calls.h"
#include "capture/code.h"
#include "capture/device.h"
#include "capture/driver.h"
#include "capture/globals.h"
#include "capture/ids.h"
#include "capture/kernel.h"
#include "capture/late.h"
#include "capture/thread.h"

#define WANTS_MAX 4096u

struct want {
	struct object *module;
	uint64_t handle;
	bool is_kernel;
	struct object *ctx;
};

static struct {
	struct spin lock;
	struct want *want; /* WANTS_MAX */
	uint32_t n;
	_Atomic uint32_t waiting; /* n, and what is being looked for */
} old;

/* ---- asking -------------------------------------------------------------------------------------------------------------- */

void old_code_want(struct object *module, uint64_t handle, bool is_kernel, struct object *ctx)
{
	spin_lock(&old.lock);
	if (!old.want)
		old.want = agent_map(WANTS_MAX * sizeof(*old.want));
	bool new = old.want && old.n < WANTS_MAX && !module->sought;
	if (new) {
		module->sought = true;
		old.want[old.n++] = (struct want){ module, handle, is_kernel, ctx };
		atomic_fetch_add(&old.waiting, 1);
	}
	spin_unlock(&old.lock);
	if (new)
		late_wake();
}

bool old_code_waiting(void)
{
	return atomic_load(&old.waiting) != 0;
}

static bool take(struct want *ret)
{
	spin_lock(&old.lock);
	const bool any = old.n > 0;
	if (any)
		*ret = old.want[--old.n];
	spin_unlock(&old.lock);
	return any;
}

/* ---- answers --------------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct want *w)
{
	const char *name = NULL;
	if (w->is_kernel ? !driver.cuKernelGetName || OWN(driver.cuKernelGetName(&name, (CUkernel)w->handle)) :
			   !driver.cuFuncGetName || OWN(driver.cuFuncGetName(&name, (CUfunction)w->handle)))
		return "?";
	return name ? name : "?";
}

static void tell_unknown(struct thread *t, const struct want *w, const char *why)
{
	char text[TSDB_TEXT_MAX];
	struct sbt_cmd cmd = { .kind = SBT_ATTACH };
	const int n = snprintf(text, sizeof(text), "the code of module %u (kernel %.100s) is not known: %s", w->module->id, name_of(w), why);
	cmd.u.attach.what = SBT_ATTACH_UNKNOWN;
	cmd.u.attach.module = w->module->id;
	cmd.u.attach.text = (struct sbt_blob){ text, n < (int)sizeof(text) ? (uint64_t)n : sizeof(text) - 1 };
	record_in(t, &cmd, SBT_F_SYNTHETIC, SBT_NO_ID);
}

/* ---- libraries --------------------------------------------------------------------------------------------------------------- */

/* A context of our own, current to this thread; NULL: there is no memory for one. */
static CUcontext make_context(int device)
{
	CUcontext ctx = NULL;
	if (!driver.ctx_create_v2 || !driver.cuCtxDestroy_v2 || OWN(driver.ctx_create_v2(&ctx, 0, device)))
		return NULL;
	return ctx;
}

/* Asking for the function makes the driver load the code into the context, which the resource callback sees. */
static const char *find_library(struct thread *t, const struct want *w)
{
	CUfunction f;
	const CUresult r = driver.cuKernelGetFunction ? OWN(driver.cuKernelGetFunction(&f, (CUkernel)w->handle)) : CUDA_ERROR_NOT_SUPPORTED;
	if (r)
		return "the driver would not load it once more";
	if (!t->loaded_hash)
		return "the driver loaded it once more and did not show it";
	code_belongs(t, w->module);
	return NULL;
}

static void find(struct thread *t, const struct want *w, CUcontext own)
{
	const char *why = "the bytes that it was loaded from are not looked for";
	t->loaded_hash = 0;
	if (w->module->hash)
		return;
	if (w->is_kernel)
		why = own ? find_library(t, w) : "there is no memory on the device for a context to load it into";
	if (why)
		tell_unknown(t, w, why);
	else
		globals_withdraw(t, w->module);
}

/* ---- the thread -------------------------------------------------------------------------------------------------------------- */

void old_code_find(struct thread *t)
{
	struct want w;
	CUcontext own = NULL;
	int device = -1;
	while (agent_live() && take(&w)) {
		const int wanted = w.ctx ? w.ctx->device : 0;
		if (own && wanted != device) {
			(void)OWN(driver.cuCtxDestroy_v2(own));
			own = NULL;
		}
		if (!own)
			own = make_context(wanted);
		device = wanted;
		find(t, &w, own);
		atomic_fetch_sub(&old.waiting, 1);
	}
	if (own)
		(void)OWN(driver.cuCtxDestroy_v2(own));
}

void old_code_forget(void)
{
	spin_lock(&old.lock);
	atomic_fetch_sub(&old.waiting, old.n);
	old.n = 0;
	spin_unlock(&old.lock);
}
