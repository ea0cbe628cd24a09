/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules: code images (drv-image.c) turned into functions and variables of one context.
 */
#include "softgpu/driver/drv.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_SIZE 1024

/* --- JIT options --- */

/* Sizes go back into the option value slots, as the vendor's driver does. */
static void jit_options(struct jit_log *log, unsigned n, const CUjit_option *options, void **values)
{
	unsigned i;

	memset(log, 0, sizeof(*log));
	for (i = 0; options && values && i < n; i++) {
		switch (options[i]) {
		case CU_JIT_ERROR_LOG_BUFFER:
			log->error = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			log->error_size = (unsigned)(uintptr_t)values[i];
			log->error_used = &values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER:
			log->info = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			log->info_size = (unsigned)(uintptr_t)values[i];
			log->info_used = &values[i];
			break;
		default: /* how to optimise: nothing to do with it here */
			break;
		}
	}
}

static void jit_finish(struct jit_log *log, const char *error)
{
	if (log->error && log->error_size)
		snprintf(log->error, log->error_size, "%s", error);
	if (log->info && log->info_size)
		log->info[0] = '\0';
	if (log->error_used)
		*log->error_used = (void *)(log->error ? strnlen(log->error, log->error_size) : 0);
	if (log->info_used)
		*log->info_used = NULL;
}

void jit_log_error(struct jit_log *log, const char *why)
{
	jit_finish(log, why);
}

void jit_log_init(struct jit_log *log, unsigned n, const CUjit_option *options, void **values)
{
	jit_options(log, n, options, values);
}

