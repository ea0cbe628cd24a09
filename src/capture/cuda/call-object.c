/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers: contexts, streams, events, waits, modules. A handle leaves the tables when its
 * destruction begins, and enters them when its creation has ended, before anybody else can know it.
 */
#include <cupti.h>
#include <string.h>
#include "capture/cuda/cuda-calls.h"
#include "capture/objects/code.h"
#include "capture/cuda/cuda-api.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/cuda/ptx-beside.h"
#include "capture/core/thread.h"

/* --- contexts --- */

/* Notes that the call made ctx; the command says so. */
static void created_ctx(struct call *c, CUcontext handle, int device, bool primary, uint64_t flags)
{
	struct sbt_cmd_ctx_create *k = &c->cmd.u.ctx_create;
	struct object *o = ids_new_ctx(H(handle), device, primary);
	if (!o) {
		agent_count_lost();
		c->skip = true;
		return;
	}
	k->new_ctx = o->id;
	k->device = (uint64_t)device;
	k->primary = primary;
	k->default_stream = o->default_stream;
	k->handle = H(handle);
	k->ctx_flags = flags;
}

void enter_ctx_create(struct call *c)
{
	c->cmd.u.ctx_create.new_ctx = c->cmd.u.ctx_create.default_stream = SBT_NO_ID;
}

/* A new context is current to the thread. */
static void made_ctx(struct call *c, CUcontext *handle, CUdevice device, unsigned flags)
{
	if (c->cmd.result || !handle)
		return;
	created_ctx(c, *handle, device, false, flags);
	c->t->ctx_known = true;
	c->t->current_ctx = (uint32_t)c->cmd.u.ctx_create.new_ctx;
}

void exit_ctx_create_v2(struct call *c)
{
	const cuCtxCreate_v2_params *p = c->params;
	made_ctx(c, p->pctx, p->dev, p->flags);
}

void exit_ctx_create_v3(struct call *c)
{
	const cuCtxCreate_v3_params *p = c->params;
	made_ctx(c, p->pctx, p->dev, p->flags);
}

void exit_ctx_create_v4(struct call *c)
{
	const cuCtxCreate_v4_params *p = c->params;
	made_ctx(c, p->pctx, p->dev, p->flags);
}

void enter_ctx_destroy(struct call *c)
{
	const cuCtxDestroy_v2_params *p = c->params;
	struct object *o = ids_object(&ids.ctxs, H(p->ctx));
	c->cmd.u.ctx_destroy.dead_ctx = o ? o->id : SBT_NO_ID;
	c->skip = !o;
	if (o)
		ids_drop_ctx(o);
}

/* SetCurrent is often called with the same context: only changes are recorded. */
static void now_current(struct call *c, CUcontext handle)
{
	struct object *o = ids_object(&ids.ctxs, H(handle));
	const uint32_t id = o ? o->id : SBT_NO_ID;
	if (c->cmd.result || (handle && !o) || (c->t->ctx_known && c->t->current_ctx == id)) {
		c->skip = true;
		return;
	}
	c->t->ctx_known = true;
	c->t->current_ctx = id;
	c->cmd.u.ctx_set.new_ctx = id;
}

void enter_ctx_set(struct call *c)
{
}

void exit_ctx_set(struct call *c) /* cuCtxSetCurrent, cuCtxPushCurrent_v2 */
{
	now_current(c, ((const cuCtxSetCurrent_params *)c->params)->ctx);
}

void exit_ctx_pop(struct call *c)
{
	CUcontext now = NULL;
	if (!c->cmd.result && OWN(cuda.cuCtxGetCurrent(&now)))
		c->skip = true;
	else
		now_current(c, now);
}

void exit_primary_retain(struct call *c)
{
	const cuDevicePrimaryCtxRetain_params *p = c->params;
	struct object *o = c->cmd.result || !p->pctx ? NULL : ids_object(&ids.ctxs, H(*p->pctx));
	c->skip = c->cmd.result || !p->pctx || o;
	if (!c->skip)
		created_ctx(c, *p->pctx, p->dev, true, 0);
	if (o) { /* it may have been introduced while it was being made (ids_introduce_ctx()) */
		o->primary = true;
		o->device = p->dev;
	}
}

