/* SPDX-License-Identifier: Apache-2.0
 *
 * HIP's code, launches, streams and events, behind src/replayer/backend.h. A module keeps its code
 * object: HIP tells neither where a kernel's arguments lie nor where it put a variable that is one
 * source file's own.
 */
#include "replayer/backend-hip/hip-driver.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/checked.h"
#include "gpucode/amd-object.h"

static const struct gpu_result good = {GPU_OK, 0, "code"};

struct hip_kernel {
	struct hip_kernel *next;
	char *name;
	hipFunction_t function;
	struct amd_arg *args; /* the program's */
	uint32_t nargs;
	size_t bytes; /* that they take */
	size_t whole; /* with the runtime's own behind them */
};

struct hip_code {
	struct hip_code *next;
	hipModule_t module;
	void *object;
	size_t size;
	uint64_t loaded; /* the difference between its addresses on the device and in the file */
	struct hip_kernel *kernels;
};
static struct hip_code *codes;

/* --- code --- */

static bool is_taken(uint64_t loaded)
{
	for (const struct hip_code *c = codes; c; c = c->next)
		if (c->loaded == loaded)
			return true;
	return false;
}

/* Where the runtime has just loaded it, by its list for debuggers. */
static bool find_loaded(const struct hip_code *c, uint64_t *ret)
{
	uint64_t at, size;

	for (const struct link_map *l = hip_tables.loaded->r_map; l; l = l->l_next) {
		if (!l->l_name || strncmp(l->l_name, "memory://", 9) ||
			!amd_object_uri(l->l_name, &at, &size) || size != c->size ||
			is_taken(l->l_addr) ||
			memcmp((const void *)(uintptr_t)at, c->object, c->size))
			continue;
		*ret = l->l_addr;
		return true;
	}
	return false;
}

static void code_free(struct hip_code *c)
{
	while (c->kernels) {
		struct hip_kernel *k = c->kernels;

		c->kernels = k->next;
		free(k->name);
		free(k->args);
		free(k);
	}
	free(c->object);
	free(c);
}

struct gpu_result hip_code_load(struct gpu_module **ret, const void *code, size_t size)
{
	struct hip_code *c = xcalloc(1, sizeof *c);
	hipError_t r;

	*ret = NULL;
	c->object = xmalloc(size + 1);
	memcpy(c->object, code, size);
	c->size = size;
	r = HIP.hipModuleLoadData(&c->module, c->object);
	if (!r && !find_loaded(c, &c->loaded)) {
		(void)HIP.hipModuleUnload(c->module);
		r = hipErrorNotSupported;
	}
	if (r) {
		code_free(c);
		return hip_result(r, "hipModuleLoadData");
	}
	c->next = codes;
	codes = c;
	*ret = (struct gpu_module *)c;
	return good;
}

struct gpu_result hip_code_unload(struct gpu_module *m)
{
	struct hip_code *c = (struct hip_code *)m, **at = &codes;
	const hipError_t r = HIP.hipModuleUnload(c->module);

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	code_free(c);
	return hip_result(r, "hipModuleUnload");
}

/* --- kernels --- */

static struct hip_kernel *known(struct hip_code *c, const char *name)
{
	for (struct hip_kernel *k = c->kernels; k; k = k->next)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* What the code object says of its arguments; false: nothing, or no sense. */
static bool learn(struct hip_kernel *k, const struct hip_code *c, const char *name)
{
	struct amd_kernel a;

	if (!amd_object_kernel(c->object, c->size, name, &a, NULL, 0) || a.args > 4096)
		return false;
	k->nargs = a.args;
	k->args = xcalloc(a.args + 1, sizeof *k->args);
	if (!amd_object_kernel(c->object, c->size, name, &a, k->args, a.args))
		return false;
	for (uint32_t i = 0; i < k->nargs; i++) {
		const struct amd_arg *x = &k->args[i];

		if (x->offset > UINT16_MAX || x->size > UINT16_MAX)
			return false;
		if (x->offset + x->size > k->bytes)
			k->bytes = x->offset + x->size;
	}
	k->whole = a.kernarg_bytes > k->bytes && a.kernarg_bytes <= UINT16_MAX ? a.kernarg_bytes
									       : k->bytes;
	return true;
}

struct gpu_result hip_code_kernel(struct gpu_kernel **ret, struct gpu_module *m, const char *name)
{
	struct hip_code *c = (struct hip_code *)m;
	struct hip_kernel *k = known(c, name);
	hipError_t r;

