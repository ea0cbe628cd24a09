/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbols by address, see symtab.h. libdwfl (elfutils, libdwfl/dwfl_module_addrsym.c) looks through
 * the global symbols first: of those whose range holds the address it takes the one that begins
 * last, or is of a stronger binding than what it has; of equal ones the shortest, then the first.
 * Locals and symbols without a size are asked only if there is no such one, and one without a size
 * only counts behind the end of all that begin before the address. So what is sorted are the global
 * ones that have a size; what none of them holds is left to libdwfl, unless nothing could hold it.
 */
#include "symbols/dwarf/symtab.h"

#include <stdlib.h>
#include "base/buf.h"

enum { WORTH_IT = 16 }; /* questions: sorting costs about as many of libdwfl's answers */

struct global {
	uint64_t from, to;
	uint64_t furthest; /* end of this one and of all before it */
	int number;	   /* in the module's table */
};
struct symtab {
	unsigned asked;
	bool sorted;
	struct global *v; /* by from, then number */
	size_t n;
	uint64_t *labels; /* addresses of global symbols without a size, ascending */
	size_t nlabels;
	uint64_t lowest_local; /* UINT64_MAX: there is none */
};

static int by_place(const void *a, const void *b)
{
	const struct global *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->number - y->number;
}

static int by_number(const void *a, const void *b)
{
	return ((const struct global *)a)->number - ((const struct global *)b)->number;
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

static void add_globals(struct symtab *t, Dwfl_Module *m, int first, int n)
{
	size_t cap = 0, labels = 0;
	GElf_Addr from;
	GElf_Sym sym;

	for (int i = first; i < n; i++) {
		if (!eligible(m, i, &sym, &from))
			continue;
		if (!sym.st_size) {
			MAKE_ROOM(t->labels, t->nlabels, labels);
			t->labels[t->nlabels++] = from;
			continue;
		}
		MAKE_ROOM(t->v, t->n, cap);
		t->v[t->n++] = (struct global){.from = from,
			.to = from + sym.st_size < from ? UINT64_MAX : from + sym.st_size,
			.number = i};
	}
}

static void sort(struct symtab *t, Dwfl_Module *m)
{
	const int n = dwfl_module_getsymtab(m), first = dwfl_module_getsymtab_first_global(m);
	uint64_t furthest = 0;
	GElf_Addr from;
	GElf_Sym sym;

	t->sorted = true;
	t->lowest_local = first < 0 ? 0 : UINT64_MAX;
	for (int i = 1; i < first; i++)
		if (eligible(m, i, &sym, &from) && from < t->lowest_local)
			t->lowest_local = from;
	if (first >= 0)
		add_globals(t, m, first ? first : 1, n);
	if (t->n)
		qsort(t->v, t->n, sizeof *t->v, by_place);
	if (t->nlabels)
		qsort(t->labels, t->nlabels, sizeof *t->labels, by_address);
	for (size_t i = 0; i < t->n; i++) {
		furthest = t->v[i].to > furthest ? t->v[i].to : furthest;
		t->v[i].furthest = furthest;
	}
}

/* How many begin at the address or before it. */
static size_t upto(const struct symtab *t, uint64_t addr)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (t->v[mid].from <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
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
static size_t holders(const struct symtab *t, uint64_t addr, struct global **ret)
{
	size_t n = 0, cap = 0;

	*ret = NULL;
	for (size_t i = upto(t, addr); i-- > 0 && t->v[i].furthest > addr;) {
		if (t->v[i].to <= addr)
			continue;
		MAKE_ROOM(*ret, n, cap);
		(*ret)[n++] = t->v[i];
	}
	if (n > 1)
		qsort(*ret, n, sizeof **ret, by_number);
	return n;
}

/* Whether an address that no global symbol with a size holds belongs to nothing. */
static bool is_nowhere(const struct symtab *t, uint64_t addr)
{
	const size_t before = upto(t, addr);
	const uint64_t end = before ? t->v[before - 1].furthest : 0;

	for (size_t i = 0; i < t->nlabels && t->labels[i] <= addr; i++)
		if (t->labels[i] >= end)
			return false;
	return addr < t->lowest_local;
}

const char *symtab_find(
	struct symtab **tab, Dwfl_Module *m, uint64_t addr, GElf_Off *ret_offset, GElf_Sym *ret_sym)
{
	const char *name, *best = NULL;
	uint64_t best_from = 0;
	struct global *found;
	struct symtab *t;
	GElf_Addr from;
	GElf_Sym sym;
	size_t n;

	t = *tab = *tab ? *tab : xcalloc(1, sizeof **tab);
	if (!t->sorted && t->asked++ < WORTH_IT)
		return dwfl_module_addrinfo(m, addr, ret_offset, ret_sym, NULL, NULL, NULL);
	if (!t->sorted)
		sort(t, m);
	n = holders(t, addr, &found);
	for (size_t i = 0; i < n; i++) {
		name = eligible(m, found[i].number, &sym, &from);
		if (!name || (best && !is_better(&sym, from, ret_sym, best_from)))
			continue;
		best = name;
		best_from = from;
		*ret_sym = sym;
	}
	free(found);
	if (!best && is_nowhere(t, addr))
		return NULL;
	if (!best)
		return dwfl_module_addrinfo(m, addr, ret_offset, ret_sym, NULL, NULL, NULL);
	*ret_offset = addr - best_from;
	return best;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->v);
	free(t->labels);
	free(t);
}
