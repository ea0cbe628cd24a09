/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of the bulk slots ("Memory" in wire.h): contents of memory on their way to tsdb. Always waits for a slot,
 * whatever control.on_full says, because a span with holes cannot be executed again; gives up only when tsdb is gone.
 */
#ifndef CAPTURE_BULK_H
#define CAPTURE_BULK_H

#include "capture/core/agent.h"
#include "sbt/pagehash.h"

/* As in sbt/memory.h, which is not for code in other people's programs. */
enum bulk_role { BULK_START = 1, BULK_INPUT, BULK_HOST, BULK_OUTPUT, BULK_EFFECT, BULK_END };
enum bulk_owner { BULK_ALLOCATION, BULK_GLOBAL, BULK_ANY };

struct piece {
	uint64_t seq, addr, size;
	uint32_t role, owner, module;
	uint32_t ctx; /* a global's, its id plus 1; 0: none */
	const char *name; /* a global's, or NULL */
	bool doubt;	  /* as in struct sbt_memory */
	bool cells;	  /* a global's: it begins with functions' addresses (gpucode/code-globals.h) */
	uint64_t number, at; /* bulk.c's: the piece's number, bytes sent */
};

/* Fills dst with n bytes of a piece, from offset on. False: they cannot be read (dst is then zeros from there on). */
typedef bool bulk_fill_fn(void *arg, uint64_t offset, void *dst, size_t n);

/* Sends the next n bytes of p. False: cut, because they could not be read or nobody listens. */
bool bulk_fill(struct piece *p, uint64_t n, bulk_fill_fn *fill, void *arg);
bool bulk_bytes(struct piece *p, const void *bytes, uint64_t n);
/* The next n bytes of p are pages that tsdb has, by their hashes; from a page's beginning to a page's end or p's. */
bool bulk_same(struct piece *p, const struct sbt_hash *pages, uint64_t n);
/* The piece's hash alone. */
bool bulk_hash(struct piece *p, struct sbt_hash hash);
/* After an exec: tickets of the earlier image that were never filled are filled with nothing. */
void bulk_adopt(struct tsdb_control *c);

#endif
