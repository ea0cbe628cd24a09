/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: blocks handed out to workers. The caller works too; helper threads join when there is
 * enough to do. Same input, same bits on any number of workers: a kernel whose result could depend
 * on the order of blocks (ptx_function.ordered) runs them one after the other, printf output is put
 * in block order, and of several faults the lowest block's is reported. A cooperative grid runs on
 * one worker, all blocks taking turns, so that blocks may wait for one another.
 */
#include "softgpu/machine/ptx-run.h"
#include "softgpu/insns/ptx-async.h"
#include "softgpu/machine/ptx-cluster.h"
#include "softgpu/machine/ptx-look.h"
#include "softgpu/machine/ptx-schedule.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS 256
#define SPIN_NS 10000u /* a helper looks for more work that long before it sleeps */
#define PRINT_LIMIT (16u << 20)

struct chunk { /* printf output of one block */
	uint64_t index;
	char *text;
	size_t n;
};

struct ptx_run {
	const struct ptx_launch *l;
	uint64_t nblocks, launch_id, start_ns;
	struct ptx_look_run look;
	atomic_uint_fast64_t next;
	atomic_uint_fast64_t
		limit; /* blocks from here on need not run: nblocks, or the lowest that faulted */
	atomic_bool stop;
	unsigned wanted, active; /* helpers; under pool.lock */
	struct ptx_run *queue;
	pthread_mutex_t lock; /* of what follows */
	struct ptx_fault fault;
	char undefined[256]; /* ptx_fault's, of the lowest block that a worker met first */
	uint64_t undefined_index;
	struct chunk *chunks;
	size_t nchunks, capchunks, printed;
};

#define BLOCKS_OF_SLICE 1024

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	pthread_once_t once;
	unsigned workers, threads, nidle;
	unsigned timeout_s;
	uint64_t slices; /* as ptx_launch.max_slices, of launches that have no limit of their own;
			    0: none */
	struct ptx_worker *idle; /* with their memory, for reuse */
	struct ptx_run *queue;
	atomic_uint_fast64_t launches;
	atomic_uint_fast64_t offers; /* changed under the lock; looked at without it */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.once = PTHREAD_ONCE_INIT};

/* A forked child has no helpers; what the parent's held is lost. */
static void after_fork(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pthread_cond_init(&pool.work, NULL);
	pthread_cond_init(&pool.done, NULL);
	pool.threads = 0;
	pool.queue = NULL;
	pool.idle = NULL;
	pool.nidle = 0;
}

static void pool_init(void)
{
	const char *s = getenv("TSDB_SOFT_WORKERS"), *t = getenv("TSDB_SOFT_TIMEOUT"),
		   *slices = getenv("TSDB_SOFT_SLICES");
	long n = s && *s ? strtol(s, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);

	pool.workers = n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : (unsigned)n;
	pool.timeout_s = t ? (unsigned)strtoul(t, NULL, 10) : 0;
	pool.slices = slices ? strtoull(slices, NULL, 10) : 0;
	pthread_atfork(NULL, NULL, after_fork);
}

static uint64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool ptx_should_stop(struct ptx_worker *wk, enum ptx_fault_code *code)
{
	struct ptx_run *r = wk->run;

	*code = PTX_CANCELLED;
	if (wk->l->cancel && *wk->l->cancel)
		atomic_store(&r->stop, true);
	if (pool.timeout_s && patience_over(&wk->patience)) {
		*code = PTX_TIMEOUT;
		return true;
	}
	/* a block that a fault has made pointless */
	return atomic_load(&r->stop) || wk->index > atomic_load(&r->limit);
}

/* --- workers --- */
static struct ptx_worker *worker_get(void)
{
	struct ptx_worker *wk;

	pthread_mutex_lock(&pool.lock);
	wk = pool.idle;
	if (wk) {
		pool.idle = wk->next;
		pool.nidle--;
	}
	pthread_mutex_unlock(&pool.lock);
	return wk ? wk : calloc(1, sizeof(*wk));
}

static void worker_put(struct ptx_worker *wk)
{
	pthread_mutex_lock(&pool.lock);
	if (pool.nidle < pool.workers + 2) {
		wk->next = pool.idle;
		pool.idle = wk;
		pool.nidle++;
		wk = NULL;
	}
	pthread_mutex_unlock(&pool.lock);
	if (wk) {
		ptx_block_free(&wk->blk);
		free(wk->print);
		free(wk->tied);
		free(wk);
	}
}

