/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions on commands: `block_x > 256 && stream == 2`, `arg2 != 0`. Compiled once by tsdb into a short program of
 * fixed size that is put into the shared control block; evaluated there by the agent and by the replay engine alike.
 * Evaluation allocates nothing and cannot fail: a field that the command's kind does not have is 0.
 *
 * Grammar, C's with C's precedence, over 64-bit integers (unsigned, except INT fields and constants):
 *   || && | ^ & == != < <= > >= << >> + - * / % ! ~ - ( ), decimal, 0x hex, K M G suffixes (powers of 1024);
 *   fields of commands.def and the common ones; argN (the launch's parameter N, up to 8 bytes, zero-extended),
 *   argN.f32 / argN.f64 / argN.s32 compare as that type; enumeration names (h2d, pinned, ...) as their numbers.
 *   Division by zero yields 0.
 */
#ifndef SBT_EXPR_H
#define SBT_EXPR_H

#include "sbt/cmd.h"

#define SBT_EXPR_MAX 64

struct sbt_op {
	uint8_t op;	 /* private to expr.c */
	uint8_t type;	 /* enum sbt_type of a field, or the view of an argument */
	uint16_t index;	 /* argument number */
	uint32_t pad;
	uint64_t value;	 /* constant; or the field's name packed as an index, private */
};

/* Fixed size, no pointers: it lives in shared memory. All zero is the empty expression, which is true. */
struct sbt_expr {
	uint32_t n;
	uint32_t kind; /* compiled for this kind; 0: for any */
	struct sbt_op ops[SBT_EXPR_MAX];
};

/* Compiles text for commands of kind (0: any kind). On failure returns false and writes one sentence to why. */
bool sbt_expr_compile(struct sbt_expr *ret, unsigned kind, const char *text, char *why, size_t why_size);
/* params: kernel_def.params of the launch's kernel, for argN; may be NULL. */
bool sbt_expr_true(const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params);
/* The value, for `print`. */
int64_t sbt_expr_value(const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params);

#endif
