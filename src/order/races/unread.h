/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies to the host that nobody can have read in time. What the host reads is not recorded; but where the host had not waited for a copy before its
 * bytes were overwritten or their memory was freed, or when the recording ends, and no later command took them either, the host reads too early, or
 * not at all.
 */
#ifndef ORDER_UNREAD_H
#define ORDER_UNREAD_H

#include "order/order.h"

#define UNREAD_MAX 64 /* copies that nobody waited for yet, the newest */

struct unread_copy {
	struct order_item at; /* its clock is not kept */
	uint64_t addr, end;
	uint32_t stack;
};
struct unread {
	struct unread_copy c[UNREAD_MAX];
	unsigned n;
	void (*found)(void *arg, const struct unread_copy *copy, const struct sbt_cmd *by, enum order_unread why);
	void *arg;
};

/* Command c, which is it when it runs on a stream (else NULL), touches l; s is the state before it, and knows what the host knew to be finished when it
 * called. */
void unread_command(struct unread *u, const struct state *s, const struct sbt_cmd *c, const struct order_item *it, const struct order_accesses *l,
	const struct clock *knows);
/* The recording ends with c. */
void unread_end(struct unread *u, const struct sbt_cmd *c, const struct clock *knows);

#endif
