/* SPDX-License-Identifier: Apache-2.0
 *
 * Which launches take memory from the device's own heap or give it back, found from the PTX of
 * their kernels, or from their machine code where there is no PTX. Nothing puts back the heap's
 * tables, so a second execution would free what is free already: CHECK executes such launches once,
 * and a replay that has executed one goes back only in another process.
 */
#include <stdlib.h>
#include <string.h>
#include "gpucode/amd-object.h"
#include "gpucode/ptx-text.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"

/* Whether the kernel uses the heap. Calls are not followed: a kernel that calls functions of the
 * module counts if the module uses the heap. */
static bool text_uses_heap(struct ptx_text t, const char *kernel)
{
	struct ptx_text body;

	if (!ptx_has_name(t, "malloc") && !ptx_has_name(t, "free"))
		return false;
	return !ptx_body(t, kernel, &body) || ptx_has(body, "call");
}

static bool has_names(const char *p, size_t n)
{
	static const char malloc_name[] = "malloc", free_name[] = "free"; /* with their ends */

	return memmem(p, n, malloc_name, sizeof malloc_name) ||
	       memmem(p, n, free_name, sizeof free_name);
}

/* Machine code calls the driver's functions, and has their names. Which of its kernels do is not
 * known. */
static bool code_uses_heap(const struct buf *code, enum code_kind kind, const char *kernel)
{
	const char *p = (const char *)code->data;
	struct amd_kernel amd;

	if (kind == CODE_PTX)
		return text_uses_heap((struct ptx_text){p, p + code->len}, kernel);
	if (kind == CODE_AMD_OBJECT)
		return !amd_object_kernel(p, code->len, kernel, &amd, NULL, 0) || amd.calls_host;
	return has_names(p, code->len);
}

static struct err *kernel_uses_heap(struct rp *rp, const struct rkernel *k, bool *ret)
{
	const uint64_t ptx = code_ptx(rp, k), hash = ptx ? ptx : k->code_hash;
	struct buf code = BUF_INIT;
	enum code_kind kind;

	*ret = false;
	struct err *e = hash ? sbt_reader_code(rp->trace, hash, &code, &kind) : NULL;
	if (!e && hash && code.len > 8)
		*ret = code_uses_heap(&code, kind, k->name);
	buf_free(&code);
	return e;
}

static struct err *look_at(struct rp *rp, struct rkernel *k, bool *ret)
{
	bool uses = false;

	if (k->heap == HEAP_NOT_LOOKED) {
		TRY(kernel_uses_heap(rp, k, &uses));
		k->heap = uses ? HEAP_MAY : HEAP_NOT;
	}
	*ret = k->heap == HEAP_MAY;
	return NULL;
}

struct err *heap_uses(struct rp *rp, const struct sbt_cmd *c, bool *ret)
{
	struct rkernel *k = c->kind == SBT_LAUNCH ? objects_kernel(rp, c->u.launch.kernel) : NULL;

	*ret = false;
	return k ? look_at(rp, k, ret) : NULL;
}

struct err *heap_in_window(struct rp *rp, bool *ret)
{
	*ret = false;
	for (size_t i = 0; i < rp->objects.nkernels && !*ret; i++)
		if (rp->objects.kernels[i].used)
			TRY(look_at(rp, &rp->objects.kernels[i], ret));
	return NULL;
}

void heap_learn_code(struct rp *rp, enum code_kind kind, const struct buf *code)
{
	const char *p = (const char *)code->data;
	const struct ptx_text text = {p, p + code->len};

	if (rp->heap.may_run)
		return;
	rp->heap.may_run =
		kind == CODE_AMD_OBJECT ||
		(kind == CODE_PTX ? ptx_has_name(text, "malloc") || ptx_has_name(text, "free")
				  : has_names(p, code->len));
}

struct err *heap_note(struct rp *rp, const struct sbt_cmd *c)
{
	bool uses = false;

	if (!rp->heap.may_run)
		return NULL;
	if (c->kind == SBT_GRAPH_LAUNCH)
		TRY(heap_in_window(rp, &uses));
	else
		TRY(heap_uses(rp, c, &uses));
	if (uses && c->seq > rp->heap.ran)
		rp->heap.ran = c->seq;
	return NULL;
}

struct err *heap_open(struct rp *rp)
{
	bool uses = false, had = false;

	TRY(rp->heap.may_run ? heap_in_window(rp, &uses) : NULL);
	for (size_t i = 0; uses && i < rp->objects.nkernels && !had; i++) {
		struct rkernel *k = &rp->objects.kernels[i];

		if (k->before)
			TRY(look_at(rp, k, &had));
		if (had)
			rp->heap.before = k->name;
	}
	if (had)
		window_note(rp, true,
			"what %s may have taken from the device's own heap before the window was not recorded; kernels that use it fail or differ",
			rp->heap.before);
	return NULL;
}

struct err *heap_goes_back(struct rp *rp, uint64_t seq)
{
	const bool may = !rp->heap.ran || (rp->checking && seq >= rp->heap.ran);

	return !may ? rp_fail(rp, REPLAYER_E_AGAIN, rp->heap.ran,
			      "#%llu took memory from the device's own heap, or gave it back; that cannot be put back",
			      (unsigned long long)rp->heap.ran)
		    : NULL;
}
