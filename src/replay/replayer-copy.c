/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills. The program's pageable memory is not here: what a copy read from it comes from the recording, what a copy wrote
 * to it is compared with the recording. Pinned memory is here, at its address, because kernels can see it.
 */
#include "replay/replayer-int.h"

#include <stdlib.h>
#include <string.h>

struct side {
	enum place_where where;
	uint64_t addr; /* here */
};

/* Saturates: the figures come from a trace. */
static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t copy_extent(const struct sbt_cmd_copy *u, bool dst)
{
	const uint64_t pitch = dst ? u->dst_pitch : u->src_pitch, slice = dst ? u->dst_slice : u->src_slice;

	if (!u->width)
		return u->size;
	if (!u->height || !u->depth)
		return 0;
	return plus(times(u->depth - 1, slice ? slice : times(pitch, u->height)), plus(times(u->height - 1, pitch), u->width));
}

static struct err *check_shape(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *u = &c->u.copy;

	if (!u->width || (times(times(u->width, u->height), u->depth) == u->size && u->dst_pitch >= u->width &&
				 u->src_pitch >= u->width))
		return NULL;
	return rp_fail(rp, REPLAYER_E_TRACE, c->seq, "#%llu: the rows of this copy do not add up to its %llu bytes",
		(unsigned long long)c->seq, (unsigned long long)u->size);
}

static struct side side_of(const struct rp *rp, const struct sbt_cmd_copy *u, bool dst)
{
	struct side s;

	s.where = place_find(rp, dst ? u->dst : u->src, copy_extent(u, dst), &s.addr);
	return s;
}

void copy_side_dst(CUDA_MEMCPY3D *m, const struct sbt_cmd_copy *u, enum place_where where, uint64_t addr)
{
	if (where == PLACE_DEVICE) {
		m->dstMemoryType = CU_MEMORYTYPE_DEVICE;
		m->dstDevice = addr;
	} else {
		m->dstMemoryType = CU_MEMORYTYPE_HOST;
		m->dstHost = (void *)(uintptr_t)addr;
	}
	m->dstPitch = u->width ? u->dst_pitch : u->size;
	m->dstHeight = u->width && u->dst_pitch && u->dst_slice ? u->dst_slice / u->dst_pitch : u->width ? u->height : 1;
}

void copy_side_src(CUDA_MEMCPY3D *m, const struct sbt_cmd_copy *u, enum place_where where, uint64_t addr)
{
	if (where == PLACE_DEVICE) {
		m->srcMemoryType = CU_MEMORYTYPE_DEVICE;
		m->srcDevice = addr;
	} else {
		m->srcMemoryType = CU_MEMORYTYPE_HOST;
		m->srcHost = (const void *)(uintptr_t)addr;
	}
	m->srcPitch = u->width ? u->src_pitch : u->size;
	m->srcHeight = u->width && u->src_pitch && u->src_slice ? u->src_slice / u->src_pitch : u->width ? u->height : 1;
	m->WidthInBytes = u->width ? u->width : u->size;
	m->Height = u->width ? u->height : 1;
	m->Depth = u->width ? u->depth : 1;
}

static struct err *copy_3d(struct rp *rp, const struct sbt_cmd_copy *u, struct side dst, struct side src, CUstream stream)
{
	CUDA_MEMCPY3D m = {0};

	copy_side_dst(&m, u, dst.where, dst.addr);
	copy_side_src(&m, u, src.where, src.addr);
	if (m.WidthInBytes && m.Height && m.Depth)
		CU(rp, cuMemcpy3DAsync_v2, &m, stream);
	return NULL;
}

static bool is_flat(const struct sbt_cmd_copy *u)
{
	return !u->width;
}

/* Words are where the device has them: the host's rows need not lie so. to_device: the copy is to it. */
static void move_rows(const struct address_map *map, const struct sbt_cmd_copy *u, bool to_device, uint8_t *image)
{
	const uint64_t dst_slice = u->dst_slice ? u->dst_slice : u->dst_pitch * u->height;
	const uint64_t src_slice = u->src_slice ? u->src_slice : u->src_pitch * u->height;

	for (uint64_t z = 0; z < u->depth && map->n; z++)
		for (uint64_t y = 0; y < u->height; y++) {
			const uint64_t dst = z * dst_slice + y * u->dst_pitch, src = z * src_slice + y * u->src_pitch;

			address_map_words(map, to_device ? u->dst + dst : u->src + src, image + (to_device ? src : dst), u->width);
		}
}

