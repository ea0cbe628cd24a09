/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions and lines of a code object, see amd-image.h. A kernel is a function NAME beside whose
 * symbol there is one of its descriptor, NAME.kd.
 */
#include "gpucode/amd-image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/first-where.h"

enum { SYMBOLS_MAX = 1 << 20 };

struct elf {
	const uint8_t *p;
	size_t n;
	Elf64_Ehdr e;
};

static bool section(const struct elf *f, uint32_t k, Elf64_Shdr *ret)
{
	uint64_t at;

	if (k >= f->e.e_shnum || ckd_add(&at, f->e.e_shoff, (uint64_t)k * sizeof(*ret)) ||
		!range_within(at, sizeof(*ret), 0, f->n))
		return false;
	memcpy(ret, f->p + at, sizeof(*ret));
	return ret->sh_type != SHT_NOBITS && range_within(ret->sh_offset, ret->sh_size, 0, f->n);
}

/* A name in a section of them; NULL: it is not there, or has no end. */
static const char *name_in(const struct elf *f, const Elf64_Shdr *names, uint64_t at)
{
	const char *s;

	if (at >= names->sh_size)
		return NULL;
	s = (const char *)f->p + names->sh_offset + at;
	return memchr(s, 0, names->sh_size - at) ? s : NULL;
}

static struct amd_bytes named(const struct elf *f, const char *name)
{
	struct amd_bytes none = {(const uint8_t *)"", 0};
	Elf64_Shdr names, s;

	if (!section(f, f->e.e_shstrndx, &names))
		return none;
	for (uint32_t k = 0; k < f->e.e_shnum; k++) {
		const char *have;

		if (!section(f, k, &s) || s.sh_flags & SHF_COMPRESSED)
			continue;
		have = name_in(f, &names, s.sh_name);
		if (have && !strcmp(have, name))
			return (struct amd_bytes){f->p + s.sh_offset, s.sh_size};
	}
	return none;
}

/* --- functions --- */

static bool symbols_of(const struct elf *f, uint32_t type, Elf64_Shdr *table, Elf64_Shdr *names)
{
	for (uint32_t k = 0; k < f->e.e_shnum; k++)
		if (section(f, k, table) && table->sh_type == type &&
			table->sh_entsize == sizeof(Elf64_Sym) && section(f, table->sh_link, names))
			return true;
	return false;
}

static bool is_descriptor(const char *name)
{
	const size_t n = strlen(name);

	return n > 3 && !strcmp(name + n - 3, ".kd");
}

