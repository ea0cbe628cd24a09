/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and lines for ELF addresses, from files on disk, by elfutils. Each file is opened once,
 * each address looked up once. A file is reported to libdwfl at base 0, so that its addresses are
 * the ELF's own; separate debugging files are found as libdwfl does.
 */
#include "symbols/symbols.h"
#include "symbols/dwarf/symbols-files.h"
#include "symbols/dwarf/symtab.h"
#include "base/buf.h"
#include "base/err.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUCKETS 4096u

struct symfile {
	struct symfile *next;
	char *path;
	Dwfl *dwfl; /* NULL: cannot be opened */
	Dwfl_Module *module;
	char *build_id;
	struct symtab *table;
	struct file_kept kept;
};

struct known_address {
	struct known_address *next;
	const struct symfile *file;
	uint64_t vaddr;
	unsigned n;
	struct symbol sym[]; /* n */
};

struct name {
	struct name *next;
	char *mangled, *plain;
};

struct text {
	struct text *next;
	char bytes[];
};

struct symbols {
	struct symfile *files, *last;
	struct known_address *addresses[BUCKETS];
	struct name *names[BUCKETS];
	struct text *texts[BUCKETS];
};

struct symbols *symbols_new(void)
{
	return xcalloc(1, sizeof(struct symbols));
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (struct symfile *f = s->files, *next; f; f = next) {
		next = f->next;
		if (f->kept.kept)
			f->kept.free(f->kept.kept);
		if (f->dwfl)
			dwfl_end(f->dwfl);
		symtab_free(f->table);
		free(f->path);
		free(f->build_id);
		free(f);
	}
	for (unsigned i = 0; i < BUCKETS; i++) {
		for (struct known_address *a = s->addresses[i], *next; a; a = next) {
			next = a->next;
			free(a);
		}
		for (struct name *n = s->names[i], *next; n; n = next) {
			next = n->next;
			free(n->mangled);
			free(n->plain);
			free(n);
		}
		for (struct text *t = s->texts[i], *next; t; t = next) {
			next = t->next;
			free(t);
		}
	}
	free(s);
}

static unsigned hash_text(const char *p)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	return (unsigned)((h ^ h >> 32) % BUCKETS);
}

/* A copy that lives as long as s. */
static const char *keep(struct symbols *s, const char *text)
{
	unsigned h = hash_text(text);
	struct text *t = s->texts[h];

	while (t && strcmp(t->bytes, text) != 0)
		t = t->next;
	if (!t) {
		t = xmalloc(sizeof(*t) + strlen(text) + 1);
		strcpy(t->bytes, text);
		t->next = s->texts[h];
		s->texts[h] = t;
	}
	return t->bytes;
}

const char *symbols_keep(struct symbols *s, const char *text)
{
	return keep(s, text);
}

/* ---- C++ names ---- */

typedef char *demangle_fn(const char *mangled, char *buf, size_t *n, int *status);

/* From libstdc++, which every C++ program brings along; tsdb itself is C and does not need it. */
static demangle_fn *demangler(void)
{
	static bool looked;
	static demangle_fn *fn;
	void *lib;

	if (!looked) {
		looked = true;
		lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (lib)
			*(void **)&fn = dlsym(lib, "__cxa_demangle");
	}
	return fn;
}

#define MANGLED_MAX 65536u

const char *symbols_demangle(struct symbols *s, const char *name)
{
	unsigned h;
	struct name *n;
	char *plain = NULL;
	int status;

	if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MANGLED_MAX)
		return keep(s, name);
	h = hash_text(name);
	for (n = s->names[h]; n; n = n->next)
		if (strcmp(n->mangled, name) == 0)
			return n->plain;
	if (demangler())
		plain = demangler()(name, NULL, NULL, &status);
	n = xmalloc(sizeof(*n));
	n->mangled = xstrdup(name);
	n->plain = plain ? plain : xstrdup(name);
	n->next = s->names[h];
	s->names[h] = n;
	return n->plain;
}

/* ---- files ---- */

static char *module_build_id(Dwfl_Module *m)
{
	const unsigned char *bits;
	GElf_Addr vaddr;
	struct buf hex = BUF_INIT;
	int n = dwfl_module_build_id(m, &bits, &vaddr);

	for (int i = 0; i < n && i < 64; i++)
		buf_printf(&hex, "%02x", bits[i]);
	(void)buf_cstr(&hex);
	return buf_steal(&hex);
}

