/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory calls; see memory-calls.h.
 */
#include "gpucode/memory-calls.h"

#include <stddef.h>
#include "sbt/footprint.h"

#define NONE 0xff
#define OUT 0xfe

enum form { FORM_COPY, FORM_COPY_2D, FORM_COPY_3D, FORM_FILL, FORM_FILL_2D, FORM_ALLOC, FORM_FREE };

struct row {
	uint8_t form;
	uint8_t what; /* enum sbt_copy; bytes of an element; enum sbt_mem */
	uint8_t stream;
	uint8_t addr, src, size, flags; /* arguments, of the forms that say which */
};

static const struct row rows[MEMORY_CALLS] = {
#define COPY(name, dir, dst_arg, src_arg, size_arg, stream_arg)                                    \
	[MEMORY_##name] = {FORM_COPY, SBT_COPY_##dir, stream_arg, dst_arg, src_arg, size_arg, NONE},
#define COPY_2D(name, stream_arg)                                                                  \
	[MEMORY_##name] = {FORM_COPY_2D, SBT_COPY_ANY, stream_arg, 0, NONE, NONE, NONE},
#define COPY_3D(name, dir, stream_arg)                                                             \
	[MEMORY_##name] = {FORM_COPY_3D, SBT_COPY_##dir, stream_arg, 0, NONE, NONE, NONE},
#define FILL(name, elem, stream_arg) [MEMORY_##name] = {FORM_FILL, elem, stream_arg, 0, 1, 2, NONE},
#define FILL_2D(name, elem, stream_arg)                                                            \
	[MEMORY_##name] = {FORM_FILL_2D, elem, stream_arg, 0, 2, 4, NONE},
#define ALLOC(name, mem, addr_arg, size_arg, flags_arg, stream_arg)                                \
	[MEMORY_##name] = {                                                                        \
		FORM_ALLOC, SBT_MEM_##mem, stream_arg, addr_arg, NONE, size_arg, flags_arg},
#define FREE(name, mem, stream_arg)                                                                \
	[MEMORY_##name] = {FORM_FREE, SBT_MEM_##mem, stream_arg, 0, NONE, NONE, NONE},
#include "gpucode/memory-calls.def"
};

/* One more than the argument; 0 for none. */
static unsigned behind(uint8_t arg)
{
	return arg < MEMORY_CALL_ARGS ? arg + 1u : 0;
}

unsigned memory_call_nargs(enum memory_call which)
{
	const struct row *r = &rows[which];
	const uint8_t args[] = {r->addr, r->src, r->size, r->flags, r->stream};
	unsigned n = 0;
	for (unsigned i = 0; i < sizeof(args); i++)
		if (behind(args[i]) > n)
			n = behind(args[i]);
	return n;
}

/* ---- copies ---- */

struct side {
	enum memory_side kind;
	struct sbt_side at;
};

static enum sbt_copy direction(enum memory_side dst, enum memory_side src)
{
	if (dst == MEMORY_SIDE_ADDRESS || src == MEMORY_SIDE_ADDRESS)
		return SBT_COPY_ANY;
	if (dst == MEMORY_SIDE_HOST)
		return src == MEMORY_SIDE_HOST ? SBT_COPY_H2H : SBT_COPY_D2H;
	return src == MEMORY_SIDE_HOST ? SBT_COPY_H2D : SBT_COPY_D2D;
}

/* What the driver does not know is no memory with an address. */
static enum memory_side kind_of(uint64_t type)
{
	const uint32_t t = (uint32_t)type;
	const bool known =
		t == MEMORY_SIDE_HOST || t == MEMORY_SIDE_DEVICE || t == MEMORY_SIDE_ADDRESS;
	return known ? (enum memory_side)t : MEMORY_SIDE_ARRAY;
}

/* x, y, type, host, device, array, pitch */
static struct side side_2d(const uint64_t *w)
{
	struct side s = {.kind = kind_of(w[2]), .at = {.x = w[0], .y = w[1], .pitch = w[6]}};
	s.at.base = s.kind == MEMORY_SIDE_HOST ? w[3] : w[4];
	return s;
}

/* x, y, z, level, type, host, device, array, context, pitch, height */
static struct side side_3d(const uint64_t *w)
{
	struct side s = {.kind = kind_of(w[4]),
		.at = {.x = w[0], .y = w[1], .z = w[2], .pitch = w[9], .height = w[10]}};
	s.at.base = s.kind == MEMORY_SIDE_HOST ? w[5] : w[6];
	return s;
}

static void copy_rows(struct sbt_cmd_copy *k, const struct side *dst, const struct side *src,
	const uint64_t *extent, uint64_t depth, struct memory_asked *ret)
{
	ret->dst = dst->kind;
	ret->src = src->kind;
	k->width = extent[0];
	k->height = extent[1];
	k->depth = depth;
	k->size = k->width * k->height * depth;
	sbt_side_rows(&dst->at, k->width, k->height, &k->dst, &k->dst_pitch, &k->dst_slice);
	sbt_side_rows(&src->at, k->width, k->height, &k->src, &k->src_pitch, &k->src_slice);
	if (dst->kind == MEMORY_SIDE_ARRAY)
		k->dst = 0;
	if (src->kind == MEMORY_SIDE_ARRAY)
		k->src = 0;
	k->dir = direction(dst->kind, src->kind);
}

static void copy_2d(struct sbt_cmd_copy *k, const uint64_t *w, struct memory_asked *ret)
{
	const struct side src = side_2d(w), dst = side_2d(w + 7);
	copy_rows(k, &dst, &src, w + 14, 1, ret);
}

static void copy_3d(struct sbt_cmd_copy *k, const uint64_t *w, struct memory_asked *ret)
{
	const struct side src = side_3d(w), dst = side_3d(w + 11);
	copy_rows(k, &dst, &src, w + 22, w[24], ret);
}

static void copy_flat(
	struct sbt_cmd_copy *k, const struct row *r, const uint64_t *args, struct memory_asked *ret)
{
	const bool any = r->what == SBT_COPY_ANY;
	k->dir = r->what;
	k->dst = args[r->addr];
	k->src = args[r->src];
	k->size = args[r->size];
	ret->dst = any			     ? MEMORY_SIDE_ADDRESS
		   : r->what == SBT_COPY_D2H ? MEMORY_SIDE_HOST
					     : MEMORY_SIDE_DEVICE;
	ret->src = any			     ? MEMORY_SIDE_ADDRESS
		   : r->what == SBT_COPY_H2D ? MEMORY_SIDE_HOST
					     : MEMORY_SIDE_DEVICE;
}

static void copy(struct sbt_cmd_copy *k, const struct row *r, const uint64_t *args,
	const uint64_t *words, struct memory_asked *ret)
{
	static const uint64_t nothing[MEMORY_CALL_3D_WORDS];
	if (r->form == FORM_COPY)
		copy_flat(k, r, args, ret);
	else if (r->form == FORM_COPY_2D)
		copy_2d(k, words ? words : nothing, ret);
	else
		copy_3d(k, words ? words : nothing, ret);
	if (r->what == SBT_COPY_PEER)
		k->dir = SBT_COPY_PEER;
	k->async = r->stream != NONE;
}

/* ---- the others ---- */

static void fill(struct sbt_cmd_fill *f, const struct row *r, const uint64_t *args)
{
	f->elem = r->what;
	f->dst = args[0];
	f->value = args[r->src] & (UINT64_MAX >> (64 - 8 * r->what));
	f->async = r->stream != NONE;
	if (r->form == FORM_FILL) {
		f->size = args[2] * f->elem;
		return;
	}
	f->dst_pitch = args[1];
	f->width = args[3];
	f->height = args[4];
	f->size = f->width * f->height * f->elem;
}

/* The flags of mappings are the only ones of 64 bits. */
static void alloc(struct sbt_cmd_alloc *a, const struct row *r, const uint64_t *args)
{
	a->mem = r->what;
	a->size = args[r->size];
	a->stream = SBT_NO_ID;
	if (r->addr != OUT)
		a->addr = args[r->addr];
	if (r->flags != NONE)
		a->alloc_flags = r->what == SBT_MEM_VMM ? args[r->flags] : (uint32_t)args[r->flags];
}

void memory_call(enum memory_call which, const uint64_t *args, const uint64_t *words,
	struct sbt_cmd *cmd, struct memory_asked *ret)
{
	const struct row *r = &rows[which];
	*ret = (struct memory_asked){.on_stream = true};
	if (r->stream != NONE)
		ret->stream = args[r->stream];
	switch ((enum form)r->form) {
	case FORM_COPY:
	case FORM_COPY_2D:
	case FORM_COPY_3D:
		copy(&cmd->u.copy, r, args, words, ret);
		break;
	case FORM_FILL:
	case FORM_FILL_2D:
		fill(&cmd->u.fill, r, args);
		break;
	case FORM_ALLOC:
		alloc(&cmd->u.alloc, r, args);
		ret->on_stream = r->stream != NONE;
		break;
	case FORM_FREE:
		cmd->u.free =
			(struct sbt_cmd_free){.addr = args[0], .mem = r->what, .stream = SBT_NO_ID};
		ret->on_stream = r->stream != NONE;
		break;
	}
}
