/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in memory that somebody waits for, and the commands that would write them. Commands whose
 * record or whose arguments name the very address come first, then those that were given the
 * allocation. Beyond them every stream with work and every thread may write, so a value is stuck
 * only if they all are.
 */
#include "engine/why/why-device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/maps-line.h"
#include "base/proc-read.h"
#include "engine/recorder.h"
#include "engine/why/why-graphs.h"
#include "sbt/footprint.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"
#include "state/args.h"

/* How a command is tied to an address. */
enum tie { TIE_NONE, TIE_NEAR, TIE_EXACT };

static enum tie tie_of_launch(const struct why_device *d, const struct sbt_cmd *c, uint64_t addr,
	const struct state_alloc *a)
{
	struct args_words words;
	struct state_kernel k;
	enum tie best = TIE_NONE;
	uint64_t v;

	if (!state_kernel_by_id(d->state, (uint32_t)c->u.launch.kernel, &k))
		return TIE_NONE;
	words = args_words(c->u.launch.args, k.params);
	while (args_words_next(&words, &v)) {
		if (v == addr)
			return TIE_EXACT;
		if (a->size && v - a->addr < a->size)
			best = TIE_NEAR;
	}
	return best;
}

static enum tie tie_of(const struct why_device *d, const struct sbt_cmd *c, uint64_t addr,
	const struct state_alloc *a)
{
	switch (c->kind) {
	case SBT_LAUNCH:
		return tie_of_launch(d, c, addr, a);
	case SBT_BATCH:
		return !c->u.batch.is_wait && c->u.batch.addr == addr ? TIE_EXACT : TIE_NONE;
	case SBT_FILL:
		return addr - c->u.fill.dst < c->u.fill.size ? TIE_EXACT : TIE_NONE;
	case SBT_COPY:
		return addr - c->u.copy.dst < c->u.copy.size ? TIE_EXACT : TIE_NONE;
	default:
		return TIE_NONE;
	}
}

/* Whether a step comes behind one that waits; behind: what was said of the steps before it. */
static bool is_behind_kept(const struct why_device *d, const struct sbt_cmd *launch,
	const struct state_steps *steps, uint32_t i, const bool *behind)
{
	for (unsigned k = 0; k < steps->step[i].ndeps; k++) {
		const uint32_t before = steps->step[i].deps[k];

		if (behind[before] ||
			why_is_kept_step(d, launch->seq, why_step_id(&steps->step[before])))
			return true;
	}
	return false;
}

/* A kernel of a graph, or what else writes there, behind the kernel that the graph is at. */
static void add_step(struct why_device *d, uint32_t value, const struct sbt_cmd *launch,
	const struct state_step *step, const struct sbt_cmd *c, enum tie tie)
{
	const uint32_t whole = why_command_node(d, launch->seq);
	struct state_kernel k;
	char name[160];
	uint32_t writer;

	snprintf(name, sizeof(name), "%s", sbt_kind(c->kind)->name);
	if (c->kind == SBT_LAUNCH && state_kernel_by_id(d->state, (uint32_t)c->u.launch.kernel, &k))
		sbt_kernel_short_name(name, sizeof(name), k.name);
	writer = why_node(d->w, WHY_COMMAND, d->pid, why_step_id(step), name);
	why_set(&why_at(d->w, writer)->does,
		"would write there; it is a node of the same graph, behind what waits");
	why_edge(d->w, value, writer, WHY_KNOWN_CODE,
		tie == TIE_EXACT ? "would be written by" : "may be written by");
	why_edge(d->w, writer, whole, WHY_KNOWN_RECORDED, WHY_BEHIND);
}

static void add_steps(struct why_device *d, uint32_t value, const struct sbt_cmd *launch,
	uint64_t addr, const struct state_alloc *a, enum tie want)
{
	struct state_steps steps;
	bool *behind;

	if (why_graph_steps(d->state, launch, &steps)) {
		state_steps_free(&steps);
		return;
	}
	behind = xcalloc(steps.n + 1, sizeof(*behind));
	for (uint32_t i = 0; i < steps.n; i++) {
		struct sbt_cmd c;

		behind[i] = is_behind_kept(d, launch, &steps, i, behind);
		if (behind[i] && why_step_of(&steps.step[i], launch, &c) == WHY_STEP_COMMAND &&
			tie_of(d, &c, addr, a) == want)
			add_step(d, value, launch, &steps.step[i], &c, want);
	}
	free(behind);
	state_steps_free(&steps);
}

static void add_writers(struct why_device *d, uint32_t node, uint64_t addr,
	const struct state_alloc *a, enum tie want)
{
	struct state_stream st;
	struct sbt_cmd brief, c;
	enum state_status status;
	uint32_t writer;

	for (unsigned i = 0; state_stream(d->state, i, &st); i++) {
		for (unsigned k = 0;
			!st.destroyed && state_queue(d->state, st.id, k, &brief, &status); k++) {
			if (!why_command(d, brief.seq, &c))
				continue;
			if (c.kind == SBT_GRAPH_LAUNCH)
				add_steps(d, node, &c, addr, a, want);
			if (tie_of(d, &c, addr, a) != want || why_only_loops(d, &c))
				continue;
			writer = why_command_node(d, brief.seq);
			why_edge(d->w, node, writer,
				c.kind == SBT_LAUNCH ? WHY_KNOWN_CODE : WHY_KNOWN_RECORDED,
				want == TIE_EXACT ? "would be written by" : "may be written by");
			if (want == TIE_EXACT)
				why_would_write(d, writer);
		}
	}
}

