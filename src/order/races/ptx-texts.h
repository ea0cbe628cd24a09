/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX texts that a trace holds, read at the first question about one of them.
 */
#ifndef ORDER_RACES_PTX_TEXTS_H
#define ORDER_RACES_PTX_TEXTS_H

#include "base/buf.h"
#include "sbt/sbt.h"

/* Zeroes: not read yet. */
struct ptx_texts {
	struct buf *text; /* heap; one may be empty */
	size_t n;
	bool read;
};

/* Reads all of them; nothing when that was tried before. After an error the texts read so far are
 * there. */
struct err *ptx_texts_read(struct ptx_texts *t, struct sbt_reader *trace) TS_CHECK;
void ptx_texts_free(struct ptx_texts *t);

#endif
