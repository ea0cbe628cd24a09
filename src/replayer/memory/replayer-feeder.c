/* SPDX-License-Identifier: Apache-2.0
 *
 * What large copies to the device read, ahead of execution: several threads read and decompress the
 * recorded payloads in the order of the commands into a ring of pinned slots, so that a window with
 * many uploads is not as slow as one thread decompresses. The ring begins anew wherever execution
 * goes on somewhere else. The surprise: only the main thread calls the driver and decides what is
 * read next; the others fill slots.
 */
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-window.h"
#include "base/first-where.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOT_BYTES (2u << 20) /* a multiple of SBT_PAGE */
#define SLOTS_MAX 32u
#define THREADS_MAX 8u
#define LEAST_PIECE SBT_PAGE /* bytes: smaller ones are as well read when they are needed */
/* bytes of all such pieces in the window: fewer are not worth threads */
#define LEAST_ALL (8ull << 20)

enum slot_state {
	SLOT_FREE,
	SLOT_ASKED, /* some thread will fill it */
	SLOT_BEING_FILLED,
	SLOT_FILLED, /* or it could not be read: error */
	SLOT_SENT,   /* the device copies from it, until event */
};
/* A piece and where it is copied to, as it was while recording. */
struct fed {
	const struct sbt_memory *piece;
	uint64_t addr;
};
struct slot {
	enum slot_state state; /* changes under lock; with FREE, FILLED and SENT the rest is the
				  main thread's */
	const struct fed *fed;
	uint64_t offset;
	size_t n;
	uint8_t *mem;
	struct gpu_event *event; /* NULL: nothing was sent from it so far */
	unsigned dev;		 /* of the event */
	struct err *error;
};

struct feeder {
	const struct rp *rp;
	pthread_mutex_t lock;
	pthread_cond_t asked, filled;
	struct slot slots[SLOTS_MAX]; /* part i lies in slot i % nslots */
	unsigned nslots;
	bool hurry;	     /* for tests: a part is waited for as soon as it was sent */
	uint64_t next, end;  /* parts: the one that is sent next, the one that is asked for next */
	uint64_t next_asked; /* under lock: the one that a thread takes next */
	size_t piece;	     /* where asking goes on: of pieces, and from offset on */
	uint64_t offset;
	struct fed *pieces;
	size_t npieces, cap;
	uint64_t bytes;
	struct sbt_reader *readers[THREADS_MAX];
	unsigned nthreads, started;
};

void feeder_add(struct rp *rp, const struct sbt_memory *m, uint64_t addr)
{
	struct feeder *f = rp->feeder;

	if (!m->has_bytes || m->size < LEAST_PIECE)
		return;
	if (!f) {
		f = rp->feeder = xcalloc(1, sizeof *f);
		f->rp = rp;
		pthread_mutex_init(&f->lock, NULL);
		pthread_cond_init(&f->asked, NULL);
		pthread_cond_init(&f->filled, NULL);
	}
	MAKE_ROOM(f->pieces, f->npieces, f->cap);
	f->pieces[f->npieces++] = (struct fed){m, addr};
	f->bytes += m->size;
}

/* --- threads --- */

static void *fill(void *arg)
{
	struct feeder *f = arg;

	pthread_mutex_lock(&f->lock);
	struct sbt_reader *reader = f->readers[f->started++];
	for (;;) {
		struct slot *s = &f->slots[f->next_asked % f->nslots];

		if (s->state != SLOT_ASKED) {
			pthread_cond_wait(&f->asked, &f->lock);
			continue;
		}
		f->next_asked++;
		s->state = SLOT_BEING_FILLED;
		pthread_mutex_unlock(&f->lock);
		struct err *e =
			sbt_reader_memory_read(reader, s->fed->piece, s->offset, s->mem, s->n);
		if (!e)
			moved_to_here(f->rp, s->fed->addr + s->offset, s->mem, s->n);
		pthread_mutex_lock(&f->lock);
		s->error = e;
		s->state = SLOT_FILLED;
		pthread_cond_broadcast(&f->filled);
	}
	return NULL;
}

/* TSDB_REPLAYER_SLOTS (for tests): the number of slots; each copy from a slot is then waited for at
 * once, as if the device were very fast. */
static struct err *open_slots(struct rp *rp, struct feeder *f)
{
	const char *few = getenv("TSDB_REPLAYER_SLOTS");
	const unsigned long n = few ? strtoul(few, NULL, 10) : 0;

	f->hurry = few;
	f->nslots = n && n < SLOTS_MAX ? (unsigned)n : SLOTS_MAX;
	for (unsigned i = 0; i < f->nslots; i++) {
		void *mem;

		GPU(rp, host_alloc, &mem, SLOT_BYTES);
		f->slots[i].mem = mem;
	}
	return NULL;
}

static void ask(struct rp *rp);

struct err *feeder_open(struct rp *rp)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct feeder *f = rp->feeder;
	pthread_t thread;

	if (!f || f->bytes < LEAST_ALL || cpus < 2)
		return NULL;
	TRY(open_slots(rp, f));
	for (unsigned n = cpus - 1 < THREADS_MAX ? (unsigned)cpus - 1 : THREADS_MAX;
		f->nthreads < n; f->nthreads++) {
		TRY(window_reader(rp, &f->readers[f->nthreads]));
		if (pthread_create(&thread, NULL, fill, f))
			/* fewer threads are enough; without any, everything is read when it is
			 * needed */
			break;
		pthread_detach(thread);
	}
	ask(rp);
	return NULL;
}

