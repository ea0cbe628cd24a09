/* SPDX-License-Identifier: Apache-2.0
 *
 * Old code; see old-code.h. Threads that launch ask for code, and the agent's own thread looks for
 * it: making a context takes a tenth of a second, searching memory a second. The surprising thing:
 * the driver compares. An image that contains the kernel's name is loaded into the agent's context,
 * and is the module's code if all that the driver says of the two functions is equal; if two
 * different images fit, neither is taken. Programs that compile at run time hold both the PTX and
 * the machine code made from it: if exactly one machine code fits, it is taken, and the record says
 * so.
 */
#include "capture/cuda/old-code.h"

#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "capture/core/calls.h"
#include "capture/objects/code.h"
#include "capture/cuda/driver-cuda.h"
#include "capture/objects/globals.h"
#include "capture/objects/ids.h"
#include "capture/cuda/images.h"
#include "capture/objects/kernel.h"
#include "capture/late/late.h"
#include "capture/core/source.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"

#define WANTS_MAX 4096u
#define FATBINS_MAX 256 /* loaded to see their contents: they are compressed */
#define PARAMS_MAX 1024
#define NUMBERS 6
#define WHY_MAX 160
#define FITS_MAX 8

/* The driver's facts about a function. */
struct facts {
	int number[NUMBERS];
	unsigned functions; /* of its module */
	uint64_t params, layout;
};

struct want {
	struct object *module;
	uint64_t handle;
	bool is_kernel;
	bool inside; /* first met inside a window */
	struct object *ctx;
	/* Of a module: */
	const char *name;
	struct facts facts;
	/* What fits: */
	enum image_kind kind; /* cubins, when any does */
	bool also_ptx;
	uint64_t hash[FITS_MAX];
	unsigned fits;	/* different ones of that kind, FITS_MAX at most */
	uint8_t *image; /* the first */
	size_t image_size;
};

static struct {
	struct spin lock;
	struct want *want; /* WANTS_MAX */
	uint32_t n;
	_Atomic uint32_t waiting; /* n, and those being looked for */
	_Atomic uint64_t told;	  /* the last record about any of them */
	struct want *now;	  /* WANTS_MAX: of the agent's thread */
} old;

/* --- asking --- */

void old_code_want(struct object *module, uint64_t handle, bool is_kernel, struct object *ctx)
{
	spin_lock(&old.lock);
	if (!old.want)
		old.want = agent_map(WANTS_MAX * sizeof(*old.want));
	const bool is_new = old.want && old.n < WANTS_MAX && !module->sought;
	if (is_new) {
		module->sought = true;
		old.want[old.n++] = (struct want){.module = module,
			.handle = handle,
			.is_kernel = is_kernel,
			.ctx = ctx,
			.inside = atomic_load(&window_open)};
		atomic_fetch_add(&old.waiting, 1);
	}
	spin_unlock(&old.lock);
	if (is_new)
		late_wake();
}

bool old_code_waiting(void)
{
	return atomic_load(&old.waiting) != 0;
}

uint64_t old_code_settle(void)
{
	struct late_patience patience = {0};
	while (old_code_waiting() && agent_live() && late_wait(&patience))
		;
	return atomic_load(&old.told);
}

/* --- answers --- */

static const char *name_of(const struct want *w)
{
	const char *name = NULL;
	if (w->is_kernel ? !cuda.cuKernelGetName ||
				   OWN(cuda.cuKernelGetName(&name, (CUkernel)w->handle))
			 : !cuda.cuFuncGetName ||
				   OWN(cuda.cuFuncGetName(&name, (CUfunction)w->handle)))
		return "?";
	return name ? name : "?";
}

/* Only the agent's thread does. */
static void told(uint64_t seq)
{
	if (seq)
		atomic_store(&old.told, seq);
}

/* Records that something was not found. what: "code", "variables". */
static void tell_unknown(struct thread *t, const struct want *w, const char *what, const char *why)
{
	char text[TSDB_TEXT_MAX];
	struct sbt_cmd cmd = {.kind = SBT_ATTACH};
	const int n = snprintf(text, sizeof(text), "the %s of module %u (kernel %.60s): %s", what,
		w->module->id, name_of(w), why);
	cmd.u.attach.what = SBT_ATTACH_UNKNOWN;
	cmd.u.attach.module = w->module->id;
	cmd.u.attach.text =
		(struct sbt_blob){text, n < (int)sizeof(text) ? (uint64_t)n : sizeof(text) - 1};
	record_in(t, &cmd, SBT_F_SYNTHETIC, SBT_NO_ID);
	told(cmd.seq);
}

/* If variables had been found as allocations, a window that has begun has their contents; for other
 * variables it is too late. */
