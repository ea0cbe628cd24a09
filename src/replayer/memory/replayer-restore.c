/* SPDX-License-Identifier: Apache-2.0
 *
 * The window's start out of the trace. Reading and decoding is what takes the time, so several
 * threads do it, each with a reader, a stream and pinned slots of its own. All memory is cleared
 * first, at the device's speed: what is zeros in the trace is not sent, and memory that is
 * allocated within the window begins alike in every run. The surprise: pages are compared with
 * their hashes only when all are there, on a GPU, which reads a hundred times faster than a core
 * hashes. The software GPU's are checked by the threads.
 */
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-window.h"
#include "base/checked.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_MAX 16u
#define CHUNK (2u << 20) /* bytes that a thread takes at a time; a multiple of SBT_PAGE */
#define SLOTS 2u

struct restore;

/* A thread's tools; kept for the next restore, because pinning and unpinning memory take long. */
struct restore_kit {
	struct sbt_reader *reader; /* a reader is for one thread */
	struct gpu_stream *stream;
	uint8_t *slot[SLOTS];
	struct gpu_event *event[SLOTS];
};

/* Sums of one thread, ns. */
struct spent {
	struct sbt_load_times load;
	uint64_t open, hash, wait, submit;
};

struct worker {
	struct restore *all;
	struct restore_kit *kit;
	pthread_t thread;
	bool busy[SLOTS];
	unsigned next;
	struct err *error;
	struct gpu_result result;
	struct spent spent;
};

struct restore {
	struct rp *rp;
	pthread_mutex_t lock;
	size_t piece; /* the next bytes to do: of START piece number piece, from offset on */
	uint64_t offset;
	bool failed;
	struct gpu_event *cleared; /* when all memory has been */
	uint64_t began, ready;	   /* now_ns(); ready: the first thread could begin, 0: none has */
	uint64_t *lost;		   /* per START piece: bytes that the trace does not give */
	bool by_device;		   /* hashes of pages in device memory are checked there */
	struct sbt_hash *hashes; /* by_device: of all pages of all START pieces, as they must be */
	size_t *first;		 /* of each piece, its first page's place in hashes */
	struct worker workers[THREADS_MAX];
	unsigned n;
};

/* Clears host memory; on the software GPU without touching it, since a trace of 3 kB may claim
 * gigabytes. A GPU's driver has pinned the pages, and they must stay. */
static void clear_host(const struct rp *rp, struct range r)
{
	void *p = (void *)(uintptr_t)r.addr;

	if (!rp->lib.soft || ranges_find(&rp->place.mixed, r.addr, r.size) ||
		madvise(p, r.size, MADV_DONTNEED))
		memset(p, 0, r.size);
}

/* Clears memory that the recording does not have. On the device this happens while the threads
 * begin to read. */
static struct err *clear_all(struct rp *rp, struct gpu_event *done)
{
	for (size_t i = 0; i < rp->place.device.n; i++)
		GPU(rp, fill, rp->place.device.r[i].addr, 1, 0, rp->place.device.r[i].size,
			rp->own);
	for (size_t i = 0; i < rp->place.host.n; i++)
		clear_host(rp, rp->place.host.r[i]);
	for (size_t i = 0; i < rp->objects.nglobals; i++) {
		const struct rglobal *g = &rp->objects.globals[i];

		if (g->initial)
			GPU(rp, copy_to_device, g->here, g->initial, g->size, rp->own);
	}
	GPU(rp, event_record, done, rp->own);
	return NULL;
}

/* --- a thread --- */

static bool take(
	struct restore *all, const struct sbt_memory **ret, uint64_t *ret_offset, size_t *ret_n)
{
	const struct contents *x = &all->rp->contents;

