/* SPDX-License-Identifier: Apache-2.0
 *
 * What the records of launches, copies and fills mean. Parameters' values are not taken: only grid, block, stream and handle.
 */
#include <string.h>
#include "observe/decode/observe-calls.h"
#include "sbt/footprint.h"

/* Work on the stream with this handle. */
static struct err *on_stream(struct seen *x, uint64_t handle, uint64_t *ret)
{
	TRY(seen_stream(x, handle, ret));
	seen_captured(x, *ret);
	return NULL;
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

/* cuLaunchKernel(f, gridX, gridY, gridZ, blockX, blockY, | blockZ, shared, stream, params, extra): 32-bit arguments have rubbish above. */
static struct err *launch(struct seen *x, bool cooperative)
{
	struct sbt_cmd_launch *l = &x->cmd.u.launch;

	TRY(on_stream(x, seen_arg(x, 8), &l->stream));
	TRY(seen_kernel(x, seen_arg(x, 0), &l->kernel));
	l->grid_x = (uint32_t)seen_arg(x, 1);
	l->grid_y = (uint32_t)seen_arg(x, 2);
	l->grid_z = (uint32_t)seen_arg(x, 3);
	l->block_x = (uint32_t)seen_arg(x, 4);
	l->block_y = (uint32_t)seen_arg(x, 5);
	l->block_z = (uint32_t)seen_arg(x, 6);
	l->shared = (uint32_t)seen_arg(x, 7);
	l->cooperative = cooperative;
	return seen_send(x, SBT_LAUNCH);
}

struct err *see_launch(struct seen *x)
{
	return launch(x, false);
}

struct err *see_launch_cooperative(struct seen *x)
{
	return launch(x, true);
}

/* cuLaunchKernelEx(config, f, params, extra) */
struct err *see_launch_config(struct seen *x)
{
	struct sbt_cmd_launch *l = &x->cmd.u.launch;
	struct obs_config c = {0};

	if (x->n >= sizeof c)
		memcpy(&c, x->data, sizeof c);
	else
		x->d->bad++; /* the structure could not be read: the launch is counted, its shape is 0 */
	TRY(on_stream(x, c.stream, &l->stream));
	TRY(seen_kernel(x, seen_arg(x, 1), &l->kernel));
	l->grid_x = c.grid[0];
	l->grid_y = c.grid[1];
	l->grid_z = c.grid[2];
	l->block_x = c.block[0];
	l->block_y = c.block[1];
	l->block_z = c.block[2];
	l->shared = c.shared;
	l->cooperative = c.cooperative;
	l->cluster_x = c.cluster[0];
	l->cluster_y = c.cluster[1];
	l->cluster_z = c.cluster[2];
	l->launch_attrs = c.bits;
	return seen_send(x, SBT_LAUNCH);
}

/* cuGraphLaunch(exec, stream) */
struct err *see_graph_launch(struct seen *x)
{
	struct sbt_cmd_graph_launch *g = &x->cmd.u.graph_launch;
	struct sbt_cmd c = {0};

	TRY(on_stream(x, seen_arg(x, 1), &g->stream));
	g->exec = seen_id(x, OBS_GRAPH, seen_arg(x, 0));
	if (g->exec == SBT_NO_ID) {
		c.flags = SBT_F_BEFORE;
		c.u.graph_instantiate.new_exec = g->exec = seen_new_id(x, OBS_GRAPH, seen_arg(x, 0));
		c.u.graph_instantiate.graph = SBT_NO_ID;
		c.u.graph_instantiate.handle = seen_arg(x, 0);
		TRY(seen_introduce(x, &c, SBT_GRAPH_INSTANTIATE));
	}
	return seen_send(x, SBT_GRAPH_LAUNCH);
}

/* cuLaunchHostFunc(stream, fn, data), cuStreamAddCallback(stream, fn, data, flags) */
struct err *see_host_func(struct seen *x)
{
	struct sbt_cmd_host_func *h = &x->cmd.u.host_func;

