/* SPDX-License-Identifier: Apache-2.0
 *
 * The wait-for graph as a value, see why.h: nodes, edges, sentences.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "engine/why/why-private.h"

static const char *const kinds[] = {"thread", "stream", "command", "event", "value", "lock",
	"condition", "gil", "file", "process", "rank", "collective"};
static const char *const knowns[] = {
	"recorded", "device", "seen", "system", "stack", "code", "possible"};

const char *why_kind_name(uint64_t kind)
{
	return kind < WHY_KINDS ? kinds[kind] : "unknown";
}

const char *why_known_name(uint64_t known)
{
	return known <= WHY_KNOWN_POSSIBLE ? knowns[known] : "unknown";
}

struct why *why_new(void)
{
	return xcalloc(1, sizeof(struct why));
}

void why_free(struct why *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->nnodes; i++) {
		struct why_node *n = &w->node[i].is;

		free(n->name);
		free(n->does);
		free(n->where);
		free(n->because);
		free(n->moved_by);
	}
	for (uint32_t i = 0; i < w->nedges; i++)
		free(w->edge[i].is.what);
	for (unsigned i = 0; i < w->nnotes; i++)
		free(w->note[i]);
	free(w->node);
	free(w->edge);
	free(w->note);
	free(w->cure);
	free(w);
}

uint32_t why_find(const struct why *w, enum why_kind kind, pid_t pid, uint64_t id)
{
	for (uint32_t i = 0; i < w->nnodes; i++) {
		const struct why_node *n = &w->node[i].is;

		if (n->kind == kind && n->pid == pid && n->id == id)
			return i;
	}
	return WHY_NONE;
}

uint32_t why_node(struct why *w, enum why_kind kind, pid_t pid, uint64_t id, const char *name)
{
	const uint32_t found = why_find(w, kind, pid, id);

	if (found != WHY_NONE)
		return found;
	MAKE_ROOM(w->node, w->nnodes, w->nodes_cap);
	w->node[w->nnodes] = (struct why_node_in){
		.is = {.kind = kind, .pid = pid, .id = id, .name = xstrdup(name)},
		.first = WHY_NONE,
		.last = WHY_NONE};
	return w->nnodes++;
}

struct why_node *why_at(const struct why *w, uint32_t node)
{
	return node < w->nnodes ? &w->node[node].is : NULL;
}

static char *text_of(const char *fmt, va_list ap)
{
	struct buf b = BUF_INIT;

	buf_vprintf(&b, fmt, ap);
	(void)buf_cstr(&b);
	return buf_steal(&b);
}

void why_set(char **text, const char *fmt, ...)
{
	va_list ap;
	char *made;

	va_start(ap, fmt);
	made = text_of(fmt, ap);
	va_end(ap);
	free(*text);
	*text = made;
}

void why_edge(struct why *w, uint32_t from, uint32_t to, enum why_known known, const char *what)
{
	if (from >= w->nnodes || to >= w->nnodes)
		return;
	for (uint32_t e = why_next(w, from, WHY_NONE); e != WHY_NONE; e = why_next(w, from, e)) {
		struct why_edge *is = &w->edge[e].is;

		if (is->to != to)
			continue;
		if (known < is->known) {
			is->known = known;
			why_set(&is->what, "%s", what);
		}
		return;
	}
	MAKE_ROOM(w->edge, w->nedges, w->edges_cap);
	w->edge[w->nedges] = (struct why_edge_in){
		.is = {.from = from, .to = to, .known = known, .what = xstrdup(what)},
		.next = WHY_NONE};
	if (w->node[from].last == WHY_NONE)
		w->node[from].first = w->nedges;
	else
		w->edge[w->node[from].last].next = w->nedges;
	w->node[from].last = w->nedges++;
}

const struct why_edge *why_edge_at(const struct why *w, uint32_t edge)
{
	return edge < w->nedges ? &w->edge[edge].is : NULL;
}

uint32_t why_next(const struct why *w, uint32_t node, uint32_t edge)
{
	if (node >= w->nnodes)
		return WHY_NONE;
	return edge == WHY_NONE ? w->node[node].first : w->edge[edge].next;
}

void why_note(struct why *w, const char *fmt, ...)
{
	va_list ap;

	MAKE_ROOM(w->note, w->nnotes, w->notes_cap);
	va_start(ap, fmt);
	w->note[w->nnotes++] = text_of(fmt, ap);
	va_end(ap);
}

const char *why_note_at(const struct why *w, unsigned i)
{
	return i < w->nnotes ? w->note[i] : NULL;
}

void why_set_cure(struct why *w, const char *fmt, ...)
{
	va_list ap;

	if (w->cure)
		return;
	va_start(ap, fmt);
	w->cure = text_of(fmt, ap);
	va_end(ap);
}

void why_set_progress(struct why *w, const struct why_progress *p)
{
	w->progress = *p;
}

const struct why_progress *why_get_progress(const struct why *w)
{
	return &w->progress;
}
