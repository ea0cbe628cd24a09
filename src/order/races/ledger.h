/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers the last accesses to each byte: for each allocation, pieces of it with the accesses
 * that a later one may conflict with. An access is dropped as soon as a later one covers it
 * (FastTrack, Flanagan and Freund 2009): whatever races with the dropped one races with the later
 * one, too. So the ledger's size depends on allocations and streams, not on the number of commands.
 */
#ifndef ORDER_LEDGER_H
#define ORDER_LEDGER_H

#include "order/order.h"

struct ledger;

/* An access as the ledger keeps it. */
struct ledger_touch {
	uint64_t seq;
	uint32_t lane, index;
	uint32_t kernel, stack; /* as in struct order_party */
	uint16_t kind;
	uint16_t how; /* enum order_how */
	bool polls;   /* a kernel that may wait for words that others set (polls.h) */
	bool doubt;   /* ORDER_EARLY_VALUE */
};

/* Called for every earlier touch that conflicts with the new one and is not ordered before it. */
typedef void ledger_fn(void *arg, const struct ledger_touch *earlier,
	const struct ledger_touch *now, uint64_t addr, uint64_t end);

struct ledger *ledger_new(ledger_fn *conflict, void *arg);
void ledger_free(struct ledger *l);
/* The access `now` of item, which happens after item->clock, to [addr, end) of the allocation key
 * (any number that no other allocation ever has; 0: memory in no allocation). */
void ledger_touch(struct ledger *l, uint64_t key, const struct order_item *item,
	const struct ledger_touch *now, uint64_t addr, uint64_t end);
/* Calls fn for every touch that is remembered of bytes in [addr, end), until it returns true;
 * whether it did. */
bool ledger_each(const struct ledger *l, uint64_t key, uint64_t addr, uint64_t end,
	bool (*fn)(void *arg, const struct ledger_touch *t), void *arg);
/* Forgets an allocation that was freed. */
void ledger_forget(struct ledger *l, uint64_t key);
/* Allocations that were cut into too many pieces. */
uint64_t ledger_coarse(const struct ledger *l);

/* Whether two accesses disturb each other when nothing orders them. */
bool ledger_conflict(enum order_how a, enum order_how b);

#endif
