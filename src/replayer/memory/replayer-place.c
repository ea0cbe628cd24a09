/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at the addresses it had while recording. Reserving takes a hint, not an address, and says
 * nothing when it chose another one, so the result is compared. What works was measured: ranges
 * rounded outwards to 32 MiB, neighbours joined, right after the context, before anything else;
 * rounded to the allocation granularity some move, and holding ranges with mmap before the driver
 * starts makes all move.
 *
 * An NVIDIA driver hands out addresses in blocks of 32 MiB and takes the whole block, so pinned
 * memory that shares one with device memory cannot be mapped by us: it becomes host memory of the
 * driver's, mapped into the block. Managed memory is device memory here (nothing of the program's
 * host side runs), except on the software GPU, where it lies among the pages of the process.
 *
 * All allocations of the window are placed for the whole window, whatever is freed in it, so two of
 * them may share addresses.
 */
#include "replayer/execute/replayer-fail.h"
#include "base/first-where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROUND (32ull << 20)
#define HOST_PAGE 4096ull

static bool on_host(const struct rp *rp, enum sbt_mem mem)
{
	return mem == SBT_MEM_PINNED || mem == SBT_MEM_REGISTERED ||
	       (mem == SBT_MEM_MANAGED && rp->lib.soft);
}

static struct ranges all_of(const struct rp *rp, bool host)
{
	const struct place *p = &rp->place;
	struct ranges s = {0};

	for (size_t i = 0; i < p->nwanted; i++)
		if (on_host(rp, p->wanted[i].mem) == host)
			ranges_add(&s, p->wanted[i].addr, p->wanted[i].size);
	return s;
}

static bool meets(const struct ranges *s, struct range r)
{
	for (size_t i = 0; i < s->n; i++)
		if (r.addr < s->r[i].addr + s->r[i].size && s->r[i].addr < r.addr + r.size)
			return true;
	return false;
}

static struct err *moved(struct rp *rp, struct range r, const char *why)
{
	return err_cure(
		rp_fail(rp, REPLAYER_E_PLACE, 0,
			"the recorded addresses 0x%llx to 0x%llx (%llu bytes) cannot be had here: %s",
			(unsigned long long)r.addr, (unsigned long long)(r.addr + r.size),
			(unsigned long long)r.size, why),
		"try again; another process or driver places its own things elsewhere");
}

/* --- reserving --- */

static bool reserve(struct rp *rp, struct range r)
{
	uint64_t got = 0;

	if (rp->gpu->mem_reserve(&got, r.addr, r.size).status)
		return false;
	if (got == r.addr)
		return true;
	(void)rp->gpu->mem_unreserve(got, r.size);
	return false;
}

/* Reserves parts of a rounded range in which something else lies: only what its allocations
 * need. */
static struct err *reserve_parts(
	struct rp *rp, struct range whole, uint64_t grain, struct ranges *reserved)
{
	struct ranges parts = {0};
	struct err *e = NULL;

	for (size_t i = 0; i < rp->place.nwanted; i++) {
		const struct wanted *w = &rp->place.wanted[i];

		if (!on_host(rp, w->mem) && w->addr >= whole.addr &&
			w->addr - whole.addr < whole.size)
			ranges_add(&parts, w->addr, w->size);
	}
	for (size_t i = 0; i < rp->place.mixed.n; i++)
		if (rp->place.mixed.r[i].addr >= whole.addr &&
			rp->place.mixed.r[i].addr - whole.addr < whole.size)
			ranges_add(&parts, rp->place.mixed.r[i].addr, rp->place.mixed.r[i].size);
	ranges_merge(&parts, grain, 0);
	for (size_t i = 0; i < parts.n && !e; i++)
		if (reserve(rp, parts.r[i]))
			ranges_add(reserved, parts.r[i].addr, parts.r[i].size);
		else
			e = moved(rp, parts.r[i], "the driver places them elsewhere");
	ranges_free(&parts);
	return e;
}

static bool is_mixed(const struct rp *rp, const struct wanted *w)
{
	return !on_host(rp, w->mem) && meets(&rp->place.mixed, (struct range){w->addr, w->size});
}

/* The recording's driver may have given an address first to pinned memory and then to device
 * memory, or the other way round. Here such memory has one kind all the time: whole device
 * allocations become the driver's host memory, so that each is in one piece. */
