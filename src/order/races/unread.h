/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds copies to the host that the host cannot have read in time. The host's reads are not
 * recorded. But if the host had not waited for a copy when its bytes were overwritten or freed, or
 * when the recording ended, and no later command read them, then the host read them too early or
 * not at all.
 */
#ifndef ORDER_UNREAD_H
#define ORDER_UNREAD_H

#include "order/order.h"

#define UNREAD_MAX 64 /* copies that the host has not waited for; only the newest are kept */

struct unread_copy {
	struct order_item at; /* its clock is not kept */
	uint64_t addr, end;
	uint32_t stack;
};
struct unread {
	struct unread_copy c[UNREAD_MAX];
	unsigned n;
	void (*found)(void *arg, const struct unread_copy *copy, const struct sbt_cmd *by,
		enum order_unread why);
	void *arg;
};

/* Takes command c. it: its item when it runs on a stream, else NULL; l: what it touches; s: the
 * state before it; knows: what the host knew to be finished when it made the call. */
void unread_command(struct unread *u, const struct state *s, const struct sbt_cmd *c,
	const struct order_item *it, const struct order_accesses *l, const struct clock *knows);
/* The recording ends with c. */
void unread_end(struct unread *u, const struct sbt_cmd *c, const struct clock *knows);

#endif
