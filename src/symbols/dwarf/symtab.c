/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbols by address, see symtab.h. libdwfl (elfutils, libdwfl/dwfl_module_addrsym.c) looks through
 * the global symbols first: of those whose range holds the address it takes the one that begins
 * last, or is of a stronger binding than what it has; of equal ones the shortest, then the first.
 * If there is none, and no global symbol without a size is at the address, it looks through the
 * locals in the same way. A symbol without a size only counts behind the end of all that begin
 * before the address. So both kinds that have a size are sorted; what none of them holds is left to
 * libdwfl, unless nothing could hold it.
 */
#include "symbols/dwarf/symtab.h"

#include <stdlib.h>
#include "base/buf.h"
#include "base/first-where.h"

enum { WORTH_IT = 2 }; /* questions: sorting costs some of libdwfl's answers */

struct range {
	uint64_t from, to;
	uint64_t furthest; /* end of this one and of all before it */
	int number;	   /* in the module's table */
};
struct ranges {
	struct range *v; /* by from, then number */
	size_t n, cap;
};
struct symtab {
	unsigned asked;
	bool sorted, unknown; /* unknown: libdwfl has no table, or will not say which are global */
	struct ranges globals, locals;
	uint64_t *labels; /* addresses of symbols without a size, ascending */
	size_t nlabels, labels_cap;
};

static int by_place(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->number - y->number;
}