/* Rows from a piece, which has the bytes from the first row's first to the last row's last. */
static struct err *upload_rows(struct rp *rp, const struct sbt_cmd_copy *u, const struct sbt_memory *in, struct side dst,
	CUstream stream)
{
	if (in->size != copy_extent(u, false))
		return rp_fail(rp, REPLAYER_E_TRACE, in->seq, "#%llu: the recorded payload is not that of the copy",
			(unsigned long long)in->seq);
	uint8_t *image = xmalloc(in->size + 1);
	struct err *e = sbt_reader_memory_read(rp->trace, in, 0, image, in->size);
	if (!e) {
		move_rows(&rp->moved.to_here, u, true, image);
		e = copy_3d(rp, u, dst, (struct side){PLACE_NOWHERE, (uint64_t)(uintptr_t)image}, stream);
	}
	if (!e)
		e = rp_cu(rp, rp->d.cuStreamSynchronize(stream), "cuStreamSynchronize");
	free(image);
	return e;
}

static struct err *upload(struct rp *rp, const struct sbt_cmd_copy *u, const struct sbt_memory *in, struct side dst,
	CUstream stream)
{
	if (!in->has_bytes)
		return rp_fail(rp, REPLAYER_E_TRACE, in->seq, "#%llu: the payload's bytes were not recorded",
			(unsigned long long)in->seq);
	if (!is_flat(u))
		return upload_rows(rp, u, in, dst, stream);
	if (in->size != u->size)
		return rp_fail(rp, REPLAYER_E_TRACE, in->seq, "#%llu: %llu bytes of payload for a copy of %llu",
			(unsigned long long)in->seq, (unsigned long long)in->size, (unsigned long long)u->size);
	return feeder_has(rp, in) ? feeder_upload(rp, in, dst.addr, stream) : staging_upload(rp, in, u->dst, dst.addr, stream);
}

const struct sbt_memory *copy_payload(const struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_memory *in;

	if (c->kind != SBT_COPY || c->result || c->flags & SBT_F_GRAPH || !is_flat(&c->u.copy))
		return NULL;
	in = contents_find(rp, c->seq, SBT_MEMORY_INPUT, c->u.copy.src);
	return in && in->size == c->u.copy.size ? in : NULL;
}

#define IMAGE_MAX (4ull << 30) /* bytes: rows farther apart than this in all are not compared */

/* Rows to the host, compared. The recording has zeros between them, whatever the program had there (docs/sbt.md). */
static struct err *download_rows(struct rp *rp, const struct sbt_cmd_copy *u, const struct sbt_memory *out, struct side src,
	CUstream stream)
{
	const uint64_t extent = copy_extent(u, true);

	if (out->size != extent || extent > IMAGE_MAX)
		return NULL;
	uint8_t *image = xcalloc(extent + 1, 1);
	struct err *e = copy_3d(rp, u, (struct side){PLACE_NOWHERE, (uint64_t)(uintptr_t)image}, src, stream);
	if (!e)
		e = rp_cu(rp, rp->d.cuStreamSynchronize(stream), "cuStreamSynchronize");
	bool same = !e && sbt_hash_equal(sbt_range_hash(image, extent), out->hash);
	if (!e && !same && rp->moved.to_there.n) {
		move_rows(&rp->moved.to_there, u, false, image);
		same = sbt_hash_equal(sbt_range_hash(image, extent), out->hash);
	}
	if (!e)
		staging_verdict(rp, out, same);
	free(image);
	return e;
}

static struct err *download(struct rp *rp, const struct sbt_cmd_copy *u, const struct sbt_memory *out, struct side src,
	CUstream stream)
{
	if (is_flat(u))
		return staging_output(rp, out, u->src, src.addr, u->size, stream);
	return out ? download_rows(rp, u, out, src, stream) : NULL;
}