static void known(struct thread *t, const struct want *w)
{
	uint64_t seq = code_belongs(t, w->module);
	const bool all = globals_withdraw(t, w->module, w->inside ? &seq : NULL);
	told(seq);
	if (!all && w->inside)
		tell_unknown(t, w, "variables",
			"it was first met inside a window; they are taken to hold at its beginning what they held when it was loaded");
}

/* --- libraries --- */

/* Asking for the function makes the driver load the code into the agent's context; the resource
 * callback sees the code. */
static void find_library(struct thread *t, struct want *w)
{
	CUfunction f;
	t->loaded_hash = 0;
	if (!cuda.cuKernelGetFunction || OWN(cuda.cuKernelGetFunction(&f, (CUkernel)w->handle)))
		tell_unknown(t, w, "code", "the driver would not load it once more");
	else if (!t->loaded_hash)
		tell_unknown(t, w, "code", "the driver loaded it once more and did not show it");
	else
		known(t, w);
}

/* --- modules --- */

static struct facts facts_of(CUfunction f, CUmodule m)
{
	static const CUfunction_attribute numbers[NUMBERS] = {CU_FUNC_ATTRIBUTE_NUM_REGS,
		CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
		CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_PTX_VERSION,
		CU_FUNC_ATTRIBUTE_BINARY_VERSION};
	struct facts x;
	size_t layout[2 * PARAMS_MAX];
	size_t n = 0;
	memset(&x, 0, sizeof(x)); /* compared as bytes */
	for (unsigned i = 0; i < NUMBERS; i++)
		if (OWN(cuda.cuFuncGetAttribute(&x.number[i], numbers[i], f)))
			x.number[i] = -1;
	/* Asks until an index past the last parameter is refused. */
	while (cuda.cuFuncGetParamInfo && n < PARAMS_MAX &&
		!OWN(cuda.cuFuncGetParamInfo(f, n, &layout[2 * n], &layout[2 * n + 1])))
		n++;
	x.params = n;
	x.layout = XXH64(layout, n * 2 * sizeof(*layout), 0);
	if (!cuda.cuModuleGetFunctionCount || OWN(cuda.cuModuleGetFunctionCount(&x.functions, m)))
		x.functions = 0;
	return x;
}

/* Looks the kernel up in its own context: the driver may not answer in another one. */
static void look_up(struct want *w)
{
	CUcontext was;
	const bool entered =
		w->ctx && !OWN(cuda.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)w->ctx->handle));
	w->facts = facts_of((CUfunction)w->handle, (CUmodule)(uintptr_t)w->module->handle);
	w->name = name_of(w);
	if (entered)
		(void)OWN(cuda.cuCtxPopCurrent_v2(&was));
}

/* Whether all of the driver's facts about the kernel are true for the kernel of that name in m. */
static bool fits(const struct want *w, CUmodule m)
{
	CUfunction other;
	if (!cuda.cuModuleGetFunction || OWN(cuda.cuModuleGetFunction(&other, m, w->name)))
		return false;
	const struct facts x = facts_of(other, m);
	return !memcmp(&x, &w->facts, sizeof(x));
}

static void keep(struct want *w, uint64_t hash, const struct image *i)
{
	for (unsigned k = 0; k < w->fits; k++)
		if (w->hash[k] == hash)
			return;
	if (i->kind == IMAGE_PTX && w->kind == IMAGE_CUBIN) {
		w->also_ptx = true;
		return;
	}
	if (i->kind == IMAGE_CUBIN && w->kind == IMAGE_PTX) {
		w->also_ptx = true;
		w->fits = 0;
		if (w->image)
			agent_unmap(w->image, w->image_size);
		w->image = NULL;
	}
	if (w->fits == FITS_MAX)
		return;
	w->kind = i->kind;
	w->hash[w->fits] = hash;
	if (!w->fits++) {
		w->image = agent_map(i->size + 1);
		w->image_size = i->size + 1;
		if (w->image)
			memcpy(w->image, i->bytes, i->size);
	}
}

struct search {
	struct thread *t;
	uint32_t n; /* of old.now */
	unsigned fatbins;
};

static bool is_open(const struct want *w)
{
	return !w->is_kernel && !w->module->hash;
}

static bool names_any(const struct search *s, const struct image *i)
{
	for (uint32_t k = 0; k < s->n; k++) {
		const char *name = is_open(&old.now[k]) ? old.now[k].name : NULL;
		if (name && memmem(i->bytes, i->size, name, strlen(name)))
			return true;
	}
	return false;
}

