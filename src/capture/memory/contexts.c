/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts and their memory; see contexts.h.
 */
#include "capture/memory/contexts.h"

#include <dlfcn.h>
#include <time.h>
#include "capture/cuda/cuda-api.h"
#include "capture/memory/deadline.h"
#include "capture/objects/ids.h"
#include "capture/core/thread.h"

/* What was made, to be given back. */
static struct {
	struct spin lock;
	struct made_stream {
		CUcontext ctx;
		uint32_t id;
		CUstream stream;
	} stream[8 * DEVICE_CTXS];
	unsigned nstreams;
	struct {
		CUcontext ctx;
		uint32_t id;
		void *p;
	} pinned[8];
	unsigned npinned;
} made;

void device_made_stream(CUcontext ctx, uint32_t id, CUstream stream)
{
	spin_lock(&made.lock);
	if (made.nstreams < sizeof(made.stream) / sizeof(*made.stream))
		made.stream[made.nstreams++] = (struct made_stream){ ctx, id, stream };
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
	return cuda.cuCtxPushCurrent_v2 && cuda.cuCtxPopCurrent_v2 && cuda.cuCtxSynchronize && cuda.cuStreamQuery;
}

static bool add(void *arg, uint64_t key, uint64_t value)
{
	struct device_set *s = arg;
	const struct object *o = (const struct object *)(uintptr_t)value;
	for (unsigned i = 0; i < s->n; i++)
		if (s->ctx[i].handle == (CUcontext)(uintptr_t)key && s->ctx[i].id == o->id)
			return false;
	if (s->n < DEVICE_CTXS)
		s->ctx[s->n] = (struct device_ctx){ .handle = (CUcontext)(uintptr_t)key, .id = o->id };
	return ++s->n > DEVICE_CTXS;
}

bool device_is_there(CUcontext handle, uint32_t id)
{
	const struct object *o = ids_object(&ids.ctxs, (uint64_t)(uintptr_t)handle);
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
	if (!s->staging && (s->staging = agent_map(DEVICE_STAGING)) && s->n && cuda.cuMemHostRegister_v2 &&
		device_enter(&s->ctx[0])) {
		if (!OWN(cuda.cuMemHostRegister_v2(s->staging, DEVICE_STAGING, CU_MEMHOSTREGISTER_PORTABLE)))
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
	CUcontext was;
	if (OWN(cuda.cuCtxPushCurrent_v2(d->handle)))
		return false;
	if (d->stream)
		return true;
	if (!OWN(cuda.cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING))) {
		device_made_stream(d->handle, d->id, d->stream);
		return true;
	}
	d->stream = NULL;
	(void)OWN(cuda.cuCtxPopCurrent_v2(&was));
	return false;
}

void device_leave(void)
{
	CUcontext was;
	(void)OWN(cuda.cuCtxPopCurrent_v2(&was));
}

struct busy {
	uint32_t ctx;
	bool busy;
};

static bool is_busy(void *arg, uint64_t key, uint64_t value)
{
	struct busy *b = arg;
	const struct object *o = (const struct object *)(uintptr_t)value;
	if (o->ctx == b->ctx)
		b->busy = OWN(cuda.cuStreamQuery((CUstream)(uintptr_t)key)) == CUDA_ERROR_NOT_READY;
	return b->busy;
}

static CUresult sync_in(void *ctx)
{
	CUcontext was;
	CUresult r = OWN(cuda.cuCtxPushCurrent_v2(ctx));
	if (r)
		return r;
	r = OWN(cuda.cuCtxSynchronize());
	(void)OWN(cuda.cuCtxPopCurrent_v2(&was));
	return r;
}

/* Waits for work in streams that nobody told us of. Only a process that was attached to has some. */
static CUresult rest_idle(const struct device_ctx *d, unsigned tenths)
{
	CUresult r;
	if (!agent.control->attached)
		return OWN(cuda.cuCtxSynchronize());
	return deadline_run(sync_in, d->handle, tenths * 100, &r) ? r : CUDA_ERROR_NOT_READY;
}

