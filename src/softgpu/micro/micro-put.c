/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes registers and memory of a stopped launch, for one lane of the focused warp. Everything is
 * the launch's own: its parameters are the session's copy, and a new start has nothing of it.
 */
#include "softgpu/micro/micro.h"

#include <string.h>

static const char *ended(struct soft_session *s)
{
	return micro_say(s, s->phase == MICRO_OVER ? "the launch has ended"
						   : "the block of the focused thread has ended");
}

/* A predicate is a bit of its word; what is narrower than a word has one. */
static void set_register(uint8_t *frame, const struct ptx_regname *r, unsigned lane, uint64_t value)
{
	const unsigned bits = ptx_type_bits[r->type];
	u32a *words = (u32a *)(frame + r->off);

	if (r->type == T_pred)
		words[0] = (words[0] & ~(1u << lane)) | (uint32_t)(value & 1) << lane;
	else if (bits == 64)
		((u64a *)(frame + r->off))[lane] = value;
	else
		words[lane] = (uint32_t)(bits < 32 ? value & ((1u << bits) - 1) : value);
}

static const char *put_register(
	struct soft_session *s, const struct ptx_warp *w, const struct soft_put *p)
{
	const struct ptx_regname *r;
	struct micro_view view;
	uint64_t value = 0;

	if (!micro_view_of(w, p->lane, p->frame, &view))
		return micro_say(s, "the lane has ended, or has no such frame");
	r = micro_reg(view.at.fn, view.at.pc, p->text, strlen(p->text));
	if (!r || ptx_type_bits[r->type] > 64)
		return micro_say(s, "%s is no register that can be set", p->text);
	memcpy(&value, p->bytes, p->size < sizeof(value) ? p->size : sizeof(value));
	set_register((uint8_t *)(uintptr_t)micro_frame(&view.w, view.at.frame), r, p->lane, value);
	return NULL;
}

/* Shared memory of the focused block, local memory of the lane, the launch's parameters. */
static const char *put_memory(
	struct soft_session *s, const struct ptx_warp *w, const struct soft_put *p)
{
	const struct ptx_micro *m = ptx_micro_of(s);
	uint8_t *base;
	uint64_t size;

	if (p->space == SOFT_SHARED) {
		base = w->blk->shared;
		size = w->blk->shared_size;
	} else if (p->space == SOFT_LOCAL) {
		base = w->local + p->lane * w->lstride;
		size = w->lstride;
	} else {
		base = (uint8_t *)(uintptr_t)m->l.params;
		size = m->l.fn->param_bytes;
	}
	if (p->addr > size || p->size > size - p->addr)
		return micro_say(s,
			"there are %llu bytes of this memory: %u from %llu on are not there",
			(unsigned long long)size, p->size, (unsigned long long)p->addr);
	memcpy(base + p->addr, p->bytes, p->size);
	return NULL;
}

const char *micro_put(struct soft_session *s, const struct soft_put *p)
{
	const struct ptx_warp *w = s->phase == MICRO_OVER ? NULL : micro_warp_at(micro_focused(s));

	if (!w)
		return ended(s);
	if (p->size > sizeof(p->bytes) || p->lane >= PTX_LANES || !(w->all >> p->lane & 1) ||
		p->text[sizeof(p->text) - 1])
		return micro_say(s, "that is no change of a lane here");
	if (p->space == SOFT_SPACES)
		return put_register(s, w, p);
	if (p->space == SOFT_GLOBAL || p->space > SOFT_SPACES)
		return micro_say(s, "this memory is not changed here");
	return put_memory(s, w, p);
}
