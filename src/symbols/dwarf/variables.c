/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables and types by name, see variables.h. A frame may be an inlined call: then the variables
 * are those of the inlined function, which live in the frame of the function that holds it.
 */
#include "symbols/variables.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "symbols/dwarf/dwarf-names.h"
#include "symbols/dwarf/dwarf-types.h"
#include "symbols/dwarf/dwarf-walk.h"
#include "symbols/dwarf/file-names.h"
#include "symbols/dwarf/symbols-files.h"

struct file_names {
	struct lang *l;
	Dwarf_Addr bias;
	struct dwarf_names *names;
	struct dwarf_types *types;
};

void file_names_free(struct file_names *f)
{
	if (!f)
		return;
	dwarf_types_free(f->types);
	dwarf_names_free(f->names);
	free(f);
}

static void names_free(void *kept)
{
	file_names_free(kept);
}

static void set_lang(struct file_names *f, struct lang *l)
{
	dwarf_types_free(f->types);
	f->types = dwarf_types_new(l, f->names);
	f->l = l;
}

struct file_names *file_names_new(Dwarf *dw, struct lang *l, Dwarf_Addr bias)
{
	struct file_names *f = xcalloc(1, sizeof *f);

	f->names = dwarf_names_new(dw);
	f->bias = bias;
	set_lang(f, l);
	return f;
}

struct file_names *symbols_names(struct symbols *s, struct lang *l, const char *path)
{
	struct file_kept *at;
	struct file_names *f;
	Dwarf_Addr bias;
	Dwarf *dw = symbols_dwarf(s, path, &bias, &at);

	if (!dw)
		return NULL;
	f = at->kept;
	if (f && f->l == l)
		return f;
	if (f)
		set_lang(f, l);
	else
		*at = (struct file_kept){f = file_names_new(dw, l, bias), names_free};
	return f;
}

uint64_t file_names_bias(const struct file_names *f)
{
	return f->bias;
}

/* --- values --- */

static struct err *no_place(const char *name, const struct dwarf_place *place)
{
	return err_new(ERR_UNSUPPORTED, "the value of %s is not available: %s", name, place->why);
}

/* size bytes of a value that is not in memory. */
static struct err *from_file(const char *name, const struct lang_type *type,
	const struct dwarf_place *place, struct lang_value *ret)
{
	const void *bytes = place->kind == PLACE_BYTES ? place->bytes : &place->value;
	const size_t n = place->kind == PLACE_BYTES ? place->nbytes : sizeof place->value;

	if (type->size > n)
		return err_new(ERR_UNSUPPORTED,
			"the value of %s is not available: it is larger than a register", name);
	*ret = lang_from_bytes(type, bytes);
	return NULL;
}

static struct err *value_of(struct file_names *f, const struct dwarf_context *ctx, Dwarf_Die *var,
	const char *name, struct lang_value *ret)
{
	const struct lang_type *type = dwarf_type_of(f->types, var, ctx);
	const struct dwarf_place place = dwarf_locate(ctx, var);

	*ret = (struct lang_value){0};
	switch (place.kind) {
	case PLACE_NONE:
		*ret = (struct lang_value){.type = type, .place = LANG_GONE};
		return NULL;
	case PLACE_MEMORY:
		*ret = lang_at(type, 0, place.addr);
		return ctx->settle ? ctx->settle(ctx->arg, name, ret) : NULL;
	case PLACE_VALUE:
	case PLACE_BYTES:
		return from_file(name, type, &place, ret);
	default:
		return no_place(name, &place);
	}
}

/* --- scopes of a frame --- */

static bool is_function(Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* The scopes [first, last] of the frame's function, innermost first. */
static void scopes_of(const struct variables_frame *f, int *ret_first, int *ret_last)
{
	const struct symbols_scope *sc = f->sc;
	int first = 0, last;

	for (unsigned skipped = 0; skipped < f->depth && first < sc->nscopes; first++)
		skipped += is_function(&sc->scopes[first]);
	for (last = first; last < sc->nscopes && !is_function(&sc->scopes[last]);)
		last++;
	for (int i = last; i < sc->nscopes; i++) {
		if (dwarf_tag(&sc->scopes[i]) == DW_TAG_subprogram) {
			f->ctx->function = &sc->scopes[i];
			break;
		}
	}
	*ret_first = first;
	*ret_last = last < sc->nscopes ? last : sc->nscopes - 1;
}

/* The name of a variable of the frame; NULL when it is none. */
static const char *variable_name(Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) ||
		die_flag(die, DW_AT_declaration))
		return NULL;
	return dwarf_diename(die);
}