static int by_number(const void *a, const void *b)
{
	return ((const struct range *)a)->number - ((const struct range *)b)->number;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The symbol if it is one that an address can belong to; its address in *ret_from. */
static const char *eligible(Dwfl_Module *m, int i, GElf_Sym *sym, GElf_Addr *ret_from)
{
	const char *name = dwfl_module_getsym_info(m, i, sym, ret_from, NULL, NULL, NULL);
	const unsigned type = GELF_ST_TYPE(sym->st_info);

	return name && *name && sym->st_shndx != SHN_UNDEF && type != STT_SECTION &&
			       type != STT_FILE && type != STT_TLS
		       ? name
		       : NULL;
}

static void add(struct symtab *t, struct ranges *to, Dwfl_Module *m, int i)
{
	GElf_Addr from;
	GElf_Sym sym;

	if (!eligible(m, i, &sym, &from))
		return;
	if (!sym.st_size) {
		MAKE_ROOM(t->labels, t->nlabels, t->labels_cap);
		t->labels[t->nlabels++] = from;
		return;
	}
	MAKE_ROOM(to->v, to->n, to->cap);
	to->v[to->n++] = (struct range){.from = from,
		.to = from + sym.st_size < from ? UINT64_MAX : from + sym.st_size,
		.number = i};
}

static void sort_ranges(struct ranges *r)
{
	uint64_t furthest = 0;

	if (r->n)
		qsort(r->v, r->n, sizeof *r->v, by_place);
	for (size_t i = 0; i < r->n; i++) {
		furthest = r->v[i].to > furthest ? r->v[i].to : furthest;
		r->v[i].furthest = furthest;
	}
}

static void sort(struct symtab *t, Dwfl_Module *m)
{
	const int n = dwfl_module_getsymtab(m), first = dwfl_module_getsymtab_first_global(m);

	t->sorted = true;
	t->unknown = n < 0 || first < 0;
	for (int i = 1; !t->unknown && i < n; i++)
		add(t, i < first ? &t->locals : &t->globals, m, i);
	sort_ranges(&t->globals);
	sort_ranges(&t->locals);
	if (t->nlabels)
		qsort(t->labels, t->nlabels, sizeof *t->labels, by_address);
}

/* How many begin at the address or before it. */
static size_t upto(const struct ranges *r, uint64_t addr)
{
	return FIRST_WHERE(r->n, i, r->v[i].from > addr);
}

static int strength(const GElf_Sym *s)
{
	switch (GELF_ST_BIND(s->st_info)) {
	case STB_GLOBAL:
		return 3;
	case STB_WEAK:
		return 2;
	case STB_LOCAL:
		return 1;
	default:
		return 0;
	}
}

/* Whether libdwfl takes s, at `from`, instead of the best one so far, which came before it. */
static bool is_better(const GElf_Sym *s, uint64_t from, const GElf_Sym *best, uint64_t best_from)
{
	const int mine = strength(s), its = strength(best);

	if (best_from < from || its < mine)
		return true;
	return best_from == from && ((best->st_size > s->st_size && its <= mine) ||
					    (best->st_size >= s->st_size && its < mine));
}

/* Those that hold the address, in the order of the table; heap. */
static size_t holders(const struct ranges *r, uint64_t addr, struct range **ret)
{
	size_t n = 0, cap = 0;

	*ret = NULL;
	for (size_t i = upto(r, addr); i-- > 0 && r->v[i].furthest > addr;) {
		if (r->v[i].to <= addr)
			continue;
		MAKE_ROOM(*ret, n, cap);
		(*ret)[n++] = r->v[i];
	}
	if (n > 1)
		qsort(*ret, n, sizeof **ret, by_number);
	return n;
}

/* The best of those that hold the address; NULL: none does. */
static const char *best_of(const struct ranges *r, Dwfl_Module *m, uint64_t addr,
	GElf_Off *ret_offset, GElf_Sym *ret_sym)
{
	const char *name, *best = NULL;
	struct range *found;
	uint64_t best_from = 0;
	GElf_Addr from;
	GElf_Sym sym;
	const size_t n = holders(r, addr, &found);

	for (size_t i = 0; i < n; i++) {
		name = eligible(m, found[i].number, &sym, &from);
		if (!name || (best && !is_better(&sym, from, ret_sym, best_from)))
			continue;
		best = name;
		best_from = from;
		*ret_sym = sym;
	}
	free(found);
	*ret_offset = addr - best_from;
	return best;
}

/* The end of all that begin at the address or before it. */
static uint64_t end_before(const struct ranges *r, uint64_t addr)
{
	const size_t n = upto(r, addr);

	return n ? r->v[n - 1].furthest : 0;
}

/* How many labels are at the address or before it. */
static size_t labels_upto(const struct symtab *t, uint64_t addr)
{
	return FIRST_WHERE(t->nlabels, i, t->labels[i] > addr);
}

const char *symtab_find(
	struct symtab **tab, Dwfl_Module *m, uint64_t addr, GElf_Off *ret_offset, GElf_Sym *ret_sym)
{
	struct symtab *t = *tab = *tab ? *tab : xcalloc(1, sizeof **tab);
	uint64_t label = 0, end;
	const char *name;
	size_t n;

	if (!t->sorted && t->asked++ >= WORTH_IT)
		sort(t, m);
	if (!t->sorted || t->unknown)
		return dwfl_module_addrinfo(m, addr, ret_offset, ret_sym, NULL, NULL, NULL);
	name = best_of(&t->globals, m, addr, ret_offset, ret_sym);
	if (name)
		return name;
	n = labels_upto(t, addr);
	label = n ? t->labels[n - 1] : 0;
	if (n && label == addr) /* whether it counts, and the locals, depends on what it is */
		return dwfl_module_addrinfo(m, addr, ret_offset, ret_sym, NULL, NULL, NULL);
	name = best_of(&t->locals, m, addr, ret_offset, ret_sym);
	if (name)
		return name;
	end = end_before(&t->globals, addr);
	end = end_before(&t->locals, addr) > end ? end_before(&t->locals, addr) : end;
	if (!n || label < end)
		return NULL;
	return dwfl_module_addrinfo(m, addr, ret_offset, ret_sym, NULL, NULL, NULL);
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->globals.v);
	free(t->locals.v);
	free(t->labels);
	free(t);
}
