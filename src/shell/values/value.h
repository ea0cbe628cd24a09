/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of `print`, `x`, `set $x = ...`: expressions (lang/lang.h) over the names that there
 * are where the session stands: fields and arguments of the current command, $ variables, registers
 * and variables of a launch under the microscope.
 */
#ifndef SHELL_VALUE_H
#define SHELL_VALUE_H

#include "lang/lang.h"
#include "shell/line/session.h"
#include "sbt/fields.h"

/* Evaluates text; the caller owns *ret. */
struct err *value_eval(struct session *s, const char *text, struct lang_value *ret) TS_CHECK;
/* The same in another lane of the warp under the microscope than the focused one. */
struct err *value_eval_lane(
	struct session *s, const char *text, int lane, struct lang_value *ret) TS_CHECK;
/* The same for an address: *ret_space (may be NULL) is the value's memory space, an enum
 * soft_space.
 */
struct err *value_address(
	struct session *s, const char *text, uint64_t *ret, unsigned *ret_space) TS_CHECK;
/* Whether a condition holds. A variable that was never set does not. */
struct err *value_true(struct session *s, const char *text, bool *ret) TS_CHECK;
/* The type that text, an expression or a type, has; NULL: void. */
struct err *value_type(struct session *s, const char *text, const struct lang_type **ret) TS_CHECK;
/* Appends v by a format letter (0: by its type). */
struct err *value_show(
	struct session *s, const struct lang_value *v, char letter, struct buf *out) TS_CHECK;
/* The same as part of a list: a pointer without its type, and what cannot be read as
 * "<error: ...>". */
void value_show_inside(struct session *s, const struct lang_value *v, struct buf *out);
/* Reads v's bytes, so that it can be kept. */
struct err *value_fetch(struct session *s, struct lang_value *v) TS_CHECK;
/* A scalar as an integer, or as a floating number. */
struct err *value_int(struct session *s, const struct lang_value *v, int64_t *ret) TS_CHECK;
struct err *value_double(struct session *s, const struct lang_value *v, double *ret) TS_CHECK;
/* The field that commands of a kind have by that name, common ones too; NULL: they have none. */
const struct sbt_field *value_field(unsigned kind, const char *name);
/* The type of the values of a field, which is no text and no bytes. */
const struct lang_type *value_field_type(struct session *s, const struct sbt_field *f);
/* The number that an enumeration's name means: h2d, pinned, ... */
bool value_enum(struct session *s, const char *name, struct lang_value *ret);
/* The value of a field of c. */
struct lang_value value_of_field(
	struct session *s, const struct sbt_cmd *c, const struct sbt_field *f);
/* The bytes as hexadecimal numbers of one byte. */
struct lang_value value_of_bytes(struct session *s, const struct sbt_blob *bytes);

/* Finds parameter i in the layout of the kernel of launch c: its bytes within c's args, or those
 * that `set arg` replaced them with; returns false if there is none. */
bool value_arg(struct session *s, const struct sbt_cmd *c, unsigned i, uint32_t *ret_offset,
	struct sbt_blob *ret);

#endif