void why_anybody(struct why_device *d, uint32_t node)
{
	why_at(d->w, node)->any = true;
	for (uint32_t i = 0; i < d->w->nnodes; i++)
		if (d->w->node[i].is.kind == WHY_STREAM && d->w->node[i].is.pid == d->pid)
			why_edge(d->w, node, i, WHY_KNOWN_POSSIBLE, "might be written from");
	for (unsigned i = 0; i < d->p->nthreads; i++)
		if (d->p->threads[i].node != WHY_NONE)
			why_edge(d->w, node, d->p->threads[i].node, WHY_KNOWN_POSSIBLE,
				"might be written by");
}

/* Whether the program has given out handles of memory, or has opened memory of another process:
 * that one will have opened the program's in return, and no call here says which. */
static bool shares_with_others(const struct why_device *d)
{
	static const char *const words[] = {"Export", "Ipc", "Multicast", "External"};
	const struct tsdb_control *ctl = inferior_control(d->p->inf);
	const struct recorder *r = d->en->live.recorder;
	struct state_alloc a;
	const char *call;

	if (ctl && atomic_load(&ctl->shares))
		return true;
	for (unsigned i = 0; r && (call = recorder_call(r, i)); i++)
		for (unsigned k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (strstr(call, words[k]))
				return true;

	for (unsigned i = 0; d->state && state_alloc(d->state, i, &a); i++)
		if (a.mem == SBT_MEM_IPC)
			return true;
	return false;
}

/* The text of one of the process's files in /proc, a line at a time: whether one has any of these
 * words. True if it cannot be read. */
static bool has_line(pid_t pid, const char *file, const char *const *words, unsigned n)
{
	struct buf text = BUF_INIT;
	bool has = !proc_read(pid, file, MAPS_MOST, &text);

	for (unsigned i = 0; !has && i < n; i++)
		has = strstr(buf_cstr(&text), words[i]) != NULL;
	buf_free(&text);
	return has;
}

/* Network cards and others that write to a GPU's memory by themselves. */
static bool is_reached_by_devices(pid_t pid)
{
	static const char *const devices[] = {"/dev/infiniband/", "/dev/gdrdrv", "/dev/nvidia-fs"};

	return has_line(pid, "maps", devices, 3);
}

/* A child has the driver's page-locked memory, too. */
static bool has_children(const struct why_device *d)
{
	static const char *const digits[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
	char file[48];

	for (unsigned i = 0; i < d->p->nthreads; i++) {
		snprintf(file, sizeof(file), "task/%d/children", (int)d->p->threads[i].tid);
		if (has_line(d->pid, file, digits, 9))
			return true;
	}
	return false;
}

/* Mappings that other processes may have, too. tsdb's own are none; the software GPU's are memory
 * that was exported. */
static bool is_mapped_shared(const struct why_device *d, uint64_t addr)
{
	struct buf maps = BUF_INIT;
	struct maps_line m;
	char *line, *rest;
	bool shared = false;

	if (!proc_read(d->pid, "maps", MAPS_MOST, &maps))
		return true;
	rest = (char *)buf_cstr(&maps);
	while ((line = proc_next_line(&rest)))
		if (maps_line_parse(&m, line) && addr >= m.start && addr < m.end)
			shared = m.shared && (strncmp(m.path, "/memfd:tsdb-", 12) != 0 ||
						     !strncmp(m.path, "/memfd:tsdb-soft-", 17));
	buf_free(&maps);
	return shared;
}

bool why_is_shared(const struct why_device *d, uint64_t addr, const struct state_alloc *a)
{
	const bool mapped = is_mapped_shared(d, addr);

	if (a->size && (a->mem == SBT_MEM_DEVICE || a->mem == SBT_MEM_IPC) && shares_with_others(d))
		return true;
	if (!mapped || !a->size || d->en->live.soft)
		return mapped;
	/* a vendor's driver maps all memory that it gives out from files of its own */
	switch (a->mem) {
	case SBT_MEM_DEVICE:
	case SBT_MEM_ASYNC:
		return is_reached_by_devices(d->pid);
	case SBT_MEM_PINNED:
		return has_children(d);
	default:
		return true;
	}
}

static void name_value(
	struct why_device *d, uint32_t node, uint64_t addr, unsigned bytes, uint64_t now)
{
	struct why_node *n = why_at(d->w, node);

	why_set(&n->name, "%u bytes at 0x%" PRIx64, bytes, addr);
	why_set(&n->where, "now %" PRIu64, now);
	why_set(&n->because,
		"no command that is queued writes there, and everything that might waits");
}

uint32_t why_value(struct why_device *d, uint64_t addr, unsigned bytes, uint64_t now)
{
	uint32_t node = why_find(d->w, WHY_VALUE, d->pid, addr);
	struct state_alloc a;

	if (node != WHY_NONE)
		return node;
	node = why_node(d->w, WHY_VALUE, d->pid, addr, "");
	name_value(d, node, addr, bytes, now);
	if (!d->state || !state_alloc_at(d->state, addr, &a))
		a.size = 0;
	if (d->state) {
		add_writers(d, node, addr, &a, TIE_EXACT);
		add_writers(d, node, addr, &a, TIE_NEAR);
	}
	why_anybody(d, node);
	if (why_is_shared(d, addr, &a)) {
		why_at(d->w, node)->end = WHY_END_COMES;
		why_set(&why_at(d->w, node)->because,
			"another process may write there: `tsdb why --ranks` compares a job's ranks");
	}
	return node;
}
