/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels from recorded code: a cubin where there is the NVIDIA GPU it is for, the PTX that was
 * beside it on another one (which the driver compiles) and on the software GPU, which knows nothing
 * else. Two modules of the program with the same code are two modules here: each has globals of its
 * own. Where the code that a kernel came from is not known, or cannot run here, one that the trace
 * has with a kernel of this name and signature is taken, and a note says so.
 */
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-window.h"
#include "gpucode/amd-object.h"
#include "gpucode/cubin.h"
#include "gpucode/fatbin.h"

#include <stdlib.h>
#include <string.h>

/* Why this code must not be given to a driver; NULL: it may. A driver gets an address and no
 * length, so it believes what the code says about itself. Code of an unknown kind may even hold an
 * address (the wrapper that nvcc puts around a fat binary). */
static const char *code_flaw(const struct buf *code, enum code_kind kind)
{
	const size_t n = code->len;
	struct cubin c;

	if (kind == CODE_AMD_OBJECT)
		return amd_object_is_whole(code->data, n) ? NULL : "is damaged";
	if (kind == CODE_PTX) {
		for (size_t i = 0; i < 16 && i < n; i++)
			if (code->data[i] < ' ' && !strchr("\t\n\v\f\r", code->data[i]))
				return "is no text, and PTX is";
		return n < 16 || !memchr(code->data, '.', n) ? "is no PTX" : NULL;
	}
	if (cubin_open(&c, code->data, n))
		return cubin_is_whole(&c) ? NULL : "is cut off";
	if (n < 16)
		return "is cut off";
	if (!fatbin_is(code->data))
		return "is neither a cubin nor a fat binary";
	return !fatbin_size(code->data) || fatbin_size(code->data) > n ? "is cut off" : NULL;
}

static struct err *check_code(
	struct rp *rp, const struct buf *code, enum code_kind kind, const char *who)
{
	const char *flaw = code_flaw(code, kind);

	return flaw ? rp_fail(rp, REPLAYER_E_TRACE, 0, "the code of %s %s", who, flaw) : NULL;
}

/* The code of a recorded hash. */
static struct err *get_code(
	struct rp *rp, uint64_t hash, const char *who, struct buf *code, enum code_kind *ret_kind)
{
	struct err *e = sbt_reader_code(rp->trace, hash, code, ret_kind);

	if (e)
		return err_wrap(e, "the code of %s", who);
	if ((*ret_kind == CODE_AMD_OBJECT) != (rp->gpu->machine_code == CODE_AMD_OBJECT))
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"the code of %s is another vendor's: this device cannot execute it", who);
	if (rp->lib.ptx_only && *ret_kind != CODE_PTX)
		return err_cure(
			rp_fail(rp, REPLAYER_E_DEVICE, 0,
				"the trace has only machine code of %s, which the software GPU cannot run",
				who),
			"replay on an NVIDIA GPU, or build the program with PTX");
	TRY(check_code(rp, code, *ret_kind, who));
	buf_byte(code, 0); /* PTX is text that ends with NUL */
	return NULL;
}

/* Loads code for a module of the trace; SBT_NO_ID: for no known module. */
static struct err *load(
	struct rp *rp, uint32_t module, uint64_t hash, const char *who, struct gpu_module **ret)
{
	struct buf code = BUF_INIT;
	enum code_kind kind;
	struct err *e = get_code(rp, hash, who, &code, &kind);

	watchdog_on(rp, 0);
	if (!e) {
		e = rp_gpu(rp, rp->gpu->code_load(ret, code.data, code.len - 1));
		e = e ? err_wrap(e, "the code of %s cannot be loaded here", who) : NULL;
		if (!e && kind != CODE_PTX && kind != CODE_AMD_OBJECT)
			moved_learn_code(rp, module, code.data, code.len);
		heap_learn_code(rp, kind, &code);
	}
	buf_free(&code);
	if (e)
		*ret = NULL;
	return e;
}

/* Loads the module's own code, else the PTX that was beside it. The first failure is the one
 * reported. Where machine code runs, a module whose own code is not known does not use its PTX
 * here: what the driver compiles from it need not compute the same bits. */
