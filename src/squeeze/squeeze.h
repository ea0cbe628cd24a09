/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as deflate compresses them (RFC 1951), piece by piece. By ISA-L where the build has it,
 * which takes a quarter of zlib's time, and otherwise by zlib. The
 * compressed bytes differ; what they unpack to is the same.
 */
#ifndef SQUEEZE_SQUEEZE_H
#define SQUEEZE_SQUEEZE_H

#include "base/buf.h"

enum squeeze_as {
	SQUEEZE_BARE, /* deflate alone, as in a ZIP file */
	SQUEEZE_ZLIB, /* with zlib's head and checksum (RFC 1950) */
};
struct squeeze;

struct squeeze *squeeze_new(enum squeeze_as as) __attribute__((returns_nonnull));
/* Compresses n bytes; appends what is ready to out. */
void squeeze_put(struct squeeze *s, const void *p, size_t n, struct buf *out);
/* Appends the rest. The next piece begins another stream. */
void squeeze_end(struct squeeze *s, struct buf *out);
/* s may be NULL. */
void squeeze_free(struct squeeze *s);
/* The checksum of ZIP and gzip, over what came before, 0 at first, and n more bytes. */
uint32_t squeeze_crc32(uint32_t crc, const void *p, size_t n);

#endif
