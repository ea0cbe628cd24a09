/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's address space: allocation, and the lock-free question "which range holds this
 * address?". Live ranges are kept twice: as slots that never move (what callers hold) and as a
 * table sorted by address (what lookups search). Writers hold a mutex and bump a sequence count
 * around each change of the table; a lookup that saw the count change starts again. Both live in
 * reserved memory that is never unmapped, and a slot is reused as late as possible, so a stale read
 * is harmless. Addresses are handed out lowest first: a program that asks for the same gets the
 * same in each run.
 */
#include "softgpu/memory/mem.h"
#include "base/first-where.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "softgpu/memory/mem-extents.h"
#include "softgpu/memory/mem-held.h"

#define MAX_RANGES (1u << 20)
#define MAX_EXTENTS (2 * MAX_RANGES + 2)
#define DEFAULT_TOTAL (8ull << 30)
/* device addresses: more than there is memory, for reservations at chosen addresses */
#define WINDOW (256ull << 30)
#define HOST_WINDOW (16ull << 40) /* addresses of pinned and managed memory */
#define SLOT_REST 64u		  /* a slot rests until so many others are free */
/* allocations start at multiples of this, like the vendor's */
#define GRAIN 512u
/* at least this much nothing after a range, so that running off its end shows */
#define RED_ZONE 256u
#define FILL_LIMIT (64ull << 20) /* larger allocations are left as the system gives them */
#define FILL_BYTE 0xA5
#define PAGE 4096ull
/* memory is shared with other processes in blocks of this, like the vendor's */
#define EXPORT_BLOCK (2ull << 20)

struct key {
	_Atomic uint64_t start, end;
	_Atomic uint32_t slot;
};

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	bool ok;
	struct mem_range *slots;
	uint32_t *free_slots; /* a ring of MAX_RANGES */
	uint32_t nslots, free_head, free_tail;
	struct key *keys;
	_Atomic uint32_t nkeys;
	_Atomic uint32_t seq;
	struct region devices[MEM_DEVICES], host;
	unsigned ndevices;
	uint32_t nreserved;		   /* by mem_va_reserve() */
	uint64_t total, used[MEM_DEVICES]; /* total: of each device */
	/* where a slot's reservation really begins and ends: the device extent, or the mapping */
	struct extent *reserved;
} mem = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static _Atomic uint32_t frees, busy; /* busy: work that may touch any memory */
static _Atomic bool holds;	     /* mem-held.h has something */

static void *reserve(void *hint, size_t size, int prot, int flags)
{
	void *p =
		mmap(hint, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

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
	case 'k':
	case 'K':
		unit = 1ull << 10;
		end++;
		break;
	case 'm':
	case 'M':
		unit = 1ull << 20;
		end++;
		break;
	case 'g':
	case 'G':
		unit = 1ull << 30;
		end++;
		break;
	}
	if (errno || *end || !n || n > (1ull << 46) / unit || n * unit < (1ull << 20)) {
		fprintf(stderr, "tsdb: TSDB_SOFT_MEMORY=%s is not a size like 8G; using 8G\n",
			text);
		return DEFAULT_TOTAL;
	}
	return (n * unit + PAGE - 1) & ~(PAGE - 1);
}

static unsigned configured_devices(void)
{
	const char *text = getenv("TSDB_SOFT_DEVICES");
	unsigned long n;
	char *end;

	if (!text || !*text)
		return 1;
	n = strtoul(text, &end, 10);
	if (*end || !n || n > MEM_DEVICES) {
		fprintf(stderr,
			"tsdb: TSDB_SOFT_DEVICES=%s is not a number from 1 to %d; using 1\n", text,
			MEM_DEVICES);
		return 1;
	}
	return (unsigned)n;
}

