/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: copies of all memory of the window, kept on the device. Going back is restoring the
 * nearest one before and executing from there. On the way to a place that was reached by going
 * back, more are taken at halving distances from it, so that the next step back is short; when
 * there is no room the one that is missed least goes (thin_choose()).
 */
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-late.h"
#include "replayer/execute/replayer-watchdog.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CHECKPOINTS 256u
#define SHARE 0.8		/* of the free device memory, at most */
#define HOST_SHARE 4		/* of the machine's memory: a quarter, for pinned memory */
#define SOFT_LIMIT (2ull << 30) /* the software GPU's memory is the machine's: for both */
#define LEAST_NS 40000000u	/* between two that are taken on the way */
/* one for every so many times its cost: the way takes at most 2 % more */
#define COST_FACTOR 50u
/* of executing: closer to where the user is than that no more are taken */
#define NEAR_NS 10000000u

/* --- the copy --- */

enum way { SAVE, RESTORE };

static struct err *device_part(
	struct rp *rp, uint64_t *at, uint64_t addr, uint64_t size, enum way way)
{
	GPU(rp, copy_on_device, way == SAVE ? *at : addr, way == SAVE ? addr : *at, size, rp->own);
	*at += (size + 255) & ~255ull;
	return NULL;
}

static struct err *copy_all(struct rp *rp, const struct checkpoint *c, enum way way)
{
	uint64_t at = c->mem;
	uint8_t *host = c->host;

	for (size_t i = 0; i < rp->place.device.n; i++)
		TRY(device_part(
			rp, &at, rp->place.device.r[i].addr, rp->place.device.r[i].size, way));
	for (size_t i = 0; i < rp->objects.nglobals; i++)
		if (rp->objects.globals[i].here)
			TRY(device_part(rp, &at, rp->objects.globals[i].here,
				rp->objects.globals[i].size, way));
	for (size_t i = 0; i < rp->place.host.n; i++) {
		const struct range r = rp->place.host.r[i];
		void *mem = (void *)(uintptr_t)r.addr;

		memcpy(way == SAVE ? host : mem, way == SAVE ? mem : host, r.size);
		host += r.size;
	}
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

static uint64_t device_bytes(const struct rp *rp)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rp->place.device.n; i++)
		n += (rp->place.device.r[i].size + 255) & ~255ull;
	for (size_t i = 0; i < rp->objects.nglobals; i++)
		n += rp->objects.globals[i].here ? (rp->objects.globals[i].size + 255) & ~255ull
						 : 0;
	return n;
}

/* --- keeping --- */

static uint64_t host_room(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / HOST_SHARE : SOFT_LIMIT;
}

static struct err *plan(struct rp *rp)
{
	struct checkpoints *k = &rp->checkpoints;
	const char *limit = getenv("TSDB_REPLAYER_CHECKPOINTS");
	size_t have = 0, total = 0;

	GPU(rp, mem_info, &have, &total);
	k->planned = true;
	k->bytes = device_bytes(rp);
	double room = SHARE * (double)have;
	if (rp->lib.soft && room > SOFT_LIMIT)
		room = SOFT_LIMIT;
	k->max = thin_fit(k->bytes, (uint64_t)room, ranges_bytes(&rp->place.host), host_room(),
		rp->lib.soft, MAX_CHECKPOINTS);
	if (limit && strtoul(limit, NULL, 10) < k->max)
		k->max = strtoul(limit, NULL, 10);
	return NULL;
}

static void drop(struct rp *rp, size_t i)
{
	struct checkpoints *k = &rp->checkpoints;

	if (k->c[i].mem)
		(void)rp->gpu->mem_free(k->c[i].mem);
	free(k->c[i].host);
	k->n--;
	memmove(&k->c[i], &k->c[i + 1], (k->n - i) * sizeof *k->c);
}

/* Index of the last one at or before seq; SIZE_MAX: none. */
static size_t before(const struct checkpoints *k, uint64_t seq)
{
	size_t i = k->n;

	while (i && k->c[i - 1].seq > seq)
		i--;
	return i - 1;
}