	pthread_mutex_lock(&all->lock);
	while (all->piece < x->nstart &&
		(!x->start[all->piece].has_bytes || all->offset >= x->start[all->piece].size)) {
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

static void is_lost(struct restore *all, const struct sbt_memory *m, size_t n)
{
	pthread_mutex_lock(&all->lock);
	all->lost[m - all->rp->contents.start] += n;
	pthread_mutex_unlock(&all->lock);
}

/* Reads pages to p, at most CHUNK bytes, and compares them with their hashes unless these are to be
 * kept. *ret_zeros: p was left alone. */
static struct err *load(struct worker *w, const struct sbt_memory *m, uint64_t offset, uint8_t *p,
	size_t n, struct sbt_hash *keep, bool *ret_zeros)
{
	struct sbt_hash own[CHUNK / SBT_PAGE], *hashes = keep ? keep : own;

	TRY(sbt_reader_memory_load(
		w->kit->reader, m, offset, p, n, hashes, ret_zeros, &w->spent.load));
	if (keep || *ret_zeros)
		return NULL;
	const uint64_t begin = now_ns();
	bool same = true;
	for (size_t at = 0; at < n && same; at += SBT_PAGE)
		same = sbt_hash_equal(sbt_page_hash(p + at, n - at), hashes[at / SBT_PAGE]);
	w->spent.hash += now_ns() - begin;
	return same ? NULL : err_new(ERR_BAD_TRACE, "the hash of a page is wrong");
}

/* Reads page by page; pages that cannot be read become zeros and are counted, so the rest is still
 * of use. */
static struct err *read_what_is_there(struct worker *w, const struct sbt_memory *m, uint64_t offset,
	uint8_t *p, size_t n, struct sbt_hash *keep)
{
	for (size_t at = 0; at < n; at += SBT_PAGE) {
		const size_t part = n - at < SBT_PAGE ? n - at : SBT_PAGE;
		bool zeros;
		struct err *e = load(w, m, offset + at, p + at, part,
			keep ? keep + at / SBT_PAGE : NULL, &zeros);

		if (e && e->code != ERR_BAD_TRACE)
			return e;
		if (e || zeros)
			memset(p + at, 0, part);
		if (!e)
			continue;
		err_free(e);
		is_lost(w->all, m, part);
		if (keep)
			keep[at / SBT_PAGE] = sbt_page_hash(NULL, 0);
	}
	return NULL;
}

static struct err *read_chunk(struct worker *w, const struct sbt_memory *m, uint64_t offset,
	uint8_t *p, size_t n, struct sbt_hash *keep, bool *ret_zeros)
{
	struct err *e = load(w, m, offset, p, n, keep, ret_zeros);

	if (!e || e->code != ERR_BAD_TRACE)
		return e;
	err_free(e);
	*ret_zeros = false;
	return read_what_is_there(w, m, offset, p, n, keep);
}

/* Where the hashes of a piece's pages from offset on are kept; NULL: they are checked here. */
static struct sbt_hash *kept(const struct restore *all, const struct sbt_memory *m, uint64_t offset)
{
	return all->by_device && m->owner != SBT_MEMORY_GLOBAL
		       ? &all->hashes[all->first[m - all->rp->contents.start] + offset / SBT_PAGE]
		       : NULL;
}

/* Translates addresses in a page. A page that the device would check (keep) is checked here if its
 * addresses change. */
static void move_page(struct worker *w, const struct sbt_memory *m, uint64_t addr, uint8_t *p,
	size_t n, struct sbt_hash *keep)
{
	if (!address_map_any(&w->all->rp->moved.to_here, addr, p, n))
		return;
	if (keep && !sbt_hash_equal(sbt_page_hash(p, n), *keep)) {
		is_lost(w->all, m, n);
		memset(p, 0, n);
	}
	moved_to_here(w->all->rp, addr, p, n);
	if (keep)
		*keep = sbt_page_hash(p, n);
}

/* Translates addresses in a chunk. Chunks begin at whole pages. */
static void move_addresses(
	struct worker *w, const struct sbt_memory *m, uint64_t offset, uint8_t *p, size_t n)
{
	struct sbt_hash *keep = kept(w->all, m, offset);

	for (size_t at = 0; at < n && w->all->rp->moved.to_here.n; at += SBT_PAGE)
		move_page(w, m, m->addr + offset + at, p + at,
			n - at < SBT_PAGE ? n - at : SBT_PAGE, keep ? keep + at / SBT_PAGE : NULL);
}

/* Sends a chunk to the device: its memory is not cleared, so zeros are sent, too. */
static struct gpu_result upload(
	struct worker *w, const struct sbt_memory *m, uint64_t here, uint64_t offset, size_t n)
{
	const struct backend *gpu = w->all->rp->gpu;
	const unsigned s = w->next;
	uint64_t begin = now_ns();
	struct gpu_result r = {0};
	bool zeros = false;

	if (w->busy[s])
		r = gpu->event_finish(w->kit->event[s]);
	w->spent.wait += now_ns() - begin;
	w->busy[s] = false;
	if (r.status)
		return r;
	w->error = read_chunk(w, m, offset, w->kit->slot[s], n, kept(w->all, m, offset), &zeros);
	if (w->error || (zeros && m->owner != SBT_MEMORY_GLOBAL))
		return (struct gpu_result){0};
	if (zeros)
		memset(w->kit->slot[s], 0, n);
	else
		move_addresses(w, m, offset, w->kit->slot[s], n);
	begin = now_ns();
	r = gpu->copy_to_device(here + offset, w->kit->slot[s], n, w->kit->stream);
	if (!r.status)
		r = gpu->event_record(w->kit->event[s], w->kit->stream);
	w->spent.submit += now_ns() - begin;
	w->busy[s] = true;
	w->next = (s + 1) % SLOTS;
	return r;
}

static void do_chunk(struct worker *w, const struct sbt_memory *m, uint64_t offset, size_t n)
{
	uint64_t here;
	bool zeros; /* host memory is cleared already */

	switch (place_find(w->all->rp, m->addr, m->size, &here)) {
	case PLACE_HOST:
		w->error = read_chunk(
			w, m, offset, (uint8_t *)(uintptr_t)here + offset, n, NULL, &zeros);
		if (!w->error && !zeros)
			moved_to_here(w->all->rp, m->addr + offset,
				(uint8_t *)(uintptr_t)here + offset, n);
		break;
	case PLACE_DEVICE:
		w->result = upload(w, m, here, offset, n);
		break;
	default:
		break;
	}
}

static struct gpu_result open_slot(const struct backend *gpu, struct restore_kit *k, unsigned i)
{
	void *mem = k->slot[i];
	const struct gpu_result r = mem ? (struct gpu_result){0} : gpu->host_alloc(&mem, CHUNK);

	k->slot[i] = mem;
	return r.status || k->event[i] ? r : gpu->event_create(&k->event[i], false);
}

/* Runs in its own thread, because it takes time. The backend's answers go to w->result: rp_gpu()
 * belongs to the main thread. */
static void open_worker(struct worker *w)
{
	struct rp *rp = w->all->rp;
	const struct backend *gpu = rp->gpu;
	struct restore_kit *k = w->kit;
	const uint64_t begin = now_ns();

	w->result = gpu->context_enter(rp->devices.d[0].ctx);
	if (!w->result.status && !k->reader)
		w->error = window_reader(rp, &k->reader);
	if (!w->result.status && !k->stream)
		w->result = gpu->stream_create(&k->stream, true, 0);
	for (unsigned i = 0; i < SLOTS && !w->result.status; i++)
		w->result = open_slot(gpu, k, i);
	if (!w->result.status)
		w->result = gpu->stream_wait(k->stream, w->all->cleared);
	pthread_mutex_lock(&w->all->lock);
	if (!w->all->ready)
		w->all->ready = now_ns();
	pthread_mutex_unlock(&w->all->lock);
	w->spent.open = now_ns() - begin;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rp *rp = w->all->rp;
	const struct sbt_memory *m;
	uint64_t offset;
	size_t n;

	open_worker(w);
	while (!w->error && !w->result.status && take(w->all, &m, &offset, &n)) {
		watchdog_on(rp, 0);
		do_chunk(w, m, offset, n);
	}
	const uint64_t begin = now_ns();
	if (!w->error && !w->result.status)
		w->result = rp->gpu->stream_finish(w->kit->stream);
	w->spent.wait += now_ns() - begin;
	if (w->error || w->result.status) {
		pthread_mutex_lock(&w->all->lock);
		w->all->failed = true;
		pthread_mutex_unlock(&w->all->lock);
	}
	return NULL;
}

/* --- all of them --- */

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

static void add_spent(struct replayer_figures *f, const struct spent *s)
{
	f->restore_open_ns += s->open;
	f->restore_read_ns += s->load.read_ns;
	f->restore_unpack_ns += s->load.unpack_ns;
	f->restore_file_bytes += s->load.read_bytes;
	f->restore_hash_ns += s->hash;
	f->restore_wait_ns += s->wait;
	f->restore_submit_ns += s->submit;
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
			break; /* the threads that run do all the work */
		if (r)
			return err_sys(r, "cannot start a thread");
	}
	for (unsigned i = 0; i < started; i++) {
		struct worker *w = &all->workers[i];

		pthread_join(w->thread, NULL);
		add_spent(&rp->figures, &w->spent);
		if (e)
			err_free(w->error);
		else
			e = w->error ? w->error
				     : rp_gpu(rp, gpu_result_of("restoring memory", w->result));
	}
	return e;
}

/* --- checking on the device --- */

static uint64_t pages_of(uint64_t size)
{
	return size / SBT_PAGE + (size % SBT_PAGE != 0);
}

/* Whether a GPU can check hashes; TSDB_REPLAYER_CHECK overrides it. */
static bool check_by_device(const struct rp *rp)
{
	const char *where = getenv("TSDB_REPLAYER_CHECK");

	if (!rp->has_hash || (where && !strcmp(where, "host")))
		return false;
	return !rp->gpu->hash_on_host() || (where && !strcmp(where, "device"));
}

/* Makes room for the pages' hashes. A piece may claim any size: memory that is not placed here
 * costs only its pages' hashes, and these have a limit. */
static struct err *open_hashes(struct restore *all)
{
	const struct contents *x = &all->rp->contents;
	void *hashes;
	uint64_t n = 0;

