/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at its first mention; see touched.h. No command of the span has named it before, so it holds what it held when the span
 * began, and nothing needs to be waited for. Addresses are looked for in the words of a launch's arguments; those that only memory holds are not found.
 */
#include "capture/touched.h"

#include <string.h>
#include "capture/bulk.h"
#include "capture/calls.h"
#include "capture/extent.h"
#include "capture/host.h"
#include "capture/live.h"
#include "capture/span.h"
#include "capture/thread.h"

_Atomic uint32_t touched_left; /* allocations not yet named */
static struct spin recording;

static bool mark(void *arg, struct live *l)
{
	atomic_store(&l->untouched, 1);
	atomic_fetch_add(&touched_left, 1);
	return false;
}

void touched_begin(void)
{
	atomic_store(&touched_left, 0);
	live_each(mark, NULL);
}

void touched_end(void)
{
	atomic_store(&touched_left, 0);
}

static void send(struct device_set *s, struct live *l)
{
	struct piece p = { .seq = span_first(), .addr = l->addr, .size = l->size, .role = BULK_START, .owner = BULK_ALLOCATION,
		.module = SBT_NO_ID };
	if (live_is_host(l)) {
		struct extent e = extent_plain(l->addr, l->size);
		if (!bulk_fill(&p, p.size, extent_read, &e))
			span_note("memory of the host that kernels can read could not be read");
		host_begin(l, NULL);
		return;
	}
	struct device_ctx *d = device_find(s, l->ctx);
	if (!d || !device_enter(d)) {
		span_note("memory whose context is not known was not recorded");
		return;
	}
	for (uint64_t at = 0; at < l->size;) {
		const size_t n = l->size - at < DEVICE_STAGING ? l->size - at : DEVICE_STAGING;
		if (!device_read(d, l->addr + at, s->staging, n)) {
			span_note("memory of the device could not be read at its first use");
			memset(s->staging, 0, n);
		}
		if (!bulk_bytes(&p, s->staging, n))
			break;
		at += n;
	}
	device_leave();
}

static void named_one(void *arg, struct live *l)
{
	if (!atomic_load_explicit(&l->untouched, memory_order_relaxed))
		return;
	spin_lock(&recording); /* the staging and the streams are shared */
	if (atomic_exchange(&l->untouched, 0)) {
		atomic_fetch_sub(&touched_left, 1);
		send(arg, l);
	}
	spin_unlock(&recording);
}

static void named(struct device_set *s, uint64_t addr)
{
	live_visit(addr, named_one, s);
}

void touched_enter(struct call *c, struct device_set *s)
{
	const struct sbt_cmd *k = &c->cmd;
	if (!atomic_load_explicit(&touched_left, memory_order_relaxed))
		return;
	switch (k->kind) {
	case SBT_LAUNCH:
		for (uint64_t i = 0; i + 8 <= k->u.launch.args.len; i += 8) {
			uint64_t word;
			memcpy(&word, (const uint8_t *)k->u.launch.args.p + i, 8);
			named(s, word);
		}
		break;
	case SBT_COPY:
		named(s, k->u.copy.dst);
		named(s, k->u.copy.src);
		break;
	case SBT_FILL:
		named(s, k->u.fill.dst);
		break;
	case SBT_BATCH:
		named(s, k->u.batch.addr);
		break;
	case SBT_GRAPH_LAUNCH:
		span_note("a graph was launched: memory that only its nodes name was not recorded");
		break;
	default:
		break;
	}
}
