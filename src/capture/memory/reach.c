/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory of the host a launch may touch; see reach.h.
 */
#include "capture/memory/reach.h"

#include <string.h>
#include "capture/core/calls.h"
#include "capture/objects/kernel.h"
#include "capture/objects/live.h"

/* Reads what tsdb wrote; pairs with publish() in recorder-reach.c. */
static bool read_offsets(const struct kernel *k, struct tsdb_reach *ret)
{
	if (!k || !k->reach_key || k->id >= TSDB_REACH_MAX)
		return false;
	const struct tsdb_reach *from = &agent.control->reach[k->id];
	const uint32_t turn = atomic_load_explicit(&from->turn, memory_order_acquire);
	ret->n = from->n;
	ret->key = from->key;
	memcpy(ret->word, from->word, sizeof(ret->word));
	atomic_thread_fence(memory_order_acquire);
	return turn && !(turn & 1) &&
	       atomic_load_explicit(&from->turn, memory_order_relaxed) == turn &&
	       ret->key == k->reach_key && ret->n <= TSDB_REACH_WORDS;
}

/* A number that is no address of a GPU or of page-locked memory: those have at most 57 bits, and
 * lie above 4 GiB or in an allocation that is known. */
static bool is_number(uint64_t word)
{
	return word < 1ull << 32 || word >> 57;
}

/* Returns false if the word may point to anything. */
static bool add(struct reach *r, uint64_t word)
{
	struct live l;
	/* It may point right behind an allocation, where another one begins. */
	const bool in = live_at(word, &l), in_host = in && live_is_host(&l);
	const bool behind = word && live_at(word - 1, &l), behind_host = behind && live_is_host(&l);
	if (in_host || behind_host)
		r->pointer[r->n++] = word;
	return in || behind || is_number(word);
}

void reach_find(const struct call *c, struct reach *ret)
{
	const struct sbt_blob *args = &c->cmd.u.launch.args;
	struct tsdb_reach k;
	*ret = (struct reach){.known = false};
	if (c->cmd.kind != SBT_LAUNCH || !read_offsets(c->kernel, &k))
		return;
	for (uint32_t i = 0; i < k.n; i++) {
		uint64_t word;
		if (args->len < 8 || k.word[i] > args->len - 8)
			return;
		memcpy(&word, (const uint8_t *)args->p + k.word[i], 8);
		if (!add(ret, word))
			return;
	}
	ret->known = true;
}

bool reach_has(const struct reach *r, const struct live *l)
{
	for (uint32_t i = 0; r->known && i < r->n; i++)
		if (r->pointer[i] - l->addr <= l->size)
			return true;
	return !r->known;
}
