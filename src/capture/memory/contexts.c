/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts and their memory; see contexts.h.
 */
#include "capture/memory/contexts.h"

#include <time.h>
#include "capture/core/driver.h"
#include "capture/memory/deadline.h"
#include "capture/objects/ids.h"
#include "capture/core/thread.h"

/* What was made on devices and has to be freed. */
static struct {
	struct spin lock;
	struct made_stream {
		uint64_t ctx;
		uint32_t id;
		uint64_t stream;
	} stream[8 * DEVICE_CTXS];
	unsigned nstreams;
	struct {
		uint64_t ctx;
		uint32_t id;
		void *p;
	} pinned[8];
	unsigned npinned;
} made;

void device_made_stream(uint64_t ctx, uint32_t id, uint64_t stream)
{
	spin_lock(&made.lock);
	if (made.nstreams < sizeof(made.stream) / sizeof(*made.stream))
		made.stream[made.nstreams++] = (struct made_stream){ctx, id, stream};
	spin_unlock(&made.lock);
}

static void made_pinned(const struct device_ctx *d, void *p)
{
	spin_lock(&made.lock);
	if (made.npinned < sizeof(made.pinned) / sizeof(*made.pinned)) {
		made.pinned[made.npinned].ctx = d->handle;
		made.pinned[made.npinned].id = d->id;
		made.pinned[made.npinned++].p = p;
	}
	spin_unlock(&made.lock);
}

bool device_can(void)
{
	return driver->can(DRIVER_CAN_READ);
}

static bool add(void *arg, uint64_t key, uint64_t value)
{
	struct device_set *s = arg;
	const struct object *o = (const struct object *)(uintptr_t)value;
	for (unsigned i = 0; i < s->n; i++)
		if (s->ctx[i].handle == key && s->ctx[i].id == o->id)
			return false;
	if (s->n < DEVICE_CTXS)
		s->ctx[s->n] = (struct device_ctx){.handle = key, .id = o->id};
	return ++s->n > DEVICE_CTXS;
}

bool device_is_there(uint64_t handle, uint32_t id)
{
	const struct object *o = ids_object(&ids.ctxs, handle);
	return o && o->id == id;
}

bool device_collect(struct device_set *s)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < s->n; i++)
		if (device_is_there(s->ctx[i].handle, s->ctx[i].id))
			s->ctx[kept++] = s->ctx[i];
	s->n = kept;
	map_each(&ids.ctxs, add, s);
	if (s->n > DEVICE_CTXS) {
		s->n = DEVICE_CTXS;
		return false;
	}
	if (!s->staging && (s->staging = agent_map(DEVICE_STAGING)) && s->n &&
		device_enter(&s->ctx[0])) {
		if (driver_good(driver->host_pin(s->staging, DEVICE_STAGING)))
			made_pinned(&s->ctx[0], s->staging);
		device_leave();
	}
	return s->staging != NULL;
}

struct device_ctx *device_find(struct device_set *s, uint32_t id)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->ctx[i].id == id)
			return &s->ctx[i];
	return id == SBT_NO_ID && s->n ? &s->ctx[0] : NULL;
}

bool device_enter(struct device_ctx *d)
{
	if (!driver_good(driver->context_enter(d->handle)))
		return false;
	if (d->stream)
		return true;
	if (driver_good(driver->stream_create(&d->stream))) {
		device_made_stream(d->handle, d->id, d->stream);
		return true;
	}
	d->stream = 0;
	driver->context_leave();
	return false;
}

void device_leave(void)
{
	driver->context_leave();
}

#define ASKED_AT_ONCE 100u /* times, before it sleeps between two questions */

struct busy {
	uint32_t ctx;
	bool busy;
};

static bool is_busy(void *arg, uint64_t key, uint64_t value)
{
	struct busy *b = arg;
	const struct object *o = (const struct object *)(uintptr_t)value;
	if (o->ctx == b->ctx)
		b->busy = driver->stream_query(key).status == DRIVER_NOT_READY;
	return b->busy;
}

