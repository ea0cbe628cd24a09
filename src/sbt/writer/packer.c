/* SPDX-License-Identifier: Apache-2.0
 *
 * See packer.h. A ring of batches; a batch becomes a chunk. The caller's thread fills and writes
 * them in order, helpers compress in between. The surprise: the threads take no signals, for tsdb's
 * signals and its tracees belong to its own threads.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include <xxhash.h>
#include <zstd.h>

#include "sbt/writer/packer.h"
#include "sbt/format/pagecode.h"

#define LEVEL 1
#define BATCH_PAGES 64u /* 4 MiB of memory in a chunk */
#define THREADS_MAX 4u
#define BATCHES (THREADS_MAX + 3)
/* A zstd frame must be this much smaller than what the page takes without: decompressing goes at a
 * gigabyte a second, a tenth of what memory and devices take. */
#define WORTH(n) ((n) / 3)
#define SLICES 8u
#define SLICE 1024u

struct batch {
	uint8_t *raw; /* page i lies at i * SBT_PAGE */
	struct sbt_page_entry entry[BATCH_PAGES];
	unsigned n;
	bool done;	    /* under lock */
	struct buf payload; /* of the chunk, once done */
	uint64_t hash;	    /* XXH64 of it */
};

struct sbt_packer {
	struct batch ring[BATCHES];
	uint64_t next;	  /* number of the next page */
	uint64_t written; /* batches in the file; batch i lies at ring[i % BATCHES] */
	uint64_t first;	  /* number of batch[written]'s first page */
	unsigned nthreads;
	bool tried; /* to start threads */
	pthread_t thread[THREADS_MAX];
	void *zstd; /* of the caller's thread */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	uint64_t full,
		taken; /* under lock: batches handed over, and those that helpers began with */
	bool quit;
};

/* --- compressing a batch --- */

/* Compresses an eighth of the page, taken from all over it, and returns whether it shrinks to
 * part/n. A page that does not is stored as it is, five times faster. */
static bool is_promising(ZSTD_CCtx *zstd, const uint8_t *page, uint32_t n, size_t part)
{
	uint8_t sample[SLICES * SLICE], out[SLICES * SLICE];
	size_t got;

	if (n < SBT_PAGE)
		return true;
	for (unsigned i = 0; i < SLICES; i++)
		memcpy(sample + i * SLICE, page + i * (SBT_PAGE / SLICES), SLICE);
	got = ZSTD_compressCCtx(zstd, out, sizeof out * part / n, sample, sizeof sample, LEVEL);
	return !ZSTD_isError(got);
}

/* Appends a page, compressed if that is worth it. Returns its bytes in the payload. */
static uint32_t put_page(struct buf *b, ZSTD_CCtx *zstd, const uint8_t *page, uint32_t n)
{
	uint8_t *dst = buf_room(
		b, 2 * (size_t)n); /* a frame is written behind the code that it may replace */
	size_t coded = sbt_pagecode_pack(page, n, dst), best = coded ? coded : n,
	       part = WORTH(best), got = 0;

	if (zstd && n >= 64 && is_promising(zstd, page, n, part))
		got = ZSTD_compressCCtx(zstd, dst + best, part, page, n, LEVEL);
	if (got && !ZSTD_isError(got)) {
		memmove(dst, dst + best, got);
		best = got;
	} else if (!coded) {
		memcpy(dst, page, n);
	}
	b->len += best;
	return (uint32_t)best;
}

static void pack(struct batch *b, ZSTD_CCtx *zstd)
{
	size_t table = b->n * sizeof *b->entry;

	buf_clear(&b->payload);
	buf_room(&b->payload, table + ((size_t)b->n + 1) * SBT_PAGE);
	b->payload.len = table;
	for (unsigned i = 0; i < b->n; i++)
		b->entry[i].stored = put_page(
			&b->payload, zstd, b->raw + (size_t)i * SBT_PAGE, b->entry[i].size);
	memcpy(b->payload.data, b->entry, table);
	b->hash = XXH64(b->payload.data, b->payload.len, 0);
}