/* The checkpoint that is missed least; SIZE_MAX: all are needed. */
static size_t choose(const struct checkpoints *k, uint64_t seq)
{
	uint64_t at[MAX_CHECKPOINTS];
	size_t of[MAX_CHECKPOINTS], n = 0;

	for (size_t i = 0; i < k->n; i++)
		if (!k->c[i].changed) {
			of[n] = i;
			at[n++] = k->c[i].seq;
		}
	return n < 3 ? SIZE_MAX : of[thin_choose(at, n, seq)];
}

/* Gets memory for one more checkpoint: that of a dropped one, or new memory. *ret_ok false: there
 * is no room. */
static struct err *get_room(struct rp *rp, struct checkpoint *ret, bool *ret_ok)
{
	struct checkpoints *k = &rp->checkpoints;

	*ret_ok = false;
	if (k->n && k->n >= k->max) {
		const size_t victim = choose(k, rp->position);

		if (victim == SIZE_MAX)
			return NULL;
		*ret = k->c[victim];
		k->c[victim] = (struct checkpoint){0};
		drop(rp, victim);
		*ret_ok = true;
		return NULL;
	}
	if (!k->max)
		return NULL;
	*ret = (struct checkpoint){0};
	if (k->bytes) {
		const struct gpu_result r = rp->gpu->mem_alloc(&ret->mem, k->bytes);

		if (r.status == GPU_NO_MEMORY) { /* another program uses the device, too */
			k->max = k->n;
			return NULL;
		}
		TRY(rp_gpu(rp, r));
	}
	const uint64_t host = ranges_bytes(&rp->place.host);
	ret->host = host ? malloc(host) : NULL;
	if (host && !ret->host) {
		k->max = k->n;
		return ret->mem ? rp_gpu(rp, rp->gpu->mem_free(ret->mem)) : NULL;
	}
	*ret_ok = true;
	return NULL;
}

struct err *checkpoint_take(struct rp *rp)
{
	struct checkpoints *k = &rp->checkpoints;
	struct checkpoint c;
	bool ok;

	if (late_count(rp->late)) /* the position is more than memory: commands are kept back */
		return NULL;
	if (!k->planned)
		TRY(plan(rp));
	const size_t i = before(k, rp->position);
	if (i != SIZE_MAX && k->c[i].seq == rp->position)
		return NULL;
	TRY(execute_finish(rp));
	const uint64_t start = now_ns(), from = marks_clock(rp);
	TRY(get_room(rp, &c, &ok));
	const uint64_t begin = now_ns();
	rp->figures.room_ns += begin - start;
	if (!ok)
		return NULL;
	c.seq = rp->position;
	c.changed = false;
	TRY(copy_all(rp, &c, SAVE));
	MAKE_ROOM(k->c, k->n, k->cap);
	const size_t to = before(k, rp->position) + 1;
	memmove(&k->c[to + 1], &k->c[to], (k->n - to) * sizeof *k->c);
	k->c[to] = c;
	k->n++;
	k->last_ns = marks_clock(rp);
	k->cost_ns = k->last_ns - from;
	rp->figures.saved++;
	rp->figures.saved_bytes += k->bytes + ranges_bytes(&rp->place.host);
	rp->figures.save_ns += now_ns() - begin;
	return NULL;
}

struct err *checkpoint_tick(struct rp *rp)
{
	const struct checkpoints *k = &rp->checkpoints;
	const uint64_t gap =
		k->cost_ns * COST_FACTOR > LEAST_NS ? k->cost_ns * COST_FACTOR : LEAST_NS;

	if (!k->max || marks_clock(rp) - k->last_ns < gap)
		return NULL;
	return checkpoint_take(rp);
}

void checkpoint_forget(struct rp *rp, uint64_t from)
{
	struct checkpoints *k = &rp->checkpoints;

	while (k->n && k->c[k->n - 1].seq >= from) {
		rp->stale |= k->c[k->n - 1].changed && rp->position >= k->c[k->n - 1].seq;
		drop(rp, k->n - 1);
	}
}

struct err *checkpoint_renew(struct rp *rp)
{
	const bool stale = rp->stale, changed = checkpoint_changed(rp) == rp->position;
	bool kept;

	if (changed && rp->position) {
		TRY(checkpoint_change(rp, &kept));
		rp->stale |= stale || !kept;
		return NULL;
	}
	checkpoint_forget(rp, rp->position);
	return NULL;
}