static CUresult idle(struct device_ctx *d, unsigned tenths)
{
	for (unsigned tries = 0; tries < 100 + tenths * 1000; tries++) {
		struct busy b = { .ctx = d->id };
		map_each(&ids.streams, is_busy, &b);
		if (!b.busy)
			b.busy = OWN(cuda.cuStreamQuery(CU_STREAM_LEGACY)) == CUDA_ERROR_NOT_READY;
		if (!b.busy)
			return rest_idle(d, tenths);
		if (!agent_live())
			return CUDA_ERROR_NOT_READY;
		if (tries >= 100)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	return CUDA_ERROR_NOT_READY;
}

/* Why device_enter() failed: in a context that has faulted no stream can be made. */
static CUresult trouble(struct device_ctx *d, unsigned tenths)
{
	CUresult r;
	if (!deadline_run(sync_in, d->handle, tenths * 100, &r))
		return CUDA_ERROR_NOT_READY;
	return r ? r : CUDA_ERROR_UNKNOWN;
}

static CUresult ctx_idle(struct device_ctx *d, unsigned tenths)
{
	if (!device_enter(d))
		return trouble(d, tenths);
	const CUresult r = idle(d, tenths);
	device_leave();
	return r;
}

/* A primary context that another thread is still making, or that has been destroyed, answers CONTEXT_IS_DESTROYED (cuda.h): nothing runs there. */
CUresult device_idle(struct device_set *s, unsigned tenths)
{
	CUresult r = CUDA_SUCCESS;
	for (unsigned i = 0; i < s->n && (!r || r == CUDA_ERROR_CONTEXT_IS_DESTROYED); i++)
		r = ctx_idle(&s->ctx[i], tenths);
	return r == CUDA_ERROR_CONTEXT_IS_DESTROYED ? CUDA_SUCCESS : r;
}

bool device_read(struct device_ctx *d, uint64_t addr, void *dst, size_t n)
{
	return !OWN(cuda.cuMemcpyDtoHAsync_v2(dst, addr, n, d->stream)) && !OWN(cuda.cuStreamSynchronize(d->stream));
}

static void *look_up(void *arg, const char *name)
{
	return dlsym(cuda.lib, name);
}

/* ---- hashes ----------------------------------------------------------------------------------------------------------------- */

/* The kernels in one context. */
struct hasher {
	CUcontext handle; /* NULL: a free slot */
	uint32_t id;
	bool usable;
	struct hash_kernel kernel;
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

/* A slot for a context that has none; what a context that is gone had went with it. */
static struct hasher *new_hasher(const struct device_ctx *d)
{
	for (unsigned i = 0; i < DEVICE_CTXS; i++) {
		struct hasher *h = &hashers.of[i];
		if (h->handle && device_is_there(h->handle, h->id))
			continue;
		hash_kernel_forget(&h->kernel);
		*h = (struct hasher){ .handle = d->handle, .id = d->id };
		return h;
	}
	return NULL;
}

void device_load(struct device_set *s)
{
	static struct hash_kernel_driver functions;
	static bool filled, complete;
	spin_lock(&hashers.lock);
	if (!filled) {
		filled = true;
		complete = cuda.lib && hash_kernel_driver_fill(&functions, look_up, NULL);
	}
	for (unsigned i = 0; i < s->n; i++) {
		struct device_ctx *d = &s->ctx[i];
		struct hasher *h = find_hasher(d) ? NULL : new_hasher(d);
		if (!h || !device_enter(d))
			continue;
		tls.hidden++;
		h->usable = complete && !OWN(hash_kernel_open(&h->kernel, &functions, 0, 0));
		if (h->usable)
			(void)OWN(hash_kernel_warm(&h->kernel, d->stream));
		tls.hidden--;
		device_leave();
	}
	spin_unlock(&hashers.lock);
}

static struct hasher *borrow(const struct device_ctx *d)
{
	spin_lock(&hashers.lock);
	struct hasher *h = find_hasher(d);
	spin_unlock(&hashers.lock);
	if (!h || !h->usable)
		return NULL;
	spin_lock(&h->using);
	return h;
}

bool device_is_mapped(uint64_t addr, uint64_t size)
{
	CUdeviceptr start = 0;
	size_t range = 0;
	return !OWN(cuda.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, addr)) &&
	       !OWN(cuda.cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, addr)) && addr >= start &&
	       addr - start <= range && size <= range - (addr - start);
}