static struct err *load_module(struct rp *rp, struct rmodule *m, const char *who)
{
	const uint64_t hashes[] = {
		m->code_hash, m->code_hash || rp->lib.ptx_only ? m->ptx_hash : 0};
	struct err *why = NULL;

	struct gpu_module **handle = &m->handle[rp->devices.now];
	if (*handle)
		return NULL;
	TRY(probe_load(rp, m, handle));
	for (unsigned i = 0; i < 2 && !*handle; i++) {
		struct err *e = hashes[i] ? load(rp, m->id, hashes[i], who, handle) : NULL;

		if (why)
			err_free(e);
		else
			why = e;
	}
	if (*handle) {
		err_free(why);
		rp->fail_code = REPLAYER_E_OTHER;
		return NULL;
	}
	if (why)
		return why;
	why = rp_fail(rp, REPLAYER_E_TRACE, 0, "the trace does not have the code of %s%s%s", who,
		m->before ? ", which was loaded before tsdb was attached: " : "",
		!m->before ? ""
		: m->why   ? m->why
			   : "what it was loaded from was not found (state show may say why)");
	return err_cure(why, m->before ? "record the program from its start"
				       : "record again with `set capture code on`");
}

/* The module of a kernel; if the trace does not say which, it is found by its code. */
static struct rmodule *module_of(struct rp *rp, struct rkernel *k)
{
	struct rmodule *m = objects_module(rp, k->module);

	if (m) {
		if (!m->code_hash)
			m->code_hash = k->code_hash;
		return m;
	}
	for (size_t i = 0; i < rp->objects.nmodules; i++)
		if (k->code_hash && rp->objects.modules[i].code_hash == k->code_hash)
			return &rp->objects.modules[i];
	MAKE_ROOM(rp->objects.modules, rp->objects.nmodules, rp->objects.cap_modules);
	m = &rp->objects.modules[rp->objects.nmodules++];
	*m = (struct rmodule){.id = SBT_NO_ID, .code_hash = k->code_hash};
	return m;
}

/* --- by name --- */

/* Whether parameter i lies in function f of kernel k where the trace says. */
static bool param_is(struct rp *rp, const struct rkernel *k, struct gpu_kernel *f, unsigned i)
{
	size_t offset, size;

	return rp->gpu->kernel_param(f, i, &offset, &size).status == GPU_OK &&
	       offset == k->params[2 * i] && size == k->params[2 * i + 1];
}

static bool has_signature(struct rp *rp, const struct rkernel *k, struct gpu_kernel *f)
{
	for (unsigned i = 0; i < k->nparams && rp->lib.can & GPU_CAN_PARAMS; i++)
		if (!param_is(rp, k, f, i))
			return false;
	return true;
}

static struct gpu_module *probe(struct rp *rp, unsigned i, uint64_t hash)
{
	if (!rp->probes[i].tried)
		err_free(load(rp, SBT_NO_ID, hash, "a kernel", &rp->probes[i].module));
	rp->probes[i].tried = true;
	return rp->probes[i].module;
}

/* The module of another kernel with that name and signature whose module is known, if there is only
 * one: a graph's nodes name the module within a library, while the launches captured into it name
 * the library. */
static struct rmodule *module_by_sibling(struct rp *rp, const struct rkernel *k)
{
	struct rmodule *found = NULL;

	for (size_t i = 0; i < rp->objects.nkernels; i++) {
		const struct rkernel *y = &rp->objects.kernels[i];
		struct rmodule *m = objects_module(rp, y->module);

		if (y == k || !m || !(m->code_hash | m->ptx_hash) || !y->name ||
			strcmp(y->name, k->name) || y->nparams != k->nparams ||
			memcmp(y->params, k->params, 8 * (size_t)k->nparams))
			continue;
		if (found && found->code_hash != m->code_hash)
			return NULL;
		found = found ? found : m;
	}
	return found;
}