/* A mapping at exactly this address, or NULL with errno: EEXIST when something is there. */
static void *map_at(uint64_t at, size_t size, int prot)
{
	void *p = reserve((void *)at, size, prot, MAP_FIXED_NOREPLACE);

	if (p && (uint64_t)p != at) { /* a kernel older than MAP_FIXED_NOREPLACE */
		munmap(p, size);
		errno = EEXIST;
		return NULL;
	}
	return p;
}

static bool region_init(struct region *r, uint64_t base, uint64_t size)
{
	r->extents = reserve(NULL, MAX_EXTENTS * sizeof(*r->extents), PROT_READ | PROT_WRITE, 0);
	if (!r->extents)
		return false;
	r->base = base;
	r->end = base + size;
	r->most = MAX_EXTENTS;
	r->extents[0] = (struct extent){base, base + size};
	r->n = 1;
	return true;
}

/* The first device's addresses are MEM_DEVICE_BASE and up, the others' follow. Something may be
 * there already (a sanitizer's shadow), or addresses are rationed. */
static bool device_init(unsigned dev)
{
	uint64_t at = MEM_DEVICE_BASE + dev * (mem.total > WINDOW ? mem.total : WINDOW), window = 0;
	void *base = NULL;
	unsigned i;

	for (i = 0; i < 4 && !base; i++) {
		window = i & 1 || mem.total > WINDOW ? mem.total : WINDOW;
		base = i < 2 ? map_at(at, window, PROT_NONE) : reserve(NULL, window, PROT_NONE, 0);
	}
	return base && region_init(&mem.devices[dev], (uint64_t)base, window);
}

/* TSDB_SOFT_HOST_BASE: for programs under a sanitizer whose own memory lies there. */
static uint64_t host_base(void)
{
	const char *other = getenv("TSDB_SOFT_HOST_BASE");
	const uint64_t base = other ? strtoull(other, NULL, 16) : 0;

	return base && base % PAGE == 0 ? base : MEM_HOST_BASE;
}

static void mem_init(void)
{
	unsigned i;

	mem.total = configured_total();
	mem.ndevices = configured_devices();
	mem.slots = reserve(NULL, MAX_RANGES * sizeof(*mem.slots), PROT_READ | PROT_WRITE, 0);
	mem.free_slots =
		reserve(NULL, MAX_RANGES * sizeof(*mem.free_slots), PROT_READ | PROT_WRITE, 0);
	mem.keys = reserve(NULL, MAX_RANGES * sizeof(*mem.keys), PROT_READ | PROT_WRITE, 0);
	mem.reserved = reserve(NULL, MAX_RANGES * sizeof(*mem.reserved), PROT_READ | PROT_WRITE, 0);
	mem.ok = mem.slots && mem.free_slots && mem.keys && mem.reserved &&
		 region_init(&mem.host, host_base(), HOST_WINDOW);
	for (i = 0; i < mem.ndevices; i++)
		mem.ok = mem.ok && device_init(i);
	if (!mem.ok)
		fprintf(stderr,
			"tsdb: software GPU: cannot reserve %u times %llu bytes of address space\n",
			mem.ndevices, (unsigned long long)mem.total);
}

static bool mem_ready(void)
{
	pthread_once(&mem.once, mem_init);
	return mem.ok;
}

/* --- the sorted table --- */