static void *helper(void *arg)
{
	struct sbt_packer *p = arg;
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct batch *b;

		while (p->taken == p->full && !p->quit)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->quit)
			break;
		b = &p->ring[p->taken++ % BATCHES];
		pthread_mutex_unlock(&p->lock);
		pack(b, zstd);
		pthread_mutex_lock(&p->lock);
		b->done = true;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	ZSTD_freeCCtx(zstd);
	return NULL;
}

static void start_threads(struct sbt_packer *p)
{
	sigset_t all, before;
	cpu_set_t cpus;
	unsigned want = 1;

	p->tried = true;
	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		want = (unsigned)CPU_COUNT(&cpus);
	if (want > THREADS_MAX)
		want = THREADS_MAX;
	if (want < 2)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (p->nthreads < want && pthread_create(&p->thread[p->nthreads], NULL, helper, p) == 0)
		p->nthreads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- the ring --- */

struct sbt_packer *sbt_packer_create(void)
{
	struct sbt_packer *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd) {
		free(p);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	return p;
}

void sbt_packer_destroy(struct sbt_packer *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->nthreads; i++)
		pthread_join(p->thread[i], NULL);
	for (unsigned i = 0; i < BATCHES; i++) {
		free(p->ring[i].raw);
		buf_free(&p->ring[i].payload);
	}
	ZSTD_freeCCtx(p->zstd);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->done);
	free(p);
}

/* Waits until the oldest batch is done if wait is set; whether it is. */
static bool oldest_done(struct sbt_packer *p, bool wait)
{
	struct batch *b = &p->ring[p->written % BATCHES];
	bool done;

	pthread_mutex_lock(&p->lock);
	while (wait && !b->done)
		pthread_cond_wait(&p->done, &p->lock);
	done = b->done;
	pthread_mutex_unlock(&p->lock);
	return done;
}

/* Writes batches in order while they are done; waits until at most keep are left that are not. */
static struct err *write_done(struct sbt_packer *p, struct sbt_out *o, uint64_t keep)
{
	while (p->written < p->full && oldest_done(p, p->full - p->written > keep)) {
		struct batch *b = &p->ring[p->written % BATCHES];
		uint64_t first = p->first;
		uint32_t n = b->n;

		p->first += n;
		p->written++;
		b->n = 0;
		b->done = false;
		TRY(sbt_out_stored(o, SBT_CHUNK_PAGES, first, first + n - 1, n, b->payload.data,
			b->payload.len, b->hash));
	}
	return NULL;
}

/* Hands the batch that is being filled to the helpers, or packs it here. `full` is read without the
 * lock because only this thread writes it. */
static void hand_over(struct sbt_packer *p, bool with_threads)
{
	struct batch *b = &p->ring[p->full % BATCHES];

	if (with_threads && !p->tried)
		start_threads(p);
	if (!p->nthreads) {
		pack(b, p->zstd);
		b->done = true;
		p->taken++;
	}
	pthread_mutex_lock(&p->lock);
	p->full++;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

struct err *sbt_packer_add(struct sbt_packer *p, struct sbt_out *o, const void *page, uint32_t n,
	struct sbt_hash hash, uint64_t *ret_number)
{
	struct batch *b = &p->ring[p->full % BATCHES];

	BUG_ON(n == 0 || n > SBT_PAGE);
	if (!b->raw)
		b->raw = xmalloc((size_t)BATCH_PAGES * SBT_PAGE);
	memcpy(b->raw + (size_t)b->n * SBT_PAGE, page, n);
	b->entry[b->n++] = (struct sbt_page_entry){.hash = {hash.half[0], hash.half[1]}, .size = n};
	*ret_number = p->next++;
	if (b->n < BATCH_PAGES)
		return NULL;
	hand_over(p, true);
	return write_done(p, o, BATCHES - 1); /* one is left to be filled */
}

struct err *sbt_packer_finish(struct sbt_packer *p, struct sbt_out *o)
{
	if (p->ring[p->full % BATCHES].n)
		hand_over(p, false);
	return write_done(p, o, 0);
}

uint64_t sbt_packer_waiting(const struct sbt_packer *p)
{
	uint64_t n = 0;

	for (uint64_t i = p->written; i <= p->full; i++)
		n += p->ring[i % BATCHES].n;
	return n * SBT_PAGE;
}
