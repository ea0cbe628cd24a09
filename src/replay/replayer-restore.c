/* SPDX-License-Identifier: Apache-2.0
 *
 * The window's start out of the trace. Decompressing is what takes the time, so several threads do it, each with a reader, a stream and
 * pinned slots of its own. All memory is cleared first, at the device's speed: what is zeros in the trace is not sent, and memory that
 * is allocated within the window begins alike in every run.
 */
#include "replay/replayer-int.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 16u
#define CHUNK (2u << 20) /* bytes that a thread takes at a time; a multiple of SBT_PAGE */
#define SLOTS 2u

struct restore;

/* What a thread works with; kept for the next time, for pinning memory takes long and giving it back does, too. */
struct restore_kit {
	struct sbt_reader *reader; /* a reader is for one thread */
	CUstream stream;
	uint8_t *slot[SLOTS];
	CUevent event[SLOTS];
};

struct worker {
	struct restore *all;
	struct restore_kit *kit;
	pthread_t thread;
	bool busy[SLOTS];
	unsigned next;
	struct err *error;
	CUresult result;
};

struct restore {
	struct rp *rp;
	pthread_mutex_t lock;
	size_t piece; /* the next bytes to do: of START piece number piece, from offset on */
	uint64_t offset;
	bool failed;
	CUevent cleared; /* when all memory has been */
	uint64_t began, ready; /* now_ns(); ready: the first thread could begin, 0: none has */
	uint64_t *lost; /* per START piece: bytes that the trace does not give */
	struct worker workers[THREADS_MAX];
	unsigned n;
};

/* What the recording says nothing of. On the device it happens while the threads begin to read. */
static struct err *clear_all(struct rp *rp, CUevent done)
{
	for (size_t i = 0; i < rp->place.device.n; i++)
		CU(rp, cuMemsetD8Async, rp->place.device.r[i].addr, 0, rp->place.device.r[i].size, rp->own);
	for (size_t i = 0; i < rp->place.host.n; i++)
		memset((void *)(uintptr_t)rp->place.host.r[i].addr, 0, rp->place.host.r[i].size);
	for (size_t i = 0; i < rp->objects.nglobals; i++) {
		const struct rglobal *g = &rp->objects.globals[i];

		if (g->initial)
			CU(rp, cuMemcpyHtoDAsync_v2, g->here, g->initial, g->size, rp->own);
	}
	CU(rp, cuEventRecord, done, rp->own);
	return NULL;
}

/* ---- a thread ------------------------------------------------------------------------------------------------------------- */

static bool take(struct restore *all, const struct sbt_memory **ret, uint64_t *ret_offset, size_t *ret_n)
{
	const struct contents *x = &all->rp->contents;

	pthread_mutex_lock(&all->lock);
	while (all->piece < x->nstart && (!x->start[all->piece].has_bytes || all->offset >= x->start[all->piece].size)) {
		all->piece++;
		all->offset = 0;
	}
	const bool any = !all->failed && all->piece < x->nstart;
	if (any) {
		const struct sbt_memory *m = &x->start[all->piece];

		*ret = m;
		*ret_offset = all->offset;
		*ret_n = m->size - all->offset < CHUNK ? (size_t)(m->size - all->offset) : CHUNK;
		all->offset += *ret_n;
	}
	pthread_mutex_unlock(&all->lock);
	return any;
}

/* Page by page; those that cannot be read become zeros and are counted: the rest is still of use. */
static struct err *read_what_is_there(struct worker *w, const struct sbt_memory *m, uint64_t offset, uint8_t *p, size_t n)
{
	struct restore *all = w->all;

	for (size_t at = 0; at < n; at += SBT_PAGE) {
		const size_t part = n - at < SBT_PAGE ? n - at : SBT_PAGE;
		struct err *e = sbt_reader_memory_read(w->kit->reader, m, offset + at, p + at, part);

		if (e && e->code != ERR_BAD_TRACE)
			return e;
		if (!e)
			continue;
		err_free(e);
		memset(p + at, 0, part);
		pthread_mutex_lock(&all->lock);
		all->lost[m - all->rp->contents.start] += part;
		pthread_mutex_unlock(&all->lock);
	}
	return NULL;
}

static struct err *read_chunk(struct worker *w, const struct sbt_memory *m, uint64_t offset, uint8_t *p, size_t n)
{
	struct err *e = sbt_reader_memory_read(w->kit->reader, m, offset, p, n);

	if (!e || e->code != ERR_BAD_TRACE)
		return e;
	err_free(e);
	return read_what_is_there(w, m, offset, p, n);
}

