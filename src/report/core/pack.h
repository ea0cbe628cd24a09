/* SPDX-License-Identifier: Apache-2.0
 *
 * One column of numbers, or one text, for the page: varints (LEB128), compressed as zlib does,
 * written as base64 into a script element that no browser executes. Base64 has no character that
 * ends the element, so nothing that a trace holds can.
 */
#ifndef REPORT_PACK_H
#define REPORT_PACK_H

#include <stdio.h>
#include "squeeze/squeeze.h"

struct pack {
	struct buf raw;		 /* not compressed yet */
	struct buf out;		 /* compressed */
	struct squeeze *squeeze; /* NULL: nothing was compressed yet */
	uint64_t size;		 /* bytes given so far */
};

void pack_u64(struct pack *p, uint64_t v);
/* Zigzag: small differences are short, whatever their sign. */
void pack_i64(struct pack *p, int64_t v);
void pack_bytes(struct pack *p, const void *bytes, size_t n);
/* Ends the column, writes it as element `trace`-`name` and frees it. */
struct err *pack_end(struct pack *p, FILE *f, unsigned trace, const char *name) TS_CHECK;
void pack_free(struct pack *p);

#endif