struct primary_of {
	int device;
	struct object *found;
};

static bool find_primary(void *arg, uint64_t key, uint64_t value)
{
	struct primary_of *a = arg;
	struct object *o = (struct object *)(uintptr_t)value;
	if (o->primary && o->device == a->device)
		a->found = o;
	return a->found != NULL;
}

void enter_primary_release(struct call *c) /* release and reset: dev comes first */
{
	const cuDevicePrimaryCtxRelease_v2_params *p = c->params;
	struct primary_of a = {.device = p->dev};
	map_each(&ids.ctxs, find_primary, &a);
	c->note = H(a.found);
	c->skip = !a.found;
	c->cmd.u.ctx_destroy.dead_ctx = a.found ? a.found->id : SBT_NO_ID;
}

/* The last release ends the context. */
void exit_primary_release(struct call *c)
{
	const cuDevicePrimaryCtxRelease_v2_params *p = c->params;
	unsigned flags;
	int active = 1;
	if (c->skip)
		return;
	if (!c->cmd.result && cuda.cuDevicePrimaryCtxGetState)
		(void)OWN(cuda.cuDevicePrimaryCtxGetState(p->dev, &flags, &active));
	c->skip = active != 0;
	if (!active)
		ids_drop_ctx((struct object *)(uintptr_t)c->note);
}

void exit_primary_reset(struct call *c)
{
	if (!c->skip && !c->cmd.result)
		ids_drop_ctx((struct object *)(uintptr_t)c->note);
}

/* --- streams --- */

void exit_stream_create(struct call *c) /* both: phStream comes first */
{
	const cuStreamCreate_params *p = c->params;
	struct object *o = NULL;
	if (!c->cmd.result && p->phStream)
		o = ids_new_stream(H(*p->phStream), call_ctx_id(c));
	if (!o)
		return;
	c->cmd.u.stream_create.new_stream = o->id;
	c->cmd.u.stream_create.handle = o->handle;
}

void enter_stream_destroy(struct call *c)
{
	const cuStreamDestroy_v2_params *p = c->params;
	call_objects(c, OBJECT_CALL_stream_destroy);
	map_remove(&ids.streams, H(p->hStream));
	atomic_fetch_add(&ids.generation, 1);
}

/* The newer form has the context as an argument. */
void enter_ctx_sync_v2(struct call *c)
{
	const cuCtxSynchronize_v2_params *p = c->params;
	enter_ctx_sync(c);
	struct object *o = p && p->ctx ? ids_object(&ids.ctxs, H(p->ctx)) : NULL;
	if (o)
		c->cmd.ctx = o->id;
}

/* A program that polls asks thousands of times: of consecutive "not ready" answers about one object
 * only the first is recorded. */
static void asked(struct call *c, uint64_t what)
{
	if (c->cmd.result != CUDA_ERROR_NOT_READY)
		c->t->last_query = 0;
	else if (c->t->last_query == what)
		c->skip = true;
	else
		c->t->last_query = what;
}

void exit_stream_query(struct call *c)
{
	asked(c, c->cmd.u.query.stream + 1);
}

void exit_event_query(struct call *c)
{
	asked(c, (c->cmd.u.query.event + 1) << 32);
}

/* --- events --- */

void exit_event_create(struct call *c)
{
	const cuEventCreate_params *p = c->params;
	if (c->cmd.result || !p->phEvent)
		return;
	c->cmd.u.event_create.new_event =
		ids_new_number(&ids.events, &ids.next_event, H(*p->phEvent));
	c->cmd.u.event_create.handle = H(*p->phEvent);
}

void enter_event_destroy(struct call *c)
{
	const cuEventDestroy_v2_params *p = c->params;
	call_objects(c, OBJECT_CALL_event_destroy);
	ids_drop(&ids.events, H(p->hEvent));
}

