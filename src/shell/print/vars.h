/* SPDX-License-Identifier: Apache-2.0
 *
 * $ variables: the values that print showed ($1, $2, $, $$), the user's own (`set $n = 5`), and a
 * few that tsdb sets.
 */
#ifndef SHELL_VARS_H
#define SHELL_VARS_H

#include <stdint.h>
#include "base/err.h"

struct vars;

struct vars *vars_new(void);
void vars_free(struct vars *v);
void vars_set(struct vars *v, const char *name, int64_t value);
/* Appends to the value history and returns the value's number, from 1. */
unsigned vars_remember(struct vars *v, int64_t value);
bool vars_get(const struct vars *v, const char *name, int64_t *ret);
/* Replaces every $variable in text by its value, and removes the dollar sign of "$cmd." and
 * "$FIELD"; a heap string. is_field says whether a name that is no variable is a field of the
 * current command. */
struct err *vars_expand(const struct vars *v, const char *text,
	bool (*is_field)(void *arg, const char *name), void *arg, char **ret) TS_CHECK;
/* Appends the user's variables and the history, as "$x = 5" lines. */
struct buf;
void vars_print(const struct vars *v, struct buf *out);

#endif