static bool try_image(void *arg, const struct image *i)
{
	struct search *s = arg;
	CUmodule m;
	late_step();
	if (i->kind == IMAGE_FATBIN ? s->fatbins++ >= FATBINS_MAX : !names_any(s, i))
		return false;
	s->t->loaded_hash = 0;
	tls.peek++;
	if (!OWN(cuda.cuModuleLoadData(&m, i->bytes))) {
		for (uint32_t k = 0; k < s->n; k++)
			if (is_open(&old.now[k]) && fits(&old.now[k], m) && s->t->loaded_hash)
				keep(&old.now[k], s->t->loaded_hash, i);
		(void)OWN(cuda.cuModuleUnload(m));
	}
	tls.peek--;
	return false;
}

/* Loads the fitting code once more, as the program's. */
static void decide(struct thread *t, struct want *w, const struct images_sums *sums)
{
	char why[WHY_MAX];
	CUmodule m;
	CUfunction f;
	t->loaded_hash = 0;
	if (w->fits == 1 && w->image && !OWN(cuda.cuModuleLoadData(&m, w->image))) {
		(void)OWN(cuda.cuModuleGetFunction(
			&f, m, w->name)); /* under lazy loading this loads it */
		if (t->loaded_hash == w->hash[0])
			known(t, w);
		if (w->module->hash && w->also_ptx)
			tell_unknown(t, w, "origin",
				"machine code and PTX that are in memory both fit; the machine code is taken");
		(void)OWN(cuda.cuModuleUnload(m));
	}
	if (w->fits > 1)
		snprintf(why, sizeof(why),
			"%u different images in memory have a kernel of that name with the same registers, memory and parameters",
			w->fits);
	else
		snprintf(why, sizeof(why),
			"what it was loaded from is not in memory any more (%llu MiB looked through%s)",
			(unsigned long long)(sums->read >> 20), sums->skipped ? ", not all" : "");
	if (!w->module->hash)
		tell_unknown(t, w, "code", why);
	if (w->image)
		agent_unmap(w->image, w->image_size);
}

static bool any_open(uint32_t n, bool unfit_only)
{
	for (uint32_t k = 0; k < n; k++)
		if (is_open(&old.now[k]) && !(unfit_only && old.now[k].fits))
			return true;
	return false;
}

static void find_modules(struct thread *t, uint32_t n)
{
	struct search s = {.t = t, .n = n};
	struct images_sums sums;
	if (!any_open(n, false) || !cuda.cuModuleLoadData || !cuda.cuModuleUnload)
		return;
	for (uint32_t k = 0; k < n; k++)
		if (is_open(&old.now[k]))
			look_up(&old.now[k]);
	images_each(IMAGE_CUBIN | IMAGE_PTX, try_image, &s, &sums);
	if (any_open(n, true))
		images_each(IMAGE_FATBIN, try_image, &s, &sums);
	for (uint32_t k = 0; k < n; k++)
		if (is_open(&old.now[k]))
			decide(t, &old.now[k], &sums);
}

/* --- the thread --- */

/* Takes all that is wanted for one device. */
static uint32_t take(int *ret_device)
{
	uint32_t n = 0, left = 0;
	spin_lock(&old.lock);
	if (!old.now)
		old.now = agent_map(WANTS_MAX * sizeof(*old.now));
	*ret_device = old.n && old.want[0].ctx ? old.want[0].ctx->device : 0;
	for (uint32_t i = 0; i < old.n && old.now; i++) {
		const int device = old.want[i].ctx ? old.want[i].ctx->device : 0;
		if (device == *ret_device)
			old.now[n++] = old.want[i];
		else
			old.want[left++] = old.want[i];
	}
	if (old.now)
		old.n = left;
	spin_unlock(&old.lock);
	return n;
}

static void find_all(struct thread *t, uint32_t n, int device)
{
	CUcontext own = NULL;
	agent.source->own_context(true);
	if (cuda.ctx_create_v2 && cuda.cuCtxDestroy_v2 && OWN(cuda.ctx_create_v2(&own, 0, device)))
		own = NULL;
	agent.source->own_context(false);
	if (!own) {
		for (uint32_t k = 0; k < n; k++)
			tell_unknown(t, &old.now[k], "code",
				"there is no memory on the device for a context to load it into");
		return;
	}
	for (uint32_t k = 0; k < n && agent_live(); k++)
		if (old.now[k].is_kernel && !old.now[k].module->hash)
			find_library(t, &old.now[k]);
	find_modules(t, n);
	(void)OWN(cuda.cuCtxDestroy_v2(own));
}

void old_code_find(struct thread *t)
{
	uint32_t n;
	int device;
	while (agent_live() && (n = take(&device))) {
		find_all(t, n, device);
		atomic_fetch_sub(&old.waiting, n);
	}
}

void old_code_forget(void)
{
	spin_lock(&old.lock);
	atomic_fetch_sub(&old.waiting, old.n);
	old.n = 0;
	spin_unlock(&old.lock);
}
