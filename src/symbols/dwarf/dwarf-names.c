/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of a file's DWARF, see dwarf-names.h. A unit is walked once: its children, and those of
 * namespaces and, in C++, of classes. The file may be anything: each walk ends after as many DIEs
 * as its unit has bytes.
 */
#include "symbols/dwarf/dwarf-names.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/err.h"
#include "symbols/dwarf/dwarf-walk.h"

enum { BUCKETS = 16384, DEPTH_MAX = 24, SCOPE_MAX = 1024 };

struct entry {
	struct entry *next;
	const void *addr; /* of the DIE, which dwarf_die_addr_die() gives back */
	Dwarf_Off unit;
	unsigned kind;
	bool external;
	char name[];
};

/* What stands before a DIE's name, where that is something. */
struct scope {
	struct scope *next;
	const void *addr;
	const char *text; /* belongs to the list of texts */
};

struct text {
	struct text *next;
	char bytes[];
};

struct dwarf_names {
	Dwarf *dw;
	struct entry *entries[BUCKETS];
	struct scope *scopes[BUCKETS];
	struct text *texts;
	Dwarf_Off *units; /* that were read */
	unsigned nunits, units_cap;
	unsigned before_whole; /* of them, those that were read before all were */
	bool whole;
};

struct walk {
	struct dwarf_names *n;
	Dwarf_Off unit;
	uint64_t budget;
	bool cplusplus;
};

struct dwarf_names *dwarf_names_new(Dwarf *dw)
{
	struct dwarf_names *n = xcalloc(1, sizeof *n);

	n->dw = dw;
	return n;
}

void dwarf_names_free(struct dwarf_names *n)
{
	if (!n)
		return;
	for (unsigned i = 0; i < BUCKETS; i++) {
		for (struct entry *e = n->entries[i], *next; e; e = next) {
			next = e->next;
			free(e);
		}
		for (struct scope *s = n->scopes[i], *next; s; s = next) {
			next = s->next;
			free(s);
		}
	}
	for (struct text *t = n->texts, *next; t; t = next) {
		next = t->next;
		free(t);
	}
	free(n->units);
	free(n);
}

static unsigned hash_name(const char *p)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	return (unsigned)((h ^ h >> 32) % BUCKETS);
}

static unsigned hash_addr(const void *addr)
{
	return (unsigned)((uint64_t)(uintptr_t)addr * 0x9e3779b97f4a7c15u >> 40) % BUCKETS;
}

static const char *keep(struct dwarf_names *n, const char *a, const char *b, const char *c)
{
	struct text *t = xmalloc(sizeof *t + strlen(a) + strlen(b) + strlen(c) + 1);

	strcpy(t->bytes, a);
	strcat(t->bytes, b);
	strcat(t->bytes, c);
	t->next = n->texts;
	n->texts = t;
	return t->bytes;
}

static const char *known_scope(const struct dwarf_names *n, const void *addr)
{
	for (const struct scope *s = n->scopes[hash_addr(addr)]; s; s = s->next) {
		if (s->addr == addr)
			return s->text;
	}
	return "";
}

static void put_scope(struct dwarf_names *n, const Dwarf_Die *die, const char *text)
{
	unsigned h = hash_addr(die->addr);
	struct scope *s;

	if (!*text)
		return;
	s = xmalloc(sizeof *s);
	*s = (struct scope){n->scopes[h], die->addr, text};
	n->scopes[h] = s;
}

#define ANONYMOUS "(anonymous namespace)"

/* What an anonymous namespace holds is found without its name. */
static void add_scope(char *dst, const char *scope)
{
	const size_t n = strlen(ANONYMOUS "::");
	const char *at;

	*dst = 0;
	for (; (at = strstr(scope, ANONYMOUS "::")) != NULL; scope = at + n)
		strncat(dst, scope, (size_t)(at - scope));
	strcat(dst, scope);
}

static void put(struct walk *w, Dwarf_Die *die, unsigned kind, const char *scope, const char *name)
{
	const size_t size = strlen(scope) + strlen(name) + 1;
	struct entry *e = xmalloc(sizeof *e + size);
	unsigned h;

	add_scope(e->name, scope);
	strcat(e->name, name);
	e->addr = die->addr;
	e->unit = w->unit;
	e->kind = kind;
	e->external = die_flag(die, DW_AT_external);
	h = hash_name(e->name);
	e->next = w->n->entries[h];
	w->n->entries[h] = e;
}

/* --- the walk --- */

static void walk_children(struct walk *w, Dwarf_Die *parent, const char *scope, unsigned depth);

/* A declaration of what is in a unit of its own (-fdebug-types-section) leads to it. */
static bool is_defined(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return !die_flag(die, DW_AT_declaration) || dwarf_attr(die, DW_AT_signature, &attr);
}

static void take_enum(struct walk *w, Dwarf_Die *die, const char *scope)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die whole, e;

	if (name && is_defined(die))
		put(w, die, DWARF_NAME_ENUM | (w->cplusplus ? DWARF_NAME_TYPE : 0u), scope, name);
	if (name && die_flag(die, DW_AT_enum_class))
		scope = keep(w->n, scope, name, "::");
	if (die_ref(die, DW_AT_signature, &whole))
		die = &whole;
	for (bool more = die_first(die, &e); more && w->budget; more = die_next(&e)) {
		w->budget--;
		if (dwarf_tag(&e) == DW_TAG_enumerator && dwarf_diename(&e))
			put(w, die, DWARF_NAME_ENUMERATOR, scope, dwarf_diename(&e));
	}
}