/* The hash of a code that has such a kernel and can be loaded here; 0: none. */
static uint64_t hash_by_name(struct rp *rp, const struct rkernel *k)
{
	uint64_t hash;
	unsigned n = 0;
	enum code_kind kind;
	struct gpu_kernel *f;

	while (sbt_reader_code_at(rp->trace, n, &hash, &kind))
		n++;
	if (!rp->probes)
		rp->probes = xcalloc(n + 1, sizeof *rp->probes);
	for (unsigned i = 0; i < 2 * n; i++) { /* machine code first */
		if (!sbt_reader_code_at(rp->trace, i % n, &hash, &kind) ||
			(kind == CODE_PTX) != (i >= n) || (rp->lib.ptx_only && kind != CODE_PTX))
			continue;
		struct gpu_module *m = probe(rp, i % n, hash);

		if (m && !rp->gpu->code_kernel(&f, m, k->name).status && has_signature(rp, k, f))
			return hash;
	}
	return 0;
}

/* --- functions --- */

/* Finds the trace's module with that code under another handle: a graph's nodes name the module
 * within a library. */
static struct rmodule *twin(struct rp *rp, uint64_t hash, const struct rmodule *m)
{
	for (size_t i = 0; i < rp->objects.nmodules; i++) {
		struct rmodule *t = &rp->objects.modules[i];

		if (t != m && t->id != SBT_NO_ID && t->code_hash == hash)
			return t;
	}
	return NULL;
}

static struct err *load_by_name(
	struct rp *rp, struct rmodule **ret, struct rkernel *k, struct err *why)
{
	uint64_t hash = hash_by_name(rp, k);
	struct rmodule *m = *ret;

	if (!hash && !m->code_hash)
		hash = m->ptx_hash;
	if (!hash)
		return why;
	err_free(why);
	rp->fail_code = REPLAYER_E_OTHER;
	struct rmodule *t = twin(rp, hash, m);
	if (t && !m->code_hash) {
		*ret = t;
		k->module = t->id;
		return load_module(rp, t, k->name);
	}
	m->code_hash = hash;
	window_note(rp, false, "for %s the code of a kernel of that name was taken: %s", k->name,
		k->code_hash ? "its own cannot run here"
			     : "the recording does not say which it was");
	return load_module(rp, m, k->name);
}

static struct err *module_for(struct rp *rp, struct rkernel *k, struct rmodule **ret)
{
	struct rmodule *m = module_of(rp, k), *sibling;

	if (!m->code_hash && !m->ptx_hash && (sibling = module_by_sibling(rp, k))) {
		m = sibling;
		k->module = m->id;
	}
	*ret = m;
	struct err *e = load_module(rp, m, k->name);
	return e ? load_by_name(rp, ret, k, e) : NULL;
}

struct err *code_function(struct rp *rp, struct rkernel *k, struct gpu_kernel **ret)
{
	struct rmodule *m;

	*ret = k->function[rp->devices.now];
	if (*ret)
		return NULL;
	TRY(module_for(rp, k, &m));
	struct gpu_result r = rp->gpu->code_kernel(ret, m->handle[rp->devices.now], k->name);
	if (r.status == GPU_NOT_FOUND)
		return rp_fail(rp, REPLAYER_E_TRACE, 0,
			"the recorded code does not have the kernel %s", k->name);
	TRY(rp_gpu(rp, r));
	k->function[rp->devices.now] = *ret;
	return NULL;
}

static bool has_ptx(struct rp *rp, uint64_t hash)
{
	uint64_t other;
	enum code_kind kind;

	for (unsigned i = 0; hash && sbt_reader_code_at(rp->trace, i, &other, &kind); i++)
		if (other == hash)
			return kind == CODE_PTX;
	return false;
}

uint64_t code_ptx(struct rp *rp, const struct rkernel *k)
{
	const struct rmodule *m = objects_module(rp, k->module);
	const uint64_t hashes[] = {
		m ? m->code_hash : k->code_hash, k->code_hash, m ? m->ptx_hash : 0};

	for (unsigned i = 0; i < sizeof hashes / sizeof *hashes && !k->swapped; i++)
		if (has_ptx(rp, hashes[i]))
			return hashes[i];
	return 0;
}

size_t code_portable(struct rp *rp, size_t *ret_all)
{
	size_t n = 0;

	*ret_all = 0;
	for (size_t i = 0; i < rp->objects.nkernels; i++) {
		struct rkernel *k = &rp->objects.kernels[i];
		const struct rmodule *m = objects_module(rp, k->module);

		if (!k->used)
			continue;
		if (!m || !(m->code_hash | m->ptx_hash))
			m = module_by_sibling(rp, k);
		++*ret_all;
		n += has_ptx(rp, k->code_hash) ||
		     (m && (has_ptx(rp, m->code_hash) || has_ptx(rp, m->ptx_hash)));
	}
	return n;
}

