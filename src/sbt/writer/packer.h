/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages on their way into the file: gathered into chunks, compressed by helper threads, written in order by the caller's
 * thread. Private to the room.
 */
#ifndef SBT_PACKER_H
#define SBT_PACKER_H

#include "sbt/pagehash.h"
#include "sbt/writer/writer.h"

struct sbt_packer;

/* NULL when memory is out. Threads are started when there is enough to do for them. */
struct sbt_packer *sbt_packer_create(void);
/* p may be NULL. What was not finished is lost. */
void sbt_packer_destroy(struct sbt_packer *p);
/* Copies a page (1..SBT_PAGE bytes), which gets the next number, from 0. Writes the chunks that are done, and waits for one
 * when too many are not. */
struct err *sbt_packer_add(struct sbt_packer *p, struct sbt_out *o, const void *page, uint32_t n, struct sbt_hash hash,
			   uint64_t *ret_number) TS_CHECK;
/* Every page so far reaches the file. */
struct err *sbt_packer_finish(struct sbt_packer *p, struct sbt_out *o) TS_CHECK;
/* Bytes of pages that wait, before compression. */
uint64_t sbt_packer_waiting(const struct sbt_packer *p);

#endif