static void keep_output(struct ptx_worker *wk)
{
	struct ptx_run *r = wk->run;
	size_t cap;

	if (!wk->nprint)
		return;
	pthread_mutex_lock(&r->lock);
	if (r->nchunks == r->capchunks) {
		cap = r->capchunks ? 2 * r->capchunks : 16;
		struct chunk *c = realloc(r->chunks, cap * sizeof(*c));
		if (c) {
			r->chunks = c;
			r->capchunks = cap;
		}
	}
	if (r->nchunks < r->capchunks && r->printed < PRINT_LIMIT) {
		r->chunks[r->nchunks++] = (struct chunk){wk->index, wk->print, wk->nprint};
		r->printed += wk->nprint;
		wk->print = NULL;
		wk->capprint = 0;
	}
	pthread_mutex_unlock(&r->lock);
	wk->nprint = 0;
}

static void record_fault(struct ptx_worker *wk)
{
	struct ptx_run *r = wk->run;

	pthread_mutex_lock(&r->lock);
	if (!r->fault.code || wk->index < atomic_load(&r->limit)) {
		if (wk->index < atomic_load(&r->limit))
			atomic_store(&r->limit, wk->index);
		r->fault = wk->fault;
	}
	if (wk->fault.code == PTX_CANCELLED)
		atomic_store(&r->stop, true);
	pthread_mutex_unlock(&r->lock);
}

void ptx_tell_undefined(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, const char *what)
{
	struct ptx_worker *wk = w->wk;
	struct ptx_run *r = wk->run;
	unsigned thread[3];

	wk->told_undefined = true;
	ptx_thread_of(w, lane, thread);
	pthread_mutex_lock(&r->lock);
	if (!r->undefined[0] || wk->index < r->undefined_index) {
		r->undefined_index = wk->index;
		snprintf(r->undefined, sizeof(r->undefined),
			"a result that is not defined: kernel %.60s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u: %.40s %s",
			r->l->fn->name, w->blk->ctaid[0], w->blk->ctaid[1], w->blk->ctaid[2],
			thread[0], thread[1], thread[2], i->line, i->name, what);
	}
	pthread_mutex_unlock(&r->lock);
}

static void bind_worker(struct ptx_worker *wk, struct ptx_run *r)
{
	wk->run = r;
	wk->look = &r->look;
	wk->told_undefined = false;
	wk->l = r->l;
	if (pool.timeout_s)
		patience_begin(&wk->patience, 0, pool.timeout_s * 1000000000ull);
	wk->launch_id = r->launch_id;
	wk->start_ns = r->start_ns;
	wk->observer = r->l->observer;
	wk->watched = wk->observer || r->l->schedule.random;
	wk->turn = UINT64_MAX;
	if (r->l->schedule.random)
		ptx_schedule_begin(wk);
	ptx_begin(wk);
}

/* The n-th to run of blocks or clusters, when that one is the first. */
static uint64_t nth(uint64_t first, uint64_t n)
{
	return !n ? first : n <= first ? n - 1 : n;
}

static void run_blocks(struct ptx_worker *wk, struct ptx_run *r)
{
	enum ptx_fault_code code;

	bind_worker(wk, r);
	for (;;) {
		uint64_t n = atomic_fetch_add(&r->next, 1);
		if (n >= r->nblocks || n >= atomic_load(&r->limit) + (r->l->first_block != 0) ||
			atomic_load(&r->stop))
			break;
		wk->index = nth(r->l->first_block, n);
		if (wk->index >= atomic_load(&r->limit))
			continue;
		if (setjmp(wk->out)) {
			record_fault(wk);
			keep_output(wk);
			continue;
		}
		if (r->l->cancel && *r->l->cancel) {
			wk->fault =
				(struct ptx_fault){.code = PTX_CANCELLED, .kernel = r->l->fn->name};
			snprintf(wk->fault.text, sizeof(wk->fault.text),
				"tsdb softgpu: cancelled: kernel %.150s", r->l->fn->name);
			longjmp(wk->out, 1);
		}
		ptx_async_reset(wk);
		ptx_block_start(wk, &wk->blk, wk->index);
		if (pool.timeout_s && ptx_should_stop(wk, &code))
			ptx_raise(&wk->blk.warps[0], r->l->fn->insns, 0, code, 0, 0,
				"the time limit is over");
		ptx_block_run(wk, &wk->blk, false);
		keep_output(wk);
	}
}

