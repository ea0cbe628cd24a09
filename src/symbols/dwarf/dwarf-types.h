/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room symbols: types of a file's DWARF as types of expressions. A DIE becomes one
 * type; members of structs are read when they are first asked for.
 */
#ifndef SYMBOLS_DWARF_TYPES_H
#define SYMBOLS_DWARF_TYPES_H

#include <elfutils/libdw.h>
#include "lang/lang.h"
#include "symbols/dwarf/dwarf-names.h"

struct dwarf_context;
struct dwarf_types;
/* names, of the same file, outlives it; so does l. */
struct dwarf_types *dwarf_types_new(struct lang *l, struct dwarf_names *names);
/* The types live on with l; a struct whose members nobody asked for has none from then on. */
void dwarf_types_free(struct dwarf_types *t); /* NULL is fine */
/* The type that a type's DIE is; what is not understood is a type that says so. */
const struct lang_type *dwarf_type(struct dwarf_types *t, Dwarf_Die *type);
/* The type of a variable or member; void's when it has none. With ctx (may be NULL), an array whose
 * size is computed has the one that it has there. */
const struct lang_type *dwarf_type_of(
	struct dwarf_types *t, Dwarf_Die *die, const struct dwarf_context *ctx);

#endif
