/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions as C has them, over typed values: types (of a program's DWARF, or made here), values
 * (computed, or somewhere in memory), evaluation, and showing a value the way gdb does. Knows
 * neither processes nor traces: names, memory and what an address means come from the caller.
 *
 * What gdb adds to C is here too: {TYPE}ADDRESS, x@n, $history and $variables, and casts to types
 * that the caller finds by name. Also here: f16, bf16, f32, f64, s8 to s64, u8 to u64 and x8 to x64
 * (shown in hexadecimal) are types, 4K is 4096, %name is a name where an operand is expected, and
 * `.f32` behind an integer reads its bytes as that type. Functions of the program are not called.
 *
 * One struct lang for a session; used by one thread at a time.
 */
#ifndef LANG_LANG_H
#define LANG_LANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"

/* --- types --- */

enum lang_kind {
	LANG_VOID,
	LANG_BOOL,
	LANG_CHAR, /* an integer that is also shown as a character, of 1, 2 or 4 bytes */
	LANG_INT,
	LANG_FLOAT,
	LANG_ENUM,
	LANG_POINTER,
	LANG_ARRAY,
	LANG_STRUCT,
	LANG_FUNCTION,
	LANG_TYPEDEF, /* another name for target */
};

struct lang_type;
struct lang_member {
	const char *name; /* NULL: anonymous; its members count as the outer one's */
	const struct lang_type *type;
	uint64_t offset;	   /* bytes from the start */
	unsigned bit_offset, bits; /* of a bit-field: bits from offset, and how many; else 0 */
	bool is_base;		   /* a base class */
};
struct lang_enumerator {
	const char *name;
	int64_t value;
};

/* Types live as long as their struct lang, and are not changed once they are made. */
struct lang_type {
	enum lang_kind kind;
	const char *name;   /* "unsigned int"; "point", without "struct"; NULL: none */
	const char *prefix; /* of a struct: "struct", "union" or "class" */
	const char *quals;  /* "const ", "volatile " or both; NULL: none */
	uint64_t size;	    /* bytes; 0: void, a function, or a type that is only declared */
	bool is_signed;
	bool is_brain;	    /* a FLOAT of 2 bytes: bfloat16, else IEEE half */
	bool is_reference;  /* a POINTER that stands for what it points to, as C++'s int & */
	bool is_rvalue;	    /* the same, int && */
	bool is_plain;	    /* a STRUCT or ENUM whose name needs no prefix, as in C++ */
	bool is_variadic;   /* a FUNCTION that takes more than params */
	const char *opaque; /* shown in place of its values: "<incomplete type>"; NULL: they are
			       shown */
	char letter;	    /* the format letter it is shown with; 0: as its kind is */
	const struct lang_type
		*target; /* pointer, array, typedef; what a function returns (NULL: void);
			    of an ENUM, the integer that was written for it, or NULL */
	uint64_t count;	 /* of an array, elements */
	const struct lang_member *members;
	unsigned nmembers;
	const struct lang_enumerator *enumerators;
	unsigned nenumerators;
	const struct lang_type *const *params; /* of a function */
	unsigned nparams;
	/* Fills members when they are first asked for; NULL when they are there. */
	void (*complete)(struct lang_type *type);
	void *complete_arg;
};

struct lang;
struct lang *lang_new(void);
void lang_free(struct lang *l);
/* Memory and text that live as long as l; for types. */
void *lang_alloc(struct lang *l, size_t n);
const char *lang_strdup(struct lang *l, const char *s);
/* "int", "unsigned long", "f32", ...; NULL when no such type is built in. */
const struct lang_type *lang_base_type(struct lang *l, const char *name);
/* The integer type of size bytes (1, 2, 4, 8) with C's name. */
const struct lang_type *lang_int_type(struct lang *l, unsigned size, bool is_signed);
const struct lang_type *lang_pointer_to(struct lang *l, const struct lang_type *target);
/* NULL when the size does not fit into 64 bits. */
const struct lang_type *lang_array_of(struct lang *l, const struct lang_type *of, uint64_t count);
/* target as `quals` says ("const "). */
const struct lang_type *lang_qualified(
	struct lang *l, const struct lang_type *target, const char *quals);
/* A type without the typedefs round it. */
const struct lang_type *lang_strip(const struct lang_type *t);
/* Fills t's members, if that is still to be done. */
void lang_complete(const struct lang_type *t);
/* Appends the type's name as C declares it, round name (may be ""): "int (*)[3]". */
void lang_type_name(struct buf *out, const struct lang_type *t, const char *name);
/* Appends the type with typedefs resolved and members listed, as gdb's ptype does. */
void lang_type_layout(struct buf *out, const struct lang_type *t);

/* --- values --- */

enum lang_place {
	LANG_COMPUTED,
	LANG_MEMORY, /* at addr of space */
	LANG_GONE,   /* optimised out */
};
/* Owned by whoever declares it: lang_value_free(). All zero is `void`. */
struct lang_value {
	const struct lang_type *type; /* NULL: void */
	enum lang_place place;
	unsigned space; /* the caller's numbering; 0: ordinary memory */
	uint64_t addr;
	uint8_t *
		bytes; /* type->size bytes from malloc, little endian; NULL: memory, not read yet */
	char *variable; /* "x" of $x, or "%r4", a register; these can be assigned to. NULL: none */
};
void lang_value_free(struct lang_value *v);
struct lang_value lang_value_copy(const struct lang_value *v);
struct lang_value lang_from_int(const struct lang_type *t, int64_t v);
struct lang_value lang_from_double(const struct lang_type *t, double v);
/* bytes are copied; NULL: zeros. */
struct lang_value lang_from_bytes(const struct lang_type *t, const void *bytes);
struct lang_value lang_at(const struct lang_type *t, unsigned space, uint64_t addr);
/* A text as an array of char with its NUL. */
struct lang_value lang_from_text(struct lang *l, const char *text, size_t n);

/* What expressions ask of the caller. Any function may be NULL. */
struct lang_scope {
	void *arg;
	/* Finds a name ("n", "ns::n", "$1", "$", "%r4", "%tid.x"); *ret_found false: there is none.
	 * A name with $ that is not found is void. */
	struct err *(*name)(void *arg, const char *name, struct lang_value *ret, bool *ret_found);
	/* A type by name, with "struct ", "union ", "class " or "enum " in front when it was
	 * written so; NULL: there is none. */
	const struct lang_type *(*type)(void *arg, const char *name);
	/* n bytes at addr, all or none. */
	struct err *(*read)(void *arg, unsigned space, uint64_t addr, void *dst, size_t n);
	struct err *(*write)(void *arg, unsigned space, uint64_t addr, const void *src, size_t n);
	/* $variable = v, or register variable = v, which has the register's type then. */
	struct err *(*assign)(void *arg, const char *variable, const struct lang_value *v);
	/* Appends what lies at an address: " <main+4>", " <allocation 3>". */
	void (*describe)(void *arg, unsigned space, uint64_t addr, struct buf *out);
};

/* Evaluates text. On success the caller owns *ret; the value of an array or struct in memory is not
 * read yet. */
struct err *lang_eval(struct lang *l, const struct lang_scope *scope, const char *text,
	struct lang_value *ret) TS_CHECK;
/* The type that text, an expression or a type's name, has; nothing is read or changed. NULL: void.
 */
struct err *lang_type_of(struct lang *l, const struct lang_scope *scope, const char *text,
	const struct lang_type **ret) TS_CHECK;
/* Reads the value's bytes, if that is still to be done. */
struct err *lang_fetch(const struct lang_scope *scope, struct lang_value *v) TS_CHECK;
/* A scalar as an integer: a floating value is cut towards 0, a pointer is its address, an array the
 * address of its first element. Other values are refused. */
struct err *lang_to_int(
	const struct lang_scope *scope, const struct lang_value *v, int64_t *ret) TS_CHECK;
struct err *lang_to_double(
	const struct lang_scope *scope, const struct lang_value *v, double *ret) TS_CHECK;
/* Whether a condition holds: a scalar that is not 0. */
struct err *lang_to_bool(
	const struct lang_scope *scope, const struct lang_value *v, bool *ret) TS_CHECK;
/* v as a value of type t, as a cast does. */
struct err *lang_cast(struct lang *l, const struct lang_scope *scope, const struct lang_type *t,
	const struct lang_value *v, struct lang_value *ret) TS_CHECK;

/* --- showing --- */

struct lang_format {
	char letter;	   /* x d u o t c f a z s; 0: each value by its type */
	uint64_t elements; /* most elements of arrays and characters of texts; 0: all */
	bool nested;	   /* a pointer is shown without its type */
};
/* Appends the value. */
struct err *lang_show(struct lang *l, const struct lang_scope *scope, const struct lang_format *f,
	const struct lang_value *v, struct buf *out) TS_CHECK;
/* Appends size (1, 2, 4 or 8) bytes by a letter. */
void lang_show_bits(struct buf *out, char letter, const void *bytes, unsigned size);
/* Whether there is such a letter. */
bool lang_is_letter(char letter);

#endif
