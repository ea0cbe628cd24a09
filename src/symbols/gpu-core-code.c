/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu-core-code.h. Functions come from each cubin's symbols, lines from its .debug_line, which
 * nvcc writes as DWARF 2 without any .debug_info.
 */
#include "symbols/gpu-core-code.h"

#include "gpucode/cubin.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct function {
	uint32_t device;
	uint64_t begin, size;
	const char *name;
	size_t image;
};

struct image {
	Elf *elf;     /* NULL: libelf cannot read it */
	Dwarf *dwarf; /* NULL: no lines */
};

struct gpu_core_codes {
	struct function *functions;
	size_t nfunctions;
	struct image *images;
	size_t nimages;
};

struct gpu_core_codes *gpu_core_codes_new(void)
{
	elf_version(EV_CURRENT);
	return calloc(1, sizeof(struct gpu_core_codes));
}

void gpu_core_codes_free(struct gpu_core_codes *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nimages; i++) {
		if (c->images[i].dwarf)
			dwarf_end(c->images[i].dwarf);
		if (c->images[i].elf)
			elf_end(c->images[i].elf);
	}
	free(c->images);
	free(c->functions);
	free(c);
}

/* A function within another's code has a symbol "$KERNEL$FUNCTION". */
static const char *own_name(const char *name)
{
	const char *last = *name == '$' ? strrchr(name, '$') : NULL;

	return last && last[1] ? last + 1 : name;
}

static struct err *functions_add(
	struct gpu_core_codes *c, const struct cubin *elf, const Elf64_Shdr *s, uint32_t device)
{
	const uint64_t n = s->sh_size / sizeof(Elf64_Sym);
	struct function *all;
	Elf64_Sym sym;

	if (!n || n > elf->size / sizeof sym)
		return NULL;
	all = reallocarray(c->functions, c->nfunctions + n, sizeof *all);
	if (!all)
		return err_nomem();
	c->functions = all;
	for (uint64_t i = 0; i < n; i++) {
		/* Code that was not loaded, for nothing used it, has address 0. */
		if (!cubin_entry(elf, s->sh_offset, s->sh_size, i, &sym, sizeof sym) ||
			ELF64_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_value)
			continue;
		c->functions[c->nfunctions++] = (struct function){.device = device,
			.begin = sym.st_value,
			.size = sym.st_size,
			.name = own_name(cubin_string(elf, s->sh_link, sym.st_name)),
			.image = c->nimages};
	}
	return NULL;
}

struct err *gpu_core_codes_add(
	struct gpu_core_codes *c, uint32_t device, const uint8_t *bytes, uint64_t n)
{
	struct image *all = reallocarray(c->images, c->nimages + 1, sizeof *all);
	struct cubin elf;
	Elf64_Shdr s;

	if (!all)
		return err_nomem();
	c->images = all;
	all[c->nimages] = (struct image){0};
	if (!cubin_open(&elf, bytes, n) || !cubin_is_whole(&elf)) {
		c->nimages++;
		return NULL;
	}
	for (uint64_t i = 1; i < elf.nsections; i++)
		if (cubin_section(&elf, i, &s) && s.sh_type == SHT_SYMTAB)
			TRY(functions_add(c, &elf, &s, device));
	/* libelf does not write to what it reads. */
	all[c->nimages].elf = elf_memory((char *)(uintptr_t)bytes, n);
	if (all[c->nimages].elf)
		all[c->nimages].dwarf = dwarf_begin_elf(all[c->nimages].elf, DWARF_C_READ, NULL);
	c->nimages++;
	return NULL;
}

const char *gpu_core_function_at(const struct gpu_core_codes *c, uint32_t device, uint64_t addr)
{
	for (size_t i = 0; i < c->nfunctions; i++)
		if (c->functions[i].device == device && c->functions[i].begin == addr)
			return c->functions[i].name;
	return NULL;
}

/* The innermost function that has the byte: the one that begins last. */
static const struct function *function_round(
	const struct gpu_core_codes *c, uint32_t device, uint64_t addr)
{
	const struct function *best = NULL;

	for (size_t i = 0; i < c->nfunctions; i++) {
		const struct function *f = &c->functions[i];

		if (f->device == device && addr >= f->begin && addr - f->begin < f->size &&
			(!best || f->begin > best->begin))
			best = f;
	}
	return best;
}

/* Looks in one table of lines. Addresses rise within a sequence; the row before the first that is
 * above addr has the byte, unless it ends its sequence. */
static bool line_in(Dwarf_Lines *lines, size_t n, uint64_t addr, struct gpu_core_code *ret)
{
	for (size_t i = 0; i + 1 < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);
		Dwarf_Line *next = dwarf_onesrcline(lines, i + 1);
		Dwarf_Addr from, to;
		bool ends;
		int number;

		if (dwarf_lineendsequence(l, &ends) || ends || dwarf_lineaddr(l, &from) ||
			dwarf_lineaddr(next, &to) || addr < from || addr >= to ||
			dwarf_lineno(l, &number))
			continue;
		ret->file = dwarf_linesrc(l, NULL, NULL);
		ret->line = number > 0 ? (unsigned)number : 0;
		return true;
	}
	return false;
}

static void line_of(Dwarf *dwarf, uint64_t addr, struct gpu_core_code *ret)
{
	Dwarf_Off at = 0, next;
	Dwarf_CU *cu = NULL;
	Dwarf_Files *files;
	Dwarf_Lines *lines;
	size_t nfiles, n;

	while (!dwarf_next_lines(dwarf, at, &next, &cu, &files, &nfiles, &lines, &n)) {
		if (line_in(lines, n, addr, ret) || next <= at)
			return;
		at = next;
	}
}

void gpu_core_code_at(const struct gpu_core_codes *c, uint32_t device, uint64_t pc, unsigned back,
	struct gpu_core_code *ret)
{
	const struct function *f = function_round(c, device, pc - back);

	*ret = (struct gpu_core_code){.pc = pc};
	if (!f)
		return;
	ret->function = f->name;
	if (c->images[f->image].dwarf)
		line_of(c->images[f->image].dwarf, pc - back, ret);
}
