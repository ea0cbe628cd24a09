/* SPDX-License-Identifier: Apache-2.0
 *
 * Which launches take memory from the device's own heap or give it back, by the PTX of their kernels. What the heap's tables hold is not among
 * the memory that is put back, so a second execution would free what is free already: CHECK executes such launches once.
 */
#include <stdlib.h>
#include <string.h>
#include "replay/replayer-check.h"

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* The word, as a whole one, before end. */
static const char *word_in(const char *p, const char *end, const char *word)
{
	const size_t n = strlen(word);

	for (; (p = memmem(p, (size_t)(end - p), word, n)); p++)
		if (!is_name(p[-1]) && (p + n == end || !is_name(p[n])))
			return p;
	return NULL;
}

/* A kernel that calls functions of the module counts when the module has the heap's: who calls whom is not followed. */
static bool text_uses_heap(const char *text, size_t n, const char *kernel)
{
	static const char *const heap[] = {"malloc", "free"}, call[] = "call";
	const char *end = text + n, *at = text;
	bool any = false;

	for (unsigned i = 0; n && i < 2; i++)
		any |= word_in(text + 1, end, heap[i]) != NULL;
	if (!any)
		return false;
	do
		at = word_in(at + 1, end, kernel);
	while (at && (at - text < 7 || strncmp(at - 7, ".entry ", 7)));
	const char *close = at ? memmem(at, (size_t)(end - at), "\n}", 2) : NULL;
	return !close || memmem(at, (size_t)(close - at), call, sizeof call - 1);
}

struct err *heap_uses(struct rp *rp, struct checking *k, const struct sbt_cmd *c, bool *ret)
{
	const struct rkernel *kernel = c->kind == SBT_LAUNCH ? objects_kernel(rp, c->u.launch.kernel) : NULL;
	const uint64_t hash = kernel ? code_ptx(rp, kernel) : 0;
	bool is_ptx;

	*ret = false;
	if (!hash)
		return NULL;
	const size_t i = (size_t)(kernel - rp->objects.kernels);
	if (!k->heap)
		k->heap = xcalloc(rp->objects.nkernels, 1);
	if (!k->heap[i]) {
		struct buf text = BUF_INIT;
		struct err *e = sbt_reader_code(rp->trace, hash, &text, &is_ptx);

		if (!e)
			k->heap[i] = text.len > 8 && text_uses_heap((const char *)text.data, text.len, kernel->name) ? 2 : 1;
		buf_free(&text);
		TRY(e);
	}
	*ret = k->heap[i] == 2;
	return NULL;
}
