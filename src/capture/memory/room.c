/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for copies; see room.h. It consists of blocks, since the program's memory grows; a copy may
 * be in several of them.
 */
#include "capture/memory/room.h"

#include <time.h>
#include "capture/core/driver.h"
#include "capture/objects/live.h"
#include "base/checked.h"

#define LEAVE_FREE (256u << 20) /* bytes of a device that are never used */
#define BLOCK_LEAST (1u << 20)
/* a program that is still allocating gets few large blocks instead of many small ones */
#define BLOCK_AHEAD (32u << 20)
#define BLOCKS_MAX 256
#define LOCK_TURNS 1000u
#define LOCK_TURN_NS 100000

struct block {
	uint64_t handle;
	uint32_t ctx;
	uint64_t addr;
	uint64_t bytes, used;
	uint64_t keep; /* the keeper's id of it; 0: this process's own memory */
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

/* Takes memory of the keeper, which survives a fault, or else of this context. */
static bool take(struct block *b, uint64_t bytes)
{
	b->keep = driver->keep_new(bytes, &b->addr, &b->bytes);
	if (b->keep)
		return true;
	b->bytes = bytes;
	return driver_good(driver->mem_alloc(&b->addr, bytes));
}

/* Called in the context. */
static void grow(struct device_ctx *d, uint64_t bytes, bool ahead)
{
	uint64_t unused;
	if (room.n == BLOCKS_MAX || !driver_good(driver->mem_unused(&unused)) ||
		unused <= LEAVE_FREE)
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
		*b = (struct block){.handle = d->handle, .ctx = d->id};
		if (take(b, bytes)) {
			room.n++;
			atomic_fetch_add(&room_held, b->bytes);
			return;
		}
		if (ahead)
			return;
	}
}

/* Frees the blocks. A destroyed context has freed its memory already, except the keeper's. */
static void release(void)
{
	for (unsigned i = 0; i < room.n; i++) {
		const struct block *b = &room.block[i];
		if (b->keep) {
			driver->keep_free(b->keep, b->addr, b->bytes);
			continue;
		}
		if (!device_is_there(b->handle, b->ctx) ||
			!driver_good(driver->context_enter(b->handle)))
			continue;
		(void)driver->mem_free(b->addr);
		driver->context_leave();
	}
	if (room.n)
		atomic_fetch_add(&room_epoch, 1);
	room.n = 0;
	atomic_store(&room_held, 0);
}

/* Memory whose owner has ended would not outlive a fault; there may be another owner now. */
static bool is_unsafe(void)
{
	bool unsafe = false, used = false;
	for (unsigned i = 0; i < room.n; i++) {
		unsafe |= room.block[i].keep && !driver->keep_is_safe(room.block[i].keep);
		used |= room.block[i].used != 0;
	}
	return unsafe && !used;
}

void room_reserve(struct device_set *s, bool ahead)
{
	if (!driver->can(DRIVER_CAN_COPY))
		return;
	spin_lock(&room.lock);
	if (is_unsafe())
		release();
	for (unsigned i = 0; i < s->n; i++) {
		/* Memory whose context is not known is the first one's (device_find()). */
		const uint64_t need = round_up(live_device_bytes(s->ctx[i].id) +
					       (i ? 0 : live_device_bytes(SBT_NO_ID)) +
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
			bytes += (room.block[i].bytes - room.block[i].used) &
				 ~(uint64_t)(SBT_PAGE - 1);
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
		n = bytes <= b->bytes - b->used ? bytes
						: (b->bytes - b->used) & ~(uint64_t)(SBT_PAGE - 1);
		if (!n)
			continue;
		b->used += (n + LIVE_ALIGN - 1) & ~(uint64_t)(LIVE_ALIGN - 1);
	}
	spin_unlock(&room.lock);
	return n;
}

/* Returns false if the thread that gets room still waits for the device (deadline.h). */
static bool lock_in_time(void)
{
	for (unsigned tries = 0; tries < LOCK_TURNS; tries++) {
		if (!atomic_exchange_explicit(&room.lock.held, 1, memory_order_acquire))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_TURN_NS}, NULL);
	}
	return false;
}

void room_release(void)
{
	if (!lock_in_time())
		return;
	release();
	spin_unlock(&room.lock);
}

/* No lock: at a stop its holder may be stopped. */
bool room_read(uint64_t addr, void *dst, size_t n)
{
	for (unsigned i = 0; i < room.n; i++) {
		const struct block *b = &room.block[i];
		if (b->keep && range_within(addr, n, b->addr, b->bytes))
			return driver->keep_read(b->keep, addr - b->addr, dst, n);
	}
	return false;
}

/* Whether as much as the block's size is free besides; in a context that has faulted the program
 * cannot allocate any more. */
static bool is_spare(const struct block *b)
{
	uint64_t unused;
	if (!device_is_there(b->handle, b->ctx) || !driver_good(driver->context_enter(b->handle)))
		return false;
	const bool told = driver_good(driver->mem_unused(&unused));
	driver->context_leave();
	return !told || (unused > LEAVE_FREE && unused - LEAVE_FREE >= b->bytes);
}

bool room_keep(void)
{
	spin_lock(&room.lock);
	bool good = room.n;
	for (unsigned i = 0; i < room.n; i++)
		good = good && room.block[i].keep && is_spare(&room.block[i]);
	for (unsigned i = 0; i < room.n && good; i++)
		room.block[i].used = 0;
	spin_unlock(&room.lock);
	return good;
}

void room_make_way(uint64_t bytes)
{
	uint64_t unused;
	if (!lock_in_time())
		return;
	bool used = false;
	for (unsigned i = 0; i < room.n; i++)
		used |= room.block[i].used != 0;
	/* Asks in the calling thread's context; if that is not possible the program's call fails
	 * anyway. */
	if (room.n && !used && driver_good(driver->mem_unused(&unused)) &&
		(unused < LEAVE_FREE || unused - LEAVE_FREE < bytes))
		release();
	spin_unlock(&room.lock);
}