/* Index of the first key that starts above addr, among n. */
static uint32_t keys_above(uint64_t addr, uint32_t n)
{
	return FIRST_WHERE(
		n, i, atomic_load_explicit(&mem.keys[i].start, memory_order_relaxed) > addr);
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
			ret = &mem.slots[atomic_load_explicit(
				&mem.keys[i - 1].slot, memory_order_relaxed)];
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

/* --- allocation --- */

static bool slot_take(uint32_t *ret)
{
	uint32_t resting = mem.free_tail - mem.free_head;

	if (resting > SLOT_REST || (resting && mem.nslots == MAX_RANGES)) {
		*ret = mem.free_slots[mem.free_head++ % MAX_RANGES];
		return true;
	}
	if (mem.nslots == MAX_RANGES)
		return false;
	*ret = mem.nslots++;
	return true;
}

static void slot_give(uint32_t slot)
{
	mem.free_slots[mem.free_tail++ % MAX_RANGES] = slot;
}

/* Whole pages inside the joined extent go back to the system: only those that x touched can still
 * be committed. */
static struct region *region_at(uint64_t start)
{
	unsigned i;

	for (i = 0; i < mem.ndevices; i++)
		if (start >= mem.devices[i].base && start < mem.devices[i].end)
			return &mem.devices[i];
	return NULL;
}

static void empty(uint64_t lo, uint64_t hi)
{
	madvise((void *)lo, hi - lo, MADV_DONTNEED);
	mprotect((void *)lo, hi - lo, PROT_NONE);
}

static void device_release(struct extent x)
{
	struct extent e = extent_give(region_at(x.start), x);
	uint64_t lo = x.start & ~(PAGE - 1), hi = (x.end + PAGE - 1) & ~(PAGE - 1);

	if (lo < e.start)
		lo += PAGE;
	if (hi > e.end)
		hi -= PAGE;
	if (lo < hi && atomic_load(&busy) && held_add((struct extent){lo, hi}))
		atomic_store(&holds, true);
	else if (lo < hi)
		empty(lo, hi);
}

/* Gives held pages back where nothing was allocated meanwhile. Caller holds the lock. */
static void empty_unused(struct extent x)
{
	uint64_t at = x.start;

	for (uint32_t i = 0; i < mem.nkeys && at < x.end; i++) {
		const struct extent used = mem.reserved[mem.keys[i].slot];

		if (used.end <= at || used.start >= x.end)
			continue;
		if ((used.start & ~(PAGE - 1)) > at)
			empty(at, used.start & ~(PAGE - 1));
		at = (used.end + PAGE - 1) & ~(PAGE - 1);
	}
	if (at < x.end)
		empty(at, x.end);
}

void mem_busy_begin(void)
{
	atomic_fetch_add(&busy, 1);
}

void mem_busy_end(void)
{
	struct extent x;

	if (atomic_fetch_sub(&busy, 1) != 1 || !atomic_load(&holds))
		return;
	pthread_mutex_lock(&mem.lock);
	while (!atomic_load(&busy) && held_take(&x))
		empty_unused(x);
	atomic_store(&holds, held_any());
	pthread_mutex_unlock(&mem.lock);
}

uint32_t mem_frees(void)
{
	return atomic_load_explicit(&frees, memory_order_relaxed);
}

bool mem_was_freed(uint64_t addr)
{
	bool ret;

	pthread_mutex_lock(&mem.lock);
	ret = held_has(addr);
	pthread_mutex_unlock(&mem.lock);
	return ret;
}

/* A module's variables come from the high end, so that the low addresses, which a recorded
 * program's allocations had, stay free for them when they are wanted again. */
static bool device_reserve(
	unsigned dev, enum mem_kind kind, uint64_t size, uint64_t align, struct extent *ret)
{
	uint64_t lo, hi;

	size = (size + RED_ZONE + GRAIN - 1) & ~(uint64_t)(GRAIN - 1);
	if (size > mem.total - mem.used[dev])
		return false;
	if (!(kind == MEM_MODULE ? extent_take_high : extent_take)(
		    &mem.devices[dev], size, align, ret))
		return false;
	lo = ret->start & ~(PAGE - 1);
	hi = (ret->end + PAGE - 1) & ~(PAGE - 1);
	if (mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE)) {
		device_release(*ret);
		return false;
	}
	if (size > FILL_LIMIT && atomic_load(&holds)) /* held pages have their old contents */
		madvise((void *)(lo + PAGE), hi - lo - 2 * PAGE, MADV_DONTNEED);
	return true;
}

/* A mapping in the host region, whose addresses repeat from run to run. The region is not reserved:
 * the program may have put its own memory there (to give it the addresses of an earlier run, and
 * register it); that is stepped over in doubling strides. */
