/* SPDX-License-Identifier: Apache-2.0
 *
 * Fresh memory; see fresh.h. Replay gives zeros at addresses not used before, so only other
 * contents need to be recorded. The software NVIDIA GPU always fills fresh memory in the same way,
 * which replay knows, so nothing is recorded there.
 */
#include "capture/memory/fresh.h"

#include "capture/pipeline/bulk.h"
#include "capture/core/calls.h"
#include "capture/memory/contexts.h"
#include "capture/memory/deadline.h"
#include "capture/core/driver.h"
#include "capture/objects/ids.h"
#include "capture/objects/map.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"

#define GRANULE_SHIFT 21
#define GRANULES_MAX (1u << 16) /* of one allocation; of a larger one only the first */

static struct map used; /* granule + 1 -> 1 */
static struct {
	struct spin lock;
	struct device_set set;
} fresh;

static uint64_t granules(uint64_t addr, uint64_t size, uint64_t *ret_first)
{
	*ret_first = addr >> GRANULE_SHIFT;
	const uint64_t n = ((addr + size - 1) >> GRANULE_SHIFT) - *ret_first + 1;
	return n < GRANULES_MAX ? n : GRANULES_MAX;
}

void fresh_used(uint64_t addr, uint64_t size)
{
	uint64_t first;
	if (driver->fills_fresh() || !size)
		return;
	for (uint64_t n = granules(addr, size, &first), i = 0; i < n; i++)
		(void)map_put(&used, first + i + 1, 1);
}

static bool was_used(uint64_t addr, uint64_t size)
{
	uint64_t first;
	for (uint64_t n = granules(addr, size, &first), i = 0; i < n; i++)
		if (map_get(&used, first + i + 1))
			return true;
	return false;
}

static struct sbt_hash hash_of_zeros(uint64_t size)
{
	static const uint8_t zeros[16];
	/* missing bytes count as zeros */
	const struct sbt_hash page = sbt_page_hash(zeros, sizeof(zeros));
	struct sbt_hash h = {{0, 0}};
	for (uint64_t i = 0; i * SBT_PAGE < size; i++)
		sbt_range_hash_add(&h, i, page);
	sbt_range_hash_end(&h, size);
	return h;
}

static void send(struct device_ctx *d, const struct call *c)
{
	const struct sbt_cmd_alloc *a = &c->cmd.u.alloc;
	struct piece p = {.seq = c->cmd.seq,
		.addr = a->addr,
		.size = a->size,
		.role = BULK_EFFECT,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};
	for (uint64_t at = 0; at < a->size;) {
		const size_t n = a->size - at < DEVICE_STAGING ? a->size - at : DEVICE_STAGING;
		if (!device_read(d, a->addr + at, fresh.set.staging, n)) {
			if (at || a->mem != SBT_MEM_VMM) /* mapped, but access is not set yet */
				window_note("fresh memory could not be read");
			return;
		}
		if (!bulk_bytes(&p, fresh.set.staging, n))
			return;
		at += n;
	}
}

/* Whether the stream's work has ended, within `set gpu-timeout`. One that did not is asked once
 * from then on. */
static bool is_there(uint64_t stream)
{
	static uint64_t stuck = UINT64_MAX; /* with the lock */
	const struct driver_result r =
		device_finish(stream, stuck == stream ? 0 : deadline_limit());
	stuck = r.status == DRIVER_NOT_READY ? stream : UINT64_MAX;
	return driver_good(r);
}

static void look(struct call *c, bool always)
{
	const struct sbt_cmd_alloc *a = &c->cmd.u.alloc;
	struct sbt_hash hash;
	struct device_ctx *d =
		device_collect(&fresh.set) ? device_find(&fresh.set, c->cmd.ctx) : NULL;
	if (!d)
		return;
	device_load(&fresh.set);
	if (!device_enter(d))
		return;
	/* Stream-ordered memory can be read when its stream has reached the allocation; its work
	 * may wait for this very thread. */
	if (a->mem == SBT_MEM_ASYNC && !is_there(c->stream))
		window_note(
			"memory was allocated in a stream whose work before did not end: what it held is not known (set gpu-timeout)");
	else if (always || a->mem == SBT_MEM_IPC || was_used(a->addr, a->size) ||
		 !device_hash(&fresh.set, d, a->addr, a->size,
			 a->mem == SBT_MEM_VMM || a->mem == SBT_MEM_ARRAY, &hash) ||
		 !sbt_hash_equal(hash, hash_of_zeros(a->size)))
		send(d, c);
	device_leave();
}

void fresh_alloc(struct call *c)
{
	const struct sbt_cmd_alloc *a = &c->cmd.u.alloc;
	if ((driver->fills_fresh() && c->cmd.u.alloc.mem != SBT_MEM_IPC) ||
		c->cmd.kind != SBT_ALLOC || c->cmd.result || !a->addr || !a->size ||
		c->cmd.flags & SBT_F_GRAPH)
		return;
	/* Memory of the host is compared before every launch (host.c). VMM memory cannot be
	 * accessed yet, and comes as zeros. */
	if (a->mem == SBT_MEM_PINNED || a->mem == SBT_MEM_REGISTERED || a->mem == SBT_MEM_MANAGED ||
		a->mem == SBT_MEM_VMM)
		return;
	spin_lock(&fresh.lock);
	look(c, false);
	spin_unlock(&fresh.lock);
}

void fresh_written(struct call *c)
{
	spin_lock(&fresh.lock);
	look(c, true);
	spin_unlock(&fresh.lock);
}
