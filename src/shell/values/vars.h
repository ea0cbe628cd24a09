/* SPDX-License-Identifier: Apache-2.0
 *
 * $ variables: the values that print showed ($1, $2, $, $$, $$3), the user's own (`set $n = 5`),
 * and a few that tsdb sets. Also the types that fields of commands have in expressions. One for a
 * session.
 */
#ifndef SHELL_VARS_H
#define SHELL_VARS_H

#include <stdint.h>
#include "base/err.h"
#include "lang/lang.h"
#include "sbt/cmd.h"
#include "sbt/fields.h"

struct vars;

struct vars *vars_new(void);
void vars_free(struct vars *v);
/* What evaluates this session's expressions; lives as long as v. */
struct lang *vars_lang(struct vars *v);
/* The type of fields of type t: a number, shown as the field is. */
const struct lang_type *vars_field_type(struct vars *v, enum sbt_type t);

/* $_shell_exitcode or $_shell_exitsignal, of what wait() says of a child. */
void vars_set_status(struct vars *v, int status);
void vars_set(struct vars *v, const char *name, int64_t value);
/* A copy of value, which is void to forget the variable. */
void vars_put(struct vars *v, const char *name, const struct lang_value *value);
/* Appends a copy to the value history and returns its number, from 1. */
unsigned vars_remember(struct vars *v, const struct lang_value *value);
/* Finds what stands behind the dollar sign: "n", "3", "" (the newest), "$" (the one before it),
 * "$3" (the one three before it). The caller owns *ret. */
bool vars_find(const struct vars *v, const char *name, struct lang_value *ret);
/* The same for an integer. */
bool vars_get(const struct vars *v, const char *name, int64_t *ret);
/* Calls each for the history, then the user's variables, with their names ("1", "n"). */
void vars_each(const struct vars *v,
	void (*each)(void *arg, const char *name, const struct lang_value *value), void *arg);

#endif