CUresult ptx_failure(void)
{
	return errno == ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

CUresult ptx_from_text(const char *text, size_t size, struct jit_log *log, struct ptx_module **ret)
{
	char message[LOG_SIZE] = "";
	CUresult r;

	*ret = ptx_load(text, size, message, sizeof(message));
	r = *ret ? CUDA_SUCCESS : ptx_failure();
	if (log)
		jit_finish(log, message);
	if (r)
		drv_say("PTX: %s", message);
	return r;
}

/* --- making a module --- */

static void unmake_globals(struct module *m)
{
	unsigned i;

	for (i = 0; i < m->nglobals; i++)
		mem_free(m->globals[i].addr);
	free(m->globals);
}

static void *place_global(void *arg, unsigned i, const struct ptx_var *v)
{
	struct module *m = arg;
	const struct mem_range *r = mem_alloc_on(
		(unsigned)m->ctx->dev, MEM_MODULE, v->size ? v->size : 1, v->align, m->ctx->uid);

	if (!r)
		return NULL;
	m->globals[m->nglobals++] = (struct global){v->name, r->start, v->size, v->visible};
	mem_zero(r); /* "initialized to zero by default": PTX ISA, 5.4.4 */
	mem_set_flags(r, 0, v->is_const);
	return (void *)r->start;
}

static CUresult make_globals(struct module *m)
{
	char message[LOG_SIZE] = "";
	struct ptx_var v;
	unsigned n = 0;

	while (ptx_var(m->ptx, n, &v))
		n++;
	m->globals = calloc(n + 1, sizeof(*m->globals));
	if (!m->globals)
		return CUDA_ERROR_OUT_OF_MEMORY;
	switch (ptx_link(m->ptx, place_global, m, message, sizeof(message))) {
	case PTX_LINKED:
		return CUDA_SUCCESS;
	case PTX_LINK_EXTERN:
		drv_say("module: %s", message);
		return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
	default:
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
}

static CUresult make_functions(struct module *m)
{
	unsigned n = 0;

	while (ptx_kernel(m->ptx, n))
		n++;
	m->funcs = calloc(n + 1, sizeof(struct func *));
	if (!m->funcs)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; m->nfuncs < n; m->nfuncs++) {
		struct func *f = obj_new(OBJ_FUNC);

		if (!f)
			return CUDA_ERROR_OUT_OF_MEMORY;
		f->module = m;
		f->fn = ptx_kernel(m->ptx, m->nfuncs);
		ptx_function_info(f->fn, &f->info);
		func_attrs_init(&f->attrs);
		if (m->library && m->nfuncs < m->library->nkernels)
			f->kernel = m->library->kernels[m->nfuncs];
		m->funcs[m->nfuncs] = f;
	}
	return CUDA_SUCCESS;
}

static void raise_module(struct module *m, enum soft_resource_kind kind)
{
	drv_raise(&(struct soft_resource){
		.kind = kind,
		.ctx = (CUcontext)m->ctx,
		.ctx_uid = m->ctx->uid,
		.module_id = m->id,
		.code = m->text,
		.code_size = m->text_size,
	});
}

void module_loaded(struct module *m)
{
	raise_module(m, SOFT_MODULE_LOADED);
}

static void module_end(struct module *m)
{
	unsigned i;

	unmake_globals(m);
	for (i = 0; i < m->nfuncs; i++)
		obj_free(OBJ_FUNC, m->funcs[i]);
	free(m->funcs);
	if (m->owns_ptx)
		ptx_free(m->ptx);
	if (!m->library)
		free(m->text);
	obj_free(OBJ_MODULE, m);
}

CUresult module_new(struct ctx *c, struct library *lib, struct ptx_module *ptx, char *text,
	size_t text_size, struct module **ret)
{
	static _Atomic uint32_t last_id;
	struct module *m = obj_new(OBJ_MODULE);
	CUresult r;

	if (!m) {
		if (!lib)
			free(text);
		if (!lib || ptx != lib->ptx)
			ptx_free(ptx);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->ctx = c;
	m->id = atomic_fetch_add(&last_id, 1) + 1;
	m->library = lib;
	m->ptx = ptx;
	m->owns_ptx = !lib || ptx != lib->ptx;
	m->text = text;
	m->text_size = text_size;
	r = make_globals(m);
	if (r == CUDA_SUCCESS)
		r = make_functions(m);
	if (r != CUDA_SUCCESS) {
		module_end(m);
		return r;
	}
	*ret = m;
	return CUDA_SUCCESS;
}

void module_delete(struct module *m)
{
	raise_module(m, SOFT_MODULE_UNLOAD_STARTING);
	ctx_drain(m->ctx);
	pthread_mutex_lock(&drv_lock);
	if (obj_alive(OBJ_MODULE, m))
		module_end(m);
	pthread_mutex_unlock(&drv_lock);
}

void modules_delete_of(struct ctx *c)
{
	struct module *m;

	for (m = obj_next(OBJ_MODULE, NULL); m; m = obj_next(OBJ_MODULE, m))
		if (m->ctx == c)
			module_end(m);
}

struct func *module_func(struct module *m, const char *name)
{
	unsigned i;

	for (i = 0; i < m->nfuncs; i++)
		if (!strcmp(m->funcs[i]->info.name, name))
			return m->funcs[i];
	return NULL;
}

const struct global *module_global(struct module *m, const char *name)
{
	unsigned i;

	for (i = 0; i < m->nglobals; i++)
		if (!strcmp(m->globals[i].name, name))
			return &m->globals[i];
	return NULL;
}

/* --- calls --- */

/* Takes text. */
static CUresult load_text(CUmodule *ret, char *text, size_t size, struct jit_log *log)
{
	struct ptx_module *ptx;
	struct module *m;
	struct ctx *c;
	CUresult r = ctx_current(&c);

	if (r == CUDA_SUCCESS)
		r = ptx_from_text(text, size, log, &ptx);
	if (r != CUDA_SUCCESS) {
		free(text);
		return r;
	}
	pthread_mutex_lock(&drv_lock);
	r = module_new(c, NULL, ptx, text, size, &m);
	pthread_mutex_unlock(&drv_lock);
	TRY_CU(r);
	*ret = (CUmodule)m;
	module_loaded(m);
	return CUDA_SUCCESS;
}

static CUresult load_data(CUmodule *ret, const void *image, struct jit_log *log)
{
	struct ctx *c;
	char *text;
	size_t size;

	REQUIRE(ret && image);
	TRY_CU(ctx_current(&c));
	TRY_CU(image_to_ptx(image, SIZE_MAX, &text, &size));
	return load_text(ret, text, size, log);
}

DRV_DEFINE(2, cuModuleLoad, CUmodule *, module, const char *, fname)
{
	size_t size, text_size;
	char *data, *text;
	struct ctx *c;
	CUresult r;

	REQUIRE(module && fname);
	TRY_CU(ctx_current(&c));
	TRY_CU(image_from_file(fname, &data, &size));
	r = image_to_ptx(data, size, &text, &text_size);
	free(data);
	TRY_CU(r);
	return load_text(module, text, text_size, NULL);
}

DRV_DEFINE(2, cuModuleLoadData, CUmodule *, module, const void *, image)
{
	return load_data(module, image, NULL);
}

DRV_DEFINE(5, cuModuleLoadDataEx, CUmodule *, module, const void *, image, unsigned int, numOptions,
	CUjit_option *, options, void **, optionValues)
{
	struct jit_log log;

	REQUIRE(!numOptions || (options && optionValues));
	jit_options(&log, numOptions, options, optionValues);
	return load_data(module, image, &log);
}

DRV_DEFINE(2, cuModuleLoadFatBinary, CUmodule *, module, const void *, fatCubin)
{
	return load_data(module, fatCubin, NULL);
}

static CUresult module_resolve(CUmodule h, struct module **ret)
{
	struct ctx *c;

	TRY_CU(ctx_current(&c));
	if (!obj_alive(OBJ_MODULE, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (struct module *)h;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuModuleUnload, CUmodule, hmod)
{
	struct module *m;

	TRY_CU(module_resolve(hmod, &m));
	if (m->library) /* "CUDA_ERROR_NOT_PERMITTED": cuLibraryGetModule's modules belong to the
			   library */
		return CUDA_ERROR_NOT_PERMITTED;
	module_delete(m);
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuModuleGetLoadingMode, CUmoduleLoadingMode *, mode)
{
	REQUIRE(mode);
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuModuleGetFunction, CUfunction *, hfunc, CUmodule, hmod, const char *, name)
{
	struct module *m;
	struct func *f;

	REQUIRE(hfunc && name);
	TRY_CU(module_resolve(hmod, &m));
	f = module_func(m, name);
	if (!f)
		return CUDA_ERROR_NOT_FOUND;
	*hfunc = (CUfunction)f;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuModuleGetFunctionCount, unsigned int *, count, CUmodule, mod)
{
	struct module *m;

	REQUIRE(count);
	TRY_CU(module_resolve(mod, &m));
	*count = m->nfuncs;
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuModuleEnumerateFunctions, CUfunction *, functions, unsigned int, numFunctions,
	CUmodule, mod)
{
	struct module *m;
	unsigned i;

	REQUIRE(functions && numFunctions);
	TRY_CU(module_resolve(mod, &m));
	for (i = 0; i < numFunctions && i < m->nfuncs; i++)
		functions[i] = (CUfunction)m->funcs[i];
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuModuleGetGlobal_v2, CUdeviceptr *, dptr, size_t *, bytes, CUmodule, hmod,
	const char *, name)
{
	const struct global *g;
	struct module *m;

	REQUIRE(name && (dptr || bytes));
	TRY_CU(module_resolve(hmod, &m));
	g = module_global(m, name);
	if (!g)
		return CUDA_ERROR_NOT_FOUND;
	if (dptr)
		*dptr = g->addr;
	if (bytes)
		*bytes = g->size;
	return CUDA_SUCCESS;
}
