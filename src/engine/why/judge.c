/* SPDX-License-Identifier: Apache-2.0
 *
 * Says what is stuck, by the rules of why.h. The surprise: it computes what goes on, never what is
 * stuck; so whatever the graph does not know makes it say less, not more.
 */
#include "engine/why/why-private.h"

static const char *const verdicts[] = {"idle", "slow", "open", "stuck"};

const char *why_verdict_name(uint64_t verdict)
{
	return verdict <= WHY_STUCK ? verdicts[verdict] : "unknown";
}

static bool goes_on_alone(const struct why_node_in *n)
{
	if (n->is.moved == WHY_MOVED || n->is.end == WHY_END_COMES)
		return true;
	return n->first == WHY_NONE && n->is.end != WHY_END_NEVER;
}

static bool now_goes_on(const struct why *w, const struct why_node_in *n)
{
	bool all = n->first != WHY_NONE, one = false;

	for (uint32_t e = n->first; e != WHY_NONE; e = w->edge[e].next) {
		const bool on = w->node[w->edge[e].is.to].goes_on;

		all = all && on;
		one = one || on;
	}
	return n->is.any ? one : all;
}

/* What goes on: the least set that is closed under the rules. */
static void spread(struct why *w)
{
	bool changed = true;

	for (uint32_t i = 0; i < w->nnodes; i++)
		w->node[i].goes_on = goes_on_alone(&w->node[i]);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < w->nnodes; i++) {
			struct why_node_in *n = &w->node[i];

			if (n->goes_on || !now_goes_on(w, n))
				continue;
			n->goes_on = changed = true;
		}
	}
	for (uint32_t i = 0; i < w->nnodes; i++)
		w->node[i].is.stuck = !w->node[i].goes_on;
}

/* The node that a chain goes to next: for one that is stuck a stuck one, else one that is not known
 * to move, if there is one. */
static uint32_t chain_next(const struct why *w, uint32_t node)
{
	const bool stuck = w->node[node].is.stuck;
	uint32_t open = WHY_NONE;

	for (uint32_t e = w->node[node].first; e != WHY_NONE; e = w->edge[e].next) {
		const uint32_t to = w->edge[e].is.to;

		if (stuck == w->node[to].is.stuck && (stuck || w->node[to].is.moved != WHY_MOVED))
			return to;
		if (open == WHY_NONE)
			open = to;
	}
	return open;
}

/* Where the chain from `from` closes, or ends. */
static void follow(const struct why *w, uint32_t from, struct why_answer *ret)
{
	unsigned n = 0;

	for (uint32_t at = from; at != WHY_NONE && n < WHY_CYCLE_MAX; at = chain_next(w, at)) {
		for (unsigned i = 0; i < n; i++) {
			if (ret->path[i] != at)
				continue;
			while (i < n)
				ret->cycle[ret->ncycle++] = ret->path[i++];
			ret->leaf = WHY_NONE;
			return;
		}
		ret->path[n++] = ret->leaf = at;
		ret->npath = n;
	}
}

/* Whether a chain from the node comes to one that moves. */
static bool moves(const struct why *w, uint32_t from)
{
	uint32_t at = from;

	for (uint32_t n = 0; at != WHY_NONE && n < w->nnodes; n++) {
		const struct why_node *is = &w->node[at].is;

		if (is->moved == WHY_MOVED ||
			(at != from && is->end == WHY_END_COMES && is->kind == WHY_COMMAND))
			return true;
		at = chain_next(w, at);
	}
	return false;
}

/* A stream is a root where no thread waits: a thread that polls it could do something else. */
static bool is_stuck(const struct why_node *root)
{
	return root->stuck && root->kind != WHY_STREAM;
}

void why_judge(struct why *w, struct why_answer *ret)
{
	uint32_t best = WHY_NONE;
	bool any_moves = w->progress.moved;

	*ret = (struct why_answer){.leaf = WHY_NONE, .cure = w->cure};
	spread(w);
	for (uint32_t i = 0; i < w->nnodes; i++) {
		if (!w->node[i].is.root)
			continue;
		if (best == WHY_NONE || (w->node[i].is.stuck && !w->node[best].is.stuck))
			best = i;
		any_moves = any_moves || moves(w, i);
	}
	if (best == WHY_NONE)
		return;
	follow(w, best, ret);
	ret->verdict = is_stuck(&w->node[best].is) ? WHY_STUCK : any_moves ? WHY_SLOW : WHY_OPEN;
	if (ret->verdict != WHY_STUCK) {
		if (ret->ncycle)
			ret->leaf = ret->path[ret->npath - 1];
		ret->ncycle = 0;
		ret->cure = NULL;
	}
}