	all->by_device = check_by_device(all->rp);
	if (!all->by_device)
		return NULL;
	all->first = xcalloc(x->nstart + 1, sizeof *all->first);
	for (size_t i = 0; i < x->nstart; i++) {
		all->first[i] = n;
		n = sat_add(n, x->start[i].has_bytes ? pages_of(x->start[i].size) : 0);
	}
	TRY(image_array(all->rp, all->rp->first, n, sizeof *all->hashes,
		"the hashes of the memory that the window begins with", &hashes));
	all->hashes = hashes;
	return NULL;
}

/* Makes pages zero whose hashes are wrong. */
static struct err *check_piece(struct restore *all, size_t i, uint64_t here)
{
	const struct sbt_memory *m = &all->rp->contents.start[i];
	const struct sbt_hash *want = &all->hashes[all->first[i]];
	const uint64_t pages = pages_of(m->size);
	struct rp *rp = all->rp;
	struct sbt_hash *got = xmalloc((size_t)pages * sizeof *got);
	struct err *e = contents_hash_pages(rp, here, m->size, got);

	for (uint64_t k = 0; k < pages && !e; k++) {
		const uint64_t left = m->size - k * SBT_PAGE, n = left < SBT_PAGE ? left : SBT_PAGE;

		if (sbt_hash_equal(got[k], want[k]))
			continue;
		is_lost(all, m, (size_t)n);
		e = rp_gpu(rp, rp->gpu->fill(here + k * SBT_PAGE, 1, 0, (size_t)n, rp->own));
	}
	free(got);
	return e;
}

static struct err *check_all(struct restore *all)
{
	const struct contents *x = &all->rp->contents;
	const uint64_t begin = now_ns();
	uint64_t here;

