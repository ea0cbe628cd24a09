/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups races by cause: one missing wait, in a loop or in a function that is called for many
 * streams, is found in many places.
 */
#ifndef SHELL_CAUSES_H
#define SHELL_CAUSES_H

#include "order/order.h"
#include "shell/line/session.h"

/* For each of n races, sorted, the index of the first one with the same cause: the same tier, kinds
 * of command, kernels and host functions; lines, streams and addresses may differ. Heap. */
size_t *causes_find(
	struct session *s, struct sbt_reader *r, const struct order_race *races, size_t n);

#endif
