// SPDX-License-Identifier: Apache-2.0
//
// Memory of the devices and of the system, mapped into the program at addresses that depend only on
// what it allocated before: every run of a program that allocates in the same order has the same.
// Each node has a window of the address space, far from where Linux and sanitizers put things; the
// first gap that is large enough is taken. Between two allocations a page at least stays unmapped,
// so that a kernel that runs over the end of one faults.
//
// Memory that the program allocated itself and registered (KFD_USER) lies anywhere, and may
// overlap.
//
// A replay needs memory at the addresses that the recorded program had: tsdb_softamd_place() says
// where the next allocation goes, and with TSDB_SOFTAMD_ASIDE all others lie in the upper halves of
// the windows, where recorded programs have nothing unless they use 512 GiB.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/first-where.h"
#include "softamd/thunk/kfd.h"

enum { PAGE = 4096, BIG_PAGE = 2 << 20 };
#define WINDOW_BASE 0x400000000000ull
#define WINDOW_SIZE 0x010000000000ull /* 1 TiB for each node; scratch lies behind them */

struct ranges {
	struct kfd_range *at;
	size_t n, room;
};
static struct ranges own, user; /* own: in the windows, by address, disjoint */
static uint64_t used[1 + KFD_DEVICES_MAX];
static uint64_t changes = 1;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static bool ranges_insert(struct ranges *r, size_t at, const struct kfd_range *k)
{
	if (r->n == r->room) {
		size_t room = r->room ? 2 * r->room : 64;
		struct kfd_range *p = reallocarray(r->at, room, sizeof(*p));

		if (!p)
			return false;
		r->at = p;
		r->room = room;
	}
	memmove(&r->at[at + 1], &r->at[at], (r->n - at) * sizeof(*k));
	r->at[at] = *k;
	r->n++;
	return true;
}

static void ranges_remove(struct ranges *r, size_t at)
{
	memmove(&r->at[at], &r->at[at + 1], (r->n - at - 1) * sizeof(*r->at));
	r->n--;
}

/* How many ranges of ours begin at or below addr. The lock is held. */
static size_t own_upto(uint64_t addr)
{
	return FIRST_WHERE(own.n, i, own.at[i].start > addr);
}

static struct kfd_range *own_at(uint64_t addr)
{
	size_t k = own_upto(addr);

	return k && addr < own.at[k - 1].end ? &own.at[k - 1] : NULL;
}

/* Two may share a page: the one that was registered by this very address goes first. */
static struct kfd_range *user_at(uint64_t addr)
{
	for (size_t i = 0; i < user.n; i++)
		if (addr == user.at[i].named)
			return &user.at[i];
	for (size_t i = 0; i < user.n; i++)
		if (addr >= user.at[i].start && addr < user.at[i].end)
			return &user.at[i];
	return NULL;
}

static struct kfd_range *range_at(uint64_t addr)
{
	struct kfd_range *r = own_at(addr);

	return r ? r : user_at(addr);
}

/* --- allocation ----------------------------------------------------------------------------------
 */

/* The first gap of a window for the range; 0: there is none. *at: where it goes in the list. */
static uint64_t gap_find(uint64_t base, uint64_t from, uint64_t size, uint64_t align, size_t *at)
{
	uint64_t addr = from;
	size_t k = own_upto(base);

	if (k && own.at[k - 1].end > base)
		k--;
	for (;; k++) {
		uint64_t end;

		while (k < own.n && own.at[k].end + PAGE <= addr &&
			own.at[k].end < base + WINDOW_SIZE)
			k++;
		if (round_up_to(&addr, addr, align) || ckd_add(&end, addr, size) ||
			end > base + WINDOW_SIZE)
			return 0;
		if (k == own.n || end + PAGE <= own.at[k].start) {
			*at = k;
			return addr;
		}
		addr = own.at[k].end + PAGE;
	}
}

/* Maps these very addresses; 0: something lies there. The lock is held. */
static uint64_t map_at(uint64_t addr, uint64_t size, int protection)
{
	void *p = mmap((void *)(uintptr_t)addr, size, protection,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == (void *)(uintptr_t)addr)
		return addr;
	if (p != MAP_FAILED)
		munmap(p, size); /* a kernel before 4.17 takes it as a hint */
	return 0;
}

bool kfd_aside(void)
{
	return getenv("TSDB_SOFTAMD_ASIDE") != NULL;
}

