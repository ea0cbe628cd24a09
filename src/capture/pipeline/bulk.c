/* SPDX-License-Identifier: Apache-2.0
 *
 * Bulk slots, producer; see bulk.h. Any thread may send, several at a time; a slot belongs to the
 * holder of its ticket.
 */
#include "capture/pipeline/bulk.h"

#include <string.h>
#include <time.h>

#define WAIT_FIRST_NS 20000
#define WAIT_LONGEST_NS 1000000

static bool is_mine(struct tsdb_bulk *b, uint32_t turn)
{
	/* Pairs with the consumer's release of FREE: its turn and its reads are done. */
	return atomic_load_explicit(&b->state, memory_order_acquire) == TSDB_BULK_FREE &&
	       atomic_load_explicit(&b->turn, memory_order_acquire) == turn;
}

/* Waits for the slot of the next ticket. NULL: tsdb does not listen. */
static struct tsdb_bulk *take(struct piece *p, uint8_t **ret_data)
{
	struct tsdb_control *c = agent.control;
	const uint64_t ticket = atomic_fetch_add(&c->next_bulk, 1);
	const uint32_t i = (uint32_t)(ticket % TSDB_BULK_SLOTS);
	struct tsdb_bulk *b = &c->bulk[i];
	long ns = WAIT_FIRST_NS;
	for (unsigned sleeps = 0; !is_mine(b, (uint32_t)(ticket / TSDB_BULK_SLOTS));) {
		if (!agent_live())
			return NULL;
		if (++sleeps % 16 == 0 && agent_debugger_gone(agent.control)) {
			agent_retire();
			return NULL;
		}
		nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
		ns = ns * 2 > WAIT_LONGEST_NS ? WAIT_LONGEST_NS : ns * 2;
	}
	if (!p->number)
		p->number = ticket + 1; /* unique, after an exec too */
	*ret_data = (uint8_t *)c + tsdb_bulk_offset(c->ring_bytes, i);
	return b;
}

static void describe(struct tsdb_bulk *b, const struct piece *p, uint64_t n, uint32_t flags)
{
	b->piece = p->number;
	b->seq = p->seq;
	b->addr = p->addr;
	b->size = p->size;
	b->role = p->role;
	b->owner = p->owner;
	b->module = p->module;
	b->ctx = p->ctx;
	b->flags = flags | (p->doubt ? TSDB_BULK_DOUBT : 0);
	b->offset = p->at;
	b->n = (uint32_t)n;
	b->name_len = 0;
	if (p->name && !p->at) {
		b->name_len = (uint32_t)strnlen(p->name, TSDB_NAME_MAX);
		memcpy(b->name, p->name, b->name_len);
	}
}

static void give(struct tsdb_bulk *b)
{
	atomic_store_explicit(&b->state, TSDB_BULK_FULL, memory_order_release);
}

static bool send_slot(struct piece *p, size_t n, bulk_fill_fn *fill, void *arg)
{
	uint8_t *data;
	struct tsdb_bulk *b = take(p, &data);
	if (!b)
		return false;
	const bool good = !n || fill(arg, p->at, data, n);
	describe(b, p, good ? n : 0, good ? 0 : TSDB_BULK_CUT);
	give(b);
	p->at += n;
	return good;
}

bool bulk_fill(struct piece *p, uint64_t n, bulk_fill_fn *fill, void *arg)
{
	const uint64_t end = p->at + n;
	if (!p->size)
		return send_slot(p, 0, fill, arg);
	while (p->at < end) {
		const uint64_t left = end - p->at;
		if (!send_slot(p, left < TSDB_BULK_BYTES ? left : TSDB_BULK_BYTES, fill, arg))
			return false;
	}
	return true;
}

struct from {
	const uint8_t *bytes;
	uint64_t offset;
};

static bool from_bytes(void *arg, uint64_t offset, void *dst, size_t n)
{
	const struct from *f = arg;
	memcpy(dst, f->bytes + (offset - f->offset), n);
	return true;
}

bool bulk_bytes(struct piece *p, const void *bytes, uint64_t n)
{
	return bulk_fill(p, n, from_bytes, &(struct from){bytes, p->at});
}

bool bulk_same(struct piece *p, const struct sbt_hash *pages, uint64_t n)
{
	for (uint64_t done = 0; done < n;) {
		uint8_t *data;
		struct tsdb_bulk *b = take(p, &data);
		const uint64_t part = n - done < TSDB_SAME_MAX ? n - done : TSDB_SAME_MAX;
		if (!b)
			return false;
		memcpy(data, pages + done / SBT_PAGE,
			(part + SBT_PAGE - 1) / SBT_PAGE * sizeof(*pages));
		describe(b, p, part, TSDB_BULK_SAME);
		give(b);
		p->at += part;
		done += part;
	}
	return true;
}

bool bulk_hash(struct piece *p, struct sbt_hash hash)
{
	uint8_t *data;
	struct tsdb_bulk *b = take(p, &data);
	if (!b)
		return false;
	describe(b, p, 0, TSDB_BULK_HASH_ONLY);
	b->hash = hash;
	give(b);
	return true;
}

void bulk_adopt(struct tsdb_control *c)
{
	const uint64_t next = atomic_load(&c->next_bulk);
	for (uint64_t k = next > TSDB_BULK_SLOTS ? next - TSDB_BULK_SLOTS : 0; k < next; k++) {
		struct tsdb_bulk *b = &c->bulk[k % TSDB_BULK_SLOTS];
		if (!is_mine(b, (uint32_t)(k / TSDB_BULK_SLOTS)))
			continue;
		b->piece = b->n = 0;
		give(b);
	}
}
