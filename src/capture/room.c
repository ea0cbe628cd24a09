/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for copies; see room.h. It comes in blocks, as the program's memory grows; a copy may lie in several of them.
 */
#include "capture/room.h"

#include "capture/driver.h"
#include "capture/live.h"

#define LEAVE_FREE (256u << 20) /* bytes of a device that we never take */
#define BLOCK_LEAST (1u << 20)
#define BLOCK_AHEAD (32u << 20) /* a program that is still allocating gets few large blocks, not many small ones */
#define BLOCKS_MAX 256

struct block {
	CUcontext handle;
	uint32_t ctx;
	CUdeviceptr addr;
	uint64_t bytes, used;
};

_Atomic uint64_t room_held;
_Atomic uint32_t room_epoch;
static struct {
	struct spin lock;
	struct block block[BLOCKS_MAX];
	unsigned n;
} room;

static uint64_t held_of(uint32_t ctx)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < room.n; i++)
		if (room.block[i].ctx == ctx)
			bytes += room.block[i].bytes;
	return bytes;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + BLOCK_LEAST - 1) & ~(uint64_t)(BLOCK_LEAST - 1);
}

/* In the context. */
static void grow(struct device_ctx *d, uint64_t bytes, bool ahead)
{
	size_t unused = 0, total = 0;
	if (room.n == BLOCKS_MAX || OWN(driver.cuMemGetInfo_v2(&unused, &total)) || unused <= LEAVE_FREE)
		return;
	const uint64_t most = ahead ? (unused - LEAVE_FREE) / 2 : unused - LEAVE_FREE;
	if (bytes > most && ahead)
		return;
	if (ahead && bytes < BLOCK_AHEAD && BLOCK_AHEAD <= most)
		bytes = BLOCK_AHEAD;
	if (ahead && bytes < held_of(d->id) / 4 && held_of(d->id) / 4 <= most)
		bytes = held_of(d->id) / 4;
	for (bytes = bytes > most ? most : bytes; bytes >= BLOCK_LEAST; bytes /= 2) {
		struct block *b = &room.block[room.n];
		bytes &= ~(uint64_t)(LIVE_ALIGN - 1);
		*b = (struct block){ .handle = d->handle, .ctx = d->id, .bytes = bytes };
		if (!OWN(driver.cuMemAlloc_v2(&b->addr, bytes))) {
			room.n++;
			atomic_fetch_add(&room_held, bytes);
			return;
		}
		if (ahead)
			return;
	}
}

void room_reserve(struct device_set *s, bool ahead)
{
	if (!driver.cuMemGetInfo_v2 || !driver.cuMemAlloc_v2 || !driver.cuMemFree_v2 || !driver.cuMemcpyDtoDAsync_v2)
		return;
	spin_lock(&room.lock);
	for (unsigned i = 0; i < s->n; i++) {
		/* Memory whose context is not known is the first one's (device_find()). */
		const uint64_t need = round_up(live_device_bytes(s->ctx[i].id) + (i ? 0 : live_device_bytes(SBT_NO_ID)) +
			s->ctx[i].globals + (room.n + 1) * SBT_PAGE);
		const uint64_t have = held_of(s->ctx[i].id);
		if (need > have && device_enter(&s->ctx[i])) {
			grow(&s->ctx[i], need - have, ahead);
			device_leave();
		}
	}
	spin_unlock(&room.lock);
}

uint64_t room_left(uint32_t ctx)
{
	uint64_t bytes = 0;
	spin_lock(&room.lock);
	for (unsigned i = 0; i < room.n; i++)
		if (room.block[i].ctx == ctx)
			bytes += (room.block[i].bytes - room.block[i].used) & ~(uint64_t)(SBT_PAGE - 1);
	spin_unlock(&room.lock);
	return bytes;
}

uint64_t room_take(uint32_t ctx, uint64_t bytes, uint64_t *ret_addr)
{
	uint64_t n = 0;
	spin_lock(&room.lock);
	for (unsigned i = 0; i < room.n && !n; i++) {
		struct block *b = &room.block[i];
		if (b->ctx != ctx)
			continue;
		*ret_addr = b->addr + b->used;
		/* Whole pages, but for the last: they are hashed one by one. */
		n = bytes <= b->bytes - b->used ? bytes : (b->bytes - b->used) & ~(uint64_t)(SBT_PAGE - 1);
		if (!n)
			continue;
		b->used += (n + LIVE_ALIGN - 1) & ~(uint64_t)(LIVE_ALIGN - 1);
	}
	spin_unlock(&room.lock);
	return n;
}

/* Of a context that is gone the memory is gone. */
static void release(void)
{
	CUcontext was;
	for (unsigned i = 0; i < room.n; i++) {
		const struct block *b = &room.block[i];
		if (!device_is_there(b->handle, b->ctx) || OWN(driver.cuCtxPushCurrent_v2(b->handle)))
			continue;
		(void)OWN(driver.cuMemFree_v2(b->addr));
		(void)OWN(driver.cuCtxPopCurrent_v2(&was));
	}
	if (room.n)
		atomic_fetch_add(&room_epoch, 1);
	room.n = 0;
	atomic_store(&room_held, 0);
}

void room_release(void)
{
	spin_lock(&room.lock);
	release();
	spin_unlock(&room.lock);
}

void room_make_way(uint64_t bytes)
{
	size_t unused = 0, total = 0;
	spin_lock(&room.lock);
	bool used = false;
	for (unsigned i = 0; i < room.n; i++)
		used |= room.block[i].used != 0;
	/* In the calling thread's context; where that cannot be asked the call fails anyway. */
	if (room.n && !used && !OWN(driver.cuMemGetInfo_v2(&unused, &total)) && (unused < LEAVE_FREE || unused - LEAVE_FREE < bytes))
		release();
	spin_unlock(&room.lock);
}