/* Maps at the first gap where nothing of the program's lies. The lock is held. */
static uint64_t gap_map(uint64_t base, uint64_t size, uint64_t align, int protection, size_t *at)
{
	uint64_t from = kfd_aside() ? base + WINDOW_SIZE / 2 : base;

	for (int tries = 0; tries < 64; tries++) {
		uint64_t addr = gap_find(base, from, size, align, at);

		if (!addr || map_at(addr, size, protection))
			return addr;
		from = addr + size;
	}
	return 0;
}

/* --- at a chosen address -------------------------------------------------------------------------
 */

static __thread struct {
	uint64_t addr, size;
} chosen; /* for this thread's next allocation of that size; size 0: none */

KFD_PUBLIC int tsdb_softamd_place(uint64_t addr, uint64_t size)
{
	uint64_t end;

	chosen.size = 0;
	if (!size)
		return 0;
	if (!addr || addr % PAGE || size % PAGE || ckd_add(&end, addr, size))
		return -1;
	chosen.addr = addr;
	chosen.size = size;
	return 0;
}

/* Where the allocation was to go; 0: not there. The lock is held. */
static uint64_t chosen_map(uint64_t size, size_t *at)
{
	const uint64_t addr = chosen.addr;
	const size_t k = own_upto(addr);

	chosen.size = 0;
	if ((k && own.at[k - 1].end > addr) || (k < own.n && own.at[k].start < addr + size))
		return 0;
	*at = k;
	return map_at(addr, size, PROT_READ | PROT_WRITE);
}

