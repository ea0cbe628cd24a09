/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the program and its kernels: info functions, info scope.
 */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "engine/kernel-lines.h"
#include "shell/stops/break-place.h"
#include "shell/print/kernel-text.h"
#include "shell/print/listing.h"
#include "shell/source/source-place.h"
#include "shell/values/kernel-args.h"
#include "shell/values/vars.h"
#include "symbols/places.h"
#include "symbols/variables.h"
#include "sbt/kernel-name.h"

enum { NAME_ROOM = 512 };

/* --- info functions --- */

const char cmd_info_functions_help[] =
	"Lists kernels and functions of the host by name: all, or those whose name matches an\n"
	"extended regular expression anywhere. Before the program runs: its own; then those of the\n"
	"libraries with line numbers that it has loaded, too; in a replay those of the files that\n"
	"the trace's stacks name, if they are still the ones that were recorded.\n"
	"Example: info functions ^adam\n";

struct function_row {
	const char *name, *file, *binary;
	bool kernel;
	unsigned line;
	uint64_t start;
};
JS_DEFINE(function_object, "function", function_row, JS(TEXT, function_row, name),
	JS_AS("is_kernel", BOOL, function_row, kernel), JS(TEXT, function_row, file),
	JS(UINT, function_row, line), JS_MAYBE("start", HEX, function_row, start),
	JS(TEXT, function_row, binary));

static void function_text(struct buf *b, const void *row)
{
	const struct function_row *r = row;

	if (r->kernel)
		buf_printf(b, "kernel              %s", r->name);
	else
		buf_printf(b, "0x%016" PRIx64 "  %s", r->start, r->name);
	if (r->file)
		buf_printf(b, " at %s:%u", r->file, r->line);
	buf_byte(b, '\n');
}

struct functions {
	struct session *s;
	struct function_row *v;
	unsigned n, room;
	regex_t re;
	bool any;
	const char *binary;
	uint64_t bias;
	struct kernel_lines lines;
	char **kernels; /* all names */
	unsigned nkernels, cap;
};

static bool is_wanted(const struct functions *f, const char *name)
{
	return f->any || !regexec(&f->re, name, 0, NULL, 0);
}

static void keep_row(struct functions *f, const struct function_row *r)
{
	MAKE_ROOM(f->v, f->n, f->room);
	f->v[f->n++] = *r;
}

/* What nvcc makes of a kernel for the host: it has the kernel's name. */
static bool is_stub_of_kernel(const struct functions *f, const char *name)
{
	const size_t end = strcspn(name, "(<");
	size_t n = 0;

	if (strstr(name, "__device_stub_"))
		return true;
	while (n < end && name[end - n - 1] != ' ') /* behind what it returns */
		n++;
	name += end - n;
	for (unsigned i = 0; i < f->nkernels; i++)
		if (strlen(f->kernels[i]) >= n && !strncmp(f->kernels[i], name, n) &&
			strchr("(<", f->kernels[i][n]))
			return true;
	return false;
}

static void add_kernel(void *arg, const char *name)
{
	struct functions *f = arg;
	struct function_row r = {.kernel = true};
	char other[NAME_ROOM];

	for (unsigned i = 0; i < f->nkernels; i++)
		if (!strcmp(f->kernels[i], name))
			return;
	MAKE_ROOM(f->kernels, f->nkernels, f->cap);
	r.name = f->kernels[f->nkernels++] = xstrdup(name);
	if (!is_wanted(f, name))
		return;
	for (unsigned i = 0; i < f->lines.n && !r.file; i++) {
		if (strcmp(kernel_short_name(other, sizeof other, f->lines.v[i].kernel), name) != 0)
			continue;
		r.file = f->lines.v[i].file;
		r.line = f->lines.v[i].line;
	}
	keep_row(f, &r);
}

static bool add_function(void *arg, const struct symbols_function *x)
{
	struct functions *f = arg;
	struct function_row r = {.name = x->name, .binary = f->binary, .start = x->vaddr + f->bias};
	struct symbol y;

	if (!is_wanted(f, x->name) || is_stub_of_kernel(f, x->name))
		return true;
	if (symbols_lookup(session_symbols(f->s), f->binary, NULL, x->vaddr, &y, 1) && y.file) {
		r.file = y.file;
		r.line = y.line;
	}
	keep_row(f, &r);
	return true;
}

static int by_kind_and_name(const void *a, const void *b)
{
	const struct function_row *x = a, *y = b;

	return x->kernel != y->kernel ? y->kernel - x->kernel : strcmp(x->name, y->name);
}

static struct err *find_functions(struct functions *f)
{
	char *program = NULL;

	TRY(source_kernel_lines(f->s, &f->lines));
	TRY(break_each_kernel(f->s, add_kernel, f));
	for (unsigned i = 0; (f->binary = source_binary(f->s, i, &program)); i++) {
		f->bias = source_bias(f->s, i);
		if (*f->binary)
			symbols_functions(session_symbols(f->s), f->binary, add_function, f);
	}
	free(program);
	return NULL;
}

static void list_functions(struct functions *f, bool json)
{
	struct listing l = listing_begin(f->s, json, &function_object, NULL, function_text);

	if (f->n)
		qsort(f->v, f->n, sizeof *f->v, by_kind_and_name);
	for (unsigned i = 0; i < f->n; i++)
		listing_add(&l, &f->v[i]);
	listing_end(&l, f->any ? "No functions are known.\n" : "No function or kernel matches.\n");
}