/* What is mapped need not be accessible: cuMemSetAccess() comes after cuMemMap(). */
bool device_may_read(uint64_t addr, uint64_t size)
{
	CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
	unsigned long long begin = 0, end = 0;
	CUdevice dev;
	if (!cuda.cuMemGetAccess || !size || !device_is_mapped(addr, size) || OWN(cuda.cuCtxGetDevice(&dev)))
		return false;
	here.id = dev;
	return !OWN(cuda.cuMemGetAccess(&begin, &here, addr)) && !OWN(cuda.cuMemGetAccess(&end, &here, addr + size - 1)) && begin && end;
}

/* Until device_wait(). */
static struct hash_kernel *keep(struct device_ctx *d)
{
	if (!d->kept)
		d->kept = borrow(d);
	return d->kept ? &((struct hasher *)d->kept)->kernel : NULL;
}

bool device_gather(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t nranges, uint64_t first, uint32_t n, uint64_t packed)
{
	struct hash_kernel *h = keep(d);
	return h && !OWN(hash_kernel_gather_begin(h, r, nranges, first, n, packed, d->stream));
}

bool device_hash_begin(struct device_ctx *d, const struct hash_kernel_range *r, uint32_t n, struct sbt_hash *ret, struct hash_kernel_begun *b)
{
	struct hash_kernel *h = keep(d);
	return h && !OWN(hash_kernel_ranges_begin(h, r, n, ret, d->stream, b));
}

bool device_wait(struct device_ctx *d)
{
	struct hasher *h = d->kept;
	const CUresult r = h ? OWN(hash_kernel_wait(&h->kernel, d->stream)) : OWN(cuda.cuStreamSynchronize(d->stream));
	d->kept = NULL;
	if (h)
		spin_unlock(&h->using);
	return !r;
}

bool device_hash_ranges(struct device_ctx *d, const struct hash_kernel_range *r, size_t n, struct sbt_hash *ret)
{
	struct hasher *h = borrow(d);
	if (!h)
		return false;
	const bool good = !OWN(hash_kernel_ranges(&h->kernel, r, n, ret, d->stream));
	spin_unlock(&h->using);
	return good;
}

bool device_hash_pages(struct device_ctx *d, struct hash_kernel_range r, struct sbt_hash *ret_pages)
{
	struct hasher *h = borrow(d);
	if (!h)
		return false;
	const bool good = !OWN(hash_kernel_pages(&h->kernel, r, ret_pages, d->stream));
	spin_unlock(&h->using);
	return good;
}

bool device_hash(struct device_set *s, struct device_ctx *d, uint64_t addr, uint64_t size, bool doubtful, struct sbt_hash *ret)
{
	const struct hash_kernel_range range = { addr, size };
	if (!doubtful && device_is_mapped(addr, size) && device_hash_ranges(d, &range, 1, ret))
		return true;
	*ret = (struct sbt_hash){ { 0, 0 } };
	for (uint64_t at = 0; at < size; at += DEVICE_STAGING) {
		const size_t n = size - at < DEVICE_STAGING ? size - at : DEVICE_STAGING;
		if (!device_read(d, addr + at, s->staging, n))
			return false;
		for (size_t i = 0; i < n; i += SBT_PAGE)
			sbt_range_hash_add(ret, (at + i) / SBT_PAGE, sbt_page_hash(s->staging + i, n - i < SBT_PAGE ? n - i : SBT_PAGE));
	}
	sbt_range_hash_end(ret, size);
	return true;
}

/* ---- leaving ---------------------------------------------------------------------------------------------------------------- */

static bool enter_if_there(CUcontext ctx, uint32_t id)
{
	return device_is_there(ctx, id) && !OWN(cuda.cuCtxPushCurrent_v2(ctx));
}

void device_give_back(void)
{
	for (unsigned i = 0; i < DEVICE_CTXS; i++)
		if (hashers.of[i].usable && enter_if_there(hashers.of[i].handle, hashers.of[i].id)) {
			OWN((hash_kernel_close(&hashers.of[i].kernel), 0));
			device_leave();
		}
	for (unsigned i = 0; i < made.nstreams && cuda.cuStreamDestroy_v2; i++)
		if (enter_if_there(made.stream[i].ctx, made.stream[i].id)) {
			(void)OWN(cuda.cuStreamDestroy_v2(made.stream[i].stream));
			device_leave();
		}
	for (unsigned i = 0; i < made.npinned && cuda.cuMemHostUnregister; i++)
		if (enter_if_there(made.pinned[i].ctx, made.pinned[i].id)) {
			(void)OWN(cuda.cuMemHostUnregister(made.pinned[i].p));
			device_leave();
		}
}
