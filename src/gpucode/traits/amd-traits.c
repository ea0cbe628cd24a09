/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a kernel's machine code from its first word to its last, by the table of gfx-decode.h.
 * Words that are in no row are stepped over: what lies between instructions is padding.
 */
#include "gpucode/traits/amd-traits.h"

#include <string.h>

#include "gpucode/amd-object.h"
#include "gpucode/gfx-decode.h"

/* Flat loads may be of LDS, too; then they count for nothing that is shared with the host. */
static bool is_strong(const struct gfx_insn *i)
{
	const struct gfx_row *r = gfx_row((enum gfx_id)i->id);
	const bool memory = r->enc == GFX_FLAT || r->enc == GFX_GLOBAL || r->enc == GFX_MUBUF ||
			    r->enc == GFX_SMEM;

	return memory && r->dst[0] && (i->glc || i->scc) && !i->slc;
}

struct scan {
	unsigned target;
	struct code_traits *t;
	bool calls;
};

static void take(struct scan *s, const struct gfx_insn *i)
{
	s->t->polls |= is_strong(i);
	s->calls |= i->id == GFX_s_swappc_b64 || i->id == GFX_s_setpc_b64;
	if (!s->t->clock && (i->id == GFX_s_memtime || i->id == GFX_s_memrealtime))
		s->t->clock = gfx_row((enum gfx_id)i->id)->name;
}

static void scan_code(void *arg, const void *code, size_t n)
{
	struct scan *s = arg;
	const char *p = code;

	s->t->there = true;
	for (size_t left = n; left >= 4;) {
		uint32_t words[2] = {0};
		struct gfx_insn i;

		memcpy(words, p, left < 8 ? 4 : 8);
		if (gfx_decode(s->target, words, left < 8 ? 1 : 2, &i))
			take(s, &i);
		else
			i.size = 4;
		p += i.size;
		left -= i.size;
	}
}

struct code_traits amd_traits_of(const void *object, size_t n, const char *kernel)
{
	struct code_traits own = {.there = false}, all = {.there = false};
	struct scan s = {.target = gfx_target(amd_object_gfx(object, n)), .t = &own};

	if (!s.target)
		return own;
	amd_object_code(object, n, kernel, scan_code, &s);
	if (own.there && s.calls && !own.polls) {
		s.t = &all;
		amd_object_code(object, n, NULL, scan_code, &s);
		own.polls = all.polls;
	}
	return own;
}
