/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables and types of a stopped program, see program-names.h.
 */
#include "attach/program-names.h"

#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "attach/unwind/frames.h"

enum { OUTWARDS_MAX = 64 }; /* frames without debug information that are passed over */

static struct err *read_inferior(void *arg, uint64_t addr, void *dst, size_t n)
{
	return inferior_read(arg, addr, dst, n);
}

/* A frame, and what its DWARF says; frame_close() frees it. */
struct open_frame {
	struct user_frame f;
	struct symbols_scope sc;
	struct dwarf_context ctx;
	struct variables_frame vars;
	const char *path;
};

static void frame_close(struct open_frame *o)
{
	free(o->sc.scopes);
}

/* False: there is no debug information of it. */
static bool frame_scopes(const struct program_place *p, struct open_frame *o)
{
	const struct mapping *m = libraries_at(p->inf, o->f.lookup);

	if (!m || !symbols_scopes(inferior_symbols(p->inf), m->path, o->f.lookup - m->bias, &o->sc))
		return false;
	o->path = m->path;
	o->ctx = (struct dwarf_context){.read = read_inferior,
		.arg = p->inf,
		.frame = &o->f.raw.at,
		.pc = o->sc.addr,
		.load_bias = m->bias + o->sc.bias};
	o->vars = (struct variables_frame){symbols_names(inferior_symbols(p->inf), p->l, m->path),
		&o->ctx, &o->sc, o->f.depth};
	if (o->vars.names)
		return true;
	frame_close(o);
	return false;
}

/* The frame whose variables are meant. */
static bool frame_open(const struct program_place *p, struct open_frame *o)
{
	for (unsigned i = 0; i < OUTWARDS_MAX; i++) {
		struct err *e;

		*o = (struct open_frame){0};
		e = backtrace_find(p->inf, p->tid, p->frame + i, &o->f);
		if (e) {
			err_free(e);
			return false;
		}
		if (!frame_scopes(p, o))
			continue;
		if (!frame_is_stub(&o->vars))
			return true;
		frame_close(o);
	}
	return false;
}

struct err *program_locals(const struct program_place *p,
	void (*each)(void *arg, const char *name, const struct lang_value *v, const char *why),
	void *arg, bool *ret_known)
{
	struct open_frame o = {0};

	TRY(backtrace_find(p->inf, p->tid, p->frame, &o.f));
	*ret_known = frame_scopes(p, &o);
	if (!*ret_known)
		return NULL;
	frame_variables(&o.vars, each, arg);
	frame_close(&o);
	return NULL;
}

/* --- files --- */

/* The i-th file that has debug information of its own; the program is the first. */
static struct file_names *file_at(const struct program_place *p, unsigned i, uint64_t *ret_bias)
{
	struct inferior_library lib;
	const struct mapping *m;
	struct file_names *f;

	if (!inferior_library(p->inf, i, &lib) || !lib.has_lines)
		return NULL;
	m = libraries_at(p->inf, lib.start);
	f = m ? symbols_names(inferior_symbols(p->inf), p->l, lib.path) : NULL;
	if (f)
		*ret_bias = m->bias + file_names_bias(f);
	return f;
}

static unsigned count_files(const struct program_place *p)
{
	struct inferior_library lib;
	unsigned n = 0;

	while (inferior_library(p->inf, n, &lib))
		n++;
	return n;
}

static struct err *of_file(const struct program_place *p, struct file_names *f, uint64_t bias,
	Dwarf_Die *near, bool library, const char *name, struct lang_value *ret, bool *ret_found)
{
	static const struct frame_registers none;
	struct dwarf_context ctx = {
		.read = read_inferior, .arg = p->inf, .frame = &none, .load_bias = bias};

	return library ? file_external(f, &ctx, name, ret, ret_found)
		       : file_variable(f, &ctx, near, name, ret, ret_found);
}

/* The names that a name may have, from within the namespaces and classes of a function: of x in
 * a::b::f(int), a::b::x and a::x. Calls ask until it has found something. */
static struct err *in_namespaces(const char *function, const char *name,
	struct err *(*ask)(void *arg, const char *name, bool *ret_found), void *arg,
	bool *ret_found)
{
	size_t n = function ? strcspn(function, "(<") : 0;

	*ret_found = false;
	while (n > 2 && !*ret_found) {
		char *full;
		struct err *e;

		for (n--; n > 1 && !(function[n] == ':' && function[n - 1] == ':'); n--)
			;
		if (n <= 1)
			return NULL;
		full = xasprintf("%.*s%s", (int)(n + 1), function, name);
		e = ask(arg, full, ret_found);
		free(full);
		TRY(e);
		n--;
	}
	return NULL;
}

/* --- names --- */

struct question {
	const struct program_place *p;
	struct open_frame *frame; /* NULL: none */
	struct lang_value *ret;
	const struct lang_type *type;
};

/* In the file that the frame lies in, and then in the program. */
static struct err *ask_files(void *arg, const char *name, bool *ret_found)
{
	struct question *q = arg;
	struct file_names *f;
	uint64_t bias;

	*ret_found = false;
	if (q->frame)
		TRY(of_file(q->p, q->frame->vars.names, q->frame->ctx.load_bias, &q->frame->sc.cu,
			false, name, q->ret, ret_found));
	f = *ret_found ? NULL : file_at(q->p, 0, &bias);
	return f ? of_file(q->p, f, bias, NULL, false, name, q->ret, ret_found) : NULL;
}