	TRY(on_stream(x, seen_arg(x, 0), &h->stream));
	h->fn = seen_arg(x, 1);
	h->user_data = seen_arg(x, 2);
	return seen_send(x, SBT_HOST_FUNC);
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static struct err *copy(struct seen *x, enum sbt_copy dir, uint64_t dst, uint64_t src, uint64_t size, bool async, uint64_t stream)
{
	struct sbt_cmd_copy *k = &x->cmd.u.copy;
	uint64_t host = dir == SBT_COPY_H2D ? src : dst;

	TRY(on_stream(x, stream, &k->stream));
	k->dir = dir;
	k->dst = dst;
	k->src = src;
	k->size = size;
	k->async = async;
	k->pageable = (dir == SBT_COPY_H2D || dir == SBT_COPY_D2H) && !seen_pinned(x, host);
	return seen_send(x, SBT_COPY);
}

struct err *see_h2d(struct seen *x)
{
	return copy(x, SBT_COPY_H2D, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), false, 0);
}

struct err *see_h2d_async(struct seen *x)
{
	return copy(x, SBT_COPY_H2D, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), true, seen_arg(x, 3));
}

struct err *see_d2h(struct seen *x)
{
	return copy(x, SBT_COPY_D2H, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), false, 0);
}

struct err *see_d2h_async(struct seen *x)
{
	return copy(x, SBT_COPY_D2H, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), true, seen_arg(x, 3));
}

struct err *see_d2d(struct seen *x)
{
	return copy(x, SBT_COPY_D2D, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), false, 0);
}

struct err *see_d2d_async(struct seen *x)
{
	return copy(x, SBT_COPY_D2D, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), true, seen_arg(x, 3));
}

/* The driver finds the direction out from the addresses; we cannot ask. */
struct err *see_any(struct seen *x)
{
	return copy(x, SBT_COPY_ANY, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), false, 0);
}

struct err *see_any_async(struct seen *x)
{
	return copy(x, SBT_COPY_ANY, seen_arg(x, 0), seen_arg(x, 1), seen_arg(x, 2), true, seen_arg(x, 3));
}

/* cuMemcpyPeer(dst, dstContext, src, srcContext, size, | stream) */
struct err *see_peer(struct seen *x)
{
	return copy(x, SBT_COPY_PEER, seen_arg(x, 0), seen_arg(x, 2), seen_arg(x, 4), false, 0);
}

struct err *see_peer_async(struct seen *x)
{
	return copy(x, SBT_COPY_PEER, seen_arg(x, 0), seen_arg(x, 2), seen_arg(x, 4), true, seen_arg(x, 5));
}

/* One side of CUDA_MEMCPY2D and CUDA_MEMCPY3D, as u64 words: 2D has x, y, type, host, device, array, pitch; 3D has x, y, z, level, type, host,
 * device, array, context, pitch, height. CUmemorytype: 1 host, 2 device, 3 array, 4 unified. */
struct side {
	uint64_t type;
	struct sbt_side at;
};

static struct side side_2d(const uint64_t *w)
{
	return (struct side){(uint32_t)w[2], {.base = (uint32_t)w[2] == 1 ? w[3] : w[4], .x = w[0], .y = w[1], .pitch = w[6]}};
}

static struct side side_3d(const uint64_t *w)
{
	return (struct side){(uint32_t)w[4], {.base = (uint32_t)w[4] == 1 ? w[5] : w[6], .x = w[0], .y = w[1], .z = w[2], .pitch = w[9],
		.height = w[10]}};
}

static enum sbt_copy direction(uint64_t dst, uint64_t src)
{
	if (dst == 4 || src == 4)
		return SBT_COPY_ANY;
	return dst == 1 ? (src == 1 ? SBT_COPY_H2H : SBT_COPY_D2H) : src == 1 ? SBT_COPY_H2D : SBT_COPY_D2D;
}

static struct err *pitched(struct seen *x, struct side dst, struct side src, const uint64_t extent[3], bool async, uint64_t stream)
{
	struct sbt_cmd_copy *k = &x->cmd.u.copy;
	uint64_t dst_addr, src_addr;

