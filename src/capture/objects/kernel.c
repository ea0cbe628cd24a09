/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels; see kernel.h.
 */
#include "capture/objects/kernel.h"

#include <string.h>
#include "capture/core/calls.h"
#include "capture/objects/code.h"
#include "capture/memory/discover.h"
#include "capture/core/driver.h"
#include "capture/memory/effect.h"
#include "capture/objects/ids.h"
#include "capture/objects/map.h"
#include "capture/core/thread.h"
#include "sbt/kernel-name.h"

#define PARAMS_MAX 4096 /* 32,764 bytes of parameters at most */
#define SHORT_MAX 512
#define NAME_MAX_BYTES 32768

/* The driver's facts about a handle, and what the agent knows of it. */
struct facts {
	struct driver_kernel said;
	struct object *module;
	uint32_t ctx;
};

/* The module or library; introduced if it was loaded before the agent came. */
static struct object *module_of(struct thread *t, uint64_t handle, bool is_library, uint32_t ctx)
{
	struct object *o = ids_object(&ids.modules, handle);
	if (!o && !is_library)
		o = ids_object(&ids.inside, handle);
	if (o || !handle)
		return o;
	spin_lock(&ids.first_sight);
	o = ids_object(&ids.modules, handle);
	if (!o && (o = ids_new_module(handle, is_library, ctx))) {
		struct sbt_cmd cmd = {.kind = SBT_MODULE_LOAD};
		cmd.u.module_load.new_module = o->id;
		cmd.u.module_load.handle = handle;
		cmd.u.module_load.is_library = is_library;
		record_now(t, &cmd, SBT_F_SYNTHETIC);
	}
	spin_unlock(&ids.first_sight);
	return o;
}

static struct facts ask(struct thread *t, struct object *ctx, uint64_t handle)
{
	struct facts f = {.ctx = ctx ? ctx->id : SBT_NO_ID};
	t->loaded_hash = 0;
	/* A stream may be capturing: the loading that this causes must neither be forbidden nor
	 * invalidate the capture. */
	const unsigned mode = driver->relax();
	driver->kernel_facts(handle, t->call.symbol, &f.said);
	driver->restrict_again(mode);
	if (f.said.is_kernel)
		f.ctx = SBT_NO_ID;
	f.module = f.said.module ? module_of(t, f.said.module, f.said.is_kernel, f.ctx) : NULL;
	(void)code_belongs(t, f.module);
	if (discover_watched() && f.module && !f.module->hash)
		driver->old_code_want(f.module, handle, f.said.is_kernel, ctx);
	return f;
}

