/* SPDX-License-Identifier: Apache-2.0
 *
 * What nvcc's start-up code registers: fatbins, kernels by the address of their host stub, device
 * variables by the address of their host shadow. A fatbin becomes a CUlibrary when something in it
 * is first used, as with the vendor's lazy loading, so a program with a hundred fatbins loads the
 * one it needs.
 *
 * Registration happens in constructors and in dlopen of plugins, so before main and on any thread:
 * one lock, and tables that only grow until their fatbin is unregistered.
 */
#include "softgpu/runtime/rt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct rt_module {
	const void *wrapper; /* "fatbinary_section.h": struct __fatBinC_Wrapper_t */
	CUlibrary lib;
	bool tried;
	cudaError_t load_error;
	struct rt_module *next;
};

enum rt_kind { RT_FREE, RT_GONE, RT_KERNEL, RT_VAR, RT_MANAGED };

struct rt_entity {
	const void *key; /* host address */
	enum rt_kind kind;
	struct rt_module *module; /* NULL for a kernel that came from cudaLibraryGetKernel */
	const char *name;	  /* mangled; in the program's read-only data */
	size_t size;
	CUkernel kernel;
	/* of a variable: each context has one of its own */
	CUdeviceptr addr;
	CUcontext ctx;
	unsigned generation;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_module *modules;

/* Open addressing; a slot that was given up is RT_GONE, which ends no search. */
static struct {
	struct rt_entity *slots;
	size_t size, used; /* size is a power of two */
} table;

static struct rt_entity *slot_for(struct rt_entity *slots, size_t size, const void *key)
{
	size_t i = ((uintptr_t)key * 0x9e3779b97f4a7c15ull >> 20) & (size - 1);

	while (slots[i].kind != RT_FREE && slots[i].key != key)
		i = (i + 1) & (size - 1);
	return &slots[i];
}

static struct rt_entity *find(const void *key)
{
	struct rt_entity *e = table.size ? slot_for(table.slots, table.size, key) : NULL;

	return e && e->kind > RT_GONE ? e : NULL;
}

static bool grow(void)
{
	size_t size = table.size ? table.size * 2 : 256;
	struct rt_entity *slots = calloc(size, sizeof *slots);

	if (!slots)
		return false;
	for (size_t i = 0; i < table.size; i++) {
		if (table.slots[i].kind > RT_GONE)
			*slot_for(slots, size, table.slots[i].key) = table.slots[i];
	}
	free(table.slots);
	table.slots = slots;
	table.size = size;
	table.used = 0;
	for (size_t i = 0; i < size; i++)
		table.used += slots[i].kind != RT_FREE;
	return true;
}

/* Under the lock. The same key registered twice (a plugin loaded where another was): the newest
 * counts. */
static bool add(const struct rt_entity *e)
{
	struct rt_entity *slot;

	if (table.used * 2 >= table.size && !grow())
		return false;
	slot = slot_for(table.slots, table.size, e->key);
	table.used += slot->kind == RT_FREE;
	*slot = *e;
	return true;
}

static void register_entity(
	const void *host, enum rt_kind kind, void **module, const char *name, size_t size)
{
	const struct rt_entity e = {.key = host,
		.kind = kind,
		.module = (struct rt_module *)module,
		.name = name,
		.size = size};

	pthread_mutex_lock(&lock);
	add(&e); /* short of memory: the kernel is unknown when it is launched, and that is an error
		  */
	pthread_mutex_unlock(&lock);
}

bool rt_kernel_add(CUkernel handle)
{
	bool ok;

	pthread_mutex_lock(&lock);
	ok = find(handle) ||
	     add(&(struct rt_entity){.key = handle, .kind = RT_KERNEL, .kernel = handle});
	pthread_mutex_unlock(&lock);
	return ok;
}

/* --- nvcc's start-up code: "crt/host_runtime.h" has these prototypes --- */

RT_EXPORT void **CUDARTAPI __cudaRegisterFatBinary(void *fat_cubin);
RT_EXPORT void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle);
RT_EXPORT void CUDARTAPI __cudaUnregisterFatBinary(void **handle);
RT_EXPORT void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host, char *device,
	const char *name, int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
	int *warp_size);
