/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels; see kernel.h. The surprising thing: the runtime hands the driver a CUkernel in the CUfunction parameter, and each of
 * the two has its own set of questions; the wrong set answers CUDA_ERROR_INVALID_HANDLE. So ask one, then the other.
 */
#include "capture/objects/kernel.h"

#include <string.h>
#include "capture/core/calls.h"
#include "capture/objects/code.h"
#include "capture/memory/discover.h"
#include "capture/cuda/cuda-api.h"
#include "capture/memory/effect.h"
#include "capture/objects/ids.h"
#include "capture/objects/map.h"
#include "capture/cuda/nvinfo.h"
#include "capture/cuda/old-code.h"
#include "capture/core/thread.h"

#define PARAMS_MAX 4096 /* 32,764 bytes of parameters at most (CUDA C Programming Guide, "Kernel parameters") */
#define SHORT_MAX 512
#define NAME_MAX_BYTES 32768

/* What the driver says about a handle. */
struct facts {
	const char *name;
	CUfunction function; /* for cuFuncGetAttribute; NULL: none */
	bool is_kernel;
	struct object *module;
	uint32_t ctx;
};

/* hint: what CUPTI calls the kernel of a launch, for drivers before CUDA 12.3; may be NULL. */
static const char *name_of(CUfunction handle, const char *hint, bool *ret_is_kernel)
{
	const char *name = NULL;
	if (cuda.cuKernelGetName && !OWN(cuda.cuKernelGetName(&name, (CUkernel)handle)) && name) {
		*ret_is_kernel = true;
		return name;
	}
	if (cuda.cuFuncGetName && !OWN(cuda.cuFuncGetName(&name, handle)) && name)
		return name;
	return hint ? hint : "?";
}

/* The module or library, introduced when it was loaded before we came. */
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
		struct sbt_cmd cmd = { .kind = SBT_MODULE_LOAD };
		cmd.u.module_load.new_module = o->id;
		cmd.u.module_load.handle = handle;
		cmd.u.module_load.is_library = is_library;
		record_now(t, &cmd, SBT_F_SYNTHETIC);
	}
	spin_unlock(&ids.first_sight);
	return o;
}

static struct facts ask(struct thread *t, struct object *ctx, CUfunction handle)
{
	struct facts f = { .ctx = ctx ? ctx->id : SBT_NO_ID };
	CUmodule module = NULL;
	CUlibrary library = NULL;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	t->loaded_hash = 0;
	/* A stream may be capturing: the loading that we cause must neither be forbidden nor spoil the capture. */
	if (cuda.cuThreadExchangeStreamCaptureMode)
		(void)OWN(cuda.cuThreadExchangeStreamCaptureMode(&mode));
	f.name = name_of(handle, t->call.symbol, &f.is_kernel);
	if (f.is_kernel) {
		f.ctx = SBT_NO_ID;
		/* This is also what makes the driver load the code, so that its hash is known from here on. */
		if (cuda.cuKernelGetFunction)
			(void)OWN(cuda.cuKernelGetFunction(&f.function, (CUkernel)handle));
		if (cuda.cuKernelGetLibrary && !OWN(cuda.cuKernelGetLibrary(&library, (CUkernel)handle)))
			f.module = module_of(t, (uint64_t)(uintptr_t)library, true, SBT_NO_ID);
	} else {
		f.function = handle;
		if (cuda.cuFuncGetModule && !OWN(cuda.cuFuncGetModule(&module, handle)))
			f.module = module_of(t, (uint64_t)(uintptr_t)module, false, f.ctx);
	}
	if (cuda.cuThreadExchangeStreamCaptureMode)
		(void)OWN(cuda.cuThreadExchangeStreamCaptureMode(&mode));
	(void)code_belongs(t, f.module);
	if (discover_watched() && f.module && !f.module->hash)
		old_code_want(f.module, (uint64_t)(uintptr_t)handle, f.is_kernel, ctx);
	return f;
}

/* Offsets and sizes into the thread's scratch; the number of them, or -1 when the driver cannot say. */
static int ask_params(const struct facts *f, CUfunction handle, struct kernel_param *to)
{
	for (unsigned i = 0; i < PARAMS_MAX; i++) {
		size_t offset = 0, size = 0;
		CUresult r = CUDA_ERROR_NOT_SUPPORTED;
		if (f->is_kernel && cuda.cuKernelGetParamInfo)
			r = OWN(cuda.cuKernelGetParamInfo((CUkernel)handle, i, &offset, &size));
		else if (!f->is_kernel && cuda.cuFuncGetParamInfo)
			r = OWN(cuda.cuFuncGetParamInfo(handle, i, &offset, &size));
		if (r == CUDA_ERROR_INVALID_VALUE) /* past the last one */
			return (int)i;
		if (r || offset > CALL_ARGS_MAX || size > CALL_ARGS_MAX - offset)
			return -1;
		to[i] = (struct kernel_param){ (uint32_t)offset, (uint32_t)size };
	}
	return PARAMS_MAX;
}

