/* SPDX-License-Identifier: Apache-2.0
 *
 * Debug information of kernels, see kernel-debug.h. The surprise: the compilation unit of a PTX has
 * no range of addresses, so functions are looked for by their own.
 */
#include "symbols/kernel-debug.h"

#include <ctype.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/first-where.h"
#include "symbols/dwarf/dwarf-walk.h"
#include "symbols/dwarf/file-names.h"
#include "symbols/ptx/ptx-sections.h"

enum { DEPTH_MAX = 32, SCOPES_MAX = 64 };

struct function {
	Dwarf_Die die, cu;
	Dwarf_Addr from, to;
};

struct kernel_debug {
	struct ptx_sections sections;
	struct buf file;
	Elf *elf;
	Dwarf *dw;
	struct file_names *names;
	struct function *functions;
	unsigned nfunctions, cap;
};

void kernel_debug_free(struct kernel_debug *d)
{
	if (!d)
		return;
	file_names_free(d->names);
	if (d->dw)
		dwarf_end(d->dw);
	if (d->elf)
		elf_end(d->elf);
	free(d->functions);
	buf_free(&d->file);
	ptx_sections_free(&d->sections);
	free(d);
}

/* --- functions --- */

/* The function of a DIE with code; other DIEs may have such children. */
static void take_functions(
	struct kernel_debug *d, Dwarf_Die *cu, Dwarf_Die *parent, unsigned depth, uint64_t *budget)
{
	Dwarf_Die die;

	for (bool more = die_first(parent, &die); more && *budget; more = die_next(&die)) {
		struct function f = {.die = die, .cu = *cu};
		const int tag = dwarf_tag(&die);

		--*budget;
		if (tag == DW_TAG_subprogram && !dwarf_lowpc(&die, &f.from) &&
			!dwarf_highpc(&die, &f.to) && f.from < f.to) {
			MAKE_ROOM(d->functions, d->nfunctions, d->cap);
			d->functions[d->nfunctions++] = f;
		} else if (depth < DEPTH_MAX &&
			   (tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
				   tag == DW_TAG_class_type)) {
			take_functions(d, cu, &die, depth + 1, budget);
		}
	}
}

static void take_units(struct kernel_debug *d)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (dwarf_nextcu(d->dw, at, &next, &header, NULL, NULL, NULL) == 0 && next > at) {
		uint64_t budget = next - at;
		Dwarf_Die cu;

		if (dwarf_offdie(d->dw, at + header, &cu))
			take_functions(d, &cu, &cu, 0, &budget);
		at = next;
	}
}

struct kernel_debug *kernel_debug_new(struct lang *l, const char *text)
{
	struct kernel_debug *d = xcalloc(1, sizeof *d);

	if (!ptx_sections_read(text, &d->sections)) {
		kernel_debug_free(d);
		return NULL;
	}
	ptx_sections_elf(&d->sections, &d->file);
	elf_version(EV_CURRENT);
	d->elf = elf_memory((char *)d->file.data, d->file.len);
	d->dw = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	if (d->dw) {
		d->names = file_names_new(d->dw, l, 0);
		take_units(d);
	}
	if (!d->nfunctions && !d->sections.nlocs) {
		kernel_debug_free(d);
		return NULL;
	}
	return d;
}

struct file_names *kernel_debug_names(struct kernel_debug *d)
{
	return d->names;
}

/* --- scopes --- */

static bool is_scope(Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
}

/* The scope within `parent` that holds pc. */
static bool inner_scope(Dwarf_Die *parent, Dwarf_Addr pc, Dwarf_Die *ret)
{
	for (bool more = die_first(parent, ret); more; more = die_next(ret))
		if (is_scope(ret) && dwarf_haspc(ret, pc) == 1)
			return true;
	return false;
}

