/* SPDX-License-Identifier: Apache-2.0
 *
 * Debug information in PTX: any text. Lines where functions are have their scopes looked up, and
 * what is in scope is shown with its type; names in the text are looked up, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "symbols/kernel-debug.h"
#include "fuzz.h"

#define LINES 64u
#define SHOWN_MAX (8u << 20) /* as in fuzz-dwarf.c */

static volatile size_t told;

static struct err *read_memory(void *arg, uint64_t addr, void *dst, size_t n)
{
	(void)arg;
	if (addr % 5 == 0)
		return err_new(ERR_NOT_FOUND, "no memory");
	memset(dst, (int)(addr >> 3), n);
	return NULL;
}

static struct err *read_space(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	(void)space;
	return read_memory(arg, addr, dst, n);
}

static const struct lang_scope scope = {.read = read_space};

static const char *reg(void *arg, uint64_t number, uint64_t *ret)
{
	char name[9];

	(void)arg;
	if (!kernel_debug_register(number, name))
		return "no name";
	*ret = number * 0x9e3779b97f4a7c15u;
	return NULL;
}

static struct err *settle(void *arg, const char *name, struct lang_value *v)
{
	uint64_t offset;
	const char *symbol = kernel_debug_symbol(arg, v->addr, &offset);

	(void)name;
	told += symbol ? strlen(symbol) : 0;
	v->addr = offset;
	return NULL;
}

static struct lang *l;

static void show(void *arg, const char *name, const struct lang_value *v, const char *why)
{
	const struct lang_format f = {.elements = 20};
	struct buf b = BUF_INIT;

	(void)arg;
	BUG_ON(!name);
	if (!why && v->type) {
		lang_type_layout(&b, v->type);
		if (v->type->size < 1u << 16)
			err_free(lang_show(l, &scope, &f, v, &b));
	}
	BUG_ON(b.len > SHOWN_MAX);
	told += b.len;
	buf_free(&b);
}

static void look(struct kernel_debug *d, unsigned line)
{
	struct symbols_scope sc;
	struct dwarf_context ctx = {
		.read = read_memory, .arg = d, .reg = reg, .settle = settle, .pc = line};
	struct variables_frame f = {.names = kernel_debug_names(d), .ctx = &ctx, .sc = &sc};
	struct inlined_call c;

	for (unsigned depth = 0; kernel_debug_inlined(d, line, depth, &c); depth++) {
		BUG_ON(depth > 1000);
		told += c.function ? strlen(c.function) : 0;
		told += kernel_debug_file(d, c.file) != NULL;
	}
	if (!kernel_debug_scopes(d, line, &sc))
		return;
	for (f.depth = 0; f.depth < 3; f.depth++)
		frame_variables(&f, show, NULL);
	free(sc.scopes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = strndup((const char *)data, n);
	struct kernel_debug *d;

	l = lang_new();
	d = text ? kernel_debug_new(l, text) : NULL;
	for (unsigned line = 0; d && line < LINES; line++)
		look(d, line);
	if (d)
		look(d, UINT32_MAX);
	kernel_debug_free(d);
	lang_free(l);
	free(text);
	return 0;
}