static void *as_arg(const struct device_ctx *d)
{
	return (void *)(uintptr_t)d->handle;
}

/* Runs in the thread of deadline.c. */
static struct driver_result sync_in(void *ctx)
{
	struct driver_result r = driver->context_enter((uint64_t)(uintptr_t)ctx);
	if (!driver_good(r))
		return r;
	r = driver->context_finish();
	driver->context_leave();
	return r;
}

/* Waits for work in streams that no call introduced, or that only their own thread can ask. */
static struct driver_result rest_idle(const struct device_ctx *d, unsigned tenths)
{
	struct driver_result r;
	return deadline_run(sync_in, as_arg(d), tenths * 100, &r)
		       ? r
		       : driver->answer(DRIVER_NOT_READY);
}

static struct driver_result idle(struct device_ctx *d, unsigned tenths)
{
	for (unsigned tries = 0; tries < 100 + tenths * 1000; tries++) {
		struct busy b = {.ctx = d->id};
		map_each(&ids.streams, is_busy, &b);
		if (!b.busy)
			b.busy = driver->stream_query(STREAM_LEGACY).status == DRIVER_NOT_READY;
		if (!b.busy)
			return rest_idle(d, tenths);
		if (!agent_live())
			return driver->answer(DRIVER_NOT_READY);
		if (tries >= 100)
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return driver->answer(DRIVER_NOT_READY);
}

/* Why device_enter() failed: no stream can be made in a context that has faulted. */
static struct driver_result trouble(struct device_ctx *d, unsigned tenths)
{
	struct driver_result r;
	if (!deadline_run(sync_in, as_arg(d), tenths * 100, &r))
		return driver->answer(DRIVER_NOT_READY);
	return driver_good(r) ? driver->answer(DRIVER_FAILED) : r;
}

static struct driver_result ctx_idle(struct device_ctx *d, unsigned tenths)
{
	if (!device_enter(d))
		return trouble(d, tenths);
	const struct driver_result r = idle(d, tenths);
	device_leave();
	return r;
}

/* A primary context that another thread is still making, or that has been destroyed, counts as
 * gone: nothing runs there. */
struct driver_result device_idle(struct device_set *s, unsigned tenths)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct driver_result r = ctx_idle(&s->ctx[i], tenths);
		if (!driver_good(r) && r.status != DRIVER_GONE)
			return r;
	}
	return driver->answer(DRIVER_OK);
}

struct driver_result device_finish(uint64_t stream, unsigned ms)
{
	const uint64_t most = ASKED_AT_ONCE + (uint64_t)ms * 10;
	struct driver_result r = driver->stream_query(stream);
	for (uint64_t tries = 1; r.status == DRIVER_NOT_READY && tries < most && agent_live();
		tries++) {
		if (tries >= ASKED_AT_ONCE)
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		r = driver->stream_query(stream);
	}
	return r;
}

/* Waits for the set's own stream. */
static struct driver_result own_finish(struct device_ctx *d)
{
	const struct driver_result r = device_finish(d->stream, d->stuck ? 0 : deadline_limit());
	d->stuck = r.status == DRIVER_NOT_READY;
	return r;
}

/* Nothing is added to a stream that is stuck: what was begun still writes to the staging. */
static bool may_begin(struct device_ctx *d)
{
	return !d->stuck || driver_good(own_finish(d));
}

bool device_read(struct device_ctx *d, uint64_t addr, void *dst, size_t n)
{
	return may_begin(d) && driver_good(driver->copy_to_host(dst, addr, n, d->stream)) &&
	       driver_good(own_finish(d));
}

/* --- hashes --- */

enum hasher_state { WANTED, LOADING, LOADED }; /* LOADING: by the thread of deadline.c */

/* The kernels in one context. */
struct hasher {
	uint64_t handle; /* 0: a free slot */
	uint32_t id;
	uint64_t stream;
	struct driver_hasher *kernel; /* NULL: they are not loaded */
	_Atomic uint32_t state;	      /* of kernel: enum hasher_state */
	bool late;	   /* the driver did not load them in time: they are not waited for again */
	struct spin using; /* it has one table */
};