bool kernel_debug_scopes(struct kernel_debug *d, unsigned line, struct symbols_scope *ret)
{
	Dwarf_Die chain[SCOPES_MAX];
	int n = 0;
	unsigned k = 0;

	while (k < d->nfunctions && (line < d->functions[k].from || line >= d->functions[k].to))
		k++;
	if (k == d->nfunctions)
		return false;
	chain[n++] = d->functions[k].die;
	while (n < SCOPES_MAX && inner_scope(&chain[n - 1], line, &chain[n]))
		n++;
	*ret = (struct symbols_scope){.addr = line,
		.cu = d->functions[k].cu,
		.scopes = xcalloc((size_t)n, sizeof *ret->scopes),
		.nscopes = n};
	for (int i = 0; i < n; i++)
		ret->scopes[i] = chain[n - 1 - i];
	return true;
}

/* --- inlined calls by .loc --- */

static const char *text_at(const struct kernel_debug *d, uint64_t offset)
{
	const struct ptx_sections *s = &d->sections;

	for (unsigned k = 0; k < s->n; k++) {
		const struct buf *b = &s->v[k].bytes;

		if (!strcmp(s->v[k].name, ".debug_str") && offset < b->len &&
			memchr(b->data + offset, 0, b->len - offset))
			return (const char *)b->data + offset;
	}
	return NULL;
}

static bool same_place(const struct ptx_place *a, const struct ptx_place *b)
{
	return a->file == b->file && a->line == b->line && a->column == b->column;
}

/* The .loc before number k whose place `place` is. A call that was itself inlined is one of those
 * before it. */
static unsigned outer_loc(const struct ptx_sections *s, unsigned k, const struct ptx_place *place)
{
	while (k-- > 0)
		if (same_place(&s->locs[k].own, place))
			return k;
	return s->nlocs;
}

static bool loc_inlined(
	const struct kernel_debug *d, unsigned line, unsigned depth, struct inlined_call *ret)
{
	const struct ptx_sections *s = &d->sections;
	unsigned k = FIRST_WHERE(s->nlocs, i, s->locs[i].ptx_line > line);

	if (!k || depth >= SCOPES_MAX)
		return false;
	for (k--; k < s->nlocs && s->locs[k].inlined; k = outer_loc(s, k, &s->locs[k].call)) {
		const struct ptx_loc_line *l = &s->locs[k];

		if (depth--)
			continue;
		*ret = (struct inlined_call){.function = text_at(d, l->name),
			.file = l->call.file,
			.line = (unsigned)l->call.line};
		return true;
	}
	return false;
}

bool kernel_debug_inlined(
	struct kernel_debug *d, unsigned line, unsigned depth, struct inlined_call *ret)
{
	struct symbols_scope sc;
	bool found;

	if (!kernel_debug_scopes(d, line, &sc))
		return loc_inlined(d, line, depth, ret);
	found = scope_inlined(&sc, depth, ret);
	free(sc.scopes);
	return found;
}

/* --- names --- */

const char *kernel_debug_symbol(const struct kernel_debug *d, uint64_t addr, uint64_t *ret_offset)
{
	const uint64_t number = addr / PTX_SYMBOL_SIZE;

	*ret_offset = addr % PTX_SYMBOL_SIZE;
	return number && number <= d->sections.nsymbols ? d->sections.symbols[number - 1] : NULL;
}

const char *kernel_debug_file(const struct kernel_debug *d, uint64_t number)
{
	for (unsigned k = 0; k < d->sections.nfiles; k++)
		if (d->sections.files[k].number == number)
			return d->sections.files[k].name;
	return NULL;
}

bool kernel_debug_register(uint64_t number, char ret[9])
{
	unsigned n = 0;

	for (int shift = 56; shift >= 0; shift -= 8) {
		const char c = (char)(number >> shift);

		if (!c && !n)
			continue;
		if (!isalnum((unsigned char)c) && c != '%' && c != '_' && c != '$')
			return false;
		ret[n++] = c;
	}
	ret[n] = 0;
	return n > 1 && ret[0] == '%';
}
