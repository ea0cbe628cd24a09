/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions by name and code by line, see places.h. Each call reads the tables anew: they are asked
 * when the user types.
 */
#include "symbols/places.h"

#include <elfutils/libdw.h>
#include <string.h>

void symbols_functions(struct symbols *s, const char *path,
	bool (*add)(void *arg, const struct symbols_function *f), void *arg)
{
	Dwfl_Module *m = symbols_module(s, path);
	int n = m ? dwfl_module_getsymtab(m) : 0;

	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(m, i, &sym, &addr, NULL, NULL, NULL);

		if (!name || !*name || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
			sym.st_shndx == SHN_UNDEF)
			continue;
		if (!add(arg, &(struct symbols_function){.name = symbols_demangle(s, name),
				      .mangled = name,
				      .vaddr = addr,
				      .size = sym.st_size}))
			return;
	}
}

bool symbols_same_file(const char *path, const char *name)
{
	const size_t n = strlen(path), k = strlen(name);

	return k && k <= n && !strcmp(path + n - k, name) && (k == n || path[n - k - 1] == '/');
}

static bool is_main(void *arg, const struct symbols_function *f)
{
	uint64_t *ret = arg;

	if (!strcmp(f->mangled, "main"))
		*ret = f->vaddr;
	return !*ret;
}

bool symbols_main_file(struct symbols *s, const char *path, struct symbols_line *ret)
{
	struct symbol sym;
	uint64_t at = 0;

	symbols_functions(s, path, is_main, &at);
	if (!at || !symbols_lookup(s, path, NULL, at, &sym, 1) || !sym.file)
		return false;
	*ret = (struct symbols_line){sym.file, sym.folder, sym.line, at};
	return true;
}

struct wanted {
	const char *file;
	unsigned line;
	enum symbols_found found;
	struct symbols_line at;
	const char *path; /* of at, in the DWARF */
};

static bool has_file(Dwarf_Die *cu, const char *name)
{
	Dwarf_Files *files;
	size_t n;

	if (dwarf_getsrcfiles(cu, &files, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *path = dwarf_filesrc(files, i, NULL, NULL);

		if (path && symbols_same_file(path, name))
			return true;
	}
	return false;
}

static void look_at(struct wanted *w, Dwarf_Line *l, Dwarf_Addr bias)
{
	const char *path = dwarf_linesrc(l, NULL, NULL);
	Dwarf_Addr addr;
	int line;

	if (!path || dwarf_lineno(l, &line) != 0 || line < (int)w->line ||
		dwarf_lineaddr(l, &addr) != 0 || !symbols_same_file(path, w->file))
		return;
	addr += bias;
	if (w->found == SYMBOLS_LINE &&
		((unsigned)line > w->at.line ||
			((unsigned)line == w->at.line && addr >= w->at.vaddr)))
		return;
	w->found = SYMBOLS_LINE;
	w->path = path;
	w->at.line = (unsigned)line;
	w->at.vaddr = addr;
}

enum symbols_found symbols_line(struct symbols *s, const char *path, const char *file,
	unsigned line, struct symbols_line *ret)
{
	struct wanted w = {.file = file, .line = line, .found = SYMBOLS_NO_FILE};
	Dwfl_Module *m = symbols_module(s, path);
	Dwarf_Die *cu = NULL;
	struct symbol sym;
	Dwarf_Addr bias;

	while (m && (cu = dwfl_module_nextcu(m, cu, &bias))) {
		Dwarf_Lines *lines;
		size_t n;

		if (!has_file(cu, file))
			continue;
		if (w.found == SYMBOLS_NO_FILE)
			w.found = SYMBOLS_NO_LINE;
		if (dwarf_getsrclines(cu, &lines, &n) != 0)
			continue;
		for (size_t i = 0; i < n; i++)
			look_at(&w, dwarf_onesrcline(lines, i), bias);
	}
	*ret = w.at;
	ret->file = w.path ? symbols_demangle(s, w.path) : NULL; /* a copy that is kept */
	if (w.path && symbols_lookup(s, path, NULL, w.at.vaddr, &sym, 1))
		ret->folder = sym.folder;
	return w.found;
}

/* --- the code of a line --- */

/* A row of a line table. False: it cannot be read. */
static bool row_of(Dwarf_Lines *lines, size_t i, Dwarf_Addr *ret_addr, int *ret_line)
{
	Dwarf_Line *l = dwarf_onesrcline(lines, i);

	return l && dwarf_lineaddr(l, ret_addr) == 0 && dwarf_lineno(l, ret_line) == 0;
}

struct code_look {
	struct symbols *s;
	const char *file;
	unsigned line;
	void (*add)(void *arg, const struct symbols_code *c);
	void *arg;
};

/* Reports the code of the line in one unit: rows one behind the other are one piece. */
static void code_in(const struct code_look *q, Dwarf_Lines *lines, size_t n, Dwarf_Addr bias)
{
	struct symbols_code c = {0};

	for (size_t i = 0; i + 1 < n; i++) {
		const char *path = dwarf_linesrc(dwarf_onesrcline(lines, i), NULL, NULL);
		Dwarf_Addr from, to;
		int line, next;
		bool ends;

		if (!path || !row_of(lines, i, &from, &line) || line != (int)q->line ||
			dwarf_lineendsequence(dwarf_onesrcline(lines, i), &ends) != 0 || ends ||
			!row_of(lines, i + 1, &to, &next) || to <= from ||
			!symbols_same_file(path, q->file))
			continue;
		if (c.end && c.end == from + bias) {
			c.end = to + bias;
			continue;
		}
		if (c.end)
			q->add(q->arg, &c);
		c = (struct symbols_code){
			symbols_keep(q->s, path), (unsigned)line, from + bias, to + bias};
	}
	if (c.end)
		q->add(q->arg, &c);
}

bool symbols_code_of_line(struct symbols *s, const char *path, const char *file, unsigned line,
	void (*add)(void *arg, const struct symbols_code *c), void *arg)
{
	const struct code_look q = {s, file, line, add, arg};
	Dwfl_Module *m = symbols_module(s, path);
	Dwarf_Die *cu = NULL;
	bool known = false;
	Dwarf_Addr bias;

	while (m && (cu = dwfl_module_nextcu(m, cu, &bias))) {
		Dwarf_Lines *lines;
		size_t n;

		if (!has_file(cu, file))
			continue;
		known = true;
		if (dwarf_getsrclines(cu, &lines, &n) == 0)
			code_in(&q, lines, n, bias);
	}
	return known;
}