	*ret = (struct gpu_kernel *)k;
	if (k)
		return good;
	k = xcalloc(1, sizeof *k);
	r = HIP.hipModuleGetFunction(&k->function, c->module, name);
	if (r || !learn(k, c, name)) {
		free(k->args);
		free(k);
		return r ? hip_result(r, "hipModuleGetFunction")
			 : hip_refused("reading a kernel's arguments");
	}
	k->name = xstrdup(name);
	k->next = c->kernels;
	c->kernels = k;
	*ret = (struct gpu_kernel *)k;
	return good;
}

struct gpu_result hip_code_global(
	uint64_t *ret, size_t *ret_size, struct gpu_module *m, const char *name)
{
	const struct hip_code *c = (const struct hip_code *)m;
	struct amd_variable v;

	*ret = 0;
	*ret_size = 0;
	if (!amd_object_variable(c->object, c->size, name, &v) ||
		!hip_is_memory(c->loaded + v.addr, v.size))
		return (struct gpu_result){GPU_NOT_FOUND, hipErrorNotFound, "finding a variable"};
	*ret = c->loaded + v.addr;
	*ret_size = v.size;
	return good;
}

struct gpu_result hip_kernel_param(
	struct gpu_kernel *kernel, size_t i, size_t *ret_offset, size_t *ret_size)
{
	const struct hip_kernel *k = (const struct hip_kernel *)kernel;

	if (i >= k->nargs)
		return (struct gpu_result){
			GPU_NOT_FOUND, hipErrorInvalidValue, "reading a kernel's arguments"};
	*ret_offset = k->args[i].offset;
	*ret_size = k->args[i].size;
	return good;
}

/* All of a workgroup's memory may be asked for by any launch. */
struct gpu_result hip_kernel_max_shared(struct gpu_kernel *k, int bytes)
{
	(void)k, (void)bytes;
	return good;
}

struct gpu_result hip_kernel_any_cluster(struct gpu_kernel *k)
{
	(void)k;
	return hip_refused("a cluster");
}

struct gpu_result hip_kernel_attribute(struct gpu_kernel *k, int attr, int value)
{
	(void)k, (void)attr, (void)value;
	return hip_refused("hipFuncSetAttribute");
}

/* --- launches --- */

static bool has_last(const struct gpu_launch *l)
{
	return l->last[0] || l->last[1] || l->last[2];
}

/* The work-items of all workgroups, the last of them with fewer. */
static bool items_of(const struct gpu_launch *l, uint32_t ret[3])
{
	for (int i = 0; i < 3; i++) {
		const uint32_t less = l->last[i] ? l->block[i] - l->last[i] : 0;

		if (l->last[i] > l->block[i] || ckd_mul(&ret[i], l->grid[i], l->block[i]) ||
			ckd_sub(&ret[i], ret[i], less))
			return false;
	}
	return true;
}

static struct gpu_result launch_items(
	const struct gpu_launch *l, hipFunction_t f, struct gpu_stream *s, void **extra)
{
	uint32_t n[3];

	if (!items_of(l, n))
		return hip_refused("launching fewer work-items than none");
	return hip_result(
		HIP.launch_items(f, n[0], n[1], n[2], l->block[0], l->block[1], l->block[2],
			l->shared, (hipStream_t)s, NULL, extra, NULL, NULL, 0),
		"hipExtModuleLaunchKernel");
}

static struct gpu_result launch_groups(
	const struct gpu_launch *l, hipFunction_t f, struct gpu_stream *s, void **extra)
{
	return hip_result(
		HIP.hipModuleLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2], l->block[0],
			l->block[1], l->block[2], l->shared, (hipStream_t)s, NULL, extra),
		"hipModuleLaunchKernel");
}

/* HIP takes from the block what the code object describes, whatever the trace says, so it has room
 * for all of that. */