struct err *checkpoint_change(struct rp *rp, bool *ret_kept)
{
	struct checkpoints *k = &rp->checkpoints;
	size_t i;

	checkpoint_forget(rp, rp->position);
	rp->stale = false;
	TRY(checkpoint_take(rp));
	i = before(k, rp->position);
	*ret_kept = i != SIZE_MAX && k->c[i].seq == rp->position;
	if (*ret_kept)
		k->c[i].changed = true;
	return NULL;
}

uint64_t checkpoint_changed(const struct rp *rp)
{
	const struct checkpoints *k = &rp->checkpoints;
	size_t i = k->n;

	while (i && !k->c[i - 1].changed)
		i--;
	return i ? k->c[i - 1].seq : 0;
}

/* Launches behind the goal in which something was set are as recorded again. */
static void undo_behind(struct rp *rp, uint64_t seq)
{
	const struct checkpoints *k = &rp->checkpoints;

	for (size_t i = 0; i < k->n; i++)
		if (k->c[i].changed && k->c[i].seq > seq) {
			checkpoint_forget(rp, k->c[i].seq);
			return;
		}
}

/* --- going --- */

static struct err *restore(struct rp *rp, size_t i)
{
	const uint64_t begin = now_ns();
	struct checkpoint *c = &rp->checkpoints.c[i];

	late_back(rp, c->seq);
	TRY(copy_all(rp, c, RESTORE));
	execute_at(rp, c->seq);
	rp->checkpoints.last_ns = marks_clock(rp);
	rp->figures.back++;
	rp->figures.back_bytes += rp->checkpoints.bytes + ranges_bytes(&rp->place.host);
	rp->figures.back_ns += now_ns() - begin;
	return NULL;
}

static struct err *from_trace(struct rp *rp)
{
	late_back(rp, 0);
	TRY(contents_restore(rp));
	execute_at(rp, rp->first - 1);
	rp->checkpoints.last_ns = marks_clock(rp);
	TRY(execute_writes(rp, 0, rp->position));
	return checkpoint_take(rp);
}

/* Whether executing what is left to the goal takes so little time that a nearer checkpoint is not
 * worth its cost. */
static bool is_near(const struct checkpoints *k, uint64_t left)
{
	const uint64_t near = k->cost_ns > NEAR_NS / 2 ? 2 * k->cost_ns : NEAR_NS;

	return left < 2 || (k->pace_ns && left < near / k->pace_ns);
}

/* Goes to seq and takes checkpoints at halving distances from it. */
static struct err *approach(struct rp *rp, uint64_t seq)
{
	struct checkpoints *k = &rp->checkpoints;

	while (rp->position < seq) {
		const uint64_t left = seq - rp->position, begin = marks_clock(rp);

		if (!k->max || is_near(k, left))
			return execute_to(rp, seq);
		TRY(execute_to(rp, rp->position + left / 2));
		TRY(execute_finish(rp));
		k->pace_ns = (marks_clock(rp) - begin) / (left / 2) + 1;
		TRY(checkpoint_take(rp));
	}
	return NULL;
}

struct err *checkpoint_seek(struct rp *rp, uint64_t seq)
{
	struct checkpoints *k = &rp->checkpoints;
	const bool began = rp->open;

	if (seq < rp->first)
		seq = rp->first - 1;
	if (seq > rp->last)
		return rp_fail(rp, REPLAYER_E_REFUSED, seq,
			"#%llu is behind the window's end, #%llu", (unsigned long long)seq,
			(unsigned long long)rp->last);
	TRY(execute_finish(rp));
	if (!k->planned)
		TRY(plan(rp));
	undo_behind(rp, seq);
	const size_t i = before(k, seq);
	const bool back = !began || rp->stale || seq < rp->position;
	if (back || (i != SIZE_MAX && k->c[i].seq > rp->position)) {
		TRY(heap_goes_back(rp, i == SIZE_MAX ? rp->first - 1 : k->c[i].seq));
		TRY(i == SIZE_MAX ? from_trace(rp) : restore(rp, i));
		rp->stale = false;
		TRY(code_attrs(rp, rp->position));
		TRY(limits_at(rp, rp->position));
	}
	TRY(back && began ? approach(rp, seq) : execute_to(rp, seq));
	return execute_finish(rp);
}
