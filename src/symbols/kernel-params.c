/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of a kernel's parameters, see kernel-params.h: from DWARF and from mangled names. The names
 * in a source are read by params-text.c.
 */
#include "symbols/kernel-params.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "symbols/dwarf/dwarf-types.h"
#include "symbols/dwarf/dwarf-walk.h"
#include "symbols/places.h"
#include "symbols/variables.h"

enum { PARAMS_MAX = 4096 };

void kernel_params_free(struct kernel_params *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->v[i].name);
	free(p->v);
	free(p->file);
	free(p->folder);
	*p = (struct kernel_params){0};
}

bool kernel_params_fit(const struct kernel_params *p, const struct sbt_blob *layout)
{
	uint32_t pair[2];

	if (layout->len / sizeof pair != p->n)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		memcpy(pair, (const char *)layout->p + i * sizeof pair, sizeof pair);
		if (p->v[i].type && p->v[i].type->size != pair[1])
			return false;
	}
	return true;
}

static void add(struct kernel_params *p, const char *name, const struct lang_type *type)
{
	p->v = xrealloc(p->v, (p->n + 1) * sizeof *p->v);
	p->v[p->n++] = (struct kernel_param){name ? xstrdup(name) : NULL, type};
	p->named = p->n == 1 ? name != NULL : p->named && name;
}

/* --- DWARF --- */

struct wanted {
	const char *mangled;
	uint64_t vaddr;
	bool found, twice; /* of two files, each with its own: neither is meant */
};

/* nvcc makes the stub of a template's kernel static: the host's name then has an L more, in front
 * of the name's length ("_ZN3simL4stepIfEEvPT_", "_ZN3sim4stepIfEEvPT_"). */
static bool same_name(const char *host, const char *kernel)
{
	while (*host && *host == *kernel) {
		host++;
		kernel++;
	}
	if (*host == 'L' && host[1] >= '1' && host[1] <= '9')
		return strcmp(host + 1, kernel) == 0;
	return !*host && !*kernel;
}

static bool is_it(void *arg, const struct symbols_function *f)
{
	struct wanted *w = arg;

	if (!same_name(f->mangled, w->mangled))
		return true;
	w->twice = w->found && w->vaddr != f->vaddr;
	w->found = true;
	w->vaddr = f->vaddr;
	return !w->twice;
}

/* The function that the compilers call a kernel's stub: with the kernel's own name (nvcc), or as
 * clang does. */
static bool stub_address(
	struct symbols *s, const char *path, const char *mangled, struct wanted *ret)
{
	char *clang = NULL, *rest;

	*ret = (struct wanted){.mangled = mangled};
	symbols_functions(s, path, is_it, ret);
	if (!ret->found && !strncmp(mangled, "_Z", 2) && mangled[2] >= '1' && mangled[2] <= '9') {
		const unsigned long n = strtoul(mangled + 2, &rest, 10);

		clang = xasprintf("_Z%lu__device_stub__%s", n + strlen("__device_stub__"), rest);
	} else if (!ret->found && strncmp(mangled, "_Z", 2)) {
		clang = xasprintf("__device_stub__%s", mangled);
	}
	if (clang) {
		ret->mangled = clang;
		symbols_functions(s, path, is_it, ret);
	}
	free(clang);
	ret->mangled = NULL;
	return ret->found && !ret->twice;
}

static void declared_at(Dwarf_Die *die, Dwarf_Die *cu, struct kernel_params *ret)
{
	const char *file = dwarf_decl_file(die), *folder;
	Dwarf_Attribute attr;
	int line = 0;

	if (!file || dwarf_decl_line(die, &line) != 0 || line <= 0)
		return;
	ret->file = xstrdup(file);
	ret->line = (unsigned)line;
	folder = dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attr));
	ret->folder = folder ? xstrdup(folder) : NULL;
}

/* nvcc's own names for parameters. */
static bool is_made_up(const char *name)
{
	return !strncmp(name, "__cuda_", 7) || !strncmp(name, "__par", 5);
}

