/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills. The program's pageable memory is not here: what a copy read from it comes from
 * the recording, and what a copy wrote to it is compared with the recording. Pinned memory is here,
 * at its recorded address, because kernels can see it.
 */
#include "replayer/execute/replayer-copy.h"
#include "replayer/execute/replayer-fail.h"

#include <stdlib.h>
#include <string.h>

/* The rows of a side of c, as footprint.h settles them: its extent and its descriptor are made of
 * these. */
static struct err *rows_of(struct rp *rp, const struct sbt_cmd *c, bool dst, struct sbt_rows *ret)
{
	const char *bad = sbt_rows_of_copy(ret, &c->u.copy, dst);

	return !bad ? NULL
		    : rp_fail(rp, REPLAYER_E_TRACE, c->seq, "#%llu: the rows that this copy %s %s",
			      (unsigned long long)c->seq, dst ? "writes" : "reads", bad);
}

static struct err *side_of(struct rp *rp, const struct sbt_cmd *c, bool dst, struct copy_side *ret)
{
	TRY(rows_of(rp, c, dst, &ret->rows));
	ret->where = place_find(rp, ret->rows.addr, sbt_rows_size(&ret->rows), &ret->here);
	return NULL;
}

/* The same rows in their own image on the host. */
static struct copy_side in_image(const struct copy_side *s, const uint8_t *image)
{
	return (struct copy_side){
		.rows = s->rows, .where = PLACE_NOWHERE, .here = (uint64_t)(uintptr_t)image};
}

struct gpu_rows copy_rows_of(const struct copy_side *s)
{
	return (struct gpu_rows){
		.rows = s->rows, .here = s->here, .on_device = s->where == PLACE_DEVICE};
}

static struct err *copy_3d(struct rp *rp, const struct copy_side *dst, const struct copy_side *src,
	struct gpu_stream *stream)
{
	const struct gpu_rows to = copy_rows_of(dst), from = copy_rows_of(src);

	GPU(rp, copy_rows, &to, &from, stream);
	return NULL;
}

static bool is_flat(const struct sbt_cmd_copy *u)
{
	return !u->width;
}

/* Translates addresses in the rows. Words are aligned as on the device; the host's rows may be
 * aligned differently. image: holds the rows host. */
static void move_rows(const struct address_map *map, const struct sbt_rows *device,
	const struct sbt_rows *host, uint8_t *image)
{
	for (uint64_t z = 0; z < host->depth && map->n; z++)
		for (uint64_t y = 0; y < host->height; y++)
			address_map_words(map, device->addr + z * device->slice + y * device->pitch,
				image + z * host->slice + y * host->pitch, host->width);
}

/* Uploads rows from a piece, which has the bytes from the first row's first to the last row's
 * last. */
static struct err *upload_rows(struct rp *rp, const struct sbt_memory *in,
	const struct copy_side *dst, const struct copy_side *src, struct gpu_stream *stream)
{
	uint8_t *image;

	if (in->size != sbt_rows_size(&src->rows))
		return rp_fail(rp, REPLAYER_E_TRACE, in->seq,
			"#%llu: the recorded payload is not that of the copy",
			(unsigned long long)in->seq);
	TRY(image_alloc(rp, in->seq, in->size, "the rows that a copy reads", &image));
	const struct copy_side from = in_image(src, image);
	struct err *e = sbt_reader_memory_read(rp->trace, in, 0, image, in->size);
	if (!e) {
		move_rows(&rp->moved.to_here, &dst->rows, &src->rows, image);
		e = copy_3d(rp, dst, &from, stream);
	}
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(stream));
	free(image);
	return e;
}

static struct err *upload(struct rp *rp, const struct sbt_cmd_copy *u, const struct sbt_memory *in,
	const struct copy_side *dst, const struct copy_side *src, struct gpu_stream *stream)
{
	if (!in->has_bytes)
		return rp_fail(rp, REPLAYER_E_TRACE, in->seq,
			"#%llu: the payload's bytes were not recorded",
			(unsigned long long)in->seq);
	if (!is_flat(u))
		return upload_rows(rp, in, dst, src, stream);
	if (in->size != u->size)
		return rp_fail(rp, REPLAYER_E_TRACE, in->seq,
			"#%llu: %llu bytes of payload for a copy of %llu",
			(unsigned long long)in->seq, (unsigned long long)in->size,
			(unsigned long long)u->size);
	return feeder_has(rp, in) ? feeder_upload(rp, in, dst->here, stream)
				  : staging_upload(rp, in, u->dst, dst->here, stream);
}

const struct sbt_memory *copy_payload(const struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_memory *in;

	if (c->kind != SBT_COPY || c->result || c->flags & SBT_F_GRAPH || !is_flat(&c->u.copy))
		return NULL;
	in = contents_find(rp, c->seq, SBT_MEMORY_INPUT, c->u.copy.src);
	return in && in->size == c->u.copy.size ? in : NULL;
}