static bool is_asked(const struct variables_frame *f, Dwarf_Die *die)
{
	const unsigned kind =
		dwarf_tag(die) == DW_TAG_formal_parameter ? VARIABLES_ARGS : VARIABLES_LOCALS;

	return !f->which || (f->which & kind);
}

bool scope_inlined(const struct symbols_scope *sc, unsigned depth, struct inlined_call *ret)
{
	int i = 0;

	for (; i < sc->nscopes; i++)
		if (is_function(&sc->scopes[i]) && !depth--)
			break;
	if (i >= sc->nscopes || dwarf_tag(&sc->scopes[i]) != DW_TAG_inlined_subroutine)
		return false;
	*ret = (struct inlined_call){
		.file = die_number(&sc->scopes[i], DW_AT_call_file, UINT64_MAX),
		.line = (unsigned)die_number(&sc->scopes[i], DW_AT_call_line, 0)};
	ret->function = die_linkage_name(&sc->scopes[i]);
	return true;
}

static const char *reason(const struct err *e)
{
	const char *colon = e ? strstr(e->what, ": ") : NULL;

	return colon ? colon + 2 : e ? e->what : NULL;
}

void frame_variables(const struct variables_frame *f,
	void (*each)(void *arg, const char *name, const struct lang_value *v, const char *why),
	void *arg)
{
	int first, last;

	scopes_of(f, &first, &last);
	for (int i = first; i <= last; i++) {
		Dwarf_Die d;

		for (bool more = die_first(&f->sc->scopes[i], &d); more; more = die_next(&d)) {
			const char *name = variable_name(&d);
			struct lang_value v;
			struct err *e;

			if (!name || !is_asked(f, &d))
				continue;
			e = value_of(f->names, f->ctx, &d, name, &v);
			each(arg, name, &v, reason(e));
			err_free(e);
			lang_value_free(&v);
		}
	}
}

/* Finds the last of a name in a block: one that is declared again hides the one before it. */
static bool in_block(Dwarf_Die *scope, const char *name, Dwarf_Die *ret)
{
	bool found = false;
	Dwarf_Die d;

	for (bool more = die_first(scope, &d); more; more = die_next(&d)) {
		const char *have = variable_name(&d);

		if (have && !strcmp(have, name)) {
			*ret = d;
			found = true;
		}
	}
	return found;
}

/* An enumerator of an enumeration's type by its name. */
static bool enumerator(const struct lang_type *t, const char *name, struct lang_value *ret)
{
	for (unsigned i = 0; t->kind == LANG_ENUM && i < t->nenumerators; i++) {
		if (!strcmp(t->enumerators[i].name, name)) {
			*ret = lang_from_int(t, t->enumerators[i].value);
			return true;
		}
	}
	return false;
}

static bool local_enumerator(
	struct file_names *f, Dwarf_Die *scope, const char *name, struct lang_value *ret)
{
	Dwarf_Die d;

	for (bool more = die_first(scope, &d); more; more = die_next(&d)) {
		if (dwarf_tag(&d) == DW_TAG_enumeration_type &&
			enumerator(dwarf_type(f->types, &d), name, ret))
			return true;
	}
	return false;
}

struct err *frame_variable(
	const struct variables_frame *f, const char *name, struct lang_value *ret, bool *ret_found)
{
	int first, last;
	Dwarf_Die var;

	scopes_of(f, &first, &last);
	*ret_found = true;
	for (int i = first; i <= last; i++) {
		if (in_block(&f->sc->scopes[i], name, &var))
			return value_of(f->names, f->ctx, &var, name, ret);
		if (local_enumerator(f->names, &f->sc->scopes[i], name, ret))
			return NULL;
	}
	*ret_found = false;
	return NULL;
}

bool frame_is_stub(const struct variables_frame *f)
{
	int first, last;
	Dwarf_Die d;

	scopes_of(f, &first, &last);
	if (last < 0)
		return false;
	for (bool more = die_first(&f->sc->scopes[last], &d); more; more = die_next(&d)) {
		const char *name = variable_name(&d);

		if (name && (!strncmp(name, "__cuda_", 7) || !strncmp(name, "__par", 5)))
			return true;
	}
	return false;
}

/* --- types --- */

