/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of address ranges, and the choice of the checkpoint to drop: the parts of tsdb-replayer
 * that need no device.
 */
#ifndef REPLAY_REPLAYER_RANGES_H
#define REPLAY_REPLAYER_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t addr, size; /* bytes; addr + size does not wrap */
};
struct ranges {
	struct range *r; /* rising, apart */
	size_t n, cap;
};
/* Appends; in any order until ranges_merge(). A range that is empty or wraps is left out. */
void ranges_add(struct ranges *s, uint64_t addr, uint64_t size);
/* Sorts them; neighbours stay apart. */
void ranges_sort(struct ranges *s);
/* Rounds each outwards to multiples of round (a power of two), sorts, and joins those that overlap,
 * touch, or are at most gap bytes apart. */
void ranges_merge(struct ranges *s, uint64_t round, uint64_t gap);
/* The one that holds all of [addr, addr + size), or NULL. */
const struct range *ranges_find(const struct ranges *s, uint64_t addr, uint64_t size);
uint64_t ranges_bytes(const struct ranges *s);
void ranges_free(struct ranges *s);

/* How many checkpoints fit, at most `most`. One takes `device` bytes of device_room and `host`
 * bytes of host_room. With `shared` both come out of device_room. */
size_t thin_fit(uint64_t device, uint64_t device_room, uint64_t host, uint64_t host_room,
	bool shared, size_t most);

/* Chooses which of n checkpoints (n >= 3, rising) to drop with the position at seq: those near it
 * stay dense, those far away become sparse. The first one is the window's start and always stays;
 * so does the one nearest to the position. */
size_t thin_choose(const uint64_t *at, size_t n, uint64_t seq);

#endif
