/* SPDX-License-Identifier: Apache-2.0
 *
 * See fatbin-text.h. Entries are compressed by zstd, or, by older toolkits, into one LZ4 block.
 */
#include "gpucode/fatbin-text.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "gpucode/fatbin.h"

/* far above any PTX seen; keeps a hostile size from taking all memory */
#define MAX_TEXT ((size_t)1 << 30)
/* of decompressed to compressed bytes: above what zstd and LZ4 reach on text */
#define MAX_RATIO 2000

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
		off = in[0] | (size_t)in[1] << 8;
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

static enum fatbin_result entry_text(
	const struct fatbin_entry *e, char **text, size_t *size, const char **why)
{
	bool packed = e->flags & (FATBIN_LZ4 | FATBIN_ZSTD);
	uint64_t n = packed ? e->decompressed : e->stored;
	const void *payload = (const void *)(uintptr_t)e->at;
	size_t got;
	bool ok;

	if (n > MAX_TEXT || (packed && n / MAX_RATIO > e->stored)) {
		*why = "an entry's decompressed size is not believable";
		return FATBIN_MALFORMED;
	}
	*text = malloc((size_t)n + 1);
	if (!*text)
		return FATBIN_NO_MEMORY;
	if (e->flags & FATBIN_ZSTD) {
		got = ZSTD_decompress(*text, (size_t)n, payload, e->stored);
		ok = !ZSTD_isError(got) && got == n;
	} else if (e->flags & FATBIN_LZ4) {
		ok = lz4_block(payload, e->stored, *text, (size_t)n);
	} else {
		memcpy(*text, payload, (size_t)n);
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

enum fatbin_result fatbin_ptx(
	const void *image, size_t n, unsigned arch, char **text, size_t *size, const char **why)
{
	const unsigned char *p = image;
	const char *unused;
	struct fatbin_entry best = {0};
	struct fatbin_walk w;

	if (!why)
		why = &unused;
	do {
		if (fatbin_begin(&w, fatbin_memory, (uintptr_t)p, n))
			fatbin_best(&w, arch, &best);
		*why = w.why;
		if (w.why)
			return FATBIN_MALFORMED;
		n -= fatbin_size(p);
		p += fatbin_size(p);
	} while (n >= 4 && fatbin_is(p));
	if (!best.at)
		return FATBIN_NO_PTX;
	return entry_text(&best, text, size, why);
}