static int by_address(const void *a, const void *b)
{
	const struct amd_function *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void add_function(struct amd_image *m, const Elf64_Sym *s, const char *name)
{
	struct amd_function *at = &m->functions[m->nfunctions];

	*at = (struct amd_function){.addr = s->st_value, .size = s->st_size, .name = strdup(name)};
	m->nfunctions += at->name != NULL;
}

static int by_name(const void *a, const void *b)
{
	const struct amd_function *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Functions lie by name. Several of one file alone may have one name: none of them is a kernel. */
static void mark_kernel(struct amd_image *m, const char *descriptor)
{
	struct amd_function key = {.name = strndup(descriptor, strlen(descriptor) - 3)}, *f = NULL;

	if (key.name)
		f = bsearch(&key, m->functions, m->nfunctions, sizeof(key), by_name);
	if (f)
		f->is_kernel = true;
	free(key.name);
}

static bool read_functions(struct amd_image *m, const struct elf *f)
{
	Elf64_Shdr table, names;
	uint64_t n;

	if (!symbols_of(f, SHT_SYMTAB, &table, &names) &&
		!symbols_of(f, SHT_DYNSYM, &table, &names))
		return true;
	n = table.sh_size / sizeof(Elf64_Sym);
	n = n < SYMBOLS_MAX ? n : SYMBOLS_MAX;
	m->functions = calloc(n + 1, sizeof(*m->functions));
	if (!m->functions)
		return false;
	for (unsigned descriptors = 0; descriptors < 2; descriptors++) {
		qsort(m->functions, m->nfunctions, sizeof(*m->functions), by_name);
		for (uint64_t k = 0; k < n; k++) {
			Elf64_Sym s;
			const char *name;

			memcpy(&s, f->p + table.sh_offset + k * sizeof(s), sizeof(s));
			name = name_in(f, &names, s.st_name);
			if (!name || s.st_shndx == SHN_UNDEF)
				continue;
			if (!descriptors && ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_size)
				add_function(m, &s, name);
			else if (descriptors && is_descriptor(name))
				mark_kernel(m, name);
		}
	}
	qsort(m->functions, m->nfunctions, sizeof(*m->functions), by_address);
	return true;
}

struct amd_image *amd_image_new(const void *elf, size_t n)
{
	struct elf f = {.p = elf, .n = n};
	struct amd_image *m;

	if (n < sizeof(f.e))
		return NULL;
	memcpy(&f.e, elf, sizeof(f.e));
	if (memcmp(f.e.e_ident, ELFMAG, SELFMAG) || f.e.e_ident[EI_CLASS] != ELFCLASS64 ||
		f.e.e_shentsize != sizeof(Elf64_Shdr))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	if (!read_functions(m, &f)) {
		amd_image_free(m);
		return NULL;
	}
	amd_dwarf_lines(&m->lines, named(&f, ".debug_line"), named(&f, ".debug_line_str"),
		named(&f, ".debug_str"));
	amd_lines_sort(&m->lines);
	return m;
}

void amd_image_free(struct amd_image *m)
{
	if (!m)
		return;
	for (size_t k = 0; k < m->nfunctions; k++)
		free(m->functions[k].name);
	for (size_t k = 0; k < m->lines.nfiles; k++)
		free(m->lines.files[k]);
	free(m->functions);
	free(m->lines.files);
	free(m->lines.v);
	free(m);
}

/* --- looking up --- */

const struct amd_function *amd_image_function(const struct amd_image *m, uint64_t addr)
{
	const size_t at = FIRST_WHERE(m->nfunctions, i, m->functions[i].addr > addr);
	const struct amd_function *f = at ? &m->functions[at - 1] : NULL;

	return f && addr - f->addr < f->size ? f : NULL;
}

const struct amd_function *amd_image_named(const struct amd_image *m, const char *name)
{
	for (size_t k = 0; k < m->nfunctions; k++)
		if (!strcmp(m->functions[k].name, name))
			return &m->functions[k];
	return NULL;
}

const struct amd_line *amd_image_line(const struct amd_image *m, uint64_t addr)
{
	const size_t at = FIRST_WHERE(m->lines.n, i, m->lines.v[i].addr > addr);

	return at && m->lines.v[at - 1].line ? &m->lines.v[at - 1] : NULL;
}

static const char *file_of(const struct amd_image *m, uint32_t file)
{
	return file < m->lines.nfiles ? m->lines.files[file] : "";
}

const char *amd_image_file(const struct amd_image *m, const struct amd_line *l)
{
	return file_of(m, l->file);
}

const char *amd_image_file_at(const struct amd_image *m, uint64_t addr)
{
	const struct amd_line *l = amd_image_line(m, addr);
	const struct amd_function *f = amd_image_function(m, addr);

	if (!l)
		return "";
	if (l->addr == addr && l->first != UINT32_MAX)
		return file_of(m, l->first);
	for (size_t k = 0; f && k < m->lines.n; k++) /* newer compilers: no row of its own */
		if (m->lines.v[k].addr - f->addr < f->size &&
			!strcmp(amd_image_file(m, &m->lines.v[k]), file_of(m, l->primary)))
			return file_of(m, l->primary);
	return file_of(m, l->file);
}

bool amd_image_file_is(const struct amd_image *m, const struct amd_line *l, const char *file)
{
	const char *path = amd_image_file(m, l);
	const size_t a = strlen(path), b = strlen(file);

	return b && a >= b && !strcmp(path + a - b, file) && (a == b || path[a - b - 1] == '/');
}

bool amd_image_begins(const struct amd_image *m, size_t i)
{
	const struct amd_line *l = &m->lines.v[i], *before = i ? l - 1 : NULL;

	return l->line && (!before || before->line != l->line || before->file != l->file);
}

uint32_t amd_image_find(const struct amd_image *m, const char *file, uint32_t line)
{
	uint32_t best = 0;

	for (size_t k = 0; k < m->lines.n; k++) {
		const struct amd_line *l = &m->lines.v[k];

		if (l->line >= line && l->line && (!best || l->line < best) &&
			amd_image_file_is(m, l, file))
			best = l->line;
	}
	return best;
}