static void mix_device(struct rp *rp, uint64_t grain)
{
	struct ranges *mixed = &rp->place.mixed;
	uint64_t was;

	do {
		was = ranges_bytes(mixed);
		for (size_t i = 0; i < rp->place.nwanted; i++)
			if (is_mixed(rp, &rp->place.wanted[i]))
				ranges_add(
					mixed, rp->place.wanted[i].addr, rp->place.wanted[i].size);
		ranges_merge(mixed, grain, 0);
	} while (ranges_bytes(mixed) != was);
}

/* The blocks of device memory, and the pinned memory that reaches into them (place.mixed), whose
 * blocks may take in more. */
static struct ranges blocks_of(struct rp *rp, uint64_t grain)
{
	struct ranges blocks = all_of(rp, false), host = all_of(rp, true);
	struct ranges *mixed = &rp->place.mixed;

	ranges_merge(&host, grain, 0);
	/* The software GPU reserves any address, and its pinned memory is the process's own, which
	 * needs room. */
	ranges_merge(&blocks, rp->lib.soft ? grain : ROUND, 0);
	for (size_t i = 0; i < host.n && !rp->lib.soft; i++) {
		if (!meets(&blocks, host.r[i]) ||
			ranges_find(mixed, host.r[i].addr, host.r[i].size))
			continue;
		ranges_add(mixed, host.r[i].addr, host.r[i].size);
		ranges_merge(mixed, 1, 0);
		ranges_add(&blocks, host.r[i].addr, host.r[i].size);
		ranges_merge(&blocks, ROUND, 0);
		i = (size_t)-1; /* look again at all: the blocks have grown */
	}
	mix_device(rp, grain);
	ranges_free(&host);
	return blocks;
}

static struct err *reserve_all(struct rp *rp, uint64_t grain, struct ranges *reserved)
{
	struct ranges blocks = blocks_of(rp, grain), refused = {0};
	struct err *e = NULL;

	for (size_t i = 0; i < blocks.n; i++)
		ranges_add(reserve(rp, blocks.r[i]) ? reserved : &refused, blocks.r[i].addr,
			blocks.r[i].size);
	for (size_t i = 0; i < refused.n && !e; i++)
		e = reserve_parts(rp, refused.r[i], grain, reserved);
	ranges_free(&blocks);
	ranges_free(&refused);
	return e;
}

/* --- mapping --- */

/* dev: the device that it lives on; all devices of the window may use it. */
static struct err *map_one(struct rp *rp, struct range r, unsigned dev, bool host)
{
	int devices[DEVICES_MAX];

	for (unsigned i = 0; i < rp->devices.n; i++)
		devices[i] = rp->devices.d[i].device;
	return rp_gpu(rp, rp->gpu->mem_map(r.addr, r.size, rp->devices.d[dev].device, host, devices,
				  rp->devices.n));
}

/* How much device memory the touched allocations take, rounded to the grain; 0: not known. */
static uint64_t touched_bytes(struct rp *rp, uint64_t grain)
{
	struct ranges s = {0};
	struct err *e = touched_find(rp);

	for (size_t i = 0; i < rp->place.nwanted && !e; i++)
		if (rp->place.wanted[i].touched && !on_host(rp, rp->place.wanted[i].mem))
			ranges_add(&s, rp->place.wanted[i].addr, rp->place.wanted[i].size);
	ranges_merge(&s, grain, 0);
	const uint64_t n = e ? 0 : ranges_bytes(&s);
	ranges_free(&s);
	err_free(e);
	return n;
}

static struct err *too_little(struct rp *rp, uint64_t grain, uint64_t needed, uint64_t have)
{
	const uint64_t touched = rp->flags & REPLAYER_TOUCHED ? 0 : touched_bytes(rp, grain);
	const uint64_t up = (1u << 20) - 1;
	struct err *e = rp_fail(rp, REPLAYER_E_MEMORY, 0,
		"the window needs %llu MiB of device memory; %llu MiB are free",
		(unsigned long long)((needed + up) >> 20), (unsigned long long)(have >> 20));

	if (touched && touched < needed)
		return err_cure(e,
			"--touched places only what its commands name, %llu MiB; or free memory on the device",
			(unsigned long long)((touched + up) >> 20));
	return err_cure(e,
		"free memory on the device, or use one with more; `--on none` replays the state without executing anything");
}