static void open_file(struct symfile *f, const char *file)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	int fd = strchr(file, '/') ? open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd < 0)
		return;
	f->dwfl = dwfl_begin(&callbacks);
	if (!f->dwfl) {
		close(fd);
		return;
	}
	dwfl_report_begin(f->dwfl);
	f->module = dwfl_report_elf(f->dwfl, f->path, f->path, fd, 0, true);
	if (!f->module)
		close(fd); /* otherwise it is libdwfl's now */
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (f->module)
		f->build_id = module_build_id(f->module);
}

static struct symfile *file_get_from(struct symbols *s, const char *path, const char *file)
{
	struct symfile *f;

	if (s->last && strcmp(s->last->path, path) == 0)
		return s->last;
	for (f = s->files; f && strcmp(f->path, path) != 0;)
		f = f->next;
	if (!f) {
		f = xcalloc(1, sizeof(*f));
		f->path = xstrdup(path);
		open_file(f, file);
		f->next = s->files;
		s->files = f;
	}
	return s->last = f;
}

static struct symfile *file_get(struct symbols *s, const char *path)
{
	return file_get_from(s, path, path);
}

void symbols_open(struct symbols *s, const char *path, const char *file)
{
	(void)file_get_from(s, path, file);
}

Dwfl_Module *symbols_module(struct symbols *s, const char *path)
{
	return file_get(s, path)->module;
}

Dwarf *symbols_dwarf(
	struct symbols *s, const char *path, Dwarf_Addr *ret_bias, struct file_kept **ret_kept)
{
	struct symfile *f = file_get(s, path);

	*ret_kept = &f->kept;
	return f->module ? dwfl_module_getdwarf(f->module, ret_bias) : NULL;
}

/* ---- DWARF scopes ---- */

/* The compilation unit at an address. Some compilers (clang) write no .debug_aranges; then every
 * unit is asked. */
static Dwarf_Die *find_cu(const struct symfile *f, uint64_t vaddr, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(f->module, vaddr, ret_bias);

	if (cu)
		return cu;
	while ((cu = dwfl_module_nextcu(f->module, cu, ret_bias)))
		if (dwarf_haspc(cu, vaddr - *ret_bias) > 0)
			return cu;
	return NULL;
}

static bool file_scopes(const struct symfile *f, uint64_t vaddr, struct symbols_scope *ret)
{
	Dwarf_Die *cu, *scopes = NULL, innermost;
	Dwarf *dw;
	int n;

	memset(ret, 0, sizeof(*ret));
	if (!f->module || !(cu = find_cu(f, vaddr, &ret->bias)))
		return false;
	dw = dwarf_cu_getdwarf(cu->cu);
	ret->module = f->module;
	ret->addr = vaddr - ret->bias;
	ret->cu = *cu;
	n = dwarf_getscopes(cu, ret->addr, &scopes);
	if (n <= 0)
		return false;
	/* Within inlined code that list goes on with the scopes of the source; we want those of the
	 * machine code. */
	innermost = scopes[0];
	free(scopes);
	scopes = NULL;
	if (!dwarf_offdie(dw, dwarf_dieoffset(&innermost), &innermost))
		return false;
	ret->nscopes = dwarf_getscopes_die(&innermost, &scopes);
	ret->scopes = scopes;
	return ret->nscopes > 0;
}

bool symbols_scopes(struct symbols *s, const char *path, uint64_t vaddr, struct symbols_scope *ret)
{
	return file_scopes(file_get(s, path), vaddr, ret);
}

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static const char *function_name(struct symbols *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		name = dwarf_diename(die);
	return name ? symbols_demangle(s, name) : NULL;
}

static const char *folder_of(struct symbols *s, Dwarf_Die *cu)
{
	Dwarf_Attribute attr;
	const char *folder = dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attr));

	return folder ? keep(s, folder) : NULL;
}

/* The line in the caller that has the inlined call. */
static void call_site(struct symbols *s, Dwarf_Die *cu, Dwarf_Die *die, struct symbol *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;
	Dwarf_Files *files;
	const char *name;

	ret->file = ret->folder = NULL;
	ret->line = ret->column = 0;
	if (dwarf_attr(die, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &v) == 0 &&
		dwarf_getsrcfiles(cu, &files, NULL) == 0 &&
		(name = dwarf_filesrc(files, v, NULL, NULL))) {
		ret->file = keep(s, name);
		ret->folder = folder_of(s, cu);
	}
	if (dwarf_attr(die, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &v) == 0)
		ret->line = (unsigned)v;
	if (dwarf_attr(die, DW_AT_call_column, &attr) && dwarf_formudata(&attr, &v) == 0)
		ret->column = (unsigned)v;
}

/* ---- one address ---- */