static char *host_map(uint64_t bytes)
{
	uint64_t stride = bytes;
	struct extent x, skipped;
	unsigned tries;
	char *p;

	for (tries = 0; tries < 40 && extent_take(&mem.host, bytes, PAGE, &x);
		tries++, stride *= 2) {
		p = map_at(x.start, bytes, PROT_READ | PROT_WRITE);
		if (p)
			return p;
		if (errno != EEXIST) {
			extent_give(&mem.host, x);
			break;
		}
		extent_take(&mem.host, stride, PAGE, &skipped);
	}
	return reserve(NULL, bytes, PROT_READ | PROT_WRITE, 0);
}

/* Host-visible memory: a mapping of its own with a page of nothing behind it. */
static bool host_reserve(uint64_t size, struct extent *ret)
{
	uint64_t bytes = (size + PAGE - 1) & ~(PAGE - 1);
	char *p = host_map(bytes + PAGE);

	if (!p)
		return false;
	mprotect(p + bytes, PAGE, PROT_NONE);
	*ret = (struct extent){(uint64_t)p, (uint64_t)p + bytes + PAGE};
	return true;
}

static void host_release(struct extent x)
{
	munmap((void *)x.start, x.end - x.start);
	if (x.start >= mem.host.base && x.end <= mem.host.end)
		extent_give(&mem.host, x);
}

static bool on_device(enum mem_kind kind)
{
	return kind == MEM_DEVICE || kind == MEM_MODULE;
}

static const struct mem_range *publish(uint32_t slot, uint64_t start, size_t size,
	enum mem_kind kind, unsigned dev, uint32_t ctx, struct extent reserved)
{
	mem.slots[slot] = (struct mem_range){.start = start,
		.end = start + size,
		.kind = kind,
		.ctx = ctx,
		.dev = (uint8_t)dev,
		.devices = on_device(kind) ? 1u << dev : 0};
	mem.reserved[slot] = reserved;
	if (on_device(kind))
		mem.used[dev] += reserved.end - reserved.start;
	table_insert(slot);
	return &mem.slots[slot];
}

const struct mem_range *mem_alloc(enum mem_kind kind, size_t size, size_t align, uint32_t ctx)
{
	return mem_alloc_on(0, kind, size, align, ctx);
}

