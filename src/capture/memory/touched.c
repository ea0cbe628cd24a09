/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at its first mention; see touched.h. No earlier command of the window has named it, so it
 * still has its contents from the window's beginning, and nothing needs to be waited for. Addresses
 * are looked for in the words of a launch's arguments; addresses that are only in memory are not
 * found.
 */
#include "capture/memory/touched.h"

#include <string.h>
#include "capture/pipeline/bulk.h"
#include "capture/core/calls.h"
#include "capture/host/extent.h"
#include "capture/host/host.h"
#include "capture/objects/ids.h"
#include "capture/objects/live.h"
#include "capture/memory/window.h"
#include "capture/core/thread.h"
#include "sbt/footprint.h"

_Atomic uint32_t touched_left; /* allocations not yet named */
static struct spin recording;

static bool mark(void *arg, struct live *l)
{
	atomic_store(&l->untouched, 1);
	atomic_fetch_add(&touched_left, 1);
	return false;
}

void touched_end(void)
{
	atomic_store(&touched_left, 0);
}

static void send(struct device_set *s, struct live *l)
{
	struct piece p = {.seq = window_first(),
		.addr = l->addr,
		.size = l->size,
		.role = BULK_START,
		.owner = BULK_ALLOCATION,
		.module = SBT_NO_ID};
	if (live_is_host(l)) {
		struct sbt_rows e = sbt_rows_flat(l->addr, l->size);
		if (!bulk_fill(&p, p.size, extent_read, &e))
			window_note("memory of the host that kernels can read could not be read");
		host_begin(l, NULL);
		return;
	}
	struct device_ctx *d = device_find(s, l->ctx);
	if (!d || !device_enter(d)) {
		window_note("memory whose context is not known was not recorded");
		return;
	}
	for (uint64_t at = 0; at < l->size;) {
		const size_t n = l->size - at < DEVICE_STAGING ? l->size - at : DEVICE_STAGING;
		if (!device_read(d, l->addr + at, s->staging, n)) {
			window_note("memory of the device could not be read at its first use");
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

static void named(struct device_set *s, uint64_t addr, uint64_t size)
{
	live_visit(addr, size, named_one, s);
}

/* Kernels are given textures by handles, which may lie in memory: so what any live texture is of
 * counts as named. */
static bool named_by_texture(void *arg, uint64_t key, uint64_t addr)
{
	(void)key;
	named(arg, addr, 1);
	return false;
}

void touched_begin(struct device_set *s)
{
	atomic_store(&touched_left, 0);
	live_each(mark, NULL);
	map_each(&ids.texture_memory, named_by_texture, s);
}

void touched_exit(const struct call *c, struct device_set *s)
{
	if (atomic_load_explicit(&touched_left, memory_order_relaxed) &&
		c->cmd.kind == SBT_TEXTURE_CREATE && !c->cmd.result)
		named(s, c->cmd.u.texture_create.addr, 1);
}

static void named_by_words(struct device_set *s, const struct sbt_blob *args)
{
	for (uint64_t i = 0; i + 8 <= args->len; i += 8) {
		uint64_t word;
		memcpy(&word, (const uint8_t *)args->p + i, 8);
		named(s, word, 1);
	}
}

/* For a call that no kind describes the effect is recorded (effect.c), so the memory it names need
 * not be. */
void touched_enter(struct call *c, struct device_set *s)
{
	const struct sbt_cmd *k = &c->cmd;
	struct sbt_footprint f;
	if (!atomic_load_explicit(&touched_left, memory_order_relaxed))
		return;
	sbt_footprint_when_run(&f, k);
	if (f.does & SBT_RUNS_KERNEL)
		named_by_words(s, &k->u.launch.args);
	if (f.does & SBT_RUNS_GRAPH)
		window_note(
			"a graph was launched: memory that only its nodes name was not recorded");
	if (f.does & SBT_DOES_UNKNOWN && k->kind != SBT_UNREPLAYABLE)
		window_note(
			"a command did something that is not known: memory that only it names was not recorded");
	for (unsigned i = 0; i < f.n; i++)
		if (f.touch[i].how & (SBT_READS | SBT_WRITES | SBT_UPDATES))
			named(s, f.touch[i].rows.addr, sbt_rows_size(&f.touch[i].rows));
}