static struct err *between(struct rp *rp, const struct sbt_cmd_copy *u, struct side dst, struct side src, CUstream stream)
{
	if (!is_flat(u))
		return copy_3d(rp, u, dst, src, stream);
	CU(rp, cuMemcpyAsync, dst.addr, src.addr, u->size, stream);
	return NULL;
}

struct err *copy_execute(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *u = &c->u.copy;
	const struct sbt_memory *in = contents_find(rp, c->seq, SBT_MEMORY_INPUT, u->src);
	const struct sbt_memory *out = contents_find(rp, c->seq, SBT_MEMORY_OUTPUT, u->dst);
	const struct side dst = side_of(rp, u, true), src = side_of(rp, u, false);
	CUstream stream;

	if (!u->size)
		return NULL;
	TRY(check_shape(rp, c));
	TRY(objects_stream(rp, u->stream, &stream));
	if (dst.where == PLACE_NOWHERE)
		return src.where == PLACE_NOWHERE ? NULL /* from host to host */ : download(rp, u, out, src, stream);
	if (in && !(rp->live_host && src.where != PLACE_NOWHERE))
		TRY(upload(rp, u, in, dst, stream));
	else if (src.where != PLACE_NOWHERE)
		TRY(between(rp, u, dst, src, stream));
	else
		return rp_fail(rp, REPLAYER_E_REFUSED, c->seq, "#%llu: what this copy read at 0x%llx was not recorded",
			(unsigned long long)c->seq, (unsigned long long)u->src);
	/* What arrived in pinned memory is compared too, from where it came: the program may be about to change it. */
	if (out && src.where == PLACE_DEVICE)
		TRY(download(rp, u, out, src, stream));
	return NULL;
}

static struct err *fill_flat(struct rp *rp, const struct sbt_cmd_fill *u, uint64_t dst, CUstream stream)
{
	if (u->elem == 1)
		CU(rp, cuMemsetD8Async, dst, (unsigned char)u->value, u->size, stream);
	else if (u->elem == 2)
		CU(rp, cuMemsetD16Async, dst, (unsigned short)u->value, u->size / 2, stream);
	else
		CU(rp, cuMemsetD32Async, dst, (unsigned)u->value, u->size / 4, stream);
	return NULL;
}

static struct err *fill_rows(struct rp *rp, const struct sbt_cmd_fill *u, uint64_t dst, CUstream stream)
{
	if (u->elem == 1)
		CU(rp, cuMemsetD2D8Async, dst, u->dst_pitch, (unsigned char)u->value, u->width, u->height, stream);
	else if (u->elem == 2)
		CU(rp, cuMemsetD2D16Async, dst, u->dst_pitch, (unsigned short)u->value, u->width, u->height, stream);
	else
		CU(rp, cuMemsetD2D32Async, dst, u->dst_pitch, (unsigned)u->value, u->width, u->height, stream);
	return NULL;
}

uint64_t fill_extent(const struct sbt_cmd_fill *u)
{
	return u->width && u->height ? plus(times(u->height - 1, u->dst_pitch), times(u->width, u->elem)) : u->size;
}

struct err *fill_execute(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_fill *u = &c->u.fill;
	CUstream stream;
	uint64_t dst;

	if (!u->size)
		return NULL;
	if (u->elem != 1 && u->elem != 2 && u->elem != 4)
		return rp_fail(rp, REPLAYER_E_TRACE, c->seq, "#%llu: a fill with elements of %llu bytes", (unsigned long long)c->seq,
			(unsigned long long)u->elem);
	if (place_find(rp, u->dst, fill_extent(u), &dst) == PLACE_NOWHERE)
		return rp_fail(rp, REPLAYER_E_REFUSED, c->seq, "#%llu fills 0x%llx, which is not memory of the window",
			(unsigned long long)c->seq, (unsigned long long)u->dst);
	TRY(objects_stream(rp, u->stream, &stream));
	return u->width ? fill_rows(rp, u, dst, stream) : fill_flat(rp, u, dst, stream);
}