struct err *cmd_info_functions(struct session *s, const struct cmd_args *a)
{
	struct functions f = {.s = s, .any = !*a->rest};
	struct err *e;
	char why[128];
	int r = f.any ? 0 : regcomp(&f.re, a->rest, REG_EXTENDED | REG_NOSUB);

	if (r) {
		regerror(r, &f.re, why, sizeof why);
		return err_cure(
			err_new(ERR_USAGE, "\"%s\" is no regular expression: %s", a->rest, why),
			"For example: info functions ^mat");
	}
	e = find_functions(&f);
	if (!e)
		list_functions(&f, a->json);
	free(f.v);
	for (unsigned i = 0; i < f.nkernels; i++)
		free(f.kernels[i]);
	free(f.kernels);
	kernel_lines_free(&f.lines);
	if (!f.any)
		regfree(&f.re);
	return e;
}

/* --- info scope --- */

const char cmd_info_scope_help[] =
	"Lists what can be named at a place: the parameters of a kernel, or the variables and\n"
	"parameters of the host's code at a line or a function's beginning. Types only; `info\n"
	"locals` and `info args` have values.\n"
	"Examples: info scope adam\n"
	"          info scope main.cu:71\n";

struct scope_row {
	const char *name, *type;
	bool parameter;
	uint64_t line; /* 0: not known */
};
JS_DEFINE(scope_object, "scope_name", scope_row, JS(TEXT, scope_row, name, type),
	JS(BOOL, scope_row, parameter), JS_MAYBE("line", SEQ, scope_row, line));

static void scope_text(struct buf *b, const void *row)
{
	const struct scope_row *r = row;

	buf_printf(b, "%s %s: %s", r->parameter ? "parameter" : "variable", r->name, r->type);
	if (r->line)
		buf_printf(b, " (line %" PRIu64 ")", r->line);
	buf_byte(b, '\n');
}

static void add_scope(void *listing, const char *name, const struct lang_type *type, unsigned line,
	bool parameter)
{
	struct buf b = BUF_INIT;

	if (type)
		lang_type_name(&b, type, "");
	else
		buf_str(&b, "type not known");
	listing_add(listing, &(struct scope_row){name, buf_cstr(&b), parameter, line});
	buf_free(&b);
}

/* The parameters of the kernel of that name; *ret_found false: there is no such kernel. */
static struct err *scope_of_kernel(
	struct session *s, const char *name, struct listing *l, bool *ret_found)
{
	struct kernel_lines lines;
	struct kernel_params p = {0};
	char shown[NAME_ROOM], number[32];

	*ret_found = false;
	TRY(source_kernel_lines(s, &lines));
	for (unsigned i = 0; i < lines.n && !*ret_found; i++) {
		kernel_short_name(shown, sizeof shown, lines.v[i].kernel);
		if (!sbt_kernel_glob(name, lines.v[i].kernel, shown))
			continue;
		*ret_found = true;
		kernel_args_of(s, lines.v[i].kernel, NULL, &p);
	}
	kernel_lines_free(&lines);
	for (unsigned i = 0; i < p.n; i++) {
		snprintf(number, sizeof number, "arg%u", i);
		add_scope(l, p.v[i].name ? p.v[i].name : number, p.v[i].type, 0, true);
	}
	kernel_params_free(&p);
	return NULL;
}

struct first_code {
	uint64_t begin;
};

static void take_first(void *arg, const struct symbols_code *c)
{
	struct first_code *f = arg;

	if (!f->begin || c->begin < f->begin)
		f->begin = c->begin;
}

static struct err *scope_of_line(
	struct session *s, const struct source_found *at, struct listing *l, bool *ret_known)
{
	char *program = NULL;
	const char *path;

	*ret_known = false;
	for (unsigned i = 0; !*ret_known && (path = source_binary(s, i, &program)); i++) {
		struct first_code first = {0};
		struct symbols_scope sc;
		struct file_names *f;

		if (!*path)
			continue;
		symbols_code_of_line(session_symbols(s), path, file_name_of(at->file), at->line,
			take_first, &first);
		f = first.begin ? symbols_names(session_symbols(s), vars_lang(s->vars), path)
				: NULL;
		if (!f || !symbols_scopes(session_symbols(s), path, first.begin, &sc))
			continue;
		scope_variables(f, &sc, add_scope, l);
		free(sc.scopes);
		*ret_known = true;
	}
	free(program);
	if (*ret_known)
		return NULL;
	return err_cure(
		err_new(ERR_NOT_FOUND, "no code of the host is at %s:%u", at->file, at->line),
		"\"info line\" says which lines have code; it needs -g");
}

struct err *cmd_info_scope(struct session *s, const struct cmd_args *a)
{
	struct listing l = listing_begin(s, a->json, &scope_object, NULL, scope_text);
	struct source_found at = {0};
	bool found;
	struct err *e;

	if (!*a->rest) {
		buf_free(&l.b);
		return err_cure(err_new(ERR_USAGE, "info scope needs a place"),
			"Use \"info scope KERNEL\", \"info scope FUNCTION\" or \"info scope FILE:LINE\"");
	}
	e = scope_of_kernel(s, a->rest, &l, &found);
	if (!e && !found)
		e = source_of_place(s, a->rest, &at);
	if (!e && !found)
		e = scope_of_line(s, &at, &l, &found);
	source_found_free(&at);
	if (!e)
		listing_end(&l, "Nothing has a name there.\n");
	else
		buf_free(&l.b);
	return e;
}
