/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room symbols: which DIE of a file has a name. Read from the file unit by unit,
 * when first asked: what lies in functions is not here.
 */
#ifndef SYMBOLS_DWARF_NAMES_H
#define SYMBOLS_DWARF_NAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>

enum dwarf_name_kind {
	DWARF_NAME_VARIABLE = 1,
	DWARF_NAME_FUNCTION = 2,
	DWARF_NAME_ENUMERATOR = 4, /* the DIE is its enumeration's */
	DWARF_NAME_TYPE = 8,	/* a typedef, a type of the language, in C++ a struct or enum too */
	DWARF_NAME_STRUCT = 16, /* what "struct NAME" and "class NAME" mean; complete */
	DWARF_NAME_UNION = 32,
	DWARF_NAME_ENUM = 64,
	DWARF_NAME_EXTERNAL = 128, /* in a question: of variables and functions, those alone that
				      other files see */
};

struct dwarf_names;
struct dwarf_names *dwarf_names_new(Dwarf *dw);
void dwarf_names_free(struct dwarf_names *n); /* NULL is fine */
/* Finds a DIE of one of the kinds (a set of enum dwarf_name_kind) with that name, in C++ with its
 * namespaces: "ns::x". One of the unit of `near` (may be NULL) comes first, then an external one.
 */
bool dwarf_names_find(
	struct dwarf_names *n, unsigned kinds, const char *name, Dwarf_Die *near, Dwarf_Die *ret);
/* What stands before the DIE's own name: "ns::", "" for nothing. Lives as long as n. */
const char *dwarf_names_scope(struct dwarf_names *n, Dwarf_Die *die);

#endif
