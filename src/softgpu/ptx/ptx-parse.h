/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the PTX parser share. None of these returns after an error: ptx_fail() ends the
 * load.
 */
#ifndef SOFTGPU_PTX_PARSE_H
#define SOFTGPU_PTX_PARSE_H

#include "softgpu/ptx/ptx-dec.h"

/* --- tokens (ptx-parse.c) --- */
/* Fails: the token here is not `wanted`. */
_Noreturn void ptx_unexpected(struct ptx_parse *p, const char *wanted);
/* Whether the current token is the directive or modifier `.s`; ptx_accept_dot() also moves past
 * it. */
bool ptx_is_dot(const struct ptx_parse *p, const char *s);
bool ptx_accept_dot(struct ptx_parse *p, const char *s);
uint64_t ptx_expect_int(struct ptx_parse *p);
struct ptx_token ptx_expect_ident(struct ptx_parse *p);
/* A name as a string of the module's. */
char *ptx_copy_name(struct ptx_parse *p, const char *s, size_t n);

/* --- scopes (ptx-scope.c) --- */
struct ptx_sym *ptx_declare(struct ptx_parse *p, const char *s, size_t n, enum ptx_sym_kind kind);
void ptx_enter_scope(struct ptx_parse *p);
void ptx_leave_scope(struct ptx_parse *p);

/* --- variables (ptx-variable.c) --- */
struct ptx_dims {
	unsigned n;
	uint64_t d[8];
	bool open; /* the first is [] */
};

struct ptx_attrs {
	size_t align;
	unsigned type, vec;
	bool is_extern, visible;
};

static inline size_t ptx_align_up(size_t v, size_t a)
{
	return (v + a - 1) / a * a;
}

/* The dimensions behind a name, "[4][2]"; returns how many elements, 0 when the first is open. */
uint64_t ptx_parse_dims(struct ptx_parse *p, struct ptx_dims *ds);
/* The part of a declaration between the state space and the name: alignment, vector, type. */
void ptx_parse_attrs(struct ptx_parse *p, struct ptx_attrs *a);
/* A declaration, behind its state space. */
void ptx_parse_variable(struct ptx_parse *p, enum ptx_space space, struct ptx_attrs a);
/* Keeps a variable's name for the microscope. */
void ptx_note_variable(struct ptx_parse *p, struct ptx_variable *v);
void ptx_parse_reg(struct ptx_parse *p);

/* --- functions (ptx-function.c) --- */
void ptx_parse_function(struct ptx_parse *p, bool is_entry, bool is_extern);
void ptx_parse_loc(struct ptx_parse *p);
/* Passes everything by, up to and with the punctuation c. */
void ptx_skip_to(struct ptx_parse *p, char c);

/* Places .shared variables that are not in a kernel's body; the module's functions are complete. */
void ptx_place_shared(struct ptx_module *m);

#endif
