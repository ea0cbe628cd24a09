/* SPDX-License-Identifier: Apache-2.0
 *
 * Packs pages into the file: gathers them into chunks, compresses these in helper threads and
 * writes them in order from the caller's thread. Private to the room.
 */
#ifndef SBT_PACKER_H
#define SBT_PACKER_H

#include "sbt/pagehash.h"
#include "sbt/writer/writer.h"

struct sbt_packer;

/* NULL when memory is out. Threads are started when there is enough to do for them. */
struct sbt_packer *sbt_packer_create(void);
/* p may be NULL. Pages that have not reached the file are lost: call sbt_packer_finish() before. */
void sbt_packer_destroy(struct sbt_packer *p);
/* Copies a page (1..SBT_PAGE bytes) and gives it the next number, from 0. Writes the chunks that
 * are ready, and waits for one when too many are not. */
struct err *sbt_packer_add(struct sbt_packer *p, struct sbt_out *o, const void *page, uint32_t n,
	struct sbt_hash hash, uint64_t *ret_number) TS_CHECK;
/* Every page so far reaches the file. */
struct err *sbt_packer_finish(struct sbt_packer *p, struct sbt_out *o) TS_CHECK;
/* Bytes of pages that wait, before compression. */
uint64_t sbt_packer_waiting(const struct sbt_packer *p);

#endif
