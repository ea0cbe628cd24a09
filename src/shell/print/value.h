/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of `print`, `x` and `set $x = ...`: expressions over the current command, variables,
 * /FORMAT letters.
 */
#ifndef SHELL_VALUE_H
#define SHELL_VALUE_H

#include "shell/line/session.h"

enum value_kind { VALUE_INT, VALUE_FLOAT, VALUE_TEXT, VALUE_BYTES };
struct value {
	enum value_kind kind;
	enum sbt_type type; /* of an INT: how it is shown */
	unsigned size;	    /* of an INT, bytes: 1, 2, 4 or 8 */
	int64_t i;
	double f;
	struct sbt_blob bytes; /* TEXT, BYTES: owned by the command */
};

/* Evaluates text at the current command. $cmd.FIELD and FIELD mean the same. */
struct err *value_eval(struct session *s, const char *text, struct value *ret) TS_CHECK;
/* Appends v by a format letter (0: its own); ERR_USAGE for an unknown letter. limit: most bytes of
 * TEXT and BYTES, 0: all. */
struct err *value_format(
	const struct value *v, char letter, uint64_t limit, struct buf *out) TS_CHECK;

/* Finds parameter i in the layout of the kernel of launch c: its bytes within c's args, or those
 * that `set arg` replaced them with; returns false if there is none. */
bool value_arg(struct session *s, const struct sbt_cmd *c, unsigned i, uint32_t *ret_offset,
	struct sbt_blob *ret);

/* --- x/FMT --- */
struct x_format {
	uint64_t count;
	char letter; /* x d u o t c f a s */
	char unit;   /* b h w g */
};
#define X_COUNT_MAX (1u << 20)
/* Reads "8fw"; *f has the defaults. */
struct err *x_format_parse(struct x_format *f, const char *text) TS_CHECK;
unsigned x_unit_bytes(char unit);
/* Appends one unit, by letter and unit. */
void x_format_one(struct buf *out, const struct x_format *f, const void *bytes);
/* Appends lines "0xADDR:\tv\tv..." for bytes read at addr. */
void x_format_print(struct buf *out, const struct x_format *f, uint64_t addr, const void *bytes);

#endif