static const char *function_of(const struct program_place *p, const struct open_frame *o)
{
	const struct mapping *m = libraries_at(p->inf, o->f.lookup);
	struct symbol sym[SYMBOL_INLINED_MAX];
	unsigned n = m ? symbols_lookup(inferior_symbols(p->inf), m->path, NULL,
				 o->f.lookup - m->bias, sym, SYMBOL_INLINED_MAX)
		       : 0;

	return o->f.depth < n ? sym[o->f.depth].function : NULL;
}

static struct err *this_name(void *arg, const char *name, struct lang_value *ret, bool *ret_found)
{
	*ret_found = !strcmp(name, "this");
	return *ret_found ? frame_variable(arg, name, ret, ret_found) : NULL;
}

static struct err *this_read(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	const struct variables_frame *f = arg;

	(void)space;
	return f->ctx->read(f->ctx->arg, addr, dst, n);
}

/* A member of what `this` points to. */
static void of_this(const struct program_place *p, struct open_frame *o, const char *name,
	struct lang_value *ret, bool *ret_found)
{
	const struct lang_scope scope = {.arg = &o->vars, .name = this_name, .read = this_read};
	char *text;
	struct err *e;

	if (strchr(name, ':'))
		return;
	text = xasprintf("this->%s", name);
	e = lang_eval(p->l, &scope, text, ret);
	*ret_found = !e;
	err_free(e);
	free(text);
}

struct err *program_variable(
	const struct program_place *p, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct open_frame o;
	struct question q = {.p = p, .ret = ret};
	struct err *e = NULL;

	*ret_found = false;
	if (!frame_open(p, &o))
		return ask_files(&q, name, ret_found);
	q.frame = &o;
	e = frame_variable(&o.vars, name, ret, ret_found);
	if (!e && !*ret_found)
		of_this(p, &o, name, ret, ret_found);
	if (!e && !*ret_found)
		e = in_namespaces(function_of(p, &o), name, ask_files, &q, ret_found);
	if (!e && !*ret_found)
		e = ask_files(&q, name, ret_found);
	frame_close(&o);
	return e;
}

struct err *program_library_variable(
	const struct program_place *p, const char *name, struct lang_value *ret, bool *ret_found)
{
	const unsigned n = count_files(p);

	*ret_found = false;
	for (unsigned i = 1; i < n && !*ret_found; i++) {
		uint64_t bias;
		struct file_names *f = file_at(p, i, &bias);

		if (f)
			TRY(of_file(p, f, bias, NULL, true, name, ret, ret_found));
	}
	return NULL;
}

static struct err *ask_type(void *arg, const char *name, bool *ret_found)
{
	struct question *q = arg;
	struct file_names *f;
	uint64_t bias;

	if (q->frame)
		q->type = file_type(q->frame->vars.names, &q->frame->sc.cu, name);
	f = q->type ? NULL : file_at(q->p, 0, &bias);
	if (f)
		q->type = file_type(f, NULL, name);
	*ret_found = q->type != NULL;
	return NULL;
}

const struct lang_type *program_type(const struct program_place *p, const char *name)
{
	struct open_frame o;
	struct question q = {.p = p};
	const unsigned n = count_files(p);
	bool found = false;

	if (frame_open(p, &o)) {
		q.frame = &o;
		q.type = frame_type(&o.vars, name);
		if (!q.type && !strchr(name, ' '))
			err_free(in_namespaces(function_of(p, &o), name, ask_type, &q, &found));
		if (!q.type)
			err_free(ask_type(&q, name, &found));
		frame_close(&o);
		q.frame = NULL;
	}
	for (unsigned i = 0; i < n && !q.type; i++) {
		uint64_t bias;
		struct file_names *f = file_at(p, i, &bias);

		q.type = f ? file_type(f, NULL, name) : NULL;
	}
	return q.type;
}

bool program_kernel_params(const struct program_place *p, const char *mangled,
	struct kernel_params *ret, const char **ret_file)
{
	struct inferior_library lib;

	*ret = (struct kernel_params){0};
	for (unsigned i = 0; inferior_library(p->inf, i, &lib); i++) {
		if (!lib.has_lines)
			continue;
		if (kernel_params_of_file(inferior_symbols(p->inf), p->l, lib.path, mangled, ret)) {
			if (ret_file)
				*ret_file = lib.path;
			return true;
		}
		kernel_params_free(ret);
	}
	return false;
}

bool program_symbol(const struct program_place *p, uint64_t addr, struct symbol *ret)
{
	struct inferior_library lib;

	for (unsigned i = 0; inferior_library(p->inf, i, &lib); i++)
		if (symbols_data(inferior_symbols(p->inf), lib.path, addr - lib.bias, ret))
			return true;
	return false;
}

void program_describe(const struct program_place *p, uint64_t addr, struct buf *out)
{
	struct symbol sym;

	if (!program_symbol(p, addr, &sym))
		return;
	buf_printf(out, " <%s", sym.function);
	if (sym.offset)
		buf_printf(out, "+%llu", (unsigned long long)sym.offset);
	buf_byte(out, '>');
}
