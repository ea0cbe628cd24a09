/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of the bulk slots ("Memory" in wire.h): sends contents of memory to tsdb. It
 * always waits for a slot, whatever control.on_full says, because a window with missing pieces
 * cannot be executed again. It gives up only when tsdb has ended.
 */
#ifndef CAPTURE_BULK_H
#define CAPTURE_BULK_H

#include "capture/core/agent.h"
#include "sbt/pagehash.h"

/* As in sbt/memory.h, which is not for code in other people's programs. */
enum bulk_role {
	BULK_START = 1,
	BULK_INPUT,
	BULK_HOST,
	BULK_OUTPUT,
	BULK_EFFECT,
	BULK_END,
	BULK_FREED
};
enum bulk_owner { BULK_ALLOCATION, BULK_GLOBAL, BULK_ANY };

struct piece {
	uint64_t seq, addr, size;
	uint32_t role, owner, module;
	uint32_t ctx;	  /* a global's, its id plus 1; 0: none */
	const char *name; /* a global's, or NULL */
	bool doubt;	  /* as in struct sbt_memory */
	bool cells; /* a global's: it begins with functions' addresses (gpucode/code-globals.h) */
	uint64_t number, at; /* bulk.c's: the piece's number, bytes sent */
};

/* Fills dst with n bytes of a piece, from offset on. Returns false if they cannot be read (dst then
 * has zeros from there on). */
typedef bool bulk_fill_fn(void *arg, uint64_t offset, void *dst, size_t n);

/* Sends the next n bytes of p. Returns false if the piece was cut: the bytes could not be read, or
 * tsdb does not listen. */
bool bulk_fill(struct piece *p, uint64_t n, bulk_fill_fn *fill, void *arg);
bool bulk_bytes(struct piece *p, const void *bytes, uint64_t n);
/* Sends the hashes of the pages in the next n bytes of p, which tsdb has; from the beginning of a
 * page to the end of a page or of p. */
bool bulk_same(struct piece *p, const struct sbt_hash *pages, uint64_t n);
/* Sends only the piece's hash. */
bool bulk_hash(struct piece *p, struct sbt_hash hash);
/* After an exec: fills tickets of the earlier program that were never filled with nothing. */
void bulk_adopt(struct tsdb_control *c);

#endif