/* The driver's answer, or the cubin's. */
static int find_params(const struct facts *f, CUfunction handle, struct kernel_param *to)
{
	const int n = ask_params(f, handle, to);
	return n >= 0 ? n : nvinfo_params(f->name, to, PARAMS_MAX);
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

static uint64_t attribute(CUfunction f, CUfunction_attribute a)
{
	int v = 0;
	if (!f || OWN(cuda.cuFuncGetAttribute(&v, a, f)))
		return 0;
	return (uint64_t)v;
}

static void publish_def(struct thread *t, const struct kernel *k, const struct facts *f)
{
	struct sbt_cmd cmd = { .kind = SBT_KERNEL_DEF };
	struct sbt_cmd_kernel_def *d = &cmd.u.kernel_def;
	d->new_kernel = k->id;
	d->module = k->module;
	d->handle = k->handle;
	d->kernel_name = (struct sbt_blob){ k->name, strlen(k->name) };
	d->params = (struct sbt_blob){ k->params, k->nparams * sizeof(struct kernel_param) };
	d->regs = attribute(f->function, CU_FUNC_ATTRIBUTE_NUM_REGS);
	d->static_shared = attribute(f->function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
	d->local_mem = attribute(f->function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
	d->max_threads = attribute(f->function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	d->code_hash = f->module ? f->module->hash : 0;
	record_now(t, &cmd, SBT_F_SYNTHETIC);
}

static struct kernel *new_kernel(const struct facts *f, CUfunction handle, const struct kernel_param *params, int n)
{
	char short_name[SHORT_MAX];
	struct kernel *k = ids_keep(sizeof(*k));
	if (!k)
		return NULL;
	*k = (struct kernel){ .handle = (uint64_t)(uintptr_t)handle, .ctx = f->ctx, .params_known = n >= 0,
		.module = f->module ? f->module->id : SBT_NO_ID, .nparams = n > 0 ? (uint32_t)n : 0 };
	struct kernel_param *keep = k->nparams ? ids_keep(k->nparams * sizeof(*keep)) : NULL;
	if (k->nparams && !keep)
		return NULL;
	for (uint32_t i = 0; i < k->nparams; i++) {
		keep[i] = params[i];
		if (params[i].offset + params[i].size > k->args_size)
			k->args_size = params[i].offset + params[i].size;
	}
	k->params = keep;
	k->name = keep_name(f->name);
	sbt_kernel_short_name(short_name, sizeof(short_name), k->name);
	k->short_name = keep_name(short_name);
	k->collective = effect_of_kernel(k);
	return k;
}

static struct kernel *introduce(struct thread *t, struct object *ctx, CUfunction handle)
{
	/* One at a time, so that the thread whose question made the driver load the code has told the module its hash before another one
	 * publishes a kernel of it. */
	static struct spin asking;
	spin_lock(&asking);
	const struct facts f = ask(t, ctx, handle);
	spin_unlock(&asking);
	/* The argument buffer is free until the launch is gathered. */
	struct kernel_param *scratch = (struct kernel_param *)(void *)t->args;
	_Static_assert(PARAMS_MAX * sizeof(struct kernel_param) <= CALL_ARGS_MAX, "scratch");
	const int n = find_params(&f, handle, scratch);
	spin_lock(&ids.first_sight);
	struct kernel *k = (struct kernel *)(uintptr_t)map_get(&ids.kernels, (uint64_t)(uintptr_t)handle);
	if (!k && (k = new_kernel(&f, handle, scratch, n))) {
		k->id = atomic_fetch_add(&ids.next_kernel, 1);
		publish_def(t, k, &f);
		if (map_put(&ids.kernels, k->handle, (uint64_t)(uintptr_t)k))
			agent_count_lost();
	}
	spin_unlock(&ids.first_sight);
	return k;
}

struct kernel *kernel_get(struct thread *t, struct object *ctx, CUfunction handle)
{
	if (__builtin_expect(t->kernel && t->kernel_handle == handle, 1))
		return t->kernel;
	if (!handle)
		return NULL;
	struct kernel *k = (struct kernel *)(uintptr_t)map_get(&ids.kernels, (uint64_t)(uintptr_t)handle);
	if (__builtin_expect(!k, 0))
		k = introduce(t, ctx, handle);
	t->kernel = k;
	t->kernel_handle = handle;
	return k;
}

static int64_t gather_params(const struct kernel *k, void **params, uint8_t *buf, uint64_t size)
{
	if (!k->params_known || k->args_size + 8 > size)
		return -1;
	/* Gaps between parameters are zero, so that equal launches have equal records. */
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

int64_t kernel_gather(const struct kernel *k, void **params, void **extra, uint8_t *buf, uint64_t size)
{
	if (params)
		return gather_params(k, params, buf, size);
	if (extra)
		return gather_extra(extra, buf, size);
	return 0; /* a kernel without parameters, or a launch that fails */
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
