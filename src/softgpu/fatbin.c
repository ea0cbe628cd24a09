/* SPDX-License-Identifier: Apache-2.0
 *
 * Fat binaries. The layout was measured on the output of nvcc 13.0 (--compress-mode=none, default, size, speed):
 *
 *	wrapper   u32 magic, u32 version, pointer to the fat binary, pointer or 0
 *	region    u32 magic, u16 version, u16 header size (16), u64 bytes that follow the header; regions may follow one another
 *	entry     +0 u16 kind, +2 u16 0x0101, +4 u32 header size, +8 u64 padded payload size, +16 u32 payload size when
 *		  compressed, +28 u32 architecture, +40 u64 flags, +56 u64 size when decompressed
 */
#include "softgpu/fatbin.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define REGION_HEADER 16
#define ENTRY_HEADER 64
#define KIND_PTX 1
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define MAX_TEXT ((size_t)1 << 30) /* far above any PTX seen; keeps a hostile size from taking all memory */
#define MAX_RATIO 2000		   /* of decompressed to compressed bytes: above what zstd and LZ4 reach on text */

static uint16_t get16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const unsigned char *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const unsigned char *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

const void *fatbin_unwrap(const void *p)
{
	const void *ret;

	if (get32(p) != FATBIN_WRAPPER_MAGIC)
		return NULL;
	memcpy(&ret, (const char *)p + 8, sizeof(ret));
	return ret;
}

bool fatbin_is(const void *p)
{
	return get32(p) == FATBIN_MAGIC;
}

size_t fatbin_size(const void *p)
{
	const unsigned char *b = p;
	uint64_t body = get64(b + 8);

	if (!fatbin_is(p) || get16(b + 6) < REGION_HEADER || body > SIZE_MAX / 2)
		return 0;
	return get16(b + 6) + (size_t)body;
}

/* --- decompression --------------------------------------------------------------------------------------------- */

/* A length that goes on in further bytes while they are 255. False past the end. */
static bool lz4_length(const unsigned char **in, const unsigned char *end, size_t *n)
{
	unsigned char b;

	do {
		if (*in == end || *n > MAX_TEXT)
			return false;
		b = *(*in)++;
		*n += b;
	} while (b == 255);
	return true;
}

/* One LZ4 block ("LZ4 Block Format Description"): exactly out_size bytes, or false. */
static bool lz4_block(const unsigned char *in, size_t n, char *out, size_t out_size)
{
	const unsigned char *end = in + n;
	size_t at = 0, lit, match, off;

	while (in < end) {
		unsigned char token = *in++;

		lit = token >> 4;
		if (lit == 15 && !lz4_length(&in, end, &lit))
			return false;
		if (lit > (size_t)(end - in) || lit > out_size - at)
			return false;
		memcpy(out + at, in, lit);
		in += lit;
		at += lit;
		if (in == end)
			break;
		if (end - in < 2)
			return false;
		off = get16(in);
		in += 2;
		match = token & 15;
		if (match == 15 && !lz4_length(&in, end, &match))
			return false;
		match += 4;
		if (!off || off > at || match > out_size - at)
			return false;
		for (; match; match--, at++)
			out[at] = out[at - off];
	}
	return at == out_size;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

struct entry {
	unsigned kind, arch;
	uint64_t flags, decompressed;
	const unsigned char *payload;
	size_t padded, stored; /* stored: without the padding */
};

/* Reads the entry at p, n bytes before the region's end; *used is its length. NULL, or what is wrong. */
static const char *entry_read(const unsigned char *p, size_t n, struct entry *ret, size_t *used)
{
	size_t header;
	uint64_t padded;

	if (n < ENTRY_HEADER)
		return "an entry is cut off";
	header = get32(p + 4);
	padded = get64(p + 8);
	if (header < ENTRY_HEADER || header > n)
		return "an entry's header size is wrong";
	if (padded > n - header)
		return "an entry is longer than the file";
	*ret = (struct entry){
		.kind = get16(p),
		.arch = get32(p + 28),
		.flags = get64(p + 40),
		.decompressed = get64(p + 56),
		.payload = p + header,
		.padded = (size_t)padded,
		.stored = (size_t)padded,
	};
	if (ret->flags & (FLAG_LZ4 | FLAG_ZSTD)) {
		ret->stored = get32(p + 16);
		if (ret->stored > ret->padded)
			return "an entry's compressed size is wrong";
	}
	*used = header + (size_t)padded;
	return NULL;
}

static enum fatbin_result entry_text(const struct entry *e, char **text, size_t *size, const char **why)
{
	bool packed = e->flags & (FLAG_LZ4 | FLAG_ZSTD);
	uint64_t n = packed ? e->decompressed : e->stored;
	size_t got;
	bool ok;

	if (n > MAX_TEXT || (packed && n / MAX_RATIO > e->stored)) {
		*why = "an entry's decompressed size is not believable";
		return FATBIN_MALFORMED;
	}
	*text = malloc((size_t)n + 1);
	if (!*text)
		return FATBIN_NO_MEMORY;
	if (e->flags & FLAG_ZSTD) {
		got = ZSTD_decompress(*text, (size_t)n, e->payload, e->stored);
		ok = !ZSTD_isError(got) && got == n;
	} else if (e->flags & FLAG_LZ4) {
		ok = lz4_block(e->payload, e->stored, *text, (size_t)n);
	} else {
		memcpy(*text, e->payload, (size_t)n);
		ok = true;
	}
	if (!ok) {
		free(*text);
		*text = NULL;
		*why = "an entry does not decompress";
		return FATBIN_MALFORMED;
	}
	(*text)[n] = '\0';
	*size = strlen(*text); /* uncompressed entries are padded with zeros */
	return FATBIN_OK;
}

/* Whether code for architecture a suits the device better than b does. */
static bool better(unsigned a, unsigned b, unsigned device)
{
	if ((a <= device) != (b <= device))
		return a <= device;
	return a <= device ? a > b : a < b;
}

static const char *region_best(const unsigned char *p, size_t n, unsigned arch, struct entry *best, bool *found)
{
	struct entry e;
	const char *why;
	size_t used;

	while (n) {
		why = entry_read(p, n, &e, &used);
		if (why)
			return why;
		if (e.kind == KIND_PTX && (!*found || better(e.arch, best->arch, arch))) {
			*best = e;
			*found = true;
		}
		p += used;
		n -= used;
	}
	return NULL;
}

enum fatbin_result fatbin_ptx(const void *image, size_t n, unsigned arch, char **text, size_t *size, const char **why)
{
	const unsigned char *p = image;
	const char *unused;
	struct entry best = {0};
	bool found = false;
	size_t total, header;

	if (!why)
		why = &unused;
	*why = NULL;
	do {
		if (n < REGION_HEADER) {
			*why = "the header is cut off";
			return FATBIN_MALFORMED;
		}
		total = fatbin_size(p);
		if (!total || total > n) {
			*why = "the header's size is wrong";
			return FATBIN_MALFORMED;
		}
		header = get16(p + 6);
		*why = region_best(p + header, total - header, arch, &best, &found);
		if (*why)
			return FATBIN_MALFORMED;
		p += total;
		n -= total;
	} while (n >= 4 && fatbin_is(p));
	if (!found)
		return FATBIN_NO_PTX;
	return entry_text(&best, text, size, why);
}
