/* SPDX-License-Identifier: Apache-2.0
 *
 * Live allocations; see live.h. Slots lie in one large mapping that the kernel fills in as they are
 * used, so a slot never moves.
 *
 * A walk holds the lock only while it goes from one slot to the next, since what it does with a
 * slot may take long (hashing, waiting for tsdb), and the program's frees must not wait for that.
 * So it pins the slot: a slot whose allocation is freed meanwhile is over at once, for all
 * look-ups, and its memory is given back and the slot reused when the last walk has left it.
 */
#include "capture/objects/live.h"

#include "capture/core/calls.h"
#include "capture/memory/fresh.h"
#include "capture/objects/map.h"
#include "capture/memory/window.h"

#define SLOTS_MAX (1u << 20)

_Atomic uint32_t live_hosts;
_Atomic uint64_t live_total;
static struct {
	struct spin lock;
	struct live *slot;
	_Atomic uint32_t n; /* slots ever used */
	uint32_t free;	    /* index + 1 */
	struct map by_addr; /* -> index + 1 */
	_Atomic uint32_t managed, incomplete;
} table;

static struct live *new_slot(void)
{
	if (!table.slot && !(table.slot = agent_map(SLOTS_MAX * sizeof(struct live))))
		return NULL;
	if (table.free) {
		struct live *l = &table.slot[table.free - 1];
		table.free = l->next;
		return l;
	}
	const uint32_t n = atomic_load(&table.n);
	if (n == SLOTS_MAX)
		return NULL;
	atomic_store(&table.n, n + 1);
	return &table.slot[n];
}

/* With the lock, when no walk points to the slot any more: frees it. */
static void give_back(struct live *l)
{
	if (l->seen && l->seen != &l->only)
		agent_unmap(l->seen, (l->size + SBT_PAGE - 1) / SBT_PAGE * sizeof(*l->seen));
	*l = (struct live){.next = table.free};
	table.free = (uint32_t)(l - table.slot) + 1;
}

static bool is_used(const struct live *l)
{
	return l->addr && !live_is_over(l);
}

/* With the lock: removes the allocation. */
static void drop(struct live *l)
{
	if (live_is_host(l))
		atomic_fetch_sub(&live_hosts, 1);
	if (l->mem == SBT_MEM_MANAGED)
		atomic_fetch_sub(&table.managed, 1);
	atomic_fetch_sub(&live_total, l->size);
	map_remove(&table.by_addr, l->addr);
	atomic_store(&l->over, 1);
	if (!l->pins)
		give_back(l);
}

static void unpin(struct live *l)
{
	if (!--l->pins && live_is_over(l))
		give_back(l);
}

static struct live *find(uint64_t addr)
{
	const uint64_t i = map_get(&table.by_addr, addr);
	return i ? &table.slot[i - 1] : NULL;
}

static void add(const struct live *what)
{
	spin_lock(&table.lock);
	struct live *l = find(what->addr);
	if (l)
		drop(l); /* its free was not seen */
	l = new_slot();
	if (l && !map_put(&table.by_addr, what->addr, (uint64_t)(l - table.slot) + 1)) {
		*l = *what;
		atomic_fetch_add(&live_total, l->size);
		if (live_is_host(l))
			atomic_fetch_add(&live_hosts, 1);
		if (l->mem == SBT_MEM_MANAGED)
			atomic_fetch_add(&table.managed, 1);
	} else {
		atomic_store(&table.incomplete, 1);
	}
	spin_unlock(&table.lock);
}

void live_alloc(const struct call *c)
{
	const struct sbt_cmd_alloc *a = &c->cmd.u.alloc;
	if (c->cmd.result || !a->addr || !a->size || c->cmd.flags & SBT_F_GRAPH)
		return;
	add(&(struct live){.addr = a->addr,
		.size = a->size,
		.mem = (uint32_t)a->mem,
		.ctx = c->cmd.ctx,
		.seq = c->cmd.seq});
}

void live_free(struct call *c)
{
	if (c->cmd.flags & SBT_F_GRAPH)
		return;
	spin_lock(&table.lock);
	struct live *l = find(c->cmd.u.free.addr);
	c->freed_size = l ? l->size : 0;
	c->freed_ctx = l ? l->ctx : 0;
	c->freed_known = l && !atomic_load(&l->untouched);
	if (l && atomic_load_explicit(&window_open, memory_order_relaxed) && !live_is_host(l))
		fresh_used(l->addr, l->size);
	if (l)
		drop(l);
	spin_unlock(&table.lock);
}

/* A free that failed has freed nothing. */
void live_free_over(const struct call *c)
{
	const struct sbt_cmd_free *f = &c->cmd.u.free;
	if (c->cmd.result && c->freed_size)
		add(&(struct live){.addr = f->addr,
			.size = c->freed_size,
			.mem = (uint32_t)f->mem,
			.ctx = c->freed_ctx});
}

