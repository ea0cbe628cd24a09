/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole chunks into the file. The surprise: a chunk goes out in one writev(), and when that comes
 * back short the file is cut back, so that a full disk leaves a trace that ends in a whole chunk.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include "base/file.h"
#include "sbt/writer/writer.h"

#define LEVEL 3

uint32_t sbt_header_sum(const struct sbt_chunk_header *h)
{
	struct sbt_chunk_header copy = *h;

	copy.header_sum = 0;
	return (uint32_t)XXH64(&copy, sizeof copy, 0);
}

/* All of both pieces, or an errno. */
static int write_all(int fd, const void *a, size_t na, const void *b, size_t nb)
{
	struct iovec v[2] = {{(void *)(uintptr_t)a, na}, {(void *)(uintptr_t)b, nb}};
	struct iovec *p = v;
	int n = 2;

	while (n) {
		ssize_t w = writev(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return errno;
		if (w == 0 && p->iov_len)
			return ENOSPC;
		while (n && (size_t)w >= p->iov_len) {
			w -= (ssize_t)p->iov_len;
			p++;
			n--;
		}
		if (n) {
			p->iov_base = (char *)p->iov_base + w;
			p->iov_len -= (size_t)w;
		}
	}
	return 0;
}

static struct err *fail(struct sbt_out *o, int sys)
{
	struct err *e = err_sys(sys, "cannot write to %s", o->path);

	o->failed = true;
	/* What does not fit is cut off; a file that cannot be cut (a pipe, /dev/full) has nothing
	 * to save. */
	if (ftruncate(o->fd, (off_t)o->size) == 0)
		(void)!lseek(o->fd, (off_t)o->size, SEEK_SET);
	if (sys == ENOSPC || sys == EFBIG || sys == EDQUOT)
		e = err_cure(e,
			"make room or record to another disk; what was recorded until now can be read");
	return e;
}

static void make_uuid(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, GRND_NONBLOCK) != 16) {
		struct timespec now;
		uint64_t seed[2];

		clock_gettime(CLOCK_REALTIME, &now);
		seed[0] = XXH64(&now, sizeof now, (uint64_t)getpid());
		seed[1] = XXH64(&now, sizeof now, seed[0]);
		memcpy(uuid, seed, 16);
	}
	uuid[6] = (uuid[6] & 0x0f) | 0x40; /* RFC 9562, version 4 */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static void out_free(struct sbt_out *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o->entries);
	buf_free(&o->packed);
	ZSTD_freeCCtx(o->zstd);
}

struct err *sbt_out_open(struct sbt_out *o, const char *path)
{
	struct sbt_file_header h = {.magic = SBT_MAGIC,
		.major = SBT_VERSION_MAJOR,
		.minor = SBT_VERSION_MINOR,
		.byte_order = SBT_BYTE_ORDER};
	struct err *e;
	int sys;

	*o = (struct sbt_out){.fd = -1};
	TRY(file_create_locked(path, &o->fd));
	o->path = xstrdup(path);
	o->zstd = ZSTD_createCCtx();
	if (!o->zstd) {
		out_free(o);
		return err_nomem();
	}
	ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, LEVEL);
	make_uuid(h.uuid);
	h.hash = XXH64(&h, offsetof(struct sbt_file_header, hash), 0);
	sys = write_all(o->fd, &h, sizeof h, NULL, 0);
	if (sys) {
		e = fail(o, sys);
		out_free(o);
		return e;
	}
	o->size = sizeof h;
	return NULL;
}

static void remember(struct sbt_out *o, const struct sbt_chunk_header *h)
{
	MAKE_ROOM(o->entries, o->n, o->cap);
	o->entries[o->n++] = (struct sbt_entry){.offset = o->size,
		.type = h->type,
		.count = h->count,
		.stored = h->stored,
		.raw = h->raw,
		.first = h->first,
		.last = h->last,
		.lost = h->lost};
}

/* Compresses when that makes it smaller; what to store is in *ret and *ret_n. */
static bool squeeze(
	struct sbt_out *o, const void *payload, size_t n, const void **ret, size_t *ret_n)
{
	size_t bound = ZSTD_compressBound(n), got;

	*ret = payload;
	*ret_n = n;
	if (n < 32)
		return false;
	buf_clear(&o->packed);
	got = ZSTD_compress2(o->zstd, buf_room(&o->packed, bound), bound, payload, n);
	if (ZSTD_isError(got) || got >= n)
		return false;
	*ret = o->packed.data;
	*ret_n = got;
	return true;
}

static struct err *append(struct sbt_out *o, struct sbt_chunk_header *h, const void *stored)
{
	int sys;

	if (o->failed)
		return NULL;
	h->magic = SBT_CHUNK_MAGIC;
	h->lost = o->lost;
	h->header_sum = sbt_header_sum(h);
	sys = write_all(o->fd, h, sizeof *h, stored, h->stored);
	if (sys)
		return fail(o, sys);
	remember(o, h);
	o->size += sizeof *h + h->stored;
	o->lost_written = o->lost;
	return NULL;
}

struct err *sbt_out_chunk(struct sbt_out *o, enum sbt_chunk_type type, uint64_t first,
	uint64_t last, uint32_t count, const void *payload, size_t n)
{
	struct sbt_chunk_header h = {
		.type = (uint16_t)type, .raw = n, .first = first, .last = last, .count = count};
	const void *stored;
	size_t nstored;

	if (o->failed)
		return NULL;
	if (squeeze(o, payload, n, &stored, &nstored))
		h.flags |= SBT_CHUNK_ZSTD;
	h.stored = nstored;
	h.hash = XXH64(stored, nstored, 0);
	return append(o, &h, stored);
}

struct err *sbt_out_stored(struct sbt_out *o, enum sbt_chunk_type type, uint64_t first,
	uint64_t last, uint32_t count, const void *payload, size_t n, uint64_t hash)
{
	struct sbt_chunk_header h = {.type = (uint16_t)type,
		.stored = n,
		.raw = n,
		.first = first,
		.last = last,
		.count = count,
		.hash = hash};

	return append(o, &h, payload);
}

static void put_index(const struct sbt_out *o, struct buf *b)
{
	uint64_t at = SBT_HEADER_SIZE, last = 0;

	sbt_put(b, o->n);
	for (size_t i = 0; i < o->n; i++) {
		const struct sbt_entry *e = &o->entries[i];

		sbt_put(b, e->type);
		sbt_put(b, e->offset - at);
		sbt_put(b, e->stored);
		sbt_put(b, e->raw);
		sbt_put_delta(b, e->first, last);
		sbt_put_delta(b, e->last, e->first);
		sbt_put(b, e->count);
		sbt_put(b, e->lost);
		at = e->offset + SBT_HEADER_SIZE + e->stored;
		last = e->last;
	}
}

struct err *sbt_out_close(struct sbt_out *o)
{
	struct buf index = BUF_INIT;
	uint64_t trailer[2] = {o->size, SBT_END_MAGIC};
	struct err *e;

	o->failed = false; /* cutting off the last, broken chunk may have made room for these two */
	put_index(o, &index);
	e = sbt_out_chunk(o, SBT_CHUNK_INDEX, 0, 0, (uint32_t)o->n, index.data, index.len);
	if (!e)
		e = sbt_out_chunk(o, SBT_CHUNK_TRAILER, 0, 0, 0, trailer, sizeof trailer);
	buf_free(&index);
	if (o->fd >= 0 && close(o->fd) < 0 && !e)
		e = err_sys(errno, "cannot write to %s", o->path);
	o->fd = -1;
	out_free(o);
	return e;
}
