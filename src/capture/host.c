/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory; see host.h. One thread compares at a time, in the order of the commands' numbers: what a later command's comparison has found is not found
 * again by an earlier one's, which would then be executed again without it. What the device itself wrote there shows as a change too, and is sent like one.
 * Kernels write managed memory all the time: where there is some, all work is waited for first, so that no half of a kernel's is seen.
 */
#include "capture/host.h"

#include <string.h>
#include <time.h>
#include "capture/bulk.h"
#include "capture/calls.h"
#include "capture/device.h"
#include "capture/driver.h"
#include "capture/extent.h"
#include "capture/live.h"
#include "capture/span.h"
#include "capture/thread.h"
#include "checked.h"

#define PATIENCE 10 /* tenths of a second */
#define TURN_NS 20000

static struct spin comparing; /* of what struct live says of watching */
static _Atomic uint32_t turn; /* a command has its number, or is about to, and has not been compared for yet */

static uint64_t fold(struct sbt_hash h)
{
	return h.half[0] ^ h.half[1] * 0x9e3779b97f4a7c15u;
}

static uint64_t pages_of(const struct live *l)
{
	return (l->size + SBT_PAGE - 1) / SBT_PAGE;
}

static size_t page_bytes(const struct live *l, uint64_t page)
{
	const uint64_t left = l->size - page * SBT_PAGE;
	return left < SBT_PAGE ? left : SBT_PAGE;
}

/* The page as it is now, in a copy, so that what is hashed is what is sent. */
static bool read_page(const struct live *l, uint64_t page, uint8_t *copy, uint64_t *ret)
{
	const size_t n = page_bytes(l, page);
	if (!host_read(l->addr + page * SBT_PAGE, copy, n))
		return false;
	*ret = fold(sbt_page_hash(copy, n));
	return true;
}

static bool have_hashes(struct live *l)
{
	if (!l->seen)
		l->seen = pages_of(l) > 1 ? agent_map(pages_of(l) * sizeof(*l->seen)) : &l->only;
	return l->seen;
}

static void begin(struct live *l, const uint8_t *copy, uint8_t *page)
{
	if (!have_hashes(l) || (!copy && !page)) {
		span_note("there was no memory for watching memory of the host");
		return;
	}
	l->watched = true;
	for (uint64_t i = 0; i < pages_of(l); i++) {
		if (copy)
			l->seen[i] = fold(sbt_page_hash(copy + i * SBT_PAGE, page_bytes(l, i)));
		else if (!read_page(l, i, page, &l->seen[i]))
			l->seen[i] = 0;
	}
}

void host_begin(struct live *l, const uint8_t *copy)
{
	struct thread *t = tls.thread;
	uint8_t *page = copy ? NULL : t ? thread_page(t) : NULL;
	spin_lock(&comparing);
	begin(l, copy, page);
	spin_unlock(&comparing);
}

void host_end(struct live *l)
{
	l->watched = false;
}

struct compare {
	struct call *c;
	uint8_t *copy;
	uint64_t addr, end; /* memory that the command may read */
};

static bool compare(void *arg, struct live *l)
{
	const struct compare *a = arg;
	uint64_t hash;
	if (!live_is_host(l) || l->addr >= a->end || l->addr + l->size <= a->addr)
		return false;
	/* Allocated in the span: everything in it is news. */
	if (!l->watched) {
		if (!have_hashes(l)) {
			span_note("there was no memory for watching memory of the host");
			return false;
		}
		memset(l->seen, 0, pages_of(l) * sizeof(*l->seen));
		l->watched = true;
	}
	for (uint64_t i = a->addr > l->addr ? (a->addr - l->addr) / SBT_PAGE : 0; i < pages_of(l) && l->addr + i * SBT_PAGE < a->end; i++) {
		const bool good = read_page(l, i, a->copy, &hash);
		if (live_is_over(l))
			return false; /* what was read may be anything */
		if (!good) {
			span_note("memory of the host that kernels can read could not be read");
			break;
		}
		if (hash == l->seen[i])
			continue;
		l->seen[i] = hash;
		struct piece p = { .seq = a->c->cmd.seq, .addr = l->addr + i * SBT_PAGE, .size = page_bytes(l, i), .role = BULK_HOST,
			.owner = BULK_ALLOCATION, .module = SBT_NO_ID };
		if (!bulk_bytes(&p, a->copy, p.size))
			return true;
	}
	return false;
}

/* Which memory the command may read; false: none. A copy from such memory has its payload (payload.c), but when the call does not wait for it the
 * host may write there too early: what it wrote before the call has to be told from what it writes after. Copies on the device may reach any by its
 * device address. */
static bool may_read(struct compare *a)
{
	const struct sbt_cmd *k = &a->c->cmd;
	a->addr = 0;
	a->end = UINT64_MAX;
	struct sbt_footprint f;
	sbt_footprint(&f, k);
	if (f.does & SBT_READS && k->u.copy.dir == SBT_COPY_H2D) {
		if (!f.n || !k->u.copy.async || k->u.copy.pageable)
			return false;
		a->addr = f.touch[0].rows.addr;
		a->end = sat_add(a->addr, sbt_rows_size(&f.touch[0].rows));
		return true;
	}
	return f.does & (SBT_READS | SBT_RUNS_KERNEL | SBT_RUNS_GRAPH);
}

static void wait_for_kernels(void)
{
	static struct device_set set; /* the comparing thread's */
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (!live_managed() || atomic_load(&calls_captures))
		return;
	if (driver.cuThreadExchangeStreamCaptureMode)
		(void)OWN(driver.cuThreadExchangeStreamCaptureMode(&mode));
	if (!device_collect(&set) || device_idle(&set, PATIENCE))
		span_note("work on the device did not end, so managed memory was recorded while it may have been written");
	if (driver.cuThreadExchangeStreamCaptureMode)
		(void)OWN(driver.cuThreadExchangeStreamCaptureMode(&mode));
}

bool host_turn(struct call *c)
{
	struct compare a = { .c = c };
	if (c->turn || !live_host() || !may_read(&a))
		return true;
	c->turn = !atomic_exchange(&turn, 1);
	return c->turn;
}

void host_await_turn(void)
{
	for (unsigned tries = 0; atomic_load(&turn) && agent_live(); tries++) {
		if (tries < 100)
			__builtin_ia32_pause();
		else
			nanosleep(&(struct timespec){ .tv_nsec = TURN_NS }, NULL);
	}
}

void host_turn_over(struct call *c)
{
	if (c->turn)
		atomic_store(&turn, 0);
	c->turn = false;
}

void host_enter(struct call *c)
{
	struct compare a = { .c = c };
	if (!live_host() || !may_read(&a) || !(a.copy = thread_page(c->t)))
		return;
	spin_lock(&comparing);
	wait_for_kernels();
	live_each(compare, &a);
	spin_unlock(&comparing);
}