RT_EXPORT void CUDARTAPI __cudaRegisterVar(void **handle, char *host, char *device,
	const char *name, int ext, size_t size, int constant, int global);
RT_EXPORT void CUDARTAPI __cudaRegisterHostVar(
	void **handle, const char *name, char *host, size_t size);
RT_EXPORT void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **host, char *device,
	const char *name, int ext, size_t size, int constant, int global);
RT_EXPORT char CUDARTAPI __cudaInitModule(void **handle);

void **__cudaRegisterFatBinary(void *fat_cubin)
{
	struct rt_module *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->wrapper = fat_cubin;
	pthread_mutex_lock(&lock);
	m->next = modules;
	modules = m;
	pthread_mutex_unlock(&lock);
	return (void **)m;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
	struct rt_module *m = (struct rt_module *)handle, **link;

	pthread_mutex_lock(&lock);
	for (link = &modules; *link && *link != m; link = &(*link)->next)
		;
	if (!*link) { /* never registered, or twice unregistered */
		pthread_mutex_unlock(&lock);
		return;
	}
	*link = m->next;
	for (size_t i = 0; i < table.size; i++) {
		if (table.slots[i].kind > RT_GONE && table.slots[i].module == m)
			table.slots[i].kind = RT_GONE;
	}
	pthread_mutex_unlock(&lock);
	if (m->lib)
		cuLibraryUnload(m->lib);
	free(m);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
	int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size)
{
	register_entity(host, RT_KERNEL, handle, name, 0);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
	size_t size, int constant, int global)
{
	register_entity(host, RT_VAR, handle, name, size);
}

/* Host variables that device code names; the software GPU shares the program's addresses and needs
 * no list. */
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
}

/* host: the pointer that the program's own accesses go through; __cudaInitModule fills it. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
	size_t size, int constant, int global)
{
	register_entity(host, RT_MANAGED, handle, name, size);
}

/* --- loading on first use --- */

/* Under the lock. A failure is remembered: every later use of the module gets the same answer. */
static cudaError_t load(struct rt_module *m)
{
	if (!m)
		return cudaErrorInvalidResourceHandle;
	if (!m->tried) {
		m->tried = true;
		m->load_error = rt_error(
			cuLibraryLoadData(&m->lib, m->wrapper, NULL, NULL, 0, NULL, NULL, 0));
	}
	return m->load_error;
}

static cudaError_t resolve_kernel(struct rt_entity *e)
{
	CUresult r;

	if (e->kernel)
		return cudaSuccess;
	RT_TRY(load(e->module));
	r = cuLibraryGetKernel(&e->kernel, e->module->lib, e->name);
	return r == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : rt_error(r);
}

static cudaError_t resolve_var(struct rt_entity *e)
{
	CUresult r;
	size_t size;

	if (e->addr && e->ctx == tsdb_soft_current() && e->generation == rt_generation())
		return cudaSuccess;
	RT_TRY(load(e->module));
	r = e->kind == RT_MANAGED ? cuLibraryGetManaged(&e->addr, &size, e->module->lib, e->name)
				  : cuLibraryGetGlobal(&e->addr, &size, e->module->lib, e->name);
	if (!r) {
		e->ctx = tsdb_soft_current();
		e->generation = rt_generation();
		if (e->kind == RT_MANAGED)
			*(void **)e->key = (void *)e->addr;
	}
	return r == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : rt_error(r);
}

