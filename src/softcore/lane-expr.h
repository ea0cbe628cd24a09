/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions about one lane of a kernel: names that the machine knows (registers, variables),
 * numbers, memory, and C's operators with C's precedence. Compiled once, since a breakpoint's
 * condition is evaluated for every lane at every pass. Integers are 64 bits, signed. `f32[ADDRESS]`
 * reads memory, `f32(X)` makes X one of that type, `&NAME` is a variable's address.
 */
#ifndef SOFTCORE_LANE_EXPR_H
#define SOFTCORE_LANE_EXPR_H

#include "replayer/soft-debug.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lane_type {
	LANE_U8,
	LANE_S8,
	LANE_U16,
	LANE_S16,
	LANE_U32,
	LANE_S32,
	LANE_U64,
	LANE_S64,
	LANE_F32,
	LANE_F64,
	LANE_TYPES
};

struct lane_op {
	uint8_t kind;	 /* private to lane-expr.c; of a name: LANE_NAME */
	uint8_t name;	 /* what follows is the machine's, for a name */
	uint8_t type;	 /* of a cast or load: enum lane_type */
	uint8_t space;	 /* of an address: the machine's number of its memory */
	bool is_address; /* the value is the address of a variable */
	int32_t off;
	union {
		int64_t i;
		double f;
		const void *object;
	};
};
enum { LANE_NAME = 0, LANE_OPS = 64 };
struct lane_expr {
	unsigned n;
	struct lane_op op[LANE_OPS];
};
struct lane_value {
	bool is_float;
	bool bad; /* it reads memory that is not there */
	int64_t i;
	double f;
};

/* The names that a place knows. */
struct lane_names {
	const void *arg;
	/* Fills *ret with the name that text begins with and returns its length; 0: there is none.
	 * address: the text is behind an `&`. */
	size_t (*find)(const void *arg, const char *text, bool address, struct lane_op *ret);
	const char *where; /* "the PTX": for the sentence about a variable that is not there */
};
/* NULL, or what is wrong with the text, in why. */
const char *lane_compile(
	struct lane_expr *x, const struct lane_names *names, const char *text, char *why, size_t n);

/* What names are for a lane. */
struct lane_reader {
	const void *arg;
	struct lane_value (*name)(const void *arg, const struct lane_op *o, unsigned lane);
	/* The n bytes at an address as the lane sees them; NULL: they are not there. */
	const uint8_t *(*memory)(const void *arg, unsigned lane, uint64_t addr, unsigned n);
	/* The type of an expression that is one name alone: type, bytes, declared. */
	void (*declare)(const struct lane_op *o, struct soft_value *ret);
};
struct lane_value lane_eval(const struct lane_expr *x, const struct lane_reader *r, unsigned lane);
bool lane_is_true(const struct lane_value *v);
/* How the value of x is shown: a lone name by its own type, what is cast or loaded by that type.
 * *ret_space: the memory that an address is in, -1: it is none. */
void lane_type(const struct lane_expr *x, const struct lane_reader *r, struct soft_value *ret,
	int *ret_space);
/* The bits of v as that type. */
uint64_t lane_bits(const struct lane_value *v, const struct soft_value *type);
/* A value of that type from its bits. */
struct lane_value lane_of_bits(uint64_t u, enum lane_type type);
void lane_declare(enum lane_type type, struct soft_value *ret);
/* The length of the word that p begins with; % in front, and parts behind dots, belong to it. */
size_t lane_word(const char *p);
/* CUDA's and HIP's names: threadIdx.x ... gridDim.z, lane. Their length; 0: none. *ret_axis: 0
 * to 2.
 */
enum lane_builtin { LANE_THREAD, LANE_BLOCK, LANE_BLOCK_SIZE, LANE_GRID_SIZE, LANE_LANE };
size_t lane_builtin(const char *p, enum lane_builtin *ret, unsigned *ret_axis);

#endif
