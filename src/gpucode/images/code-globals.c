/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of code; see code-globals.h. In a cubin they are the data symbols of sections
 * .nv.global*, .nv.constant3 (and 2, 4 of older ones); in PTX the .global and .const declarations
 * outside functions (PTX ISA, "State Spaces").
 */
#include "gpucode/code-globals.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include "gpucode/amd-object.h"
#include "gpucode/code-kind.h"
#include "gpucode/cubin-cells.h"
#include "gpucode/cubin.h"
#include "gpucode/ptx-text.h"

struct found {
	code_global_fn *fn;
	void *arg;
};

/* ---- cubins ---- */

static bool is_data(const char *section)
{
	return !strncmp(section, ".nv.global", 10) || !strcmp(section, ".nv.constant3") ||
	       !strcmp(section, ".nv.constant4");
}

static void find_symbols(const struct found *f, const struct cubin *c, const Elf64_Shdr *table)
{
	Elf64_Shdr section;
	Elf64_Sym sym;
	for (uint64_t i = 0; cubin_entry(c, table->sh_offset, table->sh_size, i, &sym, sizeof(sym));
		i++) {
		if (ELF64_ST_TYPE(sym.st_info) != STT_OBJECT || !sym.st_size ||
			!cubin_section(c, sym.st_shndx, &section) ||
			!is_data(cubin_string(c, c->header.e_shstrndx, section.sh_name)))
			continue;
		const char *name = cubin_string(c, table->sh_link, sym.st_name);
		f->fn(f->arg, name, strlen(name));
	}
}

static void find_in_elf(const struct found *f, const uint8_t *code, size_t size)
{
	struct cubin c;
	Elf64_Shdr s;
	if (!cubin_open(&c, code, size))
		return;
	for (uint64_t i = 0; cubin_section(&c, i, &s); i++)
		if (s.sh_type == SHT_SYMTAB)
			find_symbols(f, &c, &s);
}

/* ---- PTX ---- */

/* One statement outside functions: the name that a .global or .const declares is the first word
 * outside parentheses that begins with neither a dot nor a digit. */
static void find_in_statement(const struct found *f, const char *p, const char *end)
{
	bool data = false;
	while (p < end) {
		if (*p == '(') {
			while (p < end && *p != ')')
				p++;
		} else if (*p == '.') {
			const char *word = ++p;
			while (p < end && ptx_is_name(*p))
				p++;
			const size_t n = (size_t)(p - word);
			data |= (n == 6 && !memcmp(word, "global", 6)) ||
				(n == 5 && !memcmp(word, "const", 5));
			if (n == 6 && !memcmp(word, "extern", 6))
				return;
			continue;
		} else if (ptx_is_name(*p)) {
			const char *word = p;
			while (p < end && ptx_is_name(*p))
				p++;
			if (*word >= '0' && *word <= '9')
				continue;
			if (data)
				f->fn(f->arg, word, (size_t)(p - word));
			return;
		}
		p++;
	}
}

/* The end of a comment or string that begins at p; p when none does. */
static const char *over(const char *p, const char *end)
{
	if (*p != '"')
		return ptx_skip_comment(p, end);
	for (p++; p < end && *p != '"'; p++)
		;
	return p < end ? p + 1 : end;
}

static void find_in_ptx(const struct found *f, const char *p, size_t size)
{
	const char *const end = p + size, *begin = p;
	unsigned depth = 0;
	while (p < end && *p) {
		const char *next = over(p, end);
		if (next != p) {
			if (!depth && begin == p)
				begin = next;
			p = next;
			continue;
		}
		if (*p == '{') {
			/* The braces of an initialiser end with the statement, those of a function
			 * end it. */
			depth++;
		} else if (*p == '}') {
			depth -= depth > 0;
			if (!depth && !memchr(begin, '=', (size_t)(p - begin)))
				begin = p + 1;
		} else if (!depth && *p == ';') {
			find_in_statement(f, begin, p);
			begin = p + 1;
		} else if (!depth && *p == '\n' && begin == p) {
			begin = p + 1;
		} else if (!depth && *p == '\n') {
			/* Directives without a semicolon (.version, .target, .address_size) end
			 * with their line. */
			const char *q = begin;
			while (q < p && (*q == ' ' || *q == '\t'))
				q++;
			if (p - q > 7 &&
				(!memcmp(q, ".version", 8) || !memcmp(q, ".target", 7) ||
					!memcmp(q, ".addres", 7) || !memcmp(q, ".file", 5)))
				begin = p + 1;
		}
		p++;
	}
}

/* ---- AMD's code objects ---- */

static bool found_variable(void *arg, const struct amd_variable *v)
{
	const struct found *f = arg;
	f->fn(f->arg, v->name.p, v->name.n);
	return true;
}

void code_globals(const void *code, size_t size, code_global_fn *fn, void *arg)
{
	struct found f = {fn, arg};
	const enum code_kind kind = code_kind_of(code, size);
	if (kind == CODE_PTX)
		find_in_ptx(&f, code, size);
	else if (kind == CODE_AMD_OBJECT)
		(void)amd_object_variables(code, size, found_variable, &f);
	else
		find_in_elf(&f, code, size);
}

void code_global_cells(const void *code, size_t size, code_cell_fn *fn, void *arg)
{
	if (code_kind_of(code, size) != CODE_PTX)
		(void)cubin_cells(code, size, fn, arg);
}