static HSAKMT_STATUS range_make(struct kfd_range *k, uint64_t size)
{
	bool scratch = k->kind == KFD_SCRATCH, device = k->kind == KFD_DEVICE;
	uint64_t window = scratch ? 1 + KFD_DEVICES_MAX : k->node;
	size_t at;

	if (device && size > kfd_machine()->memory - used[k->node])
		return HSAKMT_STATUS_NO_MEMORY;
	if (device && chosen.size == size)
		k->start = chosen_map(size, &at);
	else
		k->start = gap_map(WINDOW_BASE + window * WINDOW_SIZE, size,
			size < BIG_PAGE ? PAGE : BIG_PAGE,
			scratch ? PROT_NONE : PROT_READ | PROT_WRITE, &at);
	if (!k->start)
		return HSAKMT_STATUS_NO_MEMORY;
	k->end = k->start + size;
	if (!ranges_insert(&own, at, k)) {
		munmap((void *)(uintptr_t)k->start, size);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	if (device)
		used[k->node] += size;
	return HSAKMT_STATUS_SUCCESS;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtAllocMemory(
	HSAuint32 node, HSAuint64 size, HsaMemFlags flags, void **addr)
{
	struct kfd_range k = {.node = node, .flags = flags};
	HSAKMT_STATUS s;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!addr || !size || node > kfd_machine()->devices || round_up_to(&size, size, PAGE))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (flags.ui32.GDSMemory || flags.ui32.FixedAddress) {
		kfd_say("hsaKmtAllocMemory with %s is not supported",
			flags.ui32.GDSMemory ? "GDSMemory" : "FixedAddress");
		return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	/* Newer runtimes' NoAddress and OnlyAddress: the first of the bits that were reserved. */
	if (flags.ui32.Reserved & 3) {
		kfd_say("hsaKmtAllocMemory of memory without an address, or the reverse (hipMemCreate, hipMemAddressReserve) is not supported");
		return HSAKMT_STATUS_NOT_SUPPORTED;
	}
	k.kind = flags.ui32.Scratch ? KFD_SCRATCH : node ? KFD_DEVICE : KFD_SYSTEM;
	pthread_rwlock_wrlock(&lock);
	s = range_make(&k, size);
	pthread_rwlock_unlock(&lock);
	if (s == HSAKMT_STATUS_SUCCESS)
		*addr = (void *)(uintptr_t)k.start;
	return s;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64 *ret);
KFD_PUBLIC HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64 *ret)
{
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!ret || !kfd_is_device(node))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_rwlock_rdlock(&lock);
	*ret = kfd_machine()->memory - used[node];
	pthread_rwlock_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

/* The lock is held for writing. Whoever remembers extents must ask again. */
static void taken_away(void)
{
	__atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtFreeMemory(void *addr, HSAuint64 size)
{
	struct kfd_range *r, was;

	(void)size;
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_rwlock_wrlock(&lock);
	r = own_at((uintptr_t)addr);
	if (!r || r->start != (uintptr_t)addr) {
		pthread_rwlock_unlock(&lock);
		return HSAKMT_STATUS_INVALID_PARAMETER;
	}
	was = *r;
	taken_away();
	if (was.kind == KFD_DEVICE)
		used[was.node] -= was.end - was.start;
	ranges_remove(&own, (size_t)(r - own.at));
	munmap((void *)(uintptr_t)was.start, was.end - was.start);
	pthread_rwlock_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

/* --- memory of the program
 * ------------------------------------------------------------------------ */

KFD_PUBLIC HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(
	void *addr, HSAuint64 size, HsaMemFlags flags)
{
	struct kfd_range k = {
		.kind = KFD_USER, .named = (uintptr_t)addr, .uses = 1, .flags = flags};
	HSAKMT_STATUS s = HSAKMT_STATUS_SUCCESS;
	uint64_t end;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	/* Access is by pages. HIP names the page of what it pins, so two buffers on one page have
	 * one name and often two lengths: they are one range, until both are given back. */
	k.start = (uintptr_t)addr & ~(uint64_t)(PAGE - 1);
	if (!addr || !size || ckd_add(&end, (uintptr_t)addr, size) ||
		round_up_to(&k.end, end, PAGE))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_rwlock_wrlock(&lock);
	for (size_t i = 0; i < user.n; i++)
		if (user.at[i].named == k.named) {
			user.at[i].uses++;
			if (user.at[i].end < k.end)
				user.at[i].end = k.end;
			goto out;
		}
	if (!own_at((uintptr_t)addr) && !ranges_insert(&user, user.n, &k))
		s = HSAKMT_STATUS_NO_MEMORY;
out:
	pthread_rwlock_unlock(&lock);
	return s;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtRegisterMemory(void *addr, HSAuint64 size)
{
	return hsaKmtRegisterMemoryWithFlags(addr, size, (HsaMemFlags){.Value = 0});
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(
	void *addr, HSAuint64 size, HSAuint64 n, HSAuint32 *nodes)
{
	(void)n;
	(void)nodes; /* who may touch it is said when it is mapped */
	return hsaKmtRegisterMemory(addr, size);
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtDeregisterMemory(void *addr)
{
	struct kfd_range *r;
	bool known;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_rwlock_wrlock(&lock);
	r = user_at((uintptr_t)addr);
	known = r || own_at((uintptr_t)addr);
	if (r && !--r->uses) {
		taken_away();
		ranges_remove(&user, (size_t)(r - user.at));
	}
	pthread_rwlock_unlock(&lock);
	return known ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
}

/* --- who may touch it
 * ----------------------------------------------------------------------------- */

static HSAKMT_STATUS range_map(void *addr, uint32_t nodes, bool take_away)
{
	struct kfd_range *r;

	pthread_rwlock_wrlock(&lock);
	r = range_at((uintptr_t)addr);
	if (r && !take_away) {
		r->mapped |= nodes;
	} else if (r && r->uses < 2) { /* another registration may still be in use */
		taken_away();
		r->mapped = 0;
	}
	pthread_rwlock_unlock(&lock);
	return r ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *addr, HSAuint64 size, HSAuint64 *va)
{
	(void)size;
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (va)
		*va = (uintptr_t)addr;
	return range_map(addr, (2u << kfd_machine()->devices) - 2, false);
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *addr, HSAuint64 size, HSAuint64 *va,
	HsaMemMapFlags flags, HSAuint64 n, HSAuint32 *nodes)
{
	uint32_t mask = 0;

	(void)flags;
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	for (uint64_t i = 0; i < n; i++) {
		if (!kfd_is_device(nodes[i]))
			return HSAKMT_STATUS_INVALID_NODE_UNIT;
		mask |= 1u << nodes[i];
	}
	if (!n)
		return hsaKmtMapMemoryToGPU(addr, size, va);
	if (va)
		*va = (uintptr_t)addr;
	return range_map(addr, mask, false);
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *addr)
{
	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	return range_map(addr, 0, true);
}

/* --- questions
 * ------------------------------------------------------------------------------------ */

KFD_PUBLIC HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *p, HsaPointerInfo *info)
{
	struct kfd_range *r;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	if (!info)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	memset(info, 0, sizeof(*info));
	pthread_rwlock_rdlock(&lock);
	r = range_at((uintptr_t)p);
	if (r) {
		info->Type =
			r->kind == KFD_USER ? HSA_POINTER_REGISTERED_USER : HSA_POINTER_ALLOCATED;
		info->Node = r->node;
		info->MemFlags = r->flags;
		info->CPUAddress = (void *)(uintptr_t)r->start;
		info->GPUAddress = r->start;
		info->SizeInBytes = r->end - r->start;
		info->UserData = r->user_data;
	}
	pthread_rwlock_unlock(&lock);
	return r ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}

KFD_PUBLIC HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *p, void *data)
{
	struct kfd_range *r;

	if (!kfd_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_rwlock_wrlock(&lock);
	r = range_at((uintptr_t)p);
	if (r)
		r->user_data = data;
	pthread_rwlock_unlock(&lock);
	return r ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

KFD_PUBLIC int tsdb_softamd_range(uint64_t addr, uint64_t *start, uint64_t *size)
{
	const struct kfd_range *r;

	pthread_rwlock_rdlock(&lock);
	r = own_at(addr);
	if (r && r->kind == KFD_SCRATCH)
		r = NULL;
	if (r) {
		*start = r->start;
		*size = r->end - r->start;
	}
	pthread_rwlock_unlock(&lock);
	return r ? 0 : -1;
}

/* The lock is held. Registered ranges that overlap or touch are one to a kernel. */
static void extent_grow(struct amd_extent *e, uint32_t node)
{
	for (bool grown = true; grown;) {
		grown = false;
		for (size_t i = 0; i < user.n; i++) {
			const struct kfd_range *r = &user.at[i];

			if (!(r->mapped >> node & 1) || r->end < e->start || r->start > e->end ||
				(r->start >= e->start && r->end <= e->end))
				continue;
			e->start = r->start < e->start ? r->start : e->start;
			e->end = r->end > e->end ? r->end : e->end;
			grown = true;
		}
	}
}

static bool memory_find(void *arg, uint64_t addr, struct amd_extent *e)
{
	uint32_t node = (uint32_t)(uintptr_t)arg;
	const struct kfd_range *r;

	pthread_rwlock_rdlock(&lock);
	r = own_at(addr);
	for (size_t i = 0; !r && i < user.n; i++)
		if (addr >= user.at[i].start && addr < user.at[i].end &&
			user.at[i].mapped >> node & 1)
			r = &user.at[i];
	if (r && (r->kind == KFD_SCRATCH || !(r->mapped >> node & 1)))
		r = NULL;
	if (r) {
		*e = (struct amd_extent){r->start, r->end, !r->flags.ui32.ReadOnly};
		if (r->kind == KFD_USER)
			extent_grow(e, node);
	}
	pthread_rwlock_unlock(&lock);
	return r != NULL;
}

const struct amd_memory *kfd_memory_of(uint32_t node)
{
	static struct amd_memory of[1 + KFD_DEVICES_MAX];
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&once);
	of[node] = (struct amd_memory){(void *)(uintptr_t)node, memory_find, &changes};
	pthread_mutex_unlock(&once);
	return &of[node];
}

bool kfd_reachable(uint32_t node, uint64_t addr, uint64_t size, bool write)
{
	struct amd_extent e;

	return memory_find((void *)(uintptr_t)node, addr, &e) &&
	       range_within(addr, size, e.start, e.end - e.start) && (!write || e.write);
}

static const char *kind_of(const struct kfd_range *r, uint32_t node)
{
	if (r->kind == KFD_USER)
		return "registered host memory";
	if (r->kind == KFD_SCRATCH)
		return "scratch memory";
	if (r->kind == KFD_SYSTEM)
		return "host memory of the runtime";
	return r->node == node ? "device memory" : "memory of another device";
}

void kfd_describe(uint32_t node, uint64_t addr, char *text, size_t size)
{
	const struct kfd_range *r, *below, *above;
	size_t k;

	pthread_rwlock_rdlock(&lock);
	r = range_at(addr);
	k = own_upto(addr);
	below = k ? &own.at[k - 1] : NULL;
	above = k < own.n ? &own.at[k] : NULL;
	if (r)
		snprintf(text, size, "in %s of %llu bytes at 0x%llx%s", kind_of(r, node),
			(unsigned long long)(r->end - r->start), (unsigned long long)r->start,
			r->mapped >> node & 1 ? "" : ", which is not mapped to this device");
	else if (below && addr - below->end < WINDOW_SIZE / 16)
		snprintf(text, size, "%llu bytes after the last of %s of %llu bytes at 0x%llx",
			(unsigned long long)(addr - below->end + 1), kind_of(below, node),
			(unsigned long long)(below->end - below->start),
			(unsigned long long)below->start);
	else if (above && above->start - addr < WINDOW_SIZE / 16)
		snprintf(text, size, "%llu bytes before %s of %llu bytes at 0x%llx",
			(unsigned long long)(above->start - addr), kind_of(above, node),
			(unsigned long long)(above->end - above->start),
			(unsigned long long)above->start);
	else
		snprintf(text, size, "no memory of the device");
	pthread_rwlock_unlock(&lock);
}