/* --- blocks that run at the same time --- */
/* A cooperative grid's, or one cluster's. Clusters lie one behind the other in members. */
struct ptx_gang {
	struct ptx_block *blocks, **members;
	struct ptx_cluster *clusters;
	bool *done;
	uint64_t n;
};

static void gang_free(struct ptx_gang *g)
{
	for (uint64_t k = 0; g && g->blocks && k < g->n; k++)
		ptx_block_free(&g->blocks[k]);
	if (g) {
		free(g->blocks);
		free(g->members);
		free(g->clusters);
		free(g->done);
	}
	free(g);
}

static struct ptx_gang *gang_new(uint64_t n)
{
	struct ptx_gang *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->n = n;
	g->blocks = calloc(n, sizeof(*g->blocks));
	g->members = calloc(n, sizeof(*g->members));
	g->clusters = calloc(n, sizeof(*g->clusters));
	g->done = calloc(n, 1);
	if (g->blocks && g->members && g->clusters && g->done)
		return g;
	gang_free(g);
	return NULL;
}

/* Starts block k of the gang as block number index of the grid, which is in the cluster-th of the
 * gang's clusters. */
static void gang_start(
	struct ptx_worker *wk, struct ptx_gang *g, uint64_t k, uint64_t index, uint64_t cluster)
{
	unsigned size = ptx_cluster_size(wk->l);
	struct ptx_cluster *c = &g->clusters[cluster];
	struct ptx_block *b = &g->blocks[k];

	g->done[k] = false;
	ptx_block_start(wk, b, index);
	if (size == 1)
		return;
	*c = (struct ptx_cluster){.blocks = &g->members[cluster * size], .n = size};
	c->blocks[b->rank] = b;
	b->cluster = c;
}

static bool can_run(const struct ptx_block *b)
{
	for (unsigned k = 0; k < b->nwarps; k++)
		if (b->warps[k].state == WARP_RUN)
			return true;
	return false;
}

/* All of them to their ends; each has its turn. */
static void gang_run(struct ptx_worker *wk, struct ptx_gang *g, bool cooperative)
{
	uint64_t left = g->n;

	for (uint64_t turn = 1; left; turn++) {
		uint64_t stuck = g->n;
		bool any = false;
		for (uint64_t k = 0; k < g->n; k++) {
			if (g->done[k])
				continue;
			if (cooperative)
				wk->index = g->blocks[k].index;
			if (turn % 256 == 0)
				ptx_check(wk, &g->blocks[k]);
			if (can_run(&g->blocks[k])) {
				any = true;
				g->done[k] = ptx_block_run(wk, &g->blocks[k], true);
				left -= g->done[k];
				if (cooperative)
					keep_output(wk);
			} else if (stuck == g->n) {
				stuck = k;
			}
		}
		if (!any && left && stuck < g->n && !can_run(&g->blocks[stuck]))
			ptx_block_deadlock(&g->blocks[stuck]);
	}
}

static void no_memory(struct ptx_worker *wk)
{
	wk->fault = (struct ptx_fault){.code = PTX_STACK_OVERFLOW,
		.kernel = wk->l->fn->name,
		.text = "tsdb softgpu: the host has no memory for blocks that run at the same time"};
	record_fault(wk);
}

static uint64_t first_cluster(const struct ptx_launch *l)
{
	const uint32_t at[3] = {(uint32_t)(l->first_block % l->grid[0]),
		(uint32_t)(l->first_block / l->grid[0] % l->grid[1]),
		(uint32_t)(l->first_block / l->grid[0] / l->grid[1])};
	uint64_t ret;
	unsigned in;

	ptx_cluster_of(l, at, &ret, &in);
	return ret;
}