/* What a name with or without "struct " may be; *ret_bare: it without that word. */
static unsigned kinds_of(const char *name, const char **ret_bare)
{
	static const struct {
		const char *word;
		unsigned kinds;
	} words[] = {{"struct ", DWARF_NAME_STRUCT}, {"class ", DWARF_NAME_STRUCT},
		{"union ", DWARF_NAME_UNION}, {"enum ", DWARF_NAME_ENUM}};

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		if (!strncmp(name, words[i].word, strlen(words[i].word))) {
			*ret_bare = name + strlen(words[i].word);
			return words[i].kinds;
		}
	}
	*ret_bare = name;
	return DWARF_NAME_TYPE;
}

static unsigned kind_of_die(Dwarf_Die *die)
{
	const unsigned plain = die_is_cplusplus(die) ? DWARF_NAME_TYPE : 0;

	switch (dwarf_tag(die)) {
	case DW_TAG_typedef:
		return DWARF_NAME_TYPE;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return DWARF_NAME_STRUCT | plain;
	case DW_TAG_union_type:
		return DWARF_NAME_UNION | plain;
	case DW_TAG_enumeration_type:
		return DWARF_NAME_ENUM | plain;
	default:
		return 0;
	}
}

const struct lang_type *frame_type(const struct variables_frame *f, const char *name)
{
	unsigned kinds = kinds_of(name, &name);
	int first, last;

	scopes_of(f, &first, &last);
	for (int i = first; i <= last; i++) {
		Dwarf_Die d;

		for (bool more = die_first(&f->sc->scopes[i], &d); more; more = die_next(&d)) {
			if ((kind_of_die(&d) & kinds) && dwarf_diename(&d) &&
				!strcmp(dwarf_diename(&d), name))
				return dwarf_type(f->names->types, &d);
		}
	}
	return NULL;
}

void scope_variables(struct file_names *f, const struct symbols_scope *sc,
	void (*each)(void *arg, const char *name, const struct lang_type *type, unsigned line,
		bool parameter),
	void *arg)
{
	bool function = false;

	for (int i = 0; i < sc->nscopes && !function; i++) {
		Dwarf_Die d;

		function = dwarf_tag(&sc->scopes[i]) == DW_TAG_subprogram;
		for (bool more = die_first(&sc->scopes[i], &d); more; more = die_next(&d)) {
			const int tag = dwarf_tag(&d);
			const char *name = dwarf_diename(&d);
			int line;

			if (!name || (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter))
				continue;
			each(arg, name, file_type_of(f, &d),
				dwarf_decl_line(&d, &line) == 0 && line > 0 ? (unsigned)line : 0,
				tag == DW_TAG_formal_parameter);
		}
	}
}

const struct lang_type *file_type_of(struct file_names *f, Dwarf_Die *die)
{
	return dwarf_type_of(f->types, die, NULL);
}

const struct lang_type *file_type(struct file_names *f, Dwarf_Die *near, const char *name)
{
	unsigned kinds = kinds_of(name, &name);
	Dwarf_Die die;

	return dwarf_names_find(f->names, kinds, name, near, &die) ? dwarf_type(f->types, &die)
								   : NULL;
}

/* --- outside of functions --- */

static bool function_value(struct file_names *f, const struct dwarf_context *ctx, Dwarf_Die *die,
	struct lang_value *ret)
{
	Dwarf_Addr low;

	if (dwarf_entrypc(die, &low))
		return false;
	*ret = lang_at(dwarf_type(f->types, die), 0, low + ctx->load_bias);
	return true;
}

static struct err *outside(struct file_names *f, struct dwarf_context *ctx, Dwarf_Die *near,
	unsigned limits, const char *name, struct lang_value *ret, bool *ret_found)
{
	Dwarf_Die die;

	*ret_found = true;
	if (dwarf_names_find(f->names, DWARF_NAME_VARIABLE | limits, name, near, &die))
		return value_of(f, ctx, &die, name, ret);
	if (!limits && dwarf_names_find(f->names, DWARF_NAME_ENUMERATOR, name, near, &die) &&
		enumerator(dwarf_type(f->types, &die), name, ret))
		return NULL;
	if (dwarf_names_find(f->names, DWARF_NAME_FUNCTION | limits, name, near, &die) &&
		function_value(f, ctx, &die, ret))
		return NULL;
	*ret_found = false;
	return NULL;
}

struct err *file_variable(struct file_names *f, struct dwarf_context *ctx, Dwarf_Die *near,
	const char *name, struct lang_value *ret, bool *ret_found)
{
	return outside(f, ctx, near, 0, name, ret, ret_found);
}

struct err *file_external(struct file_names *f, struct dwarf_context *ctx, const char *name,
	struct lang_value *ret, bool *ret_found)
{
	return outside(f, ctx, NULL, DWARF_NAME_EXTERNAL, name, ret, ret_found);
}