/* --- globals --- */

static bool has_start(const struct rp *rp, const struct rglobal *g)
{
	for (size_t i = 0; i < rp->contents.nstart; i++) {
		const struct sbt_memory *m = &rp->contents.start[i];

		if (m->owner == SBT_MEMORY_GLOBAL && m->addr == g->addr && m->module == g->module &&
			m->has_bytes)
			return true;
	}
	return false;
}

/* Keeps the initial contents of a global whose module is loaded within the window, so that going
 * back can restore them. */
static struct err *keep_initial(struct rp *rp, struct rglobal *g)
{
	if (has_start(rp, g))
		return NULL;
	g->initial = malloc(g->size ? g->size : 1);
	if (!g->initial)
		return rp_fail(rp, REPLAYER_E_MEMORY, 0,
			"no memory for the initial value of %s, %llu bytes", g->name,
			(unsigned long long)g->size);
	GPU(rp, copy_to_host, g->initial, g->here, g->size, rp->own);
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

static struct err *find_globals(struct rp *rp)
{
	struct objects *o = &rp->objects;

	for (size_t i = 0; i < o->nglobals; i++) {
		struct rglobal *g = &o->globals[i];
		struct rmodule *m = objects_module(rp, g->module);
		size_t size = 0;

		if (!m || !m->handle[g->dev] || g->here)
			continue;
		TRY(devices_enter(rp, g->dev));
		const struct gpu_result r =
			rp->gpu->code_global(&g->here, &size, m->handle[g->dev], g->name);
		TRY(devices_enter(rp, 0));
		if (r.status != GPU_OK && r.status != GPU_NOT_FOUND)
			return rp_gpu(rp, r);
		if (!g->size) /* the program asked for its address alone */
			g->size = size;
		if (r.status || size < g->size) {
			g->here = 0;
			window_note(
				rp, false, "the global %s is not in the replayed code", g->name);
			continue;
		}
		TRY(keep_initial(rp, g));
	}
	return NULL;
}

/* Loads a module whose globals were recorded although none of its kernels runs, if possible: copies
 * may use the globals. */
static void load_for_globals(struct rp *rp)
{
	for (size_t i = 0; i < rp->objects.nglobals; i++) {
		const struct rglobal *g = &rp->objects.globals[i];
		struct rmodule *m = objects_module(rp, g->module);

		err_free(devices_enter(rp, g->dev));
		if (m && !m->handle[g->dev] && m->code_hash && !(m->tried >> g->dev & 1))
			err_free(load_module(rp, m, g->name));
		if (m)
			m->tried |= 1u << g->dev;
	}
	err_free(devices_enter(rp, 0));
}

struct err *code_load(struct rp *rp)
{
	struct gpu_kernel *f;

	for (unsigned dev = 0; dev < rp->devices.n; dev++) {
		TRY(devices_enter(rp, dev));
		for (size_t i = 0; i < rp->objects.nkernels; i++)
			if (rp->objects.kernels[i].used &&
				(rp->devices.n == 1 || rp->objects.kernels[i].devs >> dev & 1))
				TRY(code_function(rp, &rp->objects.kernels[i], &f));
	}
	TRY(devices_enter(rp, 0));
	load_for_globals(rp);
	TRY(find_globals(rp));
	return moved_find(rp);
}

/* --- attributes --- */

struct err *code_attr(struct rp *rp, const struct rattr *a)
{
	struct rkernel *k = objects_kernel(rp, a->kernel);

	if (!k)
		return NULL;
	if (a->attr == rp->gpu->attr_max_shared && a->value > 0)
		for (unsigned i = 0; i < DEVICES_MAX; i++)
			k->max_shared[i] = (unsigned)a->value;
	/* An attribute that this device lacks (a cluster size on the software GPU) changes no
	 * result. */
	for (unsigned dev = 0; dev < rp->devices.n; dev++) {
		if (!k->function[dev])
			continue;
		const struct gpu_result r =
			rp->gpu->kernel_attribute(k->function[dev], a->attr, a->value);
		if (r.status != GPU_REFUSED)
			TRY(rp_gpu(rp, r));
	}
	return NULL;
}

struct err *code_attrs(struct rp *rp, uint64_t seq)
{
	for (size_t i = 0; i < rp->objects.nattrs && rp->objects.attrs[i].seq <= seq; i++)
		TRY(code_attr(rp, &rp->objects.attrs[i]));
	return NULL;
}

/* --- replacement --- */

static struct err *same_signature(struct rp *rp, const struct rkernel *k, struct gpu_kernel *f)
{
	size_t offset, size;