static void line_of(struct symbols *s, const struct symfile *f, uint64_t vaddr, struct symbol *ret)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = find_cu(f, vaddr, &bias);
	Dwarf_Line *line = cu ? dwarf_getsrc_die(cu, vaddr - bias) : NULL;
	int number = 0, column = 0;
	const char *name;

	if (!line || !(name = dwarf_linesrc(line, NULL, NULL)) || dwarf_lineno(line, &number) != 0)
		return;
	(void)dwarf_linecol(line, &column);
	ret->file = keep(s, name);
	ret->folder = folder_of(s, cu);
	ret->line = number > 0 ? (unsigned)number : 0;
	ret->column = column > 0 ? (unsigned)column : 0;
}

/* The name from the symbol tables, and the offset in the function. */
static void symbol_of(struct symbols *s, struct symfile *f, uint64_t vaddr, struct symbol *ret)
{
	GElf_Off offset;
	GElf_Sym sym;
	const char *name = symtab_find(&f->table, f->module, vaddr, &offset, &sym);

	if (!name || !*name)
		return;
	ret->function = symbols_demangle(s, name);
	ret->offset = offset;
}

/* Inlined calls from the inside out, then the function itself. */
static unsigned dwarf_names(struct symbols *s, const struct symfile *f, uint64_t vaddr,
	struct symbol *ret, unsigned max)
{
	struct symbol sym = ret[0]; /* module, line of the innermost */
	struct symbols_scope sc;
	unsigned n = 0;

	if (!file_scopes(f, vaddr, &sc)) {
		free(sc.scopes);
		return 0;
	}
	for (int i = 0; i < sc.nscopes && n < max; i++) {
		Dwarf_Die *die = &sc.scopes[i];
		Dwarf_Addr low;
		const char *name;

		if (!is_function(die))
			continue;
		name = function_name(s, die);
		if (name)
			sym.function = name;
		if (!sym.offset && dwarf_entrypc(die, &low) == 0 && low <= sc.addr)
			sym.offset = sc.addr - low;
		ret[n++] = sym;
		if (dwarf_tag(die) == DW_TAG_subprogram)
			break;
		call_site(s, &sc.cu, die, &sym);
	}
	free(sc.scopes);
	return n;
}

bool symbols_data(struct symbols *s, const char *path, uint64_t vaddr, struct symbol *ret)
{
	struct symfile *f = file_get(s, path);
	GElf_Off offset;
	GElf_Sym sym;
	const char *name;

	*ret = (struct symbol){.module = f->path, .module_offset = vaddr};
	if (!f->module)
		return false;
	name = symtab_find(&f->table, f->module, vaddr, &offset, &sym);
	if (!name || !*name || offset >= (sym.st_size ? sym.st_size : 1))
		return false;
	ret->function = symbols_demangle(s, name);
	ret->offset = offset;
	return true;
}

static unsigned look_up(
	struct symbols *s, struct symfile *f, uint64_t vaddr, struct symbol *ret, unsigned max)
{
	unsigned n;

	*ret = (struct symbol){.module = f->path, .module_offset = vaddr};
	if (!f->module)
		return 1;
	symbol_of(s, f, vaddr, ret);
	line_of(s, f, vaddr, ret);
	n = dwarf_names(s, f, vaddr, ret, max);
	return n ? n : 1;
}

static bool other_build(const struct symfile *f, const char *build_id)
{
	return build_id && *build_id && f->build_id && *f->build_id &&
	       strcmp(build_id, f->build_id) != 0;
}

bool symbols_is_build(struct symbols *s, const char *path, const char *build_id)
{
	const struct symfile *f = file_get(s, path);

	return f->module && !other_build(f, build_id);
}

unsigned symbols_lookup(struct symbols *s, const char *path, const char *build_id, uint64_t vaddr,
	struct symbol *ret, unsigned max)
{
	struct symfile *f = file_get(s, path);
	unsigned h = (unsigned)((vaddr * 0x9e3779b97f4a7c15u >> 40) % BUCKETS);
	struct known_address *a = s->addresses[h];
	struct symbol found[SYMBOL_INLINED_MAX];

	BUG_ON(max == 0);
	if (other_build(f, build_id)) {
		*ret = (struct symbol){.module = f->path, .module_offset = vaddr};
		return 1;
	}
	while (a && (a->file != f || a->vaddr != vaddr))
		a = a->next;
	if (!a) {
		unsigned n = look_up(s, f, vaddr, found, SYMBOL_INLINED_MAX);

		a = xmalloc(sizeof(*a) + n * sizeof(*found));
		*a = (struct known_address){s->addresses[h], f, vaddr, n};
		memcpy(a->sym, found, n * sizeof(*found));
		s->addresses[h] = a;
	}
	if (max > a->n)
		max = a->n;
	memcpy(ret, a->sym, max * sizeof(*ret));
	return max;
}
