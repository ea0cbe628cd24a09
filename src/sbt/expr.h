/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions on commands: `block_x > 256 && stream == 2`, `arg2 != 0`. Compiled once by tsdb into a
 * short program of fixed size that is put into the shared control block; evaluated there by the
 * agent and by the replay engine alike. Evaluation allocates nothing and cannot fail: a field that
 * the command's kind does not have is 0.
 *
 * Grammar, C's with C's precedence, over 64-bit integers (unsigned, except INT fields and
 * constants):
 *   || && | ^ & == != < <= > >= << >> + - * / % ! ~ - ( ), decimal, 0x hex, K M G suffixes (powers
 * of 1024), 0.5; fields of commands.def and the common ones; argN (the launch's parameter N, up to
 * 8 bytes, zero-extended), argN.f32 .f64 .s8 .s16 .s32 .s64 .u8 .u16 .u32 .u64 read it as that
 * type, argN[8].f32 from its byte 8 on; enumeration names (h2d, pinned, ...) as their numbers,
 * after `ENUM-FIELD ==` those of that field; after `kind ==` the names of kinds. As in C, an
 * operation with a floating operand is done in double, else one with an unsigned operand is
 * unsigned. Division by zero yields 0.
 *
 * Over the Python functions that a command was called from: pyfunc, pyfile and pyline are about the
 * innermost one, pystack is any function on the stack. Texts in "" or '': pyfunc == "forward", !=
 * the opposite; =~ and !~ take a glob (*, ?, [..]). A function's text is its name, or as much of
 * its qualified name as one likes ("Net.forward"); a file's, its path, or the end of it
 * ("train.py", "lib/train.py"). Without a Python frame the texts are empty and pyline is 0.
 *
 * Two files: expr.c evaluates and is also compiled into the agent; expr-parse.c compiles the text,
 * in tsdb only.
 */
#ifndef SBT_EXPR_H
#define SBT_EXPR_H

#include "sbt/cmd.h"

#define SBT_EXPR_MAX 64
#define SBT_EXPR_TEXT 256

struct sbt_op {
	uint8_t op;	/* enum sbt_opcode */
	uint8_t type;	/* of a constant: enum sbt_value_type; of an argument: enum sbt_view */
	uint16_t index; /* argument number, the field's number within its kind, or where in text a
			   text begins */
	uint32_t kind;	/* the first kind that has the field; 0: a common field */
	uint64_t
		value; /* constant; of a text: enum sbt_text_flag; of an argument: the first byte */
};

/* Fixed size, no pointers: it lives in shared memory. All zero is the empty expression, which is
 * true. */
struct sbt_expr {
	uint32_t n;
	uint32_t kind;			 /* compiled for this kind; 0: for any */
	struct sbt_op ops[SBT_EXPR_MAX]; /* in postfix order */
	char text[SBT_EXPR_TEXT];	 /* each with its NUL */
};

enum sbt_value_type { SBT_V_UNSIGNED, SBT_V_SIGNED, SBT_V_FLOAT };
struct sbt_value {
	enum sbt_value_type type;
	uint64_t u; /* UNSIGNED and SIGNED (two's complement) */
	double f;   /* FLOAT */
};

/* Compiles text for commands of kind (0: any kind). On failure returns false and writes one
 * sentence to why. */
bool sbt_expr_compile(
	struct sbt_expr *ret, unsigned kind, const char *text, char *why, size_t why_size);
/* params: kernel_def.params of the launch's kernel, for argN; may be NULL. */
bool sbt_expr_true(
	const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params);
/* The value, for `print`; the empty expression is 1. */
struct sbt_value sbt_expr_eval(
	const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params);
/* The value as an integer; a floating value is cut towards 0 and clamped to int64_t. */
int64_t sbt_expr_value(
	const struct sbt_expr *e, const struct sbt_cmd *c, const struct sbt_blob *params);

/* A question about the Python frames of a command. */
enum sbt_python { SBT_PY_FUNC, SBT_PY_FILE, SBT_PY_STACK, SBT_PY_LINE };
/* Answers such questions. answer() returns the line for SBT_PY_LINE, else whether sbt_python_is()
 * holds for the text; 0 when there is no such frame. */
struct sbt_python_view {
	uint64_t (*answer)(void *arg, enum sbt_python what, const char *text, bool glob);
	void *arg;
};
/* As sbt_expr_eval() and sbt_expr_true(), with view to answer about Python frames; view NULL: there
 * are none. */
struct sbt_value sbt_expr_eval_in(const struct sbt_expr *e, const struct sbt_cmd *c,
	const struct sbt_blob *params, const struct sbt_python_view *view);
bool sbt_expr_true_in(const struct sbt_expr *e, const struct sbt_cmd *c,
	const struct sbt_blob *params, const struct sbt_python_view *view);
/* Whether the expression asks about Python frames. */
bool sbt_expr_asks_python(const struct sbt_expr *e);
/* Whether the text of a condition matches name: a path when what is SBT_PY_FILE, else a qualified
 * function name. */
bool sbt_python_is(enum sbt_python what, const char *text, bool glob, const char *name);

/* --- shared by expr.c and expr-parse.c --- */
enum sbt_opcode {
	SBT_OP_NONE,
	SBT_OP_CONST,
	SBT_OP_FIELD,
	SBT_OP_ARG,
	SBT_OP_NOT,
	SBT_OP_INVERT,
	SBT_OP_NEGATE,
	SBT_OP_OROR,
	SBT_OP_ANDAND,
	SBT_OP_OR,
	SBT_OP_XOR,
	SBT_OP_AND,
	SBT_OP_EQ,
	SBT_OP_NE,
	SBT_OP_LT,
	SBT_OP_LE,
	SBT_OP_GT,
	SBT_OP_GE,
	SBT_OP_SHL,
	SBT_OP_SHR,
	SBT_OP_ADD,
	SBT_OP_SUB,
	SBT_OP_MUL,
	SBT_OP_DIV,
	SBT_OP_MOD,
	SBT_OP_PYTHON /* an operand; type: enum sbt_python */
};
enum sbt_text_flag { SBT_TEXT_GLOB = 1, SBT_TEXT_NOT = 2 };
enum sbt_view {
	SBT_VIEW_PLAIN,
	SBT_VIEW_F32,
	SBT_VIEW_F64,
	SBT_VIEW_S8,
	SBT_VIEW_S16,
	SBT_VIEW_S32,
	SBT_VIEW_S64,
	SBT_VIEW_U8,
	SBT_VIEW_U16,
	SBT_VIEW_U32,
	SBT_VIEW_U64
};

#endif