struct gpu_result hip_args_of(struct hip_args *ret, const struct gpu_launch *l)
{
	const struct hip_kernel *k = (const struct hip_kernel *)l->kernel;

	if (l->nargs < k->bytes)
		return hip_refused("launching a kernel with fewer arguments than it has");
	ret->size = k->whole;
	ret->block = xcalloc(1, k->whole + 16);
	memcpy(ret->block, l->args, k->bytes);
	ret->extra[0] = HIP_LAUNCH_PARAM_BUFFER_POINTER;
	ret->extra[1] = ret->block;
	ret->extra[2] = HIP_LAUNCH_PARAM_BUFFER_SIZE;
	ret->extra[3] = &ret->size;
	ret->extra[4] = HIP_LAUNCH_PARAM_END;
	return good;
}

hipFunction_t hip_function_of(const struct gpu_kernel *k)
{
	return ((const struct hip_kernel *)k)->function;
}

struct gpu_result hip_launch(const struct gpu_launch *l, struct gpu_stream *s)
{
	const hipFunction_t f = hip_function_of(l->kernel);
	struct hip_args args;
	struct gpu_result r = hip_args_of(&args, l);

	if (r.status)
		return r;
	r = has_last(l) ? launch_items(l, f, s, args.extra) : launch_groups(l, f, s, args.extra);
	free(args.block);
	return r;
}

void hip_order(uint64_t n)
{
	hip_tables.order(n);
}

/* --- streams and events --- */

struct gpu_result hip_stream_create(struct gpu_stream **ret, bool apart, int priority)
{
	hipStream_t s = NULL;
	const hipError_t r = HIP.hipStreamCreateWithPriority(
		&s, apart ? hipStreamNonBlocking : hipStreamDefault, priority);

	*ret = (struct gpu_stream *)s;
	return hip_result(r, "hipStreamCreateWithPriority");
}

struct gpu_result hip_stream_destroy(struct gpu_stream *s)
{
	return hip_result(HIP.hipStreamDestroy((hipStream_t)s), "hipStreamDestroy");
}

struct gpu_result hip_stream_finish(struct gpu_stream *s)
{
	return hip_reached(s);
}

struct gpu_result hip_stream_wait(struct gpu_stream *s, struct gpu_event *e)
{
	return hip_result(
		HIP.hipStreamWaitEvent((hipStream_t)s, (hipEvent_t)e, 0), "hipStreamWaitEvent");
}

struct gpu_result hip_stream_write(
	struct gpu_stream *s, uint64_t addr, uint64_t value, unsigned size)
{
	const struct gpu_result r = hip_reached(s);

	if (!r.status && !hip_is_memory(addr, size))
		return hip_refused("writing a value");
	if (!r.status)
		memcpy((void *)(uintptr_t)addr, &value, size); /* the low bytes come first */
	return r;
}

struct gpu_result hip_event_create(struct gpu_event **ret, bool timed)
{
	hipEvent_t e = NULL;
	const hipError_t r =
		HIP.hipEventCreateWithFlags(&e, timed ? hipEventDefault : hipEventDisableTiming);

	*ret = (struct gpu_event *)e;
	return hip_result(r, "hipEventCreateWithFlags");
}

struct gpu_result hip_event_destroy(struct gpu_event *e)
{
	return hip_result(HIP.hipEventDestroy((hipEvent_t)e), "hipEventDestroy");
}

struct gpu_result hip_event_record(struct gpu_event *e, struct gpu_stream *s)
{
	return hip_result(HIP.hipEventRecord((hipEvent_t)e, (hipStream_t)s), "hipEventRecord");
}

struct gpu_result hip_event_query(struct gpu_event *e)
{
	return hip_result(HIP.hipEventQuery((hipEvent_t)e), "hipEventQuery");
}

struct gpu_result hip_event_finish(struct gpu_event *e)
{
	return hip_result(HIP.hipEventSynchronize((hipEvent_t)e), "hipEventSynchronize");
}

struct gpu_result hip_event_elapsed(float *ret_ms, struct gpu_event *begin, struct gpu_event *end)
{
	return hip_result(HIP.hipEventElapsedTime(ret_ms, (hipEvent_t)begin, (hipEvent_t)end),
		"hipEventElapsedTime");
}
