/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room symbols: the children of a DIE. The list ends whatever the file says: each
 * child lies behind the one before it.
 */
#ifndef SYMBOLS_DWARF_WALK_H
#define SYMBOLS_DWARF_WALK_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool die_first(Dwarf_Die *parent, Dwarf_Die *ret)
{
	return dwarf_child(parent, ret) == 0;
}

/* The child behind at, in its place; false: there is none. */
static inline bool die_next(Dwarf_Die *at)
{
	const char *was = at->addr;

	return dwarf_siblingof(at, at) == 0 && (const char *)at->addr > was;
}

/* An attribute that is a number; otherwise when it is missing or none. */
static inline uint64_t die_number(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr_integrate(die, name, &attr) && dwarf_formudata(&attr, &v) == 0
		       ? v
		       : otherwise;
}

/* The same with a sign. Compilers write negative numbers in signed forms; the fixed-size forms hold
 * what is not negative (gcc 12, clang 14). */
static inline bool die_signed(Dwarf_Die *die, unsigned name, int64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Sword v;
	Dwarf_Word u;
	unsigned form;

	if (!dwarf_attr_integrate(die, name, &attr))
		return false;
	form = dwarf_whatform(&attr);
	if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&attr, &v))
			return false;
		*ret = v;
		return true;
	}
	if (dwarf_formudata(&attr, &u))
		return false;
	*ret = (int64_t)u;
	return true;
}

static inline bool die_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	bool set = false;

	return dwarf_attr(die, name, &attr) && dwarf_formflag(&attr, &set) == 0 && set;
}

/* The DIE that an attribute refers to. */
static inline bool die_ref(Dwarf_Die *die, unsigned name, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, name, &attr) && dwarf_formref_die(&attr, ret);
}

/* The mangled name of a function, or its plain one; NULL: it has none. */
static inline const char *die_linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : dwarf_diename(die);
}

/* Whether names of its unit are C++'s: a struct's name alone is its type. */
static inline bool die_is_cplusplus(Dwarf_Die *die)
{
	Dwarf_Die cu;

	if (!dwarf_diecu(die, &cu, NULL, NULL))
		return false;
	switch (dwarf_srclang(&cu)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17 */
	case 0x2c: /* C++20 */
		return true;
	default:
		return false;
	}
}

#endif
