/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that cuda-gdb saw, as nodes of the wait-for graph, see debugger.h. What it saw is where
 * lanes are and what is in memory, not what is queued: so a kernel is said to move if it did, and
 * otherwise its end is not known. Nothing here makes an answer "stuck".
 */
#include "engine/why/why-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/buf.h"
#include "base/checked.h"
#include "engine/engine.h"
#include "engine/why/debugger.h"
#include "sbt/kernel-name.h"

#define LOOKED_MAX 4u /* processes */
#define NO_KERNEL                                                                                  \
	"none of its kernels runs: its streams wait for a value, an event or a host function, or copy"

/* A thread in a call that waits for the device; what of the device is not known. */
static bool is_wanted(const struct why *w, uint32_t node)
{
	if (!why_at(w, node)->at_device)
		return false;
	for (uint32_t e = why_next(w, node, WHY_NONE); e != WHY_NONE; e = why_next(w, node, e)) {
		const enum why_kind to = why_at(w, why_edge_at(w, e)->to)->kind;

		if (to == WHY_STREAM || to == WHY_COMMAND || to == WHY_EVENT)
			return false;
	}
	return true;
}

static const struct debugger_kernel *find(
	const struct debugger_seen *in, const struct debugger_kernel *k)
{
	for (unsigned i = 0; i < in->nkernels; i++)
		if (in->kernel[i].device == k->device && in->kernel[i].id == k->id &&
			!strcmp(in->kernel[i].name, k->name))
			return &in->kernel[i];
	return NULL;
}

/* The value at an address at the other look. */
static bool has_changed(const struct debugger_kernel *a, const struct debugger_load *l)
{
	for (unsigned i = 0; i < a->nloads; i++)
		if (l->known && a->load[i].known && a->load[i].addr == l->addr)
			return a->load[i].value != l->value;
	return false;
}

static void set_moved(
	struct why_node *n, const struct debugger_kernel *first, const struct debugger_kernel *k)
{
	n->moved = WHY_MOVED;
	if (!first) {
		why_set(&n->moved_by, "it began between the looks");
		return;
	}
	if (first->which != k->which) {
		why_set(&n->moved_by, "other blocks of it ran at the second look");
		return;
	}
	for (unsigned i = 0; i < k->nloads; i++)
		if (has_changed(first, &k->load[i])) {
			why_set(&n->moved_by, "what it reads has changed between the looks");
			return;
		}
	n->moved = WHY_MOVED_UNKNOWN;
	why_set(&n->moved_by, "the same blocks of it ran at both looks");
}

/* "all 32 lanes at app.cu:5" */
static void put_places(struct buf *b, const struct debugger_kernel *k)
{
	for (unsigned i = 0; i < k->nplaces; i++) {
		const struct debugger_place *p = &k->place[i];

		buf_str(b, i ? ", " : "");
		why_put_lanes(b, p->lanes == k->lanes, p->lanes);
		if (*p->file)
			buf_printf(b, "%s:%" PRIu32, p->file, p->line);
		else
			buf_printf(b, "0x%" PRIx64, p->pc);
	}
	if (k->more_places)
		buf_str(b, ", others elsewhere");
}

static void put_loads(struct buf *b, const struct debugger_kernel *k)
{
	bool any = false;

	for (unsigned i = 0; i < k->nloads; i++) {
		const struct debugger_load *l = &k->load[i];

		if (!l->known)
			continue;
		buf_str(b, any ? ", " : ", reading in a loop ");
		why_put_bytes(b, l->bytes, l->addr, l->value);
		any = true;
	}
}

/* "; 264 of its 8448 blocks are there" */
static void put_blocks(struct buf *b, const struct debugger_kernel *k)
{
	const uint64_t all = sat_mul(sat_mul(k->grid[0], k->grid[1]), k->grid[2]);

	if (!k->ranges && k->blocks && k->blocks < all)
		buf_printf(b, "; %" PRIu64 " of its %" PRIu64 " blocks are there", k->blocks, all);
}

static uint32_t add_value(struct why *w, pid_t pid, const struct debugger_load *l)
{
	struct buf name = BUF_INIT;
	uint32_t node;

	why_put_bytes(&name, l->bytes, l->addr, l->value);
	node = why_node(w, WHY_VALUE, pid, l->addr, buf_cstr(&name));
	buf_free(&name);
	if (!why_at(w, node)->because)
		why_set(&why_at(w, node)->because,
			"what would write there was given to the GPU before tsdb came, and is not known");
	return node;
}