static void take_struct(struct walk *w, Dwarf_Die *die, const char *scope, unsigned depth)
{
	const char *name = dwarf_diename(die);
	const unsigned kind =
		dwarf_tag(die) == DW_TAG_union_type ? DWARF_NAME_UNION : DWARF_NAME_STRUCT;

	if (name && is_defined(die))
		put(w, die, kind | (w->cplusplus ? DWARF_NAME_TYPE : 0u), scope, name);
	if (w->cplusplus && strlen(scope) < SCOPE_MAX)
		walk_children(w, die, name ? keep(w->n, scope, name, "::") : scope, depth + 1);
}

/* In its class, a constructor's name means the class. */
static bool is_constructor(const char *scope, const char *name)
{
	const size_t s = strlen(scope), n = strlen(name);

	return s >= n + 2 && !strncmp(scope + s - n - 2, name, n) &&
	       (s == n + 2 || scope[s - n - 3] == ':');
}

/* A variable or function; one that completes a declaration has its name and its scope. */
static void take_object(struct walk *w, Dwarf_Die *die, const char *scope, unsigned kind)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die declared;

	if (die_flag(die, DW_AT_declaration) || !name)
		return;
	if (die_ref(die, DW_AT_specification, &declared)) {
		scope = known_scope(w->n, declared.addr);
		put_scope(w->n, die, scope);
	}
	if (kind == DWARF_NAME_FUNCTION && is_constructor(scope, name))
		return;
	put(w, die, kind, scope, name);
}

static void take_namespace(struct walk *w, Dwarf_Die *die, const char *scope, unsigned depth)
{
	const char *name = dwarf_diename(die);

	if (strlen(scope) < SCOPE_MAX)
		walk_children(w, die, keep(w->n, scope, name ? name : ANONYMOUS, "::"), depth + 1);
}

static void take(struct walk *w, Dwarf_Die *die, const char *scope, unsigned depth)
{
	Dwarf_Die unit;

	put_scope(w->n, die, scope);
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		take_namespace(w, die, scope, depth);
		break;
	case DW_TAG_imported_unit:
		if (die_ref(die, DW_AT_import, &unit))
			walk_children(w, &unit, scope, depth + 1);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		take_struct(w, die, scope, depth);
		break;
	case DW_TAG_enumeration_type:
		take_enum(w, die, scope);
		break;
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		if (dwarf_diename(die))
			put(w, die, DWARF_NAME_TYPE, scope, dwarf_diename(die));
		break;
	case DW_TAG_variable:
		take_object(w, die, scope, DWARF_NAME_VARIABLE);
		break;
	case DW_TAG_subprogram:
		take_object(w, die, scope, DWARF_NAME_FUNCTION);
		break;
	default:
		break;
	}
}

static void walk_children(struct walk *w, Dwarf_Die *parent, const char *scope, unsigned depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX)
		return;
	for (bool more = die_first(parent, &die); more && w->budget; more = die_next(&die)) {
		w->budget--;
		take(w, &die, scope, depth);
	}
}

static bool unit_is_read(const struct dwarf_names *n, Dwarf_Off unit)
{
	for (unsigned i = n->whole ? n->before_whole : n->nunits; i-- > 0;) {
		if (n->units[i] == unit)
			return true;
	}
	return false;
}

static void read_unit(struct dwarf_names *n, Dwarf_Die *cu, uint64_t size)
{
	struct walk w = {.n = n, .unit = dwarf_dieoffset(cu), .budget = size};

	if (unit_is_read(n, w.unit))
		return;
	MAKE_ROOM(n->units, n->nunits, n->units_cap);
	n->units[n->nunits++] = w.unit;
	w.cplusplus = die_is_cplusplus(cu);
	walk_children(&w, cu, "", 0);
}

static void read_all(struct dwarf_names *n)
{
	Dwarf_Off at = 0, next;
	size_t header;

	if (n->whole)
		return;
	n->whole = true;
	n->before_whole = n->nunits;
	while (dwarf_nextcu(n->dw, at, &next, &header, NULL, NULL, NULL) == 0 && next > at) {
		Dwarf_Die cu;

		if (dwarf_offdie(n->dw, at + header, &cu))
			read_unit(n, &cu, next - at);
		at = next;
	}
}

/* --- questions --- */

bool dwarf_names_find(
	struct dwarf_names *n, unsigned kinds, const char *name, Dwarf_Die *near, Dwarf_Die *ret)
{
	const bool external = kinds & DWARF_NAME_EXTERNAL;
	Dwarf_Off unit = near ? dwarf_dieoffset(near) : 0;
	const struct entry *best = NULL;

	read_all(n);
	for (const struct entry *e = n->entries[hash_name(name)]; e; e = e->next) {
		if (!(e->kind & kinds) || (external && !e->external) || strcmp(e->name, name))
			continue;
		if (near && e->unit == unit) {
			best = e;
			break;
		}
		if (!best || (e->external && !best->external))
			best = e;
	}
	return best && dwarf_die_addr_die(n->dw, (void *)(uintptr_t)best->addr, ret);
}

const char *dwarf_names_scope(struct dwarf_names *n, Dwarf_Die *die)
{
	Dwarf_Die cu;

	if (!n->whole && dwarf_diecu(die, &cu, NULL, NULL) && die_is_cplusplus(&cu))
		read_unit(n, &cu, UINT32_MAX);
	return known_scope(n, die->addr);
}