/* Clusters handed out as blocks are. */
static void run_clusters(struct ptx_worker *wk, struct ptx_run *r)
{
	const unsigned volatile size = ptx_cluster_size(r->l); /* volatile: setjmp */
	uint64_t n = r->nblocks / size;
	struct ptx_gang *g = gang_new(size);
	enum ptx_fault_code code;
	const uint64_t first = first_cluster(r->l);

	bind_worker(wk, r);
	if (!g)
		no_memory(wk);
	while (g) {
		uint64_t k = atomic_fetch_add(&r->next, 1);
		if (k >= n || k >= atomic_load(&r->limit) + (first != 0) || atomic_load(&r->stop))
			break;
		wk->index = nth(first, k);
		if (wk->index >= atomic_load(&r->limit))
			continue;
		if (setjmp(wk->out)) {
			record_fault(wk);
			keep_output(wk);
			continue;
		}
		ptx_async_reset(wk);
		for (unsigned rank = 0; rank < size; rank++)
			gang_start(wk, g, rank, ptx_cluster_block(r->l, wk->index, rank), 0);
		if (ptx_should_stop(wk, &code))
			ptx_raise(&g->blocks[0].warps[0], r->l->fn->insns, 0, code, 0, 0,
				code == PTX_TIMEOUT ? "the time limit is over" : NULL);
		gang_run(wk, g, false);
		keep_output(wk);
	}
	gang_free(g);
}

static void run_units(struct ptx_worker *wk, struct ptx_run *r)
{
	atomic_fetch_add(&r->look.workers, 1);
	if (ptx_cluster_size(r->l) > 1)
		run_clusters(wk, r);
	else
		run_blocks(wk, r);
	atomic_fetch_sub(&r->look.workers, 1);
}

/* All blocks at once, in turns. */
static void run_cooperative(struct ptx_worker *wk, struct ptx_run *r)
{
	struct ptx_gang *g = gang_new(r->nblocks);

	bind_worker(wk, r);
	if (!g) {
		no_memory(wk);
	} else if (setjmp(wk->out)) {
		record_fault(wk);
		keep_output(wk);
	} else {
		for (uint64_t k = 0; k < r->nblocks; k++) {
			uint32_t at[3] = {(uint32_t)(k % r->l->grid[0]),
				(uint32_t)(k / r->l->grid[0] % r->l->grid[1]),
				(uint32_t)(k / r->l->grid[0] / r->l->grid[1])};
			uint64_t cluster;
			unsigned rank;
			ptx_cluster_of(r->l, at, &cluster, &rank);
			wk->index = k;
			gang_start(wk, g, k, k, cluster);
		}
		gang_run(wk, g, true);
	}
	gang_free(g);
}

/* --- a random schedule --- */
/* Blocks that are under way at a time, to begin with: it grows when none of them can end, since one
 * may wait for a later one. */
#define WINDOW 16u
#define WINDOW_TURNS 400u /* without an end, before it grows */
#define WINDOW_SKIP 8u	  /* a block begins before at most so many with a lower index */

struct mixed {
	struct ptx_block *
		*blocks; /* the first n are under way; the others' memory serves later ones */
	unsigned n, cap, window;
	uint64_t waiting[WINDOW_SKIP]; /* indices that may begin next */
	unsigned nwaiting;
	uint64_t next; /* index */
};

/* The index of the block to begin next. */
static uint64_t next_block(struct mixed *m, struct ptx_worker *wk)
{
	uint64_t index;
	unsigned k;

	while (m->nwaiting < WINDOW_SKIP && m->next < wk->run->nblocks)
		m->waiting[m->nwaiting++] = m->next++;
	k = ptx_schedule_pick(wk, m->nwaiting);
	index = m->waiting[k];
	m->waiting[k] = m->waiting[--m->nwaiting];
	return index;
}

static void begin_blocks(struct mixed *m, struct ptx_worker *wk)
{
	while (m->n < m->window && (m->nwaiting || m->next < wk->run->nblocks)) {
		size_t cap = m->cap;

		m->blocks = ptx_more(wk, m->blocks, &cap, m->n + 1, sizeof(struct ptx_block *));
		for (; m->cap < cap; m->cap++)
			m->blocks[m->cap] = NULL;
		if (!m->blocks[m->n])
			m->blocks[m->n] = calloc(1, sizeof(struct ptx_block));
		if (!m->blocks[m->n])
			ptx_out_of_memory(wk);
		wk->index = next_block(m, wk);
		ptx_block_start(wk, m->blocks[m->n++], wk->index);
	}
}

