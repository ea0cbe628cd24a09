/* SPDX-License-Identifier: Apache-2.0
 *
 * A cubin is an ELF file: variables are the object symbols of sections .nv.global.init and
 * .nv.constant3, and a relocation against a symbol that is a function makes one of their words its
 * address (what nvlink writes; whole programs that are not linked so have small numbers there,
 * which are the same everywhere).
 */
#include "gpucode/cubin-cells.h"
#include "gpucode/cubin.h"

#include <string.h>

struct search {
	struct cubin cubin;
	unsigned looks; /* look-ups that are left */
	cubin_cell_fn *fn;
	void *arg;
};

static bool holds_variables(const struct cubin *c, const Elf64_Shdr *s)
{
	const char *name = cubin_string(c, c->header.e_shstrndx, s->sh_name);

	return !strncmp(name, ".nv.global.init", 15) || !strcmp(name, ".nv.constant3");
}

/* --- variables of a section --- */

/* Symbols and relocations that may be looked at in one file: a table's words come one after the
 * other and are found at once, and so are variables in the order of their symbols; others by going
 * through all. */
#define LOOKS (64u << 20)

struct variable {
	uint64_t section, at, size; /* size 0: none */
	uint64_t symbol;
	uint32_t name;
};

static bool holds(const struct variable *v, uint64_t section, uint64_t at)
{
	return section == v->section && at - v->at < v->size && v->size - (at - v->at) >= 8;
}

/* Finds the variable that holds the 8 bytes at that place of a section; last: the one found before,
 * tried first. */
static bool find_variable(struct search *m, const Elf64_Shdr *symbols, uint64_t of, uint64_t at,
	struct variable *last)
{
	Elf64_Sym s;

	if (holds(last, of, at))
		return true;
	const uint64_t n = symbols->sh_size / sizeof s;
	for (uint64_t k = 0, i = last->symbol; k < n && m->looks; k++, i++) {
		i = i < n ? i : 0;
		if (!cubin_entry(&m->cubin, symbols->sh_offset, symbols->sh_size, i, &s, sizeof s))
			return false;
		const struct variable v = {of, s.st_value, s.st_size, i, s.st_name};

		m->looks--;
		if (s.st_shndx != of || ELF64_ST_TYPE(s.st_info) != STT_OBJECT ||
			!holds(&v, of, at))
			continue;
		*last = v;
		return true;
	}
	return false;
}

/* --- relocations --- */

static bool is_function(const struct cubin *c, const Elf64_Shdr *symbols, uint64_t info)
{
	Elf64_Sym s;

	return cubin_entry(
		       c, symbols->sh_offset, symbols->sh_size, ELF64_R_SYM(info), &s, sizeof s) &&
	       ELF64_ST_TYPE(s.st_info) == STT_FUNC;
}

/* One relocation section; both kinds begin with the place and the symbol. */
static bool relocations(struct search *m, const Elf64_Shdr *table)
{
	const size_t each = table->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	struct variable v = {0};
	Elf64_Rela r = {0};
	Elf64_Shdr symbols;

	if (!cubin_section(&m->cubin, table->sh_link, &symbols))
		return false;
	for (uint64_t i = 0;
		m->looks && cubin_entry(&m->cubin, table->sh_offset, table->sh_size, i, &r, each);
		i++, m->looks -= m->looks > 0)
		if (is_function(&m->cubin, &symbols, r.r_info) &&
			find_variable(m, &symbols, table->sh_info, r.r_offset, &v))
			m->fn(m->arg, cubin_string(&m->cubin, symbols.sh_link, v.name),
				r.r_offset - v.at);
	return m->looks;
}

bool cubin_cells(const void *code, size_t size, cubin_cell_fn *fn, void *arg)
{
	struct search m = {.fn = fn, .arg = arg, .looks = LOOKS};
	const struct cubin *c = &m.cubin;
	Elf64_Shdr s, of;
	bool ok = cubin_open(&m.cubin, code, size);

	for (uint64_t i = 0; i < c->nsections && ok; i++) {
		ok = cubin_section(c, i, &s);
		if (ok && (s.sh_type == SHT_RELA || s.sh_type == SHT_REL) &&
			cubin_section(c, s.sh_info, &of) && holds_variables(c, &of))
			ok = relocations(&m, &s);
	}
	return ok;
}