const struct mem_range *mem_alloc_on(
	unsigned dev, enum mem_kind kind, size_t size, size_t align, uint32_t ctx)
{
	const struct mem_range *ret = NULL;
	struct extent x;
	uint32_t slot;
	bool ok;

	if (!mem_ready() || dev >= mem.ndevices || !size || size > mem.total ||
		(align & (align - 1)) || align > mem.total)
		return NULL;
	if (align < GRAIN)
		align = GRAIN;
	pthread_mutex_lock(&mem.lock);
	if (slot_take(&slot)) {
		ok = on_device(kind) ? device_reserve(dev, kind, size, align, &x)
				     : align <= PAGE && host_reserve(size, &x);
		if (ok) {
			if (on_device(kind) && size <= FILL_LIMIT)
				memset((void *)x.start, FILL_BYTE, size);
			ret = publish(slot, x.start, size, kind, dev, ctx, x);
		} else {
			slot_give(slot);
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
		ret = publish(slot, start, size, MEM_REGISTERED, 0, ctx, (struct extent){0, 0});
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
	slot_give(slot);
	atomic_fetch_add(&frees, 1);
	if (on_device(kind)) {
		mem.used[mem.slots[slot].dev] -= x.end - x.start;
		device_release(x);
	} else if (kind == MEM_MAPPED) {
		reserve((void *)x.start, x.end - x.start, PROT_NONE, MAP_FIXED);
	} else if (kind != MEM_REGISTERED) {
		host_release(x);
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
		if (mem.slots[mem.keys[i].slot].ctx == ctx &&
			mem.slots[mem.keys[i].slot].kind != MEM_MAPPED)
			release(i);
	pthread_mutex_unlock(&mem.lock);
}

/* --- virtual memory management --- */

static bool in_window(uint64_t start, uint64_t size)
{
	const struct region *r = region_at(start);

	return r && size <= r->end - start;
}

/* Outside the window nothing else may be there. */
static bool reserve_hint(uint64_t hint, uint64_t size)
{
	if (in_window(hint, size))
		return extent_take_at(region_at(hint), hint, size);
	return hint + size > hint && map_at(hint, size, PROT_NONE);
}

bool mem_va_reserve(uint64_t hint, uint64_t size, uint64_t align, uint64_t *ret)
{
	struct extent x;
	bool ok;

	if (!mem_ready() || !size || !align || (align & (align - 1)))
		return false;
	pthread_mutex_lock(&mem.lock);
	ok = mem.nreserved < MAX_RANGES;
	if (ok && hint && !(hint % align) && reserve_hint(hint, size)) {
		*ret = hint;
	} else if (ok) {
		ok = extent_take(&mem.devices[0], size, align, &x);
		if (ok)
			*ret = x.start;
	}
	mem.nreserved += ok;
	pthread_mutex_unlock(&mem.lock);
	return ok;
}

void mem_va_release(uint64_t start, uint64_t size)
{
	pthread_mutex_lock(&mem.lock);
	mem.nreserved--;
	if (in_window(start, size))
		device_release((struct extent){start, start + size});
	else
		munmap((void *)start, size);
	pthread_mutex_unlock(&mem.lock);
}

void *mem_pages_new(unsigned dev, uint64_t size)
{
	return mem_pages_of(dev, size, -1);
}

void *mem_pages_of(unsigned dev, uint64_t size, int fd)
{
	void *p = MAP_FAILED;

	if (!mem_ready())
		return NULL;
	pthread_mutex_lock(&mem.lock);
	if (dev < mem.ndevices && size <= mem.total - mem.used[dev])
		p = mmap(NULL, size, PROT_NONE,
			MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (p != MAP_FAILED)
		mem.used[dev] += size;
	pthread_mutex_unlock(&mem.lock);
	return p == MAP_FAILED ? NULL : p;
}

void mem_pages_free(unsigned dev, void *pages, uint64_t size)
{
	pthread_mutex_lock(&mem.lock);
	munmap(pages, size);
	mem.used[dev] -= size;
	pthread_mutex_unlock(&mem.lock);
}

const struct mem_range *mem_va_map(
	uint64_t start, uint64_t size, void *pages, bool read_only, unsigned dev, uint32_t devices)
{
	return mem_va_map_part(start, size, pages, 0, size, read_only, dev, devices);
}

const struct mem_range *mem_va_map_part(uint64_t start, uint64_t size, void *pages, uint64_t offset,
	uint64_t part, bool read_only, unsigned dev, uint32_t devices)
{
	const struct mem_range *ret = NULL;
	uint32_t slot;
	void *p;

	pthread_mutex_lock(&mem.lock);
	if (!overlaps(start, start + size) && slot_take(&slot)) {
		/* mremap(2): from a shared mapping, an old size of 0 makes a second mapping of the
		 * same pages. */
		p = mremap(pages, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start);
		if (p == MAP_FAILED || mprotect(p, size, PROT_READ | PROT_WRITE)) {
			reserve((void *)start, size, PROT_NONE, MAP_FIXED);
			slot_give(slot);
		} else {
			ret = publish(slot, start + offset, part, MEM_MAPPED, dev, 0,
				(struct extent){start, start + size});
			mem.slots[slot].read_only = read_only;
			mem.slots[slot].devices = devices;
		}
	}
	pthread_mutex_unlock(&mem.lock);
	return ret;
}

/* --- memory of other processes --- */

/* Pages of the device region that lie in a file now. Never given back: processes may still have
 * them. */
static struct export
{
	struct extent pages;
	int fd;
}
*exports;
static uint32_t nexports;

static bool write_pages(int fd, struct extent x)
{
	static const char zeros[PAGE];

	for (uint64_t at = x.start; at < x.end; at += PAGE) {
		char page[PAGE];
		struct iovec to = {page, PAGE}, from = {(void *)at, PAGE};

		/* What is not allocated cannot be read, and is nothing. */
		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)PAGE ||
			!memcmp(page, zeros, PAGE))
			continue;
		if (pwrite(fd, page, PAGE, (off_t)(at - x.start)) != (ssize_t)PAGE)
			return false;
	}
	return true;
}

static bool move_to_file(struct extent x, int *ret_fd)
{
	struct export *more = realloc(exports, (nexports + 1) * sizeof(*exports));
	int fd = more ? memfd_create("tsdb-soft-ipc", MFD_CLOEXEC) : -1;

	exports = more ? more : exports;
	if (fd < 0)
		return false;
	if (ftruncate(fd, (off_t)(x.end - x.start)) || !write_pages(fd, x) ||
		mmap((void *)x.start, x.end - x.start, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		close(fd);
		return false;
	}
	exports[nexports++] = (struct export){x, fd};
	*ret_fd = fd;
	return true;
}

bool mem_export(const struct mem_range *r, int *ret_fd, uint64_t *ret_bytes, uint64_t *ret_offset)
{
	struct extent x = {
		r->start & ~(EXPORT_BLOCK - 1), (r->end + EXPORT_BLOCK - 1) & ~(EXPORT_BLOCK - 1)};
	bool ok = false, found = false, meets = false;

	pthread_mutex_lock(&mem.lock);
	for (uint32_t i = 0; i < nexports && !found; i++) {
		const struct extent *e = &exports[i].pages;

		found = e->start <= r->start && r->end <= e->end;
		meets |= e->start < x.end && x.start < e->end;
		if (found) {
			x = *e;
			*ret_fd = exports[i].fd;
		}
	}
	ok = found || (!meets && region_at(x.start) && x.end <= region_at(x.start)->end &&
			      move_to_file(x, ret_fd));
	pthread_mutex_unlock(&mem.lock);
	*ret_bytes = x.end - x.start;
	*ret_offset = r->start - x.start;
	return ok;
}

/* Whether some of it is another process's, too. */
static bool is_exported(struct extent x)
{
	for (uint32_t i = 0; i < nexports; i++)
		if (exports[i].pages.start < x.end && x.start < exports[i].pages.end)
			return true;
	return false;
}

/* Whole pages of large memory are given back, so that a large variable takes memory only where it
 * is used. */
void mem_zero(const struct mem_range *r)
{
	struct extent pages = {(r->start + PAGE - 1) & ~(PAGE - 1), r->end & ~(PAGE - 1)};

	pthread_mutex_lock(&mem.lock);
	if (r->end - r->start <= FILL_LIMIT || is_exported(pages) ||
		madvise((void *)pages.start, pages.end - pages.start, MADV_DONTNEED))
		pages.end = pages.start = r->end;
	memset((void *)r->start, 0, pages.start - r->start);
	memset((void *)pages.end, 0, r->end - pages.end);
	pthread_mutex_unlock(&mem.lock);
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

unsigned mem_devices(void)
{
	return mem_ready() ? mem.ndevices : 0;
}

void mem_allow(const struct mem_range *r, uint32_t devices)
{
	struct mem_range *slot = &mem.slots[r - mem.slots];

	if (slot->devices)
		slot->devices |= devices;
}

size_t mem_used(unsigned dev)
{
	size_t n;

	if (!mem_ready())
		return 0;
	pthread_mutex_lock(&mem.lock);
	n = mem.used[dev];
	pthread_mutex_unlock(&mem.lock);
	return n;
}