/* --- modules and libraries --- */

static void loaded(struct call *c, uint64_t handle, bool is_library, const void *image)
{
	struct sbt_cmd_module_load *m = &c->cmd.u.module_load;
	if (c->cmd.result || !handle)
		return;
	struct object *o = ids_new_module(handle, is_library, call_ctx_id(c));
	if (!o) {
		agent_count_lost();
		c->skip = true;
		return;
	}
	/* Under lazy loading the code comes later: then the first KERNEL_DEF has its hash. */
	o->hash = c->t->loaded_hash;
	o->size = c->t->loaded_size;
	m->new_module = o->id;
	m->handle = handle;
	m->is_library = is_library;
	m->code_hash = o->hash;
	m->code_size = o->hash ? o->size : 0;
	m->ptx_hash = m->file.p ? ptx_of_file(c->t, m->file.p, &m->machine_arch)
				: ptx_of_image(c->t, image, &m->machine_arch);
}

static void loading(struct call *c, const char *file)
{
	c->cmd.u.module_load.new_module = SBT_NO_ID;
	if (file)
		c->cmd.u.module_load.file = (struct sbt_blob){file, strnlen(file, 4096)};
}

void enter_module_load_file(struct call *c)
{
	loading(c, ((const cuModuleLoad_params *)c->params)->fname);
}

void enter_module_load(struct call *c) /* data and fatbin */
{
	loading(c, NULL);
}

void exit_module_load(struct call *c) /* all: module comes first */
{
	const cuModuleLoadData_params *p =
		c->params; /* the image comes second, or the file's name */
	loaded(c, p->module ? H(*p->module) : 0, false, p->image);
}

void enter_library_load_file(struct call *c)
{
	const cuLibraryLoadFromFile_params *p = c->params;
	loading(c, p->fileName);
	c->cmd.u.module_load.is_library = 1;
}

void enter_library_load(struct call *c)
{
	loading(c, NULL);
	c->cmd.u.module_load.is_library = 1;
}

void exit_library_load(struct call *c)
{
	const cuLibraryLoadData_params *p = c->params;
	loaded(c, p->library ? H(*p->library) : 0, true, p->code);
}

static bool is_inside(void *arg, uint64_t key, uint64_t value)
{
	return value == (uint64_t)(uintptr_t)arg;
}

static void unload(struct call *c, uint64_t handle)
{
	struct object *o = (struct object *)(uintptr_t)map_remove(&ids.modules, handle);
	if (o && o->is_library)
		map_sweep(&ids.inside, is_inside, o);
	c->cmd.u.module_unload.dead_module = o ? o->id : SBT_NO_ID;
	c->skip = !o;
	if (o)
		kernel_drop_module(o->id);
}

void enter_module_unload(struct call *c)
{
	unload(c, H(((const cuModuleUnload_params *)c->params)->hmod));
}

void enter_library_unload(struct call *c)
{
	unload(c, H(((const cuLibraryUnload_params *)c->params)->library));
}

/* The code that was loaded in this call is this module's. */
static struct object *code_of(struct call *c, uint64_t handle)
{
	struct object *o = ids_object(&ids.modules, handle);
	(void)code_belongs(c->t, o);
	return o;
}

void enter_code(struct call *c) /* calls that may load code, and are not recorded themselves */
{
	c->skip = true;
}

void exit_get_function(struct call *c)
{
	(void)code_of(c, H(((const cuModuleGetFunction_params *)c->params)->hmod));
}

void exit_get_kernel(struct call *c)
{
	(void)code_of(c, H(((const cuLibraryGetKernel_params *)c->params)->library));
}

void exit_get_module(struct call *c)
{
	const cuLibraryGetModule_params *p = c->params;
	(void)code_of(c, H(p->library));
	if (!c->cmd.result && p->pMod)
		ids_module_of_library(H(*p->pMod), H(p->library));
}

/* The code that was loaded in this call belongs to that kernel's library, or to that function's
 * module. */
