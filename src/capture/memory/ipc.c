/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared memory; see ipc.h. Changes made meanwhile by the program's own commands are recorded, too:
 * a replay then has those bytes twice, which is right if the commands are deterministic, and
 * harmless otherwise.
 */
#include "capture/memory/ipc.h"

#include <string.h>
#include "capture/pipeline/bulk.h"
#include "capture/core/calls.h"
#include "capture/memory/contexts.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"

#define RANGES_MAX 64u

_Atomic uint32_t ipc_ranges;
static _Atomic uint32_t waits, looked; /* counts; equal: no wait since the last look */

static struct {
	struct spin lock;
	struct device_set set;
	struct range {
		uint64_t addr, size; /* addr 0: free */
		uint32_t ctx, opens;
		bool known; /* pages are those of the last look */
		struct sbt_hash *pages;
	} range[RANGES_MAX];
} ipc;

static uint64_t pages_of(const struct range *r)
{
	return (r->size + SBT_PAGE - 1) / SBT_PAGE;
}

static struct range *find(uint64_t addr)
{
	for (unsigned i = 0; i < RANGES_MAX; i++)
		if (ipc.range[i].addr == addr)
			return &ipc.range[i];
	return NULL;
}

bool ipc_share(uint64_t addr, uint64_t size, uint32_t ctx, bool opened)
{
	spin_lock(&ipc.lock);
	struct range *r = addr ? find(addr) : NULL;
	const bool known = r;
	if (r) {
		r->opens += opened;
	} else if (addr && size && (r = find(0))) {
		*r = (struct range){.addr = addr, .size = size, .ctx = ctx, .opens = opened};
		r->pages = agent_map(pages_of(r) * sizeof(*r->pages));
		atomic_fetch_add(&ipc_ranges, 1);
	} else if (addr) {
		window_note(
			"memory is shared with other processes that could not be watched: what they write to it is not recorded");
	}
	spin_unlock(&ipc.lock);
	return !known;
}

static void drop(struct range *r)
{
	if (r->pages)
		agent_unmap(r->pages, pages_of(r) * sizeof(*r->pages));
	*r = (struct range){0};
	atomic_fetch_sub(&ipc_ranges, 1);
}

bool ipc_close(uint64_t addr)
{
	spin_lock(&ipc.lock);
	struct range *r = addr ? find(addr) : NULL;
	const bool last = !r || r->opens <= 1;
	if (r && last)
		drop(r);
	else if (r)
		r->opens--;
	spin_unlock(&ipc.lock);
	return last;
}

void ipc_gone(uint64_t addr)
{
	spin_lock(&ipc.lock);
	struct range *r = addr ? find(addr) : NULL;
	if (r)
		drop(r);
	spin_unlock(&ipc.lock);
}

void ipc_waited(void)
{
	atomic_fetch_add(&waits, 1);
}

void ipc_window(void)
{
	spin_lock(&ipc.lock);
	for (unsigned i = 0; i < RANGES_MAX; i++)
		ipc.range[i].known = false;
	spin_unlock(&ipc.lock);
	ipc_waited();
}

/* --- looking --- */

static void send_run(
	struct device_ctx *d, const struct range *r, uint64_t seq, uint64_t from, uint64_t to)
{
	const uint64_t begin = from * SBT_PAGE,
		       end = to * SBT_PAGE < r->size ? to * SBT_PAGE : r->size;
	struct piece p = {.seq = seq,
		.addr = r->addr + begin,
		.size = end - begin,
		.role = BULK_HOST,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};
	for (uint64_t at = begin; at < end; at += DEVICE_STAGING) {
		const size_t n = end - at < DEVICE_STAGING ? end - at : DEVICE_STAGING;
		if (!device_read(d, r->addr + at, ipc.set.staging, n)) {
			window_note("memory that is shared with other processes could not be read");
			return;
		}
		if (!bulk_bytes(&p, ipc.set.staging, n))
			return;
	}
}

static bool hash_pages(struct device_ctx *d, const struct range *r, struct sbt_hash *ret)
{
	if (device_hash_pages(d, (struct hash_kernel_range){r->addr, r->size}, ret))
		return true;
	for (uint64_t at = 0; at < r->size; at += DEVICE_STAGING) {
		const size_t n = r->size - at < DEVICE_STAGING ? r->size - at : DEVICE_STAGING;
		if (!device_read(d, r->addr + at, ipc.set.staging, n))
			return false;
		for (size_t i = 0; i < n; i += SBT_PAGE)
			ret[(at + i) / SBT_PAGE] = sbt_page_hash(
				ipc.set.staging + i, n - i < SBT_PAGE ? n - i : SBT_PAGE);
	}
	return true;
}

static void look_at(struct device_ctx *d, struct range *r, uint64_t seq)
{
	const uint64_t n = pages_of(r);
	struct sbt_hash *now = agent_map(n * sizeof(*now));
	if (!now || !r->pages || !hash_pages(d, r, now)) {
		window_note("memory that is shared with other processes could not be read");
		if (now)
			agent_unmap(now, n * sizeof(*now));
		return;
	}
	for (uint64_t i = 0, to; i < n; i = to) {
		to = i + 1;
		if (r->known && sbt_hash_equal(r->pages[i], now[i]))
			continue;
		while (to < n && !(r->known && sbt_hash_equal(r->pages[to], now[to])))
			to++;
		send_run(d, r, seq, i, to);
	}
	memcpy(r->pages, now, n * sizeof(*now));
	r->known = true;
	agent_unmap(now, n * sizeof(*now));
}

static void look(struct call *c)
{
	if (!device_collect(&ipc.set))
		return;
	device_load(&ipc.set);
	for (unsigned i = 0; i < RANGES_MAX; i++) {
		struct range *r = &ipc.range[i];
		struct device_ctx *d = r->addr ? device_find(&ipc.set, r->ctx) : NULL;
		if (!d || !device_enter(d))
			continue;
		look_at(d, r, c->cmd.seq);
		device_leave();
	}
}

void ipc_before(struct call *c)
{
	const uint32_t now = atomic_load(&waits);
	if (!atomic_load(&window_open) || now == atomic_load(&looked) ||
		c->cmd.flags & SBT_F_GRAPH || atomic_load(&calls_captures))
		return;
	if (c->cmd.kind != SBT_LAUNCH && c->cmd.kind != SBT_COPY && c->cmd.kind != SBT_GRAPH_LAUNCH)
		return;
	spin_lock(&ipc.lock);
	if (now != atomic_load(&looked))
		look(c);
	atomic_store(&looked, now);
	spin_unlock(&ipc.lock);
}
