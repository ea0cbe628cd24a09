/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's address space: allocation, and the lock-free question "which range holds this address?".
 * Live ranges are kept twice: as slots that never move (what callers hold) and as a table sorted by address
 * (what lookups search). Writers hold a mutex and bump a sequence count around each change of the table; a lookup that saw
 * the count change starts again. Both live in reserved memory that is never unmapped, so a stale read is harmless.
 */
#include "softgpu/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_RANGES (1u << 20)
#define MAX_EXTENTS (MAX_RANGES + 1)
#define DEFAULT_TOTAL (8ull << 30)
#define GRAIN 512u		      /* allocations start at multiples of this, like the vendor's */
#define RED_ZONE 256u		      /* at least this much nothing after a range, so that running off its end shows */
#define FILL_LIMIT (64ull << 20)      /* larger allocations are left as the system gives them */
#define FILL_BYTE 0xA5
#define PAGE 4096ull

struct key {
	_Atomic uint64_t start, end;
	_Atomic uint32_t slot;
};

/* A free part of the device region, sorted by address, never touching its neighbour. */
struct extent {
	uint64_t start, end;
};

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	bool ok;
	struct mem_range *slots;
	uint32_t *free_slots;
	uint32_t nslots, nfree;
	struct key *keys;
	_Atomic uint32_t nkeys;
	_Atomic uint32_t seq;
	struct extent *extents;
	uint32_t nextents;
	uint64_t base, total, used;
	/* where a slot's reservation really begins and ends: the device extent, or the mapping */
	struct extent *reserved;
} mem = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void *reserve(void *hint, size_t size, int prot, int flags)
{
	void *p = mmap(hint, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* "8G", "512M", "1048576"; anything else keeps the default. */
static uint64_t configured_total(void)
{
	const char *text = getenv("TSDB_SOFT_MEMORY");
	char *end;
	uint64_t n, unit = 1;

	if (!text || !*text)
		return DEFAULT_TOTAL;
	errno = 0;
	n = strtoull(text, &end, 0);
	switch (*end) {
	case 'k': case 'K': unit = 1ull << 10; end++; break;
	case 'm': case 'M': unit = 1ull << 20; end++; break;
	case 'g': case 'G': unit = 1ull << 30; end++; break;
	}
	if (errno || *end || !n || n > (1ull << 46) / unit || n * unit < (1ull << 20)) {
		fprintf(stderr, "tsdb: TSDB_SOFT_MEMORY=%s is not a size like 8G; using 8G\n", text);
		return DEFAULT_TOTAL;
	}
	return (n * unit + PAGE - 1) & ~(PAGE - 1);
}

static void mem_init(void)
{
	void *base;

	mem.total = configured_total();
	base = reserve((void *)MEM_DEVICE_BASE, mem.total, PROT_NONE, MAP_FIXED_NOREPLACE);
	if (base && (uint64_t)base != MEM_DEVICE_BASE) { /* a kernel older than MAP_FIXED_NOREPLACE */
		munmap(base, mem.total);
		base = NULL;
	}
	if (!base) /* something is there already (a sanitizer's shadow): anywhere then */
		base = reserve(NULL, mem.total, PROT_NONE, 0);
	mem.slots = reserve(NULL, MAX_RANGES * sizeof(*mem.slots), PROT_READ | PROT_WRITE, 0);
	mem.free_slots = reserve(NULL, MAX_RANGES * sizeof(*mem.free_slots), PROT_READ | PROT_WRITE, 0);
	mem.keys = reserve(NULL, MAX_RANGES * sizeof(*mem.keys), PROT_READ | PROT_WRITE, 0);
	mem.extents = reserve(NULL, MAX_EXTENTS * sizeof(*mem.extents), PROT_READ | PROT_WRITE, 0);
	mem.reserved = reserve(NULL, MAX_RANGES * sizeof(*mem.reserved), PROT_READ | PROT_WRITE, 0);
	mem.ok = base && mem.slots && mem.free_slots && mem.keys && mem.extents && mem.reserved;
	if (!mem.ok) {
		fprintf(stderr, "tsdb: software GPU: cannot reserve %llu bytes of address space\n",
			(unsigned long long)mem.total);
		return;
	}
	mem.base = (uint64_t)base;
	mem.extents[0] = (struct extent){mem.base, mem.base + mem.total};
	mem.nextents = 1;
}

static bool mem_ready(void)
{
	pthread_once(&mem.once, mem_init);
	return mem.ok;
}

/* --- the sorted table ------------------------------------------------------------------------------ */

/* Index of the first key that starts above addr, among n. */
static uint32_t keys_above(uint64_t addr, uint32_t n)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (atomic_load_explicit(&mem.keys[mid].start, memory_order_relaxed) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct mem_range *mem_find(uint64_t addr)
{
	const struct mem_range *ret;
	uint32_t seq, i;

	if (!mem_ready())
		return NULL;
	do {
		while ((seq = atomic_load_explicit(&mem.seq, memory_order_acquire)) & 1)
			__builtin_ia32_pause();
		ret = NULL;
		i = keys_above(addr, atomic_load_explicit(&mem.nkeys, memory_order_relaxed));
		if (i && addr < atomic_load_explicit(&mem.keys[i - 1].end, memory_order_relaxed))
			ret = &mem.slots[atomic_load_explicit(&mem.keys[i - 1].slot,
							      memory_order_relaxed)];
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&mem.seq, memory_order_relaxed) != seq);
	return ret;
}

static void key_copy(struct key *to, const struct key *from)
{
	atomic_store_explicit(&to->start, from->start, memory_order_relaxed);
	atomic_store_explicit(&to->end, from->end, memory_order_relaxed);
	atomic_store_explicit(&to->slot, from->slot, memory_order_relaxed);
}

static void table_change_begin(void)
{
	atomic_fetch_add_explicit(&mem.seq, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void table_change_end(void)
{
	atomic_fetch_add_explicit(&mem.seq, 1, memory_order_release);
}

static void table_insert(uint32_t slot)
{
	uint32_t n = mem.nkeys, at = keys_above(mem.slots[slot].start, n), i;

	table_change_begin();
	for (i = n; i > at; i--)
		key_copy(&mem.keys[i], &mem.keys[i - 1]);
	atomic_store_explicit(&mem.keys[at].start, mem.slots[slot].start, memory_order_relaxed);
	atomic_store_explicit(&mem.keys[at].end, mem.slots[slot].end, memory_order_relaxed);
	atomic_store_explicit(&mem.keys[at].slot, slot, memory_order_relaxed);
	atomic_store_explicit(&mem.nkeys, n + 1, memory_order_relaxed);
	table_change_end();
}

static void table_remove(uint32_t at)
{
	uint32_t n = mem.nkeys, i;

	table_change_begin();
	for (i = at; i + 1 < n; i++)
		key_copy(&mem.keys[i], &mem.keys[i + 1]);
	atomic_store_explicit(&mem.nkeys, n - 1, memory_order_relaxed);
	table_change_end();
}

/* --- free extents of the device region --------------------------------------------------------------- */

/* First fit by address: the lowest place that holds size bytes at this alignment. */
static bool extent_take(uint64_t size, uint64_t align, struct extent *ret)
{
	uint32_t i;

	for (i = 0; i < mem.nextents; i++) {
		struct extent *e = &mem.extents[i];
		uint64_t start = (e->start + align - 1) & ~(align - 1);

		if (start < e->start || start > e->end || e->end - start < size)
			continue;
		if (start > e->start && mem.nextents == MAX_EXTENTS)
			return false;
		*ret = (struct extent){start, start + size};
		if (start > e->start) { /* keep what alignment skipped */
			memmove(e + 1, e, (mem.nextents - i) * sizeof(*e));
			mem.nextents++;
			e[0].end = start;
			e++;
		}
		e->start = start + size;
		if (e->start == e->end) {
			mem.nextents--;
			memmove(e, e + 1, (mem.nextents - (e - mem.extents)) * sizeof(*e));
		}
		return true;
	}
	return false;
}

/* Gives x back, joined with its neighbours; whole pages inside the joined extent go back to the system. */
static void extent_give(struct extent x)
{
	uint32_t i = 0;
	uint64_t lo, hi;
	struct extent *e;

	while (i < mem.nextents && mem.extents[i].start < x.start)
		i++;
	e = &mem.extents[i];
	memmove(e + 1, e, (mem.nextents - i) * sizeof(*e));
	*e = x;
	mem.nextents++;
	if (i + 1 < mem.nextents && e->end == e[1].start) {
		e->end = e[1].end;
		memmove(e + 1, e + 2, (mem.nextents - i - 2) * sizeof(*e));
		mem.nextents--;
	}
	if (i && e[-1].end == e->start) {
		e[-1].end = e->end;
		memmove(e, e + 1, (mem.nextents - i - 1) * sizeof(*e));
		mem.nextents--;
		e--;
	}
	/* Only pages that x touched can still be committed. */
	lo = x.start & ~(PAGE - 1);
	hi = (x.end + PAGE - 1) & ~(PAGE - 1);
	if (lo < e->start)
		lo += PAGE;
	if (hi > e->end)
		hi -= PAGE;
	if (lo < hi) {
		madvise((void *)lo, hi - lo, MADV_DONTNEED);
		mprotect((void *)lo, hi - lo, PROT_NONE);
	}
}

/* --- allocation ---------------------------------------------------------------------------------------- */

static bool slot_take(uint32_t *ret)
{
	if (mem.nfree) {
		*ret = mem.free_slots[--mem.nfree];
		return true;
	}
	if (mem.nslots == MAX_RANGES)
		return false;
	*ret = mem.nslots++;
	return true;
}

static bool device_reserve(uint64_t size, uint64_t align, struct extent *ret)
{
	uint64_t lo, hi;

	if (!extent_take((size + RED_ZONE + GRAIN - 1) & ~(uint64_t)(GRAIN - 1), align, ret))
		return false;
	lo = ret->start & ~(PAGE - 1);
	hi = (ret->end + PAGE - 1) & ~(PAGE - 1);
	if (mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE)) {
		extent_give(*ret);
		return false;
	}
	return true;
}

/* Host-visible memory: a mapping of its own with a page of nothing behind it. */
static bool host_reserve(uint64_t size, struct extent *ret)
{
	uint64_t bytes = (size + PAGE - 1) & ~(PAGE - 1);
	char *p = reserve(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, 0);

	if (!p)
		return false;
	mprotect(p + bytes, PAGE, PROT_NONE);
	*ret = (struct extent){(uint64_t)p, (uint64_t)p + bytes + PAGE};
	return true;
}

static bool on_device(enum mem_kind kind)
{
	return kind == MEM_DEVICE || kind == MEM_MODULE;
}

static const struct mem_range *publish(uint32_t slot, uint64_t start, size_t size, enum mem_kind kind,
				       uint32_t ctx, struct extent reserved)
{
	mem.slots[slot] = (struct mem_range){.start = start, .end = start + size, .kind = kind, .ctx = ctx};
	mem.reserved[slot] = reserved;
	if (on_device(kind))
		mem.used += reserved.end - reserved.start;
	table_insert(slot);
	return &mem.slots[slot];
}

const struct mem_range *mem_alloc(enum mem_kind kind, size_t size, size_t align, uint32_t ctx)
{
	const struct mem_range *ret = NULL;
	struct extent x;
	uint32_t slot;
	bool ok;

	if (!mem_ready() || !size || size > mem.total || (align & (align - 1)) || align > mem.total)
		return NULL;
	if (align < GRAIN)
		align = GRAIN;
	pthread_mutex_lock(&mem.lock);
	if (slot_take(&slot)) {
		ok = on_device(kind) ? device_reserve(size, align, &x)
				     : align <= PAGE && host_reserve(size, &x);
		if (ok) {
			if (on_device(kind) && size <= FILL_LIMIT)
				memset((void *)x.start, FILL_BYTE, size);
			ret = publish(slot, x.start, size, kind, ctx, x);
		} else {
			mem.free_slots[mem.nfree++] = slot;
		}
	}
	pthread_mutex_unlock(&mem.lock);
	return ret;
}

/* Whether [start, end) touches a live range. Caller holds the lock. */
static bool overlaps(uint64_t start, uint64_t end)
{
	uint32_t i = keys_above(start, mem.nkeys);

	return (i && mem.keys[i - 1].end > start) || (i < mem.nkeys && mem.keys[i].start < end);
}

const struct mem_range *mem_register(void *p, size_t size, uint32_t ctx)
{
	const struct mem_range *ret = NULL;
	uint64_t start = (uint64_t)p;
	uint32_t slot;

	if (!mem_ready() || !size || start + size < start)
		return NULL;
	pthread_mutex_lock(&mem.lock);
	if (!overlaps(start, start + size) && slot_take(&slot))
		ret = publish(slot, start, size, MEM_REGISTERED, ctx, (struct extent){0, 0});
	pthread_mutex_unlock(&mem.lock);
	return ret;
}

/* Takes the range at table position `at` out. Caller holds the lock. */
static void release(uint32_t at)
{
	uint32_t slot = mem.keys[at].slot;
	enum mem_kind kind = mem.slots[slot].kind;
	struct extent x = mem.reserved[slot];

	table_remove(at);
	mem.free_slots[mem.nfree++] = slot;
	if (on_device(kind)) {
		mem.used -= x.end - x.start;
		extent_give(x);
	} else if (kind == MEM_MAPPED) {
		reserve((void *)x.start, x.end - x.start, PROT_NONE, MAP_FIXED);
	} else if (kind != MEM_REGISTERED) {
		munmap((void *)x.start, x.end - x.start);
	}
}

bool mem_free(uint64_t addr)
{
	bool found = false;
	uint32_t i;

	if (!mem_ready())
		return false;
	pthread_mutex_lock(&mem.lock);
	i = keys_above(addr, mem.nkeys);
	if (i && mem.keys[i - 1].start == addr) {
		release(i - 1);
		found = true;
	}
	pthread_mutex_unlock(&mem.lock);
	return found;
}

void mem_free_owner(uint32_t ctx)
{
	uint32_t i;

	if (!mem_ready())
		return;
	pthread_mutex_lock(&mem.lock);
	for (i = mem.nkeys; i-- > 0;)
		if (mem.slots[mem.keys[i].slot].ctx == ctx)
			release(i);
	pthread_mutex_unlock(&mem.lock);
}

/* --- virtual memory management -------------------------------------------------------------------------- */

/* Takes exactly [start, start + size) out of the free extents. Caller holds the lock. */
static bool extent_take_at(uint64_t start, uint64_t size)
{
	struct extent *e = mem.extents, *end = e + mem.nextents;
	uint64_t old_end;

	while (e < end && !(e->start <= start && start < e->end))
		e++;
	if (e == end || size > e->end - start || mem.nextents == MAX_EXTENTS)
		return false;
	old_end = e->end;
	e->end = start;
	if (start + size < old_end) {
		memmove(e + 2, e + 1, (size_t)(end - (e + 1)) * sizeof(*e));
		e[1] = (struct extent){start + size, old_end};
		mem.nextents++;
	}
	if (e->start == e->end) {
		mem.nextents--;
		memmove(e, e + 1, (mem.nextents - (size_t)(e - mem.extents)) * sizeof(*e));
	}
	return true;
}

bool mem_va_reserve(uint64_t hint, uint64_t size, uint64_t align, uint64_t *ret)
{
	struct extent x;
	bool ok;

	if (!mem_ready() || !size || size > mem.total || !align || (align & (align - 1)))
		return false;
	pthread_mutex_lock(&mem.lock);
	ok = hint && !(hint % align) && extent_take_at(hint, size);
	*ret = hint;
	if (!ok) {
		ok = extent_take(size, align, &x);
		*ret = x.start;
	}
	pthread_mutex_unlock(&mem.lock);
	return ok;
}

void mem_va_release(uint64_t start, uint64_t size)
{
	pthread_mutex_lock(&mem.lock);
	extent_give((struct extent){start, start + size});
	pthread_mutex_unlock(&mem.lock);
}

const struct mem_range *mem_va_map(uint64_t start, uint64_t size, int fd, uint64_t offset, bool read_only)
{
	const struct mem_range *ret = NULL;
	uint32_t slot;
	void *p;

	pthread_mutex_lock(&mem.lock);
	if (!overlaps(start, start + size) && slot_take(&slot)) {
		p = mmap((void *)start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
		if (p == MAP_FAILED) {
			mem.free_slots[mem.nfree++] = slot;
		} else {
			ret = publish(slot, start, size, MEM_MAPPED, 0, (struct extent){start, start + size});
			mem.slots[slot].read_only = read_only;
		}
	}
	pthread_mutex_unlock(&mem.lock);
	return ret;
}

bool mem_va_unmap(uint64_t start)
{
	const struct mem_range *r = mem_find(start);

	return r && r->start == start && r->kind == MEM_MAPPED && mem_free(start);
}

void mem_set_flags(const struct mem_range *r, uint32_t flags, bool read_only)
{
	struct mem_range *slot = &mem.slots[r - mem.slots];

	slot->flags = flags;
	slot->read_only = read_only;
}

uint64_t mem_range_id(const struct mem_range *r)
{
	return (uint64_t)(r - mem.slots) + 1;
}

size_t mem_total(void)
{
	return mem_ready() ? mem.total : 0;
}

size_t mem_used(void)
{
	size_t n;

	if (!mem_ready())
		return 0;
	pthread_mutex_lock(&mem.lock);
	n = mem.used;
	pthread_mutex_unlock(&mem.lock);
	return n;
}