static const char *keep_name(const char *s)
{
	size_t n = strlen(s);
	if (n > NAME_MAX_BYTES)
		n = NAME_MAX_BYTES;
	char *copy = ids_keep(n + 1);
	if (!copy)
		return "?";
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

static void publish_def(struct thread *t, const struct kernel *k, const struct facts *f)
{
	struct sbt_cmd cmd = {.kind = SBT_KERNEL_DEF};
	struct sbt_cmd_kernel_def *d = &cmd.u.kernel_def;
	struct driver_numbers numbers = {0};
	driver->kernel_numbers(&f->said, &numbers);
	d->new_kernel = k->id;
	d->module = k->module;
	d->handle = k->handle;
	d->kernel_name = (struct sbt_blob){k->name, strlen(k->name)};
	d->params = (struct sbt_blob){k->params, k->nparams * sizeof(struct kernel_param)};
	d->regs = numbers.regs;
	d->static_shared = numbers.static_shared;
	d->local_mem = numbers.local_mem;
	d->max_threads = numbers.max_threads;
	d->code_hash = f->module ? f->module->hash : 0;
	record_now(t, &cmd, SBT_F_SYNTHETIC);
}

static bool is_dense(const struct kernel *k)
{
	uint32_t end = 0;
	for (uint32_t i = 0; i < k->nparams; i++) {
		if (k->params[i].offset != end)
			return false;
		end += k->params[i].size;
	}
	return true;
}

static struct kernel *new_kernel(
	const struct facts *f, uint64_t handle, const struct kernel_param *params, int n)
{
	char short_name[SHORT_MAX];
	struct kernel *k = ids_keep(sizeof(*k));
	if (!k)
		return NULL;
	*k = (struct kernel){.handle = handle,
		.ctx = f->ctx,
		.params_known = n >= 0,
		.module = f->module ? f->module->id : SBT_NO_ID,
		.nparams = n > 0 ? (uint32_t)n : 0};
	struct kernel_param *keep = k->nparams ? ids_keep(k->nparams * sizeof(*keep)) : NULL;
	if (k->nparams && !keep)
		return NULL;
	for (uint32_t i = 0; i < k->nparams; i++) {
		keep[i] = params[i];
		if (params[i].offset + params[i].size > k->args_size)
			k->args_size = params[i].offset + params[i].size;
	}
	k->params = keep;
	k->dense = is_dense(k);
	k->name = keep_name(f->said.name);
	sbt_kernel_short_name(short_name, sizeof(short_name), k->name);
	k->short_name = keep_name(short_name);
	k->collective = effect_of_kernel(k);
	return k;
}

/* One thread at a time: the thread whose question makes the driver load the code sets the module's
 * hash before another one publishes a kernel of it. */
static struct spin asking;

struct object *kernel_module(
	struct thread *t, struct object *ctx, uint64_t handle, const void *code, size_t size)
{
	spin_lock(&asking);
	struct object *o = module_of(t, handle, false, ctx ? ctx->id : SBT_NO_ID);
	if (o && !o->hash) {
		code_loaded(t, code, size);
		(void)code_belongs(t, o);
	}
	spin_unlock(&asking);
	return o;
}

static struct kernel *introduce(struct thread *t, struct object *ctx, uint64_t handle)
{
	spin_lock(&asking);
	const struct facts f = ask(t, ctx, handle);
	spin_unlock(&asking);
	/* The argument buffer is not used before the launch is gathered. */
	struct kernel_param *scratch = (struct kernel_param *)(void *)t->args;
	_Static_assert(PARAMS_MAX * sizeof(struct kernel_param) <= CALL_ARGS_MAX, "scratch");
	const int n = driver->kernel_params(handle, &f.said, scratch, PARAMS_MAX);
	spin_lock(&ids.first_sight);
	struct kernel *k = (struct kernel *)(uintptr_t)map_get(&ids.kernels, handle);
	if (!k && (k = new_kernel(&f, handle, scratch, n))) {
		k->id = atomic_fetch_add(&ids.next_kernel, 1);
		publish_def(t, k, &f);
		if (map_put(&ids.kernels, k->handle, (uint64_t)(uintptr_t)k))
			agent_count_lost();
	}
	spin_unlock(&ids.first_sight);
	return k;
}

struct kernel *kernel_get(struct thread *t, struct object *ctx, uint64_t handle)
{
	if (__builtin_expect(t->kernel && t->kernel_handle == handle, 1))
		return t->kernel;
	if (!handle)
		return NULL;
	struct kernel *k = (struct kernel *)(uintptr_t)map_get(&ids.kernels, handle);
	if (__builtin_expect(!k, 0))
		k = introduce(t, ctx, handle);
	t->kernel = k;
	t->kernel_handle = handle;
	return k;
}

int64_t kernel_gather(const struct kernel *k, void **params, uint8_t *buf, uint64_t size)
{
	if (!params)
		return 0; /* a kernel without parameters, or a launch that fails */
	if (!k->params_known || k->args_size + 8 > size)
		return -1;
	/* Gaps between parameters are zero, so that equal launches have equal records. */
	if (!k->dense)
		memset(buf, 0, (k->args_size + 7) & ~7u);
	for (uint32_t i = 0; i < k->nparams; i++) {
		uint8_t *to = buf + k->params[i].offset;
		const void *from = params[i];
		if (!from)
			return -1;
		if (k->params[i].size == 8)
			memcpy(to, from, 8);
		else if (k->params[i].size == 4)
			memcpy(to, from, 4);
		else
			memcpy(to, from, k->params[i].size);
	}
	return k->args_size;
}

static bool of_module(void *arg, uint64_t key, uint64_t value)
{
	return ((const struct kernel *)(uintptr_t)value)->module == *(const uint32_t *)arg;
}

void kernel_drop_module(uint32_t module)
{
	map_sweep(&ids.kernels, of_module, &module);
	atomic_fetch_add(&ids.generation, 1);
}
