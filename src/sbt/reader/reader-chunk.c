/* SPDX-License-Identifier: Apache-2.0
 *
 * One chunk out of the file: read, checked, decompressed. The surprise: nothing is mapped into
 * memory, because a trace that is cut while we look at it must be an error and not a SIGBUS.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include "sbt/reader/reader.h"

struct err *sbt_reader_pread(struct sbt_reader *r, uint64_t offset, void *dst, size_t n)
{
	char *p = dst;

	while (n) {
		ssize_t got = pread(r->fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(errno, "cannot read %s", r->path);
		if (got == 0)
			return err_new(ERR_BAD_TRACE, "the file ends early");
		p += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return NULL;
}

bool sbt_header_valid(const struct sbt_chunk_header *h)
{
	return h->magic == SBT_CHUNK_MAGIC && h->header_sum == sbt_header_sum(h);
}

static uint64_t raw_limit(unsigned type)
{
	switch (type) {
	case SBT_CHUNK_CODE:
	case SBT_CHUNK_MEMORY:
	case SBT_CHUNK_KEYFRAME:
		return SBT_RAW_MAX_LARGE;
	default:
		return SBT_RAW_MAX;
	}
}

bool sbt_raw_possible(unsigned type, uint64_t raw, uint64_t stored)
{
	return raw <= raw_limit(type) && raw >> 16 <= stored;
}

static struct err *check_header(const struct sbt_chunk_header *h, const struct sbt_entry *e)
{
	if (!sbt_header_valid(h))
		return err_new(ERR_BAD_TRACE, "its header does not have the right checksum");
	if (h->type != e->type || h->stored != e->stored || h->raw != e->raw ||
		h->first != e->first || h->last != e->last)
		return err_new(ERR_BAD_TRACE, "its header is not what the index says");
	if (!sbt_raw_possible(h->type, h->raw, h->stored) ||
		h->stored > ZSTD_compressBound(raw_limit(h->type)))
		return err_new(
			ERR_LIMIT, "it claims to hold %llu bytes", (unsigned long long)h->raw);
	if (!(h->flags & SBT_CHUNK_ZSTD) && h->raw != h->stored)
		return err_new(ERR_BAD_TRACE, "its lengths contradict each other");
	return NULL;
}

/* Room for n bytes; out of memory is an error here, for n comes from the file. */
static struct err *reserve(struct buf *b, uint64_t n)
{
	if (b->cap < n) {
		uint8_t *p = realloc(b->data, n);

		if (!p)
			return err_nomem();
		b->data = p;
		b->cap = n;
	}
	b->len = 0;
	return NULL;
}

struct err *sbt_reader_inflate(
	struct sbt_reader *r, const void *stored, size_t n, void *dst, size_t raw)
{
	size_t got;

	if (!r->zstd)
		r->zstd = ZSTD_createDCtx();
	if (!r->zstd)
		return err_nomem();
	got = ZSTD_decompressDCtx(r->zstd, dst, raw, stored, n);
	if (ZSTD_isError(got) || got != raw)
		return err_new(ERR_BAD_TRACE, "it does not decompress");
	return NULL;
}

static struct err *inflate(
	struct sbt_reader *r, const struct buf *stored, uint64_t raw, struct buf *out)
{
	TRY(reserve(out, raw ? raw : 1));
	TRY(sbt_reader_inflate(r, stored->data, stored->len, out->data, raw));
	out->len = raw;
	return NULL;
}

struct err *sbt_reader_header(
	struct sbt_reader *r, const struct sbt_entry *e, struct sbt_chunk_header *ret)
{
	TRY(sbt_reader_pread(r, e->offset, ret, sizeof *ret));
	return check_header(ret, e);
}

struct err *sbt_reader_load(struct sbt_reader *r, const struct sbt_entry *e, struct buf *out)
{
	struct buf stored = BUF_INIT, *to = &stored;
	struct sbt_chunk_header h;
	struct err *err;

	TRY(sbt_reader_header(r, e, &h));
	if (!(h.flags & SBT_CHUNK_ZSTD))
		to = out;
	err = reserve(to, h.stored ? h.stored : 1);
	if (!err)
		err = sbt_reader_pread(r, e->offset + sizeof h, to->data, h.stored);
	if (!err) {
		to->len = h.stored;
		if (XXH64(to->data, to->len, 0) != h.hash)
			err = err_new(ERR_BAD_TRACE, "its checksum is wrong");
	}
	if (!err && to != out)
		err = inflate(r, to, h.raw, out);
	buf_free(&stored);
	return err;
}