static void swap_blocks(struct mixed *m, unsigned k, unsigned j)
{
	struct ptx_block *b = m->blocks[k];

	m->blocks[k] = m->blocks[j];
	m->blocks[j] = b;
}

/* All in turns of random length; faults leave by longjmp. */
static void run_mixed(struct ptx_worker *wk, struct mixed *m)
{
	uint64_t since = 0;

	m->window = wk->l->cooperative ? UINT32_MAX : WINDOW;
	for (uint64_t turn = 1;; turn++) {
		struct ptx_block *b;
		unsigned k;

		begin_blocks(m, wk);
		if (!m->n)
			return;
		k = ptx_schedule_pick(wk, m->n);
		b = m->blocks[k];
		wk->index = b->index;
		if (turn % 4096 == 0)
			ptx_check(wk, b);
		wk->turn = ptx_schedule_turn(wk);
		if (ptx_block_turn(wk, b, ptx_schedule_pick(wk, b->nwarps))) {
			swap_blocks(m, k, --m->n);
			since = 0;
		} else if (++since > WINDOW_TURNS && m->window < UINT32_MAX) {
			m->window++;
			since = 0;
		}
		keep_output(wk);
	}
}

static void run_random(struct ptx_worker *wk, struct ptx_run *r)
{
	struct mixed *m = calloc(1, sizeof(*m));

	bind_worker(wk, r);
	if (!m) {
		wk->fault = (struct ptx_fault){.code = PTX_STACK_OVERFLOW,
			.kernel = r->l->fn->name,
			.text = "tsdb softgpu: the host has no memory"};
		record_fault(wk);
		return;
	}
	if (setjmp(wk->out)) {
		record_fault(wk);
		keep_output(wk);
	} else {
		run_mixed(wk, m);
	}
	for (unsigned k = 0; k < m->cap; k++)
		if (m->blocks[k])
			ptx_block_free(m->blocks[k]);
	for (unsigned k = 0; k < m->cap; k++)
		free(m->blocks[k]);
	free(m->blocks);
	free(m);
}

/* --- helpers --- */
static void *helper(void *arg)
{
	pthread_setname_np(pthread_self(), "tsdb-soft");
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		struct ptx_run *r = pool.queue;
		while (r && !r->wanted)
			r = r->queue;
		if (!r) {
			uint64_t seen = atomic_load(&pool.offers),
				 until = now_ns(CLOCK_MONOTONIC) + SPIN_NS;
			pthread_mutex_unlock(&pool.lock);
			while (atomic_load_explicit(&pool.offers, memory_order_relaxed) == seen &&
				now_ns(CLOCK_MONOTONIC) < until)
				for (unsigned k = 0; k < 16; k++)
					__builtin_ia32_pause();
			pthread_mutex_lock(&pool.lock);
			if (atomic_load(&pool.offers) == seen)
				pthread_cond_wait(&pool.work, &pool.lock);
			continue;
		}
		r->wanted--;
		r->active++;
		pthread_mutex_unlock(&pool.lock);
		struct ptx_worker *wk = worker_get();
		if (wk) {
			run_units(wk, r);
			worker_put(wk);
		}
		pthread_mutex_lock(&pool.lock);
		r->active--;
		pthread_cond_broadcast(&pool.done);
	}
	return NULL;
}