cudaError_t rt_kernel(const void *func, CUkernel *ret)
{
	struct rt_entity *e;
	cudaError_t err;

	RT_TRY(rt_init());
	pthread_mutex_lock(&lock);
	e = find(func);
	err = e && e->kind == RT_KERNEL ? resolve_kernel(e)
	      : func			? cudaErrorInvalidResourceHandle
					: cudaErrorInvalidDeviceFunction;
	if (!err) {
		/* A cudaKernel_t may be passed wherever a host function may ("CUDA Runtime API",
		 * cudaLaunchKernel). */
		struct rt_entity handle = *e;

		*ret = e->kernel;
		handle.key = e->kernel;
		if (!find(handle.key) && !add(&handle))
			err = cudaErrorMemoryAllocation;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

const char *rt_kernel_name(const void *func)
{
	const struct rt_entity *e;
	const char *name = NULL;
	CUkernel handle = NULL;

	pthread_mutex_lock(&lock);
	e = find(func);
	if (e && e->kind == RT_KERNEL) {
		name = e->name;
		handle = e->kernel;
	}
	pthread_mutex_unlock(&lock);
	return !name && handle ? tsdb_soft_symbol((CUfunction)handle) : name;
}

const void *rt_kernel_host(CUkernel k, CUfunction f)
{
	const void *host = k;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < table.size; i++) {
		const struct rt_entity *e = &table.slots[i];
		CUfunction of;

		if (e->kind != RT_KERNEL || !e->kernel || e->key == (void *)e->kernel)
			continue;
		if (k ? e->kernel == k : !cuKernelGetFunction(&of, e->kernel) && of == f) {
			host = e->key;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return host;
}

cudaError_t rt_function(const void *func, CUfunction *ret)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	return rt_error(cuKernelGetFunction(ret, k));
}

cudaError_t rt_symbol(const void *symbol, CUdeviceptr *addr, size_t *size)
{
	struct rt_entity *e;
	cudaError_t err;

	RT_TRY(rt_init());
	pthread_mutex_lock(&lock);
	e = find(symbol);
	err = e && e->kind != RT_KERNEL ? resolve_var(e) : cudaErrorInvalidSymbol;
	if (!err && addr)
		*addr = e->addr;
	if (!err && size)
		*size = e->size;
	pthread_mutex_unlock(&lock);
	return err;
}

/* Called before the host's first access to a __managed__ variable of the module. */
char __cudaInitModule(void **handle)
{
	struct rt_module *m = (struct rt_module *)handle;

	if (rt_init())
		return 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < table.size; i++) {
		struct rt_entity *e = &table.slots[i];

		if (e->kind == RT_MANAGED && e->module == m)
			resolve_var(e); /* fills the program's pointer */
	}
	pthread_mutex_unlock(&lock);
	return 1;
}

/* --- the public calls --- */

RT_API(cudaGetSymbolAddress, v3020, (void **devPtr, const void *symbol), (devPtr, symbol))
{
	if (!devPtr)
		return cudaErrorInvalidValue;
	return rt_symbol(symbol, (CUdeviceptr *)devPtr, NULL);
}

RT_API(cudaGetSymbolSize, v3020, (size_t * size, const void *symbol), (size, symbol))
{
	if (!size)
		return cudaErrorInvalidValue;
	return rt_symbol(symbol, NULL, size);
}

RT_API(cudaGetFuncBySymbol, v11000, (cudaFunction_t * functionPtr, const void *symbolPtr),
	(functionPtr, symbolPtr))
{
	cudaError_t err;

	if (!functionPtr)
		return cudaErrorInvalidValue;
	err = rt_function(symbolPtr, functionPtr);
	return err == cudaErrorInvalidResourceHandle ? cudaErrorInvalidDeviceFunction : err;
}

RT_API(cudaGetKernel, v12000, (cudaKernel_t * kernelPtr, const void *entryFuncAddr),
	(kernelPtr, entryFuncAddr))
{
	if (!kernelPtr)
		return cudaErrorInvalidValue;
	return rt_kernel(entryFuncAddr, kernelPtr);
}