/* Appends r without the holes. */
static void add_without(struct ranges *to, struct range r, const struct ranges *holes)
{
	uint64_t at = r.addr;
	const uint64_t end = r.addr + r.size;

	for (size_t i = 0; i < holes->n && at < end; i++) {
		const struct range h = holes->r[i];

		if (h.addr + h.size <= at || h.addr >= end)
			continue;
		if (h.addr > at)
			ranges_add(to, at, h.addr - at);
		at = h.addr + h.size;
	}
	if (at < end)
		ranges_add(to, at, end - at);
}

/* Chooses the ranges to map as device memory: the whole reserved ranges if they fit, else what the
 * allocations cover. */
static struct ranges choose_mapped(
	struct rp *rp, uint64_t grain, const struct ranges *reserved, uint64_t have)
{
	struct ranges needed = all_of(rp, false), ret = {0};
	const struct ranges *from = reserved;

	ranges_merge(&needed, grain, 0);
	if (ranges_bytes(reserved) >= have - have / 8)
		from = &needed;
	for (size_t i = 0; i < from->n; i++)
		add_without(&ret, from->r[i], &rp->place.mixed);
	ranges_free(&needed);
	return ret;
}

/* Maps what the allocations of one device cover: not the whole blocks, whose rest may be another
 * device's, and not what is mapped already. */
static struct err *map_device(struct rp *rp, uint64_t grain, unsigned dev, struct ranges *taken)
{
	struct ranges own = {0}, ret = {0};
	size_t have = 0, total = 0;
	struct err *e = NULL;

	for (size_t i = 0; i < rp->place.nwanted; i++)
		if (rp->place.wanted[i].dev == dev && !on_host(rp, rp->place.wanted[i].mem))
			ranges_add(&own, rp->place.wanted[i].addr, rp->place.wanted[i].size);
	ranges_merge(&own, grain, 0);
	for (size_t i = 0; i < own.n; i++)
		add_without(&ret, own.r[i], taken);
	ranges_free(&own);
	e = devices_enter(rp, dev);
	if (!e)
		e = rp_gpu(rp, rp->gpu->mem_info(&have, &total));
	if (!e && ranges_bytes(&ret) > have)
		e = too_little(rp, grain, ranges_bytes(&ret), have);
	for (size_t i = 0; i < ret.n && !e; i++) {
		e = map_one(rp, ret.r[i], dev, false);
		ranges_add(taken, ret.r[i].addr, ret.r[i].size);
		ranges_add(&rp->place.mapped, ret.r[i].addr, ret.r[i].size);
	}
	ranges_merge(taken, 1, 0);
	ranges_free(&ret);
	return e;
}

static struct err *map_several(struct rp *rp, uint64_t grain)
{
	struct ranges taken = {0};
	struct err *e = NULL;

	for (size_t i = 0; i < rp->place.mixed.n; i++)
		ranges_add(&taken, rp->place.mixed.r[i].addr, rp->place.mixed.r[i].size);
	ranges_merge(&taken, 1, 0);
	for (unsigned i = 0; i < rp->devices.n && !e; i++)
		e = map_device(rp, grain, i, &taken);
	ranges_free(&taken);
	ranges_sort(&rp->place.mapped);
	TRY(e);
	TRY(devices_enter(rp, 0));
	for (size_t i = 0; i < rp->place.mixed.n; i++)
		TRY(map_one(rp, rp->place.mixed.r[i], 0, true));
	return NULL;
}

static struct err *map_all(struct rp *rp, uint64_t grain, struct ranges *reserved)
{
	struct place *p = &rp->place;
	size_t have = 0, total = 0;

	if (rp->devices.n > 1)
		return map_several(rp, grain);
	GPU(rp, mem_info, &have, &total);
	ranges_merge(reserved, 1, 0);
	p->mapped = choose_mapped(rp, grain, reserved, have);
	if (ranges_bytes(&p->mapped) > have)
		return too_little(rp, grain, ranges_bytes(&p->mapped), have);
	for (size_t i = 0; i < p->mapped.n; i++)
		TRY(map_one(rp, p->mapped.r[i], 0, false));
	for (size_t i = 0; i < p->mixed.n; i++)
		TRY(map_one(rp, p->mixed.r[i], 0, true));
	return NULL;
}

struct ranges place_allocations(const struct rp *rp)
{
	struct ranges ret = all_of(rp, false);

	ranges_merge(&ret, 1, 0);
	return ret;
}

/* Gaps up to this size between allocations are checkpointed with them: this needs fewer copies, and
 * the memory is mapped. */
