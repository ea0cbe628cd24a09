/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutations below what a model can say: the bytes of a chunk's payload, varints for the most part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "mutate.h"
#include "sbt/format/format.h"
#include "../../unit/sbt-repair.h"

static struct buf read_file(const char *path)
{
	struct buf b = BUF_INIT;
	FILE *f = fopen(path, "rb");
	size_t n;

	while (f && (n = fread(buf_room(&b, 65536), 1, 65536, f)) > 0)
		b.len += n;
	if (f)
		fclose(f);
	return b;
}

static size_t count_chunks(const struct buf *b)
{
	struct sbt_chunk_header h;
	size_t n = 0;

	for (size_t at = sizeof(struct sbt_file_header); b->len - at >= sizeof h;
		at += sizeof h + h.stored, n++) {
		memcpy(&h, b->data + at, sizeof h);
		if (h.stored > b->len - at - sizeof h)
			break;
	}
	return n;
}

static void change_payload(uint8_t *p, size_t n, uint64_t *random)
{
	static const uint8_t bytes[] = {0, 1, 2, 3, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff};

	for (uint64_t k = 1 + below(random, 4); n && k--;) {
		size_t at = below(random, n);

		if (below(random, 4)) {
			p[at] = below(random, 3) ? bytes[below(random, sizeof bytes)]
						 : (uint8_t)(p[at] ^ 1u << below(random, 8));
			continue;
		}
		for (uint64_t len = below(random, 10); len && at + 1 < n; len--) /* a long varint */
			p[at++] = 0xff;
	}
}

/* The chunk at `at`, changed, to the end of out. */
static void put_changed(struct buf *out, const struct buf *b, size_t at, uint64_t *random)
{
	struct sbt_chunk_header h;
	const uint8_t *stored = b->data + at + sizeof h;
	uint8_t *raw = NULL;
	size_t n = 0;

	memcpy(&h, b->data + at, sizeof h);
	if (h.flags & SBT_CHUNK_ZSTD && h.raw <= SBT_RAW_MAX) {
		raw = xmalloc(h.raw + 1);
		n = ZSTD_decompress(raw, h.raw, stored, h.stored);
		n = ZSTD_isError(n) ? 0 : n;
		h.flags &= (uint16_t)~SBT_CHUNK_ZSTD;
	} else {
		raw = xmalloc(h.stored + 1);
		n = h.stored;
		memcpy(raw, stored, n);
	}
	if (below(random, 4)) {
		change_payload(raw, n, random);
	} else {
		uint64_t *fields[] = {&h.first, &h.last, &h.lost, &h.raw};

		*fields[below(random, 4)] ^= 1ull << below(random, 64);
		h.count ^= below(random, 2) ? 1u << below(random, 32) : 0;
	}
	h.stored = n;
	h.raw = below(random, 16) ? n : h.raw;
	buf_add(out, &h, sizeof h);
	buf_add(out, raw, n);
	free(raw);
}

void mutate_file(const char *path, uint64_t *random)
{
	struct buf b = read_file(path), out = BUF_INIT;
	const size_t chunks = count_chunks(&b), victim = chunks ? below(random, chunks) : 0;
	size_t at = sizeof(struct sbt_file_header), i = 0;
	struct sbt_chunk_header h;
	FILE *f;

	if (b.len < at)
		return;
	buf_add(&out, b.data, at);
	for (; i < chunks; i++, at += sizeof h + h.stored) {
		memcpy(&h, b.data + at, sizeof h);
		if (i == victim)
			put_changed(&out, &b, at, random);
		else
			buf_add(&out, b.data + at, sizeof h + h.stored);
	}
	repair(out.data, out.len);
	f = fopen(path, "wb");
	if (f) {
		fwrite(out.data, 1, out.len, f);
		fclose(f);
	}
}
