/* SPDX-License-Identifier: Apache-2.0
 *
 * Races by cause: one missing wait in a loop, or in a function that is called for many streams, is met in many places.
 */
#ifndef SHELL_CAUSES_H
#define SHELL_CAUSES_H

#include "order/order.h"
#include "shell/line/session.h"

/* For each of n races, sorted, the number of the first one with its cause: the same tier, kinds of command, kernels and functions of the host, whatever the
 * lines, streams and addresses. Heap. */
size_t *causes_find(struct session *s, struct sbt_reader *r, const struct order_race *races, size_t n);

#endif
