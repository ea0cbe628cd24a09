/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of pinned slots between the trace and the device. Payloads go up through it while earlier
 * ones are still being copied; what copies to the host deliver comes down into it and is hashed
 * when it is there, a slot at a time, so that nothing waits for it. A slot is taken again only
 * after its copy is done.
 */
#include "replayer/execute/replayer-fail.h"
#include "base/first-where.h"

#include <stdlib.h>
#include <string.h>

#define NO_OUTPUT UINT32_MAX
#define LOOK_AHEAD 4096 /* pieces */

struct err *staging_open(struct rp *rp)
{
	for (unsigned i = 0; i < STAGING_SLOTS; i++) {
		struct staging_slot *s = &rp->contents.slots[i];
		void *mem;

		GPU(rp, host_alloc, &mem, STAGING_BYTES);
		s->mem = mem;
		s->output = NO_OUTPUT;
		GPU(rp, event_create, &s->event, false);
	}
	return NULL;
}

/* --- answers about outputs --- */

/* The agent looks at the data of an asynchronous copy when the program has waited. If another copy
 * went to the same place before that, the recorded bytes are that copy's, and nothing is known
 * about this one. */
static bool was_overwritten(const struct rp *rp, const struct sbt_memory *m)
{
	const struct sbt_memory *end = rp->contents.flow + rp->contents.nflow;

	for (const struct sbt_memory *y = m + 1; y < end && y - m < LOOK_AHEAD; y++)
		if (y->role == SBT_MEMORY_OUTPUT && y->seq > m->seq && y->addr == m->addr &&
			y->size == m->size && sbt_hash_equal(y->hash, m->hash))
			return true;
	return false;
}

/* Executing the command again replaces its earlier answer. */
void staging_verdict(struct rp *rp, const struct sbt_memory *m, bool same)
{
	struct contents *x = &rp->contents;

	const struct verdict v = {m, same && !m->missing,
		m->missing || (!same && (m->doubt || was_overwritten(rp, m)))};
	const size_t at = FIRST_WHERE(x->nverdicts, i, x->verdicts[i].piece >= m);
	if (at < x->nverdicts && x->verdicts[at].piece == m) {
		x->verdicts[at] = v;
		return;
	}
	MAKE_ROOM(x->verdicts, x->nverdicts, x->cap_verdicts);
	memmove(&x->verdicts[at + 1], &x->verdicts[at], (x->nverdicts - at) * sizeof *x->verdicts);
	x->verdicts[at] = v;
	x->nverdicts++;
}

static void hash_slot(const struct staging_slot *s, struct sbt_hash *ret_pages)
{
	for (uint64_t p = 0; p < s->n; p += SBT_PAGE)
		ret_pages[p / SBT_PAGE] =
			sbt_page_hash(s->mem + p, s->n - p < SBT_PAGE ? s->n - p : SBT_PAGE);
}

static void add_pages(
	const struct staging_slot *s, const struct sbt_hash *pages, struct sbt_hash *sum)
{
	for (uint64_t p = 0; p < s->n; p += SBT_PAGE)
		sbt_range_hash_add(sum, (s->offset + p) / SBT_PAGE, pages[p / SBT_PAGE]);
}

static void arrived(struct rp *rp, struct staging_slot *s)
{
	struct output *o = &rp->contents.outputs[s->output];
	struct sbt_hash pages[STAGING_BYTES / SBT_PAGE];

	hash_slot(s, pages);
	add_pages(s, pages, &o->as_it_is);
	if (moved_to_there(rp, o->addr + s->offset, s->mem, s->n))
		hash_slot(s, pages);
	add_pages(s, pages, &o->sum);
	o->left -= s->n;
	s->output = NO_OUTPUT;
	if (o->left)
		return;
	sbt_range_hash_end(&o->sum, o->piece->size);
	sbt_range_hash_end(&o->as_it_is, o->piece->size);
	staging_verdict(rp, o->piece,
		sbt_hash_equal(o->sum, o->piece->hash) ||
			sbt_hash_equal(o->as_it_is, o->piece->hash));
}

/* --- slots --- */

static struct err *finish_slot(struct rp *rp, struct staging_slot *s)
{
	if (!s->busy)
		return NULL;
	GPU(rp, event_finish, s->event);
	s->busy = false;
	if (s->output != NO_OUTPUT)
		arrived(rp, s);
	return NULL;
}

static struct err *take_slot(struct rp *rp, struct staging_slot **ret)
{
	struct contents *x = &rp->contents;

	*ret = &x->slots[x->next_slot];
	x->next_slot = (x->next_slot + 1) % STAGING_SLOTS;
	return finish_slot(rp, *ret);
}

static struct err *send_slot(struct rp *rp, struct staging_slot *s, struct gpu_stream *stream)
{
	TRY(devices_event(rp, &s->event, &s->dev));
	GPU(rp, event_record, s->event, stream);
	s->busy = true;
	return NULL;
}

struct err *staging_collect(struct rp *rp, bool wait)
{
	struct contents *x = &rp->contents;

	for (unsigned i = 0; i < STAGING_SLOTS; i++) {
		struct staging_slot *s = &x->slots[(x->next_slot + i) % STAGING_SLOTS];

		if (!s->busy || (!wait && rp->gpu->event_query(s->event).status == GPU_NOT_READY))
			continue;
		TRY(finish_slot(rp, s));
	}
	bool all = true;
	for (unsigned i = 0; i < STAGING_SLOTS; i++)
		all &= x->slots[i].output == NO_OUTPUT;
	if (all)
		x->noutputs = 0;
	return NULL;
}

/* --- up and down --- */

struct err *staging_upload(struct rp *rp, const struct sbt_memory *m, uint64_t addr, uint64_t to,
	struct gpu_stream *stream)
{
	struct staging_slot *s;

	for (uint64_t at = 0; at < m->size; at += STAGING_BYTES) {
		const uint64_t n = m->size - at < STAGING_BYTES ? m->size - at : STAGING_BYTES;

		TRY(take_slot(rp, &s));
		TRY(sbt_reader_memory_read(rp->trace, m, at, s->mem, n));
		moved_to_here(rp, addr + at, s->mem, n);
		GPU(rp, copy, to + at, (uint64_t)(uintptr_t)s->mem, n, stream);
		TRY(send_slot(rp, s, stream));
	}
	return NULL;
}

struct err *staging_output(struct rp *rp, const struct sbt_memory *m, uint64_t addr, uint64_t from,
	uint64_t n, struct gpu_stream *stream)
{
	struct contents *x = &rp->contents;
	struct staging_slot *s;
	uint32_t output = NO_OUTPUT;

	if (!n)
		return NULL;
	if (m && m->size == n) {
		TRY(staging_collect(rp, false));
		MAKE_ROOM(x->outputs, x->noutputs, x->cap_outputs);
		output = (uint32_t)x->noutputs++;
		x->outputs[output] = (struct output){.piece = m, .addr = addr, .left = n};
	} else if (m && m->missing) {
		staging_verdict(rp, m, false);
	}
	for (uint64_t at = 0; at < n; at += STAGING_BYTES) {
		const uint64_t part = n - at < STAGING_BYTES ? n - at : STAGING_BYTES;

		TRY(take_slot(rp, &s));
		GPU(rp, copy, (uint64_t)(uintptr_t)s->mem, from + at, part, stream);
		TRY(send_slot(rp, s, stream));
		s->output = output;
		s->offset = at;
		s->n = part;
	}
	return NULL;
}
