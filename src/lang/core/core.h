/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the drawer share: tokens, the tree of an expression, numbers.
 */
#ifndef LANG_CORE_H
#define LANG_CORE_H

#include "lang/lang.h"

struct lang_block;
struct lang {
	struct lang_block *blocks; /* memory of types */
	struct lang_type *bases;
	unsigned nbases;
};

/* --- the tree --- */

enum lang_op {
	LANG_OP_CONST,	/* value */
	LANG_OP_NAME,	/* text */
	LANG_OP_TYPE,	/* type: `sizeof (int)`, `whatis int` */
	LANG_OP_CAST,	/* (type) a */
	LANG_OP_AT,	/* {type} a */
	LANG_OP_MEMBER, /* a.text */
	LANG_OP_ARROW,	/* a->text */
	LANG_OP_INDEX,	/* a[b] */
	LANG_OP_DEREF,
	LANG_OP_ADDRESS,
	LANG_OP_NEGATE,
	LANG_OP_PLUS,
	LANG_OP_NOT,
	LANG_OP_INVERT,
	LANG_OP_SIZEOF,
	LANG_OP_CALL,	/* a(...): refused by name */
	LANG_OP_BEFORE, /* ++a, --a: b is the step, type of change in how */
	LANG_OP_AFTER,	/* a++, a-- */
	/* two operands */
	LANG_OP_MUL,
	LANG_OP_DIV,
	LANG_OP_MOD,
	LANG_OP_ADD,
	LANG_OP_SUB,
	LANG_OP_REPEAT, /* a@b */
	LANG_OP_SHL,
	LANG_OP_SHR,
	LANG_OP_LT,
	LANG_OP_LE,
	LANG_OP_GT,
	LANG_OP_GE,
	LANG_OP_EQ,
	LANG_OP_NE,
	LANG_OP_AND,
	LANG_OP_XOR,
	LANG_OP_OR,
	LANG_OP_ANDAND,
	LANG_OP_OROR,
	LANG_OP_ASSIGN, /* a = b, or a how= b */
	LANG_OP_COMMA,
	LANG_OP_CHOOSE, /* a ? b : c */
};

struct lang_node {
	enum lang_op op;
	enum lang_op how; /* of ASSIGN: the operation before it, or CONST for none; of BEFORE,
			     AFTER: ADD or SUB */
	struct lang_node *a, *b, *c;
	const struct lang_type *type;
	struct lang_value value;
	char *text;
	struct lang_node *next; /* every node of a tree, for lang_tree_free() */
};
/* Parses all of text. The tree is freed with lang_tree_free(). */
struct err *lang_parse(struct lang *l, const struct lang_scope *scope, const char *text,
	struct lang_node **ret_root, struct lang_node **ret_all) TS_CHECK;
void lang_tree_free(struct lang_node *all);

/* --- scalars --- */

/* A scalar taken out of its bytes. */
struct lang_number {
	const struct lang_type *type; /* without typedefs */
	bool is_float;
	uint64_t u; /* an integer, extended to 64 bits by its sign */
	double f;
};
bool lang_is_integral(const struct lang_type *t); /* stripped: BOOL, CHAR, INT, ENUM */
bool lang_is_scalar(const struct lang_type *t);	  /* that, FLOAT or POINTER */
/* The number that n bytes of type t are; false when t is no scalar that can be computed with. */
bool lang_load(const struct lang_type *t, const uint8_t *bytes, struct lang_number *ret);
/* n as t's bytes, converted as C does. dst has t->size bytes. */
void lang_store(const struct lang_type *t, const struct lang_number *n, uint8_t *dst);
/* A bit-field's value out of the (bit_offset + bits + 7) / 8 bytes that it lies in. */
struct lang_value lang_bits(const struct lang_member *m, const uint8_t *bytes);
/* a OP b, or OP a (b NULL), of numbers that are no pointers. */
struct err *lang_arith(struct lang *l, enum lang_op op, const struct lang_number *a,
	const struct lang_number *b, struct lang_number *ret) TS_CHECK;
/* "+", "<<=", for errors. */
const char *lang_op_name(enum lang_op op);

#endif