/* --- the main thread --- */

/* Asks for as many parts as there are free slots. */
static void ask(struct rp *rp)
{
	struct feeder *f = rp->feeder;
	bool any = false;

	for (; f->piece < f->npieces; any = true) {
		const struct sbt_memory *m = f->pieces[f->piece].piece;
		struct slot *s = &f->slots[f->end % f->nslots];

		if (f->end - f->next >= f->nslots ||
			(s->state == SLOT_SENT && rp->gpu->event_query(s->event).status != GPU_OK))
			break;
		s->fed = &f->pieces[f->piece];
		s->offset = f->offset;
		s->n = m->size - f->offset < SLOT_BYTES ? (size_t)(m->size - f->offset)
							: SLOT_BYTES;
		f->offset += s->n;
		if (f->offset == m->size) {
			f->piece++;
			f->offset = 0;
		}
		pthread_mutex_lock(&f->lock);
		s->state = SLOT_ASKED;
		pthread_mutex_unlock(&f->lock);
		f->end++;
	}
	if (any) {
		pthread_mutex_lock(&f->lock);
		pthread_cond_broadcast(&f->asked);
		pthread_mutex_unlock(&f->lock);
	}
}

static size_t index_of(const struct feeder *f, const struct sbt_memory *m)
{
	const size_t at = FIRST_WHERE(
		f->npieces, i, f->pieces[i].piece >= m); /* they lie in one array, in this order */

	return at < f->npieces && f->pieces[at].piece == m ? at : SIZE_MAX;
}

bool feeder_has(const struct rp *rp, const struct sbt_memory *m)
{
	return rp->feeder && rp->feeder->nthreads && index_of(rp->feeder, m) != SIZE_MAX;
}

/* Starts again from piece m; what was read for other pieces is dropped. */
static void begin_at(struct rp *rp, const struct sbt_memory *m)
{
	struct feeder *f = rp->feeder;

	pthread_mutex_lock(&f->lock);
	f->next_asked = f->end;
	/* at once: the threads take no more of these parts */
	for (uint64_t i = f->next; i < f->end; i++)
		if (f->slots[i % f->nslots].state == SLOT_ASKED)
			f->slots[i % f->nslots].state = SLOT_FREE;
	for (uint64_t i = f->next; i < f->end; i++) {
		struct slot *s = &f->slots[i % f->nslots];

		while (s->state == SLOT_BEING_FILLED)
			pthread_cond_wait(&f->filled, &f->lock);
		err_free(s->error);
		s->error = NULL;
		s->state = SLOT_FREE;
	}
	pthread_mutex_unlock(&f->lock);
	f->next = f->end;
	f->piece = index_of(f, m);
	f->offset = 0;
	ask(rp);
}

/* Waits for the next part to be filled. */
static struct err *next_part(struct rp *rp, struct slot **ret)
{
	struct feeder *f = rp->feeder;
	struct slot *s = &f->slots[f->next % f->nslots];

	if (f->next == f->end) { /* the device still copies from its slot */
		GPU(rp, event_finish, s->event);
		ask(rp);
	}
	pthread_mutex_lock(&f->lock);
	while (s->state != SLOT_FILLED)
		pthread_cond_wait(&f->filled, &f->lock);
	pthread_mutex_unlock(&f->lock);
	*ret = s;
	struct err *e = s->error;
	s->error = NULL;
	if (e)
		begin_at(rp, s->fed->piece); /* the next caller gets the error again */
	return e;
}

/* Sends the next part. Its slot then belongs to the device: ask() may use it for another part as
 * soon as the copy is done. */
static struct err *send_part(struct rp *rp, struct slot *s, uint64_t to, struct gpu_stream *stream)
{
	struct feeder *f = rp->feeder;

	GPU(rp, copy, to, (uint64_t)(uintptr_t)s->mem, s->n, stream);
	TRY(devices_event(rp, &s->event, &s->dev));
	GPU(rp, event_record, s->event, stream);
	if (f->hurry)
		GPU(rp, event_finish, s->event);
	pthread_mutex_lock(&f->lock);
	s->state = SLOT_SENT;
	pthread_mutex_unlock(&f->lock);
	f->next++;
	ask(rp);
	return NULL;
}

struct err *feeder_upload(
	struct rp *rp, const struct sbt_memory *m, uint64_t to, struct gpu_stream *stream)
{
	struct feeder *f = rp->feeder;
	const struct slot *first = &f->slots[f->next % f->nslots];
	struct slot *s;

	if (f->next == f->end
			? f->piece >= f->npieces || f->pieces[f->piece].piece != m || f->offset
			: first->fed->piece != m || first->offset)
		begin_at(rp, m);
	for (uint64_t at = 0, n; at < m->size; at += n) {
		TRY(next_part(rp, &s));
		BUG_ON(s->fed->piece != m || s->offset != at);
		n = s->n;
		TRY(send_part(rp, s, to + at, stream));
	}
	return NULL;
}