static struct {
	struct spin lock;
	struct hasher of[DEVICE_CTXS];
} hashers;

static struct hasher *find_hasher(const struct device_ctx *d)
{
	for (unsigned i = 0; i < DEVICE_CTXS; i++)
		if (hashers.of[i].handle == d->handle && hashers.of[i].id == d->id)
			return &hashers.of[i];
	return NULL;
}

/* A slot for a context without one; a destroyed context's slot is reused. */
static struct hasher *new_hasher(const struct device_ctx *d)
{
	for (unsigned i = 0; i < DEVICE_CTXS; i++) {
		struct hasher *h = &hashers.of[i];
		if (atomic_load(&h->state) == LOADING ||
			(h->handle && device_is_there(h->handle, h->id)))
			continue;
		if (h->kernel)
			driver->hash_forget(h->kernel);
		*h = (struct hasher){.handle = d->handle, .id = d->id, .stream = d->stream};
		return h;
	}
	return NULL;
}

static struct driver_result load_in(void *arg)
{
	struct hasher *h = arg;
	uint32_t wanted = WANTED;
	if (!atomic_compare_exchange_strong(&h->state, &wanted, LOADING))
		return driver->answer(DRIVER_OK);
	struct driver_result r = driver->context_enter(h->handle);
	if (driver_good(r)) {
		tls.hidden++;
		h->kernel = driver->hash_open(h->stream);
		tls.hidden--;
		driver->context_leave();
	}
	atomic_store(&h->state, LOADED);
	return r;
}

/* The context's slot, whose kernels have to be loaded; NULL: they are, or there is no slot. */
static struct hasher *wanted_slot(const struct device_ctx *d)
{
	spin_lock(&hashers.lock);
	struct hasher *h = find_hasher(d);
	if (!h)
		h = new_hasher(d);
	spin_unlock(&hashers.lock);
	return h && atomic_load(&h->state) == WANTED ? h : NULL;
}

void device_load(struct device_set *s)
{
	struct driver_result r;
	for (unsigned i = 0; i < s->n; i++) {
		struct device_ctx *d = &s->ctx[i];
		if (!device_enter(d)) /* makes its stream */
			continue;
		struct hasher *h = wanted_slot(d);
		device_leave();
		if (h && !deadline_run(load_in, h, h->late ? 1 : deadline_limit(), &r))
			h->late = true;
	}
}

static struct hasher *borrow(const struct device_ctx *d)
{
	spin_lock(&hashers.lock);
	struct hasher *h = find_hasher(d);
	spin_unlock(&hashers.lock);
	if (!h || atomic_load(&h->state) != LOADED || !h->kernel)
		return NULL;
	spin_lock(&h->using);
	return h;
}

bool device_is_mapped(uint64_t addr, uint64_t size)
{
	uint64_t start, range;
	return driver_good(driver->mem_range(addr, &start, &range)) && addr >= start &&
	       addr - start <= range && size <= range - (addr - start);
}

bool device_may_read(uint64_t addr, uint64_t size)
{
	return size && device_is_mapped(addr, size) && driver->mem_access(addr) &&
	       driver->mem_access(addr + size - 1);
}

/* Keeps the kernels until device_wait(). */
static struct driver_hasher *keep(struct device_ctx *d)
{
	if (!d->kept)
		d->kept = borrow(d);
	return d->kept ? ((struct hasher *)d->kept)->kernel : NULL;
}

bool device_gather(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t nranges,
	uint64_t first, uint32_t n, uint64_t packed)
{
	struct driver_hasher *h = keep(d);
	return h && driver_good(driver->gather_begin(h, r, nranges, first, n, packed, d->stream));
}