static void take_parameters(
	struct file_names *names, Dwarf_Die *function, struct kernel_params *ret)
{
	Dwarf_Die d;

	for (bool more = die_first(function, &d); more && ret->n < PARAMS_MAX;
		more = die_next(&d)) {
		const char *name;

		if (dwarf_tag(&d) != DW_TAG_formal_parameter)
			continue;
		name = dwarf_diename(&d);
		add(ret, name && *name && !is_made_up(name) ? name : NULL, file_type_of(names, &d));
	}
}

bool kernel_params_of_file(struct symbols *s, struct lang *l, const char *path, const char *mangled,
	struct kernel_params *ret)
{
	struct file_names *names = symbols_names(s, l, path);
	struct symbols_scope sc = {0};
	struct wanted at;
	bool found = false;

	*ret = (struct kernel_params){0};
	if (!names || !stub_address(s, path, mangled, &at) ||
		!symbols_scopes(s, path, at.vaddr, &sc)) {
		free(sc.scopes);
		return false;
	}
	for (int i = sc.nscopes - 1; i >= 0 && !found; i--) {
		Dwarf_Addr low;

		found = dwarf_tag(&sc.scopes[i]) == DW_TAG_subprogram &&
			!dwarf_entrypc(&sc.scopes[i], &low) && low == sc.addr;
		if (!found)
			continue;
		take_parameters(names, &sc.scopes[i], ret);
		declared_at(&sc.scopes[i], &sc.cu, ret);
	}
	free(sc.scopes);
	return found;
}

/* --- the mangled name --- */

/* The list of parameters: from behind the '(' that belongs to the last ')'. */
static const char *list_of(const char *name, size_t *ret_n)
{
	size_t end = strlen(name), i;
	int depth = 0;

	while (end && name[end - 1] != ')')
		end--;
	for (i = end; i; i--) {
		depth += (name[i - 1] == ')') - (name[i - 1] == '(');
		if (!depth)
			break;
	}
	if (!end || !i)
		return NULL;
	*ret_n = end - i - 1;
	return name + i;
}

struct named {
	const struct lang_type *(*find)(void *arg, const char *name);
	void *arg;
};

static const struct lang_type *find_type(void *arg, const char *name)
{
	const struct named *n = arg;

	return n->find ? n->find(n->arg, name) : NULL;
}

static void add_type(
	struct lang *l, struct named *named, const char *text, size_t n, struct kernel_params *ret)
{
	const struct lang_scope scope = {.arg = named, .type = find_type};
	const struct lang_type *type = NULL;
	char *one;

	while (n && strchr(" \t", *text)) {
		text++;
		n--;
	}
	one = strndup(text, n);
	BUG_ON(!one);
	err_free(lang_type_of(l, &scope, one, &type));
	add(ret, NULL, type && type->size ? type : NULL);
	free(one);
}

bool kernel_params_of_name(struct symbols *s, struct lang *l,
	const struct lang_type *(*named_type)(void *arg, const char *name), void *arg,
	const char *mangled, struct kernel_params *ret)
{
	struct named named = {named_type, arg};
	const char *plain = strncmp(mangled, "_Z", 2) ? NULL : symbols_demangle(s, mangled);
	const char *list;
	size_t n, begin = 0;
	int depth = 0;

	*ret = (struct kernel_params){0};
	list = plain && strcmp(plain, mangled) ? list_of(plain, &n) : NULL;
	if (!list)
		return false;
	for (size_t i = 0; i <= n && ret->n < PARAMS_MAX; i++) {
		const char c = i < n ? list[i] : ',';

		depth += (strchr("(<[{", c) != NULL) - (strchr(")>]}", c) != NULL);
		if (c != ',' || depth > 0 || !n)
			continue;
		add_type(l, &named, list + begin, i - begin, ret);
		begin = i + 1;
	}
	return true;
}
