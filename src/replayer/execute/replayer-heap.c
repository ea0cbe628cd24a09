/* SPDX-License-Identifier: Apache-2.0
 *
 * Which launches take memory from the device's own heap or give it back, found from the PTX of
 * their kernels, or from their machine code where there is no PTX. CHECK does not put back the
 * heap's tables, so a second execution would free what is free already: CHECK executes such
 * launches once.
 */
#include <stdlib.h>
#include <string.h>
#include "gpucode/amd-object.h"
#include "gpucode/ptx-text.h"
#include "replayer/execute/replayer-execute.h"
#include "replayer/check/replayer-check.h"

/* Whether the kernel uses the heap. Calls are not followed: a kernel that calls functions of the
 * module counts if the module uses the heap. */
static bool text_uses_heap(struct ptx_text t, const char *kernel)
{
	struct ptx_text body;

	if (!ptx_has_name(t, "malloc") && !ptx_has_name(t, "free"))
		return false;
	return !ptx_body(t, kernel, &body) || ptx_has(body, "call");
}

/* Machine code calls the driver's functions, and has their names. Which of its kernels do is not
 * known. */
static bool code_uses_heap(const struct buf *code, enum code_kind kind, const char *kernel)
{
	static const char malloc_name[] = "malloc", free_name[] = "free"; /* with their ends */
	const char *p = (const char *)code->data;
	struct amd_kernel amd;

	if (kind == CODE_PTX)
		return text_uses_heap((struct ptx_text){p, p + code->len}, kernel);
	if (kind == CODE_AMD_OBJECT)
		return !amd_object_kernel(p, code->len, kernel, &amd, NULL, 0) || amd.calls_host;
	return memmem(p, code->len, malloc_name, sizeof malloc_name) ||
	       memmem(p, code->len, free_name, sizeof free_name);
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

struct err *heap_uses(struct rp *rp, struct checking *k, const struct sbt_cmd *c, bool *ret)
{
	const struct rkernel *kernel =
		c->kind == SBT_LAUNCH ? objects_kernel(rp, c->u.launch.kernel) : NULL;
	bool uses = false;

	*ret = false;
	if (!kernel)
		return NULL;
	const size_t i = (size_t)(kernel - rp->objects.kernels);
	if (!k->heap)
		k->heap = xcalloc(rp->objects.nkernels, 1);
	if (!k->heap[i]) {
		TRY(kernel_uses_heap(rp, kernel, &uses));
		k->heap[i] = uses ? 2 : 1;
	}
	*ret = k->heap[i] == 2;
	return NULL;
}

struct err *heap_in_window(struct rp *rp, bool *ret)
{
	*ret = false;
	for (size_t i = 0; i < rp->objects.nkernels && !*ret; i++)
		if (rp->objects.kernels[i].used)
			TRY(kernel_uses_heap(rp, &rp->objects.kernels[i], ret));
	return NULL;
}
