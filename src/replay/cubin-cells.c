/* SPDX-License-Identifier: Apache-2.0
 *
 * A cubin is an ELF file: variables are the object symbols of sections .nv.global.init and .nv.constant3, and a relocation against a
 * symbol that is a function makes one of their words its address (what nvlink writes; whole programs that are not linked so have small
 * numbers there, which are the same everywhere).
 */
#include "replay/cubin-cells.h"

#include <elf.h>
#include <string.h>

struct image {
	const uint8_t *code;
	size_t size;
	Elf64_Ehdr header;
	uint64_t nsections;
	unsigned looks; /* that are left */
	cubin_cell_fn *fn;
	void *arg;
};

/* Entry i of a table of entries of n bytes. */
static bool entry(const struct image *m, uint64_t table, uint64_t table_size, uint64_t i, void *ret, size_t n)
{
	if (table > m->size || table_size > m->size - table || i >= table_size / n)
		return false;
	memcpy(ret, m->code + table + i * n, n);
	return true;
}

static bool section(const struct image *m, uint64_t i, Elf64_Shdr *ret)
{
	return m->header.e_shentsize == sizeof *ret && i < m->nsections && m->header.e_shoff <= m->size &&
	       entry(m, m->header.e_shoff, m->size - m->header.e_shoff, i, ret, sizeof *ret);
}

/* "" when there is none. */
static const char *string(const struct image *m, uint64_t strings, uint64_t at)
{
	Elf64_Shdr s;

	if (!section(m, strings, &s) || s.sh_offset > m->size || s.sh_size > m->size - s.sh_offset || at >= s.sh_size)
		return "";
	const char *text = (const char *)m->code + s.sh_offset + at;
	return memchr(text, '\0', s.sh_size - at) ? text : "";
}

static bool holds_variables(const struct image *m, const Elf64_Shdr *s)
{
	const char *name = string(m, m->header.e_shstrndx, s->sh_name);

	return !strncmp(name, ".nv.global.init", 15) || !strcmp(name, ".nv.constant3");
}

/* ---- variables of a section -------------------------------------------------------------------------------------------------- */

/* Symbols and relocations that may be looked at in one file: a table's words come one after the other and are found at once, and so are
 * variables in the order of their symbols; others by going through all. */
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

/* The variable that has the 8 bytes at that place of a section; last: the one that was found before. */
static bool find_variable(struct image *m, const Elf64_Shdr *symbols, uint64_t of, uint64_t at, struct variable *last)
{
	Elf64_Sym s;

	if (holds(last, of, at))
		return true;
	const uint64_t n = symbols->sh_size / sizeof s;
	for (uint64_t k = 0, i = last->symbol; k < n && m->looks; k++, i++) {
		i = i < n ? i : 0;
		if (!entry(m, symbols->sh_offset, symbols->sh_size, i, &s, sizeof s))
			return false;
		const struct variable v = {of, s.st_value, s.st_size, i, s.st_name};

		m->looks--;
		if (s.st_shndx != of || ELF64_ST_TYPE(s.st_info) != STT_OBJECT || !holds(&v, of, at))
			continue;
		*last = v;
		return true;
	}
	return false;
}

/* ---- relocations --------------------------------------------------------------------------------------------------------------- */

static bool is_function(const struct image *m, const Elf64_Shdr *symbols, uint64_t info)
{
	Elf64_Sym s;

	return entry(m, symbols->sh_offset, symbols->sh_size, ELF64_R_SYM(info), &s, sizeof s) && ELF64_ST_TYPE(s.st_info) == STT_FUNC;
}

/* One relocation section; both kinds begin with the place and the symbol. */
static bool relocations(struct image *m, const Elf64_Shdr *table)
{
	const size_t each = table->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	struct variable v = {0};
	Elf64_Rela r = {0};
	Elf64_Shdr symbols;

	if (!section(m, table->sh_link, &symbols))
		return false;
	for (uint64_t i = 0; m->looks && entry(m, table->sh_offset, table->sh_size, i, &r, each); i++, m->looks -= m->looks > 0)
		if (is_function(m, &symbols, r.r_info) && find_variable(m, &symbols, table->sh_info, r.r_offset, &v))
			m->fn(m->arg, string(m, symbols.sh_link, v.name), r.r_offset - v.at);
	return m->looks;
}

bool cubin_cells(const void *code, size_t size, cubin_cell_fn *fn, void *arg)
{
	struct image m = {.code = code, .size = size, .fn = fn, .arg = arg, .looks = LOOKS};
	Elf64_Shdr s, of;
	bool ok = true;

	if (size < sizeof m.header || memcmp(code, ELFMAG, SELFMAG))
		return false;
	memcpy(&m.header, code, sizeof m.header);
	if (m.header.e_ident[EI_CLASS] != ELFCLASS64 || m.header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	m.nsections = m.header.e_shnum ? m.header.e_shnum : 1;
	if (!m.header.e_shnum && section(&m, 0, &s)) /* more than the field can say */
		m.nsections = s.sh_size;
	for (uint64_t i = 0; i < m.nsections && ok; i++) {
		ok = section(&m, i, &s);
		if (ok && (s.sh_type == SHT_RELA || s.sh_type == SHT_REL) && section(&m, s.sh_info, &of) && holds_variables(&m, &of))
			ok = relocations(&m, &s);
	}
	return ok;
}