/* Copies the fields that do not change while the allocation lives. */
static struct live copy_of(const struct live *l)
{
	return (struct live){.addr = l->addr,
		.size = l->size,
		.mem = l->mem,
		.before = l->before,
		.ctx = l->ctx};
}

bool live_take_over(const struct live *what)
{
	spin_lock(&table.lock);
	const bool is_new = !find(what->addr);
	struct live before = copy_of(what);
	before.before = true;
	spin_unlock(&table.lock);
	if (is_new)
		add(&before);
	return is_new;
}

bool live_next_before(uint32_t *i, struct live *ret)
{
	bool found = false;
	spin_lock(&table.lock);
	for (const uint32_t n = atomic_load(&table.n); *i < n && !found; ++*i) {
		const struct live *l = &table.slot[*i];
		found = is_used(l) && l->before;
		if (found)
			*ret = copy_of(l);
	}
	spin_unlock(&table.lock);
	return found;
}

bool live_give_up(uint64_t addr, uint64_t size)
{
	spin_lock(&table.lock);
	struct live *l = find(addr);
	const bool is_it = l && l->before && l->size <= size;
	if (is_it)
		drop(l);
	spin_unlock(&table.lock);
	return is_it;
}

void live_doubt(void)
{
	atomic_store(&table.incomplete, 1);
}

void live_complete(void)
{
	atomic_store(&table.incomplete, 0);
}

static bool meets(const struct live *l, uint64_t addr, uint64_t size)
{
	return addr - l->addr < l->size || l->addr - addr < size;
}

/* With the lock: the first used slot from i on that has one of the bytes; size 0: any. NULL: none.
 */
static struct live *from(uint32_t i, uint64_t addr, uint64_t size)
{
	const uint32_t n = atomic_load(&table.n);
	for (; i < n; i++) {
		struct live *l = &table.slot[i];
		if (is_used(l) && (!size || meets(l, addr, size)))
			return l;
	}
	return NULL;
}

/* The next slot of a walk after `last` (NULL: the first one); pins it and unpins last. NULL: the
 * end. */
static struct live *step(struct live *last, uint64_t addr, uint64_t size)
{
	spin_lock(&table.lock);
	struct live *l = from(last ? (uint32_t)(last - table.slot) + 1 : 0, addr, size);
	if (last)
		unpin(last);
	if (l)
		l->pins++;
	spin_unlock(&table.lock);
	return l;
}

static void leave(struct live *l)
{
	spin_lock(&table.lock);
	unpin(l);
	spin_unlock(&table.lock);
}

void live_each(bool (*fn)(void *arg, struct live *l), void *arg)
{
	struct live *l = NULL;
	while ((l = step(l, 0, 0)))
		if (fn(arg, l)) {
			leave(l);
			return;
		}
}

void live_visit(uint64_t addr, uint64_t size, void (*fn)(void *arg, struct live *l), void *arg)
{
	struct live *l = addr && size ? step(NULL, addr, size) : NULL;
	while (l) {
		fn(arg, l);
		if (addr - l->addr < l->size && size <= l->size - (addr - l->addr)) {
			leave(l);
			return; /* no other one has a byte of it */
		}
		l = step(l, addr, size);
	}
}

bool live_at(uint64_t addr, struct live *ret)
{
	spin_lock(&table.lock);
	const struct live *l = addr ? from(0, addr, 1) : NULL;
	if (l)
		*ret = copy_of(l);
	spin_unlock(&table.lock);
	return l;
}

void live_drop_ctx(uint32_t ctx)
{
	spin_lock(&table.lock);
	const uint32_t n = atomic_load(&table.n);
	for (uint32_t i = 0; i < n; i++)
		if (is_used(&table.slot[i]) && table.slot[i].ctx == ctx)
			drop(&table.slot[i]);
	spin_unlock(&table.lock);
}

void live_forget(void)
{
	spin_lock(&table.lock);
	const uint32_t n = atomic_load(&table.n);
	for (uint32_t i = 0; i < n; i++)
		if (is_used(&table.slot[i]))
			drop(&table.slot[i]);
	atomic_store(&table.incomplete, 1);
	spin_unlock(&table.lock);
}

uint64_t live_device_bytes(uint32_t ctx)
{
	uint64_t bytes = 0;
	spin_lock(&table.lock);
	const uint32_t n = atomic_load(&table.n);
	for (uint32_t i = 0; i < n; i++) {
		const struct live *l = &table.slot[i];
		if (is_used(l) && l->ctx == ctx && !live_is_host(l))
			bytes += (l->size + LIVE_ALIGN - 1) & ~(uint64_t)(LIVE_ALIGN - 1);
	}
	spin_unlock(&table.lock);
	return bytes;
}

uint32_t live_host(void)
{
	return atomic_load_explicit(&live_hosts, memory_order_relaxed);
}

uint32_t live_managed(void)
{
	return atomic_load_explicit(&table.managed, memory_order_relaxed);
}

bool live_incomplete(void)
{
	return atomic_load(&table.incomplete) != 0;
}
