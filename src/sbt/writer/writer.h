/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer's files share. writer.c holds what waits for the next flush, writer-memory.c the
 * memory that waits, and writer-chunk.c puts whole chunks into the file and remembers where.
 * Private to the room.
 */
#ifndef SBT_WRITER_H
#define SBT_WRITER_H

#include "sbt/cmd/encode.h"
#include "sbt/format/format.h"
#include "sbt/sbt.h"

/* The file: chunks are appended whole or not at all. */
struct sbt_out {
	int fd;
	char *path;
	uint64_t size;	       /* bytes of whole chunks */
	bool failed;	       /* a write failed: nothing is written any more */
	uint64_t lost;	       /* goes into every chunk header */
	uint64_t lost_written; /* in the last chunk header */
	struct sbt_entry *entries;
	size_t n, cap;
	struct buf packed; /* scratch */
	void *zstd;	   /* ZSTD_CCtx */
};

struct err *sbt_out_open(struct sbt_out *o, const char *path) TS_CHECK;
/* Appends one chunk. After a failed write the file is cut back to whole chunks and the error
 * returned; from then on every call does nothing and succeeds. */
struct err *sbt_out_chunk(struct sbt_out *o, enum sbt_chunk_type type, uint64_t first,
	uint64_t last, uint32_t count, const void *payload, size_t n) TS_CHECK;
/* The same for a payload that is stored as it is, with its XXH64. */
struct err *sbt_out_stored(struct sbt_out *o, enum sbt_chunk_type type, uint64_t first,
	uint64_t last, uint32_t count, const void *payload, size_t n, uint64_t hash) TS_CHECK;
/* Index and trailer, then closes and frees what o holds. */
struct err *sbt_out_close(struct sbt_out *o) TS_CHECK;

/* Memory that waits, in writer-memory.c. NULL is none. */
struct sbt_memory_out;
struct err *sbt_memory_out_flush(struct sbt_memory_out *m, struct sbt_out *o) TS_CHECK;
/* Pieces that are open get no more bytes. */
struct err *sbt_memory_out_cut(struct sbt_memory_out *m, struct sbt_out *o) TS_CHECK;
uint64_t sbt_memory_out_waiting(const struct sbt_memory_out *m);
void sbt_memory_out_free(struct sbt_memory_out *m);
/* For writer-memory.c: its part of a writer, made when first asked for, and the file. */
struct sbt_memory_out **sbt_writer_memory_out(struct sbt_writer *w);
struct sbt_out *sbt_writer_out(struct sbt_writer *w);

#endif