	for (size_t i = 0; i < x->nstart && all->by_device; i++) {
		const struct sbt_memory *m = &x->start[i];

		watchdog_on(all->rp, 0);
		if (m->has_bytes && m->size && m->owner != SBT_MEMORY_GLOBAL &&
			place_find(all->rp, m->addr, m->size, &here) == PLACE_DEVICE)
			TRY(check_piece(all, i, here));
	}
	all->rp->figures.restore_check_ns += now_ns() - begin;
	return NULL;
}

static void note_lost(const struct restore *all)
{
	const struct contents *x = &all->rp->contents;

	for (size_t i = 0; i < x->nstart; i++)
		if (all->lost[i])
			window_note(all->rp, false,
				"%llu of the %llu bytes at 0x%llx%s%.*s are damaged in the trace: they begin as zeros, and "
				"what commands compute from them is not what was recorded",
				(unsigned long long)all->lost[i],
				(unsigned long long)x->start[i].size,
				(unsigned long long)x->start[i].addr,
				x->start[i].name.len ? ", global " : "", (int)x->start[i].name.len,
				x->start[i].name.len ? (const char *)x->start[i].name.p : "");
}

struct err *contents_restore(struct rp *rp)
{
	const uint64_t bytes = bytes_of(rp);
	struct restore all = {.rp = rp,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.n = threads_for(bytes),
		.began = now_ns()};

	if (!rp->restore_kits)
		rp->restore_kits = xcalloc(THREADS_MAX, sizeof *rp->restore_kits);
	GPU(rp, event_create, &all.cleared, false);
	TRY(clear_all(rp, all.cleared));
	all.lost = xcalloc(rp->contents.nstart + 1, sizeof *all.lost);
	struct err *e = open_hashes(&all);
	if (!e)
		e = run_workers(&all);
	if (!e)
		e = check_all(&all);
	if (!e && !rp->open)
		note_lost(&all);
	free(all.lost);
	free(all.hashes);
	free(all.first);
	TRY(e);
	GPU(rp, event_destroy, all.cleared);
	GPU(rp, stream_finish, rp->own); /* nothing may have been sent */
	rp->figures.restored_bytes += bytes;
	rp->figures.restore_ns += now_ns() - all.began;
	rp->figures.restore_setup_ns += all.ready - all.began;
	return NULL;
}