#define GAP (64u << 10)

static struct ranges contents_ranges(const struct rp *rp)
{
	const struct place *p = &rp->place;
	struct ranges all = place_allocations(rp), ret = {0};

	/* Within each mapping, so that no copy crosses from one into the next. */
	for (size_t i = 0; i < p->mapped.n; i++) {
		struct ranges in = {0};
		const struct range m = p->mapped.r[i];

		for (size_t j = 0; j < all.n; j++) {
			const uint64_t start = all.r[j].addr > m.addr ? all.r[j].addr : m.addr;
			const uint64_t all_end = all.r[j].addr + all.r[j].size,
				       end = m.addr + m.size;
			const uint64_t stop = all_end < end ? all_end : end;

			if (start < stop)
				ranges_add(&in, start, stop - start);
		}
		ranges_merge(&in, 1, GAP);
		for (size_t j = 0; j < in.n; j++)
			ranges_add(&ret, in.r[j].addr, in.r[j].size);
		ranges_free(&in);
	}
	ranges_free(&all);
	return ret; /* rising, as the mappings are */
}

struct err *place_all(struct rp *rp)
{
	struct ranges reserved = {0};
	size_t grain = 0;

	rp->place.device = all_of(rp, false);
	if (!rp->place.device.n)
		return NULL;
	ranges_free(&rp->place.device);
	if (!(rp->lib.can & GPU_CAN_PLACE))
		return rp_fail(rp, REPLAYER_E_DEVICE, 0,
			"the GPU driver cannot place memory at chosen addresses");
	GPU(rp, mem_grain, &grain, rp->devices.d[0].device);
	if (!grain || grain & (grain - 1))
		grain = 2u << 20;
	struct err *e = reserve_all(rp, grain, &reserved);
	if (!e)
		e = map_all(rp, grain, &reserved);
	ranges_free(&reserved);
	rp->place.device = contents_ranges(rp);
	return e;
}

/* --- pinned memory --- */

static struct err *map_host(struct rp *rp, struct range r)
{
	void *want = (void *)(uintptr_t)r.addr;
	uint64_t there = 0;

	void *got = mmap(want, r.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got == MAP_FAILED)
		return moved(rp, r,
			errno == EEXIST ? "something is mapped there in this process"
					: strerror(errno));
	if (got != want) { /* a kernel before 4.17 takes the address as a hint */
		munmap(got, r.size);
		return moved(rp, r, "the system maps them elsewhere");
	}
	GPU(rp, host_register, got, r.size, &there);
	if (there != r.addr)
		return moved(rp, r, "the device sees pinned memory at other addresses");
	return NULL;
}

struct err *place_host(struct rp *rp)
{
	struct ranges *h = &rp->place.host;

	*h = all_of(rp, true);
	ranges_merge(h, HOST_PAGE, 0);
	for (size_t i = 0; i < h->n; i++)
		if (!ranges_find(&rp->place.mixed, h->r[i].addr, h->r[i].size))
			TRY(map_host(rp, h->r[i]));
	for (size_t i = 0; i < rp->place.nwanted; i++)
		if (is_mixed(rp, &rp->place.wanted[i]))
			ranges_add(h, rp->place.wanted[i].addr, rp->place.wanted[i].size);
	ranges_merge(h, HOST_PAGE, 0);
	return NULL;
}

/* --- finding --- */

/* Globals are sorted by their recorded address. */
static const struct rglobal *global_at(const struct objects *o, uint64_t addr, uint64_t size)
{
	const size_t at = FIRST_WHERE(
		o->nglobals, i, o->globals[i].addr > addr); /* the first that begins behind addr */

	const struct rglobal *g = at ? &o->globals[at - 1] : NULL;
	return g && g->here && addr - g->addr < g->size && size <= g->size - (addr - g->addr)
		       ? g
		       : NULL;
}

enum place_where place_find(const struct rp *rp, uint64_t addr, uint64_t size, uint64_t *ret)
{
	/* Globals come first: a range that was rounded outwards may cover a module's recorded
	 * address. */
	const struct rglobal *g = global_at(&rp->objects, addr, size);

	*ret = g ? g->here + (addr - g->addr) : addr;
	if (g || ranges_find(&rp->place.mapped, addr, size))
		return PLACE_DEVICE;
	return ranges_find(&rp->place.host, addr, size) ? PLACE_HOST : PLACE_NOWHERE;
}
