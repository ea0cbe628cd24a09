/* SPDX-License-Identifier: Apache-2.0
 *
 * Sentences of a wait-for graph, see why-text.h: the verdict, then the chain from the thread that
 * waits, a line for each node that has something to say.
 */
#include "shell/live/why-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"

enum { WHERE_COLUMN = 64, OTHERS_MAX = 8 };

static void put_safe(struct buf *out, const char *text)
{
	text_safe(out, text, strlen(text), 0);
}

static void put_time(struct buf *out, uint64_t ns)
{
	const uint64_t ms = ns / 1000000;

	if (ms < 10000)
		buf_printf(out, "%" PRIu64 ".%" PRIu64 " s", ms / 1000, ms / 100 % 10);
	else
		buf_printf(out, "%" PRIu64 " s", ms / 1000);
}

static void put_looks(struct buf *out, const struct why_progress *p)
{
	if (p->apart_ms)
		buf_printf(out, " (two looks, %u ms apart)", p->apart_ms);
}

static void put_verdict(struct buf *out, const struct why *w, const struct why_answer *a)
{
	const struct why_progress *p = why_get_progress(w);

	switch (a->verdict) {
	case WHY_IDLE:
		buf_str(out, "No thread waits for the GPU, a lock or another process.\n");
		return;
	case WHY_SLOW:
		buf_str(out, "Slow, not stuck: what is waited for moves");
		put_looks(out, p);
		buf_str(out, ".\n");
		return;
	case WHY_OPEN:
		buf_str(out, "Slow or stuck is not known");
		put_looks(out, p);
		buf_str(out, ". What is known:\n");
		return;
	default:
		break;
	}
	buf_str(out, "Stuck");
	if (p->still_ns && p->pending) {
		buf_str(out, ": no command has finished for ");
		put_time(out, p->still_ns);
	}
	buf_str(out, ".\n");
}

/* Of a command at the head of a stream: "stream 2: ". */
void why_put_stream(struct buf *out, const struct why *w, uint32_t node)
{
	const struct why_edge *e;

	for (uint32_t i = 0; (e = why_edge_at(w, i)); i++) {
		if (e->to != node || why_at(w, e->from)->kind != WHY_STREAM ||
			e->known == WHY_KNOWN_POSSIBLE)
			continue;
		put_safe(out, why_at(w, e->from)->name);
		buf_str(out, ": ");
		return;
	}
}

void why_put_name(struct buf *out, const struct why_node *n)
{
	if (n->kind == WHY_COMMAND && n->id < UINT32_MAX)
		buf_printf(out, "#%" PRIu64 " ", n->id);
	put_safe(out, n->name);
}

/* "#19 wait_flag<<<1,32>>> has been running"; where: at a column of its own for threads. */
static void put_node(struct buf *out, const struct why *w, uint32_t node)
{
	const struct why_node *n = why_at(w, node);
	const size_t begin = out->len;

	buf_str(out, "  ");
	if (n->kind == WHY_COMMAND)
		why_put_stream(out, w, node);
	why_put_name(out, n);
	if (n->does)
		buf_byte(out, ' ');
	if (n->does)
		put_safe(out, n->does);
	if (n->kind != WHY_THREAD || !n->where)
		return;
	do
		buf_byte(out, ' ');
	while (out->len - begin < WHERE_COLUMN);
	put_safe(out, n->where);
}

static const struct why_edge *edge_of(const struct why *w, uint32_t from, uint32_t to)
{
	for (uint32_t e = why_next(w, from, WHY_NONE); e != WHY_NONE; e = why_next(w, from, e))
		if (why_edge_at(w, e)->to == to)
			return why_edge_at(w, e);
	return NULL;
}

/* Whether a node gets a line. Of a stream at its head the head's line is enough. */
static bool has_line(const struct why_node *n, const struct why_edge *to_next)
{
	if (to_next && to_next->known == WHY_KNOWN_POSSIBLE && n->kind == WHY_VALUE)
		return true; /* nobody in particular would write it */
	return n->does != NULL;
}

static void put_value(struct buf *out, const struct why_node *n)
{
	buf_str(out, "  ");
	put_safe(out, n->name);
	if (n->because) {
		buf_str(out, ": ");
		put_safe(out, n->because);
	}
}

/* The chain's lines; the last one without its end. */
static void put_chain(struct buf *out, const struct why *w, const struct why_answer *a)
{
	bool first = true;

	for (unsigned i = 0; i < a->npath; i++) {
		const struct why_node *n = why_at(w, a->path[i]);
		const uint32_t next = i + 1 < a->npath ? a->path[i + 1]
				      : a->ncycle      ? a->cycle[0]
						       : WHY_NONE;
		const struct why_edge *e = next == WHY_NONE ? NULL : edge_of(w, a->path[i], next);

		if (!has_line(n, e))
			continue;
		buf_str(out, first ? "" : "\n");
		first = false;
		if (e && e->known == WHY_KNOWN_POSSIBLE && n->kind == WHY_VALUE) {
			put_value(out, n);
			return;
		}
		put_node(out, w, a->path[i]);
	}
}

static bool through_possible(const struct why *w, const struct why_answer *a)
{
	for (unsigned i = 0; i < a->ncycle; i++) {
		const struct why_edge *e = edge_of(w, a->cycle[i], a->cycle[(i + 1) % a->ncycle]);

		if (e && e->known == WHY_KNOWN_POSSIBLE &&
			why_at(w, a->cycle[i])->kind == WHY_VALUE)
			return true;
	}
	return false;
}

static void put_end(struct buf *out, const struct why *w, const struct why_answer *a)
{
	const struct why_node *leaf = why_at(w, a->leaf);

	if (a->ncycle && !through_possible(w, a))
		buf_str(out, ": a cycle");
	else if (leaf && leaf->because && leaf->kind != WHY_VALUE) {
		buf_str(out, ": ");
		put_safe(out, leaf->because);
	}
	buf_str(out, ".");
	if (a->cure) {
		buf_str(out, " Cure: ");
		put_safe(out, a->cure);
		buf_str(out, ".");
	}
	buf_str(out, "\n");
}

static bool on_path(const struct why_answer *a, uint32_t node)
{
	for (unsigned i = 0; i < a->npath; i++)
		if (a->path[i] == node)
			return true;
	return false;
}

/* Other threads that wait: a line each. */
static void put_others(struct buf *out, const struct why *w, const struct why_answer *a)
{
	unsigned n = 0;

	for (uint32_t i = 0; why_at(w, i); i++) {
		const struct why_node *at = why_at(w, i);

		if (!at->root || !at->does || on_path(a, i) || ++n > OTHERS_MAX)
			continue;
		put_node(out, w, i);
		buf_str(out, at->stuck == why_at(w, a->path[0])->stuck ? ", too\n" : "\n");
	}
	if (n > OTHERS_MAX)
		buf_printf(out, "  and %u more threads wait\n", n - OTHERS_MAX);
}

void why_text(struct buf *out, const struct why *w, const struct why_answer *a)
{
	put_verdict(out, w, a);
	if (a->npath) {
		put_chain(out, w, a);
		put_end(out, w, a);
		put_others(out, w, a);
	}
	for (unsigned i = 0; why_note_at(w, i); i++) {
		buf_str(out, "(");
		put_safe(out, why_note_at(w, i));
		buf_str(out, ".)\n");
	}
}