	if (!(rp->lib.can & GPU_CAN_PARAMS))
		return NULL;
	for (unsigned i = 0; i < k->nparams; i++)
		if (!param_is(rp, k, f, i))
			return rp_fail(rp, REPLAYER_E_REFUSED, 0,
				"parameter %u of the replacement is not the %u bytes that %s takes",
				i, k->params[2 * i + 1], k->name);
	if (k->nparams && !rp->gpu->kernel_param(f, k->nparams, &offset, &size).status)
		return rp_fail(rp, REPLAYER_E_REFUSED, 0,
			"the replacement takes more than the %u parameters of %s", k->nparams,
			k->name);
	return NULL;
}

/* The replacement code has globals of its own: gives them the recorded initial contents. */
static struct err *fill_globals(struct rp *rp, const struct rkernel *k, struct gpu_module *module)
{
	for (size_t i = 0; i < rp->contents.nstart; i++) {
		const struct sbt_memory *m = &rp->contents.start[i];
		uint64_t to;
		size_t size;

		if (m->owner != SBT_MEMORY_GLOBAL || m->module != k->module || !m->has_bytes)
			continue;
		char *name = xmalloc(m->name.len + 1);
		memcpy(name, m->name.p, m->name.len);
		name[m->name.len] = '\0';
		const struct gpu_result r = rp->gpu->code_global(&to, &size, module, name);
		free(name);
		if (!r.status && size >= m->size)
			TRY(contents_put(rp, m, to, rp->own));
	}
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

static struct err *swap_in(struct rp *rp, struct rkernel *k, struct gpu_module *module)
{
	struct gpu_kernel *f;

	const struct gpu_result r = rp->gpu->code_kernel(&f, module, k->name);
	if (r.status == GPU_NOT_FOUND)
		return rp_fail(rp, REPLAYER_E_REFUSED, 0, "the replacement has no kernel named %s",
			k->name);
	TRY(rp_gpu(rp, r));
	TRY(same_signature(rp, k, f));
	TRY(fill_globals(rp, k, module));
	k->function[0] = f;
	return NULL;
}

struct err *code_swap(
	struct rp *rp, uint32_t kernel, enum code_kind kind, const void *code, size_t n)
{
	struct rkernel *k = objects_kernel(rp, kernel);
	struct buf text = BUF_INIT;
	struct gpu_module *module = NULL;

	if (!k)
		return rp_fail(rp, REPLAYER_E_REFUSED, 0, "the trace has no kernel %u", kernel);
	TRY(devices_one_only(rp, "replacing a kernel's code"));
	if (n && (kind == CODE_AMD_OBJECT) != (rp->gpu->machine_code == CODE_AMD_OBJECT))
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"the replacement for %s is another vendor's code", k->name);
	if (n && kind != CODE_PTX && rp->lib.ptx_only)
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"the replacement for %s is machine code; the software GPU runs PTX only",
			k->name);
	graph_unmake_all(rp);
	if (!n) {
		k->function[0] = NULL;
		struct gpu_kernel *f;
		TRY(code_function(rp, k, &f));
	} else {
		buf_add(&text, code, n);
		struct err *e = check_code(rp, &text, kind, k->name);
		buf_byte(&text, 0);
		if (!e)
			e = rp_gpu(rp, rp->gpu->code_load(&module, text.data, n));
		buf_free(&text);
		if (e)
			return err_wrap(e, "the replacement for %s cannot be loaded", k->name);
		e = swap_in(rp, k, module);
		if (e) {
			(void)rp->gpu->code_unload(module);
			return e;
		}
	}
	if (k->swapped)
		(void)rp->gpu->code_unload(k->swapped);
	k->swapped = module;
	return code_attrs(rp, rp->position);
}