/* Under pool.lock. */
static void start_helpers(unsigned n)
{
	sigset_t all, old;
	pthread_t t;

	if (pool.threads >= n)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool.threads < n && !pthread_create(&t, NULL, helper, NULL)) {
		pthread_detach(t);
		pool.threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void offer(struct ptx_run *r, unsigned helpers)
{
	pthread_mutex_lock(&pool.lock);
	start_helpers(pool.workers - 1);
	r->wanted = helpers;
	r->queue = pool.queue;
	pool.queue = r;
	atomic_fetch_add(&pool.offers, 1);
	if (helpers == 1)
		pthread_cond_signal(&pool.work);
	else
		pthread_cond_broadcast(&pool.work);
	pthread_mutex_unlock(&pool.lock);
}

static void withdraw(struct ptx_run *r)
{
	struct ptx_run **q;

	pthread_mutex_lock(&pool.lock);
	for (q = &pool.queue; *q != r; q = &(*q)->queue)
		;
	*q = r->queue;
	while (r->active)
		pthread_cond_wait(&pool.done, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}

/* --- launches --- */
static int by_index(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/* Blocks take turns: what they print is in the order in which they did. */
static bool is_mixed(const struct ptx_launch *l)
{
	return l->cooperative || l->schedule.random;
}

static void print_output(struct ptx_run *r)
{
	uint64_t limit = atomic_load(&r->limit);
	bool sorted = true;

	for (size_t k = 1; k < r->nchunks; k++)
		sorted &= r->chunks[k - 1].index <= r->chunks[k].index;
	if (!sorted && !is_mixed(r->l))
		qsort(r->chunks, r->nchunks, sizeof(*r->chunks), by_index);
	for (size_t k = 0; k < r->nchunks; k++) {
		/* blocks after the one that faulted may or may not have run: silent */
		if ((r->chunks[k].index <= limit || is_mixed(r->l)) &&
			!(r->l->observer && r->fault.code == PTX_CANCELLED))
			fwrite(r->chunks[k].text, 1, r->chunks[k].n, stdout);
		free(r->chunks[k].text);
	}
	free(r->chunks);
}

/* TSDB_SOFT_SLICES: what a launch may use, whatever time that takes. False: it has more blocks than
 * could be meant. */
static bool limit_slices(struct ptx_run *r, struct ptx_launch *limited)
{
	if (!pool.slices || r->l->max_slices)
		return true;
	*limited = *r->l;
	limited->max_slices = pool.slices;
	r->l = limited;
	return r->nblocks <= BLOCKS_OF_SLICE * pool.slices;
}

/* fma needs glibc's exact one, and both tables round to nearest: a caller's rounding mode does not
 * matter to them. */
enum ptx_fault_code ptx_run(const struct ptx_launch *l, struct ptx_fault *fault)
{
	struct ptx_run r = {.l = l, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct ptx_launch limited;
	unsigned threads = l->block[0] * l->block[1] * l->block[2], helpers = 0;
	struct ptx_worker *wk;

	pthread_once(&pool.once, pool_init);
	r.nblocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	r.launch_id = atomic_fetch_add(&pool.launches, 1) + 1;
	r.start_ns = now_ns(CLOCK_REALTIME);
	atomic_init(&r.next, 0);
	atomic_init(&r.limit, r.nblocks);
	memset(fault, 0, sizeof(*fault));
	if (!limit_slices(&r, &limited)) {
		fault->code = PTX_TIMEOUT;
		fault->kernel = l->fn->name;
		snprintf(fault->text, sizeof(fault->text),
			"tsdb softgpu: kernel %.100s has more blocks than TSDB_SOFT_SLICES allows",
			l->fn->name);
		return fault->code;
	}
	l = r.l;
	wk = worker_get();
	if (!wk) {
		fault->code = PTX_STACK_OVERFLOW;
		snprintf(fault->text, sizeof(fault->text), "tsdb softgpu: the host has no memory");
		return fault->code;
	}
	r.look = (struct ptx_look_run){.l = l,
		.nblocks = r.nblocks,
		.begun = &r.next,
		.unit = ptx_cluster_size(l),
		.all = is_mixed(l)};
	ptx_look_run_begin(&r.look);
	if (l->schedule.random && ptx_cluster_size(l) == 1) {
		run_random(wk, &r);
	} else if (l->cooperative) {
		run_cooperative(wk, &r);
	} else {
		uint64_t units = r.nblocks / ptx_cluster_size(l);
		if (!l->fn->ordered && !l->observer && !l->schedule.random && units >= 4 &&
			r.nblocks * threads >= 512 && pool.workers > 1) {
			helpers = pool.workers - 1 < units - 1 ? pool.workers - 1
							       : (unsigned)units - 1;
			offer(&r, helpers);
		}
		run_units(wk, &r);
		if (helpers)
			withdraw(&r);
	}
	ptx_look_run_end(&r.look);
	worker_put(wk);
	if (r.nchunks)
		print_output(&r);
	if (r.fault.code)
		*fault = r.fault;
	memcpy(fault->undefined, r.undefined, sizeof(fault->undefined));
	pthread_mutex_destroy(&r.lock);
	return r.fault.code;
}
