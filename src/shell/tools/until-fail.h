/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb record --until-fail`: runs a program until it fails.
 */
#ifndef SHELL_UNTIL_FAIL_H
#define SHELL_UNTIL_FAIL_H

#include "shell/line/session.h"

/* Records up to `most` runs of the session's program into path (heap or NULL: the program's name),
 * one after the other, until one has failed and one has passed. record: one run. The exit status,
 * or the signal that ends tsdb, is the failed run's; *ret 0: none failed. */
struct err *until_fail(struct session *s, uint64_t most, struct err *(*record)(struct session *s),
	int *ret) TS_CHECK;

#endif
