/* SPDX-License-Identifier: Apache-2.0
 *
 * See code-traits.h; PTX's half.
 */
#include "gpucode/code-traits.h"

#include <string.h>

#include "gpucode/ptx-text.h"
#include "gpucode/traits/amd-traits.h"

static bool is_strong(struct ptx_text opcode)
{
	static const char *const strong[] = {".volatile", ".relaxed", ".acquire", ".mmio"};

	if (ptx_has(opcode, ".shared") || ptx_has(opcode, ".local") || ptx_has(opcode, ".param"))
		return false;
	if (!memcmp(opcode.p, "atom.", 5))
		return true;
	for (unsigned i = 0; i < sizeof strong / sizeof *strong; i++)
		if (ptx_has(opcode, strong[i]))
			return true;
	return false;
}

/* Opcodes are words with dots. *ret_calls: there is a call. */
static bool polls(struct ptx_text t, bool *ret_calls)
{
	for (const char *p = t.p; p < t.end;) {
		const struct ptx_text w = ptx_word(p, t.end);

		if (w.end - w.p > 5 && (!memcmp(w.p, "ld.", 3) || !memcmp(w.p, "atom.", 5)) &&
			is_strong(w))
			return true;
		*ret_calls |= ptx_begins(w, "call");
		p = w.end > p ? w.end : p + 1;
	}
	return false;
}

static const char *clock_in(struct ptx_text body)
{
	static const char *const clocks[] = {"%globaltimer", "%clock"};

	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
		if (ptx_has(body, clocks[i]))
			return clocks[i];
	return NULL;
}

static struct code_traits ptx_traits_of(struct ptx_text all, const char *kernel)
{
	struct code_traits t = {.there = false};
	struct ptx_text body;
	bool calls = false;

	if (!ptx_body(all, kernel, &body))
		return t;
	t.there = true;
	t.polls = polls(body, &calls) || (calls && polls(all, &calls));
	t.clock = clock_in(body);
	return t;
}

struct code_traits code_traits_of(
	const void *code, size_t n, enum code_kind kind, const char *kernel)
{
	const char *p = code;

	if (kind == CODE_PTX && n)
		return ptx_traits_of((struct ptx_text){p, p + n}, kernel);
	if (kind == CODE_AMD_OBJECT)
		return amd_traits_of(code, n, kernel);
	return (struct code_traits){.there = false};
}
