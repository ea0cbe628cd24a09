/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and local variables of a frame, for `bt full`. A frame may be an inlined call: then
 * the variables are those of the inlined function, which live in the frame of the function that
 * holds it.
 */
#include "symbols/variables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static void print_one(const struct dwarf_context *ctx, Dwarf_Die *var, struct buf *out)
{
	struct dwarf_place place;
	Dwarf_Attribute attr;
	Dwarf_Die type;
	const char *name = dwarf_diename(var);

	if (!name || dwarf_attr(var, DW_AT_declaration, &attr))
		return;
	buf_printf(out, "%s = ", name);
	place = dwarf_locate(ctx, var);
	if (place.kind == PLACE_NONE)
		buf_str(out, "<optimized out>");
	else if (place.kind == PLACE_UNKNOWN)
		buf_printf(out, "<not available: %s>", place.why);
	else if (dwarf_attr_integrate(var, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type))
		dwarf_print(ctx, out, &type, &place);
	else
		buf_str(out, "<no type>");
	buf_byte(out, '\n');
}

static void print_scope(const struct dwarf_context *ctx, Dwarf_Die *scope, struct buf *out)
{
	Dwarf_Die d;

	for (int r = dwarf_child(scope, &d); r == 0; r = dwarf_siblingof(&d, &d)) {
		int tag = dwarf_tag(&d);

		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			print_one(ctx, &d, out);
	}
}

/* Scopes of the depth-th function from the inside: its blocks, innermost first, then itself;
 * arguments are printed first, so from the outside in. */
void variables_print(
	struct dwarf_context *ctx, const struct symbols_scope *sc, unsigned depth, struct buf *out)
{
	int first = 0, last;

	for (unsigned skipped = 0; skipped < depth && first < sc->nscopes; first++)
		skipped += is_function(&sc->scopes[first]);
	for (last = first; last < sc->nscopes && !is_function(&sc->scopes[last]);)
		last++;
	for (int i = last; i < sc->nscopes; i++)
		if (dwarf_tag(&sc->scopes[i]) == DW_TAG_subprogram) {
			ctx->function = &sc->scopes[i];
			break;
		}
	for (int i = last < sc->nscopes ? last : sc->nscopes - 1; i >= first; i--)
		print_scope(ctx, &sc->scopes[i], out);
}