static uint32_t add_kernel(struct why *w, pid_t pid, const struct debugger_kernel *first,
	const struct debugger_kernel *k)
{
	const uint64_t id = 1ull << 61 | (uint64_t)k->device << 48 | (k->id & 0xffffffffffffu);
	struct buf b = BUF_INIT;
	char name[160];
	uint32_t node;

	sbt_kernel_short_name(name, sizeof(name), k->name);
	why_put_launch(&b, name, (uint64_t[]){k->grid[0], k->grid[1], k->grid[2]},
		(uint64_t[]){k->block[0], k->block[1], k->block[2]});
	node = why_node(w, WHY_COMMAND, pid, id, buf_cstr(&b));
	set_moved(why_at(w, node), first, k);
	buf_clear(&b);
	put_places(&b, k);
	if (b.len)
		why_set(&why_at(w, node)->where, "%s", buf_cstr(&b));
	put_loads(&b, k);
	put_blocks(&b, k);
	if (why_at(w, node)->moved == WHY_MOVED)
		buf_printf(&b, "; it moves: %s", why_at(w, node)->moved_by);
	why_set(&why_at(w, node)->does, b.len ? "runs; %s" : "runs%s", buf_cstr(&b));
	why_at(w, node)->any = true;
	for (unsigned i = 0; i < k->nloads; i++)
		if (k->load[i].known)
			why_edge(w, node, add_value(w, pid, &k->load[i]), WHY_KNOWN_SEEN, "reads");
	buf_free(&b);
	return node;
}

/* Kernels that were there at the first look have ended since. */
static bool any_ended(const struct debugger_seen *first, const struct debugger_seen *second)
{
	for (unsigned i = 0; i < first->nkernels; i++)
		if (!second->more && !find(second, &first->kernel[i]))
			return true;
	return false;
}

/* Each kernel's node, in their order. */
static void add_kernels(struct why *w, pid_t pid, const struct debugger_seen *first,
	const struct debugger_seen *second, uint32_t *ret)
{
	for (unsigned i = 0; i < second->nkernels; i++) {
		const struct debugger_kernel *k = &second->kernel[i];

		/* where not all fitted at the first look, one that is missing there may have run */
		ret[i] = add_kernel(w, pid, first->more ? k : find(first, k), k);
	}
}

void why_debugger_add(struct why *w, pid_t pid, const struct debugger_seen *first,
	const struct debugger_seen *second)
{
	const uint32_t nodes = w->nnodes;
	uint32_t kernel[DEBUGGER_KERNELS];

	add_kernels(w, pid, first, second, kernel);
	for (uint32_t i = 0; i < nodes; i++) {
		const bool wanted = why_at(w, i)->pid == pid && is_wanted(w, i);

		for (unsigned k = 0; wanted && k < second->nkernels; k++)
			why_edge(w, i, kernel[k], WHY_KNOWN_POSSIBLE, "waits for");
	}
	if (any_ended(first, second))
		w->progress.moved = true;
	if (!second->nkernels)
		why_note(w, "process %d: by cuda-gdb, " NO_KERNEL, (int)pid);
	if (second->more)
		why_note(w, "process %d: more than %u kernels run, the first are shown", (int)pid,
			DEBUGGER_KERNELS);
}

/* --- the looks --- */

/* The processes of threads that wait for a device in a way that is not known. */
static unsigned wanted(const struct why *w, pid_t *ret, unsigned max)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < w->nnodes; i++) {
		unsigned k = 0;

		if (!is_wanted(w, i))
			continue;
		while (k < n && ret[k] != why_at(w, i)->pid)
			k++;
		if (k == n && n < max)
			ret[n++] = why_at(w, i)->pid;
	}
	return n;
}

bool why_wants_inside(const struct why *w)
{
	pid_t pid;

	return wanted(w, &pid, 1) != 0;
}

static struct err *look_twice(struct engine *en, struct why *w, pid_t pid)
{
	const uint64_t ms = en->set.number[SET_LOOK_APART];
	const struct timespec apart = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
	struct debugger_seen *seen = xcalloc(2, sizeof(*seen));
	struct err *e = debugger_look(pid, &debugger_limits, &seen[0]);

	if (!e && seen[0].nkernels) {
		nanosleep(&apart, NULL);
		e = debugger_look(pid, &debugger_limits, &seen[1]);
	}
	if (!e)
		why_debugger_add(w, pid, &seen[0], &seen[1]);
	free(seen);
	return e;
}

void why_look_inside(struct engine *en, struct why *w)
{
	pid_t pid[LOOKED_MAX];
	const unsigned n = wanted(w, pid, LOOKED_MAX);

	for (unsigned i = 0; i < n; i++) {
		struct err *e = look_twice(en, w, pid[i]);

		if (e)
			why_note(w, "process %d was not looked into: %s", (int)pid[i], e->what);
		err_free(e);
	}
}