/* Downloads rows to the host and compares them. The recording has zeros between the rows, whatever
 * the program had there (docs/sbt.md). */
static struct err *download_rows(struct rp *rp, const struct sbt_memory *out,
	const struct copy_side *dst, const struct copy_side *src, struct gpu_stream *stream)
{
	const uint64_t extent = sbt_rows_size(&dst->rows);
	uint8_t *image;

	if (out->missing)
		staging_verdict(rp, out, false);
	if (out->size != extent || extent > IMAGE_MAX)
		return NULL;
	TRY(image_alloc(rp, out->seq, extent, "the rows that a copy writes", &image));
	const struct copy_side to = in_image(dst, image);
	struct err *e = copy_3d(rp, &to, src, stream);
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(stream));
	bool same = !e && sbt_hash_equal(sbt_range_hash(image, extent), out->hash);
	if (!e && !same && rp->moved.to_there.n) {
		move_rows(&rp->moved.to_there, &src->rows, &dst->rows, image);
		same = sbt_hash_equal(sbt_range_hash(image, extent), out->hash);
	}
	if (!e)
		staging_verdict(rp, out, same);
	free(image);
	return e;
}

static struct err *download(struct rp *rp, const struct sbt_cmd_copy *u,
	const struct sbt_memory *out, const struct copy_side *dst, const struct copy_side *src,
	struct gpu_stream *stream)
{
	if (is_flat(u))
		return staging_output(rp, out, u->src, src->here, u->size, stream);
	return out ? download_rows(rp, out, dst, src, stream) : NULL;
}

static struct err *between(struct rp *rp, const struct sbt_cmd_copy *u, const struct copy_side *dst,
	const struct copy_side *src, struct gpu_stream *stream)
{
	if (!is_flat(u))
		return copy_3d(rp, dst, src, stream);
	GPU(rp, copy, dst->here, src->here, u->size, stream);
	return NULL;
}

struct err *copy_execute(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *u = &c->u.copy;
	const struct sbt_memory *in = contents_find(rp, c->seq, SBT_MEMORY_INPUT, u->src);
	const struct sbt_memory *out = contents_find(rp, c->seq, SBT_MEMORY_OUTPUT, u->dst);
	struct copy_side dst, src;
	struct gpu_stream *stream;

	TRY(side_of(rp, c, true, &dst));
	TRY(side_of(rp, c, false, &src));
	if (!dst.rows.width)
		return NULL;
	TRY(objects_stream(rp, u->stream, &stream));
	if (dst.where == PLACE_NOWHERE)
		return src.where == PLACE_NOWHERE ? NULL /* from host to host */
						  : download(rp, u, out, &dst, &src, stream);
	if (in && !(rp->live_host && src.where != PLACE_NOWHERE))
		TRY(upload(rp, u, in, &dst, &src, stream));
	else if (src.where != PLACE_NOWHERE)
		TRY(between(rp, u, &dst, &src, stream));
	else
		return rp_fail(rp, REPLAYER_E_REFUSED, c->seq,
			"#%llu: what this copy read at 0x%llx %s", (unsigned long long)c->seq,
			(unsigned long long)u->src,
			u->dir == SBT_COPY_H2D ? "was not recorded"
					       : "is not memory of the window");
	/* Data that arrived in pinned memory is compared, too, at its source: the program may be
	 * about to change it. */
	if (out && src.where == PLACE_DEVICE)
		TRY(download(rp, u, out, &dst, &src, stream));
	return NULL;
}

struct err *fill_execute(struct rp *rp, const struct sbt_cmd *c)
{
	const struct sbt_cmd_fill *u = &c->u.fill;
	struct sbt_rows rows;
	struct gpu_stream *stream;
	uint64_t dst;
	const char *bad = sbt_rows_of_fill(&rows, u);

	if (bad)
		return rp_fail(rp, REPLAYER_E_TRACE, c->seq,
			"#%llu: the rows that this fill writes %s", (unsigned long long)c->seq,
			bad);
	if (!rows.width)
		return NULL;
	if (place_find(rp, rows.addr, sbt_rows_size(&rows), &dst) == PLACE_NOWHERE)
		return rp_fail(rp, REPLAYER_E_REFUSED, c->seq,
			"#%llu fills 0x%llx, which is not memory of the window",
			(unsigned long long)c->seq, (unsigned long long)u->dst);
	TRY(objects_stream(rp, u->stream, &stream));
	if (u->width)
		GPU(rp, fill_rows, dst, &rows, (unsigned)u->elem, (unsigned)u->value, stream);
	else
		GPU(rp, fill, dst, (unsigned)u->elem, (unsigned)u->value, u->size, stream);
	return NULL;
}
