/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules' code; see code.h. The same code loaded in ten processes' worth of contexts is sent once.
 */
#include "capture/objects/code.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "capture/core/agent.h"
#include "capture/core/calls.h"
#include "capture/objects/globals.h"
#include "capture/objects/ids.h"
#include "capture/objects/map.h"
#include "capture/core/thread.h"

#define PIECE (32u << 10)

static void send_pieces(
	struct thread *t, uint64_t hash, const uint8_t *code, size_t size, enum code_kind kind)
{
	for (size_t at = 0; at < size; at += PIECE) {
		const uint32_t n = size - at < PIECE ? (uint32_t)(size - at) : PIECE;
		const uint32_t bytes = (uint32_t)(sizeof(struct tsdb_msg_code) + n + 7) & ~7u;
		struct tsdb_msg_code *m = ring_reserve(&t->ring, bytes, true);
		if (!m)
			return;
		*m = (struct tsdb_msg_code){.head = {.size = bytes, .type = TSDB_MSG_CODE},
			.hash = hash,
			.total = size,
			.offset = at,
			.n = n,
			.kind = kind};
		memcpy(m->bytes, code + at, n);
		ring_commit(&t->ring, bytes);
	}
}

bool code_wanted(void)
{
	return atomic_load_explicit(&agent.control->code, memory_order_relaxed) ||
	       atomic_load_explicit(&agent.control->memory, memory_order_relaxed) !=
		       TSDB_MEMORY_NONE;
}

static uint64_t hash_of(const void *code, size_t size)
{
	const uint64_t hash = XXH64(code, size, 0);
	return hash + !hash; /* 0 means "not known" */
}

static void send_once(
	struct thread *t, uint64_t hash, const void *code, size_t size, enum code_kind kind)
{
	static struct map sent; /* hash -> 1 */
	static struct spin one_at_a_time;
	spin_lock(&one_at_a_time);
	const bool mine = !map_get(&sent, hash) && !map_put(&sent, hash, 1);
	spin_unlock(&one_at_a_time);
	if (mine)
		send_pieces(t, hash, code, size, kind);
}

uint64_t code_send(struct thread *t, const void *code, size_t size, enum code_kind kind)
{
	if (!size)
		return 0;
	const uint64_t hash = hash_of(code, size);
	send_once(t, hash, code, size, kind);
	return hash;
}

void code_loaded(struct thread *t, const void *code, size_t size)
{
	const enum code_kind kind = code_kind_of(code, size);
	const uint64_t hash = hash_of(code, size);
	t->loaded_hash = hash;
	t->loaded_size = size;
	globals_learn(hash, code, size);
	if (code_wanted())
		send_once(t, hash, code, size, kind);
}

void code_peek(struct thread *t, const void *code, size_t size)
{
	t->loaded_hash = hash_of(code, size);
	t->loaded_size = size;
}

uint64_t code_belongs(struct thread *t, struct object *module)
{
	struct sbt_cmd cmd = {.kind = SBT_MODULE_CODE};
	if (!module || module->hash || !t->loaded_hash)
		return 0;
	module->hash = t->loaded_hash;
	module->size = t->loaded_size;
	cmd.u.module_code.module = module->id;
	cmd.u.module_code.code_hash = module->hash;
	cmd.u.module_code.code_size = module->size;
	record_now(t, &cmd, SBT_F_SYNTHETIC);
	return cmd.seq;
}