static bool all_zeros(const uint8_t *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* The device's copy of a chunk: global memory is not cleared, so its zeros are sent too. */
static CUresult upload(struct worker *w, const struct sbt_memory *m, uint64_t here, uint64_t offset, size_t n)
{
	const struct replayer_driver *d = &w->all->rp->d;
	const unsigned s = w->next;
	CUresult r = CUDA_SUCCESS;

	if (w->busy[s])
		r = d->cuEventSynchronize(w->kit->event[s]);
	w->busy[s] = false;
	if (r)
		return r;
	w->error = read_chunk(w, m, offset, w->kit->slot[s], n);
	if (w->error || (m->owner != SBT_MEMORY_GLOBAL && all_zeros(w->kit->slot[s], n)))
		return CUDA_SUCCESS;
	r = d->cuMemcpyHtoDAsync_v2(here + offset, w->kit->slot[s], n, w->kit->stream);
	if (!r)
		r = d->cuEventRecord(w->kit->event[s], w->kit->stream);
	w->busy[s] = true;
	w->next = (s + 1) % SLOTS;
	return r;
}

static void do_chunk(struct worker *w, const struct sbt_memory *m, uint64_t offset, size_t n)
{
	uint64_t here;

	switch (place_find(w->all->rp, m->addr, m->size, &here)) {
	case PLACE_HOST:
		w->error = read_chunk(w, m, offset, (uint8_t *)(uintptr_t)here + offset, n);
		break;
	case PLACE_DEVICE:
		w->result = upload(w, m, here, offset, n);
		break;
	default:
		break;
	}
}

static CUresult open_slot(const struct replayer_driver *d, struct restore_kit *k, unsigned i)
{
	void *mem = k->slot[i];
	const CUresult r = mem ? CUDA_SUCCESS : d->cuMemHostAlloc(&mem, CHUNK, 0);

	k->slot[i] = mem;
	return r || k->event[i] ? r : d->cuEventCreate(&k->event[i], CU_EVENT_DISABLE_TIMING);
}

/* In its own thread: it takes time. CUDA's answers go to w->result, for rp_cu() is the main thread's. */
static void open_worker(struct worker *w)
{
	struct rp *rp = w->all->rp;
	const struct replayer_driver *d = &rp->d;
	struct restore_kit *k = w->kit;

	w->result = d->cuCtxSetCurrent(rp->ctx);
	if (!w->result && !k->reader)
		w->error = sbt_reader_open(&k->reader, rp->path);
	if (!w->result && !k->stream)
		w->result = d->cuStreamCreateWithPriority(&k->stream, CU_STREAM_NON_BLOCKING, 0);
	for (unsigned i = 0; i < SLOTS && !w->result; i++)
		w->result = open_slot(d, k, i);
	if (!w->result)
		w->result = d->cuStreamWaitEvent(k->stream, w->all->cleared, 0);
	pthread_mutex_lock(&w->all->lock);
	if (!w->all->ready)
		w->all->ready = now_ns();
	pthread_mutex_unlock(&w->all->lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rp *rp = w->all->rp;
	const struct sbt_memory *m;
	uint64_t offset;
	size_t n;

	open_worker(w);
	while (!w->error && !w->result && take(w->all, &m, &offset, &n)) {
		watchdog_on(rp, 0);
		do_chunk(w, m, offset, n);
	}
	if (!w->error && !w->result)
		w->result = rp->d.cuStreamSynchronize(w->kit->stream);
	if (w->error || w->result) {
		pthread_mutex_lock(&w->all->lock);
		w->all->failed = true;
		pthread_mutex_unlock(&w->all->lock);
	}
	return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct rp *rp)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rp->contents.nstart; i++)
		n += rp->contents.start[i].has_bytes ? rp->contents.start[i].size : 0;
	return n;
}

static unsigned threads_for(uint64_t bytes)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t chunks = bytes / CHUNK + 1;
	uint64_t n = cpus < 1 ? 1 : (uint64_t)cpus;

	n = n > THREADS_MAX ? THREADS_MAX : n;
	return (unsigned)(n > chunks ? chunks : n);
}

static struct err *run_workers(struct restore *all)
{
	struct rp *rp = all->rp;
	struct err *e = NULL;
	unsigned started = 0;

	for (; started < all->n && !e; started++) {
		struct worker *w = &all->workers[started];

		w->all = all;
		w->kit = &rp->restore_kits[started];
		const int r = pthread_create(&w->thread, NULL, work, w);
		if (r && started)
			break; /* those that run do it all */
		if (r)
			return err_sys(r, "cannot start a thread");
	}
	for (unsigned i = 0; i < started; i++) {
		struct worker *w = &all->workers[i];

		pthread_join(w->thread, NULL);
		if (e)
			err_free(w->error);
		else
			e = w->error ? w->error : rp_cu(rp, w->result, "restoring memory");
	}
	return e;
}

static void note_lost(const struct restore *all)
{
	const struct contents *x = &all->rp->contents;

	for (size_t i = 0; i < x->nstart; i++)
		if (all->lost[i])
			window_note(all->rp, false, "%llu of the %llu bytes at 0x%llx%s%.*s are damaged in the trace: they begin as zeros, and "
				"what commands compute from them is not what was recorded", (unsigned long long)all->lost[i],
				(unsigned long long)x->start[i].size, (unsigned long long)x->start[i].addr, x->start[i].name.len ? ", global " : "",
				(int)x->start[i].name.len, x->start[i].name.len ? (const char *)x->start[i].name.p : "");
}

struct err *contents_restore(struct rp *rp)
{
	const uint64_t bytes = bytes_of(rp);
	struct restore all = {.rp = rp, .lock = PTHREAD_MUTEX_INITIALIZER, .n = threads_for(bytes), .began = now_ns()};

	if (!rp->restore_kits)
		rp->restore_kits = xcalloc(THREADS_MAX, sizeof *rp->restore_kits);
	CU(rp, cuEventCreate, &all.cleared, CU_EVENT_DISABLE_TIMING);
	TRY(clear_all(rp, all.cleared));
	all.lost = xcalloc(rp->contents.nstart + 1, sizeof *all.lost);
	struct err *e = run_workers(&all);
	if (!e && !rp->open)
		note_lost(&all);
	free(all.lost);
	TRY(e);
	CU(rp, cuEventDestroy_v2, all.cleared);
	CU(rp, cuStreamSynchronize, rp->own); /* nothing may have been sent */
	rp->figures.restored_bytes += bytes;
	rp->figures.restore_ns += now_ns() - all.began;
	rp->figures.restore_setup_ns += all.ready - all.began;
	return NULL;
}
