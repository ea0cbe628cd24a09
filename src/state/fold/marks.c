/* SPDX-License-Identifier: Apache-2.0
 *
 * Open NVTX ranges, see marks.h. What is kept is bounded: a trace may be hostile, or push a
 * name of its own for every step.
 */
#include "state/marks.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"

enum {
	NAMES_MAX = 1 << 16,
	THREADS_MAX = 1 << 12,
	DEPTH_MAX = 256,
	NAME_BYTES = 512,
	SLOTS = 2 * NAMES_MAX,
	NOT_KEPT = UINT32_MAX,
};
enum { PUSH = 1, POP = 2 };

struct thread_ranges {
	uint32_t thread;
	unsigned depth; /* may be more than DEPTH_MAX */
	uint32_t open[DEPTH_MAX];
};

struct marks {
	char **names;
	uint32_t nnames;
	uint32_t *slots; /* of names, by hash: index + 1; 0: free */
	struct thread_ranges *threads;
	unsigned nthreads, last; /* last: index of the thread that was asked for last */
	uint64_t dropped;
};

struct marks *marks_new(void)
{
	struct marks *n = xcalloc(1, sizeof *n);

	n->slots = xcalloc(SLOTS, sizeof *n->slots);
	return n;
}

void marks_free(struct marks *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->nnames; i++)
		free(n->names[i]);
	free(n->names);
	free(n->slots);
	free(n->threads);
	free(n);
}

static uint32_t hash_name(const char *text, size_t len)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h;
}

/* The index of a name, which is added if it is new; NOT_KEPT if there are too many. */
static uint32_t intern(struct marks *n, const struct sbt_blob *text)
{
	const size_t len = text->len < NAME_BYTES ? (size_t)text->len : NAME_BYTES;
	uint32_t at = hash_name(text->p, len) % SLOTS;

	for (; n->slots[at]; at = (at + 1) % SLOTS) {
		const char *have = n->names[n->slots[at] - 1];

		if (strlen(have) == len && !memcmp(have, text->p, len))
			return n->slots[at] - 1;
	}
	if (n->nnames == NAMES_MAX)
		return NOT_KEPT;
	if (!(n->nnames & (n->nnames - 1)))
		n->names = xrealloc(n->names, (n->nnames ? 2 * n->nnames : 1) * sizeof *n->names);
	n->names[n->nnames] = xasprintf("%.*s", (int)len, len ? (const char *)text->p : "");
	n->slots[at] = ++n->nnames;
	return n->nnames - 1;
}

static struct thread_ranges *of_thread(struct marks *n, uint32_t thread, bool make)
{
	if (n->last < n->nthreads && n->threads[n->last].thread == thread)
		return &n->threads[n->last];
	for (n->last = 0; n->last < n->nthreads; n->last++) {
		if (n->threads[n->last].thread == thread)
			return &n->threads[n->last];
	}
	if (!make || n->nthreads == THREADS_MAX)
		return NULL;
	n->threads = xrealloc(n->threads, (n->nthreads + 1) * sizeof *n->threads);
	n->threads[n->nthreads] = (struct thread_ranges){.thread = thread};
	return &n->threads[n->nthreads++];
}

void marks_see(struct marks *n, const struct sbt_cmd *c)
{
	const bool push = c->kind == SBT_MARK && c->u.mark.mark_kind == PUSH;
	struct thread_ranges *t;
	uint32_t name;

	if (c->kind != SBT_MARK || (!push && c->u.mark.mark_kind != POP))
		return;
	t = of_thread(n, c->thread, push);
	if (!t) {
		n->dropped += push;
		return;
	}
	if (!push) {
		t->depth -= t->depth > 0;
		return;
	}
	name = intern(n, &c->u.mark.text);
	n->dropped += name == NOT_KEPT || t->depth >= DEPTH_MAX;
	if (t->depth < DEPTH_MAX)
		t->open[t->depth] = name;
	t->depth++;
}

const uint32_t *marks_open(struct marks *n, uint32_t thread, unsigned *ret_n)
{
	const struct thread_ranges *t = of_thread(n, thread, false);

	*ret_n = !t ? 0 : t->depth < DEPTH_MAX ? t->depth : DEPTH_MAX;
	return t ? t->open : NULL;
}

uint32_t marks_names(const struct marks *n)
{
	return n->nnames;
}

const char *marks_name(const struct marks *n, uint32_t index)
{
	return index < n->nnames ? n->names[index] : NULL;
}

uint64_t marks_dropped(const struct marks *n)
{
	return n->dropped;
}
