/* SPDX-License-Identifier: Apache-2.0
 *
 * Fat binaries. The layout was measured on the output of nvcc 13.0 (--compress-mode=none, default,
 *size, speed):
 *
 *	wrapper   u32 magic, u32 version, pointer to the fat binary, pointer or 0: version 2, to a
 *list of pointers to the fat binaries that it was linked from, and NULL ("fatbinary_section.h")
 *	region    u32 magic, u16 version, u16 header size (16), u64 bytes that follow the header;
 *regions may follow one another entry     +0 u16 kind, +2 u16 0x0101, +4 u32 header size, +8 u64
 *padded payload size, +16 u32 payload size when compressed, +28 u32 architecture, +40 u64 flags,
 *+56 u64 size when decompressed
 */
#include "gpucode/fatbin.h"

#include <string.h>

#define ENTRY_HEADER 64
#define LINKED 2 /* a wrapper's version */

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
	memcpy(&ret, (const char *)p + 8, sizeof ret);
	return ret;
}

const void *const *fatbin_parts(const void *p)
{
	const void *const *ret;

	if (get32(p) != FATBIN_WRAPPER_MAGIC || get32((const unsigned char *)p + 4) != LINKED)
		return NULL;
	memcpy(&ret, (const char *)p + 16, sizeof ret);
	return ret;
}

bool fatbin_is(const void *p)
{
	return get32(p) == FATBIN_MAGIC;
}

bool fatbin_header(const void *p, struct fatbin_header *ret)
{
	const unsigned char *b = p;

	*ret = (struct fatbin_header){get16(b + 4), get16(b + 6), get64(b + 8)};
	return fatbin_is(p) && ret->size >= FATBIN_HEADER && ret->body <= SIZE_MAX / 2;
}

size_t fatbin_size(const void *p)
{
	struct fatbin_header h;

	return fatbin_header(p, &h) ? h.size + (size_t)h.body : 0;
}

bool fatbin_memory(uint64_t at, void *to, size_t n)
{
	memcpy(to, (const void *)(uintptr_t)at, n);
	return true;
}

static bool malformed(struct fatbin_walk *w, const char *why)
{
	w->why = why;
	return false;
}

bool fatbin_begin(struct fatbin_walk *w, fatbin_read_fn *read, uint64_t at, uint64_t n)
{
	unsigned char bytes[FATBIN_HEADER];
	struct fatbin_header h;

	*w = (struct fatbin_walk){.read = read};
	if (n < sizeof bytes || !read(at, bytes, sizeof bytes))
		return malformed(w, "the header is cut off");
	if (!fatbin_header(bytes, &h) || h.size > n || h.body > n - h.size)
		return malformed(w, "the header's size is wrong");
	w->at = at + h.size;
	w->left = h.body;
	return true;
}

bool fatbin_next(struct fatbin_walk *w, struct fatbin_entry *ret)
{
	unsigned char b[ENTRY_HEADER];

	if (!w->left || w->why)
		return false;
	if (w->left < sizeof b || !w->read(w->at, b, sizeof b))
		return malformed(w, "an entry is cut off");
	const uint32_t header = get32(b + 4);
	const uint64_t padded = get64(b + 8);
	if (header < ENTRY_HEADER || header > w->left)
		return malformed(w, "an entry's header size is wrong");
	if (padded > w->left - header)
		return malformed(w, "an entry is longer than the file");
	*ret = (struct fatbin_entry){.kind = get16(b),
		.arch = get32(b + 28),
		.flags = get64(b + 40),
		.decompressed = get64(b + 56),
		.at = w->at + header,
		.padded = padded,
		.stored = padded};
	if (ret->flags & (FATBIN_LZ4 | FATBIN_ZSTD))
		ret->stored = get32(b + 16);
	if (ret->stored > padded)
		return malformed(w, "an entry's compressed size is wrong");
	w->at += header + padded;
	w->left -= header + padded;
	return true;
}

/* Whether code for architecture a suits the device better than b does. */
static bool better(unsigned a, unsigned b, unsigned device)
{
	if ((a <= device) != (b <= device))
		return a <= device;
	return a <= device ? a > b : a < b;
}

void fatbin_best(struct fatbin_walk *w, unsigned arch, struct fatbin_entry *best)
{
	struct fatbin_entry e;

	while (fatbin_next(w, &e))
		if (e.kind == FATBIN_PTX && (!best->at || better(e.arch, best->arch, arch)))
			*best = e;
}