	k->width = extent[0];
	k->height = extent[1];
	k->depth = extent[2];
	sbt_side_rows(&dst.at, extent[0], extent[1], &dst_addr, &k->dst_pitch, &k->dst_slice);
	sbt_side_rows(&src.at, extent[0], extent[1], &src_addr, &k->src_pitch, &k->src_slice);
	return copy(x, direction(dst.type, src.type), dst.type == 3 ? 0 : dst_addr, src.type == 3 ? 0 : src_addr, extent[0] * extent[1] * extent[2],
		async, stream);
}

static struct err *copy_2d(struct seen *x, bool async, uint64_t stream)
{
	uint64_t w[16] = {0}, extent[3];

	if (x->n >= sizeof w)
		memcpy(w, x->data, sizeof w);
	else
		x->d->bad++;
	extent[0] = w[14];
	extent[1] = w[15];
	extent[2] = 1;
	return pitched(x, side_2d(w + 7), side_2d(w), extent, async, stream);
}

static struct err *copy_3d(struct seen *x, bool async, uint64_t stream)
{
	uint64_t w[25] = {0};

	if (x->n >= sizeof w)
		memcpy(w, x->data, sizeof w);
	else
		x->d->bad++;
	return pitched(x, side_3d(w + 11), side_3d(w), w + 22, async, stream);
}

struct err *see_2d(struct seen *x)
{
	return copy_2d(x, false, 0);
}

struct err *see_2d_async(struct seen *x)
{
	return copy_2d(x, true, seen_arg(x, 1));
}

struct err *see_3d(struct seen *x)
{
	return copy_3d(x, false, 0);
}

struct err *see_3d_async(struct seen *x)
{
	return copy_3d(x, true, seen_arg(x, 1));
}

/* ---- fills -------------------------------------------------------------------------------------------------------- */

static struct err *fill(struct seen *x, unsigned elem, bool async, uint64_t stream)
{
	struct sbt_cmd_fill *f = &x->cmd.u.fill;

	TRY(on_stream(x, stream, &f->stream));
	f->dst = seen_arg(x, 0);
	f->value = seen_arg(x, 1) & (elem == 1 ? 0xff : elem == 2 ? 0xffff : 0xffffffff);
	f->size = seen_arg(x, 2) * elem;
	f->elem = elem;
	f->async = async;
	return seen_send(x, SBT_FILL);
}

/* cuMemsetD2D8(dst, pitch, value, width, height, | stream) */
static struct err *fill_2d(struct seen *x, unsigned elem, bool async, uint64_t stream)
{
	struct sbt_cmd_fill *f = &x->cmd.u.fill;

	TRY(on_stream(x, stream, &f->stream));
	f->dst = seen_arg(x, 0);
	f->dst_pitch = seen_arg(x, 1);
	f->value = seen_arg(x, 2) & (elem == 1 ? 0xff : elem == 2 ? 0xffff : 0xffffffff);
	f->width = seen_arg(x, 3);
	f->height = seen_arg(x, 4);
	f->size = f->width * f->height * elem;
	f->elem = elem;
	f->async = async;
	return seen_send(x, SBT_FILL);
}

#define SET(bits, bytes)                                                                                                                   \
	struct err *see_set##bits(struct seen *x)                                                                                          \
	{                                                                                                                                  \
		return fill(x, bytes, false, 0);                                                                                           \
	}                                                                                                                                  \
	struct err *see_set##bits##_async(struct seen *x)                                                                                  \
	{                                                                                                                                  \
		return fill(x, bytes, true, seen_arg(x, 3));                                                                               \
	}                                                                                                                                  \
	struct err *see_set##bits##_2d(struct seen *x)                                                                                     \
	{                                                                                                                                  \
		return fill_2d(x, bytes, false, 0);                                                                                        \
	}                                                                                                                                  \
	struct err *see_set##bits##_2d_async(struct seen *x)                                                                               \
	{                                                                                                                                  \
		return fill_2d(x, bytes, true, seen_arg(x, 5));                                                                            \
	}
SET(8, 1)
SET(16, 2)
SET(32, 4)
