/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries: code that belongs to no context. A context gets a module of its own at first use; the
 * first one uses the library's parsed PTX, others parse the text again, because variables'
 * addresses are part of it.
 */
#include "softgpu/driver/drv.h"

#include <stdlib.h>
#include <string.h>

/* Takes text. */
static CUresult library_new(CUlibrary *ret, char *text, size_t size, struct jit_log *log)
{
	struct library *lib = obj_new(OBJ_LIBRARY);
	CUresult r = lib ? ptx_from_text(text, size, log, &lib->ptx) : CUDA_ERROR_OUT_OF_MEMORY;
	unsigned n = 0;

	if (r != CUDA_SUCCESS) {
		if (lib)
			obj_free(OBJ_LIBRARY, lib);
		free(text);
		return r;
	}
	lib->text = text;
	lib->text_size = size;
	while (ptx_kernel(lib->ptx, n))
		n++;
	lib->kernels = calloc(n + 1, sizeof(struct kernel *));
	for (; lib->kernels && lib->nkernels < n; lib->nkernels++) {
		struct kernel *k = obj_new(OBJ_KERNEL);

		if (!k)
			break;
		k->library = lib;
		k->index = lib->nkernels;
		k->fn = ptx_kernel(lib->ptx, k->index);
		ptx_function_info(k->fn, &k->info);
		func_attrs_init(&k->attrs);
		lib->kernels[k->index] = k;
	}
	*ret = (CUlibrary)lib;
	if (lib->nkernels == n && lib->kernels)
		return CUDA_SUCCESS;
	library_end(lib);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void library_end(struct library *lib)
{
	unsigned i;

	for (i = 0; i < lib->nkernels; i++)
		obj_free(OBJ_KERNEL, lib->kernels[i]);
	free(lib->kernels);
	free(lib->more);
	ptx_free(lib->ptx);
	free(lib->text);
	obj_free(OBJ_LIBRARY, lib);
}

static CUresult library_resolve(CUlibrary h, struct library **ret)
{
	if (!obj_alive(OBJ_LIBRARY, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (struct library *)h;
	return CUDA_SUCCESS;
}

/* Modules end with their context; the library outlives them. Caller holds drv_lock. */
void libraries_forget(struct ctx *c)
{
	struct library *lib;
	unsigned i;

	for (lib = obj_next(OBJ_LIBRARY, NULL); lib; lib = obj_next(OBJ_LIBRARY, lib)) {
		if (lib->module && lib->module->ctx == c)
			lib->module = NULL;
		for (i = 0; i < lib->nmore;)
			if (lib->more[i]->ctx == c)
				lib->more[i] = lib->more[--lib->nmore];
			else
				i++;
	}
}

static struct module *find_module(struct library *lib, const struct ctx *c)
{
	unsigned i;

	if (lib->module && lib->module->ctx == c)
		return lib->module;
	for (i = 0; i < lib->nmore; i++)
		if (lib->more[i]->ctx == c)
			return lib->more[i];
	return NULL;
}

/* Caller holds drv_lock. */
static CUresult make_module(struct library *lib, struct ctx *c, struct module **ret)
{
	struct ptx_module *ptx = lib->ptx;
	struct module **more;

	if (!lib->module) {
		TRY_CU(module_new(c, lib, ptx, lib->text, lib->text_size, ret));
		lib->module = *ret;
		return CUDA_SUCCESS;
	}
	more = realloc(lib->more, (lib->nmore + 1) * sizeof(struct module *));
	if (!more)
		return CUDA_ERROR_OUT_OF_MEMORY;
	lib->more = more;
	TRY_CU(ptx_from_text(lib->text, lib->text_size, NULL, &ptx));
	TRY_CU(module_new(c, lib, ptx, lib->text, lib->text_size, ret));
	lib->more[lib->nmore++] = *ret;
	return CUDA_SUCCESS;
}

CUresult library_module(struct library *lib, struct ctx *c, struct module **ret)
{
	CUresult r = CUDA_SUCCESS;
	bool made = false;

	pthread_mutex_lock(&drv_lock);
	*ret = find_module(lib, c);
	if (!*ret) {
		r = make_module(lib, c, ret);
		made = r == CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&drv_lock);
	if (made)
		module_loaded(*ret);
	return r;
}

/* --- libraries --- */

DRV_DEFINE(8, cuLibraryLoadData, CUlibrary *, library, const void *, code, CUjit_option *,
	jitOptions, void **, jitOptionsValues, unsigned int, numJitOptions, CUlibraryOption *,
	libraryOptions, void **, libraryOptionValues, unsigned int, numLibraryOptions)
{
	struct jit_log log;
	char *text;
	size_t size;

	REQUIRE(library && code && (!numJitOptions || (jitOptions && jitOptionsValues)));
	REQUIRE(!numLibraryOptions || libraryOptions);
	jit_log_init(&log, numJitOptions, jitOptions, jitOptionsValues);
	TRY_CU(image_to_ptx(code, SIZE_MAX, &text, &size));
	return library_new(library, text, size, &log);
}

DRV_DEFINE(8, cuLibraryLoadFromFile, CUlibrary *, library, const char *, fileName, CUjit_option *,
	jitOptions, void **, jitOptionsValues, unsigned int, numJitOptions, CUlibraryOption *,
	libraryOptions, void **, libraryOptionValues, unsigned int, numLibraryOptions)
{
	size_t size, text_size;
	struct jit_log log;
	char *data, *text;
	CUresult r;

	REQUIRE(library && fileName && (!numJitOptions || (jitOptions && jitOptionsValues)));
	jit_log_init(&log, numJitOptions, jitOptions, jitOptionsValues);
	TRY_CU(image_from_file(fileName, &data, &size));
	r = image_to_ptx(data, size, &text, &text_size);
	free(data);
	TRY_CU(r);
	return library_new(library, text, text_size, &log);
}

DRV_DEFINE(1, cuLibraryUnload, CUlibrary, library)
{
	struct library *lib;

	TRY_CU(library_resolve(library, &lib));
	while (lib->nmore)
		module_delete(lib->more[--lib->nmore]);
	if (lib->module)
		module_delete(lib->module);
	pthread_mutex_lock(&drv_lock);
	library_end(lib);
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuLibraryGetKernel, CUkernel *, pKernel, CUlibrary, library, const char *, name)
{
	struct library *lib;
	unsigned i;

	REQUIRE(pKernel && name);
	TRY_CU(library_resolve(library, &lib));
	for (i = 0; i < lib->nkernels; i++)
		if (!strcmp(lib->kernels[i]->info.name, name)) {
			*pKernel = (CUkernel)lib->kernels[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

DRV_DEFINE(2, cuLibraryGetKernelCount, unsigned int *, count, CUlibrary, lib)
{
	struct library *l;

	REQUIRE(count);
	TRY_CU(library_resolve(lib, &l));
	*count = l->nkernels;
	return CUDA_SUCCESS;
}

DRV_DEFINE(
	3, cuLibraryEnumerateKernels, CUkernel *, kernels, unsigned int, numKernels, CUlibrary, lib)
{
	struct library *l;
	unsigned i;

	REQUIRE(kernels && numKernels);
	TRY_CU(library_resolve(lib, &l));
	for (i = 0; i < numKernels && i < l->nkernels; i++)
		kernels[i] = (CUkernel)l->kernels[i];
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuLibraryGetModule, CUmodule *, pMod, CUlibrary, library)
{
	struct library *lib;
	struct module *m;
	struct ctx *c;

	REQUIRE(pMod);
	TRY_CU(library_resolve(library, &lib));
	TRY_CU(ctx_current(&c));
	TRY_CU(library_module(lib, c, &m));
	*pMod = (CUmodule)m;
	return CUDA_SUCCESS;
}

static CUresult library_global(CUdeviceptr *dptr, size_t *bytes, CUlibrary h, const char *name)
{
	const struct global *g;
	struct library *lib;
	struct module *m;
	struct ctx *c;

	REQUIRE(name && (dptr || bytes));
	TRY_CU(library_resolve(h, &lib));
	TRY_CU(ctx_current(&c));
	TRY_CU(library_module(lib, c, &m));
	g = module_global(m, name);
	if (!g)
		return CUDA_ERROR_NOT_FOUND;
	if (dptr)
		*dptr = g->addr;
	if (bytes)
		*bytes = g->size;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuLibraryGetGlobal, CUdeviceptr *, dptr, size_t *, bytes, CUlibrary, library,
	const char *, name)
{
	return library_global(dptr, bytes, library, name);
}

/* __managed__ variables: module memory is visible to both sides. */
DRV_DEFINE(4, cuLibraryGetManaged, CUdeviceptr *, dptr, size_t *, bytes, CUlibrary, library,
	const char *, name)
{
	return library_global(dptr, bytes, library, name);
}

/* --- kernels --- */

static CUresult kernel_resolve(CUkernel h, struct kernel **ret)
{
	if (!obj_alive(OBJ_KERNEL, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (struct kernel *)h;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuKernelGetFunction, CUfunction *, pFunc, CUkernel, kernel)
{
	struct kernel *k;
	struct module *m;
	struct ctx *c;

	REQUIRE(pFunc);
	TRY_CU(kernel_resolve(kernel, &k));
	TRY_CU(ctx_current(&c));
	TRY_CU(library_module(k->library, c, &m));
	*pFunc = (CUfunction)m->funcs[k->index];
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuKernelGetLibrary, CUlibrary *, pLib, CUkernel, kernel)
{
	struct kernel *k;

	REQUIRE(pLib);
	TRY_CU(kernel_resolve(kernel, &k));
	*pLib = (CUlibrary)k->library;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuKernelGetName, const char **, name, CUkernel, hfunc)
{
	struct kernel *k;

	REQUIRE(name);
	TRY_CU(kernel_resolve(hfunc, &k));
	*name = k->info.name;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuKernelGetAttribute, int *, pi, CUfunction_attribute, attrib, CUkernel, kernel,
	CUdevice, dev)
{
	struct kernel *k;

	REQUIRE(pi);
	TRY_CU(kernel_resolve(kernel, &k));
	TRY_CU(device_check(dev));
	return func_attribute_get(&k->info, &k->attrs, attrib, pi);
}

DRV_DEFINE(4, cuKernelSetAttribute, CUfunction_attribute, attrib, int, val, CUkernel, kernel,
	CUdevice, dev)
{
	struct kernel *k;

	TRY_CU(kernel_resolve(kernel, &k));
	TRY_CU(device_check(dev));
	return func_attribute_set(&k->attrs, &k->info, attrib, val);
}

DRV_DEFINE(3, cuKernelSetCacheConfig, CUkernel, kernel, CUfunc_cache, config, CUdevice, dev)
{
	struct kernel *k;

	TRY_CU(kernel_resolve(kernel, &k));
	TRY_CU(device_check(dev));
	REQUIRE(config <= CU_FUNC_CACHE_PREFER_EQUAL);
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuKernelGetParamInfo, CUkernel, kernel, size_t, paramIndex, size_t *, paramOffset,
	size_t *, paramSize)
{
	struct kernel *k;

	REQUIRE(paramOffset);
	TRY_CU(kernel_resolve(kernel, &k));
	REQUIRE(paramIndex < k->info.nparams);
	*paramOffset = k->info.params[paramIndex].offset;
	if (paramSize)
		*paramSize = k->info.params[paramIndex].size;
	return CUDA_SUCCESS;
}