bool device_hash_begin(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t n,
	struct sbt_hash *ret, struct hash_kernel_begun *b)
{
	struct driver_hasher *h = keep(d);
	return h && driver_good(driver->hash_begin(h, r, n, ret, d->stream, b));
}

bool device_wait(struct device_ctx *d)
{
	struct hasher *h = d->kept;
	struct driver_result r = own_finish(d);
	if (h && r.status == DRIVER_NOT_READY)
		h->kernel = NULL; /* they are still at work: nobody uses them again */
	else if (h)
		r = driver->hash_wait(h->kernel, d->stream);
	d->kept = NULL;
	if (h)
		spin_unlock(&h->using);
	return driver_good(r);
}

/* Ends what was begun; good: whether that was possible. */
static bool arrive(struct device_ctx *d, bool good, const struct hash_kernel_begun *b)
{
	if (!device_wait(d) || !good)
		return false;
	driver->hash_end(b);
	return true;
}

static bool hash_range(struct device_ctx *d, struct hash_kernel_range r, struct sbt_hash *ret)
{
	struct hash_kernel_begun b;
	return driver_good(own_finish(d)) && arrive(d, device_hash_begin(d, &r, 1, ret, &b), &b);
}

static bool hash_some(struct device_ctx *d, struct hash_kernel_range r, struct sbt_hash *ret)
{
	struct hash_kernel_begun b;
	struct driver_hasher *h = driver_good(own_finish(d)) ? keep(d) : NULL;
	return h && arrive(d, driver_good(driver->hash_pages_begin(h, r, ret, d->stream, &b)), &b);
}

bool device_hash_pages(struct device_ctx *d, struct hash_kernel_range r, struct sbt_hash *ret_pages)
{
	const uint64_t most = HASH_KERNEL_PAGES * SBT_PAGE;
	for (uint64_t at = 0; at < r.size; at += most) {
		const uint64_t n = r.size - at < most ? r.size - at : most;
		if (!hash_some(d, (struct hash_kernel_range){r.addr + at, n},
			    ret_pages + at / SBT_PAGE))
			return false;
	}
	return true;
}

bool device_hash(struct device_set *s, struct device_ctx *d, uint64_t addr, uint64_t size,
	bool doubtful, struct sbt_hash *ret)
{
	if (!doubtful && device_is_mapped(addr, size) &&
		hash_range(d, (struct hash_kernel_range){addr, size}, ret))
		return true;
	*ret = (struct sbt_hash){{0, 0}};
	for (uint64_t at = 0; at < size; at += DEVICE_STAGING) {
		const size_t n = size - at < DEVICE_STAGING ? size - at : DEVICE_STAGING;
		if (!device_read(d, addr + at, s->staging, n))
			return false;
		for (size_t i = 0; i < n; i += SBT_PAGE)
			sbt_range_hash_add(ret, (at + i) / SBT_PAGE,
				sbt_page_hash(s->staging + i, n - i < SBT_PAGE ? n - i : SBT_PAGE));
	}
	sbt_range_hash_end(ret, size);
	return true;
}

/* --- leaving --- */

static bool enter_if_there(uint64_t ctx, uint32_t id)
{
	return device_is_there(ctx, id) && driver_good(driver->context_enter(ctx));
}

void device_give_back(void)
{
	for (unsigned i = 0; i < DEVICE_CTXS; i++)
		if (atomic_load(&hashers.of[i].state) == LOADED && hashers.of[i].kernel &&
			enter_if_there(hashers.of[i].handle, hashers.of[i].id)) {
			driver->hash_close(hashers.of[i].kernel);
			device_leave();
		}
	for (unsigned i = 0; i < made.nstreams; i++)
		if (enter_if_there(made.stream[i].ctx, made.stream[i].id)) {
			(void)driver->stream_destroy(made.stream[i].stream);
			device_leave();
		}
	for (unsigned i = 0; i < made.npinned; i++)
		if (enter_if_there(made.pinned[i].ctx, made.pinned[i].id)) {
			(void)driver->host_unpin(made.pinned[i].p);
			device_leave();
		}
}
