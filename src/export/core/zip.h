/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a ZIP file (PKWARE's APPNOTE 6.3) from beginning to end, without going back, so that it
 * can go into a pipe and its members need not fit into memory. It uses what Perfetto's reader
 * (google/perfetto, src/trace_processor/util/zip_reader.cc) takes and no more: version 2.0,
 * deflate, sizes behind a member's bytes, no ZIP64. That is why no library writes it: those that
 * do not know a member's size beforehand write ZIP64.
 */
#ifndef EXPORT_ZIP_H
#define EXPORT_ZIP_H

#include <stdio.h>
#include "base/err.h"

struct zip;

/* f stays the caller's. */
struct zip *zip_new(FILE *f);
/* Ends the member before, and begins one. name: of ASCII characters. */
struct err *zip_begin(struct zip *z, const char *name) TS_CHECK;
/* Adds n bytes to the member. ERR_LIMIT: it, or the file, would be longer than 4 GiB; ERR_SYSTEM:
 * f takes no more. */
struct err *zip_put(struct zip *z, const void *p, size_t n) TS_CHECK;
/* Ends the last member and writes the list of all. */
struct err *zip_end(struct zip *z) TS_CHECK;
void zip_free(struct zip *z);

#endif