static void code_of_kernel(struct call *c, CUfunction handle)
{
	CUlibrary library = NULL;
	CUmodule module = NULL;
	if (!c->t->loaded_hash || !handle)
		return;
	if (cuda.cuKernelGetLibrary && !OWN(cuda.cuKernelGetLibrary(&library, (CUkernel)handle)))
		(void)code_of(c, H(library));
	else if (cuda.cuFuncGetModule && !OWN(cuda.cuFuncGetModule(&module, handle)))
		(void)code_of(c, H(module));
}

/* The function will be launched, and no call loaded its module. */
void call_kernel_function(struct call *c, CUkernel kernel, CUfunction function)
{
	CUlibrary library = NULL;
	CUmodule module = NULL;
	code_of_kernel(c, (CUfunction)kernel);
	if (function && cuda.cuKernelGetLibrary && cuda.cuFuncGetModule &&
		!OWN(cuda.cuFuncGetModule(&module, function)) &&
		!OWN(cuda.cuKernelGetLibrary(&library, kernel)))
		ids_module_of_library(H(module), H(library));
}

void exit_kernel_function(struct call *c)
{
	const cuKernelGetFunction_params *p = c->params;
	call_kernel_function(c, p->kernel, c->cmd.result || !p->pFunc ? NULL : *p->pFunc);
}

void exit_kernel_attribute(struct call *c)
{
	code_of_kernel(c, (CUfunction)((const cuKernelGetAttribute_params *)c->params)->kernel);
}

void exit_kernel_cache(struct call *c)
{
	code_of_kernel(c, (CUfunction)((const cuKernelSetCacheConfig_params *)c->params)->kernel);
}

void exit_func_load(struct call *c)
{
	code_of_kernel(c, ((const cuFuncLoad_params *)c->params)->function);
}

void exit_func_attribute(struct call *c)
{
	code_of_kernel(c, ((const cuFuncGetAttribute_params *)c->params)->hfunc);
}

void exit_occupancy(struct call *c) /* all of them that begin with the answer and the function */
{
	code_of_kernel(
		c, ((const cuOccupancyMaxActiveBlocksPerMultiprocessor_params *)c->params)->func);
}

void exit_block_size(struct call *c) /* cuOccupancyMaxPotentialBlockSize, with and without flags */
{
	code_of_kernel(c, ((const cuOccupancyMaxPotentialBlockSize_params *)c->params)->func);
}

static void global(
	struct call *c, uint64_t handle, const CUdeviceptr *dptr, size_t bytes, const char *name)
{
	struct sbt_cmd_global_def *g = &c->cmd.u.global_def;
	struct object *o = code_of(c, handle);
	g->module = o ? o->id : SBT_NO_ID;
	g->addr = !c->cmd.result && dptr ? *dptr : 0;
	g->size = c->cmd.result ? 0 : bytes;
	if (name)
		g->global_name = (struct sbt_blob){name, strnlen(name, 32768)};
}

void enter_global(struct call *c)
{
	c->cmd.u.global_def.module = SBT_NO_ID;
}

/* Callers may ask for the address only (cuFFT does); copies need the size, too. */
void exit_module_global(struct call *c)
{
	const cuModuleGetGlobal_v2_params *p = c->params;
	size_t size = 0;

	if (p->bytes)
		size = *p->bytes;
	else if (!c->cmd.result && cuda.cuModuleGetGlobal_v2)
		(void)OWN(cuda.cuModuleGetGlobal_v2(NULL, &size, p->hmod, p->name));
	global(c, H(p->hmod), p->dptr, size, p->name);
}

void exit_library_global(struct call *c) /* cuLibraryGetGlobal, cuLibraryGetManaged */
{
	const cuLibraryGetGlobal_params *p = c->params;
	CUdeviceptr addr;
	size_t size = 0;

	if (p->bytes)
		size = *p->bytes;
	else if (!c->cmd.result && cuda.cuLibraryGetGlobal)
		(void)OWN(cuda.cuLibraryGetGlobal(&addr, &size, p->library, p->name));
	global(c, H(p->library), p->dptr, size, p->name);
}
